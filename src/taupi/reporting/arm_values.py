"""What the pictures of a fleet draw: each own parameter of each arm, with its interval, beside the typical arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.identification.fleet.fleet_fit import Fleet
from taupi.model.parameters import printed_unit

_NORMAL_95 = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True, eq=False)
class ArmValues:
    """One own parameter of all arms: its `name` and `unit`, its `values` (A,) with half intervals `half` (A,), and which
    arms stand `out` (A,); `typical` is that of a typical arm. `half` is NaN where an arm's logs do not determine the value."""

    name: str
    unit: str
    arms: tuple[str, ...]
    values: np.ndarray
    half: np.ndarray
    out: np.ndarray
    typical: float

    @property
    def determined(self) -> np.ndarray:
        """Which arms' logs determine the value (A,)."""
        return np.isfinite(self.half) & np.isfinite(self.values)

    @property
    def range(self) -> np.ndarray:
        """Both ends of every interval and the typical value; what is not determined is left out."""
        values, half = self.values[self.determined], self.half[self.determined]
        return np.concatenate([values - half, values + half, [self.typical]])


def arm_values(fleet: Fleet, limit: float = 4.0) -> list[ArmValues]:
    """Return what each arm's own logs say about each own parameter, arms with |z| above the `limit` marked as standing out.

    Arms that do not have the links of the others are left out: their friction was fitted with other links.
    """
    outside = {(each.arm, each.parameter) for each in fleet.outliers(limit)}
    estimates = {arm: estimate for arm, estimate in fleet.estimates.items() if arm not in fleet.strangers}
    arms = tuple(estimates)
    drawn = []
    for i, (name, spread) in enumerate(fleet.spread.items()):
        values = np.array([estimate.own[i] for estimate in estimates.values()])
        half = _NORMAL_95 * np.sqrt([estimate.variance[i] for estimate in estimates.values()])
        out = np.array([(arm, name) in outside for arm in arms])
        unit = _unit(fleet, name)
        drawn.append(ArmValues(name, unit, arms, values, np.where(np.isfinite(half), half, np.nan), out, spread.centre))
    return drawn


def _unit(fleet: Fleet, name: str) -> str:
    parameters = next(iter(fleet.values())).basis.parameters
    return printed_unit(parameters.units[parameters.names.index(name)])
