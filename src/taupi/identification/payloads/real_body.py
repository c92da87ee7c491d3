"""The most likely physically possible body for an estimate of its ten parameters."""

from __future__ import annotations

import numpy as np

from taupi.identification.payloads.difference import inverse
from taupi.identification.physical.cones import Cone, least_squares_in_cone, packed, unpacked
from taupi.identification.physical.region import pseudo_inertia_map
from taupi.model.body import smallest_eigenvalue

# The pseudo-inertia is at least this, in units of mass and size: far above rounding, far below what a torque can show.
_EDGE = 1e-6
# Steps of Newton's method, and the decrease of the objective at which it stops.
_STEPS, _DECREASE = 100, 1e-10


def body_scale(mass: float, size: float) -> np.ndarray:
    """Return the typical size of each of the ten parameters of a body: m, m l and m l^2."""
    return mass * np.repeat([1.0, size, size**2], [1, 3, 6])


def likely_body(ten: np.ndarray, covariance: np.ndarray, size: float) -> np.ndarray:
    """Return the ten parameters of a real body for an estimate `ten` with its `covariance` C; `size` is a typical length, m.

    A real body has a positive semidefinite pseudo-inertia P (Wensing, Kim & Slotine 2018). The mass is that of the nearest such
    body in the metric C^-1. Given the mass, the other nine minimise

        1/2 (pi - ten)^T C^-1 (pi - ten) - log det P,

    so that what the estimate leaves open is not filled with a body of no extent, and what it determines well stays as it is.

    >>> import numpy as np
    >>> ball = np.array([2.0, 0, 0, 0, 0.4, 0, 0, 0.4, 0, 0.4])
    >>> bool(np.allclose(likely_body(ball, 1e-12 * np.eye(10), 0.5), ball, atol=1e-6))
    True
    >>> impossible = np.array([2.0, 0.2, 0, 0, -0.1, 0, 0, 0, 0, 0])
    >>> body = likely_body(impossible, np.diag([1e-8] * 4 + [1e-2] * 6), 0.5)
    >>> body.round(2)[:2].tolist(), bool(body[4] > 0.02)
    ([2.0, 0.2], True)
    """
    mass = max(abs(float(ten[0])), 1e-9)
    scale = body_scale(mass, size)
    precision, target = inverse(covariance / np.outer(scale, scale)), ten / scale
    start = _nearest(target, precision)
    return np.asarray(_inside(start, target, precision) * scale)


def _nearest(target: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the body nearest to `target`, slightly inside the region of real bodies."""
    if smallest_eigenvalue(target.tolist()) > _EDGE:
        return target
    eigenvalues, v = np.linalg.eigh(precision)
    root = np.sqrt(np.clip(eigenvalues, 0.0, None))[:, None] * v.T
    unit = max(float(np.abs(root).max()), 1e-300)
    cone = Cone(np.zeros((0, 10)), np.zeros(0), (pseudo_inertia_map(),), (-2 * _EDGE * packed(np.eye(4)),))
    solution = least_squares_in_cone(cone, root / unit, root @ target / unit, np.full(10, 1e-9), target)
    short = _EDGE - smallest_eigenvalue(solution.x.tolist())
    # A small ball compensates for the solver's tolerance.
    ball = np.array([1.0, 0, 0, 0, 2.0, 0, 0, 2.0, 0, 2.0])
    return np.asarray(solution.x + max(short, 0.0) * ball)


def _inside(start: np.ndarray, target: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return the minimum over all but the mass, by Newton's method from a body with a positive definite pseudo-inertia."""
    basis = np.array([unpacked(column) for column in pseudo_inertia_map()[:, 1:].T])
    first = unpacked(pseudo_inertia_map()[:, 0])

    def pseudo(pi: np.ndarray) -> np.ndarray:
        return np.asarray(pi[0] * first + np.tensordot(pi[1:], basis, axes=(0, 0)))

    def objective(pi: np.ndarray) -> float:
        sign, logarithm = np.linalg.slogdet(pseudo(pi))
        inside = sign > 0 and np.linalg.eigvalsh(pseudo(pi))[0] > 0
        return float(0.5 * (pi - target) @ precision @ (pi - target) - logarithm) if inside else np.inf

    pi = start.copy()
    for _ in range(_STEPS):
        solved = np.linalg.solve(pseudo(pi), basis)  # P^-1 E_k
        gradient = (precision @ (pi - target))[1:] - np.trace(solved, axis1=1, axis2=2)
        hessian = precision[1:, 1:] + np.einsum("iab,jba->ij", solved, solved)
        step = np.append(0.0, -np.linalg.solve(hessian, gradient))
        now, share = objective(pi), 1.0
        while objective(pi + share * step) > now + 1e-4 * share * float(gradient @ step[1:]) and share > 1e-12:
            share *= 0.5
        pi = pi + share * step
        if now - objective(pi) < _DECREASE * max(abs(now), 1.0):
            break
    return pi
