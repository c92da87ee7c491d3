"""Logs compressed to pieces: what a fit keeps of each log, from which the problem of all logs is put together."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Protocol, TypedDict

import numpy as np

from taupi.budget import MIB, budget, over_budget
from taupi.errors import TaupiError
from taupi.identification.friction.dry_friction import FrictionPlan, Past
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.factors import MOST_STRETCHES, Compressor, JointFactor, join_stretches, triangle
from taupi.identification.rows.plan import Plan
from taupi.identification.rows.recording import LogRecord, Recording
from taupi.identification.rows.row_maker import RowMaker, Rows
from taupi.identification.rows.workers import Workers
from taupi.input_files import parse_json, printable, read_bytes
from taupi.progress import counted
from taupi.schema import conformed
from taupi.signals.checking.implausible import rests_on_gains
from taupi.signals.formats.files import readable_source
from taupi.signals.formats.npz import arrays_in, text_in
from taupi.signals.formats.sources import RemoteFile
from taupi.signals.read import LogLike, PathLike
from taupi.threads import small_algebra


class Extension(Protocol):
    """Further rows and columns that are compressed with those of a regressor."""

    def used(self, used: np.ndarray) -> np.ndarray:
        """Return which columns of the extended rows are not always zero, from those (n, p) of the regressor."""
        ...

    def shapes(
        self, q: np.ndarray, qd: np.ndarray, seconds: float, past: Past | None
    ) -> tuple[np.ndarray, Past | None]:
        """Return functions of the motion (N, k, K) to filter together with the rows."""
        ...

    def extended(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y (p', n', m), tau (m, n') and use (m, n') of the extended rows."""
        ...


@dataclass(frozen=True, eq=False)
class Compressed:
    """The factors of a recording, its number of samples, and the extremes (2, 2, n) of qd and qdd over the rows used."""

    factors: tuple[JointFactor, ...]
    samples: int
    extremes: np.ndarray


def compress_recordings(
    pool: Workers,
    plan: FrictionPlan,
    recordings: Sequence[Recording],
    extension: Extension | None = None,
    most: int = MOST_STRETCHES,
) -> list[Compressed]:
    """Return the factors of the rows of each recording, `most` of its stretches; extended if there is an `extension`."""
    with _sample_counter(recordings) as count:
        return pool.map(lambda k: compress(plan, recordings[k], k, most, count, extension), range(len(recordings)))


def with_speeds(recordings: Sequence[Recording], compressed: Sequence[Compressed]) -> list[Recording]:
    """Return recordings that know the largest speed of each of their rows."""
    pairs = zip(recordings, compressed, strict=True)
    return [replace(r, speeds=tuple(np.abs(part.extremes[0]).max(axis=0).tolist())) for r, part in pairs]


def compress(
    plan: FrictionPlan,
    recording: Recording,
    file: int,
    most: int,
    count: Callable[[int], None] = lambda samples: None,
    extension: Extension | None = None,
    head: bool = False,
) -> Compressed:
    """Return the factors of the rows of a recording, those of the log with the index `file`.

    There are `most` stretches of time; `count` is called with how many samples were done since the last call. With `head`, the
    rows are those of the beginning only.
    """
    maker = RowMaker(plan, None if extension is None else extension.shapes)
    used = maker.used if extension is None else extension.used(maker.used)
    expected = recording.expected_rows(head)
    compressor = Compressor(used, recording.independent_share, most, expected)
    low, high = np.full((2, maker.n), np.inf), np.full((2, maker.n), -np.inf)
    for rows in recording.rows(maker, head):
        compressor.add(*((rows.entries, rows.tau, rows.use) if extension is None else extension.extended(rows)))
        count(len(rows) * recording.samples_per_row)
        for k, value in enumerate((rows.qd, rows.qdd)):
            low[k] = np.minimum(low[k], np.where(rows.use, value, np.inf).min(axis=0, initial=np.inf))
            high[k] = np.maximum(high[k], np.where(rows.use, value, -np.inf).max(axis=0, initial=-np.inf))
    extremes = np.stack([low, high], axis=1)
    extremes = np.where(np.isfinite(extremes), extremes, 0.0)
    return Compressed(tuple(compressor.result(file)), compressor.samples, extremes)


def _sample_counter(recordings: Sequence[Recording]) -> AbstractContextManager[Callable[[int], None]]:
    """Return a context that gives a counter of samples, which shows progress if any recording is streamed."""
    if not any(r.source.streamed for r in recordings):
        return nullcontext(lambda samples: None)
    return counted("samples", sum(r.source.samples for r in recordings))


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
        notes: How its rows were made, in words, if the record does not say so already.
    """

    compressed: Compressed
    record: LogRecord
    stated_torque: tuple[str, ...] = ()
    known_torque: tuple[str, ...] = ()
    has_known: bool = False
    rests_on_gains: bool = False
    notes: tuple[str, ...] = ()

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


SCHEMA = 1
_LARGEST = 1e100  # of a number in a piece: its square, summed, is still a number


class PieceData(TypedDict):
    """What the JSON of a piece must hold."""

    schema: int
    facts: dict[str, str]
    samples: int
    record: LogRecord
    stated_torque: list[str]
    known_torque: list[str]
    has_known: bool
    rests_on_gains: bool


def write_piece(piece: Piece, stream: BinaryIO, facts: dict[str, Any]) -> None:
    """Write a piece; `facts` are kept with it, such as the fingerprint of its plan."""
    factors = [f.unpacked() for f in piece.factors]
    width = max((f.r.shape[1] for f in factors), default=0)
    joints = sorted({f.joint for f in factors})
    used = np.zeros((len(joints), width), dtype=bool)  # the other columns of a joint are zero
    for f in factors:
        used[joints.index(f.joint)] |= f.r.any(axis=0)
    rows = [f.r[:, used[joints.index(f.joint)]].ravel() for f in factors]
    data = {
        "schema": SCHEMA,
        "facts": facts,
        "samples": piece.compressed.samples,
        "record": piece.record.to_dict(),
        "stated_torque": piece.stated_torque,
        "known_torque": piece.known_torque,
        "has_known": piece.has_known,
        "rests_on_gains": piece.rests_on_gains,
    }
    np.savez(
        stream,
        data=np.array(json.dumps(data)),
        extremes=piece.compressed.extremes,
        joints=np.array(joints),
        used=used,
        whole=np.array([[f.file, f.joint, f.rows, f.stretch, len(f.r)] for f in factors], dtype=np.int64).reshape(
            -1, 5
        ),
        real=np.array([[f.total, f.share] for f in factors], dtype=float).reshape(-1, 2),
        rows=np.concatenate([np.zeros(0), *rows]),
    )


def open_piece(path: PathLike, plan: Plan) -> tuple[Piece, dict[str, str]]:
    """Return the piece at a path or an address, made by a plan, and the facts that are kept with it."""
    source = readable_source(path, "a piece of a fit")
    name, most = printable(source.name), budget().data_bytes
    try:
        if isinstance(source, RemoteFile):
            with source.open("rb") as stream:
                content = stream.read(most + 1)
            if len(content) > most:
                raise over_budget(f"{name} is larger than {most / MIB:.0f} MiB", "data_bytes")
        else:
            content = read_bytes(source, "a piece of a fit", most)
    except OSError as error:
        raise TaupiError("{name} cannot be read: {strerror}.", name=name, strerror=error.strerror) from None
    piece, facts = read_piece(content, name)
    if facts.get("plan") != plan.fingerprint:
        raise TaupiError(
            "{name} was compressed by another fit, or by another version of taupi.",
            remedy="Give the fit that it was compressed by.",
            name=name,
        )
    rows, columns = plan.layout.count, plan.base.count
    fits = all(f.joint < rows and f.r.shape[1] == columns + 1 for f in piece.factors)
    lengths = piece.compressed.extremes.shape[2], len(piece.record.least_speeds), len(piece.record.speeds)
    if not fits or lengths != (rows, rows, rows):
        raise _damaged(name)
    return piece, facts


def read_piece(content: bytes, name: str) -> tuple[Piece, dict[str, str]]:
    """Return the piece in the content of a file, and the facts that are kept with it; `name` is the file's, for errors."""
    try:
        arrays = arrays_in(content, name)
        data = parse_json(text_in(arrays["data"]) or "", name, "a piece of a fit")
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise TaupiError(
                "{name} has another schema than {schema}: another version wrote it.", name=name, schema=SCHEMA
            )
        data = conformed(data, PieceData, name)
        extremes = _numbers(arrays["extremes"], 3)
        if data["samples"] < 0 or extremes.shape[:2] != (2, 2) or (extremes[:, 0] > extremes[:, 1]).any():
            raise ValueError
        compressed = Compressed(_factors(arrays, name), data["samples"], extremes)
        with errors_naming(name):
            record = LogRecord.from_dict(data["record"])
        stated, known = tuple(data["stated_torque"]), tuple(data["known_torque"])
        return Piece(compressed, record, stated, known, data["has_known"], data["rests_on_gains"]), data["facts"]
    except TaupiError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        raise _damaged(name) from None


def _damaged(name: str) -> TaupiError:
    return TaupiError("{name} is not a piece of a fit, or it is cut off or damaged.", name=name)


def _factors(arrays: dict[str, np.ndarray], name: str) -> tuple[JointFactor, ...]:
    """Return the factors in the arrays of a piece; raise ValueError for arrays that do not belong together."""
    counts, sums, rows = _numbers(arrays["whole"], 2, "i"), _numbers(arrays["real"], 2), _numbers(arrays["rows"], 1)
    joints, used = _numbers(arrays["joints"], 1, "if").tolist(), _numbers(arrays["used"], 2, "b")
    lengths, shares = counts[:, 4].tolist(), sums[:, 1]
    # A triangle has no more rows than columns, nor than there were rows; a row is worth a sample at most.
    if used.shape[0] != len(joints) or not all(0 <= length <= used.shape[1] for length in lengths):
        raise ValueError
    if (counts[:, :3] < 0).any() or (counts[:, 3] < -1).any() or (counts[:, 4] > counts[:, 2]).any():
        raise ValueError
    if (shares <= 0).any() or (shares > 1).any() or (np.abs(rows) > _LARGEST).any() or (np.abs(sums) > _LARGEST).any():
        raise ValueError
    budget().check_unpacked(8 * used.shape[1] * sum(lengths), rows.nbytes, name)
    factors, start = [], 0
    for (file, joint, count, stretch, length), (total, share) in zip(counts.tolist(), sums.tolist(), strict=True):
        columns = used[joints.index(joint)]
        stop = start + length * int(columns.sum())
        r = np.zeros((length, len(columns)))
        r[:, columns] = rows[start:stop].reshape(length, -1)
        factors.append(JointFactor(file, joint, r, count, total, stretch, share))
        start = stop
    if start != len(rows):
        raise ValueError
    return tuple(factors)


def _numbers(array: np.ndarray, axes: int, kinds: str = "f") -> np.ndarray:
    if array.ndim != axes or array.dtype.kind not in kinds or not np.isfinite(array).all():
        raise ValueError
    return array
