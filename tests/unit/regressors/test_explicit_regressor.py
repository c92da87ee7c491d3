"""Explicit regressors of an arm, link by link."""

import numpy as np
import pytest
from formulas import constants, evaluated, inputs
from refusals import refused
from support import ROUNDING, error, random_robot, random_states

import taupi as tp

PUMA = [
    {"alpha": "pi/2"},
    {"a": "a2"},
    {"a": "a3", "alpha": "-pi/2", "d": "d3"},
    {"alpha": "pi/2", "d": "d4"},
    {"alpha": "-pi/2"},
    {},
]
PUMA = [{"a": 0, "alpha": 0, "d": 0, "theta": 0} | row for row in PUMA]


@pytest.mark.parametrize("seed", [1, 3, 8])
def test_parts_of_the_links_add_up_to_the_regressors(seed):
    robot = random_robot(seed, joints=3)
    ex = tp.explicit_regressor(robot)
    for form, builder, count in (("classical", tp.regressor, 3), ("slotine-li", tp.slotine_li_regressor, 4)):
        states = [s[0] for s in random_states(robot, 1, count)]
        full = builder(robot)(*states)
        for i in range(3):
            block = ex.link(i, form)
            values = inputs(builder(robot), states) | constants(builder(robot))
            x0, x1, x2, w0, w1, w2, z0, z1 = evaluated(block, values)
            part = np.column_stack([x0 - w0 + z0, x1 - w1 + z1, x2 - w2])
            assert error(part, full[:, 10 * i : 10 * i + 10]) < ROUNDING


def test_the_puma_with_symbolic_geometry_and_gravity_by_two_routes():
    arm = tp.Robot.from_dh(PUMA, gravity=("gx", "gy", "gz"))
    Y, Y_r = tp.explicit_regressor(arm)
    assert tp.regressor(arm).sympy() == Y
    assert Y_r == tp.slotine_li_regressor(arm).sympy()


def test_zero_columns_of_the_puma():
    ex = tp.explicit_regressor(tp.load("puma560"))
    assert len(ex.zero_columns) == 9 and "link1.Iyy" not in ex.zero_columns
    assert ex.reduced.classical_program.outputs[0].shape == (6, 51)
    assert "9 columns vanish" in repr(ex)


def test_wrong_link_and_form_are_named():
    ex = tp.explicit_regressor(tp.load("elbow2r"))
    with pytest.raises(tp.TaupiError, match=r"No link 'wrist'.*forearm"):
        ex.link("wrist")
    with pytest.raises(tp.TaupiError, match="No link '7'"):
        ex.link(7)
    with refused("form", name="slotine"):
        ex.link(0, form="slotine")


def test_an_arm_of_symbolic_lengths_is_a_card_in_a_notebook():
    arm = tp.Robot.from_dh([dict(a="l1"), dict(a="l2")])
    both = tp.explicit_regressor(arm)
    for card in (both._repr_html_(), both.reduced._repr_html_(), both.classical_program._repr_html_()):
        assert card.startswith("<")
    # Folding with values can only save operations.
    bound = both.classical_program.bind(l1=0.5, l2=0.5)
    assert 0 < bound.operations.total <= both.classical_program.operations.total


def test_matlab_counts_columns_from_one():
    Y = tp.regressor(tp.load("elbow2r"))
    first = Y.parameters.names[0]
    assert f"  1  {first}," in Y.matlab()
    assert f"  0  {first}," in Y.python()
