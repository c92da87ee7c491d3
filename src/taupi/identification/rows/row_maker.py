"""Rows of the regressor with their torque, both through the same filter: F(tau) = F(Y) pi for any linear F.

A log comes lightly smoothed, at a multiple of the cutoff, so that its derivatives are good. Y is evaluated on that, and then its
columns and the torque pass the same filter (Gautier 1997, "parallel filtering").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import TaupiError
from taupi.identification.friction.dry_friction import FrictionPlan, Past
from taupi.identification.row_layout import RowLayout, regressor_inputs
from taupi.program.program import Program
from taupi.signals.filtering.block_filter import ZeroPhaseStream, zero_phase
from taupi.signals.filtering.filters import edge_rows

if TYPE_CHECKING:
    from taupi.signals.log import Log


@dataclass(frozen=True, eq=False)
class Places:
    """Where the k entries lie in rows of `shape` (p, n): at `columns` (k,) and `joints` (k,)."""

    shape: tuple[int, int]
    columns: np.ndarray
    joints: np.ndarray

    @classmethod
    def everywhere(cls, shape: tuple[int, int]) -> Places:
        """Return the places of all entries, column by column."""
        columns, joints = np.indices(shape).reshape(2, -1)
        return cls(shape, columns, joints)

    @cached_property
    def used(self) -> np.ndarray:
        """Which columns are not zero at every state in the row of each joint (n, p)."""
        used = np.zeros(self.shape[::-1], dtype=bool)
        used[self.joints, self.columns] = True
        return used

    @cached_property
    def by_joint(self) -> tuple[np.ndarray, ...]:
        """The entries of each joint's row, in the order of its columns."""
        each = (np.flatnonzero(self.joints == j) for j in range(self.shape[1]))
        return tuple(own[np.argsort(self.columns[own], kind="stable")] for own in each)


@dataclass(frozen=True, eq=False)
class Entries:
    """The `values` (k, m) of m samples at their `places`.

    >>> y = np.arange(12.0).reshape(3, 2, 2)
    >>> bool((Entries.of(y).dense() == y).all())
    True
    """

    places: Places
    values: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray) -> Entries:
        """Return the entries of rows y (p, n, m), all of them."""
        return cls(Places.everywhere(y.shape[:2]), y.reshape(-1, y.shape[2]))

    def dense(self) -> np.ndarray:
        """Return the rows y (p, n, m)."""
        y = np.zeros((*self.places.shape, self.values.shape[1]))
        y[self.places.columns, self.places.joints] = self.values
        return y

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return Y x (m, n)."""
        weights = np.zeros((self.places.shape[1], len(self.values)))
        weights[self.places.joints, np.arange(len(self.values))] = x[self.places.columns]
        return np.asarray((weights @ self.values).T)


# A joint whose speed in one direction is below this share of that in the other does not reverse: filters and encoders cause it.
ONE_WAY = 0.05
_ARRAYS = ("q", "qd", "qdd", "tau", "use", "time")


@dataclass(frozen=True)
class RowSamples:
    """q, qd, qdd, tau of shape (N, n) at `time` (N,); `use` (N, n) is false where the row of a joint is not used.

    For an elastic robot n is the number of its `Equations`, and q holds the positions of links and motors.
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    use: np.ndarray
    time: np.ndarray
    known: np.ndarray | float = 0.0  # the part of tau that does not pass through the gears: known torques (N, n)

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, rows: slice) -> RowSamples:
        known = self.known[rows] if isinstance(self.known, np.ndarray) else self.known
        return RowSamples(**{name: getattr(self, name)[rows] for name in _ARRAYS}, known=known)

    def __add__(self, other: RowSamples) -> RowSamples:
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in _ARRAYS}
        arrays = isinstance(self.known, np.ndarray) and isinstance(other.known, np.ndarray)
        return RowSamples(**both, known=np.concatenate([self.known, other.known]) if arrays else self.known)


def samples_of(
    log: Log,
    layout: RowLayout,
    least_speeds: np.ndarray,
    span: tuple[float, float] = (-np.inf, np.inf),
    all_joints: bool = False,
    formulas: Sequence[str] = (),
    gains: np.ndarray | float = 1.0,
) -> RowSamples:
    """Return the samples of a log; rows slower than `least_speeds` (n,), and those outside a `span` of time, are not used.

    With `all_joints`, no row of a sample is used if any of them is slow. Known torques, those of the log and those of
    `formulas`, are added to the torques, which are first divided by their relative `gains` (n,).
    """
    layout.check(log)
    (q, qd, qdd), known = layout.motion(log), layout.known_torque(log, formulas)
    tau = layout.torque(log) / gains + known
    for name, value in (("q", q), ("qd", qd), ("qdd", qdd), ("tau", tau)):
        if not np.isfinite(value).all():
            raise TaupiError("{name} of the log is not finite. Clean it first: taupi.clean_log.", name=name)
    inside, fast = (log.time >= span[0]) & (log.time <= span[1]), np.abs(qd) >= least_speeds
    fast = np.broadcast_to(fast.all(axis=1)[:, None], fast.shape) if all_joints else fast
    return RowSamples(q, qd, qdd, tau, fast & inside[:, None], log.time, known)


def one_way(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which velocities, from `low` to `high`, do not change their sign by more than a twentieth of the largest speed."""
    back, forth = np.clip(-low, 0, None), np.clip(high, 0, None)
    return np.minimum(back, forth) < ONE_WAY * np.maximum(back, forth)


# About how many samples are evaluated and filtered at once: just enough to justify the calls, so that they stay in the cache.
_CHUNK = 2000
# A filtered row is used if samples that are not to be used contribute less than this share to it.
MIXED = 0.01


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of m samples: `entries` of y (p, n, m), and tau (m, n) at `time` (m,); `use` (m, n) is false where a row is not used.

    `qd` and `qdd` (m, n) are not filtered; `shapes` (m, k, K) are further functions of the motion, filtered, if asked for: other
    shapes of dry friction, or what a delay between encoders would look like.
    """

    entries: Entries
    tau: np.ndarray
    use: np.ndarray
    time: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    shapes: np.ndarray

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def y(self) -> np.ndarray:
        """The rows (p, n, m), zeros included."""
        return self.entries.dense()

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Return tau - Y x (m, n)."""
        return self.tau - self.entries.times(x)


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

    def __call__(self, x: np.ndarray, rows: slice | None = None) -> np.ndarray:
        """Return `rows` (all by default) of x (N, C) filtered along its first axis."""
        return zero_phase(x, self.rate_hz, self.cutoff_hz, self.order, rows)

    def stream(self) -> ZeroPhaseStream:
        """Return the filter of columns that come part by part, and of which every `step`-th sample is kept from the edge on."""
        return ZeroPhaseStream(self.rate_hz, self.cutoff_hz, self.order, self.edge, self.step)


@lru_cache(maxsize=8)
def _kernel(program: Program) -> Callable[..., np.ndarray]:
    """Return a regressor as machine code that gives its structural nonzeros (k, N) for a motion of N samples."""
    kernel: Callable[..., np.ndarray] = program.compile("cpu", layout="nonzeros")
    return kernel


@lru_cache(maxsize=8)
def _places(program: Program) -> Places:
    """Return where the structural nonzeros of a regressor lie."""
    n, p = program.outputs[0].shape
    joints, columns = np.divmod(program.nonzeros(), p)
    return Places((p, n), columns, joints)


def compiled_rows(program: Program) -> Callable[..., np.ndarray]:
    """Return a regressor as machine code that gives its rows (p, n, N) for a motion of N samples."""
    kernel, places = _kernel(program), _places(program)
    return lambda *motion: Entries(places, kernel(*motion)).dense()


# From q, qd (N, n), the seconds between samples and the past of the first sample: values (N, k, K) and the past of what follows.
Shapes = Callable[[np.ndarray, np.ndarray, float, Past | None], tuple[np.ndarray, Past | None]]


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Samples with their dry friction s (N, k), and other shapes (N, K) of it."""

    samples: RowSamples
    s: np.ndarray
    shapes: np.ndarray

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, rows: slice) -> _Chunk:
        return _Chunk(self.samples[rows], self.s[rows], self.shapes[rows])

    def __add__(self, other: _Chunk) -> _Chunk:
        s, shapes = np.concatenate([self.s, other.s]), np.concatenate([self.shapes, other.shapes])
        return _Chunk(self.samples + other.samples, s, shapes)


class RowMaker:
    """Makes rows from samples that come block by block: the same, to 1e-9, as from all samples at once."""

    def __init__(self, plan: FrictionPlan, shapes: Shapes | None = None) -> None:
        self._kernel = _kernel(plan.program)
        self._plan, self._shapes = plan, shapes
        self._shape_size = (0, 0)
        self._modulation = plan.modulation
        own = _places(plan.program)
        p, self.n = own.shape
        self._own_entries = len(own.columns)
        modulated = () if plan.modulation is None else plan.modulation.joints
        self.p = p + len(modulated)
        columns, joints = (
            np.append(own.columns, np.arange(p, self.p)),
            np.append(own.joints, np.array(modulated, dtype=int)),
        )
        self.places = Places((self.p, self.n), columns, joints)
        # Entries of dry friction are computed from s, whatever the program has in their place.
        owner = {place: i for i, place in enumerate(plan.places)}
        self._friction = np.array([k for k, column in enumerate(own.columns) if int(column) in owner], dtype=int)
        self._owners = np.array([owner[int(column)] for column in own.columns[self._friction]], dtype=int)
        self._signs = plan.directions[self._owners, own.joints[self._friction]]
        rigid = np.zeros(p) if plan.modulation is None else plan.modulation.rigid
        # How the entries of Y add up to the load of each joint: those of a joint follow one another.
        to_load = rigid[own.columns]
        to_load[self._friction] = 0.0
        edges = np.searchsorted(own.joints, np.arange(self.n + 1)).tolist()
        self._to_load = [(slice(a, b), to_load[a:b]) for a, b in pairwise(edges)]

    @property
    def used(self) -> np.ndarray:
        """Which columns are not zero at every state in the row of each joint (n, p), those of modulated friction last."""
        return self.places.used

    def rows(
        self, blocks: Iterator[RowSamples], row_filter: Filter | None, one_way_signs: Mapping[str, float] | None = None
    ) -> Iterator[Rows]:
        """Yield the rows of samples through a filter, or unfiltered if it is None.

        `one_way_signs`, by owner, are the signs of velocities that never reverse: their friction is constant, whatever noise
        says.
        """
        chunks = self._chunks(blocks, one_way_signs or {})
        if row_filter is None:
            for chunk in chunks:
                for start in range(0, len(chunk), _CHUNK):
                    part = chunk[start : start + _CHUNK]
                    yield from self._rows_of(self._table(part), _unfiltered(part))
            return
        stream, edge, step = row_filter.stream(), row_filter.edge, row_filter.step
        kept, row, emitted = np.zeros((1 + 2 * self.n, 0)), 0, 0
        for part in _cut(chunks, stream):
            start = (edge - row) % step if row >= edge else edge - row
            kept, row = np.concatenate([kept, _unfiltered(part)[:, start::step]], axis=1), row + len(part)
            table = stream.add(self._table(part))[0]
            count = table.shape[1]
            yield from self._rows_of(table, kept[:, :count])
            kept, emitted = kept[:, count:], emitted + count
        if row:
            count = max(0, len(range(edge, row - edge, step)) - emitted)
            yield from self._rows_of(stream.end()[0][:, :count], kept[:, :count])

    def _chunks(self, blocks: Iterator[RowSamples], one_way_signs: Mapping[str, float]) -> Iterator[_Chunk]:
        """Yield blocks with their dry friction, which has a memory."""
        past = other_past = None
        seconds = 0.0
        constant = np.array([one_way_signs.get(owner, 0.0) for owner in self._plan.owners])
        for block in blocks:
            seconds = seconds or float(np.ptp(block.time)) / max(len(block) - 1, 1)
            s, past = self._plan.along_motion(block.q, block.qd, seconds, past)
            s = np.where(constant != 0, constant, s) if constant.any() else s
            shapes = np.zeros((len(block), len(self._plan.places), 0))
            if self._shapes is not None:
                shapes, other_past = self._shapes(block.q, block.qd, seconds, other_past)
            self._shape_size = (shapes.shape[1], shapes.shape[2])
            yield _Chunk(block, s, shapes.reshape(len(block), shapes.shape[1] * shapes.shape[2]))

    def _table(self, chunk: _Chunk) -> np.ndarray:
        """Return what is filtered (C, N): the entries of Y, those of modulated friction, tau, use, other shapes."""
        block, n = chunk.samples, self.n
        entries, own = len(self.places.columns), self._own_entries
        table = np.empty((entries + 2 * n + chunk.shapes.shape[1], len(block)))
        y = table[:own]
        self._kernel(*regressor_inputs(self._plan.program, block.q, block.qd, block.qdd), out=y)
        y[self._friction] = self._signs[:, None] * chunk.s.T[self._owners]
        if self._modulation is not None:
            load = np.stack([weights @ y[places] for places, weights in self._to_load], axis=1) - block.known
            table[own:entries] = self._modulation.columns(chunk.s, block.qd, load).T
        table[entries : entries + n], table[entries + n : entries + 2 * n] = block.tau.T, block.use.T
        table[entries + 2 * n :] = chunk.shapes.T
        return table

    def _rows_of(self, table: np.ndarray, unfiltered: np.ndarray) -> Iterator[Rows]:
        """Yield the rows in a filtered table, of those samples in which any joint is used."""
        n, entries = self.n, len(self.places.columns)
        use = table[entries + n : entries + 2 * n] > 1 - MIXED
        some = use.any(axis=0)
        if not some.all():
            table, unfiltered, use = table[:, some], unfiltered[:, some], use[:, some]
        if not table.shape[1]:
            return
        time, qd, qdd = unfiltered[0], unfiltered[1 : 1 + n].T, unfiltered[1 + n :].T
        shapes = table[entries + 2 * n :].T.reshape(table.shape[1], *self._shape_size)
        y = Entries(self.places, table[:entries])
        yield Rows(y, table[entries : entries + n].T, use.T, time, qd, qdd, shapes)


def _unfiltered(chunk: _Chunk) -> np.ndarray:
    """Return what is not filtered (1 + 2 n, N): time, qd, qdd."""
    block = chunk.samples
    return np.concatenate([block.time[None], block.qd.T, block.qdd.T])


def _cut(chunks: Iterator[_Chunk], stream: ZeroPhaseStream) -> Iterator[_Chunk]:
    """Yield the same samples in parts that fill whole blocks of a filter, except for the last."""
    rest: _Chunk | None = None
    for chunk in chunks:
        done = 0
        while done < len(chunk):
            size = stream.wanted(_CHUNK) - (0 if rest is None else len(rest))
            part = chunk[done : done + size]
            rest, done = part if rest is None else rest + part, done + len(part)
            if len(part) == size:
                yield rest
                rest = None
    if rest is not None:
        yield rest
