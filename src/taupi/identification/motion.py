"""A log as what a regressor takes: motion and torque of its rows, sample by sample, and which rows count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.equations import Equations

if TYPE_CHECKING:
    from taupi.signals.log import Log

# A joint whose speed one way is below this share of that the other way does not reverse: that much is filters and encoders.
ONE_WAY = 0.05


@dataclass(frozen=True)
class Samples:
    """q, qd, qdd, tau of shape (N, n), and which rows count: `use` (N, n) is false where a joint's row is left out.

    Of an elastic robot n is the number of its `Equations`, and q holds the positions of links and motors.
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    use: np.ndarray
    friction: np.ndarray | None = None  # (N, k) dry friction that has passed the filter, see `friction.py`

    def __len__(self) -> int:
        return len(self.q)

    def block(self, start: int, stop: int) -> Samples:
        """Return some of the samples."""
        rows = slice(start, stop)
        friction = None if self.friction is None else self.friction[rows]
        return Samples(self.q[rows], self.qd[rows], self.qdd[rows], self.tau[rows], self.use[rows], friction)


def samples_of(log: Log, rows: Equations, slow: np.ndarray, whole: bool = False) -> Samples:
    """Return a prepared log's samples; rows slower than `slow` (n,) do not count, see `counted`."""
    rows.refuse(log)
    (q, qd, qdd), tau = rows.motion(log), rows.torque(log)
    for name, value in (("q", q), ("qd", qd), ("qdd", qdd), ("tau", tau)):
        if not np.isfinite(value).all():
            raise TaupiError(f"{name} of the log is not finite. Clean it first: taupi.clean_log.")
    return Samples(q, qd, qdd, tau, counted(qd, slow, whole))


def counted(qd: np.ndarray, slow: np.ndarray, whole: bool = False) -> np.ndarray:
    """Return which rows count (N, n): those not slower than `slow` (n,); if `whole`, samples of which all rows do."""
    fast = np.abs(qd) >= slow
    return np.broadcast_to(fast.all(axis=1)[:, None], fast.shape) if whole else fast


def one_way(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Tell which speeds do not change their sign, but for a twentieth of the largest."""
    back, forth = np.clip(-low, 0, None), np.clip(high, 0, None)
    return np.minimum(back, forth) < ONE_WAY * np.maximum(back, forth)
