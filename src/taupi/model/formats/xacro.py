"""xacro: URDF with macros, expanded by the `xacrodoc` package and read as URDF.

$(find package) is looked for in the folders above the description and beside them, so that the packages of one repository or
workspace find each other, then in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH; last, by xacrodoc, where ROS itself would look.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

from taupi.errors import TaupiError
from taupi.input_files import open_regular, regular_file
from taupi.model.formats import urdf
from taupi.model.formats.description import read_text
from taupi.model.robot import Robot
from taupi.model.scalars import VectorLike

# $(find name), $(eval find('name')), package://name
_PACKAGE = re.compile(r"""(?:\$\(\s*find\s+|\bfind\(\s*["']|package://)([A-Za-z0-9_][A-Za-z0-9_.-]*)""")
_CLASS_NAME = re.compile(r"\b\w*(?:Error|Exception|NotFound): ?")
_MANIFEST_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")
# How far packages are looked for: folders above the description, entries of a folder, bytes of a file.
_ABOVE, _ENTRIES = 6, 2000
_MOST_BYTES = 1 << 20
_INCLUDE = re.compile(r"""(<xacro:include\b[^>]*?\bfilename\s*=\s*)(["'])(.*?)\2""", re.DOTALL)


def read(
    path: str | os.PathLike[str],
    lock: Sequence[str] | Mapping[str, float] = (),
    tip: str | None = None,
    gravity: VectorLike = (0, 0, "-9.81"),
    snap: bool = True,
    floating: bool | None = None,
    xacro: Mapping[str, object] | None = None,
) -> Robot:
    """Return the robot of the xacro file at `path`, expanded with the arguments `xacro`, a mapping from names to values.

    `lock`, `tip`, `gravity`, `snap` and `floating` are as in `taupi.model.formats.urdf.read`.
    """
    text = expanded(path, xacro)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{Path(path).name.removesuffix('.xacro').removesuffix('.urdf')}.urdf")
        file.write_text(text, encoding="utf-8")
        robot = urdf.read(file, lock, tip, gravity, snap, floating)
    return replace(robot, source=replace(robot.source, path=str(path)))


def expanded(path: str | os.PathLike[str], arguments: Mapping[str, object] | None = None) -> str:
    """Return the URDF of the xacro file at `path`, with `arguments` by name."""
    if arguments is not None and not isinstance(arguments, Mapping):
        raise TaupiError("{xacro} is {got!r}, expected a mapping from names of arguments to values.", got=arguments)
    regular_file(path, "a xacro file")
    try:
        from xacrodoc import XacroDoc, packages  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise TaupiError(
            "Reading xacro needs the xacrodoc package. Install it with: pip install taupi[xacro], or run xacro first."
        ) from None
    source = read_text(path)
    found, lost = _packages(source, Path(path).resolve())
    subargs = {name: str(value) for name, value in (arguments or {}).items()}
    try:
        packages.walk_up_from(str(path))
        if found:
            packages.update_package_cache({name: str(folder) for name, folder in found.items()})
        document = XacroDoc.from_string(_absolute(source, path), subargs=subargs, resolve_packages=False)
        text: str = document.to_urdf_string()
    except TaupiError:
        raise
    except Exception as error:
        reason = _CLASS_NAME.sub("", " ".join(str(error).split()))[:300].rstrip(".")
        missing = next(
            (name for name in sorted(lost) if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", reason)), None
        )
        if missing:
            raise TaupiError(
                "{file}: there is no package {missing!r}, which $(find {missing}) names.",
                remedy=(
                    "Put its folder beside the description's package, or the folder that holds it into "
                    "ROS_PACKAGE_PATH."
                ),
                file=Path(path).name,
                missing=missing,
            ) from None
        raise TaupiError("{file}: xacro cannot expand it: {reason}.", file=Path(path).name, reason=reason) from None
    return text


def _packages(text: str, file: Path) -> tuple[dict[str, Path], set[str]]:
    """Return the folders of the packages that a text and its packages' own xacro files name, and the names without a folder."""
    found: dict[str, Path] = {}
    lost: set[str] = set()
    own = next((folder for folder in list(file.parents)[:_ABOVE] if (folder / "package.xml").is_file()), None)
    named = set(_PACKAGE.findall(text)) | (_named_packages(own) if own else set())
    # Without a manifest, any folder above the description may be its package, as robot/urdf/arm.xacro of the package robot.
    roots = [own] if own else list(file.parents)[:3]
    while new := named - found.keys() - lost:
        for name in sorted(new):
            folder = _package(name, roots)
            if folder is None:
                lost.add(name)
            else:
                found[name] = folder
                named |= _named_packages(folder)
    return found, lost


def _named_packages(folder: Path) -> set[str]:
    """Return the packages that the xacro files below a folder name."""
    names: set[str] = set()
    left = _ENTRIES
    for root, folders, files in os.walk(folder):
        left -= 1 + len(files)
        if left < 0:
            break
        folders.sort()
        names |= {
            name for file in files if file.endswith(".xacro") for name in _PACKAGE.findall(_begin(Path(root, file)))
        }
    return names


def _package(name: str, roots: Sequence[Path]) -> Path | None:
    """Return the folder of a package: the description's own, at one of `roots`, one beside it, or one that ROS is told of."""
    told = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
    shares = [Path(p, "share") for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    places = [*(root.parent for root in roots), *told, *shares]
    itself = (folder for folder in (*roots, *told) if _is_package(folder, name))
    beside = (place / name for place in places if (place / name).is_dir())
    stated = (folder for place in places for folder in _folders(place) if _is_package(folder, name))
    repositories = [*(root.parent.parent for root in roots[:1]), *told]  # of which each holds several packages
    deeper = (f / name for place in repositories for f in _folders(place) if (f / name).is_dir())
    return next(itertools.chain(itself, beside, stated, deeper), None)


def _is_package(folder: Path, name: str) -> bool:
    """Return whether a folder is the package with a name: its manifest says so, or without one, its own name."""
    stated = _MANIFEST_NAME.search(_begin(folder / "package.xml"))
    return stated[1] == name if stated else folder.name == name


def _folders(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in itertools.islice(entries, _ENTRIES) if entry.is_dir())
    return []


def _begin(file: Path) -> str:
    """Return the text of a file, at most its first megabyte; nothing if it cannot be read."""
    with contextlib.suppress(OSError, TaupiError), open_regular(file, "a file of a package") as stream:
        return stream.read(_MOST_BYTES).decode(errors="replace")
    return ""


def _absolute(text: str, path: str | os.PathLike[str]) -> str:
    """Return the text with files that it includes named by full paths: xacrodoc would look for them in the current folder."""
    folder = Path(path).resolve().parent

    def full(match: re.Match[str]) -> str:
        name = match[3]
        outside = name.startswith(("$", "package:", "file:")) or Path(name).is_absolute()
        return match[0] if outside else f"{match[1]}{match[2]}{escape(str(folder / name))}{match[2]}"

    return _INCLUDE.sub(full, text.replace("$(dirname)", escape(str(folder))))
