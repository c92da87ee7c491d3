"""Programs in other processes, by spawn and by fork, and outputs that share memory with inputs."""

import gc
import multiprocessing
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import taupi as tp

ARM = tp.load("elbow2r")
Q = np.array([[0.3, -0.2], [0.1, 0.5], [1.0, 2.0]])


def gravity():
    return tp.gravity_torque(ARM)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_compiled_programs_pickle(target):
    run = pickle.loads(pickle.dumps(gravity().compile(target)))
    assert np.allclose(run(Q), gravity()(Q), rtol=1e-14)


def test_other_targets_pickle_too():
    low, high = pickle.loads(pickle.dumps(gravity().compile("interval")))((Q, Q))
    assert np.all(low <= gravity()(Q)) and np.all(gravity()(Q) <= high)
    assert str(pickle.loads(pickle.dumps(gravity().compile("explicit")))()) == str(gravity().sympy())
    assert pickle.loads(pickle.dumps(gravity().compile("exact")))([0, 0])[0] == gravity().exact([0, 0])[0]


def test_programs_that_check_their_arguments_pickle_with_the_check():
    """Those of quaternions, and those of a task that can be singular."""
    leg, q = tp.load("solo12"), np.r_[np.zeros(6), 1.0, np.zeros(12)]
    copy = pickle.loads(pickle.dumps(tp.gravity_torque(leg)))
    assert np.array_equal(copy(q), tp.gravity_torque(leg)(q))
    with pytest.raises(tp.TaupiError, match="quaternion of length zero"):
        copy(0 * q)
    with pytest.raises(tp.TaupiError, match="singular"):
        pickle.loads(pickle.dumps(tp.operational.mass(ARM, task="xy")))([0.3, 0.0])


def test_bound_programs_pickle_with_their_values():
    step = gravity().compile("cpu").bound()
    step.inputs["q"][:] = Q[0]
    step()
    copy = pickle.loads(pickle.dumps(step))
    assert np.array_equal(copy.x, step.x) and np.array_equal(copy.outputs["g"], step.outputs["g"])
    copy.inputs["q"][:] = Q[1]
    copy()
    assert np.allclose(copy.outputs["g"], gravity()(Q[1]), rtol=1e-14)
    assert np.array_equal(step.inputs["q"], Q[0]) and np.allclose(step.outputs["g"], gravity()(Q[0]), rtol=1e-14)


def test_cloudpickle_carries_functions_that_hold_programs():
    cloudpickle = pytest.importorskip("cloudpickle")
    program, bound = gravity(), gravity().compile("cpu").bound()

    def torque(q):
        bound.inputs["q"][:] = q
        bound()
        return program(q) + bound.outputs["g"]

    copy = pickle.loads(cloudpickle.dumps(torque))
    assert np.allclose(copy(Q[0]), 2 * gravity()(Q[0]), rtol=1e-14)


def torque_of(run, q):
    return np.asarray(run(q))


@pytest.mark.parametrize("method", ["spawn", *(["fork"] if sys.platform == "linux" else [])])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_processes_by_spawn_and_by_fork(method):
    program = gravity()
    expected = program(Q)  # compiled here before
    with multiprocessing.get_context(method).Pool(1) as pool:
        for run in (program, program.compile("cpu"), program.compile("numpy")):
            assert np.allclose(pool.apply(torque_of, (run, Q)), expected, rtol=1e-14)


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
def test_outputs_that_overlap_inputs(shift):
    """By some rows, by half a row, or altogether: the results are those without overlap."""
    mass = tp.forward_dynamics(ARM).compile("cpu")
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, 501, 2))
    memory = np.zeros(2 * 501 + 16)
    place = 8 + shift
    tau_there = memory[8 : 8 + 1002].reshape(501, 2)
    tau_there[:] = tau
    out = memory[place : place + 1002].reshape(501, 2)
    expected = mass(q, qd, tau)
    mass(q, qd, tau_there, out=out)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("level", ["sse2", "avx2", ""])
def test_code_for_older_processors(monkeypatch, level):
    """AVX-512 where there is one, AVX2, plain SSE2: the same numbers by code of each width."""
    monkeypatch.setenv("TAUPI_INSTRUCTIONS", level)
    most = {"sse2": 2, "avx2": 4, "": 8}[level]
    rng = np.random.default_rng(1)
    arm = tp.load("puma560")
    for n in (1, 7, 300):
        q, qd, qdd = 3 * rng.normal(size=(3, n, 6))
        run = tp.regressor(arm, terms=("viscous", "coulomb")).compile("cpu")
        expected = tp.regressor(arm, terms=("viscous", "coulomb")).compile("numpy")(q, qd, qdd)
        assert run.lanes <= most
        assert np.allclose(run(q, qd, qdd), expected, rtol=1e-12, atol=1e-12)
    single = tp.mass_matrix(arm).compile("cpu", dtype="float32")
    assert single.lanes <= 2 * most and np.allclose(single(q[:5]), tp.mass_matrix(arm)(q[:5]), rtol=1e-4, atol=1e-4)


def test_instructions_that_are_unknown(monkeypatch):
    monkeypatch.setenv("TAUPI_INSTRUCTIONS", "mmx")
    with pytest.raises(tp.TaupiError, match="TAUPI_INSTRUCTIONS is 'mmx', expected avx2 or sse2"):
        gravity().compile("cpu")


def resident():
    """Bytes of memory that this process has in use, without those of files, which the system drops and reads again."""
    whole, of_files = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    return (whole - of_files) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("times", [60, pytest.param(10_000, marks=pytest.mark.long)])
def test_compiled_code_is_freed(times):
    """What one compilation takes, some 300 kB of code and tables, would show."""
    program = tp.regressor(tp.load("puma560"))
    grown = []
    for _ in range(3):  # what is not freed shows every time; what the system does with its pages does not
        gc.collect()
        before = resident()
        for _ in range(times):
            program.compile("cpu")(*np.zeros((3, 6)))
        gc.collect()
        grown.append(resident() - before)
        if grown[-1] < 8 << 20:
            break
    assert grown[-1] < 8 << 20, grown


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_programs_of_a_thousand_robots_are_forgotten():
    """Builders keep their last 256 programs: memory grows until these are all there, and no further."""
    body = {"m": 1, "com": (0.05, 0, 0), "inertia": ((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1))}
    for k in range(1000):
        joint = {"a": f"{k + 1}/1000", "alpha": 0, "d": 0, "theta": 0, "joint": "revolute"}
        tp.regressor(tp.Robot.from_dh([joint] * 2, convention="classic", links=[body] * 2))(*np.zeros((3, 2)))
        if k == 799:
            gc.collect()
            before = resident()
    gc.collect()
    assert resident() - before < 8 << 20
