"""Load a robot by its catalogue name or by the path of its description."""

from __future__ import annotations

import importlib
import inspect
import os
from pathlib import Path
from typing import Any

from taupi.checks import or_none, truth
from taupi.errors import Argument, InPython, TaupiError, shown, unknown
from taupi.files import path_of
from taupi.model import catalogue
from taupi.model.formats import FORMATS
from taupi.model.robot import Robot


def load(what: str | os.PathLike[str], **options: Any) -> Robot:
    """Return a robot from the catalogue or from a file: .urdf, .xml or .mjcf (MuJoCo), .toml.

    `what` is a name of the catalogue (`load("puma560")`, see `taupi.catalogue`) or a path. The `options` are those of the
    file's reader: `lock`, `tip`, `gravity`, `snap` and `floating` for URDF and MJCF, as in `Robot.from_urdf`; TOML has none.
    `floating=True` lets the base float, also that of a built-in robot, and False bolts it to the ground.

    >>> from taupi.model.load import load
    >>> load("panda").joint_names[0]
    'panda_joint1'
    """
    if not isinstance(what, str | os.PathLike):
        raise TaupiError(f"load got {shown(what)}, expected a catalogue name or the path of a file.")
    floating = options.get("floating")
    or_none(truth)("floating", floating)
    if isinstance(what, str) and what in catalogue.names():
        options.pop("floating", None)
        if options:
            raise TaupiError(
                f"{what} is built in and takes no ",
                *[part for name in options for part in (", ", Argument(name))][1:],
                ".",
                remedy=InPython(
                    "Change it with robot.with_gravity(...), with_parameters(...), bind(...).",
                    "Write it to a file with taupi convert, and change that.",
                ),
            )
        return _based(catalogue.load(what), floating)
    path = path_of(what, "a catalogue name or the path of a file", "what")
    if path.suffix.lower() in FORMATS:
        return _read(path, options)
    if path.is_dir():
        raise TaupiError(f"{what} is a directory, expected a file: {', '.join(FORMATS)}.")
    if path.exists():
        raise TaupiError(f"{what} has the ending {path.suffix!r}, expected one of {', '.join(FORMATS)}.")
    if isinstance(what, str) and not path.suffix and path.name == what:
        endings = ", ".join(FORMATS)
        raise unknown("robot", what, catalogue.names(), f"the catalogue, and there is no such file with {endings}")
    raise TaupiError(f"No file {shown(str(what))}. Give a path ending in {', '.join(FORMATS)}, or a catalogue name.")


def _read(path: Path, options: dict[str, Any]) -> Robot:
    read = importlib.import_module(FORMATS[path.suffix.lower()]).read
    known = list(inspect.signature(read).parameters)[1:]
    floating = None if "floating" in known else options.pop("floating", None)
    for name in options:
        if name not in known:
            raise unknown("option", name, known, f"the reader of {path.suffix} files")
    robot: Robot = read(path, **options)
    return _based(robot, floating)


def _based(robot: Robot, floating: bool | None) -> Robot:
    """Return a robot with its base floating (True), bolted to the ground (False) or as it is (None)."""
    return robot if floating is None else robot.floating_base() if floating else robot.fixed_base()
