"""Certificates: the largest values that a motion reaches at any time, beside its limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.excitation.limits.enclosures import enclosed
from taupi.excitation.limits.motion_limits import MotionLimits
from taupi.excitation.limits.torque_rows import described_terms, torque_rate_program
from taupi.excitation.motions.bounded import BoundedMotion
from taupi.model.robot import Robot
from taupi.regressors.classical import regressor

HULL = "hull of the motion"
INTERVALS = "interval arithmetic along the motion"
MOTION = ("position", "velocity", "acceleration", "jerk")
# Two ways of computing the same bound differ by this much, as a share of the limit.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Certificate:
    """The largest value, `bound` (k,), that a `quantity` of each of `joints` reaches at any time, beside its `limit` (k,).

    Positions are measured from the middle of their range. `how` names the method of proof. `time` (k,), in s, is when
    the torque is largest, NaN if no time stands out. `allowed` is the share of each limit that may be used.
    """

    quantity: str
    joints: tuple[str, ...]
    bound: np.ndarray
    limit: np.ndarray
    how: str
    time: np.ndarray
    allowed: float = 1.0

    @property
    def used(self) -> np.ndarray:
        """The share of each limit that is used."""
        return np.asarray(np.divide(self.bound, self.limit))

    @property
    def ok(self) -> bool:
        """Whether no more than the allowed share of any limit is used, at any time."""
        return bool((self.used <= self.allowed + _ROUNDING).all())

    @property
    def worst(self) -> int:
        """The joint that uses most of its limit."""
        return int(np.argmax(self.used))

    @property
    def sentence(self) -> str:
        """The certificate in words."""
        k = self.worst
        verb = "keeps" if self.ok else "exceeds"
        allowed = f", {self.allowed:.0%} allowed" if self.allowed < 1 else ""
        reached = f"at most {self.used[k]:.1%} ({self.joints[k]})"
        return f"{self.quantity} {verb} its limits: {reached}{allowed}, by {self.how}."

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "ok": self.ok,
            "how": self.how,
            "allowed": self.allowed,
            "joints": {
                name: {
                    "bound": float(b),
                    "limit": float(v),
                    "used": float(u),
                    "time": None if math.isnan(t) else float(t),
                }
                for name, b, v, u, t in zip(self.joints, self.bound, self.limit, self.used, self.time, strict=True)
            },
        }


def motion_certificates(motion: BoundedMotion, limits: MotionLimits) -> list[Certificate]:
    """Return certificates of position, speed, acceleration and jerk, if these are limited."""
    result = []
    for order, name in enumerate(MOTION):
        limit = limits.of_order(order)
        limited = np.isfinite(limit)
        if not limited.any():
            continue
        low, high = motion.extent(order, limits.spread)
        middle = limits.middle if order == 0 else np.zeros(len(low))
        bound = np.maximum(high - middle, middle - low)[limited]
        joints = tuple(j for j, use in zip(limits.joints, limited, strict=True) if use)
        result.append(Certificate(name, joints, bound, limit[limited], HULL, np.full(len(bound), np.nan)))
    return result


def torque_certificate(
    robot: Robot, motion: BoundedMotion, limits: MotionLimits, effort: float, uncertainty: float = 0.0
) -> Certificate:
    """Return the certificate of torques, friction included; `uncertainty` is a share by which every parameter may be off."""
    terms = described_terms(smooth=False)
    if uncertainty:
        program = regressor(robot, terms=terms)
        pi = program.parameters.values
        width = uncertainty * np.abs(pi)
        enclosure = enclosed(program.times("pi"), motion, ((pi - width, pi + width),))
    else:
        enclosure = enclosed(inverse_dynamics(robot, terms=terms), motion)
    how = INTERVALS + (f", parameters known to {uncertainty:.0%}" if uncertainty else "")
    return Certificate("torque", robot.joint_names, enclosure.bound, limits.effort, how, enclosure.time, effort)


def torque_rate_certificate(robot: Robot, motion: BoundedMotion, limits: MotionLimits) -> Certificate:
    """Return the certificate of torque rates, without the jumps of dry friction at reversals."""
    enclosure = enclosed(torque_rate_program(robot), motion)
    how = f"{INTERVALS}, without the jumps of dry friction"
    return Certificate("torque rate", robot.joint_names, enclosure.bound, limits.torque_rate, how, enclosure.time)
