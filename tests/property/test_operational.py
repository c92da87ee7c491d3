"""The dynamics of a task: what must hold for every arm, square and redundant."""

import numpy as np
import pytest
from support import ROUNDING, error

import taupi as tp
from taupi.errors import TaupiError

# Solving with J and M loses their condition numbers, some 1e4 together on these arms.
SOLVED = 1e-8
SQUARE = [("puma560", "twist"), ("puma560", "pose"), ("planar3r", "planar"), ("lecture2r", "xy")]
REDUNDANT = [("panda", "position"), ("planar3r", "xy"), ("puma560", "position")]


def states(arm, count, seed=3):
    """Away from singular configurations: every joint between 0.4 and 1.2 rad."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.4, 1.2, arm.n), *rng.uniform(-1, 1, (count, arm.n))


@pytest.mark.parametrize(("name", "task"), SQUARE + REDUNDANT)
def test_rate_of_the_mass_less_twice_coriolis_is_skew(name, task):
    """With dM/dt by differences along the motion: no code of the Coriolis matrix is used for it."""
    arm = tp.load(name)
    q, qd = states(arm, 1)
    model, h = tp.operational_dynamics(arm, task=task).compile("numpy"), 1e-6
    rate = (model(q + h * qd, qd)[0] - model(q - h * qd, qd)[0]) / (2 * h)
    skew = rate - 2 * model(q, qd)[1]
    assert np.abs(skew + skew.T).max() < 1e-6 * max(1.0, np.abs(rate).max())


@pytest.mark.parametrize(("name", "task"), SQUARE + REDUNDANT)
def test_mass_is_that_of_the_other_form(name, task):
    arm = tp.load(name)
    q, qd = states(arm, 1)
    mass = tp.operational_dynamics(arm, task=task)(q, qd)[0]
    assert error(mass, tp.operational_mass(arm, task=task)(q)) < SOLVED


@pytest.mark.parametrize(("name", "task"), SQUARE)
def test_a_motion_of_the_task_takes_the_torque_of_the_joints(name, task):
    """J^T u = tau, with rd = J qd and rdd = J qdd + dJ/dt qd."""
    arm = tp.load(name)
    q, qd, qdd = states(arm, 2)
    j, rate = tp.jacobian(arm, task=task)(q), tp.jacobian_derivative(arm, task=task)(q, qd)
    mass, coriolis, gravity = tp.operational_dynamics(arm, task=task)(q, qd)
    v, vd = j @ qd, j @ qdd + rate @ qd
    tau = tp.inverse_dynamics(arm)(q, qd, qdd)
    assert error(j.T @ (mass @ vd + coriolis @ v + gravity), tau) < SOLVED
    y = tp.operational_regressor(arm, task=task)
    assert error(j.T @ y(q, qd, v, vd) @ y.parameters.values, tau) < SOLVED


@pytest.mark.parametrize(("name", "task"), SQUARE)
def test_regressor_for_any_velocity(name, task):
    arm = tp.load(name)
    q, qd = states(arm, 1)
    v, vd = np.random.default_rng(8).normal(size=(2, tp.jacobian(arm, task=task)(q).shape[0]))
    mass, coriolis, gravity = tp.operational_dynamics(arm, task=task)(q, qd)
    y = tp.operational_regressor(arm, task=task)(q, qd, v, vd)
    assert error(y @ arm.parameters.values, mass @ vd + coriolis @ v + gravity) < SOLVED


def test_redundant_arm_at_rest_pushes_with_the_mass_it_shows():
    """From rest, without gravity, f at the tip (tau = J^T f) accelerates it by M_C^-1 f: forward dynamics is the oracle."""
    arm = tp.load("panda").with_gravity((0, 0, 0))
    q, _ = states(arm, 1)
    f, rest = np.array([1.0, -2.0, 0.5]), np.zeros(7)
    j = tp.jacobian(arm, task="position")(q)
    acceleration = j @ tp.forward_dynamics(arm)(q, rest, j.T @ f)
    assert error(tp.operational_dynamics(arm)(q, rest)[0] @ acceleration, f) < SOLVED


def test_terms_and_user_tasks():
    arm = tp.load("zollo2r")
    q, qd = states(arm, 1)

    def tip(x):
        import casadi as cs

        return cs.vertcat(cs.cos(x[0]) / 2 + cs.cos(x[0] + x[1]) / 2, cs.sin(x[0]) / 2 + cs.sin(x[0] + x[1]) / 2)

    for got, want in zip(
        tp.operational_dynamics(arm, task=tip)(q, qd), tp.operational_dynamics(arm, task="xy")(q, qd), strict=True
    ):
        assert error(got, want) < ROUNDING * 1e3
    v = np.array([0.3, -0.2])
    j = tp.jacobian(arm, task="xy")(q)
    plain, with_friction = (tp.operational_regressor(arm, task="xy", terms=t) for t in ((), ("viscous",)))
    friction = (
        with_friction(q, qd, v, 0 * v) @ with_friction.parameters.values
        - plain(q, qd, v, 0 * v) @ plain.parameters.values
    )
    viscous = np.array([float(x.friction.viscous) for x in arm.joints])
    assert error(j.T @ friction, viscous * np.linalg.solve(j, v)) < SOLVED


def test_refusals():
    arm = tp.load("panda")
    with pytest.raises(TaupiError, match="not linear in the parameters"):
        tp.operational_regressor(arm, task="position")
    with pytest.raises(TaupiError, match="cannot have full row rank"):
        tp.operational_dynamics(tp.load("lecture2r"), task="position")
    with pytest.raises(TaupiError, match=r"rank 2 of 3 everywhere"):
        tp.operational_dynamics(tp.load("planar3r"), task="position")
    with pytest.raises(TaupiError, match=r"No task 'positon'.*Did you mean 'position'"):
        tp.operational_dynamics(arm, task="positon")


def test_singular_configuration_is_not_finite():
    arm = tp.load("lecture2r")
    assert not np.isfinite(tp.operational_dynamics(arm, task="xy")([0.3, 0.0], [0.1, 0.2])[0]).all()
