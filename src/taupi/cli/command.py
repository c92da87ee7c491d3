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
from taupi.cli.next_steps import next_step
from taupi.cli.spelling import spelling_of
from taupi.cli.terminal import on_a_terminal
from taupi.errors import NotIdentifiedError, Spelling, TaupiError, TaupiWarning

SERVING = ("view", "worker")  # commands that run until they are stopped
_CANNOT_BE_WRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EDQUOT)


class Command(TyperCommand):
    """A command whose errors are one sentence on standard error and an exit status, never a traceback."""

    def invoke(self, ctx: Any) -> None:
        """Run the command."""
        spelling = spelling_of(self.params)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # do not fail on an ASCII terminal, or on a name that is not UTF-8
                stream.reconfigure(errors="backslashreplace")
        with on_a_terminal(None if self.name in SERVING else f"taupi {self.name}"), warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _warn(message, spelling)
            try:
                super().invoke(ctx)
                sys.stdout.flush()
                self._say_next(ctx)
            except OSError as error:
                if error.errno not in _CANNOT_BE_WRITTEN:
                    raise
                sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the rest of the output is discarded
                if error.errno == errno.EPIPE:  # the reader of the output closed the pipe
                    raise typer.Exit(ExitCode.GOOD) from None
                print(f"taupi: standard output cannot be written: {error.strerror}.", file=sys.stderr)
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


def _warn(message: Warning | str, spelling: Spelling) -> None:
    text = message.spelled(spelling) if isinstance(message, TaupiWarning) else str(message)
    print(f"warning: {text}", file=sys.stderr)
