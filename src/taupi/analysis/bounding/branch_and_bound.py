"""Branch and bound: the largest or smallest value of a norm of a function over boxes, enclosed with certainty.

On a box the function is an affine one plus a small rest (`expansion`), and a convex measure of that family is bounded by its
vertices (`measures`). The error is of second order in the box's width, so few boxes remain around a smooth maximum. Rounding is
part of every bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.analysis.bounding.local_ascent import climb
from taupi.analysis.bounding.norms import Measure, scored
from taupi.analysis.bounding.taylor_expansion import Function

BATCH = 1024  # boxes that are bounded together
STARTS = 6  # of the random points, as many are followed uphill
POLISH = 12  # times that a better point may be followed uphill


@dataclass(frozen=True, eq=False)
class Problem:
    """Maximise sense * measure(F(x)) over the union of boxes [lo, hi], each of shape (boxes, size)."""

    expansion: Function
    measure: Measure
    lo: np.ndarray
    hi: np.ndarray
    sense: int = 1

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the objective in doubles."""
        f = self.expansion.value(x).reshape(-1, *self.expansion.shape)
        return self.sense * self.measure.value(f)

    def ascent(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the objective and its gradient at points."""
        f, slopes = self.expansion.at(x)
        shaped = f.reshape(-1, *self.expansion.shape)
        g = self.measure.gradient(shaped).reshape(f.shape)
        gradient = np.zeros(x.shape)
        gradient[:, self.expansion.free] = np.einsum("be,bek->bk", g, slopes)
        return self.sense * self.measure.value(shaped), self.sense * gradient


@dataclass(frozen=True)
class Enclosure:
    """What is known of the largest value: lower is attained at `at`, nothing exceeds upper."""

    lower: float
    upper: float
    at: np.ndarray
    boxes: int
    samples: int


def _certain(problem: Problem, x: np.ndarray) -> np.ndarray:
    """Return what the objective certainly reaches at points."""
    e = problem.expansion
    f, radius = (v.reshape(-1, *e.shape) for v in e.enclosed(x))
    return -scored(problem.measure, -problem.sense, f, np.zeros((*f.shape, 0)), radius)


def _bounded(problem: Problem, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return upper bounds of the objective on boxes, and how much each variable adds to the error of the bound."""
    e = problem.expansion
    local, shape = e.local(lo, hi), (-1, *e.shape)
    spread = local.slopes.reshape(len(lo), *e.shape, len(e.free))
    by_taylor = scored(problem.measure, problem.sense, local.f.reshape(shape), spread, local.rest.reshape(shape))
    flat = np.zeros((len(lo), *e.shape, 0))
    natural = scored(problem.measure, problem.sense, local.middle.reshape(shape), flat, local.radius.reshape(shape))
    scale = np.maximum(np.abs(local.f).max(-1, initial=0.0), 1e-300)
    parts = local.parts + (local.slopes * local.slopes).sum(1) / scale[:, None]
    return np.fmin(by_taylor, natural), np.where((hi > lo)[:, e.free], parts, -1.0)


def _followed(problem: Problem, x: np.ndarray) -> np.ndarray:
    """Return the points that climbs from x reach, each inside the box that holds its start."""
    box = [int(((p >= problem.lo) & (p <= problem.hi)).all(1).argmax()) for p in x]
    return climb(problem.values, problem.ascent, x, problem.lo[box], problem.hi[box])


def search(problem: Problem, samples: int, seed: int) -> np.ndarray:
    """Return the best of `samples` random points of the boxes, the best few of them followed uphill."""
    rng = np.random.default_rng(seed)
    box = rng.integers(len(problem.lo), size=samples)
    x = problem.lo[box] + rng.random((samples, problem.lo.shape[1])) * (problem.hi - problem.lo)[box]
    x = np.clip(x, problem.lo[box], problem.hi[box])
    best = x[np.argsort(-problem.values(x), kind="stable")[:STARTS]]
    climbed = np.concatenate([best, _followed(problem, best)])
    return climbed[problem.values(climbed).argmax()]


def found(problem: Problem, samples: int, seed: int) -> Enclosure:
    """Return what a search finds, with nothing known above it."""
    best = _Incumbent(problem, search(problem, samples, seed))
    return Enclosure(best.value, np.inf, best.at, 0, samples)


class _Incumbent:
    """The best point so far, and what is certainly reached there."""

    def __init__(self, problem: Problem, at: np.ndarray) -> None:
        self.problem, self.at, self.polished = problem, at, 0
        self.value = float(_certain(problem, at[None])[0])

    def offer(self, x: np.ndarray) -> None:
        """Take a better point, after a climb from it."""
        values = self.problem.values(x)
        best = x[values.argmax()]
        # Not for the last digits: a climb is worth it only from a truly better place.
        if values.max() <= self.value + 1e-9 * abs(self.value):
            return
        if self.polished < POLISH:
            self.polished += 1
            both = np.concatenate([best[None], _followed(self.problem, best[None])])
            best = both[self.problem.values(both).argmax()]
        value = float(_certain(self.problem, best[None])[0])
        if value > self.value:
            self.at, self.value = best, value


def enclose(
    problem: Problem, tolerance: float, boxes: int, samples: int = 1000, seed: int = 0, floor: float = 0.0
) -> Enclosure:
    """Return an enclosure of the largest value, no wider than `tolerance` times it, or `floor`, unless `boxes` run out."""
    best = _Incumbent(problem, search(problem, samples, seed))
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
        # The worst first; the others wait.
        order = np.argsort(-upper, kind="stable")
        take = order[: min(BATCH, max(1, (boxes - used + 1) // 2))]
        new_lo, new_hi = _halved(lo[take], hi[take], parts[take], problem.expansion.free)
        new_upper, new_parts = _in_batches(problem, new_lo, new_hi)
        new_upper = np.minimum(new_upper, np.concatenate([upper[take]] * 2))
        best.offer(new_lo + (new_hi - new_lo) / 2)
        used += len(new_lo)
        wait = order[len(take) :]
        lo, hi = np.concatenate([lo[wait], new_lo]), np.concatenate([hi[wait], new_hi])
        upper, parts = np.concatenate([upper[wait], new_upper]), np.concatenate([parts[wait], new_parts])
    top = max(best.value, settled, upper.max(initial=-np.inf))
    return Enclosure(best.value, float(top), best.at, used, samples)


def _in_batches(problem: Problem, lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
