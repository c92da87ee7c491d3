"""Delays between channels: how far one lags behind another, and how to undo it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.checks import finite, positive
from taupi.errors import Argument, TaupiError, unknown
from taupi.signals.log import Log

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline


@dataclass(frozen=True, slots=True)
class Delay:
    """A delay, and how well the two signals agree once it is undone.

    Attributes:
        seconds: The delay, s; positive if y lags behind x.
        correlation: The correlation of the two signals with the delay removed.
    """

    seconds: float
    correlation: float


def estimate_delay(x: np.ndarray, y: np.ndarray, rate_hz: float, max_delay: float | None = None) -> Delay:
    """Return the delay d in y(t) = x(t - d): where the cross-correlation is largest, to a fraction of a sample.

    r(d) is the correlation of x(t) and y(t + d) over the samples they share, so that the ends of the record do not bias it. The
    best whole lag comes from products of Fourier transforms, the fraction from a least-squares fit of a cubic spline of y.

    Args:
        x: The first signal (N,), or (N, n) for n joints, which are scaled to equal variance and added up.
        y: The signal that may lag behind, of the same shape.
        rate_hz: Samples per second, Hz.
        max_delay: The largest delay that is considered, s; by default a tenth of the record.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(2000) / 1000
    >>> x = lambda t: np.exp(-((t - 1) ** 2) / 0.02)
    >>> tp.signals.estimate_delay(x(t), x(t - 0.0123), 1000).seconds.__round__(5)
    0.0123
    """
    from scipy.interpolate import CubicSpline

    rate = positive("rate_hz", rate_hz)
    a, b = _standardise(x, "x"), _standardise(y, "y")
    if a.shape != b.shape:
        raise TaupiError("{y} has shape {got}, expected that of x, {x}.", got=np.shape(y), x=np.shape(x))
    reach = len(a) / rate / 10 if max_delay is None else positive("max_delay", max_delay)
    reach = min(reach, (len(a) - 1) / rate / 2)
    lags = np.arange(-int(reach * rate), int(reach * rate) + 1)
    best = int(lags[np.argmax(_correlation(a, b, lags))])
    curve = CubicSpline(np.arange(len(b)), b)
    lag = _refine(a, curve, best)
    both = _overlap(len(a), lag)
    return Delay(float(lag / rate), _pearson(a[both], curve(np.flatnonzero(both) + lag)))


def _refine(a: np.ndarray, curve: CubicSpline, lag: float) -> float:
    """Return the lag at which b(t + lag) = k a(t) + c fits best, by Gauss-Newton steps; k and c are eliminated joint by joint.

    `curve` is the spline of b over the samples.
    """
    slope, start = curve.derivative(), lag
    for _ in range(20):
        both = _overlap(len(a), lag)
        at = np.flatnonzero(both) + lag
        x = a[both] - a[both].mean(axis=0)
        residual, gradient = (_project_out(x, v - v.mean(axis=0)) for v in (curve(at), slope(at)))
        step = -float((residual * gradient).sum() / (gradient * gradient).sum())
        lag = float(np.clip(lag + step, start - 1, start + 1))
        if abs(step) < 1e-9:
            break
    return lag


def _project_out(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return v without its component along x, column by column."""
    return v - x * ((v * x).sum(axis=0) / np.maximum((x * x).sum(axis=0), 1e-300))


def _overlap(n: int, lag: float) -> np.ndarray:
    at = np.arange(n) + lag
    return (at >= 0) & (at <= n - 1)


def _pearson(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def _correlation(a: np.ndarray, b: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """Return the correlation of a(t) and b(t + lag) over their overlap, for each of the lags."""
    n, size = len(a), 1 << (2 * len(a) - 1).bit_length()
    product = np.fft.irfft(np.conj(np.fft.rfft(a, size, axis=0)) * np.fft.rfft(b, size, axis=0), size, axis=0)[lags]
    late, early = np.maximum(lags, 0), np.maximum(-lags, 0)
    count = (n - np.abs(lags))[:, None]

    def over(x: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
        total = np.concatenate((np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)))
        return total[stop] - total[start]

    sum_a, sum_b = over(a, early, n - late), over(b, late, n - early)
    var_a = over(a * a, early, n - late) - sum_a**2 / count
    var_b = over(b * b, late, n - early) - sum_b**2 / count
    common = (product - sum_a * sum_b / count).sum(axis=1)
    return common / np.sqrt(np.maximum(var_a.sum(axis=1) * var_b.sum(axis=1), 1e-300))


def remove_delay(log: Log, signal: str, seconds: float) -> Log:
    """Return the `log` with one `signal` shifted earlier by its delay d = `seconds`: y(t + d).

    Samples that then have no value of it, at the end of the record, are cut off.

    Args:
        log: The log.
        signal: The name of the signal, such as "tau".
        seconds: Its delay, s; a negative one shifts it later.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(500) / 100
    >>> log = tp.Log(t, np.sin(t)[:, None], tau=np.sin(t - 0.025)[:, None])
    >>> log = tp.signals.remove_delay(log, "tau", 0.025)
    >>> bool(np.abs(log.tau - log.q).max() < 1e-6)
    True
    """
    delay = finite("seconds", seconds)
    curve = curve_of(log, signal)
    if abs(delay) >= log.duration:
        raise TaupiError(
            "{seconds} is {got:g}, expected less than the log's {duration:g} s.", got=delay, duration=log.duration
        )
    at = log.time + delay
    slack = 1e-9 / log.rate_hz
    keep = (at >= log.time[0] - slack) & (at <= log.time[-1] + slack)
    moved = curve(np.clip(at, log.time[0], log.time[-1]))
    return log.with_(**{signal: moved}).rows(keep, f"{signal} shifted earlier by {1e3 * delay:.4g} ms")


def curve_of(log: Log, signal: str) -> CubicSpline:
    """Return the cubic spline of a signal over time; a log with missing values, or whose time does not advance, is refused."""
    from scipy.interpolate import CubicSpline

    (value,) = log.need(signal)
    if len(log) < 2 or not np.isfinite(value).all() or not (np.diff(log.time) > 0).all():
        raise TaupiError(
            "{log} has missing values of {signal}, or its time does not advance. Use taupi.clean_log first.",
            signal=signal,
        )
    return CubicSpline(log.time, value)


# Signals that are shifted together.
_TOGETHER = {"q": ("q", "qd", "qdd"), "theta": ("theta", "thetad", "thetadd")}

Delays = Mapping[str, "float | Sequence[float] | np.ndarray"]


def without_delays(log: Log, delays: Delays) -> Log:
    """Return the `log` with signals shifted earlier by their `delays`, y(t + d): seconds by name, one or one per joint.

    The derivatives of a position are shifted with it. Beyond the ends of the record a signal is extended as in the filters, by a
    point reflection about its last value.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(500) / 100
    >>> log = tp.Log(t, np.sin(t)[:, None], tau=np.sin(t - 0.025)[:, None])
    >>> bool(np.abs((without_delays(log, {"tau": 0.025}).tau - log.q)[:-3]).max() < 1e-6)
    True
    """
    from scipy.interpolate import CubicSpline

    changed: dict[str, np.ndarray] = {}
    for name, seconds in delays.items():
        delay = np.asarray(seconds, dtype=float)
        if delay.shape not in ((), (log.n,)) or not np.isfinite(delay).all():
            raise TaupiError(
                "delays[{name!r}] is {got!r}, expected seconds, or one for each of {n} joints.",
                name=name,
                got=seconds,
                n=log.n,
            )
        if not delay.any():
            continue
        log.need(name)
        for signal in _TOGETHER.get(name, (name,)):
            if signal in log.signals:
                at, value = log.time[:, None] + delay + np.zeros((1, log.n)), log.signals[signal]
                inside = np.clip(at, log.time[0], log.time[-1])
                mirrored = np.clip(2 * inside - at, log.time[0], log.time[-1])
                curves = (CubicSpline(log.time, value[:, j]) for j in range(log.n))
                moved = [2 * x(inside[:, j]) - x(mirrored[:, j]) for j, x in enumerate(curves)]
                changed[signal] = np.stack(moved, axis=1)
    return log.with_(**changed) if changed else log


def added_delays(log: Log, delays: Delays) -> Delays:
    """Return `delays` with those that the log itself states added to them."""
    total = {name: np.asarray(seconds, dtype=float) for name, seconds in delays.items()}
    for name, seconds in log.delays.items():
        total[name] = total.get(name, 0.0) + np.asarray(seconds)
    return total


def signal_delay(log: Log, first: str, second: str, max_delay: float | None = None) -> Delay:
    """Return how far a log's second signal lags behind its first: `signal_delay(log, "tau", "current")`."""
    if first == second:
        raise unknown("other signal", second, [s for s in log.signals if s != first])
    x, y = log.need(first, second)
    return estimate_delay(x, y, log.rate_hz, max_delay)


def _standardise(x: np.ndarray, name: str) -> np.ndarray:
    """Return x (N, n) with mean 0 and, for each column that is not constant, variance 1."""
    x = np.asarray(x, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or len(x) < 8:
        raise TaupiError(
            "{argument} has shape {got}, expected (N,) or (N, n) with at least 8 samples.",
            argument=Argument(name),
            got=x.shape,
        )
    if not np.isfinite(x).all():
        raise TaupiError(
            "{argument} has values that are missing or not finite. Use taupi.clean_log first.", argument=Argument(name)
        )
    spread = x.std(axis=0)
    if not (spread > 0).any():
        raise TaupiError("{argument} is constant, so it has no delay.", argument=Argument(name))
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
