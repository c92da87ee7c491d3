"""Posterior samples as one NPZ file: the same index for every quantity, the estimate first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from taupi.bridges.alignment import matrix_of
from taupi.bridges.identified import PLACES
from taupi.bridges.targets.bodies import principal
from taupi.bridges.targets.passport import JointDrive
from taupi.dynamics.orientation import quaternion
from taupi.files import write_file
from taupi.identification.results.samples import Samples
from taupi.model.parameters import LINK_SIZE

# What arrays of terms are called; other terms keep the names of their kind.
_NAMES = {"rotor": "armature"}


def sample_arrays(
    samples: Samples, drives: Mapping[str, JointDrive] | None = None, frames: str = "link"
) -> dict[str, np.ndarray]:
    """Return posterior samples as arrays, with what a simulator sets of each of K robots with n joints and L links.

    Args:
        samples: What `taupi.samples` returned.
        drives: The drive of each joint, which all robots share; by default none.
        frames: "link", by default: the centre of mass and the inertia are in the axes of the robot's link frames, as in MJCF; or
            "joint": in the axes of the frames that the joints move, as in URDF and USD.

    Returns:
        `joint_names` (n,), `link_names` (L,); armature, viscous, coulomb and any other term (K, n) in SI units; kp, kd, delay_s,
        effort (K, n), NaN for what is not known; mass (K, L), com (K, L, 3), inertia (K, L, 6) about the centre of mass as Ixx,
        Ixy, Ixz, Iyy, Iyz, Izz, and inertia_diag (K, L, 3) with quat (K, L, 4), w first, its principal axes; the seed.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm)(q, qd, qdd) + np.random.default_rng(0).normal(0, 0.1, q.shape)
    >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), terms=(), cutoff_hz=10)
    >>> sample_arrays(tp.samples(fit, 20))["com"].shape
    (21, 2, 3)
    """
    robot, count = samples.fit.robot, len(samples)
    names = [j.name for j in robot.single_joints]
    entries = samples.layout.entries[len(robot.parameters) :]
    arrays: dict[str, np.ndarray] = {
        "joint_names": np.array(names),
        "link_names": np.array(robot.link_names),
        "seed": np.array(samples.seed),
    }
    kinds = dict.fromkeys([*PLACES.values(), *(e.kind for e in entries)])
    for kind in kinds:
        values = np.zeros((count, len(names)))
        for k, e in enumerate(entries, start=len(robot.parameters)):
            if e.kind == kind and e.owner in names:
                values[:, names.index(e.owner)] = samples.parameters[:, k]
        arrays[_NAMES.get(kind, kind)] = values
    stated = [(drives or {}).get(name, JointDrive()) for name in names]
    for name, numbers in (
        ("kp", [np.nan if d.kp is None else d.kp for d in stated]),
        ("kd", [d.kd for d in stated]),
        ("delay_s", [d.delay for d in stated]),
        ("effort", [np.nan if d.effort is None else d.effort for d in stated]),
    ):
        arrays[name] = np.tile(np.array(numbers, dtype=float), (count, 1))
    if samples.delays is not None:
        # What a target was fitted again with, or a user states, holds for the estimate; the draws are about it.
        own = float(samples.delays[0])
        about = np.array([own if d.kp is None else d.delay for d in stated])
        least = np.where(about >= 0, 0.0, -np.inf)  # no target knows commands before they are sent
        arrays["delay_s"] = np.maximum(about + samples.delays[:, None] - own, least)
    for name, values in samples.gains.items():
        if stated[names.index(name)].kp in (None, values[0]):  # others are stated, and known
            arrays["kp"][:, names.index(name)] = values
    return arrays | _bodies(samples, frames)


def write_samples(
    samples: Samples,
    path: str | os.PathLike[str],
    drives: Mapping[str, JointDrive] | None = None,
    frames: str = "link",
    force: bool = False,
) -> None:
    """Write posterior samples to an NPZ file: the arrays of `sample_arrays`, without pickled objects.

    Args:
        samples: What `taupi.samples` returned.
        path: The file.
        drives: The drive of each joint, by default none.
        frames: "link", by default, or "joint".
        force: Whether a file that exists is overwritten, False by default.

    >>> import tempfile, numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r").with_friction(viscous=1.0), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm, terms="viscous")(q, qd, qdd) + np.random.default_rng(0).normal(0, 0.1, q.shape)
    >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), terms=("viscous",), cutoff_hz=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tp.bridges.write_samples(tp.samples(fit, 20), f"{folder}/samples.npz")
    ...     with np.load(f"{folder}/samples.npz") as file:
    ...         arrays = dict(file)
    >>> arrays["viscous"].shape, arrays["inertia"].shape
    ((21, 2), (21, 2, 6))
    """
    arrays: dict[str, Any] = {**sample_arrays(samples, drives, frames)}
    write_file(path, lambda stream: np.savez(stream, **arrays), force)


def _bodies(samples: Samples, frames: str) -> dict[str, np.ndarray]:
    robot = samples.fit.robot
    tens = samples.links.reshape(len(samples), -1, LINK_SIZE)
    mass = tens[..., 0]
    com = tens[..., 1:4] / np.where(mass > 0, mass, 1.0)[..., None]
    about = np.empty((*mass.shape, 3, 3))
    upper = np.triu_indices(3)
    about[..., upper[0], upper[1]] = about[..., upper[1], upper[0]] = tens[..., 4:]
    square = np.sum(com**2, axis=-1)[..., None, None] * np.eye(3) - com[..., :, None] * com[..., None, :]
    inertia = about - mass[..., None, None] * square
    if frames == "joint":
        after = np.array([matrix_of(j.after, dict(robot.symbols)) for j in robot.joints])
        turn, shift = after[:, :3, :3], after[:, :3, 3]
        com = np.einsum("lab,klb->kla", turn, com) + shift
        inertia = turn @ inertia @ turn.swapaxes(-1, -2)
    pairs = [principal(each) for each in inertia.reshape(-1, 3, 3)]
    diagonal = np.array([moments for moments, _ in pairs]).reshape(*mass.shape, 3)
    quat = np.array([quaternion(axes) for _, axes in pairs]).reshape(*mass.shape, 4)
    six = inertia[..., upper[0], upper[1]]
    return {"mass": mass, "com": com, "inertia": six, "inertia_diag": diagonal, "quat": quat}
