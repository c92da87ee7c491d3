"""Commands on terminals that know ASCII alone, with a full disk behind standard output, and with names that are not UTF-8."""

import os
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


def test_a_full_disk_behind_standard_output():
    with open("/dev/full", "w") as full:
        done = run("info", "puma560", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3
    assert done.stderr == b"taupi: standard output cannot be written: No space left on device.\n"


def test_the_budget_of_commands_is_in_the_environment(tmp_path):
    tp.write_toml(tp.load("puma560"), tmp_path / "arm.toml")
    done = run("info", "arm.toml", cwd=tmp_path, env={"TAUPI_BUDGET": "joints=5"}, capture_output=True)
    assert done.returncode == 3 and b"arm.toml has 6 joints or links, expected 5 at most" in done.stderr
