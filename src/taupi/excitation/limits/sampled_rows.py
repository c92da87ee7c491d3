"""Limits that are kept at samples during the design of a motion, and proven for all times afterwards."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from taupi.program.program import Program


class SampledRows(Protocol):
    """Quantities along a motion, p at each sample, scaled so that lower (p,) <= value <= upper (p,) is required."""

    @property
    def name(self) -> str:
        """What is limited."""
        ...

    @property
    def rate_hz(self) -> float:
        """How often it is checked."""
        ...

    @property
    def orders(self) -> tuple[int, ...]:
        """The derivatives of the motion that it depends on."""
        ...

    @property
    def lower(self) -> np.ndarray:
        """The least values (p,)."""
        ...

    @property
    def upper(self) -> np.ndarray:
        """The largest values (p,)."""
        ...

    @property
    def groups(self) -> np.ndarray:
        """Integers (p,), the same for neighbouring quantities of which only the largest at a time needs to be considered."""
        ...

    @property
    def band(self) -> float:
        """How near to a limit a row has to come to be watched."""
        ...

    @property
    def tolerance(self) -> float:
        """How far beyond its limit a row may be and still count as kept; the proof comes later."""
        ...

    @property
    def programs(self) -> tuple[Program, ...]:
        """What computes values and slopes."""
        ...

    def values(self, *states: np.ndarray) -> np.ndarray:
        """Return the quantities (N, p) at states (N, n), one for each of `orders`."""
        ...

    def slopes(self, which: np.ndarray, *states: np.ndarray) -> np.ndarray:
        """Return the derivatives (len(orders), N, n) of the quantity `which` (N,) of each sample."""
        ...
