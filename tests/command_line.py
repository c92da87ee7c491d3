"""The command line in this process: what a user sees of it, without the seconds that a new process takes to import everything."""

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from taupi.cli.main import run


@dataclass(frozen=True)
class Done:
    """How a command ended, with the names that `subprocess.run` has for it."""

    returncode: int
    stdout: str
    stderr: str


def taupi(*arguments, cwd=None) -> Done:
    """Run `taupi ...` in the folder `cwd`; that it starts as a process of its own is the subject of test_command_line.py."""
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    words = ["taupi", *map(str, arguments)]
    with (
        mock.patch.object(sys, "argv", words),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        os.chdir(cwd or before)
        try:
            run()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            os.chdir(before)
    return Done(code, out.getvalue(), err.getvalue())
