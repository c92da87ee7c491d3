"""What Kubozono, Yamakita & Furuta print, every equation once, at random states of an arm: the error, and the correction."""

from __future__ import annotations

import numpy as np

from taupi.dynamics.basis_tensors import spatial_cross, spatial_displacement, spatial_force, spatial_transpose
from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.inverse import gravity_torque, inverse_dynamics
from taupi.dynamics.mass_matrix import mass_matrix, mass_matrix_derivative
from taupi.model.body import body_from_com
from taupi.model.robot import Robot
from taupi.papers.kubozono.laws import VISCOUS, adaptation_rows, law_rows
from taupi.papers.kubozono.stacks import Stacks, stacks_program, times
from taupi.papers.study import EXACT, StudyRow, equation, off, statement
from taupi.regressors.classical import slotine_li_regressor

STATES = 20
SIGN = "with the sign of (5) mended"


def generic_arm() -> Robot:
    """Return an arm of three joints without any symmetry that would hide a slip."""
    rows = [
        {"a": a, "alpha": alpha, "d": d, "theta": 0}
        for a, alpha, d in ((0.12, 1.1, 0.35), (0.45, -0.4, 0.10), (0.31, 0.7, -0.08))
    ]
    links = [
        {"m": 6, "com": (-0.05, 0.02, 0.03), "inertia": (0.040, 0.002, -0.003, 0.050, 0.001, 0.030)},
        {"m": 4.5, "com": (-0.20, 0.015, -0.04), "inertia": (0.020, -0.004, 0.005, 0.110, 0.002, 0.105)},
        {"m": 2.5, "com": (-0.12, -0.03, 0.05), "inertia": (0.008, 0.001, 0.002, 0.030, -0.0015, 0.028)},
    ]
    return Robot.from_dh(rows, links=links, gravity=(0, 0, -9.81))


def slip_rows() -> list[StudyRow]:
    """Return a row for each of (1) to (55), without (52), which is not printed, and for each property of the appendix."""
    robot = generic_arm()
    state, wanted = _states(robot)
    here = Stacks.of(robot, *state[:2])
    return [
        *_recursion_rows(robot, here, *state),
        *_closed_rows(robot, here, *state),
        *_parameter_rows(robot, here, *state, *wanted[:2]),
        *law_rows(robot, (*state[:2], *wanted)),
        *_body_rows(robot, here, *state),
        *_appendix(),
    ]


def adaptations() -> list[StudyRow]:
    """Return what becomes of Walker's law with three adaptations."""
    robot = generic_arm()
    state, wanted = _states(robot)
    return adaptation_rows(robot, (*state[:2], *wanted))


def _states(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return q, qd, qdd and a wanted motion (3, states, n)."""
    state = np.random.default_rng(0).uniform(-1.5, 1.5, (3, STATES, robot.n))
    return state, np.random.default_rng(1).uniform(-1.0, 1.0, (3, STATES, robot.n))


def _recursion_rows(robot: Robot, here: Stacks, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[StudyRow]:
    """(1) to (7)."""
    tau, x = inverse_dynamics(robot)(q, qd, qdd), np.random.default_rng(4).uniform(-1, 1, q.shape)
    H, C, G = mass_matrix(robot)(q), coriolis_matrix(robot)(q, qd), gravity_torque(robot)(q)
    rough = robot.with_friction(viscous=[VISCOUS] * robot.n)
    friction = inverse_dynamics(rough, terms=("viscous",))(q, qd, qdd) - VISCOUS * qd
    skewed = mass_matrix_derivative(robot)(q, qd) - 2 * C
    v = here.velocities

    def torque(rates: np.ndarray, weight: float) -> np.ndarray:
        """tau of (3)-(6); `rates` stand beside v_i x s_i in (4), `weight` before I_i g in (5)."""
        a = np.cumsum(times(spatial_cross(v), here.steps(rates)) + here.steps(qdd), axis=1)
        return here.torque(spatial_force(here.inertias, v, a) + weight * times(here.inertias, here.g))

    a = np.cumsum(times(spatial_cross(v), here.steps(qd)) + here.steps(qdd), axis=1)
    symmetric = times(here.inertias, a - here.g) + times(here.halves(v), v) / 2
    right = off(torque(qd, -1.0), tau)
    power = float(np.abs(np.sum(x * times(skewed, x), axis=-1)).max() / np.abs(skewed).max())
    return [
        equation("(1): the arm", "H qdd + C qd + G = tau - eta", "", off(times(H, qdd) + times(C, qd) + G, friction)),
        equation("(2): Hd - 2C", "x' (Hd - 2C) x = 0", "", power),
        equation("(3): velocity", "v_i = v_i-1 + s_i qd_i", "", off(np.cumsum(here.steps(qd), axis=1), v)),
        equation(
            "(4): acceleration",
            "v_i x s_i q_i",
            "v_i x s_i qd_i",
            off(torque(q, -1.0), tau),
            right,
            "a dot is missing; the index i + 1 has nothing to start from either",
        ),
        equation(
            "(5): force",
            "+ I_i g, g downwards",
            "- I_i g",
            off(torque(qd, 1.0), tau),
            right,
            "plus needs a g that points up",
        ),
        equation("(6): torque", "tau_i = s_i' f_i + eta_i", "", right),
        equation(
            f"(7): force in three halves, {SIGN}",
            "v x I v as (C_1 - C_2 - C_3) v / 2",
            "",
            off(here.torque(symmetric), tau),
        ),
    ]


def _closed_rows(robot: Robot, here: Stacks, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[StudyRow]:
    """(8) to (16)."""
    C = coriolis_matrix(robot)(q, qd)
    skewed = mass_matrix_derivative(robot)(q, qd) - 2 * C
    momenta = spatial_cross(times(here.inertias, here.velocities))
    c2 = here.J_t @ here.diagonal(momenta) @ here.J
    inertia = here.diagonal(here.inertias)
    mixed = here.J_t_rate @ inertia @ here.J - here.J_t @ inertia @ here.V_s
    rate = np.einsum("kijl,kl->kij", stacks_program(robot).jacobian("q")(q, qd)[0], qd)
    n, paired, summed = robot.n, np.roll(here.axes, 3, axis=-1), np.zeros((STATES, robot.n, robot.n))
    for i in range(n):
        for j in range(n):
            b = momenta[:, max(i, j) :].sum(axis=1)
            summed[:, i, j] = np.sum(paired[:, i] * times(b, here.axes[:, j]), axis=-1)
    a = np.cumsum(times(spatial_cross(here.velocities), here.steps(qd)) + here.steps(qdd), axis=1)
    sizes = f"C_1 is {6 * n} x {6 * n}, qd has {n} entries; J_t is {' x '.join(map(str, here.J_t.shape[1:]))}"
    return [
        equation("(8): v = J qd", "J", "", off(here.links(times(here.J, qd)), here.velocities)),
        equation(
            "(9): dv/dt = J qdd + V_s qd, V_s = dJ/dt",
            "V_s",
            "",
            max(off(here.V_s, rate), off(here.links(times(here.J, qdd) + times(here.V_s, qd)), a)),
        ),
        statement(
            "sizes",
            "C_1 to C_3 times qd; J_t is 6n x 6n",
            sizes,
            here.J_t.shape[1:] == (6 * n, 6 * n),
            "(10)",
            "J is missing between the two, as (12) has it",
            rule="the same shape",
        ),
        equation("(11): H", "J_t I J", "", off(here.mass, mass_matrix(robot)(q))),
        equation(
            "(12): C, and it is the Christoffel matrix",
            "J_t [I V_s + (C_1 - C_2 - C_3) J / 2]",
            "",
            off(here.coriolis(), C),
        ),
        equation(f"(13): G, {SIGN}", "J_t G_1", "", off(here.gravity, gravity_torque(robot)(q))),
        equation(
            "(14): dH/dt - 2C",
            "J_t C_2 J",
            "with dJ_t/dt I J - J_t I dJ/dt",
            off(c2, skewed),
            off(c2 + mixed, skewed),
            "two terms are missing; they are skew together, so that the conclusion stands",
        ),
        equation(
            "(15): entries of (14), as printed", "sum of s_i' (I_k v_k) x s_j from k = max(i, j)", "", off(summed, c2)
        ),
        equation(
            "(16): each term is skew", "s_i' b x s_j = -s_j' b x s_i", "", off(summed, -np.swapaxes(summed, 1, 2))
        ),
    ]


def _parameter_rows(
    robot: Robot, here: Stacks, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, r: np.ndarray, rd: np.ndarray
) -> list[StudyRow]:
    """(17) to (24): the parameters in which the torque is linear."""

    def moved(com: tuple[float, float, float]) -> np.ndarray:
        body = body_from_com(2.5, com, np.diag([0.008, 0.030, 0.028]))
        pi = robot.parameters.values.copy()
        pi[20:30] = [float(x) for x in body]
        tau: np.ndarray = inverse_dynamics(robot.with_parameters(pi))(q, qd, qdd)
        return tau

    near, middle, far = (moved((x, -0.03, 0.05)) for x in (-0.2, 0.0, 0.2))
    a = here.parameters.reshape(robot.n, 10)
    composed = np.einsum("kijrc,ij->kirc", here.placed, a)
    v, turn = here.velocities, spatial_cross(here.velocities)
    w = np.cumsum(here.steps(r), axis=1)
    wd = np.cumsum(times(turn, here.steps(r)) + here.steps(rd), axis=1)
    wanted = times(here.mass, rd) + times(here.coriolis(), r) + here.gravity
    Y = slotine_li_regressor(robot)(q, qd, r, rd)
    forces = times(here.inertias, wd - here.g) + times(here.halves(v), w) / 2
    R, vj, wj, wdj = here.placed, v[:, :, None], w[:, :, None], (wd - here.g)[:, :, None]
    halves = turn[:, :, None] @ R - spatial_cross(times(R, vj)) - R @ turn[:, :, None]
    y = times(R, wdj) + times(halves, wj) / 2  # y_ij (states, n, 10, 6)
    Y_1 = np.zeros((STATES, robot.n, 6, robot.n, 10))
    for i in range(robot.n):
        Y_1[:, i, :, i] = np.swapaxes(y[:, i], 1, 2)
    product = here.J_t @ Y_1.reshape(STATES, 6 * robot.n, 10 * robot.n)
    return [
        equation("(17): linear in a", "H rd + C r + G = Y a", "", off(times(Y, here.parameters), wanted)),
        equation(
            "(18): linear in what",
            "centre of mass",
            "first moment, inertia at the frame",
            off((near + far) / 2, middle),
            off(composed, here.inertias),
            "the torque is quadratic in the centre of mass",
        ),
        equation("(19): w", "w_i = w_i-1 + s_i r_i", "", off(w, here.links(times(here.J, r)))),
        equation(
            "(20): dw/dt",
            "wd_i = wd_i-1 + v_i x s_i r_i + s_i rd_i",
            "",
            off(wd, here.links(times(here.J, rd) + times(here.V_s, r))),
        ),
        equation(f"(21): force with w, {SIGN}", "gives H rd + C r + G", "", off(here.torque(forces), wanted)),
        equation(
            f"(22): force with R_j, {SIGN}",
            "sum of y_ij a_ij",
            "",
            off(np.einsum("kijr,ij->kir", y, a), forces),
        ),
        statement(
            "sizes of Y = J_t Y_1",
            "Y_1 is 10 x 6n",
            f"6n x 10n, block-diagonal: off by {off(product, Y):.1e}",
            6 * robot.n == 10,  # the columns of J_t, the rows of Y_1 as printed
            "(23)",
            "6n x 10n, block-diagonal, is what J_t can be multiplied with",
            rule="J_t has as many columns as Y_1 has rows",
        ),
        statement(
            "last entry of a",
            "a_n1",
            f"a_n,10, the last of {len(here.parameters)} = 10 n",
            len(here.parameters) == 9 * robot.n + 1,  # what a_n1 would be
            "(24)",
            "each link has ten parameters",
            rule="a_n1 is the last of a",
        ),
    ]


def _body_rows(robot: Robot, here: Stacks, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[StudyRow]:
    """(54), (55): the links as free bodies; the rate of their momentum by derivatives of the program."""
    shape = here.inertias.shape
    turned = np.einsum("kijl,kl->kij", stacks_program(robot).jacobian("q")(q, qd)[4], qd).reshape(shape)
    a = here.links(times(here.J, qdd) + times(here.V_s, qd))
    rate = times(turned, here.velocities) + times(here.inertias, a)
    tau = here.torque(rate - times(here.inertias, here.g))
    return [
        equation("(54): force on a body", "d/dt (I v) = f", "", off(tau, inverse_dynamics(robot)(q, qd, qdd))),
        equation(
            "(55): force on a body",
            "f = I vd + v x I v",
            "",
            off(spatial_force(here.inertias, here.velocities, a), rate),
        ),
    ]


def _appendix() -> list[StudyRow]:
    """Return the thirteen properties of the cross operator and of the spatial transpose."""
    rng = np.random.default_rng(2)
    a, b = rng.uniform(-1, 1, (2, 6))
    X, Z = rng.uniform(-1, 1, (2, 6, 6))
    E = np.diag([2.0, 2.0, 2.0, 0.5, 0.5, 0.5])
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rigid = spatial_displacement(R * np.linalg.det(R), [0.3, -0.2, 0.5])
    prime, x = spatial_transpose, spatial_cross

    def gap(e: np.ndarray) -> float:
        assert np.abs(prime(e) @ e - np.eye(6)).max() < EXACT
        return off(e @ x(a) @ prime(e), x(e @ a))

    facts = [
        ("l a x = (l a) x", off(0.7 * x(a), x(0.7 * a))),
        ("a x + b x = (a + b) x", off(x(a) + x(b), x(a + b))),
        ("a x b = -b x a", off(x(a) @ b, -x(b) @ a)),
        ("(a x b) x = a x b x - b x a x", off(x(a) @ x(b) - x(b) @ x(a), x(x(a) @ b))),
        ("(a x)' = -a x", off(prime(x(a)), -x(a))),
        ("(a')' = a", off(prime(prime(a)), a)),
        ("(X')' = X", off(prime(prime(X)), X)),
        ("(X a)' = a' X'", off(prime(X @ a), prime(a) @ prime(X))),
        ("(X Y)' = Y' X'", off(prime(X @ Z), prime(Z) @ prime(X))),
        ("a' X b = b' X' a", off(np.array([prime(a) @ X @ b]), np.array([prime(b) @ prime(X) @ a]))),
        ("d/dt a' = (da/dt)'", off(prime(a + 0.5 * b) - prime(a), 0.5 * prime(b))),
        ("d/dt X' = (dX/dt)'", off(prime(X + 0.5 * Z) - prime(X), 0.5 * prime(Z))),
    ]
    rows = [equation(f"appendix: {said}", said, "", error) for said, error in facts]
    orthogonal = equation(
        "appendix: (E a) x = E (a x) E'",
        "for every E with E'E = 1",
        "for rigid displacements",
        gap(E),
        gap(rigid),
        "diag(2, 2, 2, 1/2, 1/2, 1/2) is such an E, and is not a displacement",
    )
    return [*rows[:3], orthogonal, *rows[3:]]
