"""`taupi payload`: what a robot carries in a log."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.fit_reading import like_the_fit
from taupi.cli.options import FitArgument, ForceOption, FrameOption, JsonOption, LogsArgument, ValidationPreparation
from taupi.cli.payload_files import refuse_payload_files, write_payload
from taupi.signals.reading import Reading


def payload(
    fit: FitArgument,
    logs: LogsArgument,
    *,
    at: FrameOption = None,
    gain_uncertainty: Annotated[
        float | None,
        typer.Option(
            "--gain-uncertainty",
            help="Relative uncertainty of the drive gains, one standard deviation; masses scale with them. By default "
            "0.1 where torques are currents times stated gains, else 0.05.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Directory for payload.json, payload.txt, report.html and, for a URDF robot, model.urdf with the payload as "
            "a link; or one file that ends in .json, .txt, .html, .urdf or .toml.",
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Weigh what a robot carries in logs, given a fit without the load: mass, centre of mass and inertia, with intervals.

    The logs that the fit was made from are not needed. If there are several logs, all must have the same payload.

    \b
    taupi payload out loaded.csv
    taupi payload out/fit.json loaded.csv --gain-uncertainty 0.02 -o tool
    """
    import taupi as tp

    loaded = tp.load_fit(fit)
    if output is not None:
        refuse_payload_files(loaded, output, force)
    reading = like_the_fit(loaded, reading)
    load = tp.identify_payload(loaded, logs, at=at, gain_uncertainty=gain_uncertainty, reading=reading, **preparation)
    paths = [] if output is None else write_payload(load, output, force)
    print(json.dumps(load.to_dict(), indent=2) if as_json else repr(load))
    if paths:
        print(f"wrote {', '.join(map(str, paths))}", file=sys.stderr)
