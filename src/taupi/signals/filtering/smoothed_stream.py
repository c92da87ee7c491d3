"""A log filtered and differentiated part by part, at a cost that grows with the samples kept: q, qd, qdd from one product."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from taupi.signals.filtering.block_filter import VALUE, Stencil, ZeroPhaseStream
from taupi.signals.filtering.derivatives import central_stencils
from taupi.signals.filtering.filters import checked_samples
from taupi.signals.log import Log

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

    `edge` samples are cut at each end, and every `step`-th of the others is kept.
    """
    stencils: tuple[Stencil, ...] = (VALUE, *central_stencils(rate_hz))
    groups: list[_Group] = []
    for count in sorted({len(names) for names in derived.values()}):
        members = tuple(name for name, names in derived.items() if len(names) == count)
        groups.append(_Group(members, ZeroPhaseStream(rate_hz, cutoff_hz, order, edge, step, stencils[:count])))
    first: Log | None = None
    times, samples, emitted = np.zeros(0), 0, 0
    for block in blocks:
        first = block if first is None else first
        if not len(block):
            continue
        start = (edge - samples) % step if samples >= edge else edge - samples
        times, samples = np.append(times, block.time[start::step]), samples + len(block)
        for group in groups:
            group.add(block)
        count = min(group.count for group in groups)
        if count:
            yield _log(first, times[:count], groups, derived)
            times, emitted = times[count:], emitted + count
    for group in groups:
        group.ready.append(group.stream.end())
    count = len(range(edge, samples - edge, step)) - emitted
    if count > 0 and first is not None:
        yield _log(first, times[:count], groups, derived)


def _log(first: Log, times: np.ndarray, groups: list[_Group], derived: Derived) -> Log:
    """Return the next samples, at these times, of all groups."""
    signals: dict[str, np.ndarray] = {}
    for group in groups:
        results = group.take(len(times))
        for k, name in enumerate(group.names):
            own = slice(k * first.n, (k + 1) * first.n)
            signals |= {target: results[s, own].T for s, target in enumerate(derived[name])}
    return first.with_(time=times, **signals)
