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
        made = log()
        tp.write_log(made, folder / f"{name}.parquet")
        tp.write_log(made.with_(tau=made.tau + 0.01 * np.cos(7 * made.time)[:, None]), folder / f"{name}2.parquet")
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
    from taupi.identification.identify import fit_inputs
    from taupi.identification.inputs import FitInputs
    from taupi.identification.rows import block_source, recording

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
