"""The dynamics of a task: what must hold for every arm, square and redundant."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import ROUNDING, error, random_robot, random_states

import taupi as tp
from taupi.dynamics.chain import trace_robot
from taupi.dynamics.kinematics import task_jacobian
from taupi.dynamics.operational import square_inverse
from taupi.errors import TaupiError
from taupi.program import Port, trace

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
    assert error(mass, tp.operational.mass(arm, task=task)(q)) < SOLVED


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


@pytest.mark.parametrize(("name", "task"), SQUARE + REDUNDANT)
def test_regressor_and_force_for_any_velocity(name, task):
    arm = tp.load(name)
    q, qd = states(arm, 1)
    v, vd = np.random.default_rng(8).normal(size=(2, tp.jacobian(arm, task=task)(q).shape[0]))
    mass, coriolis, gravity = tp.operational_dynamics(arm, task=task)(q, qd)
    want = mass @ vd + coriolis @ v + gravity
    y = tp.operational_regressor(arm, task=task)(q, qd, v, vd)
    assert error(y @ arm.parameters.values, want) < SOLVED
    assert error(tp.operational.force(arm, task=task)(q, qd, v, vd), want) < SOLVED


@given(st.integers(0, 10**6), st.integers(4, 5))
@settings(max_examples=8, deadline=None)
def test_random_redundant_arms(seed, joints):
    """Turning and sliding joints about any axes. The inverse is taken in NumPy here, from M, J and C of the joints."""
    arm = random_robot(seed, joints=joints, tree=False)

    def value(build, *state, **options):
        return build(arm, **options).compile("numpy")(*state)  # a new robot each time: not worth machine code

    q, qd, qdd = random_states(arm, 1, 3, seed)[:, 0]
    j, rate = value(tp.jacobian, q, task="position"), value(tp.jacobian_derivative, q, qd, task="position")
    assume(np.linalg.matrix_rank(j) == 3 and np.linalg.cond(j) < 50)
    v, vd = np.random.default_rng(seed).normal(size=(2, 3))
    m, c, g = value(tp.mass_matrix, q), value(tp.coriolis_matrix, q, qd), value(tp.gravity_torque, q)
    back = np.linalg.solve(m, j.T) @ np.linalg.inv(j @ np.linalg.solve(m, j.T))
    mass, coriolis, gravity = back.T @ m @ back, back.T @ (c @ back - m @ back @ rate @ back), back.T @ g
    for got, want in zip(value(tp.operational_dynamics, q, qd), (mass, coriolis, gravity), strict=True):
        assert error(got, want) < SOLVED
    y = value(tp.operational_regressor, q, qd, v, vd)
    assert error(y @ arm.parameters.values, mass @ vd + coriolis @ v + gravity) < SOLVED
    # Without motion inside the task the joints' own torque gives the force: qd = B rd, any qdd.
    qd = back @ v
    vd = j @ qdd + value(tp.jacobian_derivative, q, qd, task="position") @ qd
    tau = value(tp.inverse_dynamics, q, qd, qdd)
    assert error(value(tp.operational.force, q, qd, v, vd), back.T @ tau) < SOLVED


def test_redundant_regressor_holds_the_inverse():
    """Columns are B^T Y_r with B of the robot's own parameters: other pi give B^T tau of a robot that has them."""
    arm = tp.load("panda")
    q, qd = states(arm, 1)
    v, vd = np.random.default_rng(8).normal(size=(2, 3))
    j, m = tp.jacobian(arm, task="position")(q), tp.mass_matrix(arm)(q)
    back = np.linalg.solve(m, j.T) @ np.linalg.inv(j @ np.linalg.solve(m, j.T))
    qrd = back @ v
    qrdd = back @ (vd - tp.jacobian_derivative(arm, task="position")(q, qd) @ qrd)
    other = arm.with_parameters(1.3 * arm.parameters.values + 0.01)
    tau = tp.mass_matrix(other)(q) @ qrdd + tp.coriolis_matrix(other)(q, qd) @ qrd + tp.gravity_torque(other)(q)
    y = tp.operational_regressor(arm)(q, qd, v, vd)
    assert error(y @ other.parameters.values, back.T @ tau) < SOLVED


@pytest.mark.parametrize("name", ["zollo2r", "planar3r"])
def test_force_with_terms_is_regressor_times_parameters(name):
    arm = tp.load(name).with_friction(viscous=0.4, coulomb=0.2).with_transmissions(rotor_inertia=0.01, gear_ratio=5)
    terms = ("viscous", "coulomb", "rotor")
    q, qd = states(arm, 1)
    v, vd = np.random.default_rng(8).normal(size=(2, 2))
    y = tp.operational_regressor(arm, task="xy", terms=terms)
    force = tp.operational.force(arm, task="xy", terms=terms)(q, qd, v, vd)
    assert error(force, y(q, qd, v, vd) @ y.parameters.values) < SOLVED
    assert error(force, tp.operational.force(arm, task="xy")(q, qd, v, vd)) > 1e-2


def test_force_keeps_symbols():
    arm = tp.Robot.from_dh([{"a": "l1"}, {"a": "l2"}], links=[{"m": "m1"}, {"m": "m2"}], gravity=(0, "-g", 0))
    force = tp.operational.force(arm, task="xy")
    assert set(force.symbols) >= {"l1", "l2", "m1", "m2", "g"}
    values = {"l1": 0.5, "l2": 0.7, "m1": 1.5, "m2": 2.5, "g": 9.81}
    state = [0.3, 0.9], [0.1, 0.2], [0.4, 0.5], [0.7, 0.8]
    assert error(force.bind(**values)(*state), tp.operational.force(arm.bind(**values), task="xy")(*state)) < ROUNDING


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
    with pytest.raises(TaupiError, match="cannot have full row rank"):
        tp.operational_regressor(tp.load("lecture2r"), task="position")
    with pytest.raises(TaupiError, match="cannot have full row rank"):
        tp.operational_dynamics(tp.load("lecture2r"), task="position")
    with pytest.raises(TaupiError, match=r"rank 2 everywhere"):
        tp.operational_dynamics(tp.load("planar3r"), task="position")
    with pytest.raises(TaupiError, match=r"No task 'positon'.*Did you mean 'position'"):
        tp.operational_dynamics(arm, task="positon")


# What the inverse loses is the condition of J as it is scaled best: here 1e2, times a few roundings.
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_inverse_of_square_matrices(n, scale):
    """Also with rows and columns of very different size, as metres and radians of large and small arms."""
    rng = np.random.default_rng(n)
    inverse = trace("inverse", square_inverse, [Port("j", (n, n))], [Port("x", (n, n))]).compile("numpy")
    q1, q2 = np.linalg.qr(rng.normal(size=(n, n)))[0], np.linalg.qr(rng.normal(size=(n, n)))[0]
    well = q1 @ np.diag(np.geomspace(1, 1e-2, n)) @ q2
    rows, columns = scale ** rng.uniform(-1, 1, n), scale ** rng.uniform(-1, 1, n)
    if n > 3:
        rows[:] = 1.0  # orthogonal columns mind the scale of the rows, and only that
    j = rows[:, None] * well * columns
    got = inverse(j) * rows * columns[:, None]
    assert error(got, np.linalg.inv(well)) < 1e-12


def test_planar_inverse_is_divided_by_its_determinant_only():
    import sympy

    arm = tp.load("planar3r")
    program = trace_robot(
        "inverse", arm, lambda c, q: square_inverse(task_jacobian(c, q, "planar", "tip")), ["q"], [Port("B", (3, 3))]
    )
    q2, l1, l2 = sympy.symbols("q2 l1 l2")
    one = {1 / l1, 1 / l2, 1 / sympy.sin(q2)}
    for entry in program.sympy():
        assert {power for power in entry.atoms(sympy.Pow) if power.exp.is_negative} <= one
