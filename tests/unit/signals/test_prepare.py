"""From a raw log to signals for a regressor, whole and in blocks."""

import tracemalloc

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.filtering.filters import edge_rows

RATE, FUNDAMENTAL = 1000.0, 0.25


def motion(t, n=2):
    """A periodic motion of five harmonics and its two derivatives, (3, N, n)."""
    rng = np.random.default_rng(11)
    k = np.arange(1, 6)
    a, b = rng.normal(size=(2, 5, n)) / k[:, None]
    w = 2 * np.pi * FUNDAMENTAL * k[:, None]
    angle = np.outer(t, w[:, 0])
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c @ a + s @ b, c @ (w * b) - s @ (w * a), -(c @ (w**2 * a) + s @ (w**2 * b))])


@pytest.fixture(scope="module")
def arm():
    return tp.load("elbow2r").with_friction(viscous=0.5)


@pytest.fixture(scope="module")
def log(arm):
    """Twelve seconds of the elbow arm with noise, and with standstill before and after."""
    t = np.arange(int(12 * RATE)) / RATE
    q, qd, qdd = motion(t)
    tau = tp.inverse_dynamics(arm, terms=("viscous",))(q, qd, qdd)
    rng = np.random.default_rng(12)
    scale = np.abs(tau).max()
    q, tau = q + 1e-5 * rng.normal(size=q.shape), tau + 0.02 * scale * rng.normal(size=tau.shape)
    return tp.Log(t, q, tau=tau)


@pytest.mark.parametrize("derivatives", ["central", "spline", "fourier", "quintic"])
def test_prepared_signals_are_near_the_truth(arm, log, derivatives):
    ready = tp.prepare(log, derivatives=derivatives)
    q, qd, qdd = motion(ready.time)
    for got, want, most in ((ready.q, q, 1e-3), (ready.qd, qd, 5e-3), (ready.qdd, qdd, 0.05)):
        assert np.linalg.norm(got - want) < most * np.linalg.norm(want)
    tau = tp.inverse_dynamics(arm, terms=("viscous",))(ready.q, ready.qd, ready.qdd)
    assert np.linalg.norm(ready.tau - tau) < 0.02 * np.linalg.norm(tau)
    assert any(derivatives.split()[0][:6] in note.lower() for note in ready.notes)


def test_parameters_come_out_of_prepared_signals(arm, log):
    """The point of it all: least squares on prepared signals finds the base parameters within a few percent."""
    ready = tp.prepare(log)
    Y = tp.regressor(arm, terms=("viscous",))
    base = Y.independent()
    W = base(ready.q, ready.qd, ready.qdd).reshape(-1, len(base.parameters))
    values, *_ = np.linalg.lstsq(W, ready.tau.ravel(), rcond=None)
    truth = tp.inverse_dynamics(arm, terms=("viscous",))(*motion(ready.time))
    assert np.linalg.norm(W @ values - truth.ravel()) < 0.01 * np.linalg.norm(truth)


def test_notes_tell_every_step(log):
    still = np.repeat(log.q[:1], 800, axis=0), np.repeat(log.q[-1:], 1500, axis=0)
    q = np.concatenate((still[0], log.q, still[1]))
    tau = np.concatenate((log.tau[:1] + 0 * still[0], log.tau, log.tau[-1:] + 0 * still[1]))
    ready = tp.prepare(tp.Log(np.arange(len(q)) / RATE, q, tau=tau), cutoff_hz=20)
    notes = "\n".join(ready.notes)
    for word in (
        "trimmed standstill: 7",
        "zero-phase Butterworth of order 4, cutoff 20 Hz",
        "central differences",
        "cut 50 samples",
    ):
        assert word in notes, notes
    assert "kept every 5th sample" in notes and ready.rate_hz == pytest.approx(200)
    assert 0.7 < ready.time[0] < 0.9 and 12.7 < ready.time[-1] < 12.9
    untrimmed = tp.prepare(tp.Log(np.arange(len(q)) / RATE, q, tau=tau), cutoff_hz=20, trim=False, decimate=1)
    assert len(untrimmed) == len(q) - 2 * edge_rows(RATE, 20)


def test_measured_velocities_are_used_where_they_agree(log):
    qd = motion(log.time)[1]
    noise = 1e-3 * np.random.default_rng(1).normal(size=qd.shape)
    good, bad = log.with_(qd=qd + noise), log.with_(qd=qd * [1, -1])
    assert "qd as measured" in "\n".join(tp.prepare(good).notes)
    assert "central differences of q" in "\n".join(tp.prepare(bad).notes)
    forced = tp.prepare(bad, velocity="measured")
    assert np.linalg.norm(forced.qd[:, 1] + motion(forced.time)[1][:, 1]) < 0.01 * np.linalg.norm(forced.qd[:, 1])
    assert "central differences of q" in "\n".join(tp.prepare(good, velocity="position").notes)
    with pytest.raises(TaupiError, match="qd is missing"):
        tp.prepare(log, velocity="measured")


def test_the_motor_side_is_prepared_too(log):
    both = log.with_(theta=100 * log.q, tau_m=log.tau / 100)
    ready = tp.prepare(both, cutoff_hz=15)
    assert np.allclose(ready.thetadd, 100 * ready.qdd, atol=1e-9) and np.allclose(100 * ready.tau_m, ready.tau)


def test_jitter_and_a_short_gap_on_the_way(log):
    rng = np.random.default_rng(3)
    t = log.time + rng.uniform(0, 3e-4, len(log))
    keep = np.delete(np.arange(len(log)), np.arange(5000, 5006))
    q, qd, _ = motion(t)
    ready = tp.prepare(tp.Log(t, q, tau=qd).rows(keep))
    truth = motion(ready.time)
    assert np.linalg.norm(ready.qdd - truth[2]) < 0.01 * np.linalg.norm(truth[2])
    assert np.linalg.norm(ready.tau - truth[1]) < 0.01 * np.linalg.norm(truth[1])
    assert any("interpolated on a grid" in note for note in ready.notes)


@pytest.mark.parametrize("size", [64, 700, 5000, 50000])
@pytest.mark.parametrize("decimate", [1, 7])
def test_blocks_are_prepared_as_one(log, size, decimate):
    blocks = (log.rows(slice(a, a + size)) for a in range(0, len(log), size))
    parts = list(tp.signals.prepare_blocks(blocks, RATE, 25.0, decimate=decimate))
    at_once = tp.prepare(log, cutoff_hz=25.0, decimate=decimate, trim=False)
    assert np.array_equal(np.concatenate([p.time for p in parts]), at_once.time)
    for name in ("q", "qd", "qdd", "tau"):
        got, want = np.concatenate([getattr(p, name) for p in parts]), getattr(at_once, name)
        assert np.abs(got - want).max() < 1e-7 * np.abs(want).max()


def peak_memory(file):
    tracemalloc.start()
    count = sum(
        len(b) for b in tp.signals.prepare_blocks(tp.signals.log_blocks(file, size=10_000), RATE, 20.0, decimate=10)
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return count, peak


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_a_long_file_passes_in_bounded_memory(tmp_path, ending):
    peaks = []
    for rows in (50_000, 250_000):
        t = np.arange(rows) / RATE
        file = tmp_path / f"long{rows}{ending}"
        tp.write_log(tp.Log(t, np.sin(t)[:, None] * np.ones(3), tau=np.cos(t)[:, None] * np.ones(3)), file)
        del t
        count, peak = peak_memory(file)
        assert count == pytest.approx(rows / 10, abs=20)
        peaks.append(peak)
    assert peaks[1] < 1.2 * peaks[0] + 2**20  # five times the rows, and no more memory


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"derivatives": "finite"}, "derivatives is 'finite', expected one of central, spline, quintic"),
        ({"velocity": "measure"}, r"velocity is 'measure', expected one of auto.*Did you mean 'measured'"),
        ({"cutoff_hz": 1e-300}, "cutoff_hz is 1e-300, expected at least 1e-06 Hz"),
        ({"cutoff_hz": 0.01}, "log has 12000 samples, too few for a cutoff of 0.01 Hz"),
        ({"cutoff_hz": 600}, "cutoff_hz is 600, expected below 500"),
        ({"decimate": 0}, "decimate is 0"),
        ({"derivatives": "fourier", "period": -1}, "period is -1"),
    ],
)
def test_bad_options(log, options, message):
    with pytest.raises(TaupiError, match=message):
        tp.prepare(log, **options)


def test_bad_blocks(log):
    with refused("decimate", got=0):
        list(tp.signals.prepare_blocks([log], RATE, 10, decimate=0))
    with pytest.raises(TaupiError, match=r"time steps by 0.001 s at .*, expected 0.002 s. Clean the log first"):
        list(tp.signals.prepare_blocks([log], 500, 10))
    with pytest.raises(TaupiError, match=r"a block has the signals q, expected q, tau"):
        list(tp.signals.prepare_blocks([log, log.with_(tau=None)], RATE, 10))
    with pytest.raises(TaupiError, match="no period was found"):
        tp.prepare(log.with_(q=np.linspace(0, 1, len(log))[:, None] * [1, 2]), derivatives="fourier", cutoff_hz=10)
    assert list(tp.signals.prepare_blocks([], RATE, 10)) == []


def test_filtering_of_others(log):
    """Causal filters, no filter, backward differences: what each makes of a log, and the notes that say so."""
    plain = {"cutoff_hz": 20, "decimate": 1, "trim": False}
    late = tp.prepare(log, filtering="causal", derivatives="backward", order=5, **plain)
    edge = edge_rows(RATE, 20)
    want = tp.signals.butterworth(log.q, RATE, 20, 5, causal=True)
    assert np.array_equal(late.q, want[edge:-edge])
    assert np.allclose(late.qd, (RATE * np.diff(want, axis=0, prepend=want[:1]))[edge:-edge])
    assert np.array_equal(late.tau, tp.signals.butterworth(log.tau, RATE, 20, 5, causal=True)[edge:-edge])
    raw = tp.prepare(log, filtering="none", derivatives="backward", decimate=1, trim=False)
    assert np.array_equal(raw.q, log.q[3:-3]) and np.array_equal(raw.tau, log.tau[3:-3])
    assert "not filtered" in raw.notes and "a causal Butterworth of order 5" in "\n".join(late.notes)
    with refused("filtering", got="casual", close="causal"):
        tp.prepare(log, filtering="casual")


def test_recorded_derivatives_are_taken_as_they_are(log):
    q, qd, qdd = motion(log.time)
    full = tp.Log(log.time, q, qd=qd, qdd=qdd, tau=log.tau)
    same = tp.prepare(full, filtering="none", derivatives="recorded", trim=False, decimate=1)
    assert all(np.array_equal(getattr(same, k), getattr(full, k)) for k in ("time", "q", "qd", "qdd", "tau"))
    smooth = tp.prepare(full, derivatives="recorded", cutoff_hz=20, trim=False, decimate=1)
    edge = edge_rows(RATE, 20)
    assert np.array_equal(smooth.qdd, tp.signals.butterworth(qdd, RATE, 20)[edge:-edge])
    with pytest.raises(TaupiError, match="qd is missing"):
        tp.prepare(log, derivatives="recorded")


@pytest.mark.parametrize("filtering", ["zero-phase", "causal", "none"])
def test_a_prepared_log_is_not_prepared_again(arm, log, filtering):
    ready = tp.prepare(log, cutoff_hz=20, filtering=filtering)
    problem = tp.estimators.build_problem(arm, ready, terms=("viscous",))
    blocks = list(problem.rows(0))
    for name in ("qdd", "tau"):
        assert np.array_equal(np.concatenate([getattr(b, name) for b in blocks]), getattr(ready, name))
