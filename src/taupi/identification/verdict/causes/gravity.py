"""Gravity: a robot that is mounted differently than described, or a torque from which gravity was already subtracted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.cause import AGREES, LARGE, WEAK_LOG, Candidate, CandidateTrial, LeftOutCause, Support
from taupi.identification.verdict.study import Gravity, LogChange, Study

# Directions nearer to the described one than this, degrees, are the same: floors are level to a few.
_NEAR = 6.0
# The pattern search around the best direction starts with steps of this angle, rad, and ends below the second.
_STEP, _FINE = 0.35, 0.01
# A direction within this of an axis of the world, degrees, is that axis.
_ALIGNED = 5.0
# Gravity would be seen where its torque is this share of the recorded one; it is absent where its slope is below the second.
_SEEN, _ABSENT, _MOST, _NO_WORSE, _DESCRIBED = 0.3, 0.35, 0.7, 0.5, -2.0
# A torque in another unit goes with the described one all the same; and a model that explains nothing is no evidence.
_CORRELATED, _SOMETHING = 0.8, 0.7
_STANDARD = 9.81
_AXES = {"+x": (1, 0, 0), "-x": (-1, 0, 0), "+y": (0, 1, 0), "-y": (0, -1, 0), "+z": (0, 0, 1), "-z": (0, 0, -1)}


class CompensatedGravity(LeftOutCause):
    """A torque that has no gravity in it: a controller subtracted it, or springs carry the arm.

    A model without gravity has fewer columns: it need not explain more, where the description says that gravity would be seen.
    """

    name: ClassVar[str] = "gravity_compensated"
    by_left_out_error_only: ClassVar[bool] = False

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return one candidate: no gravity."""
        if study.weighs:
            remedy = "Log the torque before gravity is subtracted, or describe the robot with gravity = [0, 0, 0]."
            says = "Gravity was taken from tau already, it seems: without gravity in the model"
            yield Candidate(self, says, remedy, LogChange(gravity=(0.0, 0.0, 0.0)))

    def described(self, trial: CandidateTrial) -> float:
        """Return what the description says: of much gravity that nothing in the log agrees with, also if it is not credible."""
        return trial.described_change if self._absent(trial)[0] else super().described(trial)

    @staticmethod
    def _absent(trial: CandidateTrial) -> tuple[bool, bool]:
        """Return whether the log has no gravity where the description has much of it, and whether it has no trace of it."""
        study, before = trial.study, trial.study.own_witness
        if before is None or trial.score.left_out_total >= _SOMETHING:
            return False, False
        share = study.gravity_share()
        seen = study.live & (share > _SEEN)
        away = np.abs(before.slopes) < _ABSENT
        absent = bool(seen.sum() >= min(2, study.live.sum()) and away[seen].mean() >= _MOST)
        # What a controller subtracts is never quite the gravity of the arm: a model may explain the rest by some of it.
        larger = seen & (share > 1)
        none = larger.sum() >= 2 and (away & (np.abs(before.correlations) < _CORRELATED))[larger].mean() >= _MOST
        return absent, absent and bool(none)

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports it."""
        absent, all_of_it = self._absent(trial)
        # A model that has to do without gravity, and predicts far worse for it, had some to explain.
        no_worse = trial.comparison.change <= (-LARGE if all_of_it else _NO_WORSE)
        if absent and trial.described <= _DESCRIBED and no_worse:
            return Support.DESCRIPTION
        # On a motion that is repeated, a model with fewer columns extrapolates better, whether it is true or not.
        return Support.NONE if trial.study.blocks.repeated > WEAK_LOG else super().support(trial)


class Mounting(LeftOutCause):
    """A base that is mounted on a wall, a ceiling, or askew: gravity along another direction of the base."""

    name: ClassVar[str] = "gravity_direction"

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return a candidate for the direction that fits best, from the best of 26 by a pattern search."""
        if not study.weighs or study.gravity_is_described:
            return
        own = np.array([float(value) for value in study.robot.gravity])
        size = float(np.linalg.norm(own))

        def level(direction: np.ndarray) -> float:
            return study.coarse_level(LogChange(gravity=tuple(size * direction)))

        starts = [np.array(d) / np.linalg.norm(d) for d in product((-1.0, 0.0, 1.0), repeat=3) if any(d)]
        levels = [level(d) for d in starts]
        best, least, step = starts[int(np.argmin(levels))], min(levels), _STEP
        while step > _FINE:
            across = np.linalg.svd(best[None])[2][1:]
            turned = [best + sign * step * a for a in across for sign in (1, -1)]
            turned = [d / np.linalg.norm(d) for d in turned]
            levels = [level(d) for d in turned]
            if min(levels) < least:
                best, least = turned[int(np.argmin(levels))], min(levels)
            else:
                step /= 2
        if _degrees(best, own / size) <= _NEAR:
            return
        axis = next((name for name, d in _AXES.items() if _degrees(best, np.array(d)) < _ALIGNED), None)
        if axis is not None:
            best = np.array(_AXES[axis], dtype=float)
        where = (
            f"along {axis} of the base"
            if axis
            else f"{_degrees(best, own / size):.0f} degrees away from where the description has it"
        )
        gravity: Gravity = tuple(round(float(v), 3) + 0.0 for v in size * best)  # type: ignore[assignment]
        listed = ", ".join(f"{v:.4g}" for v in gravity)
        says = f"Gravity points {where}, it seems: with gravity = ({listed})"
        remedy = f"Load the robot with gravity=({listed}), or turn its base in the description."
        numbers = dict(zip(("gravity_x", "gravity_y", "gravity_z"), gravity, strict=True))
        yield Candidate(
            self, says, remedy, LogChange(gravity=gravity), (), numbers, score=study.under(gravity), fitted=2
        )

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports it: a description that is credible where gravity acts has to agree."""
        study, before, after = trial.study, trial.study.own_witness, trial.witness
        seen = study.live & (study.gravity_share() > _SEEN)
        if before is not None and after is not None and seen.sum() >= 2:
            credible = max(before.credible(seen), after.credible(seen)) >= 0.5
            if credible and trial.described_change > AGREES:
                return Support.NONE
        return super().support(trial)


def _degrees(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(np.arccos(np.clip(a @ b, -1, 1))))
