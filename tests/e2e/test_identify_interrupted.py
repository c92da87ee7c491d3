"""`taupi identify` killed or interrupted while results change places: the old result or the new one, never half of each."""

import signal
import subprocess
import sys
import time

import pytest
from cli_runs import RESULTS

import taupi as tp

# Say where we are and wait to be stopped: before the results change places, or after it.
HANGING = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits one that is ignored
from taupi import files
exchange, moment = files._exchange, sys.argv.pop(1)
def slow(a, b):
    if moment == "after": exchange(a, b)
    print("now", flush=True)
    time.sleep(60)
files._exchange = slow
from taupi.cli.main import run
run()
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_an_interrupted_run_leaves_the_old_result_or_the_new_one(logs, done, tmp_path, moment, way):
    out = tmp_path / "out"
    out.mkdir()
    old = {name: (done[1] / name).read_bytes() for name in RESULTS}
    for name, content in old.items():
        (out / name).write_bytes(content)
    arguments = ["identify", "arm.toml", "run3.csv", "-o", str(out), "--force"]
    with subprocess.Popen(
        [sys.executable, "-c", HANGING, moment, *arguments],
        cwd=logs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout.readline() == "now\n"
        time.sleep(0.05)
        child.send_signal(way)
        child.wait()
    assert child.returncode in ((-9,) if way == signal.SIGKILL else (130, -2))
    files = {p.name: p.read_bytes() for p in out.iterdir()}
    assert sorted(files) == RESULTS
    if moment == "before":
        assert files == old
    else:
        assert all(files[name] != old[name] for name in RESULTS)
        assert [run["name"] for run in tp.load_fit(out).provenance["logs"]] == ["run3.csv"]
    if way == signal.SIGINT:
        assert [p.name for p in tmp_path.iterdir()] == ["out"]
