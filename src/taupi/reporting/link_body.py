"""The solid ellipsoid that stands for a link: its mass, its centre, its inertia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Body:
    """A link's centre of mass (3,), m, and the solid ellipsoid of its mass and inertia: its axes R and half-lengths (3,)."""

    mass: float
    com: np.ndarray
    axes: np.ndarray
    lengths: np.ndarray


def body_of(pi: np.ndarray) -> Body | None:
    """Return the body of ten parameters: second moments about the centre are m a_i^2 / 5 along its axes."""
    mass, h = float(pi[0]), pi[1:4]
    if not np.isfinite(pi).all() or mass <= 0:
        return None
    xx, xy, xz, yy, yz, zz = pi[4:]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    second = np.trace(inertia) / 2 * np.eye(3) - inertia - np.outer(h, h) / mass
    values, axes = np.linalg.eigh(second)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    return Body(mass, h / mass, axes, np.sqrt(5 * np.clip(values, 0.0, None) / mass))
