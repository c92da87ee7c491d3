"""What is printed about a fit that was just made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taupi.identification.results.fit import Fit
    from taupi.identification.results.validation import Validation


def fit_summary(fit: Fit, held_out: Sequence[Validation]) -> str:
    """Return a line for the fit, and one for each log that was held out."""
    return "\n".join([fit.summary, *(f"held out: {validation.summary}" for validation in held_out)])


def fit_data(fit: Fit, held_out: Sequence[Validation], paths: Sequence[Path]) -> dict[str, Any]:
    """Return what `taupi identify --json` prints.

    `summary`: one readable line. `verdict`: its `level`, "good", "doubtful" or "wrong"; its `reasons`, sentences; and its
    `details`, the same as data. `files`: what was written. `estimator`, `parameters` (how many), `not_determined` and
    `not_significant` (their names). `relative_error`: on the fitted logs, over all joints; `joints`: the same by joint.
    `springs`: of elastic joints, `SpringRecord.to_dict`: delay and offsets of the encoders, and whether K is determined.
    `validation`: for each held-out log, `Validation.to_dict`. `notes`: what to know about it.
    """
    weak = ~fit.significant & ~fit.undetermined
    return {
        "schema": "taupi.identify/1",
        "summary": fit.summary,
        "verdict": fit.verdict.to_dict(),
        "files": [str(path) for path in paths],
        "estimator": fit.estimator,
        "parameters": len(fit.values),
        "not_determined": [n for n, u in zip(fit.names, fit.undetermined, strict=True) if u],
        "not_significant": [n for n, w in zip(fit.names, weak, strict=True) if w],
        "relative_error": fit.relative,
        "joints": [dataclasses.asdict(j) for j in fit.joints],
        "springs": [spring.to_dict() for spring in fit.springs],
        "validation": [validation.to_dict() for validation in held_out],
        "notes": list(fit.notes),
    }
