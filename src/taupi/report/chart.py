"""Lines over time as inline SVG: drawn here, so that a page without scripts shows them; the page's script only zooms.

A chart is an SVG with axes around an inner one that holds the lines in whole numbers, 0 .. SPAN from the first to the last
moment and 0 .. TALL downwards, and stretches them to its place. Zooming changes the inner one's view and the axes' words.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.report.traces import thinned

SPAN, TALL = 100_000, 10_000
WIDTH, HEIGHT = 960, 300
LEFT, RIGHT, TOP, BOTTOM = 82, 10, 8, 34


@dataclass(frozen=True)
class Line:
    """One line of a chart: its name in the legend, its class in the style sheet, its values (N,)."""

    name: str
    style: str
    values: np.ndarray


def chart(
    title: str,
    unit: str,
    time: np.ndarray,
    lines: Sequence[Line],
    group: str,
    points: int = 3000,
    across: str = "seconds",
) -> str:
    """Return lines over time (N,) as a figure; charts of one `group` zoom together, each has at most `points` points a line.

    `across` says what they are over where that is not time in seconds.

    >>> import numpy as np
    >>> t = np.linspace(0, 1, 50)
    >>> text = chart("elbow", "N m", t, [Line("measured", "measured", np.sin(t))], "run1")
    >>> text.startswith("<figure"), text.count("<polyline")
    (True, 1)
    """
    low, high = extent([line.values for line in lines])
    start, stop = (float(time[0]), float(time[-1])) if len(time) else (0.0, 1.0)
    stop = stop if stop > start else start + 1.0
    rows = thinned(points, [line.values for line in lines])
    x = np.rint((time[rows] - start) / (stop - start) * SPAN).astype(int)
    drawn = "".join(_polyline(line, x, line.values[rows], low, high) for line in lines)
    inner = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)
    told = html.escape(f"{title}: {', '.join(line.name for line in lines)}, {unit} over {across}")
    small = unit if across == "seconds" else f"{unit}, over {across}"
    return (
        f'<figure class="chart" data-group="{html.escape(group)}" data-span="{start!r} {stop!r}" data-range="{low!r} {high!r}">'
        f"<figcaption>{html.escape(title)} <small>{html.escape(small)}</small>{_legend(lines)}"
        f'<output></output></figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}">'
        f'<g class="axes">{axes(start, stop, low, high)}</g>'
        f'<svg class="view" x="{LEFT}" y="{TOP}" width="{inner[0]}" height="{inner[1]}" viewBox="0 0 {SPAN} {TALL}" '
        f'preserveAspectRatio="none">{drawn}</svg>'
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{inner[0]}" height="{inner[1]}"/></svg></figure>'
    )


def axes(start: float, stop: float, low: float, high: float) -> str:
    """Return grid lines and their numbers as SVG."""
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = []
    for value in ticks(start, stop, 8):
        x = LEFT + wide * (value - start) / (stop - start)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + tall}"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 9}" class="t">{value:.6g}</text>')
    for value in ticks(low, high, 4):
        y = TOP + tall * (high - value) / (high - low)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 6:.1f}" class="y">{value:.6g}</text>')
    return "".join(parts)


def extent(arrays: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the range of values with a twentieth of it around, never empty."""
    finite = [a[np.isfinite(a)] for a in arrays]
    low = min((float(a.min()) for a in finite if len(a)), default=-1.0)
    high = max((float(a.max()) for a in finite if len(a)), default=1.0)
    margin = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def ticks(low: float, high: float, about: int) -> list[float]:
    """Return round numbers between two, about so many.

    >>> ticks(0.0, 10.3, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    rough = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough * 0.8)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _polyline(line: Line, x: np.ndarray, values: np.ndarray, low: float, high: float) -> str:
    """Return one line, cut where values are missing."""
    y = (high - values) / (high - low) * TALL
    known = np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    parts = []
    for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        pairs = zip(x[a:b].tolist(), np.rint(y[a:b]).astype(int).tolist(), strict=True)
        parts.append(f'<polyline class="{line.style}" points="{" ".join(f"{u},{v}" for u, v in pairs)}"/>')
    return "".join(parts)


def _legend(lines: Sequence[Line]) -> str:
    return "".join(f'<span class="key {line.style}">{html.escape(line.name)}</span>' for line in lines)
