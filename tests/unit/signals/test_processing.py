"""Filters, derivatives, periods, delays: signals whose truth is known, and SciPy's own functions."""

import itertools

import numpy as np
import pytest
from adaptive import VECTORS
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy import interpolate, signal

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.filtering.delay import signal_delay
from taupi.signals.filtering.derivatives import backward, central, quintic, spline
from taupi.signals.filtering.filters import edge_rows, overlapping_pieces, settle_rows
from taupi.signals.filtering.periodic import fourier

RATE = 500.0


def tones(t, frequencies=(0.3, 0.9, 2.1), amplitudes=(1.0, 0.4, 0.15), order=0):
    """A sum of sines in each of two joints, or a derivative of it."""
    w = 2 * np.pi * np.array(frequencies)
    phases = np.array([0.3, 1.1, 2.0])
    parts = [
        a * k**order * np.sin(k * t + p + order * np.pi / 2) for a, k, p in zip(amplitudes, w, phases, strict=True)
    ]
    return np.stack([sum(parts), parts[0] - parts[1]], axis=1)


def test_the_filter_is_scipys_filtfilt():
    x = np.random.default_rng(0).normal(size=(3000, 2, 3))
    got = tp.signals.butterworth(x, 1000, 40, order=5)
    b, a = signal.butter(5, 40, fs=1000)
    pad = settle_rows(1000, 40, 5)
    want = signal.filtfilt(b, a, x, axis=0, padtype="odd", padlen=pad)
    assert np.abs(got - want).max() < 1e-9


def test_the_causal_filter_is_that_of_the_vectors():
    """b and a of the fifth document's filter: order 5, 20 Hz at 1 kHz, from rest at the first sample."""
    vector = VECTORS["operators"]["butterworth"]
    x = np.random.default_rng(0).normal(size=(600, 2)).cumsum(axis=0) + 3
    b, a = np.array(vector["b"]), np.array(vector["a"])
    # Before the first sample the signal was x[0], long enough for the filter to have settled.
    long = np.concatenate([np.repeat(x[:1], 3000, axis=0), x])
    want = signal.lfilter(b, a, long, axis=0)[3000:]
    got = tp.signals.butterworth(x, vector["fs"], vector["fc"], vector["order"], causal=True)
    assert (
        np.abs(got - want).max() < 1e-6 * np.abs(want).max()
    )  # the vectors have 13 digits, and poles near 1 multiply them
    assert np.abs(got[0] - x[0]).max() < 1e-9


@pytest.mark.parametrize("order", [1, 2, 4, 6])
def test_the_gain_is_that_of_the_docstring(order):
    t = np.arange(20000) / RATE
    for f in (2.0, 10.0, 15.0):
        y = tp.signals.butterworth(np.cos(2 * np.pi * f * t), RATE, 10.0, order)
        middle = slice(5000, -5000)
        gain = np.linalg.norm(y[middle]) / np.linalg.norm(np.cos(2 * np.pi * f * t)[middle])
        warped = np.tan(np.pi * f / RATE) / np.tan(np.pi * 10 / RATE)
        assert gain == pytest.approx(1 / (1 + warped ** (2 * order)), rel=1e-3)


def test_the_ends_do_not_ring():
    t = np.arange(2000) / RATE
    ramp = 5 + 3 * t
    assert np.abs(tp.signals.butterworth(ramp, RATE, 8) - ramp).max() < 1e-9
    x = tones(t)
    error = np.abs(tp.signals.butterworth(x, RATE, 20) - x)
    edge = edge_rows(RATE, 20)
    assert error[edge:-edge].max() < 1e-3 and error.max() < 0.02


def test_parallel_filtering_keeps_the_model_true():
    rng = np.random.default_rng(1)
    W, pi = rng.normal(size=(800, 2, 5)), rng.normal(size=5)
    left, right = (tp.signals.parallel_filter(v, 100, 4, decimate=5) for v in (W @ pi, W))
    assert left.shape == (160, 2) and np.abs(left - right @ pi).max() < 1e-12
    assert np.array_equal(left, tp.signals.butterworth(W @ pi, 100, 4)[::5])
    with pytest.raises(TaupiError, match="expected below 10, half the rate after decimation by 5"):
        tp.signals.parallel_filter(W, 100, 12, decimate=5)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=20), st.integers(0, 50))
def test_overlapped_blocks_hold_every_row_once(sizes, overlap):
    x = np.arange(sum(sizes), dtype=float)
    cuts = np.cumsum([0, *sizes])
    pieces = [x[a:b] for a, b in itertools.pairwise(cuts)]
    got = list(overlapping_pieces(pieces, overlap))
    assert np.array_equal(np.concatenate([p[k] for p, k in got] or [x[:0]]), x)
    for piece, keep in got:
        assert np.array_equal(piece, np.arange(piece[0], piece[-1] + 1))
        assert keep.start >= min(overlap, piece[keep.start]) and (
            len(piece) - keep.stop >= min(overlap, x[-1] - piece[keep.stop - 1])
        )


@pytest.mark.parametrize("size", [37, 500, 2100])
def test_blocks_are_filtered_as_one(size):
    x = np.random.default_rng(2).normal(size=(5000, 2)).cumsum(axis=0)
    at_once = tp.signals.butterworth(x, RATE, 15)
    pieces = overlapping_pieces((x[a : a + size] for a in range(0, 5000, size)), settle_rows(RATE, 15, 4))
    parts = np.concatenate([tp.signals.butterworth(piece, RATE, 15, 4)[keep] for piece, keep in pieces])
    assert parts.shape == at_once.shape
    assert np.abs(parts - at_once).max() < 1e-8 * np.abs(x).max()


def test_settling_is_long_enough_and_not_absurd():
    impulse = np.zeros(40001)
    impulse[20000] = 1.0
    for order, cutoff in ((2, 5.0), (4, 20.0), (6, 60.0)):
        rows = settle_rows(RATE, cutoff, order)
        response = np.abs(tp.signals.butterworth(impulse, RATE, cutoff, order))
        assert response[20000 + rows :].max() < 1e-10 * response.max()
        assert response[20000 + rows // 4 :].max() > 1e-10 * response.max()


# Derivatives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", [2, 4, 6])
def test_central_differences_have_their_order(accuracy):
    errors = []
    for rate in (50.0, 100.0):
        t = np.arange(int(4 * rate)) / rate
        d, dd = central(tones(t), rate, accuracy)
        inner = slice(5, -5)
        errors.append((np.abs(d - tones(t, order=1))[inner].max(), np.abs(dd - tones(t, order=2))[inner].max()))
    for coarse, fine in zip(*errors, strict=True):
        assert coarse / fine == pytest.approx(2**accuracy, rel=0.15)


def test_central_differences_of_polynomials_are_exact():
    t = np.arange(30) / 10
    for accuracy, degree in ((2, 2), (4, 4), (6, 6)):
        d, dd = central(t**degree, 10, accuracy)
        inner = slice(3, -3)
        assert np.allclose(d[inner], degree * t[inner] ** (degree - 1), rtol=1e-9, atol=1e-9)
        assert np.allclose(dd[inner], degree * (degree - 1) * t[inner] ** (degree - 2), rtol=1e-8, atol=1e-8)
    d, dd = central(2 + 3 * t, 10)
    assert np.allclose(d, 3) and np.abs(dd).max() < 1e-9  # to the very ends


def test_smoothing_splines_beat_bare_differences_in_noise():
    t = np.arange(3000) / RATE
    noisy = tones(t) + 1e-3 * np.random.default_rng(3).normal(size=(3000, 2))
    x, xd, xdd = spline(noisy, RATE)
    inner = slice(50, -50)
    assert np.abs(x - tones(t))[inner].max() < 1e-3
    assert np.abs(xd - tones(t, order=1))[inner].max() < 0.1
    bare = central(noisy, RATE)
    for got, rough, truth in ((xd, bare[0], tones(t, order=1)), (xdd, bare[1], tones(t, order=2))):
        assert np.linalg.norm((got - truth)[inner]) < 0.2 * np.linalg.norm((rough - truth)[inner])


@pytest.mark.parametrize("noise", [1e-2, 1e-3, 1e-5])
def test_cross_validation_is_as_good_as_scipys(noise):
    """SciPy's spline chooses by the exact trace, at hundreds of times the cost; the second derivatives must be as good."""
    t = np.arange(800) / 100
    truth = tones(t, order=2)[:, 0]
    noisy = tones(t)[:, 0] + noise * np.random.default_rng(8).normal(size=800)
    at = np.arange(800.0)
    theirs = interpolate.make_smoothing_spline(at, noisy).derivative(2)(at) * 100**2
    ours = spline(noisy, 100)[2]
    inner = slice(30, -30)
    assert np.linalg.norm((ours - truth)[inner]) < 1.3 * np.linalg.norm((theirs - truth)[inner])


def test_a_given_smoothing_does_not_depend_on_the_rate():
    """lambda has the unit s^3: the same curve, sampled twice as densely, with twice the samples' weight."""
    for rate in (100.0, 200.0):
        t = np.arange(int(3 * rate)) / rate
        x, *_ = spline(np.sin(2 * np.pi * t), rate, smoothing=1e-4 * rate)
        w = 2 * np.pi
        middle = len(t) // 2
        ratio = np.linalg.norm(x[middle - 40 : middle + 40]) / np.linalg.norm(np.sin(w * t[middle - 40 : middle + 40]))
        assert ratio == pytest.approx(1 / (1 + 1e-4 * w**4), rel=2e-3)  # the gain of a smoothing spline


# Cutoff ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("top", "noise"), [(1.0, 1e-4), (4.0, 1e-4), (4.0, 1e-6), (12.0, 1e-5)])
def test_the_chosen_cutoff_passes_the_motion_and_stops_the_noise(top, noise):
    t = np.arange(15000) / RATE
    truth = tones(t, frequencies=(top / 4, top / 2, top))
    q = truth + noise * np.random.default_rng(4).normal(size=truth.shape)
    choice = tp.signals.choose_cutoff(q, RATE)
    assert 1.3 * top < choice.hz < 8 * top
    inner = slice(1000, -1000)
    filtered = tp.signals.butterworth(q, RATE, choice.hz)
    assert np.linalg.norm((filtered - truth)[inner]) < 0.02 * np.linalg.norm(truth[inner] - truth[inner].mean(axis=0))
    assert "Hz" in choice.note and choice.motion_hz.shape == (2,)


def test_a_score_decides_where_there_is_one():
    t = np.arange(5000) / RATE
    q = tones(t) + 1e-5 * np.random.default_rng(5).normal(size=(5000, 2))
    choice = tp.signals.choose_cutoff(
        q, RATE, score=lambda hz: (hz - 7.0) ** 2, candidates=[3.0, 6.5, 7.1, 20.0, 900.0]
    )
    assert choice.hz == 7.1 and "of 4 candidates" in choice.note
    flat = tp.signals.choose_cutoff(q, RATE, score=lambda hz: 1.0)
    assert flat.hz == pytest.approx(tp.signals.choose_cutoff(q, RATE).hz / 3)  # of equals, the lowest
    with pytest.raises(TaupiError, match="candidates holds no frequency"):
        tp.signals.choose_cutoff(q, RATE, score=lambda hz: 1.0, candidates=[1e9])


# Periods -----------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.floats(1.5, 6.0), st.integers(0, 1000))
def test_the_period_is_found_between_samples(period, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(10000) / RATE
    k = np.arange(1, 6)
    a, b = rng.normal(size=(2, 5, 3)) / k[:, None]
    angle = 2 * np.pi / period * np.outer(t, k)
    q = np.cos(angle) @ a + np.sin(angle) @ b + 0.01 * rng.normal(size=(10000, 3))
    estimate = tp.signals.find_period(q, RATE)
    assert estimate.seconds == pytest.approx(period, abs=0.4 / RATE)
    assert estimate.count == pytest.approx(t[-1] / estimate.seconds) and estimate.correlation > 0.97


def test_what_does_not_repeat_has_no_period():
    t = np.arange(5000) / RATE
    assert tp.signals.find_period(t[:, None], RATE) is None
    assert tp.signals.find_period(tones(t, frequencies=(0.31, 0.77, 1.93)), RATE) is None
    assert tp.signals.find_period(np.zeros((5000, 2)), RATE) is None
    assert tp.signals.find_period(np.sin(2 * np.pi * t / 8)[:, None], RATE) is None  # only 1.25 periods
    with pytest.raises(TaupiError, match="no period was found"):
        tp.signals.average_periods(tp.Log(t, t[:, None]))


def test_the_mean_of_periods_has_less_noise_and_tells_how_much_there_was():
    period, sigma = 2.0, 0.02
    t = np.arange(int(20 * RATE)) / RATE
    rng = np.random.default_rng(6)
    clean = np.sin(2 * np.pi * t / period)[:, None] + 0.3 * np.cos(6 * np.pi * t / period)[:, None]
    log = tp.Log(t, clean + 1e-4 * rng.normal(size=clean.shape), tau=2 * clean + sigma * rng.normal(size=clean.shape))
    mean = tp.signals.average_periods(log)
    assert mean.count == 10 and len(mean.log) == 1000
    rms = np.sqrt((mean.std["tau"] ** 2).mean())
    assert rms == pytest.approx(sigma, rel=0.03)  # sqrt(10/9) off without the K - 1
    left = mean.log.tau - 2 * clean[:1000]
    assert left.std() == pytest.approx(sigma / np.sqrt(10), rel=0.1)
    again = tp.signals.average_periods(log, period=5.0)  # of another length, given
    assert again.count == 4
    with refused("log", seconds=15.0):
        tp.signals.average_periods(log, period=15.0)
    with refused("period", got=1e-9, least=4):
        tp.signals.average_periods(log, period=1e-9)
    assert len(tp.signals.average_periods(log, period=4 / RATE).log) == 4


def test_fourier_derivatives_are_those_of_the_truth():
    period = 1 / 0.3
    t = np.arange(4321) / RATE
    x, xd, xdd = fourier(tones(t), RATE, period, harmonics=7)
    assert np.abs(x - tones(t)).max() < 1e-9
    assert np.abs(xd - tones(t, order=1)).max() < 1e-8 and np.abs(xdd - tones(t, order=2)).max() < 1e-7
    noisy = tones(t) + 1e-3 * np.random.default_rng(7).normal(size=(4321, 2))
    x, xd, xdd = fourier(noisy, RATE, period)
    assert np.abs(xdd - tones(t, order=2)).max() < 0.05  # the seven harmonics are found among the noise
    with refused("harmonics", got=0):
        fourier(noisy, RATE, period, harmonics=0)


# Delays ------------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.floats(-0.2, 0.2), st.floats(0, 0.02), st.integers(0, 100))
def test_delays_are_found_between_samples(delay, noise, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(4000) / RATE
    x = tones(t) + noise * rng.normal(size=(4000, 2))
    y = 3 * tones(t - delay) + 1.0 + noise * rng.normal(size=(4000, 2))
    estimate = tp.signals.estimate_delay(x, y, RATE, max_delay=0.5)
    # Noise of a few percent moves the peak of so slow a motion by a few milliseconds.
    assert estimate.seconds == pytest.approx(delay, abs=2e-5 + 0.2 * noise) and estimate.correlation > 0.99


def test_delays_are_undone():
    t = np.arange(2000) / RATE
    for delay in (0.0137, -0.0301):
        log = tp.Log(t, tones(t), tau=tones(t - delay))
        estimate = signal_delay(log, "q", "tau")
        assert estimate.seconds == pytest.approx(delay, abs=2e-5)
        aligned = tp.signals.remove_delay(log, "tau", estimate.seconds)
        assert np.abs(aligned.tau - aligned.q).max() < 1e-3 and len(log) - len(aligned) == int(
            np.ceil(abs(delay) * RATE)
        )
    with refused("seconds", got=9.0):
        tp.signals.remove_delay(log, "tau", 9)
    with pytest.raises(TaupiError, match="qd is missing"):
        tp.signals.remove_delay(log, "qd", 0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tp.signals.butterworth(x, RATE, 300), "cutoff_hz is 300, expected below 250, half the rate"),
        (lambda x: tp.signals.butterworth(x, RATE, -1), "cutoff_hz is -1"),
        (lambda x: tp.signals.butterworth(x, 0, 1), "rate_hz is 0"),
        (lambda x: tp.signals.butterworth(x, RATE, 5, order=0), "order is 0"),
        (lambda x: tp.signals.butterworth(x, RATE, 5, order=17), "order is 17, expected a whole number from 1 to 16"),
        (
            lambda x: tp.Preparation(order=10**9),
            "order is 1000000000, expected a whole number from 1 to 16",
        ),
        (
            lambda x: tp.Preparation(decimate=10**27),
            "decimate is 10*, expected a whole number from 1 to 10000",
        ),
        (lambda x: tp.signals.butterworth(x * np.nan, RATE, 5), "missing or not finite. Use taupi.clean_log"),
        (lambda x: tp.signals.butterworth(np.float64(3), RATE, 5), r"x has shape \(\)"),
        (lambda x: central(x[:3], RATE), "with more than 4 samples"),
        (lambda x: central(x, RATE, accuracy=3), "accuracy is 3, expected one of 2, 4, 6"),
        (lambda x: spline(x[:3], RATE), "at least 6 samples"),
        (lambda x: tp.signals.choose_cutoff(x[:9], RATE), "expected at least 32 to see a spectrum"),
        (lambda x: tp.signals.choose_cutoff(0 * x, RATE), "q does not move"),
        (lambda x: tp.signals.estimate_delay(x, x[:-1], RATE), "y has shape .*, expected that of x"),
        (lambda x: tp.signals.estimate_delay(x, 0 * x, RATE), "y is constant"),
        (lambda x: tp.signals.estimate_delay(x[:3], x[:3], RATE), "at least 8 samples"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(TaupiError, match=message):
        call(tones(np.arange(500) / RATE))


def test_backward_differences_are_late():
    """The velocity is that of half a sample ago, the acceleration that of one sample ago, exactly so for a cubic's terms."""
    t = np.arange(50) / 10
    d, dd = backward(np.stack([t, t**2, t**3], axis=1), 10)
    h = 0.1
    assert np.allclose(d[1:], np.stack([1 + 0 * t, 2 * (t - h / 2), 3 * (t - h / 2) ** 2 + h**2 / 4], axis=1)[1:])
    assert np.allclose(dd[2:], np.stack([0 * t, 2 + 0 * t, 6 * (t - h)], axis=1)[2:], atol=1e-9)
    assert np.array_equal(d[0], d[1]) and np.array_equal(dd[:2], dd[[2, 2]])
    for bad in (np.zeros(2), np.float64(1.0)):
        with pytest.raises(TaupiError, match="more than 2 samples"):
            backward(bad, 10)


def test_the_quintic_spline_is_a_projection():
    t = np.arange(2000) / RATE
    x = tones(t) + 1e-3 * np.random.default_rng(0).normal(size=(len(t), 2))
    s, sd, sdd = quintic(x, RATE, 10)
    assert np.allclose(quintic(s, RATE, 10)[0], s, atol=1e-10)  # what is a spline already stays
    assert np.abs(((x - s) * s).sum(axis=0)).max() < 1e-8  # what is left is across every spline
    middle = slice(100, -100)
    assert np.abs(sd - tones(t, order=1))[middle].max() < 0.02 and np.abs(sdd - tones(t, order=2))[middle].max() < 0.8
    knots = np.linspace(0, 1999, 41)
    own = interpolate.make_lsq_spline(np.arange(2000.0), x, np.r_[[0] * 5, knots, [1999] * 5], 5)
    assert np.allclose(s, own(np.arange(2000.0)), atol=1e-10)
    with pytest.raises(TaupiError, match="at least 28 samples for 600 knots per second"):
        quintic(x[:20], RATE, 600)


@pytest.mark.parametrize("spoilt", ["a value is missing", "time stands still", "a single sample"])
def test_logs_that_are_not_clean_have_no_curves(spoilt):
    t, q = np.arange(100) / 100, np.sin(np.arange(100) / 5)[:, None]
    if spoilt == "a value is missing":
        q[5] = np.nan
    elif spoilt == "time stands still":
        t[7] = t[6]
    else:
        t, q = t[:1], q[:1]
    log = tp.Log(t, q)
    for use in (lambda: tp.signals.remove_delay(log, "q", 0.0), lambda: tp.signals.average_periods(log, 0.3)):
        with pytest.raises(TaupiError, match=r"Use taupi\.clean_log first"):
            use()
