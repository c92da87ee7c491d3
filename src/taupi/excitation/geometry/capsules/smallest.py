"""The capsule of least volume around points.

On a line with direction v, and with a radius R that reaches every point, the shortest segment is known: with h the place of a
point along the line and e its distance from it, the ends are min(h + s) and max(h - s), s = sqrt(R^2 - e^2). So only the line
and the radius are searched for.
"""

from __future__ import annotations

import math

import numpy as np

Segment = tuple[np.ndarray, np.ndarray]
# Directions whose extreme points represent all points during the search; the final radius covers all points.
_DIRECTIONS = 120
_STEPS = 200


def distances_to_segment(points: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the distance (k,) of points (k, 3) from the segment between a and b."""
    u = b - a
    square = float(u @ u)
    t = np.clip((points - a) @ u / square, 0.0, 1.0) if square > 0 else np.zeros(len(points))
    return np.asarray(np.linalg.norm(points - a - t[:, None] * u, axis=1))


def smallest_segment(points: np.ndarray, search: bool = True) -> Segment:
    """Return the segment of a small capsule around points (k, 3); without `search`, along the best of their main axes."""
    points = _extreme(points)
    centre = (points.max(axis=0) + points.min(axis=0)) / 2
    size = max(float(np.ptp(points, axis=0).max()), 1e-9)
    local = (points - centre) / size
    axes = np.linalg.svd(local - local.mean(axis=0), full_matrices=False)[2]
    starts = []
    for v in axes:
        x = np.concatenate([_middle(local, v), np.zeros(3)])
        starts.append((_line_volume(local, v, x), v, x))
    starts.sort(key=lambda start: start[0])
    best, v, x = starts[0]
    if search:
        for _, direction, start in starts[:2]:
            value, offsets = _searched(local, direction, start)
            if value < best:
                best, v, x = value, direction, offsets
    a, b, _ = _on_line(local, v, x)
    return centre + size * a, centre + size * b


def _extreme(points: np.ndarray) -> np.ndarray:
    """Return the points that are farthest in some direction."""
    if len(points) <= _DIRECTIONS:
        return points
    k = np.arange(_DIRECTIONS) + 0.5
    z, turn = 1 - 2 * k / _DIRECTIONS, math.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - z**2)
    directions = np.stack([ring * np.cos(turn), ring * np.sin(turn), z])
    return np.asarray(points[np.unique(np.argmax(points @ directions, axis=0))])


def _frame(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit vectors across v."""
    across = np.cross(v, np.eye(3)[int(np.argmin(np.abs(v)))])
    across /= np.linalg.norm(across)
    return across, np.cross(v, across)


def _middle(points: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the offset across v (2,) of a line along v near the middle of the points: nearly their smallest circle."""
    flat = points @ np.stack(_frame(v)).T
    middle = (flat.max(axis=0) + flat.min(axis=0)) / 2
    for k in range(1, 25):  # Badoiu and Clarkson 2003: ever shorter steps to the farthest point
        far = flat[int(np.argmax(((flat - middle) ** 2).sum(axis=1)))]
        middle = middle + (far - middle) / (k + 1) / 2
    return np.asarray(middle)


def _on_line(points: np.ndarray, v: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the ends and the radius on a line: x is its offset across v (2), its tilt (2), and how much wider it is."""
    one, two = _frame(v)
    w = v + x[2] * one + x[3] * two
    w = w / math.sqrt(w @ w)
    c = x[0] * one + x[1] * two
    away = points - c
    h = away @ w
    e2 = np.einsum("ij,ij->i", away, away) - h * h
    radius2 = max(float(e2.max()), 1e-18) * (1 + x[4] * x[4])
    s = np.sqrt(radius2 - np.minimum(e2, radius2))
    low, high = float((h + s).min()), float((h - s).max())
    if low > high:
        low = high = (low + high) / 2
    return c + low * w, c + high * w, math.sqrt(radius2)


def _line_volume(points: np.ndarray, v: np.ndarray, x: np.ndarray) -> float:
    a, b, r = _on_line(points, v, x)
    return math.pi * r**2 * (float(np.linalg.norm(b - a)) + 4 / 3 * r)


def _searched(points: np.ndarray, v: np.ndarray, start: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the best volume near a line and its variables, by Nelder and Mead's simplex."""
    from scipy.optimize import minimize

    simplex = np.vstack([start, start + np.diag([0.05, 0.05, 0.1, 0.1, 0.2])])
    options = {"maxiter": _STEPS, "xatol": 1e-4, "fatol": 1e-6, "initial_simplex": simplex}
    minimum = minimize(lambda x: _line_volume(points, v, x), start, method="Nelder-Mead", options=options)
    return float(minimum.fun), np.asarray(minimum.x)
