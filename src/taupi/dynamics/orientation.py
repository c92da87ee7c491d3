"""Coordinates of an orientation: three numbers from a rotation matrix, over SX."""

from __future__ import annotations

from typing import Any

import casadi as cs

from taupi.dynamics.spatial import SX, unskew

# Coefficients of asin(s)/s in powers of s^2; below s^2 = SMALL six of them are exact to rounding, derivatives too.
_ARCSINE = (1, 1 / 6, 3 / 40, 5 / 112, 35 / 1152, 63 / 2816)
SMALL = 1e-3


def roll_pitch_yaw(r: Any) -> Any:
    """Return (roll, pitch, yaw) with R = Rz(yaw) Ry(pitch) Rx(roll); singular at pitch = +-90 degrees."""
    return cs.vertcat(
        cs.atan2(r[2, 1], r[2, 2]), cs.atan2(-r[2, 0], cs.sqrt(r[0, 0] ** 2 + r[1, 0] ** 2)), cs.atan2(r[1, 0], r[0, 0])
    )


def euler_zyz(r: Any) -> Any:
    """Return (phi, theta, psi) with R = Rz(phi) Ry(theta) Rz(psi), 0 <= theta <= pi; singular at both ends, R = 1 among them."""
    return cs.vertcat(
        cs.atan2(r[1, 2], r[0, 2]), cs.atan2(cs.sqrt(r[0, 2] ** 2 + r[1, 2] ** 2), r[2, 2]), cs.atan2(r[2, 1], -r[2, 0])
    )


def rotation_vector(r: Any) -> Any:
    """Return the vector w with R = exp(S(w)), |w| < pi; smooth at R = 1, singular at half a turn only.

    w = (angle / sin angle) a with S(a) = (R - R^T) / 2. The quotient is 0/0 at R = 1, and so is its derivative: near there it
    is a polynomial in sin^2, and the closed form gets an argument that is not zero.
    """
    a = unskew((r - r.T) / 2)
    square, cosine = cs.dot(a, a), (r[0, 0] + r[1, 1] + r[2, 2] - 1) / 2
    near = cs.logic_and(square < SMALL, cosine > 0)
    sine = cs.sqrt(cs.if_else(near, SX(1), square))
    series = SX(_ARCSINE[-1])
    for c in reversed(_ARCSINE[:-1]):
        series = series * square + c
    return cs.if_else(near, series, cs.atan2(sine, cosine) / sine) * a
