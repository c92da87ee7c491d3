"""A simulated arm that is touched: logs with friction and noise, and pushes at known times."""

from functools import lru_cache

import numpy as np

import taupi as tp
from taupi.dynamics.terms import resolve_terms
from taupi.identification.online.model import OnlineModel
from taupi.identification.online.observer import MomentumObserver
from taupi.identification.online.tracker import FrictionFilter

RATE = 1000
TERMS = ("viscous", tp.terms.Coulomb(0.02))
MIDDLE = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.8, 0.5])


def panda():
    """Return the Panda with friction."""
    return tp.load("panda").with_friction(viscous=[1, 1, 1, 1, 0.5, 0.5, 0.5], coulomb=[0.6] * 4 + [0.3] * 3)


def motion(seed):
    """Return a smooth motion of the Panda's seven joints."""
    rng = np.random.default_rng(seed)
    omega = np.array([0.7, 1.3, 2.1]) * rng.uniform(0.8, 1.2)
    return tp.Sinusoids(MIDDLE, rng.uniform(0.1, 0.25, (7, 3)), omega, rng.uniform(0, 6, (7, 3)))


def panda_observer(tracker=False, bandwidth_hz=20.0):
    """Return an observer whose model is a little wrong, as a fit is: inertias by 1 %, friction by 5 %."""
    arm = panda()
    wrong = arm.with_parameters(1.01 * arm.parameters.values).with_friction(
        viscous=[1.05, 0.95, 1.05, 1.0, 0.5, 0.48, 0.52], coulomb=[0.63, 0.58, 0.6, 0.57, 0.3, 0.31, 0.29]
    )
    facts = {"cutoff_hz": 20.0, "speeds": (1.2,) * 7, "noise": (0.15,) * 4 + (0.05,) * 3}
    model = OnlineModel(wrong, tuple(resolve_terms(TERMS)), **facts)
    return MomentumObserver(model, bandwidth_hz, FrictionFilter.of(model, careful=True) if tracker else None)


@lru_cache(maxsize=16)
def panda_log(seed, duration, push=None):
    """Return a log of the Panda at 1 kHz, noise of 0.1 N m and 0.5 mrad/s; `push` is (from, to, force) at link 4's origin."""
    arm, course = panda(), motion(seed)
    jacobian = tp.jacobian(arm, frame="panda_link4")

    def disturbance(t):
        felt = push is not None and push[0] <= t < push[1]
        return -jacobian(course(t)[0])[3:].T @ np.array(push[2]) if felt else np.zeros(7)

    plant = tp.RigidPlant(arm, terms=TERMS, disturbance=None if push is None else disturbance)
    run = tp.simulate(plant, tp.ComputedTorque(arm, terms=TERMS), course, duration=duration, rate=RATE)
    rng = np.random.default_rng(seed + 1000)
    qd, tau = (x + s * rng.normal(size=x.shape) for x, s in ((run.qd, 5e-4), (run.tau, 0.1)))
    return tp.Log(run.time, run.q, qd=qd, tau=tau, names=arm.joint_names)
