"""Identification against independent codes: MuJoCo as the plant, FIGAROH on the same log."""

import numpy as np
import pytest
from excite import motion

import taupi as tp

mujoco = pytest.importorskip("mujoco")

URDF = """<robot name="three">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.02 0 0.1"/><mass value="3"/>
    <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.01"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.15 0.01 0"/><mass value="2"/>
    <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="c"><inertial><origin xyz="0.1 0 0.02"/><mass value="1"/>
    <inertia ixx="0.002" ixy="0.001" ixz="0" iyy="0.006" iyz="0" izz="0.006"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="99" velocity="9"/></joint>
  <joint name="j2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" effort="99" velocity="9"/></joint>
  <joint name="j3" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-9" upper="9" effort="99" velocity="9"/></joint>
</robot>"""


@pytest.fixture(scope="module")
def urdf(tmp_path_factory):
    path = tmp_path_factory.mktemp("peers") / "three.urdf"
    path.write_text(URDF)
    return path


def recorded(urdf, seed, noise=0.0):
    """Return a log of MuJoCo's own inverse dynamics, with its damping and armature, sampled at 500 Hz."""
    model = mujoco.MjModel.from_xml_path(str(urdf))
    model.opt.gravity[:] = (0, 0, -9.81)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.dof_damping[:], model.dof_armature[:] = (0.5, 0.4, 0.3), (0.05, 0.04, 0.03)
    data = mujoco.MjData(model)
    t, q, qd, qdd = motion(3, seed, 6000, 500.0)
    tau = np.zeros_like(q)
    for k in range(len(t)):
        data.qpos[:], data.qvel[:], data.qacc[:] = q[k], qd[k], qdd[k]
        mujoco.mj_inverse(model, data)
        tau[k] = data.qfrc_inverse
    tau += noise * np.random.default_rng(seed).normal(size=tau.shape)
    return tp.Log(t, q, tau=tau, names=("j1", "j2", "j3"))


def test_mujoco_as_the_plant(urdf):
    robot = tp.load(urdf)
    true = robot.with_friction(viscous=[0.5, 0.4, 0.3]).with_transmissions(rotor_inertia=[0.05, 0.04, 0.03])
    errors = []
    for noise in (1.0, 0.1, 0.0):
        fit = tp.identify(robot, recorded(urdf, 0, noise), terms=("rotor", "viscous"), cutoff_hz=20.0)
        want = fit.basis.project(tp.regressor(true, terms=("rotor", "viscous")).parameters)
        errors.append(np.linalg.norm(fit.values - want) / np.linalg.norm(want))
    assert errors[0] > 2 * errors[1] > 2 * errors[2] and errors[2] < 2e-3  # what is left is the filter's
    assert fit.validate(recorded(urdf, 5), cutoff_hz=20.0).relative < 1e-3


def test_figaroh_on_the_same_log(urdf):
    """The same rows give the same torque by both codes' base parameters, whatever these are joined to."""
    pytest.importorskip("figaroh")
    pin = pytest.importorskip("pinocchio")
    from figaroh.identification.parameter import get_standard_parameters
    from figaroh.tools.qrdecomposition import QRDecomposer
    from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced, get_index_eliminate
    from figaroh.tools.robot import Robot as FigarohRobot

    robot = tp.load(urdf)
    log = tp.prepare(recorded(urdf, 0, 0.2), cutoff_hz=20.0)
    fit = tp.identify(robot, log, "ols", terms=())
    other = FigarohRobot(str(urdf), package_dirs=str(urdf.parent))
    settings = {
        "is_joint_torques": True, "is_external_wrench": False, "force_torque": None,
        "has_friction": False, "has_actuator_inertia": False, "has_joint_offset": False, "has_coupled_wrist": False,
        "act_idxv": [0, 1, 2],
    }  # fmt: skip
    W = build_regressor_basic(other, log.q, log.qd, log.qdd, settings)
    parameters = get_standard_parameters(other.model, settings)
    gone, kept = get_index_eliminate(W, parameters, 1e-6)
    reduced = build_regressor_reduced(W, gone)
    base, _, _, values, *_ = QRDecomposer().double_decomposition(log.tau.T.ravel(), reduced, kept, parameters)
    assert np.shape(base)[1] == len(fit.values) and pin is not None
    theirs = (np.asarray(base) @ np.ravel(values)).reshape(3, -1).T
    ours = fit.predict(log)
    assert np.abs(ours - theirs).max() < 1e-3 * np.abs(ours).max()
    error = [np.linalg.norm(log.tau - tau) for tau in (ours, theirs)]
    assert error[0] <= error[1] * (1 + 1e-6)
