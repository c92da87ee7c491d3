"""Logs compressed where they were recorded, and the fit of their pieces: that of the logs themselves."""

import json

import numpy as np
import pytest
from command_line import taupi
from refusals import refused
from runs_of_arms import arm, recorded, write_runs

import taupi as tp

LINEAR = ("rotor", "viscous", "coulomb", "offset")
SETTINGS = {"cutoff_hz": 10, "slow": 0.02}


@pytest.fixture(scope="module")
def fit():
    return tp.identify(arm(), recorded(0), "wls", LINEAR, **SETTINGS)


def compressed(fit, folder, count, ending=".piece"):
    paths = [folder / f"run-{k}{ending}" for k in range(count)]
    for k, path in enumerate(paths):
        tp.compress_log(fit, recorded(k), path)
    return paths


def test_the_fit_of_pieces_is_that_of_the_logs(fit, tmp_path):
    """Triangles of the same rows: only the stretches that standard errors are taken from are others."""
    later = tp.identify_pieces(fit, compressed(fit, tmp_path, 3), "wls")
    at_once = tp.identify(arm(), [recorded(k) for k in range(3)], "wls", LINEAR, **SETTINGS)
    assert np.allclose(later.values, at_once.values, rtol=1e-8, atol=1e-10)
    assert np.allclose(later.stderr, at_once.stderr, rtol=0.5)
    assert later.relative == pytest.approx(at_once.relative, rel=1e-9)
    assert later.validate(recorded(9)).relative < 1.5 * at_once.validate(recorded(9)).relative
    assert [log.rate_hz for log in later.logs] == [log.rate_hz for log in at_once.logs]


def test_pieces_of_very_many_logs_are_packed_and_have_fewer_stretches(fit, tmp_path, monkeypatch):
    paths = compressed(fit, tmp_path, 3)
    few = tp.identify_pieces(fit, paths, "wls")
    monkeypatch.setattr("taupi.identification.rows.pieces._MANY", 2)
    packed = tp.identify_pieces(fit, paths, "wls")
    assert np.array_equal(packed.values, few.values) and np.array_equal(packed.covariance, few.covariance)
    monkeypatch.setattr("taupi.identification.piecewise.most_stretches", lambda logs: 1)
    joined = tp.identify_pieces(fit, paths, "wls")
    assert np.allclose(joined.values, few.values, rtol=1e-9, atol=1e-12)
    assert joined.relative == pytest.approx(few.relative, rel=1e-12)


def test_friction_that_depends_on_load_has_that_of_the_earlier_fit(tmp_path):
    fit = tp.identify(arm(), [recorded(k) for k in range(2)], **SETTINGS)
    tp.write_fit(fit, tmp_path / "fit.json")
    stored = tp.load_fit(tmp_path / "fit.json")
    later = tp.identify_pieces(stored, compressed(stored, tmp_path, 2))
    assert later.names == fit.names
    assert (np.abs(later.values - fit.values) < fit.stderr)[~fit.undetermined].all()
    assert later.validate(recorded(9)).relative < 1.2 * fit.validate(recorded(9)).relative


def test_what_does_not_belong_together_is_refused(fit, tmp_path):
    (path,) = compressed(fit, tmp_path, 1)
    other = tp.identify(arm(), recorded(0), "wls", LINEAR, cutoff_hz=8, slow=0.02)
    with pytest.raises(tp.TaupiError, match="compressed by another fit"):
        tp.identify_pieces(other, path)
    with pytest.raises(tp.TaupiError, match="needs the logs themselves"):
        tp.identify_pieces(fit, path, "huber")
    with pytest.raises(tp.TaupiError, match="force"):
        tp.compress_log(fit, recorded(0), path)
    with refused("fit", got=3):
        tp.compress_log(3, recorded(0), path, force=True)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(tp.TaupiError, match="cut off or damaged"):
        tp.identify_pieces(fit, path)
    with pytest.raises(tp.TaupiError, match="No file"):
        tp.identify_pieces(fit, tmp_path / "none.piece")
    with pytest.raises(tp.TaupiError, match="is empty"):
        tp.identify_pieces(fit, [])


def test_the_command_line_compresses_and_combines(fit, tmp_path):
    write_runs(tmp_path, 2)
    tp.write_fit(fit, tmp_path / "fit.json")
    for k in range(2):
        done = taupi("compress", "fit.json", f"run-0{k}.parquet", "-o", f"{k}.piece", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "0.piece").stat().st_size < 300_000
    done = taupi("combine", "fit.json", "*.piece", "-o", "later", "--estimator", "wls", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    later = tp.load_fit(tmp_path / "later")
    at_once = tp.identify(arm(), [tmp_path / "run-00.parquet", tmp_path / "run-01.parquet"], "wls", LINEAR, **SETTINGS)
    assert np.allclose(later.values, at_once.values, rtol=1e-8, atol=1e-10)
    again = taupi("compress", "fit.json", "run-00.parquet", "-o", "0.piece", cwd=tmp_path)
    assert again.returncode == 3
    assert "--force" in again.stderr


@pytest.mark.parametrize("name", ["least_speeds", "speeds"])
def test_a_piece_whose_record_is_of_another_number_of_joints(fit, tmp_path, name):
    """It was counted by nobody, and ended in a traceback when the note on slow rows was written."""
    (path,) = compressed(fit, tmp_path, 1)
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files}
    data = json.loads(str(arrays["data"]))
    data["record"][name] = data["record"][name][:-1]
    with path.open("wb") as stream:
        np.savez(stream, **(arrays | {"data": np.array(json.dumps(data))}))
    with pytest.raises(tp.TaupiError, match="is not a piece of a fit, or it is cut off or damaged"):
        tp.identify_pieces(fit, [path])
