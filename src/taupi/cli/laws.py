"""What the names of laws and the words of gains stand for; `taupi emit ROBOT controller`."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taupi.cli.programs import CONTROLLER
from taupi.errors import TaupiError, unknown

# Names on the command line and the laws they stand for.
LAWS = {
    "slotine-li": "SlotineLi",
    "niemeyer-slotine": "NiemeyerSlotine",
    "walker": "Walker",
    "composite": "CompositeAdaptation",
    "natural": "NaturalAdaptation",
    "computed-torque": "ComputedTorque",
    "pd-gravity": "PDGravity",
    "elastic-pd-gravity": "ElasticPDGravity",
}
ELASTIC = "elastic-pd-gravity"  # sees motors, and compensates gravity alone
# Of many parameters the composite law adapts the base alone: its filters hold a number a joint and parameter.
BASE = ("composite",)
_NO_GAINS = ("robot", "terms", "modifications", "adapt", "form")


def default_law(elastic: bool, otherwise: str) -> str:
    """Return the law where none is named: that of elastic joints for such a plant."""
    return ELASTIC if elastic else otherwise


def names_of(given: Sequence[str], otherwise: str) -> list[str]:
    """Return the laws of an option that is repeated, or has them by commas; each once."""
    names = [n.strip() for text in given for n in text.split(",") if n.strip()]
    for name in names:
        if name not in LAWS:
            raise unknown("law", name, LAWS)
    return list(dict.fromkeys(names)) or [otherwise]


def laws_of(names: Sequence[str], robot: Any, terms: tuple[str, ...], gains: Sequence[str] | None) -> dict[str, Any]:
    """Return laws by their names, with the gains that are given and, for the rest, those that the robot suggests."""
    import taupi as tp

    for name in names:
        if name not in LAWS:
            raise unknown("law", name, LAWS)
    kinds = {name: getattr(tp, LAWS[name]) for name in names}
    fields = {n: {f.name for f in dataclasses.fields(k) if f.init} - set(_NO_GAINS) for n, k in kinds.items()}
    chosen: dict[str, dict[str, Any]] = {name: {} for name in names}
    for text in gains or ():
        words, mark, value = text.partition("=")
        owner, _, gain = words.strip().rpartition(".")
        if not mark or not gain:
            raise TaupiError(f"--gain is {text[:40]!r}, expected NAME=VALUE, such as Lambda=5 or walker.gamma=8.")
        if owner and owner not in names:
            raise unknown("law", owner, names, f"--gain {text[:40]}")
        having = [n for n in ([owner] if owner else names) if gain in fields[n]]
        if not having:
            raise unknown("gain", gain, sorted(set().union(*fields.values())), ", ".join(names))
        for name in having:
            chosen[name][gain] = _number(text, value)
    for name in names:
        chosen[name] |= {"adapt": "base"} if name in BASE else {}
        chosen[name] |= {"terms": terms} if name != ELASTIC else {}
    return {name: kinds[name](robot, **chosen[name]) for name in names}


def _number(text: str, value: str) -> Any:
    try:
        return json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        raise TaupiError(f"--gain is {text[:40]!r}, expected a number or a JSON list after the =.") from None


def start_of(law: Any, known: float) -> np.ndarray:
    """Return the estimate that a law starts from: a fraction of the robot's parameters, made real where it must be."""
    estimate = known * law.parameters.values
    return law.real(estimate) if hasattr(law, "real") else estimate


def emit_law(
    robot: Any,
    asked: tuple[str, str | None, str, bool],
    terms: tuple[str, ...],
    gains: Sequence[str] | None,
    language: str,
    directory: Path,
    name: str | None,
    force: bool,
) -> str:
    """Write a controller; return the paths, one a line."""
    import taupi as tp

    program, law, dtype, project = asked
    if program != CONTROLLER:
        raise TaupiError(f"--law and --gain go with the program {CONTROLLER}, got {program}.")
    if law is None:
        raise TaupiError(f"A controller needs a law: --law {next(iter(LAWS))}. Known: {', '.join(LAWS)}.")
    if dtype != "float64" or project:
        raise TaupiError("A controller is written in float64, with its own README: leave --dtype and --project out.")
    made = laws_of([law], robot, terms, gains)[law]
    paths = tp.emit_controller(made, directory, language, name, force)
    if language == "c":
        stem, folder = paths[0].stem, shlex.quote(str(directory))
        files = f"test_{stem}.c {stem}_controller.c {stem}.c"
        step = f"cd {folder} && cc -std=c99 -O2 {files} -o test_{stem} -lm && ./test_{stem}"
        print(f"wrote {len(paths)} files; next: {step}", file=sys.stderr)
    return "\n".join(map(str, paths))
