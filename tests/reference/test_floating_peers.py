"""Floating robots against Pinocchio, MuJoCo and iDynTree, each in its own convention."""

import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pinocchio as pin
import pytest
from floating import floating_tree, states

import taupi as tp
from taupi.model.body import body_to_com

BUILDERS = (tp.inverse_dynamics, tp.mass_matrix, tp.coriolis_matrix, tp.gravity_torque, tp.regressor)
TIGHT = 1e-12  # relative to the largest entry: two algorithms over doubles
ROBOTS = {
    "solo12": "solo_description/robots/solo12.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "iris": "iris_description/robots/iris_simple.urdf",
}
# Exact numbers of base parameters (10 + 7 per turning and 4 per sliding joint; fewer with joints that follow others).
COUNTS = {
    "solo_description/robots/solo.urdf": 66,
    "solo_description/robots/solo12.urdf": 94,
    "bolt_description/robots/bolt.urdf": 52,
    "go2_description/urdf/go2.urdf": 94,
    "anymal_c_simple_description/urdf/anymal.urdf": 94,
    "iris_description/robots/iris.urdf": 38,
}
LARGE = {
    "anymal_b_simple_description/robots/anymal.urdf": 94,
    "hyq_description/robots/hyq_no_sensors.urdf": 94,
    "g1_description/urdf/g1_29dof_rev_1_0.urdf": 213,
    "icub_description/robots/icub_reduced.urdf": 213,
    "icub_description/robots/icub.urdf": 234,
    "talos_data/robots/talos_reduced.urdf": 234,
    "anymal_b_simple_description/robots/anymal-kinova.urdf": 136,
    "tiago_description/robots/tiago.urdf": 343,
    "tiago_description/robots/tiago_dual.urdf": 708,
    "talos_data/robots/talos_full_v2.urdf": 260,
    "romeo_description/urdf/romeo.urdf": 385,
}
# The six rows of the base know as many, unless joints follow others, whose rows then add two.
FEWER = {"talos_data/robots/talos_full_v2.urdf": 258, "romeo_description/urdf/romeo.urdf": 383}


def load(robots_dir, file, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tp.Robot.from_urdf(robots_dir / file, floating=True, **options)


def worst(got, expected):
    return float(np.abs(got - expected).max() / np.abs(expected).max())


class InPinocchio:
    """A robot and its Pinocchio model on a free flyer: states and rows in Pinocchio's convention."""

    def __init__(self, path, robot):
        self.robot, self.model = robot, pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        self.names = [n for n in self.model.names[2:]]
        joints = [robot.joint_names.index(n) for n in self.names]
        self.order = [*range(6), *joints]  # of velocities, after the base is in Pinocchio's convention

    def state(self, q, qd, qdd, tau):
        q, qd, qdd, tau = tp.floating.to_base(self.robot, "pinocchio").compile("numpy")(q, qd, qdd, tau)
        position = list(q[:7])
        for k, name in enumerate(self.names):
            value = q[7 + self.robot.joint_names.index(name) - 6]
            position += [np.cos(value), np.sin(value)] if self.model.joints[k + 2].nq == 2 else [value]
        return np.array(position), qd[self.order], qdd[self.order], tau[self.order]

    def columns(self):
        owners = ["base", *self.names]
        places = [next(i for i, j in enumerate(self.robot.joints) if j.name == name) for name in owners]
        kinds = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # Pinocchio's Ixx, Ixy, Iyy, Ixz, Iyz, Izz
        return [10 * i + k for i in places for k in kinds]


@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchio(robots_dir, name):
    robot = load(robots_dir, ROBOTS[name], snap=False)
    peer = InPinocchio(robots_dir / ROBOTS[name], robot)
    model, data = peer.model, peer.data
    q, qd, qdd = (x[0] for x in states(robot, 1, seed=7))
    tau = tp.inverse_dynamics(robot).compile("numpy")(q, qd, qdd)
    theirs, v, a, rows = peer.state(q, qd, qdd, tau)
    assert worst(rows, pin.rnea(model, data, theirs, v, a)) < TIGHT
    swap = np.r_[3:6, 0:3, 6 : robot.n][peer.order]  # Pinocchio's base has body axes, as ours: only the order differs
    mass = pin.crba(model, data, theirs)
    mass = np.triu(mass) + np.triu(mass, 1).T
    assert worst(tp.mass_matrix(robot).compile("numpy")(q)[np.ix_(swap, swap)], mass) < TIGHT
    coriolis = tp.coriolis_matrix(robot).compile("numpy")(q, qd)[np.ix_(swap, swap)]
    assert worst(coriolis, pin.computeCoriolisMatrix(model, data, theirs, v)) < TIGHT
    gravity = pin.computeGeneralizedGravity(model, data, theirs)
    assert worst(tp.gravity_torque(robot).compile("numpy")(q)[swap], gravity) < TIGHT
    y = tp.regressor(robot).compile("numpy")(q, qd, qdd)[np.ix_(swap, peer.columns())]
    assert worst(y, pin.computeJointTorqueRegressor(model, data, theirs, v, a)) < TIGHT
    assert worst(tp.forward_dynamics(robot).compile("numpy")(q, qd, tau), qdd) < 1e-10
    pin.ccrba(model, data, theirs, v)
    h = tp.floating.centroidal_momentum(robot).compile("numpy")(q, qd)
    assert worst(h, np.r_[data.hg.angular, data.hg.linear]) < TIGHT
    matrix = tp.floating.centroidal_momentum_matrix(robot).compile("numpy")(q)
    assert worst(matrix[np.r_[3:6, 0:3]][:, swap], data.Ag) < TIGHT
    assert worst(tp.floating.centre_of_mass(robot).compile("numpy")(q), data.com[0]) < TIGHT


ICUB = "icub_description/robots/icub.urdf"


@pytest.mark.parametrize("file", [ROBOTS["go2"], pytest.param(ICUB, marks=pytest.mark.long)])
def test_idyntree_mixed(robots_dir, file):
    import idyntree.bindings as idyn

    path = robots_dir / file
    robot = load(robots_dir, file, snap=False)
    loader = idyn.ModelLoader()
    assert loader.loadReducedModelFromFile(str(path), list(robot.joint_names[6:]))
    peer = idyn.KinDynComputations()
    assert peer.loadRobotModel(loader.model()) and peer.setFloatingBase(robot.link_names[0])
    q, qd, qdd = (x[0] for x in states(robot, 1, seed=8))
    tau = tp.inverse_dynamics(robot).compile("numpy")(q, qd, qdd)
    pose, v, a, rows = tp.floating.to_base(robot, "idyntree").compile("numpy")(q, qd, qdd, tau)
    place = np.eye(4)
    x, y, z, w = pose[3:7]
    place[:3, :3] = pin.Quaternion(w, x, y, z).matrix()
    place[:3, 3] = pose[:3]
    order = [robot.joint_names.index(peer.model().getJointName(k)) - 6 for k in range(robot.n - 6)]
    assert peer.setRobotState(place, pose[7:][order], v[:6], v[6:][order], np.array([0, 0, -9.81]))
    wrenches = idyn.LinkWrenches(peer.model())
    wrenches.zero()
    torque = idyn.FreeFloatingGeneralizedTorques(peer.model())
    assert peer.inverseDynamics(a[:6], a[6:][order], wrenches, torque)
    theirs = np.r_[torque.baseWrench().toNumPy(), torque.jointTorques().toNumPy()]
    assert worst(np.r_[rows[:6], rows[6:][order]], theirs) < TIGHT


def with_ball_joints(robot):
    """A random tree with free and ball joints in Pinocchio, whose link frames lie behind `after`."""
    ground = robot.base.matrix
    model, places, behind = pin.Model(), {-1: 0}, {-1: pin.SE3(ground[:3, :3], ground[:3, 3])}
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        before, after = (pin.SE3(p.matrix[:3, :3], p.matrix[:3, 3]) for p in (joint.before, joint.after))
        axis = np.array([float(v) for v in joint.axis])
        kinds = {"free": pin.JointModelFreeFlyer, "ball": pin.JointModelSpherical}
        turns = pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
        moves = kinds[joint.kind]() if joint.kind in kinds else turns(axis)
        places[i] = model.addJoint(places[joint.parent], moves, behind[joint.parent] * before, joint.name)
        behind[i] = after
        m, com, inertia = body_to_com([float(v) for v in link.body])
        body = pin.Inertia(float(m), np.array(com, dtype=float), np.array(inertia, dtype=float))
        model.appendBodyToJoint(places[i], body, after)
    model.gravity.linear = np.array([float(v) for v in robot.gravity])
    return model


@pytest.mark.parametrize("seed", [1, 4, 5])  # trees whose joints are numbered depth first, as Pinocchio's M has them
def test_free_and_ball_joints_of_a_tree(seed):
    """Torque, M, C and g; each joint's velocities are in the axes of the frame that it moves, in both libraries."""
    robot = floating_tree(seed, joints=4, balls=(2,))
    model = with_ball_joints(robot)
    data = model.createData()
    (q,), (qd,), (qdd,) = states(robot, 1, seed=seed)
    order = np.r_[3:6, 0:3, 6 : robot.n]  # Pinocchio has the linear velocity of the base first
    v, a = qd[order], qdd[order]
    mass = pin.crba(model, data, q)
    expected = (
        pin.rnea(model, data, q, v, a),
        np.triu(mass) + np.triu(mass, 1).T,
        pin.computeCoriolisMatrix(model, data, q, v),
        pin.computeGeneralizedGravity(model, data, q),
    )
    inputs = ((q, qd, qdd), (q,), (q, qd), (q,))
    for build, values, theirs in zip(BUILDERS, inputs, expected, strict=False):
        ours = build(robot).compile("numpy")(*values)
        ours = ours[np.ix_(order, order)] if ours.ndim == 2 else ours[order]
        assert worst(ours, theirs) < TIGHT, build


@pytest.mark.parametrize("convention", tp.floating.bases())
def test_conventions_go_there_and_back(convention):
    robot = tp.load("elbow2r", floating=True)
    q, qd, qdd, tau = states(robot, 5, velocities=3)
    there = tp.floating.to_base(robot, convention).compile("numpy")(q, qd, qdd, tau)
    back = tp.floating.from_base(robot, convention).compile("numpy")(*there)
    for got, expected in zip(back, (q, qd, qdd, tau), strict=True):
        assert worst(got, expected) < TIGHT
    power = np.einsum("ki,ki->k", there[1], there[3]), np.einsum("ki,ki->k", qd, tau)
    assert worst(*power) < TIGHT


@pytest.mark.parametrize("build", [tp.floating.to_base, tp.floating.from_base])
def test_conventions_refuse_quaternions_of_length_zero(build):
    robot = tp.load("elbow2r", floating=True)
    with pytest.raises(tp.TaupiError, match="quaternion of length zero for joint 'base'"):
        build(robot, "mujoco")(np.zeros(robot.nq), *np.zeros((3, robot.n)))


@pytest.mark.parametrize("file", COUNTS)
def test_exact_numbers_of_base_parameters(robots_dir, file):
    assert tp.base_parameters(load(robots_dir, file)).count == COUNTS[file]


def base_rows(robot):
    """The six rows of the base of the regressor in the IMU form."""
    return tp.regressor(robot, base="imu").take(range(6), axis=0)


@pytest.mark.long
@pytest.mark.parametrize("file", LARGE)
def test_exact_numbers_of_base_parameters_of_large_robots(robots_dir, file):
    robot = load(robots_dir, file)
    assert tp.base_parameters(robot).count == LARGE[file]
    assert len(base_rows(robot).independent().parameters) == FEWER.get(file, LARGE[file])


def test_six_rows_of_the_base_know_all_parameters(robots_dir):
    robot = load(robots_dir, "solo_description/robots/solo.urdf")
    assert len(base_rows(robot).independent().parameters) == 66
    assert len(tp.regressor(robot).independent().parameters) == 66  # of the pose form


def test_operation_counts(robots_dir):
    go2 = load(robots_dir, ROBOTS["go2"])
    assert tp.regressor(go2, base="imu").operations.total <= 3750
    assert tp.inverse_dynamics(go2, base="imu").operations.total <= 1700
    assert tp.mass_matrix(go2).operations.total <= 780
    for build in (tp.regressor, tp.inverse_dynamics):
        assert build(go2).operations.total - build(go2, base="imu").operations.total <= 33
    assert tp.regressor(go2).operations.total <= 1.01 * tp.regressor(go2, base="imu").operations.total


class Spread:
    """A robot with joints that follow others in Pinocchio, where each moves by itself: q_p = S q + offset, tau = S^T tau_p."""

    def __init__(self, path, robot):
        self.robot, self.model = robot, pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        laws = _mimic_laws(path)
        self.matrix, self.offsets = np.zeros((self.model.nv, robot.n)), {}
        self.matrix[:6, :6] = np.eye(6)[[3, 4, 5, 0, 1, 2]]  # Pinocchio has linear velocities first
        for name, joint in zip(list(self.model.names)[2:], self.model.joints.tolist()[2:], strict=True):
            driver, ratio, offset = name, 1.0, 0.0
            while driver in laws:
                follows, r, o = laws[driver]
                driver, ratio, offset = follows, ratio * r, offset + ratio * o
            self.matrix[joint.idx_v, robot.joint_names.index(driver)] = ratio
            self.offsets[name] = offset

    def state(self, q, qd, qdd):
        joints = self.matrix[6:, 6:] @ q[7:]
        position = list(q[:7])
        for name, joint in zip(list(self.model.names)[2:], self.model.joints.tolist()[2:], strict=True):
            value = joints[joint.idx_v - 6] + self.offsets[name]
            position += [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
        return np.array(position), self.matrix @ qd, self.matrix @ qdd

    def columns(self):
        owners = ["base", *list(self.model.names)[2:]]
        places = [next(i for i, j in enumerate(self.robot.joints) if j.name == name) for name in owners]
        return [10 * i + k for i in places for k in (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)]


def _mimic_laws(path):
    """joint -> (joint that it follows, multiplier, offset), of a URDF."""
    laws = {}
    for joint in ET.fromstring(path.read_bytes()).iter("joint"):
        mimic = joint.find("mimic")
        if mimic is not None and joint.get("type") != "fixed":
            ratio, offset = float(mimic.get("multiplier", "1")), float(mimic.get("offset", "0"))
            laws[joint.get("name")] = (mimic.get("joint"), ratio, offset)
    return laws


@pytest.mark.long
def test_pinocchio_on_every_file(robots_dir):
    """Torque, M, C, g and regressor of every URDF at hand on a free base, joints that follow others too, at three states."""
    compared = []
    for path in sorted(robots_dir.rglob("*.urdf")):
        if path.name in ("alex_psyonic_hands.urdf", "ur3.urdf"):  # joints that mimic no joint, and an empty file
            continue
        robot = load(robots_dir, path.relative_to(robots_dir), snap=False)
        peer = Spread(path, robot)
        model, data, spread = peer.model, peer.data, peer.matrix
        programs = [build(robot).compile("numpy") for build in BUILDERS]
        for q, qd, qdd in zip(*states(robot, 3, seed=9), strict=True):
            theirs, v, a = peer.state(q, qd, qdd)
            mass = pin.crba(model, data, theirs)
            regressor = np.zeros((robot.n, 10 * len(robot.links)))
            regressor[:, peer.columns()] = spread.T @ pin.computeJointTorqueRegressor(model, data, theirs, v, a)
            expected = (
                spread.T @ pin.rnea(model, data, theirs, v, a),
                spread.T @ (np.triu(mass) + np.triu(mass, 1).T) @ spread,
                spread.T @ pin.computeCoriolisMatrix(model, data, theirs, v) @ spread,
                spread.T @ pin.computeGeneralizedGravity(model, data, theirs),
                regressor,
            )
            inputs = ((q, qd, qdd), (q,), (q, qd), (q,), (q, qd, qdd))
            for program, arrays, value in zip(programs, inputs, expected, strict=True):
                assert worst(program(*arrays), value) < TIGHT, (path.name, program)
        compared.append(path.stem)
    assert len(compared) >= 60
