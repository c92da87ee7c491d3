"""Denavit-Hartenberg tables, classic (distal) and modified (Craig, Khalil)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from taupi.errors import TaupiError, shown, unknown
from taupi.model.formats.serial import per_joint, serial_robot
from taupi.model.placement import Placement, rotation_about
from taupi.model.robot import KINDS, Friction, Joint, Limits, Robot, Source, Transmission
from taupi.model.scalars import exact

ROW_KEYS = ("a", "alpha", "d", "theta", "joint", "name")


def from_dh(
    rows: Iterable[Mapping[str, Any]],
    convention: str = "classic",
    *,
    links: Sequence[Mapping[str, Any]] | None = None,
    parameters: Sequence[Any] | None = None,
    gravity: Sequence[Any] = (0, 0, "-9.81"),
    base: Any = None,
    tool: Any = None,
    name: str = "arm",
    limits: Sequence[Limits] | None = None,
    friction: Sequence[Friction] | None = None,
    transmissions: Sequence[Transmission] | None = None,
    values: Mapping[str, Any] | None = None,
    snap: bool = True,
) -> Robot:
    """Return a serial arm from its Denavit-Hartenberg table; see `Robot.from_dh`."""
    if convention not in ("classic", "modified"):
        raise unknown("DH convention", convention, ("classic", "modified"))
    table = [_row(row, i) for i, row in enumerate(rows, 1)]
    n = len(table)
    if not n:
        raise TaupiError("The DH table has no rows. Give one a joint: dict(a=, alpha=, d=, theta=, joint='revolute').")
    notes: list[str] = []
    ranges = per_joint(limits, n, "limits", Limits())
    frictions = per_joint(friction, n, "friction", Friction())
    drives = per_joint(transmissions, n, "transmissions", Transmission())
    joints = []
    for i, row in enumerate(table):
        before, after = dh_placements(row, convention, snap, f"row {i + 1}", notes)
        data = dict(limits=ranges[i], friction=frictions[i], transmission=drives[i])
        joints.append(Joint(row["name"], row["joint"], i - 1, i, before=before, after=after, **data))
    return serial_robot(
        name,
        joints,
        links=links,
        parameters=parameters,
        gravity=gravity,
        base=base,
        tool=tool,
        values=values,
        snap=snap,
        notes=notes,
        source=Source("dh"),
    )


def _row(row: Mapping[str, Any], i: int) -> dict[str, Any]:
    if not hasattr(row, "keys"):
        raise TaupiError(f"DH row {i} is {shown(row)}, expected dict(a=, alpha=, d=, theta=, joint='revolute').")
    for key in row:
        if key not in ROW_KEYS:
            raise unknown("DH entry", key, ROW_KEYS, f"row {i}")
    kind = row.get("joint", "revolute")
    if kind not in KINDS:
        raise unknown("joint type", kind, KINDS, f"DH row {i}")
    result = {key: row.get(key, 0) for key in ("a", "alpha", "d", "theta")}
    return result | {"joint": kind, "name": row.get("name", f"joint{i}")}


def dh_placements(
    row: Mapping[str, Any], convention: str, snap: bool, where: str, notes: list[str]
) -> tuple[Placement, Placement]:
    """Return what comes before and after a joint's motion: (1, Tz(d) Rz Tx(a) Rx), or modified (Rx Tx(a), Rz Tz(d))."""
    zero = Fraction(0)
    turned: dict[str, Any] = {}
    for key, axis in (("alpha", "x"), ("theta", "z")):
        turned[key], snapped = rotation_about(axis, row[key], snap, f"{where}: {key}")
        if snapped:
            notes.append(f"{where}: {key} = {row[key]} snapped by {snapped:.1e} rad to a right angle")
    along_x = Placement(turned["alpha"], (exact(row["a"], f"{where}: a"), zero, zero))
    along_z = Placement(turned["theta"], (zero, zero, exact(row["d"], f"{where}: d")))
    if convention == "classic":
        return Placement(), along_z @ along_x
    return along_x, along_z
