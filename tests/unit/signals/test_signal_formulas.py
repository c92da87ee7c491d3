"""Delays and cutoffs against what they are defined by, written out with NumPy and SciPy."""

import numpy as np
import pytest
from scipy.ndimage import uniform_filter1d
from scipy.signal import periodogram

import taupi as tp
from taupi.signals.filtering.delay import without_delays

RATE = 200.0
# Cubic splines between samples 5 ms apart, of motions below 1 Hz.
SPLINE = 1e-5
# `choose_cutoff` promises a cutoff of at most 2.5 times the frequency at which the motion meets its noise.
MARGIN = 2.5


# Delays ------------------------------------------------------------------------------------------------------------


def late(seconds):
    """Return a log of which q and all its derivatives are late, and the same of the motors by twice as much."""
    t, w = np.arange(2000) / RATE, np.array([2.0, 3.1])

    def motion(d):
        angle = w * (t[:, None] - d)
        return np.sin(angle), w * np.cos(angle), -w * w * np.sin(angle)

    sides = zip(("q", "qd", "qdd", "theta", "thetad", "thetadd"), (*motion(seconds), *motion(2 * seconds)), strict=True)
    return tp.Log(t, **dict(sides), tau=np.cos(w * t[:, None]))


@pytest.mark.parametrize("seconds", [0.0123, -0.004, [0.02, 0.001]])
def test_a_position_takes_its_derivatives_with_it(seconds):
    """q, qd and qdd are brought forward alike; what is not named stays where it is."""
    there, log = late(0.0), late(np.asarray(seconds))
    seen = without_delays(log, {"q": seconds, "theta": 2 * np.asarray(seconds)})
    inner = slice(20, -20)  # beyond the ends nothing is known
    for name in ("q", "qd", "qdd", "theta", "thetad", "thetadd"):
        error = np.abs(seen.signals[name] - there.signals[name])[inner].max()
        assert error < SPLINE * np.abs(there.signals[name]).max(), name
    assert np.array_equal(seen.tau, log.tau)


def test_a_delay_is_undone_for_recorded_accelerations():
    """Through `prepare`: with recorded derivatives, unfiltered, M qdd of a late log is that of one in time."""
    seconds = 0.013
    ready = tp.prepare(
        late(seconds), derivatives="recorded", filtering="none", decimate=1, trim=False,
        delays={"q": seconds, "theta": 2 * seconds},
    )  # fmt: skip
    inner = slice(20, -20)
    assert np.allclose(ready.qdd[inner], late(0.0).qdd[inner], atol=1e-4)


# Cutoffs -----------------------------------------------------------------------------------------------------------


def banded(bands, samples, sigma, seed=0):
    """Return a motion (samples, 1) with white noise of standard deviation sigma.

    `bands` are (low, high, ratio): sines of random phase in every bin, of `ratio` times the noise's mean power: one of amplitude
    a has N a^2 / 4 in its bin, noise has sigma^2.
    """
    rng = np.random.default_rng(seed)
    f = np.fft.rfftfreq(samples, 1 / RATE)
    size = np.zeros(len(f))
    for low, high, ratio in bands:
        size[(f > low) & (f <= high)] = 2 * sigma * np.sqrt(ratio / samples)
    spectrum = size * np.exp(2j * np.pi * rng.uniform(size=len(f))) * samples / 2
    return (np.fft.irfft(spectrum, samples) + sigma * rng.normal(size=samples))[:, None]


@pytest.mark.parametrize(("ratio", "low", "high"), [(85, 2.0, 2.5), (120, 9.5, 10.1)])
def test_noise_is_known_by_its_mean_power(ratio, low, high):
    """A plateau from 2 to 10 Hz is motion at 20 dB above the mean power of the noise, and noise below.

    Of power with an exponential law the median is log 2 = 69 % of the mean: taken for it, 85 would be above 20 dB.
    """
    for seed in range(3):
        q = banded([(0.1, 2, 1e6), (2, 10, ratio)], 160_000, 1e-4, seed)
        assert low < tp.signals.choose_cutoff(q, RATE).most_hz / MARGIN < high


def meeting(q):
    """Return where a spectrum, averaged over 0.5 Hz about each frequency, first falls below 100 times the noise's."""
    steps = np.diff(q[:, 0])
    f, speed = periodogram(steps, RATE, np.hanning(len(steps) + 2)[1:-1], detrend=False, return_onesided=False)
    f, speed = f[: len(f) // 2], speed[: len(f) // 2]
    power = speed / np.where(f > 0, 4 * np.sin(np.pi * f / RATE) ** 2, np.inf)
    power[0] = power[1]
    noise = power[(f > 0.25 * RATE) & (f < 0.475 * RATE)].mean()
    smooth = uniform_filter1d(power, max(3, round(0.5 / f[1])), mode="nearest")
    peak = int(np.argmax(speed))
    return f[peak:][smooth[peak:] < 100 * noise][0]


@pytest.mark.parametrize("samples", [401, 801, 1201, 2001, 4001])
def test_a_spectrum_is_averaged_about_each_frequency(samples):
    """To the bin: of short records, in which one is up to 0.5 Hz."""
    for seed in range(4):
        q = banded([(0.1, 5, 1e9)], samples, 1e-6, seed)
        assert tp.signals.choose_cutoff(q, RATE).most_hz / MARGIN == pytest.approx(meeting(q), rel=1e-9)
