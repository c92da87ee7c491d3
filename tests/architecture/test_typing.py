"""What type checkers, and with them editors, know of functions that take settings: every keyword, and nothing else."""

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import taupi
from taupi.public_names import PUBLIC, homes
from taupi.settings import Settings

PACKAGE = Path(taupi.__file__).parent
# What is accepted for a field besides what it is stored as.
WIDER = {
    "float | tuple[float, ...] | None": "float | Sequence[float] | np.ndarray | None",
    "OneOrEach": "float | Sequence[float] | np.ndarray | None",
    "tuple[float, ...] | None": "Sequence[float] | Sequence[Sequence[float | None]] | None",
}
# Formats of one field alone: several texts, pairs, mappings, paths.
FREER = {"only", "ignore", "packages", "known_torque", "capsules"}

# Fields without a meaning for some functions: for predictions by a fit, and for blocks.
NOT_TAKEN = {"slow", "threshold", "leave_out", "known_torque", "relative_gains", "trim", "short_gap", "long_gaps"}


def functions():
    """Every public function that takes settings whole or by their fields, by its name."""
    found = {}
    for namespace in PUBLIC:
        for module, name in homes(namespace).values():
            value = getattr(importlib.import_module(module), name)
            for member in [value, *vars(value).values()] if inspect.isclass(value) else [value]:
                if inspect.isfunction(member) and "Unpack[" in str(parameters(member).get("options")):
                    found[f"{member.__module__}.{member.__qualname__}"] = member
    return found


def parameters(function):
    return {p.name: p.annotation for p in inspect.signature(function).parameters.values()}


def names_of(module):
    """The names of a module, those that it imports for type checkers alone included."""
    names = dict(vars(module))
    for line in re.findall(r"^    from (taupi\.\S+) import (.+)$", Path(module.__file__).read_text(), re.MULTILINE):
        names |= {name.strip(): vars(importlib.import_module(line[0])).get(name.strip()) for name in line[1].split(",")}
    return names


def described(function):
    """The keywords of `**options` by type, and the classes of settings that the function takes whole."""
    names = names_of(sys.modules[function.__module__])
    own = parameters(function)
    table = names[re.fullmatch(r"Unpack\[(\w+)\]", own.pop("options"))[1]]
    options = {}
    for base in reversed(table.__orig_bases__ if hasattr(table, "__orig_bases__") else ()):
        options |= getattr(base, "__annotations__", {})
    options |= table.__annotations__
    options = {name: getattr(hint, "__forward_arg__", hint) for name, hint in options.items()}
    wholes = [names.get(str(hint).removesuffix(" | None")) for hint in own.values()]
    kinds = [kind for kind in wholes if inspect.isclass(kind) and issubclass(kind, Settings)]
    kinds = [kind for kind in kinds if {*kind.names()} & {*own, *options}]  # others, such as sensors, are always whole
    return own, options, kinds


FUNCTIONS = functions()


def test_they_are_found():
    names = {name.rpartition(".")[2] for name in FUNCTIONS}
    assert names >= {"identify", "prepare", "simulate", "simulate_many", "excite", "read_log", "validate", "track"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_keywords_are_the_fields_of_the_settings(name):
    own, options, kinds = described(FUNCTIONS[name])
    assert kinds
    # A function that streams declares Reading, the base class, as what may be passed whole.
    streamed = {"stream": "bool | None", "block": "int"}
    fields = {f.name: f.type for kind in kinds for f in dataclasses.fields(kind)} | streamed
    assert options.keys() <= fields.keys()
    for key, hint in options.items():
        assert key in FREER or hint == WIDER.get(fields[key], fields[key]), key
    for key in own.keys() & fields.keys():
        stored = WIDER.get(fields[key], fields[key]).removesuffix(" | None")
        assert own[key].removesuffix(" | None") == stored, key
    assert fields.keys() - options.keys() - own.keys() <= NOT_TAKEN | streamed.keys()


RIGHT = """\
import numpy as np
import taupi as tp
from taupi.identification.results.fit import Fit

fit: Fit = tp.identify(tp.load("elbow2r"), "run.csv", "wls", cutoff_hz=10, slow=[0.1, 0.2], block=1000, seed=1)
fit = tp.identify(tp.load("elbow2r"), ["run.csv"], preparation=tp.Preparation(cutoff_hz=10), threshold=np.zeros(2))
fit.validate("run.csv", cutoff_hz=5.0, rate_hz=100)
tp.validate(fit, "run.csv", reading=tp.Reading(rate_hz=100))
tp.prepare(tp.read_log("run.csv", None, {"time": "t"}), 10.0, period=2.0)
tp.simulate(tp.RigidPlant(tp.load("elbow2r")), None, None, 3.0, 500, seed=1)
tp.excite(tp.load("elbow2r"), duration=5, limits={"lower": -1.0}, ignore=[("a", "b")], only="link*")
tp.signals.log_blocks("run.csv", 100, rate_hz=100)
"""
WRONG = {
    'tp.identify(robot, "run.csv", cutof_hz=10)': 'Unexpected keyword argument "cutof_hz" for "identify"',
    'tp.identify(robot, "run.csv", cutoff_hz="ten")': 'Argument "cutoff_hz" to "identify" has incompatible type "str"',
    "tp.prepare(log, cuttoff_hz=10)": 'Unexpected keyword argument "cuttoff_hz" for "prepare"',
    "tp.simulate(plant, duratoin=3.0)": 'Unexpected keyword argument "duratoin" for "simulate"',
    'tp.read_log("run.csv", rate=100)': 'Unexpected keyword argument "rate" for "read_log"',
    "tp.excite(robot, start=4, startz=4)": 'Unexpected keyword argument "startz" for "excite"',
    'tp.signals.log_blocks("run.csv", blocks=1)': 'Unexpected keyword argument "blocks" for "log_blocks"',
    'fit.validate("run.csv", slow=0.1)': 'Unexpected keyword argument "slow"',
    "fit.validate()": 'Missing positional argument "log"',
}


def seen():
    """The modules that mypy reads: where the functions and their options are defined; of others, everything is of any type."""
    modules = {inspect.unwrap(function).__module__ for function in FUNCTIONS.values()}
    modules |= {
        f"taupi.{name}" for name in ("deprecation", "threads", "settings", "signals.reading", "excitation.settings")
    }
    modules |= {
        "taupi.identification.rows.preparation",
        "taupi.signals.filtering.smoothing",
        "taupi.simulation.horizon",
    }
    modules |= {"taupi.simulation.rollouts.batch", "taupi", "taupi.signals"}
    return sorted(importlib.import_module(module).__file__ for module in modules)


def test_a_misspelt_keyword_is_an_error_of_mypy(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    beginning = (
        "from typing import Any\nimport taupi as tp\nfrom taupi.identification.results.fit import Fit\n"
        "robot: Any\nlog: Any\nplant: Any\nfit: Fit\n"
    )
    (tmp_path / "wrong.py").write_text(beginning + "\n".join(WRONG) + "\n")
    files = [*seen(), "right.py", "wrong.py"]
    options = ["--config-file", "", "--follow-imports", "skip", "--ignore-missing-imports", "--cache-dir", "cache"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if re.match(r"(right|wrong)\.py:\d+: error", line)]
    first = beginning.count("\n") + 1
    assert [line.split(":")[:2] for line in lines] == [["wrong.py", str(first + k)] for k in range(len(WRONG))], (
        done.stdout
    )
    for line, message in zip(lines, WRONG.values(), strict=True):
        assert message in line
