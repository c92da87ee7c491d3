"""What the model leaves unexplained: how measured minus predicted torque is distributed."""

from __future__ import annotations

import html
from typing import ClassVar

import numpy as np

from taupi.reporting.fit_content import FitContent
from taupi.reporting.sections.base import cell, head, number
from taupi.reporting.traces import Trace


class ResidualsSection:
    """Numbers that separate noise from effects that the model lacks; the lines are below the torque."""

    name: ClassVar[str] = "residuals"
    title: ClassVar[str] = "Residuals"

    def fields(self, content: FitContent) -> dict[str, str] | None:
        """Return one table per log."""
        if not content.traces:
            return None
        return {
            "tables": "\n".join(
                f"<h3>{html.escape(trace.name)} <small>{trace.role}</small></h3>{_spread(trace)}"
                for trace in content.traces
            )
        }


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
        rows.append(f"<tr>{cell(joint, 'name')}{cell(unit, 'unit')}{''.join(cell(v, 'number') for v in numbers)}</tr>")
    titles = ("joint", "unit", "mean", "standard deviation", "largest", "correlation of neighbours")
    return f'<div class="wide"><table>{head(titles, range(2, 6))}<tbody>{"".join(rows)}</tbody></table></div>'
