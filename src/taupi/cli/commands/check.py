"""`taupi check`: another's model held against logs."""

from __future__ import annotations

import json

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.cli.options import Description, JsonOption, LogsArgument, RobotArgument, ValidationPreparation
from taupi.identification.rows.preparation import Preparation
from taupi.signals.reading import Reading


def check(
    model: RobotArgument,
    logs: LogsArgument,
    *,
    as_json: JsonOption = False,
    description: Description,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Show which parameters of a model logs support, which they contradict and by how much, and which cannot be told.

    The command exits with 4 if the verdict is "wrong".

    \b
    taupi check ur10.urdf run1.csv run2.csv
    taupi check menagerie/ur10e.xml run1.csv --json
    taupi check arm.sdf run1.csv
    taupi check arm.usda run1.csv
    """
    import taupi as tp

    seen = tp.check_model(description.load(model), logs, reading=reading, preparation=Preparation(**preparation))
    print(json.dumps(seen.to_dict(), indent=2) if as_json else repr(seen))
    if str(seen.verdict.level) == "wrong":
        raise typer.Exit(ExitCode.NOT_ACHIEVED)
