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
_REMEDY = "Write thresholds with taupi contacts ... -o thresholds.json."


class JointData(TypedDict):
    """The thresholds of a joint."""

    speeds: list[float]
    torques: list[float]
    standing: float


class ThresholdsData(TypedDict):
    """What a file of thresholds must hold."""

    joints: dict[str, JointData]
    false_alarms_per_hour: float
    breakaway: float
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
    where = printable(file)
    data = parse_json(read_bytes(file, expected), where, expected)
    if not isinstance(data, dict) or not {"schema", "joints"} <= set(data):
        raise TaupiError(f"{where} holds no thresholds.", remedy=_REMEDY)
    if data["schema"] != _SCHEMA:
        raise TaupiError(f"{where} has schema {shown(data['schema'])}, this version reads {_SCHEMA}.", remedy=_REMEDY)
    try:
        data = conformed(data, OptionalData, "it")
        thresholds = Thresholds.from_dict(data)
    except TaupiError as error:
        raise TaupiError(f"{where} is damaged: {str(error).removeprefix('it: ')}", remedy=_REMEDY) from None
    if thresholds.joints != robot.joint_names:
        own, known = (", ".join(names) for names in (thresholds.joints, robot.joint_names))
        raise TaupiError(f"{where} has thresholds of {own}, expected {known}.")
    return thresholds
