"""Torques that are off by a factor at one joint: a gear ratio, or a torque constant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from taupi.identification.folds.left_out import Score
from taupi.identification.folds.relative_gains import UNUSUAL
from taupi.identification.results.verdict import Level, Reason
from taupi.identification.verdict.cause import Candidate, CandidateTrial, LeftOutCause, Support, least
from taupi.identification.verdict.study import LogChange, Study

# Factors closer to 1 than this, either way, are within the errors of drive data sheets.
_LEAST = 1.2
# The factor is searched between e^-7 and e^7, in steps of e.
_LARGEST = 7
# Where rows hardly couple joints, the description decides: it explains the others to 10 %, this one not even to 20 %.
_EXPLAINED, _UNEXPLAINED, _NO_WORSE = 0.1, 0.2, 0.5

# A torque this many times the limit that the description states is none of this joint; limits are placeholders unless this many
# times as much of it is used as of those of the other joints.
_BEYOND_LIMIT, _BESIDE_OTHERS = 10.0, 30.0

# Links are seen in a torque of which they explain a factor of e more, in power, than friction does.
_SEEN = -1.0


def unlike_other_joints(study: Study) -> Reason | None:
    """Return a remark on relative gains that are unusual, or a doubt about torques that are off by more than any gain is.

    They were chosen by regions of positions that were left out, so that they hold; see `folds.relative_gains`.
    """
    gains, names = study.problem.gains, study.robot.joint_names
    if gains is None or not gains.supported:
        return None
    beside = gains.beside
    odd = np.flatnonzero(gains.seen & (np.abs(beside) > UNUSUAL))
    if not odd.size:
        return None
    listed = ", ".join(f"{names[j]} {beside[j]:+.0%}" for j in odd)
    numbers = {names[j]: float(beside[j]) for j in odd}
    joints = tuple(names[j] for j in odd)
    if gains.admitted:
        says = f"Beside those of the other joints, torques read high by: {listed}. This is taken out of the logs."
        remedy = "Check the gear ratios and torque constants, or calibrate them with a known mass (taupi gains)."
        return Reason(TorqueFactor.name, says, Level.GOOD, joints, numbers, remedy)
    says = f"Beside those of the other joints, torques would read high by: {listed}. No drive's gain is that far off."
    remedy = "Check what these channels hold: unit, gear ratio, or a torque from which something was subtracted."
    return Reason(TorqueFactor.name, says, Level.DOUBTFUL, joints, numbers, remedy)


def beyond_its_limit(study: Study) -> Reason | None:
    """Return the reason if one joint's torque is far beyond the limit that the description states, and the others' are not.

    It needs no links: where friction is most of a torque, it is all that shows a factor.
    """
    used, names = study.share_of_limits, study.robot.joint_names
    known = np.flatnonzero(np.isfinite(used) & study.live)
    if len(known) < 2:
        return None
    j = int(known[np.argmax(used[known])])
    others = float(np.median(used[known[known != j]]))
    if used[j] < _BEYOND_LIMIT or used[j] < _BESIDE_OTHERS * others:
        return None
    share, name = float(used[j]), names[j]
    return Reason(
        TorqueFactor.name,
        f"tau of {name} is {share:.3g} times the limit that the description states, those of other joints {others:.2g} times.",
        Level.DOUBTFUL,
        (name,),
        {"share_of_limit": share, "others": others},
        f"Check the gear ratio and the torque constant of {name}, and its unit.",
    )


class TorqueFactor(LeftOutCause):
    """One joint's torque times a constant: the factor for which it agrees with the torques of the other joints.

    The rows of other joints see the same links, so that the factor is searched where the fit is made, and judged where it is not.
    Where a joint hardly shares anything with the others, the factor is that of the description.
    """

    name: ClassVar[str] = "torque_factor"
    by_left_out_error_only: ClassVar[bool] = False

    def candidates(self, study: Study) -> Iterator[Candidate]:
        """Return candidates for each joint whose best factor is far from 1."""
        grams, unit, witness = study.grams(LogChange()), np.eye(study.n), study.own_witness
        gains = np.broadcast_to(study.layout.gains(study.problem.preparation.relative_gains), study.n)
        for j in np.flatnonzero(study.live).tolist():

            def level(logarithm: float, j: int = j) -> float:
                torque = unit + (np.exp(logarithm) - 1) * np.outer(unit[j], unit[j])
                return Score.of(grams, study.live, torque).level

            found = [float(np.exp(least(level, np.arange(-_LARGEST, _LARGEST + 1.0))))]
            if witness is not None and witness.slopes[j] > 0:
                others = [k for k in np.flatnonzero(study.live) if k != j and witness.slopes[k] > 0]
                usual = np.median(witness.slopes[others]) if others else 1.0
                found.append(float(usual / witness.slopes[j]))
            for factor in found:
                if 1 / _LEAST < factor < _LEAST or not np.isfinite(factor):
                    continue
                torque = unit + (factor - 1) * np.outer(unit[j], unit[j])
                name = study.robot.joint_names[j]
                # Relative gains are taken out already: stated is the factor of the torque that was recorded.
                recorded = factor / gains[j] * float(np.median(np.delete(gains, j))) if study.n > 1 else factor
                says = f"tau of {name} is off by a factor, it seems: times {recorded:.3g}"
                remedy = f"Check the gear ratio and the torque constant of {name}, and its unit."
                yield Candidate(self, says, remedy, LogChange(torque=torque), (j,), {"factor": recorded}, fitted=1)

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports it: also a description that explains all joints but this one, and this one with the factor."""
        before, after, (j,) = trial.study.own_witness, trial.witness, trial.candidate.joints
        support = super().support(trial)
        others = [k for k in np.flatnonzero(trial.study.live) if k != j]
        if before is not None and after is not None and others and trial.gained <= -np.log(_NO_WORSE):
            told = np.median(before.errors[others]) <= _EXPLAINED
            if told and before.errors[j] >= _UNEXPLAINED and after.errors[j] <= _EXPLAINED:
                support = Support.DESCRIPTION if trial.comparison.change <= _NO_WORSE else Support.NONE
        return support if support and self._links_are_seen(trial) else Support.NONE

    @staticmethod
    def _links_are_seen(trial: CandidateTrial) -> bool:
        """Return whether links are seen in the torque of another joint, and in this one's, before or by the factor.

        A factor compares what links do at two joints. Where friction explains a torque as well, as at a joint that swings freely,
        a factor only takes away its weight.
        """
        study, (j,) = trial.study, trial.candidate.joints
        seen = [k for k in np.flatnonzero(study.live).tolist() if study.links_in_torque(k) <= _SEEN]
        return bool((j in seen or trial.comparison.joints[j] <= _SEEN) and set(seen) - {j})
