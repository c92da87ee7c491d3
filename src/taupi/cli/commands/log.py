"""`taupi log`: what a log holds, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.options import JsonOption
from taupi.signals.reading import Reading


def log(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV (also .gz), Parquet, NPZ, MAT, ROS bag or MCAP.")],
    *,
    robot: Annotated[
        str | None, typer.Option("--robot", help="Bring joints into its order, and check its limits.")
    ] = None,
    reading: Reading,
    as_json: JsonOption = False,
) -> None:
    """Check a log: what it holds, what is wrong with it, and what cleaning does about it.

    \b
    taupi log run.csv --robot puma560
    taupi log run.mcap --topic /joint_states --json
    """
    import taupi as tp
    from taupi.cli.show.log import log_data, log_text

    arm = tp.load(robot) if robot else None
    record = tp.read_log(file, arm, reading=reading)
    report = tp.check_log(record, arm)
    print(json.dumps(log_data(record, report), indent=2) if as_json else log_text(record, report))
