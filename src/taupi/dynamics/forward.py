"""Forward dynamics: the acceleration that a torque causes, by factorising M or by articulated bodies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.closed_form import both_sides
from taupi.dynamics.contacts import checked_frames, tip_ports, tip_torque, wrench_ports, wrench_torque
from taupi.dynamics.joint_frames import JointFrames, mass, torque
from taupi.dynamics.loops import loop_rows, opening_jacobian
from taupi.dynamics.spatial import adjoint, bracket, inverse
from taupi.dynamics.terms import Rotor, TermsLike, resisting_torque, resolve_terms, term_inertia
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.massless import refuse_massless
from taupi.model.robot import BASE, Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program

# Added to the matrix for the forces of loops, as a share of its mean eigenvalue, since constraints may be redundant.
_REDUNDANT = 1e-9


def solve_positive(matrix: Matrix, right: Matrix) -> Matrix:
    """Return X with M X = B for a symmetric positive definite M = `matrix` and B = `right`, by the factors M = L D L^T.

    They need no square root, so the result is exact over rationals.
    """
    n = matrix.shape[0]
    lower, inverses = SX.eye(n), [SX(0)] * n
    for j in range(n):
        row: list[Expression] = []  # of L D
        for k in range(j):
            row.append(matrix[j, k] - sum(row[r] * lower[k, r] for r in range(k)))
        for k in range(j):
            lower[j, k] = row[k] * inverses[k]
        inverses[j] = 1 / (matrix[j, j] - sum(row[k] * lower[j, k] for k in range(j)))
    x = SX(right)
    for i in range(n):
        for k in range(i):
            x[i, :] -= lower[i, k] * x[k, :]
    for i in range(n):
        x[i, :] *= inverses[i]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i, :] -= lower[k, i] * x[k, :]
    return x


def by_cholesky(chain: Chain, q: Vector, qd: Vector, tau: Vector, inertia: Matrix) -> Vector:
    """Return qdd with (M + inertia) qdd = tau - b, the mass matrix factorised without square roots (equations.md, D17).

    `inertia` (n x n, diagonal) is what drives add to M.
    """
    frames = JointFrames(chain, q)
    bias = torque(frames, qd, SX.zeros(chain.n), chain.gravity)
    matrix = both_sides(chain, mass(frames)) + inertia
    if not chain.robot.floating:
        return solve_positive(matrix, tau - bias)
    # From the tips to the base: joints of different branches, which have no entry in M, then get none in L either.
    back = list(reversed(range(chain.n)))
    return solve_positive(matrix[back, back], (tau - bias)[back])[back]


def with_loops_closed(chain: Chain, q: Vector, qd: Vector, free: Vector, inertia: Matrix) -> Vector:
    """Return qdd of M qdd = M free + J^T f, J qdd + dJ/dt qd = 0, with `free` the acceleration of the tree without its loops.

    f solves J M^-1 J^T f = -(dJ/dt qd + J free). If constraints are redundant, as in planar loops, it is the smallest solution: a
    share of 1e-9 is added to the matrix, and the remaining error is solved for once more. Without loops it is `free`.
    """
    if not loop_rows(chain.robot):
        return free
    jacobian = opening_jacobian(chain, q)
    drift = chain.time_derivative(jacobian, q, qd) @ qd
    pulled = solve_positive(both_sides(chain, mass(JointFrames(chain, q))) + inertia, jacobian.T)
    matrix = jacobian @ pulled
    rows = matrix.shape[0]
    more = matrix + _REDUNDANT * cs.trace(matrix) / rows * SX.eye(rows)
    gap = -(drift + jacobian @ free)
    force = solve_positive(more, gap)
    for _ in range(2):
        force = force + solve_positive(more, gap - matrix @ force)
    return free + pulled @ force


def by_articulated_bodies(chain: Chain, q: Vector, qd: Vector, tau: Vector, inertia: Matrix) -> Vector:
    """Return qdd by articulated bodies, at a cost linear in the number of joints (Featherstone 1983; 2008, 7.3).

    Outward V_i, c_i = ad(V_i) A_i qd_i. Inward, with U = Ga A, D = A^T U + rotor, u = tau - A^T pa:
    Ga_p += X^T (Ga - U U^T / D) X, pa_p += X^T (pa + (Ga - U U^T / D) c + U u / D). Outward a' = X a_p + c,
    qdd = (u - U^T a') / D, a = a' + A qdd.
    """
    place, speed, drive = chain.places(q), chain.spread(qd), chain.spread(tau)
    x = [adjoint(*inverse(*chain.placement(i, place[i]))) for i in range(chain.links)]
    screw = [chain.screw(i) for i in range(chain.links)]
    twist = chain.outward(lambda i, parent: x[i] @ parent + screw[i] @ speed[i], SX.zeros(6))
    drift = [bracket(v) @ a @ speed[i] for i, (v, a) in enumerate(zip(twist, screw, strict=True))]
    body = [chain.inertia(i) for i in range(chain.links)]
    wrench = [-bracket(v).T @ (g @ v) for v, g in zip(twist, body, strict=True)]
    u, big_u, d = [SX(0)] * chain.links, [SX(0)] * chain.links, [SX(0)] * chain.links
    for i in reversed(range(chain.links)):
        big_u[i] = body[i] @ screw[i]
        joint = chain.robot.joints[i]
        own = slice(joint.coordinate, joint.coordinate + joint.dof)
        d[i] = screw[i].T @ big_u[i] + inertia[own, own]
        u[i] = drive[i] - screw[i].T @ wrench[i]
        parent = joint.parent
        if parent != BASE:
            articulated = body[i] - _divided(d[i], big_u[i].T).T @ big_u[i].T
            body[parent] = body[parent] + x[i].T @ articulated @ x[i]
            pushed = wrench[i] + articulated @ drift[i] + big_u[i] @ _divided(d[i], u[i])
            wrench[parent] = wrench[parent] + x[i].T @ pushed
    qdd: list[Expression] = []

    def accelerate(i: int, parent: Vector) -> Vector:
        a = x[i] @ parent + drift[i]
        qdd.append(_divided(d[i], u[i] - big_u[i].T @ a))
        return a + screw[i] @ qdd[i]

    chain.outward(accelerate, cs.vertcat(SX.zeros(3), -chain.gravity))
    return cs.vertcat(*qdd)


def _divided(d: Matrix, right: Matrix) -> Matrix:
    """Return D^-1 B for the D of one joint: a number, or 3 x 3 and 6 x 6 matrices for ball and free joints."""
    return right / d if d.numel() == 1 else solve_positive(d, right)


def is_coupled(robot: Robot) -> bool:
    """Return whether a joint is moved by anything but its own coordinate: mimic joints, and coupled or geared drives."""
    starts = accumulate((j.dof for j in robot.joints), initial=0)
    plain = all(j.coordinate == k and j.ratio == 1 and not j.also for k, j in zip(starts, robot.joints, strict=False))
    return not plain


ALGORITHMS = {"articulated": by_articulated_bodies, "cholesky": by_cholesky}
# Up to this many joints, factorising M takes fewer operations than articulated bodies, whose cost grows only linearly with n.
FACTORISED = 30


def default_algorithm(robot: Robot) -> str:
    """Return the algorithm that takes the fewest operations; articulated bodies do not cover mimic or coupled joints."""
    return "cholesky" if is_coupled(robot) or robot.n <= FACTORISED else "articulated"


@builder
def forward_dynamics(
    robot: Robot,
    terms: TermsLike = (),
    algorithm: str | None = None,
    tip_wrench: str | None = None,
    frame: str = "tip",
    wrenches: Sequence[str] = (),
    points: Sequence[str] = (),
    axes: str = "body",
) -> Program:
    """Return qdd(q, qd, tau) of `robot` with M qdd = tau - C qd - g - friction - J^T F_tip (equations.md, D17).

    Friction that grows with the load is solved for exactly. Closed loops stay closed: their forces are also solved for.

    Args:
        robot: The robot, n velocities.
        terms: The robot's own friction and drives, as in `inverse_dynamics`; none by default.
        algorithm: "cholesky" factorises M, and is the only one for mimic or coupled joints; "articulated" bodies take a fixed
            number of operations for each further joint. None, the default, takes the first up to 30 joints and the second for
            more.
        tip_wrench: As in `inverse_dynamics`.
        frame: As in `inverse_dynamics`.
        wrenches: As in `inverse_dynamics`.
        points: As in `inverse_dynamics`.
        axes: As in `inverse_dynamics`.

    Returns:
        A program with the output qdd (n,), rad/s^2 or m/s^2.

    Raises:
        TaupiError: Links at an end have no mass and no rotor turns with them, so that M is singular.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> q, qd, qdd = [0.1] * 6, [0.2] * 6, [0.3] * 6
    >>> tau = tp.inverse_dynamics(arm)(q, qd, qdd)
    >>> tp.forward_dynamics(arm)(q, qd, tau).round(9).tolist()
    [0.3, 0.3, 0.3, 0.3, 0.3, 0.3]
    """
    coupled, chosen = is_coupled(robot), algorithm or default_algorithm(robot)
    if chosen not in ALGORITHMS:
        raise unknown(Argument("algorithm"), chosen, ALGORITHMS)
    if chosen == "articulated" and coupled:
        raise TaupiError(
            "{robot} has mimic or coupled joints, which articulated bodies do not cover.",
            remedy="Use {algorithm='cholesky'}.",
            robot=robot.name,
        )
    robot.frame(frame)
    chosen_terms = resolve_terms(terms)
    refuse_massless(robot.with_transmissions(stiffness=None), any(isinstance(t, Rotor) for t in chosen_terms))
    checked_frames(robot, wrenches, points, axes)
    inputs: list[str | Port] = ["q", "qd", "tau", *tip_ports(tip_wrench), *wrench_ports(wrenches, points)]

    def body(chain: Chain, q: Vector, qd: Vector, tau: Vector, *wrench: Vector) -> Vector:
        driving = tau - resisting_torque(chain, chosen_terms, q, qd, tau)
        if tip_wrench:
            driving = driving - tip_torque(chain, q, wrench[0], frame, tip_wrench)
        if wrenches or points:
            values = wrench[1:] if tip_wrench else wrench
            driving = driving - wrench_torque(chain, q, values, wrenches, points, axes)
        inertia = term_inertia(chain, chosen_terms)
        free = ALGORITHMS[chosen](chain, q, qd, driving, inertia)
        return with_loops_closed(chain, q, qd, free, inertia)

    return trace_robot("forward_dynamics", robot, body, inputs, [Port("qdd", (robot.n,))])
