"""Bounds on the mass matrix, the velocity terms and gravity over a joint range, certain and with their gap stated."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.analysis.bound_results import Bound, Bounds, Growth
from taupi.analysis.bounding.branch_and_bound import STARTS, Enclosure, Problem, enclose, found
from taupi.analysis.bounding.norms import (
    ColumnSum,
    LargestEntry,
    Measure,
    SingularValue,
    SpectralNorm,
    TopEigenvalue,
    VectorNorm,
    Weighted,
)
from taupi.analysis.bounding.robot_functions import Field, gravity_field, mass_field, pairs, velocity_field
from taupi.analysis.bounding.velocity_directions import directions
from taupi.analysis.joint_range import joint_range, magnitude, require_numbers, require_seed
from taupi.errors import TaupiError, shown
from taupi.model.body import smallest_eigenvalue
from taupi.model.robot import Robot
from taupi.progress import progress

NORMS = {"1": 1.0, "2": 2.0, "inf": math.inf}
# Directions of motion are variables too; with more than this many in all, only the bound for products v_i w_j is searched.
DIRECT = 5
# `boxes` are for functions that cost no more than this; of others, each box counts for more.
COST = 50_000
# The attained side of a search that did not converge: the best of so many random points, some of them followed uphill.
SAMPLES = 2_000
MANY_SAMPLES = 20_000
DUST = 1e-13  # relative to the robot's own numbers: a term that vanishes up to rounding need not be known any better
MASS: dict[str, tuple[str, Measure, bool]] = {
    "mu1": ("smallest eigenvalue of M", TopEigenvalue(-1), True),
    "mu2": ("largest eigenvalue of M", TopEigenvalue(1), False),
    "M_1_min": ("||M||_1", ColumnSum(), True),
    "M_1_max": ("||M||_1", ColumnSum(), False),
    "M_2_min": ("||M||_2", SpectralNorm(), True),
    "M_2_max": ("||M||_2", SpectralNorm(), False),
}


@dataclass(frozen=True)
class _Search:
    """A robot over a range, and how much work a bound may cost."""

    robot: Robot
    range: np.ndarray
    tolerance: float
    boxes: int
    seed: int

    def finite(self, field: Field) -> bool:
        """Return whether the range of every joint that the term depends on is known."""
        return not np.isnan(self.range[list(field.coordinates)]).any()

    def box(self, field: Field) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of x of a field, (1, size)."""
        turning = self.range[list(field.turning)] if field.turning else np.zeros((1, 2))
        ends = np.concatenate([turning, self.range[list(field.sliding)].reshape(-1, 2)])
        return ends[None, :, 0], ends[None, :, 1]

    def place(self, field: Field, x: np.ndarray) -> tuple[float, ...]:
        """Return q at x; joints that do not matter are in the middle of their range."""
        q = np.nan_to_num(self.range.mean(1))
        values = np.concatenate([x[: len(field.turning)], x[max(1, len(field.turning)) :]])
        q[list(field.coordinates)] = values[: len(field.coordinates)]
        return tuple(float(v) for v in q)

    def enclosed(self, problem: Problem, samples: int) -> Enclosure:
        """Return the enclosure of a problem."""
        floor = DUST * magnitude(self.robot)
        boxes = max(1, int(self.boxes * min(1.0, COST / max(1.0, problem.expansion.cost))))
        return enclose(problem, self.tolerance, boxes, samples, self.seed, floor)

    def allowed(self, value: float) -> float:
        """Return the gap that is small enough."""
        return max(self.tolerance * abs(value), DUST * magnitude(self.robot))

    def samples(self, variables: int) -> int:
        """Return how many random points are tried."""
        return MANY_SAMPLES if variables > 3 else SAMPLES

    def extreme(self, field: Field, name: str, text: str, measure: Measure, infimum: bool = False) -> Bound:
        """Return a bound of a measure of a term."""
        # The smallest eigenvalue is minus the largest one of -M, which is convex and so is best maximised.
        flipped = isinstance(measure, TopEigenvalue) and infimum
        sense = -1 if infimum and not flipped else 1
        problem = Problem(field.function, measure, *self.box(field), sense)
        e = self.enclosed(problem, self.samples(problem.lo.shape[1]))
        ends = (-e.upper, -e.lower) if infimum else (e.lower, e.upper)
        bound = Bound(name, text, *ends, infimum, self.place(field, e.at))
        return self._explained(bound, f"branch and bound, boxes: {e.boxes}", e.samples)

    def _explained(self, bound: Bound, method: str, samples: int) -> Bound:
        """Return the bound with how it was found, and with what is known of its attained side where it is not tight."""
        tight = bound.gap <= 1.001 * self.allowed(bound.attained)
        if not tight:
            side = "below" if bound.infimum else "above"
            # The rule of three: N random points all miss a share p of the range with probability (1 - p)^N < 5 % for p > 3/N.
            method += (
                f"; not converged: the attained side is the best of {samples} random points, the best {STARTS} of them "
                f"followed uphill (with 95 % confidence less than {300 / samples:.2g} % of the range lies {side} it)"
            )
        return dataclasses.replace(bound, converged=tight, method=method)

    def velocity(self, field: Field, name: str, text: str, p: float) -> Bound:
        """Return c_b with ||c(q, v)||_p <= c_b ||v||_p^2.

        c = sum_ij Gamma_ij v_i v_j is bounded by a norm of the matrix Gamma (n x pairs), whose variables are the joints alone.
        Where no direction reaches that, and variables are few, the directions become variables too.
        """
        n = self.robot.n
        sphere = directions(n, p, self.seed)
        whole = field.contracted(sphere.products, len(pairs(n)), sphere.size, sphere.fixed)
        lo, hi = self.box(field)
        tiled = [np.hstack([np.repeat(a, len(b), axis=0), b]) for a, b in ((lo, sphere.lo), (hi, sphere.hi))]
        direct = Problem(whole, VectorNorm(p), tiled[0], tiled[1])
        variables = len(field.coordinates) + sphere.size - sphere.fixed
        samples = self.samples(variables)
        reached = found(direct, samples, self.seed)
        products = self.enclosed(Problem(field.function, _product_norm(n, p), lo, hi), SAMPLES)
        upper, boxes, how = products.upper, products.boxes, "norm of the products"
        if upper - reached.lower > self.allowed(reached.lower) and variables <= DIRECT:
            reached = self.enclosed(direct, samples)
            boxes += reached.boxes
            if reached.upper < upper:
                upper, how = reached.upper, "directions as variables"
        v = sphere.velocities(reached.at[whole.size - sphere.size :])
        at, direction = self.place(field, reached.at), tuple(float(x) for x in v)
        assert upper >= reached.lower, f"{name}: a bound of {upper} is below {reached.lower}, which is attained: a bug"
        bound = Bound(name, text, reached.lower, upper, False, at, direction)
        return self._explained(bound, f"branch and bound by the {how}, boxes: {boxes}", samples)


def _product_norm(n: int, p: float) -> Weighted:
    """Return a norm of the matrix of v_i v_j (i <= j) that bounds ||c||_p / ||v||_p^2.

    p = 1: max_ij ||Gamma_ij||_1, since sum_ij |v_i v_j| = 1. p = infinity: max_k sum_ij |Gamma_kij|. p = 2: the largest singular
    value with sqrt(2) v_i v_j for i < j as coordinates, which form a unit vector.
    """
    mixed = {1.0: 0.5, 2.0: math.sqrt(0.5)}.get(p, 1.0)
    weights = tuple(1.0 if i == j else mixed for i, j in pairs(n))
    return Weighted(SingularValue() if p == 2 else ColumnSum(), weights, transposed=p == math.inf)


def _inverse(mu1: Bound, mu2: Bound) -> list[Bound]:
    """Return the bounds of M^-1: 1/mu2 <= M^-1 <= 1/mu1."""

    def inverted(mu: Bound, name: str, which: str) -> Bound:
        # The quotient is rounded to nearest: one step outwards holds.
        lower = math.nextafter(1 / mu.upper, 0) if mu.upper > 0 else math.inf
        upper = math.nextafter(1 / mu.lower, math.inf) if mu.lower > 0 else math.inf
        text = f"{which} eigenvalue of M^-1"
        return dataclasses.replace(mu, name=name, text=text, lower=lower, upper=upper, infimum=not mu.infimum)

    return [inverted(mu2, "Minv_min", "smallest"), inverted(mu1, "Minv_max", "largest")]


def _real(robot: Robot) -> bool:
    """Return whether every link is a real body: a point mass, or a pseudo-inertia that is clearly positive."""
    bodies = robot.parameters.values.reshape(len(robot.links), -1)
    return all(_not_negative(b) for b in bodies)


def _not_negative(body: np.ndarray) -> bool:
    m, h, tensor = body[0], body[1:4], body[4:]
    if m > 0 and not h.any() and not tensor.any():
        return True  # a point mass at the link's origin
    return smallest_eigenvalue(body.tolist()) > 1e-12 * np.abs(body).max()


def _at_least_zero(robot: Robot, mu1: Bound) -> Bound:
    """Return the bound with what physics adds: M = sum J^T G J is not negative where no link is."""
    if mu1.lower >= 0 or not _real(robot):
        return mu1
    return dataclasses.replace(
        mu1, lower=0.0, method=f"{mu1.method}; no eigenvalue is negative, since links are real bodies"
    )


def _mass_bounds(search: _Search, field: Field, step: Any) -> list[Bound]:
    made: dict[str, Bound] = {}
    for name, (text, measure, infimum) in MASS.items():
        step(name)
        # A positive matrix has its largest eigenvalue for a norm.
        if name == "M_2_max" and (made["mu1"].lower > 0 or _real(search.robot)):
            made[name] = dataclasses.replace(made["mu2"], name=name, text=text)
        else:
            made[name] = search.extreme(field, name, text, measure, infimum)
    made["mu1"] = _at_least_zero(search.robot, made["mu1"])
    return [made["mu1"], made["mu2"], *_inverse(made["mu1"], made["mu2"]), *list(made.values())[2:]]


def _velocity_bounds(search: _Search, field: Field, step: Any) -> list[Bound]:
    n, made = search.robot.n, []
    for key, p in NORMS.items():
        step(f"c_{key}")
        made.append(search.velocity(field, f"c_{key}", f"||c||_{key} / ||qd||_{key}^2", p))
    step("Gamma")
    halved = tuple(1.0 if i == j else 0.5 for i, j in pairs(n))
    largest = search.extreme(field, "Gamma", "max |Gamma_kij|", Weighted(LargestEntry(), halved))
    rules = (("c_2_n2", "n^2 max |Gamma|", n**2), ("c_2_n32", "n^(3/2) max |Gamma|", n**1.5))
    for name, rule, factor in rules:
        lower, upper = factor * largest.lower, factor * largest.upper * (1 + 2.0**-50)
        text = f"||c||_2 / ||qd||_2^2 by {rule}"
        made.append(dataclasses.replace(largest, name=name, text=text, lower=lower, upper=upper))
    return [*made, largest]


def _norm_bounds(search: _Search, field: Field, step: Any) -> list[Bound]:
    made = []
    for key, p in NORMS.items():
        step(f"g_{key}")
        made.append(search.extreme(field, f"g_{key}", f"||g||_{key}", VectorNorm(p)))
    return made


def _growth(search: _Search, fields: dict[str, Field], step: Any) -> list[Growth]:
    """Return, for each term that depends on slides, the bounds of its coefficients."""
    made = []
    for term, name, text, bound in _growing(search):
        field = fields[term]
        if field.sliding:
            step(f"{name}, growing")
            listed = tuple((power, bound(field.only(power), name, text)) for power, _ in field.coefficients)
            made.append(Growth(name, text, tuple(search.robot.joint_names[k] for k in field.sliding), listed))
    return made


def _growing(search: _Search) -> list[tuple[str, str, str, Any]]:
    def of(measure: Measure) -> Any:
        return lambda field, name, text: search.extreme(field, name, text, measure)

    def moving(p: float) -> Any:
        return lambda field, name, text: search.velocity(field, name, text, p)

    found_: list[tuple[str, str, str, Any]] = [("M", "M_1", "||M||_1", of(ColumnSum()))]
    found_ += [("M", "M_2", "||M||_2", of(SpectralNorm()))]
    found_ += [("g", f"g_{key}", f"||g||_{key}", of(VectorNorm(p))) for key, p in NORMS.items()]
    return found_ + [("c", f"c_{key}", f"||c||_{key} / ||qd||_{key}^2", moving(p)) for key, p in NORMS.items()]


def bounds(
    robot: Robot,
    range: Any = None,
    tolerance: float = 1e-6,
    boxes: int = 20_000,
    seed: int = 0,
) -> Bounds:
    """Return bounds of M, c and g over a joint range: mu1 <= M <= mu2, ||M||, ||c|| <= c_b ||qd||^2, ||g|| <= g_b (spec 2.8).

    Names: "mu1", "mu2" (eigenvalues of M), "Minv_min", "Minv_max" (of its inverse), "M_1_min", "M_1_max" (the 1-norm, which is
    the infinity norm too), "M_2_min", "M_2_max", "g_1", "g_2", "g_inf", "c_1", "c_2", "c_inf", and the textbook's rules
    "c_2_n2" = n^2 max |Gamma| and "c_2_n32" = n^(3/2) max |Gamma|. Each is an enclosure [lower, upper] of the true extreme, found
    by branch and bound with every rounding counted; a gap above `tolerance` (relative) means that `boxes` ran out, and then the
    attained side is the best of a random search, as its `method` says.

    `range`: None for the robot's limits (a full turn where there are none), (lo, hi) for all joints, or a mapping from joint
    names to (lo, hi), in rad or m. With slides, `growth` has bounds that hold for every position of them,
    ||F|| <= sum_k b_k |d^k|; a slide without limits has those alone. Friction, drives and the tip are left out.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1, g=10)
    >>> b = tp.bounds(arm, (-math.pi / 2, math.pi / 2), tolerance=1e-9)
    >>> [round(b[name].value, 7) for name in ("M_1_min", "M_1_max", "c_1", "g_1")]
    [4.0, 7.0, 1.0, 40.0]
    """
    _refuse(robot, tolerance, boxes, seed)
    search = _Search(robot, joint_range(robot, range), float(tolerance), int(boxes), seed)
    fields = {"M": mass_field(robot), "g": gravity_field(robot), "c": velocity_field(robot)}
    makers = {"M": (_mass_bounds, 6), "g": (_norm_bounds, 3), "c": (_velocity_bounds, 4)}
    finite = [term for term in fields if search.finite(fields[term])]
    growing = sum(1 for term, *_ in _growing(search) if fields[term].sliding)
    entries: list[Bound] = []
    with progress("bounds", sum(makers[t][1] for t in finite) + growing) as step:
        for term in finite:
            entries += makers[term][0](search, fields[term], step)
        growth = _growth(search, fields, step)
    spans = tuple((float(lo), float(hi)) for lo, hi in search.range)
    return Bounds(
        robot.name, robot.joint_names, spans, tuple(entries), tuple(growth), _notes(search, fields), tolerance
    )


def _notes(search: _Search, fields: dict[str, Field]) -> tuple[str, ...]:
    names = search.robot.joint_names
    free = [names[k] for k in np.flatnonzero(np.isnan(search.range[:, 0]))]
    missing = [term for term, field in fields.items() if not search.finite(field)]
    if not free:
        return ()
    without = f", so {', '.join(missing)}: no constant bound, only the growing one" if missing else ""
    return (f"No limits of the slide {', '.join(free)} are known{without}. Give range={{{free[0]!r}: (lo, hi)}}.",)


def _refuse(robot: Any, tolerance: Any, boxes: Any, seed: Any) -> None:
    require_numbers(robot)
    require_seed(seed)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 < tolerance < 1:
        raise TaupiError(
            f"tolerance is {shown(tolerance)}, expected a number between 0 and 1: the relative gap allowed."
        )
    if isinstance(boxes, bool) or not isinstance(boxes, int) or boxes < 1:
        raise TaupiError(f"boxes is {shown(boxes)}, expected a whole number from 1: how many boxes a bound may cost.")
