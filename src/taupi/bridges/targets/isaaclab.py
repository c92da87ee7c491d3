"""Isaac Lab: a USD layer, and actuator configurations by the names of the version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from taupi.bridges.targets.passport import JointDrive, Passport
from taupi.bridges.targets.target import Place, Target, plain, register
from taupi.bridges.targets.usd import usd_text

_COEFFICIENT = "its joint friction is a dimensionless coefficient, not a torque"

_LOADER = '''import numpy as np
import torch

with np.load("samples.npz") as file:
    SAMPLES = dict(file)


def set_samples(asset, samples=SAMPLES):
    """Give environment e robot e of the samples, joints and bodies by name; 0 is the estimate."""
    envs = np.arange(asset.num_instances) % len(samples["mass"])
    joints, _ = asset.find_joints([str(name) for name in samples["joint_names"]], preserve_order=True)
    bodies, _ = asset.find_bodies([str(name) for name in samples["link_names"]], preserve_order=True)
    chosen = {n: torch.tensor(samples[n][envs], dtype=torch.float32) for n in samples if samples[n].ndim > 1}
    on = {n: values.to(asset.device) for n, values in chosen.items()}
    asset.write_joint_armature_to_sim(on["armature"], joint_ids=joints)
    asset.write_joint_friction_coefficient_to_sim(on["coulomb"], on["coulomb"], on["viscous"], joint_ids=joints)
    view, ids = asset.root_physx_view, torch.arange(asset.num_instances)
    masses, coms, inertias = view.get_masses(), view.get_coms(), view.get_inertias()
    masses[:, bodies], coms[:, bodies, :3] = chosen["mass"], chosen["com"]
    coms[:, bodies, 3:] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    inertias[:, bodies] = chosen["inertia"][:, :, [0, 1, 2, 1, 3, 4, 2, 4, 5]]
    view.set_masses(masses, ids), view.set_coms(coms, ids), view.set_inertias(inertias, ids)
'''


@register
class IsaacLab(Target):
    """The layer of the target usd, and an `ArticulationCfg` whose actuators state what was identified."""

    name: ClassVar[str] = "isaaclab"
    title: ClassVar[str] = "Isaac Lab"
    versions: ClassVar[tuple[str, ...]] = ("3.0", "2.3")
    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("1.4", "2.0", "2.1", "2.2", "3.0-ovphysx"), _COEFFICIENT),
    }
    places: ClassVar[Mapping[str, Place]] = {
        "armature": Place("armature"),
        "damping": Place("viscous_friction"),
        "dry_friction": Place(
            "friction, dynamic_friction", note="a torque since Isaac Sim 5.0; a coefficient in OVPhysX"
        ),
        "kp": Place("stiffness"),
        "kd": Place("damping"),
        "delay": Place("min_delay, max_delay", steps=True, note="whole physics steps, in a DelayedPDActuatorCfg"),
        "effort": Place("actuator_effort_limit, joint_effort_limit", note="effort_limit, effort_limit_sim in 2.3"),
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "Refused for versions whose friction is a coefficient: 2.2 and older, Isaac Sim 4.5, OVPhysX.",
        "The native path of 3.0 delays by max_delay alone; here both are equal.",
        "Friction that depends on load exists as BamMotorCfg alone, in the voltage domain of one motor: not written.",
    )
    digits: ClassVar[str] = "float"
    link: ClassVar[str] = "https://isaac-sim.github.io/IsaacLab/main/source/api/lab/isaaclab.actuators.html"

    loader: ClassVar[str] = _LOADER

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the layer and the configuration."""
        layer = f"{passport.name}.usda"
        return {layer: usd_text(passport), f"{passport.name}_isaaclab.py": _configuration(passport, layer)}


def _configuration(passport: Passport, layer: str) -> str:
    lines = [
        f'"""{plain(passport.robot.name)} in Isaac Lab {passport.version}, identified by taupi."""',
        "",
        "from pathlib import Path",
        "",
        "import isaaclab.sim as sim_utils",
        "from isaaclab.actuators import DelayedPDActuatorCfg, ImplicitActuatorCfg",
        "from isaaclab.assets import ArticulationCfg",
        "",
        f"TIMESTEP = {passport.timestep!r}  # s: delays are counted in physics steps of this length",
        "",
        "ROBOT = ArticulationCfg(",
        f"    spawn=sim_utils.UsdFileCfg(usd_path=str(Path(__file__).with_name({layer!r}))),",
        "    actuators={",
        *(f"        {line}" for line in _actuators(passport)),
        "    },",
        ")",
        "",
    ]
    return "\n".join(lines)


def _actuators(passport: Passport) -> list[str]:
    """Return the actuators, one per number of steps of delay: a group has one delay, and its other numbers joint by joint."""
    groups: dict[int, dict[str, JointDrive]] = {}
    for name, drive in passport.drives.items():
        groups.setdefault(passport.steps(drive.delay), {})[name] = drive
    lines: list[str] = []
    for steps, drives in groups.items():
        names, values = list(drives), {name: passport.joints[name] for name in drives}
        limits = {name: d.effort for name, d in drives.items() if d.effort is not None}
        in_model, in_solver = (
            ("actuator_effort_limit", "joint_effort_limit")
            if passport.version == "3.0"
            else ("effort_limit", "effort_limit_sim")
        )
        numbers = {
            "joint_names_expr": names,
            "stiffness": {name: d.kp or 0.0 for name, d in drives.items()},
            "damping": {name: d.kd for name, d in drives.items()},
            "armature": {name: v.armature for name, v in values.items()},
            "friction": {name: v.dry_friction for name, v in values.items()},
            "dynamic_friction": {name: v.dry_friction for name, v in values.items()},
            "viscous_friction": {name: v.damping for name, v in values.items()},
            **({in_model: limits, in_solver: limits} if limits else {}),
            **({"min_delay": steps, "max_delay": steps} if steps else {}),
        }
        kind = "DelayedPDActuatorCfg" if steps else "ImplicitActuatorCfg"
        lines += [f'"delay_{steps}": {kind}(', *(f"    {key}={value!r}," for key, value in numbers.items()), "),"]
    return lines
