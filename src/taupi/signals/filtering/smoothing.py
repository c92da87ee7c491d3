"""How a log is smoothed and differentiated: the settings that `taupi.prepare` and `taupi.identify` share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypedDict

from taupi.checks import one_of, or_none, positive, truth, whole_number
from taupi.errors import Argument, TaupiError
from taupi.settings import Settings

VELOCITIES = ("auto", "position", "measured")
# Differences need a few neighbours; splines and series are fitted to the whole record at once, and cannot be streamed.
LOCAL_DERIVATIVES = ("central", "backward", "recorded")
DERIVATIVES = ("central", "spline", "quintic", "fourier", "backward", "recorded")
LONG_GAPS = ("refuse", "interpolate", "longest")
MOST_ORDER = 16  # steeper than any motion needs; of much higher orders, coefficients overflow
MOST_DECIMATE = 10_000  # from 1 MHz to 100 Hz: the filter of the rows keeps matrices of this size
LEAST_CUTOFF = 1e-6  # Hz: periods of days

filter_order = partial(whole_number, most=MOST_ORDER)


def _cutoff(name: str, value: float) -> float:
    """Return the cutoff of a filter, Hz."""
    hz = positive(name, value)
    if hz < LEAST_CUTOFF:
        raise TaupiError(
            "{argument} is {got:g}, expected at least {least_cutoff:g} Hz.",
            argument=Argument(name),
            got=hz,
            least_cutoff=LEAST_CUTOFF,
        )
    return hz


@dataclass(frozen=True, kw_only=True)
class Gaps(Settings):
    """How gaps in a log, and missing values, are handled.

    Attributes:
        short_gap: Longest gap that is interpolated, s; ten samples by default.
        long_gaps: How longer gaps are handled: "refuse" the log, "interpolate" them, or keep only the "longest" stretch without
            one.
    """

    short_gap: float | None = None
    long_gaps: str = "refuse"

    checks: ClassVar = {"short_gap": or_none(positive), "long_gaps": one_of(LONG_GAPS)}


class GapsOptions(TypedDict, total=False):
    """The fields of `Gaps` as keywords."""

    short_gap: float | None
    long_gaps: str


@dataclass(frozen=True)
class Smoothing(Gaps):
    """How a log is cleaned, filtered and differentiated: everything in `Gaps`, and the following.

    Attributes:
        cutoff_hz: Cutoff frequency of the zero-phase Butterworth filter, Hz; chosen from the data by default.
        decimate: Keep every n-th sample; by default the n that leaves ten samples per period of the cutoff.
        order: Order of the filter, up to 16; higher is steeper.
        derivatives: How q is differentiated: by "central" differences of fourth order, a smoothing "spline", a least-squares
            "quintic" spline with two knots per period of the cutoff, a "fourier" series (for periodic motions), "backward"
            differences, or not at all, taking qd and qdd as "recorded".
        velocity: Which velocity is used: "position" differentiates q, "measured" takes the recorded qd and differentiates it
            once, "auto" takes the recorded qd if there is one, it agrees with q, and derivatives are "central".
        trim: Whether the standstill before and after the motion is cut off.
    """

    cutoff_hz: float | None = None
    decimate: int | None = None
    order: int = 4
    derivatives: str = "central"
    velocity: str = "auto"
    trim: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        measured = self.velocity == "measured" and self.derivatives != "central"
        if measured or (self.derivatives == "recorded" and self.velocity != "auto"):
            raise TaupiError(
                "{velocity} is {got!r} and {derivatives} is {self_derivatives!r}, which contradict each other.",
                remedy="A measured velocity is differentiated with {derivatives='central'}.",
                got=self.velocity,
                self_derivatives=self.derivatives,
            )

    checks: ClassVar = {
        **Gaps.checks,
        "cutoff_hz": or_none(_cutoff),
        "decimate": or_none(partial(whole_number, most=MOST_DECIMATE)),
        "order": filter_order,
        "derivatives": one_of(DERIVATIVES),
        "velocity": one_of(VELOCITIES),
        "trim": truth,
    }


class BlockOptions(TypedDict, total=False):
    """Fields of `Smoothing` as keywords: those with a meaning for blocks of a record, except the cutoff."""

    decimate: int | None
    order: int
    derivatives: str
    velocity: str


class SmoothingDetails(BlockOptions, GapsOptions, total=False):
    """The fields of `Smoothing` as keywords, except the cutoff."""

    trim: bool


class SmoothingOptions(SmoothingDetails, total=False):
    """The fields of `Smoothing` as keywords."""

    cutoff_hz: float | None
