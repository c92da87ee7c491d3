"""Unitree's Go2 in MuJoCo, from its URDF: it stands, sways and lifts its legs by turns, and its log tells its parameters."""

import legged
import numpy as np
import pytest

import taupi as tp

TERMS = ("rotor", "viscous")
# Wrenches at the feet measured; the same, by the base's rows alone; unknown forces at points; unknown wrenches.
WAYS = {
    "measured": (True, None, TERMS, "point"),
    "base": (True, "base", (), "point"),
    "projected": (False, None, TERMS, "point"),
    "flat": (False, None, TERMS, "flat"),
}
# Without noise: the contact solver's tolerance. Feet are spheres of 2 mm, which touch the ground beside their middle.
EXACT = {"measured": 1e-8, "base": 1e-8, "projected": 5e-3, "flat": 1e-9}


@pytest.fixture(scope="module")
def go2(robots_dir):
    return legged.go2(robots_dir)


def log_of(go2, rec, wrenches, noise, seed=0):
    """The log, with noise of 0.2 N m, 1 N, 0.01 N m at the feet, 0.05 m/s^2, 0.5 rad/s^2 where it has some."""
    robot, _, order = go2
    feet = [f"{foot}_foot" for foot in legged.FEET]
    flags, forces = dict(zip(feet, rec["flags"].T, strict=True)), np.moveaxis(rec["force"], 1, 0)
    log = tp.floating.log_from_states(
        *(robot, rec["t"], rec["q"], rec["qd"], rec["qdd"], rec["tau"], flags),
        wrench=dict(zip(feet, forces, strict=True)) if wrenches else {},
        convention="mujoco",
        joints=tuple(order),
    )
    rng = np.random.default_rng(seed)

    def noisy(x, sigma):
        return x + noise * sigma * rng.standard_normal(x.shape)

    return log.with_(
        tau=noisy(log.tau, 0.2),
        qdd=noisy(log.qdd, 0.5),
        base=tp.floating.BaseMotion(log.base.w, noisy(log.base.a, 0.05), noisy(log.base.wd, 0.5)),
        wrench={k: noisy(v, np.array([0.01, 0.01, 0.01, 1, 1, 1])) for k, v in log.wrench.items()},
    )


def off(go2, rec, way, noise):
    """By how much the fitted base parameters are off, as a share of their norm, from links that are described wrongly."""
    robot = go2[0]
    wrenches, contact, terms, feet = WAYS[way]
    factors = np.random.default_rng(1).uniform(0.75, 1.3, 13).repeat(10)
    described = robot.with_parameters(robot.parameters.values * factors)
    log = log_of(go2, rec, wrenches, noise)
    fit = tp.identify(described, log, "wls", terms=terms, contact=contact, feet=feet)
    assert fit.conditioning["rank"] == fit.basis.count and fit.verdict.level == "good"
    truth = fit.basis.project(tp.base_parameters(robot, terms=fit.terms).standard)
    return np.linalg.norm(fit.values - truth) / np.linalg.norm(truth)


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_thirty_seconds(go2, way):
    rec = legged.simulated(go2[1], 30.0, rate=125)
    assert off(go2, rec, way, 0.0) < EXACT[way]
    assert off(go2, rec, way, 1.0) < (0.01 if way != "flat" else 0.02)


@pytest.fixture(scope="module")
def short(go2):
    return legged.simulated(go2[1], 5.0, rate=125)


@pytest.mark.parametrize("way", ["base", "projected"])
def test_five_seconds(go2, short, way):
    assert off(go2, short, way, 1.0) < 0.015
