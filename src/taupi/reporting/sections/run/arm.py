"""The arm: a strip of stick figures and a film; beside it, how the errors and V grow or decay."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from taupi.control.law_trial import Trial
from taupi.reporting.film import film
from taupi.reporting.run_content import RunContent
from taupi.reporting.stick_figures import strip


class ArmSection:
    """The arm at seven moments and in motion, and the norms of what should decay."""

    name: ClassVar[str] = "arm"
    title: ClassVar[str] = "The arm"

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return pictures and charts."""
        sizes = "".join(_norms(content))
        if content.robot is None:
            return {"strip": "", "film": "", "sizes": sizes} if sizes else None
        arms = content.arms()
        return {"strip": strip(content.robot, arms), "film": film(content.robot, arms), "sizes": sizes}


def _norms(content: RunContent) -> list[str]:
    charts = []
    if content.first.tracks:
        charts.append(content.chart("error |q - q_des|", content.units("rad", "m"), _error, log=True))
    if any(t.s is not None for t in content.trials):
        charts.append(content.chart("combined error |s|", content.units("rad/s", "m/s"), _s, log=True))
    if any(t.lyapunov is not None for t in content.trials):
        charts.append(content.chart("V", "J", lambda t: None if t.lyapunov is None else t.lyapunov.V, log=True))
    return charts


def _error(trial: Trial) -> np.ndarray:
    return np.linalg.norm(trial.run.error, axis=1)


def _s(trial: Trial) -> np.ndarray | None:
    return None if trial.s is None else np.linalg.norm(trial.s, axis=1)
