"""Identities of the dynamics on random trees; those that would share code with what they test use energy or differences."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from support import ROUNDING, error, random_robot, random_states, robots, trees_with_mimic

import taupi as tp
from taupi.model.body import NO_BODY
from taupi.model.scalars import unit_vector

FEW = settings(max_examples=15, deadline=None)
ANY = trees_with_mimic | robots


def numeric(program):
    """The reference interpreter: no compilation, so that many robots stay cheap."""
    return program.compile("numpy")


@FEW
@given(ANY)
def test_regressor_times_parameters_is_the_torque(robot):
    terms = ("viscous", "coulomb", "offset", "rotor", "stribeck", tp.terms.Curve(velocity=2.0), "load")
    robot = robot.with_friction(load=0.1, curve=0.3)
    states = random_states(robot, 3, 3)
    y, load = tp.regressor(robot, terms=terms), numeric(tp.inverse_dynamics(robot, terms=("rotor",)))(*states)
    tau = numeric(y)(*states, load) @ y.parameters.values
    assert error(tau, numeric(tp.inverse_dynamics(robot, terms=terms))(*states)) < ROUNDING


@FEW
@given(ANY)
def test_algorithms_agree(robot):
    q, qd, qdd, qrd = random_states(robot, 2, 4)
    tau = [
        numeric(tp.inverse_dynamics(robot, algorithm=a))(q, qd, qdd) for a in ("recursive", "closed_form", "lagrange")
    ]
    assert error(tau[0], tau[1]) < ROUNDING
    assert error(tau[0], tau[2]) < ROUNDING
    m = [numeric(tp.mass_matrix(robot, algorithm=a))(q) for a in ("composite", "links", "closed_form")]
    assert error(m[0], m[1]) < ROUNDING
    assert error(m[0], m[2]) < ROUNDING
    y = [numeric(tp.slotine_li_regressor(robot, algorithm=a))(q, qd, qrd, qdd) for a in ("recursive", "lagrangian")]
    assert error(y[0], y[1]) < ROUNDING


@FEW
@given(ANY)
def test_power_balance(robot):
    """dE/dt = qd^T tau along a motion, with dE/dt by central differences: no code of the torque is used for the energy."""
    q, qd, qdd = random_states(robot, 1, 3)
    h = 1e-5

    def energy(t):
        x, v = q + t * qd + t * t / 2 * qdd, qd + t * qdd
        return numeric(tp.kinetic_energy(robot))(x, v) + numeric(tp.potential_energy(robot))(x)

    power = (energy(h) - energy(-h)) / (2 * h)
    tau = numeric(tp.inverse_dynamics(robot))(q, qd, qdd)
    # Central differences: h^2 truncation and eps/h rounding of the energies, both about 1e-9 of their size.
    assert error((qd * tau).sum(-1), power) < 1e-6


@FEW
@given(ANY)
def test_mass_matrix_is_symmetric_positive_and_its_rate_skew(robot):
    q, qd = random_states(robot, 2, 2)
    m = numeric(tp.mass_matrix(robot))(q)
    assert error(m, np.swapaxes(m, -1, -2)) < ROUNDING
    assert np.linalg.eigvalsh(m).min() > 0
    h = 1e-6
    # By differences of M, which the Coriolis code does not use.
    rate = (numeric(tp.mass_matrix(robot))(q + h * qd) - numeric(tp.mass_matrix(robot))(q - h * qd)) / (2 * h)
    assert error(numeric(tp.mass_matrix_derivative(robot))(q, qd), rate) < 1e-7
    for form in ("christoffel", "body"):
        skew = rate - 2 * numeric(tp.coriolis_matrix(robot, form=form))(q, qd)
        assert np.abs(skew + np.swapaxes(skew, -1, -2)).max() < 1e-6 * max(1.0, np.abs(rate).max())


def test_textbook_coriolis_factors_are_not_skew_compatible():
    robot = tp.load("puma560")
    q, qd = random_states(robot, 1, 2)
    rate = tp.mass_matrix_derivative(robot)(q, qd)
    for form in ("mdot_minus_half_u", "ut_minus_half_u"):
        skew = rate - 2 * tp.coriolis_matrix(robot, form=form)(q, qd)
        assert np.abs(skew + np.swapaxes(skew, -1, -2)).max() > 0.1


@FEW
@given(ANY)
def test_coriolis_forms_give_the_same_torque(robot):
    q, qd = random_states(robot, 2, 2)
    rest = np.zeros_like(q)
    c = numeric(tp.inverse_dynamics(robot))(q, qd, rest) - numeric(tp.gravity_torque(robot))(q)
    symbols = numeric(tp.christoffel_symbols(robot))(q)
    assert error(np.einsum("bkij,bi,bj->bk", symbols, qd, qd), c) < ROUNDING
    christoffel = numeric(tp.coriolis_matrix(robot))(q, qd)
    assert error(np.einsum("bkij,bi->bkj", symbols, qd), christoffel) < ROUNDING
    for form in ("christoffel", "body", "mdot_minus_half_u", "ut_minus_half_u"):
        factor = numeric(tp.coriolis_matrix(robot, form=form))
        assert error(np.einsum("bij,bj->bi", factor(q, qd), qd), c) < ROUNDING
        assert np.abs(factor(q, rest)).max() == 0


@FEW
@given(ANY)
def test_slotine_li_identities(robot):
    q, qd, qdd, qrd, qrdd = random_states(robot, 2, 5)
    y, yr = numeric(tp.regressor(robot)), numeric(tp.slotine_li_regressor(robot))
    rest = np.zeros_like(q)
    assert error(yr(q, qd, qd, qdd), y(q, qd, qdd)) < ROUNDING
    torque = (
        np.einsum("bij,bj->bi", numeric(tp.mass_matrix(robot))(q), qrdd)
        + np.einsum("bij,bj->bi", numeric(tp.coriolis_matrix(robot))(q, qd), qrd)
        + numeric(tp.gravity_torque(robot))(q)
    )
    assert error(yr(q, qd, qrd, qrdd) @ robot.parameters.values, torque) < ROUNDING

    def velocity_part(v):
        return y(q, v, rest) - y(q, rest, rest)

    polarised = y(q, rest, qrdd) + (velocity_part(qd + qrd) - velocity_part(qd - qrd)) / 4
    assert error(yr(q, qd, qrd, qrdd), polarised) < ROUNDING


@FEW
@given(ANY)
def test_gravity_is_the_gradient_of_the_potential(robot):
    (q,) = random_states(robot, 2, 1)
    assert error(numeric(tp.potential_energy(robot).jacobian("q"))(q), numeric(tp.gravity_torque(robot))(q)) < ROUNDING


@FEW
@given(ANY)
def test_forward_inverts_inverse(robot):
    q, qd, qdd = random_states(robot, 2, 3)
    terms = ("viscous", "coulomb", "offset", "rotor")
    tau = numeric(tp.inverse_dynamics(robot, terms=terms))(q, qd, qdd)
    algorithms = ["cholesky"] if len(robot.joints) != robot.n else ["cholesky", "articulated"]
    for algorithm in algorithms:
        # Solving loses the condition of M, up to 1e4 on these trees.
        assert error(numeric(tp.forward_dynamics(robot, terms=terms, algorithm=algorithm))(q, qd, tau), qdd) < 1e-8


@FEW
@given(ANY)
def test_jacobians_are_derivatives_of_the_kinematics(robot):
    q, qd = random_states(robot, 1, 2)
    place = numeric(tp.forward_kinematics(robot))
    h = 1e-6
    t = place(q)[0]
    rate = ((place(q + h * qd) - place(q - h * qd)) / (2 * h))[0]
    r, p = t[:3, :3], t[:3, 3]
    spin = rate[:3, :3] @ r.T
    w = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    twists = {
        "geometric": np.r_[w, rate[:3, 3]],
        "body": np.r_[r.T @ w, r.T @ rate[:3, 3]],
        "spatial": np.r_[w, rate[:3, 3] - np.cross(w, p)],
    }
    for kind, twist in twists.items():
        j = numeric(tp.jacobian(robot, kind=kind))
        assert error(j(q)[0] @ qd[0], twist) < 1e-7
        difference = (j(q + h * qd) - j(q - h * qd)) / (2 * h)
        assert error(numeric(tp.jacobian_derivative(robot, kind=kind))(q, qd), difference) < 1e-7


def test_tip_wrench_does_the_work_of_its_twist():
    """J^T F by virtual work in each kind of axes: the same push gives the same torque."""
    robot = random_robot(11, joints=5, tree=False)
    q, qd, qdd = (x[0] for x in random_states(robot, 1, 3))
    force, moment = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7])
    t = tp.forward_kinematics(robot)(q)
    r, p = t[:3, :3], t[:3, 3]
    wrench = {
        "geometric": np.r_[moment, force],
        "body": np.r_[r.T @ moment, r.T @ force],
        "spatial": np.r_[moment + np.cross(p, force), force],
    }
    free = tp.inverse_dynamics(robot)(q, qd, qdd)
    pushes = [tp.inverse_dynamics(robot, tip_wrench=k)(q, qd, qdd, f) - free for k, f in wrench.items()]
    assert error(pushes[1], pushes[0]) < ROUNDING
    assert error(pushes[2], pushes[0]) < ROUNDING
    assert np.isclose(pushes[0] @ qd, wrench["geometric"] @ (tp.jacobian(robot)(q) @ qd))
    disturbed = tp.inverse_dynamics(robot, disturbance=True)(q, qd, qdd, np.ones(5))
    assert error(disturbed, free + 1) < ROUNDING


def test_moving_base_matches_a_longer_chain():
    """A base that turns and slides by prescribed motion is two more joints whose torques are not asked for."""
    arm = random_robot(3, joints=3, tree=False)
    q, qd, qdd = (x[0] for x in random_states(arm, 1, 3))
    w, a = 0.7, -1.3
    rows = np.array([0, 0, w, 0, 0, 0]), np.array([0, 0, a, 0, 0, 0])
    tau = tp.closed_form.moving_base_dynamics(arm)(q, qd, qdd, *rows)
    joints = [dataclasses.replace(j, parent=j.parent + 1, coordinate=j.coordinate + 1) for j in arm.joints]
    first = dataclasses.replace(arm.joints[0], name="turn", kind="revolute", parent=-1, coordinate=0)
    plain = type(first.before)()
    first = dataclasses.replace(first, before=plain, after=plain, axis=unit_vector((0, 0, 1)))
    joints[0] = dataclasses.replace(joints[0], before=arm.base @ joints[0].before)
    links = (dataclasses.replace(arm.links[0], name="table", body=NO_BODY), *arm.links)
    longer = dataclasses.replace(arm, joints=(first, *joints), links=links, base=plain, frames=(), tip="")
    full = tp.inverse_dynamics(longer)(np.r_[0, q], np.r_[w, qd], np.r_[a, qdd])
    assert error(full[1:], tau) < ROUNDING


@pytest.mark.parametrize("kind", ["total", "kinetic", "potential"])
def test_energy_regressor(kind):
    robot = random_robot(5, joints=4)
    q, qd = random_states(robot, 3, 2)
    energy = {"kinetic": tp.kinetic_energy(robot)(q, qd), "potential": tp.potential_energy(robot)(q)}
    energy["total"] = energy["kinetic"] + energy["potential"]
    assert error(tp.energy_regressor(robot, which=kind)(q, qd) @ robot.parameters.values, energy[kind]) < ROUNDING


def test_frames_on_a_placed_base():
    """A frame fixed to the base moves with `robot.base`, as every link does."""
    robot = random_robot(9, joints=2, tree=False)
    fixed = dataclasses.replace(robot.frames[0], name="stand", link=-1)
    placed = dataclasses.replace(robot, frames=(*robot.frames, fixed))
    t = tp.forward_kinematics(placed, frame="stand")([0.1, 0.2])
    assert error(t, robot.base.matrix @ fixed.placement.matrix) < ROUNDING
    assert not tp.jacobian(placed, frame="stand")([0.1, 0.2]).any()


def test_gravity_is_in_world_axes():
    """An arm on its side under the world's gravity is an upright arm under gravity turned the other way."""
    rows = [{"a": 0.4, "alpha": "pi/2"}, {"a": 0.3}]
    links = [{"m": 2, "com": (0.1, 0.2, 0.3)}, {"m": 1, "com": (0.3, 0.1, 0.2)}]
    side = [[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0.7], [0, 0, 0, 1]]  # turned about x by 90 degrees, and lifted
    placed = tp.Robot.from_dh(rows, links=links, base=side, gravity=(0, 0, -9.81))
    upright = tp.Robot.from_dh(rows, links=links, gravity=(0, -9.81, 0))
    q = [0.3, -0.8]
    assert error(tp.gravity_torque(placed)(q), tp.gravity_torque(upright)(q)) < ROUNDING
    assert np.abs(tp.gravity_torque(placed)(q)).max() > 1
