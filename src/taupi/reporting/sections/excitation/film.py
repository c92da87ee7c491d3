"""The arm along its motion."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.excitation_content import ExcitationContent
from taupi.reporting.stick_figures import Arm, film, strip


class FilmSection:
    """The arm at seven moments, and in motion."""

    name: ClassVar[str] = "film"
    title: ClassVar[str] = "The arm"

    def fields(self, content: ExcitationContent) -> dict[str, str]:
        """Return pictures."""
        arms = [Arm("motion", "c0", content.time, content.states[0])]
        return {"strip": strip(content.plan.robot, arms), "film": film(content.plan.robot, arms)}
