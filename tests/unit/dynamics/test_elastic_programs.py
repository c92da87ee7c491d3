"""Elastic joints: what a program of them is, targets, subsets, terms, and bad input."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import sympy
from emitted import by_c, by_python
from refusals import refused
from support import error

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.formats.toml import reads, writes

SYMBOLIC = """
[robot]
convention = "classic"
gravity = [0, "-g", 0]
[[joint]]
a = "l1"
friction = { viscous = "v1", coulomb = "c1" }
transmission = { stiffness = "K1", rotor_inertia = "J1", gear_ratio = "k1" }
[[joint]]
a = "l2"
friction = { viscous = "v2" }
transmission = { stiffness = "K2", rotor_inertia = "J2", gear_ratio = "k2", damping = "D2", link_viscous = "w2" }
"""


def states(robot, count=5, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (count, k)) for k in [robot.n] * 3 + [len(robot.elastic_joints)] * 3]


def test_formulas_are_those_of_the_page():
    """The planar arm by hand: motor rows, springs and the coupling of rotor 2 with link 1."""
    robot = reads(SYMBOLIC)
    torque = tp.elastic.inverse_dynamics(robot).explicit().sympy()
    q2, t2 = sympy.symbols("q2 theta2")
    K2, J2, k2, D2, v2 = sympy.symbols("K2 J2 k2 D2 v2")
    t2d, t2dd, q2d, q1dd = sympy.symbols("thetad2 thetadd2 qd2 qdd1")
    spring = K2 * (t2 - q2) + D2 * (t2d - q2d)
    assert sympy.expand(torque[3] - (k2**2 * J2 * t2dd + k2 * J2 * q1dd + v2 * t2d + spring)) == 0
    assert sympy.expand(torque[1].coeff(K2) - (q2 - t2)) == 0
    assert sympy.simplify(sympy.diff(torque[0], t2dd) - k2 * J2) == 0
    # Bodies are empty: what remains of link 2 is its spring and its own friction.
    assert sympy.expand(torque[1] - (sympy.Symbol("w2") * q2d - spring)) == 0
    assert r"\theta_{2} - q_{2}" in tp.elastic_regressor(robot).latex()


def test_every_target_means_the_same(tmp_path):
    def folder(program):
        (tmp_path / program.name).mkdir(exist_ok=True)
        return tmp_path / program.name

    robot = tp.load("zollo2r").with_transmissions(motor_axis=[(0, 0, 1), (0, "0.6", "0.8")])
    for program in (tp.elastic_regressor(robot), tp.elastic.mass_matrix(robot), tp.elastic.inverse_dynamics(robot)):
        x = states(robot)[: len(program.inputs)]
        want = program.compile("numpy")(*x)
        assert error(program(*x), want) < 1e-13
        for run in (by_c, by_python):
            assert error(run(program, folder(program))(*x), want) < 1e-13
        one = [a[0] for a in x]
        tangents = [Fraction(float(np.tan(v / 2))) for v in one[0]]
        exact = program.exact(tangents, *([Fraction(float(v)) for v in a] for a in one[1:]))
        assert error(np.vectorize(lambda v: int(v.p) / int(v.q))(exact).astype(float), want[0]) < 1e-13
        formulas = program.sympy()
        names = {f"{p.name}{k + 1}": v for p, a in zip(program.inputs, one, strict=True) for k, v in enumerate(a)}
        got = np.array(sympy.lambdify([], formulas.subs(names))(), dtype=float).reshape(want[0].shape)
        assert error(got, want[0]) < 1e-12
    forward = tp.elastic.forward_dynamics(robot)
    x = [np.random.default_rng(1).uniform(-1, 1, (3, 2)) for _ in range(5)]
    for got, want in zip(by_c(forward, folder(forward))(*x), forward.compile("numpy")(*x), strict=True):
        assert error(got, want) < 1e-12


def test_a_subset_of_joints():
    arm = tp.load("puma560").with_transmissions(joints=["joint2", "joint3"], stiffness=[9e3, 8e3])
    assert arm.elastic_joints == ("joint2", "joint3")
    Y = tp.elastic_regressor(arm)
    assert Y.outputs[0].shape == (8, 60 + 3 * 6 + 2) and Y.inputs[3].shape == (2,)
    assert Y.parameters.names[-2:] == ("joint2.stiffness", "joint3.stiffness")
    assert tp.elastic.mass_matrix(arm).outputs[0].shape == (8, 8)
    with refused("theta", got=(6,), expected="(..., 2)"):
        Y(*[np.zeros(6)] * 6)


def test_order_names_units_and_columns():
    robot = tp.load("zollo2r").with_transmissions(damping=1)
    terms = ("coulomb", "viscous", "damping", "link_coulomb")
    grouped, linked = (tp.elastic_regressor(robot, order=o, terms=terms) for o in ("grouped", "link"))
    assert linked.parameters.names[10:17] == (
        *(f"joint1.{kind}" for kind in ("rotor_inertia", "coulomb", "viscous", "stiffness", "damping", "link_coulomb")),
        "link2.m",
    )
    assert grouped.parameters.names[28:] == (
        *("joint1.damping", "joint2.damping"),
        *("joint1.link_coulomb", "joint2.link_coulomb"),
    )
    units = dict(zip(grouped.parameters.names, grouped.parameters.units, strict=True))
    assert units["joint1.rotor_inertia"] == "kg m^2" and units["joint2.stiffness"] == "N m/rad"
    x = states(robot)
    places = [linked.parameters.layout.index(name) for name in grouped.parameters.names]
    assert error(linked(*x)[..., places], grouped(*x)) == 0
    chosen = tp.elastic_regressor(robot, columns=("*.stiffness", "link2.m"))
    assert chosen.parameters.names == ("joint1.stiffness", "joint2.stiffness", "link2.m")


def test_terms_on_either_side():
    """Friction on motor and link, damping between: each in its own row, values as stated."""
    robot = tp.load("zollo2r").with_transmissions(
        viscous=[1, 2], coulomb=0, damping=[3, 4], link_viscous=[5, 6], link_coulomb=[0.5, 0.6]
    )
    x = states(robot)
    qd, thetad = x[1], x[4]
    extra = tp.elastic.inverse_dynamics(robot)(*x) - tp.elastic.inverse_dynamics(robot, terms=())(*x)
    between = [3, 4] * (thetad - qd)
    assert error(extra[:, 2:], [1, 2] * thetad + between) < 1e-12
    assert error(extra[:, :2], [5, 6] * qd + [0.5, 0.6] * np.sign(qd) - between) < 1e-12
    smooth = tp.elastic_regressor(
        robot, terms=(tp.terms.Coulomb(0.1), tp.terms.LinkSide(tp.terms.Coulomb((0.2, 0.3))), tp.terms.Damping())
    )
    Y = smooth(*x)
    place = smooth.parameters.layout.index
    assert error(Y[:, 2, place("joint1.coulomb")], np.tanh(thetad[:, 0] / 0.1)) < 1e-12
    assert error(Y[:, 1, place("joint2.link_coulomb")], np.tanh(qd[:, 1] / 0.3)) < 1e-12
    assert error(Y[:, [1, 3], place("joint2.damping")], (thetad - qd)[:, 1:] * [-1, 1]) < 1e-12


def test_tip_wrench():
    robot = tp.load("zollo2r")
    q, qd, qdd, theta, thetad, thetadd = (x[0] for x in states(robot))
    f = np.array([0.1, 0.2, 0.3, 4.0, 5.0, 6.0])
    with_wrench = tp.elastic.inverse_dynamics(robot, tip_wrench="geometric")(q, qd, qdd, theta, thetad, thetadd, f)
    without = tp.elastic.inverse_dynamics(robot)(q, qd, qdd, theta, thetad, thetadd)
    assert error(with_wrench - without, np.r_[tp.jacobian(robot)(q).T @ f, 0, 0]) < 1e-12
    u = [3.0, -2.0]
    a, b = tp.elastic.forward_dynamics(robot, tip_wrench="geometric")(q, qd, theta, thetad, u, f)
    back = tp.elastic.inverse_dynamics(robot, tip_wrench="geometric")(q, qd, a, theta, thetad, b, f)
    assert error(back, [0, 0, *u]) < 1e-10


def test_drives_as_people_state_them():
    arm = tp.load("elbow2r").with_transmissions(stiffness=[float("inf"), "900"], rotor_inertia=1e-3)
    assert arm.elastic_joints == ("elbow",)
    assert arm.with_transmissions(stiffness=None).elastic_joints == ()
    assert arm.with_transmissions(rotor_inertia=2).elastic_joints == ("elbow",)
    both = arm.with_transmissions(joints="shoulder", stiffness=5, viscous=0.5, gear_ratio=3)
    assert [j.friction.viscous for j in both.joints] == [Fraction(1, 2), 0]
    assert [j.transmission.gear_ratio for j in both.joints] == [3, 1]
    text = writes(reads(SYMBOLIC))
    again = reads(text)
    assert [j.transmission for j in again.joints] == [j.transmission for j in reads(SYMBOLIC).joints]
    assert set(dict(again.symbols)) >= {"K1", "J1", "k1", "D2", "w2"}
    assert reads(SYMBOLIC.replace('stiffness = "K1"', "stiffness = inf")).elastic_joints == ("joint2",)


def test_default_axis_is_the_joints_own():
    """Of a joint turned in its parent, as URDF writes it."""
    robot = reads(
        """
        [[joint]]
        [[joint]]
        origin = { xyz = [0, 0, 1], rpy = ["pi/2", 0, 0] }
        axis = [0, 1, 0]
        """
    ).with_transmissions(stiffness=1, rotor_inertia=1, gear_ratio=2)
    stated = robot.with_transmissions(motor_axis=[(0, 0, 1), (0, 0, 1)])
    q = [0.3, 0.4]
    assert error(tp.elastic.mass_matrix(robot)(q), tp.elastic.mass_matrix(stated)(q)) == 0
    across = robot.with_transmissions(motor_axis=(0, 1, 0))
    assert tp.elastic.mass_matrix(robot)(q)[0, 3] == 2 and tp.elastic.mass_matrix(across)(q)[0, 3] == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: tp.elastic_regressor(tp.load("puma560")), "puma560 has no elastic joint.*with_transmissions"),
        (lambda r: tp.elastic_regressor(r, order="kind"), "No order 'kind'.*grouped, link"),
        (lambda r: tp.elastic_regressor(r, coupling="no"), "coupling is 'no', expected True or False"),
        (lambda r: tp.elastic_regressor(r, terms=("vicous",)), "No term 'vicous'. Did you mean 'viscous'"),
        (lambda r: tp.elastic_regressor(r, terms=("link_vicous",)), "Did you mean 'link_viscous'"),
        (lambda r: tp.elastic_regressor(r, terms=("rotor",)), "terms has 'rotor'"),
        (lambda r: tp.elastic_regressor(r, terms=(tp.terms.Rotor(),)), "terms has 'rotor'"),
        (lambda r: tp.elastic_regressor(r, terms=("damping", tp.terms.Damping())), "'damping' is given twice"),
        (lambda r: tp.elastic_regressor(r, terms=3), "terms is 3, expected names"),
        (lambda r: tp.terms.LinkSide(tp.terms.Damping()), "of is Damping.*expected a term such as"),
        (lambda r: tp.elastic.forward_dynamics(r, algorithm="lu"), "No algorithm 'lu'"),
        (lambda r: tp.elastic.inverse_dynamics(r, tip_wrench="x"), "No tip_wrench"),
        (
            lambda r: tp.elastic.forward_dynamics(r.with_transmissions(rotor_inertia=[0, 1])),
            "rotor_inertia is 0 at joint1",
        ),
        (lambda r: r.with_transmissions(joints="joint3", stiffness=1), "No joint 'joint3'"),
        (lambda r: r.with_transmissions(joints=5, stiffness=1), "joints is 5, expected names of joints"),
        (
            lambda r: r.with_transmissions(joints=["joint1"], stiffness=[1, 2]),
            "stiffness has 2 values, expected one or 1",
        ),
        (lambda r: r.with_transmissions(damping=-1), "damping is -1, expected 0 or more"),
        (lambda r: r.with_transmissions(stiffness=float("nan")), "stiffness is nan, expected a finite number"),
        (lambda r: tp.elastic_regressor(5), "robot is int, expected a Robot"),
    ],
)
def test_what_is_wrong_is_one_sentence(call, message):
    with pytest.raises(TaupiError, match=message):
        call(tp.load("zollo2r"))


def _with_a_follower():
    return reads(
        """
        [[joint]]
        [[joint]]
        origin = { xyz = [0.5, 0, 0] }
        mimic = { joint = "joint1", ratio = 2 }
        link = { m = 1, com = [0.1, 0, 0], inertia = [0.1, 0, 0, 0.1, 0, 0.1] }
        """
    )


def test_a_joint_that_follows_another_has_no_spring_of_its_own():
    """One stiffness for all joints leaves it rigid; one that is stated for it is refused, since no motor is behind it."""
    robot = _with_a_follower()
    assert robot.with_transmissions(stiffness=100).elastic_joints == ("joint1",)
    for stated in ({"joints": ["joint2"], "stiffness": 100}, {"stiffness": [None, 100]}):
        with pytest.raises(TaupiError, match="joint2"):
            robot.with_transmissions(**stated)


def test_mimic_joints_need_the_factorisation():
    robot = _with_a_follower().with_transmissions(stiffness=100, rotor_inertia=0.1)
    with pytest.raises(TaupiError, match=r"mimic or coupled joints.*cholesky"):
        tp.elastic.forward_dynamics(robot, algorithm="articulated")
    qdd, thetadd = tp.elastic.forward_dynamics(robot)([0.1], [0.2], [0.3], [0.4], [5.0])
    tau = tp.elastic.inverse_dynamics(robot)([0.1], [0.2], qdd, [0.3], [0.4], thetadd)
    assert error(tau, [0, 5]) < 1e-12


def test_robots_with_and_without_springs_are_told_apart():
    robot = tp.load("zollo2r")
    other = dataclasses.replace(robot, joints=robot.with_transmissions(damping=1).joints)
    assert robot != other and robot.fingerprint != other.fingerprint


def test_geared_and_permuted_coordinates():
    """A coordinate that moves another joint, or its own by a ratio, is no plain one: M qdd + b = tau holds all the same."""
    rng = np.random.default_rng(0)
    for matrix in ([[2, 0], [0, 1]], [[0, 1], [1, 0]], [[1, 0], [-1, 1]]):
        arm = tp.load("zollo2r").with_coupling(matrix)
        q, qd, tau = rng.uniform(-1, 1, (3, 2))
        qdd = tp.forward_dynamics(arm)(q, qd, tau)
        assert error(tp.inverse_dynamics(arm)(q, qd, qdd), tau) < 1e-12
        theta, thetad = rng.uniform(-1, 1, (2, 2))
        qdd, thetadd = tp.elastic.forward_dynamics(arm)(q, qd, theta, thetad, tau)
        assert error(tp.elastic.inverse_dynamics(arm)(q, qd, qdd, theta, thetad, thetadd), [0, 0, *tau]) < 1e-10


def test_a_constant_program_is_emitted(tmp_path):
    program = tp.elastic.stiffness_matrix(tp.load("zollo2r"))
    assert "3000" in program.c() and program().shape == (4, 4)


def test_forward_dynamics_take_the_algorithm_with_fewest_operations():
    robot = tp.load("puma560_elastic")
    cost = {k: tp.elastic.forward_dynamics(robot, algorithm=k).operations.total for k in ("articulated", "cholesky")}
    rigid = tp.forward_dynamics(robot, terms=("viscous", "coulomb")).operations.total
    assert tp.elastic.forward_dynamics(robot).operations.total == min(cost.values()) < 1.25 * rigid
