"""What a controller sees: encoders with a finite step, noise, velocities by differences or a filter, delay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from taupi.checks import finite, not_negative, one_of, one_or_each, or_none, positive
from taupi.errors import Argument, TaupiError
from taupi.settings import Settings

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
            raise TaupiError(
                Argument("cutoff_hz"), " goes with ", Argument("velocity", "filter"), ": give both or neither."
            )
        if self.velocity != "exact" and _noisy(self.qd_noise):
            raise TaupiError(
                Argument("qd_noise"),
                " is for ",
                Argument("velocity", "exact"),
                ": other velocities have the noise of q.",
            )
        if self.snr_db is not None and _noisy(self.q_noise):
            raise TaupiError(
                Argument("q_noise"), " and ", Argument("snr_db"), " both say how large the noise of q is: give one."
            )

    @property
    def key(self) -> tuple[Any, ...]:
        """What the traced sensors depend on."""
        return self.resolution, self.velocity, self.cutoff_hz, self.delay


def _noisy(deviation: OneOrEach) -> bool:
    return any(deviation) if isinstance(deviation, tuple) else bool(deviation)
