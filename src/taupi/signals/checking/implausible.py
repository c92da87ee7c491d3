"""Refuse logs that cannot be fitted: numbers that no robot has, missing rows in a stream, torques that are all zero."""

from __future__ import annotations

import numpy as np

from taupi.errors import Argument, InPython, TaupiError
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
            place = f"{name} of {log.names[joint]} is {value[row, joint]:.3g} in row {first_row + row}"
            raise TaupiError(f"{place}, more than any robot has. Correct the log.")


def refuse_slow(log: Log) -> None:
    """Refuse a log with half a second or more between samples: most often milliseconds were read as seconds."""
    step = median_step(log.time)
    if step >= SLOW:
        raise TaupiError(
            f"time steps by {step:.3g} s, too slow for a motion. Give the unit of time in a mapping: unit = 'ms', perhaps."
        )


def refuse_backwards(log: Log) -> None:
    """Refuse a block whose time does not step forwards: a stream is not sorted."""
    if median_step(log.time) <= 0:
        raise TaupiError(
            "time does not step forwards. A file that is streamed has to be in order:",
            remedy=(
                *(InPython("sort it first with taupi.clean_log, or "), "read it whole with "),
                *(Argument("stream", False), ", which sorts it."),
            ),
        )


def refuse_missing(log: Log, first_row: int = 0) -> None:
    """Refuse a block with a missing value or time stamp: gaps of a stream are not filled."""
    for name, value in {"time": log.time[:, None], **log.signals}.items():
        wrong = ~np.isfinite(value)
        if wrong.any():
            row, joint = np.argwhere(wrong)[0].tolist()
            channel = name if name == "time" else f"{name} of {log.names[joint]}"
            raise TaupiError(
                f"{channel} is missing in row {first_row + row}. A file that is streamed has to be complete:",
                remedy=(
                    *(InPython("clean it first with taupi.clean_log, or "), "read it whole with "),
                    *(Argument("stream", False), "."),
                ),
            )


def refuse_silence(log: Log) -> None:
    """Refuse a log whose torque is zero throughout."""
    (tau,) = log.need("tau")
    if not tau.any():
        raise TaupiError(f"tau of {', '.join(log.names)} is 0 in every row: nothing was measured. Map its columns.")
