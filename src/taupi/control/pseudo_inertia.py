"""The pseudo-inertia over SX: to and from ten parameters, its dual, the log-det divergence, steps that keep it positive."""

from __future__ import annotations

import casadi as cs

from taupi.dynamics.spatial import inertia_tensor
from taupi.dynamics.types import SX, Expression, Matrix, Vector

HALVINGS = 4  # exp(A) by squaring exp(A / 2^4)
LONGEST = 1.0  # of a step, in the geometry of bodies: no eigenvalue changes by more than a factor e
ORDER = 8  # an even order: the truncated series is positive for every real number, so that definiteness cannot be lost


def pseudo(body: Vector) -> Matrix:
    """Return P = [[tr(I)/2 1 - I, h], [h^T, m]] of ten parameters (Wensing, Kim & Slotine 2017)."""
    i = inertia_tensor(body)
    h = body[1:4]
    return cs.blockcat([[cs.trace(i) / 2 * SX.eye(3) - i, h], [h.T, body[0]]])


def from_pseudo(p: Matrix) -> Vector:
    """Return ten parameters from P: I = tr(S) 1 - S, S its upper block."""
    s = p[:3, :3]
    i = cs.trace(s) * SX.eye(3) - s
    return cs.vertcat(p[3, 3], p[:3, 3], i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2])


def dual(b: Vector) -> Matrix:
    """Return the symmetric L with tr(P(x) L) = x^T b for all ten parameters x."""
    xx, xy, xz, yy, yz, zz = (b[k] for k in range(4, 10))
    upper = [[yy + zz, -xy / 2, -xz / 2], [-xy / 2, xx + zz, -yz / 2], [-xz / 2, -yz / 2, xx + yy]]
    h = b[1:4] / 2
    return cs.blockcat([[cs.vertcat(*(cs.horzcat(*row) for row in upper)), h], [h.T, b[0]]])


def cholesky(p: Matrix) -> Matrix:
    """Return the lower triangular C with P = C C^T."""
    n = p.shape[0]
    c = SX.zeros(n, n)
    for j in range(n):
        c[j, j] = cs.sqrt(p[j, j] - sum(c[j, k] ** 2 for k in range(j)))
        for i in range(j + 1, n):
            c[i, j] = (p[i, j] - sum(c[i, k] * c[j, k] for k in range(j))) / c[j, j]
    return c


def lower_solve(c: Matrix, b: Matrix) -> Matrix:
    """Return C^-1 B for a lower triangular C."""
    x = SX(b)
    for i in range(c.shape[0]):
        for k in range(i):
            x[i, :] -= c[i, k] * x[k, :]
        x[i, :] /= c[i, i]
    return x


def log_divergence(true: Vector, estimate: Vector) -> Expression:
    """Return D = log(|P_hat| / |P|) + tr(P_hat^-1 P) - 4, zero if both are the same body and positive otherwise."""
    c, c_hat = cholesky(pseudo(true)), cholesky(pseudo(estimate))
    logs = sum(cs.log(c_hat[k, k]) - cs.log(c[k, k]) for k in range(4))
    root = lower_solve(c_hat, c)
    return 2 * logs + cs.sum1(cs.sum2(root * root)) - 4


def exponential_step(body: Vector, rate: Vector, dt: Expression) -> Vector:
    """Return the body after dt along the geodesic P(dt) = C exp(dt C^-1 dP/dt C^-T) C^T, P = C C^T, no further than LONGEST.

    It is positive definite for every dt, and does not overflow if an adaptation is much faster than dt.
    """
    c = cholesky(pseudo(body))
    half = lower_solve(c, pseudo(rate))
    a = dt * lower_solve(c, half.T)
    length = cs.sqrt(cs.sum1(cs.sum2(a * a)))
    small = a / (cs.fmax(1.0, length / LONGEST) * 2.0**HALVINGS)
    root, power = SX.eye(4), SX.eye(4)
    for k in range(1, ORDER + 1):
        power = power @ small / k
        root = root + power
    for _ in range(HALVINGS - 1):
        root = root @ root
    factor = c @ root
    return from_pseudo(factor @ factor.T)
