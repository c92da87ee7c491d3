"""Gravity: a robot that is mounted differently than described, or a torque from which gravity was already subtracted."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

import numpy as np

from taupi.identification.verdict.candidate import Candidate
from taupi.identification.verdict.trials import Gravity, Mending, Trials

# Gravity to assume for robots that are described without it, m/s^2.
_STANDARD = 9.81
# Directions nearer to each other than this, in units of gravity, are the same.
_NEAR = 0.1
# The search for the best direction starts from this many of the six, the best ones.
_STARTS = 3
ALONG: dict[str, Gravity] = {
    "+x": (1.0, 0.0, 0.0),
    "-x": (-1.0, 0.0, 0.0),
    "+y": (0.0, 1.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "+z": (0.0, 0.0, 1.0),
    "-z": (0.0, 0.0, -1.0),
}


class CompensatedGravity:
    """A torque that has no gravity in it: a controller subtracted it, or springs carry the arm."""

    name: ClassVar[str] = "gravity_compensated"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return one candidate: no gravity."""
        if any(trials.robot.gravity):
            remedy = "Log the torque before gravity is subtracted, or describe the robot with gravity = [0, 0, 0]."
            says = "Gravity was taken from tau already, it seems: without gravity in the model"
            yield Candidate(self.name, says, remedy, Mending(gravity=(0.0, 0.0, 0.0)))


class Mounting:
    """A base that is mounted on a wall, a ceiling, or askew: gravity along another direction of the base."""

    name: ClassVar[str] = "gravity_direction"

    def candidates(self, trials: Trials) -> Iterator[Candidate]:
        """Return candidates for gravity along the six directions of the axes, and along the direction that fits best."""
        if not all(isinstance(value, Fraction) for value in trials.robot.gravity):
            return  # a symbol: it has no direction to compare with
        own = np.array([float(value) for value in trials.robot.gravity])
        size, rows = float(np.linalg.norm(own)) or _STANDARD, trials.gravity_rows
        vectors = {name: size * np.array(direction) for name, direction in ALONG.items()}
        others = {name: g for name, g in vectors.items() if np.linalg.norm(g - own) > _NEAR * size}
        for name, vector in others.items():
            yield self._candidate(vector, f"along {name} of the base")
        starts = sorted(vectors.values(), key=lambda g: rows.under(g).solved()[1].cost)[:_STARTS]
        free = min((rows.best(start) for start in starts), key=lambda g: rows.under(g).solved()[1].cost)
        degrees = float(np.degrees(np.arccos(np.clip(free @ own / size**2, -1, 1))))
        yield self._candidate(free, f"{degrees:.0f} degrees away from where the description has it")

    def _candidate(self, vector: np.ndarray, where: str) -> Candidate:
        gravity = tuple(round(float(v), 3) + 0.0 for v in vector)
        listed = ", ".join(f"{v:.4g}" for v in gravity)
        says = f"Gravity points {where}, it seems: with gravity = ({listed})"
        remedy = f"Load the robot with gravity=({listed}), or turn its base in the description."
        numbers = dict(zip(("gravity_x", "gravity_y", "gravity_z"), gravity, strict=True))
        return Candidate(self.name, says, remedy, Mending(gravity=gravity), (), numbers)  # type: ignore[arg-type]
