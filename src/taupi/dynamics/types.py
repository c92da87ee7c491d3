"""Names for what the algorithms are written over, so that a signature says what it takes and returns.

CasADi comes without type stubs, so a type checker sees `Any` behind each of them; the names are for the reader. Numeric
arrays are `np.ndarray`, or `ArrayLike` where anything that NumPy turns into one will do.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import casadi as cs
from numpy.typing import ArrayLike

__all__ = ["SX", "ArrayLike", "Expression", "Matrix", "Pose", "Vector"]

SX = cs.SX  # the class itself: SX.zeros(3), SX.eye(6), SX.sym("q", n)
Expression: TypeAlias = Any  # an SX of one entry: an angle, a mass, an energy
Vector: TypeAlias = (
    Any  # an SX column: (3,) in space, (6,) a twist or wrench, (10,) a body's parameters, (n,) of the joints
)
Matrix: TypeAlias = Any  # an SX matrix: (3, 3) a rotation or inertia, (6, n) a Jacobian, (n, p) a regressor
Pose: TypeAlias = tuple[Matrix, Vector]  # (R, p): where a frame is, seen from another
