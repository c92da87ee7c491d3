"""What real bodies can have: the convex region of physically consistent parameters.

A link's ten parameters belong to a body with a density that is nowhere negative exactly if its pseudo-inertia P is positive
semidefinite (Wensing, Kim & Slotine 2018); P is linear in them. Friction dissipates, and rotors have inertia: more inequalities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from taupi.errors import TaupiError, shown, unknown
from taupi.identification.physical.cones import Cone, deepest, packed
from taupi.identification.physical.link_shapes import Box, Shape, linear
from taupi.model.body import pseudo_inertia, why_not_physical
from taupi.model.parameters import LINK_SIZE, MASS, MOMENT, Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import to_float

# Links have P >= EDGE in units of their own size: well above rounding, well below what any torque sensor can see.
EDGE = 1e-8
# A region, or a part of it, whose deepest point is nearer to the edge than this is taken for empty.
DEPTH = 10 * EDGE
# Kinds of parameters that dissipate, or are inertias or springs.
_POSITIVE = (
    *("viscous", "coulomb", "rotor", "stribeck"),
    *("rotor_inertia", "stiffness", "damping", "link_viscous", "link_coulomb"),
)
_NO_MASS, _NO_LENGTH = 1.0, 0.2  # kg and m: the size of a link where the description tells nothing

Range = tuple[float, float]


# One link -------------------------------------------------------------------------------------------------------------


def pseudo_inertia_map() -> np.ndarray:
    """Return E (10, 10) with packed(P) = E pi_i, pi_i the ten parameters of a link: P is linear in them.

    >>> import numpy as np
    >>> ball = np.array([2.0, 0, 0, 0, 0.4, 0, 0, 0.4, 0, 0.4])
    >>> pseudo_inertia_map() @ ball
    array([0.2, 0. , 0.2, 0. , 0. , 0.2, 0. , 0. , 0. , 2. ])
    """
    return np.column_stack([packed(pseudo_inertia(unit)) for unit in np.eye(LINK_SIZE).tolist()])


def inconsistencies(pi: Parameters) -> tuple[str, ...]:
    """Return a sentence for each link whose parameters no real body has, and for each friction or rotor below zero.

    >>> import taupi as tp
    >>> inconsistencies(tp.load("ur10").parameters)
    ()
    >>> print(inconsistencies(tp.load("puma560").parameters)[0])
    Link 'link1': the pseudo-inertia has eigenvalue -0.17, so no real body has these parameters.
    """
    values, told = pi.values, []
    for i in _links(pi):
        ten, name = values[pi.layout.link(i)], pi.layout.entries[LINK_SIZE * i].owner
        why = why_not_physical(tuple(map(Fraction, ten.tolist()))) or (
            None if ten[0] > 0 or not ten.any() else f"its mass is {ten[0]:.3g} kg"
        )
        if why:
            told.append(f"Link {name!r}: {why}.")
    for weights, label in _dissipation(pi):
        # No joint is known to a millionth of a millionth of a newton metre: what is smaller is rounding.
        if weights @ values < -max(1e-12, 1e-9 * float(np.abs(weights * values).max())):
            told.append(f"{label} is {weights @ values:.3g}, expected 0 or more.")
    return tuple(told)


def consistent(pi: Parameters) -> bool:
    """Return whether real bodies can have these parameters: P >= 0 for each link, friction and rotor inertia >= 0.

    >>> import taupi as tp
    >>> [consistent(tp.load(name).parameters) for name in ("ur10", "panda", "puma560")]
    [True, True, False]
    """
    return not inconsistencies(pi)


def _links(pi: Parameters) -> range:
    return range(sum(e.kind == MASS[0] for e in pi.layout.entries))


def _dissipation(pi: Parameters) -> list[tuple[np.ndarray, str]]:
    """Return weights (p,) of what must not be negative at each joint, and its name.

    Friction opposes motion at every speed: F_v, F_s and, at standstill, F_s + F_b. Rotors have inertia, springs stiffness.
    """
    place = {(e.owner, e.kind): k for k, e in enumerate(pi.layout.entries)}
    result = []
    for (owner, kind), k in place.items():
        weights = np.zeros(len(pi))
        weights[k] = 1.0
        label = pi.layout.entries[k].name
        if kind == "stribeck" and (owner, "coulomb") in place:
            weights[place[owner, "coulomb"]], label = 1.0, f"{owner}.coulomb + {label}"
        if kind in _POSITIVE:
            result.append((weights, label))
    return result


# The region -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Region:
    """The consistent parameters x = pi / scale (p,) of a robot, and those to stay near to, `prior`, in the same units."""

    standard: Parameters
    scale: np.ndarray
    prior: np.ndarray
    cone: Cone
    labels: tuple[str, ...]  # of the cone's rows, then of its blocks
    inside: np.ndarray = field(repr=False)  # a point well inside
    depth: float = 0.0

    def slack(self, pi: np.ndarray) -> float:
        """Return how far the parameters are inside: the least slack of all constraints, in units of `scale`."""
        return float(self.cone.slack(pi / self.scale).min())


def sizes(robot: Robot, standard: Parameters, values: np.ndarray) -> np.ndarray:
    """Return the scale (p,) of parameters: of a link M, M l, M l^2, with M its mass and l its radius of gyration.

    Where the description tells no mass, M is the mean of the others; where it tells no inertia, l is the distance to the next
    joint. Friction and rotors have the scale of their value.
    """
    result = np.where(values[: len(standard)] != 0, np.abs(values[: len(standard)]), 1.0)
    tens = [values[standard.layout.link(i)] for i in _links(standard)]
    masses = [t[0] for t in tens if t[0] > 0]
    reach = _reach(robot)
    for i, ten in enumerate(tens):
        m = max(ten[0], 1e-3 * np.mean(masses)) if masses and ten[0] > 0 else (np.mean(masses) if masses else _NO_MASS)
        second = 0.5 * (ten[4] + ten[7] + ten[9])
        length = np.sqrt(second / m) if second > 0 else 0.0
        length = length if length > 1e-2 * reach[i] else reach[i]
        kinds = [e.kind for e in standard.layout.entries[standard.layout.link(i)]]
        result[standard.layout.link(i)] = [
            m * (1.0 if k in MASS else length if k in MOMENT else length**2) for k in kinds
        ]
    return result


def _reach(robot: Robot) -> list[float]:
    """Return the distance from each link's frame to the farthest joint on it; the mean of all where there is none."""
    known = dict(robot.symbols)
    far = [0.0] * len(robot.links)
    for i, joint in enumerate(robot.joints):
        for link, place in ((joint.parent, joint.before), (i, joint.after)):
            steps = [to_float(v, f"the place of {joint.name}", known) for v in place.translation]
            if link >= 0:
                far[link] = max(far[link], float(np.linalg.norm(steps)))
    some = [r for r in far if r > 0]
    return [r or (float(np.mean(some)) if some else _NO_LENGTH) for r in far]


def region(
    robot: Robot,
    standard: Parameters,
    prior: np.ndarray,
    mass_bounds: Mapping[str, Range] | None = None,
    total_mass: Range | None = None,
    boxes: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    shapes: Mapping[str, Shape] | None = None,
    sized: np.ndarray | None = None,
    signless: Sequence[str] = (),
) -> Region:
    """Return the region of parameters that real bodies can have: P_i >= 0 for each link, dissipation, and further limits.

    `mass_bounds` (kg) are by link, or "*" for each; `total_mass` is that of all links; `boxes` hold centres of mass (lower and
    upper corner, m, link frame), `shapes` the whole body. `prior` (p,) is what to stay near to; `sized` (p,) gives sizes
    where it has none. Parameters named in `signless` may be negative.
    """
    scale = sizes(robot, standard, np.where(prior != 0, prior, 0.0 if sized is None else sized))
    rows = [(w, 0.0, f"{label} at zero") for w, label in _dissipation(standard) if label not in signless]
    rows += _mass_rows(standard, mass_bounds or {}, total_mass)
    for name, corners in (boxes or {}).items():
        box = Box(*_pair(corners, f"boxes[{name!r}]"))
        rows += _shape_rows(standard, name, [linear(f) for f in box.faces()], "its centre of mass at its box")
    for name, shape in (shapes or {}).items():
        if not isinstance(shape, Shape):
            raise TaupiError(f"shapes[{name!r}] is {shown(shape)}, expected a Box, an Ellipsoid or a Hull.")
        rows += _shape_rows(standard, name, shape.quadrics(), "its shape filled")
    cone, labels = _cone(standard, scale, rows)
    inside, depth = deepest(cone, prior / scale)
    if depth < DEPTH:
        raise TaupiError(_why_empty(standard, cone, labels, prior / scale))
    return Region(standard, scale, prior / scale, cone, labels, inside, depth)


Row = tuple[np.ndarray, float, str]  # weights . pi + offset >= 0, and what it says where it holds with equality


def _named(standard: Parameters, name: str) -> list[int]:
    names = [standard.layout.entries[LINK_SIZE * i].owner for i in _links(standard)]
    if name != "*" and name not in names:
        raise unknown("link", name, names)
    return [i for i, n in enumerate(names) if name in ("*", n)]


def _pair(given: Any, what: str) -> tuple[Any, Any]:
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
        raise TaupiError(f"{what} is {shown(given)}, expected (lower, upper).")
    return given[0], given[1]


def _range(given: object, what: str) -> Range:
    ends = _pair(given, what)
    try:
        low, high = float(ends[0]), float(ends[1])
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 <= low < high:
        raise TaupiError(
            f"{what} is {shown(given)}, expected 0 <= lower < upper (kg). A mass known to 2 % is (0.98 m, 1.02 m)."
        )
    return low, high


def _mass_rows(standard: Parameters, bounds: Mapping[str, Range], total: Range | None) -> list[Row]:
    asked = [([i], b, f"mass_bounds[{name!r}]") for name, b in bounds.items() for i in _named(standard, name)]
    if total is not None:
        asked.append((list(_links(standard)), total, "total_mass"))
    result: list[Row] = []
    for links, given, what in asked:
        low, high = _range(given, what)
        weights = np.zeros(len(standard))
        weights[[standard.layout.link(i).start for i in links]] = 1.0
        owner = standard.layout.entries[LINK_SIZE * links[0]].owner if what != "total_mass" else "the total"
        result.append((weights, -low, f"mass of {owner} at its lower bound {low:g}"))
        if np.isfinite(high):
            result.append((-weights, high, f"mass of {owner} at its upper bound {high:g}"))
    return result


def _shape_rows(standard: Parameters, name: str, quadrics: Sequence[np.ndarray], told: str) -> list[Row]:
    """Return tr(P Q) >= 0 for each Q, over pi."""
    result = []
    for i in _named(standard, name):
        owner = standard.layout.entries[LINK_SIZE * i].owner
        for q in quadrics:
            weights = np.zeros(len(standard))
            weights[standard.layout.link(i)] = pseudo_inertia_map().T @ packed(q)
            result.append((weights, 0.0, f"link {owner}: {told}"))
    return result


def _cone(standard: Parameters, scale: np.ndarray, rows: Sequence[Row]) -> tuple[Cone, tuple[str, ...]]:
    """Return the region in units of `scale`; P of a link is then D P D, D = diag(1/l, 1/l, 1/l, 1) / sqrt(M)."""
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
    """Return which link's limits contradict each other."""
    for i, block in enumerate(cone.blocks):
        here = standard.layout.link(i)
        mine = [
            k
            for k, row in enumerate(cone.rows)
            if row[here].any() and not np.delete(row, range(*here.indices(len(row)))).any()
        ]
        alone = Cone(cone.rows[mine][:, here], cone.offset[mine], (block[:, here],), (cone.start[i],))
        if mine and deepest(alone, prior[here])[1] < DEPTH:
            kinds = ", ".join(dict.fromkeys(labels[k].split(": ")[-1].split(" at its")[0] for k in mine))
            name = standard.layout.entries[here.start].owner
            return f"No body fits the limits of link {name!r} ({kinds}): they contradict each other. Widen one of them."
    return "No links fit total_mass together with mass_bounds: the links' bounds add up to another mass. Widen one of them."
