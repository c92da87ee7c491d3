"""One path from a log to rows: at once, streamed in blocks of any size, and in parallel, every setting gives the same answer."""

import dataclasses

import numpy as np
import pytest
from settings_samples import LOGS, SAMPLES, cases, label, robot_of, settings, terms_of

import taupi as tp
from taupi.identification.rows.preparation import Preparation

BLOCKS = (333, 1000, 2500)  # samples: shorter than a filter remembers, about as long, and most of the log
SAME = 1e-9  # filters of blocks forget their neighbours to 1e-12 of a sample


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for name, log in LOGS.items():
        recorded = log()
        tp.write_log(recorded, folder / f"{name}.parquet")
        tp.write_log(
            recorded.with_(tau=recorded.tau + 0.01 * np.cos(7 * recorded.time)[:, None]), folder / f"{name}2.parquet"
        )
    return folder


def test_every_setting_has_a_sample():
    assert set(SAMPLES) == {f.name for f in dataclasses.fields(Preparation)}


@pytest.mark.parametrize(("name", "sample"), cases(), ids=label)
def test_blocks_and_workers_change_nothing(folder, name, sample):
    robot, files = robot_of(sample), [folder / f"{sample.log}.parquet", folder / f"{sample.log}2.parquet"]

    def fit(logs, **reading):
        return tp.identify(robot, logs, "wls", terms_of(sample), **settings(name, sample), **reading)

    def assert_same(a, b):
        assert a.names == b.names and a.terms == b.terms
        assert np.abs(a.values - b.values).max() < SAME * np.abs(b.values).max()
        assert np.allclose(a.stderr, b.stderr, rtol=1e-6)
        assert a.preparation == b.preparation

    at_once = fit(files[:1], stream=False)
    assert_same(fit(tp.read_log(files[0], robot)), at_once)
    both = fit(files, stream=False, workers=1)
    assert_same(fit(files, stream=False, workers=2), both)
    streams = sample.streams and sample.log != "gaps"
    for block in BLOCKS:
        if streams:
            assert_same(fit(files[:1], stream=True, block=block), at_once)
        else:  # never replaced by something else: refused, with the way out
            with pytest.raises(tp.TaupiError, match=r"stream.*stream=False"):
                fit(files[:1], stream=True, block=block)
    if streams:
        assert_same(fit(files, stream=True, block=BLOCKS[1], workers=2), both)


@pytest.mark.parametrize(("name", "sample"), cases(), ids=label)
def test_every_setting_makes_a_difference(folder, name, sample):
    """Otherwise the test above would compare what nobody has asked for."""
    robot, file = robot_of(sample), folder / f"{sample.log}.parquet"
    asked = settings(name, sample)
    default = {**asked, name: 12.0 if name == "cutoff_hz" else getattr(Preparation(), name)}
    if sample.log == "gaps":
        with pytest.raises(tp.TaupiError, match="gap"):
            tp.identify(robot, file, "wls", terms_of(sample), **default)
        return
    a, b = (tp.identify(robot, file, "wls", terms_of(sample), **s).values for s in (asked, default))
    assert len(a) != len(b) or np.abs(a - b).max() > 1e-6 * np.abs(b).max()


def test_measured_velocities_are_taken_in_a_stream_too(folder):
    """`velocity="auto"` sees the whole motion, not the first block, and says what it took."""
    robot = robot_of(SAMPLES["velocity"][0])
    for stream in (True, False):
        fit = tp.identify(robot, folder / "recorded.parquet", stream=stream, cutoff_hz=12.0)
        assert any("qd as measured" in note for note in fit.notes), fit.notes


def test_standstill_is_trimmed_in_a_stream_too(folder):
    robot = robot_of(SAMPLES["velocity"][0])
    fits = [
        tp.identify(robot, folder / "recorded.parquet", stream=stream, block=400, cutoff_hz=12.0)
        for stream in (True, False)
    ]
    notes = [next(n for n in fit.notes if "trimmed standstill" in n) for fit in fits]
    assert notes[0] == notes[1] and fits[0].joints[0].rows == fits[1].joints[0].rows


def test_a_setting_and_its_subject_together_are_refused(folder):
    robot = robot_of(SAMPLES["velocity"][0])
    for keywords in ({"cutoff_hz": 10}, {"derivatives": "nonsense"}):
        with pytest.raises(tp.TaupiError, match="and preparation are both given"):
            tp.identify(robot, folder / "recorded.parquet", preparation=tp.Preparation(cutoff_hz=3), **keywords)


def test_a_log_is_read_and_prepared_once_for_a_fit_and_its_report(folder, monkeypatch):
    """The trials of a verdict, which smooth short beginnings with mistakes undone, are counted apart."""
    from taupi.identification.identify import fit_inputs
    from taupi.identification.inputs import FitInputs
    from taupi.identification.results.verdict import Verdict
    from taupi.identification.rows import block_source, recording
    from taupi.identification.verdict import judge

    monkeypatch.setattr(judge, "judge", lambda fit, problem: Verdict())
    read, smoothed = [], []
    real_read, real_smooth = block_source.read_log, recording.smooth_blocks
    monkeypatch.setattr(block_source, "read_log", lambda *a, **k: read.append(a) or real_read(*a, **k))
    monkeypatch.setattr(recording, "smooth_blocks", lambda *a, **k: smoothed.append(a) or real_smooth(*a, **k))
    robot = robot_of(SAMPLES["velocity"][0])
    inputs = FitInputs(robot, folder / "recorded.parquet", preparation=tp.Preparation(cutoff_hz=12.0))
    fit, (own,) = fit_inputs(inputs, "consistent", validated=True)
    assert len(read) == 1 and len(smoothed) == 1
    again = fit.validate(folder / "recorded.parquet")
    assert again.relative == pytest.approx(own.relative, rel=1e-9) and len(again.time) == len(own.time)


def standing_then_moving(seed):
    """Return a noisy log that stands for 12 s, longer than a block, and then moves: what is chosen is close to a tie."""
    rng, robot, rate = np.random.default_rng(seed), robot_of(SAMPLES["velocity"][0]), 200.0
    still, duration = 12.0, float(rng.uniform(4, 15))
    t = np.arange(round((still + duration) * rate)) / rate
    w = 2 * np.pi * np.array([0.2, 0.4, 0.6, 1.0, 1.4])[:, None]
    a, angle = rng.uniform(0.05, 0.4, (5, 2)), w * np.clip(t - still, 0, None)[:, None, None]
    moves = (t > still)[:, None]
    q = (a * (1 - np.cos(angle))).sum(axis=1)
    qd, qdd = moves * (a * w * np.sin(angle)).sum(axis=1), moves * (a * w * w * np.cos(angle)).sum(axis=1)
    tau = tp.inverse_dynamics(robot, terms=("viscous", tp.terms.Coulomb(0.05), "offset"))(q, qd, qdd)
    noise = float(rng.choice([1, 3, 6.0]))
    q, tau = q + 1e-4 * rng.normal(size=q.shape), tau + noise * rng.normal(size=q.shape)
    return tp.Log(t, q, tau=tau, names=robot.joint_names)


@pytest.mark.parametrize("seed", [14, 32])
def test_what_is_chosen_from_the_data_does_not_depend_on_blocks(tmp_path, seed):
    """Cutoff and shape of friction left open, after a standstill that ends in the middle of a block."""
    robot, path = robot_of(SAMPLES["velocity"][0]), tmp_path / "run.npz"
    tp.write_log(standing_then_moving(seed), path)
    at_once = tp.identify(robot, path, "wls", ("viscous", "coulomb", "offset"), stream=False)
    for block in (2400, 2390, 400):
        fit = tp.identify(robot, path, "wls", ("viscous", "coulomb", "offset"), stream=True, block=block)
        assert fit.terms == at_once.terms and fit.logs[0].cutoff_hz == pytest.approx(at_once.logs[0].cutoff_hz)
        assert np.abs(fit.values - at_once.values).max() < 1e-8 * np.abs(at_once.values).max()


def test_torque_that_begins_late_is_no_silence(folder, tmp_path):
    log = tp.read_log(folder / "recorded.parquet")
    late, silent = log.tau.copy(), np.zeros(log.tau.shape)
    late[:360] = 0.0
    robot = robot_of(SAMPLES["velocity"][0])
    tp.write_log(log.with_(tau=late), tmp_path / "late.npz")
    tp.write_log(log.with_(tau=silent), tmp_path / "silent.npz")
    assert tp.identify(robot, tmp_path / "late.npz", stream=True, block=333, cutoff_hz=12.0).status.ok
    with pytest.raises(tp.TaupiError, match="0 in every row"):
        tp.identify(robot, tmp_path / "silent.npz", stream=True, block=333, cutoff_hz=12.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"velocity": "measured", "derivatives": "spline"},
        {"velocity": "position", "derivatives": "recorded"},
        {"velocity": "measured", "derivatives": "recorded"},
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings):
    with pytest.raises(tp.TaupiError, match="contradict each other"):
        tp.Preparation(**settings)


def test_what_validation_does_not_use_is_no_keyword_of_it(folder):
    fit = tp.identify(robot_of(SAMPLES["velocity"][0]), folder / "recorded.parquet", cutoff_hz=12.0)
    with pytest.raises(tp.TaupiError, match="No setting 'threshold'"):
        fit.validate(folder / "recorded.parquet", threshold=5.0)


def test_settings_of_a_base_class_are_taken(folder):
    robot, path = robot_of(SAMPLES["velocity"][0]), folder / "recorded.parquet"
    a = tp.identify(robot, path, reading=tp.Reading(), preparation=tp.Smoothing(cutoff_hz=12.0))
    assert np.array_equal(a.values, tp.identify(robot, path, cutoff_hz=12.0).values)
    with pytest.raises(TypeError, match="'logs'"):
        tp.identify(robot)
    with pytest.raises(tp.TaupiError) as info:
        tp.identify(robot, path, block=1)
    assert info.value.argument == "block"
