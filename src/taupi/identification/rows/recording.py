"""Runs: logs and files on their way to rows, whole or block by block, each remembering where it comes from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, ordinal, shown, unknown
from taupi.identification.rows.equations import Equations
from taupi.identification.rows.row_maker import Filter, RowMaker, Rows
from taupi.identification.rows.samples import one_way, samples_of
from taupi.signals.clean import clean_log
from taupi.signals.columns import positive
from taupi.signals.filters import GIVE_CUTOFF, Cutoff, choose_cutoff, edge_rows
from taupi.signals.formats import FORMATS
from taupi.signals.implausible import refuse_absurd, refuse_missing, refuse_silence, refuse_slow
from taupi.signals.log import Log
from taupi.signals.prepare import is_prepared, prepare, prepare_blocks, trim_standstill
from taupi.signals.read import ColumnsLike, block_reader, read_log, row_count
from taupi.signals.stretches import mean_step

# Files of more bytes than this are streamed, where their format can be: some 300 000 samples of a 7-joint arm.
STREAMED_BYTES = 64 << 20
# Samples of a block of a file that is streamed.
_BLOCK = 50_000
# Samples handed on at once of a log that is in memory.
_CHUNK = 50_000
_LEAVE_OUT = ("row", "sample")
_TORQUE = ("sampled", "held")

# A log is smoothed with so many times the cutoff before the regressor is evaluated: good derivatives, and all that the filter
# lets pass afterwards is in it, to 0.02 %.
LIGHT = 3.0
# Samples kept per period of a cutoff: enough for every detail that is left, few enough to be almost independent.
_PER_CUTOFF = 10
# What is chosen by looking at a run, such as the shape of its friction, is chosen on so many smoothed samples, its first: some
# 600 periods of the cutoff, the same whether the run is streamed or not.
HEAD = 20_000
# Samples of a standstill before the motion that are left for the filter: some 30 periods of the cutoff.
_BEFORE = 1_000


@dataclass(frozen=True)
class Smoothed:
    """A log that is ready for a regressor, the filter its rows are to pass, the span of time that counts, and the cutoff."""

    log: Log
    through: Filter
    span: tuple[float, float]
    cutoff: Cutoff


@dataclass(frozen=True)
class Preparation:
    """How logs become rows: the settings of `taupi.prepare`, and which rows count.

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
        if self.cutoff_hz is not None:
            positive(self.cutoff_hz, "cutoff_hz")
        step = self.decimate
        if step is not None and (isinstance(step, bool) or not isinstance(step, int | np.integer) or step < 1):
            raise TaupiError(f"decimate is {shown(step)}, expected a whole number of at least 1.")

    def delays(self, rate: float, equations: Equations) -> dict[str, Any]:
        """Return by how many seconds signals of a log are late, by name: a torque that is held is early by half a sample."""
        found: dict[str, Any] = {"tau": -0.5 / rate} if self.torque == "held" else {}
        if self.encoder_delay is not None and equations.sprung:
            found["theta"] = self.encoder_delay
        return found

    def least_speeds(self, equations: Equations) -> np.ndarray:
        """Return the speed below which each row does not count: the threshold where motors act, 0 for links behind springs."""
        given = np.asarray(0.0 if self.threshold is None else self.threshold, dtype=float)
        n = equations.robot.n
        if given.shape not in ((), (n,)) or not np.isfinite(given).all() or (given < 0).any():
            raise TaupiError(
                f"threshold is {shown(self.threshold)}, expected a speed of at least 0, or one for each of {n} joints."
            )
        return equations.on_motors(np.broadcast_to(given, n))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)

    def steps(self, rate_hz: float, cutoff_hz: float) -> tuple[float, int, Filter]:
        """Return how a log is smoothed (Hz), of how many samples one is then kept, and the filter of the rows."""
        cutoff = positive(cutoff_hz, "cutoff_hz")
        light = max(cutoff, min(LIGHT * cutoff, 0.4 * rate_hz))
        most = max(1, int(rate_hz / (_PER_CUTOFF * light)))
        if self.decimate is None:
            first, then = most, max(1, int(rate_hz / most / (_PER_CUTOFF * cutoff)))
        else:
            first = max(k for k in range(1, most + 1) if self.decimate % k == 0)
            then = int(self.decimate) // first
        return light, first, Filter(rate_hz / first, cutoff, self.order, then)

    def cutoff(self, q: np.ndarray, rate_hz: float) -> Cutoff:
        """Return the cutoff that was given, else that which q suggests."""
        if self.cutoff_hz is None:
            return choose_cutoff(q, rate_hz)
        return Cutoff(positive(self.cutoff_hz, "cutoff_hz"), np.zeros(q.shape[1]), "")

    def smoothed(self, log: Log, equations: Equations, cutoff: Cutoff | None = None) -> Smoothed:
        """Return a log ready for a regressor, and the filter that its rows are to pass; a `cutoff` replaces that of q."""
        log = clean_log(log, short_gap=self.short_gap, long_gaps=self.long_gaps)
        moving = trim_standstill(log) if self.trim else log
        chosen = cutoff or self.cutoff(equations.positions(moving), log.rate_hz)
        notes = [*moving.notes[len(log.notes) :], *([chosen.note] if chosen.note else [])]
        light, first, through = self.steps(log.rate_hz, chosen.hz)
        # A period of each filter is cut at each end: of the one that smooths, and of the rows' own.
        edge = edge_rows(log.rate_hz, chosen.hz)
        if len(log) <= 2 * (edge + edge_rows(log.rate_hz, light)) + 8:
            raise TaupiError(
                f"log has {len(log)} samples, too few for a cutoff of {chosen.hz:.3g} Hz: {edge} are cut at each end."
            )
        # A standstill passes the filter like the rest, and is cut from the rows: a cut before would be a step.
        ready = prepare(
            (moving if self.derivatives == "fourier" else log).with_(notes=notes),
            cutoff_hz=light,
            order=self.order,
            derivatives=self.derivatives,
            velocity=self.velocity,
            trim=False,
            decimate=first,
            delays=self.delays(log.rate_hz, equations),
        )
        span = (float(moving.time[0]), float(moving.time[-1]))
        return Smoothed(ready.with_(notes=_filter_note(through)), through, span, chosen)


@dataclass(frozen=True)
class Extent:
    """Along k directions: the largest speed and the range (k,), and the least and largest velocity (k,)."""

    speed: np.ndarray
    range: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, several: Sequence[Extent]) -> Extent:
        """Return that of several runs together."""
        rows = [(e.speed, e.range, -e.low, e.high) for e in several]
        speed, reach, low, high = np.max(rows, axis=0)
        return cls(speed, reach, -low, high)


@dataclass(frozen=True, eq=False)
class Run:
    """One log of a fit: where it came from, what was done to it, and its rows again and again."""

    name: str
    path: str
    sha256: str
    rate_hz: float  # of the rows
    notes: tuple[str, ...]
    equations: Equations = field(repr=False)
    source: Callable[[], Iterator[Log]] = field(repr=False)
    slow: np.ndarray  # (n,) rows slower than this do not count
    through: Filter | None = None  # what rows pass; None for a log that came prepared
    span: tuple[float, float] = (-np.inf, np.inf)  # the time that counts
    ways: Mapping[str, float] = field(default_factory=dict)  # the sign of what never reverses
    again: Callable[[Cutoff], Run] | None = field(default=None, repr=False)  # the same with another cutoff
    cutoff: Cutoff | None = None  # as chosen from q
    streamed: bool = False
    recorded: int | None = None  # samples of the source, where that is known before it is read
    thinned: int = 1  # samples recorded for each row
    whole: bool = False  # whether a slow row takes its sample with it

    def extent(self, directions: np.ndarray) -> Extent:
        """Return how far and fast the beginning of a run goes along directions (k, n), and which of them never reverse."""
        low, high = np.full((2, len(directions)), np.inf), np.full((2, len(directions)), -np.inf)
        for log in self._head():
            x, xd, _ = self.equations.motion(log)
            along = np.stack([xd, x]) @ directions.T
            low, high = np.minimum(low, along.min(axis=1)), np.maximum(high, along.max(axis=1))
        least, most = low[0], high[0]
        for log in self.source():
            if not one_way(least, most).any():
                break
            along = self.equations.motion(log)[1] @ directions.T
            least, most = np.minimum(least, along.min(axis=0)), np.maximum(most, along.max(axis=0))
        return Extent(np.maximum(-low[0], high[0]), high[1] - low[1], least, most)

    def cut(self, hz: float, note: str = "") -> Run:
        """Return the run with another cutoff; the same where it was given prepared, or is too short for that one."""
        if self.again is None or self.cutoff is None:
            return self
        try:
            other = self.again(replace(self.cutoff, hz=hz, note=note or self.cutoff.note))
        except TaupiError:  # too few samples for a lower cutoff: whatever else is wrong was found with the first
            return self
        return replace(other, slow=self.slow, ways=self.ways, cutoff=self.cutoff)

    def rows(self, maker: RowMaker, head: bool = False) -> Iterator[Rows]:
        """Yield the rows that a maker makes, block by block; of the run's beginning alone, where asked."""
        logs = self._head() if head else self.source()
        samples = (samples_of(log, self.equations, self.slow, self.span, self.whole) for log in logs)
        return maker.rows(samples, self.through, self.ways)

    def _head(self) -> Iterator[Log]:
        """Yield the first samples of the time that counts, after some for the filter: a long standstill before tells nothing."""
        left = HEAD
        for log in self.source():
            if log.time[-1] < self.span[0]:
                continue
            early = int(np.searchsorted(log.time, self.span[0])) - _BEFORE if left == HEAD else 0
            rows = range(len(log))[max(early, 0) :][:left]
            yield log.rows(slice(rows.start, rows.stop)) if len(rows) < len(log) else log
            left -= len(rows)
            if left <= 0:
                return

    def to_dict(self) -> dict[str, Any]:
        """Return what is worth keeping of it, as plain data."""
        return {
            "name": self.name,
            "path": self.path,
            "sha256": self.sha256,
            "rate_hz": self.rate_hz,
            "cutoff_hz": None if self.through is None else self.through.cutoff_hz,
            "slow": self.slow.tolist(),
            "notes": list(self.notes),
        }


def open_run(
    given: Any,
    equations: Equations,
    settings: Preparation,
    columns: ColumnsLike,
    rate_hz: float | None,
    stream: bool | None,
) -> Run:
    """Return the run of a Log or of a file's path; a large file is streamed."""
    if isinstance(given, Log):
        return _whole(given, equations, settings)
    if not isinstance(given, str | os.PathLike):
        raise TaupiError(f"logs holds {shown(given)}, expected a Log or the path of a file.")
    path = Path(given)
    with naming(path):
        if to_stream(path, stream):
            return _streamed(path, equations, settings, columns, rate_hz)
        return _whole(read_log(path, equations.robot, columns, rate_hz=rate_hz), equations, settings)


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


def first_samples(
    given: Any, equations: Equations, columns: ColumnsLike, rate_hz: float | None, stream: bool | None
) -> tuple[Log, bool]:
    """Return a log as it was recorded, and whether it is all of it: of a file that is to be streamed, the first block."""
    if isinstance(given, Log):
        log, whole = given, True
    elif not isinstance(given, str | os.PathLike):
        raise TaupiError(f"logs holds {shown(given)}, expected a Log or the path of a file.")
    else:
        whole = not to_stream(Path(given), stream)
        if whole:
            log = read_log(given, equations.robot, columns, rate_hz=rate_hz)
        else:
            log = next(block_reader(given, _BLOCK, equations.robot, columns, rate_hz=rate_hz)())
    with naming(log.source.path):
        _refuse(log, equations)
    return log, whole


def to_stream(path: Path, stream: bool | None) -> bool:
    """Tell whether a file is read block by block."""
    return stream or (stream is None and path.is_file() and path.stat().st_size > STREAMED_BYTES and _streams(path))


def _refuse(log: Log, equations: Equations) -> None:
    equations.refuse(log)
    refuse_silence(log)
    refuse_slow(log)
    refuse_absurd(log)


def _streams(path: Path) -> bool:
    low = path.name.lower()
    return any(low.endswith(f.endings) and f.streams for f in FORMATS.values())


def _whole(log: Log, equations: Equations, settings: Preparation, cutoff: Cutoff | None = None) -> Run:
    _refuse(log, equations)
    made = None if is_prepared(log) else settings.smoothed(log, equations, cutoff)
    ready = made.log if made else log
    equations.motion(ready)

    def source() -> Iterator[Log]:
        for start in range(0, len(ready), _CHUNK):
            yield ready.rows(slice(start, start + _CHUNK))

    name = Path(log.source.path).name if log.source.path else "log"
    told = (name, log.source.path, log.source.sha256)
    if made is None:
        least, whole = settings.least_speeds(equations), settings.leave_out == "sample"
        return Run(*told, ready.rate_hz, ready.notes, equations, source, least, whole=whole)
    rate = made.through.rate_hz / made.through.step
    return Run(
        *told, rate, ready.notes, equations, source, settings.least_speeds(equations), made.through, made.span,
        again=lambda c: _whole(log, equations, settings, c), cutoff=made.cutoff,
        recorded=len(log), thinned=round(log.rate_hz / rate), whole=settings.leave_out == "sample",
    )  # fmt: skip


def _filter_note(through: Filter) -> str:
    kept = f", every {ordinal(through.step)} sample kept" if through.step > 1 else ""
    return f"regressor and torque filtered alike, cutoff {through.cutoff_hz:.4g} Hz{kept}"


def _streamed(
    path: Path,
    equations: Equations,
    settings: Preparation,
    columns: ColumnsLike,
    rate_hz: float | None,
    cutoff: Cutoff | None = None,
) -> Run:
    """Return a run that is read again and again; what must be chosen is chosen on the first block."""
    reader = block_reader(path, _BLOCK, equations.robot, columns, rate_hz=rate_hz)

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
        raise TaupiError(
            f"{path.name} has too few samples to be streamed.", remedy=("Use ", Argument("stream", False), ".")
        )
    equations.refuse(first)
    refuse_silence(first)
    refuse_slow(first)
    clean = clean_log(first)
    rate = 1 / mean_step(first.time)
    notes = [*first.notes, f"streamed in blocks of {_BLOCK} samples"]
    chosen = cutoff or settings.cutoff(equations.positions(clean), rate)
    notes += [f"{chosen.note}, in the first block"] if chosen.note else []
    light, step, through = settings.steps(rate, chosen.hz)
    velocity = "position" if settings.velocity == "auto" else settings.velocity

    def prepared(blocks: Iterable[Log]) -> Iterator[Log]:
        delays = settings.delays(rate, equations)
        return prepare_blocks(
            blocks, rate, light, decimate=step, order=settings.order, velocity=velocity, delays=delays
        )

    def source() -> Iterator[Log]:
        return prepared(raw())

    ready = next(iter(prepared([first])), None)
    if ready is None or ready.qd is None:
        raise TaupiError(f"{path.name}: the first block is shorter than the filter's edges.", remedy=GIVE_CUTOFF)
    notes.append(f"filtered by a zero-phase Butterworth of order {settings.order}, cutoff {light:.4g} Hz")
    notes.append(_filter_note(through))
    return Run(
        path.name, str(path), first.source.sha256, through.rate_hz / through.step, tuple(notes), equations, source,
        settings.least_speeds(equations), through, streamed=True, cutoff=chosen,
        again=lambda c: _streamed(path, equations, settings, columns, rate_hz, c),
        recorded=row_count(path), thinned=round(rate / through.rate_hz) * through.step,
        whole=settings.leave_out == "sample",
    )  # fmt: skip
