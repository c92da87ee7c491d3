"""The page of simulated runs, one or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taupi.control.law_trial import Trial
from taupi.model.robot import Robot
from taupi.reporting.page import page
from taupi.reporting.run_content import run_content
from taupi.reporting.sections.base import Section
from taupi.reporting.sections.run import RUN_SECTIONS
from taupi.simulation.run import Run

Runs = Run | Trial | Sequence[Run | Trial]


def run_page(
    runs: Runs,
    robot: Robot | None = None,
    sections: Sequence[Section] | None = None,
    provenance: dict[str, Any] | None = None,
) -> str:
    """Return the page of a Run, a Trial, or several; `provenance` is added to the provenance of the runs."""
    return page(run_content(runs, robot, provenance), RUN_SECTIONS if sections is None else sections)
