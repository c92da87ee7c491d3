"""The result at a glance."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.report.content import Content
from taupi.report.sections.base import figure, percent


class SummarySection:
    """How many parameters, how good, by what, from what."""

    name: ClassVar[str] = "summary"
    title: ClassVar[str] = "Summary"

    def fields(self, content: Content) -> dict[str, str]:
        """Return the figures and one sentence."""
        weak = sum(p.determined and not p.significant for p in content.parameters)
        held_out = [run for run in content.runs if run.role == "held out"]
        tiles = [figure(str(len(content.parameters)), "base parameters")]
        tiles.append(figure(percent(content.relative), "torque error on fitted logs"))
        tiles += [figure(percent(run.relative), f"torque error on {run.name}, held out") for run in held_out[:3]]
        rank, count = content.rank
        tiles.append(
            figure(f"{rank} of {count}", "parameters that the logs determine", "" if rank == count else "warn")
        )
        tiles.append(figure(f"{content.condition:.3g}", "condition, columns of length one"))
        tiles.append(figure(str(weak), "parameters not told from zero", "warn" if weak else ""))
        settings = ", ".join(f"{k} = {v}" for k, v in content.settings.items())
        told = f"Estimator {content.estimator}" + (f" ({settings})" if settings else "") + f". {content.status}"
        return {"figures": "".join(tiles), "told": html.escape(told.strip())}
