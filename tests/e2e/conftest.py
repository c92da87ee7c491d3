"""Recorded runs of an arm, and one identification of it, for all tests of commands that need them."""

import subprocess
import sys

import numpy as np
import pytest
from cli_runs import TERMS, motion
from command_line import taupi

import taupi as tp


@pytest.fixture(scope="session")
def logs(tmp_path_factory):
    """An arm with friction, its description, and recorded runs: three good ones, a foreign one, and bad ones."""
    folder = tmp_path_factory.mktemp("logs")
    arm = tp.load("elbow2r").with_friction(viscous=[0.5, 0.3], coulomb=[0.4, 0.2], offset=[0.1, -0.1])
    tp.write_toml(tp.load("elbow2r"), folder / "arm.toml")
    rng = np.random.default_rng(0)
    for k in (1, 2, 3):
        t, q, qd, qdd = motion(k)
        tau = tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd)
        log = tp.Log(t, q, tau=tau + 0.02 * rng.normal(size=tau.shape), names=arm.joint_names)
        tp.write_log(log, folder / f"run{k}.csv")
    rows = zip(1000 * t, *np.degrees(q).T, *tau.T, strict=True)
    lines = "\n".join(",".join(f"{v:.9g}" for v in row) for row in rows)
    (folder / "foreign.csv").write_text("stamp,upper,fore,effort_a,effort_b\n" + lines + "\n")
    (folder / "map.toml").write_text(
        'time = {columns = "stamp", unit = "ms"}\nq = {columns = ["upper", "fore"], unit = "deg"}\n'
        'tau = {columns = ["effort_a", "effort_b"]}\n'
    )
    tp.write_log(tp.Log(t, q, names=arm.joint_names), folder / "silent.csv")
    tp.write_log(tp.Log(t[:20], q[:20], tau=tau[:20], names=arm.joint_names), folder / "short.csv")
    tp.write_log(tp.Log(t, np.full_like(q, 0.3), tau=tau, names=arm.joint_names), folder / "still.csv")
    (folder / "empty.csv").write_text("")
    return folder


@pytest.fixture
def command(logs):
    """Run `taupi ...` in the folder of the logs; return exit code, stdout, stderr."""

    def call(*arguments):
        ended = taupi(*arguments, cwd=logs)
        return ended.returncode, ended.stdout, ended.stderr

    return call


@pytest.fixture(scope="session")
def done(logs, tmp_path_factory):
    """A whole run as a user has it, in a process of its own."""
    out = tmp_path_factory.mktemp("results") / "out"
    arguments = [
        "identify",
        "arm.toml",
        "run1.csv",
        "run2.csv",
        "--validate",
        "run3.csv",
        "-o",
        str(out),
        "--cutoff",
        "15",
    ]
    command = [sys.executable, "-m", "taupi", *arguments]
    return subprocess.run(command, cwd=logs, capture_output=True, text=True, check=False), out, arguments
