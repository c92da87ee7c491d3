"""Fuzzed readers: whatever the bytes, the answer is a robot or one TaupiError, soon."""

import random
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taupi.errors import TaupiError, TaupiWarning
from taupi.model.formats.description import decode
from taupi.model.formats.link_tree import robot_from_tree
from taupi.model.formats.toml import reads, writes
from taupi.model.formats.urdf import tree_of
from taupi.model.robot import Robot, Source

URDF = """<?xml version="1.0"?><robot name="r">
<link name="base"/><link name="a"><inertial><origin xyz="0.1 0 0" rpy="0 0.3 0"/><mass value="1.5"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link><link name="b"/><link name="tool"/>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.3" rpy="1.5708 0 0.1"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2"/>
<dynamics damping="0.1" friction="0.2"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 1 1"/>
<mimic joint="j1" multiplier="-1" offset="0.2"/></joint>
<joint name="weld" type="fixed"><parent link="b"/><child link="tool"/><origin xyz="0 0 0.1"/></joint></robot>"""

TOML = """[robot]
name = "r"
gravity = [0, 0, "-g"]
tip = "camera"
[values]
g = 9.81
[[joint]]
origin = { xyz = [0, 0, 0.3], rpy = ["pi/2", 0, 0.1] }
axis = [0, 1, 1]
limits = { lower = -1, upper = 1 }
link = { name = "a", m = 1.5, com = [0.1, 0, "l/2"], inertia = [0.1, 0, 0, 0.1, 0, 0.1] }
[[joint]]
type = "prismatic"
parent = "a"
mimic = { joint = "joint1", ratio = -1, offset = 0.2 }
[[frame]]
name = "camera"
link = "a"
origin = { quaternion = [1, 2, 3, 4] }
"""

TOKENS = [
    "0", "-1", "1e308", "1e-308", "1e999", "nan", "inf", "1.5708", "pi/2", "9" * 400, "1/0", "9**9**9", "", " ", "[",
    "]", "{", "}", '"', "'", "<", ">", "/>", "&amp;", "&#0;", "<!--", "]]>", "\x00", "\x7f", "\ufeff", "\ud7ff", "é",
    "\n", "=", "base", "a", "b", "tool", "j1", "j2", "revolute", "fixed", "floating", "<link/>", "</robot>",
    "[[joint]]", "[robot]", "0if",
    "[" * 300, "<a>" * 300, "a." * 300, "sqrt(-1)", "sin(x)", "l**(1/3)", "true", "1979-05-27", "_", "self",
]  # fmt: skip


def read_urdf(data: bytes) -> Robot:
    tree = tree_of(decode(data, "fuzz"), "fuzz", True)
    return robot_from_tree(tree, (), None, (0, 0, -1), True, Source("urdf"))


def read_toml(data: bytes) -> Robot:
    return reads(decode(data, "fuzz"))


def survives(read, data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        try:
            robot = read(data)
        except TaupiError as error:
            assert 0 < len(str(error)) < 1500 and "\n" not in str(error)
        else:
            assert isinstance(robot, Robot)
            assert reads(writes(robot)).fingerprint == robot.fingerprint


def mutated(text: str, seed: int, changes: int) -> bytes:
    """The text with spans deleted, doubled, moved or replaced by awkward tokens, then now and then a wrong byte."""
    rng = random.Random(seed)
    for _ in range(changes):
        i = rng.randrange(len(text) + 1)
        j = min(len(text), i + rng.choice([0, 1, 3, 10, 60]))
        k = rng.randrange(len(text) + 1)
        change = rng.randrange(4)
        if change == 0:
            text = text[:i] + text[j:]
        elif change == 1:
            text = text[:k] + text[i:j] + text[k:]
        elif change == 2:
            text = text[:i] + rng.choice(TOKENS) + text[j:]
        else:
            text = quoted_replaced(text, rng)
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    if data and rng.random() < 0.1:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def quoted_replaced(text: str, rng: random.Random) -> str:
    """One quoted value replaced: the file stays well-formed, so that the checks behind the parser are reached."""
    pieces = text.split('"')
    if len(pieces) > 2:
        pieces[rng.randrange(1, len(pieces), 2)] = rng.choice(TOKENS).replace('"', "").replace("<", "")
    return '"'.join(pieces)


@pytest.mark.parametrize(("read", "text"), [(read_urdf, URDF), (read_toml, TOML)], ids=["urdf", "toml"])
def test_the_seed_is_a_robot(read, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaupiWarning)
        assert read(text.encode()).n == 1


@pytest.mark.parametrize(("read", "text"), [(read_urdf, URDF), (read_toml, TOML)], ids=["urdf", "toml"])
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 6))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_mutated_files(read, text, seed, changes):
    survives(read, mutated(text, seed, changes))


@pytest.mark.parametrize("read", [read_urdf, read_toml], ids=["urdf", "toml"])
@given(data=st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_bytes(read, data):
    survives(read, data)


INNER = ["xyz", "rpy", "quaternion", "m", "name", "viscous", "gear_ratio", "stiffness", "motor_axis", "?"]
leaves = st.none().map(lambda _: "x") | st.booleans() | st.integers() | st.floats() | st.sampled_from(TOKENS)
flat = st.lists(leaves, max_size=4) | st.dictionaries(st.sampled_from(INNER), leaves)
values = leaves | flat | st.lists(leaves | flat, max_size=4) | st.dictionaries(st.sampled_from(INNER), leaves | flat)
KEYS = (
    *("name", "type", "parent", "origin", "axis", "after", "mimic", "limits", "friction", "transmission", "link"),
    *("a", "alpha", "d", "theta", "x_deg"),
)
keys = st.sampled_from(KEYS)


@given(st.lists(st.dictionaries(keys, values, max_size=5), max_size=3), values, values)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_well_formed_toml_of_any_structure(joints, head, table):
    """Structures that TOML can hold, in the places where the reader looks."""
    from taupi.model.formats.toml import _robot

    def read(_):
        return _robot({"joint": joints, "robot": head, "values": table}, "fuzz", "fuzz", Source("toml"))

    survives(read, b"")
