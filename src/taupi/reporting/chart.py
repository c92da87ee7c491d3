"""Lines over time as inline SVG: drawn here, so that a page without scripts shows them; the page's script only zooms.

A chart is an SVG with axes around an inner SVG that holds the lines as integers, 0 .. SPAN from the first to the last moment and
0 .. TALL downwards, and stretches them to its place. Zooming changes the view of the inner SVG and the labels of the axes.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SPAN, TALL = 100_000, 10_000
WIDTH, HEIGHT, LOW = 960, 300, 170  # LOW is the height of a strip below another chart
LEFT, RIGHT, TOP, BOTTOM = 108, 14, 8, 34
# What screen readers say about the keys of a chart.
KEYS = "Arrow keys move the cursor, plus and minus zoom, Escape shows everything."


@dataclass(frozen=True)
class Line:
    """One line of a chart: its name in the legend, its class in the style sheet, its values (N,)."""

    name: str
    style: str
    values: np.ndarray


@dataclass(frozen=True)
class ChartAxis:
    """What the horizontal axis of a chart shows: its name in words, and the unit beside its last number."""

    name: str
    unit: str = ""


TIME = ChartAxis("seconds", "s")
RUNAWAY = 1000.0  # times the usual size: beyond this a line ran away
COLOURS = 8  # of lines side by side, c0 .. c7 in the style sheet


def coloured(name: str, k: int, values: np.ndarray) -> Line:
    """Return the k-th of several lines that differ only by their colour."""
    return Line(name, f"n{k} c{k % COLOURS}", values)


def chart_with_difference(
    title: str,
    units: tuple[str, str],
    time: np.ndarray,
    lines: Sequence[Line],
    difference: Line,
    group: str,
    points: int,
) -> str:
    """Return lines over time (N,), and below them their difference at its own scale; `units` are of both."""
    above = chart(title, units[0], time, lines, group, points)
    below = chart("", units[1], time, [difference], group, points, height=LOW)
    return f'<div class="pair">{above}{below}</div>'


def chart(
    title: str,
    unit: str,
    time: np.ndarray,
    lines: Sequence[Line],
    group: str,
    points: int = 3000,
    log: bool = False,
    times: Sequence[np.ndarray] | None = None,
    runaway: bool = False,
    across: ChartAxis = TIME,
    height: int = HEIGHT,
) -> str:
    """Return lines over time (N,) as a figure; charts of one `group` zoom together, each line has at most `points` points.

    `log` makes the scale logarithmic, on which only positive values show. `times` are those of each line, if they differ:
    `time` is then what the chart spans. `runaway` lets lines leave the chart where they grow to a thousand times the usual size,
    as in a loop that diverged. `across` is the horizontal axis if it is not time. The chart is 960 units wide
    and of this `height`.

    >>> import numpy as np
    >>> t = np.linspace(0, 1, 50)
    >>> text = chart("elbow", "N m", t, [Line("measured", "measured", np.sin(t))], "run1")
    >>> text.startswith("<figure"), text.count("<polyline")
    (True, 1)
    """
    drawn_lines = [Line(line.name, line.style, _logs(line.values)) for line in lines] if log else list(lines)
    low, high = extent(
        _tamed([line.values for line in drawn_lines]) if runaway else [line.values for line in drawn_lines]
    )
    start, stop = (float(time[0]), float(time[-1])) if len(time) else (0.0, 1.0)
    stop = stop if stop > start else start + 1.0
    if times is None:
        kept = thinned(points, [line.values for line in drawn_lines]) if drawn_lines else np.zeros(0, dtype=int)
        rows = [kept] * len(drawn_lines)
    else:
        rows = [thinned(points, [line.values]) for line in drawn_lines]
    parts = []
    for k, line in enumerate(drawn_lines):
        at = (time if times is None else times[k])[rows[k]]
        x = np.rint((at - start) / (stop - start) * SPAN).astype(int)
        parts.append(_polyline(line, x, line.values[rows[k]], low, high))
    inner = (WIDTH - LEFT - RIGHT, height - TOP - BOTTOM)
    named = f"{title}: " if title else ""
    described = f"{named}{', '.join(line.name for line in lines)}, {unit} over {across.name}, "
    described += f"between {_plain(low, log)} and {_plain(high, log)}. {KEYS}"
    small = unit if across == TIME else f"{unit} over {across.name}".strip()
    facts = f'data-group="{html.escape(group)}" data-span="{start!r} {stop!r}" data-range="{low!r} {high!r}"'
    facts += f' data-units="{html.escape(across.unit)}|{html.escape(unit)}"' + (' data-scale="log"' if log else "")
    return (
        f'<figure class="chart" {facts}>'
        f"<figcaption>{html.escape(title)} <small>{html.escape(small)}</small>{_legend(lines)}"
        f'</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img" tabindex="0" '
        f'aria-label="{html.escape(described)}">'
        f'<g class="axes">{axes(start, stop, low, high, log, (across.unit, unit), height)}</g>'
        f'<svg class="view" x="{LEFT}" y="{TOP}" width="{inner[0]}" height="{inner[1]}" viewBox="0 0 {SPAN} {TALL}" '
        f'preserveAspectRatio="none">{"".join(parts)}</svg>'
        f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{inner[0]}" height="{inner[1]}"/></svg><output></output></figure>'
    )


def _logs(values: np.ndarray) -> np.ndarray:
    """Return the decimal logarithm of positive values, NaN for the rest."""
    with np.errstate(all="ignore"):
        return np.where(values > 0, np.log10(np.where(values > 0, values, 1.0)), np.nan)


def _tamed(lines: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return lines without the parts that ran away: far beyond the calmest line, or beyond most of themselves."""
    sizes = [np.abs(v[np.isfinite(v)]) for v in lines]
    calm = min((float(s.max()) for s in sizes if len(s) and s.max() > 0), default=0.0)
    kept = []
    for values, size in zip(lines, sizes, strict=True):
        most, usual = float(size.max(initial=0.0)), float(np.median(size)) if len(size) else 0.0
        bound = 3 * calm if most > RUNAWAY * calm else 10 * usual if most > RUNAWAY * usual > 0 else most
        kept.append(np.where(np.abs(values) <= bound, values, np.nan))
    return kept


def axes(
    start: float,
    stop: float,
    low: float,
    high: float,
    log: bool = False,
    units: tuple[str, str] = ("", ""),
    height: int = HEIGHT,
) -> str:
    """Return grid lines and their numbers as SVG; `units` belong to the horizontal and the vertical axis."""
    wide, tall = WIDTH - LEFT - RIGHT, height - TOP - BOTTOM
    parts = []
    across = ticks(start, stop, 8)
    for k, value in enumerate(across):
        x = LEFT + wide * (value - start) / (stop - start)
        unit = f" {units[0]}" if units[0] and k == len(across) - 1 else ""
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{TOP + tall}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 9}" class="t">{value:.6g}{html.escape(unit)}</text>')
    for value in log_ticks(low, high) if log else ticks(low, high, 4 if height >= HEIGHT else 3):
        y = TOP + tall * (high - value) / (high - low)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        label = _power(value) if log else f"{value:.6g}"
        parts.append(f'<text x="{LEFT - 6}" y="{y + 6:.1f}" class="y">{label}</text>')
    if units[1]:
        middle = TOP + tall / 2
        parts.append(
            f'<text x="18" y="{middle:.1f}" class="t" transform="rotate(-90 18 {middle:.1f})">{html.escape(units[1])}</text>'
        )
    return "".join(parts)


def _plain(value: float, log: bool) -> str:
    """Return an end of the vertical axis in few digits."""
    return _power(value) if log else f"{value:.3g}"


_LARGEST = 1e300  # of a number on an axis: a run that diverged may have larger ones


def extent(arrays: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the range of the values with a margin of a twentieth on both sides, never empty."""
    finite = [np.clip(a[np.isfinite(a)], -_LARGEST, _LARGEST) for a in arrays]
    low = min((float(a.min()) for a in finite if len(a)), default=-1.0)
    high = max((float(a.max()) for a in finite if len(a)), default=1.0)
    margins = 0.05 * (high - low), 0.1 * abs(high), 1.0
    margin = next(m for m in margins if m > 1 / _LARGEST)
    return low - margin, high + margin


def ticks(low: float, high: float, about: int) -> list[float]:
    """Return about `about` round numbers between `low` and `high`.

    >>> ticks(0.0, 10.3, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    rough = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough * 0.8)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return decimal logarithms of round numbers between `low` and `high`: powers of ten, and 2 and 5 times them if few.

    >>> log_ticks(-2.1, 0.1)
    [-2.0, -1.0, 0.0]
    >>> [round(10**v, 6) for v in log_ticks(-1.1, 0.1)]
    [0.1, 0.2, 0.5, 1.0]
    """
    every = max(1, math.ceil((high - low) / 6))
    tens = [float(k) for k in range(math.ceil(low), math.floor(high) + 1) if k % every == 0]
    if len(tens) > 2:
        return tens
    finer = [k + math.log10(m) for k in range(math.floor(low), math.floor(high) + 1) for m in (1, 2, 5)]
    inside = [v for v in finer if low <= v <= high]
    return inside if len(inside) > 1 else ticks(low, high, 4)


def _power(value: float) -> str:
    """Return ten to a power in few characters."""
    size = float(f"{10**value:.3g}")
    if 1e-3 <= size < 1e5:
        return f"{size:g}"
    mantissa, exponent = f"{size:.2e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def _polyline(line: Line, x: np.ndarray, values: np.ndarray, low: float, high: float) -> str:
    """Return one line, interrupted where values are missing."""
    y = np.clip((high - values) / (high - low), -10.0, 11.0) * TALL
    known = np.isfinite(y)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    parts = []
    for a, b in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        pairs = zip(x[a:b].tolist(), np.rint(y[a:b]).astype(int).tolist(), strict=True)
        parts.append(f'<polyline class="{line.style}" points="{" ".join(f"{u},{v}" for u, v in pairs)}"/>')
    return "".join(parts)


def _legend(lines: Sequence[Line]) -> str:
    named = [line for line in lines if line.name]
    return "".join(f'<span class="key {line.style}">{html.escape(line.name)}</span>' for line in named)


def thinned(most: int, series: Sequence[np.ndarray]) -> np.ndarray:
    """Return at most about `most` indices into the series (N,) that keep every peak: minimum and maximum of each, span by span.

    >>> import numpy as np
    >>> x = np.zeros(1000)
    >>> x[537] = 1.0
    >>> rows = thinned(20, [x])
    >>> 537 in rows, len(rows) <= 22
    (True, True)
    """
    count = len(series[0])
    if count <= most:
        return np.arange(count)
    spans = max(1, most // (2 * len(series)))
    edges = np.linspace(0, count, spans + 1).astype(int)
    width = int(np.diff(edges).max())
    # Each span as a row, short ones filled up with their last sample.
    rows = np.minimum(edges[:-1, None] + np.arange(width), edges[1:, None] - 1)
    kept = [np.zeros(1, dtype=int), np.array([count - 1])]
    for x in series:
        part = x[rows]
        for pick in (part.argmin(axis=1), part.argmax(axis=1)):
            kept.append(np.take_along_axis(rows, pick[:, None], axis=1)[:, 0])
    return np.unique(np.concatenate(kept))
