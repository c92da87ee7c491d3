"""A log as blocks of clean samples, which can be read from the start repeatedly: a log in memory is one block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.preparation import Preparation
from taupi.signals.checking.clean import UniformTime, clean_log, refuse_several_runs
from taupi.signals.checking.commands import refuse_computed_torque
from taupi.signals.checking.implausible import (
    is_plausible,
    refuse_absurd,
    refuse_backwards,
    refuse_jumps,
    refuse_missing,
    refuse_silence,
    refuse_slow,
)
from taupi.signals.checking.standstill import MotionRows, motion_rows
from taupi.signals.checking.units_found import warn_of_units
from taupi.signals.filtering.smoothing import LOCAL_DERIVATIVES
from taupi.signals.formats import format_by_ending, format_of
from taupi.signals.formats.sources import file_name, size_of, source_of
from taupi.signals.log import Log
from taupi.signals.read import LogLike, PathLike, asked_part, block_reader, concatenate_logs, read_log
from taupi.signals.reading import Streaming
from taupi.signals.stretches import median_step

# Larger files (in bytes) are streamed if their format allows it: about 300 000 samples of a 7-joint arm.
STREAMED_BYTES = 64 << 20
# Periods of the lowest cutoff in a log: at each end, one is cut, and one at three times the frequency: half of them in all.
_PERIODS = 16 / 3
# A block with fewer samples shows neither a rate nor a standstill.
_LEAST = 64
# Samples before a block with which a jump at its beginning is seen.
_SEAM = 256
# Number of samples of a log in memory that are searched for standstill at once: most logs do not begin with a long one.
_PART = 16_384


@dataclass(frozen=True, eq=False)
class BlockSource:
    """Complete samples at uniform time steps, block by block.

    `first` is the first block, for names, signals and notes; `motion` are the rows between the standstills at the ends, or all
    rows if these are not to be trimmed. `raw` is a log in memory as it was before it was cleaned.
    """

    blocks: Callable[[], Iterator[Log]] = field(repr=False)
    first: Log = field(repr=False)
    samples: int
    rate_hz: float
    motion: MotionRows
    streamed: bool = False
    raw: Log | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The file's name, or "log"."""
        return file_name(self.first.source.path) if self.first.source.path else "log"

    @property
    def span(self) -> tuple[float, float]:
        """The time span of the motion, s, half a sample wider at both ends."""
        start = float(self.first.time[0])
        return start + (self.motion.start - 0.5) / self.rate_hz, start + (self.motion.stop - 0.5) / self.rate_hz

    @property
    def lowest_cutoff_hz(self) -> float:
        """The lowest cutoff, Hz, with which half of the motion is left once a period of both filters is cut at each end."""
        return _PERIODS * self.rate_hz / max(self.motion.stop - self.motion.start, 1)

    def recorded(self, samples: int) -> Log:
        """Return the log as it was recorded, errors included; for a stream, the first samples of its motion."""
        return self.head(samples) if self.raw is None else self.raw

    def parts(self, samples: int) -> Iterator[Log]:
        """Yield the log as it was recorded, errors included; the motion of a stream in parts of so many samples."""
        if self.raw is not None:
            yield self.raw
            return
        waiting: list[Log] = []
        count = row = 0
        for block in self.blocks():
            inside = slice(max(self.motion.start - row, 0), max(self.motion.stop - row, 0))
            row += len(block)
            left = block.rows(inside) if len(block.time[inside]) else None
            while left is not None:
                room = samples - count
                waiting.append(left.rows(slice(room)))
                count += len(waiting[-1])
                left = left.rows(slice(room, None)) if len(left) > room else None
                if count == samples:
                    yield concatenate_logs(waiting)
                    waiting, count = [], 0
        if waiting:
            yield concatenate_logs(waiting)

    def head(self, samples: int) -> Log:
        """Return the first samples of the motion, from which settings are chosen: the same for blocks of any size."""
        parts, row = [], 0
        start, stop = self.motion.start, min(self.motion.start + samples, self.motion.stop)
        for block in self.blocks():
            inside = slice(max(start - row, 0), max(stop - row, 0))
            if len(block.time[inside]):
                parts.append(block.rows(inside))
            row += len(block)
            if row >= stop:
                break
        return concatenate_logs(parts)


def open_source(
    log: LogLike,
    layout: RowLayout,
    preparation: Preparation,
    reading: Streaming,
    check: Callable[[], None] = lambda: None,
) -> BlockSource:
    """Return the blocks of a Log, or of the file at a path, which is streamed if it is large or `reading` says so.

    What cannot be done block by block is refused. `check` is called before each block of a stream, and may raise to stop it.
    """
    if isinstance(log, Log):
        with errors_naming(log.source.path):
            return _in_memory(asked_part(log, reading), layout, preparation)
    if not isinstance(log, str | os.PathLike):
        raise TaupiError("{logs} holds {got!r}, expected a Log or the path of a file.", got=log)
    with errors_naming(log):
        if _streams(log, preparation, reading):
            return _streamed(log, layout, preparation, reading, check)
        return _in_memory(read_log(log, layout.robot, reading=reading), layout, preparation)


@contextmanager
def errors_naming(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Put the name of a file in front of errors raised in this context."""
    name = file_name(path) if path else ""
    try:
        yield
    except TaupiError as error:
        if name in str(error):
            raise
        raise error.about(name) from None


def _streams(path: PathLike, preparation: Preparation, reading: Streaming) -> bool:
    """Return whether a file is read block by block."""
    local = preparation.derivatives in LOCAL_DERIVATIVES
    if reading.stream and not local:
        raise TaupiError(
            "{derivatives} is {got!r}, which needs the whole log at once, but {path} is to be streamed.",
            remedy="Use {derivatives='central'}, or read the file whole with {stream=False}.",
            got=preparation.derivatives,
            path=file_name(path),
        )
    if reading.stream is not None:
        return reading.stream
    name = format_by_ending(file_name(path))
    streamable = name is not None and format_of(name).streams
    return local and streamable and size_of(source_of(path)) > STREAMED_BYTES


def _in_memory(log: Log, layout: RowLayout, preparation: Preparation) -> BlockSource:
    layout.check(log)
    refuse_several_runs(log)
    refuse_silence(log)
    refuse_computed_torque(log)
    refuse_slow(log)
    refuse_absurd(log)
    refuse_jumps(log)
    raw = log = warn_of_units(log)
    if log.is_prepared:
        _refuse_repeats(log)
    else:
        log = clean_log(log, gaps=preparation)
    motion = _motion(
        lambda: (log.rows(slice(k, k + _PART)) for k in range(0, len(log), _PART)), log, len(log), preparation
    )
    return BlockSource(lambda: iter([log]), log, len(log), log.rate_hz, motion, raw=raw)


def _refuse_repeats(log: Log) -> None:
    """Refuse a prepared log whose time does not step forwards: it is not cleaned again."""
    repeated = np.flatnonzero(np.diff(log.time) <= 0)
    if len(repeated):
        raise TaupiError(
            "time of the log does not step forwards at sample {sample}, but the log came prepared.",
            sample=int(repeated[0]) + 1,
            remedy="Clean it before it is prepared: taupi.clean_log(log).",
        )


def _streamed(
    path: PathLike, layout: RowLayout, preparation: Preparation, reading: Streaming, check: Callable[[], None]
) -> BlockSource:
    """Return the blocks of a file, after reading it once, so that anything wrong with it is reported before work begins."""
    reader = block_reader(path, reading.block, layout.robot, reading)

    def blocks() -> Iterator[Log]:
        row, run = 0, None
        for block in reader():
            check()
            if not is_plausible(block):
                with errors_naming(path):
                    refuse_missing(block, row)
                    refuse_absurd(block, row)
            with errors_naming(path):
                refuse_several_runs(block, run)
            run = None if block.segment is None else float(block.segment[-1])
            row += len(block)
            yield block

    first = next(blocks(), None)
    if first is None or len(first) < min(_LEAST, reading.block):
        raise TaupiError(
            "{path} has too few samples to be streamed.", remedy="Use {stream=False}.", path=file_name(path)
        )
    layout.check(first)
    refuse_computed_torque(first)
    refuse_slow(first)
    refuse_several_runs(first)
    refuse_backwards(first)
    first = warn_of_units(first)
    time, with_torque = UniformTime(), list[Log]()

    def blocks_with_checked_time() -> Iterator[Log]:
        before, row = list[Log](), 0
        for block in blocks():
            with errors_naming(path):
                if not first.is_prepared:
                    time.add(block.time)
                refuse_jumps(concatenate_logs([*before, block]), row - sum(map(len, before)))
                before, row = [block.rows(slice(max(len(block) - _SEAM, 0), None))], row + len(block)
                if not with_torque and block.need("tau")[0].any():
                    with_torque.append(block)
            yield block

    first_pass = iter([blocks_with_checked_time])

    def next_pass() -> Iterator[Log]:
        return next(first_pass, blocks)()  # the time stamps are checked in the first pass only

    motion = _motion(next_pass, first, None, preparation)
    if not with_torque:
        refuse_silence(first)
    rate = time.rate_hz if time.samples > 1 else first.rate_hz
    note = f"streamed in blocks of {reading.block} samples"
    return BlockSource(blocks, first.with_(notes=note), motion.samples, rate, motion, streamed=True)


def _motion(
    blocks: Callable[[], Iterator[Log]], first: Log, samples: int | None, preparation: Preparation
) -> MotionRows:
    """Return the rows of the motion; if the number of `samples` is not known, there is at least one pass over the blocks."""
    if preparation.trim and not first.is_prepared:
        return motion_rows(lambda: (block.q for block in blocks()), 1 / median_step(first.time))
    count = sum(len(block) for block in blocks()) if samples is None else samples
    return MotionRows(0, count, count)
