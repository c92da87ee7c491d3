"""Commands that say in one sentence what is wrong with their input, in the words of their own options."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from typing import Any

import typer
from typer.core import TyperCommand

from taupi.cli.exit_codes import ExitCode
from taupi.cli.spelling import spelling_of
from taupi.errors import NotIdentifiedError, Spelling, TaupiError, TaupiWarning


class Command(TyperCommand):
    """A command whose errors are one sentence on standard error and an exit status, never a traceback."""

    def invoke(self, ctx: Any) -> None:
        """Run the command."""
        spelling = spelling_of(self.params)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(
                stream, io.TextIOWrapper
            ):  # an ASCII terminal, or a name that is not UTF-8, is no reason to fail
                stream.reconfigure(errors="backslashreplace")
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _warn(message, spelling)
            try:
                super().invoke(ctx)
                sys.stdout.flush()
            except BrokenPipeError:  # whoever reads the output has seen enough
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what is left goes nowhere
                raise typer.Exit(ExitCode.GOOD) from None
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
                    raise
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - what is left has no place
                print(f"taupi: standard output cannot be written: {error.strerror}.", file=sys.stderr)
                raise typer.Exit(ExitCode.BAD_INPUT) from None
            except TaupiError as error:
                print(f"taupi: {error.spelled(spelling)}", file=sys.stderr)
                failed = isinstance(error, NotIdentifiedError)
                raise typer.Exit(ExitCode.NOT_ACHIEVED if failed else ExitCode.BAD_INPUT) from None


def _warn(message: Warning | str, spelling: Spelling) -> None:
    text = message.spelled(spelling) if isinstance(message, TaupiWarning) else str(message)
    print(f"warning: {text}", file=sys.stderr)
