"""A log as what a regressor takes: the joints' motion and torque, sample by sample, and which rows count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.model.robot import Robot

if TYPE_CHECKING:
    from taupi.signals.log import Log


@dataclass(frozen=True)
class Samples:
    """q, qd, qdd, tau of shape (N, n), and which rows count: `use` (N, n) is false where a joint's row is left out."""

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


def samples_of(log: Log, robot: Robot, slow: np.ndarray) -> Samples:
    """Return a prepared log's samples; rows of a joint slower than `slow` (n,) do not count."""
    matching(log, robot)
    q, qd, qdd, tau = log.need("q", "qd", "qdd", "tau")
    for name, value in (("q", q), ("qd", qd), ("qdd", qdd), ("tau", tau)):
        if not np.isfinite(value).all():
            raise TaupiError(f"{name} of the log is not finite. Clean it first: taupi.clean_log.")
    return Samples(q, qd, qdd, tau, np.abs(qd) >= slow)


def matching(log: Log, robot: Robot) -> None:
    """Refuse a log of another number of joints."""
    if log.n != robot.n:
        raise TaupiError(
            f"The log has {log.n} joints ({', '.join(log.names)}), {robot.name} has {robot.n} "
            f"({', '.join(robot.joint_names)}). Choose columns by a mapping, or joints by log.select(...)."
        )
