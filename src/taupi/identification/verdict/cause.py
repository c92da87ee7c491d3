"""A cause of a poor fit: an alternative model of the log, named only if evidence supports it.

It is supported if it predicts blocks of the log that neither model was fitted on better than the log as it is, by more than
chance over all alternatives that were tried; or, where that cannot decide, by the description, if this is credible. A credible
description that explains less afterwards speaks against it, and so do limits of joints that it would leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from taupi.identification.folds.left_out import FLOOR, PairedScores, Score
from taupi.identification.results.verdict import Level, Reason, percent
from taupi.identification.verdict.study import LogChange, Study, Witness

# The chance, over all alternatives together, that one is named though the log is right; of causes with a family of their own.
CHANCE, CHANCE_OF_FAMILY = 0.05, 0.02
# What is left falls by this much, in sums over joints of logarithms of power: e^2.5 is a factor of 12.
LARGE = -2.5
# ... by a factor of e at one joint, or by 30 % at all joints together.
_AT_A_JOINT, _POOLED = -1.0, -0.35
# Only what improves the fit by this much where it was fitted is left out block by block.
_PROMISING = -0.3
# The description explains a factor of two more, at one joint or over several; it explains a fifth less.
AGREES, _CONTRADICTS = -0.7, 0.2
# It explains so much more that it decides alone, if the left-out blocks are not against it.
_DECIDES, _DECIDES_ALONE = -2.0, -4.0
# With this share of repeated rows, left-out blocks test extrapolation; then, without a description, what is left has to fall by a
# factor of three in power at every joint, on average.
WEAK_LOG, _LARGE_OF_A_WEAK_LOG = 0.4, -1.15
# A joint of which the log explains less than three quarters of the torque's power is wrong, not doubtful.
POOR = 0.5
# The share of an interval that golden section keeps.
_GOLDEN = (5**0.5 - 1) / 2
# Causes that support is about alike: the one that concerns fewer joints is the simpler story.
_ALIKE = 0.8


class Support(IntEnum):
    """What supports a cause; none is false."""

    NONE = 0
    DESCRIPTION = 1
    BOTH = 2
    LEFT_OUT = 3
    SHOWN = 4


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mistake that may be in the logs, or in the description.

    Attributes:
        cause: The cause that suggests it.
        says: The beginning of the sentence: "q looks like degrees: with radians".
        remedy: What to do about it.
        change: The change that would undo it.
        joints: The indices of the joints that it concerns; empty for all.
        numbers: Its numbers, by name.
        order: The recorded channels (n,) of the joints once it is undone, if they are others.
        score: The fit once it is undone, if it is not that of the change.
        fitted: How many numbers were chosen for it, beyond what it says.
        otherwise: What becomes plausible, if neither the log nor the description is explained any better.
    """

    cause: Cause
    says: str
    remedy: str
    change: LogChange = field(default_factory=LogChange)
    joints: tuple[int, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    order: np.ndarray | None = None
    score: Score | None = None
    fitted: int = 0
    otherwise: str = ""


class CandidateTrial:
    """A candidate beside the logs as they are."""

    def __init__(self, study: Study, candidate: Candidate) -> None:
        self.study, self.candidate = study, candidate

    @cached_property
    def score(self) -> Score:
        """The fit once the mistake is undone."""
        return self.candidate.score or self.study.score(self.candidate.change)

    @cached_property
    def gained(self) -> float:
        """The change of the sum of logarithms where both models were fitted."""
        return self.score.level - self.study.base_score.level

    @cached_property
    def comparison(self) -> PairedScores:
        """The comparison on blocks that neither was fitted on."""
        return self.study.comparison(self.score, self.candidate.order)

    @cached_property
    def witness(self) -> Witness | None:
        """What the description says once the mistake is undone."""
        return self.study.witness(self.candidate.change)

    @cached_property
    def credible(self) -> tuple[float, float]:
        """The share of the joints that the description explains, before and after."""
        before, after, live = self.study.own_witness, self.witness, self.study.live
        return (0.0, 0.0) if before is None or after is None else (before.credible(live), after.credible(live))

    @cached_property
    def described(self) -> float:
        """The change of the sum of logarithms of what the description leaves; 0 if it is no witness of this cause."""
        return self.candidate.cause.described(self)

    @property
    def described_change(self) -> float:
        """The same, however credible the description is; 0 if it states no masses."""
        before, after, live = self.study.own_witness, self.witness, self.study.live
        return 0.0 if before is None or after is None else after.cost(live) - before.cost(live)

    @cached_property
    def support(self) -> Support:
        """What supports it."""
        return self.candidate.cause.support(self)

    @property
    def merit(self) -> float:
        """What it explains more, by both witnesses: the most negative is the best."""
        return self.comparison.change + self.described

    @property
    def better_left_out(self) -> bool:
        """Whether it predicts what it was not fitted to better than chance over all that was tried, and by a lot."""
        c = self.comparison
        large = c.joints.min() <= _AT_A_JOINT or c.pooled <= _POOLED
        return bool(c.p * len(self.study.tried) < CHANCE and c.change <= LARGE and large and c.pooled < CHANCE)

    @property
    def worse_at_a_joint(self) -> bool:
        """Whether it predicts a joint that carries torque worse, by as much as a cause has to predict one better."""
        carrying = self.study.carrying
        return bool(carrying.any() and self.comparison.joints[carrying].max() >= -_AT_A_JOINT)

    @property
    def back_within_limits(self) -> bool:
        """Whether joints that were outside of their limits are inside, and the torque does not clearly contradict."""
        outside, change = self.study.outside_limits(LogChange()), self.candidate.change
        if change.motion is None or not outside[list(self.candidate.joints)].any():
            return False
        return not self.study.outside_limits(change).any() and self.gained <= -AGREES

    @property
    def beyond_limits(self) -> bool:
        """Whether joints that were inside of their limits are outside: the description contradicts."""
        before, after = (self.study.outside_limits(change) for change in (LogChange(), self.candidate.change))
        return bool((after & ~before).any())

    def reason(self) -> Reason:
        """Return the reason, with the errors before and after on what was not fitted."""
        study, candidate, names = self.study, self.candidate, self.study.robot.joint_names
        before, after = study.base_score.left_out_joints, self.score.left_out_joints
        drop = np.where(study.live, before**2 - after**2, 0.0)
        totals = study.base_score.left_out_total, self.score.left_out_total
        j = int(np.argmax(drop))
        if totals[1] <= 0.75 * totals[0] or drop[j] <= 0:
            place, (old, new) = "", totals
        else:
            place, old, new = f" at {names[j]}", float(before[j]), float(after[j])
        if old - new > 0.1 * old and old > FLOOR**0.5:
            clause = f"the error{place} falls from {percent(old)} to {percent(new)} on parts that were not fitted"
            numbers = {"error_before": old, "error_after": new}
        else:
            clause, numbers = self._described_clause(names)
        carrying = before[study.carrying] if study.carrying.any() else np.zeros(1)
        level = Level.WRONG if carrying.max() > POOR else Level.DOUBTFUL
        level = candidate.cause.level(self, level)
        joints = tuple(names[i] for i in candidate.joints)
        return Reason(
            candidate.cause.name,
            f"{candidate.says} {clause}.",
            level,
            joints,
            {**candidate.numbers, **numbers},
            candidate.remedy,
            self._blocks(j if place else None) if "error_before" in numbers else (),
        )

    def _blocks(self, joint: int | None) -> tuple[tuple[float, float], ...]:
        """Return the errors of each block before and after, at one joint, or over all of them."""
        study, order = self.study, self.candidate.order
        before, after = study.base_score.left_out, self.score.left_out
        after = after if order is None else after[:, np.argsort(order)]
        powers = np.where(study.live, study.base_score.powers, 0.0)
        share = powers / powers.sum() if joint is None else np.arange(study.n) == joint
        return tuple(zip(np.sqrt(before @ share).tolist(), np.sqrt(after @ share).tolist(), strict=True))

    def _described_clause(self, names: tuple[str, ...]) -> tuple[str, dict[str, float]]:
        old, new = self.study.own_witness, self.witness
        if self.back_within_limits:
            outside = [names[j] for j in np.flatnonzero(self.study.outside_limits(LogChange()))]
            return f"q of {', '.join(outside)} stays within the limits of the description", {"outside": len(outside)}
        if self.candidate.otherwise or old is None or new is None:
            return self.candidate.otherwise or "the torque is explained as well, and friction brakes", {}
        some = [j for j in (self.candidate.joints or range(len(names))) if self.study.live[j]]
        j = max(some, key=lambda j: old.errors[j] - new.errors[j])
        before, after = float(min(old.errors[j], 1e3)), float(min(new.errors[j], 1e3))
        clause = f"the description's own error at {names[j]} falls from {percent(before)} to {percent(after)}"
        return clause, {"described_before": before, "described_after": after}


class Cause(Protocol):
    """A kind of mistake: its name in one word, the candidates for a set of logs, and the evidence that decides."""

    name: ClassVar[str]
    by_left_out_error_only: ClassVar[bool]

    def candidates(self, study: Study) -> Iterable[Candidate]:
        """Return the candidates to try."""
        ...

    def described(self, trial: CandidateTrial) -> float:
        """Return the change of the sum of logarithms of what the description leaves; 0 if it is no witness."""
        ...

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports a candidate."""
        ...

    def level(self, trial: CandidateTrial, level: Level) -> Level:
        """Return how far a supported candidate speaks against a fit, whose errors alone would say `level`."""
        ...


class LeftOutCause:
    """A cause that left-out blocks decide, with the description as a second witness: most causes.

    `by_left_out_error_only` says that it needs no trial if there is nothing left to explain.
    """

    by_left_out_error_only: ClassVar[bool] = True

    def described(self, trial: CandidateTrial) -> float:
        """Return what the description says if it is credible, before or after; else 0."""
        return trial.described_change if max(trial.credible) >= 0.5 else 0.0

    def support(self, trial: CandidateTrial) -> Support:
        """Return what supports a candidate."""
        if trial.back_within_limits:
            return Support.SHOWN
        # The torque is explained clearly worse, in all or where much of it is; or no joint is there.
        if trial.gained > -_PROMISING or trial.worse_at_a_joint or trial.beyond_limits:
            return Support.NONE
        study = trial.study
        weak, described, credible = study.blocks.repeated > WEAK_LOG, trial.described, max(trial.credible) >= 0.5
        if trial.gained <= _PROMISING and trial.better_left_out:
            held = described <= _CONTRADICTS
            if weak:
                large = trial.comparison.change <= min(LARGE, _LARGE_OF_A_WEAK_LOG * study.live.sum())
                held = described <= AGREES if credible else large
            if held:
                return Support.LEFT_OUT
        if not credible or described > AGREES:
            return Support.NONE
        c, (before, after) = trial.comparison, trial.credible
        # Of repeated rows, one model may extrapolate better than another that explains them as well.
        better = trial.gained < (_PROMISING if weak else 0.0)
        if better and c.t < -2.7 and c.change <= -1.5:
            return Support.BOTH
        alone = after > before or described <= _DECIDES_ALONE
        decides = after >= max(0.5, before) and described <= _DECIDES and c.change <= 1 and c.t < -LARGE
        return Support.DESCRIPTION if decides and alone else Support.NONE

    def level(self, trial: CandidateTrial, level: Level) -> Level:
        """Return `level`: left-out errors decide how far it speaks against the fit."""
        return level


def tried(study: Study) -> list[CandidateTrial]:
    """Return the candidates of all causes beside the logs as they are: how many there are decides what is chance."""
    from taupi.identification.verdict.causes import load_causes

    outside = study.outside_limits(LogChange()).any()
    for cause in load_causes():
        if study.attainable <= LARGE or outside or not cause.by_left_out_error_only:
            study.tried += [CandidateTrial(study, candidate) for candidate in cause.candidates(study)]
    return study.tried


def best_of(supported: Sequence[CandidateTrial]) -> CandidateTrial | None:
    """Return the supported candidate that explains most; of those about alike, the one of few joints and few fitted numbers."""
    if not supported:
        return None
    best = min(supported, key=lambda trial: trial.merit)
    alike = [trial for trial in supported if trial.merit <= _ALIKE * best.merit] if best.merit < 0 else [best]
    return min(alike, key=lambda trial: (len(trial.candidate.joints) or 1, trial.candidate.fitted, trial.merit))


def least(function: Callable[[float], float], grid: np.ndarray, steps: int = 10) -> float:
    """Return where `function` is least between the neighbours of the best of `grid`, after some steps of golden section.

    >>> round(least(lambda x: (x - 0.3) ** 2, np.arange(-1.0, 2.0), 20), 3)
    0.3
    """
    values = [function(float(x)) for x in grid]
    k = int(np.argmin(values))
    low, high = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(steps):
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = function(b)
    found = (low + high) / 2
    return float(found) if function(found) <= values[k] else float(grid[k])
