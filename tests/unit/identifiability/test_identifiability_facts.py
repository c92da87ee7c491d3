"""Single facts of identifiability: sentences, shown numbers, reconstructed fractions, groups in a report."""

from fractions import Fraction

import numpy as np
import pytest

import taupi as tp
from taupi.identifiability.combination import shown_number
from taupi.identifiability.rational_reconstruction import reconstruct


def test_a_pendulum_about_its_own_axis_combines_nothing():
    # Its torque is Izz qdd + g (mx cos q - my sin q): three functions of the motion, each with a parameter of its own.
    base = tp.base_parameters(tp.Robot.from_dh([{}], gravity=(0, -9.81, 0)), terms=())
    assert {n.split(".")[-1] for n, kind in base.classes.items() if kind == "independent"} == {"mx", "my", "Izz"}
    assert base.sentence == ""


@pytest.mark.parametrize("denominator", [3, 7, 11, 22, 33, 110, 121])
def test_a_decimal_that_does_not_end_is_shown_as_a_fraction(denominator):
    assert shown_number(Fraction(1, denominator)) == f"1/{denominator}"


def test_eighteen_decimals_are_shown_in_full():
    assert shown_number(-Fraction(123456789012345677, 10**18)) == "-0.123456789012345677"


def test_a_fraction_too_large_for_its_modulus_is_refused():
    # There are about 2 |n| d fractions as small as n/d; a random residue is one of them with probability 2 |n| d / p < 2^-24.
    p = 2**31 - 1
    for n, d in ((3, 5), (11, 13)):
        small = 2 * n * d * 2**24 < p
        assert reconstruct(n * pow(d, -1, p) % p, p) == (Fraction(n, d) if small else None)


def test_the_groups_of_a_report_are_those_of_several_parameters():
    # At one speed, the viscous, dry and constant friction of the shoulder are all constants; the elbow reverses.
    base = tp.base_parameters(tp.load("elbow2r"), terms=("viscous", "coulomb", "offset"))
    t = np.linspace(0, 5, 200)
    one = np.ones_like(t)
    q, qd = np.stack([0.4 * t, np.sin(1.3 * t)], axis=1), np.stack([0.4 * one, 1.3 * np.cos(1.3 * t)], axis=1)
    groups = tp.conditioning(base, q, qd, np.stack([0 * one, -1.69 * np.sin(1.3 * t)], axis=1)).to_dict()["groups"]
    assert list(groups) == ["shoulder.viscous"]
    assert all(f"shoulder.{name}" in groups["shoulder.viscous"] for name in ("viscous", "coulomb", "offset"))
