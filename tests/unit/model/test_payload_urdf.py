"""A payload in a URDF: another link, fixed to the frame that carries it."""

import numpy as np
import pytest
from cli_runs import motion

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.body import body_from_com
from taupi.model.formats.urdf import updated_text, with_tool

TEXT = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
  <link name="flange"/>
  <joint name="mount" type="fixed"><parent link="upper"/><child link="flange"/><origin xyz="0.3 0 0" rpy="0 1.5707963 0"/></joint>
</robot>
"""
LOAD = dict(mass=1.5, com=(0.01, 0.02, 0.1), inertia=((0.02, 0.001, 0), (0.001, 0.02, 0), (0, 0, 0.01)))


@pytest.fixture
def arm(tmp_path):
    (tmp_path / "arm.urdf").write_text(TEXT)
    return tp.load(tmp_path / "arm.urdf")


@pytest.mark.parametrize("frame", ["flange", "upper"])
def test_the_file_reads_back_to_the_robot_with_the_payload(arm, frame, tmp_path):
    body = body_from_com(LOAD["mass"], LOAD["com"], LOAD["inertia"])
    (tmp_path / "new.urdf").write_text(with_tool(updated_text(arm), frame, body))
    again = tp.load(tmp_path / "new.urdf")
    wanted = arm.with_payload(**LOAD, frame=frame).parameters.values
    assert np.allclose(again.parameters.values, wanted, rtol=1e-9, atol=1e-12)
    assert "payload" in again.frame_names


def test_pinocchio_reads_the_same_robot(arm, tmp_path):
    pinocchio = pytest.importorskip("pinocchio")
    body = body_from_com(LOAD["mass"], LOAD["com"], LOAD["inertia"])
    (tmp_path / "new.urdf").write_text(with_tool(TEXT, "flange", body))
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "new.urdf"))
    data, robot = model.createData(), arm.with_payload(**LOAD, frame="flange")
    for q in (np.array([0.3]), np.array([-1.2])):
        assert np.allclose(pinocchio.crba(model, data, q), tp.mass_matrix(robot)(q), atol=1e-9)
        gravity = pinocchio.computeGeneralizedGravity(model, data, q)
        assert np.allclose(gravity, tp.gravity_torque(robot)(q), atol=1e-6)


def test_a_name_that_is_taken_gets_a_number(arm):
    body = body_from_com(1.0, (0, 0, 0), np.eye(3))
    twice = with_tool(with_tool(TEXT, "flange", body), "flange", body)
    assert twice.count('<link name="payload">') == 1 and twice.count('<link name="payload1">') == 1


def test_a_link_that_is_missing_is_refused():
    with pytest.raises(TaupiError, match="No link 'hand' in the URDF"):
        with_tool(TEXT, "hand", body_from_com(1.0, (0, 0, 0), np.eye(3)))


def test_an_identified_payload_is_written_as_a_link(tmp_path):
    link = (
        '<link name="{0}"><inertial><origin xyz="0.2 0 0"/><mass value="3"/><inertia ixx="0.02" iyy="0.1" izz="0.1" ixy="0"'
        ' ixz="0" iyz="0"/></inertial></link><joint name="j{0}" type="continuous"><parent link="{1}"/><child link="{0}"/>'
        '<origin xyz="{2} 0 0"/><axis xyz="0 1 0"/></joint>'
    )
    text = f'<robot name="two"><link name="base"/>{link.format("upper", "base", 0)}{link.format("fore", "upper", 0.4)}</robot>'
    (tmp_path / "two.urdf").write_text(text)
    arm = tp.load(tmp_path / "two.urdf")
    t, q, qd, qdd = motion(5, n=2, duration=16.0)

    def log(robot, seed):
        tau = tp.inverse_dynamics(robot)(q, qd, qdd)
        return tp.Log(
            t, q, tau=tau + 0.02 * np.random.default_rng(seed).normal(size=tau.shape), names=robot.joint_names
        )

    load = tp.identify_payload(tp.identify(arm, log(arm, 0), terms=()), log(arm.with_payload(**LOAD), 1), at="fore")
    tp.write_urdf(load, tmp_path / "new.urdf")
    again = tp.load(tmp_path / "new.urdf")
    assert np.allclose(again.parameters.values, load.robot.parameters.values, rtol=1e-6, atol=1e-9)
    tp.write_toml(load, tmp_path / "new.toml")
    assert np.allclose(
        tp.load(tmp_path / "new.toml").parameters.values, load.robot.parameters.values, rtol=1e-6, atol=1e-9
    )
    assert load.mass == pytest.approx(LOAD["mass"], rel=0.05)
    # A planar arm says nothing about what lies along its axes.
    assert np.isfinite(load.stderr.com[[0, 2]]).all() and np.isinf(load.stderr.com[1])
