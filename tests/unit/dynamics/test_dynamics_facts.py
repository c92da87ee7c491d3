"""Facts about dynamics: rotations near none and near half a turn, levers that are none, shapes of results, zeros in a message."""

import warnings

import casadi as cs
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import taupi as tp
from taupi.dynamics.chain import BUILDERS, Chain
from taupi.dynamics.drives import Drives
from taupi.dynamics.elastic_forward import ALGORITHMS
from taupi.dynamics.orientation import SMALL, rotation_vector
from taupi.errors import TaupiError, TaupiWarning
from taupi.program.program import Constants, Program

ARM = tp.load("elbow2r")
# The series ends where sin^2 of the angle is SMALL.
EDGE = np.arcsin(np.sqrt(SMALL))


def vector_of():
    """Return w(R), and the derivative of w(R) by the nine entries of R."""
    r = cs.SX.sym("r", 3, 3)
    w = rotation_vector(r)
    return cs.Function("w", [r], [w]), cs.Function("dw", [r], [cs.jacobian(w, cs.vec(r))])


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.99 * EDGE, 1.01 * EDGE, 0.5, 1.5, 2.5, 3.1])
def test_the_rotation_vector_is_that_of_scipy(angle):
    axis = np.array([0.36, -0.48, 0.8])
    rotation = Rotation.from_rotvec(angle * axis)
    w = np.asarray(vector_of()[0](rotation.as_matrix())).ravel()
    # Near half a turn the vector is the antisymmetric part divided by a small sine, which magnifies rounding.
    np.testing.assert_allclose(w, rotation.as_rotvec(), atol=1e-15 / max(0.04, np.sin(min(angle, np.pi / 2)) * 0.04))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.99 * EDGE, 1.01 * EDGE, 1.0])
def test_the_rotation_vector_turns_about_its_own_axis_at_the_rate_of_the_angle(angle):
    """d/dt w(exp(S(t a))) = a at every angle: where there is no rotation yet, too, where the quotient is 0/0."""
    axis = np.array([0.36, -0.48, 0.8])
    r = Rotation.from_rotvec(angle * axis).as_matrix()
    skew = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    slope = np.asarray(vector_of()[1](r)) @ (r @ skew).ravel(order="F")
    np.testing.assert_allclose(slope, axis, atol=1e-12)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_lever_has_four_finite_numbers(place, value):
    lever = [0.05, 0.2, 0.1, 0.4]
    tp.terms.Spring(tuple(lever))
    lever[place] = value
    with pytest.raises(TaupiError, match=r"lever is .*two different lengths above 0"):
        tp.terms.Spring(tuple(lever))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_accelerations_of_links_and_motors_are_columns(algorithm):
    chain = Chain(tp.load("zollo2r"), Constants())
    q, qd, thetad, link, motor = (cs.SX.sym(name, 2) for name in ("q", "qd", "thetad", "link", "motor"))
    qdd, thetadd = ALGORITHMS[algorithm](chain, Drives(chain, True), q, qd, thetad, link, motor)
    assert qdd.shape == thetadd.shape == (2, 1)


def test_a_lost_direction_has_no_negative_zero():
    """A folded or stretched arm along x or y: the other entry is a zero, and zero has no sign for a reader."""
    arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    directions = []
    for first in (0.0, np.pi / 2, np.pi, -np.pi / 2):
        with pytest.raises(TaupiError, match="is singular for the task") as caught:
            tp.operational.mass(arm, task="xy")([first, 0.0])
        directions.append(str(caught.value).partition("cannot move along (")[2].partition(")")[0].split(", "))
    assert not [d for d in directions if "-0" in d]


@pytest.mark.parametrize("inertia", [0.0, 1.0])
def test_a_massless_end_moves_only_with_a_rotor(inertia):
    values = ARM.parameters.values.copy()
    values[10:] = 0
    arm = ARM.with_parameters(values).with_transmissions(rotor_inertia=[0.5, inertia], gear_ratio=1.0)
    if inertia:
        qdd = tp.forward_dynamics(arm, terms=("rotor",))([0.1, 0.2], [0.0, 0.0], [0.0, 3.0])
        assert qdd[1] == pytest.approx(3.0)
    else:
        for build in (tp.forward_dynamics, tp.RigidPlant):
            with pytest.raises(TaupiError, match="forearm"):
                build(arm, terms=("rotor",))


def test_a_redundant_task_needs_a_mass_matrix_with_an_inverse():
    """The model of a redundant arm has M^-1: a singular M leaves none. A square J needs no inverse of M."""
    arm = tp.load("panda")
    light = arm.with_parameters(np.r_[arm.parameters.values[:-10], np.zeros(10)])
    for build in (tp.operational_dynamics, tp.operational_regressor, tp.operational.mass):
        with pytest.raises(TaupiError, match="has no mass or inertia"):
            build(light)
    few = ARM.with_parameters(np.r_[ARM.parameters.values[:10], np.zeros(10)])
    assert np.isfinite(tp.operational.mass(few, task="xy")([0.3, 0.5])).all()


ROWS = [{"a": 0.5, "alpha": 0.3}, {"a": 0.4, "d": 0.1}]
LINKS = [{"m": 2.0, "com": (0.1, 0.2, 0.3), "inertia": np.diag([0.1, 0.2, 0.25]).tolist()}] * 2


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_a_program_that_is_zero_without_masses_says_so(name):
    """Whatever masses change warns without them, once; what needs none, such as geometry and regressors, is silent."""
    bare, heavy = tp.Robot.from_dh(ROWS, name=f"bare {name}"), tp.Robot.from_dh(ROWS, links=LINKS)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            programs = [BUILDERS[name](robot) for robot in (bare, heavy)]
        except (TaupiError, TypeError):
            return  # refused, or of other robots
    warned = [w for w in said if issubclass(w.category, TaupiWarning)]
    if not isinstance(programs[0], Program):
        assert not warned
        return
    states = [np.random.default_rng(k).uniform(0.1, 1.0, port.shape) for k, port in enumerate(programs[0].inputs)]
    with np.errstate(all="ignore"):
        values = [np.concatenate([np.ravel(x) for x in many(program(*states))]) for program in programs]
    assert len(warned) == (not np.array_equal(*values))
    assert all("links=..." in str(w.message) for w in warned)


def many(result):
    return result if isinstance(result, tuple) else (result,)


def test_symbols_rotors_and_unknown_masses_are_no_lack_of_masses():
    symbolic = tp.Robot.from_dh(ROWS, links=[{"m": "m1"}, {"m": "m2"}])
    driven = tp.Robot.from_dh(ROWS).with_transmissions(rotor_inertia=0.1, gear_ratio=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tp.mass_matrix(symbolic)
        tp.mass_matrix(driven, terms=("rotor",))
        tp.parametric(tp.inverse_dynamics, tp.Robot.from_dh(ROWS, name="unknown"))
        tp.base_parameters(tp.Robot.from_dh(ROWS, name="base"))
        tp.explicit_regressor(tp.Robot.from_dh([{"a": "l1"}]))


def test_a_root_that_floats_without_mass_needs_two_bodies():
    """One body resists 6 motions; a root that floats beside it with a hinge between them has 7 in all."""
    values = ARM.parameters.values.copy()
    arm = ARM.floating_base()
    start = len(arm.parameters) - len(values)
    one, both = (np.zeros(len(arm.parameters)) for _ in range(2))
    one[start + 10 :], both[start:] = values[10:], values
    for pi, name in ((one, arm.link_names[0]), (both, arm.link_names[0])):
        robot = arm.with_parameters(pi)
        mass = tp.mass_matrix(robot)([*np.zeros(6), 1.0, 0.3, 0.4])
        assert np.linalg.matrix_rank(mass, tol=1e-9) < robot.n
        with pytest.raises(TaupiError, match=name):
            tp.forward_dynamics(robot)
    assert tp.forward_dynamics(arm.with_parameters(np.r_[values[:10], both[10:]])).name == "forward_dynamics"
