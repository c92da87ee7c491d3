"""A body at a frame, seen along the frame's three axes: an ellipsoid of the same mass and inertia, as SVG."""

from __future__ import annotations

import html
import math

import numpy as np

from taupi.identification.payloads.payload_estimate import AXES, PayloadEstimate

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
