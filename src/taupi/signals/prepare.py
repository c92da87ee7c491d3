"""From a log as it was recorded to signals for a regressor: q, qd, qdd and tau that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from taupi.checks import one_of, positive, whole_number
from taupi.errors import TaupiError
from taupi.settings import takes
from taupi.signals import rules
from taupi.signals.clean import clean_log
from taupi.signals.delay import Delays, without_delays
from taupi.signals.derivatives import backward, central, quintic, spline
from taupi.signals.filters import butterworth, check_cutoff, choose_cutoff, edge_rows, overlapped, settle_rows
from taupi.signals.log import Filtering, Log
from taupi.signals.periodic import fourier, period_of
from taupi.signals.rules import EFFORTS
from taupi.signals.smoothing import LOCAL_DERIVATIVES, Smoothing
from taupi.signals.standstill import trim_standstill

# Samples that are kept per period of the cutoff: enough for every detail that is left, few enough to be almost independent.
PER_PERIOD = 10
# A position with its derivatives, on the side of the joints and on that of the motors.
_SIDES = (("q", "qd", "qdd"), ("theta", "thetad", "thetadd"))
FILTERINGS = ("zero-phase", "causal", "none")
# Without a filter the ends are less sure by as many samples as differences reach.
_REACH = 3
_DIFFERENCES = {"central": central, "backward": backward}


@dataclass(frozen=True)
class Smoother:
    """Filters a stretch of a uniform log and differentiates it: a log at once, or a block with its neighbours.

    `measured` are the positions whose recorded velocity is taken, `delays` what is brought forward first. Everything else is as
    in `taupi.prepare`.
    """

    rate_hz: float
    cutoff_hz: float
    order: int = 4
    derivatives: str = "central"
    measured: tuple[str, ...] = ()
    filtering: str = "zero-phase"
    period: float | None = None
    delays: Delays | None = None

    def __post_init__(self) -> None:
        if self.filtering != "none":
            check_cutoff(self.rate_hz, self.cutoff_hz)

    @property
    def edge(self) -> int:
        """How many samples at each end of a record are less sure than the rest: a period of the cutoff."""
        return edge_rows(self.rate_hz, self.cutoff_hz)

    @property
    def reach(self) -> int | None:
        """How many neighbours decide about a sample, to 1e-12; None where the whole record does."""
        if self.derivatives not in LOCAL_DERIVATIVES:
            return None
        late = max((float(np.abs(d).max()) for d in (self.delays or {}).values()), default=0.0)
        return settle_rows(self.rate_hz, self.cutoff_hz, self.order) + 4 + int(np.ceil(late * self.rate_hz))

    def __call__(self, log: Log) -> Log:
        """Return the log with every signal filtered and every position differentiated."""
        log = without_delays(log, self.delays) if self.delays else log
        signals = {name: self._filtered(log.signals[name]) for name in EFFORTS if name in log.signals}
        for side in _SIDES:
            if side[0] in log.signals:
                signals |= dict(zip(side, self._differentiated(log, side), strict=True))
        return log.with_(**signals, notes=self.notes(log), filtering=self.record)

    @property
    def record(self) -> Filtering:
        """What a log says that has been through it."""
        return Filtering(
            self.filtering, None if self.filtering == "none" else self.cutoff_hz, self.order, self.derivatives
        )

    def notes(self, log: Log) -> list[str]:
        """Return in words what is done to a log with these signals."""
        return [self.record.note, *(self._how(*side) for side in _SIDES if side[0] in log.signals)]

    def _filtered(self, x: np.ndarray) -> np.ndarray:
        if self.filtering == "none":
            return x
        return butterworth(x, self.rate_hz, self.cutoff_hz, self.order, self.filtering == "causal")

    def _differentiated(self, log: Log, side: tuple[str, str, str]) -> tuple[np.ndarray, ...]:
        """Return a position with its two derivatives."""
        (x, xd, _), rate = side, self.rate_hz
        value = log.signals[x]
        if self.derivatives == "recorded":
            return tuple(self._filtered(v) for v in log.need(*side))
        if x in self.measured:
            speed = self._filtered(*log.need(xd))
            return self._filtered(value), speed, central(speed, rate)[0]
        if self.derivatives in _DIFFERENCES:
            smooth = self._filtered(value)
            return smooth, *_DIFFERENCES[self.derivatives](smooth, rate)
        if self.derivatives == "spline":
            return spline(value, rate)
        if self.derivatives == "quintic":
            return quintic(value, rate, 2 * self.cutoff_hz)
        assert self.period is not None
        return fourier(value, rate, self.period)

    def _how(self, x: str, xd: str, xdd: str) -> str:
        if self.derivatives == "recorded":
            return f"{xd}, {xdd} as recorded"
        if x in self.measured:
            return f"{xd} as measured, {xdd} by its central differences"
        ways = {
            "spline": f"smoothing splines of {x}",
            "quintic": f"quintic splines of {x}, {2 * self.cutoff_hz:.4g} knots a second",
            "fourier": f"a Fourier series of {x}, period {self.period or 0:.6g} s",
        }
        return f"{xd}, {xdd} by {ways.get(self.derivatives, f'{self.derivatives} differences of {x}')}"


def measured_velocities(log: Log, settings: Smoothing) -> tuple[str, ...]:
    """Return the positions of a log whose recorded velocity is to be taken: asked for, or seen to agree with the position."""
    if settings.velocity != "auto":
        return tuple(x for x, _, _ in _SIDES if x in log.signals) if settings.velocity == "measured" else ()
    if settings.derivatives != "central":
        return ()
    return tuple(x for x, xd, _ in _SIDES if {x, xd} <= log.signals.keys() and _agrees(log, x, xd))


def _agrees(log: Log, x: str, xd: str) -> bool:
    errors, _ = rules.disagreement(log.time, log.signals[x], log.signals[xd])
    return bool((errors <= rules.DISAGREES).all())


@takes(smoothing=Smoothing)
def prepare(
    log: Log,
    *,
    smoothing: Smoothing,
    score: Callable[[float], float] | None = None,
    filtering: str = "zero-phase",
    period: float | None = None,
    rate_hz: float | None = None,
    delays: Delays | None = None,
) -> Log:
    """Return a `log` whose q, qd, qdd and tau have passed the same filter and fit a regressor: F(tau) = F(Y) pi.

    In this order, each with a line in `notes`: clean (`clean_log`, with `rate_hz`, `short_gap`, `long_gaps`); trim the
    standstill at both ends; choose a cutoff from q's spectrum if `cutoff_hz` is None (`choose_cutoff`, `score`); filter q
    and all efforts by the same zero-phase Butterworth; differentiate q by `derivatives`; cut a period of the cutoff at each
    end; keep every `decimate`-th sample.

    A "fourier" series has the `period` (s), found if left out. For what others do: `filtering` "causal" passes forwards only,
    "none" not at all. Splines and series smooth q themselves, so that `filtering` is for the efforts then. The motor side, where
    there is one, is treated alike. `delays` {"theta": s} brings signals forward first (`without_delays`), a torque that is held
    from sample to sample by half of one.

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
    cut 100 samples at each end, where the filter is less sure
    kept every 10th sample
    """
    one_of(FILTERINGS)("filtering", filtering)
    derivatives = smoothing.derivatives
    log = clean_log(log, rate_hz=rate_hz, short_gap=smoothing.short_gap, long_gaps=smoothing.long_gaps)
    if smoothing.trim:
        log = trim_standstill(log)
    rate, cutoff_hz = log.rate_hz, smoothing.cutoff_hz
    smooths = filtering != "none" or derivatives == "quintic"
    if cutoff_hz is None and smooths:
        choice = choose_cutoff(log.q, rate, score)
        cutoff_hz, log = choice.hz, log.with_(notes=choice.note)
    cutoff = rate / 2 if cutoff_hz is None else cutoff_hz
    edge = edge_rows(rate, cutoff) if smooths else 0 if derivatives == "recorded" else _REACH
    refuse_short(len(log), cutoff, edge)
    if derivatives == "fourier":
        period = period_of(log, period)
    measured = measured_velocities(log, smoothing)
    log = Smoother(rate, cutoff, smoothing.order, derivatives, measured, filtering, period, delays)(log)
    if edge:
        log = log.rows(slice(edge, len(log) - edge), f"cut {edge} samples at each end, where the filter is less sure")
    step = smoothing.decimate
    return log.decimate(max(1, int(rate / (PER_PERIOD * cutoff))) if step is None else step)


def refuse_short(samples: int, cutoff_hz: float, edge: int, further: int = 0) -> None:
    """Refuse a log of which nothing is left once `edge` samples are cut at each end, and `further` ones by another filter."""
    if samples <= 2 * (edge + further) + 8:
        raise TaupiError(
            f"log has {samples} samples, too few for a cutoff of {cutoff_hz:.3g} Hz: {edge} are cut at each end."
        )


def prepare_blocks(
    blocks: Iterable[Log],
    rate_hz: float,
    cutoff_hz: float,
    *,
    decimate: int = 1,
    order: int = 4,
    derivatives: str = "central",
    velocity: str = "position",
    delays: Delays | None = None,
) -> Iterator[Log]:
    """Yield the `blocks` of a long log ready for a regressor, as if it had been prepared at once; memory holds one block.

    The rows must be complete, in order, and uniform at `rate_hz`; `cutoff_hz` may come from `choose_cutoff` on the first
    block. Each block is filtered by a Butterworth of this `order` and differentiated by the `derivatives` "central", "backward"
    or "recorded" (or its qd is taken, with `velocity="measured"`), with as many neighbours on both sides as the filter remembers
    (some ten periods of the cutoff), which are then dropped. `delays` as in `prepare`. A period is cut at both ends of the
    record, and every `decimate`-th sample kept, as `prepare` does.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(5000) / 100
    >>> log = tp.Log(t, np.sin(t)[:, None])
    >>> pieces = [log.rows(slice(a, a + 1000)) for a in range(0, 5000, 1000)]
    >>> qdd = np.concatenate([b.qdd for b in tp.prepare_blocks(pieces, 100, 5)])
    >>> bool(np.abs(qdd - tp.prepare(log, cutoff_hz=5, decimate=1, trim=False).qdd).max() < 1e-8)
    True
    """
    whole_number("decimate", decimate)
    one_of(("position", "measured"))("velocity", velocity)
    one_of(LOCAL_DERIVATIVES)("derivatives", derivatives)
    rate, cutoff = positive("rate_hz", rate_hz), positive("cutoff_hz", cutoff_hz)
    measured = tuple(x for x, _, _ in _SIDES) if velocity == "measured" else ()
    smoother = Smoother(rate, cutoff, order, derivatives, measured, delays=delays)
    yield from smoothed_blocks(uniform_blocks(blocks, rate), smoother, decimate)


def smoothed_blocks(blocks: Iterable[Log], smoother: Smoother, decimate: int = 1) -> Iterator[Log]:
    """Yield blocks smoothed, without the record's edges, every `decimate`-th sample kept.

    A smoother that needs the whole record at once gets it: give it one block.
    """
    row, held = 0, None
    for piece, keep in _with_neighbours(blocks, smoother.reach):
        log = smoother(piece).rows(keep)
        # The end of the record is only known when the next piece does not come, so each piece waits for the next.
        if held is not None:
            yield from _in_step(*held, smoother.edge, decimate, None)
        held, row = (log, row), row + len(log)
    if held is not None:
        yield from _in_step(*held, smoother.edge, decimate, row)


def uniform_blocks(blocks: Iterable[Log], rate_hz: float) -> Iterator[Log]:
    """Yield blocks, each seen to be uniform at a rate and to have the signals of the first."""
    names: list[str] = []
    for block in blocks:
        steps = np.diff(block.time)
        if len(steps) and np.abs(steps * rate_hz - 1).max() > 1e-3:
            worst = int(np.argmax(np.abs(steps * rate_hz - 1)))
            raise TaupiError(
                f"time steps by {steps[worst]:.6g} s at {block.time[worst]:.6g} s, expected {1 / rate_hz:.6g} s. "
                "Clean the log first."
            )
        names = names or list(block.signals)
        if list(block.signals) != names:
            raise TaupiError(
                f"a block has the signals {', '.join(block.signals)}, expected {', '.join(names)} as in the first."
            )
        yield block


def _with_neighbours(blocks: Iterable[Log], reach: int | None) -> Iterator[tuple[Log, slice]]:
    """Yield stretches of a log with up to `reach` neighbours on both sides, and where the stretch itself is in them."""
    if reach is None:
        (log,) = blocks
        yield log, slice(0, len(log))
        return
    first: list[Log] = []

    def stacked() -> Iterator[np.ndarray]:
        for block in blocks:
            first[:] = first or [block]
            yield np.concatenate([block.time[:, None], *block.signals.values()], axis=1)

    for piece, keep in overlapped(stacked(), reach):
        n = first[0].n
        signals = {name: piece[:, 1 + k * n : 1 + (k + 1) * n] for k, name in enumerate(first[0].signals)}
        yield first[0].with_(time=piece[:, 0], **signals), keep


def _in_step(log: Log, row: int, edge: int, decimate: int, end: int | None) -> Iterator[Log]:
    """Yield a piece that begins at `row` of the record, without the record's edges, in step with the decimation."""
    start = max(row, edge)
    start += (edge - start) % decimate
    stop = row + len(log) if end is None else min(row + len(log), end - edge)
    if start < stop:
        yield log.rows(slice(start - row, stop - row, decimate))
