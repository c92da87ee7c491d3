"""Files that are streamed: the same answer however they are shared out, in memory that does not grow with them."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from excite import fourier

import taupi as tp
from taupi.identification.estimators import huber
from taupi.identification.rows import pieces
from taupi.identification.rows.recording import Recording
from taupi.progress import counted, progress
from taupi.signals import read

TERMS = ("viscous", "coulomb", "offset")
SETTINGS = {"cutoff_hz": 20.0, "decimate": 2, "trim": False, "velocity": "position", "slow": 0.05, "terms": TERMS}


@pytest.fixture(scope="module")
def arm():
    return tp.load("elbow2r").with_friction(viscous=[2.0, 1.0], coulomb=[1.5, 0.8], offset=[0.3, -0.2])


@pytest.fixture(scope="module")
def files(arm, tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    for k in range(3):
        tp.write_log(fourier(arm, TERMS, k, 9000 + 1000 * k, 500.0, noise=0.1), folder / f"run{k}.parquet")
    return sorted(folder.iterdir())


@pytest.mark.parametrize("estimator", ["wls", tp.estimators.Huber(iterations=3)], ids=["wls", "huber"])
def test_files_in_parallel_give_the_same_answer(arm, files, estimator):
    one_by_one = tp.identify(arm, files, estimator, stream=False, workers=1, **SETTINGS)
    for workers in (1, 3):
        fit = tp.identify(arm, files, estimator, stream=True, block=2500, workers=workers, **SETTINGS)
        assert np.abs(fit.values - one_by_one.values).max() < 1e-9 * np.abs(one_by_one.values).max()
        assert np.allclose(fit.stderr, one_by_one.stderr, rtol=1e-6)
        assert [r["name"] for r in fit.provenance["logs"]] == ["run0.parquet", "run1.parquet", "run2.parquet"]


def test_a_file_is_hashed_once(arm, files, monkeypatch):
    calls = []
    monkeypatch.setattr(read, "sha256", lambda path: calls.append(path) or path.name)
    tp.identify(arm, files[:2], stream=True, **SETTINGS)
    assert sorted(calls) == files[:2]


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "tau of elbow is missing in row 7001"), (1e12, r"tau of elbow is 1e\+12 in row 7001")]
)
def test_what_is_wrong_far_into_a_stream_has_its_row(arm, tmp_path, value, words):
    log = fourier(arm, TERMS, 0, 9000, 500.0)
    tau = log.tau.copy()
    tau[7001, 1] = value
    tp.write_log(log.with_(tau=tau), tmp_path / "run.parquet")
    with pytest.raises(tp.TaupiError, match="run.parquet: " + words):
        tp.identify(arm, tmp_path / "run.parquet", stream=True, block=2500, **SETTINGS)


CHILD = """
import json, pathlib, sys
import taupi as tp
fit = tp.identify(tp.load("panda"), sys.argv[1], "wls", stream=True, block=15_000, cutoff_hz=20.0)
# Not getrusage: it counts what the process that started this one had.
peak = [line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(json.dumps([int(peak[0].split()[1]) / 1024, fit.joints[0].rows]))
"""


# Arrays that are freed go back to the system at once, so that a peak is of what is in use.
RETURNED = {"MALLOC_MMAP_THRESHOLD_": "1000000", "MALLOC_ARENA_MAX": "1"}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_log(tmp_path):
    """Five times the samples, in about the same memory. Read whole, there would be several copies of them."""
    panda, peaks, rows, sizes = tp.load("panda"), [], [], []
    for k, samples in enumerate((200_000, 1_000_000)):
        path = tmp_path / f"{k}.parquet"
        tp.write_log(fourier(panda, TERMS, 0, samples, 1000.0, noise=0.2), path)
        command = [sys.executable, "-c", CHILD, str(path)]
        child = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | RETURNED)
        peak, count = json.loads(child.stdout)
        peaks.append(peak)
        rows.append(count)
        sizes.append(15 * 8 * samples / 2**20)
    assert rows[1] > 4.9 * rows[0]
    assert peaks[1] - peaks[0] < 0.7 * (sizes[1] - sizes[0]), (peaks, sizes)
    assert peaks[1] < 1024


def test_no_log_that_is_streamed_is_joined_for_what_its_beginning_decides(arm, files, monkeypatch):
    joined, log = [], Recording.log
    monkeypatch.setattr(Recording, "log", property(lambda self: joined.append(self.source.name) or log.fget(self)))
    fit = tp.identify(arm, files, stream=True, block=2500, **SETTINGS)
    assert joined == [] and len(fit.provenance["logs"]) == 3


def test_progress_counts_all_samples(arm, files, monkeypatch):
    counts = []

    class Counting:
        def __init__(self, title, total):
            counts.append((title, total))
            self.done = 0

        def __enter__(self):
            return counts.append

        def __exit__(self, *ignored):
            pass

    monkeypatch.setattr(pieces, "counted", Counting)
    tp.identify(arm, files, stream=True, **SETTINGS)
    (title, total), *parts = counts
    assert (title, total) == ("samples", 30_000)
    assert 0.97 * total < sum(parts) <= total  # the ends of each file are cut
    counts.clear()
    tp.identify(arm, files, stream=False, **SETTINGS)
    assert not counts


def test_lines_of_progress_share_a_terminal(monkeypatch, capsys):
    with counted("samples", None) as count:
        count(3)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with progress("identify", 2) as step:
        step("reading")
        with counted("samples", 500) as count:
            count(200)
            count(300)
    err = capsys.readouterr().err
    assert "identify" in err and "samples" in err


def test_residuals_are_thinned_evenly(monkeypatch):
    monkeypatch.setattr(huber, "_MOST", 50)
    some = huber.ThinnedValues()
    for part in np.split(np.arange(1000.0), np.sort(np.random.default_rng(0).integers(0, 1000, 7))):
        some.add(part)
    assert 50 <= len(some.values) < 100
    assert len(set(np.diff(some.values))) == 1 and some.values[0] == 0
