"""Closed loops simulated: ours compiled, alone and in batches, beside the same loop written over Pinocchio."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import peers
import pinocchio as pin
from pages import ratio

import taupi as tp
from taupi.model.body import move_body
from taupi.model.placement import Placement

RATE, BATCH = 1000.0, 256
ARMS = {"PUMA 560": None, "Panda": peers.ARMS["Panda"]}
MIDDLE = {"PUMA 560": [0.0] * 6, "Panda": [0, 0, 0, -1.5, 0, 1.8, 0]}  # of the motion
LAWS = ("computed torque", "Slotine-Li")
ISAAC = "https://isaac-sim.github.io/IsaacLab/v1.4.1/source/overview/reinforcement-learning/performance_benchmarks.html"
KNOWN = 0.8  # the part of the true parameters that an estimate starts at


def arm_and_model(name: str) -> tuple[tp.Robot, pin.Model]:
    """Return our arm and Pinocchio's; the PUMA has no URDF here, so that Pinocchio gets it from our description."""
    if ARMS[name] is not None:
        path, lock = ARMS[name]
        return tp.Robot.from_urdf(path, lock=lock), peers.pinocchio_model(path, lock)
    arm, model = in_joint_frames(tp.load("puma560")), pin.Model()
    # Pinocchio divides by the mass of a link, and the first has none in the tables: 0.1 kg on its own axis changes nothing.
    arm = arm.with_parameters([0.1, *arm.parameters.values[1:]])
    order = arm.parameters.to("pinocchio").reshape(arm.n, 10)
    parent = 0
    for k, joint in enumerate(arm.joints):
        parent = model.addJoint(parent, pin.JointModelRZ(), _placement(joint.before, dict(arm.symbols)), joint.name)
        model.appendBodyToJoint(parent, pin.Inertia.FromDynamicParameters(order[k]), pin.SE3.Identity())
    return arm, model


def in_joint_frames(arm: tp.Robot) -> tp.Robot:
    """Return the same arm with every link's frame in its joint, where Pinocchio has them: parameters then mean the same."""
    joints, links, carried = [], [], Placement()
    for joint, link in zip(arm.joints, arm.links, strict=True):
        joints.append(dataclasses.replace(joint, before=carried @ joint.before, after=Placement()))
        links.append(dataclasses.replace(link, body=move_body(link.body, joint.after)))
        carried = joint.after
    return dataclasses.replace(arm, joints=tuple(joints), links=tuple(links))


def _placement(placement: Any, symbols: dict[str, Any]) -> pin.SE3:
    def number(v: Any) -> float:
        return float(v.subs(symbols) if hasattr(v, "subs") else v)

    rotation = np.array([[number(v) for v in row] for row in placement.rotation])
    return pin.SE3(rotation, np.array([number(v) for v in placement.translation]))


Control = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def pinocchio_law(model: pin.Model, law: str, gains: Any) -> Control:
    """Return a law over Pinocchio, called once a period: computed torque, or Slotine and Li's with its estimate kept inside."""
    data, n, regressor = model.createData(), model.nq, peers.pinocchio_calls(model)["Y_r"]
    if law == "computed torque":
        return lambda q, v, q_d, v_d, a_d: pin.rnea(model, data, q, v, a_d - 10 * (v - v_d) - 25 * (q - q_d)).copy()
    # Our parameters in Pinocchio's order; a gain goes where its parameter goes.
    order = gains.robot.with_parameters(np.arange(10.0 * n)).parameters.to("pinocchio").astype(int)
    estimate, pace = KNOWN * gains.robot.parameters.values[order], gains.Gamma_inv[order] / RATE

    def slotine_li(q: Any, v: Any, q_d: Any, v_d: Any, a_d: Any) -> np.ndarray:
        e, rate = q - q_d, v - v_d
        v_r, a_r = v_d - gains.Lambda * e, a_d - gains.Lambda * rate
        y, s = regressor(q, v, v_r, a_r), v - v_r
        tau = y @ estimate - gains.K * s
        estimate[:] -= pace * (y.T @ s)
        return tau

    return slotine_li


def pinocchio_loop(model: pin.Model, motion: Any, steps: int, control: Control) -> np.ndarray:
    """Return q and tau over time: a law held for each period, RK4 over Pinocchio's articulated bodies."""
    data, dt, n = model.createData(), 1 / RATE, model.nq
    q, qd, qdd = motion(np.arange(steps + 1) * dt)
    x = np.concatenate([q[0], qd[0]])
    rows = np.empty((steps + 1, 2 * n))

    def f(y: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], pin.aba(model, data, y[:n], y[n:], tau)])

    for k in range(steps + 1):
        tau = control(x[:n], x[n:], q[k], qd[k], qdd[k])
        rows[k, :n], rows[k, n:] = x[:n], tau
        k1 = f(x, tau)
        k2 = f(x + dt / 2 * k1, tau)
        k3 = f(x + dt / 2 * k2, tau)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + f(x + dt * k3, tau))
    return rows


def pinocchio_calls_alone(model: pin.Model, law: str, repeats: int) -> float:
    """Return the seconds of a period that Pinocchio's own functions take, called from Python with ready arguments."""
    data, n = model.createData(), model.nq
    q, v, tau = np.full(n, 0.1), np.full(n, 0.2), np.full(n, 0.3)
    y_r = peers.pinocchio_calls(model)["Y_r"]

    def calls() -> None:
        for _ in range(100):
            for _ in range(4):
                pin.aba(model, data, q, v, tau)
            if law == "computed torque":
                pin.rnea(model, data, q, v, tau)
            else:
                y_r(q, v, tau, tau)

    return best(calls, 10 * repeats) / 100


def computed_torque(arm: tp.Robot) -> tp.Program:
    """Return tau = M a + c + g with a = qdd_des - 10 de/dt - 25 e."""
    inverse = tp.inverse_dynamics(arm)

    def body(q: Any, qd: Any, q_des: Any, qd_des: Any, qdd_des: Any) -> Any:
        return inverse(q, qd, qdd_des - 10 * (qd - qd_des) - 25 * (q - q_des))

    names = ("q", "qd", "q_des", "qd_des", "qdd_des")
    return tp.program.trace(
        "computed_torque", body, [tp.program.Port(k, (arm.n,)) for k in names], [tp.program.Port("tau", (arm.n,))]
    )


def best(run: Callable[[], object], repeats: int, clock: Callable[[], float] = time.thread_time) -> float:
    """Return the shortest of several runs, in seconds of one core."""
    times = []
    for _ in range(repeats):
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)


def measure(short: bool) -> dict[str, Any]:
    """Return seconds a control period, of both arms under both laws, and of one step of a controller."""
    loops = {name: {law: _loop(name, law, short) for law in LAWS} for name in ARMS}
    return {"loops": loops, "step": _step(short), "falls": _falls(short)}


def _falls(short: bool) -> dict[str, Any]:
    """Return seconds per step of Pandas that fall, RK4 at 1 kHz, ours and by MuJoCo's threaded roll-outs."""
    arm, _ = arm_and_model("Panda")
    count, steps, repeats = (64, 100, 2) if short else (BATCH, 500, 10)
    cores, plant = os.cpu_count() or 1, tp.RigidPlant(arm)
    initial = np.random.default_rng(0).uniform(-1, 1, (count, arm.n))
    peer = peers.mujoco_rollouts(*peers.ARMS["Panda"], count, steps)

    def ours(threads: int) -> object:
        return tp.simulate_many(plant, duration=steps / RATE, rate=RATE, initial=initial, threads=threads)

    if peer is not None:
        states, run = peer(cores)[0], tp.simulate_many(plant, duration=steps / RATE, rate=RATE, initial=initial)
        difference = float(np.abs(states[:, -1, 1 : 1 + arm.n] - run.q[:, -1]).max())
        assert difference < 1e-6, f"arms that fall differ by {difference}"
    ours(1)
    each = {"ours": ours} if peer is None else {"ours": ours, "MuJoCo": peer}
    return {
        name: [best(partial(run, n), repeats, time.perf_counter) / (count * steps) for n in (1, cores)]
        for name, run in each.items()
    }


def _loop(name: str, law: str, short: bool) -> dict[str, Any]:
    steps, repeats = (1000, 3) if short else (4000, 25)
    arm, model = arm_and_model(name)
    motion = tp.Sinusoids(MIDDLE[name], np.full((arm.n, 1), 0.4), np.linspace(1, 2, arm.n)[:, None])
    adaptive = tp.SlotineLi(arm)
    controller, start = (computed_torque(arm), None) if law == LAWS[0] else (adaptive, KNOWN * arm.parameters.values)
    keywords: dict[str, Any] = {
        "plant": tp.RigidPlant(arm),
        "controller": controller,
        "reference": motion,
        "parameters": start,
    }
    begin = time.perf_counter()
    tp.simulate(duration=1 / RATE, rate=RATE, **keywords)
    build = time.perf_counter() - begin
    run = tp.simulate(duration=steps / RATE, rate=RATE, **keywords)
    peer = pinocchio_loop(model, motion, steps, pinocchio_law(model, law, adaptive))
    difference = float(np.abs(np.hstack([run.q, run.tau]) - peer).max())
    assert difference < 1e-6, f"{name}, {law}: the loops differ by {difference}"
    initial = np.tile(motion(0.0).q, (BATCH, 1)), np.tile(motion(0.0).qd, (BATCH, 1))

    def many(threads: int) -> object:
        options = {"duration": 0.5, "rate": RATE, "initial": initial, "threads": threads, "every": 10}
        return tp.simulate_many(**keywords, **options)

    return {
        "build": build,
        "alone": best(lambda: tp.simulate(duration=steps / RATE, rate=RATE, **keywords), repeats) / steps,
        "batch": best(lambda: many(1), max(3, repeats // 5)) / (BATCH * 0.5 * RATE),
        "all cores": best(lambda: many(os.cpu_count() or 1), max(3, repeats // 5), time.perf_counter)
        / (BATCH * 0.5 * RATE),
        "pinocchio": best(lambda: pinocchio_loop(model, motion, 200, pinocchio_law(model, law, adaptive)), 2 * repeats)
        / 200,
        "calls": pinocchio_calls_alone(model, law, repeats),
        "difference": difference,
        "operations": _operations(keywords["plant"], controller),
    }


def _operations(plant: Any, law: Any) -> list[int]:
    """Return the scalar operations of the plant's acceleration and of the law."""
    program = law if isinstance(law, tp.Program) else law.step_program()
    return [plant.program().operations.total, program.operations.total]


# One step of a controller ---------------------------------------------------------------------------------------------

HARNESS = """
#include "law_controller.h"
void steps(long count, const double *x, double *tau)
{
    law_controller c;
    law_init(&c);
    for (long k = 0; k < count; ++k) law_update(&c, x, x + 6, x + 12, x + 18, x + 24, 1e-3, tau);
}
"""


def _step(short: bool) -> dict[str, float]:
    """Return seconds of one Slotine-Li step of the PUMA 560: bound in Python, as C, and over Pinocchio."""
    repeats = 20 if short else 300
    arm, model = arm_and_model("PUMA 560")
    law = tp.SlotineLi(arm)
    rng = np.random.default_rng(0)
    states = rng.uniform(-0.5, 0.5, (5, arm.n))
    bound = law.step_program().compile("cpu").bound()
    for name, value in zip(("q", "qd", "q_des", "qd_des", "qdd_des"), states, strict=True):
        bound.inputs[name][:] = value
    bound.inputs["pi_hat"][:], bound.inputs["dt"][...] = law.parameters.values, 1e-3

    def written() -> None:
        bound.inputs["q"][:], bound.inputs["qd"][:] = states[0], states[1]
        bound.run()

    peer = pinocchio_law(model, LAWS[1], law)
    calls = {"bound": bound.run, "written": written, "pinocchio": lambda: peer(*states)}
    seconds = {name: best(lambda call=call: [call() for _ in range(50)], repeats) / 50 for name, call in calls.items()}
    seconds["init_step"] = best(lambda: law.step(law.init(), *states, 1e-3), repeats)
    return seconds | {"c": _as_c(law, states, repeats), "operations": law.step_program().operations.total}


def _as_c(law: Any, states: np.ndarray, repeats: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        tp.emit_controller(law, folder, name="law")
        (Path(folder) / "steps.c").write_text(HARNESS)
        command = ["cc", "-std=c99", "-O2", "-march=native", "-shared", "-fPIC", "steps.c", "law_controller.c", "law.c"]
        subprocess.run([*command, "-o", "law.so", "-lm"], cwd=folder, check=True)
        steps = ctypes.CDLL(str(Path(folder) / "law.so")).steps
    x, tau = np.ascontiguousarray(states), np.zeros(6)
    where = (ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(tau.ctypes.data))
    return best(lambda: steps(ctypes.c_long(200), *where), repeats) / 200


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    rows, differences = [], []
    for name, laws in results["loops"].items():
        for law, r in laws.items():
            seconds = [r["pinocchio"], r["alone"], r["batch"], r["all cores"]]
            cells = [f"{s * 1e6:.2f} ({1 / (s * RATE):.0f} s/s)" for s in seconds]
            cells[0] += f"; calls alone {r['calls'] * 1e6:.1f}"
            ratios = ", ".join(ratio(seconds[0], s) for s in seconds[1:3])
            counts = " and ".join(map(str, r["operations"]))
            rows.append([f"{name}, {law}", *cells, ratios, counts, f"{r['build']:.1f} s"])
            differences.append(r["difference"])
    heading = [
        "robot and law",
        "Pinocchio in a Python loop",
        "ours, one roll-out",
        f"ours, {BATCH} roll-outs, one core",
        f"{os.cpu_count()} cores",
        "ratio on one core: one, many",
        "operations: plant (four times), law",
        "trace and compile",
    ]
    step = results["step"]
    steps = [
        ["bound, inputs in place", f"{step['bound'] * 1e9:.0f}"],
        ["bound, q and qd written first", f"{step['written'] * 1e9:.0f}"],
        ["`law.step(state, ...)`: checked, new arrays", f"{step['init_step'] * 1e9:.0f}"],
        ["C of `taupi emit ... controller`, cc -O2", f"{step['c'] * 1e9:.0f}"],
        ["the same law over Pinocchio's regressor", f"{step['pinocchio'] * 1e9:.0f}"],
    ]
    return [
        "## Simulation",
        "",
        "A law at 1 kHz, held for each period; RK4, one step per period; microseconds per period of one core (seconds simulated",
        "per second of it).",
        "Both sides follow the same motion, and their positions and torques agree to "
        f"{max(differences):.0e} rad and N m throughout.",
        "Ours includes the energy audit and the results. The peer's loop is as its users write it: `pin.aba` four times and",
        "`pin.rnea` once, or, for Slotine and Li's law, `pin.computeJointTorqueRegressor` three times, and NumPy around them;",
        '"calls alone" is what those functions take without the loop.',
        "",
        *table(heading, rows),
        "",
        f"One step of Slotine and Li's law for the PUMA 560, torque and new estimate, {step['operations']} operations:",
        "",
        *table(["from", "ns"], steps),
        "",
        f"{BATCH} Pandas that fall, every step recorded, RK4 at 1 kHz, without contacts: nanoseconds per step, and millions",
        "of steps per second. MuJoCo's come from its own `rollout`, which shares roll-outs among threads. MuJoCo publishes,",
        "for a humanoid with contacts, 0.65 and 1.8 million steps per second on an Apple M3 Max and a 64-core AMD 3995WX, and",
        "0.95 and 2.7 million with MJX on an A100 and on eight TPU v5: other robots, other work",
        "([MJX documentation](https://mujoco.readthedocs.io/en/stable/mjx.html)). Isaac Lab publishes, on an RTX 4090, 1.1",
        "million environment steps a second of a cart-pole, 0.094 million of a G1 humanoid on rough ground (4096 environments",
        "each) and 0.2 million of a Shadow hand with a cube (8192); an environment step is a control period, with physics,",
        "observations and rewards",
        f"([Isaac Lab documentation]({ISAAC})).",
        "Ours on a GPU, closed loops, are [below](#closed-loops-on-a-gpu).",
        "",
        *table(
            ["", "one core", f"{os.cpu_count()} cores"],
            [
                [name, *(f"{s * 1e9:.0f} ns, {1e-6 / s:.2f} M/s" for s in both)]
                for name, both in results["falls"].items()
            ],
        ),
    ]
