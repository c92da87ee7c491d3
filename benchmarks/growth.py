"""How time grows: with the number of joints on random chains, and with the number of samples."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import taupi as tp

matplotlib.use("Agg")
import matplotlib.pyplot as plt

JOINTS = (1, 2, 4, 8, 16, 32, 64)
SAMPLES = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
BLOCK = 1024


def chain(n: int) -> tp.Robot:
    """Return a random serial arm."""
    rng = np.random.default_rng(n)
    quarter = rng.choice([0.0, np.pi / 2, -np.pi / 2], n)
    rows = [
        {"a": round(float(rng.uniform(0, 0.4)), 3), "alpha": float(t), "d": round(float(rng.uniform(0, 0.3)), 3)}
        for t in quarter
    ]
    links = [{"m": 1.0, "com": (-0.1, 0.02, 0.03), "inertia": (0.02, 0, 0, 0.03, 0, 0.04)} for _ in rows]
    return tp.Robot.from_dh(rows, links=links)


def seconds(call: Any, least: float = 0.05) -> float:
    """Return the best time of a call, repeated for a while."""
    call()
    times: list[float] = []
    end = time.perf_counter() + least
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def by_joints() -> dict[str, list[tuple[int, float]]]:
    """Return build time and time a sample of Y and tau for growing chains."""
    curves: dict[str, list[tuple[int, float]]] = {
        "Y, a sample": [],
        "tau, a sample": [],
        "Y, build": [],
        "tau, build": [],
    }
    for n in JOINTS:
        robot = chain(n)
        states = np.random.default_rng(0).uniform(-2, 2, (3, BLOCK, n))
        for name, builder in (("Y", tp.regressor), ("tau", tp.inverse_dynamics)):
            start = time.perf_counter()
            kernel: Any = builder(robot).compile("cpu", layout="batch_last")
            curves[f"{name}, build"].append((n, time.perf_counter() - start))
            out = kernel.empty(BLOCK)[0]
            curves[f"{name}, a sample"].append((n, seconds(partial(kernel, *states, out=out)) / BLOCK))
        print(f"  {n} joints: Y built in {curves['Y, build'][-1][1]:.2f} s", flush=True)
    return curves


def by_samples() -> dict[str, list[tuple[int, float]]]:
    """Return the time of whole calls on the Panda: tau as one array, Y block after block, Y^T Y gathered."""
    robot = tp.load("panda")
    y, tau = tp.regressor(robot), tp.inverse_dynamics(robot)
    kernel: Any = y.compile("cpu", layout="batch_last")
    block = kernel.empty(BLOCK)[0]
    curves: dict[str, list[tuple[int, float]]] = {"tau": [], "Y in blocks": [], "Y^T Y gathered": []}
    for n in SAMPLES:
        states = np.random.default_rng(0).uniform(-2, 2, (3, n, robot.n))

        def blocks(states: np.ndarray = states, n: int = n) -> None:
            for start in range(0, n, BLOCK):
                part = states[:, start : start + BLOCK]
                kernel(*part, out=block if part.shape[1] == BLOCK else None)

        curves["tau"].append((n, seconds(partial(tau, *states))))
        curves["Y in blocks"].append((n, seconds(blocks)))
        if n <= 1_000_000:
            torque = tau(*states)
            sums = tp.program.Accumulator(y)
            curves["Y^T Y gathered"].append((n, seconds(partial(sums.add, torque, *states))))
    return curves


LAWS = {"SlotineLi": "Slotine-Li, closed form", "NiemeyerSlotine": "Niemeyer-Slotine", "Walker": "Walker"}


def by_laws(joints: Sequence[int] = JOINTS) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return operations and seconds of one step, torque and new estimate, of adaptive laws for growing chains."""
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {k: {v: [] for v in LAWS.values()} for k in ("ops", "time")}
    for n in joints:
        robot = chain(n)
        for kind, name in LAWS.items():
            damping = {} if kind == "Walker" else {"K": 1.0}
            step = getattr(tp, kind)(robot, Lambda=5.0, Gamma_inv=0.1, **damping).step_program()
            bound: Any = step.compile("cpu").bound()
            bound.x[:] = np.random.default_rng(0).uniform(-1, 1, bound.x.shape)
            curves["ops"][name].append((n, step.operations.total))
            curves["time"][name].append((n, seconds(bound.run)))
        print(f"  {n} joints: {[c[-1][1] for c in curves['ops'].values()]} operations", flush=True)
    return curves


def slope(curve: Sequence[tuple[int, float]]) -> float:
    """Return the power of n that a curve grows with, over its upper half."""
    n, y = np.array(curve[len(curve) // 2 :], dtype=float).T
    return float(np.polyfit(np.log(n), np.log(y), 1)[0])


def draw_laws(folder: Path) -> None:
    """Draw the cost of adaptive laws."""
    _style(folder)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    labels = {"ops": "scalar operations of a step", "time": "seconds per step, one bound call"}
    for ax, (kind, curves) in zip(axes, by_laws().items(), strict=True):
        for name, curve in curves.items():
            ax.loglog(*zip(*curve, strict=True), "-o", ms=4, label=f"{name}: n^{slope(curve):.2f}")
        ax.set(xlabel="joints of a random chain", ylabel=labels[kind])
        ax.set_xticks(JOINTS, [str(n) for n in JOINTS])
        ax.legend(frameon=False, title="growth over the upper half")
    figure.savefig(folder / "bench-laws.png", dpi=140)


def _style(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.3}
    )


def draw(folder: Path) -> None:
    """Draw all pictures."""
    _style(folder)
    draw_laws(folder)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    for name, curve in by_joints().items():
        ax = right if "build" in name else left
        ax.loglog(*zip(*curve, strict=True), "-o", ms=4, label=name.split(",")[0])
    left.set(xlabel="joints of a random chain", ylabel="seconds per sample, one core", title="evaluation, in blocks")
    right.set(xlabel="joints of a random chain", ylabel="seconds", title="trace and compile, from nothing")
    for ax in (left, right):
        ax.legend(frameon=False)
        ax.set_xticks(JOINTS, [str(n) for n in JOINTS])
    figure.savefig(folder / "bench-joints.png", dpi=140)
    figure, ax = plt.subplots(figsize=(6, 3.8), constrained_layout=True)
    for name, curve in by_samples().items():
        ax.loglog(*zip(*curve, strict=True), "-o", ms=4, label=name)
    ax.set(xlabel="samples", ylabel="seconds of a call, one core", title="Panda, 7 joints")
    ax.legend(frameon=False)
    figure.savefig(folder / "bench-samples.png", dpi=140)
