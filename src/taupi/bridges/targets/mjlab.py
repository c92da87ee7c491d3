"""mjlab: an MJCF, and one actuator configuration for each joint."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from taupi.bridges.mujoco.engine import MujocoModel
from taupi.bridges.targets.mujoco import Mujoco, mjcf_files
from taupi.bridges.targets.passport import JointDrive, Passport
from taupi.bridges.targets.target import Place, Target, TorqueFunction, plain, register
from taupi.identification.commands.stretches import Stretch

# A torque that no motor of a robot reaches, where the description states no limit: mjlab asks for one.
_NO_LIMIT = 1e9


@register
class Mjlab(Target):
    """The MJCF of the target mujoco without actuators, and a list of actuator configurations, one per joint."""

    name: ClassVar[str] = "mjlab"
    title: ClassVar[str] = "mjlab"
    versions: ClassVar[tuple[str, ...]] = ("1.6",)
    places: ClassVar[Mapping[str, Place]] = {
        "armature": Place("armature"),
        "damping": Place("viscous_damping"),
        "dry_friction": Place("frictionloss"),
        "stiffness": Place("joint stiffness of the MJCF"),
        "offset": Mujoco.places["offset"],
        "kp": Place("stiffness"),
        "kd": Place("damping", note="the gain; friction is viscous_damping"),
        "delay": Place("delay_min_lag, delay_max_lag", steps=True, note="whole steps, constant"),
        "effort": Place("effort_limit"),
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "Lags are resampled every step unless both are equal, as they are here.",
        "The MJCF is checked with MuJoCo; mjlab itself was not run.",
    )
    digits: ClassVar[str] = "float"
    engine: ClassVar[str] = "MuJoCo"
    needs: ClassVar[tuple[str, str]] = ("mujoco", "mujoco")
    simulator: ClassVar[str] = "MuJoCo"
    link: ClassVar[str] = "https://mujocolab.github.io/mjlab/"

    loader: ClassVar[str] = Mujoco.loader
    frames: ClassVar[str] = "link"

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the MJCF and the configurations."""
        models = mjcf_files(passport, actuated=False)
        return {**models, f"{passport.name}_mjlab.py": _configurations(passport, next(iter(models)))}

    def torque(self, folder: Path, passport: Passport) -> TorqueFunction:
        """Return MuJoCo's inverse dynamics of the MJCF."""
        return MujocoModel.of(next(folder.glob("*.xml")), passport.robot)

    def motion(self, folder: Path, passport: Passport, stretch: Stretch) -> np.ndarray:
        """Return the positions of MuJoCo's simulation of the MJCF, with these actuators and their whole steps of delay."""
        whole = {n: replace(d, delay=passport.steps(d.delay) * passport.timestep) for n, d in passport.drives.items()}
        ((_, text),) = mjcf_files(replace(passport, drives=whole)).items()
        with tempfile.TemporaryDirectory() as actuated:
            path = Path(actuated) / "actuated.xml"
            path.write_text(text, encoding="utf-8", newline="")
            return MujocoModel.of(path, passport.robot).driven(stretch)


def _configurations(passport: Passport, mjcf: str) -> str:
    robot = passport.robot
    driven = [j.name for j in robot.single_joints if not j.mimic]
    entries = [line for name in driven for line in _configuration(name, passport.drives[name], passport)]
    lines = [
        f'"""{plain(robot.name)} in mjlab {passport.version}, identified by taupi; steps are {passport.timestep!r} s."""',
        "",
        "from pathlib import Path",
        "",
        "import mujoco",
        "from mjlab.actuator import BuiltinMotorActuatorCfg, BuiltinPositionActuatorCfg",
        "from mjlab.entity import EntityArticulationInfoCfg, EntityCfg",
        "",
        "ACTUATORS = (",
        *entries,
        ")",
        "",
        "",
        "def spec() -> mujoco.MjSpec:",
        '    """Return the model."""',
        f"    return mujoco.MjSpec.from_file(str(Path(__file__).with_name({mjcf!r})))",
        "",
        "",
        "ROBOT = EntityCfg(spec_fn=spec, articulation=EntityArticulationInfoCfg(actuators=ACTUATORS))",
        "",
    ]
    return "\n".join(lines)


def _configuration(name: str, drive: JointDrive, passport: Passport) -> list[str]:
    values, steps = passport.joints[name], passport.steps(drive.delay)
    arguments = {
        "target_names_expr": (name,),
        **({} if drive.kp is None else {"stiffness": drive.kp, "damping": drive.kd}),
        "effort_limit": drive.effort if drive.effort is not None or drive.kp is not None else _NO_LIMIT,
        "armature": values.armature,
        "frictionloss": values.dry_friction,
        "viscous_damping": values.damping,
        **({"delay_min_lag": steps, "delay_max_lag": steps} if steps else {}),
    }
    kind = "BuiltinMotorActuatorCfg" if drive.kp is None else "BuiltinPositionActuatorCfg"
    return [f"    {kind}(", *(f"        {key}={value!r}," for key, value in arguments.items()), "    ),"]
