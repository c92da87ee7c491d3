"""The algebra of twists (angular, linear) and wrenches (moment, force) over SX."""

from __future__ import annotations

from taupi.dynamics.types import SX, Expression, Matrix, Pose, Vector
from taupi.program.casadi_on_use import cs


def skew(a: Vector) -> Matrix:
    """Return S(a), 3 x 3, with S(a) b = a x b."""
    x, y, z = a[0], a[1], a[2]
    return cs.vertcat(cs.horzcat(0, -z, y), cs.horzcat(z, 0, -x), cs.horzcat(-y, x, 0))


def unskew(a: Matrix) -> Vector:
    """Return the vector a with S(a) = A, for a skew-symmetric A."""
    return cs.vertcat(a[2, 1], a[0, 2], a[1, 0])


def adjoint(r: Matrix, p: Vector) -> Matrix:
    """Return Ad(R, p) = [[R, 0], [S(p) R, R]], which carries a twist from frame b to frame a for T_ab = (R, p)."""
    return cs.blockcat([[r, SX(3, 3)], [cs.sparsify(skew(p) @ r), r]])


def bracket(v: Vector) -> Matrix:
    """Return ad(w, v) = [[S(w), 0], [S(v), S(w)]], the Lie bracket of twists."""
    w, u = cs.sparsify(skew(v[:3])), cs.sparsify(skew(v[3:]))
    return cs.blockcat([[w, SX(3, 3)], [u, w]])


def inverse(r: Matrix, p: Vector) -> Pose:
    """Return the inverse (R^T, -R^T p) of a pose."""
    return r.T, -r.T @ p


def compose(a: Pose, b: Pose) -> Pose:
    """Return the product (R_a R_b, p_a + R_a p_b) of two poses."""
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def axis_rotation(axis: Vector, angle: Expression) -> Matrix:
    """Return exp(S(u) angle) = u u^T + cos (1 - u u^T) + sin S(u) for a unit vector u (Rodrigues)."""
    along = axis @ axis.T
    return along + cs.cos(angle) * (SX.eye(3) - along) + cs.sin(angle) * skew(axis)


def spatial_inertia(body: Vector) -> Matrix:
    """Return G = [[J, S(h)], [S(h)^T, m 1]] from ten parameters (equations.md, D4)."""
    m, h = body[0], body[1:4]
    s = skew(h)
    return cs.sparsify(cs.blockcat([[inertia_tensor(body), s], [s.T, m * SX.eye(3)]]))


def inertia_tensor(body: Vector) -> Matrix:
    """Return the symmetric tensor of Ixx, Ixy, Ixz, Iyy, Iyz, Izz, which are entries 4 to 9 of the ten parameters."""
    xx, xy, xz, yy, yz, zz = (body[k] for k in range(4, 10))
    return cs.vertcat(cs.horzcat(xx, xy, xz), cs.horzcat(xy, yy, yz), cs.horzcat(xz, yz, zz))


def inertia_columns(w: Vector) -> Matrix:
    """Return L(w), 3 x 6, with L(w) [Jxx, Jxy, Jxz, Jyy, Jyz, Jzz] = J w (Gabiccini et al. 2009, eq. 15-17)."""
    x, y, z = w[0], w[1], w[2]
    return cs.vertcat(
        cs.horzcat(x, y, z, 0, 0, 0),
        cs.horzcat(0, x, 0, y, z, 0),
        cs.horzcat(0, 0, x, 0, y, z),
    )
