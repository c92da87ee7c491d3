"""`taupi doctor`: a look at the installation."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import typer

from taupi.cli.exit_codes import ExitCode
from taupi.cli.options import JsonOption

if TYPE_CHECKING:
    from taupi.reporting.checkup import Checkup


def doctor(*, as_json: JsonOption = False) -> None:
    """Show versions, extras, processor and cache, and check a few known results. Exit 4 if something is broken.

    \b
    taupi doctor
    taupi doctor --json
    """
    from taupi.reporting.checkup import checkup

    state = checkup()
    print(json.dumps(state.to_dict(), indent=2) if as_json else checkup_text(state))
    if not state.healthy:
        raise typer.Exit(ExitCode.NOT_ACHIEVED)


_WIDTH = 80


def checkup_text(state: Checkup) -> str:
    """Return the state of an installation as lines of at most 80 columns."""
    kept = "switched off (TAUPI_CACHE)"
    if state.cache is not None:
        kept = f"{state.cache}, {state.cache_files} programs, {state.cache_bytes / 1e6:.1f} MB"
    facts = {
        "taupi": f"{state.version}, Python {state.python}, {state.system}",
        "packages": _versions(state.packages),
        **{f"extra {name}": _extra(name, packages) for name, packages in sorted(state.extras.items())},
        "processor": f"{state.processor} ({', '.join(state.features) or 'no vector instructions known'})",
        "gpu": state.gpu,
        "C compiler": state.compiler or "none found: emitted C cannot be compiled here",
        "cache": kept,
    }
    checks = [f"{'ok  ' if c.passed else 'FAIL'} {c.name}: {c.detail} ({c.seconds:.1f} s)" for c in state.checks]
    end = (
        "Everything works."
        if state.healthy
        else "Something is broken: see FAIL and missing above; try pip install --force-reinstall taupi."
    )
    return "\n".join(
        [*(_line(name, text) for name, text in facts.items()), "", *map(_wrapped, checks), "", _wrapped(end)]
    )


def _versions(packages: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in packages.items()) or "unknown: no metadata"


def _extra(name: str, packages: dict[str, str | None]) -> str:
    missing = "" if all(packages.values()) else f": pip install 'taupi[{name}]'"
    return _versions(packages) + missing


def _line(name: str, text: str) -> str:
    return textwrap.fill(
        f"{name:15s} {text}", _WIDTH, subsequent_indent=16 * " ", break_long_words=False, break_on_hyphens=False
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="     ", break_long_words=False, break_on_hyphens=False)
