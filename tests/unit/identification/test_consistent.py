"""The default estimator: weighted least squares among robots that can exist."""

import dataclasses
import warnings

import numpy as np
import pytest
from problems import assert_real, problem_of, real_truth, states

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning
from taupi.identification.estimators.consistent import consistent_values
from taupi.identification.results.status import Outcome
from taupi.identification.results.uncertainty import loss_significance
from taupi.identification.rows.factors import JointFactor


@pytest.fixture(scope="module")
def robot():
    return tp.load("ur10")


def test_it_is_the_default(robot):
    import inspect

    assert (
        inspect.signature(tp.identify).parameters["estimator"].default == tp.estimators.Consistent.name == "consistent"
    )


def test_where_bodies_have_the_free_solution_it_is_that(robot):
    problem = problem_of(robot, real_truth(robot, np.random.default_rng(0)), noise=0.001, samples=2000)
    free, fit = tp.estimators.WeightedLeastSquares().fit(problem), tp.estimators.Consistent().fit(problem)
    assert np.allclose(fit.values, free.values, rtol=1e-6, atol=1e-9)
    assert_real(fit.parameters.values, 6)


@pytest.mark.parametrize(("noise", "samples"), [(0.001, 2000), (0.3, 60)])
def test_a_first_fit_has_the_values_of_the_whole_one_to_the_bit(robot, noise, samples):
    problem = problem_of(robot, real_truth(robot, np.random.default_rng(0)), noise=noise, samples=samples)
    np.testing.assert_array_equal(consistent_values(problem), tp.estimators.Consistent().fit(problem).values)


def test_elsewhere_it_predicts_better_with_real_bodies(robot):
    """On samples that were not fitted, the mean over ten noisy problems."""
    errors = {"wls": [], "consistent": []}
    for seed in range(10):
        truth = real_truth(robot, np.random.default_rng(seed))
        problem = problem_of(robot, truth, noise=0.3, samples=60, seed=seed)
        q, qd, qdd = np.random.default_rng(1000 + seed).normal(size=(3, 200, 6))
        wanted = problem.regressor(q, qd, qdd) @ problem.base.project(truth)
        for e in (tp.estimators.WeightedLeastSquares(), tp.estimators.Consistent()):
            fit = e.fit(problem)
            errors[e.name].append(np.linalg.norm(problem.regressor(q, qd, qdd) @ fit.values - wanted))
        assert_real(fit.parameters.values, 6)
    assert np.mean(errors["consistent"]) < 0.9 * np.mean(errors["wls"])


def test_friction_that_is_clearly_negative_stays_so(robot):
    truth = real_truth(robot, np.random.default_rng(1))
    layout = tp.base_parameters(robot, terms=("rotor", "viscous", "coulomb", "offset")).standard.names
    truth[layout.index("elbow_joint.viscous")] = -5.0
    problem = problem_of(robot, truth, noise=0.1, samples=300)
    with pytest.warns(TaupiWarning, match=r"Friction is clearly negative and stays so: elbow_joint\.viscous\."):
        fit = tp.estimators.Consistent().fit(problem)
    assert fit.estimator == "consistent"
    values = dict(zip(fit.names, fit.values, strict=True))
    assert values["elbow_joint.viscous"] == pytest.approx(-5.0, rel=0.1)
    others = [v for n, v in values.items() if n.endswith((".viscous", ".coulomb")) and not n.startswith("elbow")]
    assert min(others) > -1e-9
    assert any("Friction is clearly negative and stays so: elbow_joint.viscous." in note for note in fit.notes)
    # What is taken away has friction that dissipates.
    assert fit.parameters["elbow_joint.viscous"] >= -1e-9
    strict = tp.estimators.Feasible().fit(problem)
    assert dict(zip(strict.names, strict.values, strict=True))["elbow_joint.viscous"] > -1e-9


@pytest.mark.parametrize(("joints", "everywhere"), [([0], False), ([0, 3], False), ([0, 3, 4], True)])
def test_friction_is_open_everywhere_only_if_most_joints_show_it(robot, joints, everywhere):
    """A little that is negative at the last joint stays at zero, unless half of the joints show the same."""
    terms = ("rotor", "viscous", "coulomb", "offset")
    layout = tp.base_parameters(robot, terms=terms).standard.names
    truth = real_truth(robot, np.random.default_rng(1))
    truth[[layout.index(f"{name}.viscous") for name in np.array(robot.joint_names)[joints]]] = -5.0
    last = f"{robot.joint_names[-1]}.viscous"
    truth[layout.index(last)] = -0.25
    problem = problem_of(robot, truth, noise=0.3, samples=300)
    free = tp.estimators.WeightedLeastSquares().fit(problem)
    k = free.names.index(last)
    assert -2.5 * free.stderr[k] < free.values[k] < 0
    with pytest.warns(TaupiWarning, match="Friction is clearly negative"):
        fit = tp.estimators.Consistent().fit(problem)
    assert (fit.values[k] < -1e-3) == everywhere


def test_a_wrong_sign_is_told(robot):
    """No robot turns gravity round: the free solution, under its own name, and a verdict that has the numbers."""
    problem = problem_of(robot, real_truth(robot, np.random.default_rng(2)), noise=0.01, samples=300, sign=-1.0)
    fit = tp.estimators.Consistent().fit(problem)
    assert fit.estimator == "wls" and "by wls:" in fit.summary and fit.settings["instead_of"] == "consistent"
    (reason,) = (r for r in fit.verdict.details if r.cause == "fallback")
    assert reason.level == "doubtful" and fit.verdict.level != "good"
    assert "No robot that can exist explains the logs: the relative error would rise from" in reason.sentence
    assert np.allclose(fit.values, tp.estimators.WeightedLeastSquares().fit(problem).values)
    assert "Check signs, units, gears" in fit.notes[-1]
    assert fit.status.outcome is Outcome.REPLACED and fit.status.ok
    again = tp.Fit.from_dict(fit.to_dict(), robot)
    assert again.estimator == "wls" and again.status == fit.status


def test_a_small_contradiction_is_no_reason_to_leave_real_bodies(robot):
    """A rotor of negative inertia: it raises the error several times over, significantly, but by 3 % of the torque only."""
    layout = tp.base_parameters(robot, terms=("rotor", "viscous", "coulomb", "offset")).standard.names
    truth = real_truth(robot, np.random.default_rng(3))
    truth[layout.index("shoulder_pan_joint.rotor")] = -5.0
    problem = problem_of(robot, truth, noise=0.01, samples=400)
    fit, free = tp.estimators.Consistent().fit(problem), tp.estimators.WeightedLeastSquares().fit(problem)
    assert fit.estimator == "consistent" and fit.relative > 2 * free.relative
    assert_real(fit.parameters.values, 6)
    replaced = tp.estimators.Consistent(size=0.01).fit(problem)
    assert replaced.estimator == "wls" and "No robot that can exist explains the logs" in replaced.status.message


def test_what_is_significant_is_counted_in_stretches_of_time():
    """Differences d_k of 1 and 4 in turn: z = sum d_k / sqrt(sum (d_k - 2.5)^2); with no spread, z has no bound."""

    def pieces(squares):
        return [JointFactor(0, 0, np.array([[0.0, np.sqrt(s)], [1.0, 0.0]]), 2, 0.0, k) for k, s in enumerate(squares)]

    zero = np.zeros(1)
    assert loss_significance(pieces([1.0]), {}, zero, zero) == 0
    x = np.ones(1)  # |(1, 0) - ...|^2: one more in each stretch, whatever its torque
    assert loss_significance(pieces([4.0] * 9), {}, x, zero) > 1e6
    other = [dataclasses.replace(f, stored=f.r * (1 + k % 2)) for k, f in enumerate(pieces([0.0] * 16))]
    assert loss_significance(other, {}, x, zero) == pytest.approx(16 * 2.5 / np.sqrt(16 * 1.5**2))


@pytest.mark.parametrize("value", [0, -1.0, True, "x", float("nan")])
@pytest.mark.parametrize("name", ["significance", "size"])
def test_bad_settings(name, value):
    with pytest.raises(TaupiError, match=f"{name} is"):
        tp.estimators.Consistent(**{name: value})


def test_negative_friction_that_nobody_sees_is_no_reason_to_allow_it(robot):
    """Significant, since noise is small, yet a thousandth of the joint's torque: it stays at zero, without a word."""
    layout = tp.base_parameters(robot, terms=("rotor", "viscous", "coulomb", "offset")).standard.names
    truth = real_truth(robot, np.random.default_rng(1))
    row = layout.index("elbow_joint.viscous")
    for size, clearly in ((1e-3, False), (4e-3, True)):
        truth[row] = 0.0
        problem = problem_of(robot, truth, noise=1e-5, samples=400)
        q, qd, qdd = states(robot, 400, 0)
        torque = problem.base.regressor()(q, qd, qdd)[:, 2] @ problem.base.project(truth)
        truth[row] = -size * np.linalg.norm(torque) / np.linalg.norm(qd[:, 2])
        problem = problem_of(robot, truth, noise=1e-5, samples=400)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fit = tp.estimators.Consistent().fit(problem)
        value = dict(zip(fit.names, fit.values, strict=True))["elbow_joint.viscous"]
        assert (value < 0.5 * truth[row], bool(told)) == (clearly, clearly)
