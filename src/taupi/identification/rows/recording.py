"""Recordings: logs on their way to rows of the regressor, block by block, each remembering where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, ordinal, shown
from taupi.identification.equations import Equations
from taupi.identification.rows.block_source import BlockSource, joined
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.row_maker import Filter, RowMaker, Rows
from taupi.identification.rows.samples import one_way, samples_of
from taupi.signals.filters import Cutoff, choose_cutoff, edge_rows
from taupi.signals.log import Log
from taupi.signals.periodic import period_of
from taupi.signals.prepare import PER_PERIOD, Smoother, measured_velocities, refuse_short, smooth_blocks

# Samples handed on at once of a log that is in memory.
_CHUNK = 50_000
# A log is smoothed with so many times the cutoff before the regressor is evaluated: good derivatives, and all that the filter
# lets pass afterwards is in it, to 0.02 %.
LIGHT = 3.0
# The cutoff that q suggests, and whether a recorded velocity agrees with q, are seen from so many samples of the motion, its
# first: the same whether a log is streamed or not.
SEEN = 50_000
# What is chosen by looking at rows, such as the shape of friction, is chosen on so many smoothed samples, the first: some 600
# periods of the cutoff.
HEAD = 20_000
# Samples of a standstill before the motion that are left for the filter: some 30 periods of the cutoff.
_BEFORE = 1_000


def filter_plan(preparation: Preparation, rate_hz: float, cutoff_hz: float) -> tuple[float, int, Filter]:
    """Return the cutoff (Hz) at which a log is smoothed, of how many samples one is then kept, and the filter of the rows."""
    light = max(cutoff_hz, min(LIGHT * cutoff_hz, 0.4 * rate_hz))
    most = max(1, int(rate_hz / (PER_PERIOD * light)))
    if preparation.decimate is None:
        first, then = most, max(1, int(rate_hz / most / (PER_PERIOD * cutoff_hz)))
    else:
        first = max(k for k in range(1, most + 1) if preparation.decimate % k == 0)
        then = preparation.decimate // first
    return light, first, Filter(rate_hz / first, cutoff_hz, preparation.order, then)


@dataclass(frozen=True)
class Extent:
    """Along k directions: the largest speed and the range (k,), and the least and largest velocity (k,)."""

    speed: np.ndarray
    range: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, several: Sequence[Extent]) -> Extent:
        """Return that of several recordings together."""
        rows = [(e.speed, e.range, -e.low, e.high) for e in several]
        speed, reach, low, high = np.max(rows, axis=0)
        return cls(speed, reach, -low, high)


@dataclass(frozen=True)
class LogRecord:
    """What a fit remembers of a log: the file and its hash, rows per second, the cutoff (Hz) of the filter that its rows have
    passed, None for a log that came prepared, the speeds (n,) below which rows did not count, and what was done to it."""

    name: str
    path: str
    sha256: str
    rate_hz: float
    cutoff_hz: float | None = None
    slow: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "slow": list(self.slow), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LogRecord:
        """Return what `to_dict` gave."""
        return cls(**{**data, "slow": tuple(data.get("slow", ())), "notes": tuple(data.get("notes", ()))})


@dataclass(frozen=True, eq=False)
class SmoothedBlocks:
    """The blocks of a source ready for a regressor, every `step`-th sample kept; as they are where there is no `smoother`.

    Those of a log in memory are made once.
    """

    source: BlockSource
    smoother: Smoother | None = None
    step: int = 1

    def __iter__(self) -> Iterator[Log]:
        return self._made() if self.source.streamed else iter(self._kept)

    @cached_property
    def _kept(self) -> list[Log]:
        chunks = ((log, range(0, len(log), _CHUNK)) for log in self._made())
        return [log.rows(slice(start, start + _CHUNK)) for log, starts in chunks for start in starts]

    def _made(self) -> Iterator[Log]:
        if self.smoother is None:
            yield from self.source.blocks()
            return
        # A series has the period of the motion; everything else passes the filter with its standstill, which is cut from the
        # rows: a cut before would be a step.
        blocks = iter([_moving(self.source)]) if self.smoother.derivatives == "fourier" else self.source.blocks()
        yield from smooth_blocks(blocks, self.smoother, self.step)


@dataclass(frozen=True, eq=False)
class Recording:
    """One log of a fit: its source, how it is smoothed and filtered, which rows count, and its rows again and again.

    Rows pass the filter `through`, None for a log that came prepared. `cutoff` is the one that q suggests, or that was asked for.
    """

    blocks: SmoothedBlocks
    equations: Equations = field(repr=False)
    slow: np.ndarray  # (n,) rows slower than this do not count
    span: tuple[float, float]  # the time that counts
    leave_out: str = "row"
    through: Filter | None = None
    cutoff: Cutoff | None = None
    notes: tuple[str, ...] = ()
    ways: Mapping[str, float] = field(default_factory=dict)  # the sign of what never reverses, by owner
    preparation: Preparation = field(default_factory=Preparation, repr=False)

    @classmethod
    def of(
        cls, source: BlockSource, equations: Equations, preparation: Preparation, cutoff: Cutoff | None = None
    ) -> Recording:
        """Return the recording of a source; a `cutoff` replaces the one that q suggests."""
        slow = least_speeds(preparation, equations)
        if source.first.is_prepared:
            equations.motion(source.first)
            return cls(
                SmoothedBlocks(source), equations, slow, source.span, preparation.leave_out, notes=source.first.notes,
                preparation=preparation,
            )  # fmt: skip
        head, rate = source.head(SEEN), source.rate_hz
        chosen = cutoff or _cutoff(equations.positions(head), rate, preparation)
        light, step, through = filter_plan(preparation, rate, chosen.hz)
        # A period of each filter is cut at each end: of the one that smooths, and of the rows' own.
        refuse_short(source.samples, chosen.hz, edge_rows(rate, chosen.hz), edge_rows(rate, light))
        smoother = Smoother(
            rate,
            light,
            preparation.order,
            preparation.derivatives,
            measured_velocities(head, preparation),
            period=period_of(_moving(source), None) if preparation.derivatives == "fourier" else None,
            delays=delays_of(preparation, rate, equations),
        )
        chosen_notes = [note for note in (source.motion.note, chosen.note) if note]
        notes = (*source.first.notes, *chosen_notes, *smoother.notes(head), _filter_note(through))
        return cls(
            SmoothedBlocks(source, smoother, step), equations, slow, source.span, preparation.leave_out, through, chosen, notes,
            preparation=preparation,
        )  # fmt: skip

    @property
    def source(self) -> BlockSource:
        """Where it comes from."""
        return self.blocks.source

    @property
    def rate_hz(self) -> float:
        """Rows per second."""
        return self.source.rate_hz if self.through is None else self.through.rate_hz / self.through.step

    @property
    def thinned(self) -> int:
        """Samples recorded for each row."""
        return round(self.source.rate_hz / self.rate_hz)

    @property
    def cutoff_hz(self) -> float | None:
        """The cutoff of the filter that rows pass; None for a log that came prepared."""
        return None if self.through is None else self.through.cutoff_hz

    @property
    def log(self) -> Log:
        """All samples ready for a regressor, at once."""
        return joined(list(self.blocks))

    def extent(self, directions: np.ndarray) -> Extent:
        """Return how far and fast the beginning of a recording goes along directions (k, n), and which never reverse."""
        low, high = np.full((2, len(directions)), np.inf), np.full((2, len(directions)), -np.inf)
        for log in self._head():
            x, xd, _ = self.equations.motion(log)
            along = np.stack([xd, x]) @ directions.T
            low, high = np.minimum(low, along.min(axis=1)), np.maximum(high, along.max(axis=1))
        least, most = low[0], high[0]
        for log in self.blocks:
            if not one_way(least, most).any():
                break
            along = self.equations.motion(log)[1] @ directions.T
            least, most = np.minimum(least, along.min(axis=0)), np.maximum(most, along.max(axis=0))
        return Extent(np.maximum(-low[0], high[0]), high[1] - low[1], least, most)

    def with_cutoff(self, hz: float, note: str = "") -> Recording:
        """Return the recording with another cutoff; the same where it came prepared, or is too short for that one."""
        if self.cutoff is None or hz == self.cutoff_hz:
            return self
        try:
            chosen = replace(self.cutoff, hz=hz, note=note or self.cutoff.note)
            other = Recording.of(self.source, self.equations, self.preparation, chosen)
        except TaupiError:  # too few samples for a lower cutoff: whatever else is wrong was said of the first
            return self
        return replace(other, slow=self.slow, ways=self.ways, cutoff=self.cutoff)

    def unfiltered(self) -> Recording:
        """Return the recording without the filter of its rows, every row counting."""
        return replace(self, through=None, slow=np.zeros(len(self.slow)), leave_out="row", span=(-np.inf, np.inf))

    def rows(self, maker: RowMaker, head: bool = False) -> Iterator[Rows]:
        """Yield the rows that a maker makes, block by block; of the beginning alone, where asked."""
        logs = self._head() if head else self.blocks
        entire = self.leave_out == "sample"
        samples = (samples_of(log, self.equations, self.slow, self.span, entire) for log in logs)
        return maker.rows(samples, self.through, self.ways)

    @property
    def record(self) -> LogRecord:
        """What is worth keeping of it."""
        source = self.source.first.source
        slow = tuple(self.slow.tolist())
        return LogRecord(self.source.name, source.path, source.sha256, self.rate_hz, self.cutoff_hz, slow, self.notes)

    def _head(self) -> Iterator[Log]:
        """Yield the first samples of the time that counts, after some for the filter: a long standstill before tells nothing."""
        left = HEAD
        for log in self.blocks:
            if log.time[-1] < self.span[0]:
                continue
            early = int(np.searchsorted(log.time, self.span[0])) - _BEFORE if left == HEAD else 0
            rows = range(len(log))[max(early, 0) :][:left]
            yield log.rows(slice(rows.start, rows.stop)) if len(rows) < len(log) else log
            left -= len(rows)
            if left <= 0:
                return


def delays_of(preparation: Preparation, rate_hz: float, equations: Equations) -> dict[str, Any]:
    """Return by how many seconds signals of a log are late, by name: a torque that is held is early by half a sample."""
    delays: dict[str, Any] = {"tau": -0.5 / rate_hz} if preparation.torque == "held" else {}
    if preparation.encoder_delay is not None and equations.sprung:
        delays["theta"] = preparation.encoder_delay
    return delays


def least_speeds(preparation: Preparation, equations: Equations) -> np.ndarray:
    """Return the speed below which each row does not count: the threshold where motors act, 0 for links behind springs."""
    speeds, n = np.asarray(preparation.threshold or 0.0, dtype=float), equations.robot.n
    if speeds.shape not in ((), (n,)):
        raise TaupiError(
            Argument("threshold"),
            f" is {shown(preparation.threshold)}, expected a speed of at least 0, or one for each of {n} joints.",
        )
    return equations.on_motors(np.broadcast_to(speeds, n))


def _cutoff(q: np.ndarray, rate_hz: float, preparation: Preparation) -> Cutoff:
    """Return the cutoff that was asked for, else the one that q suggests."""
    if preparation.cutoff_hz is None:
        return choose_cutoff(q, rate_hz)
    return Cutoff(preparation.cutoff_hz, np.zeros(q.shape[1]), "")


def _moving(source: BlockSource) -> Log:
    """Return a log that is in memory, without the standstill at its ends."""
    (log,) = source.blocks()
    return log.rows(slice(source.motion.start, source.motion.stop))


def _filter_note(through: Filter) -> str:
    kept = f", every {ordinal(through.step)} sample kept" if through.step > 1 else ""
    return f"regressor and torque filtered alike, cutoff {through.cutoff_hz:.4g} Hz{kept}"
