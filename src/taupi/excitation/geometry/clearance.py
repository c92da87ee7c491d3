"""Clearance: how far the links of a robot are from each other, from a floor and from the walls of a box."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from taupi.checks import positive
from taupi.dynamics.types import ArrayLike
from taupi.errors import TaupiError
from taupi.excitation.geometry.arrangement import Arrangement, ExcludedPair, Exclusion, Pair, Row
from taupi.excitation.geometry.contacts import CONTACTS, Surfaces, placement_program
from taupi.excitation.geometry.distances import Reach, distance_program, gradient_program, segment_program
from taupi.excitation.geometry.surroundings import Floor
from taupi.excitation.motions.bounded import BoundedMotion, BoundedPolynomials
from taupi.model.capsule import Capsule
from taupi.model.coupling import coupling_of
from taupi.model.robot import BASE, Robot
from taupi.program.program import Program
from taupi.simulation.references import Piecewise

# Intervals per second at first, and how often one that fails is halved: down to 1/64 ms.
RATE_HZ = 1000.0
HALVINGS = 6
# m: rounding of a distance that is computed.
_ROUNDING = 1e-9
# Samples that are processed together, which bounds memory.
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class ClearanceCertificate:
    """The clearance of a motion at all times: what each of p distances is at least, beside what is asked for.

    Attributes:
        bound: What each distance (p,), in m, is at least at any time.
        asked: What it has to be at least (p,), in m.
        times: The middles (p,), in s, of the intervals where each is least.
        pairs: The pair of each distance, in the order of `taupi.Clearance.pairs`.
        intervals: How many intervals were examined.
        found: The least of each distance (p,), in m, at the instants that were looked at.
    """

    bound: np.ndarray
    asked: np.ndarray
    times: np.ndarray
    pairs: tuple[Pair, ...]
    intervals: int
    found: np.ndarray

    @property
    def refuted(self) -> bool:
        """Whether links are known to come too near; a certificate may also fail because its bound is too loose."""
        return bool((self.found < self.asked).any())

    @property
    def _worst(self) -> int:
        return int(np.argmin(self.bound - self.asked))

    @property
    def least(self) -> float:
        """A lower bound (m), over all times, of the distance with the least to spare; infinite without pairs."""
        return float(self.bound[self._worst]) if self.pairs else float("inf")

    @property
    def pair(self) -> Pair | None:
        """The pair with the least to spare."""
        return self.pairs[self._worst] if self.pairs else None

    @property
    def time(self) -> float:
        """When that is, in s."""
        return float(self.times[self._worst]) if self.pairs else float("nan")

    @property
    def ok(self) -> bool:
        """Whether the clearance is kept at all times."""
        return bool((self.bound >= self.asked).all())

    @property
    def missing(self) -> np.ndarray:
        """By how much (m) each row (p,) falls short of the clearance, 0 where it does not."""
        return np.maximum(self.asked - self.bound, 0.0)

    @property
    def sentence(self) -> str:
        """The certificate in words."""
        if self.pair is None:
            return "There is no pair to keep clear."
        asked = f"{1e3 * float(self.asked[self._worst]):g} mm asked for"
        where = f"{1e3 * self.least:.1f} mm, {asked}, of {self.pair} at {self.time:.4g} s"
        # Pairs that are built close have a lower requirement, and may be nearer than this one.
        kept = "clearance is kept at all times, with the least to spare"
        if self.ok:
            return f"{kept}: {where}."
        return f"clearance is not kept: {where}." if self.refuted else f"clearance is not proven to be kept: {where}."

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data, with the least of each pair."""
        each: dict[str, Any] = {}
        for pair, bound, asked, time in zip(self.pairs, self.bound, self.asked, self.times, strict=True):
            if str(pair) not in each or bound < each[str(pair)]["bound"]:
                each[str(pair)] = {"bound": float(bound), "asked": float(asked), "time": float(time)}
        return {
            "ok": self.ok,
            "least": None if self.pair is None else self.least,
            "pair": None if self.pair is None else str(self.pair),
            "time": None if self.pair is None else self.time,
            "intervals": self.intervals,
            "pairs": each,
        }


def certified(
    clearance: Clearance, motion: BoundedMotion, duration: float, late: Callable[[], bool] = lambda: False
) -> ClearanceCertificate:
    """Return the certificate of a motion, for `taupi.Clearance.certificate`.

    In [t - h, t + h] joint m moves by at most |qd_m(t)| h + a_m h^2 / 2, where a bounds |qdd| at all times, and a distance
    changes by at most the sum of these times its `Reach`. Intervals that fail this test are halved; one whose middle is too
    near has failed for good.
    """
    spread, most, asked = clearance.spread, motion.bounds(2), clearance.margins
    low, high = motion.extent(0)
    travel = np.abs(spread) @ np.maximum(np.abs(low), np.abs(high))
    reach = clearance.reach(travel)
    acceleration = np.abs(spread) @ most
    count = max(1, int(np.ceil(duration * RATE_HZ)))
    half = duration / count / 2
    middles = half * (2 * np.arange(count) + 1)
    bound, times = np.full(len(clearance.pairs), np.inf), np.zeros(len(clearance.pairs))
    found, looked = np.full(len(bound), np.inf), 0
    for level in range(HALVINGS + 1):
        failed = []
        for block in (middles[k : k + _BLOCK] for k in range(0, len(middles), _BLOCK)):
            states = motion(block)
            step = np.abs(states[1] @ spread.T) * half + acceleration * (half**2 / 2)
            distance = clearance.distances(states[0])
            found = np.minimum(found, distance.min(axis=0, initial=np.inf))
            lower = distance - step @ reach.T - _ROUNDING
            again = (lower < asked).any(axis=1) & (distance >= asked).all(axis=1)
            if level == HALVINGS or late():
                again[:] = False
            _keep_least(bound, times, lower[~again], block[~again])
            failed.append(block[again])
            looked += len(block)
        left = np.concatenate(failed)
        if not len(left):
            break
        half /= 2
        middles = np.concatenate([left - half, left + half])
    return ClearanceCertificate(bound, asked, times, clearance.pairs, looked, found)


def _keep_least(bound: np.ndarray, times: np.ndarray, lower: np.ndarray, middles: np.ndarray) -> None:
    if not len(lower) or not len(bound):
        return
    place = np.argmin(lower, axis=0)
    value = lower[place, np.arange(len(bound))]
    less = value < bound
    bound[less], times[less] = value[less], middles[place][less]


class Lowest(NamedTuple):
    """The lowest point of a motion: its `height` (m, in world axes), the `link` that reaches it, and the `sample`."""

    height: float
    link: str
    sample: int


# m: heights that change by less than this count as constant.
_UNMOVED = 1e-6
# Distances at samples are kept this share above the clearance, so that they do not fall below it between samples.
RESERVE = 0.1
# Reasons whose pairs are not listed in a sentence.
_COUNTED = {Exclusion.NEIGHBOURS: "as neighbours", Exclusion.NEVER: "proven never to come near"}


@dataclass(frozen=True, eq=False)
class Clearance:
    """Distances between the capsules of a robot, and from them to floor and box; made by `taupi.clearance`.

    Attributes:
        robot: The robot.
        capsules: The capsules around its links.
        margin: The required clearance in m.
        left_out: The pairs that are not watched, each with the reason.
        built_close: The pairs whose capsules are nearer than the clearance in most postures; they only have to keep from
            overlapping.
        margins: The required distance (p,) in m: `margin`, 0 for `built_close`, that of `by_surfaces` for these.
        rows_watched: The p distances: of two capsules, or of a capsule's end from a wall.
        space: The capsules by moving links, and the walls.
        floor: The floor that is kept, or why there is none.
        by_surfaces: The pairs whose capsules overlap in most postures and whose surfaces do not, with their required distance
            in m, at most 0.
        surfaces: The surfaces of links, where the capsules were made from them.
    """

    robot: Robot
    capsules: tuple[Capsule, ...]
    margin: float
    left_out: tuple[ExcludedPair, ...]
    built_close: tuple[Pair, ...]
    margins: np.ndarray
    rows_watched: tuple[Row, ...]
    space: Arrangement
    floor: Floor = field(default=Floor(None, "none was asked for"))
    by_surfaces: Mapping[Pair, float] = field(default_factory=dict)
    surfaces: Surfaces | None = field(default=None, repr=False)

    @property
    def unchecked(self) -> dict[str, str]:
        """What is not proven: the pairs that are left out without a proof, and those that only surfaces have told apart."""
        reasons = {str(item.pair): item.reason for item in self.left_out if item.unchecked}
        seen = f"less than where their surfaces met in {CONTACTS} random postures"
        return reasons | {
            str(pair): f"capsules may overlap by {-1e3 * depth:.0f} mm, {seen}"
            for pair, depth in self.by_surfaces.items()
        }

    def lowest(self, q: ArrayLike) -> Lowest:
        """Return the lowest point that the capsules of moving links reach.

        Links that no motion raises, lowers or tilts, such as a turning base, are left out where there are others.

        Args:
            q: Positions (N, n) in rad or m.
        """
        states = np.atleast_2d(np.asarray(q, dtype=float))
        ends = np.asarray(segment_program(self.space).compile("numpy")(states))
        heights = ends[..., 2].min(axis=2) - [body.r for body in self.space.bodies]
        moving = np.array([body.link != BASE for body in self.space.bodies])
        # The heights of a link's origin and of points 1 m from it along each of its axes.
        rises = np.ptp(placement_program(self.robot).compile("numpy")(states)[:, :, 2], axis=0).max(axis=1) > _UNMOVED
        raised = moving & rises[[body.link for body in self.space.bodies]]
        chosen = np.flatnonzero(raised if raised.any() else moving)
        if not len(chosen):
            return Lowest(float("inf"), "", 0)
        sample, place = np.unravel_index(np.argmin(heights[:, chosen]), (len(heights), len(chosen)))
        link = self.space.link_name(self.space.bodies[chosen[place]].link)
        return Lowest(float(heights[sample, chosen[place]]), link, int(sample))

    def touching(self, q: ArrayLike, late: Callable[[], bool] = lambda: False) -> dict[Pair, int]:
        """Return the pairs whose surfaces meet, of those that capsules do not keep apart, each with the first sample where so.

        Pairs that are built into each other, or ignored as asked, are not looked at.

        Args:
            q: Positions (N, n) in rad or m.
            late: Whether the time is over; samples that are left are then not looked at.
        """
        if self.surfaces is None:
            return {}
        states = np.atleast_2d(np.asarray(q, dtype=float))
        coarse = (item.pair for item in self.left_out if item.why is Exclusion.COARSE)
        links = {self.space.link_name(body.link): body.link for body in self.space.bodies}
        met = {
            p: self.surfaces.meet(links[p.first], links[p.second], states, late) for p in (*self.by_surfaces, *coarse)
        }
        return {pair: int(np.argmax(meet)) for pair, meet in met.items() if meet.any()}

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pair of each row (p,): two links have several rows if they have several capsules."""
        return tuple(row.pair for row in self.rows_watched)

    @cached_property
    def _distance(self) -> Program:
        return distance_program(self.space, self.rows_watched)

    @cached_property
    def _gradient(self) -> Program:
        return gradient_program(self.space, self.rows_watched)

    @property
    def programs(self) -> tuple[Program, ...]:
        """What computes distances and their gradients; nothing if no pair is watched."""
        return (self._distance, self._gradient) if self.rows_watched else ()

    @cached_property
    def spread(self) -> np.ndarray:
        """How coordinates move joints (joints, n): the identity, unless joints are coupled."""
        return np.array(coupling_of(self.robot), dtype=float)

    def distances(self, q: ArrayLike) -> np.ndarray:
        """Return the distances (..., p) in m, negative where capsules overlap.

        Args:
            q: Positions (..., n) in rad or m.
        """
        states = np.asarray(q, dtype=float)
        if not self.rows_watched:
            return np.zeros((*states.shape[:-1], 0))
        return np.asarray(self._distance(states))

    def rows(self, q: ArrayLike) -> np.ndarray:
        """Return distances minus the clearance and a reserve of a tenth of it, (..., p) in m: what a design keeps above 0.

        The reserve is for what happens between samples.

        Args:
            q: Positions (..., n) in rad or m.
        """
        return self.distances(q) - self.margins - RESERVE * self.margin

    def pulled(self, q: ArrayLike, weights: ArrayLike) -> np.ndarray:
        """Return the gradient (..., n) of the weighted sum of `rows` with respect to positions.

        Args:
            q: Positions (..., n) in rad or m.
            weights: What each row (..., p) is multiplied by.
        """
        states = np.asarray(q, dtype=float)
        if not self.rows_watched:
            return np.zeros(states.shape)
        return np.asarray(self._gradient(states, np.asarray(weights, dtype=float)))

    def nearest(self, q: ArrayLike) -> tuple[np.ndarray, list[Pair]]:
        """Return the least distance (N,) in m, and the pair that it belongs to; infinite, and no pairs, if none is watched.

        Args:
            q: Positions (N, n) in rad or m.
        """
        distance = self.distances(np.atleast_2d(np.asarray(q, dtype=float)))
        if not self.rows_watched:
            return np.full(len(distance), np.inf), []
        place = np.argmin(distance, axis=1)
        return distance[np.arange(len(distance)), place], [self.pairs[k] for k in place]

    def reach(self, travel: np.ndarray) -> np.ndarray:
        """Return bounds (p, joints) of how fast each distance changes with a joint, in m/rad or 1.

        Args:
            travel: How far each joint (joints,) may be from 0; that of sliding joints, in m, counts.
        """
        return Reach(self.space).bounds(self.rows_watched, travel)

    def certificate(
        self, motion: object, duration: float | None = None, late: Callable[[], bool] = lambda: False
    ) -> ClearanceCertificate:
        """Return the clearance of a motion at all times.

        Args:
            motion: A reference with bounds of its derivatives, as `taupi.excite` makes them, or a `taupi.BSpline`,
                `taupi.MinimumJerk` or `taupi.SampledMotion`, of n joints.
            duration: Seconds from 0 to the end; by default as long as the motion.
            late: Whether the time is over; intervals are then no longer halved, so that less may be proven.

        Raises:
            TaupiError: The motion has another number of joints, or its derivatives have no bounds.
        """
        bounded = _bounded(motion, self.robot.n)
        end = positive("duration", bounded.duration if duration is None else duration)
        return certified(self, bounded, end, late)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which pairs are watched, and which are not; those left out for a reason other than a proof are listed one by one."""
        left_out: list[str] = []
        for why, words in _COUNTED.items():
            count = sum(item.why is why for item in self.left_out)
            left_out += [f"{count} {words}"] if count else []
        left_out += [f"{item.pair} ({item.reason})" for item in self.left_out if item.why not in _COUNTED]
        pairs = f"{len(set(self.pairs))} pairs are watched; left out: {', '.join(left_out) or 'none'}."
        close = (
            f"Built close, so that they only have to keep from overlapping: {', '.join(map(str, self.built_close))}."
        )
        return (self.floor.sentence, pairs, close) if self.built_close else (self.floor.sentence, pairs)

    def __repr__(self) -> str:
        pairs, out = len(set(self.pairs)), len(self.left_out)
        return (
            f"Clearance({self.robot.name!r}, {len(self.capsules)} capsules, {pairs} pairs in {len(self.pairs)} rows, "
            f"{out} left out, {1e3 * self.margin:g} mm)"
        )

    def to_dict(self) -> dict[str, object]:
        """Return what is watched, and what is not, as plain data."""
        return {
            "clearance": self.margin,
            "capsules": [{"link": c.link, "a": list(c.a), "b": list(c.b), "r": c.r} for c in self.capsules],
            "pairs": sorted({str(pair) for pair in self.pairs}),
            "built_close": [str(pair) for pair in self.built_close],
            "left_out": {str(item.pair): item.reason for item in self.left_out},
            "by_surfaces": {str(pair): depth for pair, depth in self.by_surfaces.items()},
            "floor": self.floor.to_dict(),
        }


def _bounded(motion: object, n: int) -> BoundedMotion:
    if not isinstance(motion, BoundedMotion | Piecewise):
        raise TaupiError(
            "{motion} is {got!r}, expected one whose derivatives are bounded: that of taupi.excite, or a BSpline.",
            got=motion,
        )
    if motion.n != n:
        raise TaupiError("{motion} has {n} joints, the robot has {other_n}.", n=motion.n, other_n=n)
    return motion if isinstance(motion, BoundedMotion) else BoundedPolynomials(motion)
