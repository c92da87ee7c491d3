"""A torque that was recorded later, or earlier, than the motion that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.identification.results.verdict import Level
from taupi.identification.verdict.cause import (
    CHANCE,
    CHANCE_OF_FAMILY,
    LARGE,
    Candidate,
    CandidateTrial,
    LeftOutCause,
    Support,
    least,
)
from taupi.identification.verdict.study import LogChange, Study

# Delays up to this share of the period of the fastest motion are searched; beyond it they are told apart no longer.
_SHARE = 0.5
_GRID = np.linspace(-1, 1, 11)
# What is left falls by a factor of e.
_CLEAR = -1.0


class DelayedTorque(LeftOutCause):
    """A torque that lags behind the motion, or the motion behind the torque, at all joints alike.

    Most drives lag by some milliseconds, which is worth a remark; only a delay that spoils the fit speaks against it.
    """

    name: ClassVar[str] = "delay"

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return a candidate with the delay that explains most."""
        longest = _SHARE * study.period
        delay = least(lambda seconds: study.coarse_level(LogChange(later=seconds)), longest * _GRID)
        late, early = ("tau", "q") if delay > 0 else ("q", "tau")
        says = f"{late} lags behind {early} by {1e3 * abs(delay):.3g} ms, it seems: shifted by as much,"
        remedy = (
            f"State it in the mapping, {late} = {{columns = ..., delay = {abs(delay):.4g}}}, or shift tau in Python: "
            f"taupi.signals.remove_delay(log, 'tau', {delay:.4g})."
        )
        yield Candidate(self, says, remedy, LogChange(later=delay), (), {"delay": delay})

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports it: a family of its own, since there is one candidate."""
        c = trial.comparison
        clear = c.p < CHANCE_OF_FAMILY and c.change <= _CLEAR and c.pooled < CHANCE_OF_FAMILY
        return Support.LEFT_OUT if clear else Support.NONE

    def level(self, trial: CandidateTrial, level: Level) -> Level:
        """Return that it is only worth knowing unless it spoils the fit, beyond chance over all that was tried."""
        c = trial.comparison
        spoils = c.p * len(trial.study.tried) < CHANCE and c.change <= LARGE and c.joints.min() <= _CLEAR
        return Level.DOUBTFUL if spoils else Level.GOOD
