"""A candidate: one mistake that may be the cause of a poor fit, with the change that would undo it; and when it is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from taupi.identification.results.verdict import Level, Reason, percent
from taupi.identification.verdict.trial_rows import Errors
from taupi.identification.verdict.trials import Mending, Trials

# A cause is named if undoing it halves the error of a joint, so that it explains three quarters of the unexplained power, ...
HALVED = 0.5
# ... if that error was large enough: a share of the torque's power, which is a relative error of 5 %, ...
LEAST = 0.05**2
# ... and if the other joints do not lose more than half of what this one gains.
LOST = 0.5
# Of candidates that leave about the same cost, the first one wins: the simpler ones come first.
ALIKE = 1.1
# A description counts as evidence if it explains the torque of the other joints to this error, friction and drives fitted.
CREDIBLE = 0.3
# A joint of which the log explains less than three quarters of the torque's power is wrong, not doubtful.
POOR = 0.5


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mistake that may be in the logs, or in the description.

    Attributes:
        cause: Its name, that of the cause that suggests it.
        says: The beginning of the sentence: "q looks like degrees: with radians".
        remedy: What to do about it.
        mending: The change that would undo it.
        joints: The indices of the joints that it concerns; empty for all.
        numbers: Its numbers, by name.
        after: The errors once it is undone, if they are known already.
        signs: Whether it can turn a negative inertia into a positive one.
        symptom: What the log shows in any case, even if undoing it explains no more; empty if nothing.
    """

    cause: str
    says: str
    remedy: str
    mending: Mending
    joints: tuple[int, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    after: Errors | None = None
    signs: bool = False
    symptom: str = ""


class Cause(Protocol):
    """A kind of mistake: its name in one word, and the candidates of this kind for a set of logs."""

    name: ClassVar[str]

    def candidates(self, trials: Trials) -> Iterable[Candidate]:
        """Return the candidates to try."""
        ...


@dataclass(frozen=True, eq=False)
class Tried:
    """A candidate with the errors before and after it was undone.

    `outside` are the joints (n,) that are outside of their limits before and after.
    """

    candidate: Candidate
    before: Errors
    after: Errors
    outside: tuple[np.ndarray, np.ndarray]

    @property
    def explains(self) -> bool:
        """Whether undoing it makes the logs so much more plausible that it is the likely cause."""
        return bool(np.isfinite(self.after.joints).all()) and (
            self.explains_torque
            or self.makes_possible
            or self.agrees_with_description
            or self.restores_description
            or self.respects_limits
        )

    @property
    def explains_torque(self) -> bool:
        """Whether the torque is explained far better."""
        drop = self.before.joints**2 - self.after.joints**2
        j = int(np.argmax(drop))
        halved = self.after.joints[j] <= HALVED * self.before.joints[j]
        return bool(halved and drop[j] >= LEAST and drop.sum() >= LOST * drop[j])

    @property
    def makes_possible(self) -> bool:
        """Whether fewer joints have a negative inertia, and the torque is explained as well as before."""
        some = list(self.candidate.joints) or slice(None)
        fewer = int(self.after.impossible.sum()) < int(self.before.impossible.sum())
        return self.candidate.signs and self._no_worse and fewer and not self.after.impossible[some].any()

    @property
    def respects_limits(self) -> bool:
        """Whether joints that were outside of their limits are inside, and the torque does not clearly contradict."""
        before, after = self.outside
        cost = max(self.before.cost, LEAST) / HALVED
        return bool(before[list(self.candidate.joints)].any() and not after.any() and self.after.cost <= cost)

    @property
    def agrees_with_description(self) -> bool:
        """Whether the description, which explains the other joints, explains these ones too."""
        some = list(self.candidate.joints)
        if not some or not len(self.before.described) or not self._no_worse:
            return False
        others = [j for j, error in enumerate(self.before.described) if j not in some and not np.isnan(error)]
        if not others:
            return False
        before, after = self.before.described, self.after.described
        credible = np.nanmedian(before[others]) <= CREDIBLE and np.nanmedian(after[others]) <= CREDIBLE
        j = some[int(np.argmax(before[some] - after[some]))]
        return bool(credible and after[j] <= min(CREDIBLE, HALVED * before[j]) and before[j] > CREDIBLE)

    @property
    def restores_description(self) -> bool:
        """Whether the description explains most joints afterwards, and far more than before."""
        before, after = self.before, self.after
        if not len(before.described) or not len(after.described) or not self._no_worse:
            return False
        far_more = after.described_cost <= HALVED**2 * before.described_cost
        if not self.candidate.joints:  # one joint does not decide what concerns all of them
            far_more = far_more and np.nanmedian(after.described) <= HALVED * np.nanmedian(before.described)
        return bool(far_more and np.nanmedian(after.described) <= CREDIBLE < np.nanmax(before.described))

    @property
    def _no_worse(self) -> bool:
        return self.after.cost <= ALIKE * self.before.cost + LEAST

    def reason(self, names: tuple[str, ...]) -> Reason:
        """Return the reason, with the numbers that support it."""
        candidate, level = self.candidate, Level.DOUBTFUL
        if self.explains_torque:
            clause, numbers = self._errors_clause(names)
            level = Level.WRONG if self.before.joints.max() > POOR else Level.DOUBTFUL
        elif self.makes_possible:
            j = int(np.argmin(self.before.certain))
            before, after = float(self.before.inertias[j]), float(self.after.inertias[j])
            clause = f"the inertia that {names[j]} feels is {after:.2g} instead of {before:.2g} kg m^2"
            numbers, level = {"inertia_before": before, "inertia_after": after}, Level.WRONG
        elif not self.agrees_with_description and not self.restores_description:
            inside = [names[j] for j in np.flatnonzero(self.outside[0])]
            clause = f"q of {', '.join(inside)} stays within the limits of the description"
            numbers = {"outside": len(inside)}
        else:
            some = candidate.joints or range(len(names))
            j = max(some, key=lambda j: self.before.described[j] - self.after.described[j])
            before, after = float(self.before.described[j]), float(self.after.described[j])
            clause = f"the description's own error at {names[j]} falls from {percent(before)} to {percent(after)}"
            numbers = {"described_before": before, "described_after": after}
            # Signs and directions that differ at every joint are conventions: worth knowing, but no doubt, unlike a wrong unit.
            of_log = candidate.mending.log is not None
            level = Level.DOUBTFUL if candidate.joints or of_log else Level.GOOD
        joints = tuple(names[i] for i in candidate.joints)
        sentence = f"{candidate.says} {clause}."
        return Reason(candidate.cause, sentence, level, joints, {**candidate.numbers, **numbers}, candidate.remedy)

    def _errors_clause(self, names: tuple[str, ...]) -> tuple[str, dict[str, float]]:
        """Return the errors over all joints, or those of the joint that gains most if the others hide it."""
        j = int(np.argmax(self.before.joints**2 - self.after.joints**2))
        before, after, place = self.before.total, self.after.total, ""
        if after > HALVED * before:
            before, after, place = float(self.before.joints[j]), float(self.after.joints[j]), f" at {names[j]}"
        numbers = {"error_before": before, "error_after": after}
        return f"the error{place} falls from {percent(before)} to {percent(after)}", numbers


def symptom_of(candidate: Candidate, names: tuple[str, ...]) -> Reason:
    """Return the reason of a symptom that the log shows in any case."""
    joints = tuple(names[i] for i in candidate.joints)
    return Reason(candidate.cause, candidate.symptom, Level.DOUBTFUL, joints, candidate.numbers, candidate.remedy)


def unexplained(before: Errors) -> bool:
    """Return whether the torque leaves anything for a cause to explain: a poor error, a negative inertia, odd described masses.

    Without any of these no cause is named, whatever undoing it would leave, unless positions are outside of their limits.
    """
    odd = len(before.described) > 0 and np.nanmax(before.described) > CREDIBLE
    return bool(np.max(before.joints) ** 2 >= LEAST or before.impossible.any() or odd)


def can_be_named(trials: Trials, candidate: Candidate) -> bool:
    """Return whether a candidate has something to explain, before it is tried: the torque, or joints outside of their limits."""
    if unexplained(trials.baseline):
        return True
    outside, after = trials.outside_limits(None), trials.outside_limits(candidate.mending.motion)
    return bool(outside[list(candidate.joints)].any() and not after.any())


def tried(trials: Trials, candidate: Candidate) -> Tried:
    """Return a candidate with its errors."""
    after, motion = candidate.after or trials.errors(candidate.mending), candidate.mending.motion
    outside = trials.outside_limits(None), trials.outside_limits(motion)
    return Tried(candidate, trials.baseline, after, outside)


def best_of(several: Iterable[Tried]) -> Tried | None:
    """Return the first of those that explain the logs about as well as any; None if none explains them.

    What the torque shows comes before what the description suggests, and what concerns some joints before what concerns all.
    """
    likely = [each for each in several if each.explains]
    likely = [each for each in likely if each.explains_torque or each.makes_possible] or likely
    likely = [each for each in likely if each.explains_torque or each.makes_possible or each.candidate.joints] or likely
    if not likely:
        return None
    least = min(each.after.merit for each in likely)
    return next(each for each in likely if each.after.merit <= ALIKE * least)
