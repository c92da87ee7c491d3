"""The `taupi` command: thin, says the same words as the Python package."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from taupi import __version__
from taupi.cli.command import Command
from taupi.cli.commands import COMMANDS
from taupi.cli.settings import with_options

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Robot dynamics that are linear in their parameters: tau = Y(q, qd, qdd) pi.

    \b
    taupi info puma560
    taupi identify panda.urdf run1.csv run2.csv --validate run3.csv -o out
    """,
    epilog="Exit status: 0 good, 1 a mistake of ours, 2 usage, 3 something is wrong in the input, 4 what was asked for did not "
    "come of it, 5 a threshold that you set was missed.",
)


def run() -> None:
    """Run the command line."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Robot dynamics that are linear in their parameters."""


for _name in COMMANDS:
    _function = getattr(import_module(f"taupi.cli.commands.{_name}"), _name)
    app.command(_name, cls=Command)(with_options(_function))
