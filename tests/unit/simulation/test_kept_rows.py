"""What is kept of roll-outs: the same rows however many there are in between, in little memory, as runs or as their summary."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taupi as tp
from taupi.simulation.rollouts import compiled_rollout, results

ARM = tp.load("elbow2r")
PLANT = tp.RigidPlant(ARM, terms=("viscous", "coulomb"))
MOTION = tp.Sinusoids([0.3, -0.4], [[0.5], [0.4]], [[1.3], [2.0]])
STARTS = np.random.default_rng(5).normal(size=(70, 2)) * 0.2
SETTINGS = {
    "law": {
        "controller": tp.SlotineLi(ARM, K=0.2),
        "reference": MOTION,
        "sensors": tp.Sensors(qd_noise=1e-3, delay=0.002),
    },
    "substeps": {"substeps": 3},
    "continuous": {"controller": tp.ComputedTorque(ARM), "reference": MOTION, "control": "continuous", "substeps": 2},
    "loads": {"payloads": [[(0.03, tp.Payload(2.0)), (0.0613, None)]] * 70},
    "python": {"controller": lambda t, q, qd: -2 * q - 0.1 * qd, "sensors": tp.Sensors(qd_noise=1e-3)},
}


def simulated(setting, **options):
    return tp.simulate_many(PLANT, duration=0.1, rate=500, initial=STARTS, **SETTINGS[setting], **options)


@pytest.fixture(scope="module")
def complete():
    """The runs that keep every period, by one thread."""
    return {name: simulated(name, threads=1) for name in SETTINGS}


@settings(max_examples=15)
@given(st.sampled_from(list(SETTINGS)), st.integers(2, 60), st.integers(1, 3))
def test_rows_do_not_depend_on_how_many_are_kept_nor_on_threads(complete, setting, every, threads):
    few, all_rows = simulated(setting, every=every, threads=threads), complete[setting]
    for name in ("q", "qd", "qdd", "tau", "tau_command", "energy", "work", "heat", "residual"):
        assert np.array_equal(few.stack(name), all_rows.stack(name)[:, ::every]), name
    one = few[41]
    assert np.array_equal(one.q, few.q[41]) and one is few[41] and one is few.runs[41:42][0]
    assert np.array_equal(one.work, all_rows[41].work[::every])


def test_nothing_depends_on_what_memory_held_before_nor_on_how_the_audit_is_shared(monkeypatch):
    starts = np.random.default_rng(6).normal(size=(400, 2)) * 0.2
    law = {"controller": tp.SlotineLi(ARM, K=0.2), "reference": MOTION}
    payloads = [[(0.03, tp.Payload(2.0))]] * 400

    def runs(threads):
        return tp.simulate_many(
            PLANT, duration=0.1, rate=500, initial=starts, payloads=payloads, threads=threads, **law
        )

    before = runs(1)
    for room in (compiled_rollout, results):
        monkeypatch.setattr(room, "fresh", lambda shape: np.full(shape, np.nan))
    after = runs(3)
    for name in ("q", "qd", "qdd", "tau", "parameters", "energy", "residual"):
        assert np.array_equal(before.runs.stack(name), after.runs.stack(name)), name
    energy = tp.RigidPlant(ARM, terms=("viscous", "coulomb")).energy_program()
    first = [energy(np.concatenate([q, qd])) for q, qd in zip(after.q[:, 0], after.qd[:, 0], strict=True)]
    assert np.array_equal(after.runs.stack("energy")[:, 0], first)  # nothing is carried yet


def test_memory_does_not_grow_with_the_periods_between_rows():
    peaks = []
    for every in (100, 1000):
        tracemalloc.start()
        batch = tp.simulate_many(PLANT, duration=every / 1000, rate=1000, initial=STARTS, every=every, threads=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(batch.time) == 2
    assert peaks[1] < 1.1 * peaks[0] + 2**16


def test_runs_that_ended_early_are_stacked_with_gaps_and_pickled():
    with pytest.warns(UserWarning, match="diverged"):
        hot = tp.simulate_many(
            PLANT,
            tp.ComputedTorque(ARM, Kp=3e6, Kd=4e3),
            MOTION,
            duration=0.3,
            rate=500,
            initial=MOTION(0.0).q + STARTS[:5] * np.array([[0.0], [1e-9], [1.0], [9.0], [3.0]]),
        )
    assert not hot.complete.all()
    again = pickle.loads(pickle.dumps(hot))
    for name in ("q", "tau", "energy"):
        rows = [
            np.vstack([np.reshape(v, (len(v), -1)), np.full((len(hot.time) - len(v), v[0].size), np.nan)])
            for v in (getattr(r, name) for r in hot)
        ]
        assert np.array_equal(hot.stack(name).reshape(5, len(hot.time), -1), rows, equal_nan=True)
        assert np.array_equal(again.stack(name), hot.stack(name), equal_nan=True)
    assert np.array_equal(again.complete, hot.complete) and again[3].notes == hot[3].notes


@pytest.mark.parametrize("setting", ["law", "substeps", "continuous", "python"])
def test_a_summary_is_what_the_records_say(complete, setting):
    summary = tp.ensembles.simulate_summary(
        PLANT, duration=0.1, rate=500, initial=STARTS, threads=2, **SETTINGS[setting]
    )
    batch = complete[setting]
    assert np.array_equal(summary.q, batch.q[:, -1]) and np.array_equal(summary.peak_torque, abs(batch.tau).max(axis=1))
    rounding = 1e-13  # of sums over 51 periods
    assert np.allclose(summary.rms_torque, np.sqrt((batch.tau**2).mean(axis=1)), rtol=rounding, atol=0)
    if summary.rms_error is not None:
        error = batch.q - MOTION(batch.time).q
        assert np.array_equal(summary.peak_error, abs(error).max(axis=1))
        assert np.allclose(summary.rms_error, np.sqrt((error**2).mean(axis=1)), rtol=rounding, atol=0)
        assert np.allclose(summary.late_error, np.sqrt((error[:, 40:] ** 2).mean(axis=1)), rtol=rounding, atol=0)


@pytest.mark.parametrize("name", ["SlotineLi", "ComputedTorque"])
def test_laws_share_programs_by_what_they_contain(name):
    law = getattr(tp, name)
    gain = {"SlotineLi": "K", "ComputedTorque": "Kp"}[name]
    first = law(ARM, **{gain: np.array([3.0, 4.0])})
    assert law(ARM, **{gain: np.array([3.0, 4.0])}).program() is first.program()
    assert law(tp.load("elbow2r"), **{gain: [3.0, 4.0]}).step_program() is first.step_program()
    for other in (law(ARM, **{gain: np.array([3.0, 4.5])}), law(ARM), law(ARM, terms="viscous")):
        assert other.program() is not first.program()
