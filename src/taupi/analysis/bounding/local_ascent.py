"""Uphill from several points at once, inside boxes: projected quasi-Newton steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Value = Callable[[np.ndarray], np.ndarray]
Ascent = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
STEPS = 60
HALVINGS = 20


def climb(value: Value, ascent: Ascent, x: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Return where projected BFGS steps lead from each row of x (starts, size) within [lo, hi].

    `value` gives f, `ascent` f and its gradient. Entries at an end towards which the gradient points are held (Bertsekas 1982); a
    step is halved until f rises enough, and a row that no longer rises is done.
    """
    x = x.copy()
    f, g = ascent(x)
    h = np.repeat(np.eye(x.shape[1])[None], len(x), axis=0) * _first(g, hi - lo)[:, None, None]
    going = np.arange(len(x))
    for _ in range(STEPS):
        old, low, high, slope = x[going], lo[going], hi[going], g[going]
        held = ((old <= low) & (slope < 0)) | ((old >= high) & (slope > 0)) | (low == high)
        uphill = np.where(held, 0.0, slope)
        p = np.where(held, 0.0, np.einsum("bij,bj->bi", h[going], uphill))
        lost = (p * uphill).sum(1) <= 0
        p[lost] = uphill[lost] * _first(slope, high - low)[lost, None]
        new = _stepped(value, old, f[going], uphill, p, low, high)
        f_new, g_new = ascent(new)
        h[going] = _updated(h[going], new - old, slope - g_new, lost)
        rising = f_new - f[going] > 1e-14 * np.abs(f_new)
        x[going], f[going], g[going] = new, f_new, g_new
        going = going[rising]
        if not len(going):
            break
    return x


def _first(g: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the length of a first step: a tenth of the range along the gradient."""
    return 0.1 * width.max(1) / np.maximum(np.abs(g).max(1), 1e-300)


def _stepped(
    value: Value, x: np.ndarray, f: np.ndarray, g: np.ndarray, p: np.ndarray, lo: np.ndarray, hi: np.ndarray
) -> np.ndarray:
    """Return the points after a step along p; a row that cannot rise stays."""
    t, best, left = 1.0, x.copy(), np.arange(len(x))
    for _ in range(HALVINGS):
        trial = np.clip(x[left] + t * p[left], lo[left], hi[left])
        rise = value(trial) - f[left]
        good = (rise > 0) & (rise >= 1e-4 * (g[left] * (trial - x[left])).sum(1))
        best[left[good]] = trial[good]
        left = left[~good]
        if not len(left):
            break
        t /= 2
    return best


def _updated(h: np.ndarray, s: np.ndarray, y: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return the inverse Hessians of -f after a step s that changed its gradient by y (BFGS)."""
    sy = (s * y).sum(1)
    use = sy > 1e-12 * np.sqrt((s * s).sum(1) * (y * y).sum(1))
    rho = np.where(use, 1 / np.where(use, sy, 1.0), 0.0)[:, None, None]
    left = np.eye(s.shape[1]) - rho * s[:, :, None] * y[:, None, :]
    new = left @ h @ np.swapaxes(left, 1, 2) + rho * s[:, :, None] * s[:, None, :]
    return np.where((use & ~lost)[:, None, None], new, h)
