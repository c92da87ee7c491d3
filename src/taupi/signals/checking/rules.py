"""What the checks of a log measure: thresholds, each with its reason, and the rows and channels that exceed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taupi.signals.log import COMMANDS
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

# A joint whose command is this many seconds ahead: no drive waits as long, so clocks differ, or it follows slowly.
LATE = 0.15
# Commands that are new in fewer than this share of the samples in which they change at all were sent at a lower rate.
HELD = 0.5
# Torques that the law asks for, as multiples of the limit of the joint: beyond, or below, gains are most likely in another unit.
GAINS = (0.005, 5.0)
# Servos whose duty is at its limit for a larger share of the time mostly have the number of a register for a gain.
FULL_DUTY = 0.5

# Samples in motion that repeat the previous one are reported above this share: noise then looks smaller than it is.
REPEATED = 0.01


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
    """Return the rows (N,) in which every measured value is the same as in the row before."""
    result = np.zeros(len(log), dtype=bool)
    result[1:] = True
    for name, value in log.signals.items():
        if name not in COMMANDS:
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


# A step of q this many times as large as nearly all others, and as those around it, is no motion.
JUMP = 4.0
# It is motion that was missed if no more than this share of its square is off the direction of so many steps before and after it,
# which differ from each other by no more than this, in squares.
OFF, AROUND, TURNED = 0.2, 6, 3.0


def jumps(log: Log) -> np.ndarray:
    """Return the rows before which q jumps from one motion to another: where a file holds several runs.

    A jump is a single step far larger than the others of its joint, and than its neighbours, from which q does not come back, as
    it does from a spike. A step of about a turn is an encoder that wraps around; one after a gap, after rows that repeat each
    other, or along the motion of all joints before and after it, is the motion that was missed.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(200) / 100
    >>> q = np.concatenate([np.sin(t[:100]), 1.5 + np.sin(t[100:])])
    >>> jumps(tp.Log(t, q[:, None]))
    array([100])
    """
    if len(log) < 20:
        return np.zeros(0, dtype=int)
    steps = np.abs(np.diff(log.q, axis=0))
    times, held = np.diff(log.time), repeats(log)
    clean = (times > 0) & (times <= GAP * median_step(log.time)) & ~held[1:] & ~held[:-1]
    single, several = np.zeros((2, len(steps)), dtype=int)
    for own in steps.T:
        known = own[np.isfinite(own) & (own > 0)]
        if not len(known):
            continue
        usual = max(float(np.quantile(known, 0.99)), 4 * float(np.median(known)))
        padded = np.pad(np.nan_to_num(own, nan=np.inf), 2, mode="edge")
        around = np.max([padded[:-4], padded[1:-3], padded[3:-1], padded[4:]], axis=0)
        # One joint whose values were held moves on by as many steps as it was held.
        waited = np.convolve(own == 0, np.ones(5), mode="full")[: len(own)]
        with np.errstate(invalid="ignore"):
            alone = (own > JUMP * np.maximum(around, usual)) & (np.abs(own - 2 * np.pi) > 1.0)
            several += alone & (own > 2 * usual * (1 + waited))
            single += alone & (own > JUMP * usual * (1 + waited))
    rows = np.flatnonzero(clean & ((single > 0) | (several > 1))) + 1
    return rows[[not _goes_on(log.q, row) for row in rows.tolist()]]


def _goes_on(q: np.ndarray, row: int) -> bool:
    """Return whether the step of q (N, n) to a row lies along the motion of several joints, as if samples were missing there.

    The motion is taken from a few steps before and after it; if more steps than that are missing, from as many as are missing.
    """
    if q.shape[1] < 2:
        return False
    missing = _steps_along(q, row, AROUND)
    return missing > 0 and (missing <= AROUND or _steps_along(q, row, round(missing)) > 0)


def _steps_along(q: np.ndarray, row: int, around: int) -> float:
    """Return how many steps, as those `around` it are on average, the step of q to a row is; 0 if it is off their direction."""
    steps = np.diff(q[max(row - 1 - around, 0) : row + around + 1], axis=0)
    at = min(row - 1, around)
    before, after, step = steps[:at].mean(axis=0), steps[at + 1 :].mean(axis=0), steps[at]
    mean = (before + after) / 2
    along = float(mean @ step) / max(float(mean @ mean), 1e-12)
    steady = float(np.sum((before - after) ** 2)) < TURNED * float(mean @ mean)
    off = float(np.sum((step - along * mean) ** 2)) >= OFF * float(step @ step)
    return along if steady and not off else 0.0


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
