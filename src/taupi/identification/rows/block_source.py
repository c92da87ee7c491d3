"""A log as blocks of clean samples, from the start as often as they are asked for: a log in memory is one block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, shown
from taupi.identification.equations import Equations
from taupi.identification.rows.preparation import Preparation
from taupi.signals.clean import UniformTime, clean_log
from taupi.signals.formats import FORMATS
from taupi.signals.implausible import refuse_absurd, refuse_missing, refuse_silence, refuse_slow
from taupi.signals.log import Log
from taupi.signals.read import block_reader, read_log
from taupi.signals.reading import Streaming
from taupi.signals.smoothing import LOCAL_DERIVATIVES
from taupi.signals.standstill import MotionRows, motion_rows
from taupi.signals.stretches import median_step

# Files of more bytes than this are streamed, where their format can be: some 300 000 samples of a 7-joint arm.
STREAMED_BYTES = 64 << 20
# A block that tells neither a rate nor a standstill.
_LEAST = 64


@dataclass(frozen=True, eq=False)
class BlockSource:
    """Complete samples on a uniform grid of time, block by block.

    `first` is the first block, from which names, signals and notes are seen; `motion` are the rows between the standstills at
    the ends, all rows where they are not to be trimmed.
    """

    blocks: Callable[[], Iterator[Log]] = field(repr=False)
    first: Log = field(repr=False)
    samples: int
    rate_hz: float
    motion: MotionRows
    streamed: bool = False

    @property
    def name(self) -> str:
        """The file's name, or "log"."""
        return Path(self.first.source.path).name if self.first.source.path else "log"

    @property
    def span(self) -> tuple[float, float]:
        """The time of the motion, half a sample wider at both ends."""
        start = float(self.first.time[0])
        return start + (self.motion.start - 0.5) / self.rate_hz, start + (self.motion.stop - 0.5) / self.rate_hz

    def head(self, samples: int) -> Log:
        """Return the first samples of the motion, by which things are chosen: the same in blocks of any size."""
        parts, row = [], 0
        start, stop = self.motion.start, min(self.motion.start + samples, self.motion.stop)
        for block in self.blocks():
            inside = slice(max(start - row, 0), max(stop - row, 0))
            if len(block.time[inside]):
                parts.append(block.rows(inside))
            row += len(block)
            if row >= stop:
                break
        return joined(parts)


def joined(parts: list[Log]) -> Log:
    """Return the log of consecutive blocks."""
    if len(parts) == 1:
        return parts[0]
    signals = {name: np.concatenate([p.signals[name] for p in parts]) for name in parts[0].signals}
    return parts[0].with_(time=np.concatenate([p.time for p in parts]), **signals)


def open_source(
    log: Any,
    equations: Equations,
    preparation: Preparation,
    reading: Streaming,
    check: Callable[[], None] = lambda: None,
) -> BlockSource:
    """Return the blocks of a Log, or of the file at a path, which is streamed where it is large or `reading` says so.

    What cannot be done block by block is refused. `check` is called before each block of a stream, and raises to end it.
    """
    if isinstance(log, Log):
        with naming(log.source.path):
            return _in_memory(log, equations, preparation)
    if not isinstance(log, str | os.PathLike):
        raise TaupiError(Argument("logs"), f" holds {shown(log)}, expected a Log or the path of a file.")
    path = Path(log)
    with naming(path):
        if _streams(path, preparation, reading):
            return _streamed(path, equations, preparation, reading, check)
        return _in_memory(read_log(path, equations.robot, reading=reading), equations, preparation)


@contextmanager
def naming(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let errors say which file they are about."""
    name = Path(path).name if path else ""
    try:
        yield
    except TaupiError as error:
        if name in str(error):
            raise
        raise error.about(name) from None


def _streams(path: Path, preparation: Preparation, reading: Streaming) -> bool:
    """Tell whether a file is read block by block."""
    local = preparation.derivatives in LOCAL_DERIVATIVES
    if reading.stream and not local:
        raise TaupiError(
            Argument("derivatives"),
            f" is {preparation.derivatives!r}, which is fitted to a whole log at once, and {path.name} is to be streamed.",
            remedy=("Use 'central', or read the file whole: ", Argument("stream", False), "."),
        )
    if reading.stream is not None:
        return reading.stream
    low = path.name.lower()
    able = any(low.endswith(f.endings) and f.streams for f in FORMATS.values())
    return local and able and path.is_file() and path.stat().st_size > STREAMED_BYTES


def _in_memory(log: Log, equations: Equations, preparation: Preparation) -> BlockSource:
    equations.refuse(log)
    refuse_silence(log)
    refuse_slow(log)
    refuse_absurd(log)
    if not log.is_prepared:
        log = clean_log(log, short_gap=preparation.short_gap, long_gaps=preparation.long_gaps)
    motion = _motion(lambda: iter([log]), log, len(log), preparation)
    return BlockSource(lambda: iter([log]), log, len(log), log.rate_hz, motion)


def _streamed(
    path: Path, equations: Equations, preparation: Preparation, reading: Streaming, check: Callable[[], None]
) -> BlockSource:
    """Return a file's blocks, seen once from end to end, so that what is wrong with it is said before work begins."""
    reader = block_reader(path, reading.block, equations.robot, reading)

    def blocks() -> Iterator[Log]:
        row = 0
        for block in reader():
            check()
            with naming(path):
                refuse_missing(block, row)
                refuse_absurd(block, row)
            row += len(block)
            yield block

    first = next(blocks(), None)
    if first is None or len(first) < min(_LEAST, reading.block):
        raise TaupiError(
            f"{path.name} has too few samples to be streamed.", remedy=("Use ", Argument("stream", False), ".")
        )
    equations.refuse(first)
    refuse_silence(first)
    refuse_slow(first)
    time = UniformTime()

    def checked() -> Iterator[Log]:
        for block in blocks():
            with naming(path):
                if not first.is_prepared:
                    time.add(block.time)
            yield block

    passes = iter([checked])

    def again() -> Iterator[Log]:
        return next(passes, blocks)()  # the first pass looks at the time too

    motion = _motion(again, first, None, preparation)
    rate = time.rate_hz if time.samples > 1 else first.rate_hz
    note = f"streamed in blocks of {reading.block} samples"
    return BlockSource(blocks, first.with_(notes=note), motion.samples, rate, motion, streamed=True)


def _motion(
    blocks: Callable[[], Iterator[Log]], first: Log, samples: int | None, preparation: Preparation
) -> MotionRows:
    """Return the rows that count, in one pass over the blocks at least where their number is not known."""
    if preparation.trim and not first.is_prepared:
        return motion_rows(lambda: (block.q for block in blocks()), 1 / median_step(first.time))
    count = sum(len(block) for block in blocks()) if samples is None else samples
    return MotionRows(0, count, count)
