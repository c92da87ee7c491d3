"""What the words of `taupi control` and `taupi emit ROBOT controller` stand for, and what they print and write."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np

from taupi.cli.programs import CONTROLLER
from taupi.errors import TaupiError, unknown
from taupi.tables import table

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
# Of many parameters the composite law adapts the base alone: its filters hold a number a joint and parameter.
BASE = ("composite",)


def law_of(name: str, robot: Any, terms: tuple[str, ...]) -> Any:
    """Return a law by its name, with the gains that the robot suggests."""
    import taupi as tp

    if name not in LAWS:
        raise unknown("law", name, LAWS)
    if LAWS[name] == "ElasticPDGravity":
        return tp.ElasticPDGravity(robot)  # it compensates gravity alone
    more = {"columns": "base"} if name in BASE else {}
    return getattr(tp, LAWS[name])(robot, terms=terms, **more)


def emit_law(
    robot: Any,
    asked: tuple[str, str | None, str, bool],
    terms: tuple[str, ...],
    language: str,
    directory: Path,
    name: str | None,
    force: bool,
) -> str:
    """Write a controller; return the paths, one a line."""
    import taupi as tp

    program, law, dtype, project = asked
    if program != CONTROLLER:
        raise TaupiError(f"--law goes with the program {CONTROLLER}, got {program}.")
    if law is None:
        raise TaupiError(f"A controller needs a law: --law {next(iter(LAWS))}. Known: {', '.join(LAWS)}.")
    if dtype != "float64" or project:
        raise TaupiError("A controller is written in float64, with its own README: leave --dtype and --project out.")
    paths = tp.emit_controller(law_of(law, robot, terms), directory, language, name, force)
    if language == "c":
        stem, folder = paths[0].stem, shlex.quote(str(directory))
        files = f"test_{stem}.c {stem}_controller.c {stem}.c"
        step = f"cd {folder} && cc -std=c99 -O2 {files} -o test_{stem} -lm && ./test_{stem}"
        print(f"wrote {len(paths)} files; next: {step}", file=sys.stderr)
    return "\n".join(map(str, paths))


def start_of(law: Any, known: float) -> np.ndarray:
    """Return the estimate that a law starts from: a fraction of the robot's parameters, made real where it must be."""
    estimate = known * law.parameters.values
    return law.real(estimate) if hasattr(law, "real") else estimate


def told(name: str, law: Any, run: Any, steady: bool) -> dict[str, Any]:
    """Return what a run of a law showed: tracking error, torque and, where the plant stays the same, V."""
    from taupi.control.lyapunov import lyapunov_record

    error = np.linalg.norm(run.error, axis=1)
    last = max(1, len(error) // 5)
    data = {
        "law": name,
        "complete": run.complete,
        "rms_error_first": float(np.sqrt((error[:last] ** 2).mean())),
        "rms_error_last": float(np.sqrt((error[-last:] ** 2).mean())),
        "largest_torque": float(np.abs(run.tau).max()),
    }
    adapts = run.parameters is not None and run.parameters.shape[-1] == law.size
    if steady and adapts and run.complete and hasattr(law, "Gamma_inv"):
        wanted = (run.reference.q, run.reference.qd, run.reference.qdd)
        record = lyapunov_record(law, run.time, run.q, run.qd, wanted, run.parameters)
        if np.isfinite(record.V).all():  # of a body without extent the log-det divergence is infinite
            data |= {
                "V_first": float(record.V[0]),
                "V_last": float(record.V[-1]),
                "V_largest_rise": record.largest_rise,
            }
    return data


def comparison(rows: list[dict[str, Any]]) -> str:
    """Return the laws side by side."""
    head = ("law", "rms error, first fifth", "last fifth", "largest torque", "V", "largest rise of V")
    lines = []
    for row in rows:
        v = f"{row['V_first']:.4g} -> {row['V_last']:.4g}" if "V_first" in row else "-"
        rise = f"{row['V_largest_rise']:.1e} V(0)" if "V_first" in row else "-"
        first, last = f"{row['rms_error_first']:.3e}", f"{row['rms_error_last']:.3e}"
        lines.append((row["law"], first, last, f"{row['largest_torque']:.4g}", v, rise))
    return "\n".join(table([head, *lines]))
