"""How logs become rows of the regressor: the settings, declared once for Python, the command line and the saved fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.checks import finite, not_negative, one_of, one_or_each, or_none
from taupi.signals.smoothing import Smoothing

OneOrEach = float | tuple[float, ...] | None

LEAVE_OUT = ("row", "sample")
TORQUES = ("sampled", "held")


@dataclass(frozen=True)
class Preparation(Smoothing):
    """How logs become rows of the regressor, and which rows count: everything in `Smoothing`, and what follows.

    Attributes:
        slow: Speed at which dry friction sets in, F tanh(qd / slow), in rad/s or m/s, one or one per joint; 0 is F sgn(qd). By
            default the shape that explains the logs best.
        threshold: Rows of joints (motors) slower than this are left out, in rad/s or m/s, one or one per joint.
        leave_out: What a slow row takes with it: only the "row", or the whole "sample".
        torque: Whether torques are "sampled" when positions are, or "held" from each sample to the next, so that they act half a
            sample later; for elastic robots found from the log by default.
        encoder_delay: Seconds by which encoders of motors are later than those of links, one or one per joint; for elastic
            robots found from the log by default.
    """

    slow: OneOrEach = None
    threshold: OneOrEach = None
    leave_out: str = "row"
    torque: str | None = None
    encoder_delay: OneOrEach = None

    checks: ClassVar = {
        **Smoothing.checks,
        "slow": or_none(one_or_each(not_negative)),
        "threshold": or_none(one_or_each(not_negative)),
        "leave_out": one_of(LEAVE_OUT),
        "torque": or_none(one_of(TORQUES)),
        "encoder_delay": or_none(one_or_each(finite)),
    }
