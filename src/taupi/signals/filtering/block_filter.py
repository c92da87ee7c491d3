"""The zero-phase Butterworth filter in blocks, exactly: one matrix product gives the samples that are kept, and no others.

Forwards and backwards together, the filter has the response h(l) = Re sum_k c_k p_k^|l| for l != 0, over the poles p_k of one
pass. So the samples outside a block affect it only through one complex number per pole and side, z = sum_s p^(distance of s)
x(s), which go from block to block as z <- p^K z + g, with g from the block's own K samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from taupi.signals.filtering.derivatives import central_stencils
from taupi.signals.filtering.filters import butterworth, checked_samples, filter_roots, settle_rows
from taupi.signals.log import Log

# Samples that are kept per block: if every or every second one is kept, and if fewer are. With smaller blocks, the states cost
# more than the block itself; with larger ones, the block's own matrix does.
_KEPT = (32, 16)

# What is kept of a filtered signal y at sample t: sum of weight * y(t + lag), by lag. The value itself is {0: 1.0}.
Stencil = tuple[tuple[int, float], ...]
VALUE: Stencil = ((0, 1.0),)


def zero_phase(
    x: np.ndarray, rate_hz: float, cutoff_hz: float, order: int = 4, rows: slice | None = None
) -> np.ndarray:
    """Return `butterworth(x, rate_hz, cutoff_hz, order)[rows]`, at the cost of the requested rows only.

    `x` (N, ...) are samples, filtered along the first axis, `rows` a slice with a positive step, by default every row. Values
    agree with the filter run over the whole record to 1e-11 of their size.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(3000, 2)).cumsum(axis=0)
    >>> some = slice(200, 2800, 3)
    >>> bool(np.allclose(zero_phase(x, 250, 8, rows=some), butterworth(x, 250, 8)[some], rtol=0, atol=1e-10))
    True
    """
    x = checked_samples(x)
    first, stop, step = (slice(None) if rows is None else rows).indices(len(x))
    count, enough = max(0, -(-(stop - first) // step)), 2 * settle_rows(rate_hz, cutoff_hz, order) + 1
    if len(x) < enough:
        return butterworth(x, rate_hz, cutoff_hz, order)[slice(first, stop, step)]
    start = max(0, first - enough)  # samples beyond the filter's memory may be left out
    stream = ZeroPhaseStream(rate_hz, cutoff_hz, order, first - start, step)
    columns = x.reshape(len(x), -1)[start : min(len(x), stop + enough)].T
    kept = np.concatenate([stream.add(np.ascontiguousarray(columns)), stream.end()], axis=2)[0, :, :count]
    return kept.T.reshape(count, *x.shape[1:])


class ZeroPhaseStream:
    """`zero_phase` for columns (C, N) that arrive part by part: samples first, first + step, ... of the filtered record.

    For each of them all `stencils` are kept, by default the value. What `add` and `end` return has the shape (S, C, M); memory
    holds as many results, and as many samples of the last parts, as the filter reaches; parts must not be changed after they were
    added. Parts of `wanted` samples are not copied.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(2, 3000)).cumsum(axis=1)
    >>> stream = ZeroPhaseStream(250, 8, first=10, step=3)
    >>> kept = np.concatenate([stream.add(x[:, :1700]), stream.add(x[:, 1700:]), stream.end()], axis=2)[0]
    >>> bool(np.allclose(kept, butterworth(x.T, 250, 8)[10::3].T, rtol=0, atol=1e-10))
    True
    """

    def __init__(
        self,
        rate_hz: float,
        cutoff_hz: float,
        order: int = 4,
        first: int = 0,
        step: int = 1,
        stencils: tuple[Stencil, ...] = (VALUE,),
    ) -> None:
        self._settings = rate_hz, cutoff_hz, order
        self._design = design = _design(rate_hz, cutoff_hz, order, step, stencils)
        self._reach, self._first, self._step, self._stencils = (
            settle_rows(rate_hz, cutoff_hz, order), first, step, stencils,
        )  # fmt: skip
        # The first block begins before the record does, by at least the reach, which then is reflected there.
        self._early = -(-(first + self._reach + design.margin) // design.size)
        self._samples = self._emitted = self._dropped = 0
        self._begun = False
        self._rest = np.zeros((0, 0))  # samples that do not fill a block
        self._latest: list[np.ndarray] = []  # parts that hold at least the last `reach` + 1 samples
        self._own: list[np.ndarray] = []  # results of blocks that wait for later blocks
        self._gains: list[np.ndarray] = []  # what these blocks, and those before them, contribute to others

    def wanted(self, about: int) -> int:
        """Return the number of samples, at least one block and otherwise at most `about`, after which no block is begun."""
        size = self._design.size
        at = (self._samples - self._first) % size  # where the next sample lies in its block
        return max(1, (about + at) // size) * size - at

    def add(self, x: np.ndarray) -> np.ndarray:
        """Return what is complete with further samples (C, N)."""
        self._latest.append(x)
        self._samples += x.shape[1]
        if not self._begun:
            if self._samples <= 2 * self._reach:
                return np.zeros((len(self._stencils), len(x), 0))
            x = self._latest[0] if len(self._latest) == 1 else np.concatenate(self._latest, axis=1)
            self._latest = [x]
            self._rest, self._begun = self._reflected(x), True
        while len(self._latest) > 1 and sum(part.shape[1] for part in self._latest[1:]) > self._reach:
            self._latest.pop(0)
        self._take(np.concatenate([self._rest, x], axis=1) if self._rest.shape[1] else x)
        return self._complete(last=False)

    def end(self) -> np.ndarray:
        """Return the rest, after the last samples."""
        kept = max(0, -(-(self._samples - self._first) // self._step))
        if not self._begun:
            return self._at_once(kept)
        tail = np.concatenate(self._latest, axis=1)[:, -self._reach - 1 :]
        after = 2 * tail[:, -1:] - tail[:, -2::-1]
        size, margin = self._design.size, self._design.margin
        blocks = -(-(self._rest.shape[1] + self._reach) // size)
        filled = np.zeros((len(tail), blocks * size + 2 * margin))
        wide = np.concatenate([self._rest, after], axis=1)
        filled[:, : wide.shape[1]] = wide
        self._take(filled)
        return self._complete(last=True)[:, :, : kept - self._emitted]

    def _reflected(self, x: np.ndarray) -> np.ndarray:
        """Return what precedes the first sample in the first block: a point reflection of the record, and 0 beyond it."""
        before = np.zeros((len(x), self._early * self._design.size - self._first + self._design.margin))
        before[:, before.shape[1] - self._reach :] = 2 * x[:, :1] - x[:, self._reach : 0 : -1]
        return before

    def _take(self, wide: np.ndarray) -> None:
        """Compute what blocks contribute to themselves and to others; of their samples, those beyond the last are kept."""
        size, margin = self._design.size, self._design.margin
        columns, count = len(wide), (wide.shape[1] - 2 * margin) // size
        self._rest = wide[:, count * size :].copy()
        if not count:
            return
        if margin or wide.shape[1] > count * size or not wide.flags.c_contiguous:
            step, one = wide.strides
            windows = np.lib.stride_tricks.as_strided(
                wide, (columns, count, size + 2 * margin), (step, size * one, one)
            )
            wide = np.ascontiguousarray(windows)
        product = (wide.reshape(columns * count, -1) @ self._design.gather).reshape(columns, count, -1)
        outputs = self._design.spread.shape[1]
        self._own.append(product[:, :, :outputs])
        self._gains.append(self._design.as_complex(product[:, :, outputs:]))

    def _complete(self, last: bool) -> np.ndarray:
        """Return the samples of blocks with enough known neighbours; at the end, of all blocks."""
        design, ahead = self._design, self._design.ahead(self._reach)
        columns, outputs = len(self._rest), design.spread.shape[1]
        nothing = np.zeros((2 * len(design.powers), columns, ahead))
        first = [] if self._emitted or self._dropped else [nothing]
        gains = np.concatenate([*first, *self._gains, *([nothing] if last else [])], axis=2)
        ready = gains.shape[2] - 2 * ahead
        if ready <= 0:
            return np.zeros((len(self._stencils), columns, 0))
        self._gains = [gains[:, :, ready:].copy()]
        out = np.empty((columns, ready, outputs))
        done = 0
        while done < ready:
            own = self._own[0]
            now = min(own.shape[1], ready - done)
            out[:, done : done + now] = own[:, :now]
            self._own[:1] = [own[:, now:]] if now < own.shape[1] else []
            done += now
        design.add_neighbours(out, gains, ahead)
        drop = min(self._early - self._dropped, ready)
        self._dropped += drop
        kept = out[:, drop:].reshape(columns, ready - drop, len(self._stencils), design.kept).transpose(2, 0, 1, 3)
        self._emitted += kept.shape[2] * kept.shape[3]
        return kept.reshape(len(self._stencils), columns, -1)

    def _at_once(self, kept: int) -> np.ndarray:
        """Return the samples of a record that is too short for blocks, filtered as a whole."""
        if not self._latest:
            return np.zeros((len(self._stencils), 0, 0))
        smooth = butterworth(np.concatenate(self._latest, axis=1).T, *self._settings)
        margin = self._design.margin
        wide = np.concatenate(
            [2 * smooth[:1] - smooth[margin:0:-1], smooth, 2 * smooth[-1:] - smooth[-2 : -margin - 2 : -1]]
        )
        at = margin + self._first + self._step * np.arange(kept)
        return np.stack([sum(w * wide[at + lag].T for lag, w in stencil) for stencil in self._stencils])


@dataclass(frozen=True, eq=False)
class _Design:
    """The filter of blocks of `size` samples, of which m = `kept` are kept.

    `gather` (size + 2 margin, S m + 4 k) gives what a block's own samples contribute to the S m values that are kept, and to the
    states of the k poles on either side, as real and imaginary parts; `spread` (4 k, S m) what the states contribute; `powers`
    (k,) are p^size. The `margin` is how far stencils reach.
    """

    size: int
    kept: int
    margin: int
    gather: np.ndarray
    spread: np.ndarray
    powers: np.ndarray

    def ahead(self, reach: int) -> int:
        """Return how many blocks on each side a block depends on, a power of two."""
        return int(2 ** np.ceil(np.log2(max(1, -(-reach // self.size)))))

    def as_complex(self, gains: np.ndarray) -> np.ndarray:
        """Return gains (C, B, 4 k) of blocks as complex numbers (2 k, C, B), the gains of each pole on either side together."""
        poles = len(self.powers)
        parts = gains.transpose(2, 0, 1).reshape(2, 2, poles, *gains.shape[:2])
        result = np.empty((2, *parts.shape[2:]), dtype=complex)
        result.real, result.imag = parts[:, 0], parts[:, 1]
        return result.reshape(2 * poles, *gains.shape[:2])

    def add_neighbours(self, out: np.ndarray, gains: np.ndarray, ahead: int) -> None:
        """Add to the values `out` (C, B, S m) of blocks what others contribute, whose gains are (2 k, C, ahead + B + ahead)."""
        from scipy.linalg.blas import dgemm

        poles, (columns, ready, outputs) = len(self.powers), out.shape
        forwards, backwards = gains[:poles, :, : ahead + ready - 1].copy(), gains[poles:, :, ahead + 1 :].copy()
        # Sums over 1, 2, 4, ... blocks: z_b = sum over j < ahead of p^(K j) g_(b - 1 - j).
        span = 1
        while span < ahead:
            power = (self.powers**span)[:, None, None]
            forwards[:, :, span:] += power * forwards[:, :, :-span]
            backwards[:, :, :-span] += power * backwards[:, :, span:]
            span *= 2
        states = np.empty((4, poles, columns, ready))
        for k, z in enumerate((forwards[:, :, ahead - 1 :], backwards[:, :, :ready])):
            states[2 * k], states[2 * k + 1] = z.real, z.imag
        # The sum out + states^T spread, in place, with arrays as Fortran sees them.
        total = out.reshape(columns * ready, outputs).T
        product = dgemm(1.0, self.spread.T, states.reshape(4 * poles, -1).T, 1.0, total, trans_b=True, overwrite_c=True)
        assert np.may_share_memory(product, out)


@lru_cache(maxsize=32)
def _design(rate_hz: float, cutoff_hz: float, order: int, step: int, stencils: tuple[Stencil, ...]) -> _Design:
    kept = _KEPT[step > 2]
    size, margin = kept * step, max(abs(lag) for stencil in stencils for lag, _ in stencil)
    zeros, poles, gain = filter_roots(rate_hz, cutoff_hz, order)
    # The residues of H(z) H(1/z) at the poles of H(z).
    residues = np.array(
        [
            gain**2 * np.prod(p - zeros) * np.prod(1 / p - zeros) / np.prod(1 / p - poles)
            / np.prod(np.delete(p - poles, i)) / p
            for i, p in enumerate(poles)
        ]
    )  # fmt: skip
    upper = poles.imag >= 0  # of a pair, one is enough; a real pole has no other
    p, c = poles[upper], np.where(poles[upper].imag > 0, 2.0, 1.0) * residues[upper]
    width = size + 2 * margin
    samples, outputs = np.arange(width), margin + step * np.arange(kept)
    middle = 1 - 2 * float(np.sum(c * p / (1 - p)).real)  # the gain of a constant is 1
    local, after, before = [], [], []
    for stencil in stencils:
        own, left, right = np.zeros((width, kept)), np.zeros((2, len(p), kept)), np.zeros((2, len(p), kept))
        for lag, weight in stencil:
            apart = np.abs(samples[:, None] - (outputs + lag)[None, :])
            own += weight * np.where(apart == 0, middle, np.tensordot(c, p[:, None, None] ** apart, axes=1).real)
            one, two = (
                c[:, None] * p[:, None] ** (outputs + lag),
                c[:, None] * p[:, None] ** (width - 1 - outputs - lag),
            )
            left += weight * np.stack([one.real, -one.imag])
            right += weight * np.stack([two.real, -two.imag])
        local.append(own)
        after.append(left.reshape(-1, kept))
        before.append(right.reshape(-1, kept))
    # The state before a block's window: its first `size` samples move on to the next; likewise the last ones, backwards.
    inside, beyond = samples < size, samples >= 2 * margin
    forwards = np.where(inside, p[:, None] ** np.where(inside, size - samples, 0), 0.0)
    backwards = np.where(beyond, p[:, None] ** np.where(beyond, samples - 2 * margin + 1, 0), 0.0)
    gather = np.concatenate([*local, forwards.real.T, forwards.imag.T, backwards.real.T, backwards.imag.T], axis=1)
    spread = np.concatenate([np.concatenate(after, axis=1), np.concatenate(before, axis=1)])
    return _Design(size, kept, margin, gather, spread, p**size)


# What recorded signals become, by name: the signal itself, its derivative and its second derivative, as far as they are named.
Derived = Mapping[str, tuple[str, ...]]


@dataclass
class _Group:
    """Signals with equally many derivatives, on their way through one filter; `ready` are the results so far, (S, C, M) each."""

    names: tuple[str, ...]
    stream: ZeroPhaseStream
    ready: list[np.ndarray] = field(default_factory=list)

    def add(self, block: Log) -> None:
        rows = [block.signals[name].T for name in self.names]
        x = np.ascontiguousarray(rows[0]) if len(rows) == 1 else np.concatenate(rows)
        if not np.isfinite(x.sum()):
            checked_samples(x.T)
        self.ready.append(self.stream.add(x))

    @property
    def count(self) -> int:
        return sum(part.shape[2] for part in self.ready)

    def take(self, count: int) -> np.ndarray:
        every = self.ready[0] if len(self.ready) == 1 else np.concatenate(self.ready, axis=2)
        self.ready = [every[:, :, count:]]
        return every[:, :, :count]


def smoothed_stream(
    blocks: Iterable[Log], rate_hz: float, cutoff_hz: float, order: int, edge: int, step: int, derived: Derived
) -> Iterator[Log]:
    """Yield the blocks of a uniform log, each signal of `derived` filtered by `butterworth` and differentiated by `central`.

    `edge` samples are cut at each end, and every `step`-th of the others is kept; commands, supply and temperature as they are.
    """
    stencils: tuple[Stencil, ...] = (VALUE, *central_stencils(rate_hz))
    groups: list[_Group] = []
    for count in sorted({len(names) for names in derived.values()}):
        members = tuple(name for name, names in derived.items() if len(names) == count)
        groups.append(_Group(members, ZeroPhaseStream(rate_hz, cutoff_hz, order, edge, step, stencils[:count])))
    made = {target for names in derived.values() for target in names}
    first: Log | None = None
    kept: dict[str, np.ndarray] = {}  # time, and the signals that are not filtered, of the samples still to come
    samples, emitted = 0, 0
    for block in blocks:
        as_recorded = {"time": block.time, **{k: v for k, v in block.signals.items() if k not in made}}
        if first is None:
            first, kept = block, {name: value[:0] for name, value in as_recorded.items()}
        if not len(block):
            continue
        start = (edge - samples) % step if samples >= edge else edge - samples
        kept = {name: np.concatenate([value, as_recorded[name][start::step]]) for name, value in kept.items()}
        samples += len(block)
        for group in groups:
            group.add(block)
        count = min(group.count for group in groups)
        if count:
            yield _log(first, {name: value[:count] for name, value in kept.items()}, groups, derived)
            kept, emitted = {name: value[count:] for name, value in kept.items()}, emitted + count
    for group in groups:
        group.ready.append(group.stream.end())
    count = len(range(edge, samples - edge, step)) - emitted
    if count > 0 and first is not None:
        yield _log(first, {name: value[:count] for name, value in kept.items()}, groups, derived)


def _log(first: Log, kept: dict[str, np.ndarray], groups: list[_Group], derived: Derived) -> Log:
    """Return the next samples: of all groups, and the `kept` ones as they were recorded."""
    signals = dict(kept)
    for group in groups:
        results = group.take(len(kept["time"]))
        for k, name in enumerate(group.names):
            own = slice(k * first.n, (k + 1) * first.n)
            signals |= {target: results[s, own].T for s, target in enumerate(derived[name])}
    return first.with_(**signals)
