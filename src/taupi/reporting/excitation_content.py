"""The content of the report of an excitation: the motion beside its limits, sampled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.excitation.excitation import Excitation
from taupi.excitation.geometry.pairs import Pair
from taupi.excitation.limits.torque_rows import described_terms
from taupi.reporting.chart import Line, chart, coloured

# Hz, and the largest number of moments at which a motion is drawn.
_RATE_HZ, _MOST = 100.0, 4000
_POINTS = 1200
GROUP = "excitation"  # the charts of a page zoom together
SPARE = "mm more than required"  # the unit of distances
_PAIRS, _FAR = 8, 150  # more lines than colours are unreadable, and pairs farther apart than this (mm) do not matter


@dataclass(frozen=True, eq=False)
class ExcitationContent:
    """An excitation on a page."""

    plan: Excitation

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Exciting motion of {self.plan.robot.name}"

    @property
    def subtitle(self) -> str:
        """The line below the heading."""
        return f"{self.plan.duration:.4g} s, criterion {self.plan.criterion.upper()}, {self.plan.base.count} base parameters"

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it comes from, and the settings that are not None."""
        plan = self.plan
        subjects = {"course": plan.course, "goal": plan.goal, "margins": plan.margins, "search": plan.search}
        settings = {name: {k: v for k, v in s.to_dict().items() if v is not None} for name, s in subjects.items()}
        return {**plan.record, **settings}

    @cached_property
    def time(self) -> np.ndarray:
        """The moments that are drawn, in s."""
        return np.linspace(0.0, self.plan.duration, min(_MOST, max(2, int(self.plan.duration * _RATE_HZ) + 1)))

    @cached_property
    def states(self) -> tuple[np.ndarray, ...]:
        """q, qd, qdd (N, n)."""
        return tuple(self.plan.motion(self.time))

    @cached_property
    def torque(self) -> np.ndarray:
        """The torque (N, n) of the description's parameters, friction included."""
        torque = inverse_dynamics(self.plan.robot, terms=described_terms(smooth=False)).compile("numpy")
        return np.asarray(torque(*self.states))

    @cached_property
    def spare(self) -> dict[Pair, np.ndarray]:
        """How much more (N,) than the required distance each pair keeps, in mm; empty if none is watched."""
        clearance = self.plan.clearance
        if clearance is None:
            return {}
        rows = 1000 * (clearance.distances(self.states[0]) - clearance.margins)
        pairs = clearance.pairs
        return {pair: rows[:, [p == pair for p in pairs]].min(axis=1) for pair in dict.fromkeys(pairs)}

    def distances(self) -> str:
        """Return charts of the least distance, and of the pairs that come nearest; empty if none is watched."""
        if not self.spare:
            return ""
        nearest = np.min(list(self.spare.values()), axis=0)
        pairs = sorted(self.spare.items(), key=lambda item: item[1].min())[:_PAIRS]
        lines = [coloured(str(p), k, np.where(v < _FAR, v, np.nan)) for k, (p, v) in enumerate(pairs)]
        asked = self.edge("asked", 0.0)
        return self.chart("nearest of all pairs", SPARE, [asked, coloured("least", 1, nearest)]) + self.chart(
            f"pairs that come nearest, up to {_FAR} mm", SPARE, [asked, *lines]
        )

    def positions_and_torques(self) -> str:
        """Return charts of the joints' positions and torques."""
        robot = self.plan.robot
        slides = np.array(robot.slides)
        turning, sliding = ("rad", "N m"), ("m", "N")
        units = sliding if slides.all() else turning if not slides.any() else ("rad or m", "N m or N")
        drawn = zip(("position", "torque"), units, (self.states[0], self.torque), strict=True)
        return "".join(
            self.chart(title, unit, [coloured(name, k, x[:, k]) for k, name in enumerate(robot.joint_names)])
            for title, unit, x in drawn
        )

    def edge(self, name: str, value: float) -> Line:
        """Return the line of a limit."""
        return Line(name, "limit", np.full(len(self.time), value))

    def shares(self, title: str, names: Sequence[str], values: np.ndarray, limits: np.ndarray) -> str:
        """Return a chart of values (N, k) as shares of their limits (k,), with the limits themselves; empty without any."""
        kept = np.isfinite(limits)
        if not kept.any():
            return ""
        drawn = [
            coloured(names[k], i, 100 * values[:, k] / limits[k]) for i, k in enumerate(np.flatnonzero(kept).tolist())
        ]
        return self.chart(title, "% of the limit", [self.edge("limit", 100.0), self.edge("", -100.0), *drawn])

    def chart(self, title: str, unit: str, lines: Sequence[Line]) -> str:
        """Return a chart of lines over the time of the motion."""
        return chart(title, unit, self.time, lines, GROUP, _POINTS)
