"""Drake: what was identified, set in a context of a MultibodyPlant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from taupi.bridges.alignment import ArmAtZero, central, link_frames, matched_joints, moved_body
from taupi.bridges.identified import PLACES, Identified, identified, unreal
from taupi.bridges.packages import needed
from taupi.errors import TaupiError
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot
from taupi.model.robot_parts import MULTIPLE

if TYPE_CHECKING:
    from types import ModuleType

    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import Joint, RigidBody
    from pydrake.systems.framework import Context


def to_drake(source: Robot | Fit, plant: object, context: object = None, anyway: bool = False) -> Context:
    """Set the parameters of a robot or a fit for a Drake plant of the same arm.

    It sets the spatial inertias of bodies, the damping of joints, and, if a joint has an actuator, its rotor inertia for the gear
    ratio that it has. Bodies welded to a link keep their inertia if a real body is left for the link. Dry friction, springs,
    constant torques, and rotors without an actuator have no place: a warning names them. What a fit has not identified becomes 0.

    Args:
        source: A robot, or a fit.
        plant: A finalised `MultibodyPlant`. Joints are found by name; bodies may have other frames than the robot's links.
        context: A context of the plant in which the parameters are set, by default a new one: Drake keeps them in contexts.
        anyway: Whether a fit whose verdict is wrong is taken all the same, False by default.

    Returns:
        The context.

    Raises:
        TaupiError: If the plant is of another robot, or a body is one that cannot exist.

    >>> import taupi as tp  # doctest: +SKIP
    >>> context = tp.load_fit("out").to_drake(plant)  # doctest: +SKIP
    >>> plant.CalcMassMatrix(context)  # doctest: +SKIP
    """
    tree = needed("pydrake.multibody.tree", "drake", "to_drake")
    multibody = needed("pydrake.multibody.plant", "drake", "to_drake")
    if not isinstance(plant, multibody.MultibodyPlant):
        raise TaupiError("{plant} is {got!r}, expected a pydrake MultibodyPlant of doubles.", got=plant)
    if not plant.is_finalized():
        raise TaupiError("{plant} is not finalized: Drake keeps parameters in contexts, which it has after Finalize().")
    taken = identified(source, anyway)
    robot = taken.robot
    if any(j.kind in MULTIPLE for j in robot.joints):
        raise TaupiError(
            "{robot} has a free base or ball joints, which are not set in a Drake plant.", robot=robot.name
        )
    taken.refuse_unreal("Drake")
    context = _checked_context(plant, context)
    joints = _joints(plant, robot)
    arranged = _arrangement(plant, joints)
    frames = link_frames(robot, arranged, np.array(plant.gravity_field().gravity_vector()), "the plant")
    for joint, theirs, body in zip(robot.joints, joints, taken.bodies, strict=True):
        _set_body(tree, plant, context, theirs.child_body(), moved_body(body, frames[joint.name]))
    without_rotor = _set_joints(plant, context, taken, joints)
    # Drake ends the process if damping is negative.
    others = [*without_rotor, *taken.negative("damping")]
    taken.warn_of_unplaced(("armature", "damping"), "a Drake plant", others)
    return context


def _checked_context(plant: MultibodyPlant, context: Context) -> Context:
    """Return a context of the plant: the given one, or a new one for None."""
    if context is None:
        return plant.CreateDefaultContext()
    try:
        plant.ValidateContext(context)
    except (RuntimeError, TypeError):
        raise TaupiError(
            "{context} is {got!r}, expected a context of this plant.",
            remedy="From a diagram's context, take plant.GetMyMutableContextFromRoot(...).",
            got=context,
        ) from None
    return context


def _set_joints(plant: MultibodyPlant, context: Context, taken: Identified, joints: Sequence[Joint]) -> list[str]:
    """Set damping and rotors of joints, and return the names of the rotors without an actuator to set them in."""
    actuators = {a.joint().index(): a for a in map(plant.get_joint_actuator, plant.GetJointActuatorIndices())}
    unset = []
    for joint, theirs in zip(taken.robot.joints, joints, strict=True):
        values, actuator = taken.joints[joint.name], actuators.get(theirs.index())
        theirs.SetDampingVector(context, [max(values.damping, 0.0)])
        if actuator is None:
            unset += [f"{joint.name}.{PLACES['armature']}"] if values.armature else []
            continue
        ratio = actuator.gear_ratio(context)
        if not ratio:
            raise TaupiError(
                "The actuator of {name} has a gear ratio of 0.", remedy="Set one that is not 0.", name=theirs.name()
            )
        actuator.SetRotorInertia(context, values.armature / ratio**2)
    return unset


def _joints(plant: MultibodyPlant, robot: Robot) -> list[Joint]:
    """Return the plant's joints in our order."""
    moving = [j for j in map(plant.get_joint, plant.GetJointIndices()) if j.num_velocities()]
    by_name: dict[str, Joint] = {}
    for joint in moving:
        if joint.name() in by_name and joint.name() in {j.name for j in robot.joints}:
            raise TaupiError(
                "The plant has two joints {name!r}.", remedy="Give a plant with one such arm.", name=joint.name()
            )
        by_name[joint.name()] = joint
    matches = matched_joints([j.name for j in robot.joints], list(by_name), "The plant", robot.name)
    result = [by_name[matches[j.name]] for j in robot.joints]
    for ours, theirs in zip(robot.joints, result, strict=True):
        kind = "prismatic" if ours.prismatic else "revolute"
        if theirs.type_name() != kind:
            raise TaupiError(
                "Joint {name!r} of the plant is {got}, expected {kind}.",
                name=theirs.name(),
                got=theirs.type_name(),
                kind=kind,
            )
    inside = {j.child_body().index() for j in result}
    for joint in moving:
        if joint not in result and joint.parent_body().index() in inside:
            raise TaupiError(
                "The plant has joint {name!r} on a link of {robot}, which does not have it.",
                remedy="Weld it in the plant, or describe the robot with it.",
                name=joint.name(),
                robot=robot.name,
            )
    return result


def _arrangement(plant: MultibodyPlant, joints: list[Joint]) -> ArmAtZero:
    """Return the plant's joints with all positions at zero."""
    context = plant.CreateDefaultContext()
    for joint in joints:
        (joint.set_angle if joint.type_name() == "revolute" else joint.set_translation)(context, 0.0)
    links, axes, points = [], [], []
    for joint in joints:
        at = joint.frame_on_parent().CalcPoseInWorld(context).GetAsMatrix4()
        axis = joint.revolute_axis() if joint.type_name() == "revolute" else joint.translation_axis()
        links.append(plant.EvalBodyPoseInWorld(context, joint.child_body()).GetAsMatrix4())
        axes.append(at[:3, :3] @ axis)
        points.append(at[:3, 3])
    slides = np.array([joint.type_name() == "prismatic" for joint in joints])
    return ArmAtZero(np.array(links), np.array(axes), np.array(points), slides)


def _set_body(tree: ModuleType, plant: MultibodyPlant, context: Context, body: RigidBody, asked: np.ndarray) -> None:
    """Set a link's parameters, less the bodies welded to it, or all of them if no real body would be left."""
    welded = [b for b in plant.GetBodiesWeldedTo(body) if b.index() != body.index()]
    pose = plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4()
    own = asked.copy()
    for other in welded:
        at = np.linalg.inv(plant.EvalBodyPoseInWorld(context, other).GetAsMatrix4()) @ pose
        own -= moved_body(_parameters(other, context), at)
    if welded and unreal(own):
        own = asked
        for other in welded:
            other.SetSpatialInertiaInBodyFrame(context, tree.SpatialInertia.Zero())
    body.SetSpatialInertiaInBodyFrame(context, _spatial(tree, own))


def _parameters(body: RigidBody, context: Context) -> np.ndarray:
    """Return the ten parameters of a body of the plant, in its own frame."""
    spatial = body.CalcSpatialInertiaInBodyFrame(context)
    m = spatial.get_mass()
    inertia = spatial.CalcRotationalInertia().CopyToFullMatrix3()
    return np.array([m, *(m * spatial.get_com()), *inertia[np.triu_indices(3)]])


def _spatial(tree: ModuleType, body: np.ndarray) -> object:
    m, c, inertia = central(body)
    if not m:
        return tree.SpatialInertia.Zero()
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia
    about = tree.RotationalInertia(xx, yy, zz, xy, xz, yz)
    return tree.SpatialInertia.MakeFromCentralInertia(m, c, about)
