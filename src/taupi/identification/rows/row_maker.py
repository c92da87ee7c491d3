"""Rows of the regressor and the torque beside them, both through the same filter: F(tau) = F(Y) pi, whatever F does.

A log comes smoothed a little, so that its derivatives are good, with a bandwidth that is some times the filter's own. Y is
evaluated on that, and then columns and torque pass the filter alike (Gautier 1997, "parallel filtering").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from taupi.identification.equations import arguments
from taupi.identification.friction.dry_friction import FrictionPlan, Past
from taupi.identification.rows.samples import Samples
from taupi.program.program import Program
from taupi.signals.filters import butterworth, edge_rows, overlapping_pieces, settle_rows

# Samples that are evaluated and filtered at once.
_CHUNK = 4096
# A row counts if the samples that the filter made it from do: those that do not have less than this share in it.
MIXED = 0.01


@dataclass(frozen=True)
class Rows:
    """Rows y (p, n, m) and tau (m, n) at `time` (m,); `use` (m, n) is false where a row does not count.

    `qd` and `qdd` (m, n) are not filtered; `shapes` (m, k, K) are other shapes of dry friction, filtered, where asked for.
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

    def left(self, x: np.ndarray) -> np.ndarray:
        """Return tau - Y x (m, n)."""
        return self.tau - np.tensordot(self.y, x, axes=(0, 0)).T


@dataclass(frozen=True)
class Filter:
    """A zero-phase Butterworth, of which every `step`-th sample is kept, but for a period of the cutoff at each end."""

    rate_hz: float
    cutoff_hz: float
    order: int = 4
    step: int = 1

    @property
    def edge(self) -> int:
        """How many samples at each end are left out: there the filter averages over few."""
        return edge_rows(self.rate_hz, self.cutoff_hz)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, ...) filtered along its first axis."""
        return butterworth(x, self.rate_hz, self.cutoff_hz, self.order)


@lru_cache(maxsize=8)
def _kernel(program: Program) -> Any:
    return program.compile("cpu", layout="batch_last")


Shapes = Callable[[np.ndarray, np.ndarray, float, Past | None], tuple[np.ndarray, Past]]


class RowMaker:
    """Makes rows from samples that come block by block: the same, to 1e-9, as from all of them at once."""

    def __init__(self, plan: FrictionPlan, shapes: Shapes | None = None) -> None:
        self._kernel = _kernel(plan.program)
        self._plan, self._shapes = plan, shapes
        self.used = plan.program.sparsity()  # (n, p): the rest is zero at any state
        self.n, self.p = self.used.shape
        self._filled = self.used.T.copy()
        self._filled[list(plan.places)] = False  # made from s, once filtered

    def rows(
        self, blocks: Iterator[Samples], through: Filter | None, ways: Mapping[str, float] | None = None
    ) -> Iterator[Rows]:
        """Yield the rows of samples through a filter, or as they are.

        `ways`, by owner, are the signs of what never reverses: its friction is that constant, whatever noise says.
        """
        if through is None:
            for packed in self._packed(blocks, ways or {}):
                yield from self._unpacked(packed)
            return
        row, held = 0, None
        overlap = settle_rows(through.rate_hz, through.cutoff_hz, through.order)
        for piece, keep in overlapping_pieces(self._packed(blocks, ways or {}), overlap):
            done = np.concatenate([piece[keep, : self._plain], through(piece[:, self._plain :])[keep]], axis=1)
            if held is not None:  # the end of the record is only known when the next piece does not come
                yield from self._kept(held, row - len(held), None, through)
            held, row = done, row + len(done)
        if held is not None:
            yield from self._kept(held, row - len(held), row, through)

    @property
    def _plain(self) -> int:
        return 1 + 2 * self.n

    def _packed(self, blocks: Iterator[Samples], ways: Mapping[str, float]) -> Iterator[np.ndarray]:
        """Yield time, qd, qdd, then what is to be filtered: use, tau, s, other shapes, and Y where it is not zero."""
        past = other = None
        seconds = 0.0
        for block in blocks:
            seconds = seconds or float(np.ptp(block.time)) / max(len(block) - 1, 1)
            s, past = self._plan.along(block.q, block.qd, seconds, past)
            constant = np.array([ways.get(owner, 0.0) for owner in self._plan.owners])
            s = np.where(constant != 0, constant, s)
            more = np.zeros((len(block), len(self._plan.places), 0))
            if self._shapes is not None:
                more, other = self._shapes(block.q, block.qd, seconds, other)
            for start in range(0, len(block), _CHUNK):
                at = slice(start, start + _CHUNK)
                motion = arguments(self._plan.program, block.q[at], block.qd[at], block.qdd[at])
                y = np.asarray(self._kernel(*motion))[self._filled].T
                flat = more[at].reshape(len(y), -1)
                plain = (block.time[at, None], block.qd[at], block.qdd[at], block.use[at])
                yield np.concatenate([*plain, block.tau[at], s[at], flat, y], axis=1)

    def _kept(self, piece: np.ndarray, first: int, end: int | None, through: Filter) -> Iterator[Rows]:
        """Yield the rows of a piece that begins at row `first`, in step, without the record's edges."""
        at = np.arange(first, first + len(piece))
        keep = (at >= through.edge) & ((at - through.edge) % through.step == 0)
        if end is not None:
            keep &= at < end - through.edge
        yield from self._unpacked(piece[keep])

    def _unpacked(self, packed: np.ndarray) -> Iterator[Rows]:
        """Yield the rows in which any joint counts."""
        n, places = self.n, len(self._plan.places)
        packed = packed[(packed[:, self._plain : self._plain + n] > 1 - MIXED).any(axis=1)]
        if not len(packed):
            return
        time, qd, qdd, use, tau, s, rest = np.split(packed, np.cumsum((1, n, n, n, n, places)), axis=1)
        more, filled = np.split(rest, [rest.shape[1] - int(self._filled.sum())], axis=1)
        y = np.zeros((self.p, n, len(packed)))
        y[self._filled] = filled.T
        shapes = more.reshape(len(packed), places, -1) if places else np.zeros((len(packed), 0, 0))
        yield Rows(self._plan.put(y, s), tau, use > 1 - MIXED, time[:, 0], qd, qdd, shapes)
