"""What surrounds the kernels: plain calls with one sample, steps of a law, the first result of a cold process, long chains."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import peers
import pinocchio as pin
from growth import chain

import taupi as tp

CALLS = 300
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
    law = tp.SlotineLi(robot)
    state = law.init()
    return {
        "calls": {
            "tau": (_call(lambda: tau(q, qd, qdd), rounds), _call(lambda: pin.rnea(model, data, q, qd, qdd), rounds)),
            "Y": (
                _call(lambda: y(q, qd, qdd), rounds),
                _call(lambda: pin.computeJointTorqueRegressor(model, data, q, qd, qdd), rounds),
            ),
            "law.step, Slotine-Li": (_call(lambda: law.step(state, q, qd, q, qd, qdd, 1e-3), rounds), None),
        },
        "cold": {name: _process(text, 2 if short else 10) for name, text in (("ours", OURS), ("Pinocchio", PINOCCHIO))},
        "joints": {n: _built(n) for n in ((8, 16) if short else (16, 32, 64))},
    }


def section(results: dict[str, Any], table: Callable[[list[str], list[list[str]]], list[str]]) -> list[str]:
    """Return the section of the page."""
    calls = [
        [name, f"{1e6 * ours:.2f} us", "-" if peer is None else f"{1e6 * peer:.2f} us"]
        for name, (ours, peer) in results["calls"].items()
    ]
    cold, joints = results["cold"], results["joints"]
    return [
        "## Calls, and the first one",
        "",
        "A plain call with one sample in NumPy arrays, as people write it in a loop, Panda; the result is a new array.",
        "",
        *table(["call", "taupi", "Pinocchio from Python"], calls),
        "",
        "From a cold process to the first torque of a UR5, imports included, machine code from the cache on disk:",
        "",
        *table(["", "seconds"], [[name, f"{seconds:.2f}"] for name, seconds in cold.items()]),
        "",
        "Y of long chains, traced and compiled, without that cache:",
        "",
        *table(["joints", "seconds"], [[str(n), f"{seconds:.1f}"] for n, seconds in joints.items()]),
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


def _process(text: str, rounds: int) -> float:
    """Return the time of a process that is run again and again: the first run fills the caches on disk."""
    urdf = peers.ROBOTS / "ur_description/urdf/ur5_robot.urdf"
    # Both libraries may keep compiled Python and machine code on disk, as they do for users.
    environment = {k: v for k, v in os.environ.items() if k not in ("TAUPI_CACHE", "PYTHONDONTWRITEBYTECODE")}
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", text, str(urdf)], check=True, env=environment)
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _built(n: int) -> float:
    start = time.perf_counter()
    tp.regressor(chain(n)).compile("cpu", layout="batch_last")
    return time.perf_counter() - start
