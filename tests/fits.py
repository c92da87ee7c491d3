"""Fits for tests of what comes after them: an arm with friction on a Fourier motion, with noise."""

from functools import cache

import numpy as np

import taupi as tp

TERMS = ("viscous", "coulomb", "offset")
FRICTION = {"viscous": [0.5, 0.3], "coulomb": [0.4, 0.2], "offset": [0.1, -0.1]}


def friction_log(seed: int, noise: float = 0.02, duration: float = 8.0, rate: float = 200.0) -> tp.Log:
    """A log of the elbow arm with friction."""
    arm = tp.load("elbow2r").with_friction(**FRICTION)
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, 1 / rate)
    w = 2 * np.pi / duration * np.arange(1, 5)
    a = rng.normal(size=(4, 2)) / w[:, None]
    wt = np.outer(t, w)
    q, qd, qdd = np.sin(wt) @ a, (np.cos(wt) * w) @ a, -(np.sin(wt) * w**2) @ a
    tau = tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd)
    return tp.Log(t, q, tau=tau + noise * rng.normal(size=tau.shape), names=arm.joint_names)


@cache
def friction_fit() -> tp.Fit:
    """A fit of it."""
    return tp.identify(tp.load("elbow2r"), friction_log(1), terms=TERMS, cutoff_hz=15)
