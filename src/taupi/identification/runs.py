"""Runs: logs and files on their way to samples, whole or block by block, each remembering where it comes from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import TaupiError, shown, unknown
from taupi.identification.equations import Equations
from taupi.identification.friction import FrictionPlan
from taupi.identification.motion import Samples, counted, one_way, samples_of
from taupi.signals.clean import clean_log
from taupi.signals.filters import butterworth, choose_cutoff, overlapped, settle_rows
from taupi.signals.formats import FORMATS
from taupi.signals.log import Log
from taupi.signals.prepare import is_prepared, prepare, prepare_blocks, trim_standstill
from taupi.signals.read import ColumnsLike, log_blocks, read_log
from taupi.signals.runs import mean_step

# Files of more bytes than this are streamed, where their format can be: some 300 000 samples of a 7-joint arm.
STREAMED_BYTES = 64 << 20
# Samples of a block of a file that is streamed.
_BLOCK = 50_000
# Samples handed on at once of a log that is in memory.
_CHUNK = 50_000
_LEAVE_OUT = ("row", "sample")
_TORQUE = ("sampled", "held")


@dataclass(frozen=True)
class Preparation:
    """How logs become samples: the settings of `taupi.prepare`, and which rows count.

    `slow` (rad/s, m/s) is where dry friction sets in. Rows of joints (motors) slower than `threshold`, one or one a joint, are
    left out; `leave_out="sample"` then leaves out the whole sample, "row" only that row. `torque` is "sampled" when positions
    are, or "held" from each sample to the next, so that it acts half a sample later; `encoder_delay` (s), one or one a joint, is
    by how much encoders of motors are later than those of links. For elastic robots None is found from the log.
    """

    cutoff_hz: float | None = None
    decimate: int | None = None
    order: int = 4
    derivatives: str = "central"
    velocity: str = "auto"
    trim: bool = True
    short_gap: float | None = None
    long_gaps: str = "refuse"
    slow: float | tuple[float, ...] | None = None
    threshold: float | tuple[float, ...] | None = None
    leave_out: str = "row"
    torque: str | None = None
    encoder_delay: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.leave_out not in _LEAVE_OUT:
            raise unknown("leave_out", str(self.leave_out), _LEAVE_OUT)
        if self.torque is not None and self.torque not in _TORQUE:
            raise unknown("torque", str(self.torque), _TORQUE)

    def delays(self, rate: float, rows: Equations) -> dict[str, Any]:
        """Return by how many seconds signals of a log are late, by name: a torque that is held is early by half a sample."""
        found: dict[str, Any] = {"tau": -0.5 / rate} if self.torque == "held" else {}
        if self.encoder_delay is not None and rows.sprung:
            found["theta"] = self.encoder_delay
        return found

    def least_speeds(self, rows: Equations) -> np.ndarray:
        """Return the speed below which each row does not count: the threshold where motors act, 0 for links behind springs."""
        given = np.asarray(0.0 if self.threshold is None else self.threshold, dtype=float)
        n = rows.robot.n
        if given.shape not in ((), (n,)) or not np.isfinite(given).all() or (given < 0).any():
            raise TaupiError(
                f"threshold is {shown(self.threshold)}, expected a speed of at least 0, or one for each of {n} joints."
            )
        return rows.on_motors(np.broadcast_to(given, n))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)

    def filtered(self, log: Log, rows: Equations) -> tuple[Log, float, int]:
        """Return the log as `taupi.prepare` makes it, not yet decimated; the cutoff; and of how many samples to keep one."""
        log = clean_log(log, short_gap=self.short_gap, long_gaps=self.long_gaps)
        log = trim_standstill(log) if self.trim else log
        cutoff = self.cutoff_hz
        if cutoff is None:
            choice = choose_cutoff(rows.positions(log), log.rate_hz)
            cutoff, log = choice.hz, log.with_(notes=choice.note)
        ready = prepare(
            log,
            cutoff_hz=cutoff,
            order=self.order,
            derivatives=self.derivatives,
            velocity=self.velocity,
            trim=False,
            decimate=1,
            delays=self.delays(log.rate_hz, rows),
        )
        step = max(1, int(ready.rate_hz / (10 * cutoff))) if self.decimate is None else self.decimate
        if isinstance(step, bool) or not isinstance(step, int | np.integer) or step < 1:
            raise TaupiError(f"decimate is {shown(self.decimate)}, expected a whole number of at least 1.")
        return ready.with_(notes=f"every {step}th sample kept") if step > 1 else ready, float(cutoff), int(step)


@dataclass(frozen=True, eq=False)
class Run:
    """One log of a fit: where it came from, what was done to it, and its samples again and again."""

    name: str
    path: str
    sha256: str
    rate_hz: float
    notes: tuple[str, ...]
    rows: Equations = field(repr=False)
    source: Callable[[], Iterator[Log]] = field(repr=False)
    slow: np.ndarray  # (rows,) those slower than this do not count
    cutoff_hz: float | None = None  # of the filter that the log has passed; None for one that came prepared
    order: int = 4
    step: int = 1  # of the source's samples every so many count
    friction: FrictionPlan | None = None
    streamed: bool = False
    whole: bool = False  # whether a slow row takes its sample with it

    def speeds(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest speed along directions (k, rows): of a stream, until all have reversed."""
        low, high = np.full(len(directions), np.inf), np.full(len(directions), -np.inf)
        for log in self.source():
            along = self.rows.motion(log)[1] @ directions.T
            low, high = np.minimum(low, along.min(axis=0)), np.maximum(high, along.max(axis=0))
            if self.streamed and not one_way(low, high).any():
                break
        return low, high

    def blocks(self) -> Iterator[Samples]:
        """Yield the samples, block by block, dry friction filtered as the torque was."""
        if self.cutoff_hz is None or self.friction is None or not self.friction.places:
            row = 0
            for log in self.source():
                yield samples_of(log.rows(slice(-row % self.step, None, self.step)), self.rows, self.slow, self.whole)
                row += len(log)
            return
        n, row, rate = self.rows.count, 0, self.rate_hz * self.step
        for piece, keep in overlapped(self._packed(), settle_rows(rate, self.cutoff_hz, self.order)):
            dry = butterworth(piece[:, 4 * n :], rate, self.cutoff_hz, self.order)
            at = np.arange(keep.start, keep.stop)[-row % self.step :: self.step]
            row += keep.stop - keep.start
            q, qd, qdd, tau = (piece[at, k * n : (k + 1) * n] for k in range(4))
            yield Samples(q, qd, qdd, tau, counted(qd, self.slow, self.whole), dry[at])

    def _packed(self) -> Iterator[np.ndarray]:
        """Yield q, qd, qdd, tau and dry friction side by side."""
        assert self.friction is not None
        for log in self.source():
            s = samples_of(log, self.rows, self.slow)
            yield np.concatenate([s.q, s.qd, s.qdd, s.tau, self.friction.signals(s.qd)], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Return what is worth keeping of it, as plain data."""
        return {
            "name": self.name,
            "path": self.path,
            "sha256": self.sha256,
            "rate_hz": self.rate_hz,
            "slow": self.slow.tolist(),
            "notes": list(self.notes),
        }


def open_run(
    given: Any, rows: Equations, settings: Preparation, columns: ColumnsLike, rate_hz: float | None, stream: bool | None
) -> Run:
    """Return the run of a Log or of a file's path; a large file is streamed."""
    if isinstance(given, Log):
        return _whole(given, rows, settings)
    if not isinstance(given, str | os.PathLike):
        raise TaupiError(f"logs holds {shown(given)}, expected a Log or the path of a file.")
    path = Path(given)
    if _to_stream(path, stream):
        return _streamed(path, rows, settings, columns, rate_hz)
    return _whole(read_log(path, rows.robot, columns, rate_hz=rate_hz), rows, settings)


def first_samples(
    given: Any, rows: Equations, columns: ColumnsLike, rate_hz: float | None, stream: bool | None
) -> tuple[Log, bool]:
    """Return a log as it was recorded, and whether it is all of it: of a file that is to be streamed, the first block."""
    if isinstance(given, Log):
        log, whole = given, True
    elif not isinstance(given, str | os.PathLike):
        raise TaupiError(f"logs holds {shown(given)}, expected a Log or the path of a file.")
    else:
        whole = not _to_stream(Path(given), stream)
        if whole:
            log = read_log(given, rows.robot, columns, rate_hz=rate_hz)
        else:
            log = next(iter(log_blocks(given, _BLOCK, rows.robot, columns, rate_hz=rate_hz)))
    rows.refuse(log)
    log.need("tau")
    return log, whole


def _to_stream(path: Path, stream: bool | None) -> bool:
    return stream or (stream is None and path.is_file() and path.stat().st_size > STREAMED_BYTES and _streams(path))


def _streams(path: Path) -> bool:
    low = path.name.lower()
    return any(low.endswith(f.endings) and f.streams for f in FORMATS.values())


def _whole(log: Log, rows: Equations, settings: Preparation) -> Run:
    rows.refuse(log)
    log.need("tau")
    ready, cutoff, step = (log, None, 1) if is_prepared(log) else settings.filtered(log, rows)
    rows.motion(ready)

    def source() -> Iterator[Log]:
        for start in range(0, len(ready), _CHUNK):
            yield ready.rows(slice(start, start + _CHUNK))

    name = Path(log.source.path).name if log.source.path else "log"
    return Run(
        name, log.source.path, log.source.sha256, ready.rate_hz / step, ready.notes, rows, source,
        settings.least_speeds(rows), cutoff, settings.order, step, whole=settings.leave_out == "sample",
    )  # fmt: skip


def _streamed(path: Path, rows: Equations, settings: Preparation, columns: ColumnsLike, rate_hz: float | None) -> Run:
    """Return a run that is read again and again; what must be chosen is chosen on the first block."""

    def raw() -> Iterator[Log]:
        return log_blocks(path, _BLOCK, rows.robot, columns, rate_hz=rate_hz)

    first = next(iter(raw()), None)
    if first is None or len(first) < 64:
        raise TaupiError(f"{path.name} has too few samples to be streamed. Use stream=False.")
    rows.refuse(first)
    first.need("tau")
    clean = clean_log(first)
    rate = 1 / mean_step(first.time)
    notes = [*first.notes, f"streamed in blocks of {_BLOCK} samples"]
    cutoff = settings.cutoff_hz
    if cutoff is None:
        choice = choose_cutoff(rows.positions(clean), rate)
        cutoff = choice.hz
        notes.append(f"{choice.note}, in the first block")
    step = max(1, int(rate / (10 * cutoff))) if settings.decimate is None else settings.decimate
    velocity = "position" if settings.velocity == "auto" else settings.velocity

    def prepared(blocks: Iterable[Log], k: int) -> Iterator[Log]:
        delays = settings.delays(rate, rows)
        return prepare_blocks(blocks, rate, cutoff, decimate=k, order=settings.order, velocity=velocity, delays=delays)

    def source() -> Iterator[Log]:
        return prepared(raw(), 1)

    ready = next(iter(prepared([first], step)), None)
    if ready is None or ready.qd is None:
        raise TaupiError(f"{path.name}: the first block is shorter than the filter's edges. Give cutoff_hz.")
    notes.append(
        f"filtered by a zero-phase Butterworth of order {settings.order}, cutoff {cutoff:.4g} Hz, every {step}th sample kept"
    )
    return Run(
        path.name, str(path), first.source.sha256, rate / step, tuple(notes), rows, source, settings.least_speeds(rows),
        cutoff, settings.order, step, streamed=True, whole=settings.leave_out == "sample",
    )  # fmt: skip
