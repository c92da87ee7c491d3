"""Uphill from several points at once, inside boxes: projected quasi-Newton steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Ascent = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
STEPS = 80
HALVINGS = 30


def climb(ascent: Ascent, x: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Return where projected BFGS steps lead from each row of x (starts, size) within [lo, hi], by f and its gradient.

    Entries at an end towards which the gradient points are held (Bertsekas 1982); a step is halved until f rises enough.
    """
    f, g = ascent(x)
    h = np.repeat(np.eye(x.shape[1])[None], len(x), axis=0) * _first(g, hi - lo)[:, None, None]
    for _ in range(STEPS):
        held = ((x <= lo) & (g < 0)) | ((x >= hi) & (g > 0)) | (lo == hi)
        uphill = np.where(held, 0.0, g)
        p = np.where(held, 0.0, np.einsum("bij,bj->bi", h, uphill))
        lost = (p * uphill).sum(1) <= 0
        p[lost] = uphill[lost] * _first(g, hi - lo)[lost, None]
        new, f_new, g_new = _stepped(ascent, x, f, uphill, p, lo, hi)
        h = _updated(h, new - x, g - g_new, lost)
        gained = f_new - f
        x, f, g = new, f_new, g_new
        if not (gained > 1e-15 * np.abs(f)).any():
            break
    return x


def _first(g: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the length of a first step: a tenth of the range along the gradient."""
    return 0.1 * width.max(1) / np.maximum(np.abs(g).max(1), 1e-300)


def _stepped(
    ascent: Ascent, x: np.ndarray, f: np.ndarray, g: np.ndarray, p: np.ndarray, lo: np.ndarray, hi: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the points after a step along p, f and its gradient there; a row that cannot rise stays."""
    t, done = np.ones(len(x)), np.zeros(len(x), dtype=bool)
    best = x.copy()
    for _ in range(HALVINGS):
        trial = np.clip(x + t[:, None] * p, lo, hi)
        rise = ascent(trial)[0] - f
        good = ~done & (rise > 0) & (rise >= 1e-4 * (g * (trial - x)).sum(1))
        best[good] = trial[good]
        done |= good
        if done.all():
            break
        t = np.where(done, t, t / 2)
    return best, *ascent(best)


def _updated(h: np.ndarray, s: np.ndarray, y: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return the inverse Hessians of -f after a step s that changed its gradient by y (BFGS)."""
    sy = (s * y).sum(1)
    use = sy > 1e-12 * np.sqrt((s * s).sum(1) * (y * y).sum(1))
    rho = np.where(use, 1 / np.where(use, sy, 1.0), 0.0)[:, None, None]
    left = np.eye(s.shape[1]) - rho * s[:, :, None] * y[:, None, :]
    new = left @ h @ np.swapaxes(left, 1, 2) + rho * s[:, :, None] * s[:, None, :]
    return np.where((use & ~lost)[:, None, None], new, h)
