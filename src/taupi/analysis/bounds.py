"""Bounds of the mass matrix, the velocity terms and gravity over a joint range: certain, and with their gap stated."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taupi.analysis.bound_results import Bound, Bounds, Growth
from taupi.analysis.bounding.branch_and_bound import STARTS, EnclosedMaximum, Maximisation, enclose, random_search
from taupi.analysis.bounding.norms import (
    ColumnSum,
    ConvexFunction,
    LargestEntry,
    SingularValue,
    SpectralNorm,
    TopEigenvalue,
    VectorNorm,
    WeightedNorm,
)
from taupi.analysis.bounding.robot_functions import (
    RobotFunction,
    directions,
    gravity_function,
    mass_function,
    pairs,
    velocity_function,
)
from taupi.analysis.joint_range import RangeLike, joint_range, magnitude, require_numbers
from taupi.checks import is_number, whole_number
from taupi.errors import TaupiError
from taupi.model.body import smallest_eigenvalue
from taupi.model.robot import Robot
from taupi.progress import progress

Step = Callable[[str], None]  # shows what comes next in the progress bar
Bounding = Callable[[RobotFunction, str, str], Bound]  # of a term, with the bound's name and text
NORMS = {"1": 1.0, "2": 2.0, "inf": math.inf}
# Directions of motion are variables too; with more variables than this, only the bound by products v_i v_j is searched.
DIRECT = 5
# `boxes` applies to functions that cost no more than this; a box of a more expensive function counts for more.
COST = 50_000
# The attained side of a search that does not converge is the best of this many random points, with ascents from some of them.
SAMPLES = 2_000
MANY_SAMPLES = 20_000
DUST = 1e-13  # relative to the robot's own numbers: a term that vanishes up to rounding need not be known better
MASS: dict[str, tuple[str, ConvexFunction, bool]] = {
    "mu1": ("smallest eigenvalue of M", TopEigenvalue(-1), True),
    "mu2": ("largest eigenvalue of M", TopEigenvalue(1), False),
    "M_1_min": ("||M||_1", ColumnSum(), True),
    "M_1_max": ("||M||_1", ColumnSum(), False),
    "M_2_min": ("||M||_2", SpectralNorm(), True),
    "M_2_max": ("||M||_2", SpectralNorm(), False),
}


@dataclass(frozen=True)
class _BoundSearch:
    """A robot over a joint range, and how much work a bound may cost."""

    robot: Robot
    range: np.ndarray
    tolerance: float
    boxes: int
    seed: int

    def finite(self, term: RobotFunction) -> bool:
        """Return whether the range of every joint that the term depends on is known."""
        return not np.isnan(self.range[list(term.coordinates)]).any()

    def box(self, term: RobotFunction) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends of the term's variables x, (1, size) each."""
        turning = self.range[list(term.turning)] if term.turning else np.zeros((1, 2))
        ends = np.concatenate([turning, self.range[list(term.sliding)].reshape(-1, 2)])
        return ends[None, :, 0], ends[None, :, 1]

    def place(self, term: RobotFunction, x: np.ndarray) -> tuple[float, ...]:
        """Return q at x; joints that do not matter are in the middle of their range."""
        q = np.nan_to_num(self.range.mean(1))
        values = np.concatenate([x[: len(term.turning)], x[max(1, len(term.turning)) :]])
        q[list(term.coordinates)] = values[: len(term.coordinates)]
        return tuple(float(v) for v in q)

    def enclosed(self, problem: Maximisation, samples: int) -> EnclosedMaximum:
        """Return the enclosure of a maximum."""
        floor = DUST * magnitude(self.robot)
        boxes = max(1, int(self.boxes * min(1.0, COST / max(1.0, problem.function.cost))))
        return enclose(problem, self.tolerance, boxes, samples, self.seed, floor)

    def allowed(self, value: float) -> float:
        """Return the gap that counts as tight."""
        return max(self.tolerance * abs(value), DUST * magnitude(self.robot))

    def samples(self, variables: int) -> int:
        """Return how many random points are tried."""
        return MANY_SAMPLES if variables > 3 else SAMPLES

    def extreme(self, term: RobotFunction, name: str, text: str, norm: ConvexFunction, infimum: bool = False) -> Bound:
        """Return the largest value of a norm of a term, or with `infimum` the smallest, as a bound."""
        # The smallest eigenvalue of M is minus the largest one of -M, which is convex: maximising that is the better way.
        flipped = isinstance(norm, TopEigenvalue) and infimum
        sense = -1 if infimum and not flipped else 1
        problem = Maximisation(term.function, norm, *self.box(term), sense)
        e = self.enclosed(problem, self.samples(problem.lo.shape[1]))
        ends = (-e.upper, -e.lower) if infimum else (e.lower, e.upper)
        bound = Bound(name, text, *ends, infimum, self.place(term, e.at))
        return self._explained(bound, f"branch and bound, boxes: {e.boxes}", e.samples)

    def _explained(self, bound: Bound, method: str, samples: int) -> Bound:
        """Return the bound with its method and, if it is not tight, with what is known of its attained side."""
        tight = bound.gap <= 1.001 * self.allowed(bound.attained)
        if not tight:
            side = "below" if bound.infimum else "above"
            # The rule of three: N random points all miss a share p of the range with probability (1 - p)^N < 5 % for p > 3/N.
            method += (
                f"; not converged: the attained side is the best of {samples} random points, the best {STARTS} of them "
                f"followed uphill (with 95 % confidence less than {300 / samples:.2g} % of the range lies {side} it)"
            )
        return dataclasses.replace(bound, converged=tight, method=method)

    def velocity(self, gamma: RobotFunction, name: str, text: str, p: float) -> Bound:
        """Return c_b with ||c(q, v)||_p <= c_b ||v||_p^2.

        c = sum_ij Gamma_ij v_i v_j is bounded by a norm of the matrix `gamma` (n x pairs), whose variables are only the joints.
        If no direction reaches that bound, and there are few variables, the directions become variables too.
        """
        n = self.robot.n
        sphere = directions(n, p, self.seed)
        c = gamma.contracted(sphere.products, len(pairs(n)), sphere.size, sphere.fixed)
        lo, hi = self.box(gamma)
        tiled = [np.hstack([np.repeat(a, len(b), axis=0), b]) for a, b in ((lo, sphere.lo), (hi, sphere.hi))]
        direct = Maximisation(c, VectorNorm(p), tiled[0], tiled[1])
        variables = len(gamma.coordinates) + sphere.size - sphere.fixed
        samples = self.samples(variables)
        reached = random_search(direct, samples, self.seed)
        products = self.enclosed(Maximisation(gamma.function, _product_norm(n, p), lo, hi), SAMPLES)
        upper, boxes, how = products.upper, products.boxes, "norm of the products"
        if upper - reached.lower > self.allowed(reached.lower) and variables <= DIRECT:
            reached = self.enclosed(direct, samples)
            boxes += reached.boxes
            if reached.upper < upper:
                upper, how = reached.upper, "directions as variables"
        v = sphere.velocities(reached.at[c.size - sphere.size :])
        at, direction = self.place(gamma, reached.at), tuple(float(x) for x in v)
        assert upper >= reached.lower, f"{name}: a bound of {upper} is below {reached.lower}, which is attained: a bug"
        bound = Bound(name, text, reached.lower, upper, False, at, direction)
        return self._explained(bound, f"branch and bound by the {how}, boxes: {boxes}", samples)


def _product_norm(n: int, p: float) -> WeightedNorm:
    """Return a norm of the coefficients of v_i v_j (i <= j) that bounds ||c||_p / ||v||_p^2.

    p = 1: max_ij ||Gamma_ij||_1, since sum_ij |v_i v_j| = 1. p = infinity: max_k sum_ij |Gamma_kij|. p = 2: the largest singular
    value with v_i^2 and sqrt(2) v_i v_j (i < j) as coordinates, which form a unit vector.
    """
    mixed = {1.0: 0.5, 2.0: math.sqrt(0.5)}.get(p, 1.0)
    weights = tuple(1.0 if i == j else mixed for i, j in pairs(n))
    return WeightedNorm(SingularValue() if p == 2 else ColumnSum(), weights, transposed=p == math.inf)


def _inverse(mu1: Bound, mu2: Bound) -> list[Bound]:
    """Return the bounds of M^-1: 1/mu2 <= M^-1 <= 1/mu1."""

    def inverted(mu: Bound, name: str, which: str) -> Bound:
        # Quotients are rounded to nearest, so one step outwards is enough.
        lower = math.nextafter(1 / mu.upper, 0) if mu.upper > 0 else math.inf
        upper = math.nextafter(1 / mu.lower, math.inf) if mu.lower > 0 else math.inf
        text = f"{which} eigenvalue of M^-1"
        return dataclasses.replace(mu, name=name, text=text, lower=lower, upper=upper, infimum=not mu.infimum)

    return [inverted(mu2, "Minv_min", "smallest"), inverted(mu1, "Minv_max", "largest")]


def _has_real_bodies(robot: Robot) -> bool:
    """Return whether every link is a real body: a point mass, or a body whose pseudo-inertia is clearly positive."""
    return all(_is_real(body) for body in robot.parameters.values.reshape(len(robot.links), -1))


def _is_real(body: np.ndarray) -> bool:
    m, h, tensor = body[0], body[1:4], body[4:]
    if m > 0 and not h.any() and not tensor.any():
        return True  # a point mass at the link's origin
    return smallest_eigenvalue(body.tolist()) > 1e-12 * body.max()


def _at_least_zero(robot: Robot, mu1: Bound) -> Bound:
    """Return the bound with what physics adds: M = sum J^T G J has no negative eigenvalue if all links are real bodies."""
    if mu1.lower >= 0 or not _has_real_bodies(robot):
        return mu1
    return dataclasses.replace(
        mu1, lower=0.0, method=f"{mu1.method}; no eigenvalue is negative, since links are real bodies"
    )


def _mass_bounds(search: _BoundSearch, mass: RobotFunction, step: Step) -> list[Bound]:
    by_name: dict[str, Bound] = {}
    for name, (text, norm, infimum) in MASS.items():
        step(name)
        # The norm of a positive matrix is its largest eigenvalue.
        if name == "M_2_max" and (by_name["mu1"].lower > 0 or _has_real_bodies(search.robot)):
            by_name[name] = dataclasses.replace(by_name["mu2"], name=name, text=text)
        else:
            by_name[name] = search.extreme(mass, name, text, norm, infimum)
    by_name["mu1"] = _at_least_zero(search.robot, by_name["mu1"])
    return [by_name["mu1"], by_name["mu2"], *_inverse(by_name["mu1"], by_name["mu2"]), *list(by_name.values())[2:]]


def _velocity_bounds(search: _BoundSearch, gamma: RobotFunction, step: Step) -> list[Bound]:
    n, entries = search.robot.n, []
    for key, p in NORMS.items():
        step(f"c_{key}")
        entries.append(search.velocity(gamma, f"c_{key}", f"||c||_{key} / ||qd||_{key}^2", p))
    step("Gamma")
    halved = tuple(1.0 if i == j else 0.5 for i, j in pairs(n))
    largest = search.extreme(gamma, "Gamma", "max |Gamma_kij|", WeightedNorm(LargestEntry(), halved))
    rules = (("c_2_n2", "n^2 max |Gamma|", n**2), ("c_2_n32", "n^(3/2) max |Gamma|", n**1.5))
    for name, rule, factor in rules:
        lower, upper = factor * largest.lower, factor * largest.upper * (1 + 2.0**-50)
        text = f"||c||_2 / ||qd||_2^2 by {rule}"
        entries.append(dataclasses.replace(largest, name=name, text=text, lower=lower, upper=upper))
    return [*entries, largest]


def _gravity_bounds(search: _BoundSearch, gravity: RobotFunction, step: Step) -> list[Bound]:
    entries = []
    for key, p in NORMS.items():
        step(f"g_{key}")
        entries.append(search.extreme(gravity, f"g_{key}", f"||g||_{key}", VectorNorm(p)))
    return entries


def _growth(search: _BoundSearch, terms: dict[str, RobotFunction], step: Step) -> list[Growth]:
    """Return, for each term that depends on slides, the bounds of its coefficients."""
    growth = []
    for key, name, text, bound in _growing(search):
        term = terms[key]
        if term.sliding:
            step(f"{name}, growing")
            coefficients = tuple((power, bound(term.only(power), name, text)) for power, _ in term.coefficients)
            growth.append(Growth(name, text, tuple(search.robot.joint_names[k] for k in term.sliding), coefficients))
    return growth


def _growing(search: _BoundSearch) -> list[tuple[str, str, str, Bounding]]:
    """Return the bounds that may grow with slides: the term, the bound's name and text, and how it is computed."""

    def of_norm(norm: ConvexFunction) -> Bounding:
        return lambda term, name, text: search.extreme(term, name, text, norm)

    def of_velocity(p: float) -> Bounding:
        return lambda term, name, text: search.velocity(term, name, text, p)

    mass = [("M", "M_1", "||M||_1", of_norm(ColumnSum())), ("M", "M_2", "||M||_2", of_norm(SpectralNorm()))]
    gravity = [("g", f"g_{key}", f"||g||_{key}", of_norm(VectorNorm(p))) for key, p in NORMS.items()]
    velocity = [("c", f"c_{key}", f"||c||_{key} / ||qd||_{key}^2", of_velocity(p)) for key, p in NORMS.items()]
    return [*mass, *gravity, *velocity]


def bounds(
    robot: Robot,
    range: RangeLike = None,
    tolerance: float = 1e-6,
    boxes: int = 20_000,
    seed: int = 0,
) -> Bounds:
    """Return bounds of M, c and g over a joint range: mu1 <= M <= mu2, ||M||, ||c|| <= c_b ||qd||^2, ||g|| <= g_b.

    Each is an enclosure [lower, upper] of the true extreme, found by branch and bound with every rounding accounted for. Their
    names (equations.md, D20) are "mu1", "mu2" (eigenvalues of M), "Minv_min", "Minv_max" (of its inverse), "M_1_min", "M_1_max"
    (the 1-norm, which is also the infinity norm), "M_2_min", "M_2_max", "g_1", "g_2", "g_inf", "c_1", "c_2", "c_inf", and the
    textbook's rules "c_2_n2" = n^2 max |Gamma| and "c_2_n32" = n^(3/2) max |Gamma|. Friction, drives and a load at the tip are
    left out.

    Args:
        robot: The robot, with numbers for all of its parameters.
        range: None (the default) for the robot's limits, with a full turn where there are none, (lo, hi) for all joints, or a
            mapping from joint names to (lo, hi), rad or m.
        tolerance: Relative gap to reach, by default 1e-6.
        boxes: Budget of each bound, by default 20 000. If the gap stays above the tolerance, the boxes ran out, and the attained
            side is the best of a random search, as the bound's `method` says.
        seed: Seed of that search, by default 0.

    Returns:
        The bounds by name. With slides, `growth` has bounds that hold for every position of them, ||F|| <= sum_k b_k |d^k|; a
        slide without limits has only those.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1, g=10)
    >>> b = tp.bounds(arm, (-math.pi / 2, math.pi / 2), tolerance=1e-9)
    >>> [round(b[name].value, 7) for name in ("M_1_min", "M_1_max", "c_1", "g_1")]
    [4.0, 7.0, 1.0, 40.0]
    """
    require_numbers(robot)
    whole_number("seed", seed, least=0)
    whole_number("boxes", boxes)
    if not is_number(tolerance) or not 0 < tolerance < 1:
        raise TaupiError(
            "{tolerance} is {got!r}, expected a number between 0 and 1: the relative gap allowed.", got=tolerance
        )
    search = _BoundSearch(robot, joint_range(robot, range), float(tolerance), int(boxes), seed)
    terms = {"M": mass_function(robot), "g": gravity_function(robot), "c": velocity_function(robot)}
    bounders = {"M": (_mass_bounds, 6), "g": (_gravity_bounds, 3), "c": (_velocity_bounds, 4)}
    finite = [key for key, term in terms.items() if search.finite(term)]
    growing = sum(1 for key, *_ in _growing(search) if terms[key].sliding)
    entries: list[Bound] = []
    with progress("bounds", sum(bounders[key][1] for key in finite) + growing) as step:
        for key in finite:
            entries += bounders[key][0](search, terms[key], step)
        growth = _growth(search, terms, step)
    spans = tuple((float(lo), float(hi)) for lo, hi in search.range)
    return Bounds(robot.name, robot.joint_names, spans, tuple(entries), tuple(growth), _notes(search, terms), tolerance)


def _notes(search: _BoundSearch, terms: dict[str, RobotFunction]) -> tuple[str, ...]:
    names, stated = search.robot.joint_names, [name for name, value in search.robot.symbols if value is not None]
    taken = (f"With values for {', '.join(stated)}: for formulas, taupi.closed_form.bound_formulas.",) if stated else ()
    free = [names[k] for k in np.flatnonzero(np.isnan(search.range[:, 0]))]
    if not free:
        return taken
    unbounded = [key for key, term in terms.items() if not search.finite(term)]
    only = f", so {', '.join(unbounded)}: no constant bound, only the growing one" if unbounded else ""
    return (f"No limits of the slide {', '.join(free)} are known{only}. Give range={{{free[0]!r}: (lo, hi)}}.", *taken)
