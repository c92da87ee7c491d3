"""Pinocchio: what was identified, set in a Pinocchio model."""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.bridges.alignment import Arrangement, central, link_frames, matched_joints, moved_body
from taupi.bridges.identified import Identified, identified
from taupi.bridges.packages import needed
from taupi.bridges.real_bodies import refuse_unreal
from taupi.bridges.unplaced import warn_of_unplaced
from taupi.errors import Argument, TaupiError, shown
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot

# What a Pinocchio model has for a joint.
FIELDS = ("armature", "damping", "dry_friction")


def to_pinocchio(source: Robot | Fit, model: Any, anyway: bool = False) -> Any:
    """Set the parameters of the `source`, a robot or a fit, in a Pinocchio `model` of the same arm, and return the model.

    It sets `inertias`, `armature`, `damping` and `friction` of its joints, which are found by name; their frames may differ
    from the robot's link frames. `pinocchio.rnea`, `aba` and `crba` use inertias and armature; whatever else acts at a joint is
    for the user to add. Springs and constant torques have no place: a warning names them. What a fit has not identified
    becomes 0. A fit whose verdict is wrong is refused, unless `anyway`.

    >>> import pinocchio, taupi as tp  # doctest: +SKIP
    >>> model = pinocchio.buildModelFromUrdf("arm.urdf")  # doctest: +SKIP
    >>> tp.load_fit("out").to_pinocchio(model)  # doctest: +SKIP
    """
    pin = needed("pinocchio", "pinocchio", "to_pinocchio")
    if not isinstance(model, pin.Model):
        raise TaupiError(Argument("model"), f" is {shown(model)}, expected a pinocchio.Model.")
    taken = identified(source, anyway)
    robot, names = taken.robot, _joints(pin, model, taken.robot)
    numbers = [model.getJointId(names[j.name]) for j in robot.joints]
    frames = link_frames(
        robot, _arrangement(pin, model, numbers), np.array(model.gravity.linear), f"model {model.name!r}"
    )
    refuse_unreal(taken, "Pinocchio")
    for joint, body, k in zip(robot.joints, taken.bodies, numbers, strict=True):
        m, c, inertia = central(moved_body(body, frames[joint.name]))
        model.inertias[k] = pin.Inertia(m, c, inertia)
    _set_joints(model, taken, dict(zip((j.name for j in robot.joints), numbers, strict=True)))
    warn_of_unplaced(taken, FIELDS, "a Pinocchio model", taken.negative("dry_friction"))
    return model


def _joints(pin: Any, model: Any, robot: Robot) -> dict[str, str]:
    """Return the names of the model's joints by ours; a free base is the free joint that the model begins with."""
    names = list(model.names)[1:]
    ours = {}
    if robot.floating and names and model.joints[1].shortname() == "JointModelFreeFlyer":
        ours[robot.joints[0].name] = names.pop(0)
    rest = [j.name for j in robot.joints if j.name not in ours]
    matches = matched_joints(rest, names, f"model {model.name!r}", robot.name)
    extra = [name for name in names if name not in matches.values()]
    if extra:
        raise TaupiError(
            f"model {model.name!r} has joints that {robot.name} does not have: {', '.join(extra[:6])}.",
            remedy="Hold them first: pinocchio.buildReducedModel(model, ids, q).",
        )
    odd = [name for name in matches.values() if model.joints[model.getJointId(name)].nv != 1]
    if odd and not robot.multiple_joints:
        raise TaupiError(f"model {model.name!r}: {', '.join(odd)} have more than one degree of freedom.")
    return {**ours, **matches}


def _arrangement(pin: Any, model: Any, numbers: list[int]) -> Arrangement:
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
    return Arrangement(links, axes, links[:, :3, 3], slides)


def _set_joints(model: Any, taken: Identified, numbers: dict[str, int]) -> None:
    armature, damping, friction = (np.array(getattr(model, name)) for name in ("armature", "damping", "friction"))
    for name, values in taken.joints.items():
        at = model.joints[numbers[name]].idx_v
        armature[at], damping[at], friction[at] = values.armature, values.damping, max(values.dry_friction, 0.0)
    model.armature, model.damping, model.friction = armature, damping, friction
    if hasattr(model, "lowerDryFrictionLimit"):
        model.lowerDryFrictionLimit, model.upperDryFrictionLimit = -friction, friction
