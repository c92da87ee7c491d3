"""A constant that was added to the position of a joint: an encoder with another zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.cause import LARGE, Candidate, LeftOutCause, least
from taupi.identification.verdict.study import LogChange, Study

# Smaller offsets than this, rad or m, are normal calibration errors.
_LEAST = 0.02
# Where the search starts, rad and m: the torque is far from linear in an angle.
_TURNS = np.array([-3.0, -2.4, -1.8, -1.2, -0.8, -0.4, -0.15, 0.15, 0.4, 0.8, 1.2, 1.8, 2.4, 3.0])
_SLIDES = np.array([-0.3, -0.1, 0.1, 0.3])
# A start is followed if the sum of logarithms falls by this much, where the model is fitted, and what the description leaves.
_PROMISING, _PROMISING_DESCRIBED = -0.1, -0.7
# The description is asked at joints of which it leaves more than this.
_DISAGREES = 0.2


class OffsetOfQ(LeftOutCause):
    """A q that is off by a constant at one joint: the constant that explains most, and the one that the description asks for."""

    name: ClassVar[str] = "offset"
    by_left_out_error_only: ClassVar[bool] = False

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return candidates for each joint where an offset would explain more."""
        witness, own = study.own_witness, study.coarse_level(LogChange())
        for j in np.flatnonzero(study.live).tolist():
            unit, grid = np.eye(study.n)[j], _SLIDES if study.robot.slides[j] else _TURNS

            def fitted(by: float, unit: np.ndarray = unit) -> float:
                return study.coarse_level(LogChange(shift=by * unit)) - own

            def described(by: float, unit: np.ndarray = unit) -> float:
                after = study.witness(LogChange(shift=by * unit))
                assert after is not None and witness is not None
                return after.cost(study.live) - witness.cost(study.live)

            searches = [(fitted, _PROMISING)] if study.attainable <= LARGE else []
            if witness is not None and not study.robot.slides[j] and witness.errors[j] > _DISAGREES:
                searches.append((described, _PROMISING_DESCRIBED))
            for cost, promising in searches:
                if min(cost(by) for by in grid) > promising:
                    continue
                by = least(cost, np.sort(np.append(grid, 0.0)))
                if abs(by) >= _LEAST:
                    yield self._candidate(study, j, by)

    def _candidate(self, study: Study, joint: int, by: float) -> Candidate:
        name = study.robot.joint_names[joint]
        unit = "m" if study.robot.driving_joints[joint].prismatic else "rad"
        says = f"q of {name} is off by {-by:.3g} {unit}, it seems: without that"
        remedy = f"Add {by:.3g} {unit} to q of {name}, or check where its zero is."
        return Candidate(
            self, says, remedy, LogChange(shift=by * np.eye(study.n)[joint]), (joint,), {"offset": -by}, fitted=1
        )
