"""The rows of each arm of a fleet, weighted by their noise, and how far noise that is correlated in time widens errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.fleet.arrow import ArmTriangle, ArrowSolution, solve_arrow
from taupi.identification.problem import Problem, Weights
from taupi.identification.rows.factors import JointFactor

# The share of the noise of a joint over the fleet in that of one arm.
_SHARED = 0.5
_ROUNDS = 3
# Fewer stretches of time of an arm do not tell how its noise is correlated.
_LEAST_STRETCHES = 6
# About so many stretches of an arm are taken, each as long as possible.
_STRETCHES = 16
# Fewer arms do not tell how different they are.
_LEAST_ARMS = 10


@dataclass(frozen=True, eq=False)
class FleetRows:
    """The factors of a fleet's arms, and which columns are own and shared.

    Attributes:
        problem: The problem of all logs together.
        arms: For each arm, the indices of its logs.
        own: The places of own parameters among the base parameters.
        shared: The places of the others.
    """

    problem: Problem
    arms: tuple[tuple[int, ...], ...]
    own: tuple[int, ...]
    shared: tuple[int, ...]

    @property
    def order(self) -> list[int]:
        """The columns: own, shared, torque."""
        return [*self.own, *self.shared, self.problem.base.count]

    def factors_of(self, arm: int, pieces: bool = False) -> list[JointFactor]:
        """Return the factors of an arm, with `pieces` those of its stretches of time."""
        logs = set(self.arms[arm])
        return [f for f in (self.problem.pieces if pieces else self.problem.factors) if f.file in logs]

    def triangle(self, factors: Sequence[JointFactor], weights: Weights) -> ArmTriangle:
        """Return the triangle of factors; a weighted row is worth one independent sample of unit noise."""
        rows = [weights.get((f.file, f.joint), 0.0) * np.sqrt(f.share) * f.r for f in factors]
        return ArmTriangle.of(np.vstack(rows)[:, self.order], len(self.own))

    def values(self, own: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """Return base parameters (b,) from own and shared ones."""
        x = np.zeros(self.problem.base.count)
        x[list(self.own)], x[list(self.shared)] = own, shared
        return x


@dataclass(frozen=True, eq=False)
class Weighted:
    """The arms' triangles, the solution, and the weights 1 / sigma of each (log, joint)."""

    triangles: list[ArmTriangle]
    solution: ArrowSolution
    weights: Weights


def weighted(rows: FleetRows, pooled: Sequence[bool], together: bool = True) -> Weighted:
    """Return the solution of a fleet with weights from its residuals: of all arms `together`, or of each arm by itself.

    sigma^2 of a joint of an arm is the mean of that of the arm and of the median of the joint over the pooled arms.
    """
    problem, prior = rows.problem, rows.problem.prior_base
    own_prior, shared_prior = prior[list(rows.own)], prior[list(rows.shared)]
    count, joints = len(rows.arms), sorted({f.joint for f in problem.factors})
    factors = [rows.factors_of(k) for k in range(count)]
    power = {j: [f for f in problem.factors if f.joint == j] for j in joints}
    first = {
        j: sum(float(f.r[:, -1] @ f.r[:, -1]) for f in fs) / max(sum(f.rows for f in fs), 1) for j, fs in power.items()
    }
    noise = np.tile([max(first[j], 1e-300) for j in joints], (count, 1))
    for _ in range(_ROUNDS + 1):
        weights = {
            (f.file, f.joint): 1 / float(np.sqrt(noise[k, joints.index(f.joint)]))
            for k in range(count)
            for f in factors[k]
        }
        triangles = [rows.triangle(fs, weights) for fs in factors]
        solution = solve_arrow(triangles, pooled, shared_prior, own_prior)
        squares, freedom = np.zeros((2, count, len(joints)))
        for k in range(count):
            own, shared = solution.own[k], solution.shared.x
            if not (together and pooled[k]):
                alone = solve_arrow([triangles[k]], [True], shared_prior, own_prior)
                own, shared = alone.own[0], alone.shared.x
            x = np.append(rows.values(own, shared), -1.0)
            taken = len(rows.own) / len(joints) + (0 if together else len(rows.shared) / len(joints))
            for f in factors[k]:
                place = joints.index(f.joint)
                squares[k, place] += float(np.sum((f.r @ x) ** 2))
                freedom[k, place] += f.rows
            for j in range(len(joints)):
                independent = sum(f.independent for f in factors[k] if f.joint == joints[j])
                freedom[k, j] *= max(1 - taken / max(independent, 1e-300), 0.1)
        used = np.array(pooled)
        shared_noise = np.median((squares / np.maximum(freedom, 1e-300))[used], axis=0)
        floor = 1e-18 * np.array([first[j] for j in joints])
        noise = np.maximum(
            _SHARED * shared_noise + (1 - _SHARED) * squares / np.maximum(freedom, 1e-300), np.maximum(floor, 1e-300)
        )
    return Weighted(triangles, solution, weights)


def inflation(rows: FleetRows, fitted: Weighted, pooled: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much variances of own (o,) and shared parameters (s,) are larger than white noise within the band makes them.

    That is the ratio of what scores add up to to what is expected of them, at least 1. For own parameters they are those of an
    arm's stretches of time, in about `_STRETCHES` groups of neighbours, so that they are long. Those of one arm are too few to
    tell, so it is the median over all pooled arms, which an arm that changed between two logs does not move. For shared ones they
    are those of whole arms.
    """
    count, joints = len(rows.own), len({f.joint for f in rows.problem.factors})
    shared = fitted.solution.shared.spread @ fitted.solution.shared.spread.T
    shared_ratios, own_ratios = [], []
    expected = np.maximum(np.diag(shared), 1e-300)
    for k, arm in enumerate(fitted.triangles):
        if not pooled[k]:
            continue
        error = arm.rest @ np.append(fitted.solution.shared.x, -1.0)
        shared_ratios.append((shared @ (arm.rest[:, :-1].T @ error)) ** 2 / expected)
        inverse = np.linalg.pinv(arm.top[:, :count], rcond=1e-8)
        covariance, scores = inverse @ inverse.T, _scores(rows, fitted, k)
        # The arm's own parameters of a joint have been fitted to the same stretches.
        free = len(scores) - count / joints
        if len(scores) >= _LEAST_STRETCHES and free >= 1:
            median = (
                1 - 2 / (9 * free)
            ) ** 3  # of the mean of so many squares, whose expectation is 1 (Wilson and Hilferty)
            squares = np.sum((scores @ covariance) ** 2, axis=0) * len(scores) / free
            own_ratios.append(squares / np.maximum(np.diag(covariance), 1e-300) / median)
    own_ratio = np.median(own_ratios, axis=0) if own_ratios else np.ones(count)
    arms = len(shared_ratios)
    if arms < _LEAST_ARMS:
        return np.maximum(own_ratio, 1.0), np.full(len(rows.shared), max(float(own_ratio.max()), 1.0))
    return np.maximum(own_ratio, 1.0), np.maximum(arms / (arms - 1) * np.sum(shared_ratios, axis=0), 1.0)


def _scores(rows: FleetRows, fitted: Weighted, arm: int) -> np.ndarray:
    """Return the scores Y_own^T r (stretches, o) of an arm, those of neighbouring stretches of a log added up."""
    x = np.concatenate([fitted.solution.own[arm], fitted.solution.shared.x, [-1.0]])
    pieces = rows.factors_of(arm, pieces=True)
    together = max(1, len({(f.file, f.stretch) for f in pieces}) // _STRETCHES)
    scores: dict[tuple[int, int], np.ndarray] = {}
    for f in pieces:
        r = fitted.weights.get((f.file, f.joint), 0.0) * np.sqrt(f.share) * f.r[:, rows.order]
        key = (f.file, f.stretch // together)
        scores[key] = scores.get(key, np.zeros(len(rows.own))) + r[:, : len(rows.own)].T @ (r @ x)
    return np.array(list(scores.values()))
