"""Random ground of the kind where wrong answers were found: flags, welds, followers with terms, free bases, sliding arms.

A few seeds run always, and many with `--long`. MuJoCo, Lagrange's equations and ranks over many states are the oracles.
"""

import warnings

import mujoco
import numpy as np
import pytest
from floating import floating_tree, states, with_balls
from lagrange import Oracle
from mjcf_files import Writer
from mujoco_states import converted, driven, equalities, number
from mujoco_states import states as mujoco_states
from scipy.spatial.transform import Rotation
from support import error, random_robot

import taupi as tp
from taupi.dynamics.terms import TERMS, Modulated, resolve_terms
from taupi.errors import TaupiWarning

FLAGS = ("constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity")
PASSIVE = ("rotor", "viscous", "coulomb", "spring", "offset")
LINEAR = tuple(name for name, kind in TERMS.items() if not issubclass(kind, Modulated))


def seeds(few, many):
    return [*range(few), *(pytest.param(k, marks=pytest.mark.long) for k in range(few, many))]


class Switched(Writer):
    """A random MJCF file with flags that switch things off, whose free body may be welded to the world."""

    def body(self, depth, free=False):
        text = super().body(depth, free)
        self.root = text.split('name="')[1].split('"')[0]  # the last one that is made is the outermost
        return text

    def options(self):
        flags = " ".join(f'{name}="disable"' for name in FLAGS if self.flip(0.15))
        return (
            f'<option gravity="{self.pick("0 0 -9.81", "1 2 -9")}" integrator="implicitfast"><flag {flags}/></option>'
        )

    def after(self):
        text = super().after()
        if not self.floating or self.flip():
            return text
        ends = self.pick(
            f'body1="{self.root}"', f'body1="{self.root}" body2="world"', f'body1="world" body2="{self.root}"'
        )
        where = self.pick("", f'relpose="{self.numbers(7)}"'), self.pick("", f'anchor="{self.numbers(3, 0.2)}"')
        return f"{text}<equality><weld {ends} {' '.join(where)}/></equality>"


def disabled(model, *names):
    bits = mujoco.mjtDisableBit.__members__
    return any(model.opt.disableflags & int(bits[f"mjDSBL_{name.upper()}"]) for name in names)


@pytest.mark.parametrize("seed", seeds(12, 300))
def test_files_with_flags_welds_and_terms_have_the_torque_of_mujoco(tmp_path, seed):
    file = Switched(seed)
    for name, text in file.others.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "robot.xml").write_text(file.text)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        robot = tp.load(tmp_path / "robot.xml", snap=False)
    if disabled(model, "constraint", "equality"):
        model.eq_active0[:] = 0
    for k in np.flatnonzero(model.jnt_type < 2):  # of free and ball joints, robots have no terms, as a warning says
        rates = slice(model.jnt_dofadr[k], model.jnt_dofadr[k] + (6 if model.jnt_type[k] == 0 else 3))
        model.jnt_stiffness[k] = 0
        for values in (model.dof_damping, model.dof_frictionloss, model.dof_armature):
            values[rates] = 0
    data = mujoco.MjData(model)
    if any("welded" in note for note in robot.notes):
        put_where_it_is_welded(robot, file.root, model, data)
    q, qd, qdd = (x[0] for x in mujoco_states(robot, seed=seed))
    tau = tp.inverse_dynamics(robot, terms=PASSIVE).compile("numpy")(q, qd, qdd)
    theirs, velocity, acceleration, ours = converted(robot, q, qd, qdd, tau)
    follow, held = equalities(robot, model)
    for name, value in held.items():
        data.qpos[model.jnt_qposadr[number(model, name)]] = value
    spread = np.zeros((model.nv, robot.n))
    for joint in robot.joints:
        k = number(model, joint.name)
        place, rate, at = model.jnt_qposadr[k], model.jnt_dofadr[k], robot.position_index(joint.coordinate)
        if joint.dof > 1:
            data.qpos[place : place + joint.size] = theirs[at : at + joint.size]
            spread[rate : rate + joint.dof, joint.coordinate : joint.coordinate + joint.dof] = np.eye(joint.dof)
            continue
        ratio, offset = follow.get(joint.name, (float(joint.ratio), 0.0))
        data.qpos[place], spread[rate, joint.coordinate] = ratio * theirs[at] + offset, ratio
    data.qvel[:] = spread @ velocity
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    data.qacc[:] = spread @ acceleration
    mujoco.mj_rne(model, data, 1, torque := np.zeros(model.nv))
    torque += (model.dof_armature + driven(model)) * data.qacc - data.qfrc_spring - data.qfrc_damper
    if not disabled(model, "constraint", "frictionloss"):
        torque += model.dof_frictionloss * np.sign(data.qvel)
    assert error(ours, spread.T @ torque) < 1e-9


def put_where_it_is_welded(robot, root, model, data):
    """Place the free body where the robot has it: MuJoCo's weld is then satisfied."""
    frame, body = robot.frame(root), model.body(root).id
    joint = next(k for k in range(model.njnt) if model.jnt_type[k] == 0 and model.jnt_bodyid[k] == body)
    at = model.jnt_qposadr[joint]
    assert frame.link < 0
    data.qpos[at : at + 3] = frame.placement.matrix[:3, 3]
    data.qpos[at + 3 : at + 7] = Rotation.from_matrix(frame.placement.matrix[:3, :3]).as_quat()[[3, 0, 1, 2]]
    mujoco.mj_fwdPosition(model, data)
    ties = [k for k in range(model.neq) if model.eq_type[k] == 1 and body in (model.eq_obj1id[k], model.eq_obj2id[k])]
    rows = (data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) & np.isin(data.efc_id, ties)
    assert rows.any() and np.abs(data.efc_pos[rows]).max() < 1e-9


TREES = {
    "tree": random_robot,
    "followers": lambda seed: random_robot(seed, joints=2 + seed % 4, mimic=True),
    "floating": floating_tree,
    "floating followers": lambda seed: floating_tree(seed, mimic=True),
    "ball": lambda seed: with_balls(random_robot(seed, joints=4), seed % 4),
}


def rank(columns):
    """The rank of columns, those that vanish left out; a ratio of 0.01 shows at 4e-11 of them, rounding at 1e-14."""
    size = np.linalg.norm(columns, axis=0)
    return np.linalg.matrix_rank(columns[:, size > 1e-9] / size[size > 1e-9], tol=1e-12)


COLUMNS = {
    "viscous": lambda q, v, a: v,
    "coulomb": lambda q, v, a: np.sign(v),
    "offset": lambda q, v, a: 1.0,
    "rotor": lambda q, v, a: a,
}


@pytest.mark.parametrize("seed", seeds(1, 40))
@pytest.mark.parametrize("kind", TREES)
def test_trees_with_terms_obey_lagrange_and_have_the_parameters_that_states_show(kind, seed):
    robot, terms = TREES[kind](seed), resolve_terms(tuple(COLUMNS))
    many = states(robot, 80, seed=seed)
    q, v, a = (x[0] for x in many)
    oracle = Oracle(robot)
    tau = oracle.torque(q, v, a)
    for term in terms:
        column = COLUMNS[term.name]
        tau += oracle.by_power(q, v, a, lambda _, joint, *x, t=term, f=column: float(t.value(joint)) * f(*x))
    assert error(tp.inverse_dynamics(robot, terms=terms).compile("numpy")(q, v, a), tau) < 1e-9
    y = tp.regressor(robot, terms=terms)
    values = y.compile("numpy")(*many)
    assert error(values[0] @ y.parameters.values, tau) < 1e-9
    assert tp.base_parameters(robot, terms=terms).count == rank(values.reshape(-1, len(y.parameters)))


@pytest.mark.parametrize("seed", seeds(6, 250))
def test_sliding_arms_have_the_parameters_that_states_show(seed):
    rng = np.random.default_rng([seed, 3])
    n = int(rng.integers(2, 6))
    rows = [
        {
            "a": str(rng.choice(["0", "0.3", "0.45", "-0.2"])),
            "alpha": float(rng.choice([0, np.pi / 2, -np.pi / 2, np.pi, 0.7])),
            "d": str(rng.choice(["0", "0.2"])),
            "theta": float(rng.choice([0, np.pi / 2, 0.4])),
            "joint": str(rng.choice(["revolute", "prismatic"], p=[0.4, 0.6])),
        }
        for _ in range(n)
    ]
    terms = tuple(rng.choice(LINEAR, size=int(rng.integers(1, 5)), replace=False))
    gravity = ((0, 0, -9.81), (0, 0, 0), ("1", "2", "-9"), (0, -9.81, 0))[rng.integers(4)]
    arm = tp.Robot.from_dh(rows, ["classic", "modified"][seed % 2], gravity=gravity)
    Y, base = tp.regressor(arm, terms=terms), tp.base_parameters(arm, terms=terms)
    states, pi = rng.uniform(-2, 2, (3, 600, n)), rng.normal(size=len(Y.parameters))
    columns = Y.compile("numpy")(*states)
    assert base.count == rank(columns.reshape(-1, len(pi)))
    # Not only the count: the base parameters give the same torque.
    assert error(base.regressor().compile("numpy")(*states) @ base.project(pi), columns @ pi) < 1e-9


CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
LINK = """<link name="{name}"><inertial><origin xyz="{c}"/><mass value="2"/>
<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>
<collision><origin xyz="{c}"/><geometry><box size="{size}"/></geometry></collision></link>"""
JOINT = """<joint name="j{i}" type="{kind}"><parent link="{parent}"/><child link="l{i}"/><origin xyz="{at}"/><axis xyz="{axis}"/>
<limit lower="{low}" upper="{high}" velocity="2" effort="300"/></joint>"""


def words(values):
    return " ".join(f"{v:.6g}" for v in values)


def boxed_arm(rng):
    """The URDF of an arm of boxes on a base, some of whose joints slide, and the boxes' centres and half sizes by link."""
    boxes = {"base": (np.array([0, 0, rng.uniform(-0.05, 0.05)]), np.array([0.1, 0.1, rng.uniform(0.03, 0.1)]))}
    joints, at = [], np.array([0, 0, boxes["base"][0][2] + boxes["base"][1][2] + 0.01])
    for i in range(int(rng.integers(2, 5))):
        length, slides = rng.uniform(0.1, 0.45), i > 0 and rng.random() < 0.25
        upright = (np.array([0, 0, 0.05]), np.full(3, 0.05))
        boxes[f"l{i}"] = (np.array([length / 2, 0, 0]), np.array([length / 2, 0.04, 0.03])) if i else upright
        low, high = (-0.15, 0.2) if slides else (-rng.uniform(0.5, 3), rng.uniform(0.5, 3))
        axis = rng.choice(["0 1 0", "1 0 0", "0 0.6 0.8"]) if i else "0 0 1"
        parent, kind = f"l{i - 1}" if i else "base", "prismatic" if slides else "revolute"
        joints.append(JOINT.format(i=i, kind=kind, parent=parent, at=words(at), axis=axis, low=low, high=high))
        at = np.array([length, 0, 0]) if i else np.array([0, 0, 0.12])
    links = [LINK.format(name=name, c=words(c), size=words(2 * half)) for name, (c, half) in boxes.items()]
    return f'<robot name="arm">{"".join(links)}{"".join(joints)}</robot>', boxes


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_motions_keep_boxes_above_the_floor_and_torques_below_their_limits(tmp_path, seed):
    """Corners by forward kinematics and torques at 1501 instants; what is not checked is said."""
    rng = np.random.default_rng([seed, 9])
    text, boxes = boxed_arm(rng)
    (tmp_path / "arm.urdf").write_text(text)
    arm = tp.load(tmp_path / "arm.urdf")
    floor = rng.choice(["base", "none", float(rng.uniform(-0.3, 0.0))])
    floor = floor if floor in ("base", "none") else float(floor)
    try:
        plan = tp.excite(arm, 3.0, starts=1, budget=float(rng.choice([3, 12])), floor=floor)
    except tp.TaupiError as refusal:
        assert refusal.argument == "floor" or isinstance(refusal, tp.errors.NotIdentifiedError)
        return
    state, height = plan.motion(np.linspace(0, plan.motion.duration, 1501)), plan.clearance.floor.height
    assert ("floor" in plan.unchecked) == (height is None)
    reached = []
    for name, (centre, half) in boxes.items():
        if name == "base":
            continue
        T, corners = tp.forward_kinematics(arm, name)(state.q), centre + CORNERS * half
        z = (T[:, 2, :3] @ corners.T + T[:, 2, 3:]).min(axis=1)
        reached += [z.min()] if np.ptp(z) > 1e-6 else []
        if height is not None and plan.certified and f"{name} - floor" not in plan.unchecked:
            assert z.min() > height + 0.02 - 1e-9, name
    assert not reached or plan.lowest.height < min(reached) + 2e-3
    if plan.certified:
        assert np.abs(tp.inverse_dynamics(arm)(*state)).max() <= 0.9 * 300
