"""Floating robots from files and back: URDF, TOML, the catalogue, and what is said of a base that is bolted."""

import warnings

import numpy as np
import pytest
from floating import floating_tree
from refusals import refused

import taupi as tp
from taupi.model.formats import toml
from taupi.model.robot import Loop

INERTIAL = '<inertial><origin xyz=".01 .02 .03"/><mass value="{m}"/><inertia ixx=".2" ixy="0" ixz="0" iyy=".3" iyz="0" izz=".4"/></inertial>'  # noqa: E501
HEAVY = INERTIAL.format(m="7.3")


LIGHT = INERTIAL.format(m="1")


def link(name, inertial=LIGHT):
    return f'<link name="{name}">{inertial}</link>'


def joint(name, parent, child, kind="revolute", more='<axis xyz="0 1 0"/>'):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}"><origin xyz=".1 .2 .3"/>{ends}{more}</joint>'


LEGGED = (
    link("trunk", HEAVY), link("left"), link("right"), link("imu", INERTIAL.format(m=".2")),
    joint("a", "trunk", "left"), joint("b", "trunk", "right"), joint("c", "trunk", "imu", "fixed"),
)  # fmt: skip


def read(tmp_path, *parts, **options):
    file = tmp_path / "robot.urdf"
    file.write_text(f'<robot name="r">{"".join(parts)}</robot>')
    return tp.load(file, **options)


def test_a_bolted_base_with_legs_is_said(tmp_path):
    with pytest.warns(tp.TaupiWarning, match=r"trunk \(7\.5 kg\) is taken as bolted to the ground; floating=True"):
        bolted = read(tmp_path, *LEGGED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(tmp_path, *LEGGED, floating=False) == bolted
        free = read(tmp_path, *LEGGED, floating=True)
        arm = read(tmp_path, link("foot", HEAVY), link("arm"), joint("a", "foot", "arm"))
    assert "foot (7.3 kg) is taken as bolted to the ground" in arm.notes
    assert free.link_names == ("trunk", "left", "right") and free.n == 8
    assert float(free.parameters["trunk.m"]) == pytest.approx(7.5)  # with what is fixed to it
    assert free.frame("imu").link == 0 and free == bolted.floating_base()
    assert free.fixed_base().joints == bolted.joints and free.fixed_base().links == bolted.links


def test_masses_that_are_missing_are_said(tmp_path):
    with pytest.warns(tp.TaupiWarning, match="no moving link has a mass"):
        light = read(tmp_path, link("a", ""), link("b", ""), joint("j", "a", "b"))
    with pytest.raises(tp.TaupiError, match="no moving link has a mass"):
        tp.forward_dynamics(light)
    with pytest.warns(tp.TaupiWarning, match="link 'c' has no mass or inertia and carries none"):
        tip = read(tmp_path, link("a"), link("b"), link("c", ""), joint("j", "a", "b"), joint("k", "b", "c"))
    with pytest.raises(tp.TaupiError, match="link 'c' has no mass"):
        tp.forward_dynamics(tip)
    geared = tip.with_transmissions(rotor_inertia=0.1)
    assert np.isfinite(tp.forward_dynamics(geared, terms="rotor")([0.1, 0.2], [0, 0], [1, 1])).all()


def test_large_snaps_are_said(tmp_path):
    bent = joint("a", "trunk", "left").replace('xyz=".1 .2 .3"', 'rpy="3.14 0 0"')
    with pytest.warns(tp.TaupiWarning, match=r"joint a: rpy = 3\.14 0 0 was snapped by 1\.6e-03 rad.*snap=False keeps"):
        read(tmp_path, link("trunk", HEAVY), link("left"), bent)


def test_drones_and_planar_bases(tmp_path):
    with pytest.raises(
        tp.TaupiError, match=r"has no moving joint\. It needs at least one, unless its base moves: floating=True"
    ):
        read(tmp_path, link("hull", HEAVY))
    drone = read(tmp_path, link("hull", HEAVY), floating=True)
    assert drone.n == 6 and tp.base_parameters(drone).count == 10
    wheeled = read(
        tmp_path, link("world", ""), link("cart"), joint("p", "world", "cart", "planar", '<axis xyz="0 0 1"/>')
    )
    assert wheeled.joint_names == ("p.x", "p.y", "p.turn")
    place = tp.forward_kinematics(wheeled, "cart")([0.5, 0.7, np.pi / 2])
    assert place[:3, 3].tolist() == pytest.approx([0.6, 0.9, 0.3]) and place[1, 0] == pytest.approx(1)
    tilted = read(
        tmp_path, link("world", ""), link("cart"), joint("p", "world", "cart", "planar", '<axis xyz="0 -1 0"/>')
    )
    assert np.linalg.det(tp.forward_kinematics(tilted, "cart")([0.5, 0.7, 0.2])[:3, :3]) == pytest.approx(1)


def test_urdf_there_and_back(tmp_path):
    free = read(tmp_path, *LEGGED, floating=True)
    rng = np.random.default_rng(0)
    changed = free.with_parameters(free.parameters.values * rng.uniform(1.0, 1.1, 30).repeat(1))
    tp.write_urdf(changed, tmp_path / "new.urdf")
    again = tp.load(tmp_path / "new.urdf", floating=True)
    assert np.abs(again.parameters.values - changed.parameters.values).max() < 1e-12


@pytest.mark.parametrize("robot", [floating_tree(5, joints=3, balls=(2,)), tp.load("elbow2r").floating_base()])
def test_toml_there_and_back(robot):
    import dataclasses

    sprung = dataclasses.replace(robot.joints[1], spring=3)
    loops = (Loop(robot.link_names[0], robot.link_names[-1], "weld"),)
    robot = dataclasses.replace(robot, joints=(robot.joints[0], sprung, *robot.joints[2:]), loops=loops)
    again = toml.reads(toml.writes(robot))
    assert (again.joints, again.links, again.frames, again.loops) == (
        robot.joints,
        robot.links,
        robot.frames,
        robot.loops,
    )


def test_the_catalogue_and_toml_take_floating_too(tmp_path):
    arm = tp.load("puma560", floating=True)
    assert arm.n == 12 and tp.load("puma560", floating=False).n == 6
    tp.write_toml(arm, tmp_path / "arm.toml")
    assert tp.load(tmp_path / "arm.toml").floating and not tp.load(tmp_path / "arm.toml", floating=False).floating
    with refused("floating", got=1):
        tp.load("puma560", floating=1)
