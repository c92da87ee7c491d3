"""The frequency up to which a model explains the torque, and cutoffs chosen by it: a filter should let nothing above it pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import FrictionPlan, friction_plan
from taupi.identification.rows.factors import Compressor, JointFactor, merge_stretches, reweighted_least_squares
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import Filter, RowMaker

# Power is compared in bands of half an octave, since a periodic motion has none between its lines.
_BAND = 1.5
# Resolution of the spectrum, as a share of the cutoff that q alone suggests, and the least number of stretches averaged.
_RESOLUTION, _STRETCHES = 0.1, 4
# The cutoff that q suggests is at most doubled, and halved at most four times: beyond, something else is wrong.
_MOST, _HALVINGS = 2.0, 4


def with_explained_cutoffs(base: BaseParameters, recordings: list[Recording], settings: Preparation) -> list[Recording]:
    """Return the recordings with cutoffs at the frequency up to which the model explains the torque, if none is set.

    A filter that lets too much noise pass spoils the model by which it is chosen. So the first model uses the cutoff that q
    suggests, halved as long as the model explains the torque only below half of it.
    """
    if settings.cutoff_hz is not None or not any(r.cutoff for r in recordings):
        return recordings
    filtered, bandwidths = list(recordings), explained_bandwidths(base, recordings)
    for _ in range(_HALVINGS):
        too_wide = [_too_wide(r, hz) for r, hz in zip(filtered, bandwidths, strict=True)]
        if not any(too_wide):
            break
        pairs = zip(filtered, too_wide, strict=True)
        filtered = [r.with_cutoff(r.cutoff_hz / 2) if wide and r.cutoff_hz else r for r, wide in pairs]
        bandwidths = explained_bandwidths(base, filtered)
    triples = zip(recordings, filtered, bandwidths, strict=True)
    return [_with_bandwidth(r, None if _too_wide(f, hz) else hz) for r, f, hz in triples]


def _too_wide(recording: Recording, hz: float | None) -> bool:
    """Return whether the model explains the torque only below half of the cutoff, up to `hz`, or not at all."""
    cutoff_hz = recording.cutoff_hz
    return recording.cutoff is not None and cutoff_hz is not None and (hz is None or hz < cutoff_hz / 2)


def _with_bandwidth(recording: Recording, hz: float | None) -> Recording:
    """Return the recording with the cutoff `hz`, up to which the model explains the torque, within what q allows."""
    if hz is None or recording.cutoff is None:
        return recording
    suggested = recording.cutoff
    cutoff_hz = max(min(hz, _MOST * suggested.hz, suggested.most_hz), suggested.least_hz)
    from_q = f"q alone suggests {suggested.hz:.3g} Hz: {suggested.reason}"
    return recording.with_cutoff(cutoff_hz, f"the model explains the torque up to {hz:.3g} Hz; {from_q}")


def explained_bandwidths(base: BaseParameters, recordings: Sequence[Recording]) -> list[float | None]:
    """Return, for each recording, the frequency (Hz) up to which tau - Y_b x has less than half of the torque's power.

    x is from weighted least squares on the beginnings of the recordings through their filters; the spectra are of rows before
    these filters. The frequency is the median over the joints, except those of which the model explains nothing; None if there is
    no other joint.
    """
    plan = friction_plan(base)
    factors = [f for k, recording in enumerate(recordings) for f in _factors(RowMaker(plan), recording, k)]
    if not factors:
        return [None] * len(recordings)
    x, _ = reweighted_least_squares([f.r for f in factors], [f.rows for f in factors])
    return [_explained_bandwidth(recording, plan, x) for recording in recordings]


def _explained_bandwidth(recording: Recording, plan: FrictionPlan, x: np.ndarray) -> float | None:
    if recording.row_filter is None:
        return None
    unfiltered = dataclasses.replace(recording, row_filter=None, least_speeds=np.zeros(len(recording.least_speeds)))
    pairs = [(rows.tau, rows.residual(x)) for rows in unfiltered.rows(RowMaker(plan), head=True)]
    if not pairs:
        return None
    tau, residual = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return _bandwidth(tau, residual, recording.row_filter)


def _factors(maker: RowMaker, recording: Recording, file: int) -> list[JointFactor]:
    compressor = Compressor(maker.used)
    for rows in recording.rows(maker, head=True):
        compressor.add(rows.y, rows.tau, rows.use)
    return merge_stretches(compressor.result(file))


def _bandwidth(tau: np.ndarray, residual: np.ndarray, row_filter: Filter) -> float | None:
    """Return the frequency (Hz) from which on the residual has half of the torque's power, the median over joints (N, n)."""
    from scipy.signal import welch

    rate = row_filter.rate_hz
    window = min(len(tau) // _STRETCHES * 2, int(rate / (_RESOLUTION * row_filter.cutoff_hz)))
    if window < 16:
        return None
    f, torque_power = welch(tau, rate, nperseg=window, axis=0)
    _, residual_power = welch(residual, rate, nperseg=window, axis=0)
    first = np.arange(1, int(len(f) / _BAND))
    last = np.ceil(_BAND * first).astype(int)
    sums = [np.vstack([np.zeros(p.shape[1]), np.cumsum(p, axis=0)]) for p in (torque_power, residual_power)]
    in_torque, in_residual = (s[last + 1] - s[first] for s in sums)
    unexplained = in_residual >= 0.5 * in_torque  # (bands, joints); true for a channel that measures nothing, too
    ends = [f[first[np.argmax(u)]] * np.sqrt(_BAND) if u.any() else f[-1] for u in unexplained.T if not u[0]]
    return float(np.median(ends)) if ends else None
