"""xacro: URDF with macros, expanded by the `xacrodoc` package and read as URDF."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import escape

from taupi.errors import Argument, TaupiError, shown
from taupi.input_files import regular_file
from taupi.model.formats import urdf
from taupi.model.formats.text_file import read_text
from taupi.model.robot import Robot
from taupi.model.scalars import VectorLike

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

    `lock`, `tip`, `gravity`, `snap` and `floating` are those of `taupi.model.formats.urdf.read`.
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
        message = f" is {shown(arguments)}, expected a mapping from names of arguments to values."
        raise TaupiError(Argument("xacro"), message)
    regular_file(path, "a xacro file")
    try:
        from xacrodoc import XacroDoc, packages  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise TaupiError(
            "Reading xacro needs the xacrodoc package. Install it with: pip install taupi[xacro], or run xacro first."
        ) from None
    subargs = {name: str(value) for name, value in (arguments or {}).items()}
    try:
        packages.walk_up_from(str(path))  # for $(find package)
        document = XacroDoc.from_string(_absolute(read_text(path), path), subargs=subargs, resolve_packages=False)
        text: str = document.to_urdf_string()
    except TaupiError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise TaupiError(f"{Path(path).name}: xacro cannot expand it: {reason}.") from None
    return text


def _absolute(text: str, path: str | os.PathLike[str]) -> str:
    """Return the text with files that it includes named by full paths: xacrodoc would look for them in the current folder."""
    folder = Path(path).resolve().parent

    def full(match: re.Match[str]) -> str:
        name = match[3]
        outside = name.startswith(("$", "package:", "file:")) or Path(name).is_absolute()
        return match[0] if outside else f"{match[1]}{match[2]}{escape(str(folder / name))}{match[2]}"

    return _INCLUDE.sub(full, text.replace("$(dirname)", escape(str(folder))))
