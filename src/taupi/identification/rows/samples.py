"""The samples of a log as a regressor takes them: motion and torque of its rows, and which rows are used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.equations import Equations

if TYPE_CHECKING:
    from taupi.signals.log import Log

# A joint whose speed in one direction is below this share of that in the other does not reverse: filters and encoders cause it.
ONE_WAY = 0.05
_ARRAYS = ("q", "qd", "qdd", "tau", "use", "time")


@dataclass(frozen=True)
class Samples:
    """q, qd, qdd, tau of shape (N, n) at `time` (N,); `use` (N, n) is false where the row of a joint is not used.

    For an elastic robot n is the number of its `Equations`, and q holds the positions of links and motors.
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    use: np.ndarray
    time: np.ndarray
    known: np.ndarray | float = 0.0  # the part of tau that does not pass through the gears: known torques (N, n)

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, rows: slice) -> Samples:
        known = self.known[rows] if isinstance(self.known, np.ndarray) else self.known
        return Samples(**{name: getattr(self, name)[rows] for name in _ARRAYS}, known=known)

    def __add__(self, other: Samples) -> Samples:
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _ARRAYS}
        arrays = isinstance(self.known, np.ndarray) and isinstance(other.known, np.ndarray)
        return Samples(**both, known=np.concatenate([self.known, other.known]) if arrays else self.known)


def samples_of(
    log: Log,
    equations: Equations,
    least_speeds: np.ndarray,
    span: tuple[float, float] = (-np.inf, np.inf),
    all_joints: bool = False,
    formulas: Sequence[str] = (),
) -> Samples:
    """Return the samples of a log; rows slower than `least_speeds` (n,), and those outside a `span` of time, are not used.

    With `all_joints`, no row of a sample is used if any of them is slow. Known torques, those of the log and those of
    `formulas`, are added to the torques.
    """
    equations.check(log)
    (q, qd, qdd), known = equations.motion(log), equations.known_torque(log, formulas)
    tau = equations.torque(log) + known
    for name, value in (("q", q), ("qd", qd), ("qdd", qdd), ("tau", tau)):
        if not np.isfinite(value).all():
            raise TaupiError(f"{name} of the log is not finite. Clean it first: taupi.clean_log.")
    inside, fast = (log.time >= span[0]) & (log.time <= span[1]), np.abs(qd) >= least_speeds
    fast = np.broadcast_to(fast.all(axis=1)[:, None], fast.shape) if all_joints else fast
    return Samples(q, qd, qdd, tau, fast & inside[:, None], log.time, known)


def one_way(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which velocities, from `low` to `high`, do not change their sign by more than a twentieth of the largest speed."""
    back, forth = np.clip(-low, 0, None), np.clip(high, 0, None)
    return np.minimum(back, forth) < ONE_WAY * np.maximum(back, forth)
