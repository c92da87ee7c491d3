"""The arm along its motion, with the capsules that keep it clear."""

from __future__ import annotations

from typing import ClassVar

from taupi.reporting.excitation_content import ExcitationContent
from taupi.reporting.film import film
from taupi.reporting.stick_figures import Arm, strip


class FilmSection:
    """The arm at seven moments, and in motion; beside it, how near it comes to itself and its surroundings.

    If no distances are watched, positions and torques are beside it.
    """

    name: ClassVar[str] = "film"
    title: ClassVar[str] = "The arm"

    def fields(self, content: ExcitationContent) -> dict[str, str]:
        """Return pictures."""
        arms = [Arm("motion", "c0", content.time, content.states[0])]
        robot, clearance = content.plan.robot, content.plan.clearance
        space = None if clearance is None else clearance.space
        return {
            "strip": strip(robot, arms, space=space),
            "film": film(robot, arms, space),
            "beside": content.distances() or content.positions_and_torques(),
        }
