"""URDF: what ROS 2, Gazebo and most other tools read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from taupi.bridges.mujoco.engine import MujocoModel
from taupi.bridges.mujoco.joint_attributes import number_text, numbers_text
from taupi.bridges.mujoco.new_mjcf import element
from taupi.bridges.targets.bodies import JointedLink, base_name, roll_pitch_yaw
from taupi.bridges.targets.passport import Passport
from taupi.bridges.targets.target import Place, Target, TorqueFunction, register
from taupi.model.formats import urdf, xml_tree
from taupi.model.formats.xml_tree import Edit, Node, edited, insert_first, set_attributes
from taupi.model.robot_parts import BASE

# For limits that the description does not state; the schema asks for them.
_NO_LIMIT = 1e9
_NO_RANGE = 1e3

# From a piece: further lines of the robot element.
More = Callable[[JointedLink], list[str]]


@register
class Urdf(Target):
    """The file that the robot was read from with other inertials and `<dynamics>`, or a new one without shapes."""

    name: ClassVar[str] = "urdf"
    title: ClassVar[str] = "URDF"
    versions: ClassVar[tuple[str, ...]] = ("1.0",)
    places: ClassVar[Mapping[str, Place]] = {
        "damping": Place("dynamics damping"),
        "dry_friction": Place("dynamics friction"),
        "effort": Place("limit effort"),
    }
    remarks: ClassVar[tuple[str, ...]] = (
        "There is no rotor inertia in URDF. Some readers then invent one: Genesis takes 0.1 kg m^2 for every joint.",
        "Drake ignores friction; ros2_control has none of its own.",
    )
    checked: ClassVar[str] = "run"
    engine: ClassVar[str] = "MuJoCo"
    needs: ClassVar[tuple[str, str]] = ("mujoco", "mujoco")
    link: ClassVar[str] = "https://wiki.ros.org/urdf/XML/joint"

    def files(self, passport: Passport) -> dict[str, str]:
        """Return the URDF."""
        return {f"{passport.name}.urdf": urdf_text(passport)}

    def torque(self, folder: Path, passport: Passport) -> TorqueFunction:
        """Return MuJoCo's inverse dynamics of the file, with hard dry friction."""
        return MujocoModel.of(next(folder.glob("*.urdf")), passport.robot).with_hard_friction()


def urdf_text(passport: Passport, more: More = lambda piece: []) -> str:
    """Return the URDF that the robot was read from, or a new one, with `more` lines for each piece."""
    if passport.robot.source.format == "urdf" and passport.robot.source.text:
        return _updated(passport, more)
    root = base_name(passport.robot)
    lines = [element("robot", {"name": passport.robot.name}, close=False)]
    if not all(piece.free for piece in passport.pieces if piece.parent == BASE):
        lines.append("  " + element("link", {"name": root}))
    for piece in passport.pieces:
        lines += ["  " + line for line in (*_link(piece), *_joint(piece, passport, root), *more(piece))]
    return "\n".join([*lines, "</robot>", ""])


def _link(piece: JointedLink) -> list[str]:
    start = element("link", {"name": piece.link}, close=False)
    if not piece.mass:
        return [start.replace(">", "/>")]
    i = piece.inertia
    entries = {"ixx": i[0, 0], "ixy": i[0, 1], "ixz": i[0, 2], "iyy": i[1, 1], "iyz": i[1, 2], "izz": i[2, 2]}
    return [
        start,
        "  <inertial>",
        "    " + element("origin", {"xyz": numbers_text(piece.com)}),
        "    " + element("mass", {"value": number_text(piece.mass)}),
        "    " + element("inertia", {name: number_text(v) for name, v in entries.items()}),
        "  </inertial>",
        "</link>",
    ]


def _joint(piece: JointedLink, passport: Passport, root: str) -> list[str]:
    if piece.free:
        return []
    joint, limits = piece.joint, piece.joint.limits
    parent = root if piece.parent == BASE else passport.pieces[piece.parent].link
    ends = piece.range or ((-_NO_RANGE, _NO_RANGE) if joint.prismatic else None)
    kind = "prismatic" if joint.prismatic else "revolute" if ends else "continuous"
    effort = passport.drives[joint.name].effort
    limit = {"effort": number_text(effort or _NO_LIMIT), "velocity": number_text(limits.velocity or _NO_LIMIT)}
    if ends:
        limit = {"lower": number_text(ends[0]), "upper": number_text(ends[1]), **limit}
    place = {"xyz": numbers_text(piece.pose[:3, 3]), "rpy": numbers_text(roll_pitch_yaw(piece.pose[:3, :3]))}
    lines = [
        element("joint", {"name": joint.name, "type": kind}, close=False),
        "  " + element("origin", place),
        "  " + element("parent", {"link": parent}),
        "  " + element("child", {"link": piece.link}),
        "  " + element("axis", {"xyz": numbers_text(piece.axis)}),
        "  " + element("limit", limit),
        "  " + element("dynamics", _dynamics(passport, joint.name)),
    ]
    if piece.master:
        lines.append("  " + element("mimic", {"joint": piece.master, "multiplier": number_text(piece.ratio)}))
    return [*lines, "</joint>"]


def _dynamics(passport: Passport, joint: str) -> dict[str, str]:
    values = passport.joints[joint]
    return {"damping": number_text(values.damping), "friction": number_text(values.dry_friction)}


def _updated(passport: Passport, more: More) -> str:
    """Return the original URDF with other inertials and dynamics; every other byte stays."""
    text = urdf.updated_text(passport.robot)
    data, newline = text.encode("utf-8"), "\r\n" if "\r\n" in text else "\n"
    root = xml_tree.parse(text, passport.robot.name)
    edits: list[Edit] = []
    for node in root.all("joint"):
        if node.attributes.get("name") in passport.joints:
            edits += _joint_edits(data, node, passport, newline)
    result = edited(data, edits).decode("utf-8")
    lines = [f"  {line}" for piece in passport.pieces for line in more(piece)]
    end = result.rindex("</robot")
    return result[:end] + "".join(line + newline for line in lines) + result[end:]


def _joint_edits(data: bytes, node: Node, passport: Passport, newline: str) -> list[Edit]:
    """Return the edits that give a joint its dynamics and its effort."""
    name = node.attributes["name"]
    effort, stated = passport.drives[name].effort, next(j.limits for j in passport.robot.joints if j.name == name)
    wanted = {"dynamics": _dynamics(passport, name)}
    if effort is not None and effort != stated.effort:
        wanted["limit"] = {"effort": number_text(effort)}
        if stated.velocity is None:
            wanted["limit"] |= {"velocity": number_text(_NO_LIMIT)}
    edits: list[Edit] = []
    for tag, attributes in wanted.items():
        own = node.first(tag)
        if own is not None:
            edits += set_attributes(data, own, dict(attributes))
        elif any(text != "0" for text in attributes.values()):
            edits.append(insert_first(data, node, element(tag, attributes).encode(), newline))
    return edits
