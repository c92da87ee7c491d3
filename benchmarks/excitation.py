"""Exciting motions: what a design costs and reaches, beside random motions, a random search of equal time, and FIGAROH."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peers

import taupi as tp
from taupi.excitation.design import Design, prepared
from taupi.excitation.limits.motion_limits import motion_limits
from taupi.excitation.search.ipopt import Stop
from taupi.excitation.search.starts import improved
from taupi.excitation.settings import Course, Goal, Margins, Search
from taupi.threads import one_blas_thread

HEADING = "## Exciting motions"
TERMS = ("viscous", "coulomb")
RANDOM = 30
# The Panda's are Franka's; of the UR10 the accelerations, of the PUMA 560 all but the positions are chosen here.
LIMITS: dict[str, dict[str, Any]] = {
    "panda": {"acceleration": [15, 7.5, 10, 12.5, 15, 20, 20]},
    "ur10": {"acceleration": 8.0},
    "puma560": {
        "lower": [-2.79, -3.92, -0.78, -1.92, -1.74, -4.64],
        "upper": [2.79, 0.78, 3.92, 2.96, 1.74, 4.64],
        "velocity": [1.92, 1.92, 2.0, 4.0, 4.0, 5.2],
        "acceleration": [8, 8, 10, 20, 20, 20],
        "effort": [97.6, 186.4, 89.4, 24.2, 20.1, 21.3],
    },
}
# phi / b, standard deviations beside random motions: what a design has to reach.
BARS = {"panda": (-5.60, 2.3), "ur10": (-3.10, 3.0), "puma560": (-4.85, 2.2)}
# Of the simulated experiment: Hz, rad, and gains of a controller whose friction is a fifth off.
RATE_HZ, ENCODER, KP, KD, BELIEF, CREEP = 1000.0, 2e-5, 400.0, 40.0, 0.8, 0.05


def design_of(name: str, course: Course | None = None, clear: bool = False) -> Design:
    """Return a design of 10 s at 100 Hz, within 95 % of all limits, with noise of 1 % of the efforts that may be used."""
    robot, limits = tp.load(name), LIMITS[name]
    margins = Margins(effort=0.95, capsules="auto" if clear else "none")
    sigma = 0.0095 * motion_limits(robot, limits).effort
    return prepared(robot, TERMS, sigma, None, None, limits, course or Course(), Goal(), margins, Search())


def cpu(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of the processor that a call took, and its result."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def searched(name: str, starts: int) -> dict[str, Any]:
    """Return what several starts cost and reach, beside random motions and as many of them as fit into the same time."""
    design = design_of(name)
    problem, count = design.problem(), design.program.base.count
    scale = np.log(len(problem.times))
    with one_blas_thread():
        first = problem.start(np.random.default_rng(0))
        problem.value(first)
        repeats = 100
        each, _ = cpu(lambda: [problem.value(first) for _ in range(repeats)])
        rng = np.random.default_rng(99)
        random = sorted(problem.value(problem.start(rng, 1.0))[0] for _ in range(RANDOM))
        runs = [
            cpu(lambda k=k: improved(problem, problem.start(np.random.default_rng([0, k])), Stop()))
            for k in range(starts)
        ]
        best = min(c.phi for _, c in runs)
        total, lucky, tried = sum(t for t, _ in runs), np.inf, 0
        begin = time.process_time()
        while time.process_time() - begin < total:
            lucky, tried = min(lucky, problem.value(problem.start(rng, 1.0))[0]), tried + 1
        median = float(np.median(random))
    ratio = lambda other: float(np.exp((other - best) / (2 * count)))  # noqa: E731
    return {
        "columns": count,
        "variables": problem.size,
        "gradient_ms": each / repeats * 1e3,
        "start_s": [t for t, _ in runs],
        "phi": [c.phi / count + scale for _, c in runs],
        "feasible": all(c.feasible for _, c in runs),
        "over_median": ratio(median),
        "over_best": ratio(random[0]),
        "over_search": ratio(lucky),
        "tried": tried,
    }


def experiment(robot: tp.Robot, motion: Any, sigma: np.ndarray, seed: int) -> tp.Log:
    """Return the log of a motion that a controller follows: counted angles, noisy torques."""
    friction = friction_of(robot, sigma)
    truth = robot.with_friction(**{k: v.tolist() for k, v in friction.items()})
    known = robot.with_friction(**{k: (BELIEF * v).tolist() for k, v in friction.items()})
    plant = tp.RigidPlant(truth, terms=TERMS, smoothing=CREEP)
    law = tp.ComputedTorque(known, Kp=KP, Kd=KD, terms=("viscous", tp.terms.Coulomb(CREEP)))
    sensors = tp.Sensors(resolution=ENCODER, q_noise=ENCODER / 2)
    run = tp.simulate(plant, law, motion, 10.0, RATE_HZ, sensors=sensors, initial=motion(0.0).q, seed=seed)
    noise = np.random.default_rng(seed).normal(size=run.tau.shape) * sigma * np.sqrt(RATE_HZ / 100.0)
    log = run.to_log(measured=True)
    return tp.Log(log.time, log.q, tau=run.tau + noise, names=robot.joint_names)


def friction_of(robot: tp.Robot, sigma: np.ndarray) -> dict[str, np.ndarray]:
    """Return dry friction of 2 % of the effort limits, as much again at 1 rad/s, less where so light a link would jump."""
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (200, robot.n))
    lightest = np.diagonal(tp.mass_matrix(robot)(q), axis1=1, axis2=2).min(axis=0)
    size = np.minimum(2.0 * sigma, 10.0 * lightest)
    return {"viscous": size, "coulomb": size}


def simulated(name: str, seeds: int, designs: int = 1, randoms: int = 3) -> dict[str, float]:
    """Return how many times smaller errors of parameters, and of torques of another motion, are than with random motions.

    Of 30 random motions those in the middle by their criterion are taken, and of the ratios for each of them the median.
    """
    design = design_of(name)
    problem, robot = design.problem(), design.robot
    friction = friction_of(robot, design.sigma)
    truth = robot.with_friction(**{k: v.tolist() for k, v in friction.items()})
    rng = np.random.default_rng(5)
    candidates = sorted((problem.start(rng, 1.0) for _ in range(RANDOM)), key=lambda x: problem.value(x)[0])
    usual = candidates[(RANDOM - randoms) // 2 :][:randoms]
    with one_blas_thread():
        best = min(
            (improved(problem, problem.start(np.random.default_rng([0, k])), Stop()) for k in range(designs)),
            key=lambda c: c.phi,
        )
    other = design.motion(problem.start(rng, 1.0))
    states = other(np.linspace(0, 10, 1001))
    tau = tp.inverse_dynamics(truth, terms=("viscous", tp.terms.Coulomb(CREEP)))(*states)

    def errors(x: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the rms over seeds of the errors of parameters (b,), and of the torque of the other motion."""
        parameters, torques = [], []
        for seed in range(seeds):
            log = experiment(robot, design.motion(x), design.sigma, seed)
            fit = tp.identify(robot, log, "wls", terms=TERMS, slow=CREEP)
            parameters.append(fit.values - fit.basis.project(tp.base_parameters(truth, fit.terms).standard))
            torques.append((fit.basis.regressor()(*states) @ fit.values - tau) / design.sigma)
        return np.sqrt(np.mean(np.square(parameters), axis=0)), float(np.sqrt(np.mean(np.square(torques))))

    own, own_torque = errors(best.x)
    others = [errors(x) for x in usual]
    ratios = [np.maximum(rms, 1e-300) / np.maximum(own, 1e-300) for rms, _ in others]
    return {
        "parameters": float(np.median([np.exp(np.mean(np.log(ratio))) for ratio in ratios])),
        "better": float(np.median([np.mean(ratio > 1) for ratio in ratios])),
        "torque": float(np.median([torque for _, torque in others]) / own_torque),
    }


def longer(duration: float = 20.0) -> dict[str, float]:
    """Return what one start of a long motion of the Panda costs and gains over what is usual: a Fourier series.

    That has 5 harmonics, as Gaz et al. (2019) and others take, and is the best by its condition of 100 random ones within the
    same limits.
    """
    design, series = (design_of("panda", course=Course(duration, motion=kind)) for kind in ("bspline", "fourier"))
    problem, usual = design.problem(), series.problem()
    count, rng = design.program.base.count, np.random.default_rng(7)
    with one_blas_thread():
        candidates = [usual.start(rng, 1.0) for _ in range(100)]
        best = min(candidates, key=lambda x: np.linalg.cond(usual.matrix(x)))
        seconds, candidate = cpu(lambda: improved(problem, problem.start(np.random.default_rng([0, 0])), Stop()))
        beaten = usual.value(best)[0]
    return {
        "seconds": seconds,
        "variables": problem.size,
        "factor": float(np.exp((beaten - candidate.phi) / (2 * count))),
    }


def figaroh_seconds() -> float | None:
    """Return the seconds of one value of FIGAROH's criterion: the stacked regressor of 1000 samples of the Panda, and its SVD."""
    model = peers.pinocchio_model(*peers.ARMS["Panda"])
    stack = peers.figaroh_stack(model)
    if stack is None:
        return None
    states = np.random.default_rng(0).uniform(-1, 1, (3, 1000, model.nv))
    return min(cpu(lambda: np.linalg.svd(np.asarray(stack(*states)), compute_uv=False))[0] for _ in range(3))


def clear_start(name: str) -> float | None:
    """Return the seconds of one start that keeps links clear of each other; None for an arm whose description has no geometry."""
    design = design_of(name, clear=True)
    if design.clearance is None:
        return None
    problem = design.problem()
    problem.value(problem.start(np.random.default_rng(0)))
    with one_blas_thread():
        return cpu(lambda: improved(problem, problem.start(np.random.default_rng([0, 0])), Stop()))[0]


def command_seconds(name: str, repeats: int) -> dict[str, float]:
    """Return what `taupi excite` takes from an empty cache to its page, the shortest of several: by the clock, of processors."""
    times = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            limits = Path(folder, "limits.toml")
            limits.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in LIMITS[name].items()))
            words = [
                sys.executable,
                "-m",
                "taupi",
                "excite",
                name,
                "--limits",
                str(limits),
                "-o",
                str(Path(folder, "out")),
            ]
            used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            environment = os.environ | {"TAUPI_CACHE": str(Path(folder, "cache"))}
            subprocess.run(words, check=True, capture_output=True, env=environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
            times.append({"wall": time.perf_counter() - start, "processor": processor})
    return min(times, key=lambda t: t["wall"])


def budgets(seconds: list[float]) -> dict[str, dict[str, float]]:
    """Return what `taupi excite panda --budget SECONDS` takes, all of it by the clock, with nothing on disk."""
    result = {}
    for budget in seconds:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-m", "taupi", "excite", "panda", "--budget", f"{budget:g}", "--json"]
            environment = os.environ | {"TAUPI_CACHE": str(Path(folder, "cache"))}
            start = time.perf_counter()
            subprocess.run([*words, "-o", str(Path(folder, "out"))], check=True, capture_output=True, env=environment)
            result[f"{budget:g}"] = {"wall": time.perf_counter() - start}
    return result


def measure(short: bool) -> dict[str, Any]:
    """Return what designs of three arms cost and reach."""
    result: dict[str, Any] = {"figaroh_s": figaroh_seconds(), "longer": longer(), "arms": {}}
    result["budgets"] = budgets([8.0] if short else [5.0, 10.0, 20.0])
    for name in LIMITS:
        result["arms"][name] = {
            **searched(name, 1 if short else 4),
            **simulated(name, 1 if short else 3, designs=1 if short else 4),
            "clear_s": clear_start(name),
            "command": command_seconds(name, 1 if short else 3),
        }
    return result


def section(results: dict[str, Any], table: Callable[..., list[str]]) -> list[str]:
    """Return the page's section."""
    rows = []
    for name, r in results["arms"].items():
        phi, factor = BARS[name]
        rows.append(
            [
                *(
                    name,
                    f"{r['columns']} / {r['variables']}",
                    f"{r['gradient_ms']:.1f} ms",
                    f"{np.mean(r['start_s']):.1f} s",
                    "-" if r["clear_s"] is None else f"{r['clear_s']:.1f} s",
                    f"{r['command']['wall']:.1f} s ({r['command']['processor']:.1f} s)",
                ),
                f"{min(r['phi']):.2f} ({phi:.2f})",
                f"{r['over_median']:.2f} ({factor:.1f}) / {r['over_best']:.2f}",
                f"{r['over_search']:.2f} ({r['tried']})",
                f"{r['parameters']:.1f}, {r['better']:.0%}",
                f"{r['torque']:.2f}",
            ]
        )
    heading = [
        "robot",
        "columns / variables",
        "value + gradient",
        "one start",
        "one that keeps clear",
        "whole command, cold (of processors)",
        "φ/b (bar)",
        "over random, median (bar) / best",
    ]
    heading += ["over random search of equal time (motions)", "parameter errors, share better", "held-out torque"]
    peer = results["figaroh_s"]
    beside = ""
    if peer is not None:
        beside = f" FIGAROH's criterion, without a gradient, takes {peer * 1e3:.0f} ms for 1000 samples of a Panda."
    long = results["longer"]
    usual = (
        f"A motion of 20 s of the Panda ({long['variables']} variables, one start: {long['seconds']:.1f} s) has standard "
        f"deviations {long['factor']:.1f} times smaller than a Fourier series of 5 harmonics, the best by condition of 100 "
        "within the same limits."
    )
    return [
        HEADING,
        "",
        "Motions of 10 s at 100 Hz within 95 % of all limits, B-splines of 30 points; seconds of one core. Standard deviations",
        f"are compared in their geometric mean, φ/b is -log det(G/N)/b.{beside} The last two columns are simulated",
        "experiments: errors with random motions of equal length, those in the middle of 30, over those with the design.",
        "The whole command is `taupi excite ROBOT -o out` with an empty cache, from its start to its page, with four starts,",
        "clearance and proofs: by the clock of two cores that others used, too, and of the processors.",
        "",
        *table(heading, rows),
        "",
        usual,
        "",
        "`taupi excite panda --budget SECONDS`, an empty cache, from its start to its page: "
        + ", ".join(f"{budget} s asked, {r['wall']:.1f} s taken" for budget, r in results["budgets"].items())
        + ". Less is taken where all starts end before.",
    ]
