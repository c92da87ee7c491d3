"""Lumping: f = known + Y Theta for any choice of unknowns, minimal, and refused with a sentence where it cannot be."""

import casadi as cs
import numpy as np
import pytest
from refusals import refused
from support import ROUNDING, error, random_states

import taupi as tp


def check(program, lumped, states, tolerance=ROUNDING):
    full = program(*states)
    assert error(lumped.known(*states) + lumped.regressor(*states) @ lumped.parameters.values, full) < tolerance


@pytest.mark.parametrize(
    ("unknown", "count"),
    [
        (["m1", "m2"], 2),
        (["m1"], 1),
        (["L1", "L2"], 5),
        (["m1", "m2", "L1", "L2"], 5),
        (["g"], 1),
        (["m*", "L*", "g"], 5),
    ],
    ids=str,
)
def test_any_choice_of_unknowns(unknown, count):
    arm = tp.load("lecture2r").bind(L1=0.7, L2=0.4, m1=1.3, m2=0.8)
    torque = tp.inverse_dynamics(arm)
    lumped = tp.lump(torque, unknown=unknown)
    assert lumped.count == lumped.rank == count
    check(torque, lumped, random_states(arm, 7, 3))


def test_known_part_holds_what_has_no_unknown():
    arm = tp.load("lecture2r")
    lumped = tp.lump(tp.inverse_dynamics(arm), unknown=["m1"])
    assert "m2" in lumped.known.explicit().text() and "m1" not in lumped.known.explicit().text()
    assert str(lumped.regressor.explicit().sympy()[0]) in ("L1*(L1*qdd1 + g*cos(q1))", "L1*(g*cos(q1) + L1*qdd1)")


def test_the_number_of_parameters_cannot_be_smaller():
    # The torques of many arms, as functions of the state, span exactly as many dimensions as there are parameters.
    arm = tp.load("lecture2r")
    torque = tp.inverse_dynamics(arm)
    lumped = tp.lump(torque, unknown=["m1", "m2", "L1", "L2"])
    states, rng = random_states(arm, 40, 3), np.random.default_rng(0)
    rows = [
        torque.bind(**dict(zip(lumped.unknown, rng.uniform(0.5, 2, 4), strict=True))).compile("numpy")(*states)
        for _ in range(20)
    ]
    assert np.linalg.matrix_rank(np.array(rows).reshape(20, -1), tol=1e-9) == lumped.count


def test_numbers_of_the_description_may_be_unknown():
    arm = tp.load("puma560")
    torque = tp.inverse_dynamics(arm)
    lumped = tp.lump(torque, unknown=["link2.m*", "link3.m"])
    assert set(lumped.unknown) >= {"link2.m", "link2.mx", "link3.m"}
    check(torque, lumped, random_states(arm, 5, 3))


def test_friction_and_functions_stay_known():
    arm = (
        tp.load("elbow2r")
        .with_friction(viscous=["Fv1", "Fv2"], coulomb=["Fs1", "Fs2"])
        .bind(Fv1=1, Fv2=2, Fs1=3, Fs2=4)
    )
    torque = tp.inverse_dynamics(arm, terms=("viscous", "coulomb"))
    lumped = tp.lump(torque, unknown=["F??"])
    assert lumped.count == 4
    assert "sign(qd1)" in lumped.regressor.explicit().text()
    check(torque, lumped, random_states(arm, 5, 3))


def test_prismatic_joint_and_matrix_outputs():
    rows = [
        {"a": 0, "alpha": "pi/2", "d": 0, "theta": 0},
        {"a": "r", "alpha": 0, "d": 0, "theta": 0, "joint": "prismatic"},
    ]
    links = [
        {"m": 1, "com": (0, 0, 0), "inertia": [0.1, 0, 0, 0.2, 0, 0.3]},
        {"m": "m", "com": ("c", 0, 0), "inertia": [0] * 6},
    ]
    arm = tp.Robot.from_dh(rows, links=links, gravity=(0, 0, "-g")).bind(r=0.3, m=2, c=0.1, g=9.81)
    lumped = tp.lump(tp.mass_matrix(arm), unknown=["m", "c", "r"])
    assert lumped.regressor.outputs[0].shape == (2, 2, lumped.count)
    check(tp.mass_matrix(arm), lumped, random_states(arm, 4, 1))


def test_compiled_emitted_and_explicit_like_any_other_program():
    arm = tp.load("lecture2r")
    lumped = tp.lump(tp.inverse_dynamics(arm), unknown=["m1", "m2"])
    states = random_states(arm, 100, 3)
    assert error(lumped.regressor(*states), lumped.regressor.compile("numpy")(*states)) < 1e-13
    assert "void" in lumped.regressor.c() and lumped.regressor.jacobian("q").outputs[0].shape == (2, 2, 2)
    exact = lumped.regressor.exact([1, 0], [0, 0], [1, 0])
    assert exact[0, 0] == 1  # cos q1 = 0 at tan(q1 / 2) = 1


def test_quotients_of_unknowns():
    constants = tp.program.Constants()
    a, b = constants("a", None, named=True), constants("b", None, named=True)
    program = tp.program.trace(
        "f", lambda x: x * a / b + x * x / (a + b) + 3 * x, [tp.program.Port("x")], [tp.program.Port("y")], constants
    )
    lumped = tp.lump(program, unknown=["a", "b"])
    assert lumped.count == 2
    bound = {"a": 2.0, "b": 3.0}
    theta = np.array([float(e.subs(bound)) for e in lumped.expressions])
    x = 1.7
    full = program.bind(**bound)(x)
    assert abs(lumped.known(x) + lumped.regressor(x) @ theta - full) < 1e-14


def test_prescribed_parameters_keep_their_order_and_say_what_is_missing():
    torque = tp.gravity_torque(tp.load("lecture2r"))
    lumped = tp.lump(torque, unknown=["m1", "m2"], into=["m2", "m1 + m2"])
    assert [str(e) for e in lumped.expressions] == ["m2", "m1 + m2"]
    check(torque, lumped, [np.array([0.3, 0.4])])
    shifted = tp.lump(torque, unknown=["m1", "m2"], into=["m2 - 3", "m1 + m2"])
    check(torque, shifted, [np.array([0.3, 0.4])])
    with pytest.raises(tp.TaupiError, match=r"into cannot express the dynamics: output 1 has .* times \(-?m2\)"):
        tp.lump(torque, unknown=["m1", "m2"], into=["m1"])
    with pytest.raises(tp.TaupiError, match="into holds L1, expected"):
        tp.lump(torque, unknown=["m1", "m2"], into=["m1*L1"])
    with pytest.raises(tp.TaupiError, match="not an expression"):
        tp.lump(torque, unknown=["m1", "m2"], into=["m1 +"])


def test_relations_and_the_smaller_form():
    constants = tp.program.Constants()
    a, b, c = (constants(n, None, named=True) for n in "abc")
    program = tp.program.trace(
        "f", lambda x: x * (a - b) + x * x * c, [tp.program.Port("x")], [tp.program.Port("y")], constants
    )
    lumped = tp.lump(program, unknown=["a", "b", "c"], into=["a", "b", "c"])
    assert lumped.count == 3 and lumped.rank == 2 and lumped.relations == ("y2 = -y1",)
    smaller = lumped.independent()
    assert [str(e) for e in smaller.expressions] == ["a - b", "c"] and smaller.parameters.names == (
        "Theta1 - Theta2",
        "Theta3",
    )
    assert smaller.independent() is smaller
    assert "y2 = -y1" in repr(lumped) and "<table>" in lumped._repr_html_()


def test_what_cannot_be_lumped_is_refused():
    arm = tp.load("lecture2r")
    with pytest.raises(tp.TaupiError, match=r"forward_dynamics contains 1/\(.*\), which mixes unknowns with the rest"):
        tp.lump(tp.forward_dynamics(arm), unknown=["m1", "m2"])
    with pytest.raises(tp.TaupiError, match="No symbol 'm3'"):
        tp.lump(tp.inverse_dynamics(arm), unknown=["m3"])
    with pytest.raises(tp.TaupiError, match="unknown is empty"):
        tp.lump(tp.inverse_dynamics(arm), unknown=[])
    constants = tp.program.Constants()
    a = constants("a", None, named=True)
    two = tp.program.trace(
        "two", lambda x: (x, a * x), [tp.program.Port("x")], [tp.program.Port("y"), tp.program.Port("z")], constants
    )
    with pytest.raises(tp.TaupiError, match="2 outputs"):
        tp.lump(two, unknown=["a"])
    mixed = tp.program.trace("f", lambda x: cs.exp(a * x), [tp.program.Port("x")], [tp.program.Port("y")], constants)
    with pytest.raises(tp.TaupiError, match=r"f contains exp\(a\*x\), which mixes"):
        tp.lump(mixed, unknown=["a"])


def test_nothing_unknown_in_it():
    constants = tp.program.Constants()
    a = constants("a", None, named=True)
    lumped = tp.lump(
        tp.program.trace("f", lambda x: x + a - a, [tp.program.Port("x")], [tp.program.Port("y")], constants),
        unknown=["a"],
    )
    assert lumped.count == 0 and str(lumped.known.explicit()) == "y = x"


def test_prescribed_parameters_hold_unknowns_only():
    torque = tp.gravity_torque(tp.load("lecture2r"))
    with pytest.raises(tp.TaupiError, match="into holds"):
        tp.lump(torque, unknown=["m?", "L?"], into=["L1*m1*cos(q1)", "L1*m2", "L2*m2"])


def test_a_lumped_program_keeps_its_guard():
    lumped = tp.lump(tp.operational.force(tp.load("planar3r"), task="planar"), unknown=["m?", "I?"])
    straight = np.zeros(3)
    with pytest.raises(tp.TaupiError, match="singular"):
        lumped.regressor(straight, straight, straight, straight)


def test_wrong_kinds_are_named():
    with refused("program", got="Robot"):
        tp.lump(tp.load("lecture2r"), unknown=["m1"])
    with refused("unknown", got=3):
        tp.lump(tp.gravity_torque(tp.load("lecture2r")), unknown=3)


def test_the_known_part_over_a_denominator():
    constants = tp.program.Constants()
    a, b = constants("a", None, named=True), constants("b", None, named=True)
    program = tp.program.trace(
        "f", lambda x: x / (2 * a + 3 * b) + 5 * x * x, [tp.program.Port("x")], [tp.program.Port("y")], constants
    )
    lumped = tp.lump(program, unknown=["a", "b"])
    assert str(lumped.known.explicit()) == "y = 5*x**2" and "and a known part" in repr(lumped)


def test_functions_of_unknowns_are_parameters():
    constants = tp.program.Constants()
    a, b = constants("a", None, named=True), constants("b", None, named=True)

    def body(x):
        return x * cs.sin(a) + x * x * cs.cos(a + b) * b + cs.sin(b) + cs.sqrt(1 + a * a) * x**3 + cs.exp(x)

    program = tp.program.trace("f", body, [tp.program.Port("x")], [tp.program.Port("y")], constants)
    lumped = tp.lump(program, unknown=["a", "b"])
    assert lumped.count == 4
    assert "sqrt(a**2 + 1)" in map(str, lumped.expressions)
    bound = {"a": 0.4, "b": 1.3}
    theta = np.array([float(e.subs(bound)) for e in lumped.expressions])
    for x in (-0.7, 1.9):
        assert abs(lumped.known(x) + lumped.regressor(x) @ theta - program.bind(**bound)(x)) < 1e-13


def test_a_prescribed_sum_of_all_others_is_named_as_that():
    into = ["L1*m1 + L1*m2", "L2*m2", "L1*m1 + L1*m2 + 2*L2*m2"]
    lumped = tp.lump(tp.gravity_torque(tp.load("lecture2r")), unknown=["m?", "L?"], into=into)
    assert lumped.identities == ("Theta3 = Theta1 + 2*Theta2",)
