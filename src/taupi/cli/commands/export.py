"""`taupi export`: the identified robot of a fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.fit_folder import export_fit
from taupi.cli.options import AnywayOption, FitArgument, ForceOption
from taupi.errors import TaupiError


def export(
    fit: FitArgument,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A .urdf or .toml file, or a directory for a C99 project.")
    ],
    anyway: AnywayOption = False,
    force: ForceOption = False,
) -> None:
    """Write the identified robot of a fit: as the URDF it was read from, as TOML, or its inverse dynamics as C.

    A fit whose verdict is wrong is refused, and the command ends with 4, unless --anyway.

    \b
    taupi export out -o better.urdf
    taupi export out/fit.json -o c
    """
    import taupi as tp

    form = {".urdf": "urdf", ".toml": "toml", "": "c"}.get(output.suffix.lower())
    if form is None:
        raise TaupiError(f"output is {str(output)!r}, expected a name ending in .urdf or .toml, or a directory for C.")
    loaded = tp.load_fit(fit)
    if str(loaded.verdict.level) == "doubtful":
        print("\n".join(loaded.verdict.lines), file=sys.stderr)
    export_fit(loaded, form, output, anyway, force)
    if not loaded.consistency.exact:
        print(f"warning: {loaded.consistency.sentence}", file=sys.stderr)
    print(f"wrote {output}", file=sys.stderr)
