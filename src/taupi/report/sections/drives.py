"""The torques."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from taupi.report.chart import Line
from taupi.report.story import Story


class DrivesSection:
    """A chart a joint: the torque of each law; where it was cut, what it wanted, and the limits."""

    name: ClassVar[str] = "drives"
    title: ClassVar[str] = "Torques"

    def fields(self, content: Story) -> dict[str, str]:
        """Return the charts."""
        run, longest = content.first.run, content.longest
        limits = getattr(content.first.plant, "torque_limits", None)
        parts = []
        for j, name in enumerate(run.names):
            beside = []
            wanted, got = run.tau_command[:, j], run.tau[:, j]
            if not content.several and not np.array_equal(wanted, got):
                beside.append(Line("commanded", "ghost", wanted))
            most = float(np.max([np.abs(r.tau[:, j]).max() for r in content.runs]))
            if limits is not None and np.isfinite(limits[j]) and limits[j] < 1.5 * most:
                beside += [
                    Line(n, "limit", np.full(len(longest), v)) for n, v in (("limit", limits[j]), ("", -limits[j]))
                ]
            parts.append(content.chart(name, content.unit(j, "N m", "N"), lambda t, j=j: t.run.tau[:, j], beside))  # type: ignore[misc]
        return {"charts": "".join(parts)}
