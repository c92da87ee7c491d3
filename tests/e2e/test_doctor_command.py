"""`taupi doctor`, and what the top of the command line offers: exit codes, completion in shells."""

import json
import os
import subprocess
import sys

import pytest
from command_line import taupi

from taupi.cli.commands import COMMANDS
from taupi.cli.exit_codes import ExitCode
from taupi.reporting import checkup


def test_a_sound_installation():
    done = taupi("doctor")
    assert done.returncode == 0, done.stdout
    assert done.stdout.rstrip().endswith("Everything works.") and max(map(len, done.stdout.splitlines())) <= 80
    assert all(
        word in done.stdout for word in ("numpy ", "extra mjcf", "processor", "43 base parameters", "ok   machine code")
    )
    data = json.loads(taupi("doctor", "--json").stdout)
    assert data["healthy"] and {c["name"] for c in data["checks"]} == set(checkup._CHECKS)
    assert data["packages"]["numpy"] and "test" not in data["extras"]


def test_what_is_missing_is_seen(monkeypatch):
    monkeypatch.setattr(checkup, "_CHECKS", {})
    known = checkup._installed
    monkeypatch.setattr(checkup, "_installed", lambda name: None if name in ("scipy", "mujoco") else known(name))
    done = taupi("doctor")
    assert done.returncode == ExitCode.NOT_ACHIEVED and "scipy missing" in done.stdout
    assert "mujoco missing: pip install 'taupi[mjcf]'" in " ".join(done.stdout.split())
    monkeypatch.setattr(checkup, "_installed", lambda name: None if name == "mujoco" else known(name))
    assert taupi("doctor").returncode == 0  # an extra is not needed


@pytest.mark.parametrize("broken", [lambda: (False, "43 expected"), lambda: 1 / 0])
def test_a_result_that_does_not_come_out_is_seen(monkeypatch, broken):
    monkeypatch.setattr(checkup, "_CHECKS", {"arithmetic": broken})
    done = taupi("doctor")
    assert done.returncode == ExitCode.NOT_ACHIEVED
    assert "FAIL arithmetic: " in done.stdout and "Something is broken" in done.stdout


def test_help_names_every_exit_code():
    text = " ".join(taupi("--help").stdout.split())
    status = text[text.index("Exit status:") :]
    assert all(f" {code.value} " in status for code in ExitCode)


def test_a_shell_completes_commands():
    environment = os.environ | {"_TAUPI_COMPLETE": "complete_bash", "COMP_WORDS": "taupi re", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "taupi"], capture_output=True, text=True, env=environment, check=False)
    # The program is called taupi only where it is installed as such; with python -m the variable has another name.
    if not done.stdout.strip() or "Usage" in done.stdout:
        program = os.path.join(os.path.dirname(sys.executable), "taupi")
        done = subprocess.run([program], capture_output=True, text=True, env=environment, check=False)
    assert set(done.stdout.split()) == {name for name in COMMANDS if name.startswith("re")}
