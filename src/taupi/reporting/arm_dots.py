"""One parameter of all arms of a fleet as inline SVG: a dot with its interval per arm, and the typical arm as a line."""

from __future__ import annotations

import html

import numpy as np

from taupi.reporting.arm_values import ArmValues
from taupi.reporting.chart import extent, ticks

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 92, 14, 10, 40
_MOST_NAMES = 8  # arms named below the axis; in larger fleets only those that stand out are
_LONGEST = 12  # characters of a name below the axis


def arm_dots(panel: ArmValues) -> str:
    """Return one own parameter of every arm as a figure; pointing at a dot shows the arm and its value."""
    low, high = extent([panel.values - panel.half, panel.values + panel.half, np.array([panel.typical])])
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
        top, bottom = down(panel.values[k] + panel.half[k]), down(panel.values[k] - panel.half[k])
        said = f"{arm}: {panel.values[k]:.4g} ± {panel.half[k]:.2g} {panel.unit}"
        dots.append(
            f'<g class="{"out" if out else "in"}"><title>{html.escape(said)}</title><path d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>'
            f'<circle cx="{x:.1f}" cy="{down(panel.values[k]):.1f}" r="5"/></g>'
        )
    y = down(panel.typical)
    outside = [arm for arm, out in zip(panel.arms, panel.out, strict=True) if out]
    words = f"{panel.name} of {len(panel.arms)} arms in {panel.unit}, a typical arm has {panel.typical:.4g}; "
    words += f"standing out: {', '.join(outside)}" if outside else "none stands out"
    return (
        f'<figure class="scatter arms"><figcaption>{html.escape(panel.name)} <small>{html.escape(panel.unit)}</small>'
        f'</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(words)}">'
        f'<g class="axes">{"".join(parts)}</g><path class="typical" d="M{LEFT} {y:.1f}H{LEFT + wide}"/>{"".join(dots)}'
        "</svg></figure>"
    )
