"""Load a robot by its catalogue name or by the path of its description."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from taupi.checks import or_none, truth
from taupi.errors import Argument, InPython, TaupiError, unknown
from taupi.files import path_of
from taupi.model import catalogue
from taupi.model.formats import FORMATS
from taupi.model.robot import Robot
from taupi.model.suspect_units import suspect_units

_ANOTHER_ROBOT = (
    f"Give the path of your robot's file ({', '.join(FORMATS)}), or its name in the package robot_descriptions, "
    "such as ur5_description."
)


def load(what: str | os.PathLike[str], **options: Any) -> Robot:
    """Return a robot from the catalogue or from a file.

    Args:
        what: A name of the catalogue (`load("puma560")`, see `taupi.catalogue`), or the path of a description: .urdf, .xacro,
            .xml or .mjcf (MuJoCo), .sdf, .usd (extra `usd`), .toml; or, where the package robot_descriptions is installed, one
            of its names, such as "ur5e_description".
        options: Options of the file's reader: `lock`, `tip`, `gravity`, `snap` and `floating` for all but TOML, as in
            `Robot.from_urdf`, `xacro` for the arguments of a xacro file; TOML has none. `floating=True` lets the base float, also
            that of a built-in robot, and False bolts it to the ground.

    Raises:
        TaupiError: If there is no such robot or file, or it does not describe one.

    >>> from taupi.model.load import load
    >>> load("panda").joint_names[0]
    'panda_joint1'
    """
    if not isinstance(what, str | os.PathLike):
        raise TaupiError("load got {got!r}, expected a catalogue name or the path of a file.", got=what)
    floating = options.get("floating")
    or_none(truth)("floating", floating)
    if isinstance(what, str) and what in catalogue.names():
        options.pop("floating", None)
        if options:
            raise TaupiError(
                "{robot} is built in and takes no {options:,}.",
                remedy=InPython(
                    "Change it with robot.with_gravity(...), with_parameters(...), bind(...).",
                    "Write it to a file with taupi convert, and change that.",
                ),
                robot=what,
                options=[Argument(name) for name in options],
            )
        return _based(catalogue.load(what), floating)
    path = path_of(what, "a catalogue name or the path of a file", "what")
    if isinstance(what, str) and re.fullmatch(r"\w{1,80}_description", what) and not path.exists():
        path = _described(what)
    if path.suffix.lower() in FORMATS:
        return _read(path, options)
    if path.is_dir():
        raise TaupiError("{what} is a directory, expected a file: {formats:,}.", what=what, formats=FORMATS)
    if path.exists():
        raise TaupiError(
            "{what} has the ending {suffix!r}, expected one of {formats:,}.",
            what=what,
            suffix=path.suffix,
            formats=FORMATS,
        )
    if isinstance(what, str) and not path.suffix and path.name == what:
        raise unknown("robot", what, catalogue.names(), "the catalogue", _ANOTHER_ROBOT)
    raise TaupiError(
        "No file '{what}'. Give a path ending in {formats:,}, or a catalogue name.", what=str(what), formats=FORMATS
    )


def _described(name: str) -> Path:
    """Return the file of a robot by its name in the package robot_descriptions, which fetches it if it is not on this machine."""
    try:
        importlib.import_module("robot_descriptions")
    except ModuleNotFoundError:
        raise TaupiError(
            "{name} is a name of the package robot_descriptions, which is not installed.",
            remedy="pip install robot_descriptions, or give the path of a file.",
            name=name,
        ) from None
    try:
        found: object = importlib.import_module(f"robot_descriptions.{name}")
    except ModuleNotFoundError:
        raise TaupiError("The package robot_descriptions has no {name!r}.", name=name) from None
    except Exception as error:  # it clones the repository with git, which fails in many ways without a network
        reason = (str(error).splitlines() or [type(error).__name__])[0][:120].rstrip(".")
        raise TaupiError(
            "robot_descriptions could not fetch {name}: {reason}.",
            remedy="Fetch it once with a network, or give the path of a file.",
            name=name,
            reason=reason,
        ) from None
    for attribute in ("URDF_PATH", "MJCF_PATH"):
        if attribute in vars(found):
            return Path(vars(found)[attribute])
    raise TaupiError("robot_descriptions has neither a URDF nor an MJCF of {name}.", name=name)


def _read(path: Path, options: dict[str, Any]) -> Robot:
    read = importlib.import_module(FORMATS[path.suffix.lower()]).read
    known = list(inspect.signature(read).parameters)[1:]
    floating = None if "floating" in known else options.pop("floating", None)
    for name in options:
        if name not in known:
            raise unknown("option", name, known, f"the reader of {path.suffix} files")
    robot: Robot = read(path, **options)
    if notes := suspect_units(robot):
        robot = replace(robot, notes=(*robot.notes, *notes))
    return _based(robot, floating)


def _based(robot: Robot, floating: bool | None) -> Robot:
    """Return a robot with its base floating (True), bolted to the ground (False) or as it is (None)."""
    return robot if floating is None else robot.floating_base() if floating else robot.fixed_base()
