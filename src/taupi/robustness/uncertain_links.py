"""Arms that differ from their description, with physically possible links."""

from __future__ import annotations

import numpy as np

from taupi.model.body import pseudo_inertia
from taupi.model.robot import Robot


def uncertain_links(robot: Robot, spread: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the parameters of `count` arms, (count, 10 per link): those of the `robot`, changed at random by about `spread`.

    Each link's pseudo-inertia P becomes A P A^T with A = [[1 + s G, s l g], [0, 1 + s g_0]], where s = `spread` / 2, l is the
    link's size, and G, g, g_0 are standard normal: mass, centre and inertia change together, and what was a real body stays one,
    since a congruence keeps P positive semidefinite (Wensing et al. 2018). `rng` is the random generator.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> links = uncertain_links(arm, 0.2, 100, np.random.default_rng(0))
    >>> links.shape, bool(0.1 < (links[:, 0] / arm.parameters.values[0]).std() < 0.3)
    ((100, 20), True)
    """
    bodies = robot.parameters.values.reshape(-1, 10)
    result = np.empty((count, *bodies.shape))
    for k, body in enumerate(bodies):
        p = pseudo_inertia(body.tolist())
        size = np.sqrt(max(np.trace(p[:3, :3]), 0.0) / p[3, 3]) if p[3, 3] > 0 else 0.0
        a = np.tile(np.eye(4), (count, 1, 1))
        draws = rng.standard_normal((count, 13)) * spread / 2
        a[:, :3, :3] += draws[:, :9].reshape(count, 3, 3)
        a[:, :3, 3] = size * draws[:, 9:12]
        a[:, 3, 3] += draws[:, 12]
        result[:, k] = _bodies(a @ p @ a.transpose(0, 2, 1))
    return result.reshape(count, -1)


def _bodies(p: np.ndarray) -> np.ndarray:
    """Return the ten parameters of pseudo-inertias (..., 4, 4)."""
    second = p[..., :3, :3]
    inertia = np.trace(second, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - second
    upper = [inertia[..., i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    return np.stack([p[..., 3, 3], p[..., 0, 3], p[..., 1, 3], p[..., 2, 3], *upper], axis=-1)
