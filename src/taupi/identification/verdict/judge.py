"""The verdict on a fit: what its signals show, the likely cause, and what is left of the torque where it was not fitted.

A number without a cause is no reason to call a fit wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.folds.left_out import Score
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.plausibility import reasons_of_bodies, reasons_of_errors
from taupi.identification.results.verdict import LARGE_AT_A_JOINT, LeftOut, Level, Reason, Verdict, percent
from taupi.identification.row_layout import RowLayout
from taupi.identification.verdict.cause import POOR, best_of, tried
from taupi.identification.verdict.causes.gains import beyond_its_limit, unlike_other_joints
from taupi.identification.verdict.causes.signs import friction_that_drives
from taupi.identification.verdict.causes.units import masses_of_no_robot
from taupi.identification.verdict.shown import computed, shown
from taupi.identification.verdict.study import LogChange, Study
from taupi.threads import small_algebra

# A study needs this many equations per parameter to say anything.
_LEAST_EQUATIONS = 3
# If each joint alone explains its torque, but all together leave more than this, the description is that of another arm.
_ANOTHER, _HALVED, _CHANCE_OF_ANOTHER = 0.3, 0.5, 0.1
# Above this error, the recorded torque has nothing to do with the motion.
_UNRELATED = 0.9
# Reasons that a poor fit gives, which a cause explains; without one they are no reason to call it wrong.
_SYMPTOMS = ("unreal", "masses")
# ... and findings that give no such symptoms.
_NO_SYMPTOMS = ("delay", "computed")


@small_algebra
def judge(fit: Fit, problem: Problem) -> Verdict:
    """Return the verdict on the fit of a problem, with the likely cause if something is wrong."""
    reasons = list(reasons_of_errors(fit))
    layout = RowLayout.of(problem.base)
    study = None if layout.beyond_rigid or not problem.recordings else Study(problem, remembers=fit.relative < POOR)
    if study is not None:
        reasons += shown(study)
        study = study if _can_be_studied(study) else None
    if study is not None:
        reasons = [_of_held_joints(study, reason) if reason.cause == "stuck" else reason for reason in reasons]
    # Finding bodies for an estimator that does not give them takes seconds: only if there is something to explain.
    if fit.standard is not None or reasons:
        reasons += reasons_of_bodies(fit)
    if study is None:
        return Verdict.of(reasons)
    causes = list(_causes(study))
    # Bounds that a user stated may contradict the log: that, too, is a cause of odd bodies.
    bounded = any(fit.settings.get(name) for name in ("mass_bounds", "total_mass", "boxes", "shapes"))
    named = [cause for cause in causes if cause.cause not in _NO_SYMPTOMS]
    held = bounded or any(cause.level is not Level.GOOD for cause in named)
    enough = study.blocks.enough and study.rows.tau.size >= _LEAST_EQUATIONS * study.base_score.grams.columns
    # Bodies that cannot exist support a cause that is worth no more than a remark by itself, such as the sign of all torques.
    explained = {"unreal": bounded or bool(named), "masses": held}
    reasons = [_weighed(reason, explained.get(reason.cause, False), enough) for reason in reasons]
    # What gains show explains no odd bodies: it makes no fit wrong, and is no story beside a cause that is held.
    unlike = None if named or bounded or not enough else unlike_other_joints(study)
    return Verdict.of([*causes, *([unlike] if unlike else []), *reasons], _left_out(study, enough))


def _can_be_studied(study: Study) -> bool:
    """Return whether there are rows, of joints that move, with numbers in them."""
    try:
        rows, score = study.rows, study.base_score
    except (TaupiError, ValueError, np.linalg.LinAlgError):  # a log too short to be filtered, or numbers of all sizes
        return False
    finite = np.isfinite(rows.tau).all() and np.isfinite(score.x).all() and np.isfinite(score.left_out).all()
    return bool(study.live.any() and len(rows.tau) > study.blocks.count and finite)


def _of_held_joints(study: Study, reason: Reason) -> Reason:
    """Return what is said of positions that stand still as worth knowing, if these positions explain the torques' changes.

    A joint that was held feels how the others move. If its encoder is stuck instead, it moves, and its torque is not explained.
    """
    standing = np.array([name in reason.joints for name in study.robot.joint_names])
    if not study.blocks.enough:
        return reason
    score = Score.of(study.grams(LogChange()), study.live | standing)
    left = score.left_out_joints * study.sizes / np.maximum(study.rows.tau.std(axis=0), 1e-30)
    if left[standing].max() > LARGE_AT_A_JOINT:
        return reason
    joints, most = ", ".join(reason.joints), float(left[standing].max())
    sentence = f"q of {joints} stands still, as that of a joint that is held: {percent(most)} of its torque's changes are left."
    return dataclasses.replace(
        reason, sentence=sentence, level=Level.GOOD, numbers={**reason.numbers, "left": most}, remedy=""
    )


def _left_out(study: Study, enough: bool) -> LeftOut:
    """Return what is left of the torque on parts that were not fitted."""
    names, errors, carrying = study.robot.joint_names, study.base_score.left_out_joints, study.carrying
    joints = {names[j]: float(errors[j]) for j in np.flatnonzero(study.live)}
    worst = max(np.flatnonzero(carrying).tolist(), key=lambda j: errors[j], default=None)
    silent = tuple(names[j] for j in np.flatnonzero(~study.live))
    return LeftOut(study.base_score.left_out_total, joints, "" if worst is None else names[worst], silent, enough)


def _weighed(reason: Reason, explained: bool, enough: bool) -> Reason:
    """Return a reason of the fit as it counts: what is odd makes no fit wrong without a cause, nor does a short log.

    Masses are odd beside those of the description, which may be at fault: without a cause they are worth knowing, no more. That
    no real bodies explain the logs is a doubt.
    """
    if reason.cause in _SYMPTOMS and not (explained and enough):
        known = reason.cause == "masses" or not enough
        level = Level.GOOD if known else min(reason.level, Level.DOUBTFUL, key=lambda level: level.rank)
        return dataclasses.replace(reason, level=level)
    if not enough and reason.level is Level.WRONG:
        return dataclasses.replace(reason, level=Level.DOUBTFUL)
    return reason


def _causes(study: Study) -> Iterator[Reason]:
    """Yield the likely cause, or what can be said if none is supported."""
    model = computed(study)
    if model is not None:
        yield model
    if not study.blocks.enough:
        return
    trials = tried(study)
    supported = [(trial, trial.reason()) for trial in trials if trial.support]
    # What is only worth knowing of the time is no story that could compete with others.
    remarks = [trial for trial, reason in supported if trial.candidate.change.later and reason.level is Level.GOOD]
    best = best_of([trial for trial, _ in supported if trial not in remarks])
    if best is not None:
        yield best.reason()
        return
    yield from (trial.reason() for trial in remarks)
    # A torque of another unit at one joint looks like heavy links, too: its own limit is asked first.
    for find in (friction_that_drives, beyond_its_limit, masses_of_no_robot, _without_cause):
        finding = find(study)
        if finding is not None:
            yield finding
            return


def _without_cause(study: Study) -> Reason | None:
    """Return what can be said if no mistake in the log explains a poor fit."""
    score = study.base_score
    errors = score.left_out_joints[study.live]
    if score.left_out_total > _UNRELATED and np.median(errors) > _UNRELATED:
        error = score.left_out_total
        return Reason(
            "unrelated",
            f"The motion explains next to nothing of the torque: {percent(error)} of it is left, whatever is tried.",
            Level.WRONG,
            (),
            {"error": error},
            "Check that q and tau belong to the same run, and to this robot.",
        )
    apart, together = study.separate(), score.left_out_joints
    alone = apart.left_out_joints
    gains = study.carrying & (together > _ANOTHER) & (alone <= _HALVED * together)
    if not gains.any() or study.comparison(apart).p > _CHANCE_OF_ANOTHER:
        return None
    worst = int(np.argmax(np.where(gains, together - alone, -np.inf)))
    name = study.robot.joint_names[worst]
    return Reason(
        "other_robot",
        f"No robot of these dimensions moves like that: at {name} {percent(float(together[worst]))} of the torque is left if "
        f"all joints share their links, and {percent(float(alone[worst]))} if each had its own.",
        Level.WRONG if score.left_out_total > POOR else Level.DOUBTFUL,
        (name,),
        {"error_together": float(together[worst]), "error_apart": float(alone[worst])},
        f"Check that the log is one of {study.robot.name}: axes, lengths, and the order of joints.",
    )
