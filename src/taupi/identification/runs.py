"""Runs: logs and files on their way to samples, whole or block by block, each remembering where it comes from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import TaupiError, shown
from taupi.identification.friction import FrictionPlan
from taupi.identification.motion import Samples, matching, one_way, samples_of
from taupi.identification.sane import refuse_absurd, refuse_missing, refuse_silence, refuse_slow
from taupi.model.robot import Robot
from taupi.signals.clean import clean_log
from taupi.signals.columns import positive
from taupi.signals.filters import butterworth, choose_cutoff, overlapped, settle_rows
from taupi.signals.formats import FORMATS
from taupi.signals.log import Log
from taupi.signals.prepare import prepare, prepare_blocks, trim_standstill
from taupi.signals.read import ColumnsLike, block_reader, read_log, row_count
from taupi.signals.runs import mean_step

# Files of more bytes than this are streamed, where their format can be: some 300 000 samples of a 7-joint arm.
STREAMED_BYTES = 64 << 20
# Samples of a block of a file that is streamed.
_BLOCK = 50_000
# Samples handed on at once of a log that is in memory.
_CHUNK = 50_000


@dataclass(frozen=True)
class Preparation:
    """How logs become samples: the settings of `taupi.prepare`, and the speed (rad/s, m/s) below which rows are left out."""

    cutoff_hz: float | None = None
    decimate: int | None = None
    order: int = 4
    derivatives: str = "central"
    velocity: str = "auto"
    trim: bool = True
    short_gap: float | None = None
    long_gaps: str = "refuse"
    slow: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.cutoff_hz is not None:
            positive(self.cutoff_hz, "cutoff_hz")
        step = self.decimate
        if step is not None and (isinstance(step, bool) or not isinstance(step, int | np.integer) or step < 1):
            raise TaupiError(f"decimate is {shown(step)}, expected a whole number of at least 1.")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)

    def filtered(self, log: Log) -> tuple[Log, float, int]:
        """Return the log as `taupi.prepare` makes it, not yet decimated; the cutoff; and of how many samples to keep one."""
        log = clean_log(log, short_gap=self.short_gap, long_gaps=self.long_gaps)
        log = trim_standstill(log) if self.trim else log
        cutoff = self.cutoff_hz
        if cutoff is None:
            choice = choose_cutoff(log.q, log.rate_hz)
            cutoff, log = choice.hz, log.with_(notes=choice.note)
        ready = prepare(
            log,
            cutoff_hz=cutoff,
            order=self.order,
            derivatives=self.derivatives,
            velocity=self.velocity,
            trim=False,
            decimate=1,
        )
        step = max(1, int(ready.rate_hz / (10 * cutoff))) if self.decimate is None else self.decimate
        return ready.with_(notes=f"every {step}th sample kept") if step > 1 else ready, float(cutoff), int(step)


@dataclass(frozen=True, eq=False)
class Run:
    """One log of a fit: where it came from, what was done to it, and its samples again and again."""

    name: str
    path: str
    sha256: str
    rate_hz: float
    notes: tuple[str, ...]
    robot: Robot = field(repr=False)
    source: Callable[[], Iterator[Log]] = field(repr=False)
    slow: np.ndarray  # (n,) rows of a joint slower than this do not count
    cutoff_hz: float | None = None  # of the filter that the log has passed; None for one that came prepared
    order: int = 4
    step: int = 1  # of the source's samples every so many count
    friction: FrictionPlan | None = None
    streamed: bool = False
    rows: int | None = None  # of the source, where that is known before it is read

    def speeds(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest speed along directions (k, n): of a stream, until all have reversed."""
        low, high = np.full(len(directions), np.inf), np.full(len(directions), -np.inf)
        for log in self.source():
            (qd,) = log.need("qd")
            along = qd @ directions.T
            low, high = np.minimum(low, along.min(axis=0)), np.maximum(high, along.max(axis=0))
            if self.streamed and not one_way(low, high).any():
                break
        return low, high

    def blocks(self) -> Iterator[Samples]:
        """Yield the samples, block by block, dry friction filtered as the torque was."""
        if self.cutoff_hz is None or self.friction is None or not self.friction.places:
            row = 0
            for log in self.source():
                yield samples_of(log.rows(slice(-row % self.step, None, self.step)), self.robot, self.slow)
                row += len(log)
            return
        n, row, rate = self.robot.n, 0, self.rate_hz * self.step
        for piece, keep in overlapped(self._packed(), settle_rows(rate, self.cutoff_hz, self.order)):
            dry = butterworth(piece[:, 4 * n :], rate, self.cutoff_hz, self.order)
            at = np.arange(keep.start, keep.stop)[-row % self.step :: self.step]
            row += keep.stop - keep.start
            q, qd, qdd, tau = (piece[at, k * n : (k + 1) * n] for k in range(4))
            yield Samples(q, qd, qdd, tau, np.abs(qd) >= self.slow, dry[at])

    def _packed(self) -> Iterator[np.ndarray]:
        """Yield q, qd, qdd, tau and dry friction side by side."""
        assert self.friction is not None
        for log in self.source():
            s = samples_of(log, self.robot, self.slow)
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
    given: Any, robot: Robot, settings: Preparation, columns: ColumnsLike, rate_hz: float | None, stream: bool | None
) -> Run:
    """Return the run of a Log or of a file's path; a large file is streamed."""
    if isinstance(given, Log):
        return _whole(given, robot, settings)
    if not isinstance(given, str | os.PathLike):
        raise TaupiError(f"logs holds {shown(given)}, expected a Log or the path of a file.")
    path = Path(given)
    with naming(path):
        return _opened(path, robot, settings, columns, rate_hz, stream)


@contextmanager
def naming(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let errors say which file they are about."""
    name = Path(path).name if path else ""
    try:
        yield
    except TaupiError as error:
        if name in str(error):
            raise
        raise type(error)(f"{name}: {error}") from None


def _opened(
    path: Path, robot: Robot, settings: Preparation, columns: ColumnsLike, rate_hz: float | None, stream: bool | None
) -> Run:
    if stream or (stream is None and path.is_file() and path.stat().st_size > STREAMED_BYTES and _streams(path)):
        return _streamed(path, robot, settings, columns, rate_hz)
    return _whole(read_log(path, robot, columns, rate_hz=rate_hz), robot, settings)


def _streams(path: Path) -> bool:
    low = path.name.lower()
    return any(low.endswith(f.endings) and f.streams for f in FORMATS.values())


def _whole(log: Log, robot: Robot, settings: Preparation) -> Run:
    matching(log, robot)
    refuse_silence(log)
    refuse_slow(log)
    refuse_absurd(log)
    ready, cutoff, step = (log, None, 1) if _is_ready(log) else settings.filtered(log)
    ready.need("qd", "qdd")

    def source() -> Iterator[Log]:
        for start in range(0, len(ready), _CHUNK):
            yield ready.rows(slice(start, start + _CHUNK))

    name = Path(log.source.path).name if log.source.path else "log"
    return Run(
        name, log.source.path, log.source.sha256, ready.rate_hz / step, ready.notes, robot, source, np.zeros(robot.n),
        cutoff, settings.order, step, rows=len(ready),
    )  # fmt: skip


def _is_ready(log: Log) -> bool:
    """Tell whether a log has been through `prepare` already, which its notes say."""
    return log.qdd is not None and any(note.startswith("filtered by a zero-phase") for note in log.notes)


def _streamed(path: Path, robot: Robot, settings: Preparation, columns: ColumnsLike, rate_hz: float | None) -> Run:
    """Return a run that is read again and again; what must be chosen is chosen on the first block."""
    reader = block_reader(path, _BLOCK, robot, columns, rate_hz=rate_hz)

    def raw() -> Iterator[Log]:
        row = 0
        for block in reader():
            with naming(path):
                refuse_missing(block, row)
                refuse_absurd(block, row)
            row += len(block)
            yield block

    first = next(iter(raw()), None)
    if first is None or len(first) < 64:
        raise TaupiError(f"{path.name} has too few samples to be streamed. Use stream=False.")
    matching(first, robot)
    refuse_silence(first)
    refuse_slow(first)
    clean = clean_log(first)
    rate = 1 / mean_step(first.time)
    notes = [*first.notes, f"streamed in blocks of {_BLOCK} samples"]
    cutoff = settings.cutoff_hz
    if cutoff is None:
        choice = choose_cutoff(clean.q, rate)
        cutoff = choice.hz
        notes.append(f"{choice.note}, in the first block")
    step = max(1, int(rate / (10 * cutoff))) if settings.decimate is None else settings.decimate
    velocity = "position" if settings.velocity == "auto" else settings.velocity

    def source() -> Iterator[Log]:
        return prepare_blocks(raw(), rate, cutoff, order=settings.order, velocity=velocity)

    ready = next(
        iter(prepare_blocks([first], rate, cutoff, decimate=step, order=settings.order, velocity=velocity)), None
    )
    if ready is None or ready.qd is None:
        raise TaupiError(f"{path.name}: the first block is shorter than the filter's edges. Give cutoff_hz.")
    notes.append(
        f"filtered by a zero-phase Butterworth of order {settings.order}, cutoff {cutoff:.4g} Hz, every {step}th sample kept"
    )
    return Run(
        path.name, str(path), first.source.sha256, rate / step, tuple(notes), robot, source, np.zeros(robot.n), cutoff,
        settings.order, step, streamed=True, rows=row_count(path),
    )  # fmt: skip
