"""Which arms belong to a fleet, how parameters are spread over it, and which arms differ by more than chance explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.fleet.arm_rows import ArmTriangle

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
# The share of arms that may have a fault, as assumed beforehand, and how much wider than those of sound arms their values are
# spread: so that one fault among the other arms hides no second one.
_FAULTY, _WIDER = 0.02, 10.0
# Of how different the spreads of parameters may be: standard deviations of their logarithms, each as likely as the others.
_UNEQUAL = np.array([0.25, 0.5, 1.0])[:, None, None]
# Points of the integrals over deviations (from and to these multiples of the scatter) and over the centre (in its errors).
_POINTS, _NARROWEST, _BROADEST = 64, 1e-3, 20.0
_CENTRES = np.linspace(-8.0, 8.0, 25)
# Deviations less likely than the likeliest by this factor are left out of the integrals.
_NEGLIGIBLE = -30.0
# So many arms show what the others are like; in a larger fleet, they are picked evenly, and only arms this far out are compared.
_SHOWN, _CLOSE = 256, 2.0
# So many arms show what spread is usual among parameters.
_USUAL = 64


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

    def compared(self, values: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return values less the centre, or the logarithms of their ratios to it, and the variances of that."""
        if not self.logarithmic:
            return values - self.centre, variances
        # An estimate at or below zero is as far out as its own error says.
        positive = np.maximum(values, np.maximum(np.sqrt(variances), 1e-3 * self.centre))
        return np.log(positive / self.centre), variances / np.maximum(values, self.centre) ** 2


def spread_of(parameter: str, values: np.ndarray, variances: np.ndarray, ratios: bool = True) -> ParameterSpread:
    """Return how values (k,) with these variances are spread: x_k ~ N(m, s^2 + v_k), without arms that are far out.

    s is the most likely one, p(s) ~ (sum w)^-1/2 prod w_k^1/2 exp(-w_k (x_k - m)^2 / 2) with w = 1 / (s^2 + v), a uniform prior
    on s (Gelman 2006), and m the mean weighted by w. With `ratios`, logarithms are compared if all values are clearly positive.

    >>> import numpy as np
    >>> x = 0.5 * np.exp(0.2 * np.random.default_rng(0).normal(size=200))
    >>> x[0] = 5.0
    >>> s = spread_of("joint1.viscous", x, np.full(200, 0.01**2))
    >>> s.logarithmic, round(s.centre, 1), round(s.deviation / s.centre, 1)
    (True, 0.5, 0.2)
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


@dataclass(frozen=True, eq=False)
class Standing:
    """How far each arm's own parameters are from what the other arms predict for it.

    Attributes:
        z: The distance (arms, o), in standard deviations of the prediction; 0 where the arm's logs do not determine it.
        chance: The probability (arms, o) that anything at all in a fleet without faults lies as far out.
        predicted: The centre of the prediction (arms, o), compared as `ParameterSpread.compared` does.
        deviation: The standard deviation of the prediction (arms, o), without the error of the arm's own estimate.
    """

    z: np.ndarray
    chance: np.ndarray
    predicted: np.ndarray
    deviation: np.ndarray


def compare_arms(values: np.ndarray, variances: np.ndarray, spreads: Sequence[ParameterSpread]) -> Standing:
    """Return how own parameters (arms, o) with these variances compare with what all other arms predict for them.

    x_k ~ N(m, s^2 + v_k), a few arms being faulty and spread more widely. An arm is compared with the others, so that a fault
    does not widen its own scale: P(|x_k - m| as large | other arms), with m and s integrated out instead of estimated, which in
    a small fleet gives the long tails of Student's t. Parameters that are compared by ratios lend each other strength:
    log s ~ N(mu, tau^2) with mu and tau from all of them (as Smyth 2004 moderates t), so that few arms show what
    spread is usual. `chance` allows for the number n of values that are looked at: 1 - (1 - p)^n.

    >>> import numpy as np
    >>> x = 0.5 * np.exp(0.1 * np.random.default_rng(0).normal(size=(8, 4)))
    >>> x[5, 3] *= 3.0
    >>> v = np.full(x.shape, 1e-4)
    >>> standing = compare_arms(x, v, [spread_of(f"joint{i}.viscous", x[:, i], v[:, i]) for i in range(4)])
    >>> np.argwhere(standing.chance < 0.01).tolist(), bool(standing.z[5, 3] > 4)
    ([[5, 3]], True)
    """
    z, tail, predicted, deviation = result = np.zeros((4, *values.shape))
    tail[:], deviation[:] = 1.0, np.inf
    known = np.isfinite(values) & np.isfinite(variances) & (variances > 0)
    enough = [i for i, each in enumerate(spreads) if np.isfinite(each.deviation) and known[:, i].sum() >= LEAST_ARMS]
    samples = {i: _Sample(*spreads[i].compared(values[known[:, i], i], variances[known[:, i], i])) for i in enough}
    together = [i for i in enough if spreads[i].logarithmic]
    for group in [together, *([i] for i in enough if i not in together)]:
        s, priors = _usual_deviations([samples[i] for i in group])
        for i, prior in zip(group, priors, strict=True):
            result[:, known[:, i], i] = samples[i].compared_with_others(s, prior)
    count = max(int(known[:, enough].sum()), 1)
    return Standing(z, -np.expm1(count * np.log1p(-np.minimum(tail, 1 - 1e-16))), predicted, deviation)


class _Sample:
    """Values x (k,) of one parameter with variances v, and their likelihood for deviations s between arms and centres m."""

    def __init__(self, x: np.ndarray, v: np.ndarray) -> None:
        self.x, self.v = x, v
        self.middle, self.variance = float(np.median(x)), float(np.median(v))
        self.scatter = max(float(np.sqrt(np.mean((x - self.middle) ** 2))), 1e-150)

    def part(self, count: int) -> np.ndarray:
        """Return the indices of at most this many values, picked evenly."""
        return np.unique(np.linspace(0, len(self.x) - 1, min(count, len(self.x))).astype(int))

    def centres(self, s: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return centres m (s, m) that are considered with so many values, and the logarithm of their distance (s, 1)."""
        step = np.sqrt((s**2 + self.variance) / count)[:, None]
        return self.middle + _CENTRES * step, np.log(step)

    def scores(self, which: np.ndarray, s: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the log likelihood (k, s, m) of the values at these indices."""
        variance = s[:, None] ** 2 + self.v[which, None, None]
        squares = (self.x[which, None, None] - m) ** 2 / variance
        sound = np.log1p(-_FAULTY) - 0.5 * squares
        faulty = np.log(_FAULTY / _WIDER) - 0.5 * squares / _WIDER**2
        return np.asarray(np.logaddexp(sound, faulty) - 0.5 * np.log(variance))

    def score(self, s: np.ndarray) -> np.ndarray:
        """Return the log likelihood (s,) of some of the values, the centre being anywhere."""
        from scipy.special import logsumexp

        which = self.part(_USUAL)
        m, step = self.centres(s, len(which))
        return np.asarray(logsumexp(self.scores(which, s, m).sum(axis=0) + step, axis=1))

    def compared_with_others(self, s: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return z, tail probability, centre and deviation (4, k) of each value as the others predict it.

        `prior` (s,) is the log probability of deviations s before the values of this parameter are seen.
        """
        from scipy.special import logsumexp, ndtr

        total = prior + self.score(s)
        support = np.flatnonzero(total > total.max() + _NEGLIGIBLE)
        grid = np.geomspace(s[max(support[0] - 1, 0)], s[min(support[-1] + 1, len(s) - 1)], _POINTS)
        shown = self.part(_SHOWN)
        m, step = self.centres(grid, len(shown))
        everyone = self.scores(shown, grid, m).sum(axis=0) + step + np.interp(np.log(grid), np.log(s), prior)[:, None]

        def predicted(which: np.ndarray) -> np.ndarray:
            x, v = self.x[which, None, None], self.v[which, None, None]
            others = everyone - np.where(np.isin(which, shown)[:, None, None], self.scores(which, grid, m), 0.0)
            weight = np.exp(others - logsumexp(others, axis=(1, 2), keepdims=True))
            variance = grid[:, None] ** 2 + v
            side = (x - m) / np.sqrt(variance)
            sides = [np.sum(weight * ndtr(each), axis=(1, 2)) for each in (side, -side)]
            centre = np.sum(weight * m, axis=(1, 2))
            # As in Student's t, the scale is that of the mean precision.
            scale = 1 / np.sum(weight / variance, axis=(1, 2)) - self.v[which]
            apart = np.maximum(scale, 0.0) + np.sum(weight * (m - centre[:, None, None]) ** 2, axis=(1, 2))
            z = (self.x[which] - centre) / np.sqrt(apart + self.v[which])
            return np.array([z, 2 * np.minimum(*sides), centre, np.sqrt(apart)])

        if len(self.x) <= _SHOWN:
            return predicted(np.arange(len(self.x)))
        middle = int(np.argmin(np.abs(self.x - self.middle)))
        _, _, centre, deviation = predicted(np.array([middle]))[:, 0]
        z = (self.x - centre) / np.sqrt(deviation**2 + self.v)
        result = np.array([z, np.ones(len(z)), np.full(len(z), centre), np.full(len(z), deviation)])
        far = np.flatnonzero(np.abs(z) > _CLOSE)
        for start in range(0, len(far), _SHOWN):
            which = far[start : start + _SHOWN]
            result[:, which] = predicted(which)
        return result


def _usual_deviations(samples: Sequence[_Sample]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return deviations s (s,) and, for each parameter, their log probabilities by the values of the other parameters."""
    from scipy.special import logsumexp

    if not samples:
        return np.ones(1), []
    scatter = np.array([each.scatter for each in samples])
    s = np.geomspace(_NARROWEST * scatter.min(), _BROADEST * scatter.max(), _POINTS)
    usual = -0.5 * (np.log(s / s[:, None]) / _UNEQUAL) ** 2  # (tau, mu, s)
    usual -= logsumexp(usual, axis=2, keepdims=True)
    evidence = [logsumexp(usual + each.score(s), axis=2) for each in samples]  # (tau, mu) of each parameter
    together = np.sum(evidence, axis=0)
    return s, [np.asarray(logsumexp(usual + (together - own)[:, :, None], axis=(0, 1))) for own in evidence]


# The probability that some arm of a sound fleet is mistaken for an odd one.
_FALSE = 1e-3
# With fewer arms, nobody can say which one is odd.
_LEAST_TO_CHOOSE = 4


def odd_arms(arms: Sequence[ArmTriangle], freedom: Sequence[float]) -> dict[int, float]:
    """Return the arms that do not share the links of the others, and their F, the most conspicuous first.

    x is the estimate of the shared parameters without arm k, and C its covariance. If the arm has the same links, then
    e = d_k - D_k x has the covariance I + D_k C D_k^T, and e^T (I + D_k C D_k^T)^-1 e / rank is F(rank, freedom)-distributed. In
    a fleet in which that is larger than 1 for most arms, since no model is perfect, an arm has to stand out from them.
    `freedom` are the degrees of freedom of the noise of each arm.
    """
    from scipy.stats import f as f_distribution

    left, result = list(range(len(arms))), dict[int, float]()
    while len(left) >= _LEAST_TO_CHOOSE and len(result) < (len(arms) - 1) // 2:
        ratios, ranks = _ratios([arms[k] for k in left])
        ratios = ratios / max(1.0, float(np.median(ratios)))
        degrees = np.array([max(freedom[k], 1.0) for k in left])
        limits = f_distribution.isf(_FALSE / len(arms), np.maximum(ranks, 1), degrees)
        worst = int(np.argmax(ratios / limits))
        if ratios[worst] <= limits[worst]:
            break
        result[left.pop(worst)] = float(ratios[worst])
    return result


def _ratios(arms: Sequence[ArmTriangle]) -> tuple[np.ndarray, np.ndarray]:
    """Return the ratio of each arm, and its rank."""
    count = arms[0].rest.shape[1] - 1
    scale = np.sqrt(sum((np.sum(arm.rest[:, :-1] ** 2, axis=0) for arm in arms), np.zeros(count)))
    scale = np.where(scale > 0, scale, 1.0)
    parts = [(arm.rest[:count, :-1] / scale, arm.rest[:count, -1]) for arm in arms]
    information = sum((d.T @ d for d, _ in parts), np.zeros((count, count)))
    moments = sum((d.T @ z for d, z in parts), np.zeros(count))
    ratios, ranks = [], []
    for d, z in parts:
        others = np.linalg.pinv(information - d.T @ d, rcond=1e-10, hermitian=True)
        error = z - d @ (others @ (moments - d.T @ z))
        # Directions of the links that the other arms do not determine say nothing.
        sizes, vectors = np.linalg.eigh(np.eye(len(d)) + d @ others @ d.T)
        rank = int(np.linalg.matrix_rank(d))
        ratios.append(float(np.sum((vectors.T @ error) ** 2 / sizes)) / max(rank, 1))
        ranks.append(rank)
    return np.array(ratios), np.array(ranks)
