"""Positions and times in another unit than assumed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trials import MOTION, Mending, Trials
from taupi.signals.log import Log

# An arm that turns further than the first, rad, is in degrees; one that turns less than the second may be converted twice.
_FAR, _NEAR = 2 * math.pi, 0.2


def scaled_motion(log: Log, factors: np.ndarray) -> Log:
    """Return a log with positions times `factors` (n,); recorded velocities are left out, unless the log came prepared.

    Their unit is not known to be that of the positions.
    """
    if log.is_prepared:
        return log.with_(**{name: value * factors for name, value in log.signals.items() if name in MOTION})
    return log.with_(q=log.q * factors, qd=None, qdd=None)


def scaled_time(log: Log, factor: float) -> Log:
    """Return a log whose time is `factor` times as long; velocities of a prepared log follow."""
    if not log.is_prepared:
        return log.with_(time=log.time * factor, qd=None, qdd=None)
    qd, qdd = log.need("qd", "qdd")
    return log.with_(time=log.time * factor, qd=qd / factor, qdd=qdd / factor**2)


class Degrees:
    """Angles in degrees that were taken for radians, or the other way round; for slides, millimetres and metres."""

    name: ClassVar[str] = "degrees"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return one candidate per unit."""
        slides = np.array([joint.prismatic for joint in trials.robot.driving_joints])
        ranges = np.max([np.ptp(head.log.q, axis=0) for head in trials.heads], axis=0)
        widest = float(np.max(ranges, where=~slides, initial=0.0))
        for factor, says, unit, likely in (
            (math.pi / 180, "q looks like degrees: with radians", "deg", widest > _FAR),
            (
                180 / math.pi,
                "q looks like radians that were converted from degrees: without that",
                "rad",
                widest < _NEAR,
            ),
        ):
            if likely:
                yield self._candidate(says, unit, ~slides, factor)
        for factor, says, unit in (
            (1e-3, "q of the slides looks like millimetres: with metres", "mm"),
            (1e3, "q of the slides looks like metres that were converted from millimetres: without that", "m"),
        ):
            if slides.any():
                yield self._candidate(says, unit, slides, factor)

    def _candidate(self, says: str, unit: str, concerned: np.ndarray, factor: float) -> Candidate:
        """Return the candidate of positions times a factor at the joints that are `concerned` (n,)."""
        change = partial(scaled_motion, factors=np.where(concerned, factor, 1.0))
        some = () if concerned.all() else tuple(np.flatnonzero(concerned).tolist())
        remedy = f"Give the unit in a mapping: unit = '{unit}'."
        return Candidate(self.name, says, remedy, Mending(change), some, {"factor": factor})


class Milliseconds:
    """Time in another unit: milliseconds that were taken for seconds, or the other way round."""

    name: ClassVar[str] = "milliseconds"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return one candidate per unit."""
        for factor, says, unit in (
            (1e-3, "time looks like milliseconds: with seconds", "ms"),
            (1e3, "time looks like seconds that were converted from milliseconds: without that", "s"),
        ):
            remedy = f"Give the unit of time in a mapping: unit = '{unit}'; or the rate, if the file has no time."
            change = partial(scaled_time, factor=factor)
            yield Candidate(self.name, says, remedy, Mending(change), (), {"factor": factor})
