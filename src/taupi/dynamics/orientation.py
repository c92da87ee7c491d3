"""Orientations over SX: three numbers of a rotation matrix, and the quaternions (x, y, z, w) of free and ball joints.

Other programs have w first: `quaternion` makes such ones of numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.dynamics.spatial import unskew
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, Part, TaupiError, warn
from taupi.program.casadi_on_use import cs
from taupi.program.program import Program

if TYPE_CHECKING:
    from taupi.model.robot import Robot


# Coefficients of asin(s)/s in powers of s^2; below s^2 = SMALL these six give it, and its derivative, to rounding.
_ARCSINE = (1, 1 / 6, 3 / 40, 5 / 112, 35 / 1152, 63 / 2816)
SMALL = 1e-3


def roll_pitch_yaw(r: Matrix) -> Vector:
    """Return (roll, pitch, yaw) with R = Rz(yaw) Ry(pitch) Rx(roll); singular at pitch = +-90 degrees."""
    return cs.vertcat(
        cs.atan2(r[2, 1], r[2, 2]), cs.atan2(-r[2, 0], cs.sqrt(r[0, 0] ** 2 + r[1, 0] ** 2)), cs.atan2(r[1, 0], r[0, 0])
    )


def euler_zyz(r: Matrix) -> Vector:
    """Return (phi, theta, psi) with R = Rz(phi) Ry(theta) Rz(psi), 0 <= theta <= pi; singular at both ends, so also at R = 1."""
    return cs.vertcat(
        cs.atan2(r[1, 2], r[0, 2]), cs.atan2(cs.sqrt(r[0, 2] ** 2 + r[1, 2] ** 2), r[2, 2]), cs.atan2(r[2, 1], -r[2, 0])
    )


def rotation_vector(r: Matrix) -> Vector:
    """Return the vector w with R = exp(S(w)), |w| < pi; smooth at R = 1, singular at half a turn only.

    w = (angle / sin angle) a with S(a) = (R - R^T) / 2. At R = 1 the quotient and its derivative are 0/0, so near there a
    polynomial in sin^2 takes its place, and the closed form is given an argument that is not zero.
    """
    a = unskew((r - r.T) / 2)
    square, cosine = cs.dot(a, a), (r[0, 0] + r[1, 1] + r[2, 2] - 1) / 2
    near = cs.logic_and(square < SMALL, cosine > 0)
    sine = cs.sqrt(cs.if_else(near, SX(1), square))
    series = SX(_ARCSINE[-1])
    for c in reversed(_ARCSINE[:-1]):
        series = series * square + c
    return cs.if_else(near, series, cs.atan2(sine, cosine) / sine) * a


# A quaternion whose length differs from 1 by more than this was probably not meant as one.
LENGTH_TOLERANCE = 1e-6
_Q = Argument("q")


def quaternion_rotation(h: Vector) -> Matrix:
    """Return R(h) / |h|^2, which is orthogonal for a quaternion of any length but zero, in exact arithmetic too."""
    x, y, z, w = h[0], h[1], h[2], h[3]
    xx, yy, zz = x * x, y * y, z * z
    flat = xx + yy
    s = 2 / (flat + (zz + w * w))
    return cs.vertcat(
        cs.horzcat(1 - s * (yy + zz), s * (x * y - w * z), s * (x * z + w * y)),
        cs.horzcat(s * (x * y + w * z), 1 - s * (xx + zz), s * (y * z - w * x)),
        cs.horzcat(s * (x * z - w * y), s * (y * z + w * x), 1 - s * flat),
    )


def quaternion(r: np.ndarray) -> np.ndarray:
    """Return the unit quaternion (w, x, y, z) of a rotation: the eigenvector of its largest eigenvalue (Bar-Itzhack 2000).

    >>> import numpy as np
    >>> quaternion(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])).round(4).tolist()
    [0.7071, 0.0, 0.0, 0.7071]
    """
    k = np.zeros((4, 4))
    k[0, 0] = np.trace(r)
    k[0, 1:] = k[1:, 0] = [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    k[1:, 1:] = r + r.T - np.trace(r) * np.eye(3)
    q = np.linalg.eigh(k)[1][:, -1]
    q = q if q[np.flatnonzero(np.abs(q) > 1e-9)[0]] > 0 else -q
    return np.where(np.abs(q) < 1e-16, 0.0, q)


def turned_back(h: Vector, v: Vector) -> Vector:
    """Return R^T v = v + E^T (2 v / |h|^2), with R = 1 + 2 E / |h|^2 that of `quaternion_rotation`.

    If v has only one entry, as gravity usually does, this takes 18 operations, three fewer than by R.
    """
    x, y, z, w = h[0], h[1], h[2], h[3]
    xx, yy, zz = x * x, y * y, z * z
    flat = xx + yy
    length = flat + (zz + w * w)
    alone = sum(not v[k].is_zero() for k in range(3)) == 1
    scaled = cs.vertcat(*(2 * v[k] / length for k in range(3))) if alone else v * (2 / length)
    a, b, c = scaled[0], scaled[1], scaled[2]
    return cs.vertcat(
        v[0] - a * (yy + zz) + b * (x * y + w * z) + c * (x * z - w * y),
        v[1] + a * (x * y - w * z) - b * (xx + zz) + c * (y * z + w * x),
        v[2] + a * (x * z + w * y) + b * (y * z - w * x) - c * flat,
    )


def quaternion_rate(h: Vector, w: Vector) -> Vector:
    """Return dh/dt = h o (w, 0) / 2 for an angular velocity w in the axes of the frame that h turns."""
    v, s = h[:3], h[3]
    return cs.vertcat(s * w + cs.cross(v, w), -cs.dot(v, w)) / 2


@dataclass(frozen=True)
class QuaternionGuard:
    """Checks the quaternions of `joints` in the argument number `place`, q, where they begin at `starts`."""

    place: int
    starts: tuple[int, ...]
    joints: tuple[str, ...]

    def __call__(self, _: Program, *arrays: object) -> None:
        """Refuse quaternions of length zero, and warn of lengths other than one."""
        check_quaternions(np.asarray(arrays[self.place], dtype=float), self.starts, self.joints)


def watched(program: Program, robot: Robot) -> Program:
    """Return the program with a guard that refuses quaternions of length zero in q, and warns of lengths other than one.

    A robot without quaternions needs none.
    """
    joints = robot.multiple_joints
    if not joints:
        return program
    starts = tuple(robot.position_index(j.coordinate) + j.size - 4 for j in joints)
    place = [p.name for p in program.inputs].index("q")
    return dataclasses.replace(program, guard=QuaternionGuard(place, starts, tuple(j.name for j in joints)))


def check_quaternions(q: np.ndarray, starts: Sequence[int], names: Sequence[str], what: Part = _Q) -> None:
    """Refuse quaternions of length zero in positions `q` (..., nq), and warn if a length is not one."""
    for start, name in zip(starts, names, strict=True):
        length = np.linalg.norm(q[..., start : start + 4], axis=-1)
        if not np.all(length > 0):
            if np.isnan(length).any():
                continue
            raise TaupiError(
                "{what} has a quaternion of length zero for joint {name!r}, in q[{start}:{other_start}].",
                remedy="The quaternion without rotation is (0, 0, 0, 1): x, y, z, w.",
                what=what,
                name=name,
                start=start,
                other_start=start + 4,
            )
        off = float(np.abs(length - 1).max()) if length.size else 0.0
        if off > LENGTH_TOLERANCE:
            warn(
                "A quaternion of joint {name!r} has a length that differs from 1 by {off:.2g}; only its "
                "direction is used.",
                name=name,
                off=off,
            )
