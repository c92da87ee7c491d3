"""Closed loops: a planar four-bar and a parallelogram, by loops, by energies and by mimic joints; MuJoCo as a second opinion."""

import dataclasses

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from support import random_body, random_robot

import taupi as tp
from taupi.model.body import body_to_com
from taupi.model.placement import Placement, rotation_from_matrix
from taupi.model.robot import Frame, Joint, Link, Robot
from taupi.model.scalars import exact

FIXED = 1e-9


def along(x, y=0.0):
    return Placement(translation=(exact(x), exact(y), exact(0)))


def four_bar(a=0.3, b=0.7, c=0.5, d=0.6, seed=0):
    """Crank, coupler and rocker of a planar four-bar, cut where the coupler meets the rocker; axes are vertical to gravity."""
    rng = np.random.default_rng(seed)
    joints = (
        Joint("crank", "continuous", -1, 0),
        Joint("coupler", "continuous", 0, 1, along(a)),
        Joint("rocker", "continuous", -1, 2, along(d)),
    )
    links = tuple(Link(name, random_body(rng)) for name in ("crank", "coupler", "rocker"))
    frames = (Frame("coupler end", 1, along(b)), Frame("rocker end", 2, along(c)))
    gravity = (exact(0), exact("-9.81"), exact(0))
    loop = tp.loops.Loop("coupler end", "rocker end")
    return Robot("four-bar", joints, links, gravity, frames=frames, loops=(loop,))


def motion(n=60):
    t = np.linspace(0, 3, n)
    return t, 0.6 + 0.8 * np.sin(1.3 * t)[:, None], 1.04 * np.cos(1.3 * t)[:, None], -1.352 * np.sin(1.3 * t)[:, None]


GUESS = [0.6, 0.5, 1.6]


@pytest.fixture(scope="module")
def closed():
    return tp.loops.ClosedLoops(four_bar(), ("crank",))


def test_loops_close_and_stay_closed(closed):
    _, q, qd, qdd = motion()
    x, v, a = closed.motion(q, qd, qdd, GUESS)
    robot = closed.robot
    assert np.abs(tp.loops.loop_error(robot)(x)).max() < 1e-10
    assert np.abs(np.einsum("nij,nj->ni", tp.loops.loop_jacobian(robot)(x), v)).max() < 1e-10
    t = motion(3001)[0]
    fine = closed.close(0.6 + 0.8 * np.sin(1.3 * t)[:, None], GUESS)
    step = t[1] - t[0]
    assert (
        np.abs(np.gradient(fine, step, axis=0)[::50][1:-1] - closed.motion(*_at(t[::50]), GUESS)[1][1:-1]).max() < 1e-4
    )
    assert a.shape == (60, 3)


def _at(t):
    return 0.6 + 0.8 * np.sin(1.3 * t)[:, None], 1.04 * np.cos(1.3 * t)[:, None], -1.352 * np.sin(1.3 * t)[:, None]


def test_the_motors_power_is_the_rate_of_the_energy(closed):
    t = np.linspace(0, 1, 2001)
    x, v, _ = closed.motion(*_at(t), GUESS)
    robot = closed.robot
    torque = closed.motor_regressor(*_at(t), guess=GUESS) @ robot.parameters.values
    energy = tp.kinetic_energy(robot)(x, v) + tp.potential_energy(robot)(x)
    power = np.gradient(energy, t[1] - t[0])
    assert np.abs(power - torque[:, 0] * v[:, 0])[2:-2].max() < 1e-5 * np.abs(power).max()


def test_forward_dynamics_solves_both_equations(closed):
    robot = closed.robot
    x, v, a = closed.motion(*motion(5)[1:], GUESS)
    tau = np.random.default_rng(1).standard_normal((5, 3))
    qdd, force = closed.forward_dynamics(x, v, tau)
    jacobian = tp.loops.loop_jacobian(robot)(x)
    left = tp.inverse_dynamics(robot)(x, v, qdd) - tau - np.einsum("nij,ni->nj", jacobian, force)
    drift = np.einsum("nij,nj->ni", tp.loops.loop_jacobian_derivative(robot)(x, v), v)
    assert np.abs(left).max() < FIXED and np.abs(np.einsum("nij,nj->ni", jacobian, qdd) + drift).max() < FIXED
    # The torque that the motor needs for a motion, applied, gives that motion.
    needed = np.zeros((5, 3))
    needed[:, 0] = (closed.motor_regressor(*motion(5)[1:], guess=GUESS) @ robot.parameters.values)[:, 0]
    assert np.abs(closed.forward_dynamics(x, v, needed)[0] - a).max() < 1e-8


def test_a_parallelogram_is_its_mimic_joints():
    loop = four_bar(0.3, 0.6, 0.3, 0.6)
    by_loop = tp.loops.ClosedLoops(loop, ("crank",))
    joints = (
        loop.joints[0],
        dataclasses.replace(loop.joints[1], coordinate=0, ratio=exact(-1), mimic=True),
        dataclasses.replace(loop.joints[2], coordinate=0, mimic=True),
    )
    mimic = dataclasses.replace(loop, joints=joints, loops=())
    _, q, qd, qdd = motion()
    rows = by_loop.motor_regressor(q, qd, qdd, guess=[0.6, -0.6, 0.6])
    assert np.abs(rows - tp.regressor(mimic)(q, qd, qdd)).max() < 1e-8
    count = tp.loops.numerical_rank(rows.reshape(-1, 30))
    assert count == tp.base_parameters(mimic).count == 3
    assert tp.base_parameters(dataclasses.replace(loop, loops=())).count > 3
    general = tp.loops.ClosedLoops(four_bar(), ("crank",)).motor_regressor(q, qd, qdd, guess=GUESS)
    assert tp.loops.numerical_rank(general.reshape(-1, 30)) in (7, 8)


MJCF = """<mujoco><compiler angle="radian"/><option gravity="0 -9.81 0"/><worldbody>
<body name="crank"><joint name="crank" axis="0 0 1"/><geom type="box" size=".15 .02 .02" pos=".15 0 0"/>
<body name="coupler" pos=".3 0 0"><joint name="coupler" axis="0 0 1"/>
<geom type="box" size=".35 .02 .02" pos=".35 0 0"/></body></body>
<body name="rocker" pos=".6 0 0"><joint name="rocker" axis="0 0 1"/><geom type="box" size=".25 .02 .02" pos=".25 0 0"/>
<site name="r" pos=".5 0 0"/></body></worldbody>
<equality><connect body1="coupler" body2="rocker" anchor=".7 0 0" solref=".004 1"/></equality></mujoco>"""


def test_jacobians_against_mujoco(tmp_path):
    file = tmp_path / "bar.xml"
    file.write_text(MJCF)
    robot = tp.load(file)
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    data.qpos[:] = q = np.array([0.4, 0.3, 1.1])
    mujoco.mj_forward(model, data)
    theirs = data.efc_J.reshape(-1, 3)[:3]
    ours = tp.loops.loop_jacobian(robot)(q)
    assert np.abs(ours - theirs).max() < 1e-12
    assert np.abs(tp.loops.loop_error(robot)(q) - data.efc_pos[:3]).max() < 1e-12


def test_a_weld_holds_axes_too():
    loops = (tp.loops.Loop("coupler end", "rocker end", "weld"),)
    robot = dataclasses.replace(four_bar(), loops=loops)
    q = np.array([0.3, 0.4, 0.9])
    error, dt = tp.loops.loop_error(robot), 1e-6
    assert error(q).shape == (6,) and tp.loops.loop_jacobian(robot)(q).shape == (6, 3)
    qd = np.array([0.5, -0.2, 0.3])
    change = (error(q + dt * qd) - error(q - dt * qd)) / (2 * dt)
    speed = tp.loops.loop_jacobian(robot)(q) @ qd
    assert np.abs(change[3:] - speed[3:]).max() < 1e-8
    turned = q[0] + q[1] - q[2]
    assert change[2] == pytest.approx(speed[2] * np.cos(turned), abs=1e-8)


BAD = {
    "too far": (lambda c: tp.loops.ClosedLoops(four_bar(d=3.0), ("crank",)).close([[0.1]]), "cannot be closed with crank = 0.1"),
    "too many": (lambda c: tp.loops.ClosedLoops(four_bar(), ("crank", "rocker")).map(c.close([[0.6]], GUESS)), "and determine"),
    "no such joint": (lambda c: tp.loops.ClosedLoops(four_bar(), ("wheel",)), "No joint 'wheel'"),
    "all of them": (lambda c: tp.loops.ClosedLoops(four_bar(), ("crank", "coupler", "rocker")), "expected some of"),
    "another shape": (lambda c: c.close([[0.1, 0.2]]), r"q has shape \(1, 2\), expected \(N, 1\)"),
    "an unknown kind": (lambda c: tp.loops.Loop("a", "b", "glue"), "No kind 'glue'"),
    "no frames": (lambda c: dataclasses.replace(four_bar(), loops=(tp.loops.Loop("a", "b"),)), "No frame 'a'"),
    "simulation": (lambda c: tp.RigidPlant(four_bar()), "which a plant does not keep closed"),
    "no loop": (lambda c: tp.loops.loop_error(tp.load("elbow2r")), "has no closed loop"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_loops_that_cannot_be_are_refused(closed, what):
    call, message = BAD[what]
    with pytest.raises(tp.TaupiError, match=message):
        call(closed)


def in_pinocchio(robot):
    """The tree of a robot of turning and sliding joints, and its loops, in Pinocchio."""
    model, places = pin.Model(), {-1: 0}
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        at = (robot.base @ joint.before if joint.parent < 0 else joint.before).matrix
        kind = pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
        moves = kind(np.array([float(v) for v in joint.axis]))
        places[i] = model.addJoint(places[joint.parent], moves, pin.SE3(at[:3, :3], at[:3, 3]), joint.name)
        m, com, inertia = body_to_com([float(v) for v in link.body])
        body = pin.Inertia(float(m), np.array(com, dtype=float), np.array(inertia, dtype=float))
        model.appendBodyToJoint(places[i], body, pin.SE3.Identity())
    model.gravity.linear = np.array([float(v) for v in robot.gravity])
    constraints = pin.StdVec_RigidConstraintModel()
    for loop in robot.loops:
        ends = []
        for frame in (robot.frame(loop.frame_a), robot.frame(loop.frame_b)):
            ends += [places[frame.link], pin.SE3(frame.placement.matrix[:3, :3], frame.placement.matrix[:3, 3])]
        kind = pin.ContactType.CONTACT_6D if loop.kind == "weld" else pin.ContactType.CONTACT_3D
        constraints.append(pin.RigidConstraintModel(kind, model, *ends, pin.ReferenceFrame.LOCAL))
    return model, constraints


def looped(seed, kind, joints=9):
    """A random tree with a loop between its last link and another, closed where its joints are at q."""
    tree = random_robot(seed, joints=joints, tree=False)
    plain = tuple(dataclasses.replace(j, after=Placement()) for j in tree.joints)
    tree = dataclasses.replace(tree, joints=plain)
    q = np.random.default_rng(seed).uniform(-1, 1, joints)
    a, b = (tp.forward_kinematics(tree, f"l{k}")(q) for k in (joints - 1, 0))
    end = np.linalg.inv(b) @ a
    rotation, _ = rotation_from_matrix(end[:3, :3].tolist(), snap=False)
    frame = Frame("end", 0, Placement(rotation, tuple(exact(float(v)) for v in end[:3, 3])))
    return dataclasses.replace(
        tree, frames=(*tree.frames, frame), loops=(tp.loops.Loop(f"l{joints - 1}", "end", kind),)
    ), q


@pytest.mark.parametrize("kind", ["point", "weld"])
@pytest.mark.parametrize("seed", range(3))
def test_pinocchios_constraint_dynamics(seed, kind):
    robot, q = looped(seed, kind)
    assert np.abs(tp.loops.loop_error(robot)(q)).max() < 1e-12
    jacobian = tp.loops.loop_jacobian(robot)(q)
    rng = np.random.default_rng(seed)
    inside = np.eye(robot.n) - np.linalg.pinv(jacobian) @ jacobian
    qd, tau = inside @ rng.normal(size=robot.n), 10 * rng.normal(size=robot.n)
    model, constraints = in_pinocchio(robot)
    data, records = model.createData(), pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        records.append(constraint.createData())
    pin.initConstraintDynamics(model, data, constraints, records)
    exactly = pin.ProximalSettings(1e-14, 1e-12, 100)
    theirs = pin.constraintDynamics(model, data, q, qd, tau, constraints, records, exactly)
    ours = tp.forward_dynamics(robot).compile("numpy")(q, qd, tau)
    assert np.abs(ours - theirs).max() < 1e-8 * np.abs(theirs).max()
    peer = pin.getConstraintsJacobian(model, data, constraints, records)
    # Theirs is in the axes of one of the frames, ours in the world's: what they span is the same.
    assert np.abs(np.linalg.pinv(peer) @ peer - np.linalg.pinv(jacobian) @ jacobian).max() < 1e-9


def test_forward_dynamics_of_redundant_constraints(closed):
    """A planar loop has three equations of which two are independent."""
    _, q, qd, qdd = motion(5)
    x, v, _ = closed.motion(q, qd, qdd, GUESS)
    tau = np.random.default_rng(2).normal(size=x.shape)
    expected, _ = closed.forward_dynamics(x, v, tau)
    assert np.abs(tp.forward_dynamics(closed.robot)(x, v, tau) - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("build", [tp.momentum_observer, tp.SlotineLi, tp.excite, tp.RigidPlant])
def test_what_takes_torques_as_their_joints_own_refuses_loops(closed, build):
    with pytest.raises(tp.TaupiError, match="closed loops"):
        build(closed.robot)
