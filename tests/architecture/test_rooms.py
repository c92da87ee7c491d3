"""What keeps the house in order: import direction, start-up time, documented names."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import taupi
from taupi.cli.commands import COMMANDS
from taupi.public_names import PUBLIC

ROOT = Path(taupi.__file__).parent
HEAVY = ("numpy", "casadi", "sympy", "llvmlite", "flint", "matplotlib", "mujoco", "rich", "scipy", "pyarrow", "rosbags")


def run(*code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *code], capture_output=True, text=True, check=True)


def test_import_brings_nothing_heavy():
    loaded = run("-c", "import sys, taupi; print(*sys.modules)").stdout.split()
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=lambda c: " ".join(c) or "taupi")
def test_help_brings_nothing_heavy(command):
    code = "import sys, taupi.cli.main as m\ntry: m.app(sys.argv[1:])\nexcept SystemExit: pass\nprint('MODULES', *sys.modules)"
    loaded = run("-c", code, *command, "--help").stdout.split("MODULES")[1].split()
    assert not (set(HEAVY) - {"rich"}) & set(loaded)


def test_loading_a_robot_does_not_bring_the_compiler():
    loaded = run("-c", "import sys, taupi; taupi.load('zollo2r'); print(*sys.modules)").stdout.split()
    assert not {"casadi", "llvmlite", "matplotlib", "mujoco"} & set(loaded)


def modules():
    return [m.name for m in pkgutil.walk_packages([str(ROOT)], "taupi.")]


@pytest.mark.parametrize("name", modules())
def test_every_module_and_public_name_is_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    for key, value in vars(module).items():
        if key.startswith("_") or getattr(value, "__module__", None) != name:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            assert inspect.getdoc(value), f"{name}.{key} has no docstring"


def test_every_public_builder_has_an_example():
    finder = doctest.DocTestFinder()
    for namespace in PUBLIC:
        module = importlib.import_module(f"taupi.{namespace}".rstrip("."))
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                tests = finder.find(inspect.unwrap(value), name)
                assert any(t.examples for t in tests), f"{module.__name__}.{name} has no doctested example"
