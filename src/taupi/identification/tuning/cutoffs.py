"""The cutoffs of a fit: up to where the model explains the torque; for elastic joints, where parameters are most certain.

Everything is judged over all logs together, so that short logs borrow what the others show. Two cutoffs are chosen: one for the
rows that are fitted, and one for the motion that predicts.

Behind springs there is motion that a rigid link on a spring cannot have, such as the second mode of a beam. It is not noise, so a
spectrum does not show where it begins; but a filter that lets it pass makes the parameters too small.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.problem import Problem
from taupi.identification.row_layout import RowLayout, regressor_inputs
from taupi.identification.rows.factors import Compressor, JointFactor, merge_stretches, reweighted_least_squares
from taupi.identification.rows.preparation import ChosenCutoffs, Preparation
from taupi.identification.rows.recording import HEAD, SEEN, Recording, filter_plan
from taupi.identification.rows.row_maker import RowMaker, compiled_rows
from taupi.identification.weighting import weighted_least_squares
from taupi.signals.filtering.filters import choose_cutoff
from taupi.signals.filtering.motion_spectrum import CutoffBounds, cutoff_bounds
from taupi.signals.log import Log

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
    motions = [r.layout.positions(head) for r, head in zip(recordings, heads, strict=True)]
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
    rows = compiled_rows(regressor)
    inertial = measured = 0.0
    for r in recordings:
        log = r.log
        q, qd, qdd = r.layout.motion(log)
        with_inertia, without = (
            np.tensordot(values, rows(*regressor_inputs(regressor, q, qd, a)), 1) for a in (qdd, np.zeros_like(qdd))
        )
        inertial += float(np.sum((with_inertia - without) ** 2))
        measured += float(np.sum(r.layout.torque(log) ** 2))
    return float(np.sqrt(inertial / measured)) if measured > 0 else np.inf


# The cutoffs tried: 14, from three times what the spectrum suggests down to a hundredth of that, with at least four periods in
# the log.
_TRIED, _ABOVE, _BELOW, _LEAST_PERIODS = 14, 3.0, 100.0, 4.0
# Among cutoffs that differ by less than this many digits, the lowest is taken: errors are known to about a quarter, and the
# highest frequencies are explained worst.
_ALIKE = 0.1
# Rounds of weighted least squares.
_ROUNDS = 3


def digits(problem: Problem, hz: float, duration: float) -> float:
    """Return the number of certain decimal digits of a parameter, averaged over parameters: -log10 of their relative errors.

    The errors are those of weighted least squares for noise with the bandwidth of the cutoff, which has 2 `hz` independent values
    per second; a row that determines d parameters leaves d fewer values to estimate its noise from.
    """
    solution, weights = weighted_least_squares(problem, _ROUNDS)
    independent, largest = 2 * hz * duration, 1.0
    for f in problem.factors:
        determined = float(np.sum((weights[f.file, f.joint] * f.r[:, :-1] @ solution.spread) ** 2))
        if f.rows and determined >= 0.9 * independent:
            return 0.0
        factor = max(f.rows / independent, 1.0) * (1 - determined / max(f.rows, 1)) / (1 - determined / independent)
        largest = max(largest, factor)
    stderr = np.sqrt(largest) * np.linalg.norm(solution.spread, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(solution.undetermined | (solution.x == 0), 1.0, stderr / np.abs(solution.x))
    return float(-np.mean(np.log10(np.clip(error, 1e-16, 1.0))))


def most_informative_cutoff(log: Log, layout: RowLayout, build: Callable[[float], Problem]) -> tuple[float, str]:
    """Return the cutoff (Hz) for which the parameters of weighted least squares are most certain, and a note on it.

    `build` makes the problem for a cutoff.
    """
    rate = log.rate_hz
    spectrum = choose_cutoff(layout.positions(log), rate)
    high = min(_ABOVE * spectrum.hz, 0.4 * rate)
    low = min(max(high / _BELOW, _LEAST_PERIODS / log.duration), 0.5 * high)
    certain: dict[float, float] = {}  # digits by cutoff
    for hz in np.geomspace(low, high, _TRIED):
        try:
            certain[float(f"{hz:.3g}")] = digits(build(float(f"{hz:.3g}")), hz, log.duration)
        except TaupiError:  # the log is too short for the edges of a low cutoff
            continue
    if not certain:
        return spectrum.hz, spectrum.note
    most = max(certain.values())
    best = min(hz for hz, count in certain.items() if count >= most - _ALIKE)
    tried = f"at most {most:.2f} from {min(certain):.3g} to {max(certain):.3g} Hz"
    return best, f"cutoff {best:.3g} Hz: {certain[best]:.2f} digits of a parameter are certain on average, {tried}"
