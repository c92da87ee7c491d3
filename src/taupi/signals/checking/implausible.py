"""Refuse logs that cannot be fitted: numbers that no robot has, missing rows in a stream, torques that are all zero."""

from __future__ import annotations

import numpy as np

from taupi.errors import Argument, InPython, TaupiError
from taupi.signals.checking import rules
from taupi.signals.log import Log
from taupi.signals.stretches import median_step

# No robot has a position, velocity or torque beyond this (SI units): it is how a driver marks missing data, or damage.
ABSURD = 1e9
# With this many seconds between samples, a robot's motion cannot be seen.
SLOW = 0.5


def is_plausible(log: Log) -> bool:
    """Return quickly whether every number is there and below 1e9; if not, `refuse_missing` or `refuse_absurd` says why."""
    bounds = ((value.min(), value.max()) for value in log.signals.values() if len(value))
    return bool(np.isfinite(log.time).all()) and all(low >= -ABSURD and high <= ABSURD for low, high in bounds)


def refuse_absurd(log: Log, first_row: int = 0) -> None:
    """Refuse a log, or the block of one that begins at `first_row`, that holds a number beyond 1e9.

    >>> import taupi as tp
    >>> refuse_absurd(tp.Log([0, 1], [[0.5], [1e300]]))
    Traceback (most recent call last):
    taupi.errors.TaupiError: q of j1 is 1e+300 in row 1, more than any robot has. Correct the log.
    """
    for name, value in log.signals.items():
        wrong = np.isfinite(value) & (np.abs(value) > ABSURD)
        if wrong.any():
            row, joint = np.argwhere(wrong)[0].tolist()
            raise TaupiError(
                "{name} of {other_name} is {value:.3g} in row {first_row}, more than any robot has. Correct the log.",
                name=name,
                other_name=log.names[joint],
                value=value[row, joint],
                first_row=first_row + row,
            )


def refuse_slow(log: Log) -> None:
    """Refuse a log with half a second or more between samples: most often milliseconds were read as seconds."""
    step = median_step(log.time)
    if step >= SLOW:
        raise TaupiError(
            "time steps by {step:.3g} s, too slow for a motion. Give the unit of time in a mapping: unit = "
            "'ms', perhaps.",
            step=step,
        )


def refuse_jumps(log: Log, first_row: int = 0) -> None:
    """Refuse a log, or the part of one that begins at `first_row`, in which q jumps from one motion to another.

    It holds several runs, and is to be filtered as one.
    """
    rows = rules.jumps(log)
    if not len(rows):
        return
    row = int(rows[0])
    joint = int(np.argmax(np.abs(log.q[row] - log.q[row - 1])))
    raise TaupiError(
        "q of {joint} jumps from {before:.4g} to {after:.4g} in row {row}, as no motion does: the log seems to hold "
        "several runs.",
        remedy="Name the column that numbers them in a mapping, {segment}, or read one of them with {rows}.",
        joint=log.names[joint],
        before=log.q[row - 1, joint],
        after=log.q[row, joint],
        row=first_row + row,
        segment='segment = "..."',
        rows=Argument("rows", f":{first_row + row}"),
    )


def refuse_backwards(log: Log) -> None:
    """Refuse a block whose time does not step forwards: a stream is not sorted."""
    if median_step(log.time) <= 0:
        raise TaupiError(
            "time does not step forwards. A file that is streamed has to be in order:",
            remedy="{way}read it whole with {stream=False}, which sorts it.",
            way=InPython("sort it first with taupi.clean_log, or "),
        )


def refuse_missing(log: Log, first_row: int = 0) -> None:
    """Refuse a block with a missing value or time stamp: gaps of a stream are not filled."""
    for name, value in {"time": log.time[:, None], **log.signals}.items():
        wrong = ~np.isfinite(value)
        if wrong.any():
            row, joint = np.argwhere(wrong)[0].tolist()
            channel = name if name == "time" else f"{name} of {log.names[joint]}"
            raise TaupiError(
                "{channel} is missing in row {first_row}. A file that is streamed has to be complete:",
                remedy="{way}read it whole with {stream=False}.",
                channel=channel,
                first_row=first_row + row,
                way=InPython("clean it first with taupi.clean_log, or "),
            )


def refuse_silence(log: Log) -> None:
    """Refuse a log whose torque is zero throughout."""
    (tau,) = log.need("tau")
    if len(tau) and not tau.any():
        raise TaupiError("tau of {names:,} is 0 in every row: nothing was measured. Map its columns.", names=log.names)


# Rows that are examined, and the share of the torque up to which a deviation from a multiple is rounding.
_ROWS, _ROUNDING = 2000, 1e-6


def rests_on_gains(log: Log) -> bool:
    """Return whether tau is a combination of the currents, or of voltages and speeds of the motors, apart from rounding.

    >>> import numpy as np
    >>> current = np.random.default_rng(0).normal(size=(50, 2))
    >>> log = Log(np.arange(50) / 100, np.zeros((50, 2)), current=current, tau=current * [9.0, 4.0])
    >>> rests_on_gains(log), rests_on_gains(log.with_(tau=current**3))
    (True, False)
    """
    if log.tau is None:
        return False
    for names in (("current",), ("voltage", "thetad"), ("voltage",)):
        signals = [log.signals[name] for name in names if name in log.signals]
        if len(signals) < len(names):
            continue
        both = np.hstack([log.tau, *signals])[:_ROWS]
        both = both[np.isfinite(both).all(axis=1)]
        tau, drive = both[:, : log.n], both[:, log.n :]
        if len(both) <= drive.shape[1] or not tau.any():
            continue
        rest = tau - drive @ np.linalg.lstsq(drive, tau, rcond=None)[0]
        if np.linalg.norm(rest) < _ROUNDING * np.linalg.norm(tau):
            return True
    return False
