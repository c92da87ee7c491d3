"""An MJCF file compiled by MuJoCo, without its shapes where their files are missing."""

from __future__ import annotations

import math
import re
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from taupi.budget import Clock, budget, over_budget
from taupi.errors import TaupiError
from taupi.files import status_of
from taupi.input_files import open_regular, printable
from taupi.model.formats import xml_tree
from taupi.model.formats.description import read_text
from taupi.model.formats.xml_tree import Node

if TYPE_CHECKING:
    import mujoco
    from mujoco import MjModel


_DEEPEST = 16  # includes inside each other
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_NOT_A_NUMBER = frozenset(("nan", "+nan", "-nan"))
_NOT_FINITE = _NOT_A_NUMBER | {sign + word for sign in ("", "+", "-") for word in ("inf", "infinity")}
_NOT_OF_THE_ROBOT = ("numeric", "text", "tuple")  # data that users keep in a file
# Attributes that hold names, which may be anything.
_NAMES = frozenset(
    (
        *("name", "class", "childclass", "file", "model", "joint", "joint1", "joint2", "body", "body1", "body2"),
        *("site", "site1", "site2", "geom", "geom1", "geom2", "mesh", "hfield", "material", "texture", "tendon"),
        *("tendon1", "tendon2", "actuator", "sensor", "target", "parent", "objname", "refname", "jointinparent"),
        *("cranksite", "slidersite", "refsite", "basebody", "plugin", "instance", "key", "value", "prefix", "suffix"),
        "content_type",
    )
)
_TEXEL = 18  # bytes: three colours on six sides of a cube
_PIXEL = 4  # bytes of a picture while it is unpacked
_VERTEX = 64  # bytes of a mesh that MuJoCo makes: the vertex, its normal, two triangles, their tree
_LENGTHS = ("actdim", "dim", "nsample")  # numbers that an actuator or a sensor keeps
_MOST_FOLDERS = 32
# Elements of the budget for each copy of one: MuJoCo takes time with the square of the copies, a second for ten thousand.
_NODES_PER_COPY = 20


def check_mjcf(root: Node, file: Path) -> None:
    """Refuse an MJCF file that needs more than the budget, or names things that are not files or lie elsewhere.

    `root` is its root element. Files that it includes are named by paths that start from its folder.
    """
    _Contents(file.resolve().parent, file.name).add_all(root)


@dataclass
class _Contents:
    """What was seen so far: elements with their copies, bytes of height fields and textures, names of assets and folders."""

    folder: Path
    where: str
    elements: int = 0
    memory: int = 0
    folders: set[str] = field(default_factory=lambda: {""})
    assets: list[str] = field(default_factory=list)
    documents: dict[Path, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._clock = Clock(self.where)

    def add_all(self, root: Node) -> None:
        """Add an element, its children, and what they include."""
        waiting = [(root, 1, 0)]
        while waiting:
            node, copies, depth = waiting.pop()
            waiting += reversed(self.add(node, copies, depth))
        self._check_assets()

    def add(self, node: Node, copies: int, depth: int) -> list[tuple[Node, int, int]]:
        """Add an element that occurs `copies` times; return what it holds and includes, with its copies, to be added next."""
        self._count(copies)
        self._check_numbers(node)
        self._add_memory(node)
        self.folders.update(node.attributes[key] for key in _FOLDERS if key in node.attributes)
        name = node.attributes.get("file")
        inside = []
        if name and node.tag in ("include", "model"):
            inside = [(root, copies, depth + 1) for root in self._included(name, depth)]
        elif name:
            self.assets.append(name)
        if node.tag in ("replicate", "composite", "flexcomp"):
            copies *= max(1, math.prod(_whole_numbers(node.attributes.get("count", "1"))))
            self._count(copies)
            most = max(1, budget().nodes // _NODES_PER_COPY)
            if copies > most:
                raise over_budget(f"{self.where} copies an element more than {most} times", "nodes")
        return [*inside, *((child, copies, depth) for child in node.children)]

    def _count(self, copies: int) -> None:
        self.elements += copies
        if self.elements > budget().nodes:
            raise over_budget(f"{self.where} has more than {budget().nodes} elements with its copies", "nodes")

    def _check_numbers(self, node: Node) -> None:
        """Refuse NaN and infinity, which MuJoCo takes for numbers that are not stated; a range may be infinite."""
        if node.tag in _NOT_OF_THE_ROBOT:
            return
        for key, text in node.attributes.items():
            wrong = _NOT_A_NUMBER if key.endswith("range") else _NOT_FINITE
            if key not in _NAMES and not wrong.isdisjoint(text.lower().split()):
                raise TaupiError(
                    "{where}, line {line}: <{tag}> {key} is {got!r}, expected finite numbers.",
                    where=self.where,
                    line=node.line,
                    tag=node.tag[:40],
                    key=key,
                    got=text,
                )

    def _add_memory(self, node: Node) -> None:
        attributes = node.attributes
        if node.tag == "hfield":
            self.memory += 4 * _product(attributes, ("nrow", "ncol"))
        elif node.tag == "texture":
            self.memory += _TEXEL * _product(attributes, ("width", "height"))
        elif node.tag == "size":
            counts = [n for key, text in attributes.items() if key.startswith("n") for n in _whole_numbers(text)]
            self.memory += 8 * sum(counts)
        elif node.tag == "mesh" and "builtin" in attributes:
            self.memory += _VERTEX * max(_whole_numbers(attributes.get("params", ""))[:2], default=0) ** 2
        self.memory += 8 * sum(n for key in _LENGTHS if key in attributes for n in _whole_numbers(attributes[key]))
        if self.memory > budget().unpacked_bytes:
            needed = f"{self.where} asks for {self.memory >> 20} MiB of height fields, textures, meshes or sizes"
            raise over_budget(needed, "unpacked_bytes", f"{budget().unpacked_bytes >> 20} MiB at most")

    def _included(self, name: str, depth: int) -> list[Node]:
        """Return the root of an included file, read once; empty if there is no such file, which MuJoCo reports."""
        self._clock.check()
        if Path(name).is_absolute():
            raise TaupiError(
                "{where} includes {name!r}, expected a path that starts from its folder.",
                remedy="Copy the file there, and include the copy.",
                where=self.where,
                name=name,
            )
        if depth > _DEEPEST:
            raise TaupiError(
                "{where} has includes inside each other, deeper than {deepest}.", where=self.where, deepest=_DEEPEST
            )
        if status_of(self.folder / name) is None:
            return []
        path = (self.folder / name).resolve()
        if path not in self.documents:
            self.documents[path] = xml_tree.parse(read_text(path), printable(path.name))
        return [self.documents[path]]

    def _check_assets(self) -> None:
        """Refuse pipes and devices, at which MuJoCo would wait forever, oversized files, and pictures that unpack to too much."""
        if len(self.folders) > _MOST_FOLDERS:
            raise TaupiError(
                "{where} names more than {most_folders} folders of meshes and textures.",
                where=self.where,
                most_folders=_MOST_FOLDERS,
            )
        pictures = unpacked = 0
        for path in (path for name in self.assets for path in self._candidates(name)):
            self._clock.check()
            status = status_of(path)
            if status is None or stat.S_ISDIR(status.st_mode):
                continue
            if not stat.S_ISREG(status.st_mode):
                raise TaupiError(
                    "{path}, which {where} names, is not a regular file.", path=printable(path), where=self.where
                )
            if status.st_size > budget().data_bytes:
                most = f"{budget().data_bytes >> 20} MiB at most"
                raise over_budget(f"{printable(path)} has {status.st_size >> 20} MiB", "data_bytes", most)
            pictures += status.st_size
            unpacked += _PIXEL * _pixels(path)
            budget().check_unpacked(unpacked, pictures, f"{self.where}, with its pictures,")

    def _candidates(self, name: str) -> Iterator[Path]:
        """Yield where MuJoCo may look for an asset: in each folder, and with `strippath` without its own."""
        roots = {self.folder, *(path.parent for path in self.documents)}
        for file in {name, name.replace("\\", "/").rpartition("/")[2]}:
            yield from {root / between / file for root in roots for between in self.folders}


def _pixels(path: Path) -> int:
    """Return the pixels of a PNG picture, which may take a thousandth of their size in the file; 0 for any other file."""
    try:
        with open_regular(path, "a picture") as stream:
            head = stream.read(24)
    except OSError:  # MuJoCo reports it
        return 0
    if head[:8] != b"\x89PNG\r\n\x1a\n" or len(head) < 24:
        return 0
    width, height = struct.unpack(">II", head[16:24])
    return int(width) * int(height)


def _product(attributes: Mapping[str, str], keys: tuple[str, ...]) -> int:
    return math.prod(max([*_whole_numbers(attributes.get(key, "0")), 0]) for key in keys)


def _whole_numbers(text: str) -> list[int]:
    """Return the numbers of an attribute, rounded up; what is not a number is left to MuJoCo."""
    numbers = []
    for word in text.split()[:16]:
        try:
            value = float(word)
        except ValueError:
            continue
        numbers.append(math.ceil(min(abs(value), 1e15)) if not math.isnan(value) else 0)
    return numbers


_MISSING = re.compile(r"opening file|resource.*not found|no such file|could not (open|find|read)", re.IGNORECASE)


def mujoco_module() -> ModuleType:
    """Return the module `mujoco`, or raise an error that says how to install it."""
    try:
        import mujoco
    except ImportError:
        raise TaupiError("Reading MJCF needs the mujoco package. Install it with: pip install taupi[mjcf]") from None
    return mujoco


class Compiled(NamedTuple):
    """A model that MuJoCo compiled, notes on what was done to its file, and bodies that do not move, whose mass is unknown."""

    model: MjModel
    notes: tuple[str, ...] = ()
    weightless: tuple[str, ...] = ()


def compiled(file: Path) -> Compiled:
    """Return the model of an MJCF file, compiled by MuJoCo, with notes on what was done to it.

    What the file asks for is added up first: MuJoCo would open pipes, and fill memory. Its root element may be <robot>, too.
    Where files of meshes or textures are missing, shapes that need them are left out, provided that no body that moves takes its
    mass from one.
    """
    document = xml_tree.parse(read_text(file), printable(file.name))
    if document.tag not in ("mujoco", "mujocoinclude", "robot"):
        raise TaupiError(
            "{file}: the root element is <{tag}>, expected <mujoco> or <robot>.", file=file.name, tag=document.tag[:40]
        )
    check_mjcf(document, file)
    mujoco = mujoco_module()
    errors = (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError)
    try:
        return Compiled(mujoco.MjModel.from_xml_path(str(file)))
    except errors as error:
        reason = _sentence(error)
    if "'passive'" in reason:
        raise TaupiError(
            "{file}: MuJoCo no longer has the flag passive.",
            remedy='Write spring="disable" damper="disable".',
            file=file.name,
        )
    if not _MISSING.search(reason):
        raise TaupiError("{file}: MuJoCo cannot compile it: {reason}.", file=file.name, reason=reason)
    try:
        return _without_shapes(mujoco, file, reason)
    except errors as error:
        if isinstance(error, TaupiError):
            raise
        raise TaupiError("{file}: MuJoCo cannot compile it: {reason}.", file=file.name, reason=reason) from None


def _sentence(error: BaseException) -> str:
    reason = re.sub(r"\s+", " ", str(error)).strip().removeprefix("XML Error: ").removeprefix("Error: ")
    return reason[:300].rstrip(".")


def _without_shapes(mujoco: ModuleType, file: Path, reason: str) -> Compiled:
    spec = mujoco.MjSpec.from_file(str(file))
    from_geoms = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    weightless = []
    for number, body in enumerate(spec.bodies):
        shapes = [g for g in body.geoms if _needs_file(g) and _has_mass(g, spec)]
        if shapes and body.name != "world" and (from_geoms or not body.explicitinertial):
            name = body.name or f"body{number}"
            if not _moves(body):
                weightless.append(name)
                continue
            raise TaupiError(
                "{file}: {reason}, and body {name!r} takes its mass from such a shape.",
                remedy="Add the files, or give the body an <inertial>.",
                file=file.name,
                reason=reason,
                name=name,
            )
    count = 0
    for geom in list(spec.geoms):
        if _needs_file(geom):
            spec.delete(geom)
            count += 1
        else:
            geom.material = ""
    for site in spec.sites:
        site.material = ""
    for tendon in spec.tendons:
        tendon.material = ""
    drawn = (spec.skins, spec.meshes, spec.hfields, spec.materials, spec.textures)
    for elements in (spec.sensors, spec.pairs, spec.excludes, *drawn):  # they may name a shape
        for element in list(elements):
            spec.delete(element)
    own = "all bodies have their own inertia"
    if weightless:
        own = f"{', '.join(weightless)} would take mass from them, and does not move, so that no torque depends on it"
    return Compiled(spec.compile(), (f"{reason}: {count} shapes are left out; {own}",), tuple(weightless))


def _moves(body: mujoco.MjsBody) -> bool:
    """Return whether a body, or one that carries it, has a joint or is moved from outside."""
    while body is not None and body.name != "world":
        if body.joints or body.mocap:
            return True
        body = body.parent
    return False


def _needs_file(geom: mujoco.MjsGeom) -> bool:
    return bool(geom.meshname or geom.hfieldname)


def _has_mass(geom: mujoco.MjsGeom, spec: mujoco.MjSpec) -> bool:
    """Return whether a geom adds to the mass of its body: not by mass or density zero, nor by its group."""
    first, last = spec.compiler.inertiagrouprange
    if not first <= geom.group <= last:
        return False
    return geom.mass > 0 if geom.mass == geom.mass else geom.density > 0
