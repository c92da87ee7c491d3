"""What an MJCF model has besides its tree, and how it is handled: gravity compensation, springs, tendons, fluid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import warn

if TYPE_CHECKING:
    from mujoco import MjModel


_POLYNOMIALS = ("dof_dampingpoly", "jnt_stiffnesspoly", "actuator_dampingpoly")


def reflected(model: MjModel, k: int, name: str) -> float:
    """Return the "armature" or "damping" that an actuator adds to a hinge or slide: gear^2 times its own."""
    actuator = int(model.jnt_actuatorid[k]) if hasattr(model, "jnt_actuatorid") else -1
    if actuator < 0:
        return 0.0
    gear, own = float(model.actuator_gear[actuator][0]), np.atleast_1d(getattr(model, f"actuator_{name}")[actuator])
    return gear**2 * float(own[0])


def warn_of_passive_forces(model: MjModel, where: str) -> None:
    """Warn of what MuJoCo adds to the torque and the robot does not have: gravity compensation, tendons that act, and more."""
    massive = (model.body_mass > 0) & (np.arange(model.nbody) > 0)
    compensated = int(((model.body_gravcomp != 0) & massive).sum())
    if compensated:
        every_body = compensated == int(massive.sum()) and bool(np.all(model.body_gravcomp[massive] == 1))
        hint = (
            " robot.with_gravity((0, 0, 0)) has the same effect, since every body is compensated." if every_body else ""
        )
        warn(f"{where}: gravity is in tau here; MuJoCo compensates it for {compensated} bodies.{hint}")
    if acting := _acting(model):
        warn(f"{where}: {model.ntendon} tendons are ignored, and with them their {', '.join(acting)}.")
    bent = [name for name in _POLYNOMIALS if np.any(getattr(model, name, 0))]
    if bent:
        warn(f"{where}: damping and springs that are not linear are taken as linear ({', '.join(bent)}).")
    several = [k for k in range(model.njnt) if int(model.jnt_type[k]) < 2]
    own = [k for k in several if _acts(model, k)]
    if own:
        names = ", ".join(model.joint(k).name or f"joint{k}" for k in own[:4])
        warn(f"{where}: springs, damping, friction and armature of free and ball joints are ignored ({names}).")


def _acting(model: MjModel) -> list[str]:
    """Return what tendons do by themselves, or through the actuators that pull at them."""
    pulling = [int(a) for a in getattr(model, "tendon_actuatorid", ()) if a >= 0]
    return [
        name
        for name in ("stiffness", "damping", "frictionloss", "armature")
        if np.any(getattr(model, f"tendon_{name}"))
        or (pulling and np.any(getattr(model, f"actuator_{name}", np.zeros(model.nu))[pulling]))
    ]


def _acts(model: MjModel, k: int) -> bool:
    """Return whether a free or ball joint has a spring, damping, friction or armature of its own."""
    first = int(model.jnt_dofadr[k])
    rates = slice(first, first + (6 if int(model.jnt_type[k]) == 0 else 3))
    parts = (model.dof_damping, model.dof_frictionloss, model.dof_armature)
    driven = any(reflected(model, k, name) for name in ("armature", "damping"))
    return bool(model.jnt_stiffness[k]) or driven or any(bool(np.any(part[rates])) for part in parts)


def passive_notes(model: MjModel) -> list[str]:
    """Return notes on what only carries actuators, or acts from outside: tendons and the surrounding medium."""
    notes = []
    if model.ntendon and not _acting(model):
        notes.append(f"{model.ntendon} tendons, which only carry actuators, are left out")
    if model.opt.density or model.opt.viscosity:
        notes.append("forces of the medium (density, viscosity) are left out")
    return notes
