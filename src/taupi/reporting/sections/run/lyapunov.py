"""V along the run: its parts, and its rate as the proof claims it, by the chain rule, and by differences."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from taupi.control.law_trial import Trial
from taupi.reporting.chart import Line, coloured
from taupi.reporting.run_content import RunContent


class LyapunovSection:
    """V and its rates; for several laws, one chart of rates each."""

    name: ClassVar[str] = "lyapunov"
    title: ClassVar[str] = "Lyapunov function"

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return the charts."""
        known = [t for t in content.trials if t.lyapunov is not None]
        if not known:
            return None
        if content.several:
            return {"charts": "".join(_rates(content, t, f"dV/dt, {t.name}") for t in known)}
        return {"charts": _parts(content, known[0]) + _rates(content, known[0], "dV/dt")}


def _parts(content: RunContent, trial: Trial) -> str:
    record = trial.lyapunov
    assert record is not None
    lines = [coloured("V", 0, record.V), coloured("of motion, V₁", 1, record.V_1)]
    rest = record.V - record.V_1
    if np.abs(rest).max() > 1e-12 * np.abs(record.V).max():
        lines.append(coloured("of the estimate", 2, rest))
    return content.chart_of("V", "J", lines, log=True)


def _rates(content: RunContent, trial: Trial, title: str) -> str:
    record = trial.lyapunov
    assert record is not None
    lines = [Line("by differences of V", "measured", record.numerical)]
    if np.isfinite(record.rate).any():
        lines += [coloured("by the chain rule", 1, record.rate), coloured("as claimed", 0, record.claimed)]
    return content.chart_of(title, "J/s", lines, [trial.run.time] * len(lines))
