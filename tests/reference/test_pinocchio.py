"""Every term of the dynamics against Pinocchio, on real URDFs: arms, hands, humanoid arms, whole trees, a lift."""

import warnings
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from support import PEER

import taupi as tp

# (file, joints to lock: grippers that mimic, wheels); all with a fixed base.
ROBOTS = {
    "panda": ("panda_description/urdf/panda.urdf", ("panda_finger_joint1",)),
    "ur3": ("ur_description/urdf/ur3_robot.urdf", ()),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", ()),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", ()),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", ()),
    "kinova": ("kinova_description/robots/kinova.urdf", ()),
    "z1": ("z1_description/urdf/z1.urdf", ()),
    "so101": ("so_arm_description/urdf/so101.urdf", ()),
    "laikago": ("laikago_description/urdf/laikago.urdf", ()),
    "talos_arm": ("talos_data/robots/talos_left_arm.urdf", ()),
    "talos": ("talos_data/robots/talos_reduced.urdf", ()),
    "tiago": ("tiago_description/robots/tiago_no_hand.urdf", ("wheel_left_joint", "wheel_right_joint")),
    "tiago_hand": ("tiago_description/robots/tiago.urdf", ()),
    "baxter": ("baxter_description/urdf/baxter.urdf", ()),
    "allegro": ("allegro_hand_description/urdf/allegro_right_hand.urdf", ()),
    "icub": ("icub_description/robots/icub_reduced.urdf", ()),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", ()),
    "solo12": ("solo_description/robots/solo12.urdf", ()),
    "double_pendulum": ("double_pendulum_description/urdf/double_pendulum.urdf", ()),
    "two_dof": ("asr_twodof_description/urdf/TwoDofs.urdf", ()),
}


MIMIC = ("baxter",)


def quick(program):
    """Compiled for arms; interpreted for whole bodies, whose single evaluation is not worth a compilation."""
    return program if program.inputs[0].size < 9 else program.compile("numpy")


@cache
def pair(root, name):
    """Our robot and Pinocchio's, of the same file, without snapping so that both mean the same geometry."""
    path, lock = ROBOTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tp.TaupiWarning)  # some published inertias are no real bodies
        ours = tp.Robot.from_urdf(root / path, lock=lock, snap=False)
    try:
        full = pin.buildModelFromUrdf(str(root / path), mimic=True)
    except TypeError:
        full = pin.buildModelFromUrdf(str(root / path))
    locked = [full.getJointId(n) for n in lock]
    locked += [i for i, n in enumerate(full.names) if i and n not in {j.name for j in ours.joints} and i not in locked]
    theirs = pin.buildReducedModel(full, locked, pin.neutral(full)) if locked else full
    theirs.armature[:] = 0
    return ours, theirs


def close(got, want):
    """Within 1e-10 of the largest entry; what is zero in theory is zero to 1e-14."""
    assert np.abs(got - want).max() < PEER * np.abs(want).max() + 1e-14


@pytest.fixture(params=ROBOTS)
def robots(request, robots_dir):
    return pair(robots_dir, request.param)


def state(theirs, seed=0):
    q, v, a = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, theirs.nv))
    # Pinocchio has a continuous joint as a point on the circle.
    return q, v, a, pin.integrate(theirs, pin.neutral(theirs), q)


def test_same_joints_in_the_same_order(robots):
    ours, theirs = robots
    assert [j.name for j in ours.joints] == list(theirs.names)[1:]
    assert ours.n == theirs.nv


def test_inverse_dynamics_mass_matrix_gravity(robots):
    ours, theirs = robots
    data = theirs.createData()
    q, v, a, x = state(theirs)
    close(quick(tp.inverse_dynamics(ours))(q, v, a), pin.rnea(theirs, data, x, v, a))
    mass = pin.crba(theirs, data, x)
    close(quick(tp.mass_matrix(ours))(q), np.triu(mass) + np.triu(mass, 1).T)
    close(quick(tp.gravity_torque(ours))(q), pin.computeGeneralizedGravity(theirs, data, x))


@pytest.mark.parametrize("name", [n for n in ROBOTS if n not in MIMIC])
def test_regressor_and_coriolis_matrix(robots_dir, name):
    ours, theirs = pair(robots_dir, name)
    data = theirs.createData()
    q, v, a, x = state(theirs)
    want = pin.computeJointTorqueRegressor(theirs, data, x, v, a)
    close(quick(tp.regressor(ours))(q, v, a)[:, ours.parameters.layout.order("pinocchio")], want)
    close(tp.coriolis_matrix(ours).compile("numpy")(q, v), pin.computeCoriolisMatrix(theirs, data, x, v))


@pytest.mark.parametrize("name", MIMIC)
def test_regressor_with_mimic_joints(robots_dir, name):
    """Pinocchio has no regressor of such robots; its recursive torque is the oracle."""
    ours, theirs = pair(robots_dir, name)
    q, v, a, x = state(theirs)
    assert len(ours.joints) > ours.n
    close(quick(tp.regressor(ours))(q, v, a) @ ours.parameters.values, pin.rnea(theirs, theirs.createData(), x, v, a))


@pytest.mark.parametrize("name", [n for n in ROBOTS if n not in MIMIC])
def test_jacobians_of_the_last_link(robots_dir, name):
    ours, theirs = pair(robots_dir, name)
    data = theirs.createData()
    q, _, _, x = state(theirs)
    pin.computeJointJacobians(theirs, data, x)
    pin.framesForwardKinematics(theirs, data, x)
    frames = {"geometric": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL, "spatial": pin.WORLD}
    for kind, frame in frames.items():
        want = pin.getJointJacobian(theirs, data, theirs.njoints - 1, frame)
        # Theirs is (linear, angular).
        close(
            tp.jacobian(ours, frame=ours.link_names[-1], kind=kind).compile("numpy")(q), np.vstack([want[3:], want[:3]])
        )
    t = tp.forward_kinematics(ours, frame=ours.link_names[-1]).compile("numpy")(q)
    close(t, data.oMi[theirs.njoints - 1].homogeneous)


@pytest.mark.parametrize("name", ["panda", "tiago"])
def test_forward_dynamics(robots_dir, name):
    ours, theirs = pair(robots_dir, name)
    q, v, tau, x = state(theirs)
    want = pin.aba(theirs, theirs.createData(), x, v, tau)
    for algorithm in ("articulated", "cholesky"):
        close(tp.forward_dynamics(ours, algorithm=algorithm)(q, v, tau), want)


def test_tip_wrench(robots_dir):
    """F_tip is what the tip applies to its surroundings, so -F_tip acts on the robot."""
    ours, theirs = pair(robots_dir, "panda")
    q, v, a, x = state(theirs)
    f = np.array([0.3, -1.0, 2.0, 5.0, -4.0, 3.0])
    forces = [pin.Force.Zero() for _ in range(theirs.njoints)]
    forces[-1] = pin.Force(-f[3:], -f[:3])
    want = pin.rnea(theirs, theirs.createData(), x, v, a, forces)
    close(tp.inverse_dynamics(ours, tip_wrench="body", frame=ours.link_names[-1])(q, v, a, f), want)
