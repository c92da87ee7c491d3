"""Coordinates of an orientation: three numbers from a rotation matrix R (3 x 3), over SX."""

from __future__ import annotations

from taupi.dynamics.spatial import unskew
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.program.casadi_on_use import cs

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
