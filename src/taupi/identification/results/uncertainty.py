"""Standard errors, degrees of freedom of intervals, what single logs decide, and how far estimates are from known values.

Two covariances of an estimate have opposite weaknesses. That of the bandwidth takes the noise of a joint to be of one size, and
counts how many of its rows are independent; it holds for the shortest logs, if the model is right. That of stretches of time (the
"sandwich") allows for residuals of any size that are correlated in any way within a stretch, but needs many stretches. They are
mixed by how far the second is from the first, compared with how uncertain it is itself (Ledoit & Wolf 2004).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.checks import is_number, real_array
from taupi.checks import truth as true_or_false
from taupi.dynamics.types import ArrayLike
from taupi.errors import TaupiError
from taupi.identification.rows.factors import JointFactor, stack_factors

# A stretch that alone determines a combination leaves no residual that would show how wrong it is. Up to a leverage of 1 - BLIND,
# the residual is enlarged accordingly; what is still missing then is taken from the covariance of the bandwidth.
BLIND = 0.05
# Degrees of freedom of a joint's noise for which no independent rows are left. A parameter that depends on such a joint alone has
# fewer than one, and its standard error is infinite.
_NOTHING = 0.25
# Neighbouring logs are joined if there are more: enough clusters for standard errors, and bounded memory.
_CLUSTERS = 512
# Runs share a parameter if at least this part of what is known of it would be left without a run; that they disagree by chance
# has this probability.
_SHARED_BY_RUNS, _BY_CHANCE = 0.1, 0.01
# Parameters whose degrees of freedom are computed together: enough for products of matrices, few enough for memory.
_AT_ONCE = 16


@dataclass(frozen=True)
class Uncertainty:
    """The covariance (b, b) of an estimate, and the degrees of freedom (b,) of its intervals, 0 where no row is left."""

    covariance: np.ndarray
    freedom: np.ndarray

    @property
    def unknown(self) -> np.ndarray:
        """Which parameters have no standard error (b,): they depend on fewer independent rows than parameters."""
        return np.asarray(self.freedom < 1)


def relative_error(values: np.ndarray, stderr: np.ndarray) -> np.ndarray:
    """Return standard errors relative to the estimates (b,), infinite where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = stderr / np.abs(values)
    return np.where(np.isnan(ratio), np.inf, ratio)


def covariance_root(covariance: np.ndarray) -> np.ndarray:
    """Return A (b, b) with A A^T = C, for a covariance C that may be singular; eigenvalues below zero are rounding."""
    variances, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(variances, 0.0)))


def check_level(level: object) -> None:
    """Refuse a confidence `level` that is not a share between 0 and 1."""
    if not is_number(level) or not 0 < level < 1:
        raise TaupiError("{level} is {got!r}, expected a share between 0 and 1, such as 0.95.", got=level)


def student_intervals(values: np.ndarray, stderr: np.ndarray, freedom: np.ndarray, level: float) -> np.ndarray:
    """Return values -+ t stderr (b, 2), with Student's t for the degrees of `freedom` (b,); infinite where `stderr` is."""
    from scipy.stats import t

    check_level(level)
    half = np.asarray(t.ppf(0.5 + level / 2, np.maximum(freedom, 1.0))) * stderr
    return np.stack([values - half, values + half], axis=1)


def uncertainty(
    pieces: Sequence[JointFactor], weights: Mapping[tuple[int, int], float], x: np.ndarray, spread: np.ndarray
) -> Uncertainty:
    """Return the uncertainty of x = argmin sum |w (Y x - tau)|^2.

    With A = `spread`, A A^T = (Y^T Y)^-1, the covariance is A M A^T, M being the covariance of the scores A^T Y^T r. For noise of
    one size in each file and joint, with N independent rows (`JointFactor.independent`),

        M_0 = sum over files and joints of v A^T Y^T Y A,    v = |r|^2 / (N - h),    h = tr(A^T Y^T Y A).

    M_1 = `StretchScores.meat` is that of the sandwich. M = e ((1 - a) M_1 + a c M_0), with c >= 1 the size of the scores of
    stretches relative to what M_0 expects of them, a = min(1, |error of M_1|^2 / |M_1 - c M_0|^2), in the units of M_0, and e
    >= 1 for what neighbouring stretches have in common; c and e are 1 unless that is significant. Degrees of freedom are
    Satterthwaite's (1946), for each parameter. `pieces` are the factors of all stretches, `weights` the w of each (file,
    joint), 1 by default. If there are more than 512 files, neighbours count as one: weighted rows of a joint have noise of one
    size.
    """
    b, d = spread.shape
    groups, stretches = _Groups(pieces, weights, x, spread), StretchScores(pieces, weights, x, spread)
    if not d or groups.independent.sum() - groups.determined.sum() < 1:
        return Uncertainty(spread @ spread.T, np.zeros(b))
    expected, blind = groups.meat, groups.meat @ stretches.blind
    measured = stretches.meat + 0.5 * (blind + blind.T)
    share, size, longer = _mixture(measured, expected, stretches)
    covariance = longer * spread @ ((1 - share) * measured + share * size * expected) @ spread.T
    # Satterthwaite: the part that is estimated from squares of stretches, and the rest, from the noise of the joints.
    variance = np.maximum(np.diag(covariance), np.finfo(float).tiny)
    squares = longer * (1 - share) * np.einsum("bd,de,be->b", spread, stretches.meat, spread) / variance
    rest = np.clip(1 - squares, 0.0, 1.0)
    freedom = 1 / (squares**2 / stretches.freedom() + rest**2 / groups.freedom() + 1e-9)
    return Uncertainty(0.5 * (covariance + covariance.T), freedom)


@dataclass(frozen=True)
class RunEffects:
    """How much more runs disagree than noise within them explains.

    Attributes:
        factors: The factor (b,) of each parameter's standard error, the same for all parameters of a kind; 1 where runs agree.
        freedom: The degrees of freedom (b,) of that factor.
        disagreement: The kinds about which runs disagree, with the factor of their standard errors.
    """

    factors: np.ndarray
    freedom: np.ndarray
    disagreement: Mapping[str, float]

    def added(self, uncertain: Uncertainty) -> Uncertainty:
        """Return an uncertainty with what runs do not have in common."""
        # By Satterthwaite: the share of the variance that comes from so few runs has their degrees of freedom.
        share = 1 - 1 / self.factors**2
        inverse = (1 - share) ** 2 / np.maximum(uncertain.freedom, 1e-9) + share**2 / np.maximum(self.freedom, 1.0)
        freedom = np.where(share > 0, 1 / inverse, uncertain.freedom)
        return Uncertainty(uncertain.covariance * np.outer(self.factors, self.factors), freedom)


def run_effects(
    pieces: Sequence[JointFactor],
    weights: Mapping[tuple[int, int], float],
    x: np.ndarray,
    spread: np.ndarray,
    uncertain: Uncertainty,
    kinds: Sequence[str],
) -> RunEffects:
    """Return the between-run component of the errors of x (b,), as in a mixed model, pooled over parameters of a kind.

    Run i moves the estimate by c_i = A A^T Y_i^T (tau_i - Y_i x), A = `spread`. If the errors of different runs have nothing in
    common but what the covariance C in `uncertain` says of them, then E sum_i c_ip^2 = k_p C_pp, with k_p = [A sum_i (S_i -
    S_i^2) A^T]_pp / [A A^T]_pp and S_i = A^T Y_i^T Y_i A. The mean of sum_i c_ip^2 / (k_p C_pp) over the parameters of a kind is
    a chi^2 over its degrees of freedom, (runs - 1) times parameters; where it is larger beyond chance, it multiplies C.
    """
    from scipy.stats import chi2

    b, d = spread.shape
    cluster = _clusters(pieces)
    runs = sorted(set(cluster.values()))
    none = RunEffects(np.ones(b), np.full(b, np.inf), {})
    if len(runs) < 2 or not d:
        return none
    shares, scores = np.zeros((len(runs), d, d)), np.zeros((len(runs), d))
    place = {run: k for k, run in enumerate(runs)}
    for f in pieces:
        r, k = f.r * weights.get((f.file, f.joint), 1.0), place[cluster[f.file]]
        y = r[:, :-1] @ spread
        shares[k] += y.T @ y
        scores[k] += y.T @ (r[:, -1] - r[:, :-1] @ x)
    left = np.einsum("bd,de,be->b", spread, np.sum(shares - shares @ shares, axis=0), spread)
    moved = np.sum((scores @ spread.T) ** 2, axis=0)
    total, variance = np.sum(spread**2, axis=1), np.diag(uncertain.covariance)
    # A parameter that one run determines alone says nothing of the others.
    shared = (left > _SHARED_BY_RUNS * total) & (variance > 0) & ~uncertain.unknown
    ratios = moved / np.where(shared, left / np.where(total > 0, total, 1.0) * variance, 1.0)
    factors, freedom, disagreement = np.ones(b), np.full(b, np.inf), {}
    for kind in dict.fromkeys(kinds):
        own = np.array([k == kind for k in kinds])
        if not (own & shared).any():
            continue
        ratio, degrees = float(ratios[own & shared].mean()), int((own & shared).sum()) * (len(runs) - 1)
        if ratio > chi2.ppf(1 - _BY_CHANCE, degrees) / degrees:
            factors[own], freedom[own] = np.sqrt(ratio), degrees
            disagreement[kind] = float(np.sqrt(ratio))
    return RunEffects(factors, freedom, disagreement)


def loss_significance(
    pieces: Sequence[JointFactor], weights: Mapping[tuple[int, int], float], x: np.ndarray, best: np.ndarray
) -> float:
    """Return how many standard errors the sum of squares at `x` is above that at `best`: a z-score over stretches of time.

    z = sum_k d_k / sqrt(sum_k (d_k - d)^2), with d_k the difference of the sums of squares in stretch k and d its mean; it is
    valid if different stretches are nearly independent, whatever the noise within one is like.
    """
    differences: dict[tuple[int, int], float] = {}
    for f in pieces:
        rows = f.r * weights.get((f.file, f.joint), 1.0)
        losses = [float(np.sum((rows @ np.append(v, -1.0)) ** 2)) for v in (x, best)]
        differences[f.file, f.stretch] = differences.get((f.file, f.stretch), 0.0) + losses[0] - losses[1]
    d = np.array(list(differences.values()))
    spread = float(np.sqrt(np.sum((d - d.mean()) ** 2))) if len(d) > 1 else np.inf
    return float(d.sum()) / max(spread, 1e-300)


def _clusters(pieces: Sequence[JointFactor]) -> dict[int, int]:
    """Return the cluster of each file: the file itself, or, for very many files, groups of neighbours in 512 clusters."""
    files = sorted({f.file for f in pieces})
    together = -(-len(files) // _CLUSTERS) or 1
    return {file: file if together == 1 else k // together for k, file in enumerate(files)}


class _Groups:
    """The rows of each (file, joint): how many are independent, their noise, and its effect on the scores."""

    def __init__(
        self, pieces: Sequence[JointFactor], weights: Mapping[tuple[int, int], float], x: np.ndarray, spread: np.ndarray
    ) -> None:
        cluster = _clusters(pieces)
        keys = sorted({(cluster[f.file], f.joint) for f in pieces if f.rows and weights.get((f.file, f.joint), 1.0)})
        place, d = {key: k for k, key in enumerate(keys)}, spread.shape[1]
        self.spread = spread
        self.independent, self.squares = np.zeros(len(keys)), np.zeros(len(keys))
        self.information = np.zeros((len(keys), d, d))
        for f in pieces:
            key, weight = (cluster[f.file], f.joint), weights.get((f.file, f.joint), 1.0)
            if key not in place or not weight:
                continue
            k, r = place[key], f.r * weight
            y = r[:, :-1] @ spread
            self.independent[k] += f.independent
            self.squares[k] += float(np.sum((r @ np.append(x, -1.0)) ** 2))
            self.information[k] += y.T @ y
        self.determined = np.trace(self.information, axis1=1, axis2=2)
        self.left = np.maximum(self.independent - self.determined, _NOTHING)
        # The variance of a row, |r|^2 / rows / (1 - h / N), times rows / N, since correlated rows say less than independent ones.
        self.variance = self.squares / self.left

    @property
    def meat(self) -> np.ndarray:
        """M_0 (d, d)."""
        return np.einsum("g,gde->de", self.variance, self.information)

    def freedom(self) -> np.ndarray:
        """Return the degrees of freedom (b,) of A M_0 A^T."""
        parts = np.array([np.sum((self.spread @ each) * self.spread, axis=1) for each in self.information]).T
        parts *= self.variance
        total = np.maximum(parts.sum(axis=1), np.finfo(float).tiny)
        return np.asarray(1 / np.maximum(np.sum((parts / total[:, None]) ** 2 / self.left, axis=1), 1e-9))


class StretchScores:
    """The scores of stretches of time, corrected for the influence of each on the estimate (Bell & McCaffrey 2002, "CR2").

    The score of stretch k over all its joints is g_k = A^T Y_k^T (I - H_k)^-1/2 (tau_k - Y_k x), H_k = Y_k A A^T Y_k^T, and
    `meat` is sum_k g_k g_k^T (d, d). It is valid if the residuals of different stretches are nearly independent. `plain` (K, d)
    are the scores without the correction, `shares` (K, d, d) are S_k = A^T Y_k^T Y_k A, which add up to the identity. `blind`
    (d, d) is the part of the identity that corrected scores miss, because stretches determine it alone. `neighbours` (2, m) are
    the places of stretches that follow each other.
    """

    def __init__(
        self, pieces: Sequence[JointFactor], weights: Mapping[tuple[int, int], float], x: np.ndarray, spread: np.ndarray
    ) -> None:
        groups: dict[tuple[int, int], list[JointFactor]] = {}
        cluster = _clusters(pieces)
        for f in pieces:
            if len(f.r):
                groups.setdefault((cluster[f.file], f.stretch), []).append(f)
        d = spread.shape[1]
        self.spread = spread
        keys = list(groups)
        place = {key: k for k, key in enumerate(keys)}
        pairs = [(k, place[file, at + 1]) for k, (file, at) in enumerate(keys) if (file, at + 1) in place]
        self.neighbours = np.array(pairs, dtype=int).reshape(-1, 2).T
        self.plain, self.scores = np.zeros((2, len(groups), d))
        self.shares, self._turned = np.zeros((2, len(groups), d, d))
        self._leverage = np.zeros((len(groups), d))
        for k, group in enumerate(groups.values()):
            rows = np.vstack([f.r * weights.get((f.file, f.joint), 1.0) for f in group])
            y = rows[:, :-1] @ spread
            self.shares[k] = y.T @ y
            self.plain[k] = y.T @ (rows[:, -1] - rows[:, :-1] @ x)
            # y^T (I - y y^T)^-1/2 r = V (I - S)^-1/2 V^T y^T r with y^T y = V S V^T, which is small.
            leverage, v = np.linalg.eigh(self.shares[k])
            self._leverage[k], self._turned[k] = np.clip(leverage, 0.0, 1.0), v
            self.scores[k] = v @ ((v.T @ self.plain[k]) / np.sqrt(np.maximum(1 - self._leverage[k], BLIND)))

    @property
    def meat(self) -> np.ndarray:
        """M_1 (d, d), as far as residuals show it."""
        return np.asarray(self.scores.T @ self.scores)

    @property
    def blind(self) -> np.ndarray:
        """What M_1 misses of the identity (d, d)."""
        kept = (1 - self._leverage) / np.maximum(1 - self._leverage, BLIND)
        missing = (self._turned * (self._leverage * (1 - kept))[:, None, :]).transpose(1, 0, 2)
        d = len(missing)
        return np.asarray(missing.reshape(d, -1) @ self._turned.transpose(1, 0, 2).reshape(d, -1).T)

    def freedom(self) -> np.ndarray:
        """Return the degrees of freedom (b,) of A M_1 A^T if rows are independent: (tr G)^2 / tr(G^2) of G (K, K).

        The variance of parameter c^T x is sum_k (a_k^T r)^2 with a_k = Y_k (I - H_k)^-1/2 c, so that G_kl = a_k^T (I - H) a_l.
        """
        correction = np.maximum(1 - self._leverage, BLIND)
        own, root = self._leverage * (1 - self._leverage) / correction, self._leverage / np.sqrt(correction)
        length = np.maximum(np.linalg.norm(self.spread, axis=1, keepdims=True), np.finfo(float).tiny)
        result = np.full(len(self.spread), 1e-3)
        for start in range(0, len(self.spread), _AT_ONCE):
            along = (self.spread / length)[start : start + _AT_ONCE] @ self._turned  # (K, some, d)
            diagonals = np.sum(along**2 * own[:, None, :], axis=2)
            along *= root[:, None, :]
            back = (along @ self._turned.transpose(0, 2, 1)).transpose(1, 0, 2)
            for i, (p, diagonal) in enumerate(zip(back, diagonals.T, strict=True)):
                off = float(np.sum((p.T @ p) ** 2) - np.sum(np.sum(p**2, axis=1) ** 2))
                square = float(np.sum(diagonal**2)) + max(off, 0.0)
                if square > 0:
                    result[start + i] = max(float(diagonal.sum()) ** 2 / square, 1e-3)
        return result


def _mixture(measured: np.ndarray, expected: np.ndarray, stretches: StretchScores) -> tuple[float, float, float]:
    """Return a, c and e of `uncertainty`, with M_1 = `measured` and M_0 = `expected`.

    In the units of M_0 the scores of all stretches have the covariance I, if the noise is as the bandwidth says; those of one
    stretch, without corrections, have tr(S_k - S_k^2) as their mean square.
    """
    count, d = stretches.plain.shape
    if not np.trace(expected) > 0:
        return 1.0, 1.0, 1.0
    half = np.linalg.inv(np.linalg.cholesky(expected + 1e-12 * np.trace(expected) / d * np.eye(d)))
    plain, scores, m = stretches.plain @ half.T, stretches.scores @ half.T, half @ measured @ half.T
    mean = float(np.einsum("kdd->", stretches.shares) - np.sum(stretches.shares**2))
    if count < 2 or mean < BLIND * d:
        return 1.0, 1.0, 1.0
    size = float(np.sum(plain**2)) / mean
    # Noise that outlasts a stretch: neighbours have scores in common, apart from the -S_k S_l that minimising leaves.
    one, two = stretches.neighbours
    common = float(np.sum(plain[one] * plain[two])) + size * float(
        np.sum(stretches.shares[one] * stretches.shares[two])
    )
    longer = max(0.5, 1 + 2 * common / (size * d))
    # How much both vary if the noise is as the bandwidth says: scores then have the covariance S_k - S_k^2.
    apart = stretches.shares - stretches.shares @ stretches.shares
    variance = 2 * float(np.sum(apart**2)) / mean**2 + 4 * float(np.sum(apart[one] * apart[two])) / d**2
    if size * longer < 1 + 2 * np.sqrt(variance):
        size = longer = 1.0
    size, longer = max(size, 1.0), max(longer, 1.0)
    # |error of M_1|^2, from the scatter of the scores, but not less than that of normal scores with the covariances S_k.
    fourth = float(np.sum(np.sum(scores**2, axis=1) ** 2))
    error = (fourth - float(np.sum((scores.T @ scores) ** 2)) / count) * count / (count - 1)
    normal = np.sum(np.einsum("kdd->k", stretches.shares) ** 2) + np.sum(stretches.shares**2)
    error = max(error, size**2 * float(normal))
    distance = float(np.sum((m - size * np.eye(d)) ** 2))
    return (min(1.0, error / distance) if distance > 0 else 1.0), size, longer


# The logs are left out in this many parts: every fourth log, or stretches of time if there are fewer logs.
_PARTS = 4
# A parameter that moves by this many of its standard errors, and by this share of its value, is not as certain as it seems.
_FAR, _SHARE = 5.0, 0.5


def shifts(
    pieces: Sequence[JointFactor], weights: Mapping[tuple[int, int], float], x: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """Return the largest change of each parameter (b,) if one of four parts of the logs is left out.

    Without part k, x moves by -A (I - Y_k^T Y_k)^-1 Y_k^T (tau_k - Y_k x), with the rows of the part in coordinates in which all
    rows together are orthonormal, A = `spread`. A parameter that mostly depends on that part moves by its whole value, x.
    """
    groups: dict[int, list[JointFactor]] = {}
    files = {f.file for f in pieces}
    stretches = 1 + max((f.stretch for f in pieces), default=0)
    for f in pieces:
        part = f.file % _PARTS if len(files) >= _PARTS else f.stretch * _PARTS // stretches
        groups.setdefault(part, []).append(f)
    largest = np.zeros(len(x))
    for group in groups.values():
        rows = stack_factors(group, weights)
        y = rows[:, :-1] @ spread
        share, v = np.linalg.eigh(y.T @ y)
        alone = share > 1 - 1e-6
        score = v.T @ (y.T @ (rows[:, -1] - rows[:, :-1] @ x))
        moved = spread @ (v[:, ~alone] @ (score[~alone] / (1 - share[~alone])))
        decided = np.sum((spread @ v[:, alone]) ** 2, axis=1) > 0.5 * np.sum(spread**2, axis=1)
        largest = np.maximum(largest, np.where(decided, np.abs(x), np.abs(moved)))
    return largest


def sensitivity_note(
    names: Sequence[str], values: np.ndarray, covariance: np.ndarray, moved: np.ndarray, undetermined: np.ndarray
) -> str:
    """Return a note on parameters (b,) that are less certain than their `covariance` (b, b) says; empty if there are none."""
    stderr = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
    uncertain = ~undetermined & (moved > _FAR * stderr) & (moved > _SHARE * np.abs(values))
    if not uncertain.any():
        return ""
    order = np.argsort(-np.where(uncertain, moved / np.maximum(stderr, 1e-300), 0.0))[: int(uncertain.sum())]
    listed = ", ".join(names[k] for k in order[:8]) + (f" and {len(order) - 8} more" if len(order) > 8 else "")
    return (
        f"Determined only by a part of the logs: {listed}. Without one of {_PARTS} parts of the logs they move by more than "
        f"{_FAR:g} standard errors and by half of their value."
    )


def relative_errors(values: ArrayLike, truth: ArrayLike, signed: bool = False) -> np.ndarray:
    """Return |values - truth| / |truth|, or |values - truth| where the truth is 0: the terms of the normalised mean error.

    Args:
        values: Estimates (..., p).
        truth: What they should be, (p,) or (..., p).
        signed: Whether to return (values - truth) / truth, or values where the truth is 0; False by default.

    >>> relative_errors([3.0, 0.5], [2.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    got, real = real_array("values", values), real_array("truth", truth)
    if not real.size:
        raise TaupiError("{truth} has shape {got}, expected (..., p): one value per parameter.", got=real.shape)
    if got.shape[-1:] != real.shape[-1:] or not got.size:
        expected = f"(..., {real.shape[-1]})" if real.ndim else "()"
        raise TaupiError(
            "{values} has shape {got}, expected that of the truth, {expected}.", got=got.shape, expected=expected
        )
    off: np.ndarray = (got - real) / np.where(real == 0, 1.0, real)
    return off if true_or_false("signed", signed) else np.abs(off)


def normalised_mean_error(values: ArrayLike, truth: ArrayLike, signed: bool = False) -> float:
    """Return the mean of |values - truth| / |truth|, or of |value| for a parameter that is 0 (Zollo et al. 2014, section 6).

    Args:
        values: Estimates (..., p).
        truth: What they should be, (p,) or (..., p).
        signed: Whether errors of opposite signs cancel: the size of the mean of (values - truth) / truth, False by default.
            Both figures that the paper prints follow from its Table 1 in this way.

    >>> import taupi as tp
    >>> tp.results.normalised_mean_error([2.1, 0.5, -1.0], [2.0, 0.0, -1.0]).__round__(12)
    0.183333333333
    >>> tp.results.normalised_mean_error([2.1, 0.5, -1.2], [2.0, 0.0, -1.0], signed=True).__round__(12)
    0.25
    """
    return float(abs(relative_errors(values, truth, signed).mean()))
