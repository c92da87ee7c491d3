"""`taupi combine`: a fit from pieces that were made elsewhere."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.commands.identify import EstimatorOption, OutputOption, fit_data, fit_summary
from taupi.cli.fit_folder import ExportOptions, exit_if_wrong, expanded, refuse_results, with_record, write_results
from taupi.cli.options import FitArgument, ForceOption, JsonOption
from taupi.progress import progress
from taupi.signals.reading import Reading

PiecesArgument = Annotated[
    list[Path], typer.Argument(metavar="PIECE...", help="Files that `taupi compress` wrote with this fit, or patterns.")
]


def combine(
    fit: FitArgument,
    pieces: PiecesArgument,
    *,
    output: OutputOption,
    estimator: EstimatorOption = "consistent",
    exports: ExportOptions,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fit logs of which only compressed pieces are available, made on the robots with an earlier fit.

    Writes fit.json, fit.txt and report.html, as `identify` does.

    \b
    taupi combine out '*.piece' -o later
    taupi combine out 's3://bucket/*.piece' -o later --urdf
    """
    import taupi as tp
    from taupi.identification.results.fit_file import load_torque_fit

    refuse_results(output, force)
    with progress("combine", 2) as step:
        step("fitting")
        earlier = load_torque_fit(fit)
        exports.refuse_robot(earlier.robot)
        result = with_record(tp.identify_pieces(earlier, expanded(pieces), estimator), Reading())
        step("writing")
        paths = write_results(result, output, exports, force)
    print(json.dumps(fit_data(result, [], paths), indent=2) if as_json else fit_summary(result, []))
    print(
        f"wrote {', '.join(map(str, paths))}; next: taupi validate {shlex.quote(str(output))} ANOTHER_LOG",
        file=sys.stderr,
    )
    exit_if_wrong(result, exports)
