"""Derivatives of sampled signals: central and backward differences, and splines. Fourier series are in `periodic`."""

from __future__ import annotations

import numpy as np

from taupi.checks import positive
from taupi.errors import TaupiError

# One-sided weights of x(t + k h) for x'(t), by the order of the central formula.
_FIRST = {2: (1 / 2,), 4: (2 / 3, -1 / 12), 6: (3 / 4, -3 / 20, 1 / 60)}
_SECOND = {2: (1.0,), 4: (4 / 3, -1 / 12), 6: (3 / 2, -3 / 20, 1 / 90)}


def central(x: np.ndarray, rate_hz: float, accuracy: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return (dx/dt, d2x/dt2) of samples (N, ...) by central differences: sum_k c_k (x(t + kh) - x(t - kh)) / h.

    `x` is sampled `rate_hz` times per second, h = 1 / rate_hz. `accuracy`, 2, 4 or 6, is the order of the error in h, 4 by
    default: at a tenth of the rate, 4 is off by 0.5 % and 2 by 6.5 %. At the ends the samples are extended by point reflection,
    which is exact only for a straight line.

    >>> import numpy as np
    >>> t = np.arange(100) / 100
    >>> d, dd = central(t**3, 100)
    >>> bool(np.allclose(d[2:-2], 3 * t[2:-2] ** 2)), bool(np.allclose(dd[2:-2], 6 * t[2:-2]))
    (True, True)
    """
    if accuracy not in _FIRST:
        raise TaupiError("{accuracy} is {got!r}, expected one of 2, 4, 6.", got=accuracy)
    x = np.asarray(x, dtype=float)
    rate, m = positive("rate_hz", rate_hz), len(_FIRST[accuracy])
    if x.ndim < 1 or len(x) <= 2 * m:
        raise TaupiError("{x} has shape {got}, expected (N, ...) with more than {m} samples.", got=x.shape, m=2 * m)
    head = 2 * x[:1] - x[m:0:-1]
    tail = 2 * x[-1:] - x[-2 : -m - 2 : -1]
    extended, n = np.concatenate((head, x, tail)), len(x)
    first, second = np.zeros_like(x), -2 * sum(_SECOND[accuracy]) * x
    for k, (a, b) in enumerate(zip(_FIRST[accuracy], _SECOND[accuracy], strict=True), start=1):
        after, before = extended[m + k : m + k + n], extended[m - k : m - k + n]
        first += a * (after - before)
        second += b * (after + before)
    return first * rate, second * rate**2


def central_stencils(rate_hz: float, accuracy: int = 4) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Return the weights of x(t + k h), by k, with which `central` makes dx/dt and d2x/dt2.

    >>> central_stencils(10.0, accuracy=2)
    (((1, 5.0), (-1, -5.0)), ((0, -200.0), (1, 100.0), (-1, 100.0)))
    """
    first, second = np.array(_FIRST[accuracy]) * rate_hz, np.array(_SECOND[accuracy]) * rate_hz**2
    sides = [(k, sign) for k in range(1, len(first) + 1) for sign in (1, -1)]
    return (
        tuple((sign * k, float(sign * first[k - 1])) for k, sign in sides),
        ((0, float(-2 * second.sum())), *((sign * k, float(second[k - 1])) for k, sign in sides)),
    )


def backward(x: np.ndarray, rate_hz: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (dx/dt, d2x/dt2) of samples (N, ...) by backward differences, (x(t) - x(t - h)) / h, taken twice.

    This is what a controller can compute while it runs. `x` is sampled `rate_hz` times per second. The velocity is that of half
    a sample ago and the acceleration that of one sample ago, so `central` is better for a recorded log. The first values are
    repeated at the start, where there are no earlier samples.

    >>> import numpy as np
    >>> t = np.arange(100) / 100
    >>> d, dd = backward(t**2, 100)
    >>> bool(np.allclose(d[2:], 2 * t[2:] - 0.01)), bool(np.allclose(dd[2:], 2))
    (True, True)
    """
    x = np.asarray(x, dtype=float)
    rate = positive("rate_hz", rate_hz)
    if x.ndim < 1 or len(x) < 3:
        raise TaupiError("{x} has shape {got}, expected (N, ...) with more than 2 samples.", got=x.shape)
    steps = np.diff(x, axis=0)
    first, second = np.concatenate((steps[:1], steps)), np.diff(steps, axis=0)
    return first * rate, np.concatenate((second[:1], second[:1], second)) * rate**2


def quintic(x: np.ndarray, rate_hz: float, knots_hz: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (s, ds/dt, d2s/dt2) of the quintic spline s nearest to the samples x (N, ...): min sum (x - s)^2.

    `x` is sampled `rate_hz` times per second. The knots are uniform, about `knots_hz` per second; the spline follows what is
    slower than half of that. Unlike a smoothing spline it is the same projection for every signal.

    >>> import numpy as np
    >>> t = np.arange(1000) / 1000
    >>> s, sd, sdd = quintic(np.sin(5 * t), 1000, 20)
    >>> bool(np.abs(sd - 5 * np.cos(5 * t)).max() < 1e-5), bool(np.abs(sdd + 25 * np.sin(5 * t)).max() < 1e-2)
    (True, True)
    """
    from scipy.interpolate import make_lsq_spline

    x = np.asarray(x, dtype=float)
    rate, at = positive("rate_hz", rate_hz), np.arange(len(x), dtype=float)
    pieces = round((len(x) - 1) / rate * positive("knots_hz", knots_hz)) or 1
    if x.ndim < 1 or len(x) < pieces + 5:
        raise TaupiError(
            "{x} has shape {got}, expected (N, ...) with at least {pieces} samples for {knots_hz:g} knots per second.",
            got=x.shape,
            pieces=pieces + 5,
            knots_hz=knots_hz,
        )
    end = at[-1]
    knots = np.concatenate([[0.0] * 5, np.linspace(0.0, end, pieces + 1), [end] * 5])
    curve = make_lsq_spline(at, x, knots, k=5)
    return curve(at), curve.derivative(1)(at) * rate, curve.derivative(2)(at) * rate**2


def spline(x: np.ndarray, rate_hz: float, smoothing: float | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (s, ds/dt, d2s/dt2) of the cubic smoothing spline s that minimises sum (x - s)^2 + lambda int s''^2 dt.

    `x` (N, ...) is sampled `rate_hz` times per second. `smoothing` is lambda, in s^3; by default generalised cross-validation
    chooses it for each column (Woltring 1986), on the 4000 samples in which the column moves most.

    >>> import numpy as np
    >>> t = np.arange(400) / 100
    >>> noisy = np.sin(t) + 1e-3 * np.random.default_rng(0).normal(size=400)
    >>> s, sd, _ = spline(noisy, 100)
    >>> bool(np.abs(sd - np.cos(t))[20:-20].max() < 0.02)
    True
    """
    from scipy.interpolate import make_smoothing_spline

    x = np.asarray(x, dtype=float)
    if x.ndim < 1 or len(x) < 6:
        raise TaupiError("{x} has shape {got}, expected (N, ...) with at least 6 samples.", got=x.shape)
    # In units of the sample step the band matrices are well conditioned, whatever the rate.
    rate, at = positive("rate_hz", rate_hz), np.arange(len(x), dtype=float)
    flat = x.reshape(len(x), -1)
    weights = [_cross_validated(column) if smoothing is None else smoothing * rate**3 for column in flat.T]
    fits = [make_smoothing_spline(at, column, lam=lam) for column, lam in zip(flat.T, weights, strict=True)]
    parts = [np.stack([f.derivative(k)(at) if k else f(at) for f in fits], axis=1) * rate**k for k in (0, 1, 2)]
    return parts[0].reshape(x.shape), parts[1].reshape(x.shape), parts[2].reshape(x.shape)


def _cross_validated(x: np.ndarray, most: int = 4000) -> float:
    """Return the lambda, in units of the sample step, that generalised cross-validation chooses: min |r|^2 / (1 - tr/N)^2.

    Far from its ends a smoothing spline is a filter with the gain 1 / (1 + lambda (2 sin(w/2))^4 / ((2 + cos w) / 3)), so both
    the residual r and the trace are sums over frequencies; a window keeps the ends out of the spectrum.
    """
    from scipy.optimize import minimize_scalar

    if len(x) > most:
        travel = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(x)))))
        start = int(np.argmax(travel[most:] - travel[:-most]))
        x = x[start : start + most]
    n = len(x)
    window = np.hanning(n + 2)[1:-1] ** 2
    power = np.abs(np.fft.rfft((x - np.linspace(x[0], x[-1], n)) * window)) ** 2
    w = 2 * np.pi * np.fft.rfftfreq(n)
    curve = (2 * np.sin(w / 2)) ** 4 / ((2 + np.cos(w)) / 3)

    def score(log_lam: float) -> float:
        removed = 1 - 1 / (1 + 10**log_lam * curve)  # share of each frequency that stays in the residual
        return float(np.log((removed**2 * power).sum() + 1e-300) - 2 * np.log(removed.mean()))

    grid = np.linspace(-3, 15, 73)
    best = grid[int(np.argmin([score(g) for g in grid]))]
    return float(10 ** minimize_scalar(score, bounds=(best - 0.25, best + 0.25), method="bounded").x)
