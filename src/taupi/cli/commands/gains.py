"""`taupi gains`: torque per ampere of each drive."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.options import Description, ForceOption, FrameOption, JsonOption, LogsArgument, RobotArgument
from taupi.errors import TaupiError
from taupi.files import refuse_to_overwrite, write_text
from taupi.identification.rows.preparation import Preparation
from taupi.signals.reading import Reading


def gains(
    robot: RobotArgument,
    logs: LogsArgument,
    *,
    loaded: Annotated[list[Path], typer.Option("--loaded", help="Log with the known mass. May be repeated.")],
    mass: Annotated[float, typer.Option("--mass", help="Mass that the loaded logs carry in addition, kg.")],
    at: FrameOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A .toml file for the mapping with these gains: that of --columns with them, or [motor] alone.",
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Reading,
    preparation: Preparation,
    description: Description,
) -> None:
    """Calibrate the torque per ampere of each drive from currents without a load (LOG...) and with a known mass.

    \b
    taupi gains ur10e.urdf run1.csv run2.csv --loaded loaded.csv --mass 2.805 \\
      --columns m.toml -o calibrated.toml
    taupi gains ur10e.urdf run1.csv --loaded loaded.csv --mass 2.8 --json
    """
    import taupi as tp
    from taupi.signals.mapping.columns import Columns, with_gains

    if output is not None:
        if output.suffix != ".toml":
            raise TaupiError(
                "{output} is {got!r}, expected a name ending in .toml; --json prints JSON.", got=str(output)
            )
        refuse_to_overwrite(output, force)
    arm = description.load(robot)
    result = tp.identify_gains(arm, logs, loaded, mass=mass, at=at, reading=reading, preparation=preparation)
    motor = Columns.of(reading.columns).motor
    ratio = () if motor is None else motor.ratio
    if output is not None:
        text = reading.columns.read_text(encoding="utf-8") if isinstance(reading.columns, Path) else ""
        write_text(output, with_gains(text, result.motor_table(ratio)), force)
        read_by = shlex.join([robot, "LOG", "--columns", str(output), *description.words()])
        print(f"wrote {output}; next: taupi identify {read_by} -o out", file=sys.stderr)
    print(json.dumps(result.to_dict(), indent=2) if as_json else repr(result))
