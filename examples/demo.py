"""The demo, the whole loop: a motion is designed, simulated with noise, identified, validated on another motion, and reported."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import loop_picture
import numpy as np

import taupi as tp

TERMS = ("rotor", "viscous", "coulomb", "offset")
RATE_HZ, DURATION_S = 500.0, 10.0
# The catalogue's arm states no limits: positions are Unimation's, the others about what its motors give.
LIMITS = {
    "lower": [-2.79, -3.92, -0.78, -1.92, -1.74, -4.64],
    "upper": [2.79, 0.78, 3.92, 2.96, 1.74, 4.64],
    "velocity": [1.92, 1.92, 2.0, 4.0, 4.0, 5.2],
    "acceleration": [8.0, 8.0, 10.0, 20.0, 20.0, 20.0],
    "effort": [97.6, 186.4, 89.4, 24.2, 20.1, 21.3],
}
# Friction that Corke's Robotics Toolbox measured at the motors (see the catalogue's puma560.toml).
MOTOR_VISCOUS = np.array([1.48, 0.817, 1.38, 0.0712, 0.0826, 0.0367]) * 1e-3
MOTOR_COULOMB = np.array([0.395, 0.126, 0.132, 0.0112, 0.00926, 0.00396])
OFFSET = (0.5, -0.4, 0.3, 0.05, -0.04, 0.03)  # N m: amplifiers are never quite at zero
ENCODER_COUNTS = 1000  # a turn of the motor
TORQUE_NOISE = 0.03  # of each joint's largest torque: current sensors
CREEP = 0.05  # rad/s below which joints creep before they slide
# Of the controller, 1/s^2 and 1/s; it believes in a fifth less friction than there is.
KP, KD, BELIEF = 400.0, 40.0, 0.8


def gear_ratios(robot: tp.Robot) -> np.ndarray:
    """Return the gear ratio of each joint."""
    return np.array([float(j.transmission.gear_ratio) for j in robot.joints])


def rubbing_robot(share: float = 1.0) -> tp.Robot:
    """Return the catalogue's arm with a share of its friction, as seen from the joints."""
    robot = tp.load("puma560")
    gear = gear_ratios(robot)
    viscous, coulomb = share * gear**2 * MOTOR_VISCOUS, share * gear * MOTOR_COULOMB
    return robot.with_friction(viscous=viscous.tolist(), coulomb=coulomb.tolist(), offset=OFFSET)


def measured(truth: tp.Robot, motion: tp.BSpline, rng: np.random.Generator) -> tp.Log:
    """Return what sensors see of a motion that a controller follows: counted angles and noisy torques."""
    plant = tp.RigidPlant(truth, terms=TERMS, smoothing=CREEP)
    law = tp.ComputedTorque(rubbing_robot(BELIEF), Kp=KP, Kd=KD, terms=("rotor", "viscous", tp.terms.Coulomb(CREEP)))
    sensors = tp.Sensors(resolution=2 * np.pi / (ENCODER_COUNTS * gear_ratios(truth)))
    start = motion(0.0).q
    run = tp.simulate(plant, law, motion, DURATION_S, 2 * RATE_HZ, every=2, substeps=2, sensors=sensors, initial=start)
    noise = TORQUE_NOISE * np.abs(run.tau).max(axis=0) * rng.normal(size=run.tau.shape)
    log = run.to_log(measured=True)
    return tp.Log(log.time, log.q, tau=run.tau + noise, names=truth.joint_names)


def main() -> None:
    """Design, simulate, identify, validate, report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("-o", "--output", type=Path, default=Path("out/demo"), help="directory for all files")
    options.add_argument("--seed", type=int, default=1)
    arguments = options.parse_args()
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(arguments.seed)
    known, truth = tp.load("puma560"), rubbing_robot()  # the catalogue's arm has no friction: it is found from the log

    start = time.perf_counter()
    plan = tp.excite(known, DURATION_S, terms=TERMS, limits=LIMITS, starts=2, seed=arguments.seed)
    print(f"designed   {plan.summary} ({time.perf_counter() - start:.1f} s)")
    plan.write(folder / "excitation", force=True)
    tp.report(plan, folder / "excitation.html", force=True)

    middle, width = np.mean([LIMITS["lower"], LIMITS["upper"]], axis=0), np.subtract(LIMITS["upper"], LIMITS["lower"])
    other_motion = tp.BSpline.random(middle, 0.2 * width, count=24, duration=DURATION_S, seed=arguments.seed)
    exciting, other = folder / "exciting.csv", folder / "other.csv"
    for path, motion in ((exciting, plan.motion), (other, other_motion)):
        tp.write_log(measured(truth, motion, rng), path, force=True)
    print(f"simulated  {exciting} and {other}: {RATE_HZ:g} Hz, counted angles, {TORQUE_NOISE:.0%} torque noise")

    start = time.perf_counter()
    fit = tp.identify(known, exciting, terms=TERMS, seed=arguments.seed)
    print(f"identified {fit.summary} ({time.perf_counter() - start:.1f} s)")
    values = fit.basis.project(tp.base_parameters(truth, TERMS).standard)
    low, high = fit.intervals().T
    inside = int(((low <= values) & (values <= high)).sum())
    print(f"truth      lies in {inside} of {len(values)} of the 95 % intervals")

    validation = fit.validate(other)
    print(f"validated  {validation.summary}")

    tp.write_fit(fit, folder / "fit.json", force=True)
    tp.write_fit(fit, folder / "fit.txt", force=True)
    tp.report(fit, folder / "report.html", validation, fitted=exciting, force=True)
    tp.plot(validation, folder / "torque.png", force=True)
    loop_picture.draw(folder / "demo.png", plan, tp.read_log(exciting, known), fit, values, validation)
    print(
        f"wrote      {folder}/excitation.html, fit.json, fit.txt, torque.png, demo.png; "
        f"next: open {folder}/report.html in a browser"
    )


if __name__ == "__main__":
    main()
