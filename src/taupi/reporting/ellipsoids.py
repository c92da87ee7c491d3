"""Solid ellipsoids of the mass and inertia of bodies: of an arm's links in three dimensions, and of a payload at its frame."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.payloads.payload_estimate import AXES, PayloadEstimate
from taupi.identification.results.fit import Fit
from taupi.model.robot import Robot
from taupi.model.zero_pose import ZeroPose, zero_pose
from taupi.reporting.skeleton import AZIMUTH, ELEVATION, FINE


@dataclass(frozen=True, eq=False)
class LinkEllipsoid:
    """A link's centre of mass (3,), m, and the solid ellipsoid of its mass and inertia: its axes R and half-lengths (3,)."""

    mass: float
    com: np.ndarray
    axes: np.ndarray
    lengths: np.ndarray


def body_of(pi: np.ndarray) -> LinkEllipsoid | None:
    """Return the body of ten parameters: second moments about the centre are m a_i^2 / 5 along its axes."""
    mass, h = float(pi[0]), pi[1:4]
    if not np.isfinite(pi).all() or mass <= 0:
        return None
    xx, xy, xz, yy, yz, zz = pi[4:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    second = np.trace(inertia) / 2 * np.eye(3) - inertia - np.outer(h, h) / mass
    values, axes = np.linalg.eigh(second)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    return LinkEllipsoid(mass, h / mass, axes, np.sqrt(5 * np.clip(values, 0.0, None) / mass))


@dataclass(frozen=True, eq=False)
class BodyComparison:
    """The links of a `robot` by name, each with its body as described and as identified; None for a body without mass.

    `pose` is where they are drawn. A link whose mass does not matter may get a mass of almost zero, and then a body that
    is longer than the arm: such a body is not drawn.
    """

    robot: Robot
    links: tuple[str, ...]
    described: tuple[LinkEllipsoid | None, ...]
    identified: tuple[LinkEllipsoid | None, ...]
    pose: ZeroPose

    def drawn(self, body: LinkEllipsoid | None) -> bool:
        """Return whether a body is worth drawing."""
        return body is not None and float(2 * body.lengths.max()) <= self.pose.length


def compare_bodies(fit: Fit) -> BodyComparison | None:
    """Return the bodies of a fit that has standard parameters, None for other fits and for a robot with a free base."""
    if fit.standard is None:
        return None
    try:
        pose = zero_pose(fit.robot)
    except TaupiError:  # a free base, or a length without a value
        return None
    layout = fit.basis.standard.layout
    spans = [layout.link(k) for k in range(len(fit.robot.links))]
    described, identified = (tuple(body_of(np.asarray(v)[s]) for s in spans) for v in (fit.prior, fit.standard))
    if not any(described) and not any(identified):
        return None
    return BodyComparison(fit.robot, fit.robot.link_names, described, identified, pose)


def bodies_figure(bodies: BodyComparison) -> str:
    """Return the arm with all joints at zero and its bodies, as a figure that can be turned."""
    tubes = bodies.pose.lines
    placed = [(m[:3, :3], m[:3, 3]) for m in bodies.pose.links]
    shapes = [
        (kind, name, R @ body.com + p, R @ body.axes * body.lengths)
        for kind, group in (("described", bodies.described), ("identified", bodies.identified))
        for name, body, (R, p) in zip(bodies.links, group, placed, strict=True)
        if body is not None and bodies.drawn(body)
    ]
    everything = [np.concatenate(tubes), *(c + s * np.linalg.norm(A, axis=1) for _, _, c, A in shapes for s in (-1, 1))]
    stacked = np.vstack(everything)
    centre = (stacked.min(axis=0) + stacked.max(axis=0)) / 2
    reach = float(np.linalg.norm(stacked - centre, axis=1).max()) or 1.0
    scale = FINE / reach
    data = {
        "view": [AZIMUTH, ELEVATION],
        "tubes": [np.rint(scale * (t - centre)).astype(int).tolist() for t in tubes],
        "bodies": [
            {
                "kind": kind,
                "name": name,
                "centre": np.rint(scale * (c - centre)).astype(int).tolist(),
                "shape": np.rint(scale * A).astype(int).tolist(),
            }
            for kind, name, c, A in shapes
        ],
    }
    packed = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    size = int(1.05 * FINE)
    words = (
        f"{bodies.robot.name} with the inertia ellipsoids of its links, described and identified. Arrow keys turn it."
    )
    return (
        '<figure class="bodies"><figcaption>all joints at zero <span class="key described">described</span>'
        '<span class="key identified">identified</span><span class="hint soft">drag to rotate the view</span></figcaption>'
        f'<svg viewBox="{-size} {-size} {2 * size} {2 * size}" role="img" tabindex="0" aria-label="{html.escape(words)}">'
        f'{_still(data)}</svg><script type="application/json">{packed}</script></figure>'
    )


def _still(data: dict[str, Any]) -> str:
    """Return the picture as a page without scripts shows it."""
    ca, sa, ce, se = math.cos(AZIMUTH), math.sin(AZIMUTH), math.cos(ELEVATION), math.sin(ELEVATION)
    P = np.array([[-sa, ca, 0.0], [se * ca, se * sa, -ce]])
    parts = [
        f'<path class="tube" d="M{"L".join(f"{x:.0f} {y:.0f}" for x, y in np.array(t) @ P.T)}"/>' for t in data["tubes"]
    ]
    for body in data["bodies"]:
        (x, y), flat = P @ body["centre"], P @ np.array(body["shape"])
        values, v = np.linalg.eigh(flat @ flat.T)
        b, a = np.sqrt(np.clip(values, 0.0, None))
        turn = math.degrees(math.atan2(v[1, 1], v[0, 1]))
        parts.append(
            f'<ellipse class="{body["kind"]}" rx="{a:.0f}" ry="{b:.0f}" '
            f'transform="translate({x:.0f} {y:.0f}) rotate({turn:.1f})"><title>{html.escape(body["name"])}</title></ellipse>'
        )
    return "".join(parts)


# The two axes of each view, to the right and upwards.
VIEWS = ((0, 1), (0, 2), (1, 2))
_PANE, _MARGIN = 300.0, 34.0
# A body of which only the mass and its centre are known is drawn as likely as long as it reaches at most this many times as far
# as the centre of mass does: beyond that the picture shows the guess, and the centre is a dot in it.
_DWARFS = 6.0
_SMALL = 0.05  # m: a centre nearer to the frame counts as this far, since a tool of that size is usual
# The colours of axes on the page: x red, y green, z blue.
_COLOURS = ("c0", "c2", "c1")
_STYLE = (
    ".body-axis{stroke-width:3}.body-shape{fill:var(--c3);fill-opacity:.35;stroke:var(--c3);stroke-width:2}"
    ".body-shape.guess{fill:none;stroke-dasharray:6 5}.body-pane{fill:var(--panel);stroke:none}"
    ".body-centre{stroke:var(--ink);stroke-width:2;fill:none}.body-views text{fill:var(--soft);font-size:14px}"
    ".body-views .c0{stroke:var(--c0)}.body-views .c1{stroke:var(--c1)}.body-views .c2{stroke:var(--c2)}"
    ".body-scale{stroke:var(--soft);stroke-width:2}"
)


def equivalent_ellipsoid(load: PayloadEstimate) -> np.ndarray:
    """Return A (3, 3) of the solid ellipsoid {com + A u, |u| <= 1} that has the mass and the inertia of a payload.

    Its second moments are m A A^T / 5 = tr(I)/2 1 - I.
    """
    second = 0.5 * np.trace(load.inertia) * np.eye(3) - load.inertia
    eigenvalues, v = np.linalg.eigh(second)
    mass = max(load.mass, 1e-12)
    return np.asarray(v * np.sqrt(5 * np.clip(eigenvalues, 0.0, None) / mass))


def inertia_known(load: PayloadEstimate) -> bool:
    """Return whether the logs determine every moment of inertia, so that the ellipsoid is measured and not only likely."""
    return bool(np.isfinite(np.diag(load.stderr.inertia)).all())


def is_drawn(load: PayloadEstimate) -> bool:
    """Return whether the ellipsoid is drawn: not if it is only likely and would dwarf what is known."""
    largest = float(np.linalg.norm(equivalent_ellipsoid(load), axis=1).max())
    return inertia_known(load) or largest <= _DWARFS * max(float(np.linalg.norm(load.com)), _SMALL)


def body_views(load: PayloadEstimate) -> str:
    """Return three views of a payload: the frame, an ellipsoid, and the centre of mass with its 95 % interval."""
    shape = equivalent_ellipsoid(load) if is_drawn(load) else np.zeros((3, 3))
    reach = np.sqrt(np.sum(shape**2, axis=1))
    half = np.where(np.isfinite(load.intervals().com), load.intervals().com, 0.0)
    low = np.minimum(0.0, load.com - np.maximum(reach, half)).min()
    high = np.maximum(0.0, load.com + np.maximum(reach, half)).max()
    span = max(high - low, 0.02)
    scale = (_PANE - 2 * _MARGIN) / span
    panes = [_pane(load, shape, half, view, k, low, scale) for k, view in enumerate(VIEWS)]
    width = len(VIEWS) * _PANE
    words = f"payload of {load.mass:.3g} kg at {load.frame}, seen along z, y and x"
    return (
        f'<svg class="body-views" viewBox="0 0 {width:.0f} {_PANE:.0f}" role="img" aria-label="{html.escape(words)}">'
        f"<style>{_STYLE}</style>{''.join(panes)}</svg>"
    )


def _pane(
    load: PayloadEstimate,
    shape: np.ndarray,
    half: np.ndarray,
    view: tuple[int, int],
    place: int,
    low: float,
    scale: float,
) -> str:
    """Return one view, whose lower left corner is `low` (m) along both axes, at `scale` pixels per metre."""
    left, pair = place * _PANE + _MARGIN, list(view)

    def at(point: np.ndarray) -> tuple[float, float]:
        return left + (point[0] - low) * scale, _PANE - _MARGIN - (point[1] - low) * scale

    x0, y0 = at(np.zeros(2))
    cx, cy = at(load.com[pair])
    side = _PANE - 8
    parts = [
        f'<rect class="body-pane" x="{place * _PANE + 4:.0f}" y="4" width="{side:.0f}" height="{side:.0f}" rx="8"/>'
    ]
    flat = shape[pair]
    determined = inertia_known(load)
    if flat.any():
        values, v = np.linalg.eigh(flat @ flat.T)
        a, b = scale * np.sqrt(np.clip(values[::-1], 0.0, None))
        angle = -math.degrees(math.atan2(v[1, 1], v[0, 1]))
        turn = f"rotate({angle:.2f} {cx:.1f} {cy:.1f})"
        parts.append(
            f'<ellipse class="body-shape{"" if determined else " guess"}" cx="{cx:.1f}" cy="{cy:.1f}" rx="{a:.1f}" ry="{b:.1f}" '
            f'transform="{turn}"/>'
        )
    length = 0.16 * (_PANE - 2 * _MARGIN)
    for axis, (dx, dy) in zip(view, ((length, 0.0), (0.0, -length)), strict=True):
        parts.append(
            f'<line class="body-axis {_COLOURS[axis]}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x0 + dx:.1f}" y2="{y0 + dy:.1f}"/>'
            f'<text x="{x0 + 1.25 * dx - 4:.1f}" y="{y0 + 1.25 * dy + 5:.1f}">{AXES[axis]}</text>'
        )
    rx, ry = np.maximum(scale * half[pair], 3.0)
    parts.append(
        f'<path class="body-centre" d="M{cx - rx:.1f} {cy:.1f}H{cx + rx:.1f}M{cx:.1f} {cy - ry:.1f}V{cy + ry:.1f}"/>'
    )
    if place == 0:
        bar = _round_length((_PANE - 2 * _MARGIN) / (3 * scale))
        right, below = left + bar * scale, _PANE - 18
        parts.append(
            f'<line class="body-scale" x1="{left:.1f}" y1="{below:.1f}" x2="{right:.1f}" y2="{below:.1f}"/>'
            f'<text x="{right + 6:.1f}" y="{below + 5:.1f}">{1000 * bar:.0f} mm</text>'
        )
    return "".join(parts)


def _round_length(length: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is at most a length, m."""
    power = 10.0 ** math.floor(math.log10(length))
    return next(k * power for k in (5, 2, 1) if k * power <= length * (1 + 1e-9))
