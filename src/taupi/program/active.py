"""Which columns of a program's output act at all, decided exactly."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from taupi.program.program import Program

# A rational function that is not zero vanishes at a random point of these fractions with probability below 1e-4 each.
_POINTS = 3


def active_columns(program: Program) -> list[int]:
    """Return the columns of the (first) output that do not vanish identically, by exact evaluation at random points.

    Rounding plays no part: a column that is zero only by cos^2 + sin^2 = 1 is zero here. Symbols without a value are random
    too. The points are seeded, so the answer is the same every time.
    """
    rng = random.Random(0)

    def number() -> Fraction:
        return Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 10**3))

    acting: np.ndarray | None = None
    for _ in range(_POINTS):
        bound = program.bind(**{name: number() for name in program.symbols})
        point = [np.array([number() for _ in range(p.size)], dtype=object).reshape(p.shape) for p in program.inputs]
        result = bound.exact(*point)
        first = result[0] if isinstance(result, tuple) else result
        nonzero = (first != 0).reshape(-1, first.shape[-1]).any(axis=0)
        acting = nonzero if acting is None else acting | nonzero
    assert acting is not None
    return [int(k) for k in np.flatnonzero(acting)]
