"""Commands killed at random instants: the old result or the new one, byte by byte, and nothing left behind by the next run."""

import os
import random
import shutil
import signal
import time
from collections import Counter

import numpy as np
import pytest
from command_line import taupi

import taupi as tp

pytestmark = [
    pytest.mark.skipif(
        not hasattr(os, "fork"), reason="processes are forked, so that many can be killed in little time"
    ),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]
# Each command in two forms with different results, in the same folder.
COMMANDS = {
    "identify": [["identify", "elbow2r", f"run{k}.csv", "--cutoff", "8", "-o", "out", "--force"] for k in (1, 2)],
    "simulate": [["simulate", "elbow2r", "--duration", d, "-o", "out", "--force"] for d in ("0.2", "0.3")],
    "control": [["control", "elbow2r", "--duration", d, "-o", "out", "--force"] for d in ("0.2", "0.3")],
    "export": [["export", f"fit{k}/fit.json", "-o", "out/arm.toml", "--force"] for k in (1, 2)],
    "excite": [
        ["excite", "elbow2r", "--limits", "limits.toml", "--starts", "1", "--duration", d, "-o", "out", "--force"]
        for d in ("3", "4")
    ],
    "fleet": [
        ["fleet", "elbow2r", "--by", "{arm}/run.csv", "--terms", terms, "--own", "viscous", "-o", "out", "--force"]
        for terms in ("viscous", "viscous,coulomb")
    ],
    "reproduce": [["reproduce", "lecture", "-o", "out", "--force"]] * 2,
}
LIMITS = "shoulder.velocity = 3\nshoulder.effort = 100\nelbow.velocity = 3\nelbow.effort = 100\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with two logs and their fits."""
    folder = tmp_path_factory.mktemp("kills")
    arm = tp.load("elbow2r")
    t = np.arange(600)[:, None] / 100
    for k, w in ((1, np.array([1.0, 1.7])), (2, np.array([1.3, 2.1]))):
        q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
        tp.write_log(
            tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd), names=arm.joint_names), folder / f"run{k}.csv"
        )
        words = ["identify", "elbow2r", f"run{k}.csv", "--cutoff", "8", "-o", f"fit{k}"]
        assert taupi(*words, cwd=folder).returncode == 0
    (folder / "limits.toml").write_text(LIMITS)
    for k in (1, 2, 3):
        (folder / f"arm{k}").mkdir()
        rows = (folder / f"run{1 + k % 2}.csv").read_text().splitlines()
        (folder / f"arm{k}/run.csv").write_text("\n".join(rows[:-k]) + "\n")  # no log is given twice
    return folder


def left_behind(folder):
    """What a killed command was writing: hidden, and beside the place of its result."""
    return list(folder.rglob(".*.part"))


def content(folder):
    files = [p.relative_to(folder) for p in folder.rglob("*") if p.is_file()]
    return {str(p): (folder / p).read_bytes() for p in files if not any(part.endswith(".part") for part in p.parts)}


def result(words, folder):
    """What a command writes."""
    (folder / "out").mkdir(exist_ok=True)
    done = taupi(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return content(folder / "out")


def started(words, folder):
    """Begin a command in a process of its own; return its id."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        os._exit(taupi(*words, cwd=folder).returncode)
    return child


def duration(words, folder):
    """How long such a process takes, in seconds."""
    start = time.monotonic()
    os.waitpid(started(words, folder), 0)
    return time.monotonic() - start


def killed(words, folder, delay):
    """Run a command in a process of its own, and kill it."""
    child = started(words, folder)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def old_or_new(now, old, new):
    """Whether files are those of one result; a study writes how long it took, so that a newer result has other bytes."""
    changed = {name for name in old if now.get(name) != old[name]}
    timed = set(old) & {"report.html", "reproduction.json"}
    return now in (old, new) or ("reproduction.json" in old and set(now) == set(old) and changed <= timed)


def kill_often(command, folder, times, seed):
    """Kill a command so often; return how often the old result, the new one and something half-written was there then."""
    rng = random.Random(seed)
    shutil.rmtree(folder / "out", ignore_errors=True)
    first, second = COMMANDS[command]
    result(second, folder)  # once before, so that what is compiled and imported takes no time below
    new, seconds = result(second, folder), duration(second, folder)
    old = result(first, folder)
    before = {p.name for p in folder.iterdir()}
    seen = Counter()
    for _ in range(times):
        killed(second, folder, rng.uniform(0, 1.5 * seconds))
        now, half = content(folder / "out"), left_behind(folder)
        assert old_or_new(now, old, new), {name for name in {*now, *old} if now.get(name) != old.get(name)}
        seen.update(["new" if now != old else "old", *(["half-written"] if half else [])])
        if now != old or half:
            again = result(first, folder)
            assert not left_behind(folder), "something is left behind by the next run"
            assert command == "reproduce" or again == old
            old = again
    assert old_or_new(result(second, folder), old, new)
    assert {p.name for p in folder.iterdir()} == before, "something is left behind"
    return seen


@pytest.mark.parametrize("command", ["identify", "export"])
def test_killed_at_any_time(place, command):
    kill_often(command, place, 4, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_killed_a_hundred_times(place, command):
    """`make kills` shows what was seen."""
    seen = kill_often(command, place, 100, seed=int(os.environ.get("KILL_SEED", "2")))
    print(f"{command}: {seen['old']} old, {seen['new']} new, {seen['half-written']} times something half-written")
    assert seen["old"] + seen["new"] == 100 and seen["old"] and seen["new"]  # some came through, some did not
