"""xacro files: expanded by xacrodoc, which is an extra, with arguments by name."""

import sys
import types

import pytest

import taupi as tp
from taupi.model.formats.xacro import _absolute

URDF = """<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="MASS"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""


class Document:
    """Stands in for xacrodoc's: replaces the argument `m`, and fails on what it does not know."""

    def __init__(self, text):
        self.text = text

    @classmethod
    def from_string(cls, text, subargs=None, resolve_packages=True):
        assert resolve_packages is False
        if set(subargs) - {"m"}:
            raise ValueError(f"unknown\nargument {sorted(subargs)[0]}.")
        return cls(text.replace("MASS", subargs.get("m", "1")))

    def to_urdf_string(self):
        return self.text


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(URDF)
    return path


def test_arguments_reach_the_file(file, monkeypatch):
    walked = []
    finder = types.SimpleNamespace(walk_up_from=walked.append)
    monkeypatch.setitem(sys.modules, "xacrodoc", types.SimpleNamespace(XacroDoc=Document, packages=finder))
    robot = tp.load(file, xacro={"m": 2.5}, floating=True)
    assert float(robot.parameters["arm.m"]) == 2.5 and robot.n == 7 and robot.source.path == str(file)
    assert walked == [str(file)]
    with pytest.raises(tp.TaupiError, match=r"arm\.urdf\.xacro: xacro cannot expand it: unknown argument k\."):
        tp.load(file, xacro={"k": 1})
    with pytest.raises(tp.TaupiError, match="xacro is 'm=1', expected a mapping"):
        tp.load(file, xacro="m=1")
    with pytest.raises(tp.TaupiError, match="No file"):
        tp.load(file.with_name("no.xacro"))


def test_without_the_package_the_way_is_said(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    with pytest.raises(tp.TaupiError, match=r"pip install taupi\[xacro\], or run xacro first"):
        tp.load(file)


def test_included_files_are_looked_for_beside_the_file(tmp_path):
    text = """<robot><xacro:include filename="arm/inc.xacro"/><xacro:include ns="a" filename='$(find p)/b.xacro'/>
<xacro:include filename="/c.xacro"/><mesh filename="d.stl"/>$(dirname)</robot>"""
    full = _absolute(text, tmp_path / "robot.xacro")
    assert f'filename="{tmp_path}/arm/inc.xacro"' in full and f"{tmp_path}</robot>" in full
    assert "'$(find p)/b.xacro'" in full and '"/c.xacro"' in full and '"d.stl"' in full


def test_the_package_itself(tmp_path, monkeypatch):
    pytest.importorskip("xacrodoc")
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    (tmp_path / "inc.xacro").write_text(head + URDF[URDF.index(">") + 1 :].replace("MASS", "${2 * $(arg m)}"))
    (tmp_path / "robot.xacro").write_text(
        head + '<xacro:arg name="m" default="2"/><xacro:include filename="inc.xacro"/></robot>'
    )
    monkeypatch.chdir("/")
    assert float(tp.load(tmp_path / "robot.xacro").parameters["arm.m"]) == 4
    assert float(tp.load(tmp_path / "robot.xacro", xacro={"m": 3}).parameters["arm.m"]) == 6
