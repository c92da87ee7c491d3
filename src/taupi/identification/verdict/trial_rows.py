"""Rows of a trial, their relative least squares, and rows under any gravity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from taupi.identification.rows.factors import triangle
from taupi.identification.solve import Solution, solve

# An inertia that is this many standard errors below zero is negative.
CERTAIN = 5.0
# Weight of what the description explains, to rank candidates that explain the log equally well: descriptions are rough.
DESCRIBED = 0.1
# Rows per independent row: there are ten per period of the cutoff, and two would be enough.
OVERSAMPLED = 5.0
# Number of stretches of time for standard errors: each is a few periods of the motion, or more.
STRETCHES = 20


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors that remain in a trial: infinite if it could not be made.

    Attributes:
        joints: The relative error of each joint (n,), with all parameters free.
        total: The same over all joints.
        inertias: The inertia that each motor would feel (n,), kg m^2 or kg, on average over the motion.
        certain: The same in standard errors (n,).
        described: The relative error of each joint (n,) with the links of the description, friction and drives free; empty if
            the description states no masses, NaN for joints that say nothing.
    """

    joints: np.ndarray
    total: float
    inertias: np.ndarray
    certain: np.ndarray
    described: np.ndarray

    @classmethod
    def none(cls, n: int) -> Errors:
        """Return the errors of a trial of `n` joints that could not be made."""
        return cls(np.full(n, np.inf), np.inf, np.zeros(n), np.zeros(n), np.full(n, np.inf))

    @property
    def impossible(self) -> np.ndarray:
        """Which joints would have a negative inertia (n,), beyond doubt."""
        return self.certain < -CERTAIN

    @property
    def cost(self) -> float:
        """The sum of squares of the relative errors of the joints, which a trial minimises."""
        return float(np.sum(self.joints**2))

    @property
    def described_cost(self) -> float:
        """The same with the links of the description; a joint counts at most as one that is not explained at all."""
        return float(np.nansum(np.minimum(self.described, 1.0) ** 2))

    @property
    def merit(self) -> float:
        """The cost, one more for each joint that is impossible, and a little of what the description leaves."""
        return self.cost + int(self.impossible.sum()) + DESCRIBED * self.described_cost


@dataclass(frozen=True, eq=False)
class TrialRows:
    """Rows y (m, n, p) with the torques of all joints tau (m, n), filtered alike.

    `inertia` (n, p) are the rows of each joint's own inertia, M_jj, on average over the motion. `offsets` (m, n, n) are the
    derivatives of the torque with respect to each q, and `rates` (m, n) those of tau with respect to time; both only if asked
    for. `files` (m,) says which of the logs a row is from. `links` (p,) are the parameters of the links as described, NaN for
    those that a description says little about: friction and drives. `dead` (n,) are joints that say nothing, and are left out.
    """

    y: np.ndarray
    tau: np.ndarray
    inertia: np.ndarray
    offsets: np.ndarray
    rates: np.ndarray
    files: np.ndarray
    links: np.ndarray
    dead: np.ndarray

    @cached_property
    def triangles(self) -> list[np.ndarray]:
        """R (k, p + n) of the rows [y_j, tau of all joints] of each joint j."""
        return [triangle(np.hstack([self.y[:, j], self.tau])) for j in range(self.tau.shape[1])]

    def solved(self, torque: np.ndarray | None = None) -> tuple[Solution, Errors]:
        """Return the x that minimises sum_j |Y_j x - tau_j|^2 / |tau_j|^2, and its errors, for torques tau -> torque tau."""
        columns, n = self.y.shape[2], self.tau.shape[1]
        matrix = np.eye(n) if torque is None else torque
        parts = [(r[:, :columns], r[:, columns:] @ t) for r, t in zip(self.triangles, matrix, strict=True)]
        powers = np.array([0.0 if dead else float(z @ z) for (_, z), dead in zip(parts, self.dead, strict=True)])
        weights = np.where(powers > 0, 1 / np.sqrt(np.where(powers > 0, powers, 1.0)), 0.0)
        stacked = np.vstack([w * np.column_stack([y, z]) for w, (y, z) in zip(weights, parts, strict=True)])
        nothing = Solution(np.zeros(columns), np.zeros((columns, 0)), np.ones(columns, dtype=bool), 1.0)
        if not np.isfinite(stacked).all() or not powers.any():
            return nothing, Errors.none(n)
        try:
            solution = solve(stacked, np.zeros(columns))
        except np.linalg.LinAlgError:  # numbers of all sizes, as under a time a thousand times too short
            return nothing, Errors.none(n)
        squares = np.array([float(np.sum((y @ solution.x - z) ** 2)) for y, z in parts])
        joints = np.sqrt(squares) * weights
        inertias = self.inertia @ solution.x
        white, disagreement = self._deviations(solution, weights, matrix)
        certain = inertias / np.where(white > 0, white, np.inf)
        # Negative inertias of several joints confirm each other; a single one may be friction that the trial did not model.
        alone = np.flatnonzero(certain < -CERTAIN)
        if len(alone) == 1:
            certain[alone] = inertias[alone] / np.maximum(white, disagreement)[alone]
        described = np.array(
            [self._described(*part, w) if w else np.nan for w, part in zip(weights, parts, strict=True)]
        )
        described = described if np.nansum(np.abs(self.links)) else np.zeros(0)
        total = float(np.sqrt(squares.sum() / powers.sum()))
        return solution, Errors(joints, total, inertias, certain, described)

    def _deviations(self, solution: Solution, weights: np.ndarray, torque: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two estimates of the standard errors (n,) of the inertias.

        One takes noise as white and equal at all joints, as a share of their torque. The other follows from how much stretches of
        time disagree, sum_b g_b g_b' with g_b the gradient of the squares of a stretch: noise differs from joint to joint, and
        unmodelled friction lasts longer than a row.
        """
        residual = (self.y @ solution.x - self.tau @ torque.T) * weights
        gradients = np.einsum("mn,n,mnp->mp", residual, weights, self.y) @ solution.spread
        starts = np.linspace(0, len(gradients), min(STRETCHES, len(gradients)), endpoint=False).astype(int)
        sums = np.add.reduceat(gradients, starts, axis=0)
        freedom = max(residual.size - solution.spread.shape[1], 0.1 * residual.size)
        directions = self.inertia @ solution.spread
        white = np.linalg.norm(directions, axis=1) * np.sqrt(np.sum(residual**2) * OVERSAMPLED / freedom)
        disagreement = np.linalg.norm(directions @ sums.T, axis=1) * np.sqrt(residual.size / freedom)
        return white, disagreement

    def _described(self, y: np.ndarray, z: np.ndarray, weight: float) -> float:
        """Return the relative error of a joint's rows with the links of the description."""
        free = np.isnan(self.links)
        rest = weight * (z - y[:, ~free] @ self.links[~free])
        own = y[:, free]
        own = own[:, np.linalg.norm(own, axis=0) > 0]
        return float(
            np.linalg.norm(rest - own @ np.linalg.lstsq(own, rest, rcond=1e-6)[0]) if own.size else np.linalg.norm(rest)
        )

    def of_links_alone(self) -> Errors:
        """Return the errors without friction and drives."""
        links = ~np.isnan(self.links)
        return replace(self, y=self.y[:, :, links], inertia=self.inertia[:, links], links=self.links[links]).solved()[1]

    def coefficients(self, columns: np.ndarray) -> tuple[np.ndarray, Errors]:
        """Return the coefficients (k,) of more columns (m, n, k) beside those of the rows, and the errors with them."""
        width, more = self.y.shape[2], columns.shape[2]
        y = np.concatenate([self.y, columns], axis=2)
        inertia = np.hstack([self.inertia, np.zeros((len(self.inertia), more))])
        links = np.append(self.links, np.zeros(more))
        solution, errors = replace(self, y=y, inertia=inertia, links=links).solved()
        return solution.x[width:], errors

    def separate_errors(self) -> np.ndarray:
        """Return the relative error (n,) of each joint if it has its own parameters, independent of the other joints."""
        columns, result = self.y.shape[2], np.zeros(self.tau.shape[1])
        for j, r in enumerate(self.triangles):
            own = np.column_stack([r[:, :columns], r[:, columns + j]])
            size = 0.0 if self.dead[j] else float(np.linalg.norm(own[:, -1]))
            residual = own @ np.append(solve(own, np.zeros(columns)).x, -1.0)
            result[j] = float(np.linalg.norm(residual)) / size if size else 0.0
        return result


@dataclass(frozen=True, eq=False)
class GravityRows:
    """Rows under any gravity, in which they are linear: Y = Y_0 + sum_k g_k G_k, with G_k (m, n, p) in `per_axis`."""

    still: TrialRows
    per_axis: tuple[np.ndarray, ...]

    def under(self, gravity: np.ndarray) -> TrialRows:
        """Return the rows under a gravity (3,), m/s^2."""
        return replace(
            self.still, y=self.still.y + sum(g * part for g, part in zip(gravity, self.per_axis, strict=True))
        )

    def best(self, start: np.ndarray, rounds: int = 8) -> np.ndarray:
        """Return the gravity (3,) as large as `start` that explains the torque best, from there by Gauss-Newton steps."""
        size, gravity = float(np.linalg.norm(start)), np.asarray(start, dtype=float)
        solution, errors = self.under(gravity).solved()
        for _ in range(rounds):
            columns = np.stack([part @ solution.x for part in self.per_axis], axis=2)
            step, _ = self.under(gravity).coefficients(columns)
            ahead = gravity + step
            ahead = size * ahead / max(float(np.linalg.norm(ahead)), 1e-9)
            solution, reached = self.under(ahead).solved()
            if reached.cost >= errors.cost:
                break
            gravity, errors = ahead, reached
        return gravity
