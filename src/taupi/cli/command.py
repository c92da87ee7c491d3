"""Commands that say in one sentence what is wrong with their input, in the words of their own options."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperCommand

from taupi.cli.exit_codes import ExitCode
from taupi.cli.next_steps import next_step
from taupi.cli.spelling import spelling_of
from taupi.cli.terminal import on_a_terminal
from taupi.errors import NotIdentifiedError, Spelling, TaupiError, TaupiWarning

SERVING = ("view", "worker")  # commands that run until they are stopped


class Command(TyperCommand):
    """A command whose errors are one sentence on standard error and an exit status, never a traceback."""

    def invoke(self, ctx: Any) -> None:
        """Run the command."""
        spelling = spelling_of(self.params)
        with on_a_terminal(None if self.name in SERVING else f"taupi {self.name}"), warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _warn(message, spelling)
            try:
                super().invoke(ctx)
                self._say_next(ctx)
            except FileNotFoundError:
                if _in_a_folder():
                    raise
                print("taupi: The current folder has been deleted. Change to one that exists.", file=sys.stderr)
                raise typer.Exit(ExitCode.BAD_INPUT) from None
            except MemoryError as error:
                why = f": {error}" if str(error) else ""
                print(f"taupi: Not enough memory{why}. Ask for less, or use a machine with more.", file=sys.stderr)
                raise typer.Exit(ExitCode.BAD_INPUT) from None
            except TaupiError as error:
                print(f"taupi: {error.spelled(spelling)}", file=sys.stderr)
                failed = isinstance(error, NotIdentifiedError)
                raise typer.Exit(ExitCode.NOT_ACHIEVED if failed else ExitCode.BAD_INPUT) from None

    def _say_next(self, ctx: Any) -> None:
        """On a terminal, print what to type next, unless the command has already done so."""
        step = next_step(str(self.name), ctx.params) if sys.stderr.isatty() and sys.stdout.isatty() else None
        if step is not None and not ctx.params.get("as_json"):
            print(f"next: {step}", file=sys.stderr)


def _in_a_folder() -> bool:
    """Return whether the current folder exists."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _warn(message: Warning | str, spelling: Spelling) -> None:
    text = message.spelled(spelling) if isinstance(message, TaupiWarning) else str(message)
    print(f"warning: {text}", file=sys.stderr)
