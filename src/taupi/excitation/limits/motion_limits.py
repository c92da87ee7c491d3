"""Limits of a robot's joints along a motion: from the description and from the user, and what was assumed about the rest."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from taupi.checks import is_number
from taupi.errors import Argument, Message, TaupiError, unknown
from taupi.excitation.motions.families import Family
from taupi.files import path_of
from taupi.input_files import parse_toml, printable, read_text
from taupi.model.coupling import coupling_of
from taupi.model.robot import Joint, Robot
from taupi.schema import finite_or_none

QUANTITIES = ("lower", "upper", "velocity", "acceleration", "jerk", "effort", "torque_rate")
# A URDF states no accelerations: full speed is reached in this many seconds unless they are given.
RISE_TIME = 0.3

LimitsLike = Mapping[str, object] | str | os.PathLike[str] | None


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of the joints along a motion (rad, m and s); infinite if there is none.

    Joints move by `spread` (joints, n) times the coordinates, which are the joints themselves unless some are coupled. Positions,
    speeds, accelerations and jerks are of joints; `effort` and `torque_rate` (n,) are of coordinates.
    """

    joints: tuple[str, ...]
    spread: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    effort: np.ndarray
    torque_rate: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def middle(self) -> np.ndarray:
        """The middle of each joint's range, 0 if it has none."""
        return np.where(np.isfinite(self.upper - self.lower), (self.lower + self.upper) / 2, 0.0)

    @property
    def half(self) -> np.ndarray:
        """Half of each joint's range."""
        return (self.upper - self.lower) / 2

    def of_order(self, order: int) -> np.ndarray:
        """Return the largest magnitude (joints,) of a derivative: 0 about the middle, 1 speed, 2 acceleration, 3 jerk."""
        return (self.half, self.velocity, self.acceleration, self.jerk)[order]

    def shrunk(self, margin: float) -> MotionLimits:
        """Return limits of motion reduced by a margin, a share of each; torque limits stay as they are."""
        half, keep = self.half * (1 - margin), 1 - margin
        bounded = np.isfinite(half)
        return dataclasses.replace(
            self,
            lower=np.where(bounded, self.middle - half, self.lower),
            upper=np.where(bounded, self.middle + half, self.upper),
            velocity=keep * self.velocity,
            acceleration=keep * self.acceleration,
            jerk=keep * self.jerk,
        )

    def centre(self) -> np.ndarray:
        """Return the posture (n,) in the middle of the joints' ranges, as near to it as coupled joints allow."""
        bounded = np.isfinite(self.half)
        weight = 1 / self.half[bounded]
        q = np.linalg.lstsq(weight[:, None] * self.spread[bounded], weight * self.middle[bounded], rcond=None)[0]
        at = self.spread @ q
        outside = (at <= self.lower) | (at >= self.upper)
        if outside.any():
            name = self.joints[int(np.argmax(outside))]
            raise TaupiError(
                "No posture has all joints within their limits: others move {name!r} out of its range.", name=name
            )
        return np.asarray(q)

    def to_dict(self) -> dict[str, object]:
        """Return the limits as plain data, by joint; None if there is no limit."""
        each: dict[str, object] = {}
        for i, name in enumerate(self.joints):
            each[name] = {k: finite_or_none(getattr(self, k)[i]) for k in QUANTITIES[:5]}
        return {
            "joints": each,
            "effort": [finite_or_none(v) for v in self.effort],
            "torque_rate": [finite_or_none(v) for v in self.torque_rate],
        }


def motion_limits(robot: Robot, limits: LimitsLike = None, torque: bool = True) -> MotionLimits:
    """Return the limits of a robot: as its description states them, overridden by `limits`; refuse what is missing.

    `limits` has a number, or one per joint, for each quantity of `QUANTITIES`, or quantities for each joint; or is the path of a
    TOML file that does. `torque` is whether effort limits are needed.
    """
    stated = _stated(robot, limits)
    values = {name: np.array([_value(j, name, stated) for j in robot.joints], dtype=float) for name in QUANTITIES}
    notes: list[str] = []
    owners = [robot.joints.index(j) for j in robot.driving_joints]
    _fill_ranges(robot, values, stated, notes)
    needed = ("velocity", "effort") if torque else ("velocity",)
    _require(robot, {name: [robot.joints[i].name for i in owners if math.isnan(values[name][i])] for name in needed})
    slow = np.isnan(values["acceleration"]) & ~np.isnan(values["velocity"])
    values["acceleration"][slow] = values["velocity"][slow] / RISE_TIME
    if slow.any():
        listed = ", ".join(f"{robot.joints[i].name} {values['acceleration'][i]:.3g}" for i in np.flatnonzero(slow))
        notes.append(
            f"Accelerations are not in the description: full speed within {RISE_TIME:g} s is assumed ({listed})."
        )
    for name in QUANTITIES[2:]:
        values[name] = np.where(np.isnan(values[name]), np.inf, values[name])
    return MotionLimits(
        tuple(j.name for j in robot.joints),
        np.array(coupling_of(robot), dtype=float),
        values["lower"],
        values["upper"],
        values["velocity"],
        values["acceleration"],
        values["jerk"],
        values["effort"][owners],
        values["torque_rate"][owners],
        tuple(notes),
    )


def _value(joint: Joint, quantity: str, stated: Mapping[tuple[str, str], float]) -> float:
    own = dataclasses.asdict(joint.limits).get(quantity)
    value = stated.get((joint.name, quantity), math.nan if own is None else float(own))
    # Descriptions write 0 for a limit that nobody has stated.
    return (
        math.nan
        if value == 0 and quantity in ("velocity", "effort") and (joint.name, quantity) not in stated
        else value
    )


def _fill_ranges(
    robot: Robot, values: dict[str, np.ndarray], stated: Mapping[tuple[str, str], float], notes: list[str]
) -> None:
    """Add ranges that are not stated: half a turn to each side, for revolute joints; refuse contradictions."""
    lower, upper, turned = values["lower"], values["upper"], []
    for i, joint in enumerate(robot.joints):
        own = {(joint.name, "lower"), (joint.name, "upper")} & stated.keys()
        missing = math.isnan(lower[i]) or math.isnan(upper[i])
        if joint.mimic and missing:
            lower[i], upper[i] = -math.inf, math.inf
        elif missing and joint.prismatic:
            raise TaupiError(
                "Joint {joint!r} slides and has no range.",
                remedy=Message("Give {limits}.", limits=_limits(joint.name, "lower", "upper")),
                joint=joint.name,
            )
        elif missing or (not joint.prismatic and not own and upper[i] - lower[i] > 2 * math.pi):
            lower[i], upper[i] = -math.pi, math.pi
            turned.append(joint.name)
        if not lower[i] < upper[i]:
            raise TaupiError(
                "The limits of joint {joint!r} contradict each other: lower {lower:g}, upper {upper:g}.",
                remedy=Message("Give {limits}.", limits=_limits(joint.name, "lower", "upper")),
                joint=joint.name,
                lower=lower[i],
                upper=upper[i],
            )
    if turned:
        notes.append(
            f"Half a turn to each side is used of joints without a range, or with more than a turn: {', '.join(turned)}."
        )


def _require(robot: Robot, missing: Mapping[str, list[str]]) -> None:
    """Refuse a robot with joints that have no limit for a quantity."""
    missing = {quantity: joints for quantity, joints in missing.items() if joints}
    if not missing:
        return
    raise TaupiError(
        "{robot} has {lacks:and}.",
        remedy="Give {limits}, or leave torques unchecked by {effort=0}." if "effort" in missing else "Give {limits}.",
        robot=robot.name,
        lacks=[f"no {quantity} limit of {', '.join(joints)}" for quantity, joints in missing.items()],
        limits=_limits(next(iter(missing.values()))[0], *missing),
    )


def _limits(joint: str, *quantities: str) -> Argument:
    """Return what to write for limits of a joint."""
    return Argument("limits", {joint: dict.fromkeys(quantities, ...)})


# What users state -----------------------------------------------------------------------------------------------------


def _stated(robot: Robot, limits: LimitsLike) -> dict[tuple[str, str], float]:
    """Return the limits that a user gives, by joint and quantity."""
    if limits is None:
        return {}
    data = limits if isinstance(limits, Mapping) else _read(limits)
    names = [j.name for j in robot.joints]
    result: dict[tuple[str, str], float] = {}
    for key, value in data.items():
        if key in QUANTITIES:
            for joint, number in zip(robot.driving_joints, _each(key, value, robot.n), strict=True):
                result[joint.name, key] = _checked(joint.name, key, number)
        elif key in names:
            if not isinstance(value, Mapping):
                raise TaupiError(
                    "{limits} of {key!r} is {got!r}, expected quantities such as {'velocity': 2}.", key=key, got=value
                )
            for quantity, number in value.items():
                if quantity not in QUANTITIES:
                    raise unknown("limit", quantity, QUANTITIES, key)
                result[key, quantity] = _checked(key, quantity, number)
        else:
            raise unknown("joint or limit", key, [*QUANTITIES, *names], "limits")
    return result


def _each(name: str, value: object, n: int) -> list[object]:
    items = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(items, list | tuple):
        if len(items) != n:
            raise TaupiError(
                "{limits}: {name} has {got} values, expected {expected}: one per joint.",
                name=name,
                got=len(items),
                expected=n,
            )
        return list(items)
    return [items] * n


def _checked(joint: str, quantity: str, value: object) -> float:
    if not is_number(value) or (quantity not in ("lower", "upper") and value <= 0):
        expected = "a finite number" + ("" if quantity in ("lower", "upper") else " above 0")
        raise TaupiError(
            "{limits}: {quantity} of {joint!r} is {got!r}, expected {expected}.",
            quantity=quantity,
            joint=joint,
            got=value,
            expected=expected,
        )
    return float(value)


def _read(path: str | os.PathLike[str]) -> Mapping[str, object]:
    file = path_of(path, "the path of a TOML file, or a mapping from joints to their limits")
    return parse_toml(read_text(file, "limits of joints (.toml)"), printable(file.name))


@dataclass(frozen=True, eq=False)
class LinearRows:
    """lower <= matrix @ x <= upper, for coefficients x (count n,), (count, n) row by row; limits are scaled to about one."""

    matrix: sp.csr_matrix
    lower: np.ndarray
    upper: np.ndarray
    centre: np.ndarray

    def excess(self, x: np.ndarray) -> float:
        """Return how much the worst row exceeds its limit, in units of the limit; negative inside."""
        value = self.matrix @ x
        return float(np.maximum(value - self.upper, self.lower - value).max(initial=-np.inf))

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Return x, pulled towards the centre until every row holds."""
        middle, value = self.matrix @ self.centre, self.matrix @ (x - self.centre)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.maximum(value / (self.upper - middle), -value / (middle - self.lower))
        worst = float(np.nanmax(over, initial=0.0))
        return x if worst <= 1.0 else self.centre + (x - self.centre) / (worst * (1 + 1e-12))

    def reach(self, direction: np.ndarray) -> float:
        """Return how many times a direction can be added to the centre before a row reaches its limit."""
        middle, step = self.matrix @ self.centre, self.matrix @ direction
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                step > 0, (self.upper - middle) / step, np.where(step < 0, (self.lower - middle) / step, np.inf)
            )
        return float(np.where(np.abs(step) > 1e-12, room, np.inf).min(initial=np.inf))


def linear_rows(family: Family, limits: MotionLimits, posture: np.ndarray | None = None) -> LinearRows:
    """Return the rows of a family of motions within limits, about a posture (n,), by default the middle of the ranges."""
    blocks, shifts = [], []
    for order in range(4):
        bound = limits.of_order(order)
        limited = np.isfinite(bound)
        if not limited.any():
            continue
        joints = limits.spread[limited] / bound[limited, None]
        hull = family.rows(order)
        blocks.append(sp.kron(sp.csr_matrix(hull), sp.csr_matrix(joints)))
        middle = limits.middle[limited] / bound[limited] if order == 0 else np.zeros(int(limited.sum()))
        shifts.append(np.tile(middle, len(hull)))
    matrix, shift = sp.vstack(blocks).tocsr(), np.concatenate(shifts)
    acting = np.asarray(abs(matrix).sum(axis=1)).ravel() > 1e-12  # at rest there is no limit to keep
    matrix, shift = matrix[acting], shift[acting]
    centre = np.outer(family.constant, limits.centre() if posture is None else posture).ravel()
    return LinearRows(matrix, shift - family.share, shift + family.share, centre)
