"""The fuzzing harness: it notices what it is to notice, its seeds are files that are read, and what ever failed is mended."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="limits of memory are POSIX")
pytest.importorskip("mujoco")

from fuzz import runner, worker
from fuzz.formats import FORMATS, Format
from fuzz.mutator import mutated
from fuzz.page import counts_of, page
from fuzz.runner import Tally

from taupi.errors import TaupiError

FOLDER = Path(__file__).parents[1] / "fuzz"
SEEDS = sorted((FOLDER / "seeds").glob("*/*"))
CASES = sorted((FOLDER / "cases").glob("*/*"))


def placed(case, folder):
    path = folder / FORMATS[case.parent.name].file
    path.write_bytes(case.read_bytes())
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}-{c.name}")
def test_inputs_that_ever_failed(tmp_path, monkeypatch, case):
    monkeypatch.chdir(tmp_path)
    assert worker.failure_of(case.parent.name, placed(case, tmp_path)) is None


@pytest.mark.filterwarnings("ignore")
def test_seeds_are_files_that_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert {seed.parent.name for seed in SEEDS} == set(FORMATS)
    for seed in SEEDS:
        FORMATS[seed.parent.name].read(placed(seed, tmp_path))


def test_inputs_can_be_made_again(monkeypatch):
    """By the same numbers, at another hour."""
    for name in FORMATS:
        seeds = runner.seeds_of(FOLDER / "seeds", name)
        inputs = [worker.input_of(name, k, 7, seeds) for k in range(5)]
        with monkeypatch.context() as later:
            later.setattr(time, "time", lambda: 2e9)
            later.setattr(time, "localtime", lambda *seconds: time.gmtime(2e9))
            assert inputs == [worker.input_of(name, k, 7, seeds) for k in range(5)]
        assert len(set(inputs)) > 1
    rng = random.Random(0)
    assert all(len(mutated(b"", [b""], rng)) <= 1 << 20 for _ in range(200))


def odd(path):
    """A reader with every fault there is, by the number that the file holds."""
    number = int(path.read_text())
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 4:
        time.sleep(60)
    if number == 5:
        raise KeyError("stray")
    if number == 7:
        bytearray(150 << 20)
    if number == 8:
        raise TaupiError("{x}{y}{z}", x="x" * 900, y="y" * 900, z="z" * 900)
    if number == 9:
        raise TaupiError("one sentence.")
    if number == 10:
        os._exit(3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("jobs", [1, 3])
def test_the_harness_notices_crashes_hangs_growth_and_stray_exceptions(monkeypatch, jobs):
    monkeypatch.setitem(FORMATS, "odd", Format("odd.txt", odd, lambda seed, others, rng: seed))
    monkeypatch.setattr(worker, "input_of", lambda name, number, seed, seeds: str(number).encode())
    monkeypatch.setattr(worker, "GROWTH", 100 << 20)
    monkeypatch.setattr(runner, "SECONDS", 0.4)
    said = []
    if jobs > 1:
        monkeypatch.setattr(runner, "BATCH", 5)
    tally = runner.fuzz({"odd": range(12)}, 1, {"odd": [b""]}, said.append, jobs)["odd"]
    reasons = dict(tally.failures)
    assert tally.inputs == 12 and len(said) == len(reasons) == 6
    assert reasons[2] == "the process ended by signal SIGKILL"
    assert reasons[4].startswith("took longer than")
    assert reasons[5].startswith("KeyError: 'stray' at test_fuzz.py")
    assert reasons[7].startswith("grew by ")
    assert reasons[8].startswith("message of 2700 characters")
    assert reasons[10] == "the process ended by exit 3"


def test_counts_are_added(tmp_path):
    path = tmp_path / "fuzzing.md"
    for _ in range(2):
        path.write_text(page(counts_of(path), {"csv.gz": Tally(10, 1.0, [(3, "x")]), "mat": Tally(5)}))
    assert counts_of(path) == {"csv.gz": (20, 2), "mat": (10, 0)} and "| all | **30** | 2 |" in path.read_text()
