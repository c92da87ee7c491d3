"""Capsules that enclose by construction: the smallest one around points, several around triangles cut by planes, cached on disk.

A solid's part on one side of a plane lies in the hull of its surface's part there: a line along the plane, through any point of
it, leaves the solid on both sides through that part. So capsules around the parts of the triangles enclose the whole solid.
The cached plan says where to cut and which segment encloses each part, nothing that safety depends on: radii are always computed
from the triangles.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.geometry.meshes import LEAST
from taupi.files import write_private
from taupi.input_files import parse_json, read_text
from taupi.model.capsule import Capsule
from taupi.program.disk_cache import folder

Segment = tuple[np.ndarray, np.ndarray]
# Directions whose extreme points represent all points during the search; the final radius covers all points.
_DIRECTIONS = 120
_STEPS = 200


def distances_to_segment(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the distance (k,) of points (k, 3) from the segment between a and b."""
    u = b - a
    square = float(u @ u)
    t = np.clip((points - a) @ u / square, 0.0, 1.0) if square > 0 else np.zeros(len(points))
    return np.asarray(np.linalg.norm(points - a - t[:, None] * u, axis=1))


def smallest_segment(points: np.ndarray, search: bool = True) -> Segment:
    """Return the segment of a small capsule around points (k, 3); without `search`, along the best of their main axes."""
    points = _extreme(points)
    centre = (points.max(axis=0) + points.min(axis=0)) / 2
    size = max(float(np.ptp(points, axis=0).max()), 1e-9)
    local = (points - centre) / size
    axes = np.linalg.svd(local - local.mean(axis=0), full_matrices=False)[2]
    starts = []
    for v in axes:
        x = np.concatenate([_middle(local, v), np.zeros(3)])
        starts.append((_line_volume(local, v, x), v, x))
    starts.sort(key=lambda start: start[0])
    best, v, x = starts[0]
    if search:
        for _, direction, start in starts[:2]:
            value, offsets = _searched(local, direction, start)
            if value < best:
                best, v, x = value, direction, offsets
    a, b, _ = _on_line(local, v, x)
    return centre + size * a, centre + size * b


def _extreme(points: np.ndarray) -> np.ndarray:
    """Return the points that are farthest in some direction."""
    if len(points) <= _DIRECTIONS:
        return points
    k = np.arange(_DIRECTIONS) + 0.5
    z, turn = 1 - 2 * k / _DIRECTIONS, math.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - z**2)
    directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), z])
    return np.asarray(points[np.unique(np.argmax(points @ directions, axis=0))])


def _frame(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit vectors across v."""
    across = np.cross(v, np.eye(3)[int(np.argmin(np.abs(v)))])
    across /= np.linalg.norm(across)
    return across, np.cross(v, across)


def _middle(points: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the offset across v (2,) of a line along v near the middle of the points: nearly their smallest circle."""
    flat = points @ np.stack(_frame(v)).T
    middle = (flat.max(axis=0) + flat.min(axis=0)) / 2
    for k in range(1, 25):  # Badoiu and Clarkson 2003: ever shorter steps to the farthest point
        far = flat[int(np.argmax(((flat - middle) ** 2).sum(axis=1)))]
        middle = middle + (far - middle) / (k + 1) / 2
    return np.asarray(middle)


def _on_line(points: np.ndarray, v: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the ends and the radius on a line: x is its offset across v (2), its tilt (2), and how much wider it is."""
    one, two = _frame(v)
    w = v + x[2] * one + x[3] * two
    w = w / math.sqrt(w @ w)
    c = x[0] * one + x[1] * two
    away = points - c
    h = away @ w
    e2 = np.einsum("ij,ij->i", away, away) - h * h
    radius2 = max(float(e2.max()), 1e-18) * (1 + x[4] * x[4])
    s = np.sqrt(radius2 - np.minimum(e2, radius2))
    low, high = float((h + s).min()), float((h - s).max())
    if low > high:
        low = high = (low + high) / 2
    return c + low * w, c + high * w, math.sqrt(radius2)


def _line_volume(points: np.ndarray, v: np.ndarray, x: np.ndarray) -> float:
    a, b, r = _on_line(points, v, x)
    return math.pi * r**2 * (float(np.linalg.norm(b - a)) + 4 / 3 * r)


def _searched(points: np.ndarray, v: np.ndarray, start: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the best volume near a line and its variables, by Nelder and Mead's simplex."""
    from scipy.optimize import minimize

    simplex = np.vstack([start, start + np.diag([0.05, 0.05, 0.1, 0.1, 0.2])])
    options = {"maxiter": _STEPS, "xatol": 1e-4, "fatol": 1e-6, "initial_simplex": simplex}
    minimum = minimize(lambda x: _line_volume(points, v, x), start, method="Nelder-Mead", options=options)
    return float(minimum.fun), np.asarray(minimum.x)


@dataclass(frozen=True)
class Cut:
    """The side normal . x <= offset of a plane."""

    normal: tuple[float, float, float]
    offset: float

    @property
    def other(self) -> Cut:
        """The other side of the same plane."""
        x, y, z = self.normal
        return Cut((-x, -y, -z), -self.offset)


def kept(triangles: np.ndarray, cut: Cut) -> np.ndarray:
    """Return the parts of triangles (m, 3, 3) on the side of a cut, as triangles again.

    >>> corner = np.array([[[0.0, 0, 0], [2, 0, 0], [0, 2, 0]]])
    >>> sorted({tuple(p) for p in kept(corner, Cut((1.0, 0.0, 0.0), 1.0)).reshape(-1, 3).tolist()})
    [(0.0, 0.0, 0.0), (0.0, 2.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0)]
    """
    height = triangles @ np.array(cut.normal) - cut.offset
    inside = height <= 0
    count = inside.sum(axis=1)
    parts = [triangles[count == 3]]
    for many in (1, 2):
        chosen = count == many
        if chosen.any():
            parts += _clipped(triangles[chosen], height[chosen], inside[chosen] if many == 1 else ~inside[chosen], many)
    return np.concatenate(parts)


def _clipped(corners: np.ndarray, height: np.ndarray, odd: np.ndarray, many: int) -> list[np.ndarray]:
    """Return the remaining parts of triangles with one corner, the odd one, alone on its side of the plane."""
    first = np.argmax(odd, axis=1)
    rows = np.arange(len(corners))
    p, q, r = (corners[rows, (first + k) % 3] for k in range(3))
    hp, hq, hr = (height[rows, (first + k) % 3] for k in range(3))
    pq = p + (hp / (hp - hq))[:, None] * (q - p)
    pr = p + (hp / (hp - hr))[:, None] * (r - p)
    if many == 1:  # the odd corner is inside
        return [np.stack([p, pq, pr], axis=1)]
    return [np.stack([pq, q, r], axis=1), np.stack([pq, r, pr], axis=1)]


# Change this together with the search, or with what is stored.
_VERSION = 3
_MOST_CUTS = 64  # successive cuts; a search makes a handful

Plan = list[tuple[list[Cut], Segment]]


def plan_key(triangles: np.ndarray) -> str:
    """Return the name under which the plan of triangles is kept: a hash of their corners."""
    return hashlib.sha256(np.ascontiguousarray(triangles, dtype=float).tobytes()).hexdigest()


def load_plan(key: str) -> Plan | None:
    """Return the plan that is stored under a key, or None."""
    file = _file(key)
    if file is None:
        return None
    try:
        return plan_from_text(read_text(file, "a plan of capsules"))
    except TaupiError:
        return None


def save_plan(key: str, plan: Plan) -> None:
    """Store a plan, completely or not at all; a folder that cannot be written to is not an error."""
    file = _file(key)
    if file is None:
        return
    with suppress(OSError):
        write_private(file, plan_to_text(plan).encode())


def plan_to_text(plan: Plan) -> str:
    """Return a plan as JSON."""
    return json.dumps(
        [
            {"cuts": [[*c.normal, c.offset] for c in cuts], "segment": [list(map(float, end)) for end in segment]}
            for cuts, segment in plan
        ]
    )


def plan_from_text(text: str) -> Plan | None:
    """Return a plan from JSON, None if it is not a complete plan: a file on disk may contain anything."""
    try:
        plan: Plan = []
        for row in parse_json(text, "a plan of capsules", "a list"):
            cuts = [Cut((float(x), float(y), float(z)), float(o)) for x, y, z, o in row["cuts"]]
            a, b = (np.array([float(v) for v in end]).reshape(3) for end in row["segment"])
            if not np.isfinite([a, b]).all():
                return None
            plan.append((cuts, (a, b)))
            if len(cuts) > _MOST_CUTS:
                return None
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    return plan if plan and _complete([cuts for cuts, _ in plan]) else None


def _complete(parts: list[list[Cut]]) -> bool:
    """Return whether parts leave nothing out: both sides of every cut exist, down to the last."""
    if any(not cuts for cuts in parts):
        return len(parts) == 1
    first = parts[0][0]
    sides = [[cuts[1:] for cuts in parts if cuts[0] == side] for side in (first, first.other)]
    if sum(map(len, sides)) != len(parts):
        return False
    return all(side and _complete(side) for side in sides)


def _file(key: str) -> Path | None:
    objects = folder()
    return None if objects is None else objects.parent / f"capsules-{_VERSION}" / f"{key}.json"


# Rounding of coordinates, as a share of the size: radii are enlarged by this.
_ROUNDING = 1e-12
# Number of points for estimating the volume of overlapping capsules.
_SAMPLES = 2000


# A capsule is replaced by several if it is more than COARSE times the hull of what it encloses, and if, spread over its surface,
# its excess volume is thicker than EXCESS (m).
COARSE, EXCESS = 1.5, 0.005
# Largest number per solid, and the share of the volume to which one more has to reduce it.
MOST, WORTH = 4, 0.9
# Largest number of triangles from which an enclosure is planned; its radii hold for all triangles.
_PLANNED = 1000
# Where along its main axes a part may be cut.
_PLACES = (0.35, 0.5, 0.65)


@dataclass(eq=False)
class _TriangleSubset:
    """The part of the triangles that several cuts leave."""

    cuts: list[Cut]
    triangles: np.ndarray
    search: bool = True

    @cached_property
    def hull(self) -> tuple[np.ndarray, float]:
        """The corners of its convex hull, and its volume."""
        return hull_of(self.triangles.reshape(-1, 3))

    @cached_property
    def capsule(self) -> Capsule:
        """The smallest capsule around it."""
        corners = self.hull[0] if self.search else self.triangles.reshape(-1, 3)
        return _around("", corners, smallest_segment(corners, self.search))

    @property
    def excess(self) -> float:
        """The excess volume of its capsule, in m^3."""
        return self.capsule.volume - self.hull[1]

    @property
    def is_coarse(self) -> bool:
        """Whether it is worth several capsules."""
        c = self.capsule
        area = 2 * np.pi * c.r * (c.length + 2 * c.r)
        return c.volume > COARSE * self.hull[1] and self.excess > EXCESS * area

    def halves(self, cut: Cut, search: bool) -> list[_TriangleSubset]:
        return [_TriangleSubset([*self.cuts, c], kept(self.triangles, c), search) for c in (cut, cut.other)]


def capsules_around(
    link: str, triangles: np.ndarray, place: str = "", late: Callable[[], bool] = lambda: False
) -> tuple[Capsule, ...]:
    """Return capsules, in the frame of `link`, that enclose triangles (m, 3, 3) and what they surround.

    The result of the search is cached, but never the radii: each is the largest distance of a corner from its segment. When it
    is `late`, the search for more and smaller capsules ends.
    """
    if float(np.ptp(triangles.reshape(-1, 3), axis=0).max()) < LEAST:
        raise TaupiError(
            "{place}: the collision mesh is smaller than {least:g} micrometre.",
            remedy="Check its scale, or remove it.",
            place=place or link,
            least=LEAST * 1e6,
        )
    key = plan_key(triangles)
    plan = load_plan(key)
    if plan is None:
        plan = _planned(_fewer(triangles), late)
        if not late():
            save_plan(key, plan)
    return tuple(_realised(link, triangles, cuts, segment) for cuts, segment in plan)


def _realised(link: str, triangles: np.ndarray, cuts: list[Cut], segment: Segment) -> Capsule:
    for cut in cuts:
        triangles = kept(triangles, cut)
    return _around(link, triangles.reshape(-1, 3), segment)


def _around(link: str, corners: np.ndarray, segment: Segment) -> Capsule:
    """Return the capsule about a segment that reaches all corners."""
    a, b = (tuple(map(float, end)) for end in segment)
    r = float(distances_to_segment(corners, *segment).max(initial=0.0))
    return Capsule(link, a, b, r + _ROUNDING * (1 + float(np.abs(corners).max(initial=0.0))))  # type: ignore[arg-type]


def hull_of(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the corners of the convex hull of points and its volume; all points, and 0, if it is flat."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return points, 0.0
    return points[hull.vertices], float(hull.volume)


def _fewer(triangles: np.ndarray) -> np.ndarray:
    """Return at most `_PLANNED` of the triangles, from which an enclosure is planned: the largest, and some of the others."""
    if len(triangles) <= _PLANNED:
        return triangles
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
    order = np.argsort(-area, kind="stable")
    half = _PLANNED // 2
    return np.asarray(triangles[np.concatenate([order[:half], order[half :: -(-(len(order) - half) // half)]])])


def _planned(triangles: np.ndarray, late: Callable[[], bool]) -> Plan:
    """Return the plan of an enclosure: parts, by their cuts, and the segment of each."""
    parts = [_TriangleSubset([], triangles, search=not late())]
    done: list[_TriangleSubset] = []
    while parts and len(parts) + len(done) < MOST and not late():
        worst = max(parts, key=lambda part: part.excess)
        parts.remove(worst)
        halves = _best_halves(worst) if worst.is_coarse else None
        if halves is None or _share(worst.capsule, halves) > WORTH:
            done.append(worst)
        else:
            parts += halves
    return [(p.cuts, (np.array(p.capsule.a), np.array(p.capsule.b))) for p in done + parts]


def _best_halves(part: _TriangleSubset) -> list[_TriangleSubset] | None:
    """Return the two halves of a part for the best cut across its main axes."""
    corners = part.hull[0]
    axes = np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)[2]
    trials = []
    for v in axes:
        h = corners @ v
        for share in _PLACES:
            normal = (float(v[0]), float(v[1]), float(v[2]))
            cut = Cut(normal, float(h.min() + share * np.ptp(h)))
            halves = part.halves(cut, search=False)
            if all(len(half.triangles) for half in halves):
                trials.append((_share(part.capsule, halves), cut))
    if not trials:
        return None
    return part.halves(min(trials, key=lambda trial: trial[0])[1], search=True)


def _share(capsule: Capsule, parts: Sequence[_TriangleSubset]) -> float:
    """Return the volume of the capsules of parts, counted once where they overlap, as a share of that of a capsule."""
    ends = np.array([capsule.a, capsule.b])
    low, size = ends.min(axis=0) - capsule.r, np.ptp(ends, axis=0) + 2 * capsule.r
    points = low + size * _evenly_spread()
    inside = np.zeros(len(points), dtype=bool)
    for c in (part.capsule for part in parts):
        inside |= distances_to_segment(points, np.array(c.a), np.array(c.b)) <= c.r
    return float(inside.mean() * np.prod(size) / capsule.volume)


@cache
def _evenly_spread() -> np.ndarray:
    """Return points (k, 3) of the unit cube, spread by powers of the plastic number's generalisation (Roberts 2018)."""
    base = 1.2207440846057596  # x^4 = x + 1
    return np.asarray((np.arange(1, _SAMPLES + 1)[:, None] * base ** -np.arange(1.0, 4.0)) % 1.0)
