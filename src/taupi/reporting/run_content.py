"""The content of the report of runs: one or several trials of control laws, and how their lines are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.control.law_trial import Trial
from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.reporting.chart import COLOURS, Line, chart, coloured
from taupi.reporting.film import DrawnArm
from taupi.simulation.run import Run

# Points of all lines on a page together: they keep the file below about three megabytes.
POINTS, MOST, FEWEST = 120_000, 2000, 150
GROUP = "run"  # the charts of a page zoom together


@dataclass(frozen=True, eq=False)
class RunContent:
    """Trials on one page; `robot` is the arm that is drawn, None if it is not known."""

    trials: tuple[Trial, ...]
    robot: Robot | None
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The heading of the page."""
        robot = self.first.run.provenance.get("robot", "a robot")
        names = [t.name for t in self.trials]
        return f"{robot} under {', '.join(names[:-1]) + ' and ' * (len(names) > 1) + names[-1]}"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        facts, stop = self.first.run.provenance, max(float(t.run.time[-1]) for t in self.trials)
        known = {"rate", "control", "integrator"} <= facts.keys()
        rate = f", {facts['control']} at {facts['rate']:g} Hz, {facts['integrator']}" if known else ""
        return f"simulated for {stop:.4g} s{rate}"

    @property
    def first(self) -> Trial:
        """The first trial; all of them have its joints."""
        return self.trials[0]

    @property
    def several(self) -> bool:
        """Whether laws are compared."""
        return len(self.trials) > 1

    @property
    def points(self) -> int:
        """How many points a line may have so that the file stays small."""
        lines = len(self.trials) * (4 * self.first.run.n + 16) + self.first.run.n
        return max(FEWEST, min(MOST, POINTS // lines))

    @property
    def runs(self) -> list[Run]:
        """The run of each trial."""
        return [t.run for t in self.trials]

    @property
    def longest(self) -> Run:
        """The run that lasted longest: one that diverged ends early."""
        return max(self.runs, key=len)

    def unit(self, j: int, turning: str, sliding: str) -> str:
        """Return the unit of a quantity of joint j: `turning` or `sliding`, depending on the joint."""
        units = self.first.run.units
        return sliding if j < len(units) and units[j] == "m" else turning

    def units(self, turning: str, sliding: str) -> str:
        """Return the units of a quantity of all joints."""
        return ", ".join(dict.fromkeys(self.unit(j, turning, sliding) for j in range(self.first.run.n)))

    def chart(
        self,
        title: str,
        unit: str,
        series: Callable[[Trial], np.ndarray | None],
        beside: Sequence[Line] = (),
        log: bool = False,
    ) -> str:
        """Return a chart with one line per trial, each in its colour, drawn over `beside`, lines of the longest run.

        `series` gives the values (N,) of a trial, or None if it has no such line; `log` makes the scale logarithmic.
        """
        drawn = [(k, t, v) for k, t in enumerate(self.trials) if (v := series(t)) is not None]
        lines = [*beside, *(coloured(t.name, k, v) for k, t, v in drawn)]
        times = [*(self.longest.time for _ in beside), *(t.run.time for _, t, _ in drawn)]
        return self.chart_of(title, unit, lines, times, log)

    def chart_of(
        self, title: str, unit: str, lines: Sequence[Line], times: Sequence[np.ndarray] | None = None, log: bool = False
    ) -> str:
        """Return a chart of lines over the time of the longest run, or over `times`, one array per line."""
        runaway = not all(run.complete for run in self.runs)
        return chart(title, unit, self.longest.time, lines, GROUP, self.points, log, times, runaway)

    def arms(self) -> list[DrawnArm]:
        """Return the arms to draw: the reference as a ghost, then every trial in its colour."""
        arms = [DrawnArm(t.name, f"c{k % COLOURS}", t.run.time, t.run.q) for k, t in enumerate(self.trials)]
        if not self.first.tracks or self.longest.reference is None:
            return arms
        return [DrawnArm("reference", "ghost", self.longest.time, self.longest.reference.q), *arms]


def run_content(
    runs: Run | Trial | Sequence[Run | Trial], robot: Robot | None = None, provenance: dict[str, Any] | None = None
) -> RunContent:
    """Return what a report shows about a Run, a Trial, or several; `robot` is needed if none of them knows it.

    `provenance` is added to the facts on which all runs agree.
    """
    several: list[Any] = list(runs) if isinstance(runs, list | tuple) else [runs]
    if not several or not all(isinstance(t, Run | Trial) for t in several):
        raise TaupiError("{result} is {got!r}, expected a Run, a Trial, or a list of them.", got=runs)
    trials = tuple(t if isinstance(t, Trial) else Trial(t) for t in several)
    for t in trials:
        if len(t.run) < 2:
            raise TaupiError("The run of {t} has {count} samples, too few to report.", t=t.name, count=len(t.run))
        if t.run.names != trials[0].run.names:
            raise TaupiError(
                "{t} has different joints than {trial}: a page is about one robot.", t=t.name, trial=trials[0].name
            )
    arm = robot or next((t.robot for t in trials if t.robot is not None), None)
    if arm is not None and arm.n != trials[0].run.n:
        raise TaupiError("{robot} has {n} joints, the run has {run_n}.", n=arm.n, run_n=trials[0].run.n)
    facts = trials[0].run.provenance.items()
    shared = {k: v for k, v in facts if v not in (None, []) and all(t.run.provenance.get(k) == v for t in trials)}
    return RunContent(trials, arm, {**shared, **(provenance or {})})
