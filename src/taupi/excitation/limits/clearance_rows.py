"""Distances of links to each other and to their surroundings as rows at samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

# m: distances are counted in these, so that rows are about as large as those of torques.
UNIT = 0.1


@dataclass(frozen=True, eq=False)
class ClearanceRows:
    """Signed distances less the margin, in units of 10 cm, at least 0, or more where they had to be tightened."""

    clearance: Any
    lower: np.ndarray
    upper: np.ndarray
    rate_hz: float = 50.0
    name: str = "clearance"
    orders: tuple[int, ...] = (0,)
    # 6 cm: who is farther away does not matter yet.
    band: ClassVar[float] = 0.6

    @classmethod
    def of(cls, clearance: Any) -> ClearanceRows:
        """Return the rows of all pairs."""
        count = len(clearance.pairs)
        return cls(clearance, np.zeros(count), np.full(count, np.inf))

    def values(self, *states: np.ndarray) -> np.ndarray:
        """Return the distances (N, p)."""
        return np.asarray(self.clearance.rows(states[0]) / UNIT)

    def slopes(self, which: np.ndarray, *states: np.ndarray) -> np.ndarray:
        """Return the derivatives (1, N, n) of the distance of pair `which` (N,) at each sample."""
        weights = np.zeros((len(which), len(self.lower)))
        weights[np.arange(len(which)), which] = 1 / UNIT
        return np.asarray(self.clearance.pulled(states[0], weights))[None]
