"""The interface of a family of motions."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from taupi.excitation.motions.bounded import BoundedMotion


class Family(Protocol):
    """Motions q(t) = B(t) c of one coordinate over a duration, linear in `count` coefficients c."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def duration(self) -> float:
        """Seconds of one period."""
        ...

    @property
    def count(self) -> int:
        """The number of coefficients of a coordinate."""
        ...

    @property
    def share(self) -> float:
        """|rows(order) @ c| <= share * limit at every row is |derivative| <= limit at every time."""
        ...

    @property
    def constant(self) -> np.ndarray:
        """The coefficients (count,) of q = 1."""
        ...

    @property
    def content_hz(self) -> float:
        """About the highest frequency that it contains."""
        ...

    def sampled(self, times: np.ndarray, order: int) -> np.ndarray:
        """Return the derivative of an order at times (N,) as a matrix (N, count) on coefficients."""
        ...

    def rows(self, order: int) -> np.ndarray:
        """Return rows (m, count) whose values bound the derivative of an order, see `share`."""
        ...

    def random(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return random coefficients (count, n) of no particular size, about zero."""
        ...

    def motion(self, coefficients: np.ndarray) -> BoundedMotion:
        """Return the motion of coefficients (count, n)."""
        ...
