"""Torque over time as a report shows it: measured and predicted, thinned to what a screen can resolve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.results.torque_parts import TorqueParts


@dataclass(frozen=True, eq=False)
class Trace:
    """The torque of one log: time (N,), measured and predicted torque (N, n), joints, units, whether it was fitted, parts."""

    name: str
    role: str  # "fitted" or "held out"
    joints: tuple[str, ...]
    units: tuple[str, ...]
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    parts: TorqueParts | None = None

    @property
    def residual(self) -> np.ndarray:
        """Measured minus predicted (N, n)."""
        return self.measured - self.predicted


def thinned(most: int, series: Sequence[np.ndarray]) -> np.ndarray:
    """Return at most about `most` indices into the series (N,) that keep every peak: minimum and maximum of each, span by span.

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
    kept = [np.zeros(1, dtype=int), np.array([count - 1])]
    for x in series:
        part = x[rows]
        for pick in (part.argmin(axis=1), part.argmax(axis=1)):
            kept.append(np.take_along_axis(rows, pick[:, None], axis=1)[:, 0])
    return np.unique(np.concatenate(kept))
