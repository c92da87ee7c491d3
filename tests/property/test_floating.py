"""Identities of robots with free and ball joints, on random trees."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from floating import floating_tree, moved, states, with_balls
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from support import ROUNDING, error, random_robot

import taupi as tp
from taupi.dynamics.chain import trace_robot
from taupi.program.program import Port
from taupi.regressors import recursive

DIFFERENCES = 1e-6  # central differences with a step of 1e-5 of functions of size one
TREES = [floating_tree(1), floating_tree(2, balls=(2,)), with_balls(random_robot(3, joints=4), 1, 3)]


def numpy_of(program):
    return program.compile("numpy")


@pytest.mark.parametrize("robot", TREES, ids=["free", "free and ball", "balls"])
def test_algorithms_agree(robot):
    q, qd, qdd = states(robot, 3)
    tau = numpy_of(tp.inverse_dynamics(robot))(q, qd, qdd)
    for algorithm in ("closed_form", "lagrange"):
        assert error(numpy_of(tp.inverse_dynamics(robot, algorithm=algorithm))(q, qd, qdd), tau) < ROUNDING
    assert error(numpy_of(tp.regressor(robot))(q, qd, qdd) @ robot.parameters.values, tau) < ROUNDING
    mass = numpy_of(tp.mass_matrix(robot))(q)
    for algorithm in ("links", "closed_form"):
        assert error(numpy_of(tp.mass_matrix(robot, algorithm=algorithm))(q), mass) < ROUNDING
    for algorithm in ("cholesky", "articulated"):
        assert error(numpy_of(tp.forward_dynamics(robot, algorithm=algorithm))(q, qd, tau), qdd) < 1e-9
    bias = numpy_of(tp.bias_torque(robot))(q, qd)
    for form in ("christoffel", "body"):
        c = numpy_of(tp.coriolis_matrix(robot, form=form))(q, qd)
        assert error(np.einsum("kij,kj->ki", c, qd) + numpy_of(tp.gravity_torque(robot))(q), bias) < ROUNDING
        rate = numpy_of(tp.mass_matrix_derivative(robot))(q, qd)
        skew = rate - 2 * c
        assert error(skew, -np.swapaxes(skew, -1, -2)) < ROUNDING
    momentum = np.einsum("kij,kj->ki", mass, qd)
    assert error(numpy_of(tp.floating.generalised_momentum(robot))(q, qd), momentum) < ROUNDING
    assert error(numpy_of(tp.floating.momentum_regressor(robot))(q, qd) @ robot.parameters.values, momentum) < ROUNDING


@pytest.mark.parametrize("robot", TREES, ids=["free", "free and ball", "balls"])
def test_rates_along_a_motion(robot):
    """M, Jacobians, energies and poses along an exact motion, by differences that share no code with the programs."""
    (q,), (qd,), (qdd,) = states(robot, 1, seed=5)
    dt = 1e-5
    ends = np.array([moved(robot, q, qd, s * dt) for s in (-1, 1)])
    for program, rate in (
        (tp.mass_matrix(robot), tp.mass_matrix_derivative(robot)),
        (tp.jacobian(robot), tp.jacobian_derivative(robot)),
    ):
        change = np.diff(numpy_of(program)(ends), axis=0)[0] / (2 * dt)
        assert error(change, numpy_of(rate)(q, qd)) < DIFFERENCES
    change = np.diff(numpy_of(tp.forward_kinematics(robot))(ends), axis=0)[0] / (2 * dt)
    twist = numpy_of(tp.jacobian(robot))(q) @ qd
    assert error(change[:3, 3], twist[3:]) < DIFFERENCES
    tau = numpy_of(tp.inverse_dynamics(robot))(q, qd, qdd)
    kinetic, potential = numpy_of(tp.kinetic_energy(robot)), numpy_of(tp.potential_energy(robot))
    speeds = qd + np.array([[-dt], [dt]]) * qdd
    power = np.diff(kinetic(ends, speeds) + potential(ends))[0] / (2 * dt)
    assert power == pytest.approx(qd @ tau, rel=1e-6, abs=1e-6)
    assert kinetic(q, qd) == pytest.approx(qd @ numpy_of(tp.mass_matrix(robot))(q) @ qd / 2)


@pytest.mark.parametrize("robot", TREES, ids=["free", "free and ball", "balls"])
def test_slotine_li_has_the_levi_civita_factor(robot, monkeypatch):
    q, qd, qrd, qrdd = states(robot, 3, velocities=3)
    c = numpy_of(tp.coriolis_matrix(robot))(q, qd)
    expected = np.einsum("kij,kj->ki", numpy_of(tp.mass_matrix(robot))(q), qrdd)
    expected += np.einsum("kij,kj->ki", c, qrd) + numpy_of(tp.gravity_torque(robot))(q)
    y_r = numpy_of(tp.slotine_li_regressor(robot))(q, qd, qrd, qrdd)
    assert error(y_r @ robot.parameters.values, expected) < ROUNDING
    # Without the bracket of a joint's own velocities the form is symmetric, but dM/dt - 2C is no longer skew-symmetric.
    plain = recursive._multiple_motion

    def polarised(chain, i, before, q, qd, qrd, qdd):
        ours, other = plain(chain, i, before, q, qd, qrd, qdd), plain(chain, i, before, q, qrd, qd, qdd)
        alpha, a = ((x + y) / 2 for x, y in ((ours.alpha, other.alpha), (ours.a, other.a)))
        return recursive.PolarisedMotion(ours.w, ours.u, alpha, a)

    monkeypatch.setattr(recursive, "_multiple_motion", polarised)
    outputs = [Port("Y", (robot.n, len(robot.parameters)))]
    wrong = trace_robot("wrong", robot, recursive.link_regressor, ["q", "qd", "qrd", "qrdd"], outputs)
    assert error(numpy_of(wrong)(q, qd, qrd, qrdd) @ robot.parameters.values, expected) > 0.01
    assert error(numpy_of(wrong)(q, qd, qd, qrdd), numpy_of(tp.slotine_li_regressor(robot))(q, qd, qd, qrdd)) < ROUNDING


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_the_number_of_base_parameters(seed, joints):
    """10 + 7 per turning and 4 per sliding joint for any geometry, in both forms, and from the six base rows alone."""
    robot = floating_tree(seed, joints=joints)
    slides = sum(j.prismatic for j in robot.joints)
    base = tp.base_parameters(robot)
    assert base.count == 10 + 7 * (joints - slides) + 4 * slides
    y = tp.regressor(robot, base="imu")
    assert len(y.independent().parameters) == base.count
    wide = np.concatenate(numpy_of(y)(*imu_states(robot, 60))[:, :6])
    assert np.linalg.matrix_rank(wide / np.maximum(np.linalg.norm(wide, axis=0), 1e-300), tol=1e-9) == base.count
    q, qd, qdd = states(robot, 2)
    assert (
        error(numpy_of(base.regressor())(q, qd, qdd) @ base.projection, numpy_of(tp.regressor(robot))(q, qd, qdd))
        < 1e-10
    )


def imu_states(robot, count, seed=1):
    rng = np.random.default_rng(seed)
    sizes = [3, 3, 3, robot.nq - 7, robot.n - 6, robot.n - 6]
    return [rng.uniform(-2, 2, (count, size)) for size in sizes]


def test_a_ball_joint_adds_nine_and_the_pose_form_the_same_rank():
    robot = floating_tree(11, joints=3, balls=(2,))
    slides = sum(j.prismatic for j in robot.joints)
    assert tp.base_parameters(robot).count == 10 + 9 + 7 * (2 - slides) + 4 * slides
    assert len(tp.regressor(robot).independent().parameters) == tp.base_parameters(robot).count


def test_both_forms_are_one():
    robot = floating_tree(21)
    q, qd, qdd = states(robot, 4)
    free = robot.joints[0]
    place = numpy_of(tp.forward_kinematics(robot, "root"))(q)
    back = free.after.matrix[:3, :3]  # the free joint's own axes are those before `after`
    gravity = np.array([float(v) for v in robot.gravity])
    turned = np.einsum("kij,jl->kil", place[:, :3, :3], back.T)
    w, v = qd[:, :3], qd[:, 3:6]
    a = qdd[:, 3:6] + np.cross(w, v) - np.einsum("kji,j->ki", turned, gravity)
    imu = (w, qdd[:, :3], a, q[:, 7:], qd[:, 6:], qdd[:, 6:])
    assert error(numpy_of(tp.regressor(robot, base="imu"))(*imu), numpy_of(tp.regressor(robot))(q, qd, qdd)) < ROUNDING
    tau = numpy_of(tp.inverse_dynamics(robot))(q, qd, qdd)
    assert error(numpy_of(tp.inverse_dynamics(robot, base="imu"))(*imu), tau) < ROUNDING
    longer = q.copy()
    longer[:, 3:7] *= -3.0
    assert error(numpy_of(tp.inverse_dynamics(robot))(longer, qd, qdd), tau) < ROUNDING


def test_exact_and_compiled_targets_take_quaternions_of_any_length():
    robot = floating_tree(31, joints=1)
    q, qd, qdd = (x[0] for x in states(robot, 1, unit=False))
    y = tp.regressor(robot, terms=("viscous",))
    with pytest.warns(tp.TaupiWarning, match=r"length that differs from 1 by 0\.7"):
        compiled = y(q, qd, qdd)
    rational = [Fraction(v) for v in q]
    if not robot.joints[1].prismatic:
        rational[7] = Fraction(math.tan(q[7] / 2))
    exact = y.exact(rational, [Fraction(v) for v in qd], [Fraction(v) for v in qdd])
    entries = np.array([float(Fraction(int(v.p), int(v.q))) for v in exact.ravel()]).reshape(exact.shape)
    assert error(compiled, entries) < 1e-12 and y.parameters.names[-1] == f"{robot.joints[1].name}.viscous"
    assert compiled.shape == (7, 21) and not compiled[:6, -1].any()
    source = {}
    exec(y.python(), source)
    assert error(np.array(source["regressor"](q, qd, qdd)).reshape(7, 21), compiled) < 1e-12


def test_terms_act_on_motors_alone_and_mimics_count_once():
    robot = floating_tree(41, joints=4, mimic=True)
    assert robot.n == 6 + len(robot.actuated) and robot.nq == robot.n + 1
    terms = ("viscous", "rotor", "offset")
    robot = robot.with_friction(viscous=0.3, offset=0.2)
    q, qd, qdd = states(robot, 2)
    y = tp.regressor(robot, terms=terms)
    assert (
        error(
            numpy_of(y)(q, qd, qdd) @ y.parameters.values, numpy_of(tp.inverse_dynamics(robot, terms=terms))(q, qd, qdd)
        )
        < 1e-11
    )
    more = numpy_of(tp.inverse_dynamics(robot, terms=("viscous", "offset")))(q, qd, qdd) - numpy_of(
        tp.inverse_dynamics(robot)
    )(q, qd, qdd)
    assert not more[:, :6].any() and error(more[:, 6:], 0.3 * qd[:, 6:] + 0.2) < 1e-11


def test_letting_go_and_bolting_are_inverse():
    arm = tp.load("puma560")
    free = arm.floating_base()
    assert free.floating_base() is free and arm.fixed_base() is arm
    assert (free.n, free.nq, free.joint_names[:3]) == (12, 13, ("base.wx", "base.wy", "base.wz"))
    back = free.fixed_base()
    assert (back.joints, back.links, back.frames[1:], back.gravity) == (arm.joints, arm.links, arm.frames, arm.gravity)
    with pytest.raises(tp.TaupiError, match="no moving joint but its base"):
        dataclasses.replace(free, joints=free.joints[:1], links=free.links[:1], frames=(), tip="").fixed_base()


def test_bad_quaternions_are_refused():
    robot = tp.load("elbow2r", floating=True)
    q = tp.floating.neutral(robot)
    assert q.tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0]
    tp.gravity_torque(robot)(q)
    with pytest.raises(tp.TaupiError, match=r"q has a quaternion of length zero for joint 'base', in q\[3:7\]"):
        tp.gravity_torque(robot)(np.zeros((5, 9)))
    with refused("q", got=(8,), expected="(..., 9)"):
        tp.gravity_torque(robot)(np.zeros(8))


REFUSED = {
    "a law": (tp.SlotineLi, "A control law needs a motor for every velocity"),
    "computed torque": (tp.ComputedTorque, "A control law needs a motor"),
    "gravity": (tp.PDGravity, "A control law needs a motor"),
    "natural adaptation": (tp.laws.NaturalAdaptation, "A control law needs a motor"),
    "an exciting motion": (tp.excite, "its base moves freely. Use robot.fixed_base"),
    "bounds": (tp.bounds, "its base moves freely"),
    "formulas": (tp.explicit_regressor, "the explicit Lagrangian route does not cover"),
    "springs": (lambda r: tp.elastic_regressor(r.with_transmissions(stiffness=9, rotor_inertia=1)), "elastic joints needs"),
    "Christoffel symbols": (tp.christoffel_symbols, "not derivatives of coordinates"),
    "textbook factors": (lambda r: tp.coriolis_matrix(r, form="ut_minus_half_u"), "not derivatives of coordinates"),
    "coupled drives": (lambda r: r.with_coupling([[1, 0], [0, 1]]), "which no motor drives"),
    "another convention": (lambda r: tp.floating.to_base(r, "drake"), "No convention 'drake'. Known: taupi, pinocchio, mujoco"),
    "an unknown form": (lambda r: tp.regressor(r, base="euler"), "base"),
    "world axes without a pose": (lambda r: tp.inverse_dynamics(r, base="imu", tip_wrench="spatial"), "in world axes"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_defined_is_refused(what):
    build, message = REFUSED[what]
    with pytest.raises(tp.TaupiError, match=message):
        build(tp.load("elbow2r", floating=True))


def test_formulas_of_the_imu_form():
    """The column of the root's mass is (0, a, 0), and symbols that would be confused with inputs rename these."""
    column = tp.regressor(tp.load("panda").floating_base(), base="imu", columns="base.m")
    formulas = column.sympy()
    assert [str(v) for v in formulas[3:6]] == ["a1", "a2", "a3"] and not any(formulas[:3]) and not any(formulas[6:])
    named = tp.regressor(tp.load("elbow2r").floating_base(), base="imu")
    assert [p.name for p in named.inputs] == ["w_base", "wd_base", "a_base", "q", "qd", "qdd"]
