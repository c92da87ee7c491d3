"""The motion and the motion that was wanted."""

from __future__ import annotations

from typing import ClassVar

from taupi.report.chart import Line, coloured
from taupi.report.story import Story


class TrackingSection:
    """A chart a joint, then the errors."""

    name: ClassVar[str] = "tracking"
    title: ClassVar[str] = "Tracking"

    def fields(self, content: Story) -> dict[str, str]:
        """Return the charts."""
        run, longest = content.first.run, content.longest
        tracks = content.first.tracks and longest.reference is not None
        joints = []
        for j, name in enumerate(run.names):
            wanted = [Line("reference", "ghost", longest.reference.q[:, j])] if tracks and longest.reference else []
            unit = content.unit(j, "rad", "m")
            joints.append(content.chart(name, unit, lambda t, j=j: t.run.q[:, j], wanted))  # type: ignore[misc]
        return {"joints": "".join(joints), "errors": "".join(_errors(content)) if tracks else ""}


def _errors(content: Story) -> list[str]:
    run = content.first.run
    if not content.several:
        lines = [coloured(name, j, run.error[:, j]) for j, name in enumerate(run.names)]
        return [content.drawn("error q - q_des", content.units("rad", "m"), lines)]
    return [
        content.chart(f"{name}, error", content.unit(j, "rad", "m"), lambda t, j=j: t.run.error[:, j])  # type: ignore[misc]
        for j, name in enumerate(run.names)
    ]
