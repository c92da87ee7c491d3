"""How a log is smoothed and differentiated: the settings that `taupi.prepare` and `taupi.identify` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.checks import one_of, or_none, positive, truth, whole_number
from taupi.settings import Settings

VELOCITIES = ("auto", "position", "measured")
# Differences are local; splines and series are fitted to the whole record at once.
LOCAL_DERIVATIVES = ("central", "backward", "recorded")
DERIVATIVES = ("central", "spline", "quintic", "fourier", "backward", "recorded")
LONG_GAPS = ("refuse", "interpolate", "longest")


@dataclass(frozen=True)
class Smoothing(Settings):
    """How a log is cleaned, filtered and differentiated.

    Attributes:
        cutoff_hz: Cutoff of the zero-phase Butterworth filter, Hz; by default chosen from the data.
        decimate: Keep every so many samples; by default as many as leave ten per period of the cutoff.
        order: Order of the filter.
        derivatives: How q is differentiated: "central" differences of fourth order, a smoothing "spline", a least-squares
            "quintic" spline with two knots per period of the cutoff, a "fourier" series, "backward" differences, or not at all,
            with the qd and qdd as "recorded".
        velocity: "measured" takes the recorded qd and differentiates it once, "position" differentiates q, "auto" takes the
            recorded qd where there is one that agrees with q and derivatives are "central".
        trim: Whether a standstill before and after the motion is left out.
        short_gap: Gaps of up to so many seconds are interpolated; by default ten samples.
        long_gaps: What becomes of longer gaps: "refuse", "interpolate", or keep the "longest" stretch without one.
    """

    cutoff_hz: float | None = None
    decimate: int | None = None
    order: int = 4
    derivatives: str = "central"
    velocity: str = "auto"
    trim: bool = True
    short_gap: float | None = None
    long_gaps: str = "refuse"

    checks: ClassVar = {
        "cutoff_hz": or_none(positive),
        "decimate": or_none(whole_number),
        "order": whole_number,
        "derivatives": one_of(DERIVATIVES),
        "velocity": one_of(VELOCITIES),
        "trim": truth,
        "short_gap": or_none(positive),
        "long_gaps": one_of(LONG_GAPS),
    }
