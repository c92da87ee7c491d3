"""Surfaces of links: what a description draws, where the arm carries it, simplified; and films that show it."""

import json
import re

import numpy as np
import pytest
from support import error

import taupi as tp
from taupi.reporting.film import DrawnArm, film
from taupi.reporting.link_meshes import link_meshes, simplified
from taupi.reporting.viewer.scene import Scene

URDF = """<robot name="drawn">
  <link name="base"><visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
  <joint name="turn" type="revolute">
    <parent link="base"/><child link="arm"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="10" velocity="1"/>
  </joint>
  <link name="arm">
    <inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <visual><origin xyz="0.2 0 0" rpy="0 1.5707963267948966 0"/><geometry>{arm}</geometry></visual>
  </link>
  <joint name="flange" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="0.4 0 0"/></joint>
  <link name="hand"><visual><geometry><sphere radius="0.05"/></geometry></visual></link>
</robot>"""


def drawn(tmp_path, arm='<cylinder radius="0.03" length="0.4"/>'):
    path = tmp_path / "drawn.urdf"
    path.write_text(URDF.format(arm=arm))
    return tp.load(path)


def stl(path, triangles):
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) + "endloop\nendfacet\n"
        for t in triangles
    )
    path.write_text(f"solid s\n{facets}endsolid s\n")


def test_surfaces_are_what_the_file_draws(tmp_path):
    meshes = {m.frame: m for m in link_meshes(drawn(tmp_path)).meshes}
    assert set(meshes) == {"base", "arm", "hand"}
    assert error(np.ptp(meshes["base"].vertices, axis=0), [0.2, 0.2, 0.1]) < 1e-9
    low, high = meshes["arm"].vertices.min(axis=0), meshes["arm"].vertices.max(axis=0)
    assert low[0] == pytest.approx(0.0, abs=1e-9) and high[0] == pytest.approx(0.4)  # the cylinder lies along x
    assert np.abs(np.linalg.norm(meshes["arm"].vertices[:, 1:], axis=1) / 0.03 - 1).max() < 0.01
    assert np.abs(np.linalg.norm(meshes["hand"].vertices, axis=1) / 0.05 - 1).max() < 0.2


def test_a_mesh_by_its_file_and_the_reason_where_there_is_none(tmp_path):
    mesh = '<mesh filename="arm.stl" scale="0.001 0.001 0.001"/>'
    missing = link_meshes(drawn(tmp_path, mesh))
    assert missing.meshes == () and "arm.stl" in missing.why
    stl(tmp_path / "arm.stl", [[[0, 0, 0], [100, 0, 0], [0, 100, 0]]])
    (arm,) = [m for m in link_meshes(drawn(tmp_path, mesh)).meshes if m.frame == "arm"]
    assert len(arm.faces) == 1 and np.abs(arm.vertices[:, 2] + 0.0).max() == pytest.approx(0.1)
    assert link_meshes(tp.load("puma560")).meshes == () == tuple(link_meshes(tp.load("puma560")).why)


def test_simplified_surfaces_keep_their_extent():
    k = np.arange(4000) + 0.5
    z, turn = 1 - k / 2000, np.pi * (1 + 5**0.5) * k
    ring = np.sqrt(1 - z**2)
    from taupi.excitation.geometry.shapes import hull_triangles

    ball = hull_triangles(np.stack([ring * np.cos(turn), ring * np.sin(turn), z], axis=1))
    vertices, faces = simplified(ball, 400)
    assert all(len(set(face)) == 3 for face in faces.tolist())
    assert 100 < len(faces) <= 400 and np.abs(np.linalg.norm(vertices, axis=1) - 1).max() < 0.2
    all_vertices, all_faces = simplified(ball)
    assert len(all_faces) == len(ball) and len(all_vertices) == 4000
    assert error(np.sort(all_vertices[all_faces].reshape(-1)), np.sort(ball.reshape(-1))) < 1e-6


def test_the_film_carries_surfaces_with_their_links(tmp_path):
    robot = drawn(tmp_path)
    t = np.linspace(0, 1, 26)
    q = np.linspace(-1, 1, 26)[:, None]
    text = film(robot, [DrawnArm("a", "c0", t, q)])
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)[1])
    assert len(data["surfaces"]) == 3 and 'value="0"' in text and "<output>0.00 s</output>" in text
    points = np.array(data["arms"][0]["frames"]).reshape(26, -1, 3)
    hand = data["surfaces"][-1]
    o, x, y = (points[:, k] / data["metre"] for k in hand["at"])
    want = tp.forward_kinematics(robot, "hand")(q)
    assert error(o - o[0], want[:, :3, 3] - want[0, :3, 3]) < 2e-3
    assert error(x - o, want[:, :3, 0]) < 2e-3 and error(y - o, want[:, :3, 1]) < 2e-3
    size = np.abs(np.array(hand["vertices"])).max() / data["metre"]
    assert size == pytest.approx(0.05, rel=0.2)


def test_the_view_places_surfaces(tmp_path):
    robot = drawn(tmp_path)
    pose = Scene(robot).pose(np.array([0.7]))
    hand = [m.frame for m in Scene(robot).drawn.meshes].index("hand")
    assert error(pose.surfaces[hand], tp.forward_kinematics(robot, "hand")([0.7])[:3]) < 1e-12
