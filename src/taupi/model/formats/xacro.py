"""xacro: URDF with macros, expanded by the `xacrodoc` package and read as URDF."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from taupi.errors import Argument, TaupiError, shown
from taupi.input_files import regular_file
from taupi.model.formats import urdf
from taupi.model.robot import Robot
from taupi.model.scalars import VectorLike


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
        from xacrodoc import XacroDoc  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise TaupiError(
            "Reading xacro needs the xacrodoc package. Install it with: pip install taupi[xacro], or run xacro first."
        ) from None
    subargs = {name: str(value) for name, value in (arguments or {}).items()}
    try:
        text: str = XacroDoc.from_file(str(path), subargs=subargs, resolve_packages=False).to_urdf_string()
    except Exception as error:
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise TaupiError(f"{Path(path).name}: xacro cannot expand it: {reason}.") from None
    return text
