"""How logs become rows of the regressor: settings declared once for Python, the command line and the saved fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taupi.checks import finite, not_negative, one_of, one_or_each, or_none
from taupi.settings import Changes
from taupi.signals.filtering.smoothing import Smoothing
from taupi.signals.known_torque import check_known_torque

OneOrEach = float | tuple[float, ...] | None

LEAVE_OUT = ("row", "sample")
TORQUES = ("sampled", "held")


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
    """

    slow: OneOrEach = None
    threshold: OneOrEach = None
    leave_out: str = "row"
    torque: str | None = None
    encoder_delay: OneOrEach = None
    known_torque: tuple[str, ...] = ()

    checks: ClassVar = {
        **Smoothing.checks,
        "slow": or_none(one_or_each(not_negative)),
        "threshold": or_none(one_or_each(not_negative)),
        "leave_out": one_of(LEAVE_OUT),
        "torque": or_none(one_of(TORQUES)),
        "encoder_delay": or_none(one_or_each(finite)),
        "known_torque": check_known_torque,
    }


# Where a fit predicts a log, every row counts, and the shape of friction and known torques are the fit's own.
PREDICTION_CHANGES = Changes(Preparation, without=("slow", "threshold", "leave_out", "known_torque"))
