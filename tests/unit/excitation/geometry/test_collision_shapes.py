"""Collision geometry of descriptions: primitives of URDF and MJCF, meshes, several shapes per link, and what can be wrong."""

import re

import numpy as np
import pytest
from test_meshes import CORNERS, FACES, binary_stl

import taupi as tp
from taupi.excitation.geometry.capsules import distances_to_segment
from taupi.excitation.geometry.shapes import NoGeometryError, capsules_of, collision_solids, visual_solids

URDF = """<robot name="r"><link name="base">{base}</link><link name="arm">{arm}</link><link name="tool">{tool}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><limit lower="-1" upper="1"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="0 0 1"/></joint></robot>"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TAUPI_CACHE", str(tmp_path_factory.mktemp("cache")))


def collision_capsules(robot):
    return capsules_of(robot, tuple(collision_solids(robot)))


def collision(shape: str, origin: str = "") -> str:
    return f"<collision>{origin}<geometry>{shape}</geometry></collision>"


def robot_of(tmp_path, arm="", base="", tool=""):
    (tmp_path / "r.urdf").write_text(URDF.format(arm=arm, base=base, tool=tool))
    return tp.load(tmp_path / "r.urdf")


def outside(capsules, points) -> float:
    return float(
        np.min([distances_to_segment(points, np.array(c.a), np.array(c.b)) - c.r for c in capsules], axis=0).max()
    )


def test_spheres_and_capsules_are_themselves(tmp_path):
    shapes = collision('<sphere radius="0.2"/>', '<origin xyz="1 2 3"/>')
    turned = collision('<capsule radius="0.1" length="0.6"/>', '<origin rpy="0 1.5707963267948966 0"/>')
    ball, bar = collision_capsules(robot_of(tmp_path, base=shapes, tool=turned))
    assert (ball.link, ball.a, ball.b, ball.r) == ("base", (1, 2, 3), (1, 2, 3), 0.2)
    assert bar.link == "tool" and bar.r == 0.1
    np.testing.assert_allclose(sorted((bar.a, bar.b)), [(-0.3, 0, 0), (0.3, 0, 0)], atol=1e-12)


@pytest.mark.parametrize(
    "shape",
    [
        '<box size="1e30 0.2 0.1"/>',
        '<box size="0.2 0.2 1e-12"/>',
        '<cylinder radius="1e-9" length="1e6"/>',
        '<cylinder radius="1e6" length="1e-9"/>',
    ],
)
def test_shapes_that_are_flat_beside_their_length(tmp_path, shape):
    robot = robot_of(tmp_path, arm=collision(shape) + collision(shape).replace("collision", "visual"))
    size = max(float(n) for n in re.findall(r'[\d.e+-]+(?=[" ])', shape))
    assert max(c.r for c in collision_capsules(robot)) < size
    (solid,) = visual_solids(robot)
    assert len(solid.triangles) >= 12 and np.abs(solid.triangles).max() <= 1.01 * size
    thin = robot_of(tmp_path, arm=collision('<capsule radius="1e-12" length="1e6"/>'))
    with pytest.raises(tp.TaupiError, match="1e\\+06 m long and has a radius of 1e-12 m"):
        collision_capsules(thin)


def test_boxes_cylinders_and_meshes_are_enclosed(tmp_path):
    (tmp_path / "m.stl").write_bytes(binary_stl(CORNERS[FACES]))
    rng = np.random.default_rng(0)
    robot = robot_of(
        tmp_path,
        base=collision('<box size="0.2 0.4 0.6"/>', '<origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>'),
        arm=collision('<cylinder radius="0.1" length="0.05"/>'),
        tool=collision('<mesh filename="m.stl" scale="0.1 0.1 -0.1"/>'),
    )
    by_link = {name: [c for c in collision_capsules(robot) if c.link == name] for name in ("base", "arm", "tool")}
    a, b, c = 0.1, 0.2, 0.3
    turn = [np.eye(3) for _ in range(3)]
    for k, angle in enumerate((a, b, c)):
        i, j = (k + 1) % 3, (k + 2) % 3
        turn[k][[i, j], [i, j]], turn[k][j, i], turn[k][i, j] = np.cos(angle), np.sin(angle), -np.sin(angle)
    box = rng.uniform(-0.5, 0.5, (500, 3)) * [0.2, 0.4, 0.6] @ (turn[2] @ turn[1] @ turn[0]).T + [0, 0, 1]
    assert outside(by_link["base"], box) <= 1e-12
    angle = rng.uniform(0, 2 * np.pi, 500)
    disc = np.stack([0.1 * np.cos(angle), 0.1 * np.sin(angle), rng.choice([-0.025, 0.025], 500)], axis=1)
    assert outside(by_link["arm"], disc) <= 1e-12
    assert outside(by_link["tool"], CORNERS * [0.1, 0.1, -0.1]) <= 1e-12


def test_many_shapes_of_one_link_are_enclosed_together(tmp_path):
    places = np.random.default_rng(0).uniform(-0.1, 0.1, (9, 3))
    shapes = "".join(collision('<sphere radius="0.05"/>', f'<origin xyz="{x} {y} {z}"/>') for x, y, z in places)
    capsules = collision_capsules(robot_of(tmp_path, arm=shapes))
    assert len(capsules) <= 4
    direction = np.random.default_rng(1).standard_normal((9, 100, 3))
    points = places[:, None] + 0.05 * direction / np.linalg.norm(direction, axis=2)[..., None]
    assert outside(capsules, points.reshape(-1, 3)) <= 1e-12


MJCF = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><geom name="post" type="cylinder" size="0.1 0.4"/>
<body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/>
<geom type="sphere" size="0.5" contype="0" conaffinity="0" mass="0"/>
<body name="fore" pos="0.5 0 0"><joint name="k" axis="0 1 0" range="-90 90"/>
<geom type="ellipsoid" pos="0.2 0 0" size="0.2 0.05 0.05"/>
<body name="hand" pos="0.4 0 0"><joint name="l" axis="0 0 1"/><geom type="box" size="0.1 0.05 0.02"/>
</body></body></body></worldbody><contact><exclude body1="world" body2="fore"/></contact></mujoco>"""


def test_geoms_of_mjcf(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "m.xml").write_text(MJCF)
    robot = tp.load(tmp_path / "m.xml")
    capsules = collision_capsules(robot)
    assert {c.link for c in capsules} == {"world", "arm", "fore", "hand"}
    (arm,) = (c for c in capsules if c.link == "arm")
    np.testing.assert_allclose(sorted((arm.a, arm.b)), [(0, 0, 0), (0.5, 0, 0)], atol=1e-9)
    hand = [c for c in capsules if c.link == "hand"]
    assert outside(hand, np.random.default_rng(0).uniform(-1, 1, (300, 3)) * [0.1, 0.05, 0.02]) <= 1e-12
    out = {str(i.pair): i.reason for i in tp.clearance(robot).left_out}
    assert out["world - fore"] == "disabled in m.xml"


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        (
            '<mesh filename="package://gone/a.stl"/>',
            "r.urdf, line 1: link 'arm': there is no mesh 'package://gone/a.stl'",
        ),
        ('<mesh filename="bad.stl"/>', "bad.stl is not an STL file"),
        ('<mesh filename="m.stl" scale="0 0 0"/>', "m.stl: the collision mesh is smaller than 1 micrometre"),
        ('<box size="1 2"/>', "<box> size is '1 2', expected 3 numbers"),
        ('<sphere radius="0"/>', "<sphere> radius is '0', expected sizes above 0"),
        ('<cylinder radius="1"/>', "<cylinder> length is '', expected a number"),
        ("<torus/>", "No shape 'torus' in r.urdf, line 1: link 'arm'"),
        ("", "has a <collision> without a shape"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, shape, sentence):
    (tmp_path / "bad.stl").write_bytes(b"nothing")
    (tmp_path / "m.stl").write_bytes(binary_stl(CORNERS[FACES]))
    with pytest.raises(tp.TaupiError, match=re.escape(sentence)):
        tp.clearance(robot_of(tmp_path, arm=collision(shape)))


def test_no_geometry_is_said(tmp_path):
    with pytest.raises(NoGeometryError, match="r has no collision geometry"):
        tp.clearance(robot_of(tmp_path))


def test_a_sliding_joint_without_a_range_is_refused(tmp_path):
    arm = tp.Robot.from_dh([dict(a=1), dict(d=0, joint="prismatic")])
    with pytest.raises(tp.TaupiError, match="Joint 'joint2' of arm slides and has no range"):
        tp.clearance(arm, capsules=[dict(link="link1", r=0.1), dict(link="base", r=0.1)])
