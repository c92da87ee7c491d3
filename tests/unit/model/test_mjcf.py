"""MJCF: trees of hinges and slides as MuJoCo itself moves and weighs them."""

import builtins
from fractions import Fraction

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco model="arm"><compiler angle="radian"/><option gravity="0 0.5 -9.8"/><worldbody>
<body name="a" pos="0 0 .3" quat=".7071 .7071 0 0">
  <inertial pos=".1 .02 .03" mass="2" fullinertia=".1 .2 .15 .01 .02 .03"/>
  <joint name="j1" axis="0 1 1" pos=".1 0 .2" ref=".3" armature=".05" damping=".2" frictionloss=".1" range="-1 2"/>
  <joint name="j2" type="slide" axis="1 0 0" ref=".1" actuatorfrcrange="-7 7"/>
  <body name="b" pos=".3 0 0"><joint name="j3" axis="0 0 1"/><geom size=".1"/>
    <site name="s" pos="0 0 .1" euler="0 1.5707963267948966 0"/>
    <body name="c" pos="0 .2 0" euler=".3 .2 .1"><geom type="box" size=".1 .2 .05"/></body></body></body>
</worldbody></mujoco>"""


def read(tmp_path, text, **options):
    (tmp_path / "arm.xml").write_text(text)
    return tp.Robot.from_mjcf(tmp_path / "arm.xml", **options)


def test_dynamics_and_frames_are_mujocos(tmp_path):
    robot = read(tmp_path, ARM, snap=False)
    assert robot.link_names == ("a/j1", "a", "b") and robot.joint_names == ("j1", "j2", "j3")
    model = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    bare = tp.inverse_dynamics(robot.with_friction(viscous=0, coulomb=0).with_transmissions(rotor_inertia=0))
    armature = np.array([float(j.transmission.rotor_inertia) for j in robot.joints])
    for _ in range(5):
        q, qd, qdd = rng.uniform(-1, 1, (3, 3))
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        # MuJoCo's passive forces (damping) and constraints (friction loss, limits) are taken out again.
        expected = data.qfrc_inverse + data.qfrc_passive + data.qfrc_constraint
        np.testing.assert_allclose(bare(q, qd, qdd) + armature * qdd, expected, atol=1e-12)
        for name in ("a", "b", "c"):
            placed = tp.forward_kinematics(robot, frame=name)(q)
            np.testing.assert_allclose(placed[:3, 3], data.body(name).xpos, atol=1e-14)
            np.testing.assert_allclose(placed[:3, :3].ravel(), data.body(name).xmat, atol=1e-14)
        np.testing.assert_allclose(tp.forward_kinematics(robot, frame="s")(q)[:3, 3], data.site("s").xpos, atol=1e-14)


def test_what_the_file_states(tmp_path):
    robot = read(tmp_path, ARM)
    one, two, three = robot.joints
    assert robot.gravity == (0, Fraction(1, 2), Fraction(-98, 10))
    assert (one.limits.lower, one.limits.upper, two.limits.effort) == (-1, 2, 7) and three.kind == "continuous"
    assert (one.friction.viscous, one.friction.coulomb) == (Fraction(1, 5), Fraction(1, 10))
    assert one.transmission.rotor_inertia == Fraction(1, 20) and one.transmission.gear_ratio == 1
    assert {v for row in robot.frame("s").placement.rotation for v in row} <= {0, 1, -1}
    locked = read(tmp_path, ARM, lock={"j2": 0.1}, tip="s", gravity=(0, 0, -1))
    assert (locked.joint_names, locked.tip, locked.gravity) == (("j1", "j3"), "s", (0, 0, -1))


def test_what_is_snapped_is_said(tmp_path):
    text = ARM.replace('pos="0 0 .3" quat=".7071 .7071 0 0"', 'euler="1.5708 0 0"')
    text = text.replace('axis="1 0 0" ref=".1"', 'axis="1 1e-6 0"').replace(
        'name="j3" axis', 'name="j3" ref="1.5708" axis'
    )
    text = text.replace("1.5707963267948966", "3.1416")
    robot = read(tmp_path, text)
    snapped = [note.partition(" snapped by ")[0] for note in robot.notes]
    assert snapped == [
        "body a: quat = 0.707105 0.707108 0 0",
        "joint j2: axis = 1 1e-06 0",
        "joint j3: ref = 1.5708",
        "site s: quat = -3.67321e-06 0 1 0",
    ]
    assert "3.7e-06 rad" in robot.notes[0] and read(tmp_path, text, snap=False).notes == ()
    locked = read(tmp_path, ARM, lock={"j3": 1.5708})
    assert locked.notes == ("joint j3: held at 1.5708 snapped by 3.7e-06 rad to a right angle",)


def test_ignored_parts_are_said(tmp_path):
    equality = '<equality><joint joint1="j1" joint2="j2" polycoef="0 1 .5 0 0"/></equality></mujoco>'
    with pytest.warns(TaupiWarning, match="not linear are ignored, so that these joints move independently: j1"):
        read(tmp_path, ARM.replace("</mujoco>", equality))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<mujoco><worldbody/></mujoco>", "arm.xml has no moving joint"),
        ("<mujoco><wrong/></mujoco>", r"arm\.xml: MuJoCo cannot compile it: .*wrong"),
        ('<mujoco><asset><mesh file="no.stl"/></asset></mujoco>', "has no moving joint"),
        ('<mujoco><include file="no.xml"/></mujoco>', "MuJoCo cannot compile it"),
        ("<sdf/>", "root element is <sdf>, expected <mujoco> or <robot>"),
        ("<!DOCTYPE a><mujoco/>", "document type or entity declaration"),
        ("", "is empty"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path, text, message):
    with pytest.raises(TaupiError, match=message):
        read(tmp_path, text)


def test_a_urdf_by_another_name_and_a_missing_package(tmp_path, robots_dir, monkeypatch):
    urdf = (robots_dir / "ur_description/urdf/ur10_robot.urdf").read_text()
    assert read(tmp_path, urdf).source.format == "urdf"
    load = builtins.__import__

    def without(name, *args):
        if name == "mujoco":
            raise ImportError
        return load(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TaupiError, match=r"pip install taupi\[mjcf\]"):
        read(tmp_path, ARM)
