"""How parameters are spread over a fleet: centre and spread without faulty arms, on a scale of ratios where all are positive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Fewer arms do not tell how a parameter is spread.
LEAST_ARMS = 5
# Values are positive beyond doubt if they are this many standard errors above zero, for this share of the arms.
_POSITIVE, _MOST = 2.0, 0.9
# Arms that are farther out than this many standard deviations do not decide on the spread.
_TRIMMED = 3.5
_ROUNDS = 50
# 1 / the median of |x| of a standard normal variable.
_MAD = 1.4826


@dataclass(frozen=True)
class ParameterSpread:
    """How one parameter is spread over a fleet.

    Attributes:
        parameter: Its name.
        centre: That of a typical arm.
        deviation: The standard deviation between arms, in the unit of the parameter, errors of estimates taken off; infinite if
            there are too few arms to tell.
        logarithmic: Whether ratios are compared, not differences: the parameter is clearly positive on nearly every arm.
    """

    parameter: str
    centre: float
    deviation: float
    logarithmic: bool

    def z(self, value: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return by how many standard deviations, of arms and of the estimate together, a `value` of this `variance` lies out."""
        if not np.isfinite(self.deviation):
            return np.zeros(np.shape(value))
        if not self.logarithmic:
            return np.asarray((value - self.centre) / np.sqrt(self.deviation**2 + variance))
        # An estimate at or below zero is as far out as its own error says.
        floor = np.maximum(np.sqrt(variance), 1e-3 * self.centre)
        x, sizes = np.log(np.maximum(value, floor) / self.centre), np.sqrt(variance) / np.maximum(value, self.centre)
        return np.asarray(x / np.sqrt((self.deviation / self.centre) ** 2 + sizes**2))


def spread_of(parameter: str, values: np.ndarray, variances: np.ndarray) -> ParameterSpread:
    """Return how values (k,) with these variances are spread: x_k ~ N(m, s^2 + v_k), arms far out left aside.

    m is the mean weighted by w = 1 / (s^2 + v), and s^2 the moment sum w^2 ((x - m)^2 - v) / sum w^2, alternately.

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
        return ParameterSpread(parameter, float(np.median(x)) if len(x) else 0.0, np.inf, False)
    logarithmic = bool((x > 0).all() and np.mean(x > _POSITIVE * np.sqrt(v)) >= _MOST)
    if logarithmic:
        x, v = np.log(x), v / x**2
    centre = float(np.median(x))
    squares = max(float((_MAD * np.median(np.abs(x - centre))) ** 2 - np.median(v)), 0.0)
    for _ in range(_ROUNDS):
        weight = 1 / np.maximum(squares + v, 1e-300)
        weight = np.where((x - centre) ** 2 * weight > _TRIMMED**2, 0.0, weight)
        if not weight.any():
            break
        centre = float(np.sum(weight * x) / weight.sum())
        squares = max(float(np.sum(weight**2 * ((x - centre) ** 2 - v)) / np.sum(weight**2)), 0.0)
    if logarithmic:
        return ParameterSpread(parameter, float(np.exp(centre)), float(np.exp(centre) * np.sqrt(squares)), True)
    return ParameterSpread(parameter, centre, float(np.sqrt(squares)), False)
