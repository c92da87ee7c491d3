"""How the results of a batch are laid out in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from taupi.errors import Argument, unknown
from taupi.program.program import Program

# "samples": (N, *shape), sample by sample. "batch_last": (*reversed shape, N), the natural order of vectors over samples; the
# transpose of a regressor in it is the stacked matrix in Fortran order. "nonzeros": (structural nonzeros, N).
LAYOUTS = ("samples", "batch_last", "nonzeros")


def checked_layout(layout: str) -> str:
    """Return a layout after checking that it exists."""
    if layout not in LAYOUTS:
        raise unknown(Argument("layout"), layout, LAYOUTS)
    return layout


def places(program: Program, port: int, layout: str) -> np.ndarray:
    """Return where each structural nonzero of an output goes, in the order in which the tape stores them.

    A place is a flat index into the output of one sample ("samples"), into the same with its axes reversed ("batch_last"), or
    the number of the nonzero ("nonzeros").
    """
    flat = program.nonzeros(port)
    if checked_layout(layout) == "nonzeros":
        return np.arange(len(flat))
    shape = program.outputs[port].shape
    if layout == "samples" or len(shape) < 2:
        return flat
    return np.ravel_multi_index(np.unravel_index(flat, shape)[::-1], shape[::-1])


def output_shapes(shapes: list[tuple[int, ...]], nonzeros: list[int], layout: str, n: int) -> list[tuple[int, ...]]:
    """Return the shapes of outputs for n samples."""
    if layout == "nonzeros":
        return [(count, n) for count in nonzeros]
    return [(n, *s) if layout == "samples" else (*s[::-1], n) for s in shapes]


def dtype_name(dtype: Any) -> str:
    """Return the name of a number type: "float64" for "float64", float or np.float64."""
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype)
