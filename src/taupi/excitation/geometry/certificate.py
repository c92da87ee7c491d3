"""The certificate of a motion: how near things come at any time, also between samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.excitation.geometry.pairs import Pair

# Intervals per second at first, and how often one that fails is halved: down to 1/64 ms.
RATE_HZ = 1000.0
HALVINGS = 6
# m: rounding of a distance that is computed.
_ROUNDING = 1e-9
# Samples that are processed together, which bounds memory.
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class ClearanceCertificate:
    """The clearance of a motion at all times: each distance (m) is at least `bound` (p,), and has to be at least `asked` (p,).

    Rows are in the order of `pairs`, those of a `Clearance`, and `times` (s) are the middles of the intervals where each is
    least. `least` (m), `pair` and `time` are those of the row with the least to spare; `ok` says whether it is enough.
    `intervals` is how many were examined.
    """

    bound: np.ndarray
    asked: np.ndarray
    times: np.ndarray
    pairs: tuple[Pair, ...]
    intervals: int

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
        return f"{kept}: {where}." if self.ok else f"clearance is not kept: {where}."

    def to_dict(self) -> dict[str, Any]:
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


def certified(clearance: Any, motion: Any, duration: float) -> ClearanceCertificate:
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
    looked = 0
    for level in range(HALVINGS + 1):
        failed = []
        for block in (middles[k : k + _BLOCK] for k in range(0, len(middles), _BLOCK)):
            states = motion(block)
            step = np.abs(states[1] @ spread.T) * half + acceleration * (half**2 / 2)
            distance = clearance.distances(states[0])
            lower = distance - step @ reach.T - _ROUNDING
            again = (lower < asked).any(axis=1) & (distance >= asked).all(axis=1)
            if level == HALVINGS:
                again[:] = False
            _keep_least(bound, times, lower[~again], block[~again])
            failed.append(block[again])
            looked += len(block)
        left = np.concatenate(failed)
        if not len(left):
            break
        half /= 2
        middles = np.concatenate([left - half, left + half])
    return ClearanceCertificate(bound, asked, times, clearance.pairs, looked)


def _keep_least(bound: np.ndarray, times: np.ndarray, lower: np.ndarray, middles: np.ndarray) -> None:
    if not len(lower) or not len(bound):
        return
    place = np.argmin(lower, axis=0)
    value = lower[place, np.arange(len(bound))]
    less = value < bound
    bound[less], times[less] = value[less], middles[place][less]
