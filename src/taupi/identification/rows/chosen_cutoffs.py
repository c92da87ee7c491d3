"""The cutoffs that were chosen for all logs of a fit together, as data: for the fit, for predictions, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from taupi.signals.motion_spectrum import CutoffBounds


@dataclass(frozen=True)
class ChosenCutoffs:
    """The cutoffs of a fit, chosen over all logs, and the trials that they were chosen from.

    Attributes:
        fit_hz: The cutoff of the rows that were fitted, Hz; a log too short for it has a higher one.
        validation_hz: The cutoff up to which the motion of a log is taken for predictions, Hz.
        slow: Whether the motion is too slow to decide about inertias, so that all was fitted that the noise of q allows.
        flat_fit_hz: The lowest and the highest cutoff, Hz, whose fits predict as well as the best, by what the trials can tell.
        flat_validation_hz: The same for the motion of predictions.
        least_hz: What the motion of all logs needs, Hz.
        most_hz: What the noise of q allows, Hz.
        tried_hz: The cutoffs that were tried, Hz.
        errors: The errors of predictions at each of them, relative to the best.
    """

    fit_hz: float
    validation_hz: float
    slow: bool
    flat_fit_hz: tuple[float, float]
    flat_validation_hz: tuple[float, float]
    least_hz: float
    most_hz: float
    tried_hz: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()

    @classmethod
    def without_trial(cls, bounds: CutoffBounds) -> ChosenCutoffs:
        """Return the cutoffs for logs that are too short or too still for trials: in the middle of the `bounds`."""
        hz = float(f"{bounds.centre_hz:.3g}")
        span = (bounds.least_hz, bounds.most_hz)
        return cls(hz, hz, False, span, span, *span)

    @property
    def note(self) -> str:
        """What was chosen and why, in words."""
        bounds = f"the motion needs {self.least_hz:.3g} Hz, and the noise of q allows {self.most_hz:.3g} Hz"
        if not self.tried_hz:
            return f"cutoff {self.fit_hz:.3g} Hz for all logs, in the middle: {bounds}"
        low, high = self.flat_fit_hz
        slow = (
            " The motion is too slow to decide about inertias, so all is fitted that the noise allows." if self.slow else ""
        )
        return (
            f"cutoff {self.fit_hz:.3g} Hz for all logs, and {self.validation_hz:.3g} Hz for predictions: from {low:.3g} to "
            f"{high:.3g} Hz, parts of the logs are predicted alike; {bounds}.{slow}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the cutoffs as plain data."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ChosenCutoffs:
        """Return the cutoffs that `to_dict` returned as `data`."""
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})
