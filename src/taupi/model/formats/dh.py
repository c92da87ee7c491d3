"""Denavit-Hartenberg tables, classic (distal) and modified (Craig, Khalil)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.model.formats.serial_arm import Arm, listed, serial_robot
from taupi.model.placement import Placement, rotation_about
from taupi.model.robot import Robot
from taupi.model.robot_parts import KINDS, Joint, Source
from taupi.model.scalars import Matrix, ScalarLike, exact, note_snapped

ROW_KEYS = ("a", "alpha", "d", "theta", "joint", "name")


def from_dh(rows: Iterable[Mapping[str, ScalarLike]], convention: str, arm: Arm) -> Robot:
    """Return a serial arm from its Denavit-Hartenberg table; see `Robot.from_dh`, which calls this."""
    if convention not in ("classic", "modified"):
        raise unknown(Argument("convention"), convention, ("classic", "modified"))
    table = [_row(row, i) for i, row in enumerate(listed(rows, "rows"), 1)]
    if not table:
        raise TaupiError(
            "The DH table has no rows. Give one per joint: dict(a=, alpha=, d=, theta=, joint='revolute')."
        )
    notes: list[str] = []
    joints = []
    for i, (row, data) in enumerate(zip(table, arm.per_joint(len(table)), strict=True)):
        before, after = dh_placements(row, convention, arm.snap, f"row {i + 1}", notes)
        joints.append(Joint(row["name"], row["joint"], i - 1, i, before=before, after=after, **data))
    return serial_robot(joints, arm, notes, Source("dh"))


def _row(row: Any, i: int) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise TaupiError(f"DH row {i} is {shown(row)}, expected dict(a=, alpha=, d=, theta=, joint='revolute').")
    for key in row:
        if key not in ROW_KEYS:
            raise unknown("DH entry", key, ROW_KEYS, f"row {i}")
    kind = row.get("joint", "revolute")
    if not isinstance(kind, str) or kind not in KINDS:
        raise unknown("joint type", kind, KINDS, f"DH row {i}")
    result = {key: row.get(key, 0) for key in ("a", "alpha", "d", "theta")}
    return result | {"joint": kind, "name": row.get("name", f"joint{i}")}


def dh_placements(
    row: Mapping[str, ScalarLike], convention: str, snap: bool, where: str, notes: list[str]
) -> tuple[Placement, Placement]:
    """Return the placements before and after a joint's motion: (1, Tz(d) Rz Tx(a) Rx), or modified (Rx Tx(a), Rz Tz(d))."""
    zero = Fraction(0)
    rotation: dict[str, Matrix] = {}
    for key, axis in (("alpha", "x"), ("theta", "z")):
        rotation[key], snapped = rotation_about(axis, row[key], snap, f"{where}: {key}")
        note_snapped(notes, f"{where}: {key} = {row[key]}", snapped)
    along_x = Placement(rotation["alpha"], (exact(row["a"], f"{where}: a"), zero, zero))
    along_z = Placement(rotation["theta"], (zero, zero, exact(row["d"], f"{where}: d")))
    if convention == "classic":
        return Placement(), along_z @ along_x
    return along_x, along_z
