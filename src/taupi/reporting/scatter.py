"""Friction over velocity as inline SVG: the data as dots, the model as a line."""

from __future__ import annotations

import html

import numpy as np

from taupi.reporting.chart import extent, ticks

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 92, 14, 10, 58
DOTS = 700  # at most, spread evenly over the velocity
BINS = 40  # number of velocity spans in each direction for the model's line
FEWEST = 8  # fewest samples in a span that is drawn
SLOW = 0.01  # share of the largest velocity below which dry friction builds up


def friction_chart(
    joint: str, units: tuple[str, str], velocity: np.ndarray, data: np.ndarray, model: np.ndarray
) -> str:
    """Return the friction of a joint (N,) over its velocity (N,), as measured (`data`) and as identified (`model`).

    `units` are those of the velocity and of the torque. The line runs through the median of the model in each span of velocity,
    separately for both directions, since dry friction jumps between them.
    """
    low, high = extent([velocity])
    bottom, top = extent([data, model])
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(v: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.stack([LEFT + wide * (v - low) / (high - low), TOP + tall * (top - f) / (top - bottom)], axis=-1)

    kept = _evenly(velocity)
    dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in place(velocity[kept], data[kept]))
    lines = "".join(
        "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in place(*curve)) for curve in model_curves(velocity, model)
    )
    words = f"Friction of {joint} in {units[1]} over its velocity in {units[0]}: dots as measured, line as identified"
    return (
        f'<figure class="scatter"><figcaption>{html.escape(joint)} <small>{html.escape(units[1])} over '
        f'{html.escape(units[0])}</small><span class="key measured dot">data</span><span class="key predicted">identified</span>'
        f'</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(words)}">'
        f'<g class="axes">{_axes((low, high), (bottom, top), units)}</g>'
        f'<path class="dots" d="{dots}"/><path class="model" d="{lines}"/></svg></figure>'
    )


def model_curves(velocity: np.ndarray, model: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the lines of the model, at most one per direction: velocities and medians of the friction.

    >>> v = np.linspace(-1, 1, 2001)
    >>> curves = model_curves(v, 2 * np.sign(v) + v)
    >>> [bool(np.abs(f - (2 * np.sign(u) + u)).max() < 0.05) for u, f in curves]
    [True, True]
    """
    fastest, curves = float(np.abs(velocity).max(initial=0.0)), []
    for sign in (-1, 1):
        speed = sign * velocity
        edges = np.linspace(SLOW * fastest, fastest, BINS + 1)
        where = np.digitize(speed, edges) - 1
        rows = [np.flatnonzero(where == k) for k in range(BINS)]
        filled = [r for r in rows if len(r) >= min(FEWEST, max(1, len(velocity) // 200))]
        if len(filled) > 1:
            curves.append(tuple(np.array([np.median(x[r]) for r in filled]) for x in (velocity, model)))
    return curves  # type: ignore[return-value]


def _evenly(velocity: np.ndarray) -> np.ndarray:
    """Return indices of at most DOTS samples, spread evenly over the velocity."""
    where = np.digitize(velocity, np.linspace(velocity.min(), velocity.max(), BINS))
    most = DOTS // BINS
    picks = []
    for k in range(BINS + 1):
        rows = np.flatnonzero(where == k)
        picks.append(rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)])
    return np.concatenate(picks)


def _axes(across: tuple[float, float], up: tuple[float, float], units: tuple[str, str]) -> str:
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = []
    for value in ticks(*across, 5):
        x = LEFT + wide * (value - across[0]) / (across[1] - across[0])
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + tall}"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP + tall + 22}" class="t">{value:.6g}</text>')
    for value in ticks(*up, 5):
        y = TOP + tall * (up[1] - value) / (up[1] - up[0])
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 6:.1f}" class="y">{value:.6g}</text>')
    middle = TOP + tall / 2
    parts.append(f'<text x="{LEFT + wide / 2}" y="{HEIGHT - 8}" class="t">velocity, {html.escape(units[0])}</text>')
    parts.append(
        f'<text x="18" y="{middle}" class="t" transform="rotate(-90 18 {middle})">friction, {html.escape(units[1])}</text>'
    )
    return "".join(parts)
