"""The demo: a PUMA 560 is simulated with noisy sensors, identified from its log, validated on another motion, and reported."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import taupi as tp

TERMS = ("rotor", "viscous", "coulomb", "offset")
RATE_HZ, PERIOD_S, HARMONICS = 500.0, 10.0, 5
# Friction that Corke's Robotics Toolbox measured at the motors (see the catalogue's puma560.toml).
MOTOR_VISCOUS = np.array([1.48, 0.817, 1.38, 0.0712, 0.0826, 0.0367]) * 1e-3
MOTOR_COULOMB = np.array([0.395, 0.126, 0.132, 0.0112, 0.00926, 0.00396])
OFFSET = (0.5, -0.4, 0.3, 0.05, -0.04, 0.03)  # N m: amplifiers are never quite at zero
ENCODER_COUNTS = 1000  # a turn of the motor
TORQUE_NOISE = 0.03  # of each joint's largest torque: current sensors


def true_robot() -> tp.Robot:
    """Return the arm that is to be found again: the catalogue's, with friction as seen from the joints."""
    robot = tp.load("puma560")
    gear = np.array([float(j.transmission.gear_ratio) for j in robot.joints])
    viscous, coulomb = gear**2 * MOTOR_VISCOUS, gear * MOTOR_COULOMB
    return robot.with_friction(viscous=viscous.tolist(), coulomb=coulomb.tolist(), offset=OFFSET)


def fourier_motion(n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return time (N,) and q, qd, qdd (N, n) of a random Fourier series a joint, one period long."""
    t = np.arange(0.0, PERIOD_S, 1 / RATE_HZ)
    w = 2 * np.pi / PERIOD_S * np.arange(1, HARMONICS + 1)
    a, b = rng.normal(size=(2, HARMONICS, n)) / w[:, None] ** 0.8
    wt = np.outer(t, w)
    q = np.sin(wt) @ a + np.cos(wt) @ b
    size = 1.3 / np.abs(q).max(axis=0)  # rad: every joint swings about as far
    qd = (np.cos(wt) * w) @ a - (np.sin(wt) * w) @ b
    qdd = -(np.sin(wt) * w**2) @ a - (np.cos(wt) * w**2) @ b
    return t, q * size, qd * size, qdd * size


def exciting_motion(robot: tp.Robot, rng: np.random.Generator, trials: int = 10) -> tuple[np.ndarray, ...]:
    """Return the one of some random motions whose regressor is best conditioned."""
    base = tp.base_parameters(robot, TERMS)
    motions = [fourier_motion(robot.n, rng) for _ in range(trials)]
    return min(motions, key=lambda m: tp.conditioning(base, *(x[::10] for x in m[1:])).scaled_condition)


def measured(robot: tp.Robot, motion: tuple[np.ndarray, ...], rng: np.random.Generator) -> tp.Log:
    """Return what sensors see of a motion: counted angles and noisy torques."""
    t, q, qd, qdd = motion
    tau = tp.inverse_dynamics(robot, terms=TERMS)(q, qd, qdd)
    gear = np.array([float(j.transmission.gear_ratio) for j in robot.joints])
    count = 2 * np.pi / (ENCODER_COUNTS * gear)
    noise = TORQUE_NOISE * np.abs(tau).max(axis=0) * rng.normal(size=tau.shape)
    return tp.Log(t, np.round(q / count) * count, tau=tau + noise, names=robot.joint_names)


def simulated(folder: Path, seed: int) -> tuple[tp.Robot, Path, Path]:
    """Return the true arm and two files: its log on an exciting motion, and one on another motion."""
    rng = np.random.default_rng(seed)
    robot = true_robot()
    motions = {"exciting": exciting_motion(robot, rng), "other": fourier_motion(robot.n, rng)}
    paths = []
    for name, motion in motions.items():
        paths.append(folder / f"{name}.csv")
        tp.write_log(measured(robot, motion, rng), paths[-1], force=True)
    return robot, paths[0], paths[1]


def main() -> None:
    """Simulate, identify, validate, report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-o", "--output", type=Path, default=Path("out/demo"), help="directory for all files")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    folder: Path = given.output
    folder.mkdir(parents=True, exist_ok=True)

    robot, exciting, other = simulated(folder, given.seed)
    print(
        f"simulated  {exciting} and {other}: {PERIOD_S:g} s at {RATE_HZ:g} Hz, counted angles, {TORQUE_NOISE:.0%} torque noise"
    )

    start = time.perf_counter()
    # The catalogue's arm has no friction: it is found from the log.
    fit = tp.identify(tp.load("puma560"), exciting, terms=TERMS, seed=given.seed)
    print(f"identified {fit.summary} ({time.perf_counter() - start:.1f} s)")
    truth = fit.basis.project(tp.base_parameters(robot, TERMS).standard)
    low, high = fit.intervals().T
    inside = int(((low <= truth) & (truth <= high)).sum())
    print(f"truth      lies in {inside} of {len(truth)} of the 95 % intervals")

    validation = fit.validate(other)
    print(f"validated  {validation.summary}")

    tp.write_fit(fit, folder / "fit.json", force=True)
    tp.write_fit(fit, folder / "fit.txt", force=True)
    tp.report(fit, folder / "report.html", validation, fitted=exciting, force=True)
    tp.plot(validation, folder / "torque.png", force=True)
    print(f"wrote      {folder}/fit.json, fit.txt, torque.png; next: open {folder}/report.html in a browser")


if __name__ == "__main__":
    main()
