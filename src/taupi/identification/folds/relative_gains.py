"""Relative gains of joints: whether torques of some joints read high against those of others, by the links that couple them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.folds.region_folds import RegionFolds
from taupi.threads import small_algebra

# A drive's gain is known to about a tenth beforehand.
_GAIN = 0.1
# Ratios count beyond this many standard errors; beyond this size, a channel is something else than the torque of its joint.
SEEN, ABSURD = 3.0, 0.5
# Beyond two standard deviations of what is known beforehand, they are worth a remark.
UNUSUAL = 2 * _GAIN
# Steps of Gauss and Newton; those of a fold begin near its end.
_STEPS, _STEPS_OF_A_FOLD = 8, 3
# Errors below 1 % of the torque are as good as none; with more than a tenth of its power left, something else is wrong first.
_FLOOR, _EXPLAINED = 0.01, 0.32


@dataclass(frozen=True, eq=False)
class RelativeGains:
    """What logs show about the gains of joints relative to each other.

    Attributes:
        values: By how much each torque reads high (n,) beside the others: 0.09 for 9 %.
        stderr: Their standard errors (n,).
        gain: By how much they lower the error on regions of positions that were left out: in standard errors over regions.
        errors: The error on these regions without and with them, a share of the torque.
    """

    values: np.ndarray
    stderr: np.ndarray
    gain: float
    errors: tuple[float, float]

    @property
    def seen(self) -> np.ndarray:
        """Which joints (n,) read clearly high or low beside the others."""
        return np.abs(np.log1p(self.values)) > SEEN * self.stderr / (1 + self.values)

    @property
    def beside(self) -> np.ndarray:
        """By how much each torque (n,) reads high beside the median of the others."""
        others = [np.median(np.delete(1 + self.values, j)) for j in range(len(self.values))]
        return np.asarray((1 + self.values) / others - 1)

    @property
    def supported(self) -> bool:
        """Whether they hold: regions that were left out are explained better, and a ratio is clearly not one."""
        return bool(self.gain > 1 and _FLOOR < self.errors[0] < _EXPLAINED and self.seen.any())

    @property
    def absurd(self) -> np.ndarray:
        """Which joints (n,) read so high or low that the unit, or the meaning, of their torque is in doubt."""
        return self.seen & (np.abs(self.values) > ABSURD)

    @property
    def admitted(self) -> bool:
        """Whether they are parameters of the drives, to be taken out of the torque."""
        return self.supported and not self.absurd.any()

    def note(self, joints: Sequence[str]) -> str:
        """Return what they are, in words."""
        each = zip(joints, 100 * self.values, 100 * self.stderr, strict=True)
        listed = ", ".join(f"{name} {g:+.1f} ± {e:.1f} %" for name, g, e in each)
        before, after = self.errors
        return (
            f"relative gains: beside those of the other joints, torques read high by {listed}. They are divided out of the logs, "
            f"and predictions are multiplied by them: the error in regions of positions that were left out falls from "
            f"{100 * before:.3g} to {100 * after:.3g} %. Only ratios are seen; a known mass gives the scale (taupi gains)."
        )


@small_algebra
def relative_gains(folds: RegionFolds) -> RelativeGains | None:
    """Return the gains g of tau_j = (1 + g_j) (Y_j pi)_rigid + friction_j, g_j ~ N(0, 0.1^2), relative to each other.

    The common factor of all gains is not seen, so that ln(1 + g) is stated less its mean. The mean is weighted by the power of
    the links' torque at each joint, so that masses keep the scale that the torques as recorded give them.
    Standard errors are those of the model, or from leaving out regions of positions, whichever are larger. None if there is a
    single joint, or if less than 1 % of the torque is left anyway.
    """
    n, parts = len(folds.total), folds.regions
    power = max(float(folds.total[:, -1, -1].sum()), 1e-300) * len(parts)
    as_recorded = [np.array([_squares(r, folds.solved(folds.total - r)) for r in regions]) for regions in parts]
    error = float(np.sqrt(sum(e.sum() for e in as_recorded) / power))
    if n < 2 or not error > _FLOOR:
        return None
    x, g, h = _fitted(folds, folds.total, folds.first, np.zeros(n), _STEPS)
    covariance = np.linalg.inv(h)[len(x) :, len(x) :] / np.outer(1 + g, 1 + g)
    links = np.where(folds.rigid, x, 0.0)
    share = np.einsum("jkl,k,l->j", folds.total[:, :-1, :-1], links, links)
    centred = np.eye(n) - share / share.sum()
    variance, changes, left = np.zeros(n), [], 0.0
    for regions, before in zip(parts, as_recorded, strict=True):
        fits = [_fitted(folds, folds.total - region, x, g, _STEPS_OF_A_FOLD)[:2] for region in regions]
        after = np.array(
            [_squares(region, own, folds.rigid, gains) for region, (own, gains) in zip(regions, fits, strict=True)]
        )
        change, k = before - after, len(regions)
        changes.append(change.mean() / max(change.std(ddof=1) / np.sqrt(k), 1e-300))
        ratios = np.array([np.log1p(gains) for _, gains in fits]) @ centred.T
        variance += (k - 1) * ratios.var(axis=0) / len(parts)  # by the jackknife
        left += float(after.sum())
    values = np.expm1(centred @ np.log1p(g))
    stderr = np.sqrt(np.maximum(np.diag(centred @ covariance @ centred.T), variance)) * (1 + values)
    return RelativeGains(values, stderr, float(np.mean(changes)), (error, float(np.sqrt(left / power))))


def _fitted(
    folds: RegionFolds, products: np.ndarray, x: np.ndarray, g: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return parameters (b,), gains (n,) and the Hessian (b + n, b + n) of the fit to products (n, b + 1, b + 1)."""
    n, b, rigid = len(g), len(x), folds.rigid
    prior = np.append(folds.spread**-2.0, np.full(n, _GAIN**-2.0))
    for _ in range(steps):
        h, c = np.diag(prior), prior * np.append(folds.first - x, -g)
        for j in range(n):
            columns = np.zeros((b + 1, b + n))
            columns[np.arange(b), np.arange(b)] = np.where(rigid, 1 + g[j], 1.0)
            columns[:b, b + j] = np.where(rigid, x, 0.0)
            left = np.append(-np.where(rigid, 1 + g[j], 1.0) * x, 1.0)
            h += columns.T @ products[j] @ columns
            c += columns.T @ (products[j] @ left)
        step = np.linalg.solve(h, c)
        x, g = x + step[:b], np.clip(g + step[b:], -0.9, 9.0)
    return x, g, h


def _squares(
    products: np.ndarray, x: np.ndarray, rigid: np.ndarray | None = None, g: np.ndarray | None = None
) -> float:
    """Return the weighted sum of squares that parameters, and gains, leave of products (n, b + 1, b + 1)."""
    if rigid is None or g is None:
        y = np.append(x, -1.0)
        return max(float(np.einsum("jkl,k,l->", products, y, y)), 0.0)  # rounding may leave less than nothing
    each = np.where(rigid, 1 + g[:, None], 1.0) * x
    left = np.hstack([each, np.full((len(g), 1), -1.0)])
    return max(float(np.einsum("jkl,jk,jl->", products, left, left)), 0.0)
