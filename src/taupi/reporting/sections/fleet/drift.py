"""How parameters change from log to log, for the arms in which that is clearest."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from taupi.reporting.chart import Axis, chart, coloured

# Slopes that are drawn: at least this many standard errors, and at most this many charts.
_CLEAR, _MOST = 4.0, 6


class DriftSection:
    """Lines over time of parameters with a clear slope, or a jump."""

    name: ClassVar[str] = "drift"
    title: ClassVar[str] = "Drift"
    template: ClassVar[str] = "$charts"

    def fields(self, content: Any) -> dict[str, str] | None:
        """Return the charts; None if no arm has several logs, or nothing drifts."""
        fleet = content.fleet
        rows = [
            each for name in fleet.own for each in fleet.drift(name) if abs(each.z) > _CLEAR or each.since is not None
        ]
        if not rows:
            return None
        charts: list[str] = []
        for each in sorted(rows, key=lambda row: -abs(row.z))[:_MOST]:
            when, values = np.array(each.when), np.array(each.values)
            typical = np.full(len(when), fleet.spread[each.parameter].centre)
            since = "" if each.since is None else f", changed since {each.since:g}"
            title = f"{each.arm}: {each.parameter}, {each.slope:+.3g} per unit of time (z = {each.z:+.1f}){since}"
            walk = np.array(each.smoothed) if each.smoothed else values
            lines = [
                coloured("each log", 0, values),
                coloured("the walk behind them", 1, walk),
                coloured("a typical arm", 2, typical),
            ]
            charts.append(chart(title, "", when, lines, f"drift{len(charts)}", across=Axis("when")))
        return {"charts": "\n".join(charts)}
