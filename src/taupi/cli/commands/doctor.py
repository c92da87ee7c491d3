"""`taupi doctor`: a look at the installation."""

from __future__ import annotations

import json

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.cli.options import JsonOption


def doctor(*, as_json: JsonOption = False) -> None:
    """Show versions, extras, processor and cache, and check a few known results. Exit 4 if something is broken.

    \b
    taupi doctor
    taupi doctor --json
    """
    from taupi.cli.show.checkup import checkup_text
    from taupi.reporting.checkup import checkup

    state = checkup()
    print(json.dumps(state.to_dict(), indent=2) if as_json else checkup_text(state))
    if not state.healthy:
        raise typer.Exit(ExitCode.NOT_ACHIEVED)
