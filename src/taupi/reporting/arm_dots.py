"""One parameter of all arms of a fleet as inline SVG: a dot with its interval per arm, and the typical arm as a line."""

from __future__ import annotations

import html
from collections.abc import Callable

from taupi.reporting.arm_values import ArmValues
from taupi.reporting.chart import extent, ticks

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 92, 14, 10, 40
_MOST_NAMES = 8  # arms named below the axis; in larger fleets only those that stand out are
_LONGEST = 12  # characters of a name below the axis


def arm_dots(panel: ArmValues) -> str:
    """Return one own parameter of every arm as a figure; pointing at a dot shows the arm and its value."""
    low, high = extent([panel.range])
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

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
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 12}" class="{kind}">{html.escape(short)}</text>')
        dots.append(_dot(panel, k, x, down) if panel.determined[k] else _hollow(arm, x, down(panel.typical)))
    y = down(panel.typical)
    outside = [arm for arm, out in zip(panel.arms, panel.out, strict=True) if out]
    words = f"{panel.name} of {len(panel.arms)} arms in {panel.unit}, a typical arm has {panel.typical:.4g}; "
    words += f"standing out: {', '.join(outside)}" if outside else "none stands out"
    unknown = [arm for arm, determined in zip(panel.arms, panel.determined, strict=True) if not determined]
    words += f"; not determined: {', '.join(unknown)}" if unknown else ""
    return (
        f'<figure class="scatter arms"><figcaption>{html.escape(panel.name)} <small>{html.escape(panel.unit)}</small>'
        f'</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(words)}">'
        f'<g class="axes">{"".join(parts)}</g><path class="typical" d="M{LEFT} {y:.1f}H{LEFT + wide}"/>{"".join(dots)}'
        "</svg></figure>"
    )


def _dot(panel: ArmValues, k: int, x: float, down: Callable[[float], float]) -> str:
    """Return the value of one arm with its interval."""
    value, half = panel.values[k], panel.half[k]
    said = f"{panel.arms[k]}: {value:.4g} ± {half:.2g} {panel.unit}"
    return (
        f'<g class="{"out" if panel.out[k] else "in"}"><title>{html.escape(said)}</title>'
        f'<path d="M{x:.1f} {down(value + half):.1f}V{down(value - half):.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{down(value):.1f}" r="5"/></g>'
    )


def _hollow(arm: str, x: float, y: float) -> str:
    """Return the mark of an arm whose logs do not determine the value; it is at that of a typical arm."""
    return (
        f'<g class="unknown"><title>{html.escape(arm)}: not determined by its logs</title>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"/></g>'
    )
