"""The verdict on a fit: objections that the fit itself shows, and the likely cause, which is looked for in its logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.plausibility import reasons_of_bodies, reasons_of_errors
from taupi.identification.results.verdict import Level, Reason, Verdict, percent
from taupi.identification.verdict.candidate import (
    CREDIBLE,
    HALVED,
    Tried,
    best_of,
    can_be_named,
    symptom_of,
    tried,
    unexplained,
)
from taupi.identification.verdict.causes import CONTRADICTING, QUICK, REDIRECTED, SHOWN, SILENT, TRIED, load_causes
from taupi.identification.verdict.sample import heads_of
from taupi.identification.verdict.torque_faults import clipping_reasons, computed_reason, scale_reason
from taupi.identification.verdict.trials import Trials
from taupi.threads import small_algebra

# Mistakes that take a second to try are tried if a joint has a larger error than this in a trial, ...
_SUSPICIOUS = 0.15
# ... and no others once one of them brings the errors of all joints below it, or the cost to this share.
_SETTLED = 0.05
# A trial needs this many equations per parameter to say anything.
_LEAST_EQUATIONS = 3
# If each joint alone explains its torque, but all together leave more than this, the description is that of another arm.
_ANOTHER = 0.2
# Above this error, the recorded torque has nothing to do with the motion.
_UNRELATED = 0.9


@small_algebra
def judge(fit: Fit, problem: Problem) -> Verdict:
    """Return the verdict on the fit of a problem, with the likely cause if something is wrong."""
    heads = heads_of(problem.recordings)
    trials = Trials(problem, heads)
    can_be_tried = _can_be_tried(trials)
    reasons = list(reasons_of_errors(fit))
    # Finding bodies for an estimator that does not give them takes seconds: only if the estimate may not belong to real bodies.
    if fit.standard is not None or reasons or (can_be_tried and trials.baseline.impossible.any()):
        reasons += reasons_of_bodies(fit)
    doubted = bool(reasons)  # a remark is enough to look for its cause
    reasons += clipping_reasons(heads, problem.robot.joint_names)
    if can_be_tried:
        reasons += _causes(trials, doubted)
    return Verdict.of(reasons)


def _can_be_tried(trials: Trials) -> bool:
    """Return whether trials are meaningful: a rigid robot, and enough rows."""
    if trials.equations.elastic:
        return False
    try:
        rows, errors = trials.own_rows, trials.baseline
    except (TaupiError, np.linalg.LinAlgError):
        return False
    enough = rows.tau.size >= _LEAST_EQUATIONS * rows.y.shape[2]
    return enough and bool(np.isfinite(errors.joints).all())


def _causes(trials: Trials, doubted: bool) -> Iterator[Reason]:
    """Yield what the logs themselves show, and the likely cause."""
    yield from (reason for reason in (scale_reason(trials), computed_reason(trials)) if reason is not None)
    seen: list[Tried] = []
    best, names = _likely_cause(trials, doubted, seen), trials.robot.joint_names
    if best is not None:
        yield best.reason(names)
    elif _suspicious(trials):
        yield from _without_cause(trials)
    yield from (symptom_of(each.candidate, names) for each in seen if each.candidate.symptom and each is not best)


def _likely_cause(trials: Trials, doubted: bool, seen: list[Tried]) -> Tried | None:
    """Return the candidate that explains the logs best; None if none does. Those that were tried are added to `seen`."""
    if not unexplained(trials.baseline):
        return _search(trials, (*SHOWN, *REDIRECTED), seen)
    best = _search(trials, (*SHOWN, *SILENT), seen)
    if best is None and (doubted or _suspicious(trials)):
        best = _search(trials, TRIED, seen)
    elif best is None:
        best = _search(trials, QUICK, seen)
        if best is None and _contradicted(trials):
            best = _search(trials, CONTRADICTING, seen)
    return best


def _search(trials: Trials, places: Iterable[str], seen: list[Tried]) -> Tried | None:
    """Return the candidate that explains the logs best, among those of the causes in `places` and those `seen` before."""
    best = None
    for cause in load_causes(places):
        candidates = cause.candidates(trials)
        seen += (tried(trials, each) for each in candidates if each.symptom or can_be_named(trials, each))
        best = best_of(seen)
        if best is not None and _settled(best):
            break
    return best


def _settled(best: Tried) -> bool:
    after = best.after
    small = after.joints.max() < _SUSPICIOUS or after.cost < _SETTLED * best.before.cost
    return bool(small and not after.impossible.any() and best.explains_torque)


def _suspicious(trials: Trials) -> bool:
    """Return whether a mistake is likely enough for a second's work."""
    errors = trials.baseline
    described = errors.described
    odd = len(described) > 0 and np.nanmedian(described) <= CREDIBLE < np.nanmax(described)
    return bool(errors.joints.max() > _SUSPICIOUS or errors.impossible.any() or odd)


def _contradicted(trials: Trials) -> bool:
    """Return whether the description states masses that explain little of the torque."""
    described = trials.baseline.described
    return len(described) > 0 and bool(np.nanmedian(described) > CREDIBLE)


def _without_cause(trials: Trials) -> Iterator[Reason]:
    """Yield what can be said if no mistake in the log explains a poor fit."""
    errors, separate = trials.baseline, trials.own_rows.separate_errors()
    worst = int(np.argmax(errors.joints**2 - separate**2))
    name = trials.robot.joint_names[worst]
    if errors.total > _UNRELATED:
        yield Reason(
            "unrelated",
            f"The motion explains next to nothing of the torque: {percent(errors.total)} of it is left, whatever is tried.",
            Level.WRONG,
            (),
            {"error": errors.total},
            "Check that q and tau belong to the same run, and to this robot.",
        )
    elif errors.joints[worst] > _ANOTHER and separate[worst] <= HALVED * errors.joints[worst]:
        yield Reason(
            "other_robot",
            f"No robot of these dimensions moves like that: at {name} {percent(errors.joints[worst])} of the torque is left if "
            f"all joints share their links, and {percent(float(separate[worst]))} if each had its own.",
            Level.WRONG if errors.total > 0.5 else Level.DOUBTFUL,
            (name,),
            {"error_together": float(errors.joints[worst]), "error_apart": float(separate[worst])},
            f"Check that the log is one of {trials.robot.name}: axes, lengths, and the order of joints.",
        )
