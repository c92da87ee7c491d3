"""Commands on terminals that know ASCII alone, with closed streams or a full disk behind them, and names that are not UTF-8."""

import os
import shlex
import subprocess
import sys

import pytest

import taupi as tp

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="devices and names of bytes")
COMMAND = [sys.executable, "-m", "taupi"]


def run(*words, env=None, **options):
    return subprocess.run([*COMMAND, *words], env={**os.environ, **(env or {})}, timeout=120, check=False, **options)


def test_ascii_terminals_and_names_that_are_not_utf8(tmp_path):
    text = "t,q_épaule,tau_épaule\n" + "".join(f"{k / 100},{k},{k}\n" for k in range(20))
    name = os.fsdecode(b"r\xff.csv")
    (tmp_path / name).write_text(text, encoding="utf-8")
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = run("log", name, cwd=tmp_path, env=ascii_only, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert rb"\xe9paule" in done.stdout and b"Traceback" not in done.stderr
    missing = run("log", os.fsdecode(b"n\xff.csv"), cwd=tmp_path, env=ascii_only, capture_output=True)
    assert missing.returncode == 3 and missing.stderr.startswith(b"taupi: No file ")


def in_a_shell(line, cwd=None):
    """Run a line of the shell in which `taupi` is the command line."""
    taupi = f'taupi() {{ {shlex.join(COMMAND)} "$@"; }}\n'
    return subprocess.run(["bash", "-c", taupi + line], capture_output=True, timeout=120, check=False, cwd=cwd)


@pytest.mark.parametrize("words", ["info puma560", "info --help", "--help", "--version"])
def test_a_standard_output_that_cannot_be_written(words):
    cases = {">/dev/full": b"No space left on device", ">&-": b"Bad file descriptor"}
    for place, reason in cases.items():
        done = in_a_shell(f"taupi {words} {place}")
        assert done.returncode == 3
        assert done.stderr == b"taupi: standard output cannot be written: " + reason + b".\n"
    read_no_more = in_a_shell(f"taupi {words} | true; exit ${{PIPESTATUS[0]}}")
    assert (read_no_more.returncode, read_no_more.stderr) == (0, b"")


@pytest.mark.parametrize("place", ["2>/dev/full", "2>&-"])
def test_messages_that_cannot_be_written_are_lost_and_nothing_else(place, tmp_path):
    done = in_a_shell(f"taupi info puma560 {place}")
    assert done.returncode == 0 and done.stdout.startswith(b"puma560: 6 joints")
    assert in_a_shell(f"taupi log nolog.csv {place}").returncode == 3
    assert in_a_shell(f"taupi nosuch {place}").returncode == 2
    done = in_a_shell(f"taupi simulate elbow2r --duration 0.1 -o run {place}", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "run" / "run.parquet").is_file()


def test_without_any_stream_the_work_is_done(tmp_path):
    done = in_a_shell("taupi simulate elbow2r --duration 0.1 -o run <&- >&- 2>&-", cwd=tmp_path)
    assert done.returncode == 3 and (tmp_path / "run" / "run.parquet").is_file()


@pytest.mark.parametrize(
    "words", ["identify elbow2r /run.csv -o {0}/new", "simulate elbow2r -o {0}/new", "init elbow2r -o new"]
)
def test_a_current_folder_that_was_deleted(words, tmp_path):
    done = in_a_shell(f"mkdir gone; cd gone; rmdir ../gone; taupi {words.format(tmp_path)}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr == b"taupi: The current folder has been deleted. Change to one that exists.\n"


def test_the_budget_of_commands_is_in_the_environment(tmp_path):
    tp.write_toml(tp.load("puma560"), tmp_path / "arm.toml")
    done = run("info", "arm.toml", cwd=tmp_path, env={"TAUPI_BUDGET": "joints=5"}, capture_output=True)
    assert done.returncode == 3 and b"arm.toml has 6 joints or links, expected 5 at most" in done.stderr


def test_without_docstrings_commands_work():
    done = run("info", "elbow2r", env={"PYTHONOPTIMIZE": "2"}, capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith(b"elbow2r: 2 joints"), done.stderr
    assert run("identify", "--help", env={"PYTHONOPTIMIZE": "2"}, capture_output=True).returncode == 0
