"""The `taupi` command: thin, with the same vocabulary as the Python package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from taupi import __version__
from taupi.cli.command import Command
from taupi.cli.commands import COMMANDS, JOBS
from taupi.cli.settings import with_options
from taupi.cli.terminal import standard_streams

if TYPE_CHECKING:
    from click import Command as ClickCommand
    from click import Context, HelpFormatter


class CommandTable(Mapping[str, "ClickCommand"]):
    """The commands by name, each imported only when it is needed."""

    def __getitem__(self, name: str) -> ClickCommand:
        """Return a command."""
        if name not in COMMANDS:
            raise KeyError(name)
        return command_of(name)

    def __iter__(self) -> Iterator[str]:
        """Yield the names, in the order of the help."""
        return iter(COMMANDS)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(COMMANDS)


class CommandGroup(TyperGroup):
    """`taupi` itself, whose commands are imported one by one."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = CommandTable()  # type: ignore[assignment]  # nothing is ever put into it

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the commands by job, one line each, without importing them."""
        for job, commands in JOBS.items():
            with formatter.section(job):
                formatter.write_dl([(f"{name:<9}", line) for name, line in commands.items()])


@cache
def command_of(name: str) -> object:
    """Return the command of this name."""
    only = typer.Typer(rich_markup_mode=None, add_completion=False)
    only.command(name, cls=Command, short_help=COMMANDS[name])(
        with_options(getattr(import_module(f"taupi.cli.commands.{name}"), name))
    )
    return get_command(only)


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Robot dynamics that are linear in their parameters: tau = Y(q, qd, qdd) pi.

    \b
    taupi info puma560
    taupi identify panda.urdf run1.csv run2.csv --validate run3.csv -o out
    """,
    epilog="Exit status: 0 success, 1 a bug in taupi, 2 wrong usage, 3 a problem with the input, 4 no usable result (not "
    "identifiable, not converged, diverged), 5 a threshold that you set was missed. `taupi COMMAND --help` shows a command.",
)


def run() -> None:
    """Run the command line."""
    with standard_streams():
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
