"""Which arms belong to a fleet: those whose own rows agree with the links of all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taupi.identification.fleet.arrow import ArmTriangle

# The probability that some arm of a sound fleet is mistaken for a stranger.
_FALSE = 1e-3
# With fewer arms, nobody can say which one is the stranger.
LEAST_ARMS = 4


def strangers(arms: Sequence[ArmTriangle], freedom: Sequence[float]) -> dict[int, float]:
    """Return the arms that do not share the links of the others, and their F, the most conspicuous first.

    x is the estimate of the shared parameters without arm k, and C its covariance. If the arm has the same links, then
    e = d_k - D_k x has the covariance I + D_k C D_k^T, and e^T (I + D_k C D_k^T)^-1 e / rank is F(rank, freedom)-distributed. In
    a fleet in which that is larger than 1 for most arms, since no model is perfect, an arm has to stand out from them.
    `freedom` are the degrees of freedom of the noise of each arm.
    """
    from scipy.stats import f as f_distribution

    left, result = list(range(len(arms))), dict[int, float]()
    while len(left) >= LEAST_ARMS and len(result) < (len(arms) - 1) // 2:
        ratios, ranks = _ratios([arms[k] for k in left])
        ratios = ratios / max(1.0, float(np.median(ratios)))
        degrees = np.array([max(freedom[k], 1.0) for k in left])
        limits = f_distribution.isf(_FALSE / len(arms), np.maximum(ranks, 1), degrees)
        worst = int(np.argmax(ratios / limits))
        if ratios[worst] <= limits[worst]:
            break
        result[left.pop(worst)] = float(ratios[worst])
    return result


def _ratios(arms: Sequence[ArmTriangle]) -> tuple[np.ndarray, np.ndarray]:
    """Return the ratio of each arm, and its rank."""
    count = arms[0].rest.shape[1] - 1
    scale = np.sqrt(sum((np.sum(arm.rest[:, :-1] ** 2, axis=0) for arm in arms), np.zeros(count)))
    scale = np.where(scale > 0, scale, 1.0)
    parts = [(arm.rest[:count, :-1] / scale, arm.rest[:count, -1]) for arm in arms]
    information = sum((d.T @ d for d, _ in parts), np.zeros((count, count)))
    moments = sum((d.T @ z for d, z in parts), np.zeros(count))
    ratios, ranks = [], []
    for d, z in parts:
        others = np.linalg.pinv(information - d.T @ d, rcond=1e-10, hermitian=True)
        error = z - d @ (others @ (moments - d.T @ z))
        # Directions of the links that the other arms do not determine say nothing.
        sizes, vectors = np.linalg.eigh(np.eye(len(d)) + d @ others @ d.T)
        rank = int(np.linalg.matrix_rank(d))
        ratios.append(float(np.sum((vectors.T @ error) ** 2 / sizes)) / max(rank, 1))
        ranks.append(rank)
    return np.array(ratios), np.array(ranks)
