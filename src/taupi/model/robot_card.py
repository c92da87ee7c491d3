"""A robot as a card for notebooks: a table of its joints, and the commands that show more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from taupi.model.scalars import is_symbolic
from taupi.tables import html_table

if TYPE_CHECKING:
    from taupi.model.robot import Robot


def robot_card(robot: Robot) -> str:
    """Return a robot as HTML."""
    rows: list[tuple[str, ...]] = [("joint", "type", "moves link", "on", "mass kg", "range", "speed", "effort")]
    for joint, link in zip(robot.joints, robot.links, strict=True):
        limits, unit = joint.limits, "m" if joint.prismatic else "rad"
        span = (
            "-" if limits.lower is None or limits.upper is None else f"{limits.lower:.4g} .. {limits.upper:.4g} {unit}"
        )
        parent = robot.links[joint.parent].name if joint.parent >= 0 else "base"
        sizes = (_number(v) for v in (limits.velocity, limits.effort))
        rows.append((joint.name, joint.kind, link.name, parent, _number(link.body[0]), span, *sizes))
    title = f"{robot.name}: {robot.n} joints, {len(robot.parameters)} parameters"
    gravity = ", ".join(_number(v) for v in robot.gravity)
    return html_table(title, rows, (f"gravity {gravity} m/s^2; tip frame {robot.frame('tip').name}", *robot.notes))


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return str(value) if is_symbolic(value) else f"{float(value):.4g}"
