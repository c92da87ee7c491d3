"""Pieces: what a fit keeps of each log, from which the problem of all logs is put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from taupi.identification.rows.compression import Compressed, compress
from taupi.identification.rows.factors import JointFactor, join_stretches, triangle
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.recording import LogRecord, Recording
from taupi.signals.read import LogLike
from taupi.signals.stated_gains import rests_on_gains
from taupi.threads import small_algebra

# The factors of more logs than this are kept packed.
_MANY = 256


@dataclass(frozen=True, eq=False)
class Piece:
    """What a fit keeps of a log.

    Attributes:
        compressed: The factors of its rows, the number of samples, the extremes of the motion.
        record: What the fit records of the log.
        stated_torque: Known torques that the log states, as formulas.
        known_torque: Known torques that were added to the measured ones: those of the log, else those of the settings.
        has_known: Whether the log has a signal of known torques, too.
        rests_on_gains: Whether its torques are currents or voltages times stated gains.
    """

    compressed: Compressed
    record: LogRecord
    stated_torque: tuple[str, ...] = ()
    known_torque: tuple[str, ...] = ()
    has_known: bool = False
    rests_on_gains: bool = False

    @property
    def factors(self) -> tuple[JointFactor, ...]:
        """The factors of its rows."""
        return self.compressed.factors

    def with_columns(self, count: int) -> Piece:
        """Return the piece with the first `count` columns alone, and the torque."""
        factors = (replace(f, stored=triangle(np.delete(f.r, np.s_[count:-1], axis=1))) for f in self.factors)
        packed = any(f.is_packed for f in self.factors)
        return self._with_factors(tuple(f.packed() if packed else f for f in factors))

    def at(self, file: int) -> Piece:
        """Return the piece as that of the log with this index."""
        return self._with_factors(tuple(f.at(file) for f in self.factors))

    def named(self, name: str) -> Piece:
        """Return the piece of a log that messages call by this name."""
        return replace(self, record=replace(self.record, name=name))

    def with_stretches(self, most: int) -> Piece:
        """Return the piece with at most this many stretches of time: neighbours are joined."""
        count = 1 + max((f.stretch for f in self.factors), default=0)
        together = -(-count // most)
        if together == 1:
            return self
        groups: dict[tuple[int, int], list[JointFactor]] = {}
        for f in self.factors:
            groups.setdefault((f.stretch // together, f.joint), []).append(f)
        return self._with_factors(tuple(join_stretches(group, stretch) for (stretch, _), group in groups.items()))

    def packed(self) -> Piece:
        """Return the piece with its factors kept without their zeros: a third of the memory, and slower to use."""
        return self._with_factors(tuple(f.packed() for f in self.factors))

    def of_many(self, logs: int) -> Piece:
        """Return the piece as it is stored together with those of this many `logs`: packed if there are many."""
        return self.packed() if logs > _MANY else self._with_factors(tuple(f.unpacked() for f in self.factors))

    def _with_factors(self, factors: tuple[JointFactor, ...]) -> Piece:
        return replace(self, compressed=replace(self.compressed, factors=factors))


def piece_of(recording: Recording, compressed: Compressed) -> Piece:
    """Return the piece of a recording whose rows have been compressed."""
    first = recording.source.first
    speeds = tuple(np.abs(compressed.extremes[0]).max(axis=0).tolist())
    record = replace(recording.record, speeds=speeds)
    return Piece(
        *(compressed, record, first.known_torque, recording.known_torque),
        has_known=first.tau_known is not None,
        rests_on_gains=rests_on_gains(first),
    )


@small_algebra
def make_piece(log: LogLike, plan: Plan, count: Callable[[int], None] = lambda samples: None) -> Piece:
    """Return the piece of a log, or of the file at a path or address, according to a plan."""
    recording = plan.recording(log)
    return piece_of(recording, compress(plan.friction, recording, 0, plan.most_stretches, count))
