"""Rows of the regressor with their torque, both through the same filter: F(tau) = F(Y) pi, whatever F does.

A log comes smoothed a little, so that its derivatives are good, at a multiple of the cutoff. Y is evaluated on that, and then its
columns and the torque pass the same filter (Gautier 1997, "parallel filtering").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from taupi.identification.equations import regressor_inputs
from taupi.identification.friction.dry_friction import FrictionPlan, Past
from taupi.identification.rows.samples import Samples
from taupi.program.program import Program
from taupi.signals.block_filter import zero_phase
from taupi.signals.filters import edge_rows, overlapping_pieces, settle_rows

# Samples that are evaluated and filtered at once.
_CHUNK = 4096
# A filtered row is used if samples that are not to be used contribute less than this share to it.
MIXED = 0.01


@dataclass(frozen=True)
class Rows:
    """Rows y (p, n, m) and tau (m, n) at `time` (m,); `use` (m, n) is false where a row is not used.

    `qd` and `qdd` (m, n) are not filtered; `shapes` (m, k, K) are further functions of the motion, filtered, if asked for: other
    shapes of dry friction, or what a delay between encoders would look like.
    """

    y: np.ndarray
    tau: np.ndarray
    use: np.ndarray
    time: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    shapes: np.ndarray

    def __len__(self) -> int:
        return len(self.time)

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Return tau - Y x (m, n)."""
        return self.tau - np.tensordot(self.y, x, axes=(0, 0)).T


@dataclass(frozen=True)
class Filter:
    """A zero-phase Butterworth filter and a decimation by `step`; one period of the cutoff is cut at each end."""

    rate_hz: float
    cutoff_hz: float
    order: int = 4
    step: int = 1

    @property
    def edge(self) -> int:
        """The number of samples cut at each end, where the filter averages over few."""
        return edge_rows(self.rate_hz, self.cutoff_hz)

    @property
    def reach(self) -> int:
        """The number of samples after which the filter has forgotten how it started."""
        return settle_rows(self.rate_hz, self.cutoff_hz, self.order)

    def __call__(self, x: np.ndarray, rows: slice | None = None) -> np.ndarray:
        """Return `rows` (all by default) of x (N, C) filtered along its first axis."""
        return zero_phase(x, self.rate_hz, self.cutoff_hz, self.order, rows)

    def kept(self, first: int, length: int) -> slice:
        """Return which rows are kept of `length` that begin at row `first` of the record: every `step`-th from the edge on."""
        start = max(self.edge - first, (self.edge - first) % self.step)
        return slice(start, length, self.step)


@lru_cache(maxsize=8)
def compiled_rows(program: Program) -> Callable[..., np.ndarray]:
    """Return a regressor as machine code that gives its rows (p, n, N) for a motion of N samples."""
    kernel: Callable[..., np.ndarray] = program.compile("cpu", layout="batch_last")
    return kernel


# From q, qd (N, n), the seconds between samples and the past of the first sample: values (N, k, K) and the past of what follows.
Shapes = Callable[[np.ndarray, np.ndarray, float, Past | None], tuple[np.ndarray, Past | None]]


class RowMaker:
    """Makes rows from samples that come block by block: the same, to 1e-9, as from all samples at once."""

    def __init__(self, plan: FrictionPlan, shapes: Shapes | None = None) -> None:
        self._kernel = compiled_rows(plan.program)
        self._plan, self._shapes = plan, shapes
        self._shape_size = (0, 0)
        self._modulation = plan.modulation
        self.used = _used(plan)  # (n, p): the others are zero at every state
        self.n, self.p = self.used.shape
        self._evaluated = plan.program.sparsity().T.copy()
        self._evaluated[list(plan.places)] = False  # columns of dry friction follow from s, after filtering
        rigid = np.zeros(len(self._evaluated)) if self._modulation is None else self._modulation.rigid
        # Where the entries of Y that are evaluated add up to the load of each joint.
        columns, joints = np.nonzero(self._evaluated)
        self._to_load = np.zeros((len(joints), self.n))
        self._to_load[np.arange(len(joints)), joints] = rigid[columns]

    def rows(
        self, blocks: Iterator[Samples], row_filter: Filter | None, one_way_signs: Mapping[str, float] | None = None
    ) -> Iterator[Rows]:
        """Yield the rows of samples through a filter, or unfiltered if it is None.

        `one_way_signs`, by owner, are the signs of velocities that never reverse: their friction is constant, whatever noise
        says.
        """
        tables = self._tables(blocks, one_way_signs or {})
        if row_filter is None:
            for table in tables:
                yield from self._rows_of(table)
            return
        row, pending = 0, None
        for piece, inside in overlapping_pieces(tables, row_filter.reach):
            own = piece[inside]
            kept = row_filter.kept(row, len(own))
            shifted = slice(kept.start + inside.start, inside.stop, kept.step)
            filtered = row_filter(piece[:, self._unfiltered :], shifted)
            table = np.concatenate([own[kept, : self._unfiltered], filtered], axis=1)
            if pending is not None:  # only when no further piece comes is the end of the record known
                yield from self._rows_of(pending[1])
            pending, row = (row + kept.start, table), row + len(own)
        if pending is not None:
            first, table = pending
            yield from self._rows_of(table[: len(range(first, row - row_filter.edge, row_filter.step))])

    @property
    def _unfiltered(self) -> int:
        """The number of columns at the beginning of a table that are not filtered: time, qd, qdd."""
        return 1 + 2 * self.n

    def _tables(self, blocks: Iterator[Samples], one_way_signs: Mapping[str, float]) -> Iterator[np.ndarray]:
        """Yield tables of time, qd, qdd, and of what is filtered: use, tau, s, modulated s, other shapes, Y where it is not 0."""
        past = other_past = None
        seconds = 0.0
        for block in blocks:
            seconds = seconds or float(np.ptp(block.time)) / max(len(block) - 1, 1)
            s, past = self._plan.along_motion(block.q, block.qd, seconds, past)
            constant = np.array([one_way_signs.get(owner, 0.0) for owner in self._plan.owners])
            s = np.where(constant != 0, constant, s)
            shapes = np.zeros((len(block), len(self._plan.places), 0))
            if self._shapes is not None:
                shapes, other_past = self._shapes(block.q, block.qd, seconds, other_past)
            self._shape_size = (shapes.shape[1], shapes.shape[2])
            for start in range(0, len(block), _CHUNK):
                at = slice(start, start + _CHUNK)
                motion = regressor_inputs(self._plan.program, block.q[at], block.qd[at], block.qdd[at])
                y = np.asarray(self._kernel(*motion))[self._evaluated].T
                unfiltered = (block.time[at, None], block.qd[at], block.qdd[at])
                modulated = np.zeros((len(y), 0))
                if self._modulation is not None:
                    known = block.known[at] if isinstance(block.known, np.ndarray) else block.known
                    modulated = self._modulation.columns(s[at], block.qd[at], y @ self._to_load - known)
                signals = (block.use[at], block.tau[at], s[at], modulated, shapes[at].reshape(len(y), -1))
                yield np.concatenate([*unfiltered, *signals, y], axis=1)

    def _rows_of(self, table: np.ndarray) -> Iterator[Rows]:
        """Yield the rows in a table, of those samples in which any joint is used."""
        n, places, own = self.n, len(self._plan.places), len(self._evaluated)
        table = table[(table[:, self._unfiltered : self._unfiltered + n] > 1 - MIXED).any(axis=1)]
        if not len(table):
            return
        widths = (1, n, n, n, n, places, self.p - own)
        time, qd, qdd, use, tau, s, modulated, rest = np.split(table, np.cumsum(widths), axis=1)
        flat, evaluated = np.split(rest, [rest.shape[1] - int(self._evaluated.sum())], axis=1)
        y = np.zeros((self.p, n, len(table)))
        y[:own][self._evaluated] = evaluated.T
        if self._modulation is not None:
            y[np.arange(own, self.p), list(self._modulation.joints)] = modulated.T
        shapes = flat.reshape(len(table), *self._shape_size)
        yield Rows(self._plan.overwrite(y, s), tau, use > 1 - MIXED, time[:, 0], qd, qdd, shapes)


def _used(plan: FrictionPlan) -> np.ndarray:
    """Return which columns are not zero at every state in the row of each joint (n, p), those of modulated friction last."""
    used = plan.program.sparsity()
    if plan.modulation is None:
        return used
    more = np.zeros((len(used), len(plan.modulation.joints)), dtype=bool)
    more[list(plan.modulation.joints), np.arange(more.shape[1])] = True
    return np.concatenate([used, more], axis=1)
