"""What the model leaves unexplained: measured minus predicted torque over time, and how it is distributed."""

from __future__ import annotations

import html
from typing import ClassVar

import numpy as np

from taupi.reporting.chart import Line, chart
from taupi.reporting.fit_content import FitContent
from taupi.reporting.sections.base import cell, head, number
from taupi.reporting.sections.fit.torque import points_each
from taupi.reporting.traces import Trace


class ResidualsSection:
    """One chart per joint, and numbers that tell noise from what the model does not know."""

    name: ClassVar[str] = "residuals"
    title: ClassVar[str] = "Residuals"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return charts and tables."""
        if not content.traces:
            return None
        points = points_each(content)
        parts = []
        for k, trace in enumerate(content.traces):
            charts = [
                chart(joint, unit, trace.time, [Line("residual", "residual", trace.residual[:, j])], f"run{k}", points)
                for j, (joint, unit) in enumerate(zip(trace.joints, trace.units, strict=True))
            ]
            heading = f"<h3>{html.escape(trace.name)} <small>{trace.role}</small></h3>"
            parts.append(f'{heading}{_spread(trace)}<div class="charts">{"".join(charts)}</div>')
        return {"charts": "\n".join(parts)}


def _spread(trace: Trace) -> str:
    """Return the table of mean, standard deviation, largest value and correlation from sample to sample."""
    rows = []
    for j, (joint, unit) in enumerate(zip(trace.joints, trace.units, strict=True)):
        r = trace.residual[np.isfinite(trace.residual[:, j]), j]
        if not len(r):
            continue
        centred = r - r.mean()
        power = float(centred @ centred)
        lag = float(centred[1:] @ centred[:-1]) / power if power else float("nan")
        numbers = [number(float(v), 3) for v in (r.mean(), r.std(), np.abs(r).max(), lag)]
        rows.append(f"<tr>{cell(joint, 'name')}{cell(unit)}{''.join(cell(v, 'number') for v in numbers)}</tr>")
    titles = ("joint", "unit", "mean", "standard deviation", "largest", "correlation of neighbours")
    return f'<div class="wide"><table>{head(titles, range(2, 6))}<tbody>{"".join(rows)}</tbody></table></div>'
