"""What runs beside a robot: how long a step takes, from Python and in C, and how soon and how surely a push is felt."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import butter, lfilter

import taupi as tp
from taupi.identification.online.component import Component
from taupi.identification.online.thresholds import (
    Calibration,
    Residuals,
    Thresholds,
    felt_torque,
    find_thresholds,
    with_together,
)

HEADING = "## Beside the robot"
RATE = 1000
BANDWIDTH_HZ = 20.0
FORCE = 10.0  # N, on the elbow
NOISE = {"qd": 5e-4, "tau": 0.1}  # rad/s, N m
TERMS = ("viscous", tp.terms.Coulomb(0.02))
MIDDLE = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.8, 0.5])

_LOOP = """#include "arm_{kind}.h"
void loop(int count, arm_{kind} *c, {declared}, {outputs})
{{
    for (int k = 0; k < count; ++k) arm_update(c, {inputs}, 1e-3, {names});
}}
"""


# Logs of a simulated Panda --------------------------------------------------------------------------------------------


def panda() -> tp.Robot:
    """Return the Panda with friction."""
    return tp.load("panda").with_friction(viscous=[1, 1, 1, 1, 0.5, 0.5, 0.5], coulomb=[0.6] * 4 + [0.3] * 3)


def recorded(seed: int, duration: float, push: tuple[float, float] | None = None) -> tp.Log:
    """Return a log at 1 kHz with noise; `push` is when a force of a random direction acts on the elbow, at right angles to it."""
    arm, rng = panda(), np.random.default_rng(seed)
    omega = np.array([0.7, 1.3, 2.1]) * rng.uniform(0.8, 1.2)
    motion = tp.Sinusoids(MIDDLE, rng.uniform(0.1, 0.25, (7, 3)), omega, rng.uniform(0, 6, (7, 3)))
    disturbance = None
    if push is not None:
        t = np.arange(round(duration * RATE)) / RATE
        angle = rng.uniform(0, 2 * np.pi)
        force = FORCE * np.array([np.cos(angle), np.sin(angle), 0.0])
        levers = tp.jacobian(arm, frame="panda_link4")(np.array([motion(s)[0] for s in t]))[:, 3:]
        disturbance = -np.einsum("kij,i->kj", levers, force) * ((t >= push[0]) & (t < push[1]))[:, None]
    plant = tp.RigidPlant(arm, terms=TERMS, disturbance=disturbance)
    run = tp.simulate(plant, tp.ComputedTorque(arm, terms=TERMS), motion, duration=duration, rate=RATE)
    qd, tau = (x + NOISE[k] * rng.normal(size=x.shape) for k, x in (("qd", run.qd), ("tau", run.tau)))
    return tp.Log(run.time, run.q, qd=qd, tau=tau, names=arm.joint_names)


# How soon, how surely -------------------------------------------------------------------------------------------------


def plain_residual(robot: tp.Robot, log: tp.Log) -> np.ndarray:
    """Return what inverse dynamics does not explain, causally: q, qd and tau through one filter, qdd by differences of qd."""
    b, a = butter(2, BANDWIDTH_HZ / (RATE / 2))
    q, qd, tau = (lfilter(b, a, x - x[0], axis=0) + x[0] for x in (log.q, log.qd, log.tau))
    qdd = np.diff(qd, axis=0, prepend=qd[:1]) * RATE
    return np.asarray(tp.inverse_dynamics(robot, terms=TERMS)(q, qd, qdd) - tau)


def alarms(residual: np.ndarray, log: tp.Log, thresholds: Thresholds, dry: np.ndarray) -> np.ndarray:
    """Return the times at which a residual (N, n) is a contact by what a detector decides by, written once more in NumPy.

    Joints at rest may hold what the detector lets them hold of their dry friction (n,).
    """
    speed = np.abs(log.qd)
    tails = np.stack([np.interp(speed[:, j], thresholds.speeds[j], thresholds.torques[j]) for j in range(7)], axis=1)
    held = thresholds.calibration.breakaway * dry * np.maximum(1 - speed / thresholds.standing, 0)
    shares = felt_torque(residual) / np.maximum(tails, held)
    return np.asarray(log.time[(shares > 1).any(axis=1) | (np.linalg.norm(shares, axis=1) > thresholds.together)])


def _count(when: np.ndarray) -> int:
    """Return how many alarms there are, those less than 0.25 s after each other being one."""
    return int(np.sum(np.diff(when, prepend=-1.0) > 0.25)) if len(when) else 0


def felt(short: bool, fit: tp.Fit) -> dict[str, Any]:
    """Return how many pushes each method feels, after how long, and how often it feels one that is none."""
    quiet = [recorded(s, 30.0) for s in ((11, 12) if short else range(11, 19))]
    seconds, count = 30.0, (2 if short else 360)
    pushed = [recorded(s, 2.0, (1.0, 1.3)) for s in range(50, 54 if short else 90)]
    robot = fit.robot_identified(anyway=True)
    detectors = [
        tp.momentum_observer(fit, BANDWIDTH_HZ, tracker=tracker).calibrated(quiet) for tracker in (False, True)
    ]
    standing = 2 * tp.momentum_observer(fit).model.widths
    own = [Residuals.along(log, plain_residual(robot, log), log.qd) for log in quiet]
    alone = find_thresholds(robot.joint_names, standing, own, Calibration())
    methods: dict[str, tuple[Callable[[tp.Log], np.ndarray], Thresholds]] = {
        "momentum observer": (lambda log: detectors[0].levels(log)[0], detectors[0].thresholds),
        "the same, friction tracked": (lambda log: detectors[1].levels(log)[0], detectors[1].thresholds),
        "residual of inverse dynamics": (
            lambda log: plain_residual(robot, log),
            with_together(alone, own),
        ),
    }
    dry = np.array([float(joint.friction.coulomb) for joint in robot.joints])
    results: dict[str, Any] = {}
    for name, (method, thresholds) in methods.items():
        delays, missed = [], 0
        for log in pushed:
            when = alarms(method(log), log, thresholds, dry)
            during = when[(when >= 1.0) & (when < 1.3)]
            delays += [1e3 * (during[0] - 1.0)] if len(during) else []
            missed += not len(during)
        results[name] = {
            "pushes": len(pushed), "missed": missed, "median": float(np.median(delays)), "worst": float(np.max(delays)),
            "soon": int(np.sum(np.array(delays) <= 10.5)), "false": 0, "hours": count * seconds / 3600,
            "own": sum(_count(alarms(method(log), log, thresholds, dry)) for log in quiet),
        }  # fmt: skip
    for seed in range(1000, 1000 + count):  # one after the other: hours of logs need not be in memory
        log = recorded(seed, seconds)
        for name, (method, thresholds) in methods.items():
            results[name]["false"] += _count(alarms(method(log), log, thresholds, dry))
    return results


# How long a step takes ------------------------------------------------------------------------------------------------


def shortest(call: Callable[[], object], repeats: int, count: int) -> float:
    """Return the shortest time of so many runs of a call, in seconds per one of its `count` steps."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) / count


def in_c(component: Component, sample: tuple[np.ndarray, ...], repeats: int) -> float:
    """Return seconds per step of the emitted C, compiled with -O2 and called in a loop; NaN without a compiler."""
    if not shutil.which("cc"):
        return float("nan")
    package = component.package("arm")
    words = {
        "kind": component.name,
        "declared": ", ".join(f"const double *{p.name}" for p in package.inputs),
        "outputs": ", ".join(f"double *{p.name}" for p in package.outputs),
        "inputs": ", ".join(p.name for p in package.inputs),
        "names": ", ".join(p.name for p in package.outputs),
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = tp.emit_component(component, folder, name="arm")
        Path(folder, "loop.c").write_text(_LOOP.format(**words))
        sources = [str(p) for p in paths if p.suffix == ".c" and not p.name.startswith("test_")]
        library = str(Path(folder, "arm.so"))
        command = [
            "cc",
            "-std=c99",
            "-O2",
            "-shared",
            "-fPIC",
            "-o",
            library,
            str(Path(folder, "loop.c")),
            *sources,
            "-lm",
        ]
        subprocess.run(command, check=True)
        loop = ctypes.CDLL(library).loop
        arrays = [component.start(), *sample, *(np.zeros(p.size) for p in package.outputs)]
        pointers = [np.ascontiguousarray(a).ctypes.data_as(ctypes.c_void_p) for a in arrays]
        return shortest(lambda: loop(1000, *pointers), repeats, 1000)


def latencies(short: bool, fit: tp.Fit) -> dict[str, Any]:
    """Return seconds per step of each component: as `step` from Python, as a bound call, in C; and Pinocchio's tau."""
    import peers
    import pinocchio as pin

    repeats, log = (3 if short else 30), recorded(11, 0.5)
    q, qd, tau = log.q[100], log.qd[100], log.tau[100]
    components = {
        "observer": tp.momentum_observer(fit),
        "observer with tracker": tp.momentum_observer(fit, tracker=True),
        "contact detector": tp.momentum_observer(fit).calibrated(recorded(11, 5.0)),
        "friction tracker": fit.tracker(),
        "recursive least squares": fit.recursive_estimator(),
    }
    results: dict[str, Any] = {}
    for name, component in components.items():
        signals = (q, qd, tau) if len(component.signals) == 3 else (q, qd, np.zeros(7), tau)
        state: Any = component.init()
        step: Any = component
        step.step(state, *signals, dt=1e-3)

        def many(step: Any = step, state: Any = state, signals: Any = signals) -> None:
            for _ in range(100):
                step.step(state, *signals, dt=1e-3)

        bound: Any = component.program().compile("cpu").bound()
        results[name] = {
            "step": shortest(many, repeats, 100),
            "bound": shortest(lambda bound=bound: [bound() for _ in range(1000)], repeats, 1000),
            "c": in_c(component, signals, repeats),
            "state": component.size,
        }
    model = peers.pinocchio_model(*peers.ARMS["Panda"])
    data, zero = model.createData(), np.zeros(model.nv)
    calls = range(1000)
    results["Pinocchio's tau"] = {
        "step": shortest(lambda: [pin.rnea(model, data, zero, zero, zero) for _ in calls], repeats, 1000)
    }
    return results


def measure(short: bool) -> dict[str, Any]:
    """Return times of steps, and how pushes are felt."""
    fit = tp.identify(panda(), recorded(1, 6.0 if short else 20.0), terms=("viscous", "coulomb"), cutoff_hz=20)
    return {"latencies": latencies(short, fit), "pushes": felt(short, fit), "quiet": 1.0 if short else 4.0}


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    steps = []
    for name, r in results["latencies"].items():
        times = [f"{r[k] * 1e6:.2f}" if k in r and r[k] == r[k] else "-" for k in ("step", "bound", "c")]
        if name == "recursive least squares":
            times[1] = f"{times[1]} (rows alone)"
        steps.append([name, *times, str(r.get("state", "-"))])
    pushes = [
        [
            name, f"{r['pushes'] - r['missed']} of {r['pushes']}", f"{r['median']:.0f}", f"{r['worst']:.0f}",
            f"{r['soon']} of {r['pushes']}",
            str(r["own"]), f"{r['false']} in {r['hours']:.3g} h",
        ]
        for name, r in results["pushes"].items()
    ]  # fmt: skip
    return [
        HEADING,
        "",
        "The Panda, seven joints, fitted with friction. Microseconds per step: `step` as called from Python, with its checks;",
        "one bound call of the same program; the emitted C in a loop (`cc -O2`). Pinocchio's inverse dynamics, from Python, is",
        "the torque alone. At 1 kHz a step may take 1000 us.",
        "",
        *table(["what", "`step`", "bound", "C", "numbers of state"], steps),
        "",
        f"A push of {FORCE:.0f} N on the elbow, sideways in a random direction, while the arm moves (simulated; noise of",
        f"{NOISE['tau']} N m and {NOISE['qd'] * 1e3} mrad/s; fitted on another motion). All methods have {BANDWIDTH_HZ:.0f} Hz,",
        f"and thresholds for one false alarm per hour, extrapolated from {results['quiet']:.3g} min of motions without contacts.",
        "False alarms are counted on these, and on motions that the thresholds have not seen. The residual of inverse dynamics",
        "filters q, qd and tau alike and differentiates qd.",
        "",
        *table(
            [
                "method",
                "felt",
                "median delay, ms",
                "longest, ms",
                "within 10 ms",
                "false alarms, known motions",
                "other motions",
            ],
            pushes,
        ),
    ]
