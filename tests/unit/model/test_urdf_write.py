"""URDF write-back: inertials change, every other byte stays."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError, TaupiWarning

INERTIAL = re.compile(rb"\s*<inertial>.*?</inertial>", re.DOTALL)
# Mass, centre of mass and inertia are written as doubles: a few roundings on the way to the ten parameters.
WRITTEN = 1e-12

ODD = (
    '<?xml version="1.0" encoding="utf-8"?>\r\n<!-- Größe > 1: keep <this> -->\r\n'
    '<robot name=\'odd\'>\r\n\t<link name="base"/>\r\n\t<link   name="a">\r\n'
    '\t\t<inertial><mass value="1"/><!-- inside --><origin xyz="0.1 0 0" rpy="0.1 0.2 0.3"/>'
    '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial >\r\n'
    "\t\t<visual>/> é ></visual></link>\r\n\t<link name='b'/><link name=\"c\"></link>\r\n"
    '<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>'
    '<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>'
    '<joint name="j3" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/></joint>'
    "<gazebo><link name='a'/></gazebo></robot>\r\n<!-- end -->"
)


def close(got, expected):
    scale = np.abs(expected).reshape(-1, 10).max(axis=1).repeat(10)
    np.testing.assert_array_less(np.abs(got - expected), WRITTEN * np.maximum(scale, 1e-300))


def real_parameters(robot, rng):
    return robot.parameters.values.reshape(-1, 10) @ np.diag(rng.uniform(1.0, 1.0 + 1e-3, 10)) + np.array(
        [1, 0.1, 0.1, 0.1, 1, 0, 0, 1, 0, 1]
    )


def test_odd_files_keep_every_byte_outside_inertials(tmp_path):
    source, target = tmp_path / "odd.urdf", tmp_path / "new.urdf"
    source.write_bytes(ODD.encode())
    robot = tp.Robot.from_urdf(source)
    wanted = robot.with_parameters([2, 0.1, 0.2, 0.3, 1, 0.01, 0.02, 1.1, 0.03, 1.2] * 3)
    tp.write_urdf(wanted, target)
    close(tp.Robot.from_urdf(target).parameters.values, wanted.parameters.values)
    strip = re.compile(rb"\s*<inertial>.*?</inertial\s*>", re.DOTALL)
    opened = strip.sub(b"", target.read_bytes()).replace(b"<link name='b'>\r\n\t</link>", b"<link name='b'/>")
    assert opened == strip.sub(b"", ODD.encode())
    assert b"\n" not in target.read_bytes().replace(b"\r\n", b"")


PARTS = """<robot name="r"><link name="base"/>
  <link name="a">
    <inertial>
      <!-- weighed on 3 May -->
      <mass
        value='1.50' /> <!-- kg -->
      <inertia izz="0.10" ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0"></inertia>
      {origin}
    </inertial>
  </link>
  <joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint></robot>"""


def rewritten(tmp_path, text, pi):
    source, target = tmp_path / "r.urdf", tmp_path / "new.urdf"
    source.write_bytes(text.encode())
    wanted = tp.Robot.from_urdf(source).with_parameters(pi)
    tp.write_urdf(wanted, target, force=True)
    close(tp.Robot.from_urdf(target).parameters.values, wanted.parameters.values)
    return target.read_bytes().decode()


def test_numbers_change_in_place_and_comments_stay(tmp_path):
    text = PARTS.format(origin="")
    assert rewritten(tmp_path, text, [2, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.1]) == text.replace("1.50", "2.0")
    new = rewritten(tmp_path, text, [1.5, 0, 0, 0, 0.1, 0, 0, 0.2, 0, 0.2])
    assert new == text.replace('izz="0.10"', 'izz="0.2"').replace('iyy="0.1"', 'iyy="0.2"')


@pytest.mark.parametrize(
    ("origin", "becomes"),
    [
        ('<origin rpy="0.1 0.2 0.3"/>', '<origin rpy="0 0 0" xyz="0.5 0 0"/>'),
        ('<origin xyz="0 1 0"></origin>', '<origin xyz="0.5 0 0"></origin>'),
        ("<origin rpy='0. 0 0.00' xyz='0 1 0' />", "<origin rpy='0. 0 0.00' xyz='0.5 0 0' />"),
        ("<origin />", '<origin xyz="0.5 0 0" />'),
        ("<origin></origin>", '<origin xyz="0.5 0 0"></origin>'),
        ('<origin quat_xyzw="1 0 0 1" xyz="0 0 0"/>', '<origin quat_xyzw="0 0 0 1.0" xyz="0.5 0 0"/>'),
    ],
)
def test_an_origin_is_changed_in_place(tmp_path, origin, becomes):
    new = rewritten(tmp_path, PARTS.format(origin=origin), [2, 1, 0, 0, 0.1, 0, 0, 0.6, 0, 0.6])
    assert new == PARTS.format(origin=becomes).replace("1.50", "2.0")


def test_a_missing_origin_is_added(tmp_path):
    new = rewritten(tmp_path, PARTS.format(origin=""), [2, 1, 0, 0, 0.1, 0, 0, 0.6, 0, 0.6])
    expected = PARTS.format(origin="").replace("1.50", "2.0")
    assert new == expected.replace("<inertial>", '<inertial>\n      <origin xyz="0.5 0 0"/>')


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("panda_description/urdf/panda.urdf", {"lock": ["panda_finger_joint1"]}),
        ("panda_description/urdf/panda.urdf", {"tip": "panda_hand"}),
        ("ur_description/urdf/ur10_robot.urdf", {"snap": False}),
        ("tiago_description/robots/tiago.urdf", {"tip": "arm_7_link", "lock": {"torso_lift_joint": 0.2}}),
        ("talos_data/robots/talos_full_v2.urdf", {}),
    ],
)
def test_reading_back_gives_the_parameters(robots_dir, tmp_path, file, options, recwarn):
    robot = tp.Robot.from_urdf(robots_dir / file, **options)
    wanted = robot.with_parameters(real_parameters(robot, np.random.default_rng(1)).ravel())
    target = tmp_path / "new.urdf"
    tp.write_urdf(wanted, target)
    again = tp.Robot.from_urdf(target, **options)
    close(again.parameters.values, wanted.parameters.values)
    assert (again.joints, again.frames) == (robot.joints, robot.frames)
    assert INERTIAL.sub(b"", target.read_bytes()) == INERTIAL.sub(b"", (robots_dir / file).read_bytes())


def test_one_changed_link_is_one_changed_inertial(robots_dir, tmp_path):
    file = robots_dir / "ur_description/urdf/ur10_robot.urdf"
    robot = tp.Robot.from_urdf(file)
    pi = list(robot.parameters.exact)
    pi[robot.parameters.layout.index("forearm_link.m")] *= 2
    tp.write_urdf(robot.with_parameters(pi), tmp_path / "new.urdf")
    old, new = INERTIAL.findall(file.read_bytes()), INERTIAL.findall((tmp_path / "new.urdf").read_bytes())
    assert sum(a != b for a, b in zip(old, new, strict=True)) == 1
    tp.write_urdf(robot, tmp_path / "same.urdf")
    assert (tmp_path / "same.urdf").read_bytes() == file.read_bytes()


def test_what_cannot_be_written_is_refused(robots_dir, tmp_path):
    file = robots_dir / "panda_description/urdf/panda.urdf"
    robot = tp.Robot.from_urdf(file, lock=["panda_finger_joint1"])
    target = tmp_path / "new.urdf"
    with pytest.raises(TaupiError, match="comes from toml, expected URDF"):
        tp.write_urdf(tp.load("panda"), target)
    pi = list(robot.parameters.exact)
    k = robot.parameters.layout.index("panda_link7.m")
    with pytest.raises(TaupiError, match=r"Link 'panda_link7' would have mass -0\.\d+ once panda_hand"):
        tp.write_urdf(robot.with_parameters([*pi[:k], 0.5, *pi[k + 1 :]]), target)
    with pytest.raises(TaupiError, match=r"has the parameter m7. Give its symbols values with robot.bind"):
        tp.write_urdf(robot.with_parameters([*pi[:k], "m7", *pi[k + 1 :]]), target)
    assert list(tmp_path.iterdir()) == []
    bound = robot.with_parameters([*pi[:k], "m7", *pi[k + 1 :]]).bind(m7=pi[k])
    tp.write_urdf(bound, target)
    with pytest.raises(TaupiError, match=r"exists already.*force=True"):
        tp.write_urdf(bound, target)
    tp.write_urdf(bound, target, force=True)
    assert list(tmp_path.iterdir()) == [target]


def test_where_no_real_body_is_left_all_have_their_share(robots_dir, tmp_path):
    """A light flange with a heavy hand on it: the hand gives way. Every inertial of the file is then one of a real body."""
    options = {"lock": ["panda_finger_joint1"]}
    robot = tp.Robot.from_urdf(robots_dir / "panda_description/urdf/panda.urdf", **options)
    pi = list(robot.parameters.exact)
    pi[-10:] = [0.4, 0, 0, 0.02, 0.01, 0, 0, 0.01, 0, 0.01]  # less than the hand alone has
    wanted, target = robot.with_parameters(pi), tmp_path / "new.urdf"
    with pytest.warns(
        TaupiWarning, match=r"Link 'panda_link7' without panda_hand, .* not be a real body.* are shared among"
    ):
        tp.write_urdf(wanted, target)
    close(tp.Robot.from_urdf(target, **options).parameters.values, wanted.parameters.values)
    masses = {}
    for link in ElementTree.parse(target).iter("link"):
        if link.find("inertial") is None or float(link.find("inertial/mass").attrib["value"]) == 0:
            continue  # as the file has it
        values = {k: float(v) for k, v in link.find("inertial/inertia").attrib.items()}
        masses[link.attrib["name"]] = float(link.find("inertial/mass").attrib["value"])
        tensor = np.array([[values["i" + "".join(sorted(a + b))] for a in "xyz"] for b in "xyz"])
        low, middle, high = np.linalg.eigvalsh(tensor)
        assert masses[link.attrib["name"]] > 0 and low > 0 and low + middle >= high * (1 - 1e-9), link.attrib
    together = [masses[n] for n in ("panda_link7", "panda_hand", "panda_leftfinger", "panda_rightfinger")]
    assert sum(together) == pytest.approx(0.4)
    others = [n for n in masses if n not in ("panda_link7", "panda_hand", "panda_leftfinger", "panda_rightfinger")]
    assert len(others) >= 7  # which stay as they were
