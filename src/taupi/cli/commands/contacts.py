"""`taupi contacts`: when someone touched the robot, felt by its motors."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taupi.cli.options import FitArgument, ForceOption, JsonOption, LogsArgument
from taupi.errors import TaupiError
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from taupi.identification.online.contacts import ContactDetector
    from taupi.identification.online.observer import MomentumObserver

QuietOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--quiet", metavar="LOG", help="Log without contacts, for thresholds. May be repeated; by default the fit's."
    ),
]
ThresholdsOption = Annotated[
    Path | None, typer.Option("--thresholds", metavar="FILE.json", help="Thresholds that -o wrote, instead of --quiet.")
]


def contacts(
    fit: FitArgument,
    logs: LogsArgument,
    *,
    quiet: QuietOption = None,
    thresholds: ThresholdsOption = None,
    bandwidth_hz: Annotated[float, typer.Option("--bandwidth", help="How fast the observer follows, Hz.")] = 20.0,
    tracker: Annotated[
        bool, typer.Option("--tracker", help="Let friction follow the robot while nobody touches it.")
    ] = False,
    false_alarms_per_hour: Annotated[
        float, typer.Option("--false-alarms", help="Alarms without a contact to accept, per hour.")
    ] = 1.0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="File for the thresholds.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Reading,
) -> None:
    """Find contacts in logs: when, how far out joints feel them, and what force would explain them.

    \b
    taupi contacts out/fit.json push.csv --quiet run1.csv --quiet run2.csv
    taupi contacts out push.csv --thresholds thresholds.json --json
    """
    import taupi as tp
    from taupi.identification.online.thresholds_file import write_thresholds

    observer = tp.momentum_observer(tp.load_fit(fit), bandwidth_hz, tracker=tracker)
    detector = _detector(observer, fit, quiet or [], thresholds, false_alarms_per_hour, reading)
    if output is not None:
        write_thresholds(detector.thresholds, output, force)
    by_log = {
        str(log): detector.contacts(tp.clean_log(tp.read_log(log, observer.robot, reading=reading))) for log in logs
    }
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


def _detector(
    observer: MomentumObserver,
    fit: Path,
    quiet: list[Path],
    thresholds: Path | None,
    false_alarms: float,
    reading: Reading,
) -> ContactDetector:
    """Return the detector with thresholds from a file, from quiet logs, or from the logs of the fit."""
    import taupi as tp
    from taupi.identification.online.contacts import ContactDetector
    from taupi.identification.online.thresholds_file import read_thresholds

    if thresholds is not None:
        if quiet:
            raise TaupiError("--quiet and --thresholds are both given: give one of them.")
        return ContactDetector(observer, read_thresholds(thresholds, observer.robot))
    paths = quiet or [Path(log.path) for log in tp.load_fit(fit).logs if log.path and Path(log.path).exists()]
    if not paths:
        raise TaupiError(
            "The logs of the fit are not where they were.", remedy="Name logs without contacts: --quiet run.csv."
        )
    logs = [tp.clean_log(tp.read_log(path, observer.robot, reading=reading)) for path in paths]
    return observer.calibrated(logs, false_alarms)
