"""Clearance: how far the links of a robot are from each other, from a floor and from the walls of a box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from taupi.checks import positive
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, shown
from taupi.excitation.geometry.arrangement import Arrangement, Row
from taupi.excitation.geometry.certificate import ClearanceCertificate, certified
from taupi.excitation.geometry.distances import distance_program, gradient_program
from taupi.excitation.geometry.pairs import LeftOut, Pair, Reason
from taupi.excitation.geometry.reach import Reach
from taupi.excitation.motions.bounded import BoundedMotion, piecewise_extent
from taupi.model.capsule import Capsule
from taupi.model.coupling import coupling_of
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.simulation.references import Piecewise

# Distances at samples are kept this share above the clearance, so that they do not fall below it between samples.
RESERVE = 0.1
# Reasons whose pairs are not listed in a sentence.
_COUNTED = {Reason.NEIGHBOURS: "as neighbours", Reason.NEVER: "proven never to come near"}


@dataclass(frozen=True, eq=False)
class Clearance:
    """Distances between the capsules of a robot, and from them to floor and box; made by `taupi.clearance`.

    It belongs to `robot` and `capsules`; `margin` (m) is the required clearance. Each of `rows_watched` is one distance, of
    two capsules or of a capsule's end from a wall in `space`, and `margins` (p,) its required value: `margin`, or 0 for those
    of `built_close`, the pairs whose capsules are nearer than that in most postures. `left_out` lists the pairs that are not
    watched, each with the reason.
    """

    robot: Robot
    capsules: tuple[Capsule, ...]
    margin: float
    left_out: tuple[LeftOut, ...]
    built_close: tuple[Pair, ...]
    margins: np.ndarray
    rows_watched: tuple[Row, ...]
    space: Arrangement

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
        """Return the distances (..., p) in m at positions `q` (..., n), negative where capsules overlap."""
        states = np.asarray(q, dtype=float)
        if not self.rows_watched:
            return np.zeros((*states.shape[:-1], 0))
        return np.asarray(self._distance(states))

    def rows(self, q: ArrayLike) -> np.ndarray:
        """Return distances minus the clearance and a reserve of a tenth of it, (..., p) in m: what a design keeps above 0.

        `q` are positions (..., n). The reserve is for what happens between samples.
        """
        return self.distances(q) - self.margins - RESERVE * self.margin

    def pulled(self, q: ArrayLike, weights: ArrayLike) -> np.ndarray:
        """Return the gradient (..., n) of the sum of `weights` (..., p) times rows, with respect to positions `q` (..., n)."""
        states = np.asarray(q, dtype=float)
        if not self.rows_watched:
            return np.zeros(states.shape)
        return np.asarray(self._gradient(states, np.asarray(weights, dtype=float)))

    def nearest(self, q: ArrayLike) -> tuple[np.ndarray, list[Pair]]:
        """Return the least distance (N,) in m at positions `q` (N, n), and the pair that it belongs to."""
        distance = self.distances(np.atleast_2d(np.asarray(q, dtype=float)))
        if not self.rows_watched:
            return np.full(len(distance), np.inf), []
        place = np.argmin(distance, axis=1)
        return distance[np.arange(len(distance)), place], [self.pairs[k] for k in place]

    def reach(self, travel: np.ndarray) -> np.ndarray:
        """Return bounds (p, joints) of how fast each distance changes with a joint; `travel` is that of sliding joints (m)."""
        return Reach(self.space).bounds(self.rows_watched, travel)

    def certificate(self, motion: Any, duration: float | None = None) -> ClearanceCertificate:
        """Return the clearance of a `motion` at all times from 0 to `duration` (s), by default its own.

        A motion is a reference with bounds of its derivatives, as `taupi.excite` makes them, or a `taupi.BSpline`,
        `taupi.MinimumJerk` or `taupi.SampledMotion`.
        """
        bounded = _bounded(motion, self.robot.n)
        end = positive("duration", getattr(bounded, "duration", None) if duration is None else duration)
        return certified(self, bounded, end)

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
        return (pairs, close) if self.built_close else (pairs,)

    def __repr__(self) -> str:
        pairs, out = len(set(self.pairs)), len(self.left_out)
        return (
            f"Clearance({self.robot.name!r}, {len(self.capsules)} capsules, {pairs} pairs in {len(self.pairs)} rows, "
            f"{out} left out, {1e3 * self.margin:g} mm)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what is watched, and what is not, as plain data."""
        return {
            "clearance": self.margin,
            "capsules": [{"link": c.link, "a": list(c.a), "b": list(c.b), "r": c.r} for c in self.capsules],
            "pairs": sorted({str(pair) for pair in self.pairs}),
            "built_close": [str(pair) for pair in self.built_close],
            "left_out": {str(item.pair): item.reason for item in self.left_out},
        }


class _Bounded:
    """A motion of polynomials with bounds of its derivatives."""

    def __init__(self, motion: Piecewise) -> None:
        self.motion, self.duration = motion, float(motion.breaks[-1])

    def __call__(self, t: np.ndarray) -> Any:
        return self.motion(t)

    def extent(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        return piecewise_extent(self.motion, order)

    def bounds(self, order: int) -> np.ndarray:
        low, high = self.extent(order)
        return np.maximum(-low, high)


def _bounded(motion: Any, n: int) -> Any:
    if getattr(motion, "n", n) != n:
        raise TaupiError(Argument("motion"), f" has {motion.n} joints, the robot has {n}.")
    if isinstance(motion, BoundedMotion):
        return motion
    if isinstance(motion, Piecewise):
        return _Bounded(motion)
    raise TaupiError(
        Argument("motion"),
        f" is {shown(motion)}, expected one whose derivatives are bounded: that of taupi.excite, or a BSpline.",
    )
