"""Thresholds of contacts as a file."""

from __future__ import annotations

import json
import os
from typing import TypedDict

from taupi.errors import TaupiError, shown
from taupi.files import path_of, write_text
from taupi.identification.online.thresholds import Thresholds
from taupi.input_files import parse_json, printable, read_bytes
from taupi.model.robot import Robot
from taupi.schema import conformed
from taupi.version import __version__

_SCHEMA = 2


class JointData(TypedDict):
    """The thresholds of a joint."""

    speeds: list[float]
    torques: list[float]
    standing: float


class ThresholdsData(TypedDict):
    """What a file of thresholds must hold."""

    joints: dict[str, JointData]
    hours: float
    alarms: int
    bandwidth_hz: float
    tracked: bool


class OptionalData(ThresholdsData, total=False):
    """Optional entries."""

    together: float


def write_thresholds(thresholds: Thresholds, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write `thresholds` as JSON to `path`; a file that exists is overwritten only with `force`."""
    data = {"schema": _SCHEMA, "taupi": __version__, **thresholds.to_dict()}
    write_text(path, json.dumps(data, indent=2) + "\n", force)


def read_thresholds(path: str | os.PathLike[str], robot: Robot) -> Thresholds:
    """Return the thresholds in the file at `path`, which are for the joints of a `robot`."""
    file, expected = path_of(path, "the path of a file"), "thresholds of contacts"
    data = parse_json(read_bytes(file, expected), printable(file), expected)
    if not isinstance(data, dict) or data.get("schema") != _SCHEMA or "joints" not in data:
        raise TaupiError(
            f"{file} holds no thresholds.", remedy="Write them with taupi contacts ... -o thresholds.json."
        )
    try:
        data = conformed(data, OptionalData, "it")
        thresholds = Thresholds.from_dict(data)
    except (TaupiError, TypeError, ValueError, KeyError) as error:
        raise TaupiError(f"{printable(file)} is damaged: {shown(str(error), 120)}.") from None
    if thresholds.joints != robot.joint_names:
        raise TaupiError(
            f"{file} has thresholds of {', '.join(thresholds.joints)}, expected {', '.join(robot.joint_names)}."
        )
    if thresholds.speeds.ndim != 2 or thresholds.speeds.shape != thresholds.torques.shape or not thresholds.hours > 0:
        raise TaupiError(f"{printable(file)} is damaged: speeds and torques do not belong together.")
    return thresholds
