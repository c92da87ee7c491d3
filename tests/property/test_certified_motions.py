"""Designs at random times: no limit is exceeded, no certificate is optimistic."""

import numpy as np
import pytest

import taupi as tp

LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 10.0, "jerk": 200.0, "effort": 60.0}
TERMS = ("rotor", "viscous", "coulomb", "offset")


def assert_certified(seed, motion, samples):
    rng = np.random.default_rng(seed)
    arm = tp.load("elbow2r").with_friction(viscous=rng.uniform(0, 1), coulomb=rng.uniform(0, 2))
    plan = tp.excite(arm, float(rng.uniform(2, 8)), motion=motion, limits=LIMITS, margin=0.0, starts=1, seed=seed)
    q, qd, qdd = plan.motion(rng.uniform(0, plan.duration, samples))
    tau = np.abs(tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd))
    for value, name, limit in (
        (q, "position", 2.0),
        (qd, "velocity", 3.0),
        (qdd, "acceleration", 10.0),
        (tau, "torque", 54.0),
    ):
        most = np.abs(value).max(axis=0)
        assert (most <= limit + 1e-9).all(), (seed, name)
        assert (most <= plan.certificates[name].bound + 1e-9).all(), (seed, name)


@pytest.mark.parametrize("motion", ["bspline", "fourier"])
@pytest.mark.parametrize("seed", range(3))
def test_limits_hold_at_random_times(seed, motion):
    assert_certified(seed, motion, 50_000)


@pytest.mark.long
def test_limits_of_a_hundred_motions_hold_at_a_million_times_each():
    for seed in range(100):
        assert_certified(seed, "bspline" if seed % 2 else "fourier", 1_000_000)
