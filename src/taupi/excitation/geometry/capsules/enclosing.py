"""Capsules around triangles: one, or several if one would be much larger than the hull of what it encloses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.geometry.capsules import stored
from taupi.excitation.geometry.capsules.cuts import Cut, kept
from taupi.excitation.geometry.capsules.smallest import Segment, distances_to_segment, smallest_segment
from taupi.excitation.geometry.capsules.stored import Plan
from taupi.excitation.geometry.meshes.read import LEAST
from taupi.model.capsule import Capsule

# Rounding of coordinates, as a share of the size: radii are enlarged by this.
_ROUNDING = 1e-12
# Number of points for estimating the volume of overlapping capsules.
_SAMPLES = 2000


# A capsule is replaced by several if it is more than COARSE times the hull of what it encloses, and if, spread over its surface,
# its excess volume is thicker than EXCESS (m).
COARSE, EXCESS = 1.5, 0.005
# Largest number per solid, and the share of the volume to which one more has to reduce it.
MOST, WORTH = 4, 0.9
# Where along its main axes a part may be cut.
_PLACES = (0.35, 0.5, 0.65)


@dataclass(eq=False)
class _Part:
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

    def halves(self, cut: Cut, search: bool) -> list[_Part]:
        return [_Part([*self.cuts, c], kept(self.triangles, c), search) for c in (cut, cut.other)]


def capsules_around(link: str, triangles: np.ndarray, place: str = "") -> tuple[Capsule, ...]:
    """Return capsules, in the frame of `link`, that enclose triangles (m, 3, 3) and what they surround.

    The result of the search is cached, but never the radii: each is the largest distance of a corner from its segment.
    """
    if float(np.ptp(triangles.reshape(-1, 3), axis=0).max()) < LEAST:
        raise TaupiError(
            f"{place or link}: the collision mesh is smaller than {LEAST * 1e6:g} micrometre.",
            remedy="Check its scale, or remove it.",
        )
    key = stored.key_of(triangles)
    plan = stored.load(key)
    if plan is None:
        plan = _planned(triangles)
        stored.save(key, plan)
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


def _planned(triangles: np.ndarray) -> Plan:
    """Return the plan of an enclosure: parts, by their cuts, and the segment of each."""
    parts = [_Part([], triangles)]
    done: list[_Part] = []
    while parts and len(parts) + len(done) < MOST:
        worst = max(parts, key=lambda part: part.excess)
        parts.remove(worst)
        halves = _best_halves(worst) if worst.is_coarse else None
        if halves is None or _share(worst.capsule, halves) > WORTH:
            done.append(worst)
        else:
            parts += halves
    return [(p.cuts, (np.array(p.capsule.a), np.array(p.capsule.b))) for p in done + parts]


def _best_halves(part: _Part) -> list[_Part] | None:
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


def _share(capsule: Capsule, parts: Sequence[_Part]) -> float:
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
