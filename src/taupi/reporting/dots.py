"""Dots as inline SVG: friction over velocity with the model as a line, and a parameter of all arms of a fleet."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taupi.reporting.chart import extent, ticks

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 92, 14, 10, 58
DOTS = 700  # at most, spread evenly over the velocity
BINS = 40  # number of velocity spans in each direction for the model's line
FEWEST = 8  # fewest samples in a span that is drawn
SLOW = 0.01  # share of the largest velocity below which dry friction builds up


def friction_chart(
    joint: str,
    units: tuple[str, str],
    velocity: np.ndarray,
    data: np.ndarray,
    model: np.ndarray,
    over: str = "velocity",
) -> str:
    """Return the friction of a joint (N,) over its velocity (N,), as measured (`data`) and as identified (`model`).

    `units` are those of the velocity and of the torque. The line runs through the median of the model in each span of velocity,
    separately for both directions, since dry friction jumps between them. Where it is `over` "position", `velocity` holds
    positions, and one line runs through all of them.
    """
    low, high = extent([velocity])
    bottom, top = extent([data, model])
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(v: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.stack([LEFT + wide * (v - low) / (high - low), TOP + tall * (top - f) / (top - bottom)], axis=-1)

    kept = _evenly(velocity)
    dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in place(velocity[kept], data[kept]))
    curves = model_curves(velocity, model)
    if over != "velocity":
        begin = float(velocity.min(initial=0.0))
        curves = [(begin + from_begin, line) for from_begin, line in model_curves(velocity - begin, model)]
    lines = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in place(*curve)) for curve in curves)
    words = f"Friction of {joint} in {units[1]} over its {over} in {units[0]}: dots as measured, line as identified"
    return (
        f'<figure class="scatter"><figcaption>{html.escape(joint)} <small>{html.escape(units[1])} over '
        f'{html.escape(units[0])}</small><span class="key measured dot">data</span><span class="key predicted">identified</span>'
        f'</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(words)}">'
        f'<g class="axes">{_axes((low, high), (bottom, top), units, over)}</g>'
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


def _axes(across: tuple[float, float], up: tuple[float, float], units: tuple[str, str], over: str) -> str:
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
    parts.append(f'<text x="{LEFT + wide / 2}" y="{HEIGHT - 8}" class="t">{over}, {html.escape(units[0])}</text>')
    parts.append(
        f'<text x="18" y="{middle}" class="t" transform="rotate(-90 18 {middle})">friction, {html.escape(units[1])}</text>'
    )
    return "".join(parts)


_ARMS_HEIGHT = 260
_ARMS_BOTTOM = 40
_MOST_NAMES = 8  # arms named below the axis; in larger fleets only those that stand out are
_LONGEST = 12  # characters of a name below the axis


@dataclass(frozen=True, eq=False)
class ArmValues:
    """One own parameter of all A arms of a fleet.

    Attributes:
        name: Name of the parameter.
        unit: Its unit.
        arms: Names of the arms.
        values: Value of each arm (A,).
        half: Half width of each interval (A,), NaN where an arm's logs do not determine the value.
        out: Which arms stand out (A,).
        typical: Value of a typical arm.
    """

    name: str
    unit: str
    arms: tuple[str, ...]
    values: np.ndarray
    half: np.ndarray
    out: np.ndarray
    typical: float

    @property
    def determined(self) -> np.ndarray:
        """Which arms' logs determine the value (A,)."""
        return np.isfinite(self.half) & np.isfinite(self.values)

    @property
    def range(self) -> np.ndarray:
        """Both ends of every interval and the typical value; what is not determined is left out."""
        values, half = self.values[self.determined], self.half[self.determined]
        return np.concatenate([values - half, values + half, [self.typical]])


def arm_dots(panel: ArmValues) -> str:
    """Return one own parameter of every arm as a figure; pointing at a dot shows the arm and its value."""
    low, high = extent([panel.range])
    wide, tall = WIDTH - LEFT - RIGHT, _ARMS_HEIGHT - TOP - _ARMS_BOTTOM

    def across(k: int) -> float:
        return LEFT + wide * (k + 0.5) / len(panel.arms)

    def down(value: float) -> float:
        return TOP + tall * (high - value) / (high - low)

    parts = []
    for value in ticks(low, high, 4):
        y = down(value)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 6:.1f}" class="y">{value:.6g}</text>')
    middle = TOP + tall / 2
    parts.append(
        f'<text x="18" y="{middle}" class="t" transform="rotate(-90 18 {middle})">{html.escape(panel.unit)}</text>'
    )
    dots = []
    for k, arm in enumerate(panel.arms):
        x, out = across(k), bool(panel.out[k])
        if out or len(panel.arms) <= _MOST_NAMES:
            short = arm if len(arm) <= _LONGEST else arm[: _LONGEST - 1] + "…"
            kind = "t" if out else "t more"  # a phone has no room for all names
            parts.append(f'<text x="{x:.1f}" y="{_ARMS_HEIGHT - 12}" class="{kind}">{html.escape(short)}</text>')
        dots.append(_arm_dot(panel, k, x, down) if panel.determined[k] else _hollow(arm, x, down(panel.typical)))
    y = down(panel.typical)
    outside = [arm for arm, out in zip(panel.arms, panel.out, strict=True) if out]
    words = f"{panel.name} of {len(panel.arms)} arms in {panel.unit}, a typical arm has {panel.typical:.4g}; "
    words += f"standing out: {', '.join(outside)}" if outside else "none stands out"
    unknown = [arm for arm, determined in zip(panel.arms, panel.determined, strict=True) if not determined]
    words += f"; not determined: {', '.join(unknown)}" if unknown else ""
    return (
        f'<figure class="scatter arms"><figcaption>{html.escape(panel.name)} <small>{html.escape(panel.unit)}</small>'
        f'</figcaption><svg viewBox="0 0 {WIDTH} {_ARMS_HEIGHT}" role="img" aria-label="{html.escape(words)}">'
        f'<g class="axes">{"".join(parts)}</g><path class="typical" d="M{LEFT} {y:.1f}H{LEFT + wide}"/>{"".join(dots)}'
        "</svg></figure>"
    )


def _arm_dot(panel: ArmValues, k: int, x: float, down: Callable[[float], float]) -> str:
    """Return the value of one arm with its interval."""
    value, half = panel.values[k], panel.half[k]
    said = f"{panel.arms[k]}: {value:.4g} ± {half:.2g} {panel.unit}"
    return (
        f'<g class="{"out" if panel.out[k] else "in"}"><title>{html.escape(said)}</title>'
        f'<path d="M{x:.1f} {down(value + half):.1f}V{down(value - half):.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{down(value):.1f}" r="5"/></g>'
    )


def _hollow(arm: str, x: float, y: float) -> str:
    """Return the mark of an arm whose logs do not determine the value; it is drawn at the value of a typical arm."""
    return (
        f'<g class="unknown"><title>{html.escape(arm)}: not determined by its logs</title>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/></g>'
    )
