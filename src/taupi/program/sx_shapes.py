"""SX of any shape as the row-major columns that CasADi functions take and give."""

from __future__ import annotations

import math
from typing import Any

from taupi.errors import TaupiError


def to_column(value: Any, shape: tuple[int, ...]) -> Any:
    """Return the row-major column of an SX of a shape."""
    import casadi as cs

    if value.numel() != math.prod(shape):
        raise TaupiError(f"An SX argument has {value.numel()} entries, expected shape {shape}.")
    return cs.vec(value.T) if len(shape) == 2 else cs.vec(value)


def from_column(column: Any, shape: tuple[int, ...]) -> Any:
    """Return a column as the matrix it holds row by row; other shapes stay columns."""
    import casadi as cs

    return cs.reshape(column, shape[1], shape[0]).T if len(shape) == 2 else column


def flatten(value: Any) -> Any:
    """Return the row-major column of an SX or of nested lists of SX."""
    import casadi as cs

    if isinstance(value, list):
        return cs.vertcat(*(flatten(v) for v in value))
    return cs.densify(cs.vec(cs.SX(value).T))
