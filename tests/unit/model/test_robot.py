"""Robots as data: any parameters, checked drives, names, and one sentence for whatever is no robot."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.robot_parts import Frame, Friction, Limits, Transmission

ROWS = [{"a": 0.5}, {"a": 0.4}]
ANY_PI = st.lists(st.floats(-1e3, 1e3), min_size=20, max_size=20)


@given(ANY_PI)
def test_pi_may_be_any_vector(pi):
    """Least squares and adaptation give negative masses too; the torque is linear in them."""
    robot = tp.Robot.from_dh(ROWS)
    assert tp.Robot.from_dh(ROWS, parameters=pi) == robot.with_parameters(pi) == robot.with_parameters(np.array(pi))
    np.testing.assert_array_equal(robot.with_parameters(pi).parameters.values, pi)


def test_parameters_are_a_sequence_and_an_array():
    pi = tp.load("elbow2r").parameters
    assert list(pi) == list(pi.exact) and pi[3] == pi[pi.names[3]] == pi[np.int64(3)] and pi[-1] == pi.exact[-1]
    assert pi[pi.layout.link(1)] == pi.link(1) == pi.exact[10:20]
    zollo = tp.load("zollo2r").parameters
    np.testing.assert_array_equal(np.asarray(zollo), zollo.values)
    np.testing.assert_array_equal(2 * np.asarray(zollo, dtype=np.float32), 2 * zollo.values.astype(np.float32))
    copy = np.array(zollo)
    copy[0] = 7  # a copy of one's own may be written to
    assert zollo.values[0] == 21
    for bad in (20, -21, 1.5, None):
        with pytest.raises(TaupiError, match=r"no position|expected a name, a position or a slice"):
            zollo[bad]


def test_parameters_are_accepted_wherever_pi_is():
    robot = tp.load("elbow2r")
    pi = robot.parameters
    assert robot.with_parameters(pi) == robot
    other = tp.Robot.from_dh(ROWS, parameters=pi)
    assert other.parameters.exact == pi.exact
    # The symbols that it holds come with their values.
    values = {name: value for name, value in robot.symbols if value is not None}
    assert all(values[name] == value for name, value in other.symbols)
    given_later = tp.Robot.from_dh(ROWS).with_parameters(pi)
    assert given_later.parameters.exact == pi.exact and set(given_later.symbols) <= set(robot.symbols)


def test_a_layout_knows_where_a_link_stands():
    layout = tp.load("zollo2r").parameters.layout
    assert layout.link(1) == slice(10, 20)
    for bad in (2, -1):
        with pytest.raises(TaupiError, match=f"No link {bad} with its ten parameters"):
            layout.link(bad)
    with pytest.raises(TaupiError, match="No link 0"):
        layout.take(range(1, 20)).link(0)


def test_bodies_that_are_none_are_noted_not_warned_about():
    """Published data such as the PUMA's: warnings are errors here, so that this would fail on one."""
    plate = {"m": 1, "inertia": (0, 0, 0, 0.35, 0, 0)}
    robot = tp.Robot.from_dh(ROWS, links=[{}, plate], name="puma")
    assert len(robot.notes) == 1
    assert robot.notes[0].startswith(
        "puma: no real body has the inertia of link2 (smallest pseudo-inertia eigenvalue -0.17)"
    )
    home = [(0.5, 0, 0), (0.9, 0, 0)]
    screws = [(0, 0, 1, 0, 0, 0), (0, 0, 1, 0, -0.5, 0)]
    assert "no real body" in tp.Robot.from_poe(screws, home, links=[{}, plate]).notes[0]
    assert tp.Robot.from_dh(ROWS, links=[{"m": 1}, {"m": 2}]).notes == ()


def test_inertias_rounded_by_numpy_are_taken():
    r = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    tensor = r @ np.diag([0.3, 0.2, 0.11]) @ r.T
    tensor[1, 0] = np.nextafter(tensor[0, 1], 1.0)  # some linear algebra libraries round both alike, others do not
    arm = tp.Robot.from_dh([{}], links=[{"m": 1, "inertia": tensor}])
    np.testing.assert_allclose(arm.parameters.values[5], tensor[0, 1], rtol=1e-12)


def test_base_and_tool_say_what_was_snapped():
    tilted = np.array([[1, 0, 0, 0], [0, 3e-6, -1, 0], [0, 1, 3e-6, 0], [0, 0, 0, 1]])
    robot = tp.Robot.from_dh(ROWS, base=tilted, tool=tilted)
    assert robot.notes == tuple(
        f"{what}: rotation snapped by 3.0e-06 rad to quaternion ratios of 0 and 1" for what in ("base", "tool")
    )
    assert tp.Robot.from_dh(ROWS, base=tilted, snap=False).notes == ()


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (5, {}, "rows is 5, expected a list with one entry per joint"),
        (None, {}, "rows is None"),
        ({"a": 1}, {}, "rows is {'a': 1}"),
        ([5], {}, "DH row 1 is 5"),
        ([{"joint": ["revolute"]}], {}, "No joint type"),
        ([{"name": 3}, {}], {}, "name is 3, expected a text"),
        (ROWS, {"links": 5}, "links is 5, expected a list"),
        (ROWS, {"links": [{}]}, "links has 1 entries, expected 2"),
        (ROWS, {"links": [5, {}]}, r"link1 is 5, expected dict\(m="),
        (ROWS, {"links": [{"name": 3}, {}]}, "name is 3, expected a text"),
        (ROWS, {"links": [{"m": -1}, {}]}, "link1: mass is -1.0, expected 0 or more"),
        (ROWS, {"links": [{"com": 5}, {}]}, "link1: com is 5, expected 3 numbers"),
        (ROWS, {"links": [{"inertia": np.array(2.0)}, {}]}, "link1: inertia is"),
        (ROWS, {"parameters": 5}, "parameters is 5, expected 20 values"),
        (ROWS, {"parameters": np.array(5.0)}, "parameters is .*, expected 20 values"),
        (ROWS, {"parameters": [None] * 20}, r"parameters\[0\] is None"),
        (ROWS, {"name": 3}, "name is 3, expected a text"),
        (ROWS, {"gravity": 9.81}, "gravity is 9.81, expected 3 numbers"),
        (ROWS, {"tool": 5}, "tool is 5, expected a 4 x 4"),
        (ROWS, {"base": {"x": 1, "y": 2, "z": 3}}, "base is .*, expected a 4 x 4"),
        (ROWS, {"limits": 5}, "limits is 5, expected a list"),
        (ROWS, {"limits": [Limits(), 5]}, r"limits of joint 2 is 5, expected a Limits\(...\)"),
        (ROWS, {"friction": [0.1, 0.2]}, r"friction of joint 1 is 0.1, expected a Friction\(...\)"),
        (ROWS, {"transmissions": [Transmission(gear_ratio=0), None]}, "gear_ratio is 0"),
        (ROWS, {"values": 5}, "values is 5, expected a mapping"),
        (ROWS, {"values": {5: 1}}, "values is .*, expected a mapping"),
        (ROWS, {"convention": 5}, "No convention '5'"),
        (ROWS, {"tool": (0, 0, 0), "links": [{"name": "tool"}, {}]}, "frame name 'tool' is used twice"),
    ],
)
def test_what_is_no_arm_is_one_sentence(rows, options, message):
    with pytest.raises(TaupiError, match=message):
        tp.Robot.from_dh(rows, **options)


def test_records_may_hold_plain_numbers():
    arm = tp.Robot.from_dh(ROWS, friction=[Friction(viscous=0.1), None], transmissions=[None, Transmission(100, "J2")])
    assert arm.joints[0].friction.viscous == Fraction(1, 10) and arm.joints[1].transmission.gear_ratio == 100
    assert arm.symbols == (("J2", None),)


@pytest.mark.parametrize("pi", [None, 5, "abc", np.array(1.0), [1.0] * 19, np.ones((2, 10)), {"m": 1}])
def test_what_is_no_pi_is_one_sentence(pi):
    with refused("pi", expected=20):
        tp.Robot.from_dh(ROWS).with_parameters(pi)


def test_drives_for_all_and_for_each():
    arm = tp.Robot.from_dh(ROWS)
    for one in (3, 3.0, "3", np.array(3.0), np.float64(3.0), [3, 3], np.array([3.0, 3.0])):
        assert [j.transmission.stiffness for j in arm.with_transmissions(stiffness=one).joints] == [3, 3]
    assert arm.with_transmissions(stiffness=[None, 5]).joints[0].transmission.stiffness is None
    three = tp.Robot.from_dh([{}] * 3)
    for axes in ((1, 2, 2), ("1", "2", "2"), [(1, 2, 2)] * 3, np.array([[1.0, 2.0, 2.0]] * 3)):
        for joint in three.with_transmissions(motor_axis=axes).joints:
            assert sum(v * v for v in joint.transmission.motor_axis) == 1
            assert [float(v) for v in joint.transmission.motor_axis] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    kept = three.with_transmissions(motor_axis=[None, None, (2, 0, 0)])
    assert [j.transmission.motor_axis for j in kept.joints] == [None, None, (1, 0, 0)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"stiffness": -1}, "stiffness is -1, expected 0 or more"),
        ({"stiffness": [1, -2]}, "stiffness is -2, expected 0 or more"),
        ({"stiffness": [1, 2, 3]}, "stiffness has 3 values, expected one or 2"),
        ({"stiffness": {"joint1": 3}}, "stiffness is {'joint1': 3}, expected a number"),
        ({"gear_ratio": 0}, "gear_ratio is 0, expected"),
        ({"gear_ratio": "0.0"}, "gear_ratio is 0, expected"),
        ({"motor_axis": (0, 0, 0)}, r"motor_axis is \(0.0, 0.0, 0.0\), which has no direction"),
        ({"motor_axis": ("u", 0, 1)}, "motor_axis is .*must be numbers"),
        ({"motor_axis": 5}, "motor_axis is 5, expected 3 numbers"),
        ({"motor_axis": (0, 1)}, "motor_axis is .*, expected 3 numbers"),
        ({"gear": 5}, "No transmission 'gear'.*gear_ratio"),
    ],
)
def test_what_is_no_drive_is_one_sentence(values, message):
    with pytest.raises(TaupiError, match=message):
        tp.Robot.from_dh(ROWS).with_transmissions(**values)


def test_fingerprints_tell_robots_apart():
    robot = tp.load("zollo2r")
    others = [
        dataclasses.replace(robot, name="other"),
        dataclasses.replace(robot, tip="link1"),
        robot.with_gravity((0, 0, 0)),
        robot.with_friction(viscous=0),
    ]
    assert len({r.fingerprint for r in (robot, *others)}) == 5
    assert tp.load("zollo2r").fingerprint == robot.fingerprint == dataclasses.replace(robot, notes=("x",)).fingerprint


def test_the_tip():
    """Named by the tool or `tip`; else the last link, unless a frame has that very name."""
    arm = tp.Robot.from_dh(ROWS)
    assert arm.frame("tip") == Frame("link2", 1)
    assert tp.Robot.from_dh(ROWS, tool=(0, 0, 1)).frame("tip").name == "tool"
    named = tp.Robot.from_dh(ROWS, links=[{"name": "tip"}, {}])
    assert named.frame("tip") == Frame("tip", 0)
    assert dataclasses.replace(named, tip="link2").frame("tip") == Frame("link2", 1)


def test_frames_have_names_of_their_own():
    arm = tp.Robot.from_dh(ROWS)
    for frames in ((Frame("link1", 0),), (Frame("eye", 0), Frame("eye", 1))):
        with pytest.raises(TaupiError, match=r"frame name '(link1|eye)' is used twice"):
            dataclasses.replace(arm, frames=frames)
