"""What a controller sees: encoders with a finite step, noise, velocities by differences or a filter, delay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from taupi.checks import finite, not_negative, one_of, one_or_each, or_none, positive
from taupi.errors import TaupiError
from taupi.settings import Settings

if TYPE_CHECKING:
    import numpy as np

    from taupi.dynamics.types import ArrayLike, Vector

VELOCITIES = ("exact", "difference", "filter")
OneOrEach = float | tuple[float, ...]


@dataclass(frozen=True)
class Sensors(Settings):
    """Encoders and tachometers between the plant and the controller.

    An elastic joint has two encoders, on its link and on its motor, which are alike.

    >>> import numpy as np, taupi as tp
    >>> tp.Sensors(resolution=2 * np.pi / 4096, velocity="filter", cutoff_hz=50.0).velocity
    'filter'

    Attributes:
        resolution: Step of the encoders, rad or m, one or one per joint: positions are rounded to its multiples; by default they
            are not.
        q_noise: Standard deviation of the noise of positions, added before the rounding, rad or m, one or one per joint.
        qd_noise: Standard deviation of the noise of velocities, where these are "exact", rad/s or m/s, one or one per joint.
        snr_db: Noise of positions in decibels below the rms of the reference instead: std = rms 10^(-snr_db / 20).
        velocity: "exact" measures qd; "difference" is (q(t) - q(t - T)) / T; "filter" passes that through a first-order low-pass.
        cutoff_hz: Cutoff of the low-pass, Hz.
        delay: Delay from motion to measurement, s; a whole number of control periods.
    """

    resolution: OneOrEach | None = None
    q_noise: OneOrEach = 0.0
    qd_noise: OneOrEach = 0.0
    snr_db: float | None = None
    velocity: str = "exact"
    cutoff_hz: float | None = None
    delay: float = 0.0

    checks: ClassVar = {
        "resolution": or_none(one_or_each(positive)),
        "q_noise": one_or_each(not_negative),
        "qd_noise": one_or_each(not_negative),
        "snr_db": or_none(finite),
        "velocity": one_of(VELOCITIES),
        "cutoff_hz": or_none(positive),
        "delay": not_negative,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.velocity == "filter") != (self.cutoff_hz is not None):
            raise TaupiError("{cutoff_hz} goes with {velocity='filter'}: give both or neither.")
        if self.velocity != "exact" and _noisy(self.qd_noise):
            raise TaupiError("{qd_noise} is for {velocity='exact'}: other velocities have the noise of q.")
        if self.snr_db is not None and _noisy(self.q_noise):
            raise TaupiError("{q_noise} and {snr_db} both say how large the noise of q is: give one.")

    @property
    def key(self) -> tuple[object, ...]:
        """What the traced sensors depend on."""
        return self.resolution, self.velocity, self.cutoff_hz, self.delay

    # In a loop ----------------------------------------------------------------------------------------------------

    def seen(
        self, q: Vector, qd: Vector, noise: Vector, memory: Mapping[str, Vector], dt: float, joints: Sequence[int]
    ) -> tuple[Vector, Vector, dict[str, Vector]]:
        """Return what is seen of positions and velocities, and what is remembered of them, over SX.

        Args:
            q: Positions (n,), rad or m.
            qd: Velocities (n,).
            noise: What is added to both (2 n,).
            memory: What was remembered, with the sizes of `memory_sizes`.
            dt: The control period, s.
            joints: The joint of each position.
        """
        import casadi as cs

        n = q.numel()
        seen_q = q + noise[:n]
        next_memory: dict[str, Vector] = {}
        if self.resolution is not None:
            count = cs.SX(for_each(self.resolution, joints))
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

    def memory_sizes(self, n: int, delay: int) -> dict[str, int]:
        """Return the sizes of what is remembered of n positions from one control period to the next; `delay` is in periods."""
        sizes = {"last_q": n} if self.velocity != "exact" else {}
        sizes |= {"last_qd": n} if self.velocity == "filter" else {}
        return sizes | ({"seen": 2 * n * delay} if delay else {})

    @staticmethod
    def first_memory(q: np.ndarray, qd: np.ndarray, dt: float, delay: int) -> dict[str, np.ndarray]:
        """Return what is remembered at the start: as if the joints had moved evenly before.

        `q` and `qd` are (..., n), `dt` is the control period in s, and `delay` is in periods.
        """
        import numpy as np

        return {
            "last_q": q - dt * qd,
            "last_qd": qd,
            "seen": np.concatenate([np.concatenate([q, qd], axis=-1)] * max(delay, 1), axis=-1),
        }

    def noise_deviations(self, joints: Sequence[int], reference: np.ndarray | None) -> np.ndarray:
        """Return the standard deviations of the noise of positions, then of velocities.

        `joints` has the joint of each position, `reference` the desired positions, (N, n).
        """
        import numpy as np

        q = for_each(self.q_noise, joints)
        if self.snr_db is not None:
            if reference is None:
                raise TaupiError("{snr_db} is relative to the reference, and there is none: give {q_noise} instead.")
            q = for_each(np.sqrt(np.mean(reference**2, axis=0)) * 10 ** (-self.snr_db / 20), joints)
        return np.concatenate([q, for_each(self.qd_noise, joints)])


def for_each(value: ArrayLike, joints: Sequence[int]) -> np.ndarray:
    """Return one number for each position from one for all, or one per joint; `joints` has the joint of each position."""
    import numpy as np

    n = max(joints) + 1
    try:
        return np.broadcast_to(np.asarray(value, dtype=float), (n,))[list(joints)].copy()
    except ValueError:
        raise TaupiError(
            "A setting of the sensors is {got!r}, expected a number or {expected}: one per joint.",
            got=value,
            expected=n,
        ) from None


def _noisy(deviation: OneOrEach) -> bool:
    return any(deviation) if isinstance(deviation, tuple) else bool(deviation)
