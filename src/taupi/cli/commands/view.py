"""`taupi view`: a robot in three dimensions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.options import Description, RobotArgument
from taupi.errors import TaupiError

if TYPE_CHECKING:
    from taupi.model.robot import Robot

# What can be played from a folder of results; the first one found is taken.
_IN_FOLDERS = ("run.parquet", "excitation.csv")


def view(
    robot: RobotArgument,
    motion: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MOTION]", help="A log, a saved run, or the folder of a run or an excitation, to play."
        ),
    ] = None,
    *,
    host: Annotated[str, typer.Option("--host", help="Where to serve: 0.0.0.0 for other machines too.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to serve on; the next free one if it is taken.")] = 8080,
    description: Description,
) -> None:
    """Show a robot in three dimensions in a browser, with sliders and a play bar; stop with Ctrl-C. Needs taupi[view].

    \b
    taupi view puma560
    taupi view panda.urdf run1.csv --port 8090
    """
    import taupi as tp

    arm = description.load(robot)
    shown = tp.view(arm, None if motion is None else _played(motion, arm), host=host, port=port)
    print(f"{shown.url} shows {arm.name}; open it in a browser, and press Ctrl-C here to end", file=sys.stderr)
    shown.wait()


def _played(path: Path, robot: Robot) -> object:
    """Return what to play: the file of a log or a run, or the one found in a folder."""
    import taupi as tp

    if path.is_dir():
        files = [path / name for name in _IN_FOLDERS if (path / name).is_file()]
        if not files:
            raise TaupiError(
                "{path} has nothing to play: expected {expected} in it.", path=path, expected=" or ".join(_IN_FOLDERS)
            )
        path = files[0]
    return tp.read_log(path, robot)
