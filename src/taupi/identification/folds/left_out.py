"""Evidence from parts of the logs that were left out: what an alternative model explains where it was not fitted.

Verdicts, gains, friction terms and estimators rest on it. Each model of the log is fitted and scored alike. What counts is the
error on rows that the fit did not see: blocks of time, to which later rows that repeat their states belong, or regions of
positions. So a motion that is run twice is not left out and kept in at the same time. For verdicts, errors are relative to the
torque of each joint in the unit of its recorded channel, and on a logarithmic scale: a fault of one joint shows beside joints
whose error is large for other reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

# Blocks, and the fewest novel rows of each. With fewer than `LEAST_BLOCKS` a log is too short to judge.
BLOCKS, ROWS_OF_A_BLOCK, LEAST_BLOCKS = 12, 6, 4
# Regions of positions, and the rounds in which their means are found.
REGIONS, _LLOYD = 10, 20
# Two rows are of one state if their positions and velocities differ by less than this, in standard deviations.
_SAME = 0.15
# A relative error of 1 % is as good as none: what lies below improves nothing.
FLOOR = 0.01**2
# Neighbouring rows are not independent: there are ten per period of the cutoff, and two would be enough.
_ROWS_PER_INDEPENDENT = 5.0
# Keeps the normal equations of dependent columns solvable in doubles.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Blocks:
    """Which block each row belongs to (m,), how many blocks there are, and which share of the rows repeats an earlier state."""

    of_row: np.ndarray
    count: int
    repeated: float

    @classmethod
    def of(cls, q: np.ndarray, qd: np.ndarray, live: np.ndarray) -> Blocks:
        """Return contiguous blocks of the rows of motions q, qd (m, n), each with the later rows that repeat its states."""
        state = np.hstack([q[:, live], qd[:, live]])
        state = (state - state.mean(axis=0)) / np.maximum(state.std(axis=0), 1e-9)
        m, squares = len(state), (state**2).sum(axis=1)
        distances = squares[:, None] + squares[None] - 2 * state @ state.T
        near = distances < _SAME**2 * state.shape[1]
        root, apart = np.arange(m), max(10, m // 60)  # the next rows are near because little time has passed
        for i in range(apart + 1, m):
            earlier = slice(0, i - apart)
            if near[i, earlier].any():
                root[i] = root[np.argmin(distances[i, earlier])]
        novel = np.flatnonzero(root == np.arange(m))
        count = int(np.clip(len(novel) // ROWS_OF_A_BLOCK, LEAST_BLOCKS, BLOCKS))
        label = np.zeros(m, dtype=int)
        label[novel] = np.minimum(np.arange(len(novel)) * count // max(len(novel), 1), count - 1)
        return cls(label[root], count, 1 - len(novel) / m)

    @classmethod
    def regions(cls, q: np.ndarray, count: int = REGIONS, seed: int = 0) -> Blocks:
        """Return regions of the positions q (m, n): repeated periods, repeated runs and slow returns are left out together.

        They are clusters around `count` means of q in standard deviations (Lloyd 1982, started far apart at random).
        """
        rng = np.random.default_rng(seed)
        x = q / np.where(q.std(axis=0) > 1e-6, q.std(axis=0), 1.0)
        centres = x[rng.integers(len(x))][None]
        nearest = np.full(len(x), np.inf)
        while len(centres) < min(count, len(x)):
            nearest = np.minimum(nearest, _distances(x, centres[-1:])[:, 0] + 1e-12)
            centres = np.vstack([centres, x[rng.choice(len(x), p=nearest / nearest.sum())]])
        label = _distances(x, centres).argmin(axis=1)
        for _ in range(_LLOYD):
            sums = np.stack([np.bincount(label, column, len(centres)) for column in x.T], axis=1)
            sizes = np.bincount(label, minlength=len(centres))[:, None]
            centres = np.where(sizes > 0, sums / np.maximum(sizes, 1), centres)
            before, label = label, _distances(x, centres).argmin(axis=1)
            if (label == before).all():
                break
        _, label = np.unique(label, return_inverse=True)
        return cls(label, int(label.max()) + 1, 0.0)

    @property
    def enough(self) -> bool:
        """Whether there are rows enough in enough blocks to judge by."""
        sizes = np.bincount(self.of_row, minlength=self.count)
        return bool((1 - self.repeated) * len(self.of_row) >= BLOCKS / 2 * ROWS_OF_A_BLOCK and sizes.all())


def _distances(x: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the squared distances (m, k) of points x (m, n) from centres (k, n)."""
    return np.maximum((x**2).sum(axis=1)[:, None] - 2 * x @ centres.T + (centres**2).sum(axis=1), 0.0)


@dataclass(frozen=True, eq=False)
class Grams:
    """G_bj = sum over the rows of block b of [Y_j, tau]^T [Y_j, tau]: (blocks, n, p + n, p + n), with the torques of all joints.

    Every linear change of the torque, every choice of columns and every fold is a matter of these products. Those of blocks are
    formed when something is left out, which few alternatives are worth.

    Attributes:
        rows: Of each joint the rows (m, k_j) of the columns of [Y_j, tau] that are not zero, block by block.
        places: Which of the p + n columns these are, (k_j,) for each joint.
        size: The number p + n of columns.
        ends: Where blocks begin and end (blocks + 1,).
    """

    rows: Sequence[np.ndarray]
    places: Sequence[np.ndarray]
    size: int
    ends: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, tau: np.ndarray, blocks: Blocks) -> Grams:
        """Return the products of the rows y (m, n, p) and torques tau (m, n).

        Columns that lie beside each other in memory, as those of compiled regressors do, are the fastest.
        """
        _, n, p = y.shape
        in_order = bool((np.diff(blocks.of_row) >= 0).all())
        order = slice(None) if in_order else np.argsort(blocks.of_row, kind="stable")
        ends = np.searchsorted(blocks.of_row[order], np.arange(blocks.count + 1))
        columns = [np.flatnonzero(used) for used in _acting(y)]
        both = [np.concatenate([y[:, j].T[some], tau.T])[:, order] for j, some in enumerate(columns)]
        places = [np.append(some, np.arange(p, p + n)) for some in columns]
        return cls([rows.T for rows in both], places, p + n, ends)

    def _products(self, ends: Sequence[int], own: bool = False) -> np.ndarray:
        """Return the products between `ends` of rows; of the torques, with `own`, only that of each row's joint."""
        p, n = self.columns, len(self.rows)
        size = p + 1 if own else self.size
        result = np.zeros((len(ends) - 1, n, size, size))
        for j, (rows, places) in enumerate(zip(self.rows, self.places, strict=True)):
            to, of = places, np.arange(len(places))
            if own:
                of = np.flatnonzero((places < p) | (places == p + j))
                to = np.minimum(places[of], p)
            for products, start, stop in zip(result[:, j], ends, ends[1:], strict=False):
                part = rows[start:stop]
                square = part.T @ part
                products[to[:, None], to] = square[of[:, None], of] if own else square
        return result

    @cached_property
    def total(self) -> np.ndarray:
        """The products (n, p + n, p + n) of all rows."""
        return np.asarray(self._products([0, int(self.ends[-1])])[0])

    @cached_property
    def products(self) -> np.ndarray:
        """The products (blocks, n, p + n, p + n) of each block."""
        return self._products(self.ends.tolist())

    @property
    def own(self) -> np.ndarray:
        """The products with the torque of each row's joint alone (blocks, n, p + 1, p + 1)."""
        return self._products(self.ends.tolist(), own=True)

    @cached_property
    def squares(self) -> np.ndarray:
        """Y_j^T Y_j over all rows, (n, p, p)."""
        return np.ascontiguousarray(self.total[:, : self.columns, : self.columns])

    @property
    def counts(self) -> np.ndarray:
        """The number of rows (blocks,) of each block."""
        return np.diff(self.ends).astype(float)

    @property
    def columns(self) -> int:
        """The number p of columns of Y."""
        return self.size - len(self.rows)

    def select(self, columns: np.ndarray) -> Grams:
        """Return the products of some columns of Y, in ascending order."""
        kept = np.append(columns, np.arange(self.columns, self.size))
        some = [np.isin(places, kept) for places in self.places]
        rows = [r[:, chosen] for r, chosen in zip(self.rows, some, strict=True)]
        places = [np.searchsorted(kept, p[chosen]) for p, chosen in zip(self.places, some, strict=True)]
        return Grams(rows, places, len(kept), self.ends)


def _acting(y: np.ndarray) -> np.ndarray:
    """Return which columns (n, p) of y (m, n, p) have an entry that is not zero."""
    if not y.transpose(2, 1, 0).flags.c_contiguous:
        return np.asarray(np.logical_or.reduce(y, axis=0))
    bits = np.bitwise_or.reduce(y.transpose(2, 1, 0).view(np.uint64), axis=2)
    return np.asarray((bits << np.uint64(1)) != 0).T  # without the sign, which zeros have as well


@dataclass(frozen=True, eq=False)
class Score:
    """A model of the log, fitted to all blocks and to all but one.

    Attributes:
        x: Its parameters (p,).
        joints: The error of each joint (n,), a share of the power of its torque, where it was fitted.
        grams: The products that it was fitted to, and `torque` (n, n), the map tau -> torque tau.
        live: Which joints count (n,).
        weights: The weights (n,) of the joints in the fit.
        powers: The power (n,) of the torque of each joint, as mapped.
    """

    x: np.ndarray
    joints: np.ndarray
    grams: Grams
    torque: np.ndarray
    live: np.ndarray
    weights: np.ndarray
    powers: np.ndarray

    @classmethod
    def of(cls, grams: Grams, live: np.ndarray, torque: np.ndarray | None = None) -> Score:
        """Return the weighted least squares of the rows Y x = torque tau, w_j = 1 / error_j^2, with a prior that is wide."""
        torque = np.eye(len(live)) if torque is None else torque
        _, yz, zz = _mapped(grams.total, grams.columns, torque)
        yy, total = grams.squares, grams.counts.sum()
        powers = np.maximum(zz / total, 1e-30)
        weights = np.where(live, 1e3 / powers, 0.0)
        for _ in range(2):
            x = _solved(weights, yy, yz, zz)
            joints = np.where(live, _squares(x, yy, yz, zz) / total / powers, 0.0)
            weights = np.where(live, 1 / (_ROWS_PER_INDEPENDENT * powers * np.maximum(joints, FLOOR / 4)), 0.0)
        x = _solved(weights, yy, yz, zz)
        joints = np.where(live, _squares(x, yy, yz, zz) / total / powers, 0.0)
        return cls(x, joints, grams, torque, live, weights, powers)

    @property
    def level(self) -> float:
        """The sum of the logarithms of the errors where the model was fitted: a cheap screen for what is worth leaving out."""
        return float(np.log(self.joints[self.live] + FLOOR).sum())

    @cached_property
    def folds(self) -> np.ndarray:
        """The parameters (blocks, p) without each block."""
        yy, yz, zz = _mapped(self.grams.products, self.grams.columns, self.torque)
        return _solve(self.weights, yy.sum(axis=0) - yy, yz.sum(axis=0) - yz, zz.sum(axis=0) - zz)

    @cached_property
    def left_out(self) -> np.ndarray:
        """The error (blocks, n) of each joint on each block, by the parameters without it, as a share of its power."""
        mapped = _mapped(self.grams.products, self.grams.columns, self.torque)
        parts = zip(self.folds, *mapped, self.grams.counts, strict=True)
        return np.array([_squares(x, yy, yz, zz) / max(k, 1) / self.powers for x, yy, yz, zz, k in parts])

    @property
    def left_out_joints(self) -> np.ndarray:
        """The relative error (n,) of each joint over all blocks, none of them fitted; 0 for joints that do not count."""
        shares = self.grams.counts / self.grams.counts.sum()
        return np.where(self.live, np.sqrt(shares @ self.left_out), 0.0)

    @property
    def left_out_total(self) -> float:
        """The relative error over all joints and blocks, none of them fitted."""
        powers = np.where(self.live, self.powers, 0.0)
        return float(np.sqrt(self.left_out_joints**2 @ powers / max(powers.sum(), 1e-30)))


def _mapped(g: np.ndarray, p: int, torque: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Y_j^T Y_j, Y_j^T z_j and z_j^T z_j of products (..., n, p + n, p + n), for the torques z = torque tau."""
    yz = np.matmul(g[..., :p, p:], torque[:, :, None])[..., 0]
    zz = (np.matmul(g[..., p:, p:], torque[:, :, None])[..., 0] * torque).sum(axis=-1)
    return g[..., :p, :p], yz, zz


def _solve(weights: np.ndarray, yy: np.ndarray, yz: np.ndarray, zz: np.ndarray) -> np.ndarray:
    """Return x (folds, p): columns are scaled to length one, and the prior is as wide as the whole torque."""
    a, c = np.tensordot(yy, weights, (1, 0)), np.tensordot(yz, weights, (1, 0))
    lengths = np.sqrt(np.maximum(np.diagonal(a, axis1=1, axis2=2), 0))
    lengths = np.where(lengths > 1e-9 * lengths.max(axis=1, keepdims=True), lengths, np.inf)
    scaled = a / lengths[:, :, None] / lengths[:, None, :]
    ridge = 1 / np.maximum(zz @ weights, 1e-9) + _ROUNDING
    scaled[:, np.arange(a.shape[1]), np.arange(a.shape[1])] += ridge[:, None]
    return np.linalg.solve(scaled, (c / lengths)[..., None])[..., 0] / lengths


def _solved(weights: np.ndarray, yy: np.ndarray, yz: np.ndarray, zz: np.ndarray) -> np.ndarray:
    """Return x (p,), as `_solve` does for one fold."""
    from scipy.linalg.lapack import dposv

    n, p = yz.shape
    a, c = (weights @ yy.reshape(n, -1)).reshape(p, p), weights @ yz
    lengths = np.sqrt(np.maximum(a.diagonal(), 0))
    per_length = np.divide(1.0, lengths, out=np.zeros(p), where=lengths > 1e-9 * lengths.max(initial=0.0))
    a *= per_length[:, None]
    a *= per_length
    a.flat[:: p + 1] += 1 / max(float(zz @ weights), 1e-9) + _ROUNDING
    _, x, refused = dposv(a.T, c * per_length)  # transposed, it lies as LAPACK takes it
    return np.asarray((np.linalg.solve(a, c * per_length) if refused else x) * per_length)


def _squares(x: np.ndarray, yy: np.ndarray, yz: np.ndarray, zz: np.ndarray) -> np.ndarray:
    """Return |Y_j x - z_j|^2 per joint."""
    return np.maximum(zz - 2 * yz @ x + (yy @ x) @ x, 0.0)


@dataclass(frozen=True)
class PairedScores:
    """An alternative beside the log as it is, on blocks that neither was fitted on.

    Attributes:
        change: Mean over blocks of the sum over joints of ln(error of the alternative / error as recorded), in power.
        t: The same in standard errors over blocks.
        p: The probability of one as negative by chance, for a single alternative.
        pooled: The change of the error of all joints together.
        joints: The change at each joint (n,).
    """

    change: float
    t: float
    p: float
    pooled: float
    joints: np.ndarray


def compared(before: Score, after: Score, order: np.ndarray | None = None) -> PairedScores:
    """Return the comparison of two models of the log; `order` (n,) are the recorded channels of the joints of `after`."""
    from scipy.stats import t as student

    live = before.live
    old, new = (
        before.left_out + FLOOR,
        (after.left_out if order is None else after.left_out[:, np.argsort(order)]) + FLOOR,
    )
    joints = np.where(live, np.log(new / old), 0.0)
    blocks = joints.sum(axis=1)
    error = float(blocks.std(ddof=1)) / np.sqrt(len(blocks)) + 1e-12
    t = float(blocks.mean()) / error
    pooled = np.log(new[:, live].sum(axis=1) / old[:, live].sum(axis=1)).mean() if live.any() else 0.0
    return PairedScores(
        float(blocks.mean()), t, float(student.cdf(t, len(blocks) - 1)), float(pooled), joints.mean(axis=0)
    )
