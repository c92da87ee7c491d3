"""Recorded runs of a small arm with friction, written as files: for tests of many logs."""

import numpy as np
from cli_runs import TERMS, motion

import taupi as tp


def arm(viscous=(0.5, 0.3), coulomb=(0.4, 0.2), offset=(0.1, -0.1)):
    return tp.load("elbow2r").with_friction(viscous=list(viscous), coulomb=list(coulomb), offset=list(offset))


def recorded(seed, robot=None, duration=8.0, noise=0.02):
    """A log of a random motion with noisy torques."""
    robot, rng = robot or arm(), np.random.default_rng(1000 + seed)
    t, q, qd, qdd = motion(seed, duration=duration)
    tau = tp.inverse_dynamics(robot, terms=TERMS)(q, qd, qdd)
    return tp.Log(t, q, tau=tau + noise * rng.normal(size=tau.shape), names=robot.joint_names)


def write_runs(folder, count, ending=".parquet"):
    """Write logs run-00, run-01, ... and return their paths."""
    paths = [folder / f"run-{k:02d}{ending}" for k in range(count)]
    for k, path in enumerate(paths):
        tp.write_log(recorded(k), path)
    return paths
