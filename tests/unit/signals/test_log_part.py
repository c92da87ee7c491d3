"""Parts of logs, by time and by rows, and encoder offsets: at once, in blocks, and for logs in memory."""

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.signals.read import asked_part, runs_of_file
from taupi.signals.reading import Streaming


def made(rows=1000, start=1000.3):
    t = start + np.arange(rows) / 100
    q = np.stack([np.arange(rows), -np.arange(rows)], axis=1).astype(float)
    return tp.Log(t, q, tau=2 * q, names=("a", "b"))


@pytest.fixture(scope="module", params=[".csv", ".parquet", ".npz"])
def file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / f"run{request.param}"
    tp.write_log(made(), path)
    return path


PARTS = [
    ({"begin": 2.0}, range(200, 1000)),
    ({"end": 2.0}, range(200)),
    ({"begin": 2.0, "end": 3.5}, range(200, 350)),
    ({"rows": (100, 400)}, range(100, 400)),
    ({"rows": "100:"}, range(100, 1000)),
    ({"rows": ":7"}, range(7)),
    ({"rows": slice(5, 9)}, range(5, 9)),
    ({"rows": "150:600", "begin": 2.0, "end": 90}, range(200, 600)),
]


@pytest.mark.parametrize(("part", "rows"), PARTS)
def test_a_part_is_that_of_the_log(file, part, rows):
    """Time counts from the first sample, whatever the file's own clock says; rows from 0, without the last."""
    want = made().rows(np.array(rows))
    for log in (tp.read_log(file, **part), asked_part(made(), tp.Reading(**part))):
        assert np.array_equal(log.time, want.time)
        assert np.array_equal(log.q, want.q) and np.array_equal(log.tau, want.tau)
    assert f"{len(rows)} of 1000 samples are read" in tp.read_log(file, **part).notes


@pytest.mark.parametrize("size", [3, 64, 150, 5000])
@pytest.mark.parametrize(("part", "rows"), PARTS)
def test_blocks_of_a_part_are_the_part(file, part, rows, size):
    blocks = list(tp.signals.log_blocks(file, size=size, **part))
    assert np.array_equal(np.concatenate([b.q for b in blocks]), made().q[np.array(rows)])
    assert all(len(b) >= min(size, len(rows)) for b in blocks[:-1])


@pytest.mark.parametrize("offset", [0.5, (0.25, -1.0)])
def test_encoder_offsets_are_added_to_q_alone(file, offset):
    log = tp.read_log(file, encoder_offset=offset)
    assert np.array_equal(log.q, made().q + np.array(offset)) and np.array_equal(log.tau, made().tau)
    assert log.notes[-1].startswith("encoder offset")
    blocks = tp.signals.log_blocks(file, size=300, encoder_offset=offset)
    assert np.array_equal(np.concatenate([b.q for b in blocks]), log.q)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"begin": 20, "end": 30},
            r"No sample lies within begin=20.0 and end=30.0: the log has 1000 rows, 9.99 s counted",
        ),
        ({"rows": (2000, None)}, r"No sample lies within rows='2000:'"),
        ({"begin": 3, "end": 3}, "begin is 3 and end is 3: nothing lies between"),
        ({"begin": "x"}, "begin is 'x', expected a finite number"),
        ({"end": np.inf}, "end is inf, expected a finite number"),
        ({"rows": "3"}, "rows is '3', expected first:stop"),
        ({"rows": "5:5"}, "rows is '5:5', expected first:stop"),
        ({"rows": "a:b"}, "rows is 'a:b', expected first:stop"),
        ({"rows": (-1, 5)}, r"rows is \(-1, 5\), expected first:stop"),
        ({"rows": slice(0, 9, 2)}, "rows is slice.*expected first:stop"),
        ({"rows": 7}, "rows is 7, expected first:stop"),
        ({"rows": (True, 5)}, "rows is .*expected first:stop"),
        ({"encoder_offset": (1, 2, 3)}, "encoder_offset is .*one for each of 2 joints"),
        ({"encoder_offset": "x"}, "encoder_offset is 'x'"),
    ],
)
def test_parts_that_there_are_not(file, settings, message):
    with pytest.raises(TaupiError, match=message):
        tp.read_log(file, **settings)
    with pytest.raises(TaupiError, match=message):
        list(tp.signals.log_blocks(file, size=100, **settings))


def test_identify_takes_parts_of_files_streams_and_logs(tmp_path):
    """All give the fit of the part, and held-out logs may be parts too."""
    arm, t, w = tp.load("elbow2r"), np.arange(3000)[:, None] / 100, np.array([1.0, 1.7])
    q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    tau = tp.inverse_dynamics(arm)(q, qd, qdd)
    tau[:500] = 100.0  # not yet switched on
    log = tp.Log(50 + t[:, 0], q, tau=tau, names=arm.joint_names)
    path = tmp_path / "run.npz"
    tp.write_log(log, path)
    want = tp.identify(arm, log.rows(slice(500, 2500)), "wls", terms=(), cutoff_hz=10)
    keywords = {"terms": (), "cutoff_hz": 10, "begin": 5, "end": 25}
    for logs, reading in ((path, {}), (log, {}), (path, {"stream": True, "block": 333})):
        fit = tp.identify(arm, logs, "wls", **keywords, **reading)
        assert np.abs(fit.values - want.values).max() < 1e-9 * np.abs(want.values).max()
    assert fit.validate(log, begin=5).relative < 1e-3 and fit.validate(log).relative > 0.5
    assert fit.validate(path, rows="500:").relative < 1e-3


@pytest.mark.parametrize("block", [16, 17, 100])
def test_rows_without_the_number_of_a_run_are_one_run(tmp_path, block):
    runs = np.repeat([0, np.nan, 1], [10, 25, 15])
    log = tp.Log(np.arange(50) / 100, np.arange(50.0)[:, None], segment=runs)
    assert log.seams.tolist() == [10, 35] and [len(run) for run in log.runs()] == [10, 25, 15]
    tp.write_log(log, tmp_path / "run.npz")
    found = runs_of_file(tmp_path / "run.npz", None, Streaming(block=block))
    assert [run.rows for run in found] == [(0, 10), (10, 35), (35, 50)]
