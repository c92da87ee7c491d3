"""Descriptions made to harm: bombs in TOML, formulas, XML and MJCF. Each is one sentence, soon; nothing is read elsewhere."""

import os
import struct
import sys
import time
import zlib

import pytest

import taupi as tp
from taupi.errors import TaupiError
from taupi.model.formats import xml_tree
from taupi.model.scalars import exact

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX")


def refused(path, text):
    path.write_text(text, encoding="utf-8")
    start = time.process_time()
    with pytest.raises(TaupiError) as caught:
        tp.load(path)
    assert time.process_time() - start < 5 and "\n" not in str(caught.value) and len(str(caught.value)) < 1500
    return str(caught.value)


# TOML and formulas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a." * 40_000 + "b = 1\n", "has a key with more than 32 dots"),
        ("[[joint]]\n" * 300_000, "has more than 200000 keys and values"),
        ("[[joint]]\n" * 60_000, "has 60000 joints or links, expected 1000 at most"),
        (f"[[joint]]\nname = '{'x' * 100_000}'\ntype = 'screw'\n", "No joint type 'screw'"),
        ("[[joint]]\nlink = {m = " + "9" * 3000 + "}\n", "mass is a number of about 3000 digits"),
    ],
)
def test_toml(tmp_path, text, sentence):
    assert sentence in refused(tmp_path / "arm.toml", text)


@pytest.mark.parametrize(
    "formula",
    [
        "(" * 60 + "2*x" + "**16)" * 60,
        "(" * 30 + "x + 1" + ")**9" * 30,
        "(x**16)**17",
        "1/(x**-16)**-17",
        "(x**2 + y**3)**100",
    ],
)
def test_powers_of_powers(formula):
    with pytest.raises(TaupiError, match="expected a number or a formula"):
        exact(formula)


@pytest.mark.parametrize("formula", ["sin(x)/(sqrt(-1) + y)", "x/0", "x + sqrt(-2)*y", "(-1)**(1/2)*x"])
def test_formulas_that_are_not_real(formula):
    with pytest.raises(TaupiError, match="which is not a finite number"):
        exact(formula)


def test_formulas_of_real_robots_still_work():
    assert str(exact("(x**2 + y**2)**2")) == "(x**2 + y**2)**2"
    assert str(exact("((x + y)**2 + z**2)**(1/2)")) == "sqrt(z**2 + (x + y)**2)"


def test_numbers_larger_than_any_double():
    arm, gravity = tp.load("lecture2r"), tp.gravity_torque(tp.load("lecture2r"))
    from fractions import Fraction

    for huge in (10**400, 10**5000, Fraction(10**5000, 3)):
        with pytest.raises(TaupiError, match=r"g is a number of about \d+ digits"):
            arm.bind(g=huge)
        with pytest.raises(TaupiError, match=r"g is .*, expected a finite number"):
            gravity.bind(g=huge)
    with pytest.raises(TaupiError, match="expected numbers below 1e60"):
        tp.lump(gravity, ["m1", "m2"], ["1e999*m1"])
    with pytest.raises(TaupiError, match="holds powers of powers"):
        tp.lump(gravity, ["m1", "m2"], ["((2*m1)**60)**60"])


# XML -------------------------------------------------------------------------------------------------------------------


def chain(count, kind="revolute"):
    links = "".join(f'<link name="l{k}"/>' for k in range(count))
    joints = "".join(
        f'<joint name="j{k}" type="{kind if k else "revolute"}"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(count - 1)
    )
    return f'<robot name="r">{links}{joints}</robot>'


def test_very_many_links(tmp_path):
    assert "has 1001 joints or links, expected 1000 at most" in refused(tmp_path / "arm.urdf", chain(1001))
    with tp.signals.reading_budget(joints=2000):
        (tmp_path / "arm.urdf").write_text(chain(1001, "fixed"))
        assert tp.load(tmp_path / "arm.urdf").n == 1
    assert "has more than 200000 elements" in refused(tmp_path / "arm.urdf", "<robot>" + "<a/>" * 200_001 + "</robot>")


# MJCF ------------------------------------------------------------------------------------------------------------------

BODY = '<body name="b" pos="{pos}" quat="{quat}"><joint name="nan" axis="{axis}"/>'
BODY += '<inertial pos="{com}" mass="{m}" diaginertia="1 1 1"/></body>'
GOOD = {"pos": "0 0 1", "quat": "1 0 0 0", "axis": "0 0 1", "com": "0 0 0", "m": "1"}


def mjcf(inside="", assets="", **changes):
    body = BODY.format(**{**GOOD, **changes})
    return f"<mujoco>{assets}<worldbody>{body}{inside}</worldbody></mujoco>"


@pytest.mark.parametrize("word", ["nan", "inf", "-NaN", "Infinity"])
@pytest.mark.parametrize("key", list(GOOD))
def test_numbers_that_are_none(tmp_path, key, word):
    pytest.importorskip("mujoco")
    words = GOOD[key].split()
    text = mjcf(**{key: " ".join([word, *words[1:]])})
    assert "expected finite numbers" in refused(tmp_path / "arm.xml", text)


def test_a_joint_may_be_called_nan(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(mjcf())
    assert tp.load(tmp_path / "arm.xml").joint_names == ("nan",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            mjcf('<replicate count="60000" offset="1 0 0"><geom size="1"/></replicate>'),
            "copies an element more than 10000 times",
        ),
        (mjcf('<replicate count="1000000000" euler="0 0 1"><geom size="1"/></replicate>'), "elements with its copies"),
        (
            mjcf('<replicate count="999"><replicate count="999"><site/></replicate></replicate>'),
            "elements with its copies",
        ),
        (mjcf('<composite type="grid" count="9999 9999 1"/>'), "elements with its copies"),
        (mjcf(assets='<asset><hfield name="h" nrow="60000" ncol="60000" size="1 1 1 1"/></asset>'), "of height fields"),
        (mjcf(assets='<asset><texture builtin="flat" width="60000" height="60000"/></asset>'), "of height fields"),
        (mjcf(assets='<size nkey="2000000000"/>'), "of height fields, textures, meshes or sizes"),
        (mjcf(assets='<asset><mesh name="m" builtin="plate" params="30000 2"/></asset>'), "54931 MiB of height fields"),
        (mjcf(assets='<sensor><user name="s" dim="1000000000"/></sensor>'), "asks for 7629 MiB"),
        (mjcf(assets='<actuator><general actdim="1000000000"/></actuator>'), "asks for 7629 MiB"),
        (mjcf('<include file="../other.xml"/>'), "MuJoCo cannot compile it"),
        (mjcf('<include file="/etc/passwd"/>'), "includes '/etc/passwd', expected a path that starts from its folder"),
        (mjcf('<include file="arm.xml"/>'), "has includes inside each other"),
    ],
)
def test_mjcf_bombs(tmp_path, text, sentence):
    pytest.importorskip("mujoco")
    assert sentence in refused(tmp_path / "arm.xml", text)


def test_a_small_budget_allows_an_element_to_be_there_once(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(mjcf('<replicate count="1" offset="1 0 0"><geom size="1"/></replicate>'))
    with tp.signals.reading_budget(nodes=19):
        assert tp.load(tmp_path / "arm.xml").n == 1


@POSIX
@pytest.mark.parametrize(
    "assets", ['<asset><mesh name="m" file="pipe.stl"/></asset>', '<asset><hfield name="h" file="pipe.stl"/></asset>']
)
def test_mjcf_that_names_a_pipe(tmp_path, assets):
    pytest.importorskip("mujoco")
    os.mkfifo(tmp_path / "pipe.stl")
    os.mkfifo(tmp_path / "pipe.xml")
    assert "is not a regular file" in refused(tmp_path / "arm.xml", mjcf(assets=assets))
    assert "is not a regular file" in refused(tmp_path / "arm.xml", mjcf('<include file="pipe.xml"/>'))
    folder = '<compiler meshdir="meshes"/><asset><mesh name="m" file="pipe.stl"/></asset>'
    (tmp_path / "meshes").mkdir()
    os.mkfifo(tmp_path / "meshes/pipe.stl")
    (tmp_path / "pipe.stl").unlink()
    assert "is not a regular file" in refused(tmp_path / "arm.xml", mjcf(assets=folder))


def test_includes_of_its_own_folder_are_read(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/more.xml").write_text(
        '<mujocoinclude><body name="c"><joint name="j"/><geom size="0.1"/></body></mujocoinclude>'
    )
    (tmp_path / "arm.xml").write_text(mjcf('<include file="parts/more.xml"/>'))
    assert tp.load(tmp_path / "arm.xml").joint_names == ("nan", "j")


def test_messages_stay_one_sentence_whatever_a_name_holds():
    error = TaupiError("link 'a\nb\u2028c' " + "x" * 5000)
    assert len(str(error)) < 1100 and str(error).startswith("link 'a b c' x")


@pytest.mark.parametrize("unit", ['"""\n\\', '\\"""\n', "'''\n", '"\\\n', "[", "#"])
def test_quotes_that_never_end(tmp_path, unit):
    """The check before the parser took time with the square of the text, where this ended in a lone backslash."""
    refused(tmp_path / "arm.toml", "a = " + unit * 50_000)


def test_blanks_between_very_many_elements(tmp_path):
    text = f'<sdf version="1.9">{("<a/>" + " " * 150) * 150_000}</sdf>'
    assert "has no <model>" in refused(tmp_path / "a.sdf", text)


def test_comments_that_never_end(tmp_path):
    """Each of them was once searched to the end of the file: 80 kB took half a minute."""
    refused(tmp_path / "arm.urdf", "<robot>" + "<!--" * 500_000)
    refused(tmp_path / "arm.urdf", "<robot>" + "<!-- -- " * 300_000)


def test_comments_that_only_robots_read(tmp_path):
    """Bytes and lines stay where they are: the writer of URDF changes numbers in place."""
    text = '\n<?xml version="1.0"?>\n<!-- a -- b -->\n<robot name="r"><!----><link name="é"/><!-- -- \r\n> --></robot><!-- --'
    node = xml_tree.parse(text.removesuffix("<!-- --"), "a.urdf")
    (link,) = node.children
    assert text.encode()[node.start :].startswith(b"<robot") and node.line == 4
    assert text.encode()[link.start :].startswith(b"<link") and text.encode()[node.end :].startswith(b"</robot>")
    with pytest.raises(TaupiError, match="not well-formed"):
        xml_tree.parse(text, "a.urdf")


def test_long_names_of_files(tmp_path):
    pytest.importorskip("mujoco")
    refused(tmp_path / "arm.xml", mjcf(f'<include file="{"x" * 5000}"/>'))
    (tmp_path / "arm.xml").write_text(mjcf(assets=f'<asset><mesh name="m" file="{"x" * 5000}.stl"/></asset>'))
    assert tp.load(tmp_path / "arm.xml").n == 1  # a mesh that is missing is left out


def test_includes_inside_of_deep_elements(tmp_path):
    pytest.importorskip("mujoco")
    for k in range(1, 13):
        inside = f'<include file="{k + 1}.xml"/>' if k < 12 else ""
        (tmp_path / f"{k}.xml").write_text("<mujoco>" + "<a>" * 150 + inside + "</a>" * 150 + "</mujoco>")
    assert "MuJoCo cannot compile it" in refused(tmp_path / "arm.xml", mjcf('<include file="1.xml"/>'))


def test_files_that_are_included_very_often_are_read_once(tmp_path):
    pytest.importorskip("mujoco")
    many = '<include file="b.xml"/>' * 2000 + "<!--" + "x" * 2_000_000 + "-->"
    (tmp_path / "b.xml").write_text("<mujocoinclude><!--" + "x" * 2_000_000 + "--></mujocoinclude>")
    refused(tmp_path / "arm.xml", mjcf(many))


def png(width, height):
    """A picture of one colour."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = zlib.compress((b"\0" * (width + 1)) * min(height, 64))
    size = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "assets",
    [
        '<asset><texture name="t" type="2d" file="a.png"/></asset>',
        '<asset><hfield name="h" file="a.png" size="1 1 1 1"/></asset>',
        '<asset><texture name="t" type="2d" file="a.png"/></asset><compiler texturedir="deep"/>',
        '<compiler strippath="true"/><asset><texture name="t" type="2d" file="none/a.png"/></asset>',
    ],
)
def test_pictures_that_unpack_to_gigabytes(tmp_path, assets):
    pytest.importorskip("mujoco")
    folder = tmp_path / ("deep" if "deep" in assets else "")
    folder.mkdir(exist_ok=True)
    (folder / "a.png").write_bytes(png(30_000, 30_000))
    assert "with its pictures, unpacks to 3433 MiB" in refused(tmp_path / "arm.xml", mjcf(assets=assets))
    (folder / "a.png").write_bytes(png(64, 64))
    (tmp_path / "arm.xml").write_text(mjcf(assets=assets))
    assert tp.load(tmp_path / "arm.xml").n == 1


def test_very_many_folders_of_meshes(tmp_path):
    pytest.importorskip("mujoco")
    folders = "".join(f'<compiler meshdir="m{k}"/>' for k in range(100))
    assert "names more than 32 folders" in refused(tmp_path / "arm.xml", mjcf(assets=folders))


def test_long_rows_of_joints_that_follow_one_another(tmp_path):
    links = "".join(f'<link name="l{k}"/>' for k in range(200))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{k + 1}"/>'
        + (f'<mimic joint="j{k - 1}"/>' if k else "")
        + "</joint>"
        for k in range(199)
    )
    message = refused(tmp_path / "arm.urdf", f'<robot name="r">{links}{joints}</robot>')
    assert "mimics itself, or more than 100 joints follow one another" in message


@POSIX
def test_models_of_others_are_looked_at_before_mujoco_opens_them(tmp_path):
    """By the bridges too, which take an MJCF to write into, or to compare with; a pipe would never end."""
    pytest.importorskip("mujoco")
    os.mkfifo(tmp_path / "pipe.stl")
    (tmp_path / "theirs.xml").write_text(mjcf(assets='<asset><mesh name="m" file="pipe.stl"/></asset>'))
    (tmp_path / "arm.xml").write_text(mjcf())
    arm = tp.load(tmp_path / "arm.xml")
    for use in (
        lambda: tp.write_mjcf(arm, tmp_path / "new.xml", model=tmp_path / "theirs.xml"),
        lambda: tp.bridges.MujocoModel.of(tmp_path / "theirs.xml", arm),
    ):
        with pytest.raises(TaupiError, match="is not a regular file"):
            use()
