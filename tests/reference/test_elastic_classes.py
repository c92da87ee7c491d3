"""What can be identified of elastic robots: the specification's classes, coefficients and counts."""

import dataclasses

import numpy as np
import pytest
from elastic import VECTORS, arm, ours
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError

# The vectors' coefficients come from a numeric elimination.
COEFFICIENT = 1e-6
DOWN, SIDEWAYS, NONE = (0, 0, -9.81), (0, -9.81, 0), (0, 0, 0)


def robot_of(vector):
    """The vector's robot; its overrides are geometry, gravity and mass."""
    r = VECTORS["robots"][vector["robot"]]
    over = vector["overrides"]
    assert over["a"] == r["a"] and over["m"] == r["m"]
    return arm(vector["robot"]).with_gravity(over["g0"])


@pytest.mark.parametrize("vector", VECTORS["classification"], ids=lambda v: v["tag"].replace(" ", "-"))
def test_classes_are_those_of_the_specification(vector):
    base = tp.base_parameters(robot_of(vector), elastic=True)
    assert base.count == vector["rank"]
    inertial = [name for name in base.names if name.startswith("link")]
    assert len(inertial) == vector["n_inertial_base"]
    assert list(base.unidentifiable) == [ours(n) for n in vector["unidentifiable"]]
    assert list(base.dependent) == [ours(n) for n in vector["dependent"]]
    leads = [base.standard.names[k] for k in base.columns]
    assert leads == [ours(b["lead"]) for b in vector["base"]]
    assert list(base.columns) == [b["index"] for b in vector["base"]]
    for expression, wanted, value in zip(base.expressions, vector["base"], base.parameters.values, strict=True):
        lead, *joined = expression.terms
        assert lead == (ours(wanted["lead"]), 1)
        assert {n for n, _ in joined} == {ours(n) for n in wanted["combination"]}
        for name, coefficient in joined:
            theirs = next(c for n, c in wanted["combination"].items() if ours(n) == name)
            assert float(coefficient) == pytest.approx(theirs, rel=COEFFICIENT)
        assert (base.classes[lead[0]] == "independent") == wanted["independent"]
        assert value == pytest.approx(wanted["value"], rel=COEFFICIENT, abs=1e-9)


@pytest.mark.parametrize("coupling", [True, False])
@pytest.mark.parametrize(
    ("name", "gravity", "count"),
    [
        ("planar2", SIDEWAYS, 14),
        ("planar2", NONE, 12),
        ("spatial3", DOWN, 27),
        ("spatial3", SIDEWAYS, 29),
        ("puma560", DOWN, 60),
        ("puma560", SIDEWAYS, 62),
        ("puma560", (3, 0, -9), 62),
        ("puma560", NONE, 58),
    ],
)
def test_counts_with_and_without_coupling(name, gravity, count, coupling):
    assert tp.base_parameters(arm(name).with_gravity(gravity), elastic=True, coupling=coupling).count == count


def test_the_planar_robot_in_symbols():
    """The document's four combinations, for any lengths."""
    rows = [{"a": "a1"}, {"a": "a2"}]
    robot = tp.Robot.from_dh(rows, gravity=(0, "-g", 0)).with_transmissions(
        stiffness=1, rotor_inertia="J", gear_ratio="k"
    )
    base = tp.base_parameters(robot, elastic=True)
    assert [str(e) for e in base.expressions if len(e.terms) > 1] == [
        "link1.m - (a1**(-2))*link1.Izz + (a2**(-2))*link2.Izz",
        "link2.m - (a2**(-2))*link2.Izz",
        "link1.mx + (1/a1)*link1.Izz",
        "link2.mx + (1/a2)*link2.Izz",
    ]


def test_base_regressor_makes_the_same_torques():
    robot = arm("puma560")
    base = tp.base_parameters(robot, elastic=True)
    x = np.random.default_rng(0).uniform(-1, 1, (6, 5, 6))
    Y, Yb = tp.elastic_regressor(robot)(*x), base.regressor()(*x)
    np.testing.assert_allclose(Yb @ base.projection, Y, atol=1e-10 * np.abs(Y).max())
    assert base.regressor().parameters.names == base.names
    # Enough states show as many independent columns, to doubles.
    many = np.random.default_rng(1).uniform(-2, 2, (6, 150, 6))
    W = base.regressor()(*many).reshape(-1, base.count)
    assert np.linalg.matrix_rank(W / np.linalg.norm(W, axis=0)) == base.count
    with pytest.raises(TaupiError, match="slotine_li_regressor is for rigid joints"):
        base.slotine_li_regressor()


def test_words():
    base = tp.base_parameters(tp.load("zollo2r"), elastic=True)
    assert base.sentence.startswith("6 parameters act only in sums with others: link1.m, link2.m,")
    assert "no log can determine their individual values" in base.sentence
    assert base.to_dict()["elastic"] is True and base.to_dict()["sentence"] == base.sentence
    again = tp.base_parameters(dataclasses.replace(tp.load("zollo2r"), notes=("x",)), elastic=True)
    assert repr(again) == repr(base)
    alone = base.robot.with_transmissions(joints="joint1", stiffness=None)
    assert tp.base_parameters(alone, elastic=True).classes["joint1.rotor_inertia"] == "combined"
    with pytest.raises(TaupiError, match="zollo2r has no elastic joint"):
        tp.base_parameters(tp.load("zollo2r").with_transmissions(stiffness=None), elastic=True)
    with refused("elastic", got="yes"):
        tp.base_parameters(tp.load("zollo2r"), elastic="yes")


def test_more_terms_are_told_apart():
    """Damping and friction on both sides are known one by one; an offset of a motor too."""
    terms = ("coulomb", "viscous", "offset", "damping", "link_viscous", "link_coulomb")
    base = tp.base_parameters(arm("spatial3"), terms=terms, elastic=True)
    assert base.count == 27 + 4 * 3
    assert base.classes["joint1.damping"] == base.classes["joint3.link_viscous"] == "independent"
    # At a rigid joint friction on the two sides is one.
    half = arm("spatial3").with_transmissions(joints=["joint2"], stiffness=None)
    base = tp.base_parameters(half, terms=("viscous", "link_viscous"), elastic=True)
    assert base.classes["joint2.viscous"] == "combined" and base.dependent[-1] == "joint2.link_viscous"
