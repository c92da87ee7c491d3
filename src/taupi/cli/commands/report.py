"""`taupi report`: the page of a fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.fit_folder import like_the_fit
from taupi.cli.options import FitArgument, ForceOption, ValidateOption, ValidationPreparation
from taupi.files import refuse_to_overwrite
from taupi.signals.reading import Reading


def report(
    fit: FitArgument,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The .html file to write.")],
    validate: ValidateOption = None,
    fitted: Annotated[
        list[Path] | None, typer.Option("--fitted", help="Log that was fitted, to draw as well. May be repeated.")
    ] = None,
    force: ForceOption = False,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Write the report of a fit: one self-contained HTML file. Logs are prepared in the same way as those of the fit.

    \b
    taupi report out -o report.html --validate run3.csv
    taupi report out/fit.json -o report.html --fitted run1.csv --force
    """
    import taupi as tp

    refuse_to_overwrite(output, force)
    loaded = tp.load_fit(fit)
    if validate or fitted:
        reading = like_the_fit(loaded, reading)
    held_out, seen = (
        [loaded.validate(log, reading=reading, **preparation) for log in logs or ()] for logs in (validate, fitted)
    )
    tp.report(loaded, output, held_out, fitted=seen, force=force)
    print(f"wrote {output}; next: open it in a browser", file=sys.stderr)
