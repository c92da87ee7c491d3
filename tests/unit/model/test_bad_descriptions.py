"""Bad URDFs: whatever is wrong with a file is one clear sentence, never a traceback."""

import os

import pytest
from refusals import refused

import taupi as tp
from taupi.errors import TaupiError

LINKS = '<link name="a"/><link name="b"/>'
JOINT = '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
GOOD = f'<robot name="r">{LINKS}{JOINT}</robot>'
MASSIVE = (
    '<link name="b"><inertial><origin xyz="0 0 0"/><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
)
HEAVY = GOOD.replace('<link name="b"/>', MASSIVE)
BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>'


def weld(parent, child):
    return f'<joint name="k" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'


def two(joint):
    return f'<robot>{LINKS}<link name="c"/>{JOINT}{joint}</robot>'


BAD = {
    "empty": ("", "arm.urdf is empty"),
    "blank": (" \n ", "arm.urdf is empty"),
    "binary": (b"\x7fELF\0\0", "is a binary file"),
    "not utf-8": (b"<robot name='\xe9'/>", "is not UTF-8 text"),
    "utf-16": (GOOD.encode("utf-16"), "binary file"),
    "no xml": ("solid cube", "is not well-formed XML: syntax error at line 1"),
    "cut short": (GOOD[:-20], "is not well-formed XML: .* at line 1"),
    "two roots": (GOOD + GOOD, "is not well-formed XML: junk after document element"),
    "entity bomb": (BOMB, "document type or entity declaration"),
    "external entity": ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot/>', "document type or entity declaration"),
    "undefined entity": ("<robot name='&x;'/>", "not well-formed XML: undefined entity"),
    "deep": ("<a>" * 100_000, "nests more than 200 elements"),
    "many": ("<robot>" + "<x/>" * 200_001, "has more than 200000 elements"),
    "not a robot": ("<sdf/>", "root element is <sdf>, expected <robot>"),
    "no links": ("<robot/>", "has no links"),
    "no joints": ('<robot><link name="a"/></robot>', "has no moving joint. It needs at least one"),
    "all fixed": (GOOD.replace("revolute", "fixed"), "has no moving joint"),
    "link without name": ("<robot><link/></robot>", 'line 1: link has no name. Add name="..."'),
    "joint without name": (GOOD.replace(' name="j"', ""), "joint has no name"),
    "missing child": (GOOD.replace('<link name="b"/>', ""), "No link 'b' in arm.urdf, the child of joint 'j'"),
    "missing parent": (GOOD.replace('parent link="a"', 'parent link="base"'), "No link 'base'.*the parent of joint"),
    "no parent": (GOOD.replace('<parent link="a"/>', ""), "joint 'j' has no parent"),
    "child without link": (GOOD.replace('child link="b"', "child"), "joint 'j' has no child"),
    "cycle": (two(weld("b", "a")).replace('<link name="c"/>', ""), "form a cycle through link 'a'"),
    "itself": (two(weld("c", "c")), "form a cycle through link 'c'"),
    "two parents": (two(weld("c", "b")), "link 'b' has two parents, by joints 'j' and 'k'"),
    "several roots": (two(""), r"has 2 root links \(a, c\), expected one"),
    "link twice": (f'<robot>{LINKS}<link name="a"/>{JOINT}</robot>', "link name 'a' is used twice"),
    "joint twice": (two(weld("b", "c").replace('"k"', '"j"')), "joint name 'j' is used twice"),
    "unknown type": (GOOD.replace("revolute", "ball"), "No joint type 'ball' in arm.urdf, line 1: joint 'j'"),
    "no type": (GOOD.replace(' type="revolute"', ""), "No joint type ''"),
    "floating": (two(weld("b", "c").replace("fixed", "floating")), r"link 'c' move freely on a moving link.*lock=\['k'\]"),
    "planar": (GOOD.replace("revolute", "planar").replace("0 0 1", "0 1 1"), "normal 0 0.7.* 0.7.*, expected a coordinate axis"),
    "zero axis": (GOOD.replace("0 0 1", "0 0 0"), "<axis> xyz is '0 0 0', which has no direction"),
    "short axis": (GOOD.replace("0 0 1", "0 1"), "<axis> xyz is '0 1', expected 3 numbers"),
    "nan axis": (GOOD.replace("0 0 1", "0 0 nan"), "'0 0 nan', expected finite decimal numbers"),
    "axis in words": (GOOD.replace("0 0 1", "up 0 1"), "expected finite decimal numbers"),
    "symbol": (GOOD.replace("0 0 1", "l1 0 1"), "expected finite decimal numbers"),
    "xacro": (GOOD.replace("<axis", '<origin rpy="${pi/2} 0 0"/><axis'), "Run xacro first"),
    "infinite origin": (GOOD.replace("<axis", '<origin xyz="inf 0 0"/><axis'), "<origin> xyz is 'inf 0 0'"),
    "huge origin": (GOOD.replace("<axis", '<origin xyz="1e999 0 0"/><axis'), "expected finite decimal numbers"),
    "large origin": (GOOD.replace("<axis", '<origin xyz="1e99 0 0"/><axis'), "xyz is .*, expected a number below"),
    "many numbers": (GOOD.replace("<axis", f'<origin xyz="{"0 " * 10**5}"/><axis'), "expected 3 numbers"),
    "infinite limit": (GOOD.replace("<axis", '<limit upper="inf"/><axis'), "<limit> upper is 'inf'"),
    "nan damping": (GOOD.replace("<axis", '<dynamics damping="nan"/><axis'), "<dynamics> damping is 'nan'"),
    "mimic of nobody": (GOOD.replace("<axis", '<mimic joint="k"/><axis'), "No joint 'k' in arm.urdf, mimicked by"),
    "mimic of itself": (GOOD.replace("<axis", '<mimic joint="j"/><axis'), "joint 'j' mimics itself"),
    "mimic without joint": (GOOD.replace("<axis", "<mimic/><axis"), "<mimic> names no joint"),
    "negative mass": (HEAVY.replace('value="1"', 'value="-1"'), "mass is -1.0, expected 0 or more"),
    "nan mass": (HEAVY.replace('value="1"', 'value="nan"'), "<mass> value is 'nan'"),
    "no mass": (HEAVY.replace('<mass value="1"/>', ""), "inertial has no <mass>"),
    "no inertia": (HEAVY.replace("<inertia ", "<inertias "), "inertial has no <inertia>"),
    "missing moment": (HEAVY.replace(' izz="1"', ""), "<inertia> izz is missing"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_one_sentence(tmp_path, what):
    content, message = BAD[what]
    file = tmp_path / "arm.urdf"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TaupiError, match=message) as caught:
        tp.Robot.from_urdf(file)
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


def test_what_is_no_file(tmp_path):
    with pytest.raises(TaupiError, match="No file"):
        tp.Robot.from_urdf(tmp_path / "no.urdf")
    with pytest.raises(TaupiError, match="is a directory"):
        tp.Robot.from_urdf(tmp_path)
    for bad in (None, 3, "", "a\0b"):
        with refused("path", expected="the path of a file"):
            tp.Robot.from_urdf(bad)
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(TaupiError, match="is not a regular file"):
        tp.Robot.from_urdf(tmp_path / "pipe.urdf")
    with pytest.raises(TaupiError, match="No file"):
        tp.Robot.from_urdf(tmp_path / ("x" * 200 + ".urdf"))


def test_a_huge_file_is_not_read_to_its_end(tmp_path):
    file = tmp_path / "huge.urdf"
    with file.open("wb") as stream:
        stream.truncate(2**33)  # sparse: eight gigabytes that take no room
    with pytest.raises(TaupiError, match="larger than 32 MiB"):
        tp.Robot.from_urdf(file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lock": ["k"]}, "No moving joint 'k' in arm.urdf.*Known: j"),
        ({"lock": "j"}, "lock is 'j', expected a list"),
        ({"lock": 3}, "lock is 3, expected a list"),
        ({"lock": [["j"]]}, "No moving joint"),
        ({"tip": ["c"]}, "No link"),
        ({"lock": {"j": "x"}}, "expected a number in rad or m"),
        ({"lock": {"j": float("nan")}}, "expected a finite number"),
        ({"lock": ["j"]}, "has no moving joint left. Lock fewer"),
        ({"tip": "c"}, "No link 'c' in arm.urdf"),
        ({"tip": "a"}, "has no moving joint left.*another tip"),
        ({"gravity": (0, 0)}, r"gravity is \(0, 0\), expected 3 numbers"),
    ],
)
def test_bad_options(tmp_path, options, message):
    (tmp_path / "arm.urdf").write_text(GOOD)
    with pytest.raises(TaupiError, match=message):
        tp.Robot.from_urdf(tmp_path / "arm.urdf", **options)
