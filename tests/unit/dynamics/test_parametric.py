"""Programs whose parameters are an input: what they compute, what they cost, and what is refused."""

import numpy as np
import pytest
from support import ROUNDING, error

import taupi as tp
from taupi.errors import TaupiError

TERMS = ("viscous", "coulomb", "offset", "rotor")


@pytest.fixture(scope="module")
def arm():
    return tp.load("puma560").with_friction(viscous=0.3, coulomb=0.2)


def states(seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (3, 7, 6))


def test_torque_is_y_times_pi_for_any_pi(arm):
    y, torque = tp.regressor(arm, terms=TERMS), tp.parametric(tp.inverse_dynamics, arm, terms=TERMS)
    pi, x = np.random.default_rng(1).normal(size=len(y.parameters)), states()
    assert torque.inputs[-1].labels == tuple(y.parameters.names)
    assert error(torque(*x, pi), y(*x) @ pi) < ROUNDING
    assert torque.operations.total < y.times().operations.total / 2


@pytest.mark.parametrize("builder", [tp.mass_matrix, tp.gravity_torque, tp.forward_dynamics, tp.kinetic_energy])
def test_other_programs_with_the_robots_own_parameters(arm, builder):
    program, x = tp.parametric(builder, arm), states()
    arguments = x[: len(program.inputs) - 1]
    assert error(program(*arguments, arm.parameters.values), builder(arm)(*arguments)) < 1e-9  # M is inverted


def test_parameters_that_are_zero_or_one_in_the_description_are_inputs_as_well(arm):
    bare = arm.with_parameters(np.zeros(60))
    pi = arm.parameters.values
    x = states()
    assert error(tp.parametric(tp.inverse_dynamics, bare)(*x, pi), tp.inverse_dynamics(arm)(*x)) < ROUNDING


def test_a_robot_with_symbols_of_its_own_keeps_them():
    arm = tp.load("lecture2r")
    weight = tp.parametric(tp.gravity_torque, arm).bind(L1=1, L2=1, g=10)
    own = arm.bind(L1=1, L2=1, m1=1, m2=2, g=10)
    assert error(weight([0.1, 0.2], own.parameters.values), tp.gravity_torque(own)([0.1, 0.2])) < ROUNDING


def test_robots_whose_base_moves():
    arm = tp.load("elbow2r").floating_base()
    torque, y = tp.parametric(tp.inverse_dynamics, arm, terms=("viscous",)), tp.regressor(arm, terms=("viscous",))
    q = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5, 0.4, 0.6])
    qd, qdd = np.random.default_rng(0).normal(size=(2, arm.n))
    pi = np.random.default_rng(1).normal(size=len(y.parameters))
    assert error(torque(q, qd, qdd, pi), y(q, qd, qdd) @ pi) < ROUNDING


def test_symbols_as_input_is_the_same_for_any_symbol():
    program = tp.gravity_torque(tp.load("lecture2r"))
    lengths = program.symbols_as_input("lengths", ["L2", "L1"])
    assert lengths.inputs[-1].labels == ("L2", "L1") and {c.name for c in lengths.constants} == {"m1", "m2", "g"}
    values = dict(m1=1, m2=2, g=10)
    expected = program.bind(L1=0.5, L2=0.25, **values)([0.1, 0.2])
    assert error(lengths.bind(**values)([0.1, 0.2], [0.25, 0.5]), expected) < ROUNDING
    every = program.symbols_as_input()
    assert every.constants == () and every.inputs[-1].shape == (5,)


def test_what_is_refused(arm):
    with pytest.raises(TaupiError, match="expected a Robot"):
        tp.parametric(tp.inverse_dynamics, "puma560")
    with pytest.raises(TaupiError, match="builder is Program, expected a function such as"):
        tp.parametric(tp.inverse_dynamics(arm), arm)
    with pytest.raises(TaupiError, match=r"'stribeck_rise' is not part of .*times\(\)"):
        tp.parametric(tp.inverse_dynamics, arm, terms=("stribeck_rise",))
    elastic = arm.with_transmissions(stiffness=1e4, rotor_inertia=1e-4, gear_ratio=80)
    with pytest.raises(TaupiError, match="'rotor' of a robot with elastic joints is not part of"):
        tp.parametric(tp.inverse_dynamics, elastic, terms=("rotor",))
    weight = tp.gravity_torque(tp.load("lecture2r"))
    with pytest.raises(TaupiError, match="No symbol 'L3'"):
        weight.symbols_as_input("x", ["L3"])
    for symbols in ([], ["L1", "L1"]):
        with pytest.raises(TaupiError, match=r"symbols is .*, expected one or more names, each once"):
            weight.symbols_as_input("x", symbols)
    with pytest.raises(TaupiError, match="has an input 'q' already"):
        weight.symbols_as_input("q", ["L1"])
