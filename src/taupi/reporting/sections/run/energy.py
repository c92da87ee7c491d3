"""The energy audit: what was stored, put in and lost, and the error of the integration."""

from __future__ import annotations

import html
from typing import ClassVar

import numpy as np

from taupi.control.law_trial import Trial
from taupi.reporting.chart import coloured
from taupi.reporting.run_content import RunContent


class EnergySection:
    """Energy, work and heat of one run; for several runs, the residuals."""

    name: ClassVar[str] = "energy"
    title: ClassVar[str] = "Energy audit"

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return the charts and the largest residuals."""
        known = [t for t in content.trials if t.run.energy is not None and t.run.residual is not None]
        if not known:
            return None
        worst = ", ".join(f"{np.abs(t.run.residual).max():.2g} J" + f" ({t.name})" * content.several for t in known)  # type: ignore[arg-type]
        left = content.chart("stored energy minus what it should be", "J", lambda t: t.run.residual)
        return {"charts": ("" if content.several else _kinds(content, known[0])) + left, "worst": html.escape(worst)}


def _kinds(content: RunContent, trial: Trial) -> str:
    series = {
        "kinetic and potential": trial.run.energy,
        "work put in": trial.run.work,
        "heat of friction": trial.run.heat,
    }
    lines = [coloured(n, k, v - v[0]) for k, (n, v) in enumerate(series.items()) if v is not None]
    return content.chart_of("energy since the start", "J", lines)
