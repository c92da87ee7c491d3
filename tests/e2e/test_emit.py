"""`taupi emit` from outside: files on disk, paths on standard output, and how it ends."""

import importlib.util

import numpy as np
import pytest
from command_line import taupi

import taupi as tp
from taupi.cli.programs import PROGRAMS, build_program


def test_emit_prints_paths_and_the_next_step(tmp_path):
    done = taupi("emit", "puma560", "regressor", "--language", "c", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["out/regressor.c", "out/regressor.h"]
    assert done.stderr == "wrote 2 files; next: cc -std=c99 -O2 -c out/regressor.c\n"
    assert (tmp_path / "out/regressor.c").read_text() == tp.regressor(tp.load("puma560")).c()
    again = taupi("emit", "puma560", "regressor", "-o", "out", cwd=tmp_path)
    assert again.returncode == 3
    assert "force" in again.stderr
    assert taupi("emit", "puma560", "regressor", "-o", "out", "--force", cwd=tmp_path).returncode == 0


def test_emitted_python_runs_without_us(tmp_path):
    options = ["--language", "python", "--terms", "viscous,coulomb", "--name", "Y", "-o", str(tmp_path)]
    assert taupi("emit", "elbow2r", "slotine-li-regressor", *options).returncode == 0
    assert "taupi" not in [line.split()[1] for line in (tmp_path / "Y.py").read_text().splitlines() if "import" in line]
    spec = importlib.util.spec_from_file_location("Y", tmp_path / "Y.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    state = np.random.default_rng(0).uniform(-1, 1, (4, 3, 2))
    want = tp.slotine_li_regressor(tp.load("elbow2r"), terms=("viscous", "coulomb"))(*state)
    assert np.allclose(module.Y(*state), want, rtol=1e-13, atol=1e-13)


def test_emit_a_project_in_single_precision(tmp_path):
    done = taupi("emit", "elbow2r", "mass-matrix", "-o", str(tmp_path), "--project", "--dtype", "float32")
    names = {"mass_matrix.c", "mass_matrix.h", "CMakeLists.txt", "README.md", "ctypes_example.py"}
    assert {p.name for p in tmp_path.iterdir()} == names
    assert "cmake" in done.stderr
    assert "const float q[restrict 2]" in (tmp_path / "mass_matrix.h").read_text()


@pytest.mark.parametrize("language", ["c", "python", "matlab", "cuda"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_can_be_emitted(name, language):
    robot = tp.load("planar3r")
    if name.startswith("elastic"):
        robot = robot.with_transmissions(stiffness=100, rotor_inertia=0.01, gear_ratio=10)
    program = build_program(name, robot)
    assert program.name in getattr(program, language)()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pumma560", "regressor"], "Did you mean 'puma560'"),
        (["puma560", "regresor"], "Did you mean 'regressor'"),
        (["puma560", "regressor", "--language", "cpp"], "Known: c, python, matlab, cuda"),
        (["puma560", "regressor", "--dtype", "float16"], "Known: float64, float32"),
        (["puma560", "regressor", "--name", "a b"], "expected an identifier of C"),
        (["puma560", "regressor", "--terms", "viscus"], "Did you mean 'viscous'"),
        (["puma560", "gravity-torque", "--terms", "viscous"], "takes no --terms, got viscous"),
        (["puma560", "jacobian", "--language", "cuda", "--project"], "goes with --language c"),
        (["puma560", "jacobian", "--lock", "x"], "takes no --lock"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_3(arguments, sentence, tmp_path):
    done = taupi("emit", *arguments, "-o", "out", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout
    assert not list(tmp_path.iterdir())


def test_output_that_is_a_file_is_exit_3(tmp_path):
    (tmp_path / "out").write_text("")
    done = taupi("emit", "puma560", "regressor", "-o", "out", cwd=tmp_path)
    assert done.returncode == 3
    assert "is a file, expected a directory" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["puma560"], ["puma560", "regressor"], ["puma560", "regressor", "--nope"]])
def test_wrong_usage_is_exit_2(arguments, tmp_path):
    done = taupi("emit", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_operational_programs(tmp_path, monkeypatch):
    """In a task's coordinates: the emitted Python says what the program says; 25 parameters at the tip as well."""
    arm = tp.load("planar3r")
    state = [np.array(x) for x in ([0.3, 0.9, -0.4], [0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9])]
    for name, wanted in (
        ("operational-regressor", tp.operational.regressor(arm, task="planar")(*state)),
        ("operational-planar-3r-regressor", tp.operational.planar_3r_regressor(arm).regressor(*state)),
    ):
        task = ["--task", "planar"] if name == "operational-regressor" else []
        words = ["emit", "planar3r", name, *task, "--language", "python", "-o", name]
        done = taupi(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        function, scope = name.replace("-", "_"), {}
        exec((tmp_path / name / f"{function}.py").read_text(), scope)
        assert np.allclose(scope[function](*state), wanted)
    done = taupi("emit", "planar3r", "regressor", "--task", "planar", "-o", "out", cwd=tmp_path)
    assert done.returncode == 3 and "takes no --task" in done.stderr
