"""The command `taupi reproduce`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def reproduce(
        name: Annotated[str | None, typer.Argument(metavar="[STUDY]", help="Leave it out to list the studies.")] = None,
        output: Annotated[
            Path | None, typer.Option("--output", "-o", help="Directory for tables (CSV, JSON) and report.html.")
        ] = None,
        force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        """Rerun a published study: every published figure beside ours. Exit 4 where one differs and nobody knows why.

        \b
        taupi reproduce
        taupi reproduce kubozono -o out
        """
        import taupi as tp
        from taupi.errors import TaupiError

        if name is None:
            if output is not None or force:
                raise TaupiError("--output and --force are for one study: name it.")
            print(_listing(as_json))
            return
        if output is None and force:
            raise TaupiError("--force is for files: name their directory by --output.")
        if output is not None:
            from taupi.papers.folder import check_folder

            check_folder(output, force)
        made = tp.reproduce(name)
        print(json.dumps(made.to_dict(), indent=2, default=float) if as_json else made)
        if output is not None:
            names = made.write(output, force)
            print(f"wrote {', '.join(str(output / n) for n in names)}", file=sys.stderr)
        raise typer.Exit(0 if made.holds else 4)


def _listing(as_json: bool) -> str:
    """Return the studies: name, document, what is rerun, about how long that takes."""
    import taupi as tp
    from taupi.tables import table

    found = tp.studies()
    if as_json:
        keys = ("name", "document", "reruns", "seconds")
        return json.dumps({"studies": [{k: getattr(s, k) for k in keys} for s in found]}, indent=2)
    lines = [(s.name, s.document.partition(":")[0], s.reruns, f"{s.seconds} s") for s in found]
    return "\n".join(table([("study", "document", "reruns", "about"), *lines]))
