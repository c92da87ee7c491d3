"""The capsules of the catalogue enclose the meshes that they were made from."""

import numpy as np
import pytest

import taupi as tp
from taupi.excitation.geometry.capsules import distances_to_segment
from taupi.excitation.geometry.meshes import read_triangles
from taupi.model.robot import BASE

PANDA = {f"panda_link{k}": f"panda_description/meshes/collision/link{k}.stl" for k in range(8)}
UR10 = {
    name: f"ur_description/meshes/ur10/collision/{mesh}.stl"
    for name, mesh in (
        ("base_link", "base"),
        ("shoulder_link", "shoulder"),
        ("upper_arm_link", "upperarm"),
        ("forearm_link", "forearm"),
        ("wrist_1_link", "wrist1"),
        ("wrist_2_link", "wrist2"),
        ("wrist_3_link", "wrist3"),
    )
}


@pytest.mark.parametrize(
    ("name", "urdf", "meshes", "turn"),
    [
        ("panda", "panda_description/urdf/panda.urdf", PANDA, 1.0),
        ("ur10", "ur_description/urdf/ur10_robot.urdf", UR10, -1.0),  # its DH base is turned by half a turn
    ],
)
def test_capsules_hold_the_meshes(robots_dir, name, urdf, meshes, turn):
    ours, file = tp.load(name), tp.load(robots_dir / urdf)
    turned = np.diag([turn, turn, 1.0, 1.0])
    q = np.random.default_rng(0).uniform(-1, 1, ours.n)
    for link, mesh in meshes.items():
        frame = file.frame(link)
        where = (
            (np.eye(4) if frame.link == BASE else np.linalg.inv(tp.forward_kinematics(ours, link)(q)))
            @ turned
            @ tp.forward_kinematics(file, link)(np.append(q, np.zeros(file.n - ours.n)))
        )
        points = read_triangles(robots_dir / mesh).reshape(-1, 3) @ where[:3, :3].T + where[:3, 3]
        own = [c for c in ours.capsules if c.link == ("base" if frame.link == BASE else link)]
        outside = np.min([distances_to_segment(points, np.array(c.a), np.array(c.b)) - c.r for c in own], axis=0)
        assert outside.max() <= 1e-12
