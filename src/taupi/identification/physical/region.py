"""The convex region of physically consistent parameters: those that real bodies can have.

The ten parameters of a link belong to a body whose density is nowhere negative if, and only if, its pseudo-inertia P is positive
semidefinite (Wensing, Kim & Slotine 2018); P is linear in them. That friction dissipates and rotors have inertia are further
inequalities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from taupi.dynamics.terms import kind_of
from taupi.errors import TaupiError, unknown
from taupi.identification.physical.cones import Cone, deepest_point, packed
from taupi.identification.physical.link_bounds import Box, Shape, linear
from taupi.model.body import pseudo_inertia, why_not_physical
from taupi.model.parameters import LINK_SIZE, MASS, MOMENT, Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import to_float

# Links have P >= EDGE, scaled by their size: well above rounding, well below what any torque sensor can see.
EDGE = 1e-8
# A region whose deepest point is nearer to the edge than this counts as empty.
DEPTH = 10 * EDGE
# The share of the load may be below zero by this much, which is invisible: it is often exactly zero, and a region in which
# only the edge is left has no interior. `Region.parameters` then returns zero.
_NO_SHARE = 1e-6
_DEFAULT_MASS, _DEFAULT_LENGTH = 1.0, 0.2  # kg and m: the scale of a link about which the description says nothing

Range = tuple[float, float]


# One link -------------------------------------------------------------------------------------------------------------


def pseudo_inertia_map() -> np.ndarray:
    """Return E (10, 10) in packed(P) = E pi_i, with pi_i the ten parameters of a link: P is linear in them.

    >>> import numpy as np
    >>> ball = np.array([2.0, 0, 0, 0, 0.4, 0, 0, 0.4, 0, 0.4])
    >>> pseudo_inertia_map() @ ball
    array([0.2, 0. , 0.2, 0. , 0. , 0.2, 0. , 0. , 0. , 2. ])
    """
    return np.column_stack([packed(pseudo_inertia(unit)) for unit in np.eye(LINK_SIZE).tolist()])


def inconsistencies(pi: Parameters) -> tuple[str, ...]:
    """Return one sentence for each link whose parameters no real body has, and for each negative friction or rotor inertia.

    >>> import taupi as tp
    >>> inconsistencies(tp.load("ur10").parameters)
    ()
    >>> print(inconsistencies(tp.load("puma560").parameters)[0])
    Link 'link1': the pseudo-inertia has eigenvalue -0.17, so no real body has these parameters.
    """
    values, sentences = pi.values, []
    for i in _links(pi):
        ten, name = values[pi.layout.link(i)], pi.layout.entries[LINK_SIZE * i].owner
        why = why_not_physical(tuple(map(Fraction, ten.tolist()))) or (
            None if ten[0] > 0 or not ten.any() else f"its mass is {ten[0]:.3g} kg"
        )
        if why:
            sentences.append(f"Link {name!r}: {why}.")
    for weights, label in _not_negative(pi):
        # Smaller negative numbers are rounding: no joint is known to 1e-12 N m.
        if weights @ values < -max(1e-12, 1e-9 * float(np.abs(weights * values).max())):
            sentences.append(f"{label} is {weights @ values:.3g}, expected 0 or more.")
    return tuple(sentences)


def is_consistent(pi: Parameters) -> bool:
    """Return whether real bodies can have these parameters: P >= 0 for each link, friction and rotor inertia >= 0.

    >>> import taupi as tp
    >>> [is_consistent(tp.load(name).parameters) for name in ("ur10", "panda", "puma560")]
    [True, True, False]
    """
    return not inconsistencies(pi)


def _links(pi: Parameters) -> range:
    return range(sum(e.kind == MASS[0] for e in pi.layout.entries))


def _not_negative(pi: Parameters) -> list[tuple[np.ndarray, str]]:
    """Return the weights (p,) of each combination of parameters that must not be negative, and its name.

    Friction opposes motion at every speed: F_v, F_s and, near standstill, F_s + F_b. Rotors have inertia, springs stiffness.
    """
    place = {(e.owner, e.kind): k for k, e in enumerate(pi.layout.entries)}
    result = []
    for (owner, kind), k in place.items():
        weights = np.zeros(len(pi))
        weights[k] = 1.0
        label = pi.layout.entries[k].name
        if kind_of(kind).with_coulomb and (owner, "coulomb") in place:
            weights[place[owner, "coulomb"]], label = 1.0, f"{owner}.coulomb + {label}"
        if kind_of(kind).sign != "any":
            result.append((weights, label))
    return result


def _loads(pi: Parameters) -> np.ndarray:
    """Return which parameters are shares of the load that are lost in gears (p,)."""
    return np.array([e.kind == "load" for e in pi.layout.entries])


# The region -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Region:
    """The physically consistent parameters x = pi / scale (p,) of a robot, and a prior in the same units."""

    standard: Parameters
    scale: np.ndarray
    prior: np.ndarray
    cone: Cone
    labels: tuple[str, ...]  # of the cone's rows, then of its blocks
    inside: np.ndarray = field(repr=False)  # a point well inside
    depth: float = 0.0  # the slack there

    def parameters(self, x: np.ndarray) -> np.ndarray:
        """Return pi = x scale of a point of the region."""
        pi = x * self.scale
        return np.where(_loads(self.standard), np.maximum(pi, 0.0), pi)

    def slack(self, pi: np.ndarray) -> float:
        """Return how far inside the region parameters are: the least slack of all constraints, in units of `scale`."""
        return float(self.cone.slack(pi / self.scale).min())


def parameter_scales(robot: Robot, standard: Parameters, values: np.ndarray) -> np.ndarray:
    """Return the scale (p,) of each parameter: for a link M, M l, M l^2, with M its mass and l its radius of gyration.

    If the description states no mass, M is the mean of the others; if it states no inertia, l is the distance to the next joint.
    The scale of friction and rotors is their value.
    """
    result = np.where(values[: len(standard)] != 0, np.abs(values[: len(standard)]), 1.0)
    tens = [values[standard.layout.link(i)] for i in _links(standard)]
    masses = [t[0] for t in tens if t[0] > 0]
    reach = _reach(robot)
    for i, ten in enumerate(tens):
        mean = np.mean(masses) if masses else _DEFAULT_MASS
        m = max(ten[0], 1e-3 * mean) if ten[0] > 0 else mean
        second = 0.5 * (ten[4] + ten[7] + ten[9])
        length = np.sqrt(second / m) if second > 0 else 0.0
        length = length if length > 1e-2 * reach[i] else reach[i]
        kinds = [e.kind for e in standard.layout.entries[standard.layout.link(i)]]
        result[standard.layout.link(i)] = [
            m * (1.0 if k in MASS else length if k in MOMENT else length**2) for k in kinds
        ]
    return result


def _reach(robot: Robot) -> list[float]:
    """Return the distance from the frame of each link to the farthest joint on it; the mean of the others if that is zero."""
    symbols = dict(robot.symbols)
    reach = [0.0] * len(robot.links)
    for i, joint in enumerate(robot.joints):
        for link, place in ((joint.parent, joint.before), (i, joint.after)):
            translation = [to_float(v, f"the place of {joint.name}", symbols) for v in place.translation]
            if link >= 0:
                reach[link] = max(reach[link], float(np.linalg.norm(translation)))
    positive = [r for r in reach if r > 0]
    default = float(np.mean(positive)) if positive else _DEFAULT_LENGTH
    return [r or default for r in reach]


def consistent_region(
    robot: Robot,
    standard: Parameters,
    prior: np.ndarray,
    mass_bounds: Mapping[str, Range] | None = None,
    total_mass: Range | None = None,
    boxes: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    shapes: Mapping[str, Shape] | None = None,
    sizes: np.ndarray | None = None,
    signless: Sequence[str] = (),
) -> Region:
    """Return the region of parameters that real bodies can have: P_i >= 0 for each link, dissipation, and further limits.

    `mass_bounds` (kg) are by link, or "*" for every link; `total_mass` (kg) is that of all links; `boxes` contain centres of mass
    (lower and upper corner, m, frame of the link), `shapes` whole bodies. `prior` (p,) is the point to stay near; `sizes` (p,)
    give the scale of parameters whose prior is 0. Parameters named in `signless` may be negative.
    """
    scale = parameter_scales(robot, standard, np.where(prior != 0, prior, 0.0 if sizes is None else sizes))
    loads = _loads(standard)
    signs = [(w, label) for w, label in _not_negative(standard) if label not in signless]
    rows = [(w, _NO_SHARE if (w * loads).any() else 0.0, f"{label} at zero") for w, label in signs]
    rows += _mass_rows(standard, mass_bounds or {}, total_mass)
    for name, corners in (boxes or {}).items():
        box = Box(*both_ends(corners, f"boxes[{name!r}]"))
        rows += _shape_rows(standard, name, [linear(f) for f in box.faces()], "its centre of mass at its box")
    for name, shape in (shapes or {}).items():
        if not isinstance(shape, Shape):
            raise TaupiError(
                "shapes[{name!r}] is {got!r}, expected a Box, an Ellipsoid or a Hull.", name=name, got=shape
            )
        rows += _shape_rows(standard, name, shape.quadrics(), "its shape filled")
    cone, labels = _cone(standard, scale, rows)
    inside, depth = deepest_point(cone, prior / scale)
    if depth < DEPTH:
        raise TaupiError("{why_empty}", why_empty=_why_empty(standard, cone, labels, prior / scale))
    return Region(standard, scale, prior / scale, cone, labels, inside, depth)


Row = tuple[np.ndarray, float, str]  # weights . pi + offset >= 0, and a label for it when it is active


def _links_named(standard: Parameters, name: str) -> list[int]:
    names = [standard.layout.entries[LINK_SIZE * i].owner for i in _links(standard)]
    if name != "*" and name not in names:
        raise unknown("link", name, names)
    return [i for i, n in enumerate(names) if name in ("*", n)]


def both_ends(value: Any, what: str) -> tuple[Any, Any]:
    """Return the lower and the upper end of a pair; `what` is its name in errors."""
    if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 2:
        raise TaupiError("{what} is {got!r}, expected (lower, upper).", what=what, got=value)
    return value[0], value[1]


def mass_range(value: Range, what: str) -> Range:
    """Return the ends of a range of masses, kg; `what` is its name in errors."""
    ends = both_ends(value, what)
    try:
        low, high = float(ends[0]), float(ends[1])
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 <= low < high:
        raise TaupiError(
            "{what} is {got!r}, expected 0 <= lower < upper (kg). A mass known to 2 % is (0.98 m, 1.02 m).",
            what=what,
            got=value,
        )
    return low, high


def _mass_rows(standard: Parameters, bounds: Mapping[str, Range], total: Range | None) -> list[Row]:
    ranges = [([i], b, f"mass_bounds[{name!r}]") for name, b in bounds.items() for i in _links_named(standard, name)]
    if total is not None:
        ranges.append((list(_links(standard)), total, "total_mass"))
    result: list[Row] = []
    for links, limits, what in ranges:
        low, high = mass_range(limits, what)
        weights = np.zeros(len(standard))
        weights[[standard.layout.link(i).start for i in links]] = 1.0
        owner = standard.layout.entries[LINK_SIZE * links[0]].owner if what != "total_mass" else "the total"
        result.append((weights, -low, f"mass of {owner} at its lower bound {low:g}"))
        if np.isfinite(high):
            result.append((-weights, high, f"mass of {owner} at its upper bound {high:g}"))
    return result


def _shape_rows(standard: Parameters, name: str, quadrics: Sequence[np.ndarray], label: str) -> list[Row]:
    """Return tr(P Q) >= 0 for each Q, as rows over pi."""
    result = []
    for i in _links_named(standard, name):
        owner = standard.layout.entries[LINK_SIZE * i].owner
        for q in quadrics:
            weights = np.zeros(len(standard))
            weights[standard.layout.link(i)] = pseudo_inertia_map().T @ packed(q)
            result.append((weights, 0.0, f"link {owner}: {label}"))
    return result


def _cone(standard: Parameters, scale: np.ndarray, rows: Sequence[Row]) -> tuple[Cone, tuple[str, ...]]:
    """Return the region in units of `scale`, with its labels; P of a link becomes D P D, D = diag(1/l, 1/l, 1/l, 1) / sqrt(M)."""
    weights = np.array([w * scale for w, _, _ in rows]).reshape(-1, len(standard))
    norms = np.linalg.norm(weights, axis=1)
    blocks, owners = [], []
    for i in _links(standard):
        block = np.zeros((LINK_SIZE, len(standard)))
        block[:, standard.layout.link(i)] = pseudo_inertia_map()
        blocks.append(block)
        owners.append(f"link {standard.layout.entries[LINK_SIZE * i].owner} at the edge of what a body can be")
    start = tuple(-EDGE * packed(np.eye(4)) for _ in blocks)
    offset = np.array([o for _, o, _ in rows]) / norms
    return Cone(weights / norms[:, None], offset, tuple(blocks), start), (*(label for _, _, label in rows), *owners)


def _why_empty(standard: Parameters, cone: Cone, labels: Sequence[str], prior: np.ndarray) -> str:
    """Return a sentence on which link's limits contradict each other."""
    for i, block in enumerate(cone.blocks):
        link = standard.layout.link(i)
        own = [
            k
            for k, row in enumerate(cone.rows)
            if row[link].any() and not np.delete(row, range(*link.indices(len(row)))).any()
        ]
        alone = Cone(cone.rows[own][:, link], cone.offset[own], (block[:, link],), (cone.start[i],))
        if own and deepest_point(alone, prior[link])[1] < DEPTH:
            kinds = ", ".join(dict.fromkeys(labels[k].split(": ")[-1].split(" at its")[0] for k in own))
            name = standard.layout.entries[link.start].owner
            return f"No body fits the limits of link {name!r} ({kinds}): they contradict each other. Widen one of them."
    return "No links fit total_mass together with mass_bounds: the links' bounds add up to another mass. Widen one of them."
