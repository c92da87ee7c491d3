"""Drake: a URDF with Drake's own elements for rotors and gains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from taupi.bridges.alignment import vector_of
from taupi.bridges.mujoco.joint_attributes import number_text
from taupi.bridges.mujoco.new_mjcf import element
from taupi.bridges.packages import needed
from taupi.bridges.targets.bodies import JointedLink, base_name
from taupi.bridges.targets.passport import Passport
from taupi.bridges.targets.target import Place, Target, TorqueFunction, register
from taupi.bridges.targets.urdf import urdf_text
from taupi.model.coupling import coupling_of
from taupi.model.formats import urdf

if TYPE_CHECKING:
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.systems.framework import Context

_LOADER = '''import numpy as np
from pydrake.multibody.tree import RotationalInertia, SpatialInertia

with np.load("samples.npz") as file:
    SAMPLES = dict(file)


def set_sample(plant, context, k, samples=SAMPLES):
    """Set robot k in a context of the plant, joints and bodies by name; 0 is the estimate."""
    for i, name in enumerate(samples["joint_names"]):
        plant.GetJointByName(str(name)).SetDampingVector(context, [samples["viscous"][k, i]])
        plant.GetJointActuatorByName(str(name)).SetRotorInertia(context, samples["armature"][k, i])
    for i, name in enumerate(samples["link_names"]):
        xx, xy, xz, yy, yz, zz = samples["inertia"][k, i]
        inertia = RotationalInertia(xx, yy, zz, xy, xz, yz)
        body = SpatialInertia.MakeFromCentralInertia(samples["mass"][k, i], samples["com"][k, i], inertia)
        plant.GetBodyByName(str(name)).SetSpatialInertiaInBodyFrame(context, body)
'''


@register
class Drake(Target):
    """A URDF whose transmissions have `drake:rotor_inertia`, `drake:gear_ratio` and `drake:controller_gains`."""

    name: ClassVar[str] = "drake"
    title: ClassVar[str] = "Drake"
    versions: ClassVar[tuple[str, ...]] = ("1.51",)
    places: ClassVar[Mapping[str, Place]] = {
        "armature": Place("drake:rotor_inertia", note="behind a drake:gear_ratio of 1"),
        "damping": Place("dynamics damping"),
        "kp": Place("drake:controller_gains p"),
        "kd": Place("drake:controller_gains d"),
        "effort": Place("limit effort"),
    }
    remarks: ClassVar[tuple[str, ...]] = ("Drake has no dry friction of joints: the file states none.",)
    checked: ClassVar[str] = "run"
    engine: ClassVar[str] = "Drake"
    needs: ClassVar[tuple[str, str]] = ("pydrake", "drake")
    link: ClassVar[str] = "https://drake.mit.edu/doxygen_cxx/group__multibody__parsing.html"

    loader: ClassVar[str] = _LOADER

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the URDF with Drake's elements."""
        text = urdf_text(passport, lambda piece: _transmission(piece, passport))
        return {f"{passport.name}.urdf": text.replace("<robot ", '<robot xmlns:drake="http://drake.mit.edu" ', 1)}

    def torque(self, folder: Path, passport: Passport) -> TorqueFunction:
        """Return Drake's inverse dynamics of the file."""
        return DrakePlant.of(next(folder.glob("*.urdf")), passport)


def _transmission(piece: JointedLink, passport: Passport) -> list[str]:
    if piece.free or piece.master:
        return []
    name, drive = piece.joint.name, passport.drives[piece.joint.name]
    rotor = {"value": number_text(passport.joints[name].armature)}
    gains = {"p": number_text(drive.kp or 0.0), "d": number_text(drive.kd)}
    return [
        element("transmission", {"name": f"{name}_transmission"}, close=False),
        "  <type>transmission_interface/SimpleTransmission</type>",
        f"  {element('joint', {'name': name}, close=False)}",
        "    <hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>",
        "  </joint>",
        f"  {element('actuator', {'name': name}, close=False)}",
        f"    {element('drake:rotor_inertia', rotor)}",
        '    <drake:gear_ratio value="1"/>',
        *([f"    {element('drake:controller_gains', gains)}"] if drive.kp is not None else []),
        "  </actuator>",
        "</transmission>",
    ]


@dataclass(frozen=True, eq=False)
class DrakePlant:
    """The torque that a Drake plant needs for motions of a robot, its joints found by name.

    Attributes:
        plant: The finalised plant.
        context: Its context.
        places: Where the robot's joints (joints,) are in the plant's velocities.
        spread: The matrix (joints, n) by which the robot's coordinates move its joints.
        offsets: Where joints (joints,) are in the file while all coordinates are 0: not at 0 if they follow with an offset.
    """

    plant: MultibodyPlant
    context: Context
    places: np.ndarray
    spread: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, path: Path, passport: Passport) -> DrakePlant:
        """Return the plant of a URDF or SDF file, with the robot's gravity."""
        parsing = needed("pydrake.multibody.parsing", "drake", "This check")
        multibody = needed("pydrake.multibody.plant", "drake", "This check")
        plant = multibody.MultibodyPlant(0.0)
        parsing.Parser(plant).AddModels(str(path))
        root = base_name(passport.robot)
        if path.suffix == ".urdf" and not passport.robot.floating and plant.HasBodyNamed(root):
            plant.WeldFrames(plant.world_frame(), plant.GetBodyByName(root).body_frame())
        plant.mutable_gravity_field().set_gravity_vector(vector_of(passport.robot.gravity, passport.robot))
        plant.Finalize()
        places = [plant.GetJointByName(j.name).velocity_start() for j in passport.robot.single_joints]
        spread = np.array(coupling_of(passport.robot), dtype=float)
        offsets = np.zeros(len(places))
        if path.suffix == ".urdf":
            following = urdf.follower_offsets(path.read_text(encoding="utf-8"), path.name)
            offsets = np.array([following.get(j.name, 0.0) for j in passport.robot.single_joints])
        return cls(plant, plant.CreateDefaultContext(), np.array(places), spread, offsets)

    def __call__(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return the torque (N, n) for `q`, `qd` and `qdd` (N, n), SI units."""
        multibody = needed("pydrake.multibody.tree", "drake", "This check")
        result = np.zeros((len(q), len(self.places)))
        for k, motion in enumerate(zip(q, qd, qdd, strict=True)):
            states = [np.zeros(self.plant.num_velocities()) for _ in range(3)]
            for state, values in zip(states, motion, strict=True):
                state[self.places] = self.spread @ values
            states[0][self.places] += self.offsets
            self.plant.SetPositions(self.context, states[0])
            self.plant.SetVelocities(self.context, states[1])
            forces = multibody.MultibodyForces(self.plant)
            self.plant.CalcForceElementsContribution(self.context, forces)
            result[k] = self.plant.CalcInverseDynamics(self.context, states[2], forces)[self.places]
        return result @ self.spread
