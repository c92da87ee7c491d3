"""Data of joints, given for all of them or one by one: friction and transmissions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from taupi.errors import TaupiError, shown, unknown
from taupi.model.robot_parts import Friction, Joint, stated
from taupi.model.scalars import items_of

FRICTION = tuple(f.name for f in dataclasses.fields(Friction))


def with_joint_data(
    joints: Sequence[Joint], attribute: str, values: Mapping[str, Any], names: Sequence[str] | str | None, robot: str
) -> tuple[Joint, ...]:
    """Return the joints with other values in a record of theirs, "friction" or "transmission"; `names` are those that change.

    None leaves a value as it is; only of a stiffness it is one: a rigid joint.
    """
    which = _chosen(joints, names, robot)
    each = {name: _for_each(given, len(which), name) for name, given in values.items()}
    result = list(joints)
    for k, i in enumerate(which):
        change = {name: given[k] for name, given in each.items() if given[k] is not None or name == "stiffness"}
        result[i] = dataclasses.replace(joints[i], **{attribute: stated(getattr(joints[i], attribute), change)})
    return tuple(result)


def with_drives(
    joints: Sequence[Joint], values: Mapping[str, Any], names: Sequence[str] | str | None, robot: str
) -> tuple[Joint, ...]:
    """Return the joints with other transmissions, and with other friction where `values` state some."""
    friction = {name: given for name, given in values.items() if name in FRICTION}
    drives = {name: given for name, given in values.items() if name not in FRICTION}
    return with_joint_data(
        with_joint_data(joints, "transmission", drives, names, robot), "friction", friction, names, robot
    )


def _chosen(joints: Sequence[Joint], names: Sequence[str] | str | None, robot: str) -> list[int]:
    known = [j.name for j in joints]
    if names is None:
        return list(range(len(known)))
    wanted = [names] if isinstance(names, str) else items_of(names)
    if wanted is None:
        raise TaupiError(f"joints is {shown(names)}, expected names of joints: {', '.join(known)}.")
    for name in wanted:
        if name not in known:
            raise unknown("joint", name, known, robot)
    return [known.index(name) for name in wanted]


def _for_each(given: Any, n: int, name: str) -> list[Any]:
    """Return a value per joint from one for all, or from one each; an axis is itself a list."""
    values = items_of(given)
    one_axis = (
        name == "motor_axis" and values is not None and all(v is not None and items_of(v) is None for v in values)
    )
    if values is None or one_axis:
        return [given] * n
    if len(values) != n:
        raise TaupiError(f"{name} has {len(values)} values, expected one or {n}: one per joint.")
    return values
