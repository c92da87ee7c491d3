"""Every builder x every term x every kind of robot: it agrees with Lagrange's equations, or refuses in one sentence.

Builders, terms, plants, laws and languages come from their registries, so that one added later enters by itself. The other side
is `tests/lagrange.py`, an own small kinematics; terms act there by virtual work, c f(c q, c qd, c qdd) at each joint.
"""

import dataclasses
import functools
import importlib
import inspect
import warnings
from functools import partial
from typing import ClassVar

import casadi as cs
import numpy as np
import pytest
from emitted import RUNNERS
from floating import moved
from lagrange import FREE_LIKE, STEP, Oracle, pose, rotation_of
from support import error

import taupi as tp
from taupi.control.laws import LAWS as OWN_LAWS
from taupi.control.laws import law_class
from taupi.dynamics.chain import BUILDERS
from taupi.dynamics.terms import TERMS, Modulated, Term, resolve_terms
from taupi.errors import TaupiError, TaupiWarning
from taupi.model.scalars import exact
from taupi.program.emitters import LANGUAGES
from taupi.public_names import PUBLIC
from taupi.simulation.plants.plant import ArmPlant

# The oracle's derivatives by Cauchy's integral have about 14 digits; inverses lose those of the condition of M.
CLOSE, INVERSE, BY_DIFFERENCES = 1e-9, 1e-8, 1e-7


def _link(name, mass, com, *moments):
    inertia = " ".join(
        f'i{k}="{v}"' for k, v in zip(("xx", "yy", "zz", "xy", "xz", "yz"), (*moments, 0, 0, 0), strict=True)
    )
    body = f'<origin xyz="{com}"/><mass value="{mass}"/><inertia {inertia}/>'
    return f'<link name="{name}"><inertial>{body}</inertial></link>'


_LINKS = "".join(
    (
        _link("base", 3, "0 0.1 0.05", 0.1, 0.2, 0.15),
        _link("a", 2, "0.1 0.02 0.03", 0.03, 0.04, 0.05),
        _link("b", 1, "0.2 0 -0.03", 0.02, 0.02, 0.03),
        _link("c", 0.5, "0 0.1 0.05", 0.01, 0.01, 0.01),
    )
)


def _urdf(kinds, mimic=""):
    axes = ("0 0 1", "0 1 0", "1 0 0")
    joints = "".join(
        f'<joint name="j{i}" type="{kind}"><origin xyz="0.{i + 1} 0.1 0" rpy="0.{i + 2} 0 0.4"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axes[i]}"/>{mimic if i == 2 else ""}'
        f'<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
        for i, (kind, parent, child) in enumerate(zip(kinds, ("base", "a", "b"), ("a", "b", "c"), strict=True))
    )
    return f'<robot name="r">{_LINKS}{joints}</robot>'


_MJCF = """<mujoco><compiler autolimits="true"/><worldbody><body name="a" pos="0.1 0 0">{first}
<geom type="box" size="0.1 0.05 0.2" pos="0.1 0 0.1" mass="2"/><body name="b" pos="0.2 0.1 0"><joint name="j1" axis="0 1 0"/>
<geom type="box" size="0.1 0.02 0.1" pos="0.1 0.1 0" mass="1"/><body name="c" pos="0.1 0 0.2">
<joint name="j2" type="{last}" axis="1 0 0"/>
<geom type="box" size="0.1 0.02 0.1" pos="0.1 0 0.1" mass="0.5"/></body></body></body></worldbody>{equality}</mujoco>"""
_FREE = "<freejoint/>"
_EQUAL = '<equality><joint joint1="j2" joint2="j1" polycoef="0 -1.5 0 0 0"/></equality>'
_LOOP = '<equality><connect body1="c" body2="world" anchor="0.3 0.1 0.1"/></equality>'


_HINGE = '<joint name="j0" axis="0 0 1"/>'


def _mimic(ratio, offset=0.0):
    return f'<mimic joint="j1" multiplier="{ratio}" offset="{offset}"/>'


def _stated(robot, seed=0):
    """The robot with different friction, rotors and springs at every joint, those that follow included."""
    rng = np.random.default_rng(seed)
    single = [j.name for j in robot.joints if j.kind not in FREE_LIKE]
    own = {j.name for j in robot.driving_joints}
    values = {
        name: rng.uniform(0.2, 1.5, len(single)).round(3).tolist()
        for name in ("viscous", "coulomb", "offset", "stribeck", "curve")
    }
    load = [
        round(0.05 + 0.1 * v, 3) if name in own else 0 for name, v in zip(single, rng.random(len(single)), strict=True)
    ]
    robot = robot.with_transmissions(
        joints=single,
        load=load,
        gear_ratio=3,
        rotor_inertia=rng.uniform(0.01, 0.05, len(single)).round(4).tolist(),
        **values,
    )
    springs = tuple(
        dataclasses.replace(j, spring=exact(0.5 + i)) if j.name in single else j for i, j in enumerate(robot.joints)
    )
    return dataclasses.replace(robot, joints=springs)


def _loaded(folder, text, suffix, **options):
    path = folder / f"r{abs(hash(text))}{suffix}"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        return _stated(tp.load(path, **options))


def _elastic(robot, *stiffness):
    own = [j.name for j in robot.driving_joints]
    return robot.with_transmissions(
        joints=own, stiffness=stiffness, damping=0.7, link_viscous=0.3, link_coulomb=[0.2, 0.4, 0.3][: len(own)]
    )


def _chain_of_mimics(folder):
    """j2 follows j1, which follows j0."""
    text = _urdf(("revolute",) * 3, _mimic(-0.6, 0.3)).replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="j0" multiplier="2" offset="0.1"/>'
    )
    return _loaded(folder, text, ".urdf")


KINDS = {
    "fixed": lambda f: _loaded(f, _urdf(("revolute",) * 3), ".urdf"),
    "sliding": lambda f: _loaded(f, _urdf(("revolute", "prismatic", "prismatic")), ".urdf"),
    "mimic": lambda f: _loaded(f, _urdf(("revolute",) * 3, _mimic(-0.6, 0.3)), ".urdf"),
    "gripper": lambda f: _loaded(f, _urdf(("revolute", "prismatic", "prismatic"), _mimic(-1)), ".urdf"),
    "equality": lambda f: _loaded(f, _MJCF.format(first=_HINGE, last="hinge", equality=_EQUAL), ".xml"),
    "coupled": lambda f: _stated(KINDS["fixed"](f).with_coupling([[1, 0], [0.5, -1], [0.3, 2]])),
    "floating": lambda f: _loaded(f, _urdf(("revolute", "revolute", "prismatic"), _mimic(2)), ".urdf", floating=True),
    "ball": lambda f: _loaded(f, _MJCF.format(first='<joint name="j0" type="ball"/>', last="slide", equality=""), ".xml"),
    "loop": lambda f: _loaded(f, _MJCF.format(first=_HINGE, last="hinge", equality=_LOOP), ".xml"),
    "chain of mimics": _chain_of_mimics,
    "floating loop": lambda f: _loaded(f, _MJCF.format(first=_FREE, last="slide", equality=_LOOP), ".xml"),
    "elastic": lambda f: _elastic(KINDS["fixed"](f), 300.0, None, None),
    "elastic mimic": lambda f: _elastic(KINDS["mimic"](f), 300.0, None),
    "elastic sliding": lambda f: _elastic(KINDS["sliding"](f), 300.0, 500.0, 200.0),
    "elastic followed": lambda f: _elastic(KINDS["gripper"](f), 300.0, 400.0),
}  # fmt: skip

# Columns in NumPy; a term without one here is taken from its own class, so that only how it is put together is tested.
FORMULAS = {
    "viscous": lambda q, v, a: v,
    "coulomb": lambda q, v, a: np.sign(v),
    "offset": lambda q, v, a: 1.0,
    "rotor": lambda q, v, a: a,
    "spring": lambda q, v, a: q,
    "stribeck": lambda q, v, a: np.sign(v) * np.exp(-((v / 0.1) ** 2)),
    "stribeck_rise": lambda q, v, a: -np.sign(v) * np.exp(-abs(v) / 0.1),
    "stribeck_fall": lambda q, v, a: -np.sign(v) * np.exp(-1 / (10 * abs(v))) if v else 0.0,
}
SPEED = 2.0


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("product")
    return {name: make(folder) for name, make in KINDS.items()}


ROTOR = "rotor"
# Terms that are linear and that elastic robots take too are tested together: each has other values, so that none hides another.
TOGETHER = tuple(name for name, kind in TERMS.items() if not issubclass(kind, Modulated) and name != ROTOR)


@functools.cache
def stating(kind):
    """A class of terms with a value at each joint where descriptions have no place for it, so that no term is tested with 0."""
    if kind.field or kind.name in ("rotor", "spring"):
        return kind

    def value(self, joint):
        return exact(3 + sum(map(ord, joint.name + kind.name)) % 11) / 10

    return type(kind.__name__, (kind,), {"__slots__": (), "value": value, "at": lambda self, joint: self})


def terms_of(name, elastic=False):
    """The terms to ask for, with the settings that the term needs; robots with springs have a rotor anyway."""
    if name == "together":
        return tuple(stating(TERMS[each])() for each in TOGETHER)
    if name == "sides":
        return ("viscous", "coulomb", "damping", "link_coulomb", "link_viscous")
    term = tp.terms.Curve(velocity=SPEED) if name == "curve" else stating(TERMS[name])()
    return (("coulomb", term) if elastic else ("coulomb", "rotor", term)) if isinstance(term, Modulated) else (term,)


def column(term, q, v, a):
    if term.name in FORMULAS:
        return float(FORMULAS[term.name](q, v, a))
    return float(cs.DM(term.column(cs.SX(q), cs.SX(v), cs.SX(a))))


def joint_term(term, followers_too=True):
    return lambda i, joint, q, v, a: float(term.value(joint)) * column(term, q, v, a)


def stated_everywhere(robot, term):
    """Whether a term has a value at every joint that may have one: what is 0 cannot be wrong."""
    own = {j.name for j in robot.driving_joints}
    single = [j for j in robot.joints if j.kind not in FREE_LIKE and (term.name != "load" or j.name in own)]
    return all(float(term.value(j)) for j in single)


def expected_terms(oracle, q, v, a, names, links):
    """The torque of terms by virtual work; the load is that of links, rotors and springs."""
    terms, total, load = resolve_terms(names), np.zeros(oracle.robot.n), np.array(links, dtype=float)
    for term in terms:
        if isinstance(term, Modulated):
            continue
        torque = oracle.by_power(q, v, a, joint_term(term))
        total += torque
        load += torque if term.name in ("rotor", "spring") else 0
    for term in terms:
        if not isinstance(term, Modulated):
            continue
        for joint in oracle.robot.joints:
            if joint.kind in FREE_LIKE or not float(term.value(joint)):
                continue
            k, c = joint.coordinate, 1.0 if joint.name in oracle.own else abs(float(joint.ratio))
            # The shape over speed is that of the coordinate.
            factor = abs(load[k]) if term.name == "load" else np.exp(-abs(v[k]) / (0.3 * SPEED))
            total[k] += c * float(term.value(joint)) * np.sign(v[k]) * factor
    return total


def state(robot, seed=1):
    rng = np.random.default_rng(seed)
    q = 0.6 * rng.standard_normal(robot.nq)
    for joint in robot.multiple_joints:
        end = robot.position_index(joint.coordinate) + joint.size
        q[end - 4 : end] /= np.linalg.norm(q[end - 4 : end])
    return q, *(0.8 * rng.standard_normal((2, robot.n)))


def builders():
    """All builders, once every public module is imported."""
    for table in PUBLIC.values():
        for module in table:
            importlib.import_module(module)
    return dict(sorted(BUILDERS.items()))


ALL = builders()
WITH_TERMS = [name for name, b in ALL.items() if "terms" in inspect.signature(b).parameters]
# Each term by itself tells which one is wrong, but costs three times as much.
GROUPS = ("together", "sides", *(name for name in TERMS if name not in TOGETHER))
CASES = [
    pytest.param(kind, term, id=f"{kind}-{term}", marks=[pytest.mark.long] if term in TOGETHER else [])
    for kind in KINDS
    for term in (*GROUPS, *TOGETHER)
]
product = pytest.mark.parametrize(("kind", "term"), CASES)


# What each builder should give -------------------------------------------------------------------------------------


class Case:
    """One robot, one term, one state, and what Lagrange says."""

    _links: ClassVar[dict] = {}

    def __init__(self, robot, names):
        self.robot, self.names = robot, names
        self.q, self.v, self.a = state(robot)
        key = robot.fingerprint
        if key not in Case._links:
            Case._links[key] = (Oracle(robot), {})
        self.oracle, self.cache = Case._links[key]

    def links(self, v, a):
        key = (*v, *a)
        if key not in self.cache:
            self.cache[key] = self.oracle.torque(self.q, v, a)
        return self.cache[key]

    def tau(self, v, a):
        links = self.links(v, a)
        return links + expected_terms(self.oracle, self.q, v, a, self.names, links)

    def mass(self):
        zero, unit = np.zeros(self.robot.n), np.eye(self.robot.n)
        plain = Case(self.robot, tuple(t for t in resolve_terms(self.names) if not isinstance(t, Modulated)))
        return np.column_stack([plain.tau(zero, e) - plain.tau(zero, zero) for e in unit])


def test_every_term_has_a_value_at_every_joint(robots):
    for robot in robots.values():
        for name in TERMS:
            assert all(stated_everywhere(robot, term) for term in resolve_terms(terms_of(name)))


def check_inverse_dynamics(c, build):
    assert error(build(c.robot, terms=c.names)(c.q, c.v, c.a), c.tau(c.v, c.a)) < CLOSE


def check_bias_torque(c, build):
    assert error(build(c.robot, terms=c.names)(c.q, c.v), c.tau(c.v, 0 * c.a)) < CLOSE


def check_mass_matrix(c, build):
    assert error(build(c.robot, terms=c.names)(c.q), c.mass()) < CLOSE


def check_forward_dynamics(c, build):
    tau = c.tau(c.v, c.a)
    qdd = build(c.robot, terms=c.names)(c.q, c.v, tau)
    if not c.robot.loops:
        assert error(qdd, c.a) < INVERSE
        return
    # The force of the loop is J^T f, and the loop stays closed; f by least squares, J by complex steps of the oracle.
    gap = partial(_gap, c)
    jacobian = np.column_stack([gap(1j * STEP * e).imag / STEP for e in np.eye(c.robot.n)])
    _, drift = c.oracle.derivatives(gap, c.v, 0 * c.a)
    assert error(-jacobian @ qdd, drift) < 1e-6
    left = c.mass() @ (qdd - c.a)
    force = np.linalg.lstsq(jacobian.T, left, rcond=None)[0]
    assert error(jacobian.T @ force, left) < 1e-6


def _gap(c, x):
    links, _ = c.oracle.placements(c.q, x)
    loop = c.robot.loops[0]
    ends = []
    for name in (loop.frame_a, loop.frame_b):
        frame = c.robot.frame(name)
        base = np.eye(4) if frame.link < 0 else links[frame.link]
        ends.append((base @ [*map(float, frame.placement.translation), 1.0])[:3])
    return ends[0] - ends[1]


def check_regressor(c, build):
    y = build(c.robot, terms=c.names)
    assert error(y(c.q, c.v, c.a, *_load(c)) @ y.parameters.values, c.tau(c.v, c.a)) < CLOSE
    assert len(set(y.parameters.names)) == len(y.parameters.names)


def _load(c):
    """The torque that gears transmit, that of links, rotors and springs, where a term depends on it."""
    terms = resolve_terms(c.names)
    if all(t.name != "load" for t in terms):
        return []
    parts = [c.oracle.by_power(c.q, c.v, c.a, joint_term(t)) for t in terms if t.name in ("rotor", "spring")]
    return [c.links(c.v, c.a) + sum(parts)]


def check_slotine_li_regressor(c, build):
    y = build(c.robot, terms=c.names)
    assert error(y(c.q, c.v, c.v, c.a) @ y.parameters.values, c.tau(c.v, c.a)) < CLOSE
    plain, reference = build(c.robot), c.v[::-1].copy()
    with_terms = y(c.q, c.v, reference, c.a) @ y.parameters.values
    own = expected_terms(c.oracle, c.q, reference, c.a, c.names, np.zeros(c.robot.n))
    assert error(with_terms - plain(c.q, c.v, reference, c.a) @ plain.parameters.values, own) < CLOSE


def check_base_parameters(c, build):
    base = build(c.robot, terms=c.names)
    y = base.regressor()
    assert error(y(c.q, c.v, c.a, *_load(c)) @ base.parameters.values, c.tau(c.v, c.a)) < CLOSE


def _elastic_tau(c, kinds, theta, thetad, thetadd):
    """tau of links and motors of a robot with elastic joints, all terms of the motors by virtual work."""
    oracle = Oracle(c.robot, motors=True)
    e = oracle.elastic
    tau = oracle.torque(c.q, np.r_[c.v, thetad], np.r_[c.a, thetadd])
    n = c.robot.n

    def entry(i, joint, q, v, a, term=None):
        k = joint.coordinate
        if joint.name in oracle.own and k in e:
            q, v, a = (x[e.index(k)] for x in (theta, thetad, thetadd))
        return float(term.value(joint)) * column(term, q, v, a)

    d = c.robot.driving_joints
    for name in (k for k in kinds if isinstance(k, str) and k.startswith("link_")):
        side, term = _Stated(name), resolve_terms(name.removeprefix("link_"))[0]
        tau[:n] += oracle.by_power(
            c.q, c.v, c.a, lambda i, joint, q, v, a, f=term, g=side: g.value(joint) * column(f, q, v, a)
        )[:n]
    for term in resolve_terms([k for k in kinds if k != "damping" and not str(k).startswith("link_")]):
        for i, joint in enumerate(c.robot.joints):
            for k, ratio in oracle.ratios[i].items():
                mine = joint.name in oracle.own and k in e
                value = ratio * entry(i, joint, *(oracle.angle(i, x) for x in (c.q, c.v, c.a)), term=term)
                tau[n + e.index(k) if mine else k] += value
    for s, k in enumerate(e):
        spring = float(d[k].transmission.stiffness) * (theta[s] - c.q[k])
        spring += float(d[k].transmission.damping) * (thetad[s] - c.v[k]) if "damping" in kinds else 0.0
        tau[k] -= spring
        tau[n + s] += spring
    return tau


class _Stated:
    """What a transmission states under a name, 0 if it has no such field."""

    def __init__(self, name):
        self.name = name

    def value(self, joint):
        return float(getattr(joint.transmission, self.name, 0))


def _elastic_state(c):
    rng = np.random.default_rng(3)
    m = len(c.robot.elastic_joints)
    return c.q[:m] + 0.1 * rng.standard_normal(m), rng.standard_normal(m), rng.standard_normal(m)


def check_elastic_inverse_dynamics(c, build):
    motors = _elastic_state(c)
    program = build(c.robot, terms=c.names)
    assert error(program(c.q, c.v, c.a, *motors), _elastic_tau(c, c.names, *motors)) < CLOSE


def check_elastic_forward_dynamics(c, build):
    theta, thetad, thetadd = _elastic_state(c)
    tau = _elastic_tau(c, c.names, theta, thetad, thetadd)
    n = c.robot.n
    m, program = len(theta), build(c.robot, terms=c.names)
    u = np.r_[tau[n:], tau[m:n]]  # elastic joints are the first
    qdd, motors = program(c.q, c.v, theta, thetad, u)

    def at(acceleration):
        other = Case(c.robot, c.names)
        other.a = acceleration[:n]
        return _elastic_tau(other, c.names, theta, thetad, acceleration[n:])

    # The torque is linear in the accelerations; those of the answer are too large for the oracle's circle.
    bias = at(np.zeros(n + m))
    inertia = np.column_stack([at(e) - bias for e in np.eye(n + m)])
    assert error(bias + inertia @ np.r_[qdd, motors], np.r_[np.zeros(m), u[m:], u[:m]]) < INVERSE


def check_elastic_regressor(c, build):
    motors = _elastic_state(c)
    y = build(c.robot, terms=c.names)
    assert error(y(c.q, c.v, c.a, *motors) @ y.parameters.values, _elastic_tau(c, c.names, *motors)) < CLOSE


def check_elastic_regressor_parts(c, build):
    motors = _elastic_state(c)
    parts = build(c.robot, terms=c.names)
    assert (
        error(sum(parts(c.q, c.v, c.a, *motors)) @ parts.parameters.values, _elastic_tau(c, c.names, *motors)) < CLOSE
    )


def check_elastic_rate_regressors(c, build):
    """The velocity torque C v from Y_H: its sum over qd, less v^T Y_H / 2 in the rows of the links."""
    theta, thetad, thetadd = _elastic_state(c)
    rates = build(c.robot, terms=c.names)
    other = Case(c.robot, ())
    other.a = 0 * c.a
    moving = _elastic_tau(other, (), theta, thetad, 0 * thetadd)
    other.v = 0 * c.v
    expected = moving - _elastic_tau(other, (), theta, 0 * thetad, 0 * thetadd)
    products = rates(c.q, c.v, thetad) @ rates.parameters.values  # H_k v
    got = c.v @ products
    got[: c.robot.n] -= products @ np.r_[c.v, thetad] / 2
    assert error(got, expected) < CLOSE


class Task:
    """The tip's x and y of a case, with a velocity of the joints that moves nothing but these, all by the oracle."""

    name = "xy"

    def __init__(self, c):
        self.place, n = partial(_tip, c), c.robot.n
        self.jacobian = np.column_stack([self.place(1j * STEP * e).imag / STEP for e in np.eye(n)])
        lifted = np.linalg.solve(Case(c.robot, ()).mass(), self.jacobian.T)
        self.mass = np.linalg.inv(self.jacobian @ lifted)
        self.back = lifted @ self.mass
        self.rate = self.jacobian @ c.v
        self.v, self.a = self.back @ self.rate, self.back @ self.jacobian @ c.a
        drift = c.oracle.derivatives(self.place, self.v, np.zeros(n))[1]
        self.acceleration = self.jacobian @ c.a + drift


def _tip(c, x):
    return _frame(c, x)[:2, 3]


def check_operational_force(c, build):
    task = Task(c)
    force = build(c.robot, task=task.name, terms=c.names)(c.q, task.v, task.rate, task.acceleration)
    assert error(force, task.back.T @ c.tau(task.v, task.a)) < INVERSE


def check_operational_regressor(c, build):
    task = Task(c)
    y = build(c.robot, task=task.name, terms=c.names)
    force = y(c.q, task.v, task.rate, task.acceleration) @ y.parameters.values
    assert error(force, task.back.T @ c.tau(task.v, task.a)) < INVERSE


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}
ELASTIC = {"elastic_inverse_dynamics", "elastic_forward_dynamics", "elastic_regressor"}
ELASTIC |= {"elastic_regressor_parts", "elastic_rate_regressors"}


def test_every_builder_with_terms_has_an_oracle():
    assert set(WITH_TERMS) <= set(CHECKS)


@pytest.mark.parametrize("name", WITH_TERMS)
@product
def test_builder_agrees_or_refuses(robots, kind, term, name):
    case = Case(robots[kind], terms_of(term, name in ELASTIC))
    try:
        CHECKS[name](case, ALL[name])
    except TaupiError as refusal:
        assert one_sentence(refusal)
        assert may_refuse(case.robot, term, name), str(refusal)
        return
    assert not must_refuse(case.robot, term, name)


def one_sentence(refusal):
    return "\n" not in str(refusal) and str(refusal).strip().endswith((".", "?")) and len(str(refusal)) < 600


def may_refuse(robot, term, name):
    """What has no meaning: springs of rigid robots, two tasks of one joint, friction that changes with an unknown load."""
    if must_refuse(robot, term, name):
        return True
    if name in ELASTIC and term in ("rotor", "load", "curve"):
        return True
    if name.startswith("operational") and (term == "load" or robot.n < 2):
        return True
    modulated = term in TERMS and issubclass(TERMS[term], Modulated)
    if modulated and any(j.also for j in robot.joints):
        return True  # a joint that two motors turn
    return term == "load" and name == "slotine_li_regressor"


def must_refuse(robot, term, name):
    """Springs between motors and links are asked for where there are none, or their terms of programs without springs."""
    return not robot.elastic_joints if name in ELASTIC else term == "sides"


# Builders without terms ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_gravity_velocities_and_energies(robots, kind):
    robot = robots[kind]
    c, zero = Case(robot, ()), np.zeros(robot.n)
    gravity = c.links(zero, zero)
    assert error(tp.gravity_torque(robot)(c.q), gravity) < CLOSE
    for form in ("christoffel", "body"):
        try:
            assert error(tp.coriolis_matrix(robot, form=form)(c.q, c.v) @ c.v, c.links(c.v, zero) - gravity) < CLOSE
        except TaupiError as refusal:
            assert one_sentence(refusal)
    kinetic, potential = c.oracle.energies(c.q, c.v)
    energy = tp.energy_regressor(robot)(c.q, c.v) @ robot.parameters.values
    assert error(energy, kinetic + potential) < CLOSE
    if robot.elastic_joints:
        oracle = Oracle(robot, motors=True)
        theta, thetad, _ = _elastic_state(c)
        kinetic, _ = oracle.energies(c.q, np.r_[c.v, thetad])
        m = len(theta)
        k = np.array([float(j.transmission.stiffness) for j in robot.driving_joints[:m]])
        springs = k @ (theta - c.q[:m]) ** 2 / 2
        assert error(tp.kinetic_energy(robot)(c.q, c.v, thetad), kinetic) < CLOSE
        assert error(tp.potential_energy(robot)(c.q, theta), potential + springs) < CLOSE
        assert error(tp.kinetic_energy(robot)(c.q, c.v), oracle.energies(c.q, np.r_[c.v, c.v[:m]])[0]) < CLOSE
    else:
        assert error(tp.kinetic_energy(robot)(c.q, c.v), kinetic) < CLOSE
        assert error(tp.potential_energy(robot)(c.q), potential) < CLOSE


def test_power_balance_of_elastic_joints(robots):
    """dT/dt + dP/dt = (qd, thetad)^T tau without friction, along a motion, by differences of the energies."""
    robot = robots["elastic mimic"]
    c = Case(robot, ())
    theta, thetad, thetadd = _elastic_state(c)

    def energy(t):
        q, v = c.q + c.v * t + c.a * t * t / 2, c.v + c.a * t
        motors = theta + thetad * t + thetadd * t * t / 2, thetad + thetadd * t
        return float(tp.kinetic_energy(robot)(q, v, motors[1]) + tp.potential_energy(robot)(q, motors[0]))

    h = 1e-4
    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    tau = tp.elastic.inverse_dynamics(robot, terms=())(c.q, c.v, c.a, theta, thetad, thetadd)
    assert rate == pytest.approx(np.r_[c.v, thetad] @ tau, rel=1e-7)


def _axial(m):
    return np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / 2


def _frame(c, x):
    links, _ = c.oracle.placements(c.q, x)
    frame = c.robot.frame("tip")
    return links[frame.link] @ pose(frame.placement)


def _tip_motion(c):
    """T of the tip, its Jacobian (angular, linear), and the acceleration of the tip with the joints' at zero."""
    n = c.robot.n
    T = _frame(c, np.zeros(n)).real
    slopes = [_frame(c, 1j * STEP * e).imag / STEP for e in np.eye(n)]
    J = np.column_stack([np.r_[_axial(s[:3, :3] @ T[:3, :3].T), s[:3, 3]] for s in slopes])
    _, second = c.oracle.derivatives(partial(_frame, c), c.v, 0 * c.v)
    return T, J, np.r_[_axial(second[:3, :3] @ T[:3, :3].T), second[:3, 3]]


def _momentum(c):
    """The centre of mass, and the momentum (angular, linear) about it: of a body, the integral of r r'^T dm is T P T'^T."""
    n = c.robot.n
    bodies = c.oracle.bodies(c.q, np.zeros(n))
    first, _ = c.oracle.derivatives(lambda x: np.array([t for t, _ in c.oracle.bodies(c.q, x)]), c.v, np.zeros(n))
    total = sum(p[3, 3] for _, p in bodies)
    centre = sum(t[:3].real @ p[:, 3] for t, p in bodies) / total
    linear = sum(f[:3] @ p[:, 3] for f, (_, p) in zip(first, bodies, strict=True))
    angular = sum(2 * _axial((f @ p @ t.real.T)[:3, :3]) for f, (t, p) in zip(first, bodies, strict=True))
    return centre, np.r_[angular - np.cross(centre, linear), linear]


def _mass_rate(c):
    """dM/dt by differences of the oracle's mass matrix along the motion."""

    def mass(t):
        q, zero = moved(c.robot, c.q, c.v, t), np.zeros(c.robot.n)
        return np.column_stack([c.oracle.torque(q, zero, e, gravity=False) for e in np.eye(c.robot.n)])

    h = 1e-3
    return (8 * (mass(h) - mass(-h)) - (mass(2 * h) - mass(-2 * h))) / (12 * h)


def _velocity_torque(c):
    zero = 0 * c.v
    return c.links(c.v, zero) - c.links(zero, zero)


def _elastic_motion(c, moving=True, accelerating=True):
    """(q, v, a) of links and motors, and the torque there without terms, of a robot with springs."""
    theta, thetad, thetadd = _elastic_state(c)
    other = Case(c.robot, ())
    other.v, other.a = moving * c.v, accelerating * c.a
    return theta, thetad, thetadd, _elastic_tau(other, (), theta, moving * thetad, accelerating * thetadd)


def plain_task(c, build):
    task = Task(c)
    M = build(c.robot, task=task.name)
    if M.name == "operational_mass":
        assert error(M(c.q), task.mass) < INVERSE
        return
    M, C, g = M(c.q, task.v)
    assert error(M @ task.acceleration + C @ task.rate + g, task.back.T @ c.links(task.v, task.a)) < INVERSE
    assert error(M, task.mass) < INVERSE


def plain_loop_error(c, build):
    opening = build(c.robot)(c.q)
    assert np.linalg.norm(opening) == pytest.approx(np.linalg.norm(_gap(c, np.zeros(c.robot.n)).real))


def plain_loop_jacobian(c, build):
    J, gap = build(c.robot)(c.q), partial(_gap, c)  # in axes of its own
    expected = np.column_stack([gap(1j * STEP * e).imag / STEP for e in np.eye(c.robot.n)])
    assert error(J.T @ J, expected.T @ expected) < CLOSE


def plain_loop_jacobian_derivative(c, build):
    program = build(c.robot)
    _, drift = c.oracle.derivatives(partial(_gap, c), c.v, 0 * c.v)
    assert np.linalg.norm(program(c.q, c.v) @ c.v) == pytest.approx(np.linalg.norm(drift))


def plain_elastic(c, build):
    """B, C, g and K of robots with springs: together they give the torque, and each of them alone where the others vanish."""
    program, (theta, thetad, thetadd, tau) = build(c.robot), _elastic_motion(c)
    x, at_rest, moving = np.r_[c.q, theta], _elastic_motion(c, False, False)[3], _elastic_motion(c, True, False)[3]
    stiff = ALL["elastic_stiffness_matrix"](c.robot)()
    rates = {
        "elastic_mass_matrix": (lambda: program(c.q) @ np.r_[c.a, thetadd], tau - moving),
        "elastic_coriolis_matrix": (lambda: program(c.q, c.v, thetad) @ np.r_[c.v, thetad], moving - at_rest),
        "elastic_gravity_torque": (lambda: program(c.q), at_rest - stiff @ x),
        "elastic_mass_matrix_parts": (lambda: sum(program(c.q)) @ np.r_[c.a, thetadd], tau - moving),
        "elastic_coriolis_parts": (lambda: sum(program(c.q, c.v, thetad)) @ np.r_[c.v, thetad], moving - at_rest),
        "elastic_gravity_parts": (lambda: sum(program(c.q)), at_rest - stiff @ x),
        "elastic_stiffness_matrix": (lambda: program() @ x, at_rest - tp.elastic.gravity_torque(c.robot)(c.q)),
    }
    got, expected = rates[program.name]
    assert error(got(), expected) < CLOSE


def plain_moving_base_dynamics(c, build):
    lift = np.array([0.3, -0.5, 2.0])
    light = c.robot.with_gravity(c.oracle.gravity - pose(c.robot.base)[:3, :3] @ lift)
    got = build(c.robot)(c.q, c.v, c.a, np.zeros(6), np.r_[0, 0, 0, lift])
    assert error(got, Case(light, ()).links(c.v, c.a)) < CLOSE


def plain_newton_euler_motion(c, build):
    assert error(build(c.robot)(c.q, c.v, c.a, np.zeros(6), np.zeros(6))[-1], c.links(c.v, c.a)) < CLOSE


def plain_newton_euler_matrices(c, build):
    A, G, _, L = build(c.robot)(c.q)
    assert error(A.T @ L.T @ G @ L @ A, c.mass()) < CLOSE


def plain_spatial_dynamics(c, build):
    H, C, G, _ = build(c.robot)(c.q, c.v)
    assert error(H, c.mass()) < CLOSE
    assert error(C @ c.v + G, c.links(c.v, 0 * c.v)) < CLOSE


def plain_lagrangian_blocks(c, build):
    """Without gravity's part Z, whose sign is in its equation: Y_r = X - W + Z."""
    X, W, Z = build(c.robot)(c.q, c.v, c.v, c.a)
    pi = c.robot.parameters.values.reshape(-1, 10)
    assert error(np.einsum("lnk,lk->n", X - W + Z, pi), c.links(c.v, c.a)) < CLOSE


# What a builder without terms gives, (program's value, the oracle's); those with a check of their own are above.
PLAIN = {
    "centre_of_mass": lambda c, p: (p(c.q), _momentum(c)[0]),
    "centroidal_momentum": lambda c, p: (p(c.q, c.v), _momentum(c)[1]),
    "centroidal_momentum_matrix": lambda c, p: (p(c.q) @ c.v, _momentum(c)[1]),
    "christoffel_symbols": lambda c, p: (np.einsum("kij,i,j->k", p(c.q), c.v, c.v), _velocity_torque(c)),
    "forward_kinematics": lambda c, p: (p(c.q), _tip_motion(c)[0]),
    "generalised_momentum": lambda c, p: (p(c.q, c.v), c.mass() @ c.v),
    "jacobian": lambda c, p: (p(c.q), _tip_motion(c)[1]),
    "jacobian_derivative": lambda c, p: (p(c.q, c.v) @ c.v, _tip_motion(c)[2]),
    "link_energies": lambda c, p: (p(c.q, c.v)[0].sum(), c.v @ c.mass() @ c.v / 2),
    "link_mass_matrices": lambda c, p: (p(c.q).sum(axis=0), c.mass()),
    "mass_matrix_derivative": lambda c, p: (p(c.q, c.v), _mass_rate(c)),
    "momentum": lambda c, p: (p(c.q, c.v), c.mass() @ c.v),
    "momentum_regressor": lambda c, p: (p(c.q, c.v) @ c.robot.parameters.values, c.mass() @ c.v),
    "spatial_regressor": lambda c, p: (p(c.q, c.v, c.v, c.a)[2] @ c.robot.parameters.values, c.links(c.v, c.a)),
    "task_coordinates": lambda c, p: (p(c.q), _tip_motion(c)[0][:3, 3]),
    "velocity_gradient": lambda c, p: (p(c.q, c.v) @ c.v / 2, _mass_rate(c) @ c.v - _velocity_torque(c)),
}
OWN = {name.removeprefix("plain_"): check for name, check in list(globals().items()) if name.startswith("plain_")}
OWN |= dict.fromkeys(("operational_mass", "operational_dynamics"), plain_task)
OWN |= {name: plain_elastic for name in ALL if name.startswith("elastic") and name not in WITH_TERMS}
# In `test_gravity_velocities_and_energies`; arrays between these and the above, each tested where its equation is; and those that
# ask for more than a robot.
TOGETHER_ABOVE = {"coriolis_matrix", "energy_regressor", "gravity_torque", "kinetic_energy", "potential_energy"}
PARTS = {"link_mass_tensors", "momentum_blocks", "spatial_parameter_matrices", "spatial_stacks"}
WITH_MORE = {"contact_jacobian", "driven_step", "from_base", "link_block_program", "to_base"}
# What has no meaning, or no equation, for robots with quaternions.
ONE_AXIS_EACH = {
    "christoffel_symbols",
    "lagrangian_blocks",
    "momentum",
    "spatial_dynamics",
    "spatial_regressor",
    "velocity_gradient",
}
ONE_AXIS_EACH |= PARTS


def test_every_builder_without_terms_has_an_oracle():
    known = [*PLAIN, *OWN, *TOGETHER_ABOVE, *PARTS, *WITH_MORE]
    assert {name for name in ALL if name not in WITH_TERMS} <= {*known}


@pytest.mark.parametrize("name", sorted({*PLAIN, *OWN, *PARTS} & {*ALL}))
@pytest.mark.parametrize("kind", KINDS)
def test_builder_without_terms_agrees_or_refuses(robots, kind, name):
    c = Case(robots[kind], ())
    try:
        if name in OWN:
            OWN[name](c, ALL[name])
            return
        program = ALL[name](c.robot)
        if name in PLAIN:
            got, expected = PLAIN[name](c, program)
            assert error(got, expected) < (
                BY_DIFFERENCES if name in ("mass_matrix_derivative", "velocity_gradient") else CLOSE
            )
            return
        rng = np.random.default_rng(5)
        result = program(*(c.q if p.name == "q" else rng.standard_normal(p.shape) for p in program.inputs))
        assert all(np.isfinite(r).all() for r in (result if isinstance(result, tuple) else (result,)))
    except TaupiError as refusal:
        assert one_sentence(refusal)
        robot = c.robot
        allowed = (name.startswith("elastic") and not robot.elastic_joints) or (
            name.startswith("loop") and not robot.loops
        )
        allowed |= name.startswith("operational") and robot.n < 2
        assert allowed or (robot.multiple_joints and name in ONE_AXIS_EACH), str(refusal)


# Plants, languages, laws ----------------------------------------------------------------------------


PLANTS = {k.__name__: k for k in ArmPlant.__subclasses__()}


@pytest.mark.parametrize("name", PLANTS)
@product
def test_plants(robots, kind, term, name):
    robot, sprung = robots[kind], name == "ElasticPlant"
    c, coupled = Case(robot, terms_of(term, sprung)), any(j.also for j in robot.joints)
    try:
        plant = PLANTS[name](c.robot, terms=c.names, smoothing=0.0)
    except TaupiError as refusal:
        assert one_sentence(refusal)
        unknown = not robot.elastic_joints or term in ("rotor", "load", "curve") if sprung else term == "sides"
        assert robot.loops or coupled or unknown, str(refusal)
        return
    if sprung:
        theta, thetad, _ = _elastic_state(c)
        u = np.random.default_rng(6).standard_normal(c.robot.n)
        got = plant.program()(c.q, c.v, theta, thetad, u)
        for one, other in zip(
            got, tp.elastic.forward_dynamics(c.robot, terms=c.names)(c.q, c.v, theta, thetad, u), strict=True
        ):
            assert error(one, other) < INVERSE
        return
    try:
        assert error(plant.program()(c.q, c.v, c.tau(c.v, c.a)), c.a) < INVERSE
    except TaupiError as refusal:
        assert one_sentence(refusal)
        assert coupled, str(refusal)


@pytest.mark.parametrize("kind", KINDS)
def test_every_language_is_written(robots, kind):
    names = (*terms_of("together"), ROTOR)
    for build in (tp.forward_dynamics, tp.mass_matrix, tp.regressor):
        program = build(robots[kind], terms=names)
        assert all(program.name in getattr(program, language)() for language in LANGUAGES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("runner", sorted({*RUNNERS} - {"clang"}))
def test_what_runs_here_gives_the_torque_of_all_terms_together(robots, tmp_path, kind, runner):
    names = (*terms_of("together"), ROTOR)
    c = Case(robots[kind], names)
    program = RUNNERS[runner](tp.inverse_dynamics(c.robot, terms=names), tmp_path)
    assert error(program(*(np.stack([x, x]) for x in (c.q, c.v, c.a))), np.stack([c.tau(c.v, c.a)] * 2)) < CLOSE


LAWS = {law_class(name).__name__: law_class(name) for name in OWN_LAWS}
OTHERS = ("ElasticPDGravity", "OperationalSlotineLi")  # for robots with springs, and for tasks
AT_REST = ("PDGravity", "ElasticPDGravity")


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("kind", KINDS)
def test_laws_without_an_error_give_the_torque_of_the_motion(robots, kind, name):
    """With q = q_des and the true parameters, every law's torque is that of the motion, friction included; or it refuses."""
    names = ("viscous", "rotor", "offset")
    c = Case(robots[kind], names)
    try:
        law = (
            LAWS[name](c.robot, terms=names)
            if "terms" in inspect.signature(LAWS[name]).parameters
            else LAWS[name](c.robot)
        )
        torque = law.torque(c.q, c.v, c.q, c.v, c.a)
    except TaupiError as refusal:
        assert one_sentence(refusal)
        r = c.robot
        beyond = r.multiple_joints or r.loops or r.elastic_joints or any(j.also for j in r.joints)
        assert beyond or name in OTHERS, str(refusal)
        return
    if name in AT_REST or c.robot.elastic_joints or name == "OperationalSlotineLi":
        assert np.isfinite(torque).all()
        return
    terms = names if "terms" in inspect.signature(LAWS[name]).parameters else ()
    assert error(torque, Case(c.robot, terms).tau(c.v, c.a)) < CLOSE


# The two slides of MuJoCo, as people write them --------------------------------------------------------------------


def _two_slides(folder, ratio, offset=0.0):
    passive = 'armature="0.1" damping="2" stiffness="3" springref="0.2" frictionloss="0.5"'
    axis = '<joint name="{}" type="slide" axis="1 0 0" ' + passive + "/>"
    bodies = "".join(f'<body name="{n}">{axis.format("j" + n)}<geom size="0.1" mass="1"/></body>' for n in "ab")
    equality = f'<equality><joint joint1="jb" joint2="ja" polycoef="{offset} {ratio} 0 0 0"/></equality>'
    path = folder / "slides.xml"
    path.write_text(f'<mujoco><option gravity="0 0 0"/><worldbody>{bodies}</worldbody>{equality}</mujoco>')
    return path


@pytest.mark.parametrize(("ratio", "offset"), [(1.0, 0.0), (-2.5, 0.3)])
def test_mujoco_has_the_same_torque_for_two_slides(tmp_path, ratio, offset):
    mujoco = pytest.importorskip("mujoco")
    path = _two_slides(tmp_path, ratio, offset)
    robot, model = tp.load(path), mujoco.MjModel.from_xml_path(str(path))
    data, (q, v, a) = mujoco.MjData(model), (0.4, 0.7, -1.1)
    data.qpos[:], data.qvel[:], data.qacc[:] = (q, offset + ratio * q), (v, ratio * v), (a, ratio * a)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_inverse(model, data)
    own = data.qfrc_inverse + 0.5 * np.sign(data.qvel)  # friction loss is a constraint of its own there
    terms = ("rotor", "viscous", "coulomb", "spring", "offset")
    assert error(tp.inverse_dynamics(robot, terms=terms)([q], [v], [a]), [own @ [1, ratio]]) < 1e-12


def test_a_coupled_pair_has_twice_the_torque(tmp_path):
    robot = tp.load(_two_slides(tmp_path, 1.0))
    plain = tp.inverse_dynamics(robot)([0.0], [1.0], [1.0])
    full = tp.inverse_dynamics(robot, terms=("rotor", "viscous"))([0.0], [1.0], [1.0])
    assert full - plain == pytest.approx([4.2])


# Other libraries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_pinocchio_has_the_same_torque_inertia_and_energy(tmp_path, floating):
    """rnea, crba and the energies with armature; Pinocchio's free joint has its linear velocity first."""
    pin = pytest.importorskip("pinocchio")
    text = _urdf(("revolute", "revolute", "prismatic"))
    path = tmp_path / "r.urdf"
    path.write_text(text)
    model = pin.buildModelFromXML(text, *([pin.JointModelFreeFlyer()] if floating else []))
    robot, terms = _stated(tp.load(path, floating=floating, snap=False)), ("rotor",)
    armature = [float(k.transmission.gear_ratio**2 * k.transmission.rotor_inertia) for k in robot.joints[-3:]]
    model.armature[model.nv - 3 :] = armature
    data, (q, v, a) = model.createData(), state(robot)
    order = [3, 4, 5, 0, 1, 2, *range(6, model.nv)] if floating else list(range(model.nv))
    q_theirs, v_theirs, a_theirs = q, v[order], a[order]
    torque = pin.rnea(model, data, q_theirs, v_theirs, a_theirs)
    assert error(tp.inverse_dynamics(robot, terms=terms)(q, v, a)[order], torque) < 1e-12
    half = np.triu(pin.crba(model, data, q_theirs))
    inertia = tp.mass_matrix(robot, terms=terms)(q)
    assert error(inertia[np.ix_(order, order)], half + np.triu(half, 1).T) < 1e-12
    assert error(v @ inertia @ v / 2, pin.computeKineticEnergy(model, data, q_theirs, v_theirs)) < 1e-12
    assert error(tp.potential_energy(robot)(q), pin.computePotentialEnergy(model, data, q_theirs)) < 1e-12


IN_MUJOCO = tuple(name for name, kind in TERMS.items() if issubclass(kind, Term) and kind.tool)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("elastic")])
def test_mujoco_has_the_same_torque_of_an_exported_robot(robots, tmp_path, kind):
    """mj_inverse of the written file at the same motion of every joint, friction, rotors and springs included."""
    mujoco = pytest.importorskip("mujoco")
    c = Case(robots[kind], IN_MUJOCO)
    try:
        tp.write_mjcf(c.robot, tmp_path / "r.xml")
    except TaupiError as refusal:
        assert one_sentence(refusal) and any(j.also for j in c.robot.joints)
        return
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "r.xml"))
    data, jacobian = mujoco.MjData(model), np.zeros((model.nv, c.robot.n))
    drift = np.zeros(model.nv)
    for i, joint in enumerate(c.robot.joints):
        theirs = 0 if joint.kind == "free" else model.joint(joint.name).id
        a, at, k = model.jnt_dofadr[theirs], model.jnt_qposadr[theirs], joint.coordinate
        if joint.kind not in FREE_LIKE:
            for velocity, ratio in c.oracle.ratios[i].items():
                data.qpos[at] += ratio * c.q[c.oracle.place(velocity)]
                jacobian[a, velocity] = ratio
            continue
        q = c.q[c.oracle.start[joint.name] :]
        if joint.kind == "free":  # there, first the linear velocity, in axes of the world
            turned, (w, v) = rotation_of(q[3:7]), c.v[k : k + 6].reshape(2, 3)
            data.qpos[at : at + 3], q = q[:3], q[3:]
            jacobian[a : a + 3, k + 3 : k + 6], drift[a : a + 3] = turned, turned @ np.cross(w, v)
            a, at = a + 3, at + 3
        data.qpos[at : at + 4] = q[[3, 0, 1, 2]]
        jacobian[a : a + 3, k : k + 3] = np.eye(3)
    data.qvel[:], data.qacc[:] = jacobian @ c.v, jacobian @ c.a + drift
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    mujoco.mj_inverse(model, data)
    own = data.qfrc_inverse + model.dof_frictionloss * np.sign(data.qvel)  # a constraint of its own there
    assert error(tp.inverse_dynamics(c.robot, terms=IN_MUJOCO)(c.q, c.v, c.a), jacobian.T @ own) < CLOSE


_STATED = {
    name: kind.field.removeprefix("friction.")
    for name, kind in TERMS.items()
    if issubclass(kind, Term) and kind.field.startswith("friction.")
}
_MOTION = ([0.3, -0.2, 0.1], [0.5, -0.7, 0.4], [1.0, 2.0, -3.0])


@pytest.mark.parametrize("name", _STATED)
def test_mjcf_holds_a_term_or_names_it_as_lost_with_a_reason(tmp_path, name):
    """What MJCF has no place for is in `lost` and in a note; what it has a place for gives the same torque when read back."""
    (tmp_path / "r.urdf").write_text(_urdf(("revolute",) * 3))
    robot = tp.load(tmp_path / "r.urdf").with_friction(**{_STATED[name]: [0.3, 0.0, 0.2]})
    export = tp.write_mjcf(robot, tmp_path / "r.xml")
    if TERMS[name].tool:
        assert not export.lost
        back = tp.load(tmp_path / "r.xml")
        torque = tp.inverse_dynamics(back, terms=("viscous", "coulomb", "offset", "spring", "rotor"))(*_MOTION)
        assert error(torque, tp.inverse_dynamics(robot, terms=terms_of(name))(*_MOTION)) < 1e-5
    else:
        assert export.lost == (f"j0.{name}", f"j2.{name}")
        assert any(f"j0.{name}" in note and "MJCF" in note for note in export.notes)


@pytest.mark.parametrize("kind", ["coupled", "elastic"])
def test_mjcf_refuses_drives_that_it_cannot_hold(robots, tmp_path, kind):
    with pytest.raises(TaupiError) as refusal:
        tp.write_mjcf(robots[kind], tmp_path / "r.xml")
    assert one_sentence(refusal.value)
    assert not (tmp_path / "r.xml").exists()
