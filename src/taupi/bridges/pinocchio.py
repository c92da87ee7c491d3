"""Pinocchio: what was identified, set in a Pinocchio model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.bridges.alignment import ArmAtZero, central, link_frames, matched_joints, moved_body
from taupi.bridges.identified import Identified, identified
from taupi.bridges.packages import needed
from taupi.errors import TaupiError
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot
from taupi.model.robot_parts import FREE

if TYPE_CHECKING:
    from types import ModuleType

    import pinocchio

# What a Pinocchio model has for a joint.
FIELDS = ("armature", "damping", "dry_friction")


def to_pinocchio(source: Robot | Fit, model: object, anyway: bool = False) -> pinocchio.Model:
    """Set the parameters of a robot or a fit in a Pinocchio model of the same arm.

    It sets `inertias`, `armature`, `damping` and `friction` of its joints. `pinocchio.rnea`, `aba` and `crba` use inertias and
    armature; whatever else acts at a joint is for the user to add. Springs and constant torques have no place: a warning names
    them. What a fit has not identified becomes 0.

    Args:
        source: A robot, or a fit.
        model: A `pinocchio.Model`, whose joints are found by name; their frames may differ from the robot's link frames.
        anyway: Whether a fit whose verdict is wrong is taken all the same, False by default.

    Returns:
        The model.

    Raises:
        TaupiError: If the model is of another robot, or a body is one that cannot exist.

    >>> import pinocchio, taupi as tp  # doctest: +SKIP
    >>> model = pinocchio.buildModelFromUrdf("arm.urdf")  # doctest: +SKIP
    >>> tp.load_fit("out").to_pinocchio(model)  # doctest: +SKIP
    """
    pin = needed("pinocchio", "pinocchio", "to_pinocchio")
    if not isinstance(model, pin.Model):
        raise TaupiError("{model} is {got!r}, expected a pinocchio.Model.", got=model)
    taken = identified(source, anyway)
    robot, names = taken.robot, _joints(pin, model, taken.robot)
    numbers = [model.getJointId(names[j.name]) for j in robot.joints]
    frames = link_frames(
        robot, _arrangement(pin, model, numbers), np.array(model.gravity.linear), f"model {model.name!r}"
    )
    taken.refuse_unreal("Pinocchio")
    for joint, body, k in zip(robot.joints, taken.bodies, numbers, strict=True):
        m, c, inertia = central(moved_body(body, frames[joint.name]))
        model.inertias[k] = pin.Inertia(m, c, inertia)
    _set_joints(model, taken, dict(zip((j.name for j in robot.joints), numbers, strict=True)))
    taken.warn_of_unplaced(FIELDS, "a Pinocchio model", taken.negative("dry_friction"))
    return model


# The kind of our first joint, and what Pinocchio calls it: a base has its own names in the two.
_BASES = {FREE: "JointModelFreeFlyer"}


def _joints(pin: ModuleType, model: pinocchio.Model, robot: Robot) -> dict[str, str]:
    """Return the names of the model's joints by ours; a free base is the free joint that the model begins with."""
    names = list(model.names)[1:]
    ours = {}
    if names and model.joints[1].shortname() == _BASES.get(robot.joints[0].kind):
        ours[robot.joints[0].name] = names.pop(0)
    rest = [j.name for j in robot.joints if j.name not in ours]
    matches = matched_joints(rest, names, f"model {model.name!r}", robot.name)
    extra = [name for name in names if name not in matches.values()]
    if extra:
        raise TaupiError(
            "model {model!r} has joints that {robot} does not have: {extra:,}.",
            remedy="Hold them first: pinocchio.buildReducedModel(model, ids, q).",
            model=model.name,
            robot=robot.name,
            extra=extra[:6],
        )
    velocities = {j.name: j.dof for j in robot.joints}
    odd = [name for own, name in matches.items() if model.joints[model.getJointId(name)].nv != velocities[own]]
    if odd:
        raise TaupiError(
            "model {model!r}: {joints:,} have another number of degrees of freedom than the joints of {robot}.",
            model=model.name,
            joints=odd,
            robot=robot.name,
        )
    return {**ours, **matches}


def _arrangement(pin: ModuleType, model: pinocchio.Model, numbers: list[int]) -> ArmAtZero:
    """Return the model's joints at its neutral configuration, where revolute joints are at zero."""
    data = model.createData()
    q = pin.neutral(model)
    jacobian = pin.computeJointJacobians(model, data, q)
    pin.forwardKinematics(model, data, q)
    links = np.array([data.oMi[k].homogeneous for k in numbers])
    axes, slides = np.zeros((len(numbers), 3)), np.zeros(len(numbers), dtype=bool)
    for row, k in enumerate(numbers):
        joint = model.joints[k]
        if joint.nv == 1:
            column = jacobian[:, joint.idx_v]
            slides[row] = not column[3:].any()
            axes[row] = column[:3] if slides[row] else column[3:]
    return ArmAtZero(links, axes, links[:, :3, 3], slides)


def _set_joints(model: pinocchio.Model, taken: Identified, numbers: dict[str, int]) -> None:
    armature, damping, friction = (np.array(getattr(model, name)) for name in ("armature", "damping", "friction"))
    for name, values in taken.joints.items():
        at = model.joints[numbers[name]].idx_v
        armature[at], damping[at], friction[at] = values.armature, values.damping, max(values.dry_friction, 0.0)
    model.armature, model.damping, model.friction = armature, damping, friction
    if hasattr(model, "lowerDryFrictionLimit"):
        model.lowerDryFrictionLimit, model.upperDryFrictionLimit = -friction, friction
