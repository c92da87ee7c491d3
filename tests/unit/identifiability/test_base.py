"""Base parameters: what they say, how representatives are chosen, symbols, and bad arguments."""

import dataclasses
import json
import pickle
from fractions import Fraction

import casadi as cs
import numpy as np
import pytest
import sympy
from refusals import refused

import taupi as tp
from taupi.identifiability.combination import Combination, shown_number
from taupi.identifiability.rational_reconstruction import ResidueTable, reconstruct


@pytest.fixture(scope="module")
def elbow():
    return tp.base_parameters(tp.load("elbow2r"), symbolic=True)


def test_the_planar_elbow_in_symbols(elbow):
    assert elbow.count == 6
    assert [str(e) for e in elbow.expressions] == [
        "upper_arm.mx + a1*upper_arm.m + a1*forearm.m",
        "upper_arm.my",
        "upper_arm.Izz - a1**2*upper_arm.m - a1**2*forearm.m",
        "forearm.mx + a2*forearm.m",
        "forearm.my",
        "forearm.Izz - a2**2*forearm.m",
    ]
    assert elbow.names[:2] == ("upper_arm.mxR", "upper_arm.my")
    m1, m2, mx, a1 = sympy.symbols("upper_arm.m forearm.m upper_arm.mx a1")
    assert elbow.expressions[0].sympy() == sympy.expand(mx + a1 * (m1 + m2))
    assert sympy.sympify(elbow.expressions[1]) == sympy.Symbol("upper_arm.my")
    assert elbow.expressions[2].latex() == (
        r"I_{zz}^{\mathrm{upper\_arm}} - a_{1}^{2}\,m^{\mathrm{upper\_arm}} - a_{1}^{2}\,m^{\mathrm{forearm}}"
    )


def test_classes_and_where(elbow):
    assert elbow.classes["forearm.my"] == "independent"
    assert elbow.classes["forearm.m"] == "combined"
    assert elbow.classes["forearm.Ixx"] == "unidentifiable"
    assert list(elbow.classes) == list(elbow.standard.names)
    a1, a2 = sympy.symbols("a1 a2")
    assert elbow.where("forearm.m") == {
        "upper_arm.mxR": a1,
        "upper_arm.IzzR": -(a1**2),
        "forearm.mxR": a2,
        "forearm.IzzR": -(a2**2),
    }
    assert elbow.where("forearm.Ixx") == {}


@pytest.mark.parametrize("name", ["elbow2r", "lecture2r", "planar3r", "puma560"])
@pytest.mark.parametrize("order", ["symoro", "taupi"])
def test_symbols_agree_with_numbers(name, order):
    robot = tp.load(name)
    symbolic = tp.base_parameters(robot, symbolic=True, order=order)
    rng = np.random.default_rng(1)
    geometry = [s for s in sympy.Matrix(symbolic.B.tolist()).free_symbols]
    assert geometry
    for _ in range(2):
        values = {s.name: Fraction(int(rng.integers(1, 99)), int(rng.integers(1, 99))) for s in geometry}
        numeric = tp.base_parameters(robot.bind(**values), order=order)
        assert numeric.columns == symbolic.columns
        known = {s: sympy.Rational(values[s.name].numerator, values[s.name].denominator) for s in geometry}
        for got, want in zip(symbolic.B.ravel(), numeric.B.ravel(), strict=True):
            assert sympy.sympify(got).subs(known) == sympy.Rational(want.numerator, want.denominator)


def test_puma_with_a_dividing_representative_in_symbols():
    base = tp.base_parameters(tp.load("puma560"), symbolic=True, keep=("link3.m",))
    a3 = sympy.Symbol("a3")
    assert base.where("link3.mx")["link3.mR"] == 1 / a3
    assert base.classes == tp.base_parameters(tp.load("puma560")).classes


def test_unbound_symbols_are_kept_and_angles_too():
    rows = [{"a": "a1", "alpha": "al"}, {"a": "a2", "d": "d2", "alpha": "be"}, {"a": 0.25}]
    arm = tp.Robot.from_dh(rows)
    base = tp.base_parameters(arm)
    for al, be, a1, a2, d2 in [(0.3, -1.2, 0.5, 0.7, 0.1), (1.1, 0.4, -0.2, 0.3, 0.9)]:
        known = {"al": al, "be": be, "a1": a1, "a2": a2, "d2": d2}
        bound = arm.bind(**known)
        b = tp.base_parameters(bound, symbolic=True)
        assert np.abs(b.projection - np.array(sympy.Matrix(base.B.tolist()).subs(known), dtype=float)).max() < 1e-12
        states = np.random.default_rng(0).uniform(-2, 2, (3, 20, 3))
        full, part = tp.regressor(bound)(*states), b.regressor()(*states)
        assert np.abs(part @ b.projection - full).max() < 1e-11 * np.abs(b.projection).max()
    with pytest.raises(tp.TaupiError, match=r"robot\.bind\("):
        base.project(np.zeros(30))
    heavy = arm.with_parameters([1.0] * 30)
    assert json.loads(json.dumps(tp.base_parameters(heavy).to_dict()))["base"][0]["value"] is None


def test_symbols_that_meet_in_one_angle_and_quotients_of_symbols():
    arm = tp.Robot.from_dh([{"alpha": "a + b", "a": "l/k"}, {"a": "l", "theta": "c"}])
    base = tp.base_parameters(arm, order="taupi")
    known = {"a": 0.3, "b": 0.5, "l": 0.7, "k": 2.5, "c": 0.2}
    bound = arm.bind(**known)
    projection = np.array(sympy.Matrix(base.B.tolist()).subs(known), dtype=float)
    states = np.random.default_rng(0).uniform(-2, 2, (3, 20, 2))
    full = tp.regressor(bound)(*states)
    assert np.abs(full[..., list(base.columns)] @ projection - full).max() < 1e-11


def test_numbers_by_default_where_symbols_have_values():
    base = tp.base_parameters(tp.load("puma560"))
    assert all(isinstance(c, Fraction) for c in base.B.ravel())
    assert base.where("link6.m")["link2.mxR"] == Fraction("0.4318")
    assert "0.4318*link6.m" in str(base.expressions[1])


def test_order_and_keep_choose_representatives():
    robot = tp.load("puma560")
    first = tp.base_parameters(robot, order="taupi")
    names = tp.regressor(robot).independent().parameters.names
    assert tuple(first.standard.names[k] for k in first.columns) == names
    kept = tp.base_parameters(robot, keep=("link6.m", "link2.m"))
    held = [kept.standard.names[k] for k in kept.columns]
    assert {"link6.m", "link2.m"} <= set(held)
    liked = tp.base_parameters(robot, order=["link2.m", "link1.m"])  # link1.m cannot be, and is only a wish
    assert "link2.m" in [liked.standard.names[k] for k in liked.columns]
    assert kept.count == liked.count == first.count == 36


def test_rotor_inertia_is_joined_to_the_first_two_links():
    base = tp.base_parameters(tp.load("panda"), terms=("rotor",))
    joined = [n for n, c in base.classes.items() if n.endswith(".rotor") and c == "combined"]
    assert joined == ["panda_joint1.rotor", "panda_joint2.rotor"]


def test_offset_and_mass_of_a_vertical_slide_are_one():
    lift = tp.Robot.from_dh([{"joint": "prismatic"}], gravity=(0, 0, "-9.81"))
    base = tp.base_parameters(lift, terms=("offset", "rotor"))
    assert base.count == 2
    # tau = m (qdd + 9.81) + tau_0 + I_a qdd
    assert base.classes["link1.m"] == base.classes["joint1.offset"] == "combined"
    pi = dict.fromkeys(base.standard.names, 0.0) | {"link1.m": 2.0, "joint1.offset": 1.0, "joint1.rotor": 0.5}
    tau = base.regressor()([0.3], [0.1], [0.7]) @ base.project(list(pi.values()))
    assert abs(tau[0] - (2.0 * (0.7 + 9.81) + 1.0 + 0.5 * 0.7)) < 1e-12


@dataclasses.dataclass(frozen=True)
class Spring:
    """tau = k q, and cos(3 q / 2) for good measure: an angle used as a number, and a part of an angle."""

    name = "spring"
    half: bool = False

    def unit(self, prismatic):
        return "N m"

    def value(self, joint):
        return Fraction(1, 2)

    def column(self, q, qd, qdd):
        return cs.cos(1.5 * q) if self.half else q


@pytest.mark.parametrize("half", [False, True])
def test_terms_of_ones_own(half):
    robot = tp.load("elbow2r")
    base = tp.base_parameters(robot, terms=(Spring(half), "stribeck"))
    assert base.count == 10
    assert base.classes["elbow.spring"] == "independent"


@dataclasses.dataclass(frozen=True)
class Weight:
    """tau = w cos(q): at the first joint of an upright arm the same as its own weight."""

    name = "weight"

    def unit(self, prismatic):
        return "N m"

    def value(self, joint):
        return Fraction(0)

    def column(self, q, qd, qdd):
        return cs.cos(q)


def test_a_term_that_weight_has_already_is_joined_only_where_it_is_the_same():
    base = tp.base_parameters(tp.load("elbow2r"), terms=(Weight(),))
    # mx1 adds g cos(q1), and 2 a1 qdd1 as Izz1 does: the spring is the one without the other.
    assert base.count == 7
    assert base.where("shoulder.weight") == {"upper_arm.mxR": Fraction(100, 981), "upper_arm.IzzR": Fraction(-200, 981)}
    assert base.classes["elbow.weight"] == "independent"
    still = tp.Robot.from_dh([{"joint": "prismatic"}], gravity=(0, 0, 0))
    assert tp.base_parameters(still, terms=("rotor",)).classes["joint1.rotor"] == "combined"


def test_projection_of_batches_and_values():
    robot = tp.load("panda")
    base = tp.base_parameters(robot)
    pi = np.random.default_rng(0).normal(size=(4, 5, 70))
    got = base.project(pi)
    assert got.shape == (4, 5, 43)
    assert np.abs(got[2, 3] - base.projection @ pi[2, 3]).max() < 1e-12
    exact_values = [sum(c * robot.parameters.exact[k] for k, c in row) for row in base.rows]
    assert list(base.parameters.exact) == exact_values
    assert np.abs(base.project(robot.parameters) - base.parameters.values).max() < 1e-12
    y = base.regressor()
    assert y.parameters.names == base.names
    assert y.outputs[0].shape == (7, 43)


def test_results_are_frozen_remembered_and_travel():
    robot = tp.load("elbow2r")
    base = tp.base_parameters(robot)
    assert tp.base_parameters(robot) is base
    with pytest.raises(dataclasses.FrozenInstanceError):
        base.columns = ()
    with pytest.raises(ValueError, match="read-only"):
        base.B[0, 0] = Fraction(1)
    assert pickle.loads(pickle.dumps(base)) == base
    data = json.loads(json.dumps(base.to_dict()))
    assert data["count"] == 6 and data["classes"]["forearm.m"] == "combined"
    assert Fraction(data["base"][0]["coefficients"]["forearm.m"]) == 1


def test_it_reads_well():
    base = tp.base_parameters(tp.load("elbow2r"), symbolic=True)
    text = repr(base)
    assert text.startswith("6 base parameters of 20 (elbow2r)\n  upper_arm.mxR   = upper_arm.mx + a1*upper_arm.m")
    assert "no torque depends on upper_arm.mz" in text
    assert max(map(len, repr(tp.base_parameters(tp.load("puma560"))).splitlines()[:-1])) <= 120
    assert "<td>upper_arm.mx + a1*upper_arm.m + a1*forearm.m</td>" in base._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keep": ("forearm.Ixx",)}, "no torque depends on it"),
        (
            {"keep": ("forearm.m", "forearm.mx", "forearm.Izz", "upper_arm.m", "upper_arm.mx")},
            "depends on parameters that are kept",
        ),
        ({"keep": ("forearm.mass",)}, "No parameter 'forearm.mass'"),
        ({"keep": 3}, "keep is 3"),
        ({"order": "khalil"}, "No parameter order 'khalil'"),
        ({"order": (1, 2)}, r"order is \(1, 2\)"),
        ({"symbolic": "yes"}, "symbolic is 'yes'"),
        ({"terms": ("dry",)}, "No term 'dry'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(tp.TaupiError, match=message):
        tp.base_parameters(tp.load("elbow2r"), **arguments)


@pytest.mark.parametrize(
    ("pi", "message"),
    [
        (np.zeros(10), r"shape \(10,\), expected \(\.\.\., 22\): ten per link, then viscous"),
        (3.0, "shape"),
        ([[1.0], [1.0, 2.0]], "ragged"),
        (["a"] * 22, "holds"),
        ([sympy.Symbol("m")] * 22, "symbols"),
    ],
)
def test_bad_vectors(pi, message):
    base = tp.base_parameters(tp.load("elbow2r"), terms=("viscous",))
    with pytest.raises(tp.TaupiError, match=message):
        base.project(pi)


def test_not_a_robot():
    with refused("robot", got="str"):
        tp.base_parameters("puma560")


def test_a_root_in_the_geometry_is_refused_with_a_way_out():
    arm = tp.Robot.from_dh([{"a": "sqrt(l)"}, {"a": 1}], values={"l": 2})
    with pytest.raises(tp.TaupiError, match="give its value as a number"):
        tp.base_parameters(arm)


def test_a_named_half_turn_is_a_half_turn():
    """pi is no fraction: an angle with a name and the value pi has to be met exactly, or the axes are not parallel."""
    rows = [{"a": 0.3, "alpha": "twist"}, {"a": 0.2, "alpha": "twist"}, {"a": 0.1}]
    for value, count in (("pi", 9), ("-pi/2", 17), ("2*pi", 9), ("0.3", 17)):
        arm = tp.Robot.from_dh(rows, gravity=(0, "-9.81", 0), values={"twist": value})
        plain = [{**r, "alpha": value} if "alpha" in r else r for r in rows]
        assert tp.base_parameters(arm).count == count
        assert tp.base_parameters(tp.Robot.from_dh(plain, gravity=(0, "-9.81", 0))).count == count


def test_numbers_as_people_write_them():
    shown = [shown_number(Fraction(x)) for x in ("3", "-0.05", "1/3", "12345678901/3", "1/8", "0.18645124", "-20")]
    assert shown == ["3", "-0.05", "1/3", "12345678901/3", "0.125", "0.18645124", "-20"]
    assert shown_number(Fraction(1, 2**90)).startswith("~8.07")
    # Fifteen characters are shown as they are, one more is rounded.
    assert shown_number(Fraction(1234567, 9999991)) == "1234567/9999991"
    assert shown_number(Fraction(-1234567, 9999991)) == "~-0.1234568111"
    assert str(Combination("x", (("a", Fraction(-1)), ("b", Fraction(-1, 2))))) == "-a - 0.5*b"


def test_fractions_from_residues():
    primes = [2147483647, 2147483629, 2147483587, 2147483579]
    wanted = {"a": Fraction(-355, 113), "b": Fraction(10**9 + 7, 3**18), "c": Fraction(0)}
    table = ResidueTable()
    for p in primes[:1]:
        table.add(p, {k: v.numerator * pow(v.denominator, -1, p) % p for k, v in wanted.items()})
    assert table.fractions() is None
    for p in primes[1:]:
        table.add(p, {k: v.numerator * pow(v.denominator, -1, p) % p for k, v in wanted.items() if v})
    assert table.fractions() == wanted
    assert reconstruct(1, 7) is None
