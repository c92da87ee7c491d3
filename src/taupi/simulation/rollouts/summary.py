"""Summaries of many roll-outs: final states, and peaks and root mean squares of errors and torques, without records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from taupi.simulation.rollouts.compiled_rollout import roll_blocks
from taupi.simulation.rollouts.rollout import Rollout


@dataclass(frozen=True, eq=False)
class Statistics:
    """Peaks and sums over the periods of B roll-outs, up to the first value that is not finite."""

    z: np.ndarray  # (B, size of z) at the end
    error_peak: np.ndarray  # (B, n) each
    error_squares: np.ndarray
    late_squares: np.ndarray
    torque_peak: np.ndarray
    torque_squares: np.ndarray
    periods: np.ndarray  # (B,) that were finite

    @classmethod
    def of_table(cls, table: np.ndarray, z: np.ndarray) -> Statistics:
        """Return the statistics in a table (B, 5 n + 1), as a kernel keeps it."""
        n = (table.shape[1] - 1) // 5
        a, b, c, d, e = (np.ascontiguousarray(table[:, k * n : (k + 1) * n]) for k in range(5))
        return cls(np.ascontiguousarray(z), a, b, c, d, e, table[:, -1].astype(int))

    @classmethod
    def joined(cls, parts: Sequence[Statistics]) -> Statistics:
        """Return the statistics of several batches, one after the other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def summarise(rollout: Rollout, late: int) -> Statistics:
    """Return the statistics of compiled roll-outs; errors count as late from period `late` on."""
    b, n = rollout.batch, rollout.loop.n
    target, sums, alive = rollout.wanted(), np.zeros((5, b, n)), np.ones(b, dtype=bool)
    periods, final = np.zeros(b, dtype=int), rollout.start.copy()
    for first, z, results in roll_blocks(rollout):
        with np.errstate(all="ignore"):  # a roll-out that diverges overflows
            finite = np.isfinite(z.sum(axis=2) + results["tau"].sum(axis=2)) & alive
            good = np.logical_and.accumulate(finite, axis=0)  # (K, B)
            error = np.where(good[..., None], np.abs(z[..., :n] - target[first : first + len(z), None]), 0.0)
            torque = np.where(good[..., None], np.abs(results["tau"]), 0.0)
            tail = error[max(late - first, 0) :]
            sums[0] = np.maximum(sums[0], error.max(axis=0))
            sums[1] += (error**2).sum(axis=0)
            sums[2] += (tail**2).sum(axis=0)
            sums[3] = np.maximum(sums[3], torque.max(axis=0))
            sums[4] += (torque**2).sum(axis=0)
        periods += good.sum(axis=0)
        # The state at the end, or the first that is not finite.
        row = np.minimum(good.sum(axis=0), len(z) - 1)
        final = np.where(alive[:, None], z[row, np.arange(b)], final)
        alive = good[-1]
        if not alive.any():
            break
    return Statistics(final, sums[0], sums[1], sums[2], sums[3], sums[4], periods)
