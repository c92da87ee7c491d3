"""Thresholds of contacts as a file."""

from __future__ import annotations

import json
import os

from taupi.errors import TaupiError
from taupi.files import path_of, write_text
from taupi.identification.online.thresholds import Thresholds
from taupi.model.robot import Robot
from taupi.version import __version__

_SCHEMA = 1


def write_thresholds(thresholds: Thresholds, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write `thresholds` as JSON to `path`; a file that exists is overwritten only with `force`."""
    data = {"schema": _SCHEMA, "taupi": __version__, **thresholds.to_dict()}
    write_text(path, json.dumps(data, indent=2) + "\n", force)


def read_thresholds(path: str | os.PathLike[str], robot: Robot) -> Thresholds:
    """Return the thresholds in the file at `path`, which are for the joints of a `robot`."""
    file = path_of(path, "the path of a file")
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TaupiError(f"{file} cannot be read: {error}.") from None
    if not isinstance(data, dict) or data.get("schema") != _SCHEMA or "joints" not in data:
        raise TaupiError(
            f"{file} holds no thresholds.", remedy="Write them with taupi contacts ... -o thresholds.json."
        )
    if tuple(data["joints"]) != robot.joint_names:
        raise TaupiError(
            f"{file} has thresholds of {', '.join(data['joints'])}, expected {', '.join(robot.joint_names)}."
        )
    return Thresholds.from_dict(data)
