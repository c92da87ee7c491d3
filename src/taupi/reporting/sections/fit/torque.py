"""Torque measured against predicted, one chart per joint, and what is left between them below each."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.reporting.chart import LOW, Line, chart
from taupi.reporting.fit_content import FitContent

# Points of all lines in a report together: they keep the file below about three megabytes.
POINTS = 150_000
MOST = 3000


def points_each(content: FitContent) -> int:
    """Return how many points a line may have so that the file stays small."""
    lines = sum(3 * len(trace.joints) for trace in content.traces)
    return max(200, min(MOST, POINTS // max(lines, 1)))


class TorqueSection:
    """One chart per joint and log, with the difference below it at its own scale; logs that were held out come first."""

    name: ClassVar[str] = "torque"
    title: ClassVar[str] = "Torque, measured and predicted"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return the charts."""
        if not content.traces:
            return None
        points = points_each(content)
        parts = []
        for k, trace in enumerate(content.traces):
            charts = []
            for j, (joint, unit) in enumerate(zip(trace.joints, trace.units, strict=True)):
                lines = [
                    Line("measured", "measured", trace.measured[:, j]),
                    Line("predicted", "predicted", trace.predicted[:, j]),
                ]
                left = [Line("measured - predicted", "residual", trace.residual[:, j])]
                above = chart(joint, unit, trace.time, lines, f"run{k}", points)
                below = chart("", unit, trace.time, left, f"run{k}", points, height=LOW)
                charts.append(f'<div class="pair">{above}{below}</div>')
            parts.append(
                f'<h3>{html.escape(trace.name)} <small>{trace.role}</small></h3><div class="charts">{"".join(charts)}</div>'
            )
        return {"charts": "\n".join(parts)}
