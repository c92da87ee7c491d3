"""From a recorded log to the signals a regressor needs: q, qd, qdd and tau that have passed the same filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from taupi.checks import one_of, positive
from taupi.errors import TaupiError
from taupi.settings import settle, without_none
from taupi.signals.checking import rules
from taupi.signals.checking.clean import clean_log
from taupi.signals.checking.rules import EFFORTS
from taupi.signals.checking.standstill import trim_standstill
from taupi.signals.filtering.block_filter import smoothed_stream
from taupi.signals.filtering.delay import Delays, added_delays, without_delays
from taupi.signals.filtering.derivatives import backward, central, quintic, spline
from taupi.signals.filtering.filters import (
    butterworth,
    check_cutoff,
    choose_cutoff,
    edge_rows,
    overlapping_pieces,
    settle_rows,
)
from taupi.signals.filtering.smoothing import LOCAL_DERIVATIVES, BlockOptions, Smoothing, SmoothingDetails
from taupi.signals.log import Filtering, Log

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Samples kept per period of the cutoff: enough for every detail that the filter leaves, few enough to be almost independent.
PER_PERIOD = 10
# A position with its derivatives, on the joint side and on the motor side.
_SIDES = (("q", "qd", "qdd"), ("theta", "thetad", "thetadd"))
FILTERINGS = ("zero-phase", "causal", "none")
_TORQUES = (*EFFORTS, "tau_known")
# Without a filter, the ends are inaccurate over as many samples as differences reach.
_REACH = 3
_DIFFERENCES = {"central": central, "backward": backward}


@dataclass(frozen=True)
class Smoother:
    """Filters and differentiates a uniform log: all of it, or a block with its neighbours.

    `measured` names the positions whose recorded velocity is used; `delays` are removed first. Everything else is as in
    `taupi.prepare`.
    """

    rate_hz: float
    cutoff_hz: float
    order: int
    derivatives: str
    measured: tuple[str, ...] = ()
    filtering: str = "zero-phase"
    period: float | None = None
    delays: Delays | None = None

    def __post_init__(self) -> None:
        if self.filtering != "none":
            check_cutoff(self.rate_hz, self.cutoff_hz)

    @property
    def edge(self) -> int:
        """How many samples at each end of a record are less accurate than the rest: one period of the cutoff."""
        return edge_rows(self.rate_hz, self.cutoff_hz)

    @property
    def reach(self) -> int | None:
        """How many neighbours on each side a sample depends on, to 1e-12; None if it depends on the whole record."""
        if self.derivatives not in LOCAL_DERIVATIVES:
            return None
        delay = max((float(np.abs(d).max()) for d in (self.delays or {}).values()), default=0.0)
        return settle_rows(self.rate_hz, self.cutoff_hz, self.order) + 4 + int(np.ceil(delay * self.rate_hz))

    def __call__(self, log: Log) -> Log:
        """Return the log with every signal filtered and every position differentiated twice."""
        log = without_delays(log, self.delays) if self.delays else log
        signals = {name: self._filter(log.signals[name]) for name in _TORQUES if name in log.signals}
        for side in _SIDES:
            if side[0] in log.signals:
                signals |= dict(zip(side, self._differentiate(log, side), strict=True))
        return log.with_(**signals, notes=self.notes(log), filtering=self.record, delays={})

    def derived_signals(self, log: Log) -> dict[str, tuple[str, ...]] | None:
        """Return what each signal of a log becomes when it is filtered: itself and its derivatives.

        None if they are not made by a zero-phase filter and central differences.
        """
        if self.delays or self.filtering != "zero-phase" or self.derivatives not in ("central", "recorded"):
            return None
        derived: dict[str, tuple[str, ...]] = {name: (name,) for name in _TORQUES if name in log.signals}
        for side in _SIDES:
            if side[0] not in log.signals:
                continue
            if self.derivatives == "recorded":
                log.need(*side)
                derived |= {name: (name,) for name in side}
            elif side[0] in self.measured:
                log.need(side[1])
                derived |= {side[0]: side[:1], side[1]: side[1:]}
            else:
                derived[side[0]] = side
        return derived

    @property
    def record(self) -> Filtering:
        """How it filters and differentiates, as the log records it."""
        return Filtering(
            self.filtering, None if self.filtering == "none" else self.cutoff_hz, self.order, self.derivatives
        )

    def notes(self, log: Log) -> list[str]:
        """Return notes on what is done to a log with these signals."""
        return [self.record.note, *(self._derivative_note(*side) for side in _SIDES if side[0] in log.signals)]

    def _filter(self, x: np.ndarray) -> np.ndarray:
        if self.filtering == "none":
            return x
        return butterworth(x, self.rate_hz, self.cutoff_hz, self.order, self.filtering == "causal")

    def _differentiate(self, log: Log, side: tuple[str, str, str]) -> tuple[np.ndarray, ...]:
        """Return a position with its two derivatives."""
        (x, xd, _), rate = side, self.rate_hz
        value = log.signals[x]
        if self.derivatives == "recorded":
            return tuple(self._filter(v) for v in log.need(*side))
        if x in self.measured:
            speed = self._filter(*log.need(xd))
            return self._filter(value), speed, central(speed, rate)[0]
        if self.derivatives in _DIFFERENCES:
            smooth = self._filter(value)
            return smooth, *_DIFFERENCES[self.derivatives](smooth, rate)
        if self.derivatives == "spline":
            return spline(value, rate)
        if self.derivatives == "quintic":
            return quintic(value, rate, 2 * self.cutoff_hz)
        assert self.period is not None
        from taupi.signals.filtering.periodic import fourier

        return fourier(value, rate, self.period)

    def _derivative_note(self, x: str, xd: str, xdd: str) -> str:
        if self.derivatives == "recorded":
            return f"{xd}, {xdd} as recorded"
        if x in self.measured:
            return f"{xd} as measured, {xdd} by its central differences"
        methods = {
            "spline": f"smoothing splines of {x}",
            "quintic": f"quintic splines of {x}, {2 * self.cutoff_hz:.4g} knots per second",
            "fourier": f"a Fourier series of {x}, period {self.period or 0:.6g} s",
        }
        return f"{xd}, {xdd} by {methods.get(self.derivatives, f'{self.derivatives} differences of {x}')}"


def measured_velocities(log: Log, settings: Smoothing) -> tuple[str, ...]:
    """Return the positions of a log whose recorded velocity is to be used: all if requested, else those that agree with it."""
    if settings.velocity != "auto":
        return tuple(x for x, _, _ in _SIDES if x in log.signals) if settings.velocity == "measured" else ()
    if settings.derivatives != "central":
        return ()
    return tuple(x for x, xd, _ in _SIDES if {x, xd} <= log.signals.keys() and _agrees(log, x, xd))


def _agrees(log: Log, x: str, xd: str) -> bool:
    errors, _ = rules.disagreement(log.time, log.signals[x], log.signals[xd])
    return bool((errors <= rules.DISAGREES).all())


def prepare(
    log: Log,
    cutoff_hz: float | None = None,
    *,
    smoothing: Smoothing | None = None,
    score: Callable[[float], float] | None = None,
    filtering: str = "zero-phase",
    period: float | None = None,
    rate_hz: float | None = None,
    delays: Delays | None = None,
    **options: Unpack[SmoothingDetails],
) -> Log:
    """Return the `log` ready for a regressor: q, qd, qdd and tau filtered alike, so that F(tau) = F(Y) pi.

    Steps, in this order: clean the log (`clean_log`); cut off the standstill at both ends; choose a cutoff from the spectrum of
    q, if none is given; filter q and all efforts by the same Butterworth filter; differentiate q by `derivatives`; cut one period
    of the cutoff at each end; keep every `decimate`-th sample. The motor side, if there is one, is treated in the same way.

    Args:
        log: The log.
        cutoff_hz: The cutoff of the filter, Hz; chosen by `choose_cutoff` by default.
        smoothing: How the log is smoothed, whole; the defaults of `taupi.Smoothing` otherwise.
        score: Rates cutoffs (Hz) for `choose_cutoff`, smaller is better; by default the spectrum of q alone decides.
        filtering: "zero-phase" by default; "causal" filters forwards only, as a controller does, and "none" not at all. Splines
            and series smooth q themselves, so that it then applies to the efforts only.
        period: The period of a "fourier" series, s; found by `find_period` by default.
        rate_hz: The rate of the grid of `clean_log`, Hz; by default that of the mean step.
        delays: Seconds by which signals are shifted earlier first, such as {"theta": 0.002}; none by default. A torque that is
            held from sample to sample has a delay of minus half a sample.
        **options: Fields of `taupi.Smoothing` instead, except the cutoff.

    Returns:
        The log with q, qd, qdd and filtered efforts; each step has a line in its `notes`.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(4000) / 1000
    >>> noise = np.random.default_rng(0).normal(size=(2, 4000, 1))
    >>> q = np.sin(2 * np.pi * t)[:, None]
    >>> log = tp.prepare(tp.Log(t, q + 1e-5 * noise[0], tau=-q + 0.1 * noise[1]), cutoff_hz=10)
    >>> bool(np.abs(log.qdd + 4 * np.pi**2 * np.sin(2 * np.pi * log.time)[:, None]).max() < 0.5)
    True
    >>> print(*log.notes, sep="\\n")
    filtered by a zero-phase Butterworth of order 4, cutoff 10 Hz
    qd, qdd by central differences of q
    cut 100 samples at each end, where the filter is less accurate
    kept every 10th sample
    """
    (settings,) = settle(prepare, {**options, **without_none(cutoff_hz=cutoff_hz)}, (Smoothing, smoothing))
    one_of(FILTERINGS)("filtering", filtering)
    derivatives = settings.derivatives
    log = clean_log(log, rate_hz=rate_hz, gaps=settings)
    if settings.trim:
        log = trim_standstill(log)
    rate, cutoff_hz = log.rate_hz, settings.cutoff_hz
    needs_cutoff = filtering != "none" or derivatives == "quintic"
    if cutoff_hz is None and needs_cutoff:
        choice = choose_cutoff(log.q, rate, score)
        cutoff_hz, log = choice.hz, log.with_(notes=choice.note)
    cutoff = rate / 2 if cutoff_hz is None else cutoff_hz
    edge = edge_rows(rate, cutoff) if needs_cutoff else 0 if derivatives == "recorded" else _REACH
    refuse_short(len(log), cutoff, edge)
    if derivatives == "fourier":
        from taupi.signals.filtering.periodic import period_of

        period = period_of(log, period)
    measured = measured_velocities(log, settings)
    shifts = added_delays(log, delays or {})
    log = Smoother(rate, cutoff, settings.order, derivatives, measured, filtering, period, shifts)(log)
    if edge:
        log = log.rows(
            slice(edge, len(log) - edge), f"cut {edge} samples at each end, where the filter is less accurate"
        )
    return log.decimate(_decimation(settings, rate, cutoff))


def refuse_short(samples: int, cutoff_hz: float, edge: int, more: int = 0) -> None:
    """Refuse a log of which nothing remains after `edge` samples, and `more` for another filter, are cut at each end."""
    if samples <= 2 * (edge + more) + 8:
        raise TaupiError(
            "log has {samples} samples, too few for a cutoff of {cutoff_hz:.3g} Hz: {edge} are cut at each end.",
            samples=samples,
            cutoff_hz=cutoff_hz,
            edge=edge,
        )


# Blocks that are uniform and complete have no gaps, and a standstill at the ends is seen in the whole record only.
_OF_WHOLE_RECORDS = ("trim", "short_gap", "long_gaps")


def prepare_blocks(
    blocks: Iterable[Log],
    rate_hz: float,
    cutoff_hz: float | None = None,
    *,
    delays: Delays | None = None,
    smoothing: Smoothing | None = None,
    **options: Unpack[BlockOptions],
) -> Iterator[Log]:
    """Yield the `blocks` of a long log ready for a regressor, as if it had been prepared as a whole; memory holds one block.

    Each block is filtered by a zero-phase Butterworth filter and differentiated as by `prepare`, together with as many neighbours
    on both sides as the filter remembers (about ten periods of the cutoff), which are then dropped. One period is cut at both
    ends of the record. `derivatives` of the whole record are refused.

    Args:
        blocks: Consecutive parts of the log, complete, in order and uniform in time.
        rate_hz: Samples per second, Hz.
        cutoff_hz: The cutoff of the filter, Hz; chosen from the first block by default.
        delays: As in `prepare`.
        smoothing: How blocks are smoothed, whole; the defaults of `taupi.Smoothing` otherwise.
        **options: Fields of `taupi.Smoothing` instead: `decimate`, `order`, `derivatives`, `velocity`.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(5000) / 100
    >>> log = tp.Log(t, np.sin(t)[:, None])
    >>> pieces = [log.rows(slice(a, a + 1000)) for a in range(0, 5000, 1000)]
    >>> qdd = np.concatenate([b.qdd for b in tp.signals.prepare_blocks(pieces, 100, 5)])
    >>> bool(np.abs(qdd - tp.prepare(log, cutoff_hz=5, trim=False).qdd).max() < 1e-8)
    True
    """
    fields = {**options, **without_none(cutoff_hz=cutoff_hz)}
    (settings,) = settle(prepare_blocks, fields, (Smoothing, smoothing), without=_OF_WHOLE_RECORDS)
    rate = positive("rate_hz", rate_hz)
    one_of(LOCAL_DERIVATIVES)("derivatives", settings.derivatives)
    checked = _checked_blocks(blocks, rate)
    first = next(checked, None)
    if first is None:
        return
    cutoff = choose_cutoff(first.q, rate).hz if settings.cutoff_hz is None else settings.cutoff_hz
    measured = measured_velocities(first, settings)
    shifts = added_delays(first, delays or {})
    smoother = Smoother(rate, cutoff, settings.order, settings.derivatives, measured, delays=shifts)
    yield from smooth_blocks(chain([first], checked), smoother, _decimation(settings, rate, cutoff))


def _decimation(settings: Smoothing, rate_hz: float, cutoff_hz: float) -> int:
    """Return the n for which every n-th sample is kept: by default ten samples per period of the cutoff are left."""
    return max(1, int(rate_hz / (PER_PERIOD * cutoff_hz))) if settings.decimate is None else settings.decimate


def smooth_blocks(blocks: Iterable[Log], smoother: Smoother, decimate: int = 1) -> Iterator[Log]:
    """Yield smoothed blocks, without the edges of the record, keeping every `decimate`-th sample.

    For a smoother that needs the whole record (`reach` is None), `blocks` must be a single block.
    """
    blocks = iter(blocks)
    first = next(blocks, None)
    if first is None:
        return
    blocks, derived = chain([first], blocks), smoother.derived_signals(first)
    if derived is not None:
        record = {"notes": smoother.notes(first), "filtering": smoother.record, "delays": {}}
        rate, cutoff, order = smoother.rate_hz, smoother.cutoff_hz, smoother.order
        for log in smoothed_stream(blocks, rate, cutoff, order, smoother.edge, decimate, derived):
            yield log.with_(**record)
        return
    row, pending = 0, None
    for piece, keep in _with_neighbours(blocks, smoother.reach):
        log = smoother(piece).rows(keep)
        # Only when no further piece comes is the end of the record known, so each piece waits for the next.
        if pending is not None:
            yield from _decimated(*pending, smoother.edge, decimate, None)
        pending, row = (log, row), row + len(log)
    if pending is not None:
        yield from _decimated(*pending, smoother.edge, decimate, row)


def _checked_blocks(blocks: Iterable[Log], rate_hz: float) -> Iterator[Log]:
    """Yield blocks after checking that each is uniform at `rate_hz` and has the signals of the first."""
    names: list[str] = []
    for block in blocks:
        steps = np.diff(block.time)
        if len(steps) and np.abs(steps * rate_hz - 1).max() > 1e-3:
            worst = int(np.argmax(np.abs(steps * rate_hz - 1)))
            raise TaupiError(
                "time steps by {step:.6g} s at {time:.6g} s, expected {expected:.6g} s. Clean the log first.",
                step=steps[worst],
                time=block.time[worst],
                expected=1 / rate_hz,
            )
        names = names or list(block.signals)
        if list(block.signals) != names:
            raise TaupiError(
                "a block has the signals {signals:,}, expected {names:,} as in the first.",
                signals=block.signals,
                names=names,
            )
        yield block


def _with_neighbours(blocks: Iterable[Log], reach: int | None) -> Iterator[tuple[Log, slice]]:
    """Yield pieces of a log with up to `reach` neighbours on both sides, and the slice of each piece without them."""
    if reach is None:
        (log,) = blocks
        yield log, slice(0, len(log))
        return
    first: list[Log] = []

    def arrays() -> Iterator[np.ndarray]:
        for block in blocks:
            first[:] = first or [block]
            yield np.concatenate([block.time[:, None], *block.signals.values()], axis=1)

    for piece, keep in overlapping_pieces(arrays(), reach):
        n = first[0].n
        signals = {name: piece[:, 1 + k * n : 1 + (k + 1) * n] for k, name in enumerate(first[0].signals)}
        yield first[0].with_(time=piece[:, 0], **signals), keep


def _decimated(log: Log, row: int, edge: int, decimate: int, end: int | None) -> Iterator[Log]:
    """Yield the samples to keep of a piece that begins at `row` of the record: every `decimate`-th, counted from the first edge.

    `end` is the number of rows of the record, for its last piece.
    """
    start = max(row, edge)
    start += (edge - start) % decimate
    stop = row + len(log) if end is None else min(row + len(log), end - edge)
    if start < stop:
        yield log.rows(slice(start - row, stop - row, decimate))
