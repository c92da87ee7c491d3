"""The ten parameters of a rigid body, from and to the forms in which they are usually stated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from taupi.errors import TaupiError
from taupi.model.placement import IDENTITY3, Placement, dot, matvec, turned
from taupi.model.scalars import (
    Matrix,
    Scalar,
    ScalarLike,
    Vector,
    VectorLike,
    exact,
    exact_vector,
    is_symbolic,
    items_of,
)

Body = tuple[Scalar, ...]  # m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the link frame's origin
InertiaLike: TypeAlias = "VectorLike | Sequence[VectorLike]"  # six entries, or 3 x 3

NO_BODY: Body = (Fraction(0),) * 10
# How far the entries above and below an inertia's diagonal may differ, relative to its largest entry: far above the rounding
# of a product of doubles and far below the digits that people print.
SYMMETRIC = Fraction(1, 10**9)


def symmetric(ixx: Scalar, ixy: Scalar, ixz: Scalar, iyy: Scalar, iyz: Scalar, izz: Scalar) -> Matrix:
    """Return the symmetric 3 x 3 tensor of six entries."""
    return ((ixx, ixy, ixz), (ixy, iyy, iyz), (ixz, iyz, izz))


def _upper(tensor: Matrix) -> tuple[Scalar, ...]:
    return (tensor[0][0], tensor[0][1], tensor[0][2], tensor[1][1], tensor[1][2], tensor[2][2])


def _steiner(m: Scalar, a: Vector, b: Vector) -> Matrix:
    """Return m (a.b 1 - (a b^T + b a^T)/2), the tensor m S(a)^T S(b), symmetrised."""
    square = dot(a, b)
    half = Fraction(1, 2)
    return tuple(
        tuple(m * (square * IDENTITY3[i][j] - half * (a[i] * b[j] + b[i] * a[j])) for j in range(3)) for i in range(3)
    )  # type: ignore[return-value]


def _add(a: Matrix, b: Matrix) -> Matrix:
    return tuple(tuple(exact(x + y) for x, y in zip(r, s, strict=True)) for r, s in zip(a, b, strict=True))  # type: ignore[return-value]


def stated_mass(m: ScalarLike, what: str) -> Scalar:
    """Return a mass stated by a description: 0 or more, or a symbol. An estimated mass may be any number."""
    mass = exact(m, what)
    if not is_symbolic(mass) and mass < 0:
        raise TaupiError("{what} is {got}, expected 0 or more.", what=what, got=float(mass))
    return mass


def _symmetrised(rows: Sequence[Sequence[Scalar]], what: str) -> Matrix:
    largest = max((abs(v) for row in rows for v in row if not is_symbolic(v)), default=Fraction(0))

    def entry(i: int, j: int) -> Scalar:
        a, b = rows[i][j], rows[j][i]
        if a == b:
            return a
        if is_symbolic(a) or is_symbolic(b) or abs(a - b) > SYMMETRIC * largest:
            raise TaupiError(
                "{what}: inertia is not symmetric. Give the tensor I with I = I^T, or its six entries.", what=what
            )
        return (a + b) / 2

    return symmetric(*(entry(i, j) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))


def body_from_com(m: ScalarLike, com: VectorLike, inertia: InertiaLike, what: str = "link") -> Body:
    """Return the ten parameters from mass, centre of mass and inertia about the centre of mass.

    h = m c and I = I_G + m S(c)^T S(c) (Gabiccini et al. 2009, section 3). `m` is in kg, `com` in m, both `com` and `inertia`
    (kg m^2) in the link frame's axes. `inertia` is a 3 x 3 tensor, or six entries xx, xy, xz, yy, yz, zz. A tensor that is
    asymmetric by rounding alone (R D R^T in doubles) is symmetrised. `what` names the body in error messages.
    """
    mass = stated_mass(m, f"{what}: mass")
    c: Vector = exact_vector(com, f"{what}: com")
    rows = items_of(inertia) or []
    if len(rows) == 6:
        tensor = symmetric(*exact_vector(rows, f"{what}: inertia", 6))
    elif len(rows) == 3:
        tensor = _symmetrised([exact_vector(row, f"{what}: inertia row") for row in rows], what)
    else:
        raise TaupiError(
            "{what}: inertia is {got!r}, expected 3 x 3 or six: xx, xy, xz, yy, yz, zz.", what=what, got=inertia
        )
    moved = _add(tensor, _steiner(mass, c, c))
    return (mass, *(exact(mass * v) for v in c), *_upper(moved))


def body_to_com(body: Sequence[Scalar]) -> tuple[Scalar, tuple[Scalar, ...], tuple[tuple[Scalar, ...], ...]]:
    """Return (m, c, I_G) from ten parameters, the inverse of `body_from_com`; a body without mass has c = 0."""
    m, *rest = body
    h, tensor = tuple(rest[:3]), symmetric(*rest[3:])
    if m == 0:
        return m, (m * 0,) * 3, tensor
    c = tuple(v / m for v in h)
    shift = _steiner(m, c, c)
    return m, c, tuple(tuple(x - y for x, y in zip(r, s, strict=True)) for r, s in zip(tensor, shift, strict=True))


def move_body(body: Body, placement: Placement) -> Body:
    """Return, about frame a, the parameters of a body given about frame b: h_a = R h + m p, and Steiner's theorem for I."""
    m, h, tensor = body[0], body[1:4], symmetric(*body[4:])
    r, p = placement.rotation, placement.translation
    rh = matvec(r, h)
    # I_a = R I R^T + m S(p)^T S(p) + S(p)^T S(Rh) + S(Rh)^T S(p)
    moved = _add(_add(turned(tensor, r), _steiner(m, p, p)), _steiner(Fraction(2), p, rh))
    return (m, *(exact(a + m * b) for a, b in zip(rh, p, strict=True)), *_upper(moved))


def add_bodies(a: Body, b: Body) -> Body:
    """Return the parameters of two bodies fixed to each other, given about the same frame."""
    return tuple(exact(x + y) for x, y in zip(a, b, strict=True))


def pseudo_inertia(body: Sequence[Scalar]) -> np.ndarray:
    """Return P = [[tr(I)/2 1 - I, h], [h^T, m]], positive semidefinite for real bodies and no others (Wensing et al. 2018)."""
    m, *rest = (float(v) for v in body)
    inertia = np.array(symmetric(*rest[3:]), dtype=float)
    result = np.empty((4, 4))
    result[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    result[:3, 3] = result[3, :3] = rest[:3]
    result[3, 3] = m
    return result


def bodies_of(p: np.ndarray) -> np.ndarray:
    """Return the ten parameters (..., 10) of pseudo-inertias P (..., 4, 4)."""
    second = p[..., :3, :3]
    inertia = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    rows, columns = np.triu_indices(3)
    return np.concatenate([p[..., 3:, 3], p[..., :3, 3], inertia[..., rows, columns]], axis=-1)


def smallest_eigenvalue(body: Sequence[object]) -> float:
    """Return the smallest eigenvalue of the pseudo-inertia, which is negative if no real body has these parameters."""
    return float(np.linalg.eigvalsh(pseudo_inertia(body))[0])


def why_not_physical(body: Body) -> str | None:
    """Return why no real body has these parameters, or None if one has (or if symbols leave it open)."""
    if any(is_symbolic(v) for v in body):
        return None
    p = pseudo_inertia(body)
    smallest = smallest_eigenvalue(body)
    # Doubles resolve the eigenvalues of P to about 1e-16 of the largest; published inertias have three to six digits.
    if smallest < -1e-9 * max(1e-12, float(np.abs(p).max())):
        return f"the pseudo-inertia has eigenvalue {smallest:.2g}, so no real body has these parameters"
    return None


# The least eigenvalue of the second moments about a body's centre, relative to those about the origin.
_EDGE = 1e-9


def with_real_inertia(body: np.ndarray) -> np.ndarray:
    """Return ten parameters that a real body has, with the mass and the first moments of `body`, and the nearest inertia.

    The second moments of mass about the centre, S = (tr I / 2) 1 - I - h h^T / m, are the nearest that are positive. What is real
    already, and a link without mass, stay as they are.

    Args:
        body: m, the first moments h (3) and Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the link's origin.

    >>> import numpy as np
    >>> with_real_inertia(np.array([2.0, 1.0, 0, 0, 0.1, 0, 0, 0.3, 0, 0.3])).round(3).tolist()
    [2.0, 1.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.55, 0.0, 0.55]
    """
    mass, first = body[0], body[1:4]
    if mass <= 0:
        return body
    rows, columns = np.triu_indices(3)
    inertia = np.empty((3, 3))
    inertia[rows, columns] = inertia[columns, rows] = body[4:]
    about_origin = np.trace(inertia) / 2 * np.eye(3) - inertia
    shift = np.outer(first, first) / mass
    eigenvalues, axes = np.linalg.eigh(about_origin - shift)
    least = _EDGE * max(float(np.trace(about_origin)), float(np.trace(shift)))
    if eigenvalues[0] >= least:
        return body
    second = (axes * np.maximum(eigenvalues, least)) @ axes.T + shift
    inertia = np.trace(second) * np.eye(3) - second
    return np.concatenate([body[:4], inertia[rows, columns]])
