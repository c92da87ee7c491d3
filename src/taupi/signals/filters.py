"""Low-pass filters, without phase or causal: over arrays, over regressor and torque alike, and over streams of blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from taupi.checks import positive, whole_number
from taupi.errors import Argument, TaupiError

GIVE_CUTOFF = ("Give ", Argument("cutoff_hz"), ".")

# What is left of a filter's memory after `settle_rows`; blocks then agree with the whole record to about this.
_FORGOTTEN = 1e-12
# Signal over noise, in power, at which a frequency still counts as motion: 20 dB.
_SNR = 100.0
# The cutoff lies so far above where the motion meets the noise, because torques have sums of the motion's frequencies,
_MARGIN = 2.5
# or, with encoders so good that vibrations stand out of their noise, so far above where 99.99 % of the velocity's energy
# ends: the torque answers a motion with friction's jumps, at several times its frequencies.
_ENERGY, _ABOVE_ENERGY = 0.9999, 5.0
# A line of the spectrum belongs to the motion if its velocity has at least this share of the strongest line's power.
_STRONG = 1e-2
# and lies within a good octave of the one below; resonances far above the motion do not.
_OCTAVE = 2.2


def butterworth(x: np.ndarray, rate_hz: float, cutoff_hz: float, order: int = 4, causal: bool = False) -> np.ndarray:
    """Return samples low-pass filtered forwards and backwards, |H|^2 = 1 / (1 + (f / cutoff)^(2 order)), no phase.

    x (N, ...) is filtered along its first axis. The two passes together halve the amplitude at `cutoff_hz`. Each end is
    extended by its own point reflection, as long as the filter remembers (`settle_rows`), so that a motion that has begun
    before the record makes no step there.

    `causal` passes forwards only, from a rest at the first sample, as a filter does while the robot runs: |H| is then that of one
    pass, and the result is late.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(2000) / 1000
    >>> slow, fast = np.sin(2 * np.pi * 2 * t), np.sin(2 * np.pi * 100 * t)
    >>> y = tp.butterworth(slow + fast, 1000, 20)
    >>> bool(np.abs(y - slow)[200:-200].max() < 2e-3)
    True
    """
    from scipy.signal import sosfilt, sosfilt_zi, sosfiltfilt

    x = _samples(x)
    sos = _sections(rate_hz, cutoff_hz, order)
    if causal:
        rest = sosfilt_zi(sos).reshape(len(sos), 2, *[1] * (x.ndim - 1)) * x[0]
        return np.asarray(sosfilt(sos, x, axis=0, zi=rest)[0])
    pad = min(settle_rows(rate_hz, cutoff_hz, order), len(x) - 1)
    return sosfiltfilt(sos, x, axis=0, padtype="odd", padlen=pad)


def parallel_filter(x: np.ndarray, rate_hz: float, cutoff_hz: float, decimate: int = 1, order: int = 4) -> np.ndarray:
    """Return samples filtered and then decimated: the same operator for every column, so tau = W pi stays true.

    W (N, ..., p) and tau (N, ...) that have passed it obey F(tau) = F(W) pi, because F is linear and acts on time alone
    (Gautier 1997, "parallel filtering"). Of the result every `decimate`-th row is kept; the cutoff must lie below the new
    Nyquist frequency.

    >>> import numpy as np, taupi as tp
    >>> rng = np.random.default_rng(0)
    >>> W, pi = rng.normal(size=(500, 2, 3)), np.array([1.0, -2.0, 0.5])
    >>> left, right = (tp.parallel_filter(v, 100, 5, decimate=4) for v in (W @ pi, W))
    >>> left.shape, bool(np.allclose(left, right @ pi))
    ((125, 2), True)
    """
    k = whole_number("decimate", decimate)
    if cutoff_hz > rate_hz / k / 2:
        raise TaupiError(
            Argument("cutoff_hz"),
            f" is {cutoff_hz:g}, expected below {rate_hz / k / 2:g}, half the rate after decimation by {k}.",
        )
    return butterworth(x, rate_hz, cutoff_hz, order)[::k]


def settle_rows(rate_hz: float, cutoff_hz: float, order: int = 4) -> int:
    """Return after how many samples the filter has forgotten a start: the slowest pole's power below 1e-12."""
    from scipy.signal import sos2zpk

    _, poles, _ = sos2zpk(_sections(rate_hz, cutoff_hz, order))
    # Order in the logarithm: several poles near the slowest add up to a polynomial times its power.
    return math.ceil(math.log(_FORGOTTEN) / math.log(np.abs(poles).max()) + 2 * order)


def edge_rows(rate_hz: float, cutoff_hz: float) -> int:
    """Return how many samples at each end are less sure than the rest: a period of the cutoff."""
    return math.ceil(rate_hz / cutoff_hz - 1e-6)


def filter_blocks(
    blocks: Iterable[np.ndarray], rate_hz: float, cutoff_hz: float, order: int = 4
) -> Iterator[np.ndarray]:
    """Yield the blocks of a long record, filtered as if they were one: what `butterworth` makes of the whole.

    Each piece is filtered with `settle_rows` neighbours on either side, which are then dropped: by then the filter has
    forgotten that they are not the ends of the record. One block and its neighbours are in memory.
    """
    overlap = settle_rows(rate_hz, cutoff_hz, order)
    for piece, keep in overlapped(blocks, overlap):
        yield butterworth(piece, rate_hz, cutoff_hz, order)[keep]


def overlapped(blocks: Iterable[np.ndarray], overlap: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Yield (rows with up to `overlap` neighbours on both sides, where the rows proper are), all rows once and in order."""
    before: np.ndarray | None = None
    held: np.ndarray | None = None
    for block in blocks:
        new = np.asarray(block, dtype=float)
        held = new if held is None else np.concatenate((held, new))
        ready = len(held) - overlap
        if ready < max(overlap, 1):
            continue
        lead = 0 if before is None else len(before)
        piece = held if before is None else np.concatenate((before, held))
        yield piece, slice(lead, lead + ready)
        before, held = piece[max(0, lead + ready - overlap) : lead + ready], held[ready:]
    if held is not None and len(held):
        lead = 0 if before is None else len(before)
        piece = held if before is None else np.concatenate((before, held))
        yield piece, slice(lead, lead + len(held))


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A cutoff frequency in Hz, the highest frequency of the motion per joint (n,) in Hz, and why it was chosen.

    Whatever else speaks for a cutoff, the motion itself ends at `least_hz`, and q's noise allows no more than `most_hz`.
    """

    hz: float
    motion_hz: np.ndarray
    note: str
    least_hz: float = 0.0
    most_hz: float = math.inf


def choose_cutoff(
    q: np.ndarray,
    rate_hz: float,
    score: Callable[[float], float] | None = None,
    candidates: Iterable[float] | None = None,
) -> Cutoff:
    """Return a cutoff for a motion q (N, n): above what the motion needs, below what is noise.

    The spectrum of each joint's q (windowed velocity, divided by the derivative's gain) is held against its noise floor, the
    median between half and 95 % of the Nyquist frequency. A joint's motion meets the noise where the spectrum, averaged over
    0.5 Hz, falls below 100 times the floor and has no strong line (1 % of the strongest, in velocity) in the next octave.
    The cutoff is 2.5 times that frequency, or five times the one below which 99.99 % of the velocity's energy lies,
    whichever is lower; both are medians over the joints.

    `score`, a function of a cutoff, decides instead among `candidates` (by default a third to three times the above): the
    smallest wins, and within 1 % the lowest frequency. A fit's error on data that was not fitted is such a score.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(20000) / 1000
    >>> q = np.sin(2 * np.pi * 0.5 * t) + 0.2 * np.sin(2 * np.pi * 3 * t)
    >>> q = q + 1e-4 * np.random.default_rng(0).normal(size=t.size)
    >>> 5 < tp.choose_cutoff(q[:, None], 1000).hz < 12
    True
    """
    q = _samples(q)
    q = q[:, None] if q.ndim == 1 else q
    rate_hz = positive("rate_hz", rate_hz)
    if len(q) < 32:
        raise TaupiError(f"q has {len(q)} samples, expected at least 32 to see a spectrum.", remedy=GIVE_CUTOFF)
    noise, energy = _motion_band(q, rate_hz)
    moving = noise > 0
    if not moving.any():
        raise TaupiError("q does not move, so it has no spectrum to choose a cutoff from.", remedy=GIVE_CUTOFF)
    meets, ends = float(np.median(noise[moving])), float(np.median(energy[moving]))
    most = min(_MARGIN * meets, 0.4 * rate_hz)
    hz = min(_ABOVE_ENERGY * ends, most)
    note = f"cutoff {hz:.3g} Hz: q meets its noise at {meets:.3g} Hz, and {_ENERGY:.2%} of its velocity lies below {ends:.3g} Hz"
    motion = np.minimum(noise, _ABOVE_ENERGY / _MARGIN * energy)
    if score is None:
        return Cutoff(hz, motion, note, min(ends, most), most)
    return _best(score, candidates, hz, motion, rate_hz)


def _best(
    score: Callable[[float], float], candidates: Iterable[float] | None, hz: float, motion: np.ndarray, rate_hz: float
) -> Cutoff:
    tried = sorted(candidates if candidates is not None else hz * np.geomspace(1 / 3, 3, 9))
    tried = [float(c) for c in tried if 0 < c < 0.45 * rate_hz]
    if not tried:
        raise TaupiError(f"candidates holds no frequency between 0 and {0.45 * rate_hz:g} Hz.")
    scores = [float(score(c)) for c in tried]
    least = min(scores)
    k = next(i for i, s in enumerate(scores) if s <= least + 0.01 * abs(least))
    return Cutoff(
        tried[k], motion, f"cutoff {tried[k]:.3g} Hz: score {scores[k]:.4g}, the least of {len(tried)} candidates"
    )


def _motion_band(q: np.ndarray, rate_hz: float) -> tuple[np.ndarray, np.ndarray]:
    """Return per joint where the spectrum falls to the noise, and where the velocity's energy ends; 0 for one that is still."""
    steps = np.diff(q, axis=0)
    speed = np.abs(np.fft.rfft(steps * np.hanning(len(steps) + 2)[1:-1, None], axis=0)) ** 2
    f = np.fft.rfftfreq(len(steps), 1 / rate_hz)
    power = speed.copy()
    power[1:] /= (4 * np.sin(np.pi * f[1:] / rate_hz) ** 2)[:, None]
    power[0] = power[1]
    upper = (f > 0.25 * rate_hz) & (f < 0.475 * rate_hz)
    floor = np.median(power[upper], axis=0) / math.log(2)  # of the exponential law that noise power obeys
    smooth = _moving_mean(power, max(3, round(0.5 / f[1])))
    noise, energy = np.zeros(q.shape[1]), np.zeros(q.shape[1])
    for j in np.flatnonzero(np.ptp(q, axis=0) > 0):
        peak = int(np.argmax(speed[:, j]))
        loud = smooth[:, j] > _SNR * floor[j]
        end = _end_of_motion(f, loud, loud & (speed[:, j] > _STRONG * speed[peak, j]), peak)
        share = np.cumsum(speed[: end + 1, j])
        noise[j] = max(f[end], f[1])
        energy[j] = max(f[np.searchsorted(share, _ENERGY * share[-1])], f[1])
    return noise, energy


def _end_of_motion(f: np.ndarray, loud: np.ndarray, strong: np.ndarray, at: int) -> int:
    """Return where the loud stretch that holds `at` ends, or the next one's end while a strong line is within an octave."""
    while True:
        quiet = np.flatnonzero(~loud[at:])
        end = at + int(quiet[0]) if len(quiet) else len(f) - 1
        near = np.flatnonzero(strong & (f > f[end]) & (f <= _OCTAVE * f[end]))
        if not len(near):
            return end
        at = int(near[-1])


def _moving_mean(x: np.ndarray, wide: int) -> np.ndarray:
    padded = np.concatenate(
        (np.zeros((1, x.shape[1])), np.cumsum(np.pad(x, ((wide // 2, wide), (0, 0)), "edge"), axis=0))
    )
    return (padded[wide:] - padded[:-wide])[: len(x)] / wide


def _sections(rate_hz: float, cutoff_hz: float, order: int) -> np.ndarray:
    rate, cutoff = positive("rate_hz", rate_hz), positive("cutoff_hz", cutoff_hz)
    if cutoff >= rate / 2:
        raise TaupiError(f"cutoff_hz is {cutoff:g}, expected below {rate / 2:g}, half the rate.")
    return _designed(rate, cutoff, whole_number("order", order)).copy()


@lru_cache(maxsize=64)
def _designed(rate: float, cutoff: float, order: int) -> np.ndarray:
    from scipy.signal import butter

    return butter(order, cutoff, fs=rate, output="sos")


def _samples(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, dtype=float)
    if x.ndim < 1 or len(x) < 2:
        raise TaupiError(f"x has shape {x.shape}, expected (N, ...) with at least two samples.")
    if not np.isfinite(x).all():
        raise TaupiError("x has values that are missing or not finite. Use taupi.clean_log first.")
    return x
