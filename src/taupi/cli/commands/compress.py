"""`taupi compress`: reduce a log to what a fit needs, where the log was recorded."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.options import FitArgument, ForceOption
from taupi.signals.reading import Streaming

LogArgument = Annotated[
    Path, typer.Argument(metavar="LOG", help="A file: CSV (also .gz), Parquet, NPZ, MAT, ROS bag or MCAP.")
]
PieceOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="RUN.piece", help="The file to write the piece to.")
]


def compress(
    fit: FitArgument, log: LogArgument, *, output: PieceOption, force: ForceOption = False, reading: Streaming
) -> None:
    """Compress a log to what a fit needs of it, using an earlier fit: a few hundred kilobytes, which `combine` puts together.

    \b
    taupi compress out run.parquet -o run.piece
    taupi combine out '*.piece' -o later
    """
    import taupi as tp
    from taupi.identification.results.fit_file import load_torque_fit

    tp.compress_log(load_torque_fit(fit), log, output, force=force, reading=reading)
    before = log.stat().st_size if log.is_file() else 0
    size = f", {output.stat().st_size / 1e3:.0f} kB of {before / 1e3:.0f}" if before else ""
    print(f"wrote {output}{size}; next: taupi combine {shlex.quote(str(fit))} '*.piece' -o later", file=sys.stderr)
