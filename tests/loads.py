"""Logs of a PUMA 560 with and without a load, as torques or as currents, with noise of 3 % and friction that drifts."""

from functools import lru_cache

import numpy as np
from cli_runs import motion

import taupi as tp

TERMS = ("viscous", "coulomb", "offset")
GAINS = np.array([55.0, 70.0, 40.0, 6.0, 5.0, 4.0])
LOAD = dict(mass=2.0, com=(0.02, -0.03, 0.12), inertia=np.diag([0.02, 0.018, 0.008]))
ARM = tp.load("puma560").with_friction(
    viscous=[4, 6, 3, 0.4, 0.3, 0.2], coulomb=[6, 8, 5, 0.8, 0.6, 0.5], offset=[0.3, -0.4, 0.2, 0.05, -0.03, 0.02]
)


def recorded(robot, seed, noise=0.03, drift=1.0, still=(), pace=1.0):
    """Return a log of 16 s / `pace`; viscous friction is `drift` times that of the robot, and joints `still` stand still."""
    t, *states = motion(seed, n=robot.n, duration=16.0)
    t, (q, qd, qdd) = t / pace, (0.8 * pace**k * x for k, x in enumerate(states))
    for x in (q, qd, qdd):
        x[:, list(still)] = 0.0
    robot = robot.with_friction(viscous=[drift * float(j.friction.viscous) for j in robot.joints])
    tau = tp.inverse_dynamics(robot, terms=TERMS)(q, qd, qdd)
    tau = tau + noise * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
    return tp.Log(t, q, tau=tau, names=robot.joint_names)


def as_currents(log, gains=GAINS):
    """Return the log with currents in place of torques."""
    return tp.Log(log.time, log.q, current=log.tau / gains, names=log.names)


@lru_cache(maxsize=1)
def fit():
    """Return the fit of the arm without a load."""
    return tp.identify(tp.load("puma560"), recorded(ARM, 100))


def carried(log, **settings):
    """Return the payload of a log, torques being exact."""
    return tp.identify_payload(fit(), log, gain_uncertainty=0, **settings)
