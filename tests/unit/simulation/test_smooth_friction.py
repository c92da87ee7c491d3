"""Dry friction without its jump: tanh(qd / v), once."""

import casadi as cs
import numpy as np
import pytest

import taupi as tp

SPEEDS = np.array([-0.3, -0.02, -0.004, 0.0, 0.001, 0.008, 0.05])


def column(term):
    none = cs.DM.zeros(len(SPEEDS))
    return np.array(term.column(none, cs.DM(SPEEDS), none)).ravel()


def test_a_jump_becomes_a_slope():
    assert np.allclose(column(tp.terms.Coulomb().smooth(0.01)), np.tanh(SPEEDS / 0.01))
    assert np.allclose(column(tp.terms.Coulomb().smooth(0.0)), np.sign(SPEEDS))


def test_friction_with_a_width_of_its_own_keeps_it():
    """tanh(qd / v) has no jump: times another tanh it would be flat at standstill, and no law would cancel it."""
    assert np.allclose(column(tp.terms.Coulomb(0.05).smooth(0.01)), np.tanh(SPEEDS / 0.05))
    each = tp.terms.Coulomb((0.05, 0.0)).smooth(0.01)
    for joint, width in enumerate((0.05, 0.01)):
        assert np.allclose(column(each.at(joint)), np.tanh(SPEEDS / width))


def test_computed_torque_that_knows_the_friction_stands_still():
    """The same width in plant and law: the error obeys a linear equation, and an arm at rest stays there."""
    arm = tp.load("elbow2r").with_friction(coulomb=[2.0, 1.0])
    terms = (tp.terms.Coulomb(0.05),)
    law = tp.ComputedTorque(arm, Kp=400.0, Kd=40.0, terms=terms)
    run = tp.simulate(tp.RigidPlant(arm, terms=terms), law, tp.MinimumJerk([[0, 0], [1, 1]], [1.0, 2.0]), 4.0, 1000.0)
    assert np.abs(run.q[run.time < 1.0]).max() < 1e-9
    assert run.q[-1] == pytest.approx([1, 1], abs=1e-3)  # of the torque that is held for a period
