"""How parameters are spread over a fleet: centre and spread without faulty arms, as ratios if all values are positive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Fewer arms do not show how a parameter is spread.
LEAST_ARMS = 5
# Ratios are compared if values are this many standard errors above zero, for this share of the arms: logarithms of noisier ones
# are spread by their noise, and unevenly.
_POSITIVE, _MOST = 6.0, 0.9
# Arms that are farther out than this many standard deviations do not count for the spread.
_TRIMMED = 3.5
_ROUNDS = 20
# Spreads from 0 to this many times the scatter of the estimates are considered, and the number of points.
_WIDEST, _GRID = 3.0, 200
# 1 / the median of |x| of a standard normal variable.
_MAD = 1.4826


@dataclass(frozen=True)
class ParameterSpread:
    """How one parameter is spread over a fleet.

    Attributes:
        parameter: Its name.
        centre: The value of a typical arm.
        deviation: The standard deviation between arms, in the unit of the parameter, without errors of estimates; infinite if
            there are too few arms to tell.
        deviation_stderr: The standard error of the deviation.
        logarithmic: Whether ratios are compared, not differences: the parameter is clearly positive on nearly every arm.
    """

    parameter: str
    centre: float
    deviation: float
    logarithmic: bool
    deviation_stderr: float = 0.0

    @property
    def largest(self) -> float:
        """The deviation with which arms are pulled: an uncertain most likely one would pull them too far."""
        return float(np.hypot(self.deviation, self.deviation_stderr))

    def doubt(self, value: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return what the error of the deviation adds to the variance of a `value` with this `variance` that was pulled.

        It is pulled to the centre by the share v / (v + s^2) of its distance, which changes with s (Morris 1983).
        """
        if not np.isfinite(self.deviation):
            return np.zeros(np.shape(value))
        slope = 2 * self.largest * variance / np.maximum(variance + self.largest**2, 1e-300) ** 2
        return np.asarray(((value - self.centre) * slope * self.deviation_stderr) ** 2)

    def z(self, value: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return how many standard deviations, of arms and estimate together, a `value` of this `variance` is from the centre."""
        if not np.isfinite(self.deviation):
            return np.zeros(np.shape(value))
        if not self.logarithmic:
            return np.asarray((value - self.centre) / np.sqrt(self.deviation**2 + variance))
        # An estimate at or below zero is as far out as its own error says.
        floor = np.maximum(np.sqrt(variance), 1e-3 * self.centre)
        x, sizes = np.log(np.maximum(value, floor) / self.centre), np.sqrt(variance) / np.maximum(value, self.centre)
        return np.asarray(x / np.sqrt((self.deviation / self.centre) ** 2 + sizes**2))


def spread_of(parameter: str, values: np.ndarray, variances: np.ndarray, ratios: bool = True) -> ParameterSpread:
    """Return how values (k,) with these variances are spread: x_k ~ N(m, s^2 + v_k), without arms that are far out.

    s is the most likely one, p(s) ~ (sum w)^-1/2 prod w_k^1/2 exp(-w_k (x_k - m)^2 / 2) with w = 1 / (s^2 + v), a uniform prior
    on s (Gelman 2006), and m the mean weighted by w. With `ratios`, logarithms are compared if all values are clearly positive.

    >>> import numpy as np
    >>> x = 0.5 * np.exp(0.2 * np.random.default_rng(0).normal(size=200))
    >>> x[0] = 5.0
    >>> s = spread_of("joint1.viscous", x, np.full(200, 0.01**2))
    >>> s.logarithmic, round(s.centre, 1), round(s.deviation / s.centre, 1), bool(s.z(x, np.full(200, 1e-4))[0] > 8)
    (True, 0.5, 0.2, True)
    """
    known = np.isfinite(values) & np.isfinite(variances)
    x, v = values[known], variances[known]
    if len(x) < LEAST_ARMS:
        return ParameterSpread(parameter, float(np.median(x)) if len(x) else 0.0, np.inf, False, np.inf)
    logarithmic = bool(ratios and (x > 0).all() and np.mean(x > _POSITIVE * np.sqrt(v)) >= _MOST)
    if logarithmic:
        x, v = np.log(x), v / np.median(x) ** 2
    centre = float(np.median(x))
    squares, error = max(float((_MAD * np.median(np.abs(x - centre))) ** 2 - np.median(v)), 0.0), 0.0
    for _ in range(_ROUNDS):
        inside = (x - centre) ** 2 <= _TRIMMED**2 * np.maximum(squares + v, 1e-300)
        if inside.sum() < LEAST_ARMS:
            break
        before, (centre, squares, error) = squares, _mean_and_square(x[inside], v[inside])
        if abs(squares - before) <= 1e-6 * before:
            break
    scale = float(np.exp(centre)) if logarithmic else 1.0
    middle = scale if logarithmic else centre
    return ParameterSpread(parameter, middle, scale * float(np.sqrt(squares)), logarithmic, scale * error)


def _mean_and_square(x: np.ndarray, v: np.ndarray) -> tuple[float, float, float]:
    """Return the most likely centre m and s^2 of x_k ~ N(m, s^2 + v_k), and the root mean square error of s."""
    largest = max(float(np.sqrt(np.mean((x - np.median(x)) ** 2))), 1e-150)
    s = np.linspace(0.0, _WIDEST * largest, _GRID)[1:, None]
    weight = 1 / (s**2 + v)
    total = weight.sum(axis=1)
    mean = np.sum(weight * x, axis=1) / total
    score = 0.5 * (np.log(weight).sum(axis=1) - np.log(total) - np.sum(weight * (x - mean[:, None]) ** 2, axis=1))
    share = np.exp(score - score.max())
    share /= share.sum()
    likely = int(np.argmax(share))
    deviation = float(s[likely, 0])
    return float(mean[likely]), deviation**2, float(np.sqrt(share @ (s[:, 0] - deviation) ** 2))
