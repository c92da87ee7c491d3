"""Positions, times and torques in another unit than assumed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.identification.results.verdict import Level, Reason
from taupi.identification.verdict.cause import Candidate, CandidateTrial, LeftOutCause, Support
from taupi.identification.verdict.study import LogChange, Study

# An arm that turns further than the first, rad, is in degrees; one that turns less than the second may be converted twice.
_FAR, _NEAR = 2 * math.pi, 0.2
# No arm turns half of its joints by two turns on an exciting motion.
_TWO_TURNS = 4 * math.pi
# A joint of a robot does not turn faster than this, rad/s, nor slide faster, m/s; nor slower than the second.
_FASTEST, _SLOWEST = 300.0, 1e-4
# Factors of torque closer to one than this are those of a rough description; from the second on they are wrong.
_ROUGH, _WRONG = 3.0, 10.0
_UNITS = {1e3: "mN m", 1e2: "N cm", 1e-3: "kN m"}
# Factors within this of a unit's, either way, are that unit's.
_ALIKE = 2.5
# Masses of the fit above this many kg per cubic metre of reach, and a little more, are those of no robot.
_DENSEST, _HEAVIEST_SMALL, _SHORT = 300.0, 5.0, 0.1


class Degrees(LeftOutCause):
    """Angles in degrees that were taken for radians, or the other way round; for slides, millimetres and metres."""

    name: ClassVar[str] = "degrees"
    by_left_out_error_only: ClassVar[bool] = False

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return one candidate per unit."""
        slides = np.array(study.robot.slides)
        ranges = np.max([np.ptp(log.q, axis=0) for log in study.logs], axis=0)
        widest = float(np.max(ranges, where=~slides, initial=0.0))
        far, near = (
            "q looks like degrees: with radians",
            "q looks like radians that were converted from degrees: without that",
        )
        long = "q of the slides looks like millimetres: with metres"
        short = "q of the slides looks like metres that were converted from millimetres: without that"
        for factor, says, unit, concerned, likely in (
            (math.pi / 180, far, "deg", ~slides, widest > _FAR),
            (180 / math.pi, near, "rad", ~slides, 0 < widest < _NEAR),
            (1e-3, long, "mm", slides, slides.any()),
            (1e3, short, "m", slides, slides.any()),
        ):
            if likely:
                some = () if concerned.all() else tuple(np.flatnonzero(concerned).tolist())
                change = LogChange(scale=np.where(concerned, factor, 1.0))
                yield Candidate(
                    self, says, f"Give the unit in a mapping: unit = '{unit}'.", change, some, {"factor": factor}
                )

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports it: a range that no arm has counts, too, if the left-out blocks are not against it."""
        study, turning = trial.study, ~np.array(trial.study.robot.slides) & trial.study.live
        wide = np.ptp(study.rows.q, axis=0)[turning] > _TWO_TURNS
        if trial.candidate.numbers["factor"] < 0.1 and len(wide) and wide.mean() >= 0.5 and trial.comparison.change < 0:
            return Support.SHOWN
        return super().support(trial)


class Milliseconds(LeftOutCause):
    """Time in another unit: milliseconds that were taken for seconds, or the other way round."""

    name: ClassVar[str] = "milliseconds"
    by_left_out_error_only: ClassVar[bool] = False

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return one candidate per unit, where the speeds of the logs are those of no robot."""
        fastest = float(np.abs(study.rows.qd)[:, study.live].max(initial=0.0))
        for factor, says, unit, likely in (
            (1e-3, "time looks like milliseconds: with seconds", "ms", fastest < 10 * _SLOWEST),
            (
                1e3,
                "time looks like seconds that were converted from milliseconds: without that",
                "s",
                fastest > _FASTEST,
            ),
        ):
            if likely:
                remedy = f"Give the unit of time in a mapping: unit = '{unit}'; or the rate, if the file has no time."
                numbers = {"factor": factor, "fastest": fastest}
                otherwise = f"speeds are at most {fastest / factor:.3g} instead of {fastest:.3g} rad/s or m/s"
                yield Candidate(self, says, remedy, LogChange(seconds=factor), (), numbers, otherwise=otherwise)

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports it: the speeds alone, since columns of another time often explain the torque as well."""
        fastest = trial.candidate.numbers["fastest"]
        return Support.SHOWN if fastest > _FASTEST or fastest < _SLOWEST else super().support(trial)

    def level(self, trial: CandidateTrial, level: Level) -> Level:
        """Return wrong: every speed and acceleration is."""
        return Level.WRONG


class TorqueUnit(LeftOutCause):
    """All torques times one factor, which the parameters absorb: the masses of the description show it, or those of the fit."""

    name: ClassVar[str] = "torque_unit"
    by_left_out_error_only: ClassVar[bool] = False

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return one candidate if the description explains the torque with another factor."""
        witness = study.own_witness
        if witness is None:
            return
        sure = study.live & (np.abs(witness.correlations) > 0.8) & (witness.shares > 0.2) & (witness.slopes > 0)
        if sure.sum() < max(1, study.live.sum() / 3):
            return
        # The variance of a slope's logarithm is (1 - r^2) / r^2, over the number of independent rows.
        certainty = witness.correlations[sure] ** 2 / np.maximum(1 - witness.correlations[sure] ** 2, 1e-6)
        factor = float(np.exp(np.average(np.log(witness.slopes[sure]), weights=certainty)))
        if max(factor, 1 / factor) < _ROUGH:
            return
        unit = next((u for f, u in _UNITS.items() if abs(np.log(factor / f)) < np.log(_ALIKE)), None)
        guess = f", like {unit}" if unit else ""
        remedy = f"Give the unit in a mapping: unit = '{unit.replace(' ', '')}'." if unit else ""
        remedy = remedy or "Check gear ratios, torque constants and the unit of tau, or the masses of the description."
        says = f"tau is {factor:.3g} times what the masses of the description give{guess}: divided by it,"
        yield Candidate(self, says, remedy, LogChange(torque=np.eye(study.n) / factor), (), {"factor": factor})

    def level(self, trial: CandidateTrial, level: Level) -> Level:
        """Return wrong from a factor of ten on; below, it is worth knowing."""
        factor = trial.candidate.numbers["factor"]
        return Level.WRONG if max(factor, 1 / factor) >= _WRONG else Level.GOOD


def masses_of_no_robot(study: Study) -> Reason | None:
    """Return the reason if the fit has masses of no robot: without a credible description, the only sign of a wrong unit."""
    witness = study.own_witness
    if not study.weighs or (witness is not None and witness.credible(study.live) >= 0.5):
        return None
    mass, reach = study.apparent_mass()
    heaviest = _DENSEST * max(reach, _SHORT) ** 3 + _HEAVIEST_SMALL
    if mass <= heaviest:
        return None
    return Reason(
        TorqueUnit.name,
        f"tau looks too large: a load at a reach of {reach:.2g} m would weigh {mass:.3g} kg to have such a torque of gravity.",
        Level.WRONG if mass > _WRONG * heaviest else Level.DOUBTFUL,
        (),
        {"mass": mass, "heaviest": heaviest},
        "Check gear ratios, torque constants and the unit of tau.",
    )
