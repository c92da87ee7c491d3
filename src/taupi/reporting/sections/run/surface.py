"""The combined error s = qd - qrd that the laws drive to zero."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.chart import coloured
from taupi.reporting.run_content import RunContent


class SurfaceSection:
    """s of every joint; for several laws, joint by joint."""

    name: ClassVar[str] = "surface"
    title: ClassVar[str] = "Combined error s"

    def fields(self, content: RunContent) -> dict[str, str] | None:
        """Return the charts."""
        if all(t.s is None for t in content.trials):
            return None
        names, s = content.first.run.names, content.first.s
        if not content.several and s is not None:
            lines = [coloured(name, j, s[:, j]) for j, name in enumerate(names)]
            return {"charts": content.chart_of("s", content.units("rad/s", "m/s"), lines)}
        charts = [
            content.chart(name, content.unit(j, "rad/s", "m/s"), lambda t, j=j: None if t.s is None else t.s[:, j])  # type: ignore[misc]
            for j, name in enumerate(names)
        ]
        return {"charts": "".join(charts)}
