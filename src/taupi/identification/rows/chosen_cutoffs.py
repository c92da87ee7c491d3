"""The cutoffs that were chosen for all logs of a fit together: for the fit, for predictions, and how certain they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from taupi.checks import positive


@dataclass(frozen=True)
class ChosenCutoffs:
    """The cutoffs of a fit, chosen over all logs together, and the facts that they were chosen by.

    Attributes:
        fit_hz: The cutoff of the rows that were fitted, Hz; a log too short for it has a higher one.
        validation_hz: The cutoff up to which the motion of a log is taken for predictions, Hz.
        slow: Whether the motion is too slow to show inertias, so that the cutoff is the highest that the noise of q allows.
        half_hz: Above this frequency, the residual of a first model has half of the torque's power, Hz; None if it always has.
        equal_hz: Above this frequency, it has as much power as the torque, Hz. Between the two, the choice matters little.
        suggested_hz: What the spectrum of q alone suggests, Hz.
        least_hz: What the motion of all logs needs, Hz.
        most_hz: What the noise of q allows, Hz.
    """

    fit_hz: float
    validation_hz: float
    slow: bool
    half_hz: float | None
    equal_hz: float | None
    suggested_hz: float
    least_hz: float
    most_hz: float

    def __post_init__(self) -> None:
        for name in ("fit_hz", "validation_hz"):
            positive(name, getattr(self, name))

    @property
    def flat_hz(self) -> tuple[float, float]:
        """The lowest and highest cutoff, Hz, between which there is no reason to prefer one."""
        hz = sorted((self.fit_hz, self.validation_hz, *(f for f in (self.half_hz, self.equal_hz) if f is not None)))
        low, high = (min(max(f, self.least_hz), self.most_hz) for f in (hz[0], hz[-1]))
        return low, high

    @property
    def note(self) -> str:
        """What was chosen and why, in words."""
        if self.half_hz is None or self.equal_hz is None:
            explained = f"the model explains little of the torque, and q alone suggests {self.suggested_hz:.3g} Hz"
        else:
            explained = f"the model explains half of the torque's power up to {self.half_hz:.3g} Hz, and some up to "
            explained += f"{self.equal_hz:.3g} Hz"
        slow = " The motion is too slow to show inertias, so all is fitted that the noise allows." if self.slow else ""
        low, high = self.flat_hz
        return (
            f"cutoff {self.fit_hz:.3g} Hz for all logs, {self.validation_hz:.3g} Hz for predictions: {explained}; the motion "
            f"needs {self.least_hz:.3g} Hz, and the noise of q allows {self.most_hz:.3g} Hz.{slow} Anything from {low:.3g} to "
            f"{high:.3g} Hz would do."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the cutoffs as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ChosenCutoffs:
        """Return the cutoffs that `to_dict` returned as `data`."""
        return cls(**data)
