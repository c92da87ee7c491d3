"""Least squares over more samples than fit into memory: products of a regressor, accumulated block by block.

Only a block of the regressor, a few megabytes, exists at a time; what is kept is p x p.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from taupi.checks import whole_number
from taupi.errors import Argument, TaupiError, unknown
from taupi.program.ports import batch
from taupi.program.program import Port, Program
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from taupi.program.targets.cpu import Kernel

# Bytes in a block of the regressor: enough samples for fast matrix products, few enough to stay in the cache.
BLOCK_BYTES = 4 << 20


@dataclass(frozen=True)
class NormalEquations:
    """Y^T Y (p, p) as `matrix`, Y^T tau (p,) as `vector`, tau^T tau as `square`, and the number of `rows`.

    The rounding errors of the sums over blocks are kept: `matrix` + `matrix_rest` and `vector` + `vector_rest` are the sums
    to about twice double precision.
    """

    matrix: np.ndarray
    vector: np.ndarray
    square: float
    rows: int
    matrix_rest: np.ndarray = field(repr=False)
    vector_rest: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class TriangularFactor:
    """`r` (p, p) and `z` (p,) of a QR factorisation of the stacked [Y tau]: |Y x - tau|^2 = |r x - z|^2 + rest^2 for all x.

    So the x that minimises one minimises the other, even if Y is rank deficient. `rest` is the part of the residual that no x
    changes, and `rows` the number of rows of Y.
    """

    r: np.ndarray
    z: np.ndarray
    rest: float
    rows: int

    @property
    def residual(self) -> float:
        """The smallest |Y x - tau| over all x."""
        x, *_ = np.linalg.lstsq(self.r, self.z, rcond=None)
        return float(np.hypot(self.rest, np.linalg.norm(self.r @ x - self.z)))


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a + b and its rounding error (Knuth 1997, section 4.2.2)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


@small_algebra
def _triangle(rows: np.ndarray) -> np.ndarray:
    """Return R of a QR factorisation."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


class Accumulator:
    """Accumulates samples of a regressor into Y^T Y and Y^T tau, or into the triangular factor of a QR factorisation.

    `program` is the regressor, a program with one matrix as its output. `kind` is "normal" (the normal equations, the
    default) or "qr" (slower, but it does not square the condition number). `block` is the number of samples evaluated
    at a time, by default as many as fit into 4 MiB.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> rng = np.random.default_rng(0)
    >>> q, qd, qdd = rng.normal(size=(3, 500, 2))
    >>> sums = tp.program.Accumulator(tp.regressor(arm))
    >>> sums.add(tp.inverse_dynamics(arm)(q, qd, qdd), q, qd, qdd)
    >>> sums.result().matrix.shape
    (20, 20)
    """

    def __init__(self, program: Program, kind: str = "normal", block: int | None = None) -> None:
        if kind not in ("normal", "qr"):
            raise unknown(Argument("kind"), kind, ("normal", "qr"))
        if not isinstance(program, Program):
            raise TaupiError(
                "{program} is {got}, expected a regressor: taupi.regressor(robot).", got=type(program).__name__
            )
        if len(program.outputs) != 1 or len(program.outputs[0].shape) != 2:
            raise TaupiError("{program} is not a regressor: one output with two axes is needed.", program=program.name)
        self._n, self._p = program.outputs[0].shape
        block = max(64, BLOCK_BYTES // (8 * self._n * (self._p + 1))) if block is None else block
        self.program, self.kind, self.block = program, kind, whole_number("block", block)
        self._prepare()
        self.rows = 0
        p = self._p
        self._sum, self._rest = np.zeros((p + 1, p + 1)), np.zeros((p + 1, p + 1))
        self._factor = np.zeros((0, p + 1))

    def _prepare(self) -> None:
        """Compile the regressor, and allocate a block of its columns with the torque as one more."""
        self._kernel: Kernel = self.program.compile("cpu", layout="batch_last")  # type: ignore[assignment]
        self._buffer = np.zeros((self._p + 1, self._n, self.block))

    def __getstate__(self) -> dict[str, object]:
        """Return the state without machine code and buffer: a copy in another process creates its own."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_kernel", "_buffer")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def add(self, tau: ArrayLike, *args: ArrayLike, **kwargs: ArrayLike) -> None:
        """Add samples: the torque `tau` (..., n), N m or N, and the regressor's inputs (`args`, `kwargs`), batch axes first."""
        arrays, shape = batch(self.program.name, self.program.inputs, args, kwargs)
        (torque,), lead = batch("tau", [Port("tau", (self._n,))], [tau], {})
        count = int(np.prod(shape, dtype=int))
        if lead != shape:
            raise TaupiError(
                "{tau} has batch shape {lead}, expected {shape}: that of the inputs.", lead=lead, shape=shape
            )
        for start in range(0, count, self.block):
            stop = min(start + self.block, count)
            parts = [a[start:stop] if len(a) == count else a for a in arrays]
            self._add_block(parts, torque[start:stop])
        self.rows += self._n * count

    def _add_block(self, parts: list[np.ndarray], torque: np.ndarray) -> None:
        m = len(torque)
        buffer = self._buffer if m == self.block else np.zeros((self._p + 1, self._n, m))
        self._kernel(*(np.broadcast_to(a, (m, a.shape[1])) for a in parts), out=buffer[:-1])
        buffer[-1] = torque.T
        stacked = buffer.reshape(self._p + 1, -1)
        if self.kind == "qr":
            self._factor = _triangle(np.vstack([self._factor, stacked.T]))
        else:
            self._sum, error = _two_sum(self._sum, stacked @ stacked.T)
            self._rest += error

    def merge(self, other: Accumulator) -> None:
        """Add the samples of an `other` accumulator of the same regressor and kind, from another thread or machine."""
        if not isinstance(other, Accumulator) or self._identity() != other._identity():
            raise TaupiError("Accumulators can be merged only if they have the same regressor and the same kind.")
        self._factor = _triangle(np.vstack([self._factor, other._factor]))
        self._sum, error = _two_sum(self._sum, other._sum)
        self._rest += other._rest + error
        self.rows += other.rows

    def _identity(self) -> tuple[object, ...]:
        parameters = self.program.parameters
        return self.kind, self._n, self._p, parameters.names if parameters is not None else ()

    def result(self) -> NormalEquations | TriangularFactor:
        """Return the sums ("normal") or the triangular factor ("qr") of all samples so far."""
        p = self._p
        if self.kind == "normal":
            s, rest = self._sum, self._rest
            parts = (s[:p, :p].copy(), s[:p, p].copy(), float(s[p, p] + rest[p, p]), self.rows)
            return NormalEquations(*parts, rest[:p, :p].copy(), rest[:p, p].copy())
        full = np.zeros((p + 1, p + 1))
        full[: len(self._factor)] = self._factor
        signs = np.where(np.diag(full) < 0, -1.0, 1.0)[:, None]
        full = signs * full
        return TriangularFactor(full[:p, :p], full[:p, p], float(full[p, p]), self.rows)
