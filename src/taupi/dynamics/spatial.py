"""The algebra of twists and wrenches over SX, ordered (angular, linear) and (moment, force)."""

from __future__ import annotations

from typing import Any

import casadi as cs

SX = cs.SX


def skew(a: Any) -> Any:
    """Return S(a) with S(a) b = a x b."""
    x, y, z = a[0], a[1], a[2]
    return cs.vertcat(cs.horzcat(0, -z, y), cs.horzcat(z, 0, -x), cs.horzcat(-y, x, 0))


def unskew(a: Any) -> Any:
    """Return a with S(a) = A, for a skew-symmetric A."""
    return cs.vertcat(a[2, 1], a[0, 2], a[1, 0])


def adjoint(r: Any, p: Any) -> Any:
    """Return Ad(R, p) = [[R, 0], [S(p) R, R]], which carries a twist from frame b to frame a for T_ab = (R, p)."""
    return cs.blockcat([[r, SX(3, 3)], [cs.sparsify(skew(p) @ r), r]])


def bracket(v: Any) -> Any:
    """Return ad(w, v) = [[S(w), 0], [S(v), S(w)]], the Lie bracket of twists."""
    w, u = cs.sparsify(skew(v[:3])), cs.sparsify(skew(v[3:]))
    return cs.blockcat([[w, SX(3, 3)], [u, w]])


def inverse(r: Any, p: Any) -> tuple[Any, Any]:
    """Return the inverse (R^T, -R^T p) of a placement."""
    return r.T, -r.T @ p


def compose(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return (R_a R_b, p_a + R_a p_b)."""
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def axis_rotation(axis: Any, angle: Any) -> Any:
    """Return exp(S(u) angle) = u u^T + cos (1 - u u^T) + sin S(u) for a unit vector u (Rodrigues)."""
    along = axis @ axis.T
    return along + cs.cos(angle) * (SX.eye(3) - along) + cs.sin(angle) * skew(axis)


def spatial_inertia(body: Any) -> Any:
    """Return G = [[J, S(h)], [S(h)^T, m 1]] of ten parameters (spec 2.2)."""
    m, h = body[0], body[1:4]
    s = skew(h)
    return cs.sparsify(cs.blockcat([[inertia_tensor(body), s], [s.T, m * SX.eye(3)]]))


def inertia_tensor(body: Any) -> Any:
    """Return the symmetric tensor of Ixx, Ixy, Ixz, Iyy, Iyz, Izz, entries 4..9 of the ten parameters."""
    xx, xy, xz, yy, yz, zz = (body[k] for k in range(4, 10))
    return cs.vertcat(cs.horzcat(xx, xy, xz), cs.horzcat(xy, yy, yz), cs.horzcat(xz, yz, zz))


def inertia_columns(w: Any) -> Any:
    """Return the 3 x 6 matrix L(w) with L(w) [Jxx, Jxy, Jxz, Jyy, Jyz, Jzz] = J w."""
    x, y, z = w[0], w[1], w[2]
    return cs.vertcat(
        cs.horzcat(x, y, z, 0, 0, 0),
        cs.horzcat(0, x, 0, y, z, 0),
        cs.horzcat(0, 0, x, 0, y, z),
    )
