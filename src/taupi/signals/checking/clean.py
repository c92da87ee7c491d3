"""Clean a log: sort it, drop duplicates, fill short gaps, and bring it to uniform time steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.checks import positive
from taupi.errors import Argument, InPython, TaupiError
from taupi.settings import settle
from taupi.signals.base_motion import BaseMotion
from taupi.signals.checking import rules
from taupi.signals.filtering.smoothing import Gaps, GapsOptions
from taupi.signals.log import COMMANDS, Log, differ
from taupi.signals.stretches import Stretches, mean_step, median_step

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Gaps of up to this many steps are filled by interpolation.
SHORT_GAP = 10
# If time steps back by more than this many steps, it has restarted.
RESTART = 20
# Time stamps within this share of a step of a uniform grid count as uniform and stay as they are.
UNIFORM = 1e-3


class UniformTime:
    """Check, block by block, whether time stamps lie on a uniform grid t_0 + k h, each within 1e-3 of a step.

    Every stamp bounds the step h from both sides; the stamps are uniform as long as some h satisfies all bounds.

    >>> import numpy as np
    >>> time = UniformTime()
    >>> time.fits(np.arange(100) / 100), time.fits(np.arange(100, 200) / 100), round(time.rate_hz)
    (True, True, 100)
    >>> time.fits(np.array([2.5]))
    False
    """

    def __init__(self) -> None:
        self.samples = 0
        self._first = self._last = self._slack = 0.0
        self._low, self._high = -np.inf, np.inf

    @property
    def rate_hz(self) -> float:
        """Samples per second, over all stamps so far."""
        return (self.samples - 1) / (self._last - self._first)

    def fits(self, time: np.ndarray) -> bool:
        """Add the next stamps, and return whether all so far are uniform."""
        if not self.samples:
            self._first, self._slack = float(time[0]), UNIFORM * median_step(time)
        k = self.samples + np.arange(len(time))
        ahead, k = (time - self._first)[k > 0], k[k > 0]
        if len(k):
            self._low = max(self._low, float(((ahead - self._slack) / k).max()))
            self._high = min(self._high, float(((ahead + self._slack) / k).min()))
        self.samples, self._last = self.samples + len(time), float(time[-1])
        return self._low <= self._high

    def add(self, time: np.ndarray) -> None:
        """Add the next stamps, and refuse them if they are not uniform."""
        row, step = self.samples, median_step(time)
        steps = np.diff(time, prepend=self._last if row else time[0] - step)
        if self.fits(time):
            return
        worst = int(np.argmax(np.abs(steps - step)))
        raise TaupiError(
            "time steps by {step:.6g} s before row {row}, and by {other_step:.6g} s elsewhere. A file that "
            "is streamed has to be uniform in time:",
            remedy="{way}read it whole with {stream=False}.",
            step=steps[worst],
            row=row + worst,
            other_step=step,
            way=InPython("clean it first with taupi.clean_log, or "),
        )


def clean_log(
    log: Log, *, rate_hz: float | None = None, gaps: Gaps | None = None, **options: Unpack[GapsOptions]
) -> Log:
    """Return the `log` sorted, complete, and uniform in time, by the rules that `check_log` states.

    Samples are sorted by time, and the first of equal stamps is kept. Missing values and short gaps are interpolated; longer ones
    are refused, unless `long_gaps` says otherwise (`log.segments()` gives all stretches without one). Then every signal is
    interpolated by cubic splines on a uniform grid; stamps that are uniform already stay as they are.

    Args:
        log: The log, of at least 4 samples with different time stamps.
        rate_hz: Samples per second of the grid, Hz; by default the rate of the mean step.
        gaps: How gaps are handled, whole; the defaults of `taupi.Gaps` otherwise.
        **options: Fields of `taupi.Gaps` instead: `short_gap` (s) and `long_gaps`.

    Returns:
        The log; its `notes` say what was done.

    Raises:
        TaupiError: The time restarts, a channel holds no number, or a long gap is refused.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(100) / 100 + np.random.default_rng(0).uniform(0, 2e-3, 100)
    >>> log = tp.clean_log(tp.Log(t, np.sin(t)[:, None]))
    >>> bool(np.ptp(np.diff(log.time)) < 1e-12), bool(np.abs(log.q[:, 0] - np.sin(log.time)).max() < 1e-6)
    (True, True)
    """
    (settings,) = settle(clean_log, options, (Gaps, gaps))
    if not isinstance(log, Log):
        raise TaupiError("{log} is {got!r}, expected a Log.", got=log)
    refuse_several_runs(log)
    log = log.with_(segment=None)
    if (np.diff(log.time[np.isfinite(log.time)]) < 0).any():
        _refuse_restart(log.rows(np.isfinite(log.time)))
    log = in_order(log)
    step = median_step(log.time)
    if len(log) < 4 or step <= 0:
        raise TaupiError("{log} has {got} samples with different time stamps, expected at least 4.", got=len(log))
    limit = SHORT_GAP * step if settings.short_gap is None else settings.short_gap
    log = _without_missing_values(log, limit, settings.long_gaps)
    log = _without_long_gaps(log, limit, settings.long_gaps)
    return _on_uniform_grid(log, rate_hz)


def refuse_several_runs(log: Log, before: float | None = None) -> None:
    """Refuse a log of several runs: nothing may be filtered or differentiated from one to the next.

    `before` is the number of the run before a block of a stream.
    """
    other = before is not None and log.segment is not None and bool(differ(before, log.segment[0]))
    if not len(log.seams) and not other:
        return
    raise TaupiError(
        "the log holds several runs, and is to be filtered as one.",
        remedy="{way} one of them with {rows}.",
        rows=Argument("rows", f":{log.seams[0]}" if len(log.seams) else "first:stop"),
        way=InPython("Take log.runs(), or read", "Read"),
    )


def in_order(log: Log) -> Log:
    """Return a log by time: without samples that have no stamp or the same one as another, and with notes on each of these."""
    known = np.isfinite(log.time)
    if not known.all():
        log = log.rows(known, f"left out {int((~known).sum())} samples without a time stamp")
    if back := int((np.diff(log.time) < 0).sum()):
        log = log.rows(np.argsort(log.time, kind="stable"), f"sorted by time, which stepped backwards {back} times")
    first = np.concatenate(([True], np.diff(log.time) > 0)) if len(log) else np.zeros(0, dtype=bool)
    if not first.all():
        log = log.rows(first, f"left out {int((~first).sum())} samples with a repeated time stamp")
    return log


def _refuse_restart(log: Log) -> None:
    """Refuse a log in which time restarts: sorting would mix one run into another."""
    steps, step = np.diff(log.time), median_step(log.time)
    restarts = np.flatnonzero(steps < -RESTART * step) if step > 0 else np.zeros(0, dtype=int)
    # A wrong stamp is followed by a right one; after a restart, time stays below its earlier values.
    later = np.minimum(restarts + RESTART, len(log) - 1)
    restarts = restarts[log.time[later] < log.time[restarts]]
    # Samples out of order step back about as often as they step forwards; consecutive runs seldom do.
    if not len(restarts) or len(restarts) > len(log) / RESTART:
        return
    row = int(restarts[0]) + 1
    raise TaupiError(
        "time restarts in row {row}, {count} time{which} in all: from {time:g} to {other_time:g} s. The "
        "log holds several runs.",
        remedy="Read one of them with {rows}{segments}.",
        row=row,
        count=len(restarts),
        which="s" * (len(restarts) > 1),
        time=log.time[row - 1],
        other_time=log.time[row],
        rows=Argument("rows", f":{row}"),
        segments=InPython(", or take log.segments()"),
    )


def _without_missing_values(log: Log, limit: float, long_gaps: str) -> Log:
    """Interpolate missing values; cut the ends, where there is nothing to interpolate from."""
    log = _without_incomplete_ends(log)
    changed: dict[str, np.ndarray] = {}
    filled, cut = 0, np.zeros(len(log), dtype=bool)
    for name, value in log.signals.items():
        missing = ~np.isfinite(value)
        if not missing.any():
            continue
        complete = value.copy()
        for j in np.flatnonzero(missing.any(axis=0)):
            stretches = Stretches.of(missing[:, j])
            seconds = log.time[stretches.stops] - log.time[stretches.starts - 1]
            too_long = seconds > limit
            long = Stretches(stretches.starts[too_long], stretches.stops[too_long])
            if len(long) and long_gaps == "refuse":
                raise TaupiError(
                    "{name} of {other_name} is missing for {seconds:.4g} s, {long}.",
                    remedy=("Use {drop_gaps}{short_gap=...}, {long_gaps='interpolate'} or {long_gaps='longest'}."),
                    name=name,
                    other_name=log.names[j],
                    seconds=seconds.max(),
                    long=long,
                    drop_gaps=InPython("log.drop_gaps(), "),
                )
            if long_gaps == "longest":
                cut |= long.mask(len(log))
            present = ~missing[:, j]
            if name in COMMANDS:  # what was not written down is taken to be what was sent before
                complete[:, j] = value[np.maximum.accumulate(np.where(present, np.arange(len(log)), 0)), j]
            else:
                complete[:, j] = np.interp(log.time, log.time[present], value[present, j])
            filled += stretches.count
        changed[name] = complete
    if changed:
        log = log.with_(**changed, notes=f"interpolated {filled} missing values")
    if not cut.any():
        return log
    stretches = Stretches.of(~cut)
    k = int(np.argmax(stretches.lengths))
    return _only_rows(log, int(stretches.starts[k]), int(stretches.stops[k]))


def _without_incomplete_ends(log: Log) -> Log:
    known = np.ones(len(log), dtype=bool)
    for name, value in log.signals.items():
        finite = np.isfinite(value)
        if finite.all():
            continue
        for j in np.flatnonzero(~finite.any(axis=0)):
            raise TaupiError(
                "{name} of {other_name} holds no number at all.",
                remedy="{select}",
                name=name,
                other_name=log.names[j],
                select=InPython(
                    "Leave the joint out with log.select(...).",
                    "Leave its columns out of the mapping, and lock the joint.",
                ),
            )
        known &= (np.maximum.accumulate(finite) & np.maximum.accumulate(finite[::-1])[::-1]).all(axis=1)
    if known.all():
        return log
    return log.rows(known, f"left out {int((~known).sum())} samples at the ends, where values are missing")


def _only_rows(log: Log, a: int, b: int) -> Log:
    return log.rows(slice(a, b), f"kept the longest stretch without long gaps, rows {a}-{b - 1}")


def _without_long_gaps(log: Log, limit: float, long_gaps: str) -> Log:
    steps = np.diff(log.time)
    long = np.flatnonzero(steps > limit)
    if not len(long):
        return log
    if long_gaps == "refuse":
        worst = int(long[np.argmax(steps[long])])
        raise TaupiError(
            "time has {count} gap{which} longer than {limit:.3g} s; the longest, {step:.4g} s, is after row {worst}.",
            remedy="Use {segments}{long_gaps='longest'} or {long_gaps='interpolate'}.",
            count=len(long),
            which="s" * (len(long) > 1),
            limit=limit,
            step=steps[worst],
            worst=worst,
            segments=InPython("log.segments(), "),
        )
    if long_gaps == "interpolate":
        return log.with_(notes=f"interpolated over {len(long)} long gaps, up to {steps[long].max():.4g} s")
    edges = np.concatenate(([0], long + 1, [len(log)]))
    k = int(np.argmax(np.diff(edges)))
    return _only_rows(log, int(edges[k]), int(edges[k + 1]))


def _on_uniform_grid(log: Log, rate_hz: float | None) -> Log:
    steps, mean = rules.good_steps(log.time), mean_step(log.time)
    std = float(steps.std())
    if rate_hz is None and UniformTime().fits(log.time):
        return log
    rate = 1 / mean if rate_hz is None else positive("rate_hz", rate_hz)
    count = int(np.floor(log.duration * rate * (1 + 1e-12))) + 1
    time = log.time[0] + np.arange(count) / rate
    largest = float(np.abs(steps - mean).max())
    note = f"interpolated on a grid of {rate:.6g} Hz; steps were {mean:.4g} s, std {std:.2g} s, at most {largest:.2g} s off"
    return log.with_(time=time, **_interpolated(log, time), notes=note)


def _interpolated(log: Log, time: np.ndarray) -> dict[str, Any]:
    """Return what was recorded, the base and what acts on frames included, at other times."""
    from scipy.interpolate import CubicSpline

    # A command holds from its sample to the next one, unless the drive goes straight from one to the next; a switch always holds.
    straight = COMMANDS[:-1] if log.drive is not None and log.drive.hold == "linear" else ()
    held = np.searchsorted(log.time, time, side="right") - 1
    result: dict[str, Any] = {}
    for name, value in log.signals.items():
        if name in straight:
            result[name] = np.stack([np.interp(time, log.time, column) for column in value.T], axis=1)
        else:
            result[name] = value[held] if name in COMMANDS else CubicSpline(log.time, value)(time)

    def smooth(name: str, value: np.ndarray) -> np.ndarray:
        if not np.isfinite(value).all():
            raise TaupiError("{name} has missing values. Use log.drop_gaps() first.", name=name)
        return np.asarray(CubicSpline(log.time, value)(time))

    if log.base is not None:
        result["base"] = BaseMotion(**{name: smooth(f"base.{name}", v) for name, v in log.base.signals.items()})
    result["wrench"] = {frame: smooth(f"wrench of {frame}", value) for frame, value in log.wrench.items()}
    result["contact"] = {frame: flags[held] for frame, flags in log.contact.items()}
    return result
