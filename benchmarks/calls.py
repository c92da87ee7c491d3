"""What surrounds the kernels: plain calls with one sample and with many, steps of a law, a cold process, long chains."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import peers
import pinocchio as pin
from growth import chain
from pages import ratio

import taupi as tp

CALLS = 300
BATCHES = (1_000, 4_096, 16_384, 65_536, 100_000)
OURS = """
import sys, numpy as np, taupi as tp
robot = tp.Robot.from_urdf(sys.argv[1])
z = np.zeros(robot.n)
tp.inverse_dynamics(robot)(z, z, z)
"""
PINOCCHIO = """
import sys, numpy as np, pinocchio as pin
model = pin.buildModelFromUrdf(sys.argv[1])
z = np.zeros(model.nv)
pin.rnea(model, model.createData(), z, z, z)
"""


def measure(short: bool) -> dict[str, Any]:
    """Return seconds per call, and seconds of whole processes and builds."""
    rounds = 5 if short else 60
    path, lock = peers.ARMS["Panda"]
    robot, model = tp.Robot.from_urdf(path, lock=lock), peers.pinocchio_model(path, lock)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, robot.n))
    tau, y, data = tp.inverse_dynamics(robot), tp.regressor(robot), model.createData()
    mass, law, fixed = tp.mass_matrix(robot), tp.laws.SlotineLi(robot), tp.laws.ComputedTorque(robot)
    state, none = law.init(), fixed.init()
    states = np.random.default_rng(1).uniform(-2, 2, (3, max(BATCHES), robot.n))
    return {
        "calls": {
            "tau": (_call(lambda: tau(q, qd, qdd), rounds), _call(lambda: pin.rnea(model, data, q, qd, qdd), rounds)),
            "Y": (
                _call(lambda: y(q, qd, qdd), rounds),
                _call(lambda: pin.computeJointTorqueRegressor(model, data, q, qd, qdd), rounds),
            ),
            "M": (_call(lambda: mass(q), rounds), _call(lambda: pin.crba(model, data, q), rounds)),
            "law.step, computed torque": (_call(lambda: fixed.step(none, q, qd, q, qd, qdd, 1e-3), rounds), None),
            "law.step, Slotine-Li": (_call(lambda: law.step(state, q, qd, q, qd, qdd, 1e-3), rounds), None),
        },
        "batches": {
            "tau": _batches(tau, partial(pin.rnea, model, data), states, short),
            "Y": _batches(y, partial(pin.computeJointTorqueRegressor, model, data), states, short),
        },
        "cold": _processes({"ours": OURS, "Pinocchio": PINOCCHIO}, 2 if short else 12),
        "joints": {n: _built(n) for n in ((8, 16) if short else (16, 32, 64))},
    }


def section(results: dict[str, Any], table: Callable[[list[str], list[list[str]]], list[str]]) -> list[str]:
    """Return the section of the page."""
    calls = [
        [name, f"{1e6 * ours:.2f} us", *(["-"] * 2 if peer is None else [f"{1e6 * peer:.2f} us", ratio(peer, ours)])]
        for name, (ours, peer) in results["calls"].items()
    ]
    cold, joints = results["cold"], results["joints"]
    batches = [
        [str(n), *(entry for row in results["batches"].values() for entry in _batch_entries(row[n], row["Pinocchio"]))]
        for n in BATCHES
    ]
    return [
        "## Calls, and the first one",
        "",
        "A plain call with one sample in NumPy arrays, as people write it in a loop, Panda; the result is a new array.",
        "",
        *table(["call", "taupi", "Pinocchio from Python", "ratio"], calls),
        "",
        "These calls go through one built-in function of machine code that reads the caller's arrays and makes the result; the",
        "step of a law also checks there that its inputs are finite. Steps of observers and trackers are",
        "[below](#beside-the-robot).",
        "",
        "A plain call with a batch, which returns a new array: nanoseconds of processor time a sample, and how many times as",
        "fast as Pinocchio, which takes one sample a call from Python "
        f"(tau {1e9 * results['batches']['tau']['Pinocchio']:.0f} ns, Y {1e9 * results['batches']['Y']['Pinocchio']:.0f} ns). "
        "The array of the call before is gone, so that its memory is used again.",
        "",
        *table(["samples", "tau, ns", "ratio", "Y, ns", "ratio"], batches),
        "",
        "From a cold process to the first torque of a UR5, imports included, machine code from the cache on disk:",
        "",
        *table(["", "seconds", "processor time"], [[name, *(f"{s:.2f}" for s in both)] for name, both in cold.items()]),
        "",
        "Y of long chains, traced and compiled, without that cache:",
        "",
        *table(
            ["joints", "seconds", "processor time"],
            [[str(n), *(f"{s:.1f}" for s in both)] for n, both in joints.items()],
        ),
    ]


def _call(call: Callable[[], object], rounds: int) -> float:
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS)
    return min(times)


def _batches(
    program: tp.Program, peer: Callable[..., object], states: np.ndarray, short: bool
) -> dict[int | str, float]:
    """Return seconds a sample by the size of a batch, and those of the peer, which is called with one sample at a time."""
    rows = [tuple(s) for s in np.moveaxis(states, 1, 0)[:CALLS]]
    seconds: dict[int | str, float] = {
        "Pinocchio": _shortest(lambda: [peer(*r) for r in rows], 3 if short else 60) / CALLS
    }
    for n in BATCHES:
        batch = [np.ascontiguousarray(s[:n]) for s in states]
        rounds = 3 if short else max(100, 1_000_000 // n)
        seconds[n] = _shortest(partial(program, *batch), rounds) / n
    return seconds


def _batch_entries(seconds: float, peer: float) -> tuple[str, str]:
    return f"{1e9 * seconds:.0f}", ratio(peer, seconds)


def _shortest(call: Callable[[], object], rounds: int) -> float:
    """Return the shortest processor time of a call: a large batch takes longer than others leave the processor alone."""
    call()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def _processes(texts: dict[str, str], rounds: int) -> dict[str, tuple[float, float]]:
    """Return seconds, and seconds of processor time, of processes that run in turn: the first runs fill the caches on disk."""
    urdf = peers.ROBOTS / "ur_description/urdf/ur5_robot.urdf"
    # Both libraries may keep compiled Python and machine code on disk, as they do for users.
    environment = {k: v for k, v in os.environ.items() if k not in ("TAUPI_CACHE", "PYTHONDONTWRITEBYTECODE")}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in texts}
    for _ in range(rounds + 1):
        for name, text in texts.items():
            start, worked = time.perf_counter(), _processor_time_of_children()
            subprocess.run([sys.executable, "-c", text, str(urdf)], check=True, env=environment)
            times[name].append((time.perf_counter() - start, _processor_time_of_children() - worked))
    return {name: (min(s for s, _ in rows[1:]), min(p for _, p in rows[1:])) for name, rows in times.items()}


def _processor_time_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _built(n: int) -> tuple[float, float]:
    robot = chain(n)
    start, worked = time.perf_counter(), time.process_time()
    tp.regressor(robot).compile("cpu", layout="batch_last")
    return time.perf_counter() - start, time.process_time() - worked
