"""What a controller sees: encoders that count, noise, velocities by differences or a filter, delay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np

from taupi.errors import Argument, TaupiError, shown, unknown

VELOCITIES = ("exact", "difference", "filter")


@dataclass(frozen=True, eq=False)
class Sensors:
    """Encoders and tachometers between the plant and the controller; each setting is one number or one per joint.

    An elastic joint has two encoders, on its link and on its motor, which are alike.

    `resolution` (rad or m) rounds positions to whole counts. `q_noise`, `qd_noise` are standard deviations, added before
    the rounding; `snr_db` gives that of q by decibels below the rms of the reference: std = rms 10^(-snr_db / 20).
    `velocity`: "exact" measures qd; "difference" is (q_k - q_{k-1}) / T; "filter" passes that through a low pass of first
    order at `cutoff_hz`. `delay` (s) is a whole number of control periods.

    >>> import numpy as np, taupi as tp
    >>> tp.Sensors(resolution=2 * np.pi / 4096, velocity="filter", cutoff_hz=50.0).velocity
    'filter'
    """

    resolution: Any = None
    q_noise: Any = 0.0
    qd_noise: Any = 0.0
    snr_db: float | None = None
    velocity: str = "exact"
    cutoff_hz: float | None = None
    delay: float = 0.0

    def __post_init__(self) -> None:
        if self.velocity not in VELOCITIES:
            raise unknown("velocity", self.velocity, VELOCITIES)
        if (self.velocity == "filter") != (self.cutoff_hz is not None):
            raise TaupiError("cutoff_hz goes with velocity='filter': give both or neither.")
        if self.cutoff_hz is not None and not (
            isinstance(self.cutoff_hz, int | float) and 0 < self.cutoff_hz < math.inf
        ):
            raise TaupiError(f"cutoff_hz is {shown(self.cutoff_hz)}, expected a finite number above 0.")
        if self.velocity != "exact" and np.any(np.asarray(self.qd_noise)):
            raise TaupiError("qd_noise is for velocity='exact': other velocities have the noise of q.")
        if self.snr_db is not None and np.any(np.asarray(self.q_noise)):
            raise TaupiError(
                Argument("q_noise"), " and ", Argument("snr_db"), " both say how large the noise of q is: give one."
            )
        if self.snr_db is not None and not (
            isinstance(self.snr_db, int | float | np.number) and math.isfinite(self.snr_db)
        ):
            raise TaupiError(f"snr_db is {shown(self.snr_db)}, expected decibels, a finite number.")
        if not (isinstance(self.delay, int | float) and 0 <= self.delay < math.inf):
            raise TaupiError(f"delay is {shown(self.delay)}, expected seconds, 0 or more.")
        for name in ("resolution", "q_noise", "qd_noise"):
            value = getattr(self, name)
            try:
                array = np.asarray(0.0 if value is None else value, dtype=float)
                good = bool(np.isfinite(array).all() and (array >= 0).all())
            except (TypeError, ValueError):
                good = False
            if not good or (name == "resolution" and value is not None and not np.all(value)):
                least = " above 0" if name == "resolution" else ", 0 or more"
                raise TaupiError(Argument(name), f" is {shown(value)}, expected a finite number{least}.")

    @property
    def key(self) -> tuple[Any, ...]:
        """What the traced sensors depend on."""
        counts = None if self.resolution is None else tuple(np.ravel(np.asarray(self.resolution, dtype=float)).tolist())
        return counts, self.velocity, self.cutoff_hz, self.delay

    def deviations(self, joints: Sequence[int], reference: np.ndarray | None) -> np.ndarray:
        """Return the standard deviations of the noise of positions, then of velocities; `joints` has the joint of each."""
        q = each(self.q_noise, joints)
        if self.snr_db is not None:
            if reference is None:
                raise TaupiError(
                    Argument("snr_db"),
                    " is relative to the reference, and there is none: give ",
                    Argument("q_noise"),
                    " instead.",
                )
            q = each(np.sqrt(np.mean(reference**2, axis=0)) * 10 ** (-float(self.snr_db) / 20), joints)
        return np.concatenate([q, each(self.qd_noise, joints)])

    def memory(self, n: int, delay: int) -> dict[str, int]:
        """Return the sizes of what is remembered from one control period to the next."""
        sizes = {"last_q": n} if self.velocity != "exact" else {}
        sizes |= {"last_qd": n} if self.velocity == "filter" else {}
        return sizes | ({"seen": 2 * n * delay} if delay else {})

    def start(self, q: np.ndarray, qd: np.ndarray, dt: float, delay: int) -> dict[str, np.ndarray]:
        """Return what is remembered at first: as if the joints had moved evenly before."""
        return {
            "last_q": q - dt * qd,
            "last_qd": qd,
            "seen": np.concatenate([np.concatenate([q, qd], axis=-1)] * max(delay, 1), axis=-1),
        }

    def trace(
        self, q: Any, qd: Any, noise: Any, memory: dict[str, Any], dt: float, joints: Sequence[int]
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Return what is seen of positions and velocities, and what is remembered, over SX."""
        n = q.numel()
        seen_q, next_memory = q + noise[:n], dict[str, Any]()
        if self.resolution is not None:
            count = cs.SX(each(self.resolution, joints))
            seen_q = count * cs.floor(seen_q / count + 0.5)
        seen_qd = qd + noise[n:]
        if self.velocity != "exact":
            seen_qd = (seen_q - memory["last_q"]) / dt
            next_memory["last_q"] = seen_q
        if self.velocity == "filter" and self.cutoff_hz is not None:
            keep = math.exp(-2 * math.pi * self.cutoff_hz * dt)
            seen_qd = keep * memory["last_qd"] + (1 - keep) * seen_qd
            next_memory["last_qd"] = seen_qd
        if "seen" in memory:
            queue = memory["seen"]
            next_memory["seen"] = cs.vertcat(queue[2 * n :], seen_q, seen_qd)
            seen_q, seen_qd = queue[:n], queue[n : 2 * n]
        return seen_q, seen_qd, next_memory


def each(value: Any, joints: Sequence[int]) -> np.ndarray:
    """Return one number for each position from one for all, or one per joint; `joints` has the joint of each position."""
    n = max(joints) + 1
    try:
        return np.broadcast_to(np.asarray(value, dtype=float), (n,))[list(joints)].copy()
    except ValueError:
        raise TaupiError(
            f"A setting of the sensors is {shown(value)}, expected a number or {n}: one per joint."
        ) from None
