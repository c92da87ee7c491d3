"""The log: shapes checked when it is made, copies that say what was done, nothing that changes."""

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.log import SIGNALS, LogSource
from taupi.signals.stretches import Stretches


def made(rows=50, n=3, seed=0, **more):
    rng = np.random.default_rng(seed)
    signals = {name: rng.normal(size=(rows, n)) for name in SIGNALS}
    return tp.Log(np.arange(rows) / 100, **{**signals, **more})


def test_what_it_is():
    log = made(names=("a", "b", "c"), units=("m", "rad", "rad"))
    assert (log.n, len(log)) == (3, 50)
    assert log.rate_hz == pytest.approx(100) and log.duration == pytest.approx(0.49)
    assert list(log.signals) == list(SIGNALS)
    text = repr(log)
    assert text.splitlines()[0] == "Log: 50 samples of 3 joints, 0.49 s at 100 Hz: " + " ".join(SIGNALS)
    assert len(text.splitlines()) == 6 and "a      m" in text
    assert "missing" not in text
    with pytest.raises(ValueError, match="read-only"):
        log.q[0, 0] = 1.0
    with pytest.raises(AttributeError):
        log.q = log.qd


def test_a_log_does_not_lock_the_arrays_it_was_made_from():
    q = np.zeros((4, 1))
    tp.Log(np.arange(4), q)
    q[0] = 1.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"q": np.zeros(5)}, r"q has shape \(5,\), expected \(N, n\). A single joint has shape \(N, 1\)"),
        ({"q": np.zeros((4, 2))}, r"q has shape \(4, 2\), expected \(5, 2\): one row per time stamp"),
        ({"qd": np.zeros((5, 3))}, r"qd has shape \(5, 3\), expected \(5, 2\): .* one value per joint \(j1 ... j2\)"),
        ({"tau": [["x", 1]] * 5}, "tau is .*, expected an array of numbers"),
        ({"time": np.zeros((5, 1))}, r"time has shape \(5, 1\), expected \(N,\)"),
        ({"q": np.zeros((5, 0))}, "q has no columns"),
        ({"names": ("a",)}, r"names is \('a',\), expected 2 texts"),
        ({"names": ("a", "a")}, "names holds 'a' twice"),
        ({"units": ("rad", "deg")}, "units holds 'deg', expected 'rad' or 'm'"),
    ],
)
def test_bad_arrays(fields, message):
    good = {"time": np.arange(5.0), "q": np.zeros((5, 2))}
    with pytest.raises(TaupiError, match=message):
        tp.Log(**{**good, **fields})


def test_copies_keep_all_signals_in_step():
    log = made()
    part = log.slice(0.1, 0.2)
    assert np.array_equal(part.time, log.time[10:20])
    for name in SIGNALS:
        assert np.array_equal(part.signals[name], log.signals[name][10:20])
    assert "10 of 50" in part.notes[-1] and not log.notes
    thin = log.decimate(7)
    assert np.array_equal(thin.tau, log.tau[::7]) and np.array_equal(thin.time, log.time[::7])
    assert log.decimate(1) is log
    some = log.select(["j3", 0])
    assert some.names == ("j3", "j1") and np.array_equal(some.qdd, log.qdd[:, [2, 0]])
    assert log.with_(notes="one").with_(notes=["two", "three"]).notes == ("one", "two", "three")


def test_drop_gaps_and_segments():
    log = made()
    q, tau, time = log.q.copy(), log.tau.copy(), log.time.copy()
    q[3, 1] = np.nan
    tau[40:43, 0] = np.inf
    time[7] = np.nan
    kept = log.with_(q=q, tau=tau, time=time).drop_gaps()
    assert len(kept) == 45 and np.isfinite(kept.q).all()
    assert kept.notes[-1] == "left out 5 samples with missing values: rows 3, 7, 40-42"
    broken = log.with_(time=np.concatenate((log.time[:20], log.time[20:] + 5.0)))
    a, b = broken.segments()
    assert (len(a), len(b)) == (20, 30) and np.array_equal(b.q, log.q[20:])
    assert len(broken.segments(gap=10.0)) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: log.slice(7, 8), "slice from 7 to 8 s holds no sample. The log has 0 .. 0.49 s"),
        (lambda log: log.slice("a"), "start is 'a', expected a number of seconds"),
        (lambda log: log.decimate(0), "k is 0, expected a whole number"),
        (lambda log: log.decimate(1.5), "k is 1.5, expected a whole number"),
        (lambda log: log.select("j1"), "joints is 'j1', expected a list"),
        (lambda log: log.select(["j4"]), "No joint 'j4' in the log. Known: j1, j2, j3"),
        (lambda log: log.select([3]), "joint is 3, expected a name or a number from 0 to 2"),
        (lambda log: log.select([]), "joints is empty"),
        (lambda log: log.with_(torque=1), "No field 'torque' in Log"),
        (lambda log: log.with_(tau=None).need("tau"), "tau is missing. The log has q, qd"),
        (
            lambda log: log.with_(tau=None, current=log.tau).need("tau"),
            "or state motor.torque_per_ampere in the mapping.",
        ),
        (lambda log: log.need("torque"), "No signal 'torque'"),
    ],
)
def test_bad_calls(call, message):
    with pytest.raises(TaupiError, match=message):
        call(made())


def test_runs_are_the_inverse_of_masks():
    rng = np.random.default_rng(1)
    for _ in range(50):
        mask = rng.random(30) < 0.4
        runs = Stretches.of(mask)
        assert np.array_equal(runs.mask(30), mask) and runs.count == mask.sum()
        assert all(mask[a:b].all() and not mask[a - 1 : a].any() and not mask[b : b + 1].any() for a, b in runs)
    assert str(Stretches.of(np.arange(20) % 2 == 0)) == "rows 0, 2, 4, 6, 8 and 5 more stretches"


def test_frames_in_and_out():
    pandas = pytest.importorskip("pandas")
    log = made(names=("a", "b", "c"))
    again = tp.Log.from_frame(log.to_frame())
    for name, value in log.signals.items():
        assert np.array_equal(again.signals[name], value)
    assert again.names == log.names and again.source == LogSource(format="pandas")
    stamps = pandas.to_datetime(np.array([0, 10, 20]) * 10**6 + 17 * 10**17, unit="ns")
    frame = pandas.DataFrame({"q1": [1.0, 2, 3], "who": list("abc")}, index=pandas.Index(stamps, name="time"))
    assert np.allclose(tp.Log.from_frame(frame).time, [0, 0.01, 0.02])
    with pytest.raises(TaupiError, match="expected a pandas DataFrame"):
        tp.Log.from_frame([1, 2])
    with pytest.raises(TaupiError, match="no columns of numbers"):
        tp.Log.from_frame(frame[["who"]].reset_index(drop=True))


def test_delays_are_kept_one_per_joint():
    log = tp.Log(np.arange(3) / 10, np.ones((3, 2)), delays={"q": 0.01, "tau": (0.0, 0.02)})
    assert log.delays == {"q": (0.01, 0.01), "tau": (0.0, 0.02)}
    assert log.select([1]).delays == {"q": (0.01,), "tau": (0.02,)}


@pytest.mark.parametrize("delays", [3, {"q": "late"}, {"q": (0.1, 0.2, 0.3)}, {"q": np.nan}, {"speed": 0.1}])
def test_delays_that_cannot_be_are_refused(delays):
    with pytest.raises(TaupiError) as refused:
        tp.Log(np.arange(3) / 10, np.ones((3, 2)), delays=delays)
    assert refused.value.argument == "delays"


def test_a_log_without_samples_has_no_origin(tmp_path):
    empty = tp.Log(np.zeros(0), np.zeros((0, 2)))
    assert np.isnan(empty.origin)
    np.savez(tmp_path / "run.npz", time=empty.time, q=empty.q)
    for part in ({"begin": 0.5}, {"end": 1.0}, {"rows": ":5"}):
        with pytest.raises(TaupiError, match=r"The log has no rows, and so none within"):
            tp.read_log(tmp_path / "run.npz", **part)
