"""The result at a glance."""

from __future__ import annotations

import html
from typing import ClassVar

from taupi.reporting.fit_content import HELD_OUT, FitContent
from taupi.reporting.sections.base import figure, percent


class SummarySection:
    """How many parameters, how good, by which estimator, from which logs."""

    name: ClassVar[str] = "summary"
    title: ClassVar[str] = "Summary"

    def fields(self, content: FitContent) -> dict[str, str]:
        """Return the figures and one sentence."""
        weak = sum(p.determined and not p.significant for p in content.parameters)
        held_out = [log for log in content.logs if log.role == HELD_OUT]
        tiles = [figure(str(len(content.parameters)), "base parameters")]
        tiles.append(figure(percent(content.relative), "torque error on fitted logs"))
        tiles += [figure(percent(log.relative), f"torque error on {log.name}, held out") for log in held_out[:3]]
        rank, count = content.rank
        tiles.append(
            figure(f"{rank} of {count}", "parameters that the logs determine", "" if rank == count else "warn")
        )
        tiles.append(figure(f"{content.condition:.3g}", "condition, columns of length one"))
        tiles.append(figure(str(weak), "parameters that could be zero", "warn" if weak else ""))
        settings = ", ".join(f"{k} = {v}" for k, v in content.settings.items())
        sentence = f"Estimator {content.estimator}" + (f" ({settings})" if settings else "") + f". {content.status}"
        return {"figures": "".join(tiles), "sentence": html.escape(sentence.strip())}
