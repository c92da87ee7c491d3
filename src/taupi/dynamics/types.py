"""Names for what the algorithms are written over, so that a signature says what it takes and returns.

To a type checker they are all `Any`: only some releases of CasADi come with type stubs. The names are for the reader. Numeric
arrays are `np.ndarray`, or `ArrayLike` where anything that NumPy turns into one will do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import ArrayLike

from taupi.program.casadi_on_use import cs

__all__ = ["SX", "ArrayLike", "Expression", "Formula", "Matrix", "Pose", "Vector"]

# CasADi's class of symbolic matrices: SX.zeros(3), SX.eye(6), SX.sym("q", n). The class itself, for `isinstance`, is cs.SX.
if TYPE_CHECKING:
    SX = cs.SX
else:

    class _SXOnUse:
        """Stands for the class, so that CasADi is imported when the first matrix is made."""

        def __getattr__(self, name: str) -> Any:
            return getattr(cs.SX, name)

        def __call__(self, *args: object) -> Any:
            return cs.SX(*args)

    SX = _SXOnUse()
# An SX of one entry: an angle, a mass, an energy.
Expression: TypeAlias = Any
# An SX column: (3,) in space, (6,) a twist or wrench, (10,) the parameters of a body, (n,) one per coordinate.
Vector: TypeAlias = Any
# An SX matrix: (3, 3) a rotation or inertia, (6, n) a Jacobian, (n, p) a regressor.
Matrix: TypeAlias = Any
# Where a frame is, seen from another: (R, p).
Pose: TypeAlias = tuple[Matrix, Vector]
# A SymPy expression.
Formula: TypeAlias = Any
