"""The project's own TOML: read as people write it, written so that nothing is lost."""

import contextlib
import dataclasses
import re
import textwrap
import warnings
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_robot

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning
from taupi.model.formats import toml
from taupi.model.formats.toml import read, reads, write, writes
from taupi.model.placement import Placement, rotation_about

WHAT_A_ROBOT_IS = ("name", "joints", "links", "gravity", "base", "frames", "tip", "symbols")

TREE = """
[robot]
name = "two arms"
gravity = [0, 0, "-g"]
base = [0, 0, 1]
tip = "camera"

[values]
g = 9.80665

[[joint]]
name = "waist"
type = "continuous"
origin = { xyz = [0, 0, 0.3], rpy = [1.5708, 0, 0] }
axis = [0, 1, 1]
transmission = { gear_ratio = 100, rotor_inertia = 2e-5, stiffness = 3_000, motor_axis = [0, 0, 1] }
[joint.link]
name = "torso"
m = "m1"
com = [0.1, 0, "1/3"]
inertia = [[0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.2]]

[[joint]]
name = "left"
type = "prismatic"
limits = { lower = 0, upper = 0.04, velocity = 0.2, effort = 20 }
friction = { viscous = 0.1, coulomb = "mu", offset = -0.01 }

[[joint]]
name = "right"
parent = "torso"
type = "prismatic"
axis = [0, -1, 0]
mimic = { joint = "left", ratio = -1, offset = 0.01 }
after = { quaternion = [1, 1, 0, 0] }

[[frame]]
name = "camera"
link = "torso"
origin = { xyz = [0.1, 0, 0], rpy = ["pi/2", 0, "-pi/2"] }
"""


def round_trips(robot):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        again = reads(writes(robot))
    for attribute in WHAT_A_ROBOT_IS:
        assert getattr(again, attribute) == getattr(robot, attribute), attribute
    return True


def test_a_tree_as_a_person_writes_it():
    robot = reads(TREE)
    waist, left, right = robot.joints
    assert [(j.parent, j.coordinate, j.ratio) for j in robot.joints] == [(-1, 0, 1), (0, 1, 1), (0, 1, -1)]
    assert sum(v * v for v in waist.axis) == 1 and waist.before.rotation[1][2] == -1
    assert waist.transmission.stiffness == 3000 and left.limits.upper == 0.04 and str(left.friction.coulomb) == "mu"
    assert right.before.translation == (0, Fraction(-1, 100), 0) and right.after.rotation[1][2] == -1
    assert dict(robot.symbols) == {"g": Fraction(980665, 100000), "m1": None, "mu": None}
    assert str(robot.parameters["torso.mz"]) == "m1/3" and robot.frame("tip").link == 0
    assert len(robot.notes) == 1 and round_trips(robot)


def test_the_two_ways_to_state_a_dh_arm_agree():
    rows = [{"a": "l1"}, {"a": 0.3, "alpha": "pi/2", "d": 0.1, "theta": 0.2, "joint": "prismatic"}]
    for convention in ("classic", "modified"):
        arm = tp.Robot.from_dh(rows, convention, tool=(0, 0, 0.1), values={"l1": 0.5}, name="arm")
        text = f"""
            [robot]
            convention = "{convention}"
            tool = [0, 0, 0.1]
            [values]
            l1 = 0.5
            [[joint]]
            a = "l1"
            [[joint]]
            a = 0.3
            alpha = "pi/2"
            d = 0.1
            theta = 0.2
            type = "prismatic"
            [[link]]
            [[link]]
            """
        again = reads(text, "arm")
        assert [getattr(again, k) for k in WHAT_A_ROBOT_IS] == [getattr(arm, k) for k in WHAT_A_ROBOT_IS]


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_random_trees_round_trip(seed):
    assert round_trips(random_robot(seed))


@pytest.mark.parametrize("name", tp.catalogue())
def test_the_catalogue_round_trips(name):
    assert round_trips(tp.load(name))


@pytest.mark.parametrize("snap", [True, False])
def test_urdfs_round_trip(robots_dir, snap):
    """All that can be read; TIAGo, for one, has long chains of general angles: fractions of hundreds of digits."""
    names = set()
    for file in sorted(robots_dir.glob("*/*/*.urdf")):
        with warnings.catch_warnings(), contextlib.suppress(TaupiError):
            warnings.simplefilter("ignore", TaupiWarning)
            robot = tp.Robot.from_urdf(file, snap=snap)
            names.add(file.name)
        if file.name in names:
            assert round_trips(robot)
    assert len(names) > 60 and {"tiago.urdf", "talos_full_v2.urdf", "panda.urdf", "so101.urdf"} <= names


@given(st.lists(st.tuples(st.floats(-4, 4), st.floats(-4, 4), st.floats(-4, 4)), min_size=1, max_size=4), st.booleans())
@settings(max_examples=40, deadline=None)
def test_chains_of_general_angles_round_trip(turns, snap):
    """Products of several rational rotations have numerators far beyond any number that a person may state."""
    placed = Placement()
    for rpy in turns:
        for axis, angle in zip("xyz", rpy, strict=True):
            placed = Placement(rotation_about(axis, angle, snap)[0]) @ placed
    assert round_trips(tp.Robot.from_dh([{}], base=placed, tool=placed.inverse(), snap=snap))


MJCF = """<mujoco model="arm"><compiler angle="radian"/><worldbody><body name="a" quat=".3 .5 -.7 .2" pos=".1 .2 .3">
<joint name="j1" axis="1 2 3" ref=".3"/><geom size=".1"/><body name="b" euler=".3 .2 .1"><geom size=".1"/>
<body name="c" euler=".4 -.2 .7"><joint name="j2" type="slide" axis=".3 .4 -.5"/><geom size=".1"/></body>
<site name="s" euler=".1 .2 .3"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("snap", [True, False])
def test_an_mjcf_round_trips(tmp_path, snap):
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(MJCF)
    assert round_trips(tp.load(tmp_path / "arm.xml", snap=snap))


def test_what_is_snapped_is_said():
    text = """
        [robot]
        base = { rotation = [[1, 0, 0], [0, 3e-6, -1], [0, 1, 3e-6]] }
        tool = { rpy = [1.5708, 0, 0] }
        [[joint]]
        origin = { rpy = [0, 1.5708, 0] }
        axis = [0, 1e-6, 1]
        [[joint]]
        mimic = { joint = "joint1", offset = 1.5708 }
        [[frame]]
        name = "eye"
        origin = { rpy = [0, 0, 3.1416] }
        """
    notes = reads(text).notes
    for what in (
        "base: rotation",
        "tool: rpy 1.5708",
        "'joint1': origin: rpy",
        "'joint1': axis",
        "mimic offset",
        "'eye': rpy",
    ):
        assert sum(what in note and "snapped by" in note for note in notes) == 1, what
    assert len(notes) == 6 and not reads(text.replace("[robot]", "[robot]\n        snap = false")).notes


def test_limits_may_be_as_large_as_doubles_go():
    robot = reads(DH + "limits = { upper = 1e308, velocity = 1.5, effort = 80 }")
    assert robot.joints[0].limits.upper == 1e308 and round_trips(robot)
    with pytest.raises(TaupiError, match=r"limits.upper is '1e309', expected a finite number"):
        reads(DH + "limits = { upper = 1e309 }")


def test_a_negative_mass_is_not_written():
    with pytest.raises(TaupiError, match=r"Link 'link1' has mass -0\.3, which a description cannot state"):
        writes(tp.Robot.from_dh([{}], parameters=[-0.3] + [0] * 9))


def test_names_of_any_kind_round_trip():
    robot = reads(TREE)
    odd = 'a "quoted"\\ näme\n\t\x7f\x01 base'
    links = (
        dataclasses.replace(robot.links[0], name="base"),
        dataclasses.replace(robot.links[1], name=odd),
        robot.links[2],
    )
    assert round_trips(dataclasses.replace(robot, name=odd, links=links))


def test_files_are_whole_and_not_overwritten(tmp_path):
    robot, file = reads(TREE), tmp_path / "two.toml"
    write(robot, file)
    assert read(file).joints == robot.joints and tp.load(file).source.path == str(file)
    with pytest.raises(TaupiError, match="exists already"):
        write(robot, file)
    write(robot, file, force=True)
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(TaupiError, match="cannot be written: No such file or directory"):
        write(robot, tmp_path / "no" / "two.toml")


DH = '[robot]\nconvention = "classic"\n[[joint]]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DH + "theta_deg = 90", r"No entry 'theta_deg' in robot: joint 'joint1'.*Did you mean 'theta'.*SI and radians"),
        (DH + "link = { mass_g = 90 }", "No entry 'mass_g'.*SI and radians"),
        (DH + "lenght = 1", "No entry 'lenght'"),
        ("[[joint]]\na = 1", 'write convention = "classic"'),
        ('[robot]\nconvention = "DH"\n[[joint]]', "No convention 'DH' in robot"),
        (DH + 'type = "floating"', "No joint type 'floating'"),
        (DH + 'parent = "elbow"', "No link 'elbow'.*must come before"),
        (DH + 'mimic = { joint = "j9" }', "No driving joint 'j9'"),
        (DH + "a = nan", "a is 'nan', expected a finite number"),
        (DH + "a = true", "a is True, expected a number"),
        (DH + "a = 2000-01-01", "a is datetime.date"),
        (DH + 'a = "__import__(1)"', "expected a number or a formula"),
        (DH + "link = { m = -1 }", "link 1: mass is -1.0, expected 0 or more"),
        (
            DH + "link = { parameters = [-1, 0, 0, 0, 0, 0, 0, 0, 0, 0] }",
            "parameters: mass is -1.0, expected 0 or more",
        ),
        (DH + "transmission = { gear_ratio = 0 }", "transmission.gear_ratio is 0, expected"),
        (DH + "transmission = { stiffness = -1 }", "transmission.stiffness is -1, expected 0 or more"),
        (DH + "transmission = { motor_axis = [0, 0, 0] }", "transmission.motor_axis is .*no direction"),
        (DH + "[[frame]]\nname = 'eye'\n[[frame]]\nname = 'eye'", "frame name 'eye' is used twice"),
        (DH + "[[frame]]\nname = 'link1'", "frame name 'link1' is used twice"),
        (DH + "link = { parameters = [1, 2] }", r"parameters is \[1, 2\], expected 10 numbers"),
        (DH + "link = { m = 1, inertia = [[1, 2, 3], [0, 1, 0], [0, 0, 1]] }", "inertia is not symmetric"),
        (DH + "link = { m = 1, parameters = [1] }", "use one of the two"),
        (DH + "link = {}\n[[link]]", "use one of the two"),
        (DH + "[[link]]\n[[link]]", r"2 \[\[link\]\] for 1 \[\[joint\]\]"),
        (DH + "[values]\nl9 = 1", "No symbol 'l9'"),
        (DH + "[values]\nself = 1", "No symbol 'self'"),
        (DH + "[[joint]]\nname = 'joint1'", "joint name 'joint1' is used twice"),
        ('[robot]\ntip = "nose"\n[[joint]]', "No frame 'nose'"),
        ("[[joint]]\norigin = { rpy = [1, 2] }", "expected three angles"),
        ("[[joint]]\norigin = { rpy = [0, 0, 0], quaternion = [1, 0, 0, 0] }", "state the rotation once"),
        ("[[joint]]\norigin = { quaternion = [0, 0, 0, 0] }", "is zero, which is not a rotation"),
        ("[[joint]]\naxis = [0, 0, 0]", "no direction"),
        ("[[joint]]\naxis = { a = 1, b = 2, c = 3 }", "expected 3 numbers"),
        ("joint = 1", "is 1, expected a list of tables"),
        ("link = 3\n[[joint]]", r"\[\[link\]\] is 3, expected a list of tables"),
        ("[joint]", "expected a list of tables"),
        ("[robot]\nsnap = 1\n[[joint]]", "expected true or false"),
        ("[robot]", "robot has no joints"),
        ("robot = [", "robot is not valid TOML"),
        ("a = " + "9" * 5000, "robot is not valid TOML"),
        ("a = " + "[" * 100_000, "robot (nests too deeply|is not valid TOML)"),
    ],
)
def test_bad_files_are_one_sentence(text, message):
    with pytest.raises(TaupiError, match=message) as caught:
        reads(text)
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


def test_the_documented_examples_are_robots():
    blocks = re.findall(r"(?:^    .*\n|^\n)+", toml.__doc__, re.MULTILINE)
    table, tree = (textwrap.dedent(block) for block in blocks if "[[joint]]" in block)
    assert dict(reads(table).symbols) == {"l1": Fraction(1, 2), "g": Fraction(981, 100)}
    assert reads(tree).joints[0].before.rotation[1][2] == -1
