"""The frequencies up to which a model explains the torque of all logs together: a filter should let nothing above them pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.rows.factors import Compressor, JointFactor, merge_stretches, reweighted_least_squares
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker

# Power is compared in bands of half an octave, since a periodic motion has none between its lines.
_BAND = 1.5
# Resolution of the spectrum, as a share of the cutoff; and the least number of stretches of a typical log that are averaged.
_RESOLUTION, _STRETCHES = 0.1, 4


class Bandwidths(NamedTuple):
    """Frequencies (Hz) from which on the residual has half of the torque's power, and all of it: medians over the joints."""

    half_hz: float
    equal_hz: float


def explained_bandwidths(base: BaseParameters, recordings: Sequence[Recording]) -> Bandwidths | None:
    """Return the frequencies from which on tau - Y_b x has half of the torque's power, and all of it, over all recordings.

    x is from weighted least squares on the recordings through their filters; the spectra are of rows before these filters, and
    are added up over the recordings, each by its duration. Joints of which the model explains nothing do not count; None if there
    is no other joint.
    """
    plan = friction_plan(base)
    factors = [f for k, recording in enumerate(recordings) for f in _factors(RowMaker(plan), recording, k)]
    if not factors:
        return None
    x, _ = reweighted_least_squares([f.r for f in factors], [f.rows for f in factors], [f.joint for f in factors])
    spectra = []
    for recording in recordings:
        if recording.row_filter is None:
            continue
        unfiltered = dataclasses.replace(recording, row_filter=None, least_speeds=np.zeros(len(recording.least_speeds)))
        pairs = [(rows.tau, rows.residual(x)) for rows in unfiltered.rows(RowMaker(plan))]
        if pairs:
            tau, residual = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
            spectra.append((tau, residual, recording.row_filter.rate_hz))
    cutoff_hz = float(np.median([r.row_filter.cutoff_hz for r in recordings if r.row_filter is not None]))
    return bandwidths_of(spectra, cutoff_hz) if spectra else None


def _factors(maker: RowMaker, recording: Recording, file: int) -> list[JointFactor]:
    compressor = Compressor(maker.used, expected=recording.expected_rows())
    for rows in recording.rows(maker):
        compressor.add(rows.entries, rows.tau, rows.use)
    return merge_stretches(compressor.result(file))


def bandwidths_of(signals: Sequence[tuple[np.ndarray, np.ndarray, float]], cutoff_hz: float) -> Bandwidths | None:
    """Return the bandwidths from torques and residuals (N, n) with their rates (Hz), for rows filtered at a cutoff."""
    seconds = float(np.median([len(tau) / rate for tau, _, rate in signals]))
    seconds = min(2 * seconds / _STRETCHES, 1 / (_RESOLUTION * cutoff_hz))
    f: np.ndarray = np.zeros(0)
    powers = np.zeros((2, 0, 0))
    for tau, residual, rate in sorted(signals, key=lambda s: s[2]):  # the frequencies are those of the lowest rate
        window = min(len(tau), int(rate * seconds))
        if window < 16:
            continue
        own: np.ndarray = np.fft.rfftfreq(window, 1 / rate)
        torque_power, residual_power = (power_density(signal, rate, window) for signal in (tau, residual))
        f = f if len(f) else own
        each = np.array([[np.interp(f, own, p) for p in power.T] for power in (torque_power, residual_power)])
        powers = each * len(tau) / rate + (powers if powers.size else 0.0)
    if len(f) < 4:
        return None
    torque, residual = (_in_bands(p.T) for p in powers)
    first = f[np.arange(1, len(torque) + 1)] * np.sqrt(_BAND)
    unexplained = [residual >= share * torque for share in (0.5, 1.0)]  # (bands, joints)
    has_a_say = ~unexplained[0][0]  # nor where a channel measures nothing
    if not has_a_say.any():
        return None
    return Bandwidths(
        *(
            float(np.median([first[np.argmax(u)] if u.any() else f[-1] for u in which.T[has_a_say]]))
            for which in unexplained
        )
    )


def power_density(x: np.ndarray, rate_hz: float, window: int) -> np.ndarray:
    """Return the power density (window // 2 + 1, n) of x (N, n), a mean over windows that overlap by half (Welch 1967).

    It is that of `scipy.signal.welch`, which takes half a second to import.
    """
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    total = np.zeros((window // 2 + 1, x.shape[1]))
    starts = range(0, len(x) - window + 1, window - window // 2)
    for start in starts:
        part = x[start : start + window]
        total += np.abs(np.fft.rfft(taper[:, None] * (part - part.mean(axis=0)), axis=0)) ** 2
    total[1 : (window + 1) // 2] *= 2  # those of negative frequencies, which 0 and half the rate do not have
    return np.asarray(total / (len(starts) * rate_hz * np.sum(taper**2)))


def _in_bands(power: np.ndarray) -> np.ndarray:
    """Return the power (k, n) summed over bands of half an octave, beginning at each frequency but the first."""
    first = np.arange(1, int(len(power) / _BAND))
    sums = np.vstack([np.zeros(power.shape[1]), np.cumsum(power, axis=0)])
    return sums[np.ceil(_BAND * first).astype(int) + 1] - sums[first]
