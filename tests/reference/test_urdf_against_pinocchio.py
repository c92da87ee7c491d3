"""Every URDF of example-robot-data: the same joints, in the same order, in the same places, with the same bodies."""

import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

pin = pytest.importorskip("pinocchio")

# Placements printed with 17 digits and bodies merged over a few joints; relative to the largest entry.
SAME = 1e-13
# Not robots with a moving joint, or broken: no links, no joint that moves, an unknown child, an unknown mimic master.
NOT_ROBOTS = {
    "ur3.urdf",
    "quadrotor_base.urdf",
    "iris_simple.urdf",
    "bluevolta.urdf",
    "falcon.urdf",
    "alex_psyonic_hands.urdf",
}


def test_all_of_them(robots_dir):
    files = sorted(robots_dir.glob("*/*/*.urdf"))
    assert len(files) > 60
    refused = set()
    for file in files:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TaupiWarning)
                robot = tp.Robot.from_urdf(file, snap=False)
        except TaupiError:
            refused.add(file.name)
            continue
        same_as(robot, pin.buildModelFromUrdf(str(file)), file.name)
    assert refused <= NOT_ROBOTS


def same_as(robot, model, name):
    assert tuple(model.names)[1:] == tuple(j.name for j in robot.joints), name
    bodies = np.array([inertia.toDynamicParameters() for inertia in list(model.inertias)[1:]])
    ours = robot.parameters.to("pinocchio").reshape(-1, 10)
    assert np.abs(ours - bodies).max() < SAME * max(1, np.abs(bodies).max()), name
    for joint, theirs in zip(robot.joints, list(model.jointPlacements)[1:], strict=True):
        offset = joint.before if not joint.mimic else None  # Pinocchio keeps a mimic's offset apart
        assert offset is None or np.abs(offset.matrix - theirs.homogeneous).max() < SAME, f"{name}: {joint.name}"


@pytest.mark.parametrize("file", ["panda_description/urdf/panda.urdf", "talos_data/robots/talos_full_v2.urdf"])
def test_mimic_joints_move_as_pinocchio_says(robots_dir, file):
    """M(q) q" + ... over the coordinates that are left: Pinocchio's own mimic joints are the oracle."""
    robot = tp.Robot.from_urdf(robots_dir / file, snap=False)
    model = pin.buildModelFromUrdf(str(robots_dir / file))
    index = {name: model.joints[model.getJointId(name)].idx_v for name in (j.name for j in robot.joints)}
    q = np.random.default_rng(5).uniform(-0.5, 0.5, robot.n)
    full, jacobian = np.zeros(model.nq), np.zeros((model.nv, robot.n))
    offsets = mimic_offsets(robots_dir / file)
    for joint in robot.joints:
        full[index[joint.name]] = float(joint.ratio) * q[joint.coordinate] + offsets.get(joint.name, 0.0)
        jacobian[index[joint.name], joint.coordinate] = float(joint.ratio)
    data = model.createData()
    pin.crba(model, data, full)
    mass = np.triu(data.M) + np.triu(data.M, 1).T
    np.testing.assert_allclose(tp.mass_matrix(robot)(q), jacobian.T @ mass @ jacobian, atol=1e-10)
    pin.computeGeneralizedGravity(model, data, full)
    np.testing.assert_allclose(tp.gravity_torque(robot)(q), jacobian.T @ data.g, atol=1e-10)


def mimic_offsets(file):
    joints = ElementTree.parse(file).getroot().findall("joint")
    mimics = {j.get("name"): j.find("mimic") for j in joints if j.find("mimic") is not None}
    return {name: float(mimic.get("offset", 0)) for name, mimic in mimics.items()}
