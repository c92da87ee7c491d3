"""What is printed of simulated runs: one as plain data, and laws side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.simulation.run import Run
from taupi.tables import table


def run_data(run: Run) -> dict[str, Any]:
    """Return what a run showed as plain data."""
    return {
        "samples": len(run),
        "duration": float(run.time[-1]) if len(run) else 0.0,
        "complete": run.complete,
        "joints": list(run.names),
        "largest_error": np.abs(run.error).max(axis=0).tolist() if run.tracks and len(run) else None,
        "largest_torque": np.abs(run.tau).max(axis=0).tolist() if len(run) else None,
        "energy_residual": float(np.abs(run.residual).max()) if run.residual is not None and len(run) else None,
        "notes": list(run.notes),
        "provenance": dict(run.provenance),
    }


def comparison_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return the laws side by side."""
    head = ("law", "rms error, first fifth", "last fifth", "largest torque", "V", "largest rise of V")
    lines = []
    for row in rows:
        v = f"{row['V_first']:.4g} -> {row['V_last']:.4g}" if "V_first" in row else "-"
        rise = f"{row['V_largest_rise']:.1e} of V" if "V_first" in row else "-"
        sizes = (row.get("rms_error_first"), row.get("rms_error_last"), row.get("largest_torque"))
        first, last, torque = (
            "-" if x is None else form.format(x) for form, x in zip(("{:.3e}", "{:.3e}", "{:.4g}"), sizes, strict=True)
        )
        lines.append((row["law"], first, last, torque, v, rise))
    return "\n".join(table([head, *lines]))
