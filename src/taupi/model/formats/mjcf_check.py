"""What an MJCF file asks for, added up before MuJoCo compiles it: files that it names, copies, height fields, textures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from taupi.budget import budget, over_budget
from taupi.errors import TaupiError, shown
from taupi.input_files import printable, regular_file
from taupi.model.formats import xml_tree
from taupi.model.formats.text_file import read_text
from taupi.model.formats.xml_tree import Node

_DEEPEST = 16  # includes inside each other
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_NOT_A_NUMBER = frozenset(("nan", "+nan", "-nan"))
_NOT_FINITE = _NOT_A_NUMBER | {sign + word for sign in ("", "+", "-") for word in ("inf", "infinity")}
_NOT_OF_THE_ROBOT = ("numeric", "text", "tuple")  # data that users keep in a file
# Attributes that hold names, which may be anything.
_NAMES = frozenset(
    [
        "name",
        "class",
        "childclass",
        "file",
        "model",
        "joint",
        "joint1",
        "joint2",
        "body",
        "body1",
        "body2",
        "site",
        "site1",
        "site2",
        "geom",
        "geom1",
        "geom2",
        "mesh",
        "hfield",
        "material",
        "texture",
        "tendon",
        "tendon1",
        "tendon2",
        "actuator",
        "sensor",
        "target",
        "parent",
        "objname",
        "refname",
        "jointinparent",
        "cranksite",
        "slidersite",
        "refsite",
        "basebody",
        "plugin",
        "instance",
        "key",
        "value",
        "prefix",
        "suffix",
        "content_type",
    ]
)
_TEXEL = 18  # bytes: three colours on six sides of a cube


def check_mjcf(root: Node, file: Path) -> None:
    """Refuse an MJCF file that needs more than the budget, or names files that are no files or lie elsewhere.

    `root` is its root element. Files that it includes are named by paths that start from its folder.
    """
    _Check(file.resolve().parent, file.name).add(root)


@dataclass
class _Check:
    """What was seen so far: elements with their copies, bytes of height fields and textures, folders of assets."""

    folder: Path
    where: str
    elements: int = 0
    memory: int = 0
    folders: list[str] = field(default_factory=list)

    def add(self, node: Node, copies: int = 1, depth: int = 0) -> None:
        """Add an element, its children, and what it includes, all of which are there `copies` times."""
        self._count(copies)
        self._check_numbers(node)
        self._add_memory(node)
        self.folders += [node.attributes[key] for key in _FOLDERS if key in node.attributes]
        name = node.attributes.get("file")
        if name and node.tag in ("include", "model"):
            self._include(name, copies, depth)
        elif name:
            self._check_asset(name)
        if node.tag in ("replicate", "composite", "flexcomp"):
            copies *= max(1, math.prod(_whole_numbers(node.attributes.get("count", "1"))))
            self._count(copies)
        for child in node.children:
            self.add(child, copies, depth)

    def _count(self, copies: int) -> None:
        self.elements += copies
        if self.elements > budget().nodes:
            raise over_budget(f"{self.where} has more than {budget().nodes} elements with its copies", "nodes")

    def _check_numbers(self, node: Node) -> None:
        """Refuse NaN and infinity, which MuJoCo takes for numbers that are not stated; a range may be without end."""
        if node.tag in _NOT_OF_THE_ROBOT:
            return
        for key, text in node.attributes.items():
            wrong = _NOT_A_NUMBER if key.endswith("range") else _NOT_FINITE
            if key not in _NAMES and not wrong.isdisjoint(text.lower().split()):
                place = f"{self.where}, line {node.line}: <{node.tag[:40]}>"
                raise TaupiError(f"{place} {key} is {shown(text)}, expected finite numbers.")

    def _add_memory(self, node: Node) -> None:
        attributes = node.attributes
        if node.tag == "hfield":
            self.memory += 4 * _product(attributes, ("nrow", "ncol"))
        elif node.tag == "texture":
            self.memory += _TEXEL * _product(attributes, ("width", "height"))
        elif node.tag == "size":
            counts = [n for key, text in attributes.items() if key.startswith("n") for n in _whole_numbers(text)]
            self.memory += 8 * sum(counts)
        if self.memory > budget().unpacked_bytes:
            needed = f"{self.where} asks for {self.memory >> 20} MiB of height fields, textures or sizes"
            raise over_budget(needed, "unpacked_bytes", f"{budget().unpacked_bytes >> 20} MiB at most")

    def _include(self, name: str, copies: int, depth: int) -> None:
        if Path(name).is_absolute():
            raise TaupiError(
                f"{self.where} includes {shown(name)}, expected a path that starts from its folder.",
                remedy="Copy the file there, and include the copy.",
            )
        path = (self.folder / name).resolve()
        if depth > _DEEPEST:
            raise TaupiError(f"{self.where} has includes inside each other, deeper than {_DEEPEST}.")
        if path.exists():  # else MuJoCo says that there is none
            document = xml_tree.parse(read_text(path), printable(path.name))
            self.add(document, copies, depth + 1)

    def _check_asset(self, name: str) -> None:
        """Refuse a pipe or device, at which MuJoCo would wait forever, and a file that is too large."""
        for path in self._candidates(name):
            if path.exists() and not path.is_dir() and path.stat().st_size:
                regular_file(path, f"the file that {self.where} names")
                if path.stat().st_size > budget().data_bytes:
                    most = f"{budget().data_bytes >> 20} MiB at most"
                    raise over_budget(f"{printable(path)} has {path.stat().st_size >> 20} MiB", "data_bytes", most)
            elif path.exists() and not path.is_dir() and not path.is_file():
                raise TaupiError(f"{printable(path)}, which {self.where} names, is not a regular file.")

    def _candidates(self, name: str) -> Iterator[Path]:
        for between in ("", *self.folders):
            if "\0" not in name + between:
                yield self.folder / between / name


def _product(attributes: Mapping[str, str], keys: tuple[str, ...]) -> int:
    return math.prod(max([*_whole_numbers(attributes.get(key, "0")), 0]) for key in keys)


def _whole_numbers(text: str) -> list[int]:
    """Return the numbers of an attribute, rounded up; what is none is left to MuJoCo."""
    numbers = []
    for word in text.split()[:16]:
        try:
            value = float(word)
        except ValueError:
            continue
        numbers.append(math.ceil(min(abs(value), 1e15)) if not math.isnan(value) else 0)
    return numbers
