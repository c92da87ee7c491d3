"""What is printed about simulated runs: one as plain data, and laws side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taupi.simulation.run import Run
from taupi.tables import table


def run_data(run: Run) -> dict[str, Any]:
    """Return the results of a run as plain data."""
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
    columns = {"rms_error_first": "rms error, first fifth", "rms_error_last": "last fifth"}
    columns |= {"rms_error_held": "estimate held"} if any("rms_error_held" in row for row in rows) else {}
    columns |= {"largest_torque": "largest torque"}
    columns |= {"payload_estimate": "payload, kg"} if any("payload_estimate" in row for row in rows) else {}
    lines: list[tuple[str, ...]] = [("law", *columns.values(), "V", "largest rise of V")]
    for row in rows:
        v = f"{row['V_first']:.4g} -> {row['V_last']:.4g}" if "V_first" in row else "-"
        rise = f"{row['V_largest_rise']:.1e} of V" if "V_first" in row else "-"
        forms = {key: "{:.3e}" if key.startswith("rms") else "{:.4g}" for key in columns}
        sizes = [forms[key].format(row[key]) if row.get(key) is not None else "-" for key in columns]
        lines.append((row["law"], *sizes, v, rise))
    return "\n".join(table(lines))
