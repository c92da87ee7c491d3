"""One cutoff for all logs of a fit: between what their motion needs and what the noise of q allows, as the torque decides.

Torque noise is no reason for a low cutoff, since it is not correlated with the regressor; only noise of q and motion that the
model does not describe are. Both spoil predictions of motions that were not fitted. So fits at several cutoffs predict parts of
the logs that they have not seen. Where these errors do not differ, the trials decide nothing, and the cutoff stays away from both
bounds. There are two: one for the rows that are fitted, and one for the motion that predicts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import FrictionPlan, friction_plan
from taupi.identification.rows.chosen_cutoffs import ChosenCutoffs
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import HEAD, SEEN, Recording, filter_plan
from taupi.identification.tuning.cutoff_trials import Trial, prediction_errors, references_of, try_cutoff
from taupi.signals.motion_spectrum import CutoffBounds, cutoff_bounds

# Neighbouring cutoffs that are tried have at most this ratio.
_STEP = np.sqrt(2.0)
# The lowest cutoff that is tried has so many periods in each of the logs that make up half of the time.
_PERIODS = 8.0
# Errors of fits count as alike if they differ by less than this factor: parts of one motion do not tell more about others. Those of
# motions, which the same fit predicts, are more certain.
_ALIKE_FITS, _ALIKE_MOTIONS = 1.05, 1.01
# If a fit predicts the motion at the highest cutoff worse than the fit there by the first factor, and that one is worse here by
# less than the second, the motion is too slow for it.
_WORSE, _HARDLY_WORSE = 2.0, 1.25
# Samples, after smoothing for the highest cutoff, of all logs together from which the cutoff is chosen.
_SAMPLES = 100_000
# A joint has a say if the model leaves at most this share of its torque's power.
_EXPLAINED = 0.5


def with_pooled_cutoffs(
    base: BaseParameters, recordings: list[Recording], settings: Preparation
) -> tuple[list[Recording], ChosenCutoffs | None]:
    """Return the recordings with one cutoff for all, if none is set, and how it was chosen; None if there was no choice."""
    unprepared = [r for r in recordings if r.cutoff is not None]
    if settings.cutoff_hz is not None or not unprepared:
        return recordings, None
    chosen = choose_pooled_cutoffs(base, unprepared)
    reason = "the same for all logs"
    return [
        dataclasses.replace(_cut(r, chosen.fit_hz, reason), validation_hz=chosen.validation_hz) if r.cutoff else r
        for r in recordings
    ], chosen


def choose_pooled_cutoffs(base: BaseParameters, recordings: Sequence[Recording]) -> ChosenCutoffs:
    """Return the cutoffs for recordings that did not come prepared."""
    bounds = _bounds(recordings)
    candidates = _candidates(recordings, bounds)
    if len(candidates) == 1:
        return ChosenCutoffs.without_trial(bounds)
    beginnings = _beginnings(recordings, candidates[-1])
    plan = friction_plan(base)
    try:
        trials = _trials(plan, beginnings, candidates)
    except TaupiError:  # a log is too short
        return ChosenCutoffs.without_trial(bounds)
    return _choose(trials, bounds) if len(trials) > 1 else ChosenCutoffs.without_trial(bounds)


def _bounds(recordings: Sequence[Recording]) -> CutoffBounds:
    heads = [r.source.head(SEEN) for r in recordings]
    motions = [r.equations.positions(head) for r, head in zip(recordings, heads, strict=True)]
    return cutoff_bounds(motions, [r.source.rate_hz for r in recordings])


def _seconds(recording: Recording) -> float:
    motion = recording.source.motion
    return (motion.stop - motion.start) / recording.source.rate_hz


def _cut(recording: Recording, hz: float, reason: str = "") -> Recording:
    """Return a recording with the cutoff, or with the lowest that it is long enough for."""
    source = recording.source
    return recording.with_cutoff(min(max(hz, source.lowest_cutoff_hz), 0.4 * source.rate_hz), reason)


def _candidates(recordings: Sequence[Recording], bounds: CutoffBounds) -> list[float]:
    """Return the cutoffs to try, Hz, between the bounds; half of the recorded time is in logs long enough for the lowest."""
    seconds = np.sort([_seconds(r) for r in recordings])
    typical = seconds[np.searchsorted(np.cumsum(seconds), 0.5 * seconds.sum())]
    high = bounds.most_hz
    low = min(max(bounds.least_hz, _PERIODS / max(typical, 1e-9)), high)
    count = int(np.ceil(np.log(high / low) / np.log(_STEP) - 1e-9)) + 1
    return [float(f"{hz:.3g}") for hz in np.geomspace(low, high, count)] if count > 1 else [float(f"{high:.3g}")]


def _beginnings(recordings: Sequence[Recording], highest_hz: float) -> list[Recording]:
    """Return the beginnings of the recordings: as many samples of each as are left of `_SAMPLES`, at most `HEAD`."""
    each = min(HEAD, max(_SAMPLES // len(recordings), 1))
    result = []
    for r in recordings:
        _, step, _ = filter_plan(r.preparation, r.source.rate_hz, min(highest_hz, 0.4 * r.source.rate_hz))
        result.append(r.beginning(each * step))
    return result


def _trials(
    plan: FrictionPlan, recordings: Sequence[Recording], candidates: Sequence[float]
) -> dict[float, Trial]:
    """Return the trials of the candidates that leave rows, by cutoff."""
    lowest, highest = ([_cut(r, hz) for r in recordings] for hz in (candidates[0], candidates[-1]))
    references = references_of(plan, highest, lowest)
    trials = {hz: try_cutoff(plan, [_cut(r, hz) for r in recordings], references) for hz in candidates}
    return {hz: trial for hz, trial in trials.items() if trial is not None}


def _choose(trials: Mapping[float, Trial], bounds: CutoffBounds) -> ChosenCutoffs:
    """Return the cutoffs from the trials of all candidates."""
    candidates, each = list(trials), list(trials.values())
    ratios, alike = _compare(_scaled_errors([(trial, trial) for trial in each]), _ALIKE_FITS)
    fit, top = _nearest(candidates, alike, bounds.centre_hz), len(each) - 1
    at_top, here = (_scaled_errors([(trial, motion) for trial in each]) for motion in (each[top], each[fit]))
    slow = (
        _ratio(at_top[fit], at_top[top]) > _WORSE**2
        and _ratio(here[top], here[fit]) < _HARDLY_WORSE**2
    )
    if __import__('os').environ.get('SAY'): print('     diag',{c:round(float(np.sqrt(r)),3) for c,r in zip(candidates,ratios)},'lost',round(_ratio(at_top[fit], at_top[top])**.5,2),'back',round(_ratio(here[top], here[fit])**.5,2),'fit',candidates[fit])
    fit = top if slow else fit
    # Parts of one motion do not show what another needs, so predictions take no less than what is fitted, or half of the way.
    first = min(fit, int(np.searchsorted(candidates[:-1], bounds.centre_hz)))
    ratios, alike_motions = _compare(_scaled_errors([(each[fit], trial) for trial in each[first:]]), _ALIKE_MOTIONS)
    view = first + int(np.flatnonzero(alike_motions)[-1])
    fit_hz = candidates[fit] if slow else float(np.clip(bounds.centre_hz, *_range(candidates, alike)))
    return ChosenCutoffs(
        float(f"{fit_hz:.3g}"),
        candidates[view],
        bool(slow),
        (candidates[fit],) * 2 if slow else _range(candidates, alike),
        _range(candidates[first:], alike_motions),
        bounds.least_hz,
        bounds.most_hz,
        tuple(candidates),
        tuple(float(f"{np.sqrt(r):.4g}") for r in ratios),
    )


def _scaled_errors(pairs: Sequence[tuple[Trial, Trial]]) -> np.ndarray:
    """Return the mean squares of errors in each part (pairs, parts, n), relative to the least over pairs of each joint.

    In each pair the first trial is fitted, and predicts with the motion of the second. Errors are NaN where no rows are left. A
    part counts by its rows in the last pair, where most are left.
    """
    squares, power, rows = prediction_errors(pairs)
    says = _joints_with_a_say(squares, power, rows)
    weight = rows[-1] / max(float(rows[-1].sum()), 1.0)
    mean = np.where(rows > 0, squares / np.maximum(rows, 1), np.nan) * weight
    least = np.min(np.nansum(mean, axis=1), axis=0)
    return (mean / np.where(least > 0, least, 1.0))[:, :, says]


def _joints_with_a_say(squares: np.ndarray, power: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return which joints (n,) the model explains at some cutoff; all that have rows if it explains none."""
    left, torque = squares.sum(axis=1), power.sum(axis=1)  # (motions, n)
    share = np.where(torque > 0, left / np.where(torque > 0, torque, 1.0), np.inf).min(axis=0)
    return share < _EXPLAINED if (share < _EXPLAINED).any() else rows.sum(axis=(0, 1)) > 0


def _compare(errors: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of squares relative to the best, and which are like the best, with none between that is not.

    `errors` (candidates, parts, joints) are NaN where a cutoff leaves no rows; those of two candidates are compared over the
    parts that they have in common.
    """
    best = int(np.argmin([_ratio(e, errors[-1]) for e in errors]))
    ratios = np.array([_ratio(e, errors[best]) for e in errors])
    alike = ratios <= factor**2
    alike[best] = True
    above, below = np.logical_and.accumulate(alike[best:]), np.logical_and.accumulate(alike[best::-1])
    return ratios, np.concatenate([below[::-1], above[1:]])


def _ratio(a: np.ndarray, b: np.ndarray) -> float:
    """Return sum a / sum b over what both have (parts, joints)."""
    both = np.isfinite(a) & np.isfinite(b)
    total = float(b[both].sum())
    return float(a[both].sum()) / total if total > 0 else np.inf


def _nearest(candidates: Sequence[float], alike: np.ndarray, centre_hz: float) -> int:
    """Return the index of the cutoff nearest to the centre, by ratio, among those that are alike."""
    distance = np.abs(np.log(np.array(candidates) / centre_hz))
    return int(np.argmin(np.where(alike, distance, np.inf)))


def _range(candidates: Sequence[float], alike: np.ndarray) -> tuple[float, float]:
    places = np.flatnonzero(alike)
    return candidates[places[0]], candidates[places[-1]]
