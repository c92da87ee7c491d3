"""The rows of each arm of a fleet, least squares with shared and own parameters, and what correlated noise does to its errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.identification.problem import Problem, Weights
from taupi.identification.rows.factors import JointFactor, append_rows, triangle
from taupi.identification.solve import Solution, solve


@dataclass(frozen=True, eq=False)
class ArmTriangle:
    """The triangle of an arm's weighted rows: `top` (o, o + s + 1) with its own parameters, `rest` (m, s + 1) without them."""

    top: np.ndarray
    rest: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, own: int) -> ArmTriangle:
        """Return the triangle of rows (m, o + s + 1) whose first `own` columns are the arm's own."""
        width = rows.shape[1]
        short = np.zeros((max(width - len(rows), 0), width))
        r = append_rows(np.zeros((0, width)), np.vstack([rows, short]))
        return cls(r[:own], r[own:, own:])

    def with_centres(self, pulls: np.ndarray) -> ArmTriangle:
        """Return the triangle with further shared parameters, the centres of own ones: rows pulls (x - centre) = 0 (o,)."""
        own, shared = len(self.top), self.rest.shape[1] - 1
        none, before = np.zeros((own, own)), np.zeros((len(self.rest), own))
        top = np.column_stack([self.top[:, :-1], none, self.top[:, -1]])
        rest = np.column_stack([before, self.rest[:, :-1], before, self.rest[:, -1]])
        drawn = np.column_stack([np.diag(pulls), np.zeros((own, shared)), -np.diag(pulls), np.zeros(own)])
        return ArmTriangle.of(np.vstack([top, rest, drawn]), own)

    def own_rows(self, shared: np.ndarray) -> np.ndarray:
        """Return the rows [A, c - B shared] (o, o + 1) of its own parameters, for shared ones (s,)."""
        count = len(self.top)
        a, b, c = self.top[:, :count], self.top[:, count:-1], self.top[:, -1]
        return np.column_stack([a, c - b @ shared])


@dataclass(frozen=True, eq=False)
class ArrowSolution:
    """The solution of all arms together.

    Attributes:
        shared: The shared parameters, with A A^T their covariance in units of the weighted rows.
        own: The parameters (k, o) of each arm.
        covariances: Their covariances (k, o, o): A^-1 A^-T, and what the errors of the shared ones add.
        conditional: The part A^-1 A^-T of them (k, o, o), for fixed shared parameters.
        moved: By how much own parameters change with shared ones (k, o, s).
        cross: The covariances (k, o, s) of own with shared parameters.
        undetermined: Which own parameters (k, o) the arm's rows do not determine.
    """

    shared: Solution
    own: np.ndarray
    covariances: np.ndarray
    conditional: np.ndarray
    moved: np.ndarray
    cross: np.ndarray
    undetermined: np.ndarray

    def apart(self, pooled: Sequence[bool]) -> np.ndarray:
        """Return the variances (k, o) of own parameters without the errors that all arms have in common.

        Errors of the shared parameters move all arms, mostly in the same way, which makes no difference between arms.
        """
        different = self.moved - np.mean(self.moved[np.array(pooled)], axis=0)
        by_shared = np.sum((different @ self.shared.spread) ** 2, axis=2)
        return np.einsum("kii->ki", self.conditional) + by_shared


def solve_arrow(
    arms: Sequence[ArmTriangle], pooled: Sequence[bool], prior: np.ndarray, own_prior: np.ndarray
) -> ArrowSolution:
    """Return the solution of all arms; the shared parameters are determined by the `pooled` arms alone.

    What no row determines is taken from the `prior` (s,), and from `own_prior` (o,).

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=(2, 30, 2))
    >>> tau = [y[k] @ [own, 5.0] for k, own in enumerate((1.0, 2.0))]
    >>> arms = [ArmTriangle.of(np.column_stack([y[k], tau[k]]), 1) for k in range(2)]
    >>> solution = solve_arrow(arms, [True, True], np.zeros(1), np.zeros(1))
    >>> solution.shared.x.round(6).tolist(), solution.own.round(6).tolist()
    ([5.0], [[1.0], [2.0]])
    """
    used = [arm.rest for arm, is_used in zip(arms, pooled, strict=True) if is_used]
    shared = solve(triangle(np.vstack(used)), prior)
    covariance = shared.spread @ shared.spread.T
    own, conditional, moved, undetermined = [], [], [], []
    for arm in arms:
        solution = solve(arm.own_rows(shared.x), own_prior)
        conditional.append(solution.spread @ solution.spread.T)
        inverse = conditional[-1] @ arm.top[:, : len(own_prior)].T  # A^-1 where A has one
        moved.append(-inverse @ arm.top[:, len(own_prior) : -1])
        own.append(solution.x)
        undetermined.append(solution.undetermined)
    by_shared, conditioned = np.array(moved), np.array(conditional)
    cross = by_shared @ covariance
    total = conditioned + cross @ by_shared.transpose(0, 2, 1)
    return ArrowSolution(shared, np.array(own), total, conditioned, by_shared, cross, np.array(undetermined))


# Share of the fleet's noise of a joint in the noise assumed for one arm.
_SHARED = 0.5
_ROUNDS = 3
# Fewer stretches of time of an arm do not show how its noise is correlated.
_LEAST_STRETCHES = 6
# About this many stretches of an arm are used, each as long as possible.
_STRETCHES = 16
# Fewer arms do not show how different they are.
_LEAST_ARMS = 10


@dataclass(frozen=True, eq=False)
class FleetRows:
    """The factors of a fleet's arms, and which columns are own and shared.

    Attributes:
        problem: The problem of all logs together.
        arms: For each arm, the indices of its logs.
        own: The indices, among the base parameters, of those that each arm has for itself.
        shared: The indices of the others.
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
        """Return the factors of an arm: one per log and joint, or, with `pieces`, one for each stretch of time as well."""
        by_log = self._pieces_by_log if pieces else self._factors_by_log
        return [f for log in self.arms[arm] for f in by_log.get(log, ())]

    @cached_property
    def _factors_by_log(self) -> dict[int, list[JointFactor]]:
        return _by_log(self.problem.factors)

    @cached_property
    def _pieces_by_log(self) -> dict[int, list[JointFactor]]:
        return _by_log(self.problem.pieces)

    def triangle(self, factors: Sequence[JointFactor], weights: Weights) -> ArmTriangle:
        """Return the triangle of factors; a weighted row is worth one independent sample of unit noise."""
        rows = [weights.get((f.file, f.joint), 0.0) * np.sqrt(f.share) * f.r for f in factors]
        return ArmTriangle.of(np.vstack(rows)[:, self.order], len(self.own))

    @cached_property
    def joints(self) -> list[int]:
        """The joints that have rows."""
        return sorted({f.joint for f in self.problem.factors})

    @cached_property
    def power(self) -> np.ndarray:
        """The mean square of the torque of each joint over the fleet."""
        squares, counts = dict.fromkeys(self.joints, 0.0), dict.fromkeys(self.joints, 0)
        for f in self.problem.factors:
            torque = f.r[:, -1]
            squares[f.joint] += float(torque @ torque)
            counts[f.joint] += f.rows
        return np.array([squares[j] / max(counts[j], 1) for j in self.joints])

    @cached_property
    def priors(self) -> tuple[np.ndarray, np.ndarray]:
        """The priors of shared (s,) and own parameters (o,), for what no row determines."""
        prior = self.problem.prior_base
        return prior[list(self.shared)], prior[list(self.own)]

    def values(self, own: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """Return base parameters (b,) from own and shared ones."""
        x = np.zeros(self.problem.base.count)
        x[list(self.own)], x[list(self.shared)] = own, shared
        return x


def _by_log(factors: Sequence[JointFactor]) -> dict[int, list[JointFactor]]:
    """Return the factors of each log, in their order."""
    result: dict[int, list[JointFactor]] = {}
    for f in factors:
        result.setdefault(f.file, []).append(f)
    return result


@dataclass(frozen=True, eq=False)
class WeightedArms:
    """The arms' triangles, the solution, and the weights 1 / sigma of each (log, joint)."""

    triangles: list[ArmTriangle]
    solution: ArrowSolution
    weights: Weights


def weighted(rows: FleetRows, pooled: Sequence[bool], noise: np.ndarray) -> WeightedArms:
    """Return the solution of a fleet with weights from its residuals, starting from this `noise` (arms, joints).

    The shared parameters are those of the `pooled` arms; residuals of the others are those of a fit of their own.
    """
    prior, own_prior = rows.priors
    for again in (True, False):
        weights, triangles = _weighted_triangles(rows, noise)
        solution = solve_arrow(triangles, pooled, prior, own_prior)
        if again:
            alone = {k: _alone(rows, triangles[k]) for k in range(len(rows.arms)) if not pooled[k]}
            x = [alone[k] if k in alone else rows.values(own, solution.shared.x) for k, own in enumerate(solution.own)]
            noise = _noise(rows, x, len(rows.own), pooled)
    return WeightedArms(triangles, solution, weights)


def weighted_apart(rows: FleetRows) -> tuple[list[ArmTriangle], np.ndarray]:
    """Return the triangles of arms, with weights from the residuals of each arm's own fit, and the noise (arms, joints)."""
    everyone = [True] * len(rows.arms)
    noise = np.tile(np.maximum(rows.power, 1e-300), (len(rows.arms), 1))
    for _ in range(_ROUNDS):
        _, triangles = _weighted_triangles(rows, noise)
        x = [_alone(rows, triangle) for triangle in triangles]
        noise = _noise(rows, x, len(rows.own) + len(rows.shared), everyone)
    return _weighted_triangles(rows, noise)[1], noise


def _weighted_triangles(rows: FleetRows, noise: np.ndarray) -> tuple[Weights, list[ArmTriangle]]:
    """Return the weights 1 / sigma by the noise sigma^2 (arms, joints), and the triangles of the arms."""
    sigma, place = np.sqrt(noise), {joint: j for j, joint in enumerate(rows.joints)}
    factors = [rows.factors_of(k) for k in range(len(rows.arms))]
    weights = {
        (f.file, f.joint): 1 / float(sigma[k, place[f.joint]]) for k, several in enumerate(factors) for f in several
    }
    return weights, [rows.triangle(several, weights) for several in factors]


def _alone(rows: FleetRows, triangle: ArmTriangle) -> np.ndarray:
    """Return base parameters (b,) of an arm by its own rows alone."""
    prior, own_prior = rows.priors
    shared = solve(triangle.rest, prior).x
    return rows.values(solve(triangle.own_rows(shared), own_prior).x, shared)


def _noise(rows: FleetRows, x: Sequence[np.ndarray], taken: int, used: Sequence[bool]) -> np.ndarray:
    """Return sigma^2 (arms, joints) from the residuals of base parameters x, of which `taken` were fitted to each arm.

    sigma^2 of a joint of an arm is the mean of that of the arm and of the median of the joint over the arms that are used.
    """
    place = {joint: j for j, joint in enumerate(rows.joints)}
    squares, counts, independent = np.zeros((3, len(rows.arms), len(rows.joints)))
    for k, values in enumerate(x):
        for f in rows.factors_of(k):
            at = k, place[f.joint]
            squares[at] += float(np.sum((f.r @ np.append(values, -1.0)) ** 2))
            counts[at] += f.rows
            independent[at] += f.independent
    freedom = counts * np.maximum(1 - taken / len(rows.joints) / np.maximum(independent, 1e-300), 0.1)
    own = squares / np.maximum(freedom, 1e-300)
    shared = np.median(own[np.array(used)], axis=0)
    return np.maximum(_SHARED * shared + (1 - _SHARED) * own, np.maximum(1e-18 * rows.power, 1e-300))


def inflation(rows: FleetRows, fitted: WeightedArms, pooled: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    """Return the factors by which variances of own (o,) and shared parameters (s,) exceed those that white noise would give.

    Each is the ratio of the sum of squared scores to its expectation, at least 1. For own parameters, scores are those of an
    arm's stretches of time, in about `_STRETCHES` long groups of neighbours. Those of one arm are too few to
    decide, so the median over all pooled arms is taken, which an arm that changed between two logs does not move. For shared
    parameters, scores are those of whole arms.
    """
    count, joints = len(rows.own), len(rows.joints)
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
            # Of the mean of so many squares, whose expectation is 1 (Wilson and Hilferty).
            median = (1 - 2 / (9 * free)) ** 3
            squares = np.sum((scores @ covariance) ** 2, axis=0) * len(scores) / free
            own_ratios.append(squares / np.maximum(np.diag(covariance), 1e-300) / median)
    own_ratio = np.median(own_ratios, axis=0) if own_ratios else np.ones(count)
    arms = len(shared_ratios)
    if arms < _LEAST_ARMS:
        return np.maximum(own_ratio, 1.0), np.full(len(rows.shared), max(float(own_ratio.max()), 1.0))
    return np.maximum(own_ratio, 1.0), np.maximum(arms / (arms - 1) * np.sum(shared_ratios, axis=0), 1.0)


def _scores(rows: FleetRows, fitted: WeightedArms, arm: int) -> np.ndarray:
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
