"""SDF, against Drake's parser: masses, gravity and limits of models whose poses are stated in all sorts of frames."""

import numpy as np
import pytest

import taupi as tp
from taupi.model.robot import Robot

SHOULDER = """<link name="upper"><pose relative_to="mount">0 0 0.1 0.1 0.2 0.3</pose>
  <inertial><pose>0.05 0.02 0.1 0.3 -0.2 0.5</pose><mass>2.5</mass>
  <inertia><ixx>0.03</ixx><iyy>0.04</iyy><izz>0.02</izz>
  <ixy>0.001</ixy><ixz>-0.002</ixz><iyz>0.003</iyz></inertia></inertial></link>
<link name="base"/>
<frame name="mount" attached_to="base"><pose>0.1 -0.2 0.3 0 0 1.5708</pose></frame>
<joint name="weld" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="shoulder" type="revolute"><pose>0.01 0.02 -0.05 0.4 0 0</pose><parent>base</parent><child>upper</child>
  <axis><xyz expressed_in="mount">0 0.6 0.8</xyz><limit><lower>-1.5</lower><upper>2</upper>
  <effort>50</effort><velocity>-1</velocity></limit>
  <dynamics><damping>0.4</damping><friction>0.2</friction></dynamics></axis></joint>"""
FOREARM = """<link name="fore"><pose relative_to="elbow">0.3 0 0 0 0 0.2</pose><inertial><mass>1.5</mass>
  <inertia><ixx>0.01</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial></link>
<joint name="elbow" type="revolute"><pose relative_to="upper">0 0.1 0.4 0.5 0 -0.3</pose>
  <parent>upper</parent><child>fore</child>
  <axis><xyz>0 1 0</xyz><limit><lower>-1e16</lower><upper>1e16</upper></limit></axis></joint>
<link name="slider"><pose degrees="true" relative_to="fore">0 0 0.2 90 0 45</pose><inertial><mass>0.7</mass>
  <inertia><ixx>0.001</ixx><iyy>0.001</iyy><izz>0.001</izz></inertia></inertial></link>
<joint name="slide" type="prismatic"><parent>fore</parent><child>slider</child>
  <axis><xyz expressed_in="__model__">1 0 1</xyz></axis></joint>"""
HAND = """<link name="palm"><pose>0 0 0.05 0 0.3 0</pose><inertial><pose>0 0 0.03 0 0 0</pose><mass>0.4</mass>
  <inertia><ixx>0.001</ixx><iyy>0.002</iyy><izz>0.001</izz></inertia></inertial></link>"""
NESTED = f"""<model name="hand"><pose relative_to="slider" rotation_format="quat_xyzw">0.1 0 0 0 0 0.6 0.8</pose>{HAND}</model>
<joint name="grip" type="fixed"><parent>slider</parent><child>hand::palm</child></joint>"""
INCLUDED = """<include><uri>model://hand/model.sdf</uri><name>hand</name>
  <pose relative_to="slider">0.1 0.1 0 0.3 0 0</pose></include>
<joint name="grip" type="revolute"><parent>slider</parent><child>hand::palm</child>
  <axis><xyz expressed_in="mount">1 0 0</xyz></axis></joint>"""
MODELS = {
    "frames": SHOULDER,
    "chain": SHOULDER + FOREARM,
    "nested": SHOULDER + FOREARM + NESTED,
    "included": SHOULDER + FOREARM + INCLUDED,
}


def sdf(folder, body, version="1.9", name="arm"):
    path = folder / f"{name}.sdf"
    path.write_text(f'<?xml version="1.0"?><sdf version="{version}"><model name="{name}">{body}</model></sdf>')
    return path


@pytest.fixture
def hand(tmp_path):
    (tmp_path / "hand").mkdir()
    sdf(tmp_path / "hand", HAND, name="hand").rename(tmp_path / "hand/model.sdf")
    (tmp_path / "hand/model.config").write_text("<model><name>hand</name><sdf>model.sdf</sdf></model>")


@pytest.mark.parametrize("kind", MODELS)
def test_sdf_agrees_with_drake(tmp_path, hand, kind):
    pytest.importorskip("pydrake")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    path = sdf(tmp_path, MODELS[kind])
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.package_map().PopulateFromFolder(str(tmp_path))
    parser.package_map().Add("hand", str(tmp_path / "hand")) if not parser.package_map().Contains("hand") else None
    parser.AddModels(str(path))
    plant.Finalize()
    robot = tp.load(path, snap=False)
    assert robot.n == plant.num_positions()
    names = [name.rpartition("::")[2] for name in robot.joint_names]
    joints = {j.name(): j for j in (plant.get_joint(i) for i in plant.GetJointIndices())}
    order = [joints[name].position_start() for name in names]
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, qd = rng.normal(size=(2, robot.n))
        theirs, speeds = np.zeros((2, robot.n))
        theirs[order], speeds[order] = q, qd
        plant.SetPositions(context, theirs)
        plant.SetVelocities(context, speeds)
        M = plant.CalcMassMatrix(context)[np.ix_(order, order)]
        assert np.allclose(tp.mass_matrix(robot)(q), M, atol=1e-12)
        gravity = -plant.CalcGravityGeneralizedForces(context)[order]
        bias = plant.CalcBiasTerm(context)[order]
        assert np.allclose(
            tp.inverse_dynamics(robot)(q, qd, 0 * q), gravity + bias, atol=1e-10
        )  # with its gravity, 9.81
    first = robot.joints[names.index("shoulder")]
    assert (first.limits.lower, first.limits.upper, first.limits.effort, first.limits.velocity) == (-1.5, 2, 50, None)
    assert joints["shoulder"].position_upper_limits()[0] == 2 and joints["shoulder"].default_damping() == 0.4
    if "elbow" in names:
        assert robot.joints[names.index("elbow")].kind == "continuous"


def test_sdf_notes_and_options(tmp_path):
    path = sdf(tmp_path, SHOULDER + FOREARM)
    robot = tp.load(path)
    assert isinstance(robot, Robot) and robot.name == "arm" and robot.joint_names == ("shoulder", "elbow", "slide")
    assert any("1.5708" in note for note in robot.notes)
    assert float(robot.joints[0].friction.viscous) == 0.4
    assert tp.load(path, lock=["slide"]).n == 2 and tp.load(path, tip="upper").n == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("<parent>base</parent>", "<parent>nowhere</parent>"), "nowhere"),
        (('relative_to="mount"', 'relative_to="upper"'), "relative to itself"),
        (('relative_to="mount"', 'relative_to="moon"'), "'moon'"),
        (("0.1 0.2 0.3</pose>", "0.1 0.2</pose>"), "expected 6 numbers"),
        (("<mass>2.5</mass>", ""), "has no <mass>"),
        (("<mass>2.5</mass>", "<mass>-1</mass>"), "mass"),
        (('type="revolute"', 'type="screw"'), "'screw'"),
        (("0 0.6 0.8", "0 0 0"), "no direction"),
        (("0 0.6 0.8", "0 nan 1"), "finite decimal"),
        (('name="shoulder"', 'name="upper"'), "used twice"),
        (("<child>upper</child>", ""), "has no <child>"),
        (('<link name="base"/>', '<link name="base"/><include><uri>file:///etc/passwd</uri></include>'), "expected model://name"),
        (('<link name="base"/>', '<link name="base"/><include><uri>../up</uri></include>'), "expected model://name"),
        (('<link name="base"/>', '<link name="base"/><include><uri>gone</uri></include>'), "there is no .*gone"),
        (("<sdf", "<sdx"), "not well-formed"),
    ],
)  # fmt: skip
def test_sdf_that_cannot_be(tmp_path, change, words):
    path = sdf(tmp_path, SHOULDER)
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(tp.TaupiError, match=words):
        tp.load(path)


def test_springs_of_joints(tmp_path):
    """tau = k (q - q0), of a file and of one that is written for a robot with springs."""
    spring = "<spring_stiffness>7</spring_stiffness><spring_reference>0.3</spring_reference></dynamics>"
    arm = tp.load(sdf(tmp_path, SHOULDER.replace("</dynamics>", spring)))
    tp.export(arm, tmp_path / "out", target="sdf")
    q, zero = np.linspace(-1, 1, 5)[:, None], np.zeros((5, 1))
    for robot in (arm, tp.load(tmp_path / "out/arm.sdf")):
        bent = tp.inverse_dynamics(robot, terms=("spring", "offset"))(q, zero, zero) - tp.gravity_torque(robot)(q)
        assert bent == pytest.approx(7 * (q - 0.3), rel=1e-9)
