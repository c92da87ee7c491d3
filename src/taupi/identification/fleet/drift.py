"""How a parameter of an arm changes from log to log: a straight line through its values, and a random walk behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Number of steps of the walk that are considered, and the largest, as a multiple of the largest difference between logs.
_STEPS, _LARGEST = 60, 2.0
# A value differs from the first if it is this many standard errors of the difference away.
_CHANGED = 3.0


@dataclass(frozen=True)
class Drift:
    """How a parameter of an arm changes from log to log.

    Attributes:
        arm: The arm.
        parameter: The parameter.
        when: When each log was recorded, as given; its place among the arm's logs by default.
        values: The parameter in each log, with the shared ones of the fleet; NaN where the log does not determine it.
        stderr: Their standard errors.
        slope: The change per unit of `when`, by weighted least squares; NaN with fewer than two logs.
        slope_stderr: Its standard error.
        smoothed: The values of a random walk, given those of all logs: noise is averaged, and a jump stays a jump.
        smoothed_stderr: Their standard errors.
        step: The standard deviation of the walk's step over one unit of `when`; NaN with fewer than two logs.
    """

    arm: str
    parameter: str
    when: tuple[float, ...]
    values: tuple[float, ...]
    stderr: tuple[float, ...]
    slope: float
    slope_stderr: float
    smoothed: tuple[float, ...] = ()
    smoothed_stderr: tuple[float, ...] = ()
    step: float = float("nan")

    @property
    def z(self) -> float:
        """The slope in units of its standard error; 0 if there is none."""
        return self.slope / self.slope_stderr if self.slope_stderr > 0 else 0.0

    @property
    def first(self) -> float:
        """The parameter in the first log that determines it; NaN if none does."""
        return next((value for value in self.values if np.isfinite(value)), float("nan"))

    @property
    def last(self) -> float:
        """The parameter in the last log that determines it; NaN if none does."""
        return next((value for value in reversed(self.values) if np.isfinite(value)), float("nan"))

    @property
    def since(self) -> float | None:
        """When the walk is first clearly away from where it began, by three standard errors; None if it never is."""
        if not self.smoothed:
            return None
        x, e = np.array(self.smoothed), np.array(self.smoothed_stderr)
        away = np.abs(x - x[0]) > _CHANGED * np.sqrt(e**2 + e[0] ** 2)
        return float(self.when[int(np.argmax(away))]) if away.any() else None


def drift_of(arm: str, parameter: str, when: np.ndarray, values: np.ndarray, variances: np.ndarray) -> Drift:
    """Return the drift of a parameter with these values and variances (logs,), NaN where a log does not determine it."""
    known = _known(values, variances)
    series = (tuple(when.tolist()), tuple(values.tolist()), tuple(np.sqrt(variances).tolist()))
    slope, error = (float(each[0]) for each in slopes(when, values[:, None], variances[:, None]))
    if np.isnan(slope):
        return Drift(arm, parameter, *series, np.nan, np.nan)
    x, v, step = random_walk(when, np.where(known, values, 0.0), np.where(known, variances, np.inf))
    return Drift(arm, parameter, *series, slope, error, tuple(x.tolist()), tuple(np.sqrt(v).tolist()), step)


def slopes(when: np.ndarray, values: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope and its standard error (p,) of the weighted least-squares line through each column of values (logs, p).

    A slope is NaN if fewer than two moments have a value that is known.

    >>> slope, error = slopes(np.arange(3.0), np.array([[1.0], [3.0], [5.0]]), np.full((3, 1), 0.01))
    >>> slope.round(6).tolist(), error.round(6).tolist()
    ([2.0], [0.070711])
    """
    known = _known(values, variances)
    weight = np.where(known, 1 / np.where(known, variances, 1.0), 0.0)
    t = np.broadcast_to(when[:, None], values.shape)
    latest, earliest = (f(np.where(known, t, end), axis=0) for f, end in ((np.max, -np.inf), (np.min, np.inf)))
    enough = latest > earliest
    centred = t - np.sum(weight * t, axis=0) / np.where(enough, weight.sum(axis=0), 1.0)
    information = np.where(enough, np.sum(weight * centred**2, axis=0), np.nan)
    return np.sum(weight * centred * np.where(known, values, 0.0), axis=0) / information, 1 / np.sqrt(information)


def _known(values: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return which values are determined by their log."""
    return np.isfinite(values) & (variances > 0) & np.isfinite(variances)


def random_walk(when: np.ndarray, values: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return x (N,) given y_i = x_i + noise of these variances, x_i = x_(i-1) + s sqrt(t_i - t_(i-1)) e_i; its variances; s.

    The walk begins anywhere. Steps s from 0 to twice the largest difference are all considered, each with the likelihood of the
    values, by a Kalman filter and the smoother of Rauch, Tung and Striebel (1965), and x is their mean. A value with an infinite
    variance is not known.

    >>> t, y = np.arange(6.0), np.array([1.0, 1.1, 0.9, 1.0, 1.1, 0.9])
    >>> x, v, step = random_walk(t, y, np.full(6, 0.1**2))
    >>> x.round(1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    order = np.argsort(when, kind="stable")
    t, y, v = when[order], values[order], variances[order]
    first = int(np.argmax(np.isfinite(v)))
    gap = np.median(np.diff(t)[np.diff(t) > 0])
    largest = _LARGEST * float(np.ptp(y[np.isfinite(v)])) / np.sqrt(gap)
    s = np.linspace(0.0, max(largest, 1e-150), _STEPS)
    means, spreads, score = np.zeros((2, len(t), _STEPS)), np.zeros((2, len(t), _STEPS)), np.zeros(_STEPS)
    # For each sample: before its value is known (0), and after (1). Before the first known value nothing is known.
    for i in range(first, len(t)):
        if i == first:
            means[:, i], spreads[:, i] = y[i], v[i]
            continue
        means[0, i], spreads[0, i] = means[1, i - 1], spreads[1, i - 1] + s**2 * (t[i] - t[i - 1])
        means[1, i], spreads[1, i] = means[0, i], spreads[0, i]
        if np.isfinite(v[i]):
            total = spreads[0, i] + v[i]
            score -= 0.5 * (np.log(total) + (y[i] - means[0, i]) ** 2 / total)
            means[1, i] += spreads[0, i] / total * (y[i] - means[0, i])
            spreads[1, i] *= v[i] / total
    x, p = means[1].copy(), spreads[1].copy()
    for i in range(len(t) - 2, first - 1, -1):
        gain = spreads[1, i] / np.maximum(spreads[0, i + 1], 1e-300)
        x[i] += gain * (x[i + 1] - means[0, i + 1])
        p[i] += gain**2 * (p[i + 1] - spreads[0, i + 1])
    for i in range(first - 1, -1, -1):  # backwards from the first value, nothing else is known
        x[i], p[i] = x[i + 1], p[i + 1] + s**2 * (t[i + 1] - t[i])
    share = np.exp(score - score.max())
    share /= share.sum()
    mean = x @ share
    variance = p @ share + ((x - mean[:, None]) ** 2) @ share
    back = np.argsort(order)
    return mean[back], variance[back], float(share @ s)
