"""The command line of this process, as results record it."""

from __future__ import annotations

import shlex
import sys

from taupi.addresses import without_secrets


def recorded_command() -> str:
    """Return the command that was typed, with its addresses as they may be shown: signed ones hold secrets."""
    return shlex.join(["taupi", *map(without_secrets, sys.argv[1:])])
