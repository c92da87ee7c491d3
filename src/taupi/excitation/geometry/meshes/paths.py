"""Where the mesh of a description is: package://, file://, and paths relative to the description."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from taupi.errors import Argument, Part, TaupiError, shown
from taupi.files import status_of
from taupi.input_files import printable

# What to do if a mesh is not found: stated once, for errors.
REMEDY: tuple[Part, ...] = (
    "Give the folder that holds the package by ",
    Argument("packages", ["..."]),
    ", capsules by ",
    Argument("capsules", "capsules.toml"),
    ", or leave clearance unchecked by ",
    Argument("capsules", "none"),
    ".",
)


def find_mesh(name: str, description: Path, packages: Sequence[Path] = (), place: str = "") -> Path:
    """Return the file of a mesh called `name` in a `description`.

    `package://name/rest` is looked for as `name/rest` in `packages`, in each folder above the description, and where ROS looks
    (ROS_PACKAGE_PATH, and share of AMENT_PREFIX_PATH); any other path is relative to the description.
    """
    candidates = list(dict.fromkeys(_candidates(name, description, packages)))
    for path in candidates:
        status = status_of(path)
        if status is not None and stat.S_ISREG(status.st_mode):
            return path
    looked = ", ".join(printable(p.parent) for p in candidates[:3]) + (", ..." if len(candidates) > 3 else "")
    raise TaupiError(f"{place}: there is no mesh {shown(name, 200)} (looked in {looked}).", remedy=REMEDY)


def _candidates(name: str, description: Path, packages: Sequence[Path]) -> Iterator[Path]:
    folder = description.resolve().parent
    scheme, separator, rest = name.partition("://")
    if not separator:
        yield folder / name
        yield from (root / name for root in packages)
    elif scheme == "file":
        yield Path(unquote(rest))
    else:  # package, or model as Gazebo writes
        package, _, inner = rest.partition("/")
        for root in (*packages, *folder.parents, folder, *_ros_folders()):
            yield root / package / inner
            if root.name == package:
                yield root / inner


def _ros_folders() -> Iterator[Path]:
    for variable, inner in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        for entry in os.environ.get(variable, "").split(os.pathsep):
            if entry:
                yield Path(entry) / inner
