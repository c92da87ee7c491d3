"""Spectra of motions: up to which frequency they move, and above which noise prevails; of one log or of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.errors import Message, TaupiError

GIVE_CUTOFF = Message("Give {cutoff_hz}.")

# Ratio of signal to noise, in power, down to which a frequency still counts as motion: 20 dB.
_SNR = 100.0
# A line of the spectrum belongs to the motion if its velocity has at least this share of the strongest line's power ...
_STRONG = 1e-2
# ... and if it lies within a good octave of the line below it; resonances far above the motion do not.
_OCTAVE = 2.2
# The share of the velocity's energy below the frequency up to which there is motion.
ENERGY = 0.9999
# A cutoff lies this far above the frequency at which the motion meets the noise, because torques contain sums of the motion's
# frequencies.
MARGIN = 2.5
# With encoders so good that vibrations stand out from their noise, a cutoff lies this far above the frequency below which 99.99 %
# of the velocity's energy lies: friction jumps at each reversal, which puts torque at several times the motion's frequencies.
ABOVE_ENERGY = 5.0
# The motion needs a cutoff of twice the frequency below which 99 % of its velocity's energy lies: torques contain products of two
# velocities, and a filter should leave both alone.
_NEEDED, _PRODUCTS = 0.99, 2.0
# Noise of q allows a cutoff below which it has this share of the acceleration's power: inertias come out that much too small.
_ATTENUATION = 0.01


@dataclass(frozen=True)
class Spectrum:
    """Power densities over the frequencies `f` (k,), Hz.

    Attributes:
        f: The frequencies (k,), Hz.
        velocity: The density of each joint's velocity (k, n), from differences of q.
        position: The density of each joint's q (k, n).
        floor: The density of the noise of q (n,), which is taken to be white.
        moving: Whether each joint moves at all (n,).
        duration: How long the motion lasts, s.
    """

    f: np.ndarray
    velocity: np.ndarray
    position: np.ndarray
    floor: np.ndarray
    moving: np.ndarray
    duration: float


def spectrum_of(q: np.ndarray, rate_hz: float) -> Spectrum:
    """Return the spectrum of a motion q (N, n), from its windowed differences; divided by their gain, it is that of q.

    The noise floor is the median between 50 % and 95 % of the Nyquist frequency.
    """
    steps = np.diff(q, axis=0)
    window = np.hanning(len(steps) + 2)[1:-1, None]
    power = np.abs(np.fft.rfft(steps * window, axis=0)) ** 2 * (rate_hz / float(np.sum(window**2)))
    f = np.fft.rfftfreq(len(steps), 1 / rate_hz)
    position = power.copy()
    position[1:] /= (4 * rate_hz**2 * np.sin(np.pi * f[1:] / rate_hz) ** 2)[:, None]
    position[0] = position[1]
    upper = (f > 0.25 * rate_hz) & (f < 0.475 * rate_hz)
    # The mean of an exponential law, which noise power obeys, from its median.
    floor = np.median(position[upper], axis=0) / math.log(2)
    return Spectrum(f, power, position, floor, np.ptp(q, axis=0) > 0, len(q) / rate_hz)


def mean_spectrum(spectra: Sequence[Spectrum]) -> Spectrum:
    """Return the mean of spectra, each weighted by its duration, at the frequencies of the longest, up to the lowest rate."""
    if len(spectra) == 1:
        return spectra[0]
    longest = max(spectra, key=lambda s: s.duration)
    f = longest.f[longest.f <= min(s.f[-1] for s in spectra)]
    shares = np.array([s.duration for s in spectra])
    shares /= shares.sum()
    velocity, position = np.zeros((2, len(f), len(longest.floor)))
    for share, s in zip(shares, spectra, strict=True):
        for j in range(len(longest.floor)):
            velocity[:, j] += share * np.interp(f, s.f, s.velocity[:, j])
            position[:, j] += share * np.interp(f, s.f, s.position[:, j])
    floor = shares @ np.array([s.floor for s in spectra])
    return Spectrum(f, velocity, position, floor, np.any([s.moving for s in spectra], axis=0), longest.duration)


def motion_band(spectrum: Spectrum) -> tuple[np.ndarray, np.ndarray]:
    """Return, per joint, the frequency where the spectrum meets the noise and the one below which the velocity's energy lies.

    A joint's motion meets the noise where the spectrum, averaged over 0.5 Hz, falls below 100 times the floor and has no strong
    line (1 % of the strongest, in velocity) in the next octave. Both are 0 for a joint that does not move.
    """
    f, noise, energy = spectrum.f, *np.zeros((2, len(spectrum.floor)))
    for j, end in _ends_of_motion(spectrum):
        share = np.cumsum(spectrum.velocity[: end + 1, j])
        noise[j] = max(f[end], f[1])
        energy[j] = max(f[np.searchsorted(share, ENERGY * share[-1])], f[1])
    return noise, energy


@dataclass(frozen=True)
class CutoffBounds:
    """The range of cutoffs that the spectrum of q allows; the choice within it is left to other criteria.

    Attributes:
        suggested_hz: What q alone suggests, Hz, as `choose_cutoff` does for one motion.
        least_hz: What the motion itself needs, Hz.
        most_hz: What the noise of q allows, Hz.
    """

    suggested_hz: float
    least_hz: float
    most_hz: float

    @property
    def centre_hz(self) -> float:
        """The geometric mean of the two frequencies."""
        return math.sqrt(self.least_hz * self.most_hz)


def cutoff_bounds(motions: Sequence[np.ndarray], rates_hz: Sequence[float]) -> CutoffBounds:
    """Return the bounds of a cutoff for several motions q (N, n) together, each with its rate (Hz); medians over the joints.

    Their spectra are averaged, each by its duration: a short motion alone shows little but the resolution of its spectrum. The
    motion needs twice the frequency below which 99 % of its velocity's energy lies, without that of the noise. The noise of q, of
    density S, allows a cutoff F as long as its acceleration, S (2 pi)^4 F^5 / 5, has at most 1 % of the motion's, and at most 2.5
    times the frequency at which the motion meets the noise.

    >>> import numpy as np
    >>> t, rng = np.arange(4000) / 200, np.random.default_rng(0)
    >>> motions = [np.sin(2 * np.pi * 1.5 * t + k)[:, None] + 1e-4 * rng.normal(size=(4000, 1)) for k in range(2)]
    >>> bounds = cutoff_bounds(motions, [200.0, 200.0])
    >>> bool(abs(bounds.least_hz - 3) < 0.3), bool(bounds.least_hz < bounds.most_hz < 80)
    (True, True)
    """
    spectrum = mean_spectrum([spectrum_of(q, rate) for q, rate in zip(motions, rates_hz, strict=True)])
    f, needed, allowed = spectrum.f, list[float](), list[float]()
    noise_hz, energy_hz = (float(np.median(v[v > 0])) if (v > 0).any() else 0.0 for v in motion_band(spectrum))
    ends = _ends_of_motion(spectrum)
    # A joint that shows only noise does not count.
    for j, end in [(j, end) for j, end in ends if end > np.argmax(spectrum.velocity[:, j])] or ends:
        squared = (2 * np.pi * f[: end + 1]) ** 2
        velocity = np.clip(spectrum.velocity[: end + 1, j] - spectrum.floor[j] * squared, 0.0, None)
        share = np.cumsum(velocity)
        needed.append(_PRODUCTS * max(float(f[np.searchsorted(share, _NEEDED * share[-1])]), float(f[1])))
        acceleration = float(np.sum(velocity * squared) * f[1])
        noise = max(float(spectrum.floor[j]) * (2 * np.pi) ** 4 / 5, 1e-300)
        allowed.append(min((_ATTENUATION * acceleration / noise) ** 0.2, MARGIN * float(f[end])))
    if not needed:
        raise TaupiError("{q} does not move, so it has no spectrum to choose a cutoff from.", remedy=GIVE_CUTOFF)
    most = min(float(np.median(allowed)), 0.4 * min(rates_hz))
    suggested = min(ABOVE_ENERGY * energy_hz, MARGIN * noise_hz, most)
    return CutoffBounds(suggested, min(float(np.median(needed)), most), most)


def _ends_of_motion(spectrum: Spectrum) -> list[tuple[int, int]]:
    """Return, for each joint that moves, the index of the frequency at which its motion meets the noise."""
    f, velocity = spectrum.f, spectrum.velocity
    smooth = _moving_mean(spectrum.position, max(3, round(0.5 / f[1])))
    result = []
    for j in np.flatnonzero(spectrum.moving):
        peak = int(np.argmax(velocity[:, j]))
        loud = smooth[:, j] > _SNR * spectrum.floor[j]
        strong = loud & (velocity[:, j] > _STRONG * velocity[peak, j])
        result.append((int(j), _end_of_motion(f, loud, strong, peak)))
    return result


def _end_of_motion(f: np.ndarray, loud: np.ndarray, strong: np.ndarray, at: int) -> int:
    """Return the end of the loud stretch around `at`, continued as long as a strong line follows within an octave."""
    while True:
        quiet = np.flatnonzero(~loud[at:])
        end = at + int(quiet[0]) if len(quiet) else len(f) - 1
        near = np.flatnonzero(strong & (f > f[end]) & (f <= _OCTAVE * f[end]))
        if not len(near):
            return end
        at = int(near[-1])


def _moving_mean(x: np.ndarray, width: int) -> np.ndarray:
    sums = np.cumsum(np.pad(x, ((width // 2, width), (0, 0)), "edge"), axis=0)
    sums = np.concatenate((np.zeros((1, x.shape[1])), sums))
    return (sums[width:] - sums[:-width])[: len(x)] / width
