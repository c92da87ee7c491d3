"""One suite over every language: emitted source means what the numpy target means."""

import sys
import tempfile
from pathlib import Path

import casadi as cs
import numpy as np
import pytest
from emitted import RUNNERS, by_c, by_cuda, by_python, need, run
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from support import error, programs, random_states

import taupi as tp
from taupi.program.batch_results import places
from taupi.program.emit import LANGUAGES, sources
from taupi.program.emitters.cuda import kernel_source
from taupi.program.emitters.dialect import identifiers
from taupi.program.program import Port, trace
from taupi.program.tape import BINARY, UNARY

# Other libraries' sine and cosine differ in the last bit; a few hundred operations carry it on.
ROUNDING = 1e-12
# float32 has 1.2e-7 a rounding; PUMA's programs lose less than two digits more.
SINGLE = 1e-5
LANGUAGE = pytest.mark.parametrize("language", RUNNERS)

OPERATIONS = {
    "neg": lambda a, b: -a,
    "sq": lambda a, b: a * a,
    "twice": lambda a, b: 2 * a,
    "inv": lambda a, b: 1 / a,
    "not": lambda a, b: cs.logic_not(a),
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "constpow": lambda a, b: a**0.3,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": cs.eq,
    "ne": cs.ne,
    "and": cs.logic_and,
    "or": cs.logic_or,
    "if_else_zero": lambda a, b: cs.if_else(a, b, 0),
}
OPERATIONS |= {op: (lambda a, b, op=op: getattr(cs, op)(a)) for op in UNARY if op not in OPERATIONS}
OPERATIONS |= {op: getattr(cs, op) for op in BINARY if op not in OPERATIONS}
VALUES = [0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 1.7, -2.5, 40.0, np.inf, -np.inf, np.nan]


def every_operation():
    """One output entry an operation, of two inputs."""

    def body(a, b):
        return cs.vertcat(*(f(a, b) for f in OPERATIONS.values()))

    program = trace("every", body, [Port("a"), Port("b")], [Port("y", (len(OPERATIONS),))])
    assert set(program.tape.counts) == {*UNARY, *BINARY}
    return program


def state_of(program, count=5, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-2, 2, (count, *p.shape)) for p in program.inputs]


def assert_alike(got, want, tolerance):
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    for g, w in zip(got, want, strict=True):
        assert error(g, w) < tolerance


@LANGUAGE
def test_every_operation_agrees_on_ordinary_and_on_strange_numbers(language, tmp_path):
    program = every_operation()
    a, b = (x.ravel() for x in np.meshgrid(VALUES, VALUES))
    got, want = RUNNERS[language](program, tmp_path)(a, b), program.compile("numpy")(a, b)
    for k, op in enumerate(OPERATIONS):
        # tan near a pole and powers carry the last bit of their argument; all others are right to a rounding or two.
        np.testing.assert_allclose(got[:, k], want[:, k], rtol=1e-13, err_msg=op)


@LANGUAGE
@settings(max_examples=6, deadline=None, derandomize=True)
@given(program=programs(), seed=st.integers(0, 1000))
def test_random_programs_agree(language, program, seed):
    state = state_of(program, 4, seed)
    with tempfile.TemporaryDirectory() as folder:
        # tan and powers amplify the last bit of sine and cosine, by up to about 1e4 within these ranges.
        assert_alike(RUNNERS[language](program, Path(folder))(*state), program.compile("numpy")(*state), 1e-9)


FRICTION = ("rotor", "viscous", tp.terms.Coulomb(0.1), "offset", "load", tp.terms.Curve(velocity=2.0))


def lossy(program):
    """Build a program of an arm with all the friction of a default fit."""
    return lambda arm: program(arm.with_friction(viscous=1, coulomb=2, offset=0.3, load=0.05, curve=-0.4), FRICTION)


PUMA = {
    "regressor": tp.regressor,
    "regressor of friction": lossy(tp.regressor),
    "inverse_dynamics with friction": lossy(tp.inverse_dynamics),
    "forward_dynamics with friction": lossy(tp.forward_dynamics),
    "forward_dynamics": tp.forward_dynamics,
    "mass_matrix": tp.mass_matrix,
    "christoffel_symbols": tp.christoffel_symbols,
    "kinetic_energy": tp.kinetic_energy,
}


@LANGUAGE
@pytest.mark.parametrize("name", PUMA)
def test_puma_agrees(language, name, tmp_path):
    program = PUMA[name](tp.load("puma560"))
    state = state_of(program)
    assert_alike(RUNNERS[language](program, tmp_path)(*state), program.compile("numpy")(*state), ROUNDING)


@LANGUAGE
@pytest.mark.parametrize("name", ["regressor", "forward_dynamics", "mass_matrix"])
def test_single_precision_agrees(language, name, tmp_path):
    program = PUMA[name](tp.load("puma560"))
    state = [x.astype(np.float32).astype(float) for x in state_of(program)]
    got, want = RUNNERS[language](program, tmp_path, "float32")(*state), program.compile("numpy")(*state)
    assert np.abs(got - want).max() < SINGLE * np.abs(want).max()
    if language != "octave":  # whose numbers came back as text
        assert got.dtype == np.float32


@LANGUAGE
def test_every_operation_in_single_precision(language, tmp_path):
    program = every_operation()
    a, b = np.array([[0.3, -0.7, 1.5, -2.5], [0.25, 1.5, -0.75, 2.0]])
    want = program.compile("numpy")(a, b)
    got = RUNNERS[language](program, tmp_path, "float32")(a, b)
    np.testing.assert_allclose(got, want, rtol=SINGLE)


@LANGUAGE
def test_awkward_names_and_shapes(language, tmp_path):
    """Names that are words of a language, equal names, labels that would end a comment, unused, scalar and empty ports."""
    hostile = ("*/ int x; /*", '"' * 3, "end\n%}", "back\\", "??/", "λ")
    inputs = [Port("int", (2,), hostile, "*/"), Port("t1", (2, 3)), Port("x0_1"), Port("", (1,)), Port("2λ", (0,))]
    inputs += [Port("w", (1,)), Port("lambda", (1,)), Port("q", (1,)), Port("unused", (3,)), Port("q_sample", (1,))]
    outputs = [Port("q", (2, 3, 2)), Port("end"), Port("y", (0,)), Port("sin", (2,)), Port("zeros", (2,))]

    def body(a, b, c, d, _, w, f, q, unused, s):
        cube = [[[a[k] * b[i, j] if j != 1 else cs.SX(0) for k in range(2)] for j in range(3)] for i in range(2)]
        return cube, c + d + w, cs.SX(0, 1), a * cs.sin(q) + s - f, cs.SX(2, 1)

    program = trace("awkward", body, inputs, outputs)
    state = state_of(program)
    assert_alike(RUNNERS[language](program, tmp_path)(*state), program.compile("numpy")(*state), ROUNDING)


@LANGUAGE
def test_constants_read_back_as_the_same_numbers(language, tmp_path):
    numbers = [0.1, -1 / 3, 1e-300, 1e300, 5e-324, 123456789.0, 1e22, np.inf, -np.inf, np.nan, 0.1 + 0.2]
    program = trace("numbers", lambda x: cs.vertcat(*numbers, x), [Port("x")], [Port("y", (12,))])
    got = RUNNERS[language](program, tmp_path)(np.array([2.5]))
    assert np.array_equal(got, [[*numbers, 2.5]], equal_nan=True)


@pytest.fixture(scope="module")
def long_program():
    """More steps than one C function gets, with values that cross from piece to piece."""

    def body(x):
        values = [x[0], x[1]]
        for k in range(9000):
            values.append(cs.sin(values[-1]) + values[k % 50 if k % 3 == 0 else -2] * 0.5)
        return cs.vertcat(*values[-3:], values[40])

    program = trace("long", body, [Port("x", (2,))], [Port("y", (4,))])
    assert len(program.tape.instructions) > 20000
    return program


@LANGUAGE
def test_long_programs(language, long_program, tmp_path):
    x = state_of(long_program)
    assert_alike(RUNNERS[language](long_program, tmp_path)(*x), long_program.compile("numpy")(*x), 1e-10)


def test_long_programs_are_cut_in_c(long_program):
    text = long_program.c("lengthy")
    assert "lengthy_part1(" in text
    (work,) = (int(line.split("[")[1].split("]")[0]) for line in text.splitlines() if line.startswith("    double w["))
    assert work < 200  # places are used again, though every piece hands values on


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_c_header_is_c_plus_plus_too(dtype, tmp_path):
    for name, text in sources(tp.regressor(tp.load("elbow2r")), "c", "Y", dtype).items():
        (tmp_path / name).write_text(text)
    (tmp_path / "use.cpp").write_text('#include "Y.h"\n#include "Y.h"\n')
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    run(need("g++"), *flags, "use.cpp", cwd=tmp_path)


def test_c_is_alone():
    text = tp.regressor(tp.load("puma560")).c("Y")
    assert [line for line in text.splitlines() if line.startswith("#")] == ['#include "Y.h"', "#include <math.h>"]
    assert "malloc" not in text
    assert "static" not in text


def test_c_header_says_what_arguments_and_columns_are():
    program = tp.regressor(tp.load("puma560"), terms=("viscous",))
    header = sources(program, "c")["regressor.h"]
    assert "void regressor(const double q[restrict 6], const double qd[restrict 6]" in header
    assert "one value per joint: joint1, joint2, joint3, joint4, joint5, joint6" in header
    for k, (name, unit) in enumerate(zip(program.parameters.names, program.parameters.units, strict=True)):
        assert f" * {k:>5}  {name}, {unit}" in header


def test_python_takes_any_batch_and_broadcasts(tmp_path):
    program = tp.regressor(tp.load("elbow2r"))
    emitted, reference = by_python(program, tmp_path), program.compile("numpy")
    rng = np.random.default_rng(3)
    for shapes in [((), (), ()), ((4,), (), (1,)), ((2, 1), (3,), (2, 3)), ((0,), (0,), ()), ((2, 0), (1,), ())]:
        state = [rng.uniform(-2, 2, (*s, 2)) for s in shapes]
        got, want = emitted(*state), reference(*state)
        assert got.shape == want.shape
        assert error(got, want) < ROUNDING
    with pytest.raises(ValueError, match=r"qd has shape \(3,\), expected \(..., 2\)"):
        emitted([0, 0], [0, 0, 0], [0, 0])
    assert emitted([0, 1], qd=[1, 2], qdd=[3, 4]).dtype == np.float64


def test_python_keeps_few_arrays_at_a_time():
    text = tp.regressor(tp.load("puma560")).python()
    names = {line.split(" = ")[0].strip() for line in text.splitlines() if line.startswith("        t")}
    assert len(names) < 200


@pytest.mark.parametrize("layout", ["batch_last", "samples"])
def test_cuda_layouts_places_and_shared_samples(layout, tmp_path):
    program = tp.regressor(tp.load("puma560"))
    q, qd, qdd = random_states(tp.load("puma560"), 6, 3)
    got = by_cuda(program, tmp_path, layout=layout)(q, qd[:1], qdd)
    assert error(got, program.compile("numpy")(q, qd[:1], qdd)) < ROUNDING
    stored = places(program, 0, layout)
    mask = np.zeros(program.outputs[0].size, bool)
    mask[stored] = True
    shape = program.outputs[0].shape
    seen = mask.reshape(shape[::-1]).T if layout == "batch_last" else mask.reshape(shape)
    assert np.array_equal(seen, program.sparsity())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_cuda_compiles_for_the_device(dtype, tmp_path):
    need("nvcc")
    (tmp_path / "every.cu").write_text(every_operation().cuda(dtype=dtype))
    assert ".entry every(" in run("nvcc", "-ptx", "--Werror", "all-warnings", "every.cu", "-o", "-", cwd=tmp_path)


def test_cuda_takes_sine_and_cosine_together():
    text = kernel_source(tp.mass_matrix(tp.load("elbow2r")))
    both = trace("both", lambda x: cs.vertcat(cs.sin(x), cs.cos(x)), [Port("x")], [Port("y", (2,))])
    assert kernel_source(both).count("sincos(") == 1
    assert "sincosf(" in kernel_source(both, "float32")
    assert "sincos" not in text  # only the cosine is needed


@pytest.mark.parametrize("language", LANGUAGES)
def test_methods_return_the_main_source(language):
    program = tp.gravity_torque(tp.load("elbow2r"))
    assert getattr(program, language)() == next(iter(sources(program, language).values()))
    assert "mine" in getattr(program, language)("mine", dtype="float32")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["", "2x", "a b", "a-b", "λ", "x" * 64, "_x", "for", "t1", "a.b", "../up", 3])
def test_names_that_are_no_identifiers(language, name):
    with pytest.raises(tp.TaupiError, match="expected an identifier"):
        sources(tp.gravity_torque(tp.load("elbow2r")), language, name)


def test_inputs_keep_names_that_the_language_allows():
    ports = [Port(name) for name in ("q", "v2", "a b", "2x", "for", "t1")]
    program = trace("f", lambda *x: sum(x), ports, [Port("y")])
    assert identifiers(program, "f", frozenset({"for"})) == (["q", "v2", "a_b", "x2x", "for_", "t1_"], ["y"])


def test_bad_requests_say_what_is_wrong(tmp_path):
    program = tp.gravity_torque(tp.load("elbow2r"))
    (tmp_path / "file").write_text("")
    with refused("language", name="fortran"):
        tp.emit(program, "fortran", tmp_path)
    with pytest.raises(tp.TaupiError, match="Did you mean 'float32'"):
        tp.emit(program, "c", tmp_path, dtype="float3")
    with pytest.raises(tp.TaupiError, match="is a file, expected a directory"):
        tp.emit(program, "c", tmp_path / "file")
    with pytest.raises(tp.TaupiError, match="cannot be written: Not a directory"):
        tp.emit(program, "c", tmp_path / "file" / "below")
    with refused("directory", expected="the path of a directory"):
        tp.emit(program, "c", "")
    with pytest.raises(tp.TaupiError, match="goes with language='c'"):
        tp.emit(program, "python", tmp_path, project=True)
    with pytest.raises(tp.TaupiError, match="expected a Program"):
        tp.emit(tp.load("elbow2r"), "c", tmp_path)
    with refused("layout", name="rows"):
        kernel_source(program, layout="rows")
    symbolic = tp.gravity_torque(tp.Robot.from_dh([{"a": "L1"}], parameters=[1] * 10, gravity=(0, "-g", 0)))
    with pytest.raises(tp.TaupiError, match=r"without a value: .*bind"):
        tp.emit(symbolic, "c", tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_emit_writes_all_or_nothing_and_keeps_what_is_there(tmp_path):
    program, folder = tp.gravity_torque(tp.load("elbow2r")), tmp_path / "new" / "folder"
    paths = tp.emit(program, "c", folder, name="g", project=True)
    assert [p.name for p in paths] == ["g.c", "g.h", "CMakeLists.txt", "README.md", "ctypes_example.py"]
    assert sorted(folder.iterdir()) == sorted(paths)
    paths[0].unlink()
    paths[1].write_text("mine")
    with pytest.raises(tp.TaupiError, match=r"has g\.h already.*force=True"):
        tp.emit(program, "c", folder, name="g")
    assert paths[1].read_text() == "mine"
    assert not paths[0].exists()
    tp.emit(program, "c", folder, name="g", force=True)
    assert paths[1].read_text() == sources(program, "c", "g")["g.h"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_project_builds_and_its_example_runs(dtype, tmp_path):
    program = tp.regressor(tp.load("elbow2r"))
    tp.emit(program, "c", tmp_path, name="test", dtype=dtype, project=True)
    need("gcc")
    run(need("cmake"), "-S", ".", "-B", "build", cwd=tmp_path)
    run("cmake", "--build", "build", cwd=tmp_path)
    words = run(sys.executable, "ctypes_example.py", cwd=tmp_path).split()
    sample = np.array([0.1, 0.2])
    assert words[0] == "Y:"
    assert error(np.array(words[1:], float).reshape(2, 20), program(sample, sample, sample)) < SINGLE


def test_c_agrees_when_optimised(tmp_path):
    program = tp.forward_dynamics(tp.load("panda"))
    state = state_of(program)
    assert_alike(by_c(program, tmp_path, optimise="-O3")(*state), program.compile("numpy")(*state), 1e-11)
