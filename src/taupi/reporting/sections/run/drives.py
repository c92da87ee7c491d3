"""The torques of the drives."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from taupi.reporting.chart import Line
from taupi.reporting.run_content import RunContent


class DrivesSection:
    """One chart per joint: the torque of each law; the commanded torque if it was limited, and the limits."""

    name: ClassVar[str] = "drives"
    title: ClassVar[str] = "Torques"

    def fields(self, content: RunContent) -> dict[str, str]:
        """Return the charts."""
        run, longest = content.first.run, content.longest
        limits, word = getattr(content.first.plant, "torque_limits", None), "limit"
        if limits is None:
            limits, word = content.first.effort_limits, "limit of the description"
        parts = []
        for j, name in enumerate(run.names):
            beside = []
            commanded, applied = run.tau_command[:, j], run.tau[:, j]
            if not content.several and not np.array_equal(commanded, applied):
                beside.append(Line("commanded", "ghost", commanded))
            most = float(np.max([np.abs(r.tau[:, j]).max() for r in content.runs]))
            if limits is not None and np.isfinite(limits[j]) and limits[j] < 1.5 * most:
                beside += [Line(n, "limit", np.full(len(longest), v)) for n, v in ((word, limits[j]), ("", -limits[j]))]
            parts.append(content.chart(name, content.unit(j, "N m", "N"), lambda t, j=j: t.run.tau[:, j], beside))  # type: ignore[misc]
        return {"charts": "".join(parts)}
