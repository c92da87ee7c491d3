"""Friction and transmissions of a robot's joints, changed for all of them at once or joint by joint."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from taupi.errors import Argument, TaupiError, unknown
from taupi.model.robot_parts import MULTIPLE, Friction, Joint, stated
from taupi.model.scalars import ScalarLike, items_of

# One value for all joints, or one per joint; None leaves a joint's value as it is.
PerJoint: TypeAlias = "ScalarLike | Sequence[ScalarLike | None] | None"

FRICTION = tuple(f.name for f in dataclasses.fields(Friction))


def with_joint_data(
    joints: Sequence[Joint], attribute: str, values: Mapping[str, object], names: Sequence[str] | str | None, robot: str
) -> tuple[Joint, ...]:
    """Return the joints with other values in their "friction" or "transmission"; `names` are the joints that change.

    None leaves a value as it is, except for a stiffness: there it means a rigid joint.
    """
    which = _chosen(joints, names, robot)
    chosen = [joints[i].name for i in which]
    columns = {name: _for_each(value, chosen, name) for name, value in values.items()}
    result = list(joints)
    for k, i in enumerate(which):
        change = {name: column[k] for name, column in columns.items() if column[k] is not None or name == "stiffness"}
        result[i] = dataclasses.replace(joints[i], **{attribute: stated(getattr(joints[i], attribute), change)})
    return tuple(result)


def with_drives(
    joints: Sequence[Joint], values: Mapping[str, object], names: Sequence[str] | str | None, robot: str
) -> tuple[Joint, ...]:
    """Return the joints with other transmissions, and with other friction if `values` state some."""
    friction = {name: value for name, value in values.items() if name in FRICTION}
    drives = {name: value for name, value in values.items() if name not in FRICTION}
    return with_joint_data(
        with_joint_data(joints, "transmission", drives, names, robot), "friction", friction, names, robot
    )


def _chosen(joints: Sequence[Joint], names: Sequence[str] | str | None, robot: str) -> list[int]:
    known = [j.name for j in joints if j.kind not in MULTIPLE]
    if names is None:
        return [i for i, j in enumerate(joints) if j.kind not in MULTIPLE]
    wanted = [names] if isinstance(names, str) else items_of(names)
    if wanted is None:
        raise TaupiError("{joints} is {got!r}, expected names of joints: {known:,}.", got=names, known=known)
    for name in wanted:
        if name not in known:
            raise unknown("joint", name, known, robot)
    every = [j.name for j in joints]
    return [every.index(name) for name in wanted]


def _for_each(value: object, joints: Sequence[str], name: str) -> list[object]:
    """Return one value for each of the `joints`, from one value for all or one for each; an axis is itself a list."""
    values = items_of(value)
    one_axis = (
        name == "motor_axis" and values is not None and all(v is not None and items_of(v) is None for v in values)
    )
    if values is None or one_axis:
        return [value] * len(joints)
    if len(values) != len(joints):
        raise TaupiError(
            "{argument} has {got} values, expected one or {expected}: one per joint ({joints:,}).",
            argument=Argument(name),
            got=len(values),
            expected=len(joints),
            joints=joints,
        )
    return values
