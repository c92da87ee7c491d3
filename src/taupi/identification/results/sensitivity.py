"""How far estimates move if a part of the logs is left out: far if only some of the logs, or noise, determine them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from taupi.identification.rows.factors import JointFactor, stack_factors

# The logs are left out in this many parts: every fourth log, or stretches of time if there are fewer logs.
_PARTS = 4
# A parameter that moves by this many of its standard errors, and by this share of its value, is not as certain as it seems.
_FAR, _SHARE = 5.0, 0.5


def shifts(
    pieces: Sequence[JointFactor], weights: Mapping[tuple[int, int], float], x: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """Return the largest change of each parameter (b,) if one of four parts of the logs is left out.

    Without part k, x moves by -A (I - Y_k^T Y_k)^-1 Y_k^T (tau_k - Y_k x), with the rows of the part in coordinates in which all
    rows together are orthonormal, A = `spread`. A parameter that mostly depends on that part moves by its whole value, x.
    """
    groups: dict[int, list[JointFactor]] = {}
    files = {f.file for f in pieces}
    stretches = 1 + max((f.stretch for f in pieces), default=0)
    for f in pieces:
        part = f.file % _PARTS if len(files) >= _PARTS else f.stretch * _PARTS // stretches
        groups.setdefault(part, []).append(f)
    largest = np.zeros(len(x))
    for group in groups.values():
        rows = stack_factors(group, weights)
        y = rows[:, :-1] @ spread
        share, v = np.linalg.eigh(y.T @ y)
        alone = share > 1 - 1e-6
        score = v.T @ (y.T @ (rows[:, -1] - rows[:, :-1] @ x))
        moved = spread @ (v[:, ~alone] @ (score[~alone] / (1 - share[~alone])))
        decided = np.sum((spread @ v[:, alone]) ** 2, axis=1) > 0.5 * np.sum(spread**2, axis=1)
        largest = np.maximum(largest, np.where(decided, np.abs(x), np.abs(moved)))
    return largest


def sensitivity_note(
    names: Sequence[str], values: np.ndarray, covariance: np.ndarray, moved: np.ndarray, undetermined: np.ndarray
) -> str:
    """Return a note on parameters (b,) that are less certain than their `covariance` (b, b) says; empty if there are none."""
    stderr = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
    uncertain = ~undetermined & (moved > _FAR * stderr) & (moved > _SHARE * np.abs(values))
    if not uncertain.any():
        return ""
    order = np.argsort(-np.where(uncertain, moved / np.maximum(stderr, 1e-300), 0.0))[: int(uncertain.sum())]
    listed = ", ".join(names[k] for k in order[:8]) + (f" and {len(order) - 8} more" if len(order) > 8 else "")
    return (
        f"Determined only by a part of the logs: {listed}. Without one of {_PARTS} parts of the logs they move by more than "
        f"{_FAR:g} standard errors and by half of their value."
    )
