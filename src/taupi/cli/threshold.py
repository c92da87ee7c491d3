"""The threshold that a user sets by `--max-error`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.errors import Argument, TaupiError


def check_threshold(max_error: float | None) -> None:
    """Refuse a threshold that is no share of the torque."""
    if max_error is not None and not 0 <= max_error < float("inf"):
        raise TaupiError(Argument("max_error"), f" is {max_error:g}, expected a share of the torque, such as 0.05.")


def exit_if_missed(max_error: float | None, errors: Mapping[str, float]) -> None:
    """End with 5 where a relative error, by the name of its log, is above the threshold."""
    missed = [f"{log} {error:.2%}" for log, error in errors.items() if max_error is not None and not error <= max_error]
    if missed:
        print(f"taupi: the relative error is above --max-error {max_error:g}: {', '.join(missed)}.", file=sys.stderr)
        raise typer.Exit(ExitCode.THRESHOLD_MISSED)
