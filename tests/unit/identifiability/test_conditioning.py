"""What a log can tell: rank and condition against NumPy on the stacked matrix, and the sentences."""

import json

import numpy as np
import pytest
from refusals import refused

import taupi as tp
from taupi.identifiability.conditioning import _independent, joint_facts

TERMS = ("viscous", "coulomb", "offset")
# W and W[:, columns] B_log, both in doubles; the regrouping solves a system of moderate condition.
REGROUPED = 1e-9


def motion(n, seed=0, samples=600):
    """A few sines a joint: position, speed, acceleration."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 10, samples)[:, None, None]
    w = 2 * np.pi * 0.1 * np.arange(1, 6)
    a, phase = rng.uniform(-1, 1, (2, n, 5))
    q = (a * np.sin(w * t + phase)).sum(-1)
    return [q, (a * w * np.cos(w * t + phase)).sum(-1), -(a * w**2 * np.sin(w * t + phase)).sum(-1)]


@pytest.fixture(scope="module")
def base():
    return tp.base_parameters(tp.load("puma560"), terms=TERMS)


@pytest.fixture(scope="module")
def y(base):
    return base.regressor()


def stacked(y, q, qd, qdd):
    return y(q, qd, qdd).reshape(-1, len(y.parameters))


def check(report, y, q, qd, qdd):
    """The regrouping holds on the log, and what is kept has full rank and the stated condition."""
    w = stacked(y, q, qd, qdd)
    kept = w[:, list(report.columns)]
    assert np.abs(kept @ report.B_log - w).max() < REGROUPED * np.abs(w).max()
    unit = kept / np.linalg.norm(kept, axis=0)
    assert np.isclose(np.linalg.cond(unit), report.regrouped_condition, rtol=1e-6)
    assert report.regrouped_condition <= 1 / report.tolerance
    assert np.linalg.matrix_rank(unit) == report.rank
    small = stacked(report.regressor(), q, qd, qdd)
    x = np.random.default_rng(1).normal(size=w.shape[1])
    assert np.abs(small @ report.project(x) - w @ x).max() < REGROUPED * np.abs(w @ x).max()


def test_an_exciting_log_tells_everything(base, y):
    states = motion(6)
    report = tp.conditioning(base, *states)
    w = stacked(y, *states)
    assert report.full_rank and report.rank == 54 and report.unexcited == ()
    assert np.isclose(report.condition, np.linalg.cond(w), rtol=1e-6)
    assert np.isclose(report.scaled_condition, np.linalg.cond(w / np.linalg.norm(w, axis=0)), rtol=1e-6)
    assert np.allclose(report.norms, np.linalg.norm(w, axis=0))
    assert np.array_equal(report.B_log, np.eye(54))
    assert report.sentences[0] == "600 samples determine 54 of 54 parameters."
    assert report.regressor().parameters.names == base.names


def test_a_joint_that_never_reverses(base, y):
    q, qd, qdd = motion(6)
    t = np.linspace(0, 10, len(q))
    q[:, 2], qd[:, 2], qdd[:, 2] = t + 0.3 * np.sin(t), 1 + 0.3 * np.cos(t), -0.3 * np.sin(t)
    report = tp.conditioning(base, q, qd, qdd)
    assert report.rank == 53
    assert "joint3 never reverses: its coulomb and offset are one." in report.sentences
    assert {g.name: str(g) for g in report.groups if len(g.terms) > 1} == {
        "joint3.coulomb": "joint3.coulomb + joint3.offset"
    }
    assert report.condition > 1e12 and report.regrouped_condition < 1e3
    assert "joint3.coulomb_log" in report.regressor().parameters.names
    check(report, y, q, qd, qdd)
    back = tp.conditioning(base, q * [1, 1, -1, 1, 1, 1], qd * [1, 1, -1, 1, 1, 1], qdd * [1, 1, -1, 1, 1, 1])
    assert "joint3.coulomb - joint3.offset" in [str(g) for g in back.groups]
    assert "joint3 never reverses: its coulomb and offset are one." in back.sentences


def test_a_joint_that_rests_before_it_moves_one_way_is_pointed_out(base):
    q, qd, qdd = motion(6)
    qd[:, 2] = np.maximum(qd[:, 2], 0.0)
    rests = int((qd[:, 2] == 0).sum())
    report = tp.conditioning(base, q, qd, qdd)
    assert report.full_rank
    fact = f"joint3 never reverses, but stands still in {rests} samples: only these show its friction."
    assert fact in report.sentences


def test_a_joint_that_stands_still_and_one_at_one_speed(base, y):
    q, qd, qdd = motion(6)
    q[:, 4], qd[:, 4], qdd[:, 4] = 0.4, 0.0, 0.0
    t = np.linspace(0, 10, len(q))
    q[:, 5], qd[:, 5], qdd[:, 5] = 0.7 * t, 0.7, 0.0
    report = tp.conditioning(base, q, qd, qdd)
    assert report.unexcited == ("joint5.viscous", "joint5.coulomb")
    assert "joint5 does not move." in report.sentences
    assert "joint6 moves at one speed: its viscous and coulomb are one." in report.sentences
    assert "joint6 moves at one speed: its viscous and offset are one." in report.sentences
    check(report, y, q, qd, qdd)


def test_a_single_posture_and_standard_parameters():
    robot = tp.load("panda")
    y = tp.regressor(robot)
    states = motion(7)
    report = tp.conditioning(y, *states)
    assert report.rank == tp.base_parameters(robot).count == 43
    assert report.scaled_condition == np.inf
    check(report, y, *states)
    still = tp.conditioning(y, states[0][:1], np.zeros(7), np.zeros(7))
    assert still.rank == np.linalg.matrix_rank(y(states[0][0], np.zeros(7), np.zeros(7)))
    nothing = tp.conditioning(tp.base_parameters(robot.with_gravity((0, 0, 0))), states[0], np.zeros(7), np.zeros(7))
    assert nothing.rank == 0 and nothing.regrouped_condition == 1.0
    assert len(nothing.unexcited) == len(nothing.names)
    assert nothing.project(np.ones(len(nothing.names))).shape == (0,)


@pytest.mark.parametrize("noise", [1e-12, 1e-10, 1e-6])
def test_never_a_condition_beyond_the_tolerance(base, y, noise):
    """A joint that follows another but for a little: whatever is decided, what is kept can be solved with."""
    q, qd, qdd = motion(6)
    rng = np.random.default_rng(4)
    for a in (q, qd, qdd):
        a[:, 3:] = a[:, :3] + noise * rng.normal(size=(len(q), 3))
    report = tp.conditioning(base, q, qd, qdd)
    check(report, y, q, qd, qdd)
    strict = tp.conditioning(base, q, qd, qdd, tolerance=1e-3)
    assert strict.regrouped_condition <= 1e3
    assert strict.rank <= report.rank


def test_columns_that_are_independent_one_by_one_but_not_together():
    """Kahan's matrix: every column leaves the span of those before by far more than the smallest singular value."""
    n, s, c = 60, 0.8, 0.6
    kahan = np.diag(s ** np.arange(n)) @ (np.eye(n) - c * np.triu(np.ones((n, n)), 1))
    unit = kahan / np.linalg.norm(kahan, axis=0)
    tolerance = 1e-8
    assert np.linalg.cond(unit) > 1e10
    kept = _independent(unit, tolerance)
    assert np.linalg.cond(unit[:, kept]) <= 1 / tolerance
    assert kept == sorted(kept) and len(kept) > n // 2


def test_the_choice_is_the_same_for_the_same_defect(base):
    chosen = set()
    for seed in range(3):
        q, qd, qdd = motion(6, seed)
        qd[:, 0] = 0.2 + np.abs(qd[:, 0])
        chosen.add(tp.conditioning(base, q, qd, qdd).columns)
    assert len(chosen) == 1


def test_batches_blocks_and_json(base):
    states = motion(6)
    flat = tp.conditioning(base, *states)
    folded = tp.conditioning(base, *(a.reshape(20, 30, 6) for a in states))
    assert folded.samples == 600 and np.allclose(folded.singular_values, flat.singular_values)
    data = json.loads(json.dumps(flat.to_dict()))
    assert data["rank"] == 54 and data["sentences"] == list(flat.sentences)
    assert repr(flat) == "\n".join(flat.sentences)
    assert "<li>600 samples" in flat._repr_html_()


def test_bad_arguments(base):
    q, qd, qdd = motion(6)
    with refused("qd", got=(600, 5)):
        tp.conditioning(base, q, qd[:, :5], qdd)
    with refused("qd", first=7):
        tp.conditioning(base, q, np.where(np.arange(600)[:, None] == 7, np.nan, qd), qdd)
    with pytest.raises(tp.TaupiError, match="no samples"):
        tp.conditioning(base, q[:0], qd[:0], qdd[:0])
    with refused("tolerance", got=2):
        tp.conditioning(base, q, qd, qdd, tolerance=2)
    with refused("Y", got="Robot"):
        tp.conditioning(tp.load("puma560"), q, qd, qdd)
    with pytest.raises(tp.TaupiError, match="expected base parameters or a regressor"):
        tp.conditioning(tp.mass_matrix(tp.load("puma560")), q, qd, qdd)
    with refused("x"):
        tp.conditioning(base, q, qd, qdd).project(np.zeros(3))


def test_elastic_joints_are_judged_with_their_motors():
    """On a log on which motor 2 never turns back its friction and offset are one, whatever the link does."""
    arm = tp.load("zollo2r")
    base = tp.base_parameters(arm, terms=("coulomb", "viscous", "offset"), elastic=True)
    rng = np.random.default_rng(0)
    q, qd, qdd, theta, thetad, thetadd = rng.uniform(-1, 1, (6, 200, 2))
    full = tp.conditioning(base, q, qd, qdd, theta, thetad, thetadd)
    assert full.rank == base.count == 16 and not full.facts
    thetad[:, 1] = np.abs(thetad[:, 1])
    report = tp.conditioning(base, q, qd, qdd, theta, thetad, thetadd)
    assert report.rank == 15 and "joint2 never reverses: its coulomb and offset are one." in report.sentences


def test_a_still_joint_beside_joints_at_constant_speed():
    """No joint accelerates, so the largest acceleration is zero; the joint that stands still is told from the one that turns."""
    qd = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    assert joint_facts(["elbow", "wrist"], qd, 0 * qd) == ("elbow does not move", "wrist moves at one speed")
