"""Weighted least squares among physically consistent parameters, within bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taupi.checks import or_none, positive, whole_number
from taupi.errors import Argument, TaupiError
from taupi.identification.physical.link_bounds import LinkBounds, Shape
from taupi.identification.physical.region import Range, Region, both_ends, consistent_region, mass_range
from taupi.identification.physical.standard_parameters import (
    ConsistentSolution,
    constrained_least_squares,
    exact_solution,
    prior_share,
    term_sizes,
)
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.results.status import Outcome, Status
from taupi.identification.results.uncertainty import uncertainty
from taupi.identification.rows.factors import stack_factors
from taupi.identification.solve import Solution, Weights
from taupi.identification.weighting import noise_weights, weighted_least_squares

# Rounds of weighted least squares without constraints that give the first weights.
_FREE_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Feasible:
    """Minimise sum |S^-1/2 (Y_b B pi - tau)|^2 over pi that real bodies can have (Sousa & Cortesao 2014, Wensing et al. 2018).

    Each link has a pseudo-inertia P >= 0; friction and rotor inertia are not negative. The covariance is that of weighted least
    squares without constraints; `fit.notes` lists the constraints that are active.

    Attributes:
        mass_bounds: {link: (lower, upper)}, kg, where the link "*" stands for every link; none by default.
        total_mass: (lower, upper) of all links together, kg; none by default.
        boxes: {link: (lower corner, upper corner)} that contain centres of mass, m, in the frame of the link; none by default.
        shapes: {link: Box | Ellipsoid | Hull} that contain whole bodies, m, in the frame of the link; none by default.
        prior_weight: Of the pi whose sum of squares is at most 1 + `prior_weight` times the least, the one nearest to the prior
            is taken; this decides what the logs leave open. By default it is b / rows, by which the sum of squares of the true
            parameters is expected to exceed the least, and at most 0.01, which raises the residual by half a percent.
        iterations: How often the weights of the joints are updated from the residual, 2 by default; not with a stated
            `prior_weight`.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("ur10")
    >>> t = np.arange(2000)[:, None] / 100
    >>> w = 1 + 0.3 * np.arange(6)
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm)(q, qd, qdd) + np.random.default_rng(0).normal(size=q.shape)
    >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), tp.estimators.Feasible(total_mass=(20, 35)), terms=(), cutoff_hz=10)
    >>> bool(20 <= fit.parameters.values[::10].sum() <= 35), bool((fit.parameters.values[::10] > 0).all())
    (True, True)
    """

    mass_bounds: Mapping[str, Range] | None = None
    total_mass: Range | None = None
    boxes: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None
    shapes: Mapping[str, Shape] | None = None
    prior_weight: float | None = None
    iterations: int = 2
    name: ClassVar[str] = "feasible"

    def __post_init__(self) -> None:
        or_none(positive)("prior_weight", self.prior_weight)
        whole_number("iterations", self.iterations, least=0)
        for name in ("mass_bounds", "boxes", "shapes"):
            bounds = getattr(self, name)
            if bounds is not None and not isinstance(bounds, Mapping):
                raise TaupiError(
                    "{argument} is {got!r}, expected a mapping from names of links.",
                    argument=Argument(name),
                    got=bounds,
                )
        for link, limits in (self.mass_bounds or {}).items():
            mass_range(limits, f"mass_bounds[{link!r}]")
        for link, corners in (self.boxes or {}).items():
            both_ends(corners, f"boxes[{link!r}]")

    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        return self.fit_as(self.name, self.settings(), problem)

    def fit_as(
        self,
        name: str,
        settings: Mapping[str, object],
        problem: Problem,
        signless: Sequence[str] = (),
        notes: Sequence[str] = (),
        between_runs: bool = True,
        solved: FeasibleSolution | None = None,
    ) -> Fit:
        """Return the fit of a `problem`, recorded under the `name` and the `settings` of an estimator that uses this one.

        Friction parameters in `signless` may be negative; `notes` are put before those of the fit; `between_runs` is that of
        `assemble`; `solved` is the solution, if it is known already.
        """
        solved = solved or self.solve(problem, signless)
        free, weights, solution = solved.free, solved.weights, solved.consistent
        uncertain = uncertainty(problem.pieces, weights, free.x, free.spread)
        # Negative friction is not a parameter of a real joint: `fit.consistency` then gives standard parameters that are.
        standard = None if signless else solution.pi
        return assemble(
            problem, name, settings, _with_parameters(problem, free, solution), weights, uncertain=uncertain,
            standard=standard, status=_status(solution), notes=[*notes, _note(problem, free, solution, weights)],
            between_runs=between_runs,
        )  # fmt: skip

    def solve(self, problem: Problem, signless: Sequence[str] = ()) -> FeasibleSolution:
        """Return the solution of a `problem` alone, without its uncertainty and statistics; `signless` as in `fit_as`."""
        free, weights = weighted_least_squares(problem, _FREE_ROUNDS)
        region = self.region(problem, free.x, signless)
        solution = self._constrain(problem, region, free, weights)
        # A misfit for the sake of a stated prior is not noise, so it does not change the weights.
        rounds = 0 if solution.exact or self.prior_weight is not None else self.iterations
        for _ in range(rounds):
            weights = noise_weights(problem, _with_parameters(problem, free, solution), weights)
            free = problem.solve(weights)
            solution = self._constrain(problem, region, free, weights)
        return FeasibleSolution(free, weights, solution)

    def with_bounds(self, bounds: LinkBounds) -> Feasible:
        """Return the estimator within `bounds`, which it must not have yet."""
        stated = {f.name: getattr(bounds, f.name) or None for f in dataclasses.fields(bounds)}
        twice = next((name for name, value in stated.items() if value and getattr(self, name)), None)
        if twice:
            raise TaupiError("{bounds} and {argument} of the estimator state the same twice.", argument=Argument(twice))
        return dataclasses.replace(self, **{name: value for name, value in stated.items() if value})

    def with_prior_weight(self, prior_weight: float) -> Feasible:
        """Return the estimator with this `prior_weight`."""
        return dataclasses.replace(self, prior_weight=prior_weight)

    def region(self, problem: Problem, values: np.ndarray, signless: Sequence[str] = ()) -> Region:
        """Return the region of parameters that these settings allow for a `problem`.

        `values` (b,), an estimate, give the scale of friction; parameters named in `signless` may be negative.
        """
        base = problem.base
        limits = (self.mass_bounds, self.total_mass, self.boxes, self.shapes)
        return consistent_region(
            base.robot, base.standard, problem.prior, *limits, sizes=term_sizes(base, values), signless=signless
        )

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        result = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        shapes: dict[str, object] = {}
        state: dict[str, object]
        for link, shape in (self.shapes or {}).items():
            state = dataclasses.asdict(shape) if dataclasses.is_dataclass(shape) and not isinstance(shape, type) else {}
            shapes[link] = {"kind": type(shape).__name__.lower(), **state}
        return result | {
            "shapes": shapes or None,
            "mass_bounds": {k: list(v) for k, v in (self.mass_bounds or {}).items()} or None,
            "total_mass": None if self.total_mass is None else list(self.total_mass),
            "boxes": {k: [list(c) for c in v] for k, v in (self.boxes or {}).items()} or None,
        }

    def _constrain(self, problem: Problem, region: Region, free: Solution, weights: Weights) -> ConsistentSolution:
        """Return the free solution if real bodies can have it, else the consistent parameters with the least sum of squares."""
        b = problem.base.projection * region.scale
        r = problem.stack(weights)
        y, z = r[:, :-1], r[:, -1]
        u = y @ free.spread  # an orthonormal basis of what the logs determine
        y_u, z_u = u.T @ y, u.T @ z
        if self.prior_weight is None:  # a stated weight moves parameters that real bodies can have, too
            determined = free.spread.shape[1] == len(free.x)
            exact = exact_solution(region, b, free.x) if determined else exact_solution(region, y_u @ b, z_u)
            if exact is not None:
                return exact
        share = self.prior_weight or prior_share(len(free.x), sum(f.rows for f in problem.factors))
        return constrained_least_squares(region, y_u @ b, z_u, float(np.sum((z - u @ z_u) ** 2)), share)


@dataclass(frozen=True, eq=False)
class FeasibleSolution:
    """A solution among real bodies, beside the `free` one with the `weights` of its rows."""

    free: Solution
    weights: Weights
    consistent: ConsistentSolution


def _with_parameters(problem: Problem, free: Solution, solution: ConsistentSolution) -> Solution:
    """Return the free solution with the base parameters of the consistent one."""
    return dataclasses.replace(free, x=problem.base.projection @ solution.pi)


def _note(problem: Problem, free: Solution, solution: ConsistentSolution, weights: Weights) -> str:
    """Return what consistency costs, in words."""
    if solution.exact:
        return "Real bodies have the parameters of weighted least squares: no constraint is active."
    r = stack_factors(problem.factors, weights)
    y, z = r[:, :-1], r[:, -1]
    torque = float(np.linalg.norm(z))
    least = float(np.linalg.norm(y @ free.x - z))
    constrained = float(np.linalg.norm(y @ (problem.base.projection @ solution.pi) - z))
    increase = (
        f"by {constrained / least - 1:.2%}"
        if least > 1e-9 * torque
        else f"from nothing to {constrained / torque:.2%} of the torque"
    )
    active = "; ".join(solution.active) or "none, only the prior"
    return f"Physical consistency raises the weighted residual {increase}. Active constraints: {active}."


def _status(solution: ConsistentSolution) -> Status:
    if solution.exact:
        return Status(Outcome.UNCONSTRAINED)
    detail = f"{solution.message}, {len(solution.active)} active constraints"
    return Status(Outcome.CONSTRAINED if solution.ok else Outcome.NOT_CONSISTENT, detail)
