"""`taupi convert`: a robot as TOML."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.options import Description, ForceOption, RobotArgument
from taupi.errors import TaupiError


def convert(
    robot: RobotArgument,
    output: Annotated[Path, typer.Argument(help="The .toml file to write.")],
    *,
    force: ForceOption = False,
    description: Description,
) -> None:
    """Write a robot in taupi's own TOML format, without loss.

    \b
    taupi convert panda.urdf panda.toml --lock panda_finger_joint1
    """
    import taupi as tp

    if output.suffix != ".toml":
        raise TaupiError("output is {got!r}, expected a file ending in .toml.", got=str(output))
    tp.write_toml(description.load(robot), output, force=force)
    print(f"wrote {output}; next: taupi info {shlex.quote(str(output))}", file=sys.stderr)
