"""Nonlinear least squares over closed-loop simulations: Levenberg-Marquardt with bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.commands.model import DrivenModel, as_wrong_as
from taupi.identification.commands.stretches import Stretch

# A step that improves less, as a share, is the last one.
_ENOUGH = 1e-4
# A step that is worse although it promises less than this share is worse by what the simulation rounds.
_NOTHING = 1e-7
# s: residuals further apart are taken as unrelated.
CORRELATED = 1.0
# Lags that are told apart.
_LAGS = 50
# Residuals beyond this many standard deviations count linearly, for a robust fit.
_ROBUST = 10.0


@dataclass(frozen=True, eq=False)
class Noise:
    """What is known of the residuals: their size for each joint (n,), and how many related ones count as one."""

    sigma: np.ndarray
    inflation: float = 1.0

    @classmethod
    def of(cls, residuals: Sequence[np.ndarray], stretches: Sequence[Stretch]) -> Noise:
        """Return the noise that residuals (N, n) of stretches show."""
        joined = np.vstack(residuals)
        n = joined.shape[1]
        sigma = np.maximum(np.sqrt((joined**2).mean(axis=0)), 1e-9)
        total, power = np.zeros(n), np.zeros(n)
        for residual, stretch in zip(residuals, stretches, strict=True):
            step = stretch.duration / max(len(stretch) - 1, 1)
            lags = max(1, min(round(CORRELATED / step), len(stretch) // 3))
            total += np.array([long_run(residual[:, [j]], lags)[0, 0] for j in range(n)])
            power += (residual**2).sum(axis=0)
        return cls(sigma, max(1.0, float(np.mean(total / np.maximum(power, 1e-30)))))

    @property
    def weight(self) -> np.ndarray:
        """What a squared residual is multiplied by (n,), so that a prior counts as much as it should."""
        return 1 / (self.sigma**2 * self.inflation)


def long_run(scores: np.ndarray, lags: int) -> np.ndarray:
    """Return the covariance (p, p) of a sum of related rows (N, p), by the weights of Newey and West over so many lags.

    Where there are many lags, rows are first added up in groups.
    """
    group = max(1, lags // _LAGS)
    if group > 1:
        scores = np.add.reduceat(scores, np.arange(0, len(scores), group), axis=0)
        lags //= group
    total = scores.T @ scores
    for k in range(1, lags):
        product = scores[k:].T @ scores[:-k]
        total += (1 - k / lags) * (product + product.T)
    return total


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Where the search ended.

    Attributes:
        x: The parameters (p,).
        cost: The sum of squares there.
        iterations: The number of steps.
        converged: Whether the last step changed next to nothing.
    """

    x: np.ndarray
    cost: float
    iterations: int
    converged: bool


class LeastSquares:
    """The least squares of a model over stretches: residuals in units of their noise, and the prior.

    Attributes:
        model: The model.
        stretches: What it is fitted to.
        noise: The weights.
        longest: No step of the simulation is longer, s.
        robust: Whether large residuals count linearly.
    """

    def __init__(
        self,
        model: DrivenModel,
        stretches: Sequence[Stretch],
        noise: Noise,
        longest: float,
        robust: bool = False,
    ) -> None:
        self.model, self.stretches, self.noise = model, tuple(stretches), noise
        self.longest, self.robust = longest, robust
        self._scale, self._spread = model.column("scale"), model.column("spread")
        self._start = model.column("start")

    def cost(self, x: np.ndarray) -> float:
        """Return the sum of squares, or of pseudo-Huber losses, and of the prior."""
        total = float(np.sum(((x - self._start) / self._spread) ** 2))
        for stretch in self.stretches:
            loss = self._loss(self.model.residual(x, stretch, self.longest))
            total += float(np.sum(loss / self.noise.inflation))
        return total

    def _loss(self, residual: np.ndarray) -> np.ndarray:
        """Return the loss of each residual (N, n) in units of its noise: its square, or a pseudo-Huber loss."""
        u = residual / self.noise.sigma
        return np.asarray(2 * _ROBUST**2 * (np.sqrt(1 + (u / _ROBUST) ** 2) - 1) if self.robust else u**2)

    def slopes(self, x: np.ndarray, stretch: Stretch) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals (N, n) and their derivatives (N, n, p) by the parameters in units of their scales."""
        driven = stretch.driven(self.model.robot)
        directions = self.model.directions * self._scale[:, None]
        theta = self.model.theta(x, stretch.drive)
        q, slope = driven.sensitivities(theta, directions, stretch.commands, stretch.q[0], stretch.qd, self.longest)
        rows = stretch.compared
        residual, slope = as_wrong_as(left := (q - stretch.q)[rows]), slope[rows]
        if not ((away := residual != left).any() or not np.isfinite(slope.sum())):
            return residual, slope
        return residual, np.where(away[:, :, None] | ~np.isfinite(slope), 0.0, slope)

    def weights(self, residual: np.ndarray) -> np.ndarray:
        """Return what each squared residual (N, n) is multiplied by."""
        weight = np.broadcast_to(self.noise.weight, residual.shape)
        return weight / np.sqrt(1 + (residual / self.noise.sigma / _ROBUST) ** 2) if self.robust else weight

    def normal(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the normal matrix (p, p) and the gradient (p,), in units of the scales, the prior included."""
        prior = (self._scale / self._spread) ** 2
        matrix = np.diag(prior)
        gradient = prior * (x - self._start) / self._scale
        for stretch in self.stretches:
            own, slope = self._part(*self.slopes(x, stretch))
            matrix += own
            gradient += slope
        return matrix, gradient

    def _part(self, residual: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what a stretch adds to the normal matrix and to the gradient."""
        p, weight = slope.shape[2], self.weights(residual)
        matrix, gradient = np.zeros((p, p)), np.zeros(p)
        for j in range(slope.shape[1]):
            felt = np.flatnonzero(slope[:, j].any(axis=0))  # a leg feels its own parameters only
            rows = slope[:, j, felt]
            weighted = rows * weight[:, j, None]
            matrix[np.ix_(felt, felt)] += rows.T @ weighted
            gradient[felt] += weighted.T @ residual[:, j]
        return matrix, gradient

    def _held(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return which parameters stay at their bounds (p,)."""
        lower, upper = self.model.column("lower"), self.model.column("upper")
        margin = 1e-9 * self._scale
        return np.asarray(((x <= lower + margin) & (gradient > 0)) | ((x >= upper - margin) & (gradient < 0)))

    def left_out(self, x: np.ndarray) -> np.ndarray:
        """Return the logarithm of the error of each joint in each stretch, if the stretch had been left out of the fit.

        From the minimum `x` of all stretches, the minimum without one of them is a Gauss-Newton step away, and the residual
        there follows from the sensitivities: no fit is repeated.
        """
        each = [self.slopes(x, stretch) for stretch in self.stretches]
        parts = [self._part(*pair) for pair in each]
        prior = (self._scale / self._spread) ** 2
        matrix = np.diag(prior) + sum(own for own, _ in parts)
        gradient = prior * (x - self._start) / self._scale + sum(slope for _, slope in parts)
        move = ~self._held(x, gradient) & (np.diag(matrix) > 0)
        result = []
        for (residual, slope), (own, pull) in zip(each, parts, strict=True):
            step = np.zeros(len(x))
            rest = (matrix - own)[np.ix_(move, move)]
            rest += 1e-9 * np.diag(np.diag(matrix)[move])
            step[move] = -np.linalg.lstsq(rest, (gradient - pull)[move], rcond=1e-12)[0]
            loss = self._loss(residual + slope @ step)
            result.append(0.5 * np.log(np.maximum(loss.mean(axis=0), 1e-30)))
        return np.concatenate(result)

    def scattered(self, x: np.ndarray, count: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Return values (p,) about `x`, as far away as its standard errors, to a hundred times as far: where to begin again."""
        matrix, _ = self.normal(x)
        values, vectors = np.linalg.eigh(matrix)
        samples = sum(len(s) for s in self.stretches) * self.noise.sigma.size
        error = np.sqrt(self.cost(x) / samples / np.maximum(values, 1e-12))
        lower, upper = self.model.column("lower"), self.model.column("upper")
        steps = np.minimum(error, 0.5) * 10 ** rng.uniform(0, 2, (count, 1)) * rng.normal(size=(count, len(x)))
        return [np.clip(x + self._scale * (vectors @ step), lower, upper) for step in steps]

    def solve(self, x: np.ndarray, iterations: int = 25) -> SearchResult:
        """Return the parameters that minimise the cost within their bounds, from values (p,)."""
        lower, upper = self.model.column("lower"), self.model.column("upper")
        x = np.clip(x, lower, upper)
        cost, damping, count, converged = self.cost(x), 1e-2, 0, False
        while count < iterations and not converged:
            count += 1
            matrix, gradient = self.normal(x)
            least, most = (lower - x) / self._scale, (upper - x) / self._scale
            for _ in range(8):
                damped = matrix + damping * np.diag(np.diag(matrix))
                step = _bounded_step(damped, gradient, least, most)
                promised = -float(step @ (2 * gradient + matrix @ step))
                tried = np.clip(x + step * self._scale, lower, upper)
                new = self.cost(tried)
                gain = cost - new
                if gain > 0:
                    x, cost, damping = tried, new, max(damping / 5, 1e-7)
                    converged = gain < _ENOUGH * (cost + gain)
                    break
                damping *= 5
                if promised < _NOTHING * cost:
                    converged = True
                    break
            else:
                # No step of any size is better: this is the minimum, to the precision of the simulation.
                converged = True
        return SearchResult(x, cost, count, converged)


def _bounded_step(matrix: np.ndarray, gradient: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the step s (p,) that minimises s' matrix s / 2 + gradient' s, with least <= s <= most.

    Entries that would leave their bounds are held there, and let go again if the gradient pulls them back inside.
    """
    p = len(gradient)
    step, free = np.zeros(p), np.diag(matrix) > 0
    able = free.copy()
    for _ in range(2 * p + 1):
        inner = np.flatnonzero(free)
        right = -(gradient + matrix @ np.where(free, 0.0, step))[inner]
        step[inner] = np.linalg.lstsq(matrix[np.ix_(inner, inner)], right, rcond=1e-13)[0]
        outside = free & ((step < least) | (step > most))
        step = np.clip(step, least, most)
        if outside.any():
            free &= ~outside
            continue
        slope = matrix @ step + gradient
        held = able & ~free & (most > least)
        back = np.where(held & (step <= least), -slope, np.where(held & (step >= most), slope, 0.0))
        if back.max(initial=0.0) <= 1e-9 * np.abs(gradient).max(initial=0.0):
            break
        free[int(np.argmax(back))] = True
    return step
