"""URDF reading: merging, locking, tips, mimics, snapping; what a file says is what the robot has."""

import math
from fractions import Fraction

import pytest

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

INERTIAL = (
    '<inertial><origin xyz="{c} 0 0"/><mass value="{m}"/>'
    '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
)


def link(name, m=0, c="0.1"):
    return f'<link name="{name}">{INERTIAL.format(m=m, c=c) if m else ""}</link>'


def joint(name, kind, parent, child, origin='xyz="0 0 0.1"', extra='<axis xyz="0 0 1"/>'):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f"<origin {origin}/>{extra}</joint>"
    )


def read(tmp_path, *parts, **options):
    file = tmp_path / "arm.urdf"
    file.write_text(f'<robot name="arm">{"".join(parts)}</robot>')
    return tp.Robot.from_urdf(file, **options)


CHAIN = (
    *(link("base", 5), link("a", 1), link("b", 2), link("c", 3), link("tool", 4)),
    joint(
        "j1", "revolute", "base", "a", extra='<axis xyz="0 0 2"/><limit lower="-1" upper="1" velocity="2" effort="9"/>'
    ),
    joint("j2", "continuous", "a", "b", 'xyz="0.333 0 0" rpy="1.5708 0 0"', '<limit lower="-1" upper="1" effort="5"/>'),
    joint("j3", "prismatic", "b", "c", extra='<axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.25"/>'),
    joint("weld", "fixed", "c", "tool"),
)


def test_a_chain_as_the_file_states_it(tmp_path):
    robot = read(tmp_path, *CHAIN)
    assert (robot.n, robot.joint_names, robot.link_names) == (3, ("j1", "j2", "j3"), ("a", "b", "c"))
    assert robot.joints[1].before.translation[0] == Fraction(333, 1000)
    assert robot.joints[1].before.rotation[1][2] == -1  # 1.5708 was meant as a right angle
    assert robot.joints[1].axis == (1, 0, 0)  # the URDF default
    assert robot.notes[0] == "joint j2: rpy = 1.5708 0 0 snapped by 3.7e-06 rad to right angles"
    assert "is taken as bolted to the ground" in robot.notes[1] and len(robot.notes) == 2
    assert vars_of(robot.joints[0].limits) == (-1, 1, 2, 9) and vars_of(robot.joints[1].limits) == (None, None, None, 5)
    assert (robot.joints[2].friction.viscous, robot.joints[2].friction.coulomb) == (Fraction(1, 2), Fraction(1, 4))
    assert robot.tip == "tool" and robot.frame("tip").link == 2 and robot.frame("base").link == -1
    assert robot.links[2].body[0] == 7  # the tool's mass is the last link's
    assert robot.links[2].body[3] == Fraction(4, 10)  # 4 kg at 0.1 m along z
    assert robot.links[0].body[0] == 1  # the base does not move: its 5 kg are nobody's


def test_a_world_that_is_not_declared_is_the_world(tmp_path):
    weld = joint("stand", "fixed", "world", "base", 'xyz="0 0 1" rpy="0.1 0.2 0.3"')
    robot = read(tmp_path, *CHAIN, weld)
    declared = read(tmp_path, link("world"), *CHAIN, weld)
    assert any("world, which is not declared" in note for note in robot.notes)
    assert robot.joints == declared.joints and robot.frames == declared.frames and robot.links == declared.links
    free = read(tmp_path, *CHAIN, joint("free", "floating", "world", "base"))
    assert free.floating and free.link_names[0] == "base"
    with pytest.raises(TaupiError, match="No link 'worldd'"):
        read(tmp_path, *CHAIN, joint("stand", "fixed", "worldd", "base"))
    file = tmp_path / "out.urdf"
    tp.write_urdf(robot, file)
    assert tp.Robot.from_urdf(file).parameters == robot.parameters


def vars_of(limits):
    return (limits.lower, limits.upper, limits.velocity, limits.effort)


def test_snap_false_keeps_the_numbers_as_printed(tmp_path):
    robot = read(tmp_path, *CHAIN, snap=False)
    assert not any("snapped" in note for note in robot.notes) and float(
        robot.joints[1].before.rotation[1][1]
    ) == pytest.approx(math.cos(1.5708), abs=3e-16)


def test_what_is_snapped_is_said(tmp_path):
    parts = (
        *(link("base"), link("a", 1), link("b", 2), link("c", 3)),
        joint("j1", "revolute", "base", "a", 'quat_xyzw="0.7071067 0 0 0.7071088"', '<axis xyz="0 1e-6 1"/>'),
        joint("j2", "revolute", "a", "b"),
        joint("j3", "revolute", "b", "c", extra='<axis xyz="0 0 1"/><mimic joint="j1" offset="3.1416"/>'),
    )
    robot = read(tmp_path, *parts, lock={"j2": 1.5708})
    assert robot.notes == (
        "joint j1: quat_xyzw = 0.7071067 0 0 0.7071088 snapped by 3.0e-06 rad to ratios of 0 and 1",
        "joint j1: axis = 0 1e-6 1 snapped by 1.0e-06 rad to a coordinate axis",
        "joint j2: held at 1.5708 snapped by 3.7e-06 rad to a right angle",
        "joint j3: offset 3.1416 snapped by 7.3e-06 rad to a right angle",
    )
    assert read(tmp_path, *parts, lock={"j2": 1.5708}, snap=False).notes == ()


def test_locked_joints_carry_their_links_along(tmp_path):
    robot = read(tmp_path, *CHAIN, lock={"j2": math.pi / 2, "j3": "0.5"})
    assert robot.joint_names == ("j1",) and robot.links[0].body[0] == 10
    where = robot.frame("c").placement
    # j2 turns about x by a right angle after the right angle of its origin; c is at (0, 0.5, 0.1) in b.
    assert where.translation == (Fraction(333, 1000), Fraction(-1, 2), Fraction(-1, 10))
    assert robot.source.merged == (("a", ("b", "c", "tool")),)


TREE = (
    *(link("base"), link("a", 1), link("left", 2), link("right", 3), link("eye")),
    joint("j1", "revolute", "base", "a"),
    joint("z_left", "prismatic", "a", "left"),
    joint(
        "m_right",
        "prismatic",
        "a",
        "right",
        extra='<axis xyz="0 1 0"/><mimic joint="z_left" multiplier="-2" offset="0.01"/>',
    ),
    joint("weld", "fixed", "a", "eye"),
)


def test_children_by_joint_name_and_mimics_follow(tmp_path):
    robot = read(tmp_path, *TREE)
    assert [j.name for j in robot.joints] == ["j1", "m_right", "z_left"] and robot.joint_names == ("j1", "z_left")
    follower = robot.joints[1]
    assert (follower.coordinate, follower.ratio, follower.mimic) == (1, -2, True)
    assert follower.before.translation == (0, Fraction(1, 100), Fraction(1, 10))  # the offset is in the placement
    assert robot.tip == "" and robot.frame("tip").name == "left"


def test_locking_a_master_locks_its_followers(tmp_path):
    robot = read(tmp_path, *TREE, lock={"z_left": 0.1})
    assert robot.n == 1
    assert robot.frame("right").placement.translation == (0, Fraction(-19, 100), Fraction(1, 10))
    assert read(tmp_path, *TREE, lock=["m_right"]).frame("right").placement.translation[1] == 0


def test_a_tip_freezes_other_branches_and_keeps_their_mass(tmp_path):
    robot = read(tmp_path, *TREE, tip="left")
    assert robot.joint_names == ("j1", "z_left") and robot.tip == "left" == robot.frame("tip").name
    assert robot.links[0].body[0] == 4  # 1 kg and the 3 kg of the branch to the right
    assert robot.notes == ("off the path to left, frozen at zero and merged: m_right",)
    assert read(tmp_path, *TREE, tip="right").joint_names == ("j1",)  # its master is off the path


def test_mimics_of_mimics_and_rotations(tmp_path):
    robot = read(
        tmp_path,
        *(link(n) for n in "abcd"),
        joint("j1", "revolute", "a", "b"),
        joint(
            "j2", "revolute", "b", "c", extra='<axis xyz="0 0 1"/><mimic joint="j1" multiplier="2" offset="1.5708"/>'
        ),
        joint(
            "j3", "revolute", "c", "d", extra='<axis xyz="0 0 1"/><mimic joint="j2" multiplier="3" offset="-4.7124"/>'
        ),
    )
    assert [(j.coordinate, j.ratio) for j in robot.joints] == [(0, 1), (0, 2), (0, 6)]
    assert robot.joints[1].before.rotation[0][1] == -1
    assert robot.joints[2].before.rotation[0][0] == 1  # 3 x 1.5708 - 4.7124 = 0


def test_floating_joints_can_be_held_at_their_origin(tmp_path):
    parts = (
        link("world"),
        link("body", 1),
        link("arm", 1),
        joint("free", "floating", "world", "body"),
        joint("j", "revolute", "body", "arm"),
    )
    robot = read(tmp_path, *parts)
    assert robot.floating and robot.n == 7 and robot.joint_names[0] == "free.wx"
    assert read(tmp_path, *parts, lock=["free"]).joint_names == ("j",)
    assert read(tmp_path, *parts, floating=False).joint_names == ("j",)
    deep = [*parts, link("tool", 1), joint("loose", "floating", "arm", "tool")]
    with pytest.raises(TaupiError, match=r"joint 'loose' lets link 'tool' move freely on a moving link"):
        read(tmp_path, *deep)


def test_unreal_inertias_warn_once_with_the_number(tmp_path):
    thin = link("b", 1).replace('ixx="0.1"', 'ixx="9"')
    with pytest.warns(
        TaupiWarning, match=r"arm.urdf: no real body has the inertia of b \(smallest .* -4.4\)"
    ) as caught:
        robot = read(tmp_path, link("a"), thin, joint("j", "revolute", "a", "b"))
    assert len(caught) == 1 and robot.n == 1


def test_long_fixed_chains_stay_orthogonal_and_short(tmp_path):
    n = 400
    parts = [link("l0"), *(link(f"l{i}", 1) for i in range(1, n + 2)), joint("j", "revolute", "l0", "l1")]
    parts += [
        joint(f"f{i}", "fixed", f"l{i}", f"l{i + 1}", f'xyz="0.1 0.2 0.3" rpy="0.{i} 0.2 0.3"') for i in range(1, n + 1)
    ]
    robot = read(tmp_path, *parts)
    r = robot.frame(f"l{n + 1}").placement
    # Without rounding the fractions would grow to a hundred thousand bits.
    assert max(v.denominator.bit_length() for row in r.rotation for v in row) < 10_000
    assert (r @ r.inverse()).rotation == ((1, 0, 0), (0, 1, 0), (0, 0, 1)) and robot.links[0].body[0] == n + 1


@pytest.mark.parametrize(
    ("file", "n", "tip"),
    [
        ("so_arm_description/urdf/so101.urdf", 6, "moving_jaw_so101_v1_link"),
        ("xarm_description/urdf/xarm7.urdf", 7, "link_eef"),
        ("ur_description/urdf/ur10_robot.urdf", 6, "wrist_3_link"),
        ("panda_description/urdf/panda.urdf", 8, ""),
        ("talos_data/robots/talos_full_v2.urdf", 32, ""),
        ("tiago_description/robots/tiago.urdf", 48, ""),
    ],
)
def test_real_robots_load(robots_dir, file, n, tip):
    robot = tp.Robot.from_urdf(robots_dir / file)
    assert (robot.n, robot.tip) == (n, tip)


def test_the_xarm_is_meant_square(robots_dir):
    robot = tp.Robot.from_urdf(robots_dir / "xarm_description/urdf/xarm7.urdf")
    snapped = [note for note in robot.notes if "snapped" in note]
    assert len(snapped) == 6 and all("1.5708" in note for note in snapped)
    assert {v for j in robot.joints for row in j.before.rotation for v in row} == {0, 1, -1}
