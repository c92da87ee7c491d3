"""The thresholds of `check_log`, each with its reason, and what cleaning does about each kind of finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import Argument, InPython, Part
from taupi.signals.stretches import GAP, Stretches, median_step

if TYPE_CHECKING:
    from taupi.signals.log import Log

# Steps that scatter by more than this share of their mean are jitter: differences over equal steps are then wrong by as much.
JITTER = 0.01
# An effort that has the same value in more than half of the samples in motion measures nothing.
DEAD = 0.5
# This many consecutive samples at the channel's extreme are a limit that was reached, if it happens at least twice.
STUCK = 5
# For a joint that comes back by less than this share of its range, Coulomb friction and offset cannot be separated.
REVERSAL = 0.01
# At most this share of a channel's values are spikes.
SPIKES = 0.01
# Standstill: over a window of 0.1 s every joint moves by less than 1 % of its largest such displacement, for at least 0.25 s.
STILL, STILL_SECONDS, STILL_WINDOW = 0.01, 0.25, 0.1
# A recorded derivative that is off by more than this share (averaged over windows of 50 ms) is another signal.
DISAGREES = 0.25

EFFORTS = ("tau", "current", "voltage", "tau_m")

# Samples in motion that repeat the previous one are reported above this share: noise then looks smaller than it is.
REPEATED = 0.01

_LONG = (Argument("long_gaps", "interpolate"), " or ", Argument("long_gaps", "longest"))
_PREPARE = InPython("prepare(...)", "taupi identify")

# What `clean_log` does about each kind of finding, or, if it does nothing, what a user can do.
RULES: dict[str, tuple[Part, ...]] = {
    "time-missing": ("leaves these samples out",),
    "time-reversed": ("sorts the samples by time; refuses a file in which time restarts",),
    "time-duplicate": ("keeps the first sample of equal stamps",),
    "gap": ("interpolates gaps up to ", Argument("short_gap"), "; refuses longer ones unless ", *_LONG),
    "jitter": ("interpolates all signals on a uniform grid of the mean step",),
    "missing": ("interpolates stretches up to ", Argument("short_gap"), "; refuses longer ones unless ", *_LONG),
    "repeated": ("keeps them; ", Argument("decimate"), " keeps only every n-th sample"),
    "dead": (
        "keeps it; ",
        InPython(
            "leave the joint out with log.select(...), or give its equations no weight",
            "leave its columns out of the mapping, and lock the joint",
        ),
    ),
    "saturated": ("keeps it; these samples do not obey the model, so leave them out of a fit",),
    "standstill": ("keeps it; ", _PREPARE, " trims it at both ends, since sign(qd) is noise there"),
    "still": ("keeps it; nothing about this joint's inertia can be identified",),
    "one-way": ("keeps it; its Coulomb friction and its offset cannot be separated",),
    "disagrees": ("keeps it; ", _PREPARE, " differentiates q itself and does not use it"),
    "limit": ("keeps it; check units, joint order and offsets",),
}


def still_travel(unit: str) -> float:
    """Return the travel below which a joint counts as still: 1e-4 rad, or 10 um where the `unit` is "m"."""
    return 1e-5 if unit == "m" else 1e-4


def good_steps(time: np.ndarray) -> np.ndarray:
    """Return the time steps that go forward and skip no sample: those below 1.5 median steps."""
    steps = np.diff(time)
    return steps[(steps > 0) & (steps < 1.5 * median_step(time))]


def gaps(time: np.ndarray) -> np.ndarray:
    """Return the rows after which there is a gap: a step of more than 3.5 median steps."""
    steps = np.diff(time)
    return np.flatnonzero(steps > GAP * median_step(time))


def most_common(x: np.ndarray) -> tuple[float, float]:
    """Return the value that occurs most often, and its share of the samples."""
    if not len(x):
        return 0.0, 0.0
    values, counts = np.unique(x, return_counts=True)
    k = int(np.argmax(counts))
    return float(values[k]) + 0.0, float(counts[k] / len(x))


def repeats(log: Log) -> np.ndarray:
    """Return the rows (N,) in which every recorded value is the same as in the row before."""
    result = np.zeros(len(log), dtype=bool)
    result[1:] = True
    for value in log.signals.values():
        result[1:] &= (value[1:] == value[:-1]).all(axis=1)
    return result


def saturation(x: np.ndarray) -> Stretches:
    """Return the stretches of at least `STUCK` samples at a channel's largest, or smallest, value, if there are at least two."""
    high, low = np.fmax.reduce(x), np.fmin.reduce(x)
    mask = np.zeros(len(x), dtype=bool)
    for extreme in (high, low) if high != low else ():
        stretches = Stretches.of(x == extreme).at_least(STUCK)
        if len(stretches) >= 2:
            mask |= stretches.mask(len(x))
    return Stretches.of(mask)


def spikes(x: np.ndarray) -> np.ndarray:
    """Return which values of a channel (N,) stand out by more than the whole range of the others, if few of them do.

    The range of the others is that between their lowest and their highest half per cent.

    >>> import numpy as np
    >>> np.flatnonzero(spikes(np.append(np.sin(np.arange(500)), 1e6)))
    array([500])
    """
    known = np.isfinite(x)
    if known.sum() < 3:
        return np.zeros(len(x), dtype=bool)
    low, high = np.quantile(x[known], (SPIKES / 2, 1 - SPIKES / 2))
    with np.errstate(invalid="ignore"):
        outside = (x < low - (high - low)) | (x > high + (high - low))
    return outside & (high > low) & known


def turns(q: np.ndarray) -> np.ndarray:
    """Return after which rows an angle (N,) jumps by about a turn, between rows where it moves far less.

    >>> import numpy as np
    >>> np.flatnonzero(turns((np.linspace(0, 8, 100) + np.pi) % (2 * np.pi) - np.pi))
    array([38])
    """
    steps = np.abs(np.diff(q))
    quiet = np.quantile(steps[np.isfinite(steps)], 0.9) if np.isfinite(steps).any() else np.inf
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(steps - 2 * np.pi) < 1.0) & (quiet < 0.5))


def still_window(step: float) -> int:
    """Return half of the window over which displacement is measured, in samples `step` seconds apart."""
    return max(1, round(STILL_WINDOW / step / 2))


def still_rows(step: float) -> int:
    """Return the least length of a standstill, in samples `step` seconds apart."""
    return max(3, round(STILL_SECONDS / step))


def displacement(q: np.ndarray, half: int) -> np.ndarray:
    """Return |q(k + half) - q(k - half)| (N - 2 half, n) for those rows k of q (N, n) that have both neighbours."""
    return np.abs(q[2 * half :] - q[: -2 * half])


def standstills(log: Log) -> Stretches:
    """Return the stretches in which no joint moves: |q(t + w/2) - q(t - w/2)| is small for every joint, w = 0.1 s."""
    step = median_step(log.time)
    if step <= 0:
        return Stretches.of(np.zeros(len(log), dtype=bool))
    half = max(1, min(still_window(step), len(log) // 8))
    moved = displacement(np.pad(log.q, ((half, half), (0, 0)), mode="edge"), half)
    largest = np.fmax.reduce(moved, axis=0)
    with np.errstate(invalid="ignore"):
        still = (moved <= STILL * largest).all(axis=1)
    return Stretches.of(still).at_least(still_rows(step))


def travel(x: np.ndarray) -> tuple[float, float]:
    """Return the range of a joint, and how far it goes against its main direction: the smaller of the largest fall and rise."""
    known = x[np.isfinite(x)]
    if not len(known):
        return 0.0, 0.0
    fall = float((np.maximum.accumulate(known) - known).max())
    rise = float((known - np.minimum.accumulate(known)).max())
    return float(np.ptp(known)), min(fall, rise)


def disagreement(time: np.ndarray, x: np.ndarray, xd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compare a recorded derivative xd with the signal x, over windows of 50 ms.

    Return, per joint, ||dx - sum xd dt|| / ||dx||, and the factor k for which dx = k sum xd dt fits best.
    """
    step = median_step(time)
    wide = min(max(5, round(0.05 / step)) if step > 0 else 5, max(1, len(time) // 10))
    steps = np.clip(np.diff(time), 0, None)[:, None]
    integral = np.concatenate((np.zeros((1, x.shape[1])), np.cumsum(0.5 * (xd[1:] + xd[:-1]) * steps, axis=0)))
    a, b = x[wide:] - x[:-wide], integral[wide:] - integral[:-wide]
    good = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(good, a, 0.0), np.where(good, b, 0.0)
    size, cross, other = (a * a).sum(axis=0), (a * b).sum(axis=0), (b * b).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(size > 0, np.sqrt(((a - b) ** 2).sum(axis=0) / size), 0.0)
        slope = np.where(other > 0, cross / other, 1.0)
    return error, slope
