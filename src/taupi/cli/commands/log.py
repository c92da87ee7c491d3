"""`taupi log`: what a log holds, and what is wrong with it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.options import Description, ForceOption, JsonOption
from taupi.errors import Spelling, TaupiError
from taupi.files import refuse_to_overwrite, write_text
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from taupi.model.robot import Robot
    from taupi.signals.checking.check import LogReport
    from taupi.signals.log import Log


def log(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="CSV (also .gz), Parquet, NPZ, MAT, HDF5, LeRobot, ROS bag, MCAP or ULog."),
    ],
    *,
    robot: Annotated[
        str | None, typer.Option("--robot", help="Put joints in the order of this robot, and check its limits.")
    ] = None,
    suggest: Annotated[
        Path | None,
        typer.Option(
            "--suggest",
            metavar="FILE.toml",
            help="Write the column mapping that taupi would guess, for you to complete.",
        ),
    ] = None,
    force: ForceOption = False,
    reading: Reading,
    description: Description,
    as_json: JsonOption = False,
) -> None:
    """Check a log: what it holds, what is wrong with it, and what cleaning does about it.

    \b
    taupi log run.csv --robot puma560
    taupi log run.csv --suggest columns.toml
    taupi log run.mcap --topic /joint_states --from 2 --to 10 --json
    """
    import taupi as tp
    from taupi.cli.command import spelling_in
    from taupi.signals.formats.sources import shown_address

    if robot is None and (description.lock or description.tip):
        raise TaupiError("--lock and --tip are about a robot: name it with --robot.")
    arm = description.load(robot) if robot else None
    if suggest is not None:
        data = _write_suggestion(file, suggest, arm, reading, force)
        if as_json:
            print(json.dumps(data, indent=2))
        names = (
            "log",
            shown_address(file),
            "--columns",
            suggest,
            *(("--robot", robot, *description.words()) if robot else ()),
        )
        names += ("--format", reading.format) if reading.format else ()
        print(f"wrote {suggest}; next: {shlex.join(['taupi', *map(str, names)])}", file=sys.stderr)
        return
    record = tp.read_log(file, arm, reading=reading)
    report, spelling = tp.check_log(record, arm), spelling_in("identify")  # the command that the rules refer to
    print(json.dumps(log_data(record, report, spelling), indent=2) if as_json else log_text(record, report, spelling))


def _write_suggestion(file: Path, path: Path, robot: Robot | None, reading: Reading, force: bool) -> dict[str, object]:
    """Write the mapping that would be guessed, print what it lacks, and return it as plain data."""
    from taupi.signals.suggestion import suggest_mapping

    if reading.columns is not None:
        raise TaupiError("--suggest and --columns are both given: --suggest writes what --columns reads.")
    if path.suffix != ".toml":
        raise TaupiError("--suggest is {got!r}, expected the name of a file that ends in .toml.", got=str(path))
    refuse_to_overwrite(path, force)
    suggestion = suggest_mapping(file, robot, reading=reading)
    write_text(path, suggestion.text, force)
    for sentence in suggestion.missing:
        print(f"to complete: {sentence}", file=sys.stderr)
    for sentence in suggestion.remarks:
        print(f"for a fit: {sentence}", file=sys.stderr)
    return suggestion.to_dict()


def log_data(log: Log, report: LogReport, spelling: Spelling = str) -> dict[str, object]:
    """Return what a log holds, and what is wrong with it, as plain data; `spelling` writes the arguments that rules name."""
    source = {"path": log.source.path, "sha256": log.source.sha256, "format": log.source.format}
    drive = {} if log.drive is None else {"drive": log.drive.table()}
    return {"source": source, "signals": list(log.signals), **drive, "notes": list(log.notes), **report.data(spelling)}


def log_text(log: Log, report: LogReport, spelling: Spelling = str) -> str:
    """Return what a log holds, and what is wrong with it, as text; `spelling` writes the arguments that rules name."""
    notes = [f"drive: {log.drive}"] if log.drive is not None else []
    notes += [f"note: {note}" for note in log.notes]
    return "\n".join([repr(log), "", *notes, *([""] if notes else []), *report.lines(spelling)])
