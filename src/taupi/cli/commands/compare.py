"""`taupi compare`: two fits side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.options import JsonOption, LogsArgument, ValidationPreparation
from taupi.signals.reading import Reading


def compare(
    first: Annotated[Path, typer.Argument(metavar="FIT_A", help="A fit.json, or the directory that holds it.")],
    second: Annotated[Path, typer.Argument(metavar="FIT_B", help="Another fit of the same robot.")],
    logs: LogsArgument,
    *,
    as_json: JsonOption = False,
    reading: Reading,
    preparation: ValidationPreparation,
) -> None:
    """Show two fits side by side on logs, which are prepared as each fit's own were, unless told otherwise.

    \b
    taupi compare out_ols out_wls run3.csv
    taupi compare out_ols/fit.json out_wls/fit.json run3.csv run4.csv --json
    """
    import taupi as tp

    a, b = tp.load_fit(first), tp.load_fit(second)
    comparisons = [tp.compare(a, b, log, reading=reading, **preparation) for log in logs]
    if as_json:
        print(json.dumps([comparison.to_dict() for comparison in comparisons], indent=2))
    else:
        print("\n\n".join(map(repr, comparisons)))
