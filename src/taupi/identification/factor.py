"""The stacked regressor compressed: one triangular factor for every file and joint, from which every estimator starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

# A stretch of time begins with so many samples: three periods of the cutoff, as `prepare` decimates by default.
STRETCH = 32
# With more stretches than this in a file, neighbours are joined, so that memory does not grow with the log.
MOST_STRETCHES = 64


@dataclass(frozen=True)
class JointFactor:
    """R (k, b + 1), k <= b + 1, with |Y x - tau|^2 = |R (x, -1)|^2 over the rows of one joint in one file.

    `rows` is their number, `total` the sum of their tau; `stretch` numbers the piece of time, -1 for the whole file.
    """

    file: int
    joint: int
    r: np.ndarray
    rows: int
    total: float = 0.0
    stretch: int = -1


class Compressor:
    """Gathers rows of a regressor into factors, one for each joint and stretch of time, n x 64 triangles at most.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> q, qd, qdd = np.random.default_rng(0).normal(size=(3, 100, 2))
    >>> tau = tp.inverse_dynamics(arm)(q, qd, qdd)
    >>> gather = Compressor(20, 2)
    >>> gather.add(tp.regressor(arm)(q, qd, qdd).transpose(2, 1, 0), tau, np.ones((100, 2), dtype=bool))
    >>> [f.r.shape for f in merged(gather.result(file=0))]
    [(21, 21), (21, 21)]
    """

    def __init__(self, p: int, n: int) -> None:
        self.p, self.n = p, n
        self.samples = 0
        self.stretch = STRETCH
        self._pieces: list[list[np.ndarray]] = []  # stretch, joint
        self._rows: list[np.ndarray] = []
        self._total: list[np.ndarray] = []

    def add(self, y: np.ndarray, tau: np.ndarray, use: np.ndarray) -> None:
        """Add rows y (p, n, m) and tau (m, n), those that `use` (m, n) counts."""
        done = 0
        while done < len(tau):
            at, inside = divmod(self.samples, self.stretch)
            if at == len(self._pieces):
                if at == MOST_STRETCHES:
                    self._join()
                    continue
                self._pieces.append([np.zeros((0, self.p + 1)) for _ in range(self.n)])
                self._rows.append(np.zeros(self.n, dtype=int))
                self._total.append(np.zeros(self.n))
            stop = min(len(tau), done + self.stretch - inside)
            for j in range(self.n):
                counts = use[done:stop, j]
                new = np.column_stack([y[:, j, done:stop].T, tau[done:stop, j]])[counts]
                self._pieces[at][j] = triangle(np.vstack([self._pieces[at][j], new]))
                self._rows[at][j] += len(new)
                self._total[at][j] += float(new[:, -1].sum())
            self.samples += stop - done
            done = stop

    def _join(self) -> None:
        """Join neighbouring stretches, which are then twice as long."""
        pairs = [(k, k + 1) for k in range(0, len(self._pieces), 2)]
        self._pieces = [
            [triangle(np.vstack(ab)) for ab in zip(*(self._pieces[k] for k in p), strict=True)] for p in pairs
        ]
        self._rows = [self._rows[a] + self._rows[b] for a, b in pairs]
        self._total = [self._total[a] + self._total[b] for a, b in pairs]
        self.stretch *= 2

    def result(self, file: int) -> list[JointFactor]:
        """Return the factors gathered so far, stretch by stretch, as those of a file."""
        return [
            JointFactor(file, j, r, int(self._rows[k][j]), float(self._total[k][j]), k)
            for k, piece in enumerate(self._pieces)
            for j, r in enumerate(piece)
        ]


def triangle(rows: np.ndarray) -> np.ndarray:
    """Return R of a QR factorisation where there are more rows than columns, else the rows as they are."""
    return np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > rows.shape[1] else rows


def merged(pieces: Iterable[JointFactor]) -> list[JointFactor]:
    """Return one factor for each (file, joint) from those of stretches."""
    groups: dict[tuple[int, int], list[JointFactor]] = {}
    for f in pieces:
        groups.setdefault((f.file, f.joint), []).append(f)
    return [
        JointFactor(file, joint, triangle(np.vstack([f.r for f in g])), sum(f.rows for f in g), sum(f.total for f in g))
        for (file, joint), g in groups.items()
    ]


def stacked(factors: Iterable[JointFactor], weights: dict[tuple[int, int], float] | None = None) -> np.ndarray:
    """Return one triangle of several factors, each multiplied by its weight (file, joint)."""
    return triangle(np.vstack([f.r * (weights or {}).get((f.file, f.joint), 1.0) for f in factors]))


def residual_squares(factors: Sequence[JointFactor], x: np.ndarray) -> dict[tuple[int, int], float]:
    """Return |Y x - tau|^2 of each (file, joint)."""
    return {(f.file, f.joint): float(np.sum((f.r @ np.append(x, -1.0)) ** 2)) for f in factors}
