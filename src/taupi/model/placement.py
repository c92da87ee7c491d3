"""Where one frame is in another, exactly: a rotation that is orthogonal to the last digit, and a translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from taupi.errors import Part, TaupiError
from taupi.model.scalars import (
    SNAP_ANGLE,
    Matrix,
    Scalar,
    ScalarLike,
    Vector,
    VectorLike,
    circle_point,
    exact,
    exact_vector,
    is_symbolic,
    items_of,
    short_fraction,
    to_float,
)

_ZERO, _ONE = Fraction(0), Fraction(1)
IDENTITY3: Matrix = ((_ONE, _ZERO, _ZERO), (_ZERO, _ONE, _ZERO), (_ZERO, _ZERO, _ONE))
ZERO3: Vector = (_ZERO, _ZERO, _ZERO)


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Return a . b."""
    total = sum((x * y for x, y in zip(a, b, strict=True) if x and y), _ZERO)
    return exact(total) if hasattr(total, "free_symbols") else total  # SymPy's 0 and 1 become numbers again


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def transpose(a: Matrix) -> Matrix:
    """Return the transpose of a 3 x 3 matrix."""
    return tuple(zip(*a, strict=True))  # type: ignore[return-value]


def matvec(a: Matrix, x: Vector) -> Vector:
    """Return A x."""
    return tuple(dot(row, x) for row in a)


def matmul(a: Matrix, b: Matrix) -> Matrix:
    """Return A B."""
    columns = transpose(b)
    return tuple(tuple(dot(row, column) for column in columns) for row in a)  # type: ignore[return-value]


def turned(tensor: Matrix, rotation: Matrix) -> Matrix:
    """Return R I R^T, a tensor in the axes that `rotation` leads to."""
    return matmul(matmul(rotation, tensor), transpose(rotation))


def rotation_about(axis: str, angle: ScalarLike, snap: bool = True, what: Part = "angle") -> tuple[Matrix, float]:
    """Return the rotation about a coordinate axis ("x", "y", "z") by an angle (rad), and by how much that was snapped."""
    c, s, snapped = circle_point(angle, snap, what)
    k = "xyz".index(axis)
    a, b = (k + 1) % 3, (k + 2) % 3
    rows = [[_ZERO] * 3 for _ in range(3)]
    rows[k][k], rows[a][a], rows[b][b], rows[a][b], rows[b][a] = _ONE, c, c, -s, s
    return tuple(tuple(r) for r in rows), snapped  # type: ignore[return-value]


def rotation_about_vector(u: Vector, angle: ScalarLike, snap: bool = True) -> tuple[Matrix, float]:
    """Return R = c 1 + s S(u) + (1 - c) u u^T about a unit vector (Rodrigues), and by how much the angle was snapped."""
    c, s, snapped = circle_point(angle, snap)
    skew = ((_ZERO, -u[2], u[1]), (u[2], _ZERO, -u[0]), (-u[1], u[0], _ZERO))
    rows = tuple(
        tuple(c * IDENTITY3[i][j] + s * skew[i][j] + (1 - c) * u[i] * u[j] for j in range(3)) for i in range(3)
    )
    return rows, snapped  # type: ignore[return-value]


def rotation_from_quaternion(
    w: ScalarLike, x: ScalarLike, y: ScalarLike, z: ScalarLike, snap: bool = True
) -> tuple[Matrix, float]:
    """Return the rotation R(q)/|q|^2 of a quaternion, exactly orthogonal whatever its length, and the angle of snapping.

    With `snap`, ratios of components within 1e-5 of 0 or +-1 become 0 or +-1, so that a rounded half turn is a half turn.
    """
    q = [float(exact(v, "quaternion")) for v in (w, x, y, z)]
    k = max(range(4), key=lambda i: abs(q[i]))
    if not abs(q[k]) > 1e-12:
        raise TaupiError("quaternion is {q}, which has no direction.", q=tuple(q))
    tolerance = SNAP_ANGLE if snap else 1e-15
    ratios = [v / q[k] for v in q]
    snapped = [Fraction(round(v)) if abs(v - round(v)) < tolerance else short_fraction(v) for v in ratios]
    return rotation_from_exact_quaternion(*snapped), _angle_between(ratios, [float(v) for v in snapped])


def _angle_between(p: Sequence[float], q: Sequence[float]) -> float:
    """Return the angle (rad) of the rotation from one quaternion to another, 4 asin(|p - q|/2) with both of length 1."""
    a, b = (np.asarray(v) / np.linalg.norm(v) for v in (p, q))
    return 4 * float(np.arcsin(min(1.0, float(np.linalg.norm(a - b)) / 2)))


def rotation_from_exact_quaternion(w: Scalar, x: Scalar, y: Scalar, z: Scalar) -> Matrix:
    """Return R(q)/|q|^2 for a quaternion of exact numbers, not snapped."""
    n = w * w + x * x + y * y + z * z
    rows = (
        (w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z),
    )
    return tuple(tuple(v / n for v in row) for row in rows)  # type: ignore[return-value]


def rotation_from_matrix(rows: Sequence[VectorLike], snap: bool = True) -> tuple[Matrix, float]:
    """Return the exact rotation nearest to a 3 x 3 matrix of numbers, and by what angle it was snapped.

    A matrix that is exactly orthogonal, or holds symbols, stays as it is; for `snap` see `rotation_from_quaternion`.
    """
    r = tuple(exact_vector(row, "rotation") for row in rows)
    if len(r) != 3:
        raise TaupiError("rotation has {got} rows, expected 3.", got=len(r))
    if any(is_symbolic(v) for row in r for v in row):
        return r, 0.0
    if matmul(r, transpose(r)) == IDENTITY3 and dot(r[0], cross(r[1], r[2])) == 1:
        return r, 0.0
    m = np.array([[float(v) for v in row] for row in r])
    if np.abs(m @ m.T - np.eye(3)).max() > 1e-3 or np.linalg.det(m) < 0:
        raise TaupiError("rotation is not a rotation matrix: its rows must be orthonormal and right-handed.")
    w, x, y, z = quaternion_from(m.tolist())
    return rotation_from_quaternion(w, x, y, z, snap)


def quaternion_from(r: Sequence[Sequence[Scalar]]) -> tuple[Scalar, ...]:
    """Return a quaternion (w, x, y, z) of any length of a rotation R: the row of 4 q q^T with the largest diagonal entry.

    The entries of 4 q q^T are sums of entries of R: there is no branch on the trace.
    """
    a, b, c = r
    rows = (
        (1 + a[0] + b[1] + c[2], c[1] - b[2], a[2] - c[0], b[0] - a[1]),
        (c[1] - b[2], 1 + a[0] - b[1] - c[2], a[1] + b[0], a[2] + c[0]),
        (a[2] - c[0], a[1] + b[0], 1 - a[0] + b[1] - c[2], b[2] + c[1]),
        (b[0] - a[1], a[2] + c[0], b[2] + c[1], 1 - a[0] - b[1] + c[2]),
    )
    return rows[max(range(4), key=lambda k: rows[k][k])]


@dataclass(frozen=True, slots=True)
class Placement:
    """Frame b seen from frame a: x_a = R_ab x_b + p_ab, with exact entries; R_ab is `rotation`, p_ab (m) `translation`."""

    rotation: Matrix = IDENTITY3
    translation: Vector = ZERO3

    def __matmul__(self, other: Placement) -> Placement:
        """Return the placement of c in a, from the placements of b in a and of c in b."""
        if other.rotation is IDENTITY3 and other.translation is ZERO3:
            return self
        if self.rotation is IDENTITY3 and self.translation is ZERO3:
            return other
        p = matvec(self.rotation, other.translation)
        shifted = tuple(exact(a + b) for a, b in zip(self.translation, p, strict=True))
        return Placement(matmul(self.rotation, other.rotation), shifted)

    def inverse(self) -> Placement:
        """Return the placement of a in b."""
        back = transpose(self.rotation)
        return Placement(back, tuple(-v for v in matvec(back, self.translation)))

    @property
    def matrix(self) -> np.ndarray:
        """The 4 x 4 homogeneous matrix as doubles."""
        result = np.eye(4)
        result[:3, :3] = [[to_float(v, "rotation") for v in row] for row in self.rotation]
        result[:3, 3] = [to_float(v, "translation") for v in self.translation]
        return result


IDENTITY = Placement()


# A placement as people write it: a 4 x 4 homogeneous matrix, or a translation (x, y, z) in m.
PlacementLike: TypeAlias = "Placement | VectorLike | Sequence[VectorLike]"


def placement_from(value: PlacementLike, what: Part = "placement", snap: bool = True) -> tuple[Placement, float]:
    """Return a Placement from one, from a 4 x 4 matrix or from a translation (m), and by what angle it was snapped."""
    if isinstance(value, Placement):
        return value, 0.0
    rows = items_of(value) or []
    entries = [items_of(row) for row in rows]
    if len(rows) == 3 and not any(entries):
        return Placement(translation=exact_vector(rows, what)), 0.0
    if len(rows) != 4 or any(row is None or len(row) != 4 for row in entries):
        raise TaupiError(
            "{what} is {got!r}, expected a 4 x 4 homogeneous matrix or a translation (x, y, z).", what=what, got=value
        )
    matrix: list[Any] = entries[:3]
    rotation, snapped = rotation_from_matrix([row[:3] for row in matrix], snap)
    return Placement(rotation, tuple(exact(row[3], what) for row in matrix)), snapped
