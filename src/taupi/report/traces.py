"""Torque over time as a report shows it: measured and predicted, thinned to what a screen can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Trace:
    """One log: time (N,), measured and predicted torque (N, n), whose they are, and whether the fit has seen it."""

    name: str
    role: str  # "fitted" or "held out"
    joints: tuple[str, ...]
    units: tuple[str, ...]
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Measured less predicted (N, n)."""
        return self.measured - self.predicted

    @classmethod
    def of(cls, validation: Any, robot: Any, role: str = "held out") -> Trace:
        """Return what a validation has seen."""
        units = tuple("N" if joint.prismatic else "N m" for joint in robot.driving_joints)
        arrays = (np.asarray(validation.time), np.asarray(validation.measured), np.asarray(validation.predicted))
        return cls(validation.name, role, tuple(robot.joint_names), units, *arrays)


def thinned(most: int, series: Sequence[np.ndarray]) -> np.ndarray:
    """Return at most about `most` row numbers of series (N,) that keep every peak: in each span, where each is least and most.

    >>> import numpy as np
    >>> x = np.zeros(1000)
    >>> x[537] = 1.0
    >>> rows = thinned(20, [x])
    >>> 537 in rows, len(rows) <= 22
    (True, True)
    """
    count = len(series[0])
    if count <= most:
        return np.arange(count)
    spans = max(1, most // (2 * len(series)))
    edges = np.linspace(0, count, spans + 1).astype(int)
    width = int(np.diff(edges).max())
    # Each span as a row, short ones filled up with their last sample.
    rows = np.minimum(edges[:-1, None] + np.arange(width), edges[1:, None] - 1)
    found = [np.zeros(1, dtype=int), np.array([count - 1])]
    for x in series:
        part = x[rows]
        for pick in (part.argmin(axis=1), part.argmax(axis=1)):
            found.append(np.take_along_axis(rows, pick[:, None], axis=1)[:, 0])
    return np.unique(np.concatenate(found))
