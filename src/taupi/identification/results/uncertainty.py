"""Standard errors for residuals that are correlated in time and between joints, and of different size: by stretches of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from taupi.identification.rows.factors import JointFactor


def sandwich(
    pieces: Sequence[JointFactor], weights: Mapping[tuple[int, int], float], x: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the covariance (b, b) of x = argmin sum |w (Y x - tau)|^2, and its degrees of freedom.

    The covariance is H^-1 (sum_k g_k g_k^T) H^-1, with H = Y^T Y = (A A^T)^-1, A = `spread`, and g_k = Y_k^T (I - H_k)^-1/2
    (tau_k - Y_k x) the score of stretch k over all its joints, corrected for the influence of the stretch itself on x, H_k = Y_k
    H^-1 Y_k^T (Bell & McCaffrey 2002, "CR2"). It is valid if the residuals of different stretches are nearly independent. The
    degrees of freedom are those of the chi-square distribution with the same spread (Satterthwaite), the median over parameters.

    `pieces` are the factors of all stretches, `weights` the w of each (file, joint), 1 by default.
    """
    groups: dict[tuple[int, int], list[JointFactor]] = {}
    for f in pieces:
        if len(f.r):
            groups.setdefault((f.file, f.stretch), []).append(f)
    scores, shares = [], []
    for group in groups.values():
        rows = np.vstack([f.r * weights.get((f.file, f.joint), 1.0) for f in group])
        y = rows[:, :-1] @ spread  # (k, d)
        # y^T (I - y y^T)^-1/2 r = V (I - S)^-1/2 V^T y^T r with y^T y = V S V^T, which is small.
        share = y.T @ y
        leverage, v = np.linalg.eigh(share)
        # A stretch that alone determines a combination has a leverage of one there, and its residual does not show the error.
        correction = np.clip(1 - leverage, 1e-6, None)
        scores.append(v @ ((v.T @ (y.T @ (rows[:, -1] - rows[:, :-1] @ x))) / np.sqrt(correction)))
        shares.append(np.diag(share))
    if not scores:
        return np.full((len(x), len(x)), np.inf), 1.0
    g = np.array(scores)  # (K, d)
    covariance = spread @ (g.T @ g) @ spread.T
    return covariance, _freedom(np.array(shares))


def _freedom(shares: np.ndarray) -> float:
    """Return the degrees of freedom of sums of K unequal squares, (sum v)^2 / sum v^2 - 1, the median over combinations.

    `shares` (K, d) are the shares of each stretch in the combinations; those of one combination add up to one.
    """
    total, squares = shares.sum(axis=0), (shares**2).sum(axis=0)
    if not (seen := squares > 0).any():
        return 1.0
    total, squares = total[seen], squares[seen]  # a combination without any share is known from a prior alone
    return max(1.0, float(np.median(total**2 / squares)) - 1.0)
