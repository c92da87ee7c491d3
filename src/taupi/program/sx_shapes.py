"""SX of any shape to and from the row-major columns that CasADi functions take and return."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from taupi.errors import TaupiError

if TYPE_CHECKING:
    from casadi import SX

NestedSX: TypeAlias = "SX | list[NestedSX]"


def to_column(value: SX, shape: tuple[int, ...]) -> SX:
    """Return an SX of some shape as a row-major column."""
    import casadi as cs

    if value.numel() != math.prod(shape):
        raise TaupiError(f"An SX argument has {value.numel()} entries, expected shape {shape}.")
    return cs.vec(value.T) if len(shape) == 2 else cs.vec(value)


def from_column(column: SX, shape: tuple[int, ...]) -> SX:
    """Return the matrix that a column holds row by row; for other shapes, return the column."""
    import casadi as cs

    return cs.reshape(column, shape[1], shape[0]).T if len(shape) == 2 else column


def flatten(value: NestedSX) -> SX:
    """Return an SX, or nested lists of SX, as a row-major column."""
    import casadi as cs

    if isinstance(value, list):
        return cs.vertcat(*(flatten(v) for v in value))
    return cs.densify(cs.vec(cs.SX(value).T))
