"""Rows of the regressor compressed to triangular factors, one for each file and joint, from which every estimator starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from taupi.identification.rows.row_maker import Entries, Places


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows (k, b) without zeros: columns that are zero in all rows are left out, and so is what is below the diagonal.

    Attributes:
        count: How many rows there are.
        columns: Which columns have numbers (b,).
        is_upper: Whether the rows of these columns are zero below the diagonal.
        values: The numbers, row by row.

    >>> rows = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    >>> packed = PackedRows.of(rows)
    >>> packed.values.tolist(), bool((packed.rows == rows).all())
    ([1.0, 2.0, 3.0], True)
    """

    count: int
    columns: np.ndarray
    is_upper: bool
    values: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> PackedRows:
        """Return rows (k, b) packed."""
        columns = np.asarray(rows.any(axis=0))
        dense = rows[:, columns]
        upper = _upper(*dense.shape)
        is_upper = not dense[~upper].any()
        return cls(len(rows), columns, is_upper, dense[upper] if is_upper else dense.ravel())

    @property
    def rows(self) -> np.ndarray:
        """The rows (k, b), equal to what they were."""
        width = int(self.columns.sum())
        if self.is_upper:
            dense = np.zeros((self.count, width))
            dense[_upper(self.count, width)] = self.values
        else:
            dense = self.values.reshape(self.count, width)
        full = np.zeros((self.count, len(self.columns)))
        full[:, self.columns] = dense
        return full


@cache
def _upper(rows: int, columns: int) -> np.ndarray:
    """Return which entries of a matrix are on its diagonal or above."""
    return np.triu(np.ones((rows, columns), dtype=bool))


# Initial number of samples in a stretch of time: three periods of the cutoff, with the default decimation.
STRETCH = 32
# If a file has more stretches than this, neighbours are joined, so that memory does not grow with the log.
MOST_STRETCHES = 64
# In a quick solution, combinations of columns below this share of the strongest are left at zero.
WEAKEST = 1e-6
# Rows of factors that are stacked at once: those of a thousand logs are not in memory twice.
_STACKED = 1 << 16
# Block size of LAPACK's update of a triangle by further rows, which is twice as fast here as factorising both together.
_PANEL = 8


@dataclass(frozen=True)
class JointFactor:
    """R (k, b + 1), k <= b + 1, with |Y x - tau|^2 = |R (x, -1)|^2 over the rows of one joint in one file.

    `rows` is their number, `total` the sum of their tau; `stretch` is the index of the stretch of time, -1 for the whole file.
    `share` is how many independent samples a row is worth: filtered rows are 2 B / rate, with B the noise bandwidth.
    The rows of R are `stored` as an array, or packed, without zeros; each use of `r` then unpacks them.
    """

    file: int
    joint: int
    stored: np.ndarray | PackedRows
    rows: int = 0
    total: float = 0.0
    stretch: int = -1
    share: float = 1.0

    @property
    def r(self) -> np.ndarray:
        """R (k, b + 1)."""
        return self.stored.rows if isinstance(self.stored, PackedRows) else self.stored

    @property
    def independent(self) -> float:
        """How many independent samples the rows are worth."""
        return self.rows * self.share

    @property
    def is_packed(self) -> bool:
        """Whether its rows are stored packed."""
        return isinstance(self.stored, PackedRows)

    def at(self, file: int, stretch: int | None = None) -> JointFactor:
        """Return the same rows as those of the log with this index, and of another stretch if one is given."""
        return replace(self, file=file, stretch=self.stretch if stretch is None else stretch)

    def packed(self) -> JointFactor:
        """Return the factor with its rows stored packed."""
        return replace(self, stored=PackedRows.of(self.r))

    def unpacked(self) -> JointFactor:
        """Return the factor with its rows stored as an array."""
        return replace(self, stored=self.r)


class Compressor:
    """Compresses rows of a regressor into factors, one for each joint and stretch of time: at most n x 64 triangles.

    `used` (n, p) says which columns of a joint's rows are not zero at every state: those of its own friction, and of the links
    that it carries. Rows that combine several joints have all columns. `share` is how many independent samples a row is worth,
    and `most`, one or an even number, is the largest number of stretches. If about this many rows are `expected`, stretches are
    as long from the start as half of them would make them.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> q, qd, qdd = np.random.default_rng(0).normal(size=(3, 100, 2))
    >>> tau, program = tp.inverse_dynamics(arm)(q, qd, qdd), tp.regressor(arm).independent()
    >>> compressor = Compressor(program.sparsity())
    >>> compressor.add(program(q, qd, qdd).transpose(2, 1, 0), tau, np.ones((100, 2), dtype=bool))
    >>> [f.r.shape for f in merge_stretches(compressor.result(file=0))]
    [(7, 7), (4, 7)]
    """

    def __init__(self, used: np.ndarray, share: float = 1.0, most: int = MOST_STRETCHES, expected: int = 0) -> None:
        self.n, self.p = used.shape
        self.share, self.most = share, most
        self._columns = [np.append(np.flatnonzero(row), self.p) for row in used]  # the last is the torque
        self.samples = 0
        self.stretch = STRETCH
        while 2 * most * self.stretch < expected:
            self.stretch *= 2
        self._pieces: list[list[np.ndarray]] = []  # by stretch and joint
        self._rows: list[np.ndarray] = []
        self._total: list[np.ndarray] = []
        self._places: Places | None = None
        self._entries: tuple[np.ndarray, ...] = ()

    def add(self, y: np.ndarray | Entries, tau: np.ndarray, use: np.ndarray) -> None:
        """Add rows y (p, n, m), or their entries that are not always zero, and tau (m, n), where `use` (m, n) is true."""
        entries = y if isinstance(y, Entries) else Entries.of(y)
        values, places = entries.values, self._chosen_entries(entries.places)
        done, all_used = 0, bool(use.all())
        while done < len(tau):
            at, inside = divmod(self.samples, self.stretch)
            if at == len(self._pieces):
                if at == self.most:
                    self._join()
                    continue
                self._pieces.append([np.zeros((0, len(c))) for c in self._columns])
                self._rows.append(np.zeros(self.n, dtype=int))
                self._total.append(np.zeros(self.n))
            stop = min(len(tau), done + self.stretch - inside)
            for j, own in enumerate(places):
                # The transpose of what the kernel wrote has LAPACK's order, so that the columns are copied in one piece.
                transposed = np.empty((len(own) + 1, stop - done))
                np.take(values[:, done:stop], own, axis=0, out=transposed[:-1], mode="clip")
                transposed[-1] = tau[done:stop, j]
                used = use[done:stop, j]
                rows = transposed.T if all_used or used.all() else np.asfortranarray(transposed.T[used])
                self._rows[at][j] += len(rows)
                self._total[at][j] += float(rows[:, -1].sum())
                self._pieces[at][j] = append_rows(self._pieces[at][j], rows, overwrite=True)
            self.samples += stop - done
            done = stop

    def _chosen_entries(self, places: Places) -> tuple[np.ndarray, ...]:
        """Return which entries are the columns of each joint's rows."""
        if places is not self._places:
            self._places = places
            own = (
                entries[np.isin(places.columns[entries], self._columns[j])] for j, entries in enumerate(places.by_joint)
            )
            self._entries = tuple(own)
            assert all(len(own) == len(c) - 1 for own, c in zip(self._entries, self._columns, strict=True))
        return self._entries

    def _join(self) -> None:
        """Join pairs of neighbouring stretches, so that all are twice as long."""
        if self.most > 1:
            pairs = [(k, k + 1) for k in range(0, len(self._pieces), 2)]
            self._pieces = [
                [append_rows(a, b) for a, b in zip(*(self._pieces[k] for k in p), strict=True)] for p in pairs
            ]
            self._rows = [self._rows[a] + self._rows[b] for a, b in pairs]
            self._total = [self._total[a] + self._total[b] for a, b in pairs]
        self.stretch *= 2

    def result(self, file: int) -> list[JointFactor]:
        """Return the factors so far, stretch by stretch, as those of the file with this index."""
        return [
            JointFactor(
                file, j, self._all_columns(j, r), int(self._rows[k][j]), float(self._total[k][j]), k, self.share
            )
            for k, piece in enumerate(self._pieces)
            for j, r in enumerate(piece)
        ]

    def _all_columns(self, joint: int, rows: np.ndarray) -> np.ndarray:
        full = np.zeros((len(rows), self.p + 1))
        full[:, self._columns[joint]] = rows
        return full


def append_rows(rows: np.ndarray, more: np.ndarray, overwrite: bool = False) -> np.ndarray:
    """Return rows with more below them: as they are while there are fewer than columns, then R of their factorisation.

    If there are as many `rows` as columns, they are a triangle from an earlier call, which LAPACK's tpqrt updates. With
    `overwrite`, both arrays may be changed.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(9, 2))
    >>> r = append_rows(append_rows(np.zeros((0, 2)), rows[:5]), rows[5:])
    >>> r.shape, bool(np.allclose(r.T @ r, rows.T @ rows)), bool(r[1, 0] == 0)
    ((2, 2), True, True)
    """
    from scipy.linalg.lapack import dtpqrt

    width = more.shape[1]
    if len(rows) + len(more) < width:
        return np.vstack([rows, more])
    if len(rows) < width:
        rows, more = np.zeros((width, width)), np.vstack([rows, more])
    if not len(more):
        return rows
    rows, more = np.asfortranarray(rows), np.asfortranarray(more)
    r, _, _, failed = dtpqrt(0, min(_PANEL, width), rows, more, overwrite_a=overwrite, overwrite_b=overwrite)
    assert failed == 0
    return np.asarray(r)


def triangle(rows: np.ndarray) -> np.ndarray:
    """Return R of a QR factorisation if there are more rows than columns that are not zero, else the rows."""
    used = rows.any(axis=0)
    width = int(used.sum())
    if len(rows) <= width:
        return rows
    if not width:
        return rows[:0]
    full = np.zeros((width, rows.shape[1]))
    full[:, used] = append_rows(np.zeros((0, width)), rows[:, used])
    return full


def merge_stretches(pieces: Iterable[JointFactor]) -> list[JointFactor]:
    """Return one factor for each (file, joint) from those of its stretches."""
    groups: dict[tuple[int, int], list[JointFactor]] = {}
    for f in pieces:
        groups.setdefault((f.file, f.joint), []).append(f)
    return [join_stretches(group) for group in groups.values()]


def join_stretches(group: Sequence[JointFactor], stretch: int = -1) -> JointFactor:
    """Return one factor, that of this `stretch`, from several of one joint in one file; packed if one of them is.

    A single factor is not copied.
    """
    first, rows = group[0], np.vstack([f.r for f in group])
    r = triangle(rows)
    if len(group) == 1 and r is rows:
        return first.at(first.file, stretch)
    counts = sum(f.rows for f in group), sum(f.total for f in group)
    joined = JointFactor(first.file, first.joint, r, *counts, stretch, first.share)
    return joined.packed() if any(f.is_packed for f in group) else joined


def stack_factors(factors: Iterable[JointFactor], weights: Mapping[tuple[int, int], float] | None = None) -> np.ndarray:
    """Return one triangle of several factors, each multiplied by the weight of its (file, joint), 1 by default.

    Those of very many logs are put together in parts, in their order.
    """
    parts: list[np.ndarray] = []
    count = 0
    for f in factors:
        rows = f.r * (weights or {}).get((f.file, f.joint), 1.0)
        if parts and count + len(rows) > _STACKED:
            parts = [triangle(np.vstack(parts))]
            count = len(parts[0])
        parts.append(rows)
        count += len(rows)
    return triangle(np.vstack(parts))


def residual_squares(factors: Sequence[JointFactor], x: np.ndarray) -> dict[tuple[int, int], float]:
    """Return |Y x - tau|^2 of each (file, joint)."""
    return {(f.file, f.joint): float(np.sum((f.r @ np.append(x, -1.0)) ** 2)) for f in factors}


def reweighted_least_squares(
    rows: Sequence[np.ndarray], counts: Sequence[int], joints: Sequence[int]
) -> tuple[np.ndarray, list[float]]:
    """Return x of weighted least squares on factors [Y tau] of `counts` rows each, and their weights 1 / sigma.

    sigma^2 is the mean of the residual's mean square in the factor itself and in all factors with the same number in `joints`.
    It starts as that of the torques of the joint, and is estimated again from the residuals twice. A factor without torque has no
    weight; the residual of noiseless torques is rounding error, which says nothing about weights.

    >>> import numpy as np
    >>> precise, noisy = np.array([[1.0, 2.0], [0.0, 0.1]]), np.array([[1.0, 2.0], [0.0, 10.0]])
    >>> x, weights = reweighted_least_squares([precise, noisy], [2, 2], joints=[0, 1])
    >>> x.round(3).tolist(), round(weights[0] / weights[1])
    ([2.0], 100)
    >>> x, weights = reweighted_least_squares([precise, noisy], [2, 2], joints=[0, 0])
    >>> round((weights[0] / weights[1]) ** 2, 1)  # at most twice the mean, which is half of the larger variance
    3.0
    """
    which, sizes = np.asarray(joints), np.maximum(np.asarray(counts, dtype=float), 1.0)
    torques = np.array([float(np.sum(r[:, -1] ** 2)) for r in rows])
    with_torque = (torques > 0) & (np.asarray(counts) > 0)
    sums = np.zeros((2, which.max(initial=0) + 1))

    def over_joint(squares: np.ndarray) -> np.ndarray:
        sums[:] = 0
        np.add.at(sums[0], which, squares)
        np.add.at(sums[1], which, sizes * with_torque)
        return (sums[0] / np.maximum(sums[1], 1.0))[which]

    variances, x, weights = over_joint(torques), np.zeros(rows[0].shape[1] - 1), np.zeros(len(rows))
    for again in (True, True, False):
        weights = np.where(with_torque, 1 / np.sqrt(np.where(with_torque, variances, 1.0)), 0.0)
        r = triangle(np.vstack([w * r for w, r in zip(weights, rows, strict=True)]))
        x = np.linalg.lstsq(r[:, :-1], r[:, -1], rcond=WEAKEST)[0]
        if again:
            squares = np.array([float(np.sum((r @ np.append(x, -1.0)) ** 2)) for r in rows]) * with_torque
            squares = np.maximum(squares, 1e-18 * torques)
            variances = 0.5 * (over_joint(squares) + squares / sizes)
    return x, weights.tolist()
