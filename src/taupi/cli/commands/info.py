"""`taupi info`: a robot's card, and its picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from taupi.cli.description import Description
from taupi.cli.options import ForceOption, JsonOption
from taupi.cli.parsing import json_value
from taupi.errors import Argument, TaupiError


def info(
    robot: Annotated[
        str | None, typer.Argument(metavar="[ROBOT]", help="Leave it out to list the built-in robots.")
    ] = None,
    *,
    as_json: JsonOption = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the robot into this .png, .svg or .pdf file.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Joint positions in the picture: a JSON list q. By default all zero.")
    ] = None,
    force: ForceOption = False,
    description: Description,
) -> None:
    """Show a robot's card: joints, limits, parameters, what the reader did; and its picture.

    \b
    taupi info puma560
    taupi info panda.urdf --lock panda_finger_joint1 --json
    taupi info puma560 --picture puma.png --at '[0,0.7,-0.4,0,0.5,0]'
    """
    import taupi as tp
    from taupi.cli.show.robot import robot_data, robot_text

    if picture is None and (at is not None or force):
        raise TaupiError("--at and --force are for the picture: name its file with --picture.")
    if robot is None and picture is not None:
        raise TaupiError("--picture needs a robot: name one, such as puma560.")
    if robot is None:
        print("\n".join(tp.catalogue()))
        return
    arm = description.load(robot)
    if picture is not None:
        tp.plot(arm, q=_configuration(at), path=picture, force=force)
        print(f"wrote {picture}", file=sys.stderr)
    print(json.dumps(robot_data(arm), indent=2) if as_json else robot_text(arm))


def _configuration(at: str | None) -> list[Any] | None:
    """Return a configuration from a JSON list, None where there is none."""
    if at is None:
        return None
    q = json_value(at)
    if not isinstance(q, list):
        raise TaupiError(Argument("at"), f" is {at[:60]!r}, expected a JSON list of one number per joint.")
    return q
