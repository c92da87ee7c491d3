"""A 6-axis industrial arm with encoders on both sides of three stiff gears: the plant, three runs, and what they record.

Springs of about 5e6 N m/rad bend by a few hundredths of a degree. The first axis is vertical and moves slowly, so that its spring
carries little load. Motors, links and torques are logged at 250 Hz.
"""

from functools import cache

import numpy as np

import taupi as tp

RATE, STEPS, DURATION = 250, 4, 10.0  # Hz of the log, control periods per sample, s
LATE = 0.003  # s
STIFFNESS = (6.0e6, 5.0e6, 3.5e6, None, None, None)  # N m/rad
COUNT = (
    2 * np.pi / 2**18,
    2 * np.pi / 2**20,
)  # rad: a step of the links' and of the motors' encoders, on the joint side
# The gears of the elastic joints turn unevenly, by so much (rad, 30 and 6 arc seconds) so many times per turn of the joint.
UNEVEN, WAVES = np.array([1.5e-4, 3e-5, 3e-5, 0.0, 0.0, 0.0]), np.array([7.0, 31.0, 27.0, 0.0, 0.0, 0.0])
TORQUE_NOISE = np.array([25.0, 25.0, 20.0, 5.0, 5.0, 4.0])  # N m
# rad: the difference between the encoders of a joint, by run; it depends on how the robot was switched on.
OFFSETS = np.array([[8e-4, -5e-4, 1.1e-3], [-3e-4, 9e-4, 4e-4], [5e-4, 2e-4, -7e-4]])
_DH = (
    {"a": 0.35, "alpha": "pi/2", "d": 0.675},
    {"a": 1.15},
    {"a": 0.041, "alpha": "pi/2"},
    {"alpha": "-pi/2", "d": 1.2},
    {"alpha": "pi/2"},
    {"d": 0.24},
)
_LINKS = (
    (420.0, (-0.2, -0.1, 0.0), (25.0, 30.0, 28.0)),
    (260.0, (-0.6, 0.0, 0.15), (6.0, 42.0, 40.0)),
    (210.0, (-0.05, 0.03, 0.15), (16.0, 15.0, 9.0)),
    (95.0, (0.0, 0.4, 0.02), (9.0, 1.6, 9.0)),
    (32.0, (0.0, 0.01, 0.03), (0.4, 0.3, 0.3)),
    (140.0, (0.06, 0.02, 0.05), (5.0, 4.5, 3.0)),
)
# The motion: its centre (rad), which is another one for the first joint in each run, the largest amplitude of a harmonic (rad),
# and how many harmonics of 0.1 Hz each joint has.
_CENTRE, _TURNED = (0.0, 1.1, -0.2, 0.3, 0.6, 0.0), (0.0, 0.45, -0.8)
_AMPLITUDE = (0.2, 0.3, 0.45, 0.5, 0.5, 0.7)
_HARMONICS = (1, 6, 6, 6, 6, 6)


@cache
def arm():
    """The robot as it is."""
    links = [{"m": m, "com": com, "inertia": np.diag(i).tolist()} for m, com, i in _LINKS]
    robot = tp.Robot.from_dh([{"joint": "revolute", **row} for row in _DH], convention="classic", links=links)
    return robot.with_transmissions(
        stiffness=STIFFNESS,
        gear_ratio=(230, 250, 220, 150, 140, 100),
        rotor_inertia=(0.006, 0.006, 0.005, 0.0012, 0.0012, 0.001),
        coulomb=(300, 350, 250, 70, 60, 40),
        viscous=(350, 400, 300, 60, 50, 30),
    )


def described(stiffness=(4.0e6, 7.0e6, 5.0e6, None, None, None), share=0.8):
    """The robot as a data sheet might have it: other springs, lighter links, no friction."""
    robot = arm().with_parameters(share * arm().parameters.values)
    return robot.with_transmissions(stiffness=stiffness, coulomb=0, viscous=0)


@cache
def run(seed):
    """A closed loop of the plant, integrated and recorded at 1 kHz."""
    rng, robot = np.random.default_rng(seed), arm()
    k = np.arange(1, 7)
    inside = k <= np.array(_HARMONICS)[:, None]
    amplitude = np.where(inside, rng.uniform(0.3, 1.0, (6, 6)) * np.array(_AMPLITUDE)[:, None] / k, 0.0)
    centre = (_TURNED[seed % len(_TURNED)], *_CENTRE[1:])
    motion = tp.Sinusoids(centre, amplitude, 2 * np.pi * 0.1 * k, rng.uniform(0, 2 * np.pi, (6, 6)))
    law = tp.laws.ElasticPDGravity(robot)
    return tp.simulate(tp.ElasticPlant(robot, smoothing=1e-3), law, motion, DURATION, rate=RATE * STEPS, seed=seed)


def log(seed, late_links=0.0, late_motors=0.0, offsets=True, counts=COUNT, uneven=UNEVEN, torque_noise=TORQUE_NOISE):
    """What is logged of the run with this seed: encoders that count, are offset, and late by whole milliseconds."""
    record, rng, n = run(seed), np.random.default_rng(1000 + seed), 6
    at = np.arange(STEPS * 5, len(record.time), STEPS)

    def encoder(values, late, count):
        shifted = np.stack(
            [values[at - round(d * RATE * STEPS), j] for j, d in enumerate(np.broadcast_to(late, n))], axis=1
        )
        return shifted if count is None else count * np.round(shifted / count)

    difference = np.zeros(n)
    if offsets:
        difference[:3] = OFFSETS[seed % len(OFFSETS)]
    theta = record.q.copy()
    theta[:, :3] = record.theta[:, :3]
    return tp.Log(
        record.time[at],
        encoder(record.q - difference - uneven * np.sin(WAVES * record.q), late_links, counts[0]),
        theta=encoder(theta, late_motors, counts[1]),
        tau=record.tau[at] + torque_noise * rng.normal(size=(len(at), n)),
        names=arm().joint_names,
    )


def logs(**settings):
    """The three runs."""
    return [log(seed, **settings) for seed in range(3)]
