"""Low-pass filters, zero-phase or causal: for arrays, for regressor and torque alike, and for streams of blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from taupi.checks import positive, whole_number
from taupi.errors import TaupiError
from taupi.signals.filtering.motion_spectrum import ABOVE_ENERGY, ENERGY, GIVE_CUTOFF, MARGIN, motion_band, spectrum_of
from taupi.signals.filtering.smoothing import filter_order

# What remains of a filter's memory after `settle_rows` samples; blocks agree with the whole record to about this accuracy.
_FORGOTTEN = 1e-12


def noise_bandwidth_hz(cutoff_hz: float, order: int = 4, causal: bool = False) -> float:
    """Return the width (Hz) of the rectangular filter that passes as much power of white noise as `butterworth` does.

    It is the integral of |H|^2 over frequency, of both passes unless `causal`: with `order` 4, 0.898 times `cutoff_hz`. Twice as
    many filtered samples per second are independent.

    >>> round(noise_bandwidth_hz(10.0), 2), round(noise_bandwidth_hz(10.0, causal=True), 2)
    (8.98, 10.26)
    """
    one_pass = math.pi / (2 * order) / math.sin(math.pi / (2 * order))
    return cutoff_hz * one_pass * (1.0 if causal else 1.0 - 1.0 / (2 * order))


def butterworth(x: np.ndarray, rate_hz: float, cutoff_hz: float, order: int = 4, causal: bool = False) -> np.ndarray:
    """Return samples low-pass filtered forwards and backwards, |H|^2 = 1 / (1 + (f / cutoff)^(2 order)), without phase shift.

    Each end is extended by point reflection, over the length of the filter's memory (`settle_rows`), so that a motion that began
    before the record causes no step there.

    Args:
        x: The samples (N, ...), filtered along the first axis.
        rate_hz: Samples per second, Hz.
        cutoff_hz: The frequency at which the two passes together halve the amplitude, Hz.
        order: The order of the Butterworth filter; 4 by default.
        causal: Whether the filter runs forwards only, starting at rest at the first sample, as it does while a robot runs: |H| is
            then that of one pass, and the result is delayed. False by default.

    Returns:
        The filtered samples (N, ...).

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(2000) / 1000
    >>> slow, fast = np.sin(2 * np.pi * 2 * t), np.sin(2 * np.pi * 100 * t)
    >>> y = tp.signals.butterworth(slow + fast, 1000, 20)
    >>> bool(np.abs(y - slow)[200:-200].max() < 2e-3)
    True
    """
    from scipy.signal import sosfilt, sosfilt_zi, sosfiltfilt

    x = checked_samples(x)
    sos = np.array(_sections(*check_cutoff(rate_hz, cutoff_hz), filter_order("order", order)))
    if causal:
        rest = sosfilt_zi(sos).reshape(len(sos), 2, *[1] * (x.ndim - 1)) * x[0]
        return np.asarray(sosfilt(sos, x, axis=0, zi=rest)[0])
    pad = min(settle_rows(rate_hz, cutoff_hz, order), len(x) - 1)
    return sosfiltfilt(sos, x, axis=0, padtype="odd", padlen=pad)


def parallel_filter(x: np.ndarray, rate_hz: float, cutoff_hz: float, decimate: int = 1, order: int = 4) -> np.ndarray:
    """Return samples filtered and then decimated: the same operator for every column, so that tau = W pi stays true.

    W (N, ..., p) and tau (N, ...) that have passed it satisfy F(tau) = F(W) pi, because F is linear and acts along time only
    (Gautier 1997, "parallel filtering").

    Args:
        x: The samples (N, ...), as in `butterworth`.
        rate_hz: Samples per second, Hz.
        cutoff_hz: The cutoff, Hz, as in `butterworth`; below the Nyquist frequency of the rows that are kept.
        decimate: Every n-th row of the result is kept; all by default.
        order: The order of the filter; 4 by default.

    >>> import numpy as np, taupi as tp
    >>> rng = np.random.default_rng(0)
    >>> W, pi = rng.normal(size=(500, 2, 3)), np.array([1.0, -2.0, 0.5])
    >>> tau_f, W_f = (tp.signals.parallel_filter(v, 100, 5, decimate=4) for v in (W @ pi, W))
    >>> tau_f.shape, bool(np.allclose(tau_f, W_f @ pi))
    ((125, 2), True)
    """
    k = whole_number("decimate", decimate)
    if cutoff_hz > rate_hz / k / 2:
        raise TaupiError(
            "{cutoff_hz} is {got:g}, expected below {expected:g}, half the rate after decimation by {k}.",
            got=cutoff_hz,
            expected=rate_hz / k / 2,
            k=k,
        )
    return butterworth(x, rate_hz, cutoff_hz, order)[::k]


def settle_rows(rate_hz: float, cutoff_hz: float, order: int = 4) -> int:
    """Return the number of samples after which the filter has forgotten how it started: |slowest pole|^k < 1e-12."""
    _, poles, _ = filter_roots(rate_hz, cutoff_hz, order)
    # The term in `order`: several poles near the slowest add up to a polynomial times its power.
    return math.ceil(math.log(_FORGOTTEN) / math.log(np.abs(poles).max()) + 2 * order)


def edge_rows(rate_hz: float, cutoff_hz: float) -> int:
    """Return how many samples at each end are less accurate than the rest: one period of the cutoff."""
    return math.ceil(rate_hz / cutoff_hz - 1e-6)


def overlapping_pieces(blocks: Iterable[np.ndarray], overlap: int) -> Iterator[tuple[np.ndarray, slice]]:
    """Yield pieces with up to `overlap` neighbours on both sides, and the slice of each piece without them.

    The slices together hold every row once and in order.
    """
    piece: np.ndarray | None = None
    lead = 0  # rows of the piece that were already in a slice
    for block in blocks:
        rows = np.asarray(block, dtype=float)
        piece = rows if piece is None else np.concatenate((piece, rows))
        stop = len(piece) - overlap
        if stop - lead < max(overlap, 1):
            continue
        yield piece, slice(lead, stop)
        start = max(0, stop - overlap)
        piece, lead = piece[start:], stop - start
    if piece is not None and len(piece) > lead:
        yield piece, slice(lead, len(piece))


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A cutoff frequency, and why it was chosen.

    Attributes:
        hz: The cutoff, Hz.
        motion_hz: The highest frequency in the motion of each joint (n,), Hz.
        reason: Why it was chosen, in words; empty for one that was asked for.
        least_hz: The motion itself reaches up to this frequency, Hz, so no cutoff should be lower; 0 if not known.
        most_hz: The noise of q allows no higher cutoff, Hz.
    """

    hz: float
    motion_hz: np.ndarray
    reason: str
    least_hz: float = 0.0
    most_hz: float = math.inf

    @property
    def note(self) -> str:
        """The cutoff and its reason; empty for one that was asked for."""
        return f"cutoff {self.hz:.3g} Hz: {self.reason}" if self.reason else ""


def choose_cutoff(
    q: np.ndarray,
    rate_hz: float,
    score: Callable[[float], float] | None = None,
    candidates: Iterable[float] | None = None,
) -> Cutoff:
    """Return a cutoff for a motion: above the motion, below the noise.

    The spectrum of each joint's q (windowed velocity, divided by the derivative's gain) is compared with its noise floor, the
    median between 50 % and 95 % of the Nyquist frequency. A joint's motion meets the noise where the spectrum, averaged over
    0.5 Hz, falls below 100 times the floor and has no strong line (1 % of the strongest, in velocity) in the next octave.
    The cutoff is 2.5 times that frequency, or five times the one below which 99.99 % of the velocity's energy lies,
    whichever is lower; both are medians over the joints.

    Args:
        q: The motion (N, n), rad or m.
        rate_hz: Samples per second, Hz.
        score: A function of the cutoff (Hz) by which `candidates` are compared instead: the smallest score wins, and among scores
            within 1 % of it the lowest frequency. The error of a fit on data that were not fitted is such a score.
        candidates: Cutoffs, Hz; by default nine from a third to three times the above.

    >>> import numpy as np, taupi as tp
    >>> t = np.arange(20000) / 1000
    >>> q = np.sin(2 * np.pi * 0.5 * t) + 0.2 * np.sin(2 * np.pi * 3 * t)
    >>> q = q + 1e-4 * np.random.default_rng(0).normal(size=t.size)
    >>> 5 < tp.signals.choose_cutoff(q[:, None], 1000).hz < 12
    True
    """
    q = checked_samples(q)
    q = q[:, None] if q.ndim == 1 else q
    rate_hz = positive("rate_hz", rate_hz)
    if len(q) < 32:
        raise TaupiError(
            "{q} has {got} samples, expected at least 32 to see a spectrum.", remedy=GIVE_CUTOFF, got=len(q)
        )
    noise, energy = motion_band(spectrum_of(q, rate_hz))
    moving = noise > 0
    if not moving.any():
        raise TaupiError("{q} does not move, so it has no spectrum to choose a cutoff from.", remedy=GIVE_CUTOFF)
    noise_hz, energy_hz = float(np.median(noise[moving])), float(np.median(energy[moving]))
    most = min(MARGIN * noise_hz, 0.4 * rate_hz)
    hz = min(ABOVE_ENERGY * energy_hz, most)
    reason = f"q meets its noise at {noise_hz:.3g} Hz, and {ENERGY:.2%} of its velocity lies below {energy_hz:.3g} Hz"
    motion = np.minimum(noise, ABOVE_ENERGY / MARGIN * energy)
    if score is None:
        return Cutoff(hz, motion, reason, min(energy_hz, most), most)
    frequencies = hz * np.geomspace(1 / 3, 3, 9) if candidates is None else candidates
    return _best_candidate(score, frequencies, motion, rate_hz)


def _best_candidate(
    score: Callable[[float], float], candidates: Iterable[float], motion: np.ndarray, rate_hz: float
) -> Cutoff:
    frequencies = [float(c) for c in sorted(candidates) if 0 < c < 0.45 * rate_hz]
    if not frequencies:
        raise TaupiError("{candidates} holds no frequency between 0 and {rate_hz:g} Hz.", rate_hz=0.45 * rate_hz)
    scores = [float(score(c)) for c in frequencies]
    least = min(scores)
    k = next(i for i, s in enumerate(scores) if s <= least + 0.01 * abs(least))
    return Cutoff(frequencies[k], motion, f"score {scores[k]:.4g}, the least of {len(frequencies)} candidates")


def check_cutoff(rate_hz: float, cutoff_hz: float) -> tuple[float, float]:
    """Return a rate and a cutoff (Hz) that a filter can have: both positive, the cutoff below half the rate."""
    rate, cutoff = positive("rate_hz", rate_hz), positive("cutoff_hz", cutoff_hz)
    if cutoff >= rate / 2:
        raise TaupiError(
            "{cutoff_hz} is {got:g}, expected below {expected:g}, half the rate.", got=cutoff, expected=rate / 2
        )
    return rate, cutoff


def filter_roots(rate_hz: float, cutoff_hz: float, order: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the zeros, the poles and the gain of one pass of the filter.

    The poles of a Butterworth filter lie on a half circle; the bilinear transform s = 4 (z - 1) / (z + 1) brings them to discrete
    time, with the cutoff where it was asked for. SciPy has the same numbers, but takes half a second to import.

    >>> import scipy.signal
    >>> expected = scipy.signal.butter(4, 8, fs=250, output="zpk")
    >>> [bool(np.allclose(a, b, rtol=1e-12, atol=0)) for a, b in zip(filter_roots(250, 8, 4), expected, strict=True)]
    [True, True, True]
    """
    rate, cutoff = check_cutoff(rate_hz, cutoff_hz)
    count = filter_order("order", order)
    radius = 4 * math.tan(math.pi * cutoff / rate)
    circle = -radius * np.exp(1j * np.pi * np.arange(1 - count, count, 2) / (2 * count))
    gain = radius**count * float((1 / np.prod(4 - circle)).real)
    return -np.ones(count), (4 + circle) / (4 - circle), gain


@lru_cache(maxsize=64)
def _sections(rate: float, cutoff: float, order: int) -> object:
    """Return one pass of the filter as sections of second order, as SciPy takes them."""
    from scipy.signal import butter

    return butter(order, cutoff, fs=rate, output="sos")


def checked_samples(x: np.ndarray) -> np.ndarray:
    """Return samples (N, ...) as an array of finite numbers, at least two of them."""
    x = np.asarray(x, dtype=float)
    if x.ndim < 1 or len(x) < 2:
        raise TaupiError("{x} has shape {got}, expected (N, ...) with at least two samples.", got=x.shape)
    if not np.isfinite(x).all():
        raise TaupiError("{x} has values that are missing or not finite. Use taupi.clean_log first.")
    return x
