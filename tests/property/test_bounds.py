"""Bounds against sampling, on random trees with slides, and what every rigid robot must be."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_robot

import taupi as tp
from taupi.model.robot import Limits

FEW = settings(max_examples=12, deadline=None)
NORMS = {"1": 1, "2": 2, "inf": np.inf}
# Sampled c is a difference of torques of up to some hundred newton metres.
ROUNDING = 1e-11


def limited(robot, seed):
    """The robot with limits on its slides, and on every second turning joint."""
    rng = np.random.default_rng(seed)
    joints = []
    for j in robot.joints:
        lo = float(rng.uniform(-1.5, 0.5))
        limits = Limits(lo, lo + float(rng.uniform(0.1, 2.0))) if j.prismatic or rng.random() < 0.5 else Limits()
        joints.append(dataclasses.replace(j, limits=limits))
    return dataclasses.replace(robot, joints=tuple(joints))


def sampled(robot, bounds, count=400):
    rng = np.random.default_rng(1)
    lo, hi = np.array(bounds.range).T
    lo, hi = np.nan_to_num(lo, nan=-3.0), np.nan_to_num(hi, nan=3.0)
    q = lo + rng.random((count, robot.n)) * (hi - lo)
    corners = rng.random((count, robot.n)) < 0.2
    q = np.where(corners, np.where(rng.random((count, robot.n)) < 0.5, lo, hi), q)
    v = rng.normal(size=(count, robot.n)) * (rng.random((count, robot.n)) < 0.7)
    v[np.abs(v).sum(1) == 0] = 1.0
    return q, v / np.abs(v).max(1, keepdims=True)


def terms(robot, q, v):
    def run(program, *x):
        return program.compile("numpy")(*x)

    g = run(tp.gravity_torque(robot), q)
    return run(tp.mass_matrix(robot), q), g, run(tp.bias_torque(robot), q, v) - g


def check(bound, values):
    """No sample is beyond the certain side."""
    slack = ROUNDING * (1 + np.abs(values).max())
    assert values.max() <= bound.upper + slack if not bound.infimum else values.min() >= bound.lower - slack


@FEW
@given(st.integers(0, 10**6))
def test_no_sample_is_beyond_a_bound(seed):
    robot = limited(random_robot(seed, joints=1 + seed % 3, mimic=seed % 3 == 0), seed)
    bounds = tp.bounds(robot, tolerance=1e-3, boxes=1500, seed=seed)
    q, v = sampled(robot, bounds)
    m, g, c = terms(robot, q, v)
    values = np.linalg.eigvalsh(m)
    check(bounds["mu1"], values[:, 0])
    check(bounds["mu2"], values[:, -1])
    if bounds["mu1"].lower > 0:
        check(bounds["Minv_min"], 1 / values[:, -1])
        check(bounds["Minv_max"], 1 / values[:, 0])
    for name, order in (("1", 1), ("2", 2)):
        norms = np.linalg.norm(m, order, axis=(1, 2))
        check(bounds[f"M_{name}_max"], norms)
        check(bounds[f"M_{name}_min"], norms)
    for name, p in NORMS.items():
        check(bounds[f"g_{name}"], np.linalg.norm(g, p, axis=1))
        check(bounds[f"c_{name}"], np.linalg.norm(c, p, axis=1) / np.linalg.norm(v, p, axis=1) ** 2)
    symbols = tp.christoffel_symbols(robot).compile("numpy")(q)
    check(bounds["Gamma"], np.abs(symbols).max((1, 2, 3)))
    quadratic = np.linalg.norm(c, axis=1) / np.linalg.norm(v, axis=1) ** 2
    check(bounds["c_2_n2"], quadratic)
    check(bounds["c_2_n32"], quadratic)
    for bound in bounds:
        assert bound.lower <= bound.upper
        check_attained(robot, bound)


def check_attained(robot, bound):
    """The attained side is the value at `at`, to rounding."""
    if bound.name in ("c_2_n2", "c_2_n32"):
        return
    q, v = np.array([bound.at]), np.array([bound.direction or [0.0] * robot.n])
    m, g, c = terms(robot, q, v)
    kind, _, norm = bound.name.partition("_")
    values = np.linalg.eigvalsh(m[0])
    if kind in ("g", "c"):
        value = np.linalg.norm((g if kind == "g" else c)[0], NORMS[norm])
    elif kind == "M":
        value = np.linalg.norm(m[0], int(norm[0]))
    elif kind == "Gamma":
        value = np.abs(tp.christoffel_symbols(robot).compile("numpy")(q)).max()
    else:
        value = {"mu1": values[0], "mu2": values[-1], "Minv_min": 1 / values[-1], "Minv_max": 1 / values[0]}[bound.name]
    assert math.isclose(value, bound.attained, rel_tol=1e-7, abs_tol=1e-9)


@FEW
@given(st.integers(0, 10**6))
def test_growing_bounds_hold_for_every_slide(seed):
    robot = random_robot(seed, joints=3)
    kinds = ["prismatic" if i == seed % 3 else j.kind for i, j in enumerate(robot.joints)]
    robot = dataclasses.replace(
        robot, joints=tuple(dataclasses.replace(j, kind=k) for j, k in zip(robot.joints, kinds, strict=True))
    )
    bounds = tp.bounds(robot, tolerance=1e-2, boxes=500)
    assert bounds.notes
    assert "No limits of the slide" in bounds.notes[0]
    q, v = sampled(robot, bounds, 300)
    m, g, c = terms(robot, q, v)
    for growth in bounds.growth:
        kind, _, norm = growth.name.partition("_")
        d = q[:, [robot.joint_names.index(j) for j in growth.joints]]
        limit = np.array([growth(*row) for row in d])
        p = NORMS[norm]
        values = {
            "M": np.linalg.norm(m, p, axis=(1, 2)),
            "g": np.linalg.norm(g, p, axis=1),
            "c": np.linalg.norm(c, p, axis=1) / np.linalg.norm(v, p, axis=1) ** 2,
        }[kind]
        assert (values <= limit * (1 + 1e-9) + 1e-9).all()


def test_a_slide_on_a_turn_grows_with_its_square():
    """A point mass m at radius d on a turning link: M = diag(m d^2, m), c_1 = 2 m d, c_2 = -m d; no gravity in the plane."""
    robot = tp.Robot.from_dh(
        [{"alpha": math.pi / 2, "theta": math.pi / 2}, {"joint": "prismatic"}],
        links=[{"m": 0}, {"m": 3}],
        gravity=(0, 0, 0),
    )
    bounds = tp.bounds(robot)
    assert bounds.names == ("g_1", "g_2", "g_inf")
    growth = bounds.growing("M_2")
    assert math.isclose(growth[0].upper, 3, rel_tol=1e-6)
    assert math.isclose(growth[2].upper, 3, rel_tol=1e-6)
    assert math.isclose(growth(0.5), 3.75, rel_tol=1e-6)
    inside = tp.bounds(robot, {robot.joint_names[1]: (0.5, 2)}, tolerance=1e-9)
    assert math.isclose(inside["mu1"].value, 0.75, rel_tol=1e-8)
    assert math.isclose(inside["mu2"].value, 12, rel_tol=1e-8)
    # c = m d (2 v1 v2, -v1^2): for |v1| = |v2| = 1 the larger entry is 2 m d.
    assert math.isclose(inside["c_inf"].value, 12, rel_tol=1e-8)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_properties_hold_on_random_trees(seed, mimic):
    report = tp.properties(random_robot(seed, mimic=mimic), samples=5, seed=seed)
    assert report.holds, report


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_one_joint(seed):
    robot = random_robot(seed, joints=1)
    bounds = tp.bounds(robot)
    assert bounds["mu1"].converged
    assert math.isclose(bounds["mu1"].value, bounds["mu2"].value, rel_tol=1e-5)
    assert bounds["c_1"].upper < 1e-12
