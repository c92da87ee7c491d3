"""`taupi contacts`: when someone touched the robot, detected from its motor torques."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.fit_folder import like_the_fit
from taupi.cli.options import FitArgument, ForceOption, JsonOption, LogsArgument
from taupi.cli.programs import read_detector
from taupi.errors import TaupiError
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from taupi.identification.results.fit import Fit
    from taupi.signals.log import Log

QuietOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--quiet",
        metavar="LOG",
        help="Log without contacts, for thresholds. May be repeated; by default the fit's logs.",
    ),
]
ThresholdsOption = Annotated[
    Path | None,
    typer.Option(
        "--thresholds",
        metavar="FILE.json",
        help="Thresholds written by -o, with the settings of their observer, instead of --quiet.",
    ),
]


def contacts(
    fit: FitArgument,
    logs: LogsArgument,
    *,
    quiet: QuietOption = None,
    thresholds: ThresholdsOption = None,
    bandwidth_hz: Annotated[
        float | None,
        typer.Option("--bandwidth", "--bandwidth-hz", help="How fast the observer follows, Hz; 20 by default."),
    ] = None,
    tracker: Annotated[
        bool, typer.Option("--tracker", help="Keep adapting friction while nobody touches the robot.")
    ] = False,
    false_alarms_per_hour: Annotated[
        float | None,
        typer.Option(
            "--false-alarms", "--false-alarms-per-hour", help="False alarms to accept per hour; 1 by default."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="File for the thresholds.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Reading,
) -> None:
    """Find contacts in logs: when they happened, the outermost joint that felt them, and what force would explain them.

    \b
    taupi contacts out/fit.json push.csv --quiet run1.csv --quiet run2.csv
    taupi contacts out push.csv --thresholds thresholds.json --json
    """
    import taupi as tp
    from taupi.identification.online.thresholds import write_thresholds
    from taupi.identification.results.fit_file import load_torque_fit
    from taupi.signals.formats.sources import shown_address

    source, options = (
        load_torque_fit(fit),
        {"--quiet": quiet, "--bandwidth": bandwidth_hz, "--tracker": tracker or None},
    )
    reading = like_the_fit(source, reading)
    if thresholds is not None:
        _refuse_beside_thresholds({**options, "--false-alarms": false_alarms_per_hour})
        detector = read_detector(source, thresholds)
    else:
        observer = tp.momentum_observer(source, 20.0 if bandwidth_hz is None else bandwidth_hz, tracker=tracker)
        alarms = 1.0 if false_alarms_per_hour is None else false_alarms_per_hour
        detector = observer.calibrated(_quiet_logs(source, quiet or [], reading), alarms)
    by_log = {
        f"{shown_address(log)}{run}": detector.contacts(part)
        for log in logs
        for run, part in _clean(log, source, reading).items()
    }
    if output is not None:
        write_thresholds(detector.thresholds, output, force)
    if as_json:
        plain = {log: [contact.to_dict() for contact in those] for log, those in by_log.items()}
        print(json.dumps({"thresholds": detector.thresholds.to_dict(), "contacts": plain}, indent=2))
        return
    print(detector.thresholds.sentence, file=sys.stderr)
    for log, those in by_log.items():
        print(
            "\n".join(
                [f"{log}: {len(those)} contact{'' if len(those) == 1 else 's'}", *(f"  {contact}" for contact in those)]
            )
        )


def _refuse_beside_thresholds(options: Mapping[str, object]) -> None:
    """Refuse options that would have no effect, since the file of thresholds already contains their values."""
    for option, value in options.items():
        if value is not None and value != []:
            raise TaupiError("{option} and --thresholds are both given: give one of them.", option=option)


def _quiet_logs(fit: Fit, quiet: list[Path], reading: Reading) -> list[Log]:
    """Return logs without contacts: the named ones, or the logs of the fit."""
    paths = quiet or [Path(log.path) for log in fit.logs if log.path and Path(log.path).exists()]
    if not paths:
        raise TaupiError(
            "The logs of the fit are not where they were.", remedy="Name logs without contacts: --quiet run.csv."
        )
    return [run for path in dict.fromkeys(paths) for run in _clean(path, fit, reading).values()]


def _clean(path: Path, fit: Fit, reading: Reading) -> dict[str, Log]:
    """Return the runs of the log in a file without gaps, by what their names add to the file's; errors name the file."""
    import taupi as tp
    from taupi.identification.rows.block_source import errors_naming

    with errors_naming(path):
        runs = tp.read_log(path, fit.robot, reading=reading).runs()
        names = [f", run {k + 1}" for k in range(len(runs))] if len(runs) > 1 else [""]
        return {name: tp.clean_log(run) for name, run in zip(names, runs, strict=True)}
