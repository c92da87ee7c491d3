"""A robot as a card for notebooks: a small picture with all joints at zero, and a table of its joints."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import TaupiError
from taupi.model.placement import Placement
from taupi.model.scalars import exact, is_symbolic
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
        paths, dots = _lines(robot)
    except TaupiError:  # a length without a value
        return ""
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


def _lines(robot: Robot) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the links as lines on the page (k, 2), from the parent's frame over the joint to the own one, and the joints."""
    if robot.floating:
        raise TaupiError("A free base has no zero to be drawn at.")
    values = {name: value for name, value in robot.symbols if value is not None}
    placed: list[np.ndarray] = []
    paths, joints = [], []
    start = _matrix(robot.base, values)
    for joint in robot.joints:
        parent = placed[joint.parent] if joint.parent >= 0 else start
        at = parent @ _matrix(joint.before, values)
        placed.append(at @ _matrix(joint.after, values))
        paths.append(np.stack([m[:3, 3] for m in (parent, at, placed[-1])]) @ _VIEW.T)
        joints.append(at[:3, 3] @ _VIEW.T)
    tip = robot.frame("tip")
    carrier = placed[tip.link] if tip.link >= 0 else start
    paths.append(np.stack([carrier[:3, 3], (carrier @ _matrix(tip.placement, values))[:3, 3]]) @ _VIEW.T)
    return paths, joints


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return f"{float(value):.4g}" if isinstance(value, float) or not is_symbolic(value) else str(value)


def _matrix(placement: Placement, values: Mapping[str, Any]) -> np.ndarray:
    """Return a placement as doubles, with values for its symbols."""

    def known(x: Any) -> Any:
        return exact(x.subs(values)) if is_symbolic(x) else x

    rows = tuple(tuple(map(known, row)) for row in placement.rotation)
    return Placement(rows, tuple(map(known, placement.translation))).matrix  # type: ignore[arg-type]
