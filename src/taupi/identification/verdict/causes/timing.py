"""A torque that was recorded later, or earlier, than the motion that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from taupi.errors import TaupiError
from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trials import Mending, Trials
from taupi.signals.filtering.delay import without_delays
from taupi.signals.log import Log

# A delay is examined more closely if it would lower the cost to this share, to first order.
_PROMISING = 0.8
_STEPS = 6


def earlier(log: Log, seconds: float) -> Log:
    """Return a log with its torque shifted earlier."""
    return without_delays(log, {"tau": seconds})


class DelayedTorque:
    """A torque that lags behind the motion, or the motion behind the torque, at all joints alike."""

    name: ClassVar[str] = "delay"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return a candidate with the delay that explains most, if there is one."""
        errors, rows = trials.baseline, trials.own_derivatives
        (step,), first = rows.coefficients(rows.rates[:, :, None])
        if first.cost > _PROMISING * errors.cost:
            return
        delay, least = 0.0, errors.cost
        for _ in range(_STEPS):
            ahead = delay - float(step)
            reached = trials.errors(Mending(partial(earlier, seconds=ahead))).cost
            if reached >= least:
                break
            delay, least = ahead, reached
            mending = Mending(partial(earlier, seconds=delay))
            try:
                rows = trials.differentiated(mending, trials.rows(mending).solved()[0].x)
            except TaupiError:
                break
            (step,), _ = rows.coefficients(rows.rates[:, :, None])
        if not delay:
            return
        late, early = ("tau", "q") if delay > 0 else ("q", "tau")
        says = f"{late} lags behind {early} by {1e3 * abs(delay):.3g} ms, it seems: shifted by as much,"
        remedy = (
            f"State it in the mapping, {late} = {{columns = ..., delay = {abs(delay):.4g}}}, or shift tau in Python: "
        )
        remedy += f"taupi.signals.remove_delay(log, 'tau', {delay:.4g})."
        yield Candidate(self.name, says, remedy, Mending(partial(earlier, seconds=delay)), (), {"delay": delay})
