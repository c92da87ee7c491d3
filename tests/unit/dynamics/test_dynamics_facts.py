"""Facts about dynamics: rotations near none and near half a turn, levers that are none, shapes of results, zeros in a message."""

import casadi as cs
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import taupi as tp
from taupi.dynamics.chain import Chain
from taupi.dynamics.drives import Drives
from taupi.dynamics.elastic_forward import ALGORITHMS
from taupi.dynamics.orientation import SMALL, rotation_vector
from taupi.errors import TaupiError
from taupi.program.program import Constants

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
        with pytest.raises(TaupiError, match="forearm"):
            tp.forward_dynamics(arm, terms=("rotor",))
