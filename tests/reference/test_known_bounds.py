"""Bounds against the lecture's closed forms, a dense grid, and Pinocchio."""

import json
import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from support import SPEC

import taupi as tp

CASES = {
    c["id"]: c
    for c in json.loads((Path(__file__).parents[1] / "data" / "spec-dynamics-and-regressors.json").read_text())["cases"]
    if c["kind"] == "lecture_2R"
}
QUARTER = (-math.pi / 2, math.pi / 2)


def lecture(case):
    inputs = CASES[case]["inputs"]
    return tp.load("lecture2r").bind(**{k: inputs[k] for k in ("L1", "L2", "m1", "m2", "g")})


def close(got, want):
    return abs(got - want) <= SPEC * abs(want)


@pytest.mark.parametrize("case", CASES)
def test_the_lectures_bounds(case):
    """Closed forms for |theta| <= pi/2, all tight (the lecture's example): both ends of each enclosure are there."""
    arm, want = lecture(case), CASES[case]["expected"]["bounds"]
    b = tp.bounds(arm, QUARTER, tolerance=2e-12)
    names = {"M_1_min": "M_1norm_lower", "M_1_max": "M_1norm_upper", "c_1": "c_b_1norm", "g_1": "g_b_1norm"}
    names["c_2_n2"] = "c_b_2norm_n2"
    for ours, theirs in names.items():
        assert close(b[ours].lower, want[theirs]), ours
        assert close(b[ours].upper, want[theirs]), ours
        assert b[ours].converged
    k = want["c_b_1norm"]
    assert abs(b["c_2"].value / k - 1.64449) < 5e-6  # the digits of the errata
    assert close(b["c_2"].lower, b["c_2"].upper)
    assert close(b["c_2_n32"].value, 2**1.5 * k)


@pytest.mark.parametrize("case", CASES)
def test_the_lectures_norms_at_its_state(case):
    arm, inputs, want = lecture(case), CASES[case]["inputs"], CASES[case]["expected"]
    q, qd = np.array(inputs["theta"]), np.array(inputs["dtheta"])
    g = tp.gravity_torque(arm)(q)
    assert close(np.linalg.norm(tp.mass_matrix(arm)(q), 1), want["M_1norm"])
    assert close(np.abs(tp.bias_torque(arm)(q, qd) - g).sum(), want["c_1norm"])
    assert close(np.abs(g).sum(), want["g_1norm"])


def test_without_limits_the_lectures_lower_bound_does_not_hold():
    """Its column 1 is the larger one only for |theta_2| <= pi/2; over a full turn ||M||_1 goes below (errata)."""
    arm = lecture("lecture2R_1")
    free = tp.bounds(arm)["M_1_min"]
    assert free.value < 0.9 * CASES["lecture2R_1"]["expected"]["bounds"]["M_1norm_lower"]


def test_a_dense_grid_agrees():
    """Grid of 2001 angles and 2001 directions: its best is below the enclosure's upper end and within the grid's error of it."""
    arm = lecture("lecture2R_2")
    span = (-0.4, 1.1)
    b = tp.bounds(arm, span, tolerance=1e-9)
    angle = np.linspace(*span, 2001)
    q = np.stack([np.zeros_like(angle), angle], -1)
    m = tp.mass_matrix(arm)(q)
    values = np.linalg.eigvalsh(m)
    for name, grid in (("mu2", values[:, -1].max()), ("M_2_max", np.linalg.norm(m, 2, axis=(1, 2)).max())):
        assert b[name].lower >= grid - 1e-12
        assert 0 <= b[name].upper - grid < 1e-4 * grid
    for name, grid in (("mu1", values[:, 0].min()), ("M_1_min", np.abs(m).sum(1).max(1).min())):
        assert b[name].upper <= grid + 1e-12
        assert 0 <= grid - b[name].lower < 1e-4 * grid
    t = np.linspace(0, np.pi, 2001)
    v = np.stack([np.cos(t), np.sin(t)], -1)
    symbols = tp.christoffel_symbols(arm)(q[[0, 700, 1400, 2000]])
    c = np.einsum("akij,ti,tj->atk", symbols, v, v)
    best = np.linalg.norm(c, axis=-1).max()
    assert best - 1e-12 <= b["c_2"].upper
    assert b["c_2"].upper - best < 1e-3 * best
    first = np.linspace(*span, 401)
    both = np.stack(np.meshgrid(first, first), -1).reshape(-1, 2)
    grid = np.abs(tp.gravity_torque(arm)(both)).sum(1).max()
    assert 0 <= b["g_1"].upper - grid < 1e-4 * grid


@pytest.fixture(scope="module")
def puma():
    robot = tp.load("puma560")
    return robot, tp.bounds(robot, boxes=4000)


def inertia_of(values):
    """Pinocchio divides by the mass, which the catalogue's first link does not have."""
    if values[0]:
        return pin.Inertia.FromDynamicParameters(values)
    xx, xy, yy, xz, yz, zz = values[4:]
    return pin.Inertia(0.0, np.zeros(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def pinocchio_model(robot):
    """The same arm as Pinocchio sees it, link by link from our placements and parameters."""
    values = dict(robot.symbols)

    def numbers(x):
        return np.vectorize(lambda v: float(v.subs(values)) if hasattr(v, "subs") else float(v))(
            np.array(x, dtype=object)
        )

    def placed(p):
        return pin.SE3(numbers(p.rotation), numbers(p.translation))

    model = pin.Model()
    model.gravity.linear = numbers(robot.gravity)
    parameters = np.array(robot.parameters.to("pinocchio")).reshape(-1, 10)
    joint, before = 0, pin.SE3.Identity()
    for j, values_of_link in zip(robot.joints, parameters, strict=True):
        kind = pin.JointModelRevoluteUnaligned(numbers(j.axis))
        joint = model.addJoint(joint, kind, before * placed(j.before), j.name)
        before = placed(j.after)
        model.appendBodyToJoint(joint, inertia_of(values_of_link), before)
    return model


def test_pinocchios_puma_stays_within(puma):
    robot, b = puma
    model = pinocchio_model(robot)
    data = model.createData()
    rng = np.random.default_rng(0)
    masses, gravity, velocity, speeds = [], [], [], []
    for q in rng.uniform(-np.pi, np.pi, (400, 6)):
        upper = np.triu(pin.crba(model, data, q))
        masses.append(upper + np.triu(upper, 1).T)
        gravity.append(pin.computeGeneralizedGravity(model, data, q).copy())
        v = rng.normal(size=6)
        velocity.append(pin.nonLinearEffects(model, data, q, v) - gravity[-1])
        speeds.append(v)
    m, g, c, v = map(np.array, (masses, gravity, velocity, speeds))
    values = np.linalg.eigvalsh(m)
    assert values.min() >= b["mu1"].lower
    assert values.max() <= b["mu2"].upper
    norms = np.abs(m).sum(1).max(1)
    assert b["M_1_min"].lower <= norms.min() < norms.max() <= b["M_1_max"].upper
    for name, p in (("1", 1), ("2", 2), ("inf", np.inf)):
        assert np.linalg.norm(g, p, axis=1).max() <= b[f"g_{name}"].upper
        assert (np.linalg.norm(c, p, axis=1) / np.linalg.norm(v, p, axis=1) ** 2).max() <= b[f"c_{name}"].upper
    # Tight: the best of the samples is not far below.
    assert values.max() > 0.95 * b["mu2"].upper
    assert np.linalg.norm(g, 2, axis=1).max() > 0.9 * b["g_2"].upper


def test_the_pumas_gaps_are_stated(puma):
    _, b = puma
    for name in ("mu2", "M_1_max", "M_1_min", "g_1", "g_2", "g_inf", "Gamma"):
        assert b[name].gap < 0.02 * b[name].value, name
    assert not b["c_2"].converged
    assert "95 % confidence" in b["c_2"].method
