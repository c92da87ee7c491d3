"""From a log as it was recorded to signals for a regressor: q, qd, qdd and tau that belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from taupi.errors import TaupiError, shown, unknown
from taupi.signals import rules
from taupi.signals.clean import clean_log
from taupi.signals.columns import positive
from taupi.signals.delay import Delays, without_delays
from taupi.signals.derivatives import backward, central, check_method, quintic, spline
from taupi.signals.filters import butterworth, choose_cutoff, edge_rows, overlapped, settle_rows
from taupi.signals.log import Log
from taupi.signals.periodic import fourier, period_of
from taupi.signals.rules import EFFORTS

# Samples that are kept per period of the cutoff: enough for every detail that is left, few enough to be almost independent.
_PER_CUTOFF = 10
# A joint that has left its first (last) position by less than this share of its range has not begun (has ended) its motion.
_AWAY = 0.02
_VELOCITIES = ("auto", "position", "measured")
_SIDES = (("q", "qd", "qdd"), ("theta", "thetad", "thetadd"))
# How signals are filtered, and the beginning of the note that says so.
FILTERS = {"zero-phase": "filtered by a zero-phase", "causal": "filtered by a causal", "none": "not filtered"}
# Without a filter the ends are less sure by as many samples as differences reach.
_REACH = 3


def prepare(
    log: Log,
    *,
    cutoff_hz: float | None = None,
    score: Callable[[float], float] | None = None,
    order: int = 4,
    filtering: str = "zero-phase",
    derivatives: str = "central",
    velocity: str = "auto",
    period: float | None = None,
    decimate: int | None = None,
    trim: bool = True,
    rate_hz: float | None = None,
    short_gap: float | None = None,
    long_gaps: str = "refuse",
    delays: Delays | None = None,
) -> Log:
    """Return a log whose q, qd, qdd and tau have passed the same filter and fit a regressor: F(tau) = F(Y) pi.

    In this order, each with a line in `notes`: clean (`clean_log`, with `rate_hz`, `short_gap`, `long_gaps`); trim the
    standstill at both ends; choose a cutoff from q's spectrum if `cutoff_hz` is None (`choose_cutoff`, `score`); filter q
    and all efforts by the same zero-phase Butterworth; differentiate q by `derivatives`: "central" differences of fourth
    order, smoothing "spline", or a "fourier" series of the `period` (found if left out); cut a period of the cutoff at
    each end; keep every `decimate`-th sample, by default as many as leave ten a period of the cutoff.

    For what others do: `filtering` "causal" passes forwards only, "none" not at all. `derivatives` "quintic" is the
    least-squares spline with two knots a period of the cutoff, "backward" takes backward differences, and "recorded" the qd
    and qdd of the log, filtered as q is. Splines and series smooth q themselves, so that `filtering` is for the efforts then.

    `velocity="measured"` takes the recorded qd and differentiates it once for qdd; "position" differentiates q; "auto" takes
    the recorded qd where there is one that agrees with dq/dt (`taupi.signals.rules`) and `derivatives` is "central": a drive
    knows its standstill better than a difference of positions. The motor side, where there is one, is treated alike. `delays`
    {"theta": s} brings signals forward first (`without_delays`), a torque that is held from sample to sample by half of one.

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
    check_method(derivatives)
    if velocity not in _VELOCITIES:
        raise unknown("velocity", str(velocity), _VELOCITIES)
    if filtering not in FILTERS:
        raise unknown("filtering", str(filtering), FILTERS)
    log = clean_log(log, rate_hz=rate_hz, short_gap=short_gap, long_gaps=long_gaps)
    if trim:
        log = trim_standstill(log)
    rate, smooths = log.rate_hz, filtering != "none" or derivatives == "quintic"
    if cutoff_hz is None and smooths:
        choice = choose_cutoff(log.q, log.rate_hz, score)
        cutoff_hz = choice.hz
        log = log.with_(notes=choice.note)
    cutoff = rate / 2 if cutoff_hz is None else positive(cutoff_hz, "cutoff_hz")
    edge = edge_rows(rate, cutoff) if smooths else 0 if derivatives == "recorded" else _REACH
    if len(log) <= 2 * edge + 8:
        raise TaupiError(
            f"log has {len(log)} samples, too few for a cutoff of {cutoff:.3g} Hz: {edge} are cut at each end."
        )
    if derivatives == "fourier":
        period = period_of(log, period)
    log = _processed(log, rate, cutoff, order, derivatives, velocity, period, delays, filtering)
    if edge:
        log = log.rows(slice(edge, len(log) - edge), f"cut {edge} samples at each end, where the filter is less sure")
    return log.decimate(max(1, int(rate / (_PER_CUTOFF * cutoff))) if decimate is None else decimate)


def prepare_blocks(
    blocks: Iterable[Log],
    rate_hz: float,
    cutoff_hz: float,
    *,
    decimate: int = 1,
    order: int = 4,
    velocity: str = "position",
    delays: Delays | None = None,
) -> Iterator[Log]:
    """Yield the blocks of a long log ready for a regressor, as if it had been prepared whole; memory holds one block.

    The rows must be complete, in order, and uniform at `rate_hz`; `cutoff_hz` may come from `choose_cutoff` on the first
    block. Each block is filtered and differentiated (or its qd taken, with `velocity="measured"`) with as many neighbours on
    both sides as the filter remembers (`settle_rows`, some ten periods of the cutoff), which are then dropped; a
    period is cut at both ends of the record, as `prepare` does.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(5000) / 100
    >>> whole = tp.Log(t, np.sin(t)[:, None])
    >>> pieces = [whole.rows(slice(a, a + 1000)) for a in range(0, 5000, 1000)]
    >>> qdd = np.concatenate([b.qdd for b in tp.prepare_blocks(pieces, 100, 5)])
    >>> bool(np.abs(qdd - tp.prepare(whole, cutoff_hz=5, decimate=1, trim=False).qdd).max() < 1e-8)
    True
    """
    if isinstance(decimate, bool) or not isinstance(decimate, int | np.integer) or decimate < 1:
        raise TaupiError(f"decimate is {shown(decimate)}, expected a whole number of at least 1.")
    if velocity not in _VELOCITIES[1:]:
        raise unknown("velocity of blocks", str(velocity), _VELOCITIES[1:])
    rate, cutoff = positive(rate_hz, "rate_hz"), positive(cutoff_hz, "cutoff_hz")
    late = max((float(np.abs(d).max()) for d in (delays or {}).values()), default=0.0)
    edge, overlap = edge_rows(rate, cutoff), settle_rows(rate, cutoff, order) + 4 + int(np.ceil(late * rate))
    layout: list[tuple[Log, list[str]]] = []
    row, last, held = 0, None, None

    def stacked() -> Iterator[np.ndarray]:
        for block in blocks:
            layout[:] = layout or [(block, list(block.signals))]
            yield _packed(block, rate, layout[0][1])

    for piece, keep in overlapped(stacked(), overlap):
        template, names = layout[0]
        log = _processed(_unpacked(piece, template, names), rate, cutoff, order, "central", velocity, None, delays)
        done = log.rows(keep)
        # The end of the record is only known when the next piece does not come, so each piece waits for the next.
        if held is not None:
            yield from _emitted(held[0], held[1], edge, decimate, None)
        held, row = (done, row), row + len(done)
        last = row
    if held is not None:
        yield from _emitted(held[0], held[1], edge, decimate, last)


def trim_standstill(log: Log) -> Log:
    """Return the log without the standstill before the motion begins and after it has ended."""
    still = rules.standstill(log)
    limit = _AWAY * np.ptp(log.q, axis=0)
    start, stop = 0, len(log)
    for _, b in still:
        if (np.abs(log.q[:b] - log.q[0]) <= limit).all() and b < len(log):
            start = b
    for a, _ in reversed(list(still)):
        if (np.abs(log.q[a:] - log.q[-1]) <= limit).all() and a > start:
            stop = a
    if start == 0 and stop == len(log):
        return log
    note = f"trimmed standstill: {start} samples at the start, {len(log) - stop} at the end"
    return log.rows(slice(start, stop), note)


def is_prepared(log: Log) -> bool:
    """Tell whether a log has been through `prepare` already, which its notes say."""
    return log.qdd is not None and any(note.startswith(tuple(FILTERS.values())) for note in log.notes)


def _processed(
    log: Log,
    rate: float,
    cutoff: float,
    order: int,
    derivatives: str,
    velocity: str,
    period: float | None,
    delays: Delays | None = None,
    filtering: str = "zero-phase",
) -> Log:
    log = without_delays(log, delays) if delays else log

    def smooth(x: np.ndarray) -> np.ndarray:
        return x if filtering == "none" else butterworth(x, rate, cutoff, order, filtering == "causal")

    signals = {name: smooth(log.signals[name]) for name in EFFORTS if name in log.signals}
    told = FILTERS[filtering]
    notes = [told if filtering == "none" else f"{told} Butterworth of order {order}, cutoff {cutoff:.4g} Hz"]
    for x, xd, xdd in (side for side in _SIDES if side[0] in log.signals):
        value = log.signals[x]
        if derivatives == "recorded":
            signals |= {name: smooth(v) for name, v in zip((x, xd, xdd), log.need(x, xd, xdd), strict=True)}
            notes.append(f"{xd}, {xdd} as recorded")
        elif _measured(log, x, xd, derivatives, velocity):
            signals |= {x: smooth(value), xd: smooth(*log.need(xd))}
            signals[xdd] = central(signals[xd], rate)[0]
            notes.append(f"{xd} as measured, {xdd} by its central differences")
        elif derivatives in _DIFFERENCES:
            signals[x] = smooth(value)
            signals[xd], signals[xdd] = _DIFFERENCES[derivatives](signals[x], rate)
            notes.append(f"{xd}, {xdd} by {derivatives} differences of {x}")
        elif derivatives == "spline":
            signals[x], signals[xd], signals[xdd] = spline(value, rate)
            notes.append(f"{xd}, {xdd} by smoothing splines of {x}")
        elif derivatives == "quintic":
            signals[x], signals[xd], signals[xdd] = quintic(value, rate, 2 * cutoff)
            notes.append(f"{xd}, {xdd} by quintic splines of {x}, {2 * cutoff:.4g} knots a second")
        else:
            assert period is not None
            signals[x], signals[xd], signals[xdd] = fourier(value, rate, period)
            notes.append(f"{xd}, {xdd} by a Fourier series of {x}, period {period:.6g} s")
    return log.with_(**signals, notes=notes)


_DIFFERENCES = {"central": central, "backward": backward}


def _measured(log: Log, x: str, xd: str, derivatives: str, velocity: str) -> bool:
    if velocity != "auto":
        return velocity == "measured"
    if derivatives != "central" or xd not in log.signals:
        return False
    errors, _ = rules.disagreement(log.time, log.signals[x], log.signals[xd])
    return bool((errors <= rules.DISAGREES).all())


def _packed(block: Log, rate: float, names: list[str]) -> np.ndarray:
    """Return time and signals side by side, (N, 1 + k n), so that blocks overlap as one array."""
    steps = np.diff(block.time)
    if len(steps) and np.abs(steps * rate - 1).max() > 1e-3:
        worst = int(np.argmax(np.abs(steps * rate - 1)))
        at, got = block.time[worst], steps[worst]
        raise TaupiError(f"time steps by {got:.6g} s at {at:.6g} s, expected {1 / rate:.6g} s. Clean the log first.")
    if list(block.signals) != names:
        raise TaupiError(
            f"a block has the signals {', '.join(block.signals)}, expected {', '.join(names)} as in the first."
        )
    return np.concatenate([block.time[:, None], *(block.signals[n] for n in names)], axis=1)


def _unpacked(piece: np.ndarray, template: Log, names: list[str]) -> Log:
    n = template.n
    signals = {name: piece[:, 1 + k * n : 1 + (k + 1) * n] for k, name in enumerate(names)}
    return template.with_(time=piece[:, 0], **signals)


def _emitted(log: Log, row: int, edge: int, decimate: int, end: int | None) -> Iterator[Log]:
    """Yield a piece that begins at `row` of the record, without the record's edges, in step with the decimation."""
    start = max(row, edge)
    start += (edge - start) % decimate
    stop = row + len(log) if end is None else min(row + len(log), end - edge)
    if start < stop:
        yield log.rows(slice(start - row, stop - row, decimate))
