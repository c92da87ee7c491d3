"""Designs at random times: no limit is exceeded, no certificate is optimistic."""

import dataclasses

import numpy as np
import pytest

import taupi as tp

TERMS = ("rotor", "viscous", "coulomb", "offset")
ROUNDING = 1e-9
# Of the same motion, looked at together: bounds memory.
BLOCK = 200_000
# s: by the mean value theorem a quotient of differences is no larger than the largest derivative between.
STEP = 1e-4
SMALL = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 10.0, "jerk": 200.0, "effort": 60.0}
FOLDED = {"lower": -2.5, "upper": 2.5, "velocity": 4.0, "acceleration": 15.0, "effort": 200.0}
PUMA = {
    "lower": [-2.79, -3.92, -0.78, -1.92, -1.74, -4.64],
    "upper": [2.79, 0.78, 3.92, 2.96, 1.74, 4.64],
    "velocity": [1.92, 1.92, 2.0, 4.0, 4.0, 5.2],
    "acceleration": [8.0, 8.0, 10.0, 20.0, 20.0, 20.0],
    "effort": [97.6, 186.4, 89.4, 24.2, 20.1, 21.3],
}


def elbow(rng):
    return tp.load("elbow2r").with_friction(viscous=rng.uniform(0, 1), coulomb=rng.uniform(0, 2)), SMALL, {}


def planar(rng):
    arm = tp.load("planar3r").bind(l1=0.5, l2=0.2, l3=0.5)
    bodies = [
        {"link": name, "b": (-b, 0, 0), "r": 0.04} for name, b in zip(arm.link_names, (0.48, 0.18, 0.48), strict=True)
    ]
    keep = tp.clearance(arm, capsules=bodies)
    return dataclasses.replace(arm, capsules=keep.capsules), FOLDED, {"clearance": float(rng.uniform(0.0, 0.06))}


def puma(rng):
    return tp.load("puma560"), PUMA, {}


def panda(rng):
    return tp.load("panda"), {}, {"clearance": 0.02}


def assert_certified(robot, seed, motion, samples):
    rng = np.random.default_rng(seed)
    arm, limits, settings = robot(rng)
    duration = float(rng.uniform(3, 8))
    plan = tp.excite(arm, duration, motion=motion, limits=limits, margin=0.0, starts=1, seed=seed, **settings)
    most = {}
    for size in [BLOCK] * (samples // BLOCK) or [samples]:
        for name, value in reached(plan, arm, rng.uniform(0, plan.duration, size)).items():
            most[name] = np.maximum(most.get(name, -np.inf), value)
    effort = 0.9 * plan.limits.effort
    bounds = {name: proof.bound for name, proof in plan.certificates.items() if name != "clearance"}
    for name, bound in bounds.items():
        limit = effort if name == "torque" else plan.limits.of_order(ORDERS.index(name))
        assert (most[name] <= limit + ROUNDING).all(), (seed, name)
        assert (most[name] <= bound + ROUNDING).all(), (seed, name)
        assert (bound <= 1.05 * most[name] + ROUNDING).all(), (seed, name)  # ... and none says much too much
    if "clearance" in plan.certificates:
        proof = plan.certificates["clearance"]
        assert (-most["clearance"] >= proof.bound - ROUNDING).all() and (
            -most["clearance"] >= proof.asked - ROUNDING
        ).all()


ORDERS = ("position", "velocity", "acceleration", "jerk")


def reached(plan, arm, times):
    """Return the largest magnitudes at times; of distances, the negative of the least."""
    q, qd, qdd = plan.motion(times)
    within = np.clip(times, STEP, plan.duration - STEP)
    jerk = (plan.motion(within + STEP).qdd - plan.motion(within - STEP).qdd) / (2 * STEP)
    values = {
        "position": q - plan.limits.middle,
        "velocity": qd,
        "acceleration": qdd,
        "jerk": jerk,
        "torque": tp.inverse_dynamics(arm, terms=TERMS)(q, qd, qdd),
    }
    largest = {name: np.abs(value).max(axis=0) for name, value in values.items()}
    if plan.clearance is not None:
        largest["clearance"] = -plan.clearance.distances(q).min(axis=0, initial=np.inf)
    return largest


@pytest.mark.parametrize("motion", ["bspline", "fourier"])
@pytest.mark.parametrize("seed", range(3))
def test_limits_hold_at_random_times(seed, motion):
    assert_certified(elbow, seed, motion, 50_000)


def test_clearance_holds_at_random_times():
    assert_certified(planar, 0, "bspline", 50_000)


@pytest.mark.long
@pytest.mark.parametrize(("robot", "count"), [(elbow, 60), (planar, 20), (puma, 10), (panda, 10)])
def test_limits_of_a_hundred_motions_hold_at_a_million_times_each(robot, count):
    for seed in range(count):
        assert_certified(robot, seed, "bspline" if seed % 2 else "fourier", 1_000_000)
