"""One suite over every term, against its formula written out in NumPy: the code of terms is on one side only."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
from refusals import refused
from support import ROUNDING, error

import taupi as tp
from taupi.dynamics.terms import TERMS
from taupi.errors import TaupiError

GEAR, ROTOR = np.array([50.0, -8.0]), np.array([2e-4, 3e-3])
MU, BEND, SPEED = np.array([0.06, 0.2]), np.array([0.5, -0.3]), np.array([2.0, 3.0])
VISCOUS, COULOMB, OFFSET, HEIGHT = (np.array(v) for v in ([1.5, 2.5], [0.7, 0.9], [-0.3, 0.2], [0.4, 0.6]))


def _falling(speed):
    """exp(-1 / (10 v)), 0 at standstill."""
    return np.where(speed > 0, np.exp(-1 / np.where(speed > 0, 10 * speed, 1.0)), 0.0)


# Column of a term at (q, qd, qdd), and its parameter for the two joints.
FORMULAS = {
    "viscous": (lambda q, qd, qdd: qd, VISCOUS),
    "coulomb": (lambda q, qd, qdd: np.sign(qd), COULOMB),
    "offset": (lambda q, qd, qdd: np.ones_like(qd), OFFSET),
    "rotor": (lambda q, qd, qdd: qdd, GEAR**2 * ROTOR),
    "spring": (lambda q, qd, qdd: q, np.zeros(2)),
    "stribeck": (lambda q, qd, qdd: np.sign(qd) * np.exp(-((qd / 0.1) ** 2)), HEIGHT),
    "stribeck_rise": (lambda q, qd, qdd: -np.sign(qd) * np.exp(-np.abs(qd) / 0.1), np.zeros(2)),
    "stribeck_fall": (lambda q, qd, qdd: -np.sign(qd) * _falling(np.abs(qd)), np.zeros(2)),
}
# Terms that change dry friction by a factor, with its formula at (qd, load): what they are beside Coulomb friction.
MODULATED = {
    "load": (lambda qd, load: np.abs(load), MU),
    "curve": (lambda qd, load: np.exp(-np.abs(qd) / (0.3 * SPEED)), BEND),
}
# A turning and a sliding joint, with speeds forward, backward, zero and slow.
STATES = (
    np.array([[0.3, -0.4], [0.2, 0.1], [1.0, 2.0], [-1.5, 0.7]]),
    np.array([[2.0, -3.0], [0.0, 0.05], [-0.02, 0.0], [0.5, 0.5]]),
)
QDD = np.array([[1.0, -2.0], [0.5, 0.0], [-3.0, 4.0], [0.1, 0.2]])


@pytest.fixture(scope="module")
def arm():
    rows = [{"a": 0.5, "alpha": "pi/2"}, {"d": 0.1, "joint": "prismatic"}]
    links = [{"m": 2, "com": (0.1, 0, 0), "inertia": (0.1, 0, 0, 0.2, 0, 0.3)}] * 2
    links = [dict(k, name=f"l{i}") for i, k in enumerate(links)]
    robot = tp.Robot.from_dh(rows, links=links)
    friction = {"viscous": VISCOUS, "coulomb": COULOMB, "offset": OFFSET, "stribeck": HEIGHT}
    robot = robot.with_friction(**friction, load=MU, curve=BEND)
    return robot.with_transmissions(gear_ratio=GEAR, rotor_inertia=ROTOR)


def test_every_term_has_a_formula_here():
    assert {*FORMULAS, *MODULATED} == set(TERMS)


@pytest.mark.parametrize("name", FORMULAS)
def test_torque_columns_and_parameters(arm, name):
    (q, qd), (column, parameter) = STATES, FORMULAS[name]
    want = column(q, qd, QDD) * parameter
    plain, full = tp.inverse_dynamics(arm), tp.inverse_dynamics(arm, terms=(name,))
    assert error(full(q, qd, QDD) - plain(q, qd, QDD), want) < ROUNDING
    y = tp.regressor(arm, terms=(name,))
    columns = y(q, qd, QDD)[:, :, 20:]
    assert error(np.einsum("bii->bi", columns), column(q, qd, QDD)) < ROUNDING
    assert not columns[:, [0, 1], [1, 0]].any()
    assert error(y.parameters.values[20:], parameter) < ROUNDING
    assert y.parameters.names[20:] == (f"joint1.{name}", f"joint2.{name}")
    # At the reference velocity and acceleration in the adaptive form.
    reference = tp.slotine_li_regressor(arm, terms=(name,))(q, 0 * qd, qd, QDD)[:, :, 20:]
    assert error(reference, columns) < ROUNDING


def object_of(name):
    return tp.terms.Curve(velocity=tuple(SPEED)) if name == "curve" else name


def everything():
    return tuple(map(object_of, TERMS))


@pytest.mark.parametrize("name", MODULATED)
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_terms_that_change_dry_friction(arm, name, width):
    """s is that of the Coulomb term beside them, and the load all that is neither friction nor offset."""
    (q, qd), (factor, parameter) = STATES, MODULATED[name]
    s = np.tanh(qd / width) if width else np.sign(qd)
    others = ("rotor", "viscous", tp.terms.Coulomb(width), "offset")
    load = tp.inverse_dynamics(arm, terms=("rotor",))(q, qd, QDD)
    want = s * factor(qd, load) * parameter
    plain, full = (tp.inverse_dynamics(arm, terms=terms) for terms in (others, (*others, object_of(name))))
    assert error(full(q, qd, QDD) - plain(q, qd, QDD), want) < ROUNDING
    y = tp.regressor(arm, terms=(*others, object_of(name)))
    assert [p.name for p in y.inputs] == ["q", "qd", "qdd", *(["load"] if name == "load" else [])]
    rows = y(q, qd, QDD, *([load] if name == "load" else []))
    assert error(np.einsum("bii->bi", rows[:, :, -2:]), s * factor(qd, load)) < ROUNDING
    assert not rows[:, [0, 1], [-1, -2]].any()
    assert error(rows @ y.parameters.values, full(q, qd, QDD)) < ROUNDING
    assert y.parameters.names[-2:] == (f"joint1.{name}", f"joint2.{name}")
    assert error(tp.mass_matrix(arm, terms=(*others, object_of(name)))(q), tp.mass_matrix(arm, terms=others)(q)) == 0


def test_loads_come_from_springs_wrenches_and_disturbances_too(arm):
    q, qd = STATES
    wrench, more = np.array([0.1, -0.2, 0.3, 4.0, -5.0, 6.0]), np.array([1.5, -2.5])
    options = {"tip_wrench": "geometric", "disturbance": True}
    inputs = (q, qd, QDD, np.broadcast_to(wrench, (4, 6)), np.broadcast_to(more, (4, 2)))
    load = tp.inverse_dynamics(arm, terms=("rotor", "spring"), **options)(*inputs)
    terms = ("rotor", "spring", "viscous", "coulomb", "offset")
    without, complete = (tp.inverse_dynamics(arm, terms=t, **options)(*inputs) for t in (terms, (*terms, "load")))
    assert error(complete - without, MU * np.abs(load) * np.sign(qd)) < ROUNDING


@pytest.mark.parametrize("algorithm", ["articulated", "cholesky"])
def test_forward_dynamics_undoes_inverse_dynamics_with_loads(arm, algorithm):
    """Though the load depends on the acceleration, at either sign of either."""
    (q, qd), terms = STATES, everything()
    for qdd in (QDD, -40 * QDD):
        tau = tp.inverse_dynamics(arm, terms=terms)(q, qd, qdd)
        assert error(tp.forward_dynamics(arm, terms=terms, algorithm=algorithm)(q, qd, tau), qdd) < 1e-10


def test_bias_is_the_torque_without_acceleration(arm):
    (q, qd), terms = STATES, everything()
    want = tp.inverse_dynamics(arm, terms=terms)(q, qd, 0 * QDD)
    assert error(tp.bias_torque(arm, terms=terms)(q, qd), want) < ROUNDING


def test_terms_that_change_dry_friction_are_refused_where_they_cannot_be(arm):
    for name in ("load", "curve"):
        with pytest.raises(
            TaupiError, match=rf"The term '{name}' changes dry friction, and there is none\. Add 'coulomb'"
        ):
            tp.regressor(arm, terms=(object_of(name),))
        with pytest.raises(TaupiError, match=f"Laws have no term '{name}'"):
            tp.SlotineLi(arm, terms=("coulomb", object_of(name))).torque(*np.zeros((5, 2)))
        with pytest.raises(TaupiError, match="is for rigid joints"):
            tp.elastic_regressor(arm.with_transmissions(stiffness=100.0), terms=("coulomb", object_of(name)))
    with pytest.raises(TaupiError, match="'load' is not linear in the parameters"):
        tp.slotine_li_regressor(arm, terms=("coulomb", "load"))
    with refused("load", joint="joint1", got=1.0):
        tp.inverse_dynamics(arm.with_friction(load=1.0), terms=("coulomb", "load"))
    with refused("load", joint="joint1", got=-0.1):
        tp.forward_dynamics(arm.with_friction(load=-0.1), terms=("coulomb", "load"))
    with pytest.raises(TaupiError, match="velocity of the term 'curve' is 0"):
        tp.inverse_dynamics(arm, terms=("coulomb", "curve"))


@pytest.mark.parametrize(
    "bad", [{"share": 0}, {"share": -1}, {"share": np.nan}, {"velocity": -1.0}, {"velocity": "fast"}]
)
def test_the_shape_of_a_curve_is_checked(bad):
    with pytest.raises(TaupiError, match="expected"):
        tp.terms.Curve(**bad)


def test_only_rotors_add_to_the_mass_matrix(arm):
    q = STATES[0]
    plain = tp.mass_matrix(arm)(q)
    assert (
        error(tp.mass_matrix(arm, terms=("rotor",))(q) - plain, np.broadcast_to(np.diag(GEAR**2 * ROTOR), plain.shape))
        < ROUNDING
    )
    assert error(tp.mass_matrix(arm, terms=("viscous", "coulomb", "offset", "stribeck"))(q), plain) < ROUNDING


def test_forward_dynamics_with_all_terms_by_hand(arm):
    (q, qd), tau = STATES, QDD
    friction = sum(c(q, qd, 0 * qd) * p for c, p in FORMULAS.values())
    mass = tp.mass_matrix(arm)(q) + np.diag(GEAR**2 * ROTOR)
    want = np.linalg.solve(mass, (tau - friction - tp.bias_torque(arm)(q, qd))[..., None])[..., 0]
    for algorithm in ("articulated", "cholesky"):
        assert error(tp.forward_dynamics(arm, terms=tuple(FORMULAS), algorithm=algorithm)(q, qd, tau), want) < 1e-10


def test_units_follow_the_joint(arm):
    units = dict(
        zip(*(getattr(tp.regressor(arm, terms=everything()).parameters, k) for k in ("names", "units")), strict=True)
    )
    assert {units[f"{joint}.load"] for joint in ("joint1", "joint2")} == {"1"}
    assert (units["joint1.curve"], units["joint2.curve"]) == ("N m", "N")
    assert units["joint1.viscous"] == "N m s/rad"
    assert units["joint2.viscous"] == "N s/m"
    assert (units["joint1.rotor"], units["joint2.rotor"]) == ("kg m^2", "kg")
    assert {units[f"joint2.{t}"] for t in ("coulomb", "offset", "stribeck")} == {"N"}


def test_order_of_terms_is_the_order_of_columns(arm):
    names = tp.regressor(arm, terms=("rotor", tp.terms.Viscous())).parameters.names[20:]
    assert names == ("joint1.rotor", "joint2.rotor", "joint1.viscous", "joint2.viscous")
    assert tp.regressor(arm, terms=(tp.terms.Viscous,)).parameters.names[20:] == names[2:]


@pytest.mark.parametrize("bad", [{"velocity": 0}, {"velocity": -1.0}, {"velocity": np.inf}, {"exponent": 3}])
def test_stribeck_shape_is_checked(bad):
    with pytest.raises(TaupiError, match="expected"):
        tp.terms.Stribeck(**bad)


@pytest.mark.parametrize("kind", [tp.terms.Stribeck, tp.terms.StribeckRise, tp.terms.StribeckFall, tp.terms.Coulomb])
def test_shapes_may_differ_from_joint_to_joint(arm, kind):
    q, qd = STATES
    both = tp.regressor(arm, terms=(kind((0.05, 0.3)),))(q, qd, QDD)[:, :, 20:]
    for i, shape in enumerate((0.05, 0.3)):
        assert error(both[:, i, i], tp.regressor(arm, terms=(kind(shape),))(q, qd, QDD)[:, i, 20 + i]) < ROUNDING
    with pytest.raises(TaupiError, match="one per joint"):
        tp.regressor(arm, terms=(kind((0.05,)),))


@pytest.mark.parametrize("bad", [0, -1.0, np.inf, "fast", (0.1, 0.0), ()])
def test_shapes_of_the_two_exponentials_are_checked(bad):
    for kind in (tp.terms.StribeckRise, tp.terms.StribeckFall):
        with pytest.raises(TaupiError, match="expected a positive number"):
            kind(bad)
    with refused("fall_slowness"):
        tp.terms.StribeckCurve(0.1, 0.2, fall_slowness=bad)


def test_a_curve_is_its_columns(arm):
    (q, qd), curve = STATES, tp.terms.StribeckCurve.document()
    values = np.concatenate([curve.coulomb, curve.viscous, curve.rise, curve.fall])
    columns = tp.regressor(arm, terms=curve.columns)(q, qd, QDD)[:, :, 20:]
    got = tp.inverse_dynamics(arm, terms=(curve,))(q, qd, QDD) - tp.inverse_dynamics(arm)(q, qd, QDD)
    assert error(got, columns @ values) < ROUNDING
    assert error(curve.torque(qd), columns @ values) < ROUNDING
    assert tp.regressor(arm, terms=(curve,)).parameters.values[20:].tolist() == [1.0, 1.0]


def test_a_smooth_curve_is_the_same_away_from_standstill():
    curve, qd = tp.terms.StribeckCurve.document(), np.array([[0.3, -0.3], [0.0, 0.0], [1e-5, -1e-5]])
    smooth = curve.smooth(0.01).torque(qd)
    assert error(smooth[0], curve.torque(qd)[0]) < 1e-12
    assert not smooth[1].any()
    # F(0+) v / smoothing, with F(0+) = f2 - f3
    slope = (np.array(curve.coulomb) - curve.rise) / 0.01 + curve.viscous
    assert error(smooth[2], slope * qd[2]) < 1e-3 * np.abs(smooth[2]).max()


def test_own_terms(arm):
    @dataclasses.dataclass(frozen=True)
    class Spring:
        name: ClassVar[str] = "spring"

        def unit(self, prismatic):
            return "N/m" if prismatic else "N m/rad"

        def value(self, joint):
            return 2.5

        def column(self, q, qd, qdd):
            return q

    q, qd = STATES
    got = tp.inverse_dynamics(arm, terms=(Spring(),))(q, qd, QDD) - tp.inverse_dynamics(arm)(q, qd, QDD)
    assert error(got, 2.5 * q) < ROUNDING


def test_bad_terms(arm):
    for bad in (None, 3):
        with pytest.raises(TaupiError, match="expected names such as"):
            tp.regressor(arm, terms=bad)
    with pytest.raises(TaupiError, match="which has no order"):
        tp.regressor(arm, terms={"viscous"})
    with pytest.raises(TaupiError, match="expected one of viscous"):
        tp.regressor(arm, terms=(3,))

    loose = type(
        "Loose",
        (),
        {"name": "loose", "__hash__": None, **{k: getattr(tp.terms.Viscous, k) for k in ("unit", "value", "column")}},
    )
    with pytest.raises(TaupiError, match="freeze its class"):
        tp.regressor(arm, terms=(loose(),))
