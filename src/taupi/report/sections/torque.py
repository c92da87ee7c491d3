"""Torque measured against predicted, a chart a joint."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.report.chart import Line, chart
from taupi.report.content import Content

# Points of all lines in a report together: what keeps the file below some three megabytes.
POINTS = 150_000
MOST = 3000


def points_each(content: Content) -> int:
    """Return how many points a line may have so that the file stays small."""
    lines = sum(3 * len(trace.joints) for trace in content.traces)
    return max(200, min(MOST, POINTS // max(lines, 1)))


class TorqueSection:
    """A chart a joint of every log, those that were not fitted first."""

    name: ClassVar[str] = "torque"
    title: ClassVar[str] = "Torque, measured and predicted"

    def fields(self, content: Content) -> dict[str, str] | None:
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
                charts.append(chart(joint, unit, trace.time, lines, f"run{k}", points))
            parts.append(
                f'<h3>{html.escape(trace.name)} <small>{trace.role}</small></h3><div class="charts">{"".join(charts)}</div>'
            )
        return {"charts": "\n".join(parts)}
