"""A log as what a regressor takes: the joints' motion and torque, sample by sample, and which rows count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.model.robot import Robot

if TYPE_CHECKING:
    from taupi.signals.log import Log

# A joint whose speed one way is below this share of that the other way does not reverse: that much is filters and encoders.
ONE_WAY = 0.05


@dataclass(frozen=True)
class Samples:
    """q, qd, qdd, tau of shape (N, n) at `time` (N,); `use` (N, n) is false where a joint's row does not count."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    use: np.ndarray
    time: np.ndarray

    def __len__(self) -> int:
        return len(self.q)


def samples_of(log: Log, robot: Robot, slow: np.ndarray, span: tuple[float, float] = (-np.inf, np.inf)) -> Samples:
    """Return a log's samples; rows of a joint slower than `slow` (n,), and those outside a `span` of time, do not count."""
    matching(log, robot)
    q, qd, qdd, tau = log.need("q", "qd", "qdd", "tau")
    for name, value in (("q", q), ("qd", qd), ("qdd", qdd), ("tau", tau)):
        if not np.isfinite(value).all():
            raise TaupiError(f"{name} of the log is not finite. Clean it first: taupi.clean_log.")
    inside = (log.time >= span[0]) & (log.time <= span[1])
    return Samples(q, qd, qdd, tau, (np.abs(qd) >= slow) & inside[:, None], log.time)


def matching(log: Log, robot: Robot) -> None:
    """Refuse a log of another number of joints."""
    if log.n != robot.n:
        raise TaupiError(
            f"The log has {log.n} joints ({', '.join(log.names)}), {robot.name} has {robot.n} "
            f"({', '.join(robot.joint_names)}). Choose columns by a mapping, or joints by log.select(...)."
        )


def one_way(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Tell which speeds do not change their sign, but for a twentieth of the largest."""
    back, forth = np.clip(-low, 0, None), np.clip(high, 0, None)
    return np.minimum(back, forth) < ONE_WAY * np.maximum(back, forth)
