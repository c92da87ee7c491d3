"""One cutoff for all logs of a fit: where the model stops explaining torque, between what motion needs and what noise allows.

Everything is judged over all logs together, so that short logs borrow what the others show. Two cutoffs are chosen: one for the
rows that are fitted, and one for the motion that predicts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import regressor_inputs
from taupi.identification.rows.chosen_cutoffs import ChosenCutoffs
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import HEAD, SEEN, Recording, filter_plan
from taupi.identification.tuning.model_bandwidth import Bandwidths, explained_bandwidths
from taupi.signals.filtering.motion_spectrum import CutoffBounds, cutoff_bounds

# Samples, after smoothing, of all logs together from which the cutoff is chosen.
_SAMPLES = 100_000
# Periods of the cutoff in a typical log, so that a sixth of it is lost at its ends: one of the cutoff at each, and one of three
# times the cutoff.
_PERIODS = 16.0
# The cutoff that q suggests is halved at most four times: if that is not enough, something else is wrong.
_HALVINGS = 4
# A model that explains half of the torque's power only below this share of its cutoff is spoiled by the noise that it lets pass.
_SPOILED = 1 / 3
# If the inertias of the description explain less than this share of the torque, no fit sees them in such a motion.
_VISIBLE = 0.005


def with_pooled_cutoffs(
    base: BaseParameters, recordings: list[Recording], settings: Preparation
) -> tuple[list[Recording], ChosenCutoffs | None]:
    """Return the recordings with one cutoff for all, if none is set, and how it was chosen; None if there was no choice."""
    unprepared = [r for r in recordings if r.cutoff is not None]
    if settings.cutoff_hz is not None or not unprepared:
        return recordings, None
    chosen = choose_pooled_cutoffs(base, unprepared)
    return [r.with_pooled_cutoffs(chosen) for r in recordings], chosen


def choose_pooled_cutoffs(base: BaseParameters, recordings: Sequence[Recording]) -> ChosenCutoffs:
    """Return the cutoffs for recordings that did not come prepared.

    A filter that lets too much noise pass spoils the model by which it is chosen. So the first model uses the cutoff that q
    suggests, halved as long as the model explains half of the torque's power only below a third of it. Predictions then take the
    motion up to the frequency at which the residual has as much power as the torque, so that nothing is explained any more; rows
    are fitted up to the middle between that and the frequency at which the residual has half of the power. A motion that is so
    slow that its inertial torques cannot be seen shows inertias only by what happens above its own frequencies; then as much is
    fitted as the noise of q allows. Torque noise is no reason against it: it is not correlated with the regressor.
    """
    bounds = _bounds(recordings)
    beginnings = _beginnings(recordings, bounds.most_hz)
    slow = _inertial_share(base, [r.with_nearest_cutoff(bounds.centre_hz) for r in beginnings]) < _VISIBLE
    tried = bounds.most_hz if slow else bounds.suggested_hz
    bandwidths = explained_bandwidths(base, [r.with_nearest_cutoff(tried) for r in beginnings])
    for _ in range(_HALVINGS):
        if slow or (bandwidths is not None and bandwidths.half_hz >= _SPOILED * tried):
            break
        tried = tried / 2
        bandwidths = explained_bandwidths(base, [r.with_nearest_cutoff(tried) for r in beginnings])
    explained = bandwidths if bandwidths is not None and (slow or bandwidths.half_hz >= _SPOILED * tried) else None
    return _within(bounds, explained, slow)


def _within(bounds: CutoffBounds, explained: Bandwidths | None, slow: bool) -> ChosenCutoffs:
    """Return the cutoffs within the bounds: what q suggests if the model explains nothing."""
    half, equal = explained or (bounds.suggested_hz, bounds.suggested_hz)
    validation_hz, middle_hz = (max(min(hz, bounds.most_hz), bounds.least_hz) for hz in (equal, np.sqrt(half * equal)))
    fit_hz = bounds.most_hz if slow else middle_hz
    return ChosenCutoffs(
        float(f"{fit_hz:.4g}"),
        float(f"{validation_hz:.4g}"),
        bool(slow),
        None if explained is None else explained.half_hz,
        None if explained is None else explained.equal_hz,
        bounds.suggested_hz,
        bounds.least_hz,
        bounds.most_hz,
    )


def _bounds(recordings: Sequence[Recording]) -> CutoffBounds:
    """Return the bounds of the cutoff: from the spectra of q, and no less than logs of the typical length allow."""
    heads = [r.source.head(SEEN) for r in recordings]
    motions = [r.equations.positions(head) for r, head in zip(recordings, heads, strict=True)]
    bounds = cutoff_bounds(motions, [r.source.rate_hz for r in recordings])
    seconds = np.sort([(r.source.motion.stop - r.source.motion.start) / r.source.rate_hz for r in recordings])
    typical = float(
        seconds[np.searchsorted(np.cumsum(seconds), 0.5 * seconds.sum())]
    )  # half of the time is in longer logs
    least = max(bounds.least_hz, _PERIODS / max(typical, 1e-9))
    return dataclasses.replace(bounds, least_hz=min(least, bounds.most_hz))


def _beginnings(recordings: Sequence[Recording], highest_hz: float) -> list[Recording]:
    """Return the beginnings of the recordings: of each its share of `_SAMPLES`, at most `HEAD` samples."""
    each = min(HEAD, max(_SAMPLES // len(recordings), 1))
    result = []
    for r in recordings:
        _, step, _ = filter_plan(r.preparation, r.source.rate_hz, min(highest_hz, 0.4 * r.source.rate_hz))
        result.append(r.beginning(each * step))
    return result


def _inertial_share(base: BaseParameters, recordings: Sequence[Recording]) -> float:
    """Return the share of inertial torques, by the parameters of the description, in the measured torques: a ratio of norms."""
    regressor, values = base.regressor(), base.project(base.standard.values)
    torque_of = regressor.times("pi")
    inertial = measured = 0.0
    for r in recordings:
        log = r.log
        q, qd, qdd = r.equations.motion(log)
        pi = np.broadcast_to(values, (len(q), len(values)))
        with_inertia, without = (
            np.asarray(torque_of(*regressor_inputs(regressor, q, qd, a), pi)) for a in (qdd, np.zeros_like(qdd))
        )
        inertial += float(np.sum((with_inertia - without) ** 2))
        measured += float(np.sum(r.equations.torque(log) ** 2))
    return float(np.sqrt(inertial / measured)) if measured > 0 else np.inf
