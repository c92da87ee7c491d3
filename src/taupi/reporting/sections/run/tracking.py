"""The motion and the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from taupi.control.law_trial import Trial
from taupi.reporting.chart import Line, coloured
from taupi.reporting.run_content import RunContent
from taupi.simulation.run import Run


class TrackingSection:
    """One chart per joint, then the errors, then the deflections of springs."""

    name: ClassVar[str] = "tracking"
    title: ClassVar[str] = "Tracking"

    def fields(self, content: RunContent) -> dict[str, str]:
        """Return the charts."""
        run, longest = content.first.run, content.longest
        tracks = content.first.tracks and longest.reference is not None
        joints = []
        for j, name in enumerate(run.names):
            reference = [Line("reference", "ghost", longest.reference.q[:, j])] if tracks and longest.reference else []
            unit = content.unit(j, "rad", "m")
            joints.append(content.chart(name, unit, lambda t, j=j: t.run.q[:, j], reference))  # type: ignore[misc]
        return {
            "joints": "".join(joints),
            "errors": _differences(content, "error", "q - q_des", lambda run: run.error) if tracks else "",
            "deflections": _differences(content, "deflection", "theta - q", _deflection),
        }


def _deflection(run: Run) -> np.ndarray | None:
    return None if run.theta is None else run.theta - run.q


def _differences(content: RunContent, word: str, formula: str, of: Callable[[Run], np.ndarray | None]) -> str:
    """Return one chart for all joints; for several runs, one chart per joint; nothing if no run has values."""
    names, values = content.first.run.names, [of(run) for run in content.runs]
    if all(v is None for v in values):
        return ""
    if not content.several and values[0] is not None:
        lines = [coloured(name, j, values[0][:, j]) for j, name in enumerate(names)]
        return content.chart_of(f"{word} {formula}", content.units("rad", "m"), lines)

    def joint(trial: Trial, j: int) -> np.ndarray | None:
        own = of(trial.run)
        return None if own is None else own[:, j]

    charts = [
        content.chart(f"{name}, {word}", content.unit(j, "rad", "m"), lambda t, j=j: joint(t, j))  # type: ignore[misc]
        for j, name in enumerate(names)
    ]
    return "".join(charts)
