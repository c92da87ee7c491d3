"""`taupi init`: a folder to start with, for your own robot."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.description import Description
from taupi.cli.options import ForceOption, RobotArgument


def init(
    robot: RobotArgument,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    force: ForceOption = False,
    description: Description,
) -> None:
    """Write a folder to start with: columns.toml, a commented mapping of log columns, and loop.sh, the loop step by step.

    \b
    taupi init panda.urdf -o my-panda
    sh my-panda/loop.sh
    """
    from taupi.cli.loop_files import MAPPING, SCRIPT, column_mapping, loop_script
    from taupi.files import write_folder

    arm = description.load(robot)
    described_by = str(Path(robot).resolve()) if Path(robot).is_file() else robot
    texts = {MAPPING: column_mapping(arm), SCRIPT: loop_script(arm, described_by, description.words())}

    def fill(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")

    write_folder(output, fill, force, own=texts)
    print(f"wrote {output}: {', '.join(texts)}; next: sh {shlex.quote(str(output / SCRIPT))} design", file=sys.stderr)
