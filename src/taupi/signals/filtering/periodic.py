"""Periodic motions: their period, their mean, the noise shown by the scatter over periods, and Fourier series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.checks import positive
from taupi.errors import InPython, TaupiError
from taupi.signals.filtering.delay import curve_of
from taupi.signals.log import Log

# A lag counts as a period if the motion correlates with itself, shifted by the lag, at least this well.
_ALIKE = 0.97
# Fewer samples show no motion within a period.
_LEAST_SAMPLES = 4


@dataclass(frozen=True, slots=True)
class Period:
    """The period of a motion.

    Attributes:
        seconds: The period, s.
        count: How many periods the record holds.
        correlation: How well the motion correlates with itself one period later.
    """

    seconds: float
    count: float
    correlation: float


@dataclass(frozen=True, slots=True)
class PeriodMean:
    """The mean of a periodic log over its periods.

    Attributes:
        log: The mean period, M samples.
        std: The standard deviation over the periods of each signal (M, n), by name.
        count: How many periods were averaged.
    """

    log: Log
    std: dict[str, np.ndarray]
    count: int


def find_period(q: np.ndarray, rate_hz: float) -> Period | None:
    """Return the period of a motion, or None if it does not repeat within half of the record.

    The autocorrelation r(k) = sum_t x(t) x(t + k) / sqrt(sum_t x(t)^2 sum_t x(t + k)^2) is taken over the overlap, with all
    joints scaled to equal variance. The period is its first peak that is about as high as the highest, refined by a parabola.

    Args:
        q: The motion (N, n), rad or m.
        rate_hz: Samples per second, Hz.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(3000) / 100
    >>> tp.signals.find_period((np.sin(2 * np.pi * t / 7.003) + np.cos(4 * np.pi * t / 7.003))[:, None], 100).seconds.__round__(3)
    7.003
    """
    q = np.asarray(q, dtype=float)
    q = q[:, None] if q.ndim == 1 else q
    rate = positive("rate_hz", rate_hz)
    spread = q.std(axis=0)
    if len(q) < 16 or not (spread > 0).any():
        return None
    x = ((q - q.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[:, spread > 0]
    half = len(x) // 2
    size = 1 << (2 * len(x) - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(x, size, axis=0)) ** 2
    product = np.fft.irfft(spectrum, size, axis=0)[: half + 2].sum(axis=1)
    energy = np.concatenate(([0.0], np.cumsum((x * x).sum(axis=1))))
    lags = np.arange(half + 2)
    r = product / np.sqrt(energy[len(x) - lags] * (energy[-1] - energy[lags]))
    peaks = np.flatnonzero((r[1:-1] >= r[:-2]) & (r[1:-1] > r[2:])) + 1
    low = np.flatnonzero(r < 0.5)
    peaks = peaks[peaks > low[0]] if len(low) else peaks[:0]
    if not len(peaks) or r[peaks].max() < _ALIKE:
        return None
    k = int(peaks[r[peaks] >= r[peaks].max() - 0.3 * (1 - _ALIKE)][0])
    a, b, c = r[k - 1], r[k], r[k + 1]
    lag = k + 0.5 * (a - c) / (a - 2 * b + c)
    return Period(float(lag / rate), float((len(x) - 1) / lag), float(b))


def average_periods(log: Log, period: float | None = None) -> PeriodMean:
    """Return the mean of a `log` over its complete periods, and the standard deviation over them as an estimate of the noise.

    Each period is interpolated on the same grid of M points; mean and standard deviation (with K - 1) are over the K periods. The
    mean has 1/sqrt(K) of the noise.

    Args:
        log: The log, uniform in time.
        period: The period, s, of four samples or more; found by `find_period` by default.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(4000) / 200
    >>> q = np.sin(2 * np.pi * t / 5)[:, None] + 1e-3 * np.random.default_rng(0).normal(size=(4000, 1))
    >>> mean = tp.signals.average_periods(tp.Log(t, q))
    >>> mean.count, len(mean.log), bool(0.7e-3 < np.sqrt((mean.std["q"] ** 2).mean()) < 1.1e-3)
    (4, 1000, True)
    """
    curves = {name: curve_of(log, name) for name in log.signals}
    seconds = period_of(log, period)
    # One step is added, since the last grid point of the last period needs no sample after it.
    count = int(np.floor((log.duration + 1 / log.rate_hz) / seconds + 1e-6))
    if count < 2:
        raise TaupiError(
            "{log} has {got:.2f} periods of {seconds:g} s, expected at least 2.",
            got=log.duration / seconds,
            seconds=seconds,
        )
    points = round(seconds * log.rate_hz)
    if points < _LEAST_SAMPLES:
        raise TaupiError(
            "{period} is {got:g} s, expected {least} samples or more, {seconds:g} s.",
            got=seconds,
            least=_LEAST_SAMPLES,
            seconds=_LEAST_SAMPLES / log.rate_hz,
        )
    grid = np.arange(points) * (seconds / points)
    at = np.minimum(log.time[0] + grid + seconds * np.arange(count)[:, None], log.time[-1])
    mean, std = {}, {}
    for name, curve in curves.items():
        each = curve(at)
        mean[name] = each.mean(axis=0)
        std[name] = each.std(axis=0, ddof=1)
    note = f"mean of {count} periods of {seconds:.6g} s"
    return PeriodMean(log.with_(time=log.time[0] + grid, **mean, notes=note), std, count)


def fourier(
    x: np.ndarray, rate_hz: float, period: float, harmonics: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (x, dx/dt, d2x/dt2) of the Fourier series x = a0 + sum_k a_k cos(k w t) + b_k sin(k w t) that fits best.

    `x` (N, ...), sampled `rate_hz` times per second, need not hold complete periods; the `period` is in seconds. The derivatives
    are those of the series: exact, without any loss of amplitude (Swevers et al. 1997). `harmonics` is the number of harmonics;
    by default the series ends with the highest one that exceeds the noise of the residual by five standard deviations in any
    column.

    >>> import numpy as np
    >>> t = np.arange(500) / 100
    >>> s, sd, sdd = fourier(np.sin(2 * np.pi * t / 2), 100, 2.0, harmonics=3)
    >>> bool(np.allclose(sdd, -np.pi**2 * s, atol=1e-9))
    True
    """
    x = np.asarray(x, dtype=float)
    rate, seconds = positive("rate_hz", rate_hz), positive("period", period)
    flat = x.reshape(len(x), -1)
    most = int(min(0.4 * rate * seconds, len(x) / 8))
    if most < 1 or (harmonics is not None and not 1 <= harmonics <= max(most, 1)):
        raise TaupiError(
            "{harmonics} is {got!r}, expected 1 to {most} for {count} samples and a period of {seconds:g} s.",
            got=harmonics,
            most=most,
            count=len(x),
            seconds=seconds,
        )
    if len(x) < rate * seconds:
        raise TaupiError(
            "{x} has {got:.4g} s, expected at least one period of {seconds:g} s.", got=len(x) / rate, seconds=seconds
        )
    t = np.arange(len(x)) / rate
    top = harmonics or _harmonics(flat, t, seconds, min(most, 200))
    w, A, coefficients = _series(flat, t, seconds, top)
    c, s = A[:, 1 : top + 1], A[:, top + 1 :]
    a, b = coefficients[1 : top + 1], coefficients[top + 1 :]
    first = c @ (w[:, None] * b) - s @ (w[:, None] * a)
    second = -(c @ (w[:, None] ** 2 * a) + s @ (w[:, None] ** 2 * b))
    return (A @ coefficients).reshape(x.shape), first.reshape(x.shape), second.reshape(x.shape)


def _harmonics(x: np.ndarray, t: np.ndarray, seconds: float, most: int) -> int:
    """Return the highest harmonic, of at most so many, that exceeds the noise."""
    _, A, coefficients = _series(x, t, seconds, most)
    noise = np.sqrt(((x - A @ coefficients) ** 2).sum(axis=0) / max(1, len(t) - A.shape[1]))
    amplitude = np.hypot(coefficients[1 : most + 1], coefficients[most + 1 :])
    # The last term, for rounding, keeps noiseless signals from gaining harmonics that they do not have.
    loud = amplitude > 5 * noise * np.sqrt(2 / len(t)) + 1e-10 * np.abs(x).max(axis=0)
    orders = np.flatnonzero(loud.any(axis=1))
    return int(orders[-1]) + 1 if len(orders) else 1


def _series(x: np.ndarray, t: np.ndarray, seconds: float, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the frequencies w of so many harmonics, A = [1, cos(w t), sin(w t)], and the coefficients that fit x best."""
    w = 2 * np.pi * np.arange(1, count + 1) / seconds
    A = np.concatenate((np.ones((len(t), 1)), np.cos(np.outer(t, w)), np.sin(np.outer(t, w))), axis=1)
    # Over a period or more the columns are nearly orthogonal: the normal equations lose few digits and are much faster.
    return w, A, np.linalg.lstsq(A.T @ A, A.T @ x, rcond=None)[0]


def period_of(log: Log, period: float | None) -> float:
    """Return the `period` (s), or, if it is None, that of the log's q; refuse a log that has none."""
    if period is not None:
        return positive("period", period)
    motion = find_period(log.q, log.rate_hz)
    if motion is None:
        raise TaupiError(
            "no period was found: the motion does not repeat within half of the log.",
            remedy="{way}{derivatives}.",
            way=InPython("Give period=... in seconds to taupi.prepare, or choose other ", "Choose other "),
        )
    return motion.seconds
