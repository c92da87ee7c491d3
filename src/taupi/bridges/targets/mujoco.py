"""MuJoCo, and what reads its MJCF: MJX, MuJoCo Warp, MuJoCo Playground."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from taupi.bridges.mujoco.edited_mjcf import MjcfFile, updated_text
from taupi.bridges.mujoco.engine import MujocoModel
from taupi.bridges.mujoco.joint_attributes import number_text, numbers_text
from taupi.bridges.mujoco.new_mjcf import element, new_text
from taupi.bridges.targets.passport import JointDrive, Passport
from taupi.bridges.targets.target import Place, Target, TorqueFunction, register
from taupi.errors import TaupiError
from taupi.identification.commands.stretches import Stretch

_LOADER = '''import mujoco
import numpy as np

with np.load("samples.npz") as file:
    SAMPLES = dict(file)


def set_sample(model, k, samples=SAMPLES):
    """Set robot k in an mjModel of this MJCF, bodies and joints by name; 0 is the estimate."""
    for i, name in enumerate(samples["joint_names"]):
        dof = model.joint(str(name)).dofadr[0]
        model.dof_armature[dof] = samples["armature"][k, i]
        model.dof_damping[dof] = samples["viscous"][k, i]
        model.dof_frictionloss[dof] = samples["coulomb"][k, i]
    for i, name in enumerate(samples["link_names"]):
        body = model.body(str(name)).id
        model.body_mass[body], model.body_ipos[body] = samples["mass"][k, i], samples["com"][k, i]
        model.body_inertia[body], model.body_iquat[body] = samples["inertia_diag"][k, i], samples["quat"][k, i]
    mujoco.mj_setConst(model, mujoco.MjData(model))
'''


@register
class Mujoco(Target):
    """One MJCF: attributes of joints, and a `position` actuator for each joint with gains, else a `motor`."""

    name: ClassVar[str] = "mujoco"
    title: ClassVar[str] = "MuJoCo"
    versions: ClassVar[tuple[str, ...]] = ("4.0",)
    refused: ClassVar[Mapping[str, str]] = {"3.11": "its actuators have no delay, and its dcmotor means something else"}
    places: ClassVar[Mapping[str, Place]] = {
        "armature": Place("joint armature"),
        "damping": Place("joint damping"),
        "dry_friction": Place("joint frictionloss", note="creeps at standstill; complete above about 1 mrad/s"),
        "stiffness": Place("joint stiffness"),
        "offset": Place("joint springref", least=None, note="a spring of 1e-6 N m/rad that rests far away"),
        "kp": Place("position kp"),
        "kd": Place("position kv", note="inside forcerange"),
        "delay": Place(
            "position delay, nsample, interp", note="linear between steps; holds for the timestep that is written"
        ),
        "effort": Place("actuatorfrcrange, forcerange"),
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "Dry friction is as hard as MuJoCo accepts (solreffriction, solimpfriction); a joint at rest still creeps slowly.",
        "MJX, MuJoCo Warp and Playground read the same file.",
    )
    checked: ClassVar[str] = "run"
    engine: ClassVar[str] = "MuJoCo"
    needs: ClassVar[tuple[str, str]] = ("mujoco", "mujoco")
    simulator: ClassVar[str] = "MuJoCo"
    link: ClassVar[str] = "https://mujoco.readthedocs.io/en/stable/XMLreference.html"
    ball_joints: ClassVar[bool] = True
    loader: ClassVar[str] = _LOADER
    frames: ClassVar[str] = "link"

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the MJCF: the one that the robot was read from with other numbers, or a new one."""
        return mjcf_files(passport)

    def torque(self, folder: Path, passport: Passport) -> TorqueFunction:
        """Return MuJoCo's inverse dynamics of the file."""
        return MujocoModel.of(next(folder.glob("*.xml")), passport.robot)

    def motion(self, folder: Path, passport: Passport, stretch: Stretch) -> np.ndarray:
        """Return the positions of the file's own simulation, with its timestep, delays and limits of torque."""
        return MujocoModel.of(next(folder.glob("*.xml")), passport.robot).driven(stretch)


def mjcf_files(passport: Passport, actuated: bool = True) -> dict[str, str]:
    """Return the MJCF of a passport, by its name; a new one has a position actuator for each joint with gains if `actuated`."""
    original = Path(passport.robot.source.path)
    drives = {name: drive for name, drive in passport.drives.items() if drive.kp is not None}
    if passport.robot.source.format == "mjcf" and original.is_file():
        file = MjcfFile.read(original, passport.robot)
        if drives and actuated:
            raise TaupiError(
                "{robot} is written into {file}, which keeps its own actuators.",
                remedy="Leave out {drives}, or load the robot from a URDF.",
                robot=passport.robot.name,
                file=original.name,
            )
        return {original.name: updated_text(passport.written, file)}
    actuators = {name: _position(name, drive, passport) for name, drive in drives.items()} if actuated else None
    return {f"{passport.name}.xml": new_text(passport.written, actuators, {"timestep": number_text(passport.timestep)})}


def _position(name: str, drive: JointDrive, passport: Passport) -> str:
    numbers = {"kp": number_text(drive.kp or 0.0), "kv": number_text(drive.kd)}
    if drive.effort is not None:
        numbers["forcerange"] = numbers_text([-drive.effort, drive.effort])
    if drive.delay:
        # MuJoCo cuts a delay to the length of its buffer, silently; and without interpolation it rounds it up to whole steps.
        numbers |= {
            "nsample": str(passport.steps(drive.delay)),
            "interp": "linear",
            "delay": number_text(drive.delay),
        }
    return element("position", {"name": name, "joint": name, **numbers})
