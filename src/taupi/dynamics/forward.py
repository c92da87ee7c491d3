"""Forward dynamics: the acceleration that a torque causes, by factorising M or by articulated bodies."""

from __future__ import annotations

from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.kinematics import JACOBIANS
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.recursive import newton_euler, tip_torque
from taupi.dynamics.spatial import SX, adjoint, bracket, inverse
from taupi.dynamics.terms import TermsLike, resolve_terms, term_inertia, term_torque
from taupi.errors import TaupiError, unknown
from taupi.model.robot import BASE, Robot
from taupi.program.program import Port, Program


def solve_positive(matrix: Any, right: Any) -> Any:
    """Return X with M X = B for a symmetric positive definite M, by M = L D L^T; no square root, so exact over rationals."""
    n = matrix.shape[0]
    lower, diagonal = SX.eye(n), SX.zeros(n)
    for j in range(n):
        diagonal[j] = matrix[j, j] - sum(lower[j, k] ** 2 * diagonal[k] for k in range(j))
        for i in range(j + 1, n):
            lower[i, j] = (matrix[i, j] - sum(lower[i, k] * lower[j, k] * diagonal[k] for k in range(j))) / diagonal[j]
    x = SX(right)
    for i in range(n):
        for k in range(i):
            x[i, :] -= lower[i, k] * x[k, :]
    for i in range(n):
        x[i, :] /= diagonal[i]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i, :] -= lower[k, i] * x[k, :]
    return x


def by_cholesky(chain: Chain, q: Any, qd: Any, tau: Any, inertia: Any) -> Any:
    """Return qdd with M qdd = tau - b (spec 2.6), M factorised without square roots."""
    bias = newton_euler(chain, q, qd, SX.zeros(chain.n))
    return solve_positive(composite_bodies(chain, q) + inertia, tau - bias)


def by_articulated_bodies(chain: Chain, q: Any, qd: Any, tau: Any, inertia: Any) -> Any:
    """Return qdd by articulated bodies, linear in the number of joints (Featherstone 1983; 2008, 7.3).

    Outward V_i, c_i = ad(V_i) A_i qd_i. Inward, with U = Ga A, D = A^T U + rotor, u = tau - A^T pa:
    Ga_p += X^T (Ga - U U^T / D) X, pa_p += X^T (pa + (Ga - U U^T / D) c + U u / D). Outward a' = X a_p + c,
    qdd = (u - U^T a') / D, a = a' + A qdd.
    """
    x = [adjoint(*inverse(*chain.placement(i, q[i]))) for i in range(chain.links)]
    screw = [chain.screw(i) for i in range(chain.links)]
    twist = chain.outward(lambda i, parent: x[i] @ parent + screw[i] * qd[i], SX.zeros(6))
    drift = [bracket(v) @ a * qd[i] for i, (v, a) in enumerate(zip(twist, screw, strict=True))]
    body = [chain.inertia(i) for i in range(chain.links)]
    wrench = [-bracket(v).T @ (g @ v) for v, g in zip(twist, body, strict=True)]
    u, big_u, d = [SX(0)] * chain.links, [SX(0)] * chain.links, [SX(0)] * chain.links
    for i in reversed(range(chain.links)):
        big_u[i] = body[i] @ screw[i]
        d[i] = screw[i].T @ big_u[i] + inertia[i, i]
        u[i] = tau[i] - screw[i].T @ wrench[i]
        parent = chain.robot.joints[i].parent
        if parent != BASE:
            articulated = body[i] - big_u[i] @ big_u[i].T / d[i]
            body[parent] = body[parent] + x[i].T @ articulated @ x[i]
            wrench[parent] = wrench[parent] + x[i].T @ (wrench[i] + articulated @ drift[i] + big_u[i] * (u[i] / d[i]))
    qdd: list[Any] = []

    def accelerate(i: int, parent: Any) -> Any:
        a = x[i] @ parent + drift[i]
        qdd.append((u[i] - big_u[i].T @ a) / d[i])
        return a + screw[i] * qdd[i]

    chain.outward(accelerate, cs.vertcat(SX.zeros(3), -chain.gravity))
    return cs.vertcat(*qdd)


def is_coupled(robot: Robot) -> bool:
    """Tell whether some joint moves by more or other than its own coordinate: mimic joints, coupled or geared drives."""
    plain = all(j.coordinate == i and j.ratio == 1 and not j.also for i, j in enumerate(robot.joints))
    return not plain


ALGORITHMS = {"articulated": by_articulated_bodies, "cholesky": by_cholesky}


@builder
def forward_dynamics(
    robot: Robot, terms: TermsLike = (), algorithm: str | None = None, tip_wrench: str | None = None, frame: str = "tip"
) -> Program:
    """Return qdd(q, qd, tau) with M qdd = tau - C qd - g - friction - J^T F_tip (spec 2.6).

    `algorithm`: "articulated" bodies (the default), or "cholesky", which factorises M (the default and the only one with mimic
    joints). `terms` and `tip_wrench` are as in `inverse_dynamics`.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, qd, qdd = [0.1] * 6, [0.2] * 6, [0.3] * 6
    >>> tau = tp.inverse_dynamics(arm)(q, qd, qdd)
    >>> tp.forward_dynamics(arm)(q, qd, tau).round(9).tolist()
    [0.3, 0.3, 0.3, 0.3, 0.3, 0.3]
    """
    coupled = is_coupled(robot)
    chosen = algorithm or ("cholesky" if coupled else "articulated")
    if chosen not in ALGORITHMS:
        raise unknown("algorithm", chosen, ALGORITHMS)
    if chosen == "articulated" and coupled:
        raise TaupiError(
            f"{robot.name} has mimic or coupled joints, which articulated bodies do not cover. Use algorithm='cholesky'."
        )
    if tip_wrench is not None and tip_wrench not in JACOBIANS:
        raise unknown("axes of the tip wrench", tip_wrench, JACOBIANS)
    robot.frame(frame)
    extra = resolve_terms(terms)
    inputs: list[str | Port] = ["q", "qd", "tau", *([Port("f_tip", (6,))] if tip_wrench else [])]

    def body(chain: Chain, q: Any, qd: Any, tau: Any, *wrench: Any) -> Any:
        driving = tau - term_torque(chain, extra, q, qd, SX.zeros(chain.n))
        if tip_wrench:
            driving = driving - tip_torque(chain, q, wrench[0], frame, tip_wrench)
        return ALGORITHMS[chosen](chain, q, qd, driving, term_inertia(chain, extra))

    return trace_robot("forward_dynamics", robot, body, inputs, [Port("qdd", (robot.n,))])
