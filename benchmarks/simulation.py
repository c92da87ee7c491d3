"""Closed loops simulated: ours compiled, alone and in batches, beside the same loop written over Pinocchio."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import peers
import pinocchio as pin

import taupi as tp

RATE, BATCH = 1000.0, 256
ARMS = {"PUMA 560": None, "Panda": peers.ARMS["Panda"]}


def arm_and_model(name: str) -> tuple[tp.Robot, pin.Model]:
    """Return our arm and Pinocchio's; the PUMA has no URDF here, so that Pinocchio gets it from our description."""
    if ARMS[name] is not None:
        path, lock = ARMS[name]
        return tp.Robot.from_urdf(path, lock=lock), peers.pinocchio_model(path, lock)
    arm, model = tp.load("puma560"), pin.Model()
    # Pinocchio divides by the mass of a link, and the first has none in the tables: 0.1 kg on its own axis changes nothing.
    arm = arm.with_parameters([0.1, *arm.parameters.values[1:]])
    order = arm.parameters.to("pinocchio").reshape(arm.n, 10)
    parent, carried = 0, pin.SE3.Identity()
    for k, joint in enumerate(arm.joints):
        before, after = (_placement(p, dict(arm.symbols)) for p in (joint.before, joint.after))
        parent = model.addJoint(parent, pin.JointModelRZ(), carried * before, joint.name)
        model.appendBodyToJoint(parent, pin.Inertia.FromDynamicParameters(order[k]), after)
        carried = after
    return arm, model


def _placement(placement: Any, symbols: dict[str, Any]) -> pin.SE3:
    def number(v: Any) -> float:
        return float(v.subs(symbols) if hasattr(v, "subs") else v)

    rotation = np.array([[number(v) for v in row] for row in placement.rotation])
    return pin.SE3(rotation, np.array([number(v) for v in placement.translation]))


def pinocchio_loop(model: pin.Model, motion: Any, steps: int) -> np.ndarray:
    """Return q and tau over time: computed torque held for each period, RK4 over Pinocchio's articulated bodies."""
    data, dt, n = model.createData(), 1 / RATE, model.nq
    q, qd, qdd = motion(np.arange(steps + 1) * dt)
    x = np.concatenate([q[0], qd[0]])
    rows = np.empty((steps + 1, 2 * n))

    def f(y: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], pin.aba(model, data, y[:n], y[n:], tau)])

    for k in range(steps + 1):
        a = qdd[k] - 10 * (x[n:] - qd[k]) - 25 * (x[:n] - q[k])
        tau = pin.rnea(model, data, x[:n], x[n:], a).copy()
        rows[k, :n], rows[k, n:] = x[:n], tau
        k1 = f(x, tau)
        k2 = f(x + dt / 2 * k1, tau)
        k3 = f(x + dt / 2 * k2, tau)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + dt * k3, tau))
    return rows


def computed_torque(arm: tp.Robot) -> tp.Program:
    """Return tau = M a + c + g with a = qdd_des - 10 de/dt - 25 e."""
    inverse = tp.inverse_dynamics(arm)

    def body(q: Any, qd: Any, q_des: Any, qd_des: Any, qdd_des: Any) -> Any:
        return inverse(q, qd, qdd_des - 10 * (qd - qd_des) - 25 * (q - q_des))

    names = ("q", "qd", "q_des", "qd_des", "qdd_des")
    return tp.trace("computed_torque", body, [tp.Port(k, (arm.n,)) for k in names], [tp.Port("tau", (arm.n,))])


def best(run: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(short: bool) -> dict[str, Any]:
    """Return seconds a control period, of both arms."""
    results: dict[str, Any] = {}
    steps, repeats = (2000, 2) if short else (10_000, 5)
    for name in ARMS:
        arm, model = arm_and_model(name)
        motion = tp.Sinusoids(np.zeros(arm.n), np.full((arm.n, 1), 0.4), np.linspace(1, 2, arm.n)[:, None])
        plant, law = tp.RigidPlant(arm), computed_torque(arm)
        start = time.perf_counter()
        tp.simulate(plant, law, motion, duration=1 / RATE, rate=RATE)
        build = time.perf_counter() - start
        run = tp.simulate(plant, law, motion, duration=steps / RATE, rate=RATE)
        theirs = pinocchio_loop(model, motion, steps)
        difference = float(np.abs(np.hstack([run.q, run.tau]) - theirs).max())
        assert difference < 1e-6, f"{name}: the loops differ by {difference}"

        def many(threads: int, plant: Any = plant, law: Any = law, motion: Any = motion) -> object:
            initial = np.tile(motion(0.0).q, (BATCH, 1))
            return tp.simulate_many(
                plant, law, motion, duration=0.5, rate=RATE, initial=initial, threads=threads, every=10
            )

        def alone(plant: Any = plant, law: Any = law, motion: Any = motion) -> object:
            return tp.simulate(plant, law, motion, duration=steps / RATE, rate=RATE)

        results[name] = {
            "build": build,
            "alone": best(alone, repeats) / steps,
            "batch": best(lambda: many(1), repeats) / (BATCH * 0.5 * RATE),
            "all cores": best(lambda: many(os.cpu_count() or 1), repeats) / (BATCH * 0.5 * RATE),
            "pinocchio": best(lambda: pinocchio_loop(model, motion, 1000), repeats) / 1000,  # noqa: B023
            "difference": difference,
        }
    return results


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    rows = []
    for name, r in results.items():
        seconds = [r["pinocchio"], r["alone"], r["batch"], r["all cores"]]
        told = [f"{s * 1e6:.2f} ({1 / (s * RATE):.0f} s/s)" for s in seconds]
        rows.append(
            [name, *told, f"{seconds[0] / seconds[1]:.0f} x, {seconds[0] / seconds[2]:.0f} x", f"{r['build']:.1f} s"]
        )
    heading = [
        "robot",
        "Pinocchio in a Python loop",
        "ours, one roll-out",
        f"ours, {BATCH} roll-outs, one core",
        f"{os.cpu_count()} cores",
        "ratio on one core: one, many",
        "trace and compile",
    ]
    return [
        "## Simulation",
        "",
        "Computed torque at 1 kHz, RK4, one step a period; microseconds a period (seconds simulated per second). Both sides",
        "follow the same motion, and their positions and torques agree to "
        f"{max(r['difference'] for r in results.values()):.0e} rad and N m throughout.",
        "Ours includes the energy audit and the results.",
        "",
        *table(heading, rows),
    ]
