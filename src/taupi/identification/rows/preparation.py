"""How logs become rows of the regressor: settings for Python, the command line and the saved fit, and the cutoffs chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from taupi.checks import finite, not_negative, one_of, one_or_each, or_none, positive
from taupi.errors import Argument, TaupiError
from taupi.schema import Record
from taupi.settings import settle
from taupi.signals.filtering.smoothing import Smoothing, SmoothingOptions
from taupi.signals.known_torque import check_known_torque
from taupi.signals.reading import Reading, ReadingOptions, StreamingOptions

if TYPE_CHECKING:
    import numpy as np


OneOrEach = float | tuple[float, ...] | None

LEAVE_OUT = ("row", "sample")
TORQUES = ("sampled", "held")


def _above_minus_one(name: str, value: object) -> float:
    """Return `value` if 1 + value is a factor that a torque can be divided by."""
    number = finite(name, value)
    if number <= -1:
        raise TaupiError("{argument} is {got:g}, expected more than -1.", argument=Argument(name), got=number)
    return number


@dataclass(frozen=True)
class Preparation(Smoothing):
    """How logs become rows of the regressor, and which rows are used: everything in `Smoothing`, and the following.

    Attributes:
        slow: Speed v over which dry friction builds up, F tanh(qd / v), rad/s or m/s, one or one per joint; 0 means F sgn(qd). By
            default the shape of friction that explains the logs best.
        threshold: Rows of joints (of motors, for elastic joints) slower than this are left out, rad/s or m/s, one or one per
            joint; none by default.
        leave_out: What is left out when a joint is slow: only its own "row", or the "sample" with the rows of all joints.
        torque: Whether torques are "sampled" together with the positions, or "held" from each sample to the next, so that they
            act half a sample later; by default "sampled", and found from the log for elastic joints.
        encoder_delay: Delay of the encoders, s, one or one per joint: of the joint encoders behind the torques, 0 by default; for
            elastic joints of the motor encoders behind the link encoders, negative if the latter are late, found from the logs by
            default. The late encoders are shifted.
        known_torque: Torque that acts on a joint besides the motor's, such as that of a counterbalance, as a formula of q, where
            q1, q2, ... are the robot's joints in order: "elbow = 12*sin(q2)", in Python also {"elbow": "12*sin(q2)"}. None by
            default.
        relative_gains: By how much the recorded torque of each joint reads high beside those of the others, 0.09 for 9 %, one
            per joint: it is divided by 1 + this, and predictions are multiplied by it. Found from the logs by default, where
            these show it; 0 takes torques as they were recorded.
    """

    slow: OneOrEach = None
    threshold: OneOrEach = None
    leave_out: str = "row"
    torque: str | None = None
    encoder_delay: OneOrEach = None
    known_torque: tuple[str, ...] = ()
    relative_gains: OneOrEach = None

    checks: ClassVar = {
        **Smoothing.checks,
        "slow": or_none(one_or_each(not_negative)),
        "threshold": or_none(one_or_each(not_negative)),
        "leave_out": one_of(LEAVE_OUT),
        "torque": or_none(one_of(TORQUES)),
        "encoder_delay": or_none(one_or_each(finite)),
        "known_torque": check_known_torque,
        "relative_gains": or_none(one_or_each(_above_minus_one)),
    }


class DelayOptions(TypedDict, total=False):
    """Fields of `Preparation` as keywords: when torques act and encoders answer."""

    torque: str | None
    encoder_delay: float | Sequence[float] | np.ndarray | None


class PreparationOptions(SmoothingOptions, DelayOptions, total=False):
    """The fields of `Preparation` as keywords."""

    slow: float | Sequence[float] | np.ndarray | None
    threshold: float | Sequence[float] | np.ndarray | None
    leave_out: str
    known_torque: str | Sequence[str] | Mapping[str, object]
    relative_gains: float | Sequence[float] | np.ndarray | None


class FitOptions(StreamingOptions, PreparationOptions, total=False):
    """The fields of `Streaming` and `Preparation` as keywords, for functions that fit logs."""


class CurrentOptions(ReadingOptions, PreparationOptions, total=False):
    """The fields of `Reading` and `Preparation` as keywords, for functions that need whole logs."""


class PredictionOptions(ReadingOptions, SmoothingOptions, DelayOptions, total=False):
    """Fields of `Reading` and `Preparation` as keywords, for functions in which a fit predicts a log."""


# Where a fit predicts a log, every row counts, and the shape of friction and known torques are the fit's own.
SET_BY_THE_FIT = ("slow", "threshold", "leave_out", "known_torque", "relative_gains")


def settle_prediction(
    function: Callable[..., object],
    options: Mapping[str, object],
    reading: Reading | None,
    preparation: Preparation | None,
) -> tuple[Reading, dict[str, Any]]:
    """Return how a log is read that a fit predicts, and what differs in its preparation from that of the fit's logs."""
    subjects = (Reading, reading), (Preparation, preparation)
    settings, prepared = settle(function, options, *subjects, without=SET_BY_THE_FIT)
    named = options if preparation is None else prepared.names()
    changed = [name for name in prepared.names() if name in named and name not in SET_BY_THE_FIT]
    return settings, {name: getattr(prepared, name) for name in changed}


@dataclass(frozen=True)
class ChosenCutoffs(Record):
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
