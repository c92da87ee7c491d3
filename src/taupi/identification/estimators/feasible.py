"""Least squares among physically consistent parameters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taupi.errors import TaupiError, shown
from taupi.identification.physical.least_squares import Realised, closest, exactly
from taupi.identification.physical.link_shapes import Shape
from taupi.identification.physical.region import Range, Region, region
from taupi.identification.physical.standard_parameters import SHARE, share_of, term_sizes
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit, Outcome, Status
from taupi.identification.results.uncertainty import sandwich
from taupi.identification.rows.factors import stacked
from taupi.identification.solve import Solution, solve
from taupi.identification.weighting import Weights, noise_weights, weighted

# Weights before the first consistent solution are those of weighted least squares, after so many rounds.
_FREE_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Feasible:
    """Minimise sum |S^-1/2 (Y_b B pi - tau)|^2 over pi that real bodies can have (Sousa & Cortesao 2014, Wensing et al. 2018).

    Each link has a pseudo-inertia P >= 0; friction and rotor inertia are not negative. `mass_bounds` {link: (lower, upper)} in
    kg are by link, "*" for every one, `total_mass` is for all. `boxes` {link: (corner, corner)} hold centres of mass, `shapes`
    {link: Box | Ellipsoid | Hull} whole bodies (m, link frame). Of the pi whose sum of squares is at most
    1 + `prior_weight` times the least, the one nearest to the prior is taken, which decides what the runs leave open. By default
    this is b / rows, by which the truth's own sum exceeds the least, and 0.01 at most: half a percent of the residual. Weights of
    the joints are taken anew from what is left, `iterations` times.

    The covariance is that of weighted least squares without constraints; `fit.notes` names the constraints that hold.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("ur10")
    >>> t = np.arange(2000)[:, None] / 100
    >>> w = 1 + 0.3 * np.arange(6)
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm)(q, qd, qdd) + np.random.default_rng(0).normal(size=q.shape)
    >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), tp.Feasible(total_mass=(20, 35)), terms=(), cutoff_hz=10)
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
        weight = SHARE if self.prior_weight is None else self.prior_weight
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise TaupiError(f"prior_weight is {shown(weight)}, expected a share above 0, such as {SHARE:g}.")
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 0:
            raise TaupiError(f"iterations is {shown(self.iterations)}, expected a whole number of at least 0.")
        for what in ("mass_bounds", "boxes", "shapes"):
            given = getattr(self, what)
            if given is not None and not isinstance(given, Mapping):
                raise TaupiError(f"{what} is {shown(given)}, expected a mapping from names of links.")

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        return self.fitted(problem, self.name, self.settings())

    def fitted(
        self,
        problem: Problem,
        name: str,
        settings: Mapping[str, Any],
        signless: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Fit:
        """Return the fit under an estimator's name; friction in `signless` may be negative."""
        free, weights = weighted(problem, _FREE_ROUNDS)
        here = self.region(problem, free.x, signless)
        found = self._inside(problem, here, free, weights)
        for _ in range(self.iterations if not found.exact else 0):
            weights = noise_weights(problem, self._moved(problem, free, found), weights)
            free = solve(stacked(problem.factors, weights), problem.prior_base, problem.metric)
            found = self._inside(problem, here, free, weights)
        covariance, _ = sandwich(problem.pieces, weights, free.x, free.spread)
        status = _status(found)
        told = [*notes, *self._notes(problem, here, free, found, weights)]
        # Friction below zero is no parameter of a real joint: those that are come from `fit.consistency`.
        standard = None if signless else found.pi
        return assemble(
            problem, name, settings, self._moved(problem, free, found), weights,
            covariance=covariance, standard=standard, status=status, notes=told,
        )  # fmt: skip

    def region(self, problem: Problem, values: np.ndarray, signless: Sequence[str] = ()) -> Region:
        """Return the region that these settings allow; `values` (b,) give friction its size."""
        base = problem.base
        limits = (self.mass_bounds, self.total_mass, self.boxes, self.shapes)
        return region(
            base.robot, base.standard, problem.prior, *limits, sized=term_sizes(base, values), signless=signless
        )

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        result = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        shapes: dict[str, Any] = {}
        state: dict[str, Any]
        for link, shape in (self.shapes or {}).items():
            state = dataclasses.asdict(shape) if dataclasses.is_dataclass(shape) and not isinstance(shape, type) else {}
            shapes[link] = {"kind": type(shape).__name__.lower(), **state}
        return result | {
            "shapes": shapes or None,
            "mass_bounds": {k: list(v) for k, v in (self.mass_bounds or {}).items()} or None,
            "total_mass": None if self.total_mass is None else list(self.total_mass),
            "boxes": {k: [list(c) for c in v] for k, v in (self.boxes or {}).items()} or None,
        }

    def _inside(self, problem: Problem, here: Region, free: Solution, weights: Weights) -> Realised:
        """Return the consistent parameters of least squares: those of the free solution, if bodies have them, else the best."""
        b = problem.base.projection
        r = stacked(problem.factors, weights)
        y, z = r[:, :-1], r[:, -1]
        u = y @ free.spread  # orthonormal: what the runs determine
        told, seen = u.T @ y, u.T @ z
        whole = not free.undetermined.any()
        found = exactly(here, b * here.scale, free.x) if whole else exactly(here, told @ (b * here.scale), seen)
        if found is not None:
            return found
        share = self.prior_weight or share_of(len(free.x), sum(f.rows for f in problem.factors))
        return closest(here, told @ (b * here.scale), seen, float(np.sum((z - u @ seen) ** 2)), share)

    @staticmethod
    def _moved(problem: Problem, free: Solution, found: Realised) -> Solution:
        return dataclasses.replace(free, x=problem.base.projection @ found.pi)

    def _notes(self, problem: Problem, here: Region, free: Solution, found: Realised, weights: Weights) -> list[str]:
        r = stacked(problem.factors, weights)
        y, z = r[:, :-1], r[:, -1]
        least = float(np.linalg.norm(y @ free.x - z))
        now = float(np.linalg.norm(y @ (problem.base.projection @ found.pi) - z))
        if found.exact:
            return ["Real bodies have the parameters of weighted least squares: no constraint holds."]
        grown = now / least - 1 if least > 1e-9 * float(np.linalg.norm(z)) else math.inf
        told = (
            f"by {grown:.2%}"
            if math.isfinite(grown)
            else f"from nothing to {now / float(np.linalg.norm(z)):.2%} of the torque"
        )
        held = "; ".join(found.active) or "none, it is for the prior"
        return [f"Physical consistency raises the weighted residual {told}. Constraints that hold: {held}."]


def _status(found: Realised) -> Status:
    if found.exact:
        return Status(Outcome.UNCONSTRAINED)
    detail = f"{found.word}, {len(found.active)} constraints hold"
    return Status(Outcome.CONSTRAINED if found.ok else Outcome.NOT_CONSISTENT, detail)
