"""xacro files: expanded by xacrodoc, which is an extra, with arguments by name."""

import re
import sys
import types
from pathlib import Path

import pytest
from refusals import refused

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
    with refused("xacro", got="m=1"):
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


class Finding:
    """Stands in for xacrodoc's finder: knows what it was told, and fails as it does."""

    def __init__(self):
        self.cache = {}

    def walk_up_from(self, path):
        pass

    def update_package_cache(self, folders):
        self.cache |= folders

    def expand(self, text):
        def full(match):
            if match[1] not in self.cache:
                raise KeyError(f"resource not found: PackageNotFoundError: {match[1]}")
            return self.cache[match[1]]

        while "xacro:include" in text or "$(find" in text:
            text = re.sub(r"\$\(find ([\w-]+)\)", full, text)
            text = re.sub(r'<xacro:include filename="([^"]*)"/>', lambda m: Path(m[1]).read_text(), text)
        return text


@pytest.fixture
def finder(monkeypatch):
    finding = Finding()

    class Expanded(Document):
        @classmethod
        def from_string(cls, text, subargs=None, resolve_packages=True):
            return cls(finding.expand(text).replace("MASS", "2"))

    monkeypatch.setitem(sys.modules, "xacrodoc", types.SimpleNamespace(XacroDoc=Expanded, packages=finding))
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    return finding


def package(folder, name=None, **files):
    """A package: its folder, its manifest if it has a name, and its files."""
    folder.mkdir(parents=True)
    if name:
        (folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
    for file, text in files.items():
        (folder / f"{file}.xacro").write_text(text)
    return folder


INSIDE = URDF[URDF.index(">") + 1 :].removesuffix("</robot>")
MAIN = '<robot name="r"><xacro:include filename="$(find parts)/arm.xacro"/></robot>'
# Where the description's package and the package "parts" lie; a third one, which only "parts" names, lies beside that.
PLACES = {
    "beside it": ("ws/robot", "robot", "ws/parts", "parts", {}),
    "without manifests": ("ws/robot/urdf", None, "ws/parts", None, {}),
    "in a folder of another name": ("ws/robot", "robot", "ws/parts-1.2", "parts", {}),
    "in another repository": ("ws/a/robot", "robot", "ws/b/parts", "parts", {}),
    "in ROS_PACKAGE_PATH": ("x/robot", "robot", "y/src/parts", "parts", {"ROS_PACKAGE_PATH": "{0}/nowhere:{0}/y/src"}),
    "named itself there": ("x/robot", "robot", "y/other", "parts", {"ROS_PACKAGE_PATH": "{0}/y/other:{0}/y"}),
    "installed": ("x/robot", "robot", "y/share/parts", "parts", {"AMENT_PREFIX_PATH": "{0}/y"}),
}


@pytest.mark.parametrize("what", PLACES)
def test_packages_are_found(tmp_path, monkeypatch, finder, what):
    own, own_name, folder, name, environment = PLACES[what]
    main = package(tmp_path / own, own_name, main=MAIN) / "main.xacro"
    third = "third" if name else None
    package(tmp_path / folder, name, arm='<xacro:include filename="$(find third)/inside.xacro"/>')
    package((tmp_path / folder).parent / "third", third, inside=INSIDE)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value.format(tmp_path))
    assert float(tp.load(main).parameters["arm.m"]) == 2
    assert finder.cache == {"parts": str(tmp_path / folder), "third": str((tmp_path / folder).parent / "third")}


def test_a_package_that_is_nowhere_is_named(tmp_path, finder):
    main = package(tmp_path / "own" / "ws" / "robot", "robot", main=MAIN) / "main.xacro"
    with pytest.raises(tp.TaupiError) as caught:
        tp.load(main)
    assert "no package 'parts'" in str(caught.value) and "ROS_PACKAGE_PATH" in str(caught.value)
    assert "Error" not in str(caught.value)


def test_other_failures_do_not_name_classes(tmp_path, finder):
    main = package(
        tmp_path / "robot", "robot", main='<robot><xacro:include filename="$(find a$b)/x"/>$(find no)</robot>'
    )
    finder.expand = lambda text: (_ for _ in ()).throw(ValueError("XacroException: bad thing"))
    with pytest.raises(tp.TaupiError, match=r"xacro cannot expand it: bad thing\."):
        tp.load(main / "main.xacro")


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
