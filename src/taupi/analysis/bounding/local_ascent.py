"""Local maxima from several starting points at once, inside boxes, by projected quasi-Newton steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Value = Callable[[np.ndarray], np.ndarray]  # f at points
Gradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # f and df/dx at points
STEPS = 60
HALVINGS = 20


def ascend(value: Value, gradient: Gradient, x: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Return the points that projected BFGS steps reach from each row of `x` (starts, size) within [lo, hi].

    `value` gives f, `gradient` f and its gradient. Entries at an end towards which the gradient points are held (Bertsekas
    1982). A step is halved until f rises enough, and a row whose f no longer rises is finished.
    """
    x = x.copy()
    f, g = gradient(x)
    h = np.repeat(np.eye(x.shape[1])[None], len(x), axis=0) * _first_step(g, hi - lo)[:, None, None]
    going = np.arange(len(x))
    for _ in range(STEPS):
        old, low, high, slope = x[going], lo[going], hi[going], g[going]
        held = ((old <= low) & (slope < 0)) | ((old >= high) & (slope > 0)) | (low == high)
        uphill = np.where(held, 0.0, slope)
        p = np.where(held, 0.0, np.einsum("bij,bj->bi", h[going], uphill))
        wrong = (p * uphill).sum(1) <= 0  # p does not lead uphill: start again along the gradient
        p[wrong] = uphill[wrong] * _first_step(slope, high - low)[wrong, None]
        new = _stepped(value, old, f[going], uphill, p, low, high)
        f_new, g_new = gradient(new)
        h[going] = _updated(h[going], new - old, slope - g_new, wrong)
        rising = f_new - f[going] > 1e-14 * np.abs(f_new)
        x[going], f[going], g[going] = new, f_new, g_new
        going = going[rising]
        if not len(going):
            break
    return x


def _first_step(g: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the length of a first step along the gradient: a tenth of the range."""
    return 0.1 * width.max(1) / np.maximum(np.abs(g).max(1), 1e-300)


def _stepped(
    value: Value, x: np.ndarray, f: np.ndarray, g: np.ndarray, p: np.ndarray, lo: np.ndarray, hi: np.ndarray
) -> np.ndarray:
    """Return the points after a step along p; a row that cannot rise stays where it is."""
    t, best, open_ = 1.0, x.copy(), np.arange(len(x))
    for _ in range(HALVINGS):
        trial = np.clip(x[open_] + t * p[open_], lo[open_], hi[open_])
        rise = value(trial) - f[open_]
        good = (rise > 0) & (rise >= 1e-4 * (g[open_] * (trial - x[open_])).sum(1))
        best[open_[good]] = trial[good]
        open_ = open_[~good]
        if not len(open_):
            break
        t /= 2
    return best


def _updated(h: np.ndarray, s: np.ndarray, y: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the inverse Hessians of -f after a step s that changed its gradient by y (BFGS); `wrong` rows keep theirs."""
    sy = (s * y).sum(1)
    use = sy > 1e-12 * np.sqrt((s * s).sum(1) * (y * y).sum(1))
    rho = np.where(use, 1 / np.where(use, sy, 1.0), 0.0)[:, None, None]
    left = np.eye(s.shape[1]) - rho * s[:, :, None] * y[:, None, :]
    new = left @ h @ np.swapaxes(left, 1, 2) + rho * s[:, :, None] * s[:, None, :]
    return np.where((use & ~wrong)[:, None, None], new, h)
