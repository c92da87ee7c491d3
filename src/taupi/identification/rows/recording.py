"""Recordings: logs as they are turned into rows of the regressor, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import overload

import numpy as np

from taupi.errors import TaupiError, ordinal
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.block_source import BlockSource
from taupi.identification.rows.preparation import ChosenCutoffs, Preparation
from taupi.identification.rows.row_maker import Filter, RowMaker, Rows, one_way, samples_of
from taupi.schema import Record
from taupi.signals.checking.standstill import MotionRows
from taupi.signals.filtering.delay import Delays, added_delays
from taupi.signals.filtering.filters import Cutoff, choose_cutoff, edge_rows, noise_bandwidth_hz
from taupi.signals.filtering.smoothing import LOCAL_DERIVATIVES
from taupi.signals.log import Log
from taupi.signals.prepare import PER_PERIOD, Smoother, measured_velocities, refuse_short, smooth_blocks
from taupi.signals.read import concatenate_logs

# Samples of a log in memory that are passed on at once.
_CHUNK = 50_000
# Before the regressor is evaluated, a log is filtered at this many times the cutoff: derivatives are good, and what the filter of
# the rows lets pass afterwards is preserved to 0.02 %.
LIGHT = 3.0
# The cutoff that q suggests, and whether a recorded velocity agrees with q, are determined from this many samples at the
# beginning of the motion, so that they are the same whether a log is streamed or not.
SEEN = 50_000
# What is chosen from rows, such as the shape of friction, is chosen on this many smoothed samples at the beginning of the motion:
# about 600 periods of the cutoff.
HEAD = 20_000
# Samples before the motion that are kept for the filter: about 30 periods of the cutoff.
_BEFORE = 1_000
_SAME_FOR_ALL = "the same for all logs"


def filter_plan(preparation: Preparation, rate_hz: float, cutoff_hz: float) -> tuple[float, int, Filter]:
    """Return the cutoff (Hz) at which a log is smoothed, the factor by which it is then decimated, and the filter of the rows."""
    light = max(cutoff_hz, min(LIGHT * cutoff_hz, 0.4 * rate_hz))
    most = max(1, int(rate_hz / (PER_PERIOD * light)))
    if preparation.decimate is None:
        first, second = most, max(1, int(rate_hz / most / (PER_PERIOD * cutoff_hz)))
    else:
        first = max(k for k in range(1, most + 1) if preparation.decimate % k == 0)
        second = preparation.decimate // first
    return light, first, Filter(rate_hz / first, cutoff_hz, preparation.order, second)


@dataclass(frozen=True)
class Extent:
    """Along k directions: the largest speed, the range, and the lowest and highest velocity, (k,) each."""

    speed: np.ndarray
    range: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, several: Sequence[Extent]) -> Extent:
        """Return the extent of several recordings together."""
        speed, reach, low, high = np.max([(e.speed, e.range, -e.low, e.high) for e in several], axis=0)
        return cls(speed, reach, -low, high)


@dataclass(frozen=True)
class LogRecord(Record):
    """What a fit records of a log.

    Attributes:
        name: The name of the file, or "log".
        path: The path of the file.
        sha256: The hash of the file.
        rate_hz: Rows per second.
        cutoff_hz: The cutoff of the filter that its rows have passed, Hz; None for a log that came prepared.
        validation_hz: The cutoff up to which its motion predicts torques, Hz, if that was chosen too.
        least_speeds: The speeds (n,) below which rows were not used.
        speeds: The largest speeds (n,) among the rows that were used, rad/s or m/s; empty if they are not known.
        notes: What was done to it, in words.
    """

    name: str
    path: str
    sha256: str
    rate_hz: float
    cutoff_hz: float | None = None
    least_speeds: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    speeds: tuple[float, ...] = ()
    validation_hz: float | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> LogRecord:
        """Return the record that `to_dict` returned as `data`; until 0.1 the speeds were called `slow`.

        Raises:
            TaupiError: A rate, a cutoff or a speed is negative or no number.
        """
        record = super().from_dict({"least_speeds": data.get("slow", ()), **data})
        cutoffs = record.cutoff_hz or 0.0, record.validation_hz or 0.0
        if not all(number >= 0 for number in (record.rate_hz, *cutoffs, *record.least_speeds, *record.speeds)):
            raise TaupiError(
                "The record of {name} has a rate, a cutoff or a speed that is negative or no number.", name=record.name
            )
        return record


@dataclass(frozen=True, eq=False)
class SmoothedBlocks:
    """The blocks of a source smoothed for a regressor, keeping every `step`-th sample; as they are if `smoother` is None.

    A log in memory is smoothed once, when it is first needed.
    """

    source: BlockSource
    smoother: Smoother | None = None
    step: int = 1

    @cached_property
    def _in_memory(self) -> tuple[Log, ...]:
        return tuple(log.rows(slice(k, k + _CHUNK)) for log in self._smooth() for k in range(0, len(log), _CHUNK))

    def __iter__(self) -> Iterator[Log]:
        return self._smooth() if self.source.streamed else iter(self._in_memory)

    def _smooth(self) -> Iterator[Log]:
        if self.smoother is None:
            yield from self.source.blocks()
            return
        # A Fourier series needs the motion alone, since it is periodic. Otherwise the log is filtered together with its
        # standstill, which is cut from the rows later: cutting it before would cause a step.
        blocks = iter([_motion_log(self.source)]) if self.smoother.derivatives == "fourier" else self.source.blocks()
        yield from smooth_blocks(blocks, self.smoother, self.step)


@dataclass(frozen=True, eq=False)
class Recording:
    """One log of a fit: its source, how it is smoothed and filtered, and which rows are used; its rows can be read repeatedly."""

    blocks: SmoothedBlocks
    layout: RowLayout = field(repr=False)
    least_speeds: np.ndarray  # (n,): slower rows are not used
    span: tuple[float, float]  # the time span that is used, s
    leave_out: str = "row"
    row_filter: Filter | None = None  # of regressor and torque; None for a log that came prepared
    cutoff: Cutoff | None = None  # the one that the user set, or that q suggests
    notes: tuple[str, ...] = ()
    one_way_signs: Mapping[str, float] = field(
        default_factory=dict
    )  # the signs of velocities that never reverse, by owner
    preparation: Preparation = field(default_factory=Preparation, repr=False)
    speeds: tuple[float, ...] = ()  # the largest speed of each row, once the rows have been made
    validation_hz: float | None = None  # the cutoff up to which its motion predicts torques, if that was chosen

    @classmethod
    def of(
        cls, source: BlockSource, layout: RowLayout, preparation: Preparation, cutoff: Cutoff | None = None
    ) -> Recording:
        """Return the recording of a source; a `cutoff` replaces the one that q suggests."""
        least = least_speeds(preparation, layout)
        if source.first.is_prepared:
            layout.motion(source.first)
            return cls(
                SmoothedBlocks(source), layout, least, source.span, preparation.leave_out, notes=source.first.notes,
                preparation=preparation,
            )  # fmt: skip
        head, rate = source.head(SEEN), source.rate_hz
        chosen = cutoff or _cutoff(layout.positions(head), rate, preparation)
        light, step, row_filter = filter_plan(preparation, rate, chosen.hz)
        # At each end, one period of each of the two filters is cut.
        refuse_short(source.samples, chosen.hz, edge_rows(rate, chosen.hz), edge_rows(rate, light))
        smoother = Smoother(
            rate,
            light,
            preparation.order,
            preparation.derivatives,
            measured_velocities(head, preparation),
            period=_period(source) if preparation.derivatives == "fourier" else None,
            delays=added_delays(head, delays_of(preparation, rate, layout)),
        )
        choices = [note for note in (source.motion.note, chosen.note) if note]
        notes = (*source.first.notes, *choices, *smoother.notes(head), _filter_note(row_filter))
        return cls(
            SmoothedBlocks(source, smoother, step), layout, least, source.span, preparation.leave_out, row_filter, chosen,
            notes, preparation=preparation,
        )  # fmt: skip

    @classmethod
    def at_cutoff(cls, source: BlockSource, layout: RowLayout, preparation: Preparation, hz: float | None) -> Recording:
        """Return the recording with a cutoff chosen for all logs, without computing what its q suggests.

        That is computed only if no cutoff is chosen (`hz` is None), or if the log is too short for it.
        """
        nearest = None if hz is None else _nearest_cutoff(source, hz)
        if nearest is None or not _long_enough(source, preparation, nearest):
            return cls.of(source, layout, preparation)
        return cls.of(source, layout, preparation, Cutoff(nearest, np.zeros(layout.robot.n), _SAME_FOR_ALL))

    @property
    def source(self) -> BlockSource:
        """The source of its blocks."""
        return self.blocks.source

    @property
    def rate_hz(self) -> float:
        """Rows per second."""
        return self.source.rate_hz if self.row_filter is None else self.row_filter.rate_hz / self.row_filter.step

    @property
    def samples_per_row(self) -> int:
        """Recorded samples per row."""
        return round(self.source.rate_hz / self.rate_hz)

    def expected_rows(self, head: bool = False) -> int:
        """Return about how many rows it has, or with `head` how many of them are in its beginning."""
        rows = self.source.samples // self.samples_per_row
        return min(rows, HEAD * self.blocks.step // self.samples_per_row) if head else rows

    @property
    def cutoff_hz(self) -> float | None:
        """The cutoff of the filter that rows pass, Hz; None for a log that came prepared."""
        return None if self.row_filter is None else self.row_filter.cutoff_hz

    @property
    def independent_share(self) -> float:
        """How many independent samples a row is worth: twice the noise bandwidth of its filter over its rate, at most 1."""
        filtering, passed = self.source.first.filtering, self.row_filter
        if passed is not None:
            width = noise_bandwidth_hz(passed.cutoff_hz, passed.order)
        elif filtering is not None and filtering.cutoff_hz is not None:
            width = noise_bandwidth_hz(filtering.cutoff_hz, filtering.order, filtering.kind == "causal")
        else:
            return 1.0
        return min(1.0, 2 * width / self.rate_hz)

    @property
    def known_torque(self) -> tuple[str, ...]:
        """The formulas of known torques: those that the log states, else those of the settings."""
        return self.source.first.known_torque or self.preparation.known_torque

    @property
    def gains(self) -> np.ndarray:
        """The factors (count,) by which recorded torques read high beside each other."""
        return self.layout.gains(self.preparation.relative_gains)

    @property
    def encoder_delays(self) -> Delays:
        """The delays (s) of q and theta that are removed."""
        smoother = self.blocks.smoother
        delays = {} if smoother is None else smoother.delays or {}
        return {name: seconds for name, seconds in delays.items() if name in ("q", "theta")}

    @property
    def log(self) -> Log:
        """The smoothed log, all blocks joined."""
        return concatenate_logs(list(self.blocks))

    @property
    def head(self) -> Log:
        """The smoothed samples whose rows `rows` yields with `head`, joined: few, however long the log is."""
        return concatenate_logs(list(self._head()))

    def extent(self, directions: np.ndarray) -> Extent:
        """Return how far and fast the beginning of the recording moves along directions (k, n).

        If some direction does not reverse there, its velocities are those of the whole recording.
        """
        low, high = np.full((2, len(directions)), np.inf), np.full((2, len(directions)), -np.inf)
        for log in self._head():
            x, xd, _ = self.layout.motion(log)
            along = np.stack([xd, x]) @ directions.T
            low, high = np.minimum(low, along.min(axis=1)), np.maximum(high, along.max(axis=1))
        least, most = low[0], high[0]
        for log in self.blocks:
            if not one_way(least, most).any():
                break
            along = self.layout.motion(log)[1] @ directions.T
            least, most = np.minimum(least, along.min(axis=0)), np.maximum(most, along.max(axis=0))
        return Extent(np.maximum(-low[0], high[0]), high[1] - low[1], least, most)

    def with_cutoff(self, hz: float, reason: str = "") -> Recording:
        """Return the recording with another cutoff, Hz; the same if it came prepared, or is too short for that cutoff."""
        if self.cutoff is None or hz == self.cutoff_hz or not _long_enough(self.source, self.preparation, hz):
            return self
        chosen = replace(self.cutoff, hz=hz, reason=reason or self.cutoff.reason)
        other = Recording.of(self.source, self.layout, self.preparation, chosen)
        return replace(other, least_speeds=self.least_speeds, one_way_signs=self.one_way_signs, cutoff=self.cutoff)

    def with_nearest_cutoff(self, hz: float, reason: str = "") -> Recording:
        """Return the recording with a cutoff, Hz, or with the nearest that it is long enough for."""
        return self.with_cutoff(_nearest_cutoff(self.source, hz), reason)

    def with_pooled_cutoffs(self, chosen: ChosenCutoffs) -> Recording:
        """Return the recording with the cutoffs chosen for all logs; the same if it came prepared."""
        if self.cutoff is None:
            return self
        recording = self.with_nearest_cutoff(chosen.fit_hz, _SAME_FOR_ALL)
        return replace(recording, validation_hz=chosen.validation_hz)

    def with_preparation(self, preparation: Preparation) -> Recording:
        """Return the recording prepared in another way, with the same cutoff and the same rows in use."""
        other = Recording.of(self.source, self.layout, preparation, self.cutoff)
        return replace(other, least_speeds=self.least_speeds, one_way_signs=self.one_way_signs)

    def beginning(self, samples: int) -> Recording:
        """Return the recording of the first recorded `samples` of its motion, in memory; the same if it came prepared.

        It is the recording itself if its derivatives need the whole record.
        """
        if self.cutoff is None or self.preparation.derivatives not in LOCAL_DERIVATIVES:
            return self
        log = self.source.head(samples)
        source = BlockSource(lambda: iter([log]), log, len(log), self.source.rate_hz, MotionRows(0, len(log), len(log)))
        # The velocities are those of the whole recording.
        preparation, smoother = self.preparation, self.blocks.smoother
        if preparation.derivatives != "recorded":
            velocity = "measured" if smoother is not None and smoother.measured else "position"
            preparation = replace(preparation, velocity=velocity)
        other = Recording.of(source, self.layout, preparation, self.cutoff)
        return replace(other, least_speeds=self.least_speeds, one_way_signs=self.one_way_signs)

    def unfiltered(self) -> Recording:
        """Return the recording without the filter of its rows, using every row."""
        every = np.zeros(len(self.least_speeds))
        return replace(self, row_filter=None, least_speeds=every, leave_out="row", span=(-np.inf, np.inf))

    def rows(self, maker: RowMaker, head: bool = False, of: Log | None = None) -> Iterator[Rows]:
        """Yield the rows that `maker` makes, block by block; with `head`, those of the beginning only.

        `of` is a smoothed log to use instead of that of the recording.
        """
        logs = [of] if of is not None else self._head() if head else self.blocks
        all_joints = self.leave_out == "sample"
        samples = (
            samples_of(log, self.layout, self.least_speeds, self.span, all_joints, self.known_torque, self.gains)
            for log in logs
        )
        return maker.rows(samples, self.row_filter, self.one_way_signs)

    @property
    def record(self) -> LogRecord:
        """What a fit records of it."""
        source = self.source.first.source
        least, facts = tuple(self.least_speeds.tolist()), (source.path, source.sha256, self.rate_hz, self.cutoff_hz)
        return LogRecord(self.source.name, *facts, least, self.notes, self.speeds, self.validation_hz)

    def _head(self) -> Iterator[Log]:
        """Yield the first `HEAD` samples of the time span used, and some before for the filter, but no long standstill."""
        start, row = None, 0
        for log in self.blocks:
            if start is None:  # of the samples, counted from the first: it must not depend on where blocks end
                rate_hz = self.source.rate_hz / self.blocks.step
                earlier = np.ceil((self.span[0] - log.time[0]) * rate_hz) if np.isfinite(self.span[0]) else 0
                start = max(int(earlier) - _BEFORE, 0)
            inside = slice(max(start - row, 0), max(start + HEAD - row, 0))
            if len(log.time[inside]):
                yield log.rows(inside)
            row += len(log)
            if row >= start + HEAD:
                return


def _nearest_cutoff(source: BlockSource, hz: float) -> float:
    """Return a cutoff, Hz, or the nearest that a log is long enough for, and that lies below its rate."""
    return min(max(hz, source.lowest_cutoff_hz), 0.4 * source.rate_hz)


def _long_enough(source: BlockSource, preparation: Preparation, cutoff_hz: float) -> bool:
    """Return whether rows are left once a period of each filter is cut at each end of a log."""
    light, _, _ = filter_plan(preparation, source.rate_hz, cutoff_hz)
    edges = edge_rows(source.rate_hz, cutoff_hz) + edge_rows(source.rate_hz, light)
    return source.samples > 2 * edges + 8


def delays_of(preparation: Preparation, rate_hz: float, layout: RowLayout) -> dict[str, float | tuple[float, ...]]:
    """Return the delays (s) of a log's signals that settings state, by name: a held torque is early by half a sample."""
    held: dict[str, float | tuple[float, ...]] = {"tau": -0.5 / rate_hz} if preparation.torque == "held" else {}
    return held | encoder_delays(preparation, layout)


def encoder_delays(preparation: Preparation, layout: RowLayout) -> dict[str, float | tuple[float, ...]]:
    """Return the delays (s) of q and of theta that settings state: for an elastic joint, that of the late encoder."""
    if preparation.encoder_delay is None:
        return {}
    if not layout.sprung:
        return {"q": preparation.encoder_delay}
    late = np.asarray(preparation.encoder_delay, dtype=float)
    sides = {"theta": np.maximum(late, 0.0), "q": np.maximum(-late, 0.0)}
    return {name: tuple(d.tolist()) if d.ndim else float(d) for name, d in sides.items() if d.any()}


def least_speeds(preparation: Preparation, layout: RowLayout) -> np.ndarray:
    """Return the speed below which each row is not used: the threshold for rows of motors, 0 for links behind springs."""
    speeds, n = np.asarray(preparation.threshold or 0.0, dtype=float), layout.robot.n
    if speeds.shape not in ((), (n,)):
        raise TaupiError(
            "{threshold} is {got!r}, expected a speed of at least 0, or one for each of {n} joints.",
            got=preparation.threshold,
            n=n,
        )
    return layout.on_motors(np.broadcast_to(speeds, n))


def _cutoff(q: np.ndarray, rate_hz: float, preparation: Preparation) -> Cutoff:
    """Return the cutoff that the user set, or the one that q suggests."""
    if preparation.cutoff_hz is None:
        return choose_cutoff(q, rate_hz)
    return Cutoff(preparation.cutoff_hz, np.zeros(q.shape[1]), "")


def _motion_log(source: BlockSource) -> Log:
    """Return the log of a source in memory, without the standstill at its ends."""
    (log,) = source.blocks()
    return log.rows(slice(source.motion.start, source.motion.stop))


def _period(source: BlockSource) -> float:
    from taupi.signals.filtering.periodic import period_of

    return period_of(_motion_log(source), None)


def _filter_note(row_filter: Filter) -> str:
    kept = f", every {ordinal(row_filter.step)} sample kept" if row_filter.step > 1 else ""
    return f"regressor and torque filtered alike, cutoff {row_filter.cutoff_hz:.4g} Hz{kept}"


# As many as a verdict examines.
_KEPT = 12


class OnDemand(Sequence[Recording]):
    """A sequence of `count` recordings; the function `opened` returns the one with an index, and a few are kept."""

    def __init__(self, count: int, opened: Callable[[int], Recording]) -> None:
        self._count = count
        self._opened = lru_cache(maxsize=_KEPT)(opened)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Recording: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Recording]: ...

    def __getitem__(self, index: int | slice) -> Recording | Sequence[Recording]:
        if isinstance(index, slice):
            return [self._opened(k) for k in range(*index.indices(self._count))]
        return self._opened(range(self._count)[index])
