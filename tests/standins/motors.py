"""Stand-ins that record motors: a coupled wrist, a parallelogram, a spring between motor and link."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import taupi as tp
from standins.parts import ARM, Body, Recording, Standin, described, exciting, moved, numbered, urdf, write_csv

# A coupled wrist ---------------------------------------------------------------------------------------------------------

RATIO = np.array([50.0, -60.0, 40.0])
COUPLING = np.array(
    [[1.0, 0, 0], [0, 1, 0], [0, -1, 1]]
)  # the third joint turns by motor 3 less motor 2, behind the gears
ZERO = np.array([0.0, -0.5, 0.8])
WRIST = f"""
rate_hz = 1000
theta = "motor_pos_rad_{{i}}"
tau_m = "motor_torque_Nm_{{i}}"

[motor]
ratio = {RATIO.tolist()}
coupling = {COUPLING.tolist()}
offset = {ZERO.tolist()}
"""
MOTOR_VISCOUS, MOTOR_COULOMB = (2.0, 1.5, 0.8), (2.5, 2.0, 1.2)
STILL = 1.6  # s, at both ends


def wrist(folder: Path) -> Standin:
    """1 kHz without a time column: angles and torques of motors, of which the third turns with two joints, with friction."""
    robot = described(folder, "wrist", ARM)
    (folder / "columns.toml").write_text(WRIST)
    # In coordinates of the motors, friction is each motor's own; their zeros are those of the joints, shifted.
    motors = robot.with_coupling(COUPLING.tolist()).with_friction(viscous=MOTOR_VISCOUS, coulomb=MOTOR_COULOMB)
    shift = np.linalg.solve(COUPLING, ZERO)
    sigma, count = np.array([0.2, 0.4, 0.1]), 2 * np.pi / 4096
    # Noise of the third motor is in the second joint's torque, too.
    spread = np.sqrt((np.linalg.inv(COUPLING).T ** 2) @ sigma**2)
    recordings = {}
    for name, seed, seconds in (("first", 3, 9.0), ("second", 4, 6.0)):
        motion = exciting(3, seed, seconds, still=STILL)
        run = moved(motors, tp.BSpline(motion.points + shift, motion.duration), motion.duration)
        noisy = run.tau + sigma * np.random.default_rng(seed).normal(size=run.tau.shape)
        columns = {
            **numbered("motor_pos_rad_{i}", np.round((run.q - shift) * RATIO / count) * count),
            **numbered("motor_torque_Nm_{i}", noisy / RATIO),
        }
        path = write_csv(folder / f"{name}.csv.gz", columns)
        joints, tau = run.q @ COUPLING.T, run.tau @ np.linalg.inv(COUPLING)
        recordings[name] = Recording(path, run.time, joints, tau, spread)
    return Standin(folder, robot, recordings)


# A parallelogram ---------------------------------------------------------------------------------------------------------

# Four joints that three motors move: what the second turns one joint by, it turns another back.
PARALLEL = [[1, 0, 0], [0, 1, 0], [0, -1, 1], [0, 0, -0.5]]
FOUR = (*ARM, Body("j4", "0.2 0 0", "0 1.5708 0", mass=0.8, com=(0.03, 0.02, 0.06)))
PERIOD = 5.0  # s, of a motion that is run three times
PERIODIC = """
rate_hz = 200
q = "q_rad_{i}"
qd = "qd_rad_s_{i}"
tau = "torque_Nm_{i}"
"""


def parallelogram(folder: Path) -> Standin:
    """200 Hz without a time column: three motors of four joints, three periods of a Fourier series."""
    (folder / "robot.urdf").write_text(urdf("parallelogram", FOUR, 1.3))
    (folder / "columns.toml").write_text(PERIODIC)
    (folder / "true.urdf").write_text(urdf("parallelogram", FOUR))
    tree = tp.load(folder / "true.urdf")
    (folder / "true.urdf").unlink()
    robot = tree.with_coupling(PARALLEL).with_friction(viscous=[1.0, 0.8, 0, 0.5], coulomb=[1.2, 1.0, 0, 0.6])
    sigma = np.array([0.15, 0.3, 0.1])
    recordings = {}
    for name, seed in (("first", 5), ("second", 6)):
        rng, w = np.random.default_rng(seed), 2 * np.pi / PERIOD * np.arange(1, 6)
        size = rng.uniform(0.3, 0.6, (3, 5)) / np.arange(1, 6)
        run = moved(robot, tp.Sinusoids(np.zeros(3), size, w, rng.uniform(0, 2 * np.pi, (3, 5))), 3 * PERIOD, 200.0)
        noise = np.random.default_rng(seed + 10)
        columns = {
            **numbered("q_rad_{i}", run.q + 2e-5 * noise.normal(size=run.q.shape)),
            **numbered("qd_rad_s_{i}", run.qd + 5e-3 * noise.normal(size=run.q.shape)),
            **numbered("torque_Nm_{i}", run.tau + sigma * noise.normal(size=run.q.shape)),
        }
        path = write_csv(folder / f"{name}.csv", columns)
        recordings[name] = Recording(path, run.time, run.q, run.tau, sigma)
    return Standin(folder, robot, recordings)


# A spring between motor and link -------------------------------------------------------------------------------------------

SPRUNG = """
[robot]
name = "sprung"
gravity = [0, 0, -9.81]

[[joint]]
name = "base"
transmission = {{ stiffness = {stiffness}, rotor_inertia = {rotor_inertia}, damping = {damping} }}
friction = {{ viscous = {viscous} }}
link = {{ name = "arm", m = 0.1, com = [0.2, 0, 0], inertia = [[0, 0, 0], [0, {own}, 0], [0, 0, {own}]] }}
"""
TRUE = {"stiffness": 2.0, "rotor_inertia": 0.003, "damping": 0.004, "viscous": 0.03, "own": 0.001}
GUESS = {"stiffness": 3.0, "rotor_inertia": 0.002, "damping": 0.0, "viscous": 0.0, "own": 0.0015}
ANGLE = 360.0 / 8192  # deg, a count of both encoders
PER_VOLT, BACK = 0.12, 0.5  # N m/V, V s/rad
VOLTS = f"""
time = {{ columns = "t_ms", unit = "ms" }}
q = {{ columns = ["theta_deg", "alpha_deg"], unit = "deg", matrix = [[1, 1]] }}
theta = {{ columns = "theta_deg", unit = "deg" }}
voltage = {{ columns = "motor_voltage_V" }}

[motor]
torque_per_volt = {PER_VOLT}
volts_per_speed = {BACK}
"""


def sprung(folder: Path) -> Standin:
    """500 Hz in milliseconds, degrees and volts: the angle of a motor, and by how much its link is deflected from it."""
    (folder / "robot.toml").write_text(SPRUNG.format(**GUESS))
    (folder / "columns.toml").write_text(VOLTS)
    (folder / "true.toml").write_text(SPRUNG.format(**TRUE))
    robot = tp.load(folder / "true.toml")
    (folder / "true.toml").unlink()
    recordings = {}
    for name, seed in (("first", 7), ("second", 8)):
        reference = exciting(1, seed, 6.0, size=4.0)
        plant = tp.ElasticPlant(robot, terms=("viscous", "damping"))

        def law(t, q, qd, theta, thetad, reference=reference):  # of the motor alone, so that the link swings behind it
            want = reference(t)
            return 4.0 * (want.q - theta) + 0.2 * (want.qd - thetad)

        run = tp.simulate(plant, law, reference, reference.duration, 500.0, substeps=4)
        log = tp.record(run, resolution=np.radians(ANGLE), torque="middle")
        sigma = np.array([0.006])
        u = log.tau + sigma * np.random.default_rng(seed).normal(size=log.tau.shape)
        columns = {
            "t_ms": 1000 * log.time,
            "setpoint_deg": np.degrees(reference(log.time).q[:, 0]),
            "theta_deg": np.degrees(log.theta[:, 0]),
            "alpha_deg": np.degrees((log.q - log.theta)[:, 0]),
            "motor_voltage_V": (u / PER_VOLT + BACK * run.thetad)[:, 0],
        }
        path = write_csv(folder / f"{name}.csv", columns, digits=9)
        recordings[name] = Recording(path, log.time, run.q, log.tau, sigma)
    return Standin(folder, robot, recordings)
