"""Programs that another process compiled: the same numbers without a trace, and never those of another request."""

import dataclasses
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.program import requested_program
from taupi.program.program import Program
from taupi.program.requested_program import RequestedProgram, requested

STATES = np.random.default_rng(3).uniform(-1, 1, (3, 20, 7))
COLD = """
import sys, numpy as np, taupi as tp
states = np.random.default_rng(3).uniform(-1, 1, (3, 20, 7))
y = tp.regressor(tp.load("panda"))
print(y(*states).tobytes().hex(), "casadi" in sys.modules)
print(y.parameters.names[0], len(y.constants), y.operations, "casadi" in sys.modules)
"""


FILE = requested_program._file


@pytest.fixture(autouse=True)
def programs_are_recalled(monkeypatch, every_program_is_traced):
    monkeypatch.setattr(requested_program, "_file", FILE)


@pytest.fixture
def panda():
    return tp.load("panda")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TAUPI_CACHE", str(tmp_path))
    return tmp_path / "objects-2"


def built(robot, **options):
    """What a process without memory would return."""
    return requested(tp.inverse_dynamics.__wrapped__, robot, **options)


def refuse(*args, **kwargs):
    raise AssertionError("traced again")


def recalled(monkeypatch, robot, **options):
    """The program of a second process, in which nothing can be traced until the patch is undone."""
    monkeypatch.setattr("taupi.dynamics.inverse.trace_robot", refuse)
    return built(robot, **options)


def test_a_second_process_needs_no_trace_and_gives_the_same_bits(tmp_path):
    environment = os.environ | {"TAUPI_CACHE": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", COLD], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    bits = [run.stdout.split()[0] for run in (first, second)]
    assert bits[0] == bits[1] and len(bits[0]) == 2 * 8 * 20 * 7 * 70
    assert [run.stdout.split()[1] for run in (first, second)] == ["True", "False"]
    # What the machine code does not tell is traced when it is asked for.
    assert first.stdout.splitlines()[1] == second.stdout.splitlines()[1]


def test_it_is_a_program_like_any_other(panda, folder, monkeypatch):
    plain = built(panda)
    want = plain(*STATES)
    with monkeypatch.context() as patch:
        program = recalled(patch, panda)
        assert isinstance(program, RequestedProgram) and np.array_equal(program(*STATES), want)
        assert program.name == plain.name and program.inputs == plain.inputs and program.outputs == plain.outputs
        with pytest.raises(AssertionError, match="traced again"):
            _ = program.function
    program = built(panda)
    assert np.array_equal(program.compile("numpy")(*STATES), plain.compile("numpy")(*STATES))
    assert program.constants == plain.constants and program.tape == plain.tape and repr(program) == repr(plain)
    for copy in (pickle.loads(pickle.dumps(built(panda))), dataclasses.replace(built(panda), name="tau")):
        assert np.array_equal(copy(*STATES), want)
    assert np.array_equal(built(panda).compile("cpu", layout="batch_last")(*STATES).T, want)
    assert np.array_equal(built(panda)(STATES[0, 0], STATES[1, 0], STATES[2, 0]), want[0])


@pytest.mark.parametrize("damage", ["record", "object", "both", "cut"])
def test_what_is_damaged_or_gone_is_built_again(panda, folder, damage):
    want = built(panda)(*STATES)
    (record,), (code,) = folder.glob("*.program"), folder.glob("*.o")
    for file in {"record": [record], "object": [code], "both": [record, code], "cut": [record, code]}[damage]:
        data = file.read_bytes()
        file.write_bytes(data[:-5] if damage == "cut" else data[:-5] + b"wrong")
    for _ in range(2):
        assert np.array_equal(built(panda)(*STATES), want)
    code.unlink()
    assert np.array_equal(built(panda)(*STATES), want) and code.exists()


def test_code_for_another_processor_is_not_run(panda, folder, monkeypatch):
    want = built(panda)(*STATES)
    monkeypatch.setenv("TAUPI_INSTRUCTIONS", "sse2")
    program = built(panda)
    assert np.allclose(program(*STATES), want, rtol=1e-12, atol=1e-12) and program._compiled.lanes == 2
    (record,) = folder.glob("*.program")
    assert json.loads(record.read_bytes()[32:])["lanes"] == 2


def test_other_requests_have_other_files(panda, folder, monkeypatch):
    heavier = panda.with_parameters(np.array(panda.parameters.values, dtype=float) * 1.5)
    requests = [
        (panda, {}),
        (heavier, {}),
        (dataclasses.replace(panda, gravity=(0, 0, 0)), {}),
        (panda, {"terms": ("viscous",)}),
        (panda, {"algorithm": "closed_form"}),
        (panda, {"disturbance": True}),
    ]
    files = {requested_program._file(tp.inverse_dynamics.__wrapped__, (robot,), more) for robot, more in requests}
    files.add(requested_program._file(tp.mass_matrix.__wrapped__, (panda,), {}))
    assert len(files) == len(requests) + 1 and None not in files
    assert np.allclose(built(heavier)(*STATES), 1.5 * built(panda)(*STATES))
    assert np.allclose(built(heavier)(*STATES), 1.5 * built(panda)(*STATES))  # from disk


def test_a_change_of_the_package_asks_anew(panda, folder, tmp_path, monkeypatch):
    copy = tmp_path / "package"
    (copy / "room").mkdir(parents=True)
    source = copy / "room" / "algorithm.py"
    source.write_text("x = 1\n")
    monkeypatch.setattr(requested_program, "_PACKAGE", copy)
    monkeypatch.setattr(requested_program, "_LOADED_NS", 2**63)

    def state():
        requested_program._state_of_package.cache_clear()
        return requested_program._file(tp.inverse_dynamics.__wrapped__, (panda,), {})

    try:
        before = state()
        assert state() == before
        source.write_text("x = 2\n")
        changed = state()
        (copy / "room" / "another.py").write_text("")
        assert len({before, changed, state()}) == 3
        monkeypatch.setattr(requested_program, "__version__", "0.0.0")
        assert state() not in (before, changed)
        # A file that is newer than this process may not be what this process runs.
        monkeypatch.setattr(requested_program, "_LOADED_NS", source.stat().st_ctime_ns)
        assert state() is None
        monkeypatch.setattr(requested_program, "_LOADED_NS", 2**63)
        assert state() is not None
        monkeypatch.setattr(requested_program, "_PACKAGE", copy / "nothing")
        assert state() is None
    finally:
        requested_program._state_of_package.cache_clear()


def test_every_source_file_is_looked_at():
    package = Path(tp.__file__).parent
    looked_at = [word.split()[0] for word in requested_program._states(str(package)) if " " in word]
    assert sorted(looked_at) == sorted(p.name for p in package.rglob("*.py"))


def own_builder(robot):
    return tp.inverse_dynamics.__wrapped__(robot)


def test_builders_of_others_are_always_run(panda, folder):
    assert type(requested(own_builder, panda)) is Program
    requested(own_builder, panda)(*STATES)
    assert not list(folder.glob("*.program"))


def test_modules_with_builders_of_dynamics_import_casadi_when_it_is_used():
    package = Path(tp.__file__).parent
    modules = [p for room in ("dynamics", "regressors") for p in (package / room).rglob("*.py")]
    eager = [
        p.name for p in modules if re.search(r"^(import|from) casadi", p.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(modules) > 40 and not eager


def test_the_compiled_program_needs_no_trace_either(panda, folder, monkeypatch):
    want = built(panda).compile()(*STATES)
    assert len(list(folder.glob("*.program"))) == 1
    assert np.array_equal(recalled(monkeypatch, panda).compile("cpu")(*STATES), want)


@dataclasses.dataclass(frozen=True)
class OwnTerm:
    """A term of a user, whose code may change without notice."""

    name: str = "own"


@pytest.mark.parametrize("argument", [OwnTerm(), OwnTerm, lambda q: q, np.float64(1.0), {1}])
def test_what_has_no_complete_text_is_not_kept(panda, folder, argument):
    assert requested_program._file(tp.inverse_dynamics.__wrapped__, (panda, argument), {}) is None


def test_switched_off_or_with_symbols_nothing_is_kept(panda, tmp_path, monkeypatch):
    monkeypatch.setenv("TAUPI_CACHE", "off")
    assert type(built(panda)) is Program
    monkeypatch.setenv("TAUPI_CACHE", str(tmp_path))
    symbolic = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1, g=10)
    assert built(symbolic)([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).tolist() == [30.0, 10.0]
    assert not list(Path(tmp_path).rglob("*.program"))


def test_programs_with_a_guard_are_built(folder):
    floating = tp.load("elbow2r", floating=True)
    program = built(floating)
    q, v = np.zeros(9), np.zeros(8)
    q[6] = 1
    program(q, v, v)
    assert program.guard is not None and not list(folder.glob("*.program"))


def test_errors_of_a_request_are_those_of_the_builder(panda, folder):
    built(panda)(*STATES)
    with refused("algorithm"):
        built(panda, algorithm="guess")
