"""SDF, the format of Gazebo and Drake: models of links and joints, whose poses may be stated in any frame of the model."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path, PurePosixPath

from taupi.budget import budget
from taupi.errors import TaupiError, unknown
from taupi.input_files import printable
from taupi.model.body import NO_BODY, Body, body_from_com, stated_mass, symmetric
from taupi.model.formats import xml_tree
from taupi.model.formats.description import noting_a_bolted_base, read_text, warn_of_description
from taupi.model.formats.file_tree import Mimic, Tree, TreeJoint
from taupi.model.formats.link_tree import robot_from_tree, shortened
from taupi.model.formats.xml_tree import Node
from taupi.model.placement import (
    IDENTITY3,
    Placement,
    matmul,
    matvec,
    rotation_about,
    rotation_from_quaternion,
    transpose,
    turned,
)
from taupi.model.robot import Robot
from taupi.model.robot_parts import BALL, KINDS, Friction, Limits, Source
from taupi.model.scalars import (
    SNAP_LENGTH,
    Scalar,
    SnapNotes,
    Vector,
    VectorLike,
    exact,
    is_number,
    note_snapped,
    snapped_unit_vector,
)

__all__ = ["read"]

_WORLD = "world"
_TYPES = (*KINDS, "fixed", BALL)
_MOST_INCLUDES, _DEEPEST = 100, 8
_NO_LIMIT = 1e15  # SDF writes 1e16 for a joint without a limit


def read(
    path: str | os.PathLike[str],
    lock: Sequence[str] | Mapping[str, float] = (),
    tip: str | None = None,
    gravity: VectorLike = (0, 0, "-9.81"),
    snap: bool = True,
    floating: bool | None = None,
) -> Robot:
    """Return the robot of the SDF file at `path`: that of its model, or of the first model of its world.

    A pose is stated in the frame `relative_to`, by default that of the model for a link, of the child for a joint, of the link
    that it is attached to for a frame. A joint's axis is stated in the frame `expressed_in`, by default the joint's own. Nested
    models and included ones, beside the file, are part of the robot; their links are called model::link. Gravity is the
    argument, as for other formats, not that of a world. A spring k (q - q0) at a joint is read as terms "spring", k, and
    "offset", -k q0.

    Args:
        path: The file.
        lock: Joints that are held, as in `Robot.from_urdf`, as are the following.
        tip: The link at the end of the chain that is kept; all by default.
        gravity: The acceleration vector, m/s^2.
        snap: Whether angles printed as near-right ones are right angles.
        floating: Whether the root moves freely; None bolts it to the ground.
    """
    file = Path(path)
    text = read_text(path)
    where = printable(file.name)
    model, version = _model(xml_tree.parse(text, where, values=True), where)
    notes = SnapNotes()
    scene = _SdfModel(where, file.parent, snap, notes)
    scene.add(model, "", version, 0)
    tree = scene.tree(model.attributes.get("name") or file.stem)
    robot = robot_from_tree(tree, lock, tip, gravity, snap, Source("sdf", printable(file, 4096), text), floating)
    warn_of_description(robot, tree)
    return noting_a_bolted_base(robot, where, asked=floating is not None)


def _model(root: Node, where: str) -> tuple[Node, tuple[int, int]]:
    """Return the model of a file, and its version."""
    if root.tag != "sdf":
        raise TaupiError("{where}: the root element is <{tag}>, expected <sdf>.", where=where, tag=root.tag[:40])
    words = root.attributes.get("version", "1.7").split(".")
    if len(words) < 2 or not all(word.isdigit() and len(word) < 4 for word in words[:2]):
        raise TaupiError("{where}: version is {got!r}, expected one such as 1.9.", where=where, got=".".join(words))
    world = root.first("world")
    model = root.first("model") or (world.first("model") if world is not None else None)
    if model is None:
        raise TaupiError("{where} has no <model>.", where=where)
    return model, (int(words[0]), int(words[1]))


@dataclass(frozen=True)
class _Frame:
    """Where a frame is: a placement in another frame, by its full name; the root of all is ""."""

    relative_to: str
    placement: Placement


@dataclass
class _SdfModel:
    """The frames, links and joints of a model and of those inside of it, by full names such as arm::hand."""

    where: str
    folder: Path
    snap: bool
    notes: SnapNotes
    frames: dict[str, _Frame] = field(default_factory=dict)
    links: dict[str, Body] = field(default_factory=dict)
    attached: dict[str, str] = field(default_factory=dict)  # a frame, and the link or frame that it is fixed to
    joints: list[tuple[Node, str, str, tuple[int, int]]] = field(default_factory=list)
    placed: dict[str, Placement] = field(default_factory=dict)
    includes: int = 0

    def add(self, model: Node, name: str, version: tuple[int, int], depth: int, pose: Node | None = None) -> None:
        """Add a model with what is in it; `name` is its full name, "" for the outermost."""
        at = f"{self.where}, line {model.line}: model"
        if depth > _DEEPEST:
            raise TaupiError("{at} is nested more than {most} deep.", at=at, most=_DEEPEST)
        if model.attributes.get("placement_frame"):
            raise TaupiError("{at} has a placement_frame, which is not supported: state its pose instead.", at=at)
        scope = f"{name}::" if name else ""
        own = scope + "__model__"
        if name:  # the outermost stands at the origin: where the world is does not matter
            within = name.rpartition("::")[0]
            pose = model.first("pose") if pose is None else pose
            self._put(own, pose, f"{within}::" if within else "", "__model__", at)
            self.frames[name] = _Frame(own, Placement())
        else:
            self.frames[own] = _Frame("", Placement())
        for node in model.all("link"):
            link = self._named(node, scope)
            self._put(link, node.first("pose"), scope, "__model__", self._at(node))
            self.links[link] = self._body(node)
        for node in model.all("frame"):
            frame, base = self._named(node, scope), node.attributes.get("attached_to", "__model__")
            self._put(frame, node.first("pose"), scope, base, self._at(node))
            self.attached[frame] = scope + base
        for node in model.all("joint"):
            joint, child = self._named(node, scope), self._value(node, "child")
            self._put(joint, node.first("pose"), scope, child, self._at(node))
            self.attached[joint] = scope + child
            self.joints.append((node, scope, joint, version))
        links = [node.attributes["name"] for node in model.all("link")]
        canonical = model.attributes.get("canonical_link", links[0] if links else "")
        if canonical:
            self.attached[own] = scope + canonical
        for node in model.all("model"):
            self.add(node, self._named(node, scope), version, depth + 1)
        for node in model.all("include"):
            self._include(node, scope, depth)

    def _include(self, node: Node, scope: str, depth: int) -> None:
        """Add the model of another file: model://name, or a path below the file's folder."""
        at, uri = self._at(node), self._value(node, "uri")
        self.includes += 1
        if self.includes > _MOST_INCLUDES or node.attributes.get("merge") in ("true", "1"):
            raise TaupiError(
                "{at}: expected at most {most} includes, none of which is merged.", at=at, most=_MOST_INCLUDES
            )
        name = uri.partition("://")[2] if uri.startswith("model://") else uri
        parts = PurePosixPath(name).parts
        if "://" in name or not parts or ".." in parts or PurePosixPath(name).is_absolute():
            raise TaupiError(
                "{at}: its uri is {got!r}, expected model://name, or a path below the file.", at=at, got=uri
            )
        places = [self.folder / name, *([self.folder.parent / name] if uri.startswith("model://") else [])]
        files = [p if p.suffix in (".sdf", ".world") else p / "model.sdf" for p in places]
        found = next((f for f in files if f.is_file()), None)
        if found is None:
            raise TaupiError("{at}: there is no {file} beside the file.", at=at, file=printable(files[0]))
        where = printable(found.name)
        inner, version = _model(xml_tree.parse(read_text(found), where, values=True), where)
        label = node.first("name")
        own = scope + (label.text.strip() if label is not None else inner.attributes.get("name", "model"))
        before = self.where, self.folder
        self.where, self.folder = where, found.parent
        self.add(inner, own, version, depth + 1, node.first("pose"))
        self.where, self.folder = before

    # Reading of elements ----------------------------------------------------------------------------------------------

    def _at(self, node: Node) -> str:
        name = node.attributes.get("name")
        return f"{self.where}, line {node.line}: {node.tag}" + (f" {name!r}" if name else "")

    def _named(self, node: Node, scope: str) -> str:
        name = node.attributes.get("name", "")
        if not name or "::" in name or name.startswith("__"):
            raise TaupiError("{at} has no name, or a reserved one.", at=self._at(node))
        if scope + name in self.frames:
            raise TaupiError("{at}: this name is used twice. Give each element its own.", at=self._at(node))
        budget().check_joints(len(self.frames) // 2, self.where)
        return scope + name

    def _value(self, node: Node, tag: str) -> str:
        inner = node.first(tag)
        if inner is None or not inner.text.strip():
            raise TaupiError("{at} has no <{tag}>.", at=self._at(node), tag=tag)
        return inner.text.strip()

    def _numbers(self, text: str, count: int, at: str) -> list[Fraction]:
        words = text.split(None, count + 1)
        if len(words) != count:
            raise TaupiError("{at} is {got!r}, expected {count} numbers.", at=at, got=text.strip()[:60], count=count)
        return [_fraction(word, at) for word in words]

    def _number(self, node: Node | None, tag: str, default: str) -> Fraction:
        inner = None if node is None else node.first(tag)
        if node is None or inner is None:
            return Fraction(default)
        return self._numbers(inner.text, 1, f"{self._at(node)}: <{tag}>")[0]

    def _put(self, name: str, pose: Node | None, scope: str, default: str, at: str) -> None:
        """Remember where a frame is: its pose, in the frame that it states or in the one by `default`."""
        base = default if pose is None else pose.attributes.get("relative_to") or default
        placement = Placement() if pose is None else self._pose(pose, at, self.snap)
        full = base if base == _WORLD else scope + base
        self.frames[name] = _Frame("" if full == _WORLD else full, placement)

    def _pose(self, pose: Node, at: str, snap: bool) -> Placement:
        text = pose.text.strip()
        if not text:
            return Placement()
        form = pose.attributes.get("rotation_format", "euler_rpy")
        if form not in ("euler_rpy", "quat_xyzw"):
            raise unknown("rotation_format", form, ("euler_rpy", "quat_xyzw"), at)
        words = text.split(None, 8)
        values = self._numbers(text, 7 if form == "quat_xyzw" else 6, f"{at}: <pose>")
        place = tuple(Fraction(0) if snap and abs(v) < SNAP_LENGTH else v for v in values[:3])
        if form == "quat_xyzw":
            x, y, z, w = words[3:]
            rotation, snapped = rotation_from_quaternion(w, x, y, z, snap)
            note_snapped(self.notes, f"{at}: quat_xyzw = {x} {y} {z} {w}", snapped, "ratios of 0 and 1")
            return Placement(rotation, place)  # type: ignore[arg-type]
        rotation, worst = IDENTITY3, 0.0
        for axis, value, word in zip("xyz", values[3:], words[3:], strict=True):
            if value:
                degrees = pose.attributes.get("degrees") in ("true", "1")
                angle = math.radians(value) if degrees else word
                turn, snapped = rotation_about(axis, angle, snap, f"{at}: <pose>")
                worst = max(worst, abs(snapped))
                rotation = matmul(turn, rotation)
        note_snapped(self.notes, f"{at}: pose = {' '.join(words[3:])}", worst, "right angles")
        return Placement(rotation, place)  # type: ignore[arg-type]

    def _body(self, link: Node) -> Body:
        inertial = link.first("inertial")
        if inertial is None:
            return NO_BODY
        at = f"{self._at(link)}, inertial"
        if inertial.attributes.get("auto") in ("true", "1"):
            raise TaupiError("{at} is to be computed from its shapes, expected a mass and an inertia.", at=at)
        mass, inertia = inertial.first("mass"), inertial.first("inertia")
        if mass is None or inertia is None:
            missing = "mass" if mass is None else "inertia"
            raise TaupiError("{at} has no <{missing}>. Add it, or remove the whole <inertial>.", at=at, missing=missing)
        m = stated_mass(mass.text.strip(), f"{at}: mass")
        keys = (("ixx", "1"), ("ixy", "0"), ("ixz", "0"), ("iyy", "1"), ("iyz", "0"), ("izz", "1"))
        entries = [self._number(inertia, key, default) for key, default in keys]
        if not m and not any(entries):
            return NO_BODY
        pose = inertial.first("pose")
        # The rotation of an inertial is not part of the geometry, and not snapped.
        placed = Placement() if pose is None else self._pose(pose, at, snap=False)
        tensor = symmetric(*entries) if placed.rotation is IDENTITY3 else turned(symmetric(*entries), placed.rotation)
        return body_from_com(m, placed.translation, tensor, at)

    # From frames to a tree ----------------------------------------------------------------------------------------------

    def _place(self, name: str, at: str) -> Placement:
        """Return where a frame is in the outermost model."""
        chain: list[str] = []
        known = name
        while known not in self.placed and known:
            if known in chain:
                raise TaupiError("{at}: the pose of {name!r} is relative to itself.", at=at, name=name)
            if known not in self.frames:
                raise unknown("frame", known, [n for n in self.frames if "__model__" not in n], at)
            chain.append(known)
            known = self.frames[known].relative_to
        here = self.placed[known] if known else Placement()
        for frame in reversed(chain):
            here = here @ self.frames[frame].placement
            self.placed[frame] = here = shortened(here)
        return here

    def _link(self, name: str, at: str) -> str:
        """Return the link that a link, frame, joint or model is fixed to."""
        seen: set[str] = set()
        while name not in self.links:
            if name in seen or name not in (self.attached.keys() | self.frames.keys()):
                raise unknown("link", name, self.links, at)
            seen.add(name)
            name = self.attached.get(name, f"{name}::__model__")
        return name

    def tree(self, name: str) -> Tree:
        """Return the links and joints, a link's children in the order of their joints' names."""
        joints = [self._joint(node, scope, joint, version) for node, scope, joint, version in self.joints]
        links = tuple(self.links.items())
        if any(joint.parent == _WORLD for joint in joints):
            links = ((_WORLD, NO_BODY), *links)
        ordered = tuple(sorted(joints, key=lambda j: j.name))
        return Tree(name, self.where, links, ordered, tuple(self.notes), large_snaps=tuple(self.notes.large))

    def _joint(self, node: Node, scope: str, name: str, version: tuple[int, int]) -> TreeJoint:
        at = self._at(node)
        kind = node.attributes.get("type", "")
        if kind not in _TYPES:
            raise unknown("joint type", kind, _TYPES, at)
        parent, child = self._value(node, "parent"), self._value(node, "child")
        if child == _WORLD:
            raise TaupiError("{at}: its child is the world, expected a link.", at=at)
        child = self._link(scope + child, at)
        here, below = self._place(name, at), self._place(child, at)
        above = Placement()
        if parent != _WORLD:
            parent = self._link(scope + parent, at)
            above = self._place(parent, at)
        before, after = shortened(above.inverse() @ here), shortened(here.inverse() @ below)
        axis = node.first("axis")
        if kind in ("fixed", BALL):
            return TreeJoint(name, kind, parent, child, before, after=after)
        if axis is None:
            raise TaupiError("{at} has no <axis>.", at=at)
        limit, dynamics = axis.first("limit"), axis.first("dynamics")
        damping, dry, spring, rest = (
            self._number(dynamics, key, "0") for key in ("damping", "friction", "spring_stiffness", "spring_reference")
        )
        return TreeJoint(
            name=name,
            kind=self._kind(kind, limit),
            parent=parent,
            child=child,
            before=before,
            axis=self._axis(axis, scope, here, version, at),
            after=after,
            mimic=self._mimic(axis, scope, at),
            limits=self._limits(limit, kind),
            friction=Friction(damping, dry, offset=-spring * rest),
            spring=spring,
        )

    def _kind(self, kind: str, limit: Node | None) -> str:
        """Return "continuous" for a revolute joint without limits, as SDF writes it."""
        bounds = [abs(self._limit(limit, key)) for key in ("lower", "upper")]
        return "continuous" if kind == "revolute" and min(bounds) > _NO_LIMIT else kind

    def _axis(self, axis: Node, scope: str, here: Placement, version: tuple[int, int], at: str) -> Vector:
        """Return the unit vector of an axis in the joint's frame."""
        xyz = axis.first("xyz")
        text = "0 0 1" if xyz is None else xyz.text
        values = self._numbers(text, 3, f"{at}: <xyz>")
        if not any(values):
            raise TaupiError("{at}: <xyz> is 0 0 0, which has no direction.", at=at)
        direction, snapped = snapped_unit_vector(text.split(), f"{at}: <xyz>", self.snap)
        note_snapped(self.notes, f"{at}: axis = {text.strip()}", snapped, "a coordinate axis")
        given = "" if xyz is None else xyz.attributes.get("expressed_in", "")
        old = axis.first("use_parent_model_frame")
        if version < (1, 5) or (old is not None and old.text.strip() in ("1", "true")):
            given = given or "__model__"
        if not given:
            return direction
        frame = Placement() if given == _WORLD else self._place(scope + given, at)
        turned: tuple[Scalar, ...] = tuple(matvec(matmul(transpose(here.rotation), frame.rotation), direction))
        return turned

    def _limit(self, limit: Node | None, key: str) -> float:
        """Return a limit; infinity if there is none."""
        inner = None if limit is None else limit.first(key)
        if inner is None or inner.text.strip().lower().lstrip("+-") in ("inf", "infinity"):
            return math.inf
        return float(self._number(limit, key, "0"))

    def _mimic(self, axis: Node, scope: str, at: str) -> Mimic | None:
        node = axis.first("mimic")
        if node is None:
            return None
        if not node.attributes.get("joint"):
            raise TaupiError("{at}: <mimic> names no joint.", at=at)
        ratio, offset, reference = (self._number(node, key, "0") for key in ("multiplier", "offset", "reference"))
        return Mimic(scope + node.attributes["joint"], ratio, offset - ratio * reference)

    def _limits(self, limit: Node | None, kind: str) -> Limits:
        values: dict[str, float] = {}
        for key in ("lower", "upper", "velocity", "effort"):
            value = self._limit(limit, key)
            bounds = key in ("lower", "upper")
            if abs(value) < _NO_LIMIT and (value >= 0 or bounds) and not (bounds and kind == "continuous"):
                values[key] = value
        return Limits(**values)


def _fraction(word: str, at: str) -> Fraction:
    """Return a decimal number of a file as it stands."""
    if not is_number(word) or not math.isfinite(float(word)):
        raise TaupiError("{at} holds {got!r}, expected finite decimal numbers.", at=at, got=word[:40])
    value = exact(word, at)
    assert isinstance(value, Fraction)
    return value
