"""What tests of `taupi identify` share: the motion of their logs, and what results are called."""

import numpy as np

import taupi as tp
from taupi.identification.equations.joints import RigidJoints

RESULTS = ["fit.json", "fit.txt", "report.html"]
TERMS = ("rotor", "viscous", "coulomb", "offset")  # what the recorded arm has
COUNT = tp.base_parameters(tp.load("elbow2r"), RigidJoints.default_terms).count


def motion(seed, n=2, duration=8.0, rate=200.0):
    """A random Fourier series a joint: time, q, qd, qdd."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, duration, 1 / rate)
    w = 2 * np.pi / duration * np.arange(1, 5)
    a = rng.normal(size=(4, n)) / w[:, None]
    wt = np.outer(t, w)
    return t, np.sin(wt) @ a, (np.cos(wt) * w) @ a, -(np.sin(wt) * w**2) @ a
