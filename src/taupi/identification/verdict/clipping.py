"""Torques that stop at a limit: a flat top that many samples share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from taupi.identification.results.verdict import Level, Reason, percent
from taupi.identification.verdict.sample import Head
from taupi.signals import rules

# Below this share of samples, clipping changes nothing that a fit would show.
_MATTERS = 0.01


def clipping_reasons(heads: Sequence[Head], joints: Sequence[str]) -> Iterator[Reason]:
    """Yield one reason for the joints whose torque, or current, stays at its extreme for more than 1 % of the samples."""
    shares: dict[str, float] = {}
    for j, joint in enumerate(joints):
        counts = [max(_clipped(v[:, j]) for n, v in h.log.signals.items() if n in rules.EFFORTS) for h in heads]
        shares[joint] = sum(counts) / max(sum(len(h.log) for h in heads), 1)
    clipped = {joint: share for joint, share in shares.items() if share > _MATTERS}
    if not clipped:
        return
    worst = max(clipped, key=lambda joint: clipped[joint])
    others = f" (also {', '.join(j for j in clipped if j != worst)})" if len(clipped) > 1 else ""
    yield Reason(
        "clipped",
        f"tau of {worst}{others} is clipped: {percent(clipped[worst])} of its samples share one largest or smallest value.",
        Level.DOUBTFUL,
        tuple(clipped),
        {"share": clipped[worst]},
        "Record again with a larger limit or a slower motion, or leave these samples out.",
    )


def _clipped(x: np.ndarray) -> int:
    """Return the number of samples at the extremes of a channel; none of one that hardly ever has another value."""
    known = x[np.isfinite(x)]
    if rules.most_common(known)[1] > rules.DEAD:
        return 0
    return rules.saturation(known).count
