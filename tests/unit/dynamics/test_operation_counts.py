"""How many operations programs of bolted arms take: what is there for other robots must not cost them any."""

import pytest

import taupi as tp

COUNTS = {
    ("puma560", "inverse_dynamics"): 410,
    ("puma560", "regressor"): 1021,
    ("puma560", "slotine_li_regressor"): 1316,
    ("puma560", "mass_matrix"): 177,
    ("puma560", "forward_dynamics"): 706,
    ("puma560", "coriolis_matrix"): 2146,
    ("panda", "inverse_dynamics"): 686,
    ("panda", "regressor"): 1670,
    ("panda", "slotine_li_regressor"): 2027,
    ("panda", "mass_matrix"): 357,
    ("panda", "forward_dynamics"): 1236,
    ("panda", "coriolis_matrix"): 4683,
}


@pytest.mark.parametrize(("robot", "program"), COUNTS)
def test_bolted_arms_pay_for_no_other_robots(robot, program):
    assert getattr(tp, program)(tp.load(robot)).operations.total <= COUNTS[robot, program]
