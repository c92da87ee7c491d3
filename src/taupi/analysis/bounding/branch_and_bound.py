"""Branch and bound: the largest or smallest value of a norm of a function over boxes, enclosed with certainty.

On a box the function is affine plus a small remainder (`taylor_expansion`), and a convex norm of such a family is bounded by its
vertices (`norms`). The error is of second order in the box's width, so few boxes remain around a smooth maximum. Every bound
includes its rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taupi.analysis.bounding.norms import ConvexFunction, upper_bound
from taupi.analysis.bounding.taylor_expansion import BoxFunction

BATCH = 1024  # boxes that are bounded together
STARTS = 6  # the best random points, from which ascents start
POLISH = 12  # how often an ascent starts from a better point


@dataclass(frozen=True, eq=False)
class Maximisation:
    """The maximum of sense * norm(F(x)) over the union of boxes [lo, hi], each of shape (boxes, size)."""

    function: BoxFunction
    norm: ConvexFunction
    lo: np.ndarray
    hi: np.ndarray
    sense: int = 1

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the objective at points, in doubles."""
        f = self.function.value(x).reshape(-1, *self.function.shape)
        return self.sense * self.norm.value(f)

    def gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the objective and its gradient at points."""
        f, slopes = self.function.at(x)
        shaped = f.reshape(-1, *self.function.shape)
        g = self.norm.gradient(shaped).reshape(f.shape)
        gradient = np.zeros(x.shape)
        gradient[:, self.function.free] = np.einsum("be,bek->bk", g, slopes)
        return self.sense * self.norm.value(shaped), self.sense * gradient


@dataclass(frozen=True)
class EnclosedMaximum:
    """What is known of the maximum: `lower` is attained at `at`, no value exceeds `upper`; and the work that this took."""

    lower: float
    upper: float
    at: np.ndarray
    boxes: int
    samples: int


def _certain(problem: Maximisation, x: np.ndarray) -> np.ndarray:
    """Return values that the objective certainly reaches at points."""
    function = problem.function
    f, radius = (v.reshape(-1, *function.shape) for v in function.enclosed(x))
    return -upper_bound(problem.norm, -problem.sense, f, np.zeros((*f.shape, 0)), radius)


def _bounded(problem: Maximisation, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return upper bounds of the objective on boxes, and how much each variable adds to the error of the bound."""
    function = problem.function
    local, shape = function.local(lo, hi), (-1, *function.shape)
    slopes = local.slopes.reshape(len(lo), *function.shape, len(function.free))
    by_taylor = upper_bound(problem.norm, problem.sense, local.f.reshape(shape), slopes, local.rest.reshape(shape))
    flat = np.zeros((len(lo), *function.shape, 0))
    by_range = upper_bound(problem.norm, problem.sense, local.middle.reshape(shape), flat, local.radius.reshape(shape))
    scale = np.maximum(np.abs(local.f).max(-1, initial=0.0), 1e-300)
    parts = local.parts + (local.slopes * local.slopes).sum(1) / scale[:, None]
    return np.fmin(by_taylor, by_range), np.where((hi > lo)[:, function.free], parts, -1.0)


def _uphill(problem: Maximisation, x: np.ndarray) -> np.ndarray:
    """Return the points that ascents from x reach, each inside the box that contains its start."""
    box = [int(((p >= problem.lo) & (p <= problem.hi)).all(1).argmax()) for p in x]
    return ascend(problem.values, problem.gradient, x, problem.lo[box], problem.hi[box])


def _best_point(problem: Maximisation, samples: int, seed: int) -> np.ndarray:
    """Return the best of `samples` random points of the boxes, after following the best few of them uphill."""
    rng = np.random.default_rng(seed)
    box = rng.integers(len(problem.lo), size=samples)
    x = problem.lo[box] + rng.random((samples, problem.lo.shape[1])) * (problem.hi - problem.lo)[box]
    x = np.clip(x, problem.lo[box], problem.hi[box])
    best = x[np.argsort(-problem.values(x), kind="stable")[:STARTS]]
    points = np.concatenate([best, _uphill(problem, best)])
    return points[problem.values(points).argmax()]


def random_search(problem: Maximisation, samples: int, seed: int) -> EnclosedMaximum:
    """Return what random points and ascents from them attain, with no upper bound."""
    best = _Incumbent(problem, _best_point(problem, samples, seed))
    return EnclosedMaximum(best.value, np.inf, best.at, 0, samples)


class _Incumbent:
    """The best point so far, and the value that is certainly reached there."""

    def __init__(self, problem: Maximisation, at: np.ndarray) -> None:
        self.problem, self.at, self.polished = problem, at, 0
        self.value = float(_certain(problem, at[None])[0])

    def offer(self, x: np.ndarray) -> None:
        """Keep the best of points x, followed uphill, if it is better than the point so far."""
        values = self.problem.values(x)
        best = x[values.argmax()]
        # An ascent is worth its cost only from a place that is clearly better, not by the last digits.
        if values.max() <= self.value + 1e-9 * abs(self.value):
            return
        if self.polished < POLISH:
            self.polished += 1
            both = np.concatenate([best[None], _uphill(self.problem, best[None])])
            best = both[self.problem.values(both).argmax()]
        value = float(_certain(self.problem, best[None])[0])
        if value > self.value:
            self.at, self.value = best, value


def enclose(
    problem: Maximisation, tolerance: float, boxes: int, samples: int = 1000, seed: int = 0, floor: float = 0.0
) -> EnclosedMaximum:
    """Return an enclosure of the maximum, no wider than `tolerance` times it, or than `floor`, unless `boxes` run out.

    It starts from the best of `samples` random points, drawn with `seed`.
    """
    best = _Incumbent(problem, _best_point(problem, samples, seed))
    lo, hi = problem.lo, problem.hi
    upper, parts = _in_batches(problem, lo, hi)
    best.offer(lo + (hi - lo) / 2)
    used, settled = len(lo), -np.inf
    while True:
        allowed = best.value + max(tolerance * abs(best.value), floor)
        closed = upper <= allowed
        settled = max(settled, upper[closed].max(initial=-np.inf))
        stuck = ~closed & (parts.max(1, initial=-1.0) <= 0)  # nothing left to split
        settled = max(settled, upper[stuck].max(initial=-np.inf))
        open_ = ~(closed | stuck)
        lo, hi, upper, parts = lo[open_], hi[open_], upper[open_], parts[open_]
        if not len(lo) or used >= boxes:
            break
        # The boxes with the highest bounds come first; the others wait.
        order = np.argsort(-upper, kind="stable")
        take = order[: min(BATCH, (boxes - used + 1) // 2)]
        new_lo, new_hi = _halved(lo[take], hi[take], parts[take], problem.function.free)
        new_upper, new_parts = _in_batches(problem, new_lo, new_hi)
        new_upper = np.minimum(new_upper, np.concatenate([upper[take]] * 2))
        best.offer(new_lo + (new_hi - new_lo) / 2)
        used += len(new_lo)
        wait = order[len(take) :]
        lo, hi = np.concatenate([lo[wait], new_lo]), np.concatenate([hi[wait], new_hi])
        upper, parts = np.concatenate([upper[wait], new_upper]), np.concatenate([parts[wait], new_parts])
    top = max(best.value, settled, upper.max(initial=-np.inf))
    return EnclosedMaximum(best.value, float(top), best.at, used, samples)


def _in_batches(problem: Maximisation, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    pieces = [_bounded(problem, lo[k : k + BATCH], hi[k : k + BATCH]) for k in range(0, len(lo), BATCH)]
    return np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])


def _halved(lo: np.ndarray, hi: np.ndarray, parts: np.ndarray, free: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return both halves of each box, cut across the variable that adds most to the error of its bound."""
    rows = np.arange(len(lo))
    cut = np.asarray(free)[parts.argmax(1)]
    middle = lo[rows, cut] + (hi[rows, cut] - lo[rows, cut]) / 2
    left, right = hi.copy(), lo.copy()
    left[rows, cut] = middle
    right[rows, cut] = middle
    return np.concatenate([lo, right]), np.concatenate([left, hi])


Value = Callable[[np.ndarray], np.ndarray]  # f at points
Gradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # f and df/dx at points
STEPS = 60
HALVINGS = 20


def ascend(value: Value, gradient: Gradient, x: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Return the points that projected BFGS steps reach from each row of `x` (starts, size) within [lo, hi].

    `value` gives f, `gradient` f and its gradient. Entries at an end towards which the gradient points are held (Bertsekas
    1982). A step is halved until f rises enough, and a row whose f no longer rises is finished.
    """
    x = x.copy()
    f, g = gradient(x)
    h = np.repeat(np.eye(x.shape[1])[None], len(x), axis=0) * _first_step(g, hi - lo)[:, None, None]
    going = np.arange(len(x))
    for _ in range(STEPS):
        old, low, high, slope = x[going], lo[going], hi[going], g[going]
        held = ((old <= low) & (slope < 0)) | ((old >= high) & (slope > 0)) | (low == high)
        uphill = np.where(held, 0.0, slope)
        p = np.where(held, 0.0, np.einsum("bij,bj->bi", h[going], uphill))
        wrong = (p * uphill).sum(1) <= 0  # p does not lead uphill: start again along the gradient
        p[wrong] = uphill[wrong] * _first_step(slope, high - low)[wrong, None]
        new = _stepped(value, old, f[going], uphill, p, low, high)
        f_new, g_new = gradient(new)
        h[going] = _updated(h[going], new - old, slope - g_new, wrong)
        rising = f_new - f[going] > 1e-14 * np.abs(f_new)
        x[going], f[going], g[going] = new, f_new, g_new
        going = going[rising]
        if not len(going):
            break
    return x


def _first_step(g: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the length of a first step along the gradient: a tenth of the range."""
    return 0.1 * width.max(1) / np.maximum(np.abs(g).max(1), 1e-300)


def _stepped(
    value: Value, x: np.ndarray, f: np.ndarray, g: np.ndarray, p: np.ndarray, lo: np.ndarray, hi: np.ndarray
) -> np.ndarray:
    """Return the points after a step along p; a row that cannot rise stays where it is."""
    t, best, open_ = 1.0, x.copy(), np.arange(len(x))
    for _ in range(HALVINGS):
        trial = np.clip(x[open_] + t * p[open_], lo[open_], hi[open_])
        rise = value(trial) - f[open_]
        good = (rise > 0) & (rise >= 1e-4 * (g[open_] * (trial - x[open_])).sum(1))
        best[open_[good]] = trial[good]
        open_ = open_[~good]
        if not len(open_):
            break
        t /= 2
    return best


def _updated(h: np.ndarray, s: np.ndarray, y: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the inverse Hessians of -f after a step s that changed its gradient by y (BFGS); `wrong` rows keep theirs."""
    sy = (s * y).sum(1)
    use = sy > 1e-12 * np.sqrt((s * s).sum(1) * (y * y).sum(1))
    rho = np.where(use, 1 / np.where(use, sy, 1.0), 0.0)[:, None, None]
    left = np.eye(s.shape[1]) - rho * s[:, :, None] * y[:, None, :]
    new = left @ h @ np.swapaxes(left, 1, 2) + rho * s[:, :, None] * s[:, None, :]
    return np.where((use & ~wrong)[:, None, None], new, h)
