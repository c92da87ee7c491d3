"""Rows of logs in folds by regions of positions: what gains, friction terms and priors are chosen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.dynamics.terms import Modulated, Term, kind_of
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.folds.left_out import Blocks, Grams
from taupi.identification.friction.dry_friction import FrictionPlan, friction_plan, transmitted
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker
from taupi.threads import small_algebra

# Rows that are used of all logs together; below this share of a joint's top speed, its dry friction is not known.
_ROWS, _SLOW = 4000, 0.01
# Regions are unions of small cells, so that rows are multiplied once for all divisions into regions.
_CELLS, _DIVISIONS = 60, 4
# A parameter may move the torque by about this share of it, from where a first fit left it.
_MOVES = 0.1


@dataclass(frozen=True, eq=False)
class RegionFolds:
    """Products of rows [Y_j tau_j] / sigma_j over cells of positions, and the divisions of the cells into regions.

    Attributes:
        base: The base parameters that the columns belong to.
        products: G (cells, n, b + 1, b + 1), in independent samples.
        divisions: The region of each cell, one array (cells,) per division.
        first: The parameters (b,) of a first fit, the mean of the prior.
        spread: The standard deviations (b,) of the prior: each parameter may move the torque by a tenth of its size.
    """

    base: BaseParameters
    products: np.ndarray
    divisions: tuple[np.ndarray, ...]
    first: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, recordings: Sequence[Recording], base: BaseParameters, first: np.ndarray) -> RegionFolds:
        """Return the folds of the beginnings of recordings.

        `first` (b,) are the parameters of a first fit; those of friction that depends on load or bends with speed, which come
        last in the `base`, begin at zero, and so do constant torques, which follow where the `base` has none.
        """
        y, tau, q, share = _rows(recordings, friction_plan(base, first))
        y = np.concatenate([y.T, _constants(y, base).T]).T  # column by column, as regressors are compiled
        first = np.append(first, np.zeros(y.shape[2] - len(first)))
        cells = Blocks.regions(q, _CELLS)
        products = Grams.of(y, tau, cells).own
        rows = np.maximum(y.any(axis=2).sum(axis=0), 1)
        total, b = products.sum(axis=0), len(first)
        sigma = np.sqrt(total[:, b, b] / rows)
        largest = max(float(sigma.max(initial=0.0)), 1e-300)
        spread, scale = np.ones(b), sigma
        for _ in range(3):
            sigma = scale = np.maximum(sigma, 1e-4 * largest)
            scaled = (total / sigma[:, None, None] ** 2).sum(axis=0)
            lengths = np.sqrt(np.diagonal(scaled)[:b])
            spread = _MOVES * np.sqrt(scaled[b, b]) / np.maximum(lengths, 1e-9 * max(lengths.max(initial=0.0), 1e-300))
            folds = cls(base, products, (), first, spread)
            x = np.append(folds.solved(share * total / sigma[:, None, None] ** 2), -1.0)
            sigma = np.sqrt(np.maximum(np.einsum("jkl,k,l->j", total, x, x), 0.0) / rows)
        centres = np.zeros((cells.count, q.shape[1]))
        np.add.at(centres, cells.of_row, q / np.bincount(cells.of_row)[cells.of_row][:, None])
        divisions = tuple(Blocks.regions(centres, seed=seed).of_row for seed in range(_DIVISIONS))
        products *= share / scale[:, None, None] ** 2
        return cls(base, products, divisions, first, spread)

    @property
    def count(self) -> int:
        """How many regions there are, in the division that has the fewest."""
        return min(int(division.max()) + 1 for division in self.divisions)

    @cached_property
    def rigid(self) -> np.ndarray:
        """Which parameters (b,) are not friction or offsets: their torque is transmitted by gears."""
        own = transmitted(self.base.linear)
        return np.append(own, np.zeros(len(self.first) - len(own), dtype=bool))

    @cached_property
    def total(self) -> np.ndarray:
        """The products (n, b + 1, b + 1) over all cells."""
        return np.asarray(self.products.sum(axis=0))

    def solved(self, products: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Return the parameters (b,) that fit products (n, b + 1, b + 1) and the prior; those not in `columns` are zero."""
        b = len(self.first)
        kept = np.arange(b) if columns is None else columns
        g, weight = products.sum(axis=0), self.spread[kept] ** -2.0
        x = np.zeros(b)
        h = g[np.ix_(kept, kept)] + np.diag(weight)
        x[kept] = np.linalg.solve(h, g[kept, b] + weight * self.first[kept])
        return x

    def left_out(self, region: np.ndarray, columns: np.ndarray) -> float:
        """Return the squared error on the products of a region, of the `columns` that fit all other regions."""
        x = np.append(self.solved(self.total - region, columns), -1.0)
        return max(float(np.einsum("jkl,k,l->", region, x, x)), 0.0)

    @cached_property
    def regions(self) -> tuple[np.ndarray, ...]:
        """The products (regions, n, b + 1, b + 1) of each division."""
        cells = self.products.reshape(len(self.products), -1)
        return tuple(
            ((division == np.arange(division.max() + 1)[:, None]).astype(float) @ cells).reshape(-1, *self.total.shape)
            for division in self.divisions
        )


def _constants(y: np.ndarray, base: BaseParameters) -> np.ndarray:
    """Return columns (m, n, k) of a constant torque at each joint, beside y (m, n, b), unless the `base` has them.

    Gains would else take up an offset that the terms of a fit leave out.
    """
    constant = any(term.constant for term in base.terms)
    return np.eye(y.shape[1])[:, : 0 if constant else None] * y.any(axis=2, keepdims=True)


def _rows(recordings: Sequence[Recording], friction: FrictionPlan) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return y (m, n, b), tau (m, n) and q (m, n) of some rows, zero for slow joints, and what a row is worth."""
    maker = RowMaker(friction)
    step = max(1, sum(r.expected_rows(head=True) for r in recordings) // _ROWS)
    every = [list(r.rows(maker, head=True)) for r in recordings]
    top = np.max([np.abs(rows.qd).max(axis=0) for blocks in every for rows in blocks], axis=0)
    y, tau, q = [], [], []
    for recording, blocks in zip(recordings, every, strict=True):
        smooth = recording.head
        positions = recording.layout.positions(smooth)
        for rows in blocks:
            some = slice(None, None, step)
            used = (rows.use & (np.abs(rows.qd) >= _SLOW * top))[some]
            y.append(rows.y[:, :, some] * used.T)
            tau.append(rows.tau[some] * used)
            q.append(positions[np.minimum(np.searchsorted(smooth.time, rows.time[some]), len(positions) - 1)])
    share = min(1.0, step * float(np.mean([r.independent_share for r in recordings])))
    return np.concatenate(y, axis=2).T, np.concatenate(tau), np.concatenate(q), share


@small_algebra
def simpler_friction(folds: RegionFolds, terms: Sequence[Term]) -> str | None:
    """Return a note if the friction of a first level predicts regions that were left out as well as all of it; else None.

    The levels are the `terms` without what modulates dry friction, and with one more of it each: rotor, viscous, coulomb and
    offset; and load; and curve. A level is as good if the mean over regions of its error, less that of the best level, is at most
    the standard error of this difference.
    """
    names = [term.name for term in terms]
    modulated = [name for name in names if issubclass(kind_of(name), Modulated)]
    if not modulated:
        return None
    kinds = [name.rpartition(".")[2] for name in folds.base.names]
    levels = [[name for name in names if name not in modulated[k:]] for k in range(len(modulated) + 1)]
    columns = [np.array([k not in modulated or k in level for k in kinds]) for level in levels]
    errors = []
    for regions in folds.regions:
        errors.append(np.array([[folds.left_out(region, np.flatnonzero(c)) for c in columns] for region in regions]))
    total = np.sum([left.mean(axis=0) for left in errors], axis=0)
    behind = [left - left[:, [int(np.argmin(total))]] for left in errors]
    chance = np.sum([each.std(axis=0, ddof=1) / np.sqrt(len(each)) for each in behind], axis=0)
    level = int(np.argmax(np.sum([each.mean(axis=0) for each in behind], axis=0) <= chance))
    if level == len(levels) - 1:
        return None
    ratio = float(np.sqrt(total[level] / max(total[-1], 1e-300))) - 1
    dropped = " and ".join(f'"{name}"' for name in modulated[level:])
    return (
        f"friction: without {dropped}, regions of positions that were left out are predicted as well (error {100 * ratio:+.1f}"
        f" %, within chance). Validate with another motion whether these terms suffice: {','.join(levels[level])}."
    )
