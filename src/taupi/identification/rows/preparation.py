"""How logs become rows of the regressor: the settings, declared once for Python, the command line and the saved fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.checks import finite, not_negative, one_of, one_or_each, or_none, positive, truth, whole_number
from taupi.settings import Settings

OneOrEach = float | tuple[float, ...] | None

VELOCITIES = ("auto", "position", "measured")
DERIVATIVES = ("central", "spline", "quintic", "fourier", "backward", "recorded")
LONG_GAPS = ("refuse", "interpolate", "longest")
LEAVE_OUT = ("row", "sample")
TORQUES = ("sampled", "held")


@dataclass(frozen=True)
class Preparation(Settings):
    """How logs become rows of the regressor, and which rows count.

    Attributes:
        cutoff_hz: Cutoff of the zero-phase Butterworth that regressor and torque both pass, Hz; by default from the data.
        decimate: Keep every so many samples; by default as many as leave ten per period of the cutoff.
        order: Order of the filter.
        derivatives: How q is differentiated: "central" differences, smoothing "spline", least-squares "quintic" spline, "fourier"
            series, "backward" differences, or the "recorded" qd and qdd.
        velocity: "measured" takes the recorded qd, "position" differentiates q, "auto" takes the recorded one where it agrees
            with q.
        trim: Whether a standstill before and after the motion is left out.
        short_gap: Gaps up to so many seconds are interpolated; by default ten samples.
        long_gaps: What becomes of longer gaps: "refuse", "interpolate", or keep the "longest" stretch without any.
        slow: Speed at which dry friction sets in, F tanh(qd / slow), in rad/s or m/s, one or one per joint; 0 is F sgn(qd). By
            default the shape that explains the logs best.
        threshold: Rows of joints (motors) slower than this are left out, in rad/s or m/s, one or one per joint.
        leave_out: What a slow row takes with it: only the "row", or the whole "sample".
        torque: Whether torques are "sampled" when positions are, or "held" from each sample to the next; found from the log for
            elastic robots by default.
        encoder_delay: Seconds by which encoders of motors are later than those of links, one or one per joint; found from the
            log for elastic robots by default.
    """

    cutoff_hz: float | None = None
    decimate: int | None = None
    order: int = 4
    derivatives: str = "central"
    velocity: str = "auto"
    trim: bool = True
    short_gap: float | None = None
    long_gaps: str = "refuse"
    slow: OneOrEach = None
    threshold: OneOrEach = None
    leave_out: str = "row"
    torque: str | None = None
    encoder_delay: OneOrEach = None

    checks: ClassVar = {
        "cutoff_hz": or_none(positive),
        "decimate": or_none(whole_number),
        "order": whole_number,
        "derivatives": one_of(DERIVATIVES),
        "velocity": one_of(VELOCITIES),
        "trim": truth,
        "short_gap": or_none(positive),
        "long_gaps": one_of(LONG_GAPS),
        "slow": or_none(one_or_each(not_negative)),
        "threshold": or_none(one_or_each(not_negative)),
        "leave_out": one_of(LEAVE_OUT),
        "torque": or_none(one_of(TORQUES)),
        "encoder_delay": or_none(one_or_each(finite)),
    }
