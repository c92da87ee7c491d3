"""The built-in robots against the numbers they were made from, and taupi.load."""

import dataclasses
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import taupi as tp
from taupi.errors import TaupiError

VECTORS = Path(__file__).parents[2] / "data" / "spec-dynamics-and-regressors.json"


def case(name):
    return next(c for c in json.loads(VECTORS.read_text())["cases"] if c["id"] == name)


def test_names():
    assert tp.catalogue() == (
        "elbow2r",
        "g1",
        "lecture2r",
        "panda",
        "planar3r",
        "puma560",
        "puma560_elastic",
        "solo12",
        "ur10",
        "zollo2r",
    )


def test_puma560_is_the_one_of_the_vectors():
    robot, inputs = tp.load("puma560"), case("puma560_1")["inputs"]
    assert [s for s, _ in robot.symbols] == ["a2", "a3", "d3", "d4"]
    other = tp.Robot.from_dh(
        [{k: row[k] for k in ("a", "alpha", "d")} | {"theta": row["theta_offset"]} for row in inputs["dh"]],
        links=[{"m": k["m"], "com": k["p"], "inertia": k["I_G"]} for k in inputs["links"]],
    )
    assert robot.parameters.exact == other.parameters.exact
    q = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])
    # The published check, to its four decimals.
    np.testing.assert_allclose(tp.gravity_torque(robot)(q), [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=5e-5)
    assert "no real body has the inertia of link1" in robot.notes[0]


def test_lecture2r_and_planar3r_have_their_closed_forms():
    robot = tp.load("lecture2r").bind(L1=0.7, L2=0.4, m1=1.3, m2=0.9)
    q1, q2 = q = np.array([0.3, -1.1])
    m12 = 0.9 * (0.7 * 0.4 * np.cos(q2) + 0.4**2)
    m11 = 1.3 * 0.7**2 + 0.9 * (0.7**2 + 2 * 0.7 * 0.4 * np.cos(q2) + 0.4**2)
    np.testing.assert_allclose(tp.mass_matrix(robot)(q), [[m11, m12], [m12, 0.9 * 0.16]], atol=1e-14)
    g2 = 0.9 * 9.81 * 0.4 * np.cos(q1 + q2)
    np.testing.assert_allclose(tp.gravity_torque(robot)(q), [2.2 * 0.7 * 9.81 * np.cos(q1) + g2, g2], atol=1e-13)

    inputs, values = case("planar3R_1")["inputs"], dict(tp.load("planar3r").symbols)
    for key, symbol in (("m", "m"), ("I_com", "I"), ("l", "l"), ("lc", "lc")):
        assert [float(values[f"{symbol}{i}"]) for i in (1, 2, 3)] == inputs[key]


def test_zollo2r_is_the_robot_of_the_paper():
    robot = tp.load("zollo2r")
    np.testing.assert_allclose(robot.parameters.to("zollo")[:8], [21, 10, -5, 0, 0, -2.5, 0, 0])
    assert float(robot.parameters["link1.Izz"]) == pytest.approx(7 / 15 + 1.25 + 12.1)
    assert float(robot.parameters["link2.Izz"]) == pytest.approx(7 / 30 + 0.625)
    drives = [j.transmission for j in robot.joints]
    assert [float(d.stiffness) for d in drives] == [3000, 1800]
    assert [float(d.rotor_inertia) for d in drives] == [21.18, 12.1] and [float(d.gear_ratio) for d in drives] == [
        0.1,
        0.1,
    ]


def test_panda_is_the_urdf_of_its_maker(robots_dir):
    """Link frames of the modified DH table coincide with the URDF's, so poses, torques and parameters do."""
    pin = pytest.importorskip("pinocchio")
    ours = tp.load("panda")
    urdf = tp.Robot.from_urdf(robots_dir / "panda_description/urdf/panda.urdf", lock=["panda_finger_joint1"])
    assert ours.parameters.exact[:60] == urdf.parameters.exact[:60]  # link 7 of the URDF carries the hand
    # The accelerations are in the maker's documentation; a URDF cannot state them.
    assert [j.limits.acceleration for j in ours.joints] == [15, 7.5, 10, 12.5, 15, 20, 20]
    assert [dataclasses.replace(j.limits, acceleration=None) for j in ours.joints] == [j.limits for j in urdf.joints]
    model = pin.buildModelFromUrdf(str(robots_dir / "panda_description/urdf/panda.urdf"))
    data = model.createData()
    q = np.random.default_rng(0).uniform(-2, 2, 7)
    pin.framesForwardKinematics(model, data, np.r_[q, 0, 0])
    for name in [*ours.link_names, "panda_link8"]:
        expected = data.oMf[model.getFrameId(name)].homogeneous
        np.testing.assert_allclose(tp.forward_kinematics(ours, frame=name)(q), expected, atol=1e-14)


def test_ur10_reaches_where_its_urdf_does(robots_dir):
    """The DH arm's flange and the URDF's differ by constant frames; the URDF has older, similar masses."""
    ours = tp.load("ur10")
    urdf = tp.Robot.from_urdf(robots_dir / "ur_description/urdf/ur10_robot.urdf")
    q = np.random.default_rng(1).uniform(-2, 2, (3, 6))
    a, b = tp.forward_kinematics(ours)(q), tp.forward_kinematics(urdf, frame="ee_link")(q)
    turned = np.diag([-1.0, -1.0, 1.0])  # the DH base looks backwards
    # The URDF rounds its wrist offsets (0.220941 - 0.1719 + 0.1149 for d4 = 0.163941) and right angles to 1e-11.
    np.testing.assert_allclose(a[:, :3, 3] @ turned.T, b[:, :3, 3], atol=1e-6)
    total = sum(float(k.body[0]) for k in ours.links)
    assert total == pytest.approx(28.435) and abs(total - sum(float(k.body[0]) for k in urdf.links)) < 2.5
    # A centre of mass lies within its link: between the joint (x = -a of the frame) and the frame's origin.
    for name, a_i in (("upper_arm_link", 0.612), ("forearm_link", 0.5723)):
        assert 0 < float(ours.parameters[f"{name}.mx"] / ours.parameters[f"{name}.m"]) < a_i


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        ("puma56", {}, "No robot 'puma56' in the catalogue.*Did you mean 'puma560'"),
        ("puma560", {"tip": "x"}, "puma560 is built in and takes no tip"),
        ("no/such.urdf", {}, "No file 'no/such.urdf'"),
        ("no/such.step", {}, "Give a path ending in .urdf, .xml, .mjcf, .xacro, .sdf, .usd"),
        (".", {}, "is a directory"),
        (Path(__file__), {}, "has the ending '.py', expected one of .urdf"),
        ("a.urdf", {"lok": ()}, "No option 'lok' in the reader of .urdf files. Did you mean 'lock'"),
        (None, {}, "load got None"),
        ("", {}, "what is '', expected a catalogue name"),
    ],
)
def test_loading_what_is_not_there(what, options, message):
    with pytest.raises(TaupiError, match=message):
        tp.load(what, **options)


@pytest.mark.parametrize(
    ("name", "file", "count", "mass"),
    [
        ("solo12", "solo_description/robots/solo12.urdf", 94, 2.5),
        ("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", 213, 33.34),
    ],
)
def test_legged_robots_are_their_files(robots_dir, name, file, count, mass):
    robot, read = tp.load(name), tp.load(robots_dir / file, floating=True)
    assert robot.floating and robot.joints == read.joints and robot.links == read.links
    assert robot.n == 6 + (count - 10) // 7  # 10 of the base and 7 per joint are base parameters
    assert sum(float(link.body[0]) for link in robot.links) == pytest.approx(mass, abs=0.01)
    assert tp.load(name, floating=False).n == robot.n - 6


def test_names_of_robot_descriptions(tmp_path, monkeypatch):
    """The package fetches from the network when a robot is imported: here it is a stand-in."""
    with pytest.raises(tp.TaupiError, match="robot_descriptions, which is not installed"):
        monkeypatch.setitem(sys.modules, "robot_descriptions", None)
        tp.load("ur5e_description")
    folder = tmp_path / "robot_descriptions"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (tmp_path / "r.urdf").write_text(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    (folder / "odd_description.py").write_text(f"URDF_PATH = {str(tmp_path / 'r.urdf')!r}")
    (folder / "offline_description.py").write_text("raise OSError('no network')")
    (folder / "empty_description.py").write_text("")
    monkeypatch.delitem(sys.modules, "robot_descriptions")
    monkeypatch.syspath_prepend(tmp_path)
    assert tp.load("odd_description").joint_names == ("j",)
    for name, words in (
        ("offline", "could not fetch .*: no network"),
        ("empty", "neither a URDF"),
        ("no", "has no 'no_"),
    ):
        with pytest.raises(tp.TaupiError, match=words):
            tp.load(f"{name}_description")
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        monkeypatch.delitem(sys.modules, name)
