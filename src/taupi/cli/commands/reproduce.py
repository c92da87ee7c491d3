"""`taupi reproduce`: published studies, rerun."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.cli.options import ForceOption, JsonOption
from taupi.errors import TaupiError


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="Leave it out to list the studies.")] = None,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for tables (CSV, JSON) and report.html.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Rerun a published study, and compare our results with those of the paper and with our reference runs, in two tables.

    Exit 4 if a row differs for a reason that the study does not explain.

    \b
    taupi reproduce
    taupi reproduce kubozono -o out
    """
    import taupi as tp

    if name is None:
        if output is not None or force:
            raise TaupiError("--output and --force are for one study: name it.")
        print(_listing(as_json))
        return
    if output is None and force:
        raise TaupiError("--force is for files: name their directory with --output.")
    if output is not None:
        from taupi.papers.page import check_folder

        check_folder(output, force)
    reproduction = tp.papers.reproduce(name)
    print(json.dumps(reproduction.to_dict(), indent=2, default=float) if as_json else reproduction)
    if output is not None:
        files = reproduction.write(output, force)
        print(f"wrote {', '.join(str(output / file) for file in files)}", file=sys.stderr)
    if not reproduction.holds:
        raise typer.Exit(ExitCode.NOT_ACHIEVED)


def _listing(as_json: bool) -> str:
    """Return the studies: name, document, what is rerun, about how long that takes."""
    import textwrap

    import taupi as tp

    studies = tp.papers.studies()
    if as_json:
        keys = ("name", "document", "reruns", "seconds")
        return json.dumps({"studies": [{k: getattr(study, k) for k in keys} for study in studies]}, indent=2)
    lines = []
    for each in studies:
        lines.append(f"{each.name}: {each.document.partition(':')[0]}; about {each.seconds} s")
        lines += textwrap.wrap(each.reruns, 79, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines)
