"""Inverse dynamics and mass matrix against MuJoCo, which reads the same URDFs by its own code."""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest
from support import PEER

import taupi as tp

ROBOTS = {
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "z1": "z1_description/urdf/z1.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
    "talos_arm": "talos_data/robots/talos_left_arm.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "two_dof": "asr_twodof_description/urdf/TwoDofs.urdf",
}


def without_shapes(path) -> str:
    """The file's links and joints alone: meshes are not in the package."""
    root = ET.fromstring(path.read_text())
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
        for shape in element.findall("visual") + element.findall("collision"):
            element.remove(shape)
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", {"fusestatic": "false"})
    return ET.tostring(root, encoding="unicode")


def free_of_friction(model):
    model.dof_damping[:] = model.dof_frictionloss[:] = model.dof_armature[:] = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_dynamics_and_mass_matrix(robots_dir, name):
    path = robots_dir / ROBOTS[name]
    ours = tp.Robot.from_urdf(path, snap=False)
    theirs = mujoco.MjModel.from_xml_string(without_shapes(path))
    free_of_friction(theirs)
    place = [mujoco.mj_name2id(theirs, mujoco.mjtObj.mjOBJ_JOINT, n) for n in ours.joint_names]
    data = mujoco.MjData(theirs)
    q, qd, qdd = np.random.default_rng(1).uniform(-1.5, 1.5, (3, ours.n))
    data.qpos[place], data.qvel[place], data.qacc[place] = q, qd, qdd
    mujoco.mj_inverse(theirs, data)
    mass = np.zeros((ours.n, ours.n))
    mujoco.mj_fullM(theirs, data, mass)
    tau = tp.inverse_dynamics(ours)(q, qd, qdd)
    assert np.abs(tau - data.qfrc_inverse[place]).max() < PEER * np.abs(tau).max()
    assert np.abs(tp.mass_matrix(ours)(q) - mass[np.ix_(place, place)]).max() < PEER * np.abs(mass).max()
