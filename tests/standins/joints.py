"""Stand-ins that record the joints' side: time that jitters, no time at all, a slide, dead channels, broken files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

import taupi as tp
from standins.parts import ARM, Body, Recording, Standin, described, exciting, moved, numbered, write_csv

# Currents, time stamps that jitter ---------------------------------------------------------------------------------------

DRIVE_GAINS = (14.0, 12.0, 9.0)
JITTERED = f"""
time = "t_s"
q = "q_rad_{{i}}"
qd = "qd_rad_s_{{i}}"
current = "current_A_{{i}}"

[motor]
torque_per_ampere = [{", ".join(map(str, DRIVE_GAINS))}]
"""
STILL = 1.5  # s at both ends of its runs


def jittered(folder: Path) -> Standin:
    """About 94 Hz, from stamps 10 to 11 ms apart, the first 2 ms; currents; wanted values beside measured ones.

    Two exciting runs with a standstill at both ends, and one from point to point, which stands still at each.
    """
    friction = {"viscous": [2.0, 1.5, 0.6], "coulomb": [2.5, 2.0, 0.7], "offset": [0.2, -0.3, 0.1]}
    robot = described(folder, "jittered", ARM, **friction)
    (folder / "columns.toml").write_text(JITTERED)
    rng = np.random.default_rng(1)
    points = np.vstack([np.zeros(3), rng.uniform(-1.2, 1.2, (6, 3)), np.zeros(3)])
    arrive = STILL + 1.6 * np.arange(8)
    leave = arrive[:-1] + np.array([0.0, *[0.3] * 6])
    times = np.sort(np.concatenate([leave, arrive[1:]]))
    stops = tp.MinimumJerk(np.repeat(points, 2, axis=0)[1:-1], times)
    motions = {"first": exciting(3, 1, 12.0, still=STILL), "second": exciting(3, 2, 12.0, still=STILL), "points": stops}
    sigma = np.array([0.15, 0.3, 0.06])
    recordings = {}
    for name, reference in motions.items():
        run = moved(robot, reference, 12.0 + 2 * STILL)
        at = np.cumsum(np.concatenate([[0.0], [0.002] * 4, rng.uniform(0.0102, 0.0111, 1400)]))
        at = at[at < run.time[-1]]
        q, qd, tau = (CubicSpline(run.time, v)(at) for v in (run.q, run.qd, run.tau))
        current = (tau + sigma * rng.normal(size=tau.shape)) / DRIVE_GAINS
        columns = {
            "t_s": at + 120.0,
            **numbered("q_rad_{i}", np.round(q, 4)),
            **numbered("qd_rad_s_{i}", np.round(qd, 3)),
            **numbered("current_A_{i}", current),
            **numbered("current_des_A_{i}", tau / DRIVE_GAINS),
            **numbered("torque_des_Nm_{i}", tau),
        }
        path = write_csv(folder / f"{name}.csv.gz", columns)
        recordings[name] = Recording(path, at + 120.0, q, tau, sigma)
    return Standin(folder, robot, recordings)


# Torque sensors, no time, a joint that goes one way ----------------------------------------------------------------------

SENSORS = """
rate_hz = 500
q = "q_rad_{i}"
qd = "qd_rad_s_{i}"
tau = "torque_Nm_{i}"
"""
LSB, SENSED = (
    np.array([0.12, 0.12, 0.06]),
    np.array([0.1, 0.25, 0.06]),
)  # N m: steps of the torque sensors, and their noise


def one_way(folder: Path) -> Standin:
    """500 Hz without a time column; torques in steps of a sensor; a qdd that is not that of qd.

    In runs 1 and 2 the last joint only turns forwards, in run 3 both ways.
    """
    friction = {"viscous": [1.0, 0.8, 0.4], "coulomb": [1.2, 1.0, 0.5], "offset": [0.1, -0.2, 0.15]}
    robot = described(folder, "oneway", ARM, **friction)
    (folder / "columns.toml").write_text(SENSORS)
    recordings, rng = {}, np.random.default_rng(3)
    for k in (1, 2, 3):
        points = exciting(3, 10 + k, 8.0, size=1.2, still=0).points
        if k < 3:  # forwards faster than its other motion goes back
            points = points * [1, 1, 0.1] + np.linspace(-2.5, 2.5, len(points))[:, None] * [0, 0, 1]
        run = moved(robot, tp.BSpline(points, 8.0), 8.0, 500.0)
        acceleration = np.gradient(run.qd, run.time, axis=0)
        columns = {
            **numbered("q_rad_{i}", run.q),
            **numbered("qd_rad_s_{i}", run.qd),
            **numbered("qdd_rad_s2_{i}", np.roll(0.4 * acceleration, 40, axis=0)),
            **numbered("torque_Nm_{i}", np.round((run.tau + SENSED * rng.normal(size=run.tau.shape)) / LSB) * LSB),
        }
        path = write_csv(folder / f"run{k}.csv.gz", columns)
        # Rounding to steps of h is noise, too, with a standard deviation of h over the root of 12.
        recordings[str(k)] = Recording(path, run.time, run.q, run.tau, np.hypot(SENSED, LSB / np.sqrt(12)))
    return Standin(folder, robot, recordings)


# A slide, names in the headers, dead channels ----------------------------------------------------------------------------

LIFTED = (
    Body("lift_joint", "0 0 0.5", axis="0 0 1", mass=8.0, kind="prismatic"),
    Body("arm_1_joint", "0.1 0 0.2", mass=3.0, com=(0.1, 0.02, 0.03)),
    Body("arm_2_joint", "0.15 0 0", "1.5708 0 0", mass=2.0, com=(0.12, 0.01, 0.02)),
    Body("arm_3_joint", "0.25 0 0", mass=0.3, com=(0.04, 0.01, 0.01)),
)
REDUCTION, CONSTANT = np.array([1.0, 100.0, 100.0, 300.0]), np.array([20.0, 0.13, -0.09, -0.06])
SLIDE = f"""
joints = ["lift_joint", "arm_1_joint", "arm_2_joint", "arm_3_joint"]
labels = ["lift", "arm_1", "arm_2", "arm_3"]
time = "t_s"
q = {{columns = "pos_{{joint}}", unit = ["m", "rad", "rad", "rad"]}}
qd = "vel_{{joint}}"
current = "effort_A_{{joint}}"

[motor]
ratio = {REDUCTION.tolist()}
torque_per_ampere = {CONSTANT.tolist()}
"""


def slide(folder: Path) -> Standin:
    """100 Hz: a column that slides and an arm, efforts in amperes behind gears; the last joint's are zero but for its peaks."""
    friction = {"viscous": [60.0, 3.0, 2.0, 0.3], "coulomb": [25.0, 3.0, 2.0, 0.2], "offset": [3.0, 0.2, -0.2, 0.05]}
    robot = described(folder, "slide", LIFTED, **friction)
    (folder / "columns.toml").write_text(SLIDE)
    labels, sigma = ("lift", "arm_1", "arm_2", "arm_3"), np.array([1.5, 0.4, 0.3, 0.0])
    recordings = {}
    for name, seed, seconds in (("first", 21, 20.0), ("second", 22, 10.0)):
        reference = exciting(4, seed, seconds, size=np.array([0.12, 1.0, 1.0, 1.0]))
        run = moved(robot, reference, seconds, smooth=0.01)
        rng, rows = np.random.default_rng(seed), slice(None, None, 10)
        t, q, qd, tau = (v[rows] for v in (run.time, run.q, run.qd, run.tau))
        seen = tau + sigma * rng.normal(size=tau.shape)
        small = np.abs(seen[:, 3]) < np.quantile(
            np.abs(seen[:, 3]), 0.88
        )  # the drive reports nothing below a threshold
        seen[small, 3] = 0.0
        current = seen / (REDUCTION * CONSTANT)
        columns = {"t_s": t}
        for what, values in (("pos", q), ("vel", qd), ("effort_A", current)):
            columns |= {f"{what}_{label}": column for label, column in zip(labels, values.T, strict=True)}
        path = write_csv(folder / f"{name}.csv", columns)
        recordings[name] = Recording(path, t, q, tau, sigma)
    return Standin(folder, robot, recordings)


# Degrees and milliseconds, and what loggers lose ------------------------------------------------------------------------

DEGREES = """
joints = ["j1", "j2", "j3"]
time = {columns = "stamp", unit = "ms"}
q = {columns = ["base", "shoulder", "elbow"], unit = "deg"}
tau = {columns = ["effort_base", "effort_shoulder", "effort_elbow"]}
"""
COUNT = 360.0 / 16384  # deg
TWICE, SWAPPED, EMPTY, LOST = (300, 301, 302), 700, slice(900, 906), slice(1200, 1206)


def broken(folder: Path) -> Standin:
    """200 Hz in degrees and milliseconds, from encoders that count; stamps twice, rows swapped, cells empty, rows lost."""
    friction = {"viscous": [2.0, 1.5, 0.6], "coulomb": [2.5, 2.0, 0.7], "offset": [0.2, -0.3, 0.1]}
    robot = described(folder, "broken", ARM, **friction)
    (folder / "columns.toml").write_text(DEGREES)
    sigma = np.array([0.3, 0.6, 0.15])
    recordings = {}
    for name, seed in (("first", 31), ("second", 32)):
        run = moved(robot, exciting(3, seed, 12.0), 12.0)
        log = tp.record(run, resolution=np.radians(COUNT))
        t, q, tau = (v[::5] for v in (run.time, log.q, run.tau))
        rng = np.random.default_rng(seed)
        seen, degrees, stamp = tau + sigma * rng.normal(size=tau.shape), np.degrees(q), 1000 * t
        if name == "first":
            seen[EMPTY, 1] = degrees[EMPTY, 2] = np.nan
            stamp[list(TWICE)] = stamp[TWICE[0] - 1]
        rows, names = np.arange(len(t)), ("base", "shoulder", "elbow")
        if name == "first":
            rows[[SWAPPED, SWAPPED + 1]] = SWAPPED + 1, SWAPPED
            rows = np.delete(rows, LOST)
        columns = {"stamp": stamp[rows], **dict(zip(names, degrees[rows].T, strict=True))}
        columns |= {f"effort_{k}": v for k, v in zip(names, seen[rows].T, strict=True)}
        path = write_csv(folder / f"{name}.csv", columns, digits=9)
        recordings[name] = Recording(path, t, q, tau, sigma)
    return Standin(folder, robot, recordings)
