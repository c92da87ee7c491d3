"""Runs of control laws, one or several side by side, as what the sections of a report lay out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taupi.control.law_trial import Trial
from taupi.errors import TaupiError, shown
from taupi.model.robot import Robot
from taupi.report.chart import COLOURS, Line, chart, coloured
from taupi.simulation.run import Run

# Points of all lines of a page together: what keeps the file below some three megabytes.
POINTS, MOST, FEWEST = 120_000, 2000, 150
GROUP = "run"  # charts of a page zoom together


@dataclass(frozen=True, eq=False)
class Story:
    """Trials on one page; `robot` is the arm that is drawn, None where it is not known."""

    trials: tuple[Trial, ...]
    robot: Robot | None
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The heading of the page."""
        name = self.first.run.provenance.get("robot", "a robot")
        names = [t.name for t in self.trials]
        return f"{name} under {', '.join(names[:-1]) + ' and ' * (len(names) > 1) + names[-1]}"

    @property
    def subtitle(self) -> str:
        """The line below it."""
        told, stop = self.first.run.provenance, max(float(t.run.time[-1]) for t in self.trials)
        rate = f", {told['control']} at {told['rate']:g} Hz, {told['integrator']}" if "rate" in told else ""
        return f"simulated for {stop:.4g} s{rate}"

    @property
    def first(self) -> Trial:
        """The first trial: joints and times are those of all."""
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
        """Their runs."""
        return [t.run for t in self.trials]

    @property
    def longest(self) -> Run:
        """The run that lasted longest: one that diverged ends before."""
        return max(self.runs, key=len)

    def unit(self, j: int, turning: str, sliding: str) -> str:
        """Return the unit of something of joint j."""
        units = self.first.run.units
        return sliding if j < len(units) and units[j] == "m" else turning

    def units(self, turning: str, sliding: str) -> str:
        """Return the units of something of all joints."""
        return ", ".join(dict.fromkeys(self.unit(j, turning, sliding) for j in range(self.first.run.n)))

    def chart(
        self,
        title: str,
        unit: str,
        series: Callable[[Trial], np.ndarray | None],
        beside: Sequence[Line] = (),
        log: bool = False,
    ) -> str:
        """Return a chart with a line a trial, in its colour, over lines of the longest run `beside` them."""
        own = [(k, t, v) for k, t in enumerate(self.trials) if (v := series(t)) is not None]
        lines = [*beside, *(coloured(t.name, k, v) for k, t, v in own)]
        times = [*(self.longest.time for _ in beside), *(t.run.time for _, t, _ in own)]
        return self.drawn(title, unit, lines, times, log)

    def drawn(
        self, title: str, unit: str, lines: Sequence[Line], times: Sequence[np.ndarray] | None = None, log: bool = False
    ) -> str:
        """Return a chart of lines over the time of the longest run, or over their own `times`."""
        runaway = not all(run.complete for run in self.runs)
        return chart(title, unit, self.longest.time, lines, GROUP, self.points, log, times, runaway)

    def arms(self) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
        """Return what is drawn of the arm: the reference as a ghost, then every trial in its colour."""
        made = []
        if self.first.tracks and self.longest.reference is not None:
            made.append(("reference", "ghost", self.longest.time, self.longest.reference.q))
        return made + [(t.name, f"c{k % COLOURS}", t.run.time, t.run.q) for k, t in enumerate(self.trials)]


def story(thing: Any, robot: Robot | None = None, provenance: dict[str, Any] | None = None) -> Story:
    """Return a Run, a Trial, or several of them, as a story; `robot` is needed where none of them knows it."""
    given = list(thing) if isinstance(thing, list | tuple) else [thing]
    if not given or not all(isinstance(t, Run | Trial) for t in given):
        raise TaupiError(f"thing is {shown(thing)}, expected a Run, a Trial, or a list of them.")
    trials = tuple(t if isinstance(t, Trial) else Trial(t) for t in given)
    for t in trials:
        if len(t.run) < 2:
            raise TaupiError(f"The run of {t.name} has {len(t.run)} samples, too few to report.")
        if t.run.names != trials[0].run.names:
            raise TaupiError(f"{t.name} has other joints than {trials[0].name}: a page is about one robot.")
    arm = robot or next((t.robot for t in trials if t.robot is not None), None)
    if arm is not None and arm.n != trials[0].run.n:
        raise TaupiError(f"robot has {arm.n} joints, the run has {trials[0].run.n}.")
    said = trials[0].run.provenance.items()
    told = {k: v for k, v in said if v not in (None, []) and all(t.run.provenance.get(k) == v for t in trials)}
    return Story(trials, arm, {**told, **(provenance or {})})
