"""A robot as a card for notebooks: a small picture with all joints at zero, and a table of its joints."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.model.scalars import Scalar, is_symbolic
from taupi.model.zero_pose import zero_pose
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
    notes = (f"gravity {gravity} m/s^2; tip frame {robot.frame('tip').name}", *robot.notes)
    return _picture(robot) + html_table(title, rows, notes)


_SIZE, _MARGIN = 150.0, 14.0
# Seen from the right and a little from above, as other pictures of arms are: right and down on the page, by x, y and z.
_VIEW = np.array([[0.819, 0.574, 0.0], [0.215, -0.307, -0.927]])


def _picture(robot: Robot) -> str:
    """Return an arm with all joints at zero as SVG, its joints dots; empty where its geometry has symbols or its base is free."""
    try:
        pose = zero_pose(robot)
    except TaupiError:  # a length without a value
        return ""
    paths, dots = [p @ _VIEW.T for p in pose.lines], [m[:3, 3] @ _VIEW.T for m in pose.joints]
    flat = np.concatenate(paths)
    low, span = flat.min(axis=0), float(np.ptp(flat, axis=0).max()) or 1.0
    scale = (_SIZE - 2 * _MARGIN) / span
    shift = _MARGIN + (_SIZE - 2 * _MARGIN - scale * np.ptp(flat, axis=0)) / 2

    def place(points: np.ndarray) -> str:
        return "L".join(f"{x:.1f} {y:.1f}" for x, y in shift + scale * (points - low))

    lines = "".join(f'<path d="M{place(p)}"/>' for p in paths)
    joints = "".join(f'<path d="M{place(p[None])}h0"/>' for p in dots)
    words = html.escape(f"{robot.name} with all joints at zero")
    return (
        f'<svg role="img" aria-label="{words}" width="{_SIZE:.0f}" height="{_SIZE:.0f}" style="float:right" fill="none" '
        f'stroke-linecap="round" stroke-linejoin="round"><g stroke="#46648a" stroke-width="4">{lines}</g>'
        f'<g stroke="#e08a2e" stroke-width="8">{joints}</g></svg>'
    )


def _number(value: Scalar | None) -> str:
    if value is None:
        return "-"
    return f"{float(value):.4g}" if isinstance(value, float) or not is_symbolic(value) else str(value)
