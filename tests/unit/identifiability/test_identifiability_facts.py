"""Single facts of identifiability: sentences, shown numbers, reconstructed fractions, groups in a report."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import taupi as tp
from taupi.identifiability.combination import shown_number
from taupi.identifiability.conditioning import conditioning_of_factor
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


@pytest.mark.parametrize("seed", range(24))
def test_mixed_arms_with_dry_friction_have_the_rank_of_many_states(seed):
    # At a few states the sign of a velocity may happen to be the same in all: dry friction then looks like a constant, such as
    # the weight of a sliding link. The rank over 400 states in doubles is the oracle; it shares only the regressor's values.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    rows = [
        dict(
            a=str(rng.choice(["0", "0.3", "0.45"])),
            alpha=float(rng.choice([0, np.pi / 2, 0.7])),
            d=str(rng.choice(["0", "0.2"])),
            joint=str(rng.choice(["revolute", "prismatic"])),
        )
        for _ in range(n)
    ]
    terms = [("rotor", "coulomb"), ("viscous", "coulomb", "offset", "rotor"), ("coulomb", "stribeck")][seed % 3]
    arm = tp.Robot.from_dh(rows, ["classic", "modified"][seed % 2])
    Y = tp.regressor(arm, terms=terms)
    stacked = Y(*rng.uniform(-2, 2, (3, 400, n))).reshape(-1, len(Y.parameters.names))
    # Columns are of size 1 and rows 800 or more: independent ones are far above, rounding far below this.
    assert tp.base_parameters(arm, terms=terms).count == np.linalg.matrix_rank(stacked, tol=1e-8)


def test_dry_friction_of_a_sliding_joint_that_was_taken_for_its_weight():
    arm = tp.Robot.from_dh([{}, dict(a="0.4"), dict(a="0.3"), dict(joint="prismatic")], "modified")
    assert tp.base_parameters(arm, terms=("rotor", "coulomb")).count == 15


@pytest.mark.parametrize(
    "rows", [[[1, 1], [0, 1e-3]], [[1, 1, 0], [0, 1e-3, 0], [0, 0, 1]], [[1, 0, 1], [0, 1, 0], [0, 0, 1e-3]]]
)
def test_two_parameters_that_hardly_differ_are_the_least_well_determined(rows):
    """Columns of length one, two of them at an angle of a thousandth: what they do differently is hardly seen, the rest well."""
    r = np.array(rows, dtype=float)
    names = "abc"[: len(r)]
    program = SimpleNamespace(parameters=SimpleNamespace(names=tuple(names)))
    found = conditioning_of_factor(program, 10, r)
    alike = {name for name, column in zip(names, r.T, strict=True) if column[0] == 1}
    assert set(found.weakest) == alike and len(alike) == 2


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_what_is_determined_does_not_depend_on_units(scale):
    """A column counts as zero beside the largest column, not by its own size: 3e-9 of it is nothing, in any unit."""
    program = SimpleNamespace(parameters=SimpleNamespace(names=("a", "b", "c")))
    found = conditioning_of_factor(program, 10, scale * np.diag([1.0, 3e-9, 0.5]))
    assert found.columns == (0, 2)
