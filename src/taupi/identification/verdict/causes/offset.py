"""A constant that was added to the position of a joint: an encoder with another zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trials import Mending, Trials

# Smaller offsets than this, rad or m, are normal calibration errors.
_LEAST = 0.02
# A joint is examined more closely if an offset would lower the cost to this share, to first order.
_PROMISING = 0.8
# Further starting points besides the first Newton step, rad or m: the torque is far from linear in an angle.
_STARTS = (-1.6, -0.8, 0.8, 1.6, 3.0)
_STEPS, _LONGEST = 6, 0.7
# Offsets at which the description is evaluated, rad or m: the search between them starts there.
_COARSE_STEP = 0.6
_COARSE = tuple(_COARSE_STEP * k for k in (-4, -3, -2, -1, 1, 2, 3, 4))


class OffsetOfQ:
    """A q that is off by a constant at one joint."""

    name: ClassVar[str] = "offset"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return a candidate for each joint where an offset would explain more, with the offset that explains most."""
        errors, rows = trials.baseline, trials.own_derivatives
        for j in range(trials.n):
            (step,), first = rows.coefficients(rows.offsets[:, :, [j]])
            if first.cost > _PROMISING * errors.cost:
                continue
            by = _best_offset(trials, j, float(step))
            if abs(by) < _LEAST:
                continue
            yield _candidate(trials, j, by)


class OffsetOfQByDescription:
    """The same, if the fit absorbs the offset in its parameters, but the description does not agree with the log."""

    name: ClassVar[str] = "offset"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return a candidate for each joint with the offset for which the description explains most."""
        from scipy.optimize import minimize_scalar

        before = trials.baseline.described_cost
        for j in np.flatnonzero(~trials.dead).tolist():
            unit = np.eye(trials.n)[j]

            def cost(by: float, unit: np.ndarray = unit) -> float:
                return trials.errors(Mending(shift=by * unit)).described_cost

            costs = {by: cost(by) for by in _COARSE}
            start = min(costs, key=lambda by: costs[by])
            if costs[start] > _PROMISING * before:
                continue
            bounds = start - _COARSE_STEP, start + _COARSE_STEP
            best = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 5e-3, "maxiter": 12})
            if abs(best.x) >= _LEAST:
                yield _candidate(trials, j, float(best.x))


def _candidate(trials: Trials, joint: int, by: float) -> Candidate:
    name = trials.robot.joint_names[joint]
    unit = "m" if trials.robot.driving_joints[joint].prismatic else "rad"
    says = f"q of {name} is off by {-by:.3g} {unit}, it seems: without that"
    remedy = f"Add {by:.3g} {unit} to q of {name}, or check where its zero is."
    mending = Mending(shift=by * np.eye(trials.n)[joint])
    return Candidate(OffsetOfQ.name, says, remedy, mending, (joint,), {"offset": -by})


def _best_offset(trials: Trials, joint: int, step: float) -> float:
    """Return what has to be added to q of a joint, by damped Newton steps from the best of some starts."""
    unit = np.eye(trials.n)[joint]

    def cost(by: float) -> float:
        return trials.errors(Mending(shift=by * unit)).cost

    by = min((float(np.clip(step, -_LONGEST, _LONGEST)), *_STARTS), key=cost)
    least = cost(by)
    for _ in range(_STEPS):
        mending = Mending(shift=by * unit)
        try:
            rows = trials.differentiated(mending, trials.rows(mending).solved()[0].x)
        except TaupiError:
            break
        (more,), _ = rows.coefficients(rows.offsets[:, :, [joint]])
        ahead = by + float(np.clip(more, -_LONGEST, _LONGEST))
        reached = cost(ahead)
        if reached >= least:
            break
        small = abs(ahead - by) < 1e-3
        by, least = ahead, reached
        if small:
            break
    return by
