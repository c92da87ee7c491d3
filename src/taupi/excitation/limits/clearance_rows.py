"""Distances of links to each other and to their surroundings as rows at samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from taupi.excitation.geometry.clearance import Clearance
from taupi.excitation.geometry.shapes.read import NoGeometryError
from taupi.excitation.geometry.watched import clearance_of
from taupi.excitation.settings import Margins
from taupi.model.robot import Robot
from taupi.program.program import Program

# m: the unit of distances, so that rows are about as large as those of torques.
UNIT = 0.1


@dataclass(frozen=True, eq=False)
class ClearanceRows:
    """Signed distances minus the margin, in units of 10 cm, at least 0, or more where they had to be tightened."""

    clearance: Clearance
    lower: np.ndarray
    upper: np.ndarray
    rate_hz: float = 50.0
    name: str = "clearance"
    orders: tuple[int, ...] = (0,)
    # 3 cm: pairs that are farther apart do not matter yet.
    band: ClassVar[float] = 0.3
    # 1 mm, half of the reserve in rows.
    tolerance: ClassVar[float] = 0.01

    @classmethod
    def of(cls, clearance: Clearance) -> ClearanceRows:
        """Return the rows of all pairs."""
        count = len(clearance.pairs)
        return cls(clearance, np.zeros(count), np.full(count, np.inf))

    @property
    def programs(self) -> tuple[Program, ...]:
        """What computes values and slopes."""
        return self.clearance.programs

    @property
    def groups(self) -> np.ndarray:
        """For a pair of links with several capsules, the nearest two are considered."""
        pairs = list(dict.fromkeys(self.clearance.pairs))
        return np.array([pairs.index(pair) for pair in self.clearance.pairs])

    def values(self, *states: np.ndarray) -> np.ndarray:
        """Return the distances (N, p)."""
        return np.asarray(self.clearance.rows(states[0]) / UNIT)

    def slopes(self, which: np.ndarray, *states: np.ndarray) -> np.ndarray:
        """Return the derivatives (1, N, n) of the distance of pair `which` (N,) at each sample."""
        weights = np.zeros((len(which), len(self.lower)))
        weights[np.arange(len(which)), which] = 1 / UNIT
        return np.asarray(self.clearance.pulled(states[0], weights))[None]


def kept_clear(robot: Robot, margins: Margins, lower: np.ndarray, upper: np.ndarray) -> tuple[Clearance | None, str]:
    """Return the clearance of a robot within its limits (n,), or None with the reason why it is not checked.

    Only a robot without a described shape is not checked, and then only if the user did not ask for it. Geometry
    that cannot be read, such as a mesh that is missing, is an error.
    """
    if margins.capsules == "none":
        return None, "it was left out by capsules = none."
    file = len(margins.ignore) == 1 and margins.ignore[0].endswith(".srdf")
    asked = margins.floor is not None or margins.box is not None or margins.capsules != "auto" or bool(margins.ignore)
    try:
        clearance = clearance_of(
            robot,
            margins.clearance,
            margins.capsules,
            margins.ignore[0] if file else [tuple(pair.split(",")) for pair in margins.ignore],
            margins.floor,
            None if margins.box is None else (margins.box[:3], margins.box[3:]),
            margins.packages,
            (lower.tolist(), upper.tolist()),
        )
    except NoGeometryError:
        if asked:
            raise
        # In the words of Python, the command line and the record alike.
        return (
            None,
            f"{robot.name} has no collision geometry. Capsules in a TOML file, with [[capsule]] tables, would do.",
        )
    return clearance, ""
