"""Certificates: the largest values that a motion reaches at any time, beside its limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.dynamics.terms import Curve, Load, Term
from taupi.excitation.limits.motion_limits import MotionLimits
from taupi.excitation.limits.sampled_rows import described_terms, torque_rate_program
from taupi.excitation.motions.bounded import BoundedMotion, JoinedMotion
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.regressors.classical import regressor

# Initial number of stretches per second; only those that decide the bound are halved.
_RATE_HZ = 200.0
# A bound this much above the largest value found is good enough.
_TIGHT = 0.02
# Stretches are halved at most this often: from 5 ms to 20 us.
_HALVINGS = 8
# s: interval for a mean jerk.
_LEAST_SPAN = 1e-5
# Number per call, so that the registers of a long program fit in memory.
_AT_ONCE = 4096

Box = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class OutputExtremes:
    """The largest magnitude (p,) that outputs can have, and the largest found (p,), with its times (p,)."""

    bound: np.ndarray
    met: np.ndarray
    time: np.ndarray


def parts_of(motion: BoundedMotion) -> Iterator[tuple[float, BoundedMotion]]:
    """Yield the smooth parts of a motion with the times at which they begin."""
    if isinstance(motion, JoinedMotion):
        yield from zip(motion.beginnings, motion.parts, strict=True)
    else:
        yield 0.0, motion


def boxes(motion: BoundedMotion, times: np.ndarray, half: np.ndarray, orders: int) -> list[Box]:
    """Return boxes that hold q, qd, qdd and, for four orders, the jerk in [t - h, t + h]; times and half are (N,).

    q(t + s) = q + qd s + ..., |s| <= h: q stays within |qd| h + a h^2 / 2, qd within |qdd| h + j h^2 / 2, qdd within j h, with
    a and j the bounds of acceleration and jerk. The jerk differs from its mean by at most 2 h times the bound of its derivative.
    """
    a, j, h = motion.bounds(2), motion.bounds(3), half[:, None]
    q, qd, qdd = motion(times)
    widths = (np.abs(qd) * h + a * h**2 / 2, np.abs(qdd) * h + j * h**2 / 2, j * h)
    # The states themselves are rounded.
    result = [
        (x - w - 1e-14 * (1 + np.abs(x)), x + w + 1e-14 * (1 + np.abs(x)))
        for x, w in zip((q, qd, qdd), widths, strict=True)
    ]
    if orders == 4:
        # A mean needs some time; a longer stretch contains a shorter one.
        span = np.maximum(half, _LEAST_SPAN)
        early, late = np.clip(times - span, 0.0, motion.duration), np.clip(times + span, 0.0, motion.duration)
        mean = (motion(late).qdd - motion(early).qdd) / (late - early)[:, None]
        width = 2 * span[:, None] * motion.bounds(4) + 1e-9 * j
        result.append((np.maximum(mean - width, -j), np.minimum(mean + width, j)))
    return result


def enclosed(
    program: Program,
    motion: BoundedMotion,
    fixed: tuple[Box, ...] = (),
    late: Callable[[], bool] = lambda: False,
) -> OutputExtremes:
    """Return bounds of the outputs (p,) of a program of (q, qd, qdd[, qddd], *fixed) along a whole motion.

    Stretches are halved where that tightens the bounds, until it is `late`: then those left keep the bounds that they have.
    """
    over = program.compile("interval")
    orders = len(program.inputs) - len(fixed)
    # At a single instant without uncertainty, no intervals are needed.
    plain = None if fixed or orders > 3 else program.compile("numpy")
    parts = [_of_part(over, plain, part, begin, orders, fixed, late) for begin, part in parts_of(motion)]
    best = np.argmax([f.met for f in parts], axis=0)
    place = np.arange(len(best))
    return OutputExtremes(
        np.max([f.bound for f in parts], axis=0),
        np.array([f.met for f in parts])[best, place],
        np.array([f.time for f in parts])[best, place],
    )


def _of_part(
    over: Callable[..., tuple[np.ndarray, np.ndarray]],
    plain: Callable[..., object] | None,
    motion: BoundedMotion,
    begin: float,
    orders: int,
    fixed: tuple[Box, ...],
    late: Callable[[], bool],
) -> OutputExtremes:
    count = max(1, int(np.ceil(motion.duration * _RATE_HZ)))
    half = np.full(count, motion.duration / count / 2)
    times = (2 * np.arange(count) + 1) * half
    bound = met = when = outer = None
    for depth in range(_HALVINGS + 1):
        parts, values = [], []
        for k in range(0, len(times), _AT_ONCE):
            if outer is not None and late():
                # A stretch reaches no more than the longer one that it is half of.
                parts.append(outer[k:])
                break
            some = slice(k, k + _AT_ONCE)
            parts.append(_reach(over, motion, times[some], half[some], orders, fixed))
            # The value at the middle is one that the bound cannot be below.
            values.append(
                _reach(over, motion, times[some], 0 * half[some], orders, fixed)
                if plain is None
                else np.abs(np.asarray(plain(*motion(times[some]))))
            )
        reach = np.vstack(parts)
        if met is None or bound is None or when is None:
            bound, met, when = (np.zeros(reach.shape[1]) for _ in range(3))
        if values:
            value = np.vstack(values)
            at, top = value.argmax(axis=0), value.max(axis=0)
            when, met = np.where(top > met, begin + times[at], when), np.maximum(met, top)
        wide = (reach > (1 + _TIGHT) * met).any(axis=1) & (depth < _HALVINGS and not late())
        bound = np.maximum(bound, reach[~wide].max(axis=0, initial=0.0))
        if not wide.any():
            break
        half, outer = np.repeat(half[wide] / 2, 2), np.repeat(reach[wide], 2, axis=0)
        times = np.repeat(times[wide], 2) + np.tile([-1.0, 1.0], len(half) // 2) * half
    assert bound is not None and met is not None and when is not None
    return OutputExtremes(bound, met, when)


def _reach(
    over: Callable[..., tuple[np.ndarray, np.ndarray]],
    motion: BoundedMotion,
    times: np.ndarray,
    half: np.ndarray,
    orders: int,
    fixed: tuple[Box, ...],
) -> np.ndarray:
    """Return the largest magnitude (N, p) of the outputs in each stretch."""
    low, high = over(*boxes(motion, times, half, orders), *fixed)
    return np.asarray(np.maximum(-low, high))


HULL = "hull of the motion"
INTERVALS = "interval arithmetic along the motion"
MOTION = ("position", "velocity", "acceleration", "jerk")
# Two ways of computing the same bound differ by this much, as a share of the limit.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Certificate:
    """The largest value of a quantity at any time of a motion, joint by joint, beside its limit.

    Attributes:
        quantity: What is bounded: "position", "velocity", "acceleration", "jerk", "torque" or "torque rate".
        joints: The names of the k joints that have a limit.
        bound: What each reaches at most (k,), in SI units; positions are measured from the middle of their range.
        limit: The limits (k,).
        how: The method of proof.
        time: When torques are largest (k,), in s; NaN if no time stands out.
        allowed: The share of each limit that may be used; 1 by default.
        found: The largest values at the instants that were looked at (k,); None if `bound` is exact.
    """

    quantity: str
    joints: tuple[str, ...]
    bound: np.ndarray
    limit: np.ndarray
    how: str
    time: np.ndarray
    allowed: float = 1.0
    found: np.ndarray | None = None

    @property
    def refuted(self) -> bool:
        """Whether the limit is known to be exceeded; a certificate may also fail because its bound is too loose."""
        found = self.bound if self.found is None else self.found
        return bool((found / self.limit > self.allowed + _ROUNDING).any())

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
        verb = "keeps" if self.ok else "exceeds" if self.refuted else "is not proven to keep"
        allowed = f", {self.allowed:.0%} allowed" if self.allowed < 1 else ""
        reached = f"at most {self.used[k]:.1%} ({self.joints[k]})"
        return f"{self.quantity} {verb} its limits: {reached}{allowed}, by {self.how}."

    def to_dict(self) -> dict[str, object]:
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
    robot: Robot,
    motion: BoundedMotion,
    limits: MotionLimits,
    effort: float,
    uncertainty: float = 0.0,
    late: Callable[[], bool] = lambda: False,
) -> Certificate:
    """Return the certificate of torques, friction included as it is: dry, not smoothed as the search has it.

    Args:
        robot: The robot.
        motion: A motion with bounds of its derivatives.
        limits: The limits; torques have `limits.effort` (n,).
        effort: The share of them that may be used.
        uncertainty: The share by which every parameter may be off; 0 by default.
        late: Whether the time is over; then bounds are left as loose as they are.
    """
    terms = described_terms(robot, smooth=False)
    program, more = inverse_dynamics(robot, terms=terms), (1 + uncertainty) * _share_of_joints(robot, Curve())
    if uncertainty:
        enclosure = _uncertain(robot, [t for t in terms if t.name != Load.name], motion, uncertainty, late)
        load = _share_of_joints(robot, Load())
        if load.any():
            carried = _uncertain(robot, [t for t in terms if t.transmitted], motion, uncertainty, late)
            more = more + (1 + uncertainty) * load * carried.bound
    else:
        enclosure = enclosed(program, motion, late=late)
    how = INTERVALS + (f", parameters known to {uncertainty:.0%}" if uncertainty else "")
    return Certificate(
        "torque", robot.joint_names, enclosure.bound + more, limits.effort, how, enclosure.time, effort, enclosure.met
    )


def _uncertain(
    robot: Robot, terms: Sequence[Term], motion: BoundedMotion, uncertainty: float, late: Callable[[], bool]
) -> OutputExtremes:
    """Return the enclosure of torques whose parameters are all off by up to a share."""
    program = regressor(robot, terms=terms)
    pi = program.parameters.values
    width = uncertainty * np.abs(pi)
    return enclosed(program.times("pi"), motion, ((pi - width, pi + width),), late)


def _share_of_joints(robot: Robot, term: Term) -> np.ndarray:
    """Return the sum of |parameter| of a term over the joints that a coordinate moves (n,), each times its ratio."""
    total = np.zeros(robot.n)
    for joint in robot.single_joints:
        for coordinate, ratio in ((joint.coordinate, joint.ratio), *joint.also):
            total[coordinate] += abs(float(ratio) * float(term.value(joint)))
    return total


def torque_rate_certificate(
    robot: Robot, motion: BoundedMotion, limits: MotionLimits, late: Callable[[], bool] = lambda: False
) -> Certificate:
    """Return the certificate of torque rates, without the jumps of dry friction at reversals.

    Nor are rates of a curve of friction known, whose speeds descriptions do not state: then it says so.
    """
    enclosure = enclosed(torque_rate_program(robot), motion, late=late)
    bends = " and its curve over speed" if _share_of_joints(robot, Curve()).any() else ""
    how = f"{INTERVALS}, without the jumps of dry friction{bends}"
    return Certificate(
        "torque rate",
        robot.joint_names,
        enclosure.bound,
        limits.torque_rate,
        how,
        enclosure.time,
        found=enclosure.met,
    )
