"""Commands in processes of their own: what they say comes back, progress is read, and cancelling ends all of it."""

import json
import os
import time

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.studio import jobs as jobs_module
from taupi.studio.jobs import Job, Jobs, _progress


def test_a_command_is_that_of_the_shell(tmp_path):
    job = Job(["info", "elbow2r"], tmp_path)
    job.wait()
    assert (job.state, job.status, job.command) == ("done", 0, "taupi info elbow2r")
    assert "elbow2r: 2 joints" in job.output_text and job.talk == ""


def test_a_command_that_fails_says_why(tmp_path):
    job = Job(["info", "no-such-robot"], tmp_path)
    job.wait()
    assert (job.state, job.status) == ("failed", 3) and "no-such-robot" in job.talk and not job.tasks


def test_modules_in_the_folder_are_not_imported(tmp_path):
    for name in ("taupi.py", "numpy.py", "typer.py", "json.py"):
        (tmp_path / name).write_text("raise SystemExit('EVIL')")
    job = Job(["info", "elbow2r"], tmp_path)
    job.wait()
    assert job.state == "done" and "EVIL" not in job.talk


def test_a_fit_tells_how_far_it_is_and_can_be_cancelled(tmp_path, monkeypatch):
    write_slow_log(tmp_path / "run.npz")
    waits = "import time, taupi.files; taupi.files.write_folder = lambda *_, **__: time.sleep(3600); "
    monkeypatch.setattr(jobs_module, "_RUN", waits + jobs_module._RUN)  # it does not end before it is cancelled
    jobs = Jobs(tmp_path)
    job = jobs.start(["identify", "puma560", "run.npz", "-o", "fit"], "fit")
    while not (tasks := job.tasks) and job.running:
        time.sleep(0.02)
    assert tasks[0]["title"].startswith("identify") and tasks[0]["total"] >= 2
    with pytest.raises(TaupiError, match="running"):
        jobs.start(["info"])
    jobs.end()
    job.wait()
    assert job.state == "cancelled" and not job.tasks
    with pytest.raises(ProcessLookupError):
        for _ in range(6000):  # what it had started ends a little later
            os.killpg(job._process.pid, 0)
            time.sleep(0.01)
    assert not (tmp_path / "fit").exists()
    monkeypatch.undo()
    assert jobs.start(["info"]).words == ("info",)  # the next one may start
    jobs.end()


def write_slow_log(path):
    """Write a log of six joints, whose fit takes seconds."""
    arm, t = tp.load("puma560"), np.arange(0, 60, 0.004)
    q, qd, qdd = tp.BSpline.random([-1.0] * 6, [1.0] * 6, count=40, duration=60.0, seed=1)(t)
    tp.write_log(tp.Log(t, q, tau=tp.inverse_dynamics(arm)(q, qd, qdd), names=arm.joint_names), path)


@pytest.mark.parametrize(
    "line",
    [
        '{"progress": 1}',
        '{"progress": {"task": "x", "title": "t", "done": 0, "total": 1}}',
        '{"progress": {"task": 1, "title": 2, "done": 0, "total": 1}}',
        '{"progress": {"task": 1, "title": "t", "done": "0", "total": 1}}',
        '{"progress": ',
        "plain words",
    ],
)
def test_words_that_look_like_progress_are_words(line):
    assert _progress(line) is None


def test_progress_is_written_only_where_it_is_asked_for(tmp_path, monkeypatch, capsys):
    from taupi.progress import counted, progress

    with progress("a", 2) as step:
        step("one")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("TAUPI_PROGRESS", "json")
    with progress("outer", 2) as step, counted("inner", 100) as count:
        step("one")
        for _ in range(100):
            count(1)
        step("two")
    lines = [json.loads(line)["progress"] for line in capsys.readouterr().err.splitlines()]
    assert len(lines) < 20  # not one for each of the hundred
    outer = [entry for entry in lines if entry["task"] == 0]
    assert [entry["title"] for entry in outer][:2] == ["outer", "outer: one"] and outer[-1]["over"]
    inner = [entry for entry in lines if entry["task"] == 1]
    assert inner[-1]["done"] == 100 and inner[-1]["over"] and inner[0]["total"] == 100
