"""How far up in frequency a model explains the torque: beyond, a filter should not let pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import FrictionPlan, friction_plan
from taupi.identification.rows.factors import Compressor, JointFactor, merged, reweighted
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker

# Power is compared over half an octave from each frequency on: between the lines of a periodic motion there is none.
_BAND = 1.5
# A spectrum's resolution, as a share of the cutoff that q alone suggests; at least so many stretches are averaged.
_RESOLUTION, _STRETCHES = 0.1, 4
# The cutoff that q suggests is raised to no more than twice, and halved so often: beyond, it is another motion.
_MOST, _HALVINGS = 2.0, 4


def with_explained_cutoffs(base: BaseParameters, recordings: list[Recording], settings: Preparation) -> list[Recording]:
    """Return the recordings with cutoffs up to which the model explains the torque, where none is asked for.

    A filter that lets too much noise pass spoils the model that is to judge it. So it begins with the cutoff that q suggests,
    halved as long as the model explains less than half of what passes.
    """
    if settings.cutoff_hz is not None or not any(r.cutoff for r in recordings):
        return recordings
    tried, explained = list(recordings), explained_bandwidths(base, recordings)
    for _ in range(_HALVINGS):
        poor = [_poor(r, hz) for r, hz in zip(tried, explained, strict=True)]
        if not any(poor):
            break
        tried = [r.with_cutoff(r.cutoff_hz / 2) if p and r.cutoff_hz else r for r, p in zip(tried, poor, strict=True)]
        explained = explained_bandwidths(base, tried)
    triples = zip(recordings, tried, explained, strict=True)
    return [_with_cutoff(r, None if _poor(t, hz) else hz) for r, t, hz in triples]


def _poor(recording: Recording, hz: float | None) -> bool:
    cutoff_hz = recording.cutoff_hz
    return recording.cutoff is not None and cutoff_hz is not None and (hz is None or hz < cutoff_hz / 2)


def _with_cutoff(recording: Recording, hz: float | None) -> Recording:
    """Return a recording whose cutoff is where the model stops explaining the torque, within what q allows."""
    if hz is None or recording.cutoff is None:
        return recording
    suggested = recording.cutoff
    cutoff_hz = max(min(hz, _MOST * suggested.hz, suggested.most_hz), suggested.least_hz)
    alone = suggested.note.removeprefix("cutoff ")
    note = f"cutoff {cutoff_hz:.3g} Hz: the model explains the torque up to {hz:.3g} Hz; q alone says {alone}"
    return recording.with_cutoff(cutoff_hz, note)


def explained_bandwidths(base: BaseParameters, recordings: Sequence[Recording]) -> list[float | None]:
    """Return for each recording the frequency (Hz) up to which tau - Y_b x has less than half of the torque's power.

    x is from weighted least squares on the recordings' beginnings through their filters; the spectra are of what comes before
    them. Of the joints, the median; those of which the model explains nothing have no say. None where no joint has.
    """
    plan = friction_plan(base)
    factors = [f for k, recording in enumerate(recordings) for f in _factors(RowMaker(plan), recording, k)]
    if not factors:
        return [None] * len(recordings)
    x, _ = reweighted([f.r for f in factors], [f.rows for f in factors])
    return [_explained(recording, plan, x) for recording in recordings]


def _explained(recording: Recording, plan: FrictionPlan, x: np.ndarray) -> float | None:
    if recording.through is None:
        return None
    bare = dataclasses.replace(recording, through=None, slow=np.zeros(len(recording.slow)))
    pairs = [(r.tau, r.left(x)) for r in bare.rows(RowMaker(plan), head=True)]
    if not pairs:
        return None
    tau, left = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return _agreement(tau, left, recording)


def _factors(maker: RowMaker, recording: Recording, file: int) -> list[JointFactor]:
    gather = Compressor(maker.used)
    for rows in recording.rows(maker, head=True):
        gather.add(rows.y, rows.tau, rows.use)
    return merged(gather.result(file))


def _agreement(tau: np.ndarray, left: np.ndarray, recording: Recording) -> float | None:
    from scipy.signal import welch

    assert recording.through is not None
    rate, length = recording.through.rate_hz, len(left)
    window = min(length // _STRETCHES * 2, int(rate / (_RESOLUTION * recording.through.cutoff_hz)))
    if window < 16:
        return None
    f, whole = welch(tau, rate, nperseg=window, axis=0)
    _, rest = welch(left, rate, nperseg=window, axis=0)
    k = np.arange(1, int(len(f) / _BAND))
    last = np.ceil(_BAND * k).astype(int)
    sums = [np.vstack([np.zeros(p.shape[1]), np.cumsum(p, axis=0)]) for p in (whole, rest)]
    power = [s[last + 1] - s[k] for s in sums]
    lost = power[1] >= 0.5 * power[0]  # (bands, joints); also of a channel that measures nothing
    ends = [f[k[np.argmax(c)]] * np.sqrt(_BAND) if c.any() else f[-1] for c in lost.T if not c[0]]
    return float(np.median(ends)) if ends else None
