"""Least squares on a triangular factor: scaled, by singular values, with a prior for what the log does not determine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.checks import is_number
from taupi.errors import TaupiError
from taupi.threads import small_algebra

# Combinations of unit columns that are shorter than this share of the longest are taken from the prior: a log in which only a few
# samples, or noise, determine them could give numbers of any size.
WEAK = 1e-4
# A parameter with more than this share in such a combination counts as not determined.
SHARE = 1e-3

Weights = dict[tuple[int, int], float]  # of rows, by (file, joint)


@dataclass(frozen=True)
class Solution:
    """The x (b,) that minimises |R (x, -1)|, and how well it is determined."""

    x: np.ndarray
    spread: np.ndarray  # A (b, d) with (R^T R)^-1 = A A^T, over what is determined
    undetermined: np.ndarray  # (b,) bool
    condition: float  # of the part that is determined, its columns scaled to length one


def check_weak(weak: float) -> None:
    """Refuse a `weak` that is not a share from 0 to below 1."""
    if not is_number(weak) or not 0 <= weak < 1:
        raise TaupiError(
            "{weak} is {got!r}, expected a share from 0, which takes nothing from the prior, to below 1.", got=weak
        )


@small_algebra
def solve(r: np.ndarray, prior: np.ndarray, metric: np.ndarray | None = None, weak: float = WEAK) -> Solution:
    """Return the x nearest to the prior among those that minimise |R_Y x - z|, R = [R_Y z] (k, b + 1).

    Columns are scaled to length one, R_Y / d = U S V^T. Singular values below `weak` times the largest are left out; along their
    directions, x is as near as possible to the prior (b,), in the distance |metric d (x - prior)|: measured in torque, and larger
    by `metric` (b,) for parameters whose deviation from the prior is less likely.

    >>> import numpy as np
    >>> solve(np.array([[1.0, 1.0, 4.0]]), np.array([3.0, 0.0])).x.round(6)
    array([3.5, 0.5])
    """
    y, z = r[:, :-1], r[:, -1]
    if not (np.isfinite(r).all() and np.isfinite(prior).all()):
        raise TaupiError(
            "The equations of the fit hold numbers beyond floating point.",
            remedy="A log, a piece or the prior of a fit has values that no robot has.",
        )
    length = np.linalg.norm(y, axis=0)
    scale = np.where(length > 1e-12 * max(length.max(initial=0.0), 1e-300), length, 1.0)
    unit = np.where(scale == length, 1.0, 0.0) * y / scale
    # With many rows, as many left singular vectors would be computed, of which only those for the columns are used.
    u, s, vt = np.linalg.svd(unit, full_matrices=len(unit) <= unit.shape[1] + 1)
    rank = int((s > weak * max(s.max(initial=0.0), 1e-300)).sum())
    inverse = (vt[:rank].T / s[:rank]) / scale[:, None]
    x = prior + inverse @ (u[:, :rank].T @ (z - y @ prior))
    free = vt[rank:].T
    if free.shape[1]:
        weight = (np.ones(len(prior)) if metric is None else metric)[:, None]
        shift = np.linalg.lstsq(weight * free, weight[:, 0] * scale * (prior - x), rcond=None)[0]
        x = x + (free @ shift) / scale
    undetermined = (np.abs(free) > SHARE).any(axis=1) if free.shape[1] else np.zeros(len(prior), dtype=bool)
    return Solution(x, inverse, undetermined, float(s[0] / s[rank - 1]) if rank else 1.0)
