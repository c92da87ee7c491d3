"""Elastic joints against the specification's vectors."""

import numpy as np
import pytest
from elastic import VECTOR, VECTORS, arm, state
from support import error

import taupi as tp

MOTION = ("q", "qd", "qdd", "theta", "thetad", "thetadd")


@pytest.mark.parametrize("vector", VECTORS["elastic_regressor"], ids=lambda v: v["robot"])
def test_regressor_and_model(vector):
    robot = arm(vector["robot"])
    q, qd, qdd, theta, thetad, thetadd = motion = state(vector, *MOTION)
    Y = tp.elastic_regressor(robot)
    assert error(Y(*motion), vector["Y"]) < VECTOR
    assert error(Y.parameters.values, vector["Pi"]) < VECTOR
    assert error(Y(*motion) @ Y.parameters.values, vector["tau"]) < VECTOR
    assert error(tp.elastic.inverse_dynamics(robot)(*motion), vector["tau"]) < VECTOR
    B, C = tp.elastic.mass_matrix(robot)(q), tp.elastic.coriolis_matrix(robot)(q, qd, thetad)
    g, K = tp.elastic.gravity_torque(robot)(q), tp.elastic.stiffness_matrix(robot)()
    assert error(B, vector["B"]) < VECTOR
    assert error(C, vector["C"]) < VECTOR
    assert error(g, vector["g"]) < VECTOR
    friction = tp.elastic.inverse_dynamics(robot)(*motion) - (
        B @ np.r_[qdd, thetadd] + C @ np.r_[qd, thetad] + g + K @ np.r_[q, theta]
    )
    r = VECTORS["robots"][vector["robot"]]
    assert error(friction, np.r_[np.zeros(len(q)), r["fs"] * np.sign(thetad) + r["fv"] * thetad]) < VECTOR


@pytest.mark.parametrize("algorithm", ["articulated", "cholesky"])
@pytest.mark.parametrize("vector", VECTORS["elastic_forward"], ids=lambda v: v["robot"])
def test_forward_dynamics(vector, algorithm):
    program = tp.elastic.forward_dynamics(arm(vector["robot"]), algorithm=algorithm)
    qdd, thetadd = program(*state(vector, "q", "qd", "theta", "thetad", "u"))
    assert error(qdd, vector["qdd"]) < VECTOR
    assert error(thetadd, vector["thetadd"]) < VECTOR


def test_built_in_robots_are_those_of_the_vectors():
    rng = np.random.default_rng(0)
    for built, name in (("zollo2r", "planar2"), ("puma560_elastic", "puma560")):
        ours, theirs = tp.load(built), arm(name)
        x = rng.uniform(-1, 1, (6, 3, ours.n))
        assert error(tp.elastic.inverse_dynamics(ours)(*x), tp.elastic.inverse_dynamics(theirs)(*x)) < VECTOR
        assert error(tp.elastic_regressor(ours)(*x), tp.elastic_regressor(theirs)(*x)) < VECTOR
        ours_pi, theirs_pi = (tp.elastic_regressor(r).parameters.values for r in (ours, theirs))
        assert error(ours_pi, theirs_pi) < VECTOR
