"""The equations (1) to (59) of Gabiccini et al. (2009), each once, at a random state of an arm: printed, and what holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.dynamics.basis_tensors import generalised_transpose, inertia_basis, skew, skew_basis
from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.energy import kinetic_energy, potential_energy
from taupi.dynamics.inverse import bias_torque, gravity_torque, inverse_dynamics
from taupi.dynamics.mass_matrix import mass_matrix, mass_matrix_derivative
from taupi.model.robot import Robot
from taupi.papers.frames import Frames
from taupi.papers.kubozono.slips import generic_arm
from taupi.papers.study import StudyRow, equation, off, statement
from taupi.regressors.classical import regressor, slotine_li_regressor

E, Q, S = inertia_basis(), skew_basis(), skew
SYMMETRIC = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # the places of J_xx, J_xy, J_xz, J_yy, J_yz, J_zz
ROWS = "with the rows of (24) mended"


def _of_moments(left: np.ndarray, R: np.ndarray, S_: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left' R Q S' right (n, n, 3)."""
    product: np.ndarray = np.einsum("aj,ab,bcd,ec,ek->jkd", left, R, Q, S_, right)
    return product


def _of_inertias(left: np.ndarray, R: np.ndarray, S_: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left' R E S' right (n, n, 6)."""
    product: np.ndarray = np.einsum("aj,ab,bcd,ec,ek->jkd", left, R, E, S_, right)
    return product


@dataclass(frozen=True, eq=False)
class Links(Frames):
    """An arm at a state: the document's tensors of every link, and their slopes by the product rule."""

    qd: np.ndarray
    qdd: np.ndarray
    qrd: np.ndarray
    qrdd: np.ndarray

    @classmethod
    def random(cls) -> Links:
        """Return the arm at a random state."""
        return cls(generic_arm(), *np.random.default_rng(4).uniform(-1.0, 1.0, (5, 3)))

    @cached_property
    def bodies(self) -> np.ndarray:
        """m, m p and J of every link (n, 10)."""
        return self.robot.parameters.values.reshape(self.n, 10)

    @cached_property
    def tensors(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """B_0 (n, n), B_1 (n, n, 3) and B_2 (n, n, 6) of every link: (49), (52)."""
        several = []
        for i in self.links():
            J_P, J_O, R = self.J_P[i], self.J_O[i], self.R[i]
            mixed = _of_moments(J_O, R, R, J_P) - _of_moments(J_P, R, R, J_O)
            several.append((J_P.T @ J_P, mixed, _of_inertias(J_O, R, R, J_O)))
        return several

    @cached_property
    def slopes(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Their derivatives, by the product rule; the last axis is that of q: (53)."""
        several = []
        for i in self.links():
            J_P, J_O, R, every = self.J_P[i], self.J_O[i], self.R[i], []
            for k in range(self.n):
                A_P, A_O, T = self.A_P[i][k], self.A_O[i][k], S(J_O[:, k]) @ R
                first = A_P.T @ J_P + J_P.T @ A_P
                second = _of_moments(A_O, R, R, J_P) + _of_moments(J_O, T, R, J_P) + _of_moments(J_O, R, T, J_P)
                second += _of_moments(J_O, R, R, A_P)
                second -= _of_moments(A_P, R, R, J_O) + _of_moments(J_P, T, R, J_O) + _of_moments(J_P, R, T, J_O)
                second -= _of_moments(J_P, R, R, A_O)
                third = _of_inertias(A_O, R, R, J_O) + _of_inertias(J_O, T, R, J_O)
                third += _of_inertias(J_O, R, T, J_O) + _of_inertias(J_O, R, R, A_O)
                every.append((first, second, third))
            several.append(tuple(np.stack(parts, axis=-1) for parts in zip(*every, strict=True)))
        return several  # type: ignore[return-value]

    def X(self, qd: np.ndarray, qrd: np.ndarray, qrdd: np.ndarray) -> list[list[np.ndarray]]:
        """Return the dotted X_r of (51), with 1432, by link and kind (n, columns)."""
        blocks = []
        for parts, slopes in zip(self.tensors, self.slopes, strict=True):
            row = []
            for part, d in zip(parts, slopes, strict=True):
                p, s = (part[..., None], d[:, :, None]) if part.ndim == 2 else (part, d)
                both = s + generalised_transpose(s, "1432")
                row.append(np.einsum("hjc,j->hc", p, qrdd) + np.einsum("hjck,k,j->hc", both, qd, qrd) / 2)
            blocks.append(row)
        return blocks

    def W(self, qd: np.ndarray, qrd: np.ndarray) -> list[list[np.ndarray]]:
        """Return W_r after (54), rows as they are meant, by link and kind (n, columns)."""
        return [
            [np.einsum("jkch,k,j->hc", d[:, :, None] if d.ndim == 3 else d, qd, qrd) / 2 for d in slopes]
            for slopes in self.slopes
        ]

    @cached_property
    def Z(self) -> list[list[np.ndarray]]:
        """Z_0, Z_1 of (28), and zeros, by link."""
        g, blocks = self.g0, []
        for i in self.links():
            turned = [S(self.J_O[i][:, j]) @ self.R[i] for j in range(self.n)]
            blocks.append([-(self.J_P[i].T @ g)[:, None], -np.array([T.T @ g for T in turned]), np.zeros((self.n, 6))])
        return blocks

    def momenta(self, qd: np.ndarray) -> list[list[np.ndarray]]:
        """Return X_0, X_1, X_2 of (19), by link."""
        blocks = []
        for i in self.links():
            J_P, J_O, R = self.J_P[i], self.J_O[i], self.R[i]
            second = (J_P.T @ S(J_O @ qd) - J_O.T @ S(J_P @ qd)) @ R
            third = np.einsum("aj,ab,bcd,ec,e->jd", J_O, R, E, R, J_O @ qd)
            blocks.append([(J_P.T @ J_P @ qd)[:, None], second, third])
        return blocks

    def torque(self, blocks: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
        """Return the sum of all blocks times the parameters (n,)."""
        total: np.ndarray = sum(self.each(blocks))  # type: ignore[assignment]
        return total

    def each(self, blocks: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
        """Return the blocks of every link times its parameters (n,)."""
        return [np.concatenate(row, axis=1) @ pi for row, pi in zip(blocks, self.bodies, strict=True)]

    def alone(self, i: int) -> Robot:
        """Return the arm of which only link i has mass."""
        pi = np.zeros_like(self.bodies)
        pi[i - 1] = self.bodies[i - 1]
        return self.robot.with_parameters(pi.ravel())


def joined(
    first: Sequence[Sequence[np.ndarray]], second: Sequence[Sequence[np.ndarray]], sign: float
) -> list[list[np.ndarray]]:
    """Return first + sign * second, block by block."""
    return [[a + sign * b for a, b in zip(x, y, strict=True)] for x, y in zip(first, second, strict=True)]


def side_by_side(blocks: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Return all blocks as one matrix (n, 10n)."""
    return np.concatenate([np.concatenate(row, axis=1) for row in blocks], axis=1)


def equation_rows() -> list[StudyRow]:
    """Return a row for each of (1) to (59), and for the statement after (22), which has no number."""
    here = Links.random()
    rows = [*_dynamics(here), *_energies(here), *_classical(here), *_reference(here), *_tensors(here)]
    return sorted(rows, key=lambda row: int(re.findall(r"\d+", row.source)[0]))


def _dynamics(here: Links) -> list[StudyRow]:
    """(1) to (8)."""
    robot, q, qd, qdd = here.robot, here.q, here.qd, here.qdd
    tau = inverse_dynamics(robot)(q, qd, qdd)
    B, C, G = mass_matrix(robot)(q), coriolis_matrix(robot)(q, qd), gravity_torque(robot)(q)
    Y = regressor(robot)(q, qd, qdd)
    Y_r, pi = slotine_li_regressor(robot)(q, qd, here.qrd, here.qrdd), robot.parameters.values
    lagrange = inverse_dynamics(robot, algorithm="lagrange")(q, qd, qdd)
    T, U = kinetic_energy(robot), potential_energy(robot)
    single = [here.alone(i) for i in here.links()]
    L = sum(float(kinetic_energy(r)(q, qd)) - float(potential_energy(r)(q)) for r in single)
    rate = B @ qdd + mass_matrix_derivative(robot)(q, qd) @ qd  # d/dt of dT/dqd = B qd
    euler = rate - T.jacobian("q")(q, qd) + U.jacobian("q")(q)
    alone = np.array([inverse_dynamics(r)(q, qd, qdd) for r in single])
    blocks = np.array([Y[:, 10 * b : 10 * b + 10] @ here.bodies[b] for b in range(here.n)])
    return [
        equation("(1): the arm", "B qdd + C qd + G = Y pi", "", off(B @ qdd + C @ qd + G, Y @ pi)),
        equation(
            "(2): with a reference", "B qrdd + C qrd + G = Y_r pi", "", off(B @ here.qrdd + C @ here.qrd + G, Y_r @ pi)
        ),
        equation("(3): the torque", "B qdd + C qd + G", "", off(B @ qdd + C @ qd + G, lagrange)),
        equation("(4): L", "sum of T - U of links", "", off(L, float(T(q, qd)) - float(U(q)))),
        equation("(5): Lagrange", "d/dt dL/dqd - dL/dq", "", off(euler, tau)),
        equation("(6): tau", "Y pi", "", off(Y @ pi, tau)),
        equation("(7): tau", "sum of Y pi of links", "", off(blocks.sum(axis=0), tau)),
        equation("(8): of a link", "Y pi of the link", "", off(blocks, alone)),
    ]


def _energies(here: Links) -> list[StudyRow]:
    """(9) to (17), and (25) to (28)."""
    robot, q, qd, g = here.robot, here.q, here.qd, here.g0
    konig, quadratic, spins, printed, held, heights = [], [], [], [], [], []
    momentum, ordered, by_tensor, third = [], [], [], []
    for i, (m, *rest) in zip(here.links(), here.bodies, strict=True):
        J_P, J_O, R = here.J_P[i], here.J_O[i], here.R[i]
        p, J = np.array(rest[:3]) / m, E @ np.array(rest[3:])
        I_G, w = J - m * S(p).T @ S(p), J_O @ qd
        v = here.velocity(i, p, qd)
        konig.append(m * v @ v / 2 + (R.T @ w) @ I_G @ (R.T @ w) / 2)
        mixed = m * (J_O.T @ S(R @ p) @ J_P - J_P.T @ S(R @ p) @ J_O)
        matrix = m * J_P.T @ J_P + mixed + J_O.T @ R @ (I_G + m * S(p).T @ S(p)) @ R.T @ J_O
        quadratic.append(qd @ matrix @ qd / 2)
        spins.append(off(R.T @ here.slope(i, qd)[:3, :3], S(R.T @ w)))
        world = here.p[i] + R @ p
        printed.append(off(J_P @ qd + np.cross(w, world), v))
        held.append(off(J_P @ qd + np.cross(w, R @ p), v))
        momentum.append(qd @ matrix)
        first, second, last = here.momenta(qd)[i - 1]
        ordered.append(first[:, 0] * m + second @ (m * p) + J_O.T @ R @ J @ R.T @ w)
        by_tensor.append(off(last @ np.array(rest[3:]), J_O.T @ R @ J @ R.T @ w))
        third.append(off(E @ np.array(rest[3:]), J))
        heights.append(-m * g @ world)
    single = [here.alone(i) for i in here.links()]
    T = [float(kinetic_energy(r)(q, qd)) for r in single]
    U = [float(potential_energy(r)(q)) for r in single]
    dT = [kinetic_energy(r).jacobian("qd")(q, qd) for r in single]
    dU = [potential_energy(r).jacobian("q")(q) for r in single]
    symmetric = np.zeros((3, 3, 6))
    for k, (a, b) in enumerate(SYMMETRIC):
        symmetric[a, b, k] = symmetric[b, a, k] = 1
    slope = [
        -here.J_P[i].T @ g * b[0] + here.Z[i - 1][1] @ b[1:4] for i, b in zip(here.links(), here.bodies, strict=True)
    ]
    return [
        equation("(9): T of a link", "Koenig's theorem", "", off(konig, T)),
        equation("(10): angular velocity in the link's frame", "R' w", "", max(spins)),
        equation(
            "(11): velocity of G",
            "v + w x p, p from the global origin",
            "from the link frame's origin, R p",
            max(printed),
            max(held),
            "the lever starts where v is taken",
        ),
        equation("(12): T of a link", "a quadratic form in four terms", "", off(quadratic, T)),
        equation("(13): dT/dqd", "a row in four terms", "", off(momentum, dT)),
        equation("(14): its transpose", "of m, m p and I", "", off(ordered, dT)),
        equation("(15): E", "six slices", "", off(E, symmetric)),
        equation("(16): I", "E J", "", max(third)),
        equation("(17): J_w' R I R' J_w qd", "[J_w' R E R' J_w qd] J", "", max(by_tensor)),
        equation("(25): U of a link", "-m g' (p + R p_G)", "", off(heights, U)),
        equation("(26): dU/dq", "-J_v' g m - [d(g' R)/dq m p]'", "", off(slope, dU)),
        equation("(27): dU/dq", "Z_0 m + Z_1 m p", "", off(here.each(here.Z), dU)),
        equation(
            "(28): Z_0, Z_1", "-J_v' g; rows -(d(R' g)/dq_h)'", "", off(here.torque(here.Z), gravity_torque(robot)(q))
        ),
    ]


def _classical(here: Links) -> list[StudyRow]:
    """(18) to (24), and (29) to (35)."""
    robot, q, qd, qdd, n = here.robot, here.q, here.qd, here.qdd, here.n
    X, W = here.X(qd, qd, qdd), here.W(qd, qd)
    Y = regressor(robot)(q, qd, qdd)
    ours = joined(joined(X, W, -1), here.Z, 1)
    single = [here.alone(i) for i in here.links()]
    rate = [mass_matrix(r)(q) @ qdd + mass_matrix_derivative(r)(q, qd) @ qd for r in single]
    dT = [kinetic_energy(r).jacobian("q")(q, qd) for r in single]
    momenta = [kinetic_energy(r).jacobian("qd")(q, qd) for r in single]
    tau = [inverse_dynamics(r)(q, qd, qdd) for r in single]
    columns = [slice(0, 1), slice(1, 4), slice(4, 10)]
    gaps = [
        max(off(row[kind], Y[:, 10 * b + part.start : 10 * b + part.stop]) for b, row in enumerate(ours) if b)
        for kind, part in enumerate(columns)
    ]
    terms = [
        np.einsum("jkh,j,k->h", d, qd, qd) / 2 * b[0] for (d, _, _), b in zip(here.slopes, here.bodies, strict=True)
    ]
    for k, ((_, second, third), b) in enumerate(zip(here.slopes, here.bodies, strict=True)):
        terms[k] = terms[k] + np.einsum("jkch,j,k,c->h", second, qd, qd, b[1:4]) / 2
        terms[k] = terms[k] + np.einsum("jkch,j,k,c->h", third, qd, qd, b[4:]) / 2
    stacked = (6 * n, n, n)
    transposed = [w[1] @ b[1:4] for w, b in zip(W, here.bodies, strict=True)]
    missing = [slope - w[0][:, 0] * b[0] - w[2] @ b[4:] for slope, w, b in zip(dT, W, here.bodies, strict=True)]
    return [
        equation("(18): d/dt dT/dqd", "dX_0/dt m + dX_1/dt m p + dX_2/dt J", "", off(here.each(X), rate)),
        equation("(19): X_0, X_1, X_2", "blocks of dT/dqd", "", off(here.each(here.momenta(qd)), momenta)),
        equation(
            "(20): pi_0, pi_1", "m, m p", "", off(here.bodies[:, :4], robot.parameters.values.reshape(n, 10)[:, :4])
        ),
        equation("(21): pi_2", "J", "", off(here.bodies[:, 4:], robot.parameters.values.reshape(n, 10)[:, 4:])),
        equation("(22): dT/dq", "three terms, each with a half", "", off(terms, dT)),
        statement(
            "slopes of the inertias",
            "six blocks, stacked, times J",
            f"{' x '.join(map(str, stacked))} has no {E.shape[-1]} columns; contracted: {off(here.each(W), dT):.1e}",
            stacked[-1] == E.shape[-1],
            "after (22)",
            "they are six slices of one tensor, which J is contracted with",
            rule="as many columns as J has entries",
        ),
        equation("(23): dT/dq", "W_0 m + W_1 m p + W_2 J", "", off(here.each(W), dT)),
        statement(
            "W_0, W_1, W_2",
            "W_1 stacks columns of three",
            f"{3 * n} x 1, not {n} x 3; their transposes: {off(transposed, missing):.1e}",
            (3 * n, 1) == W[0][1].shape,
            "(24)",
            "each row of W_1 is the transpose of what is printed",
            rule="the same shape",
        ),
        equation("(29): Lagrange's equations of a link", "Y pi of the link", "", off(here.each(ours), tau)),
        equation(
            "(30): Y of a link", "Y_0, Y_1, Y_2 side by side", "", off(np.concatenate(ours[-1], axis=1), Y[:, -10:])
        ),
        equation("(31): Y_0", "dX_0/dt - W_0 + Z_0", "", gaps[0]),
        equation("(32): Y_1", "dX_1/dt - W_1 + Z_1", "", gaps[1]),
        equation("(33): Y_2", "dX_2/dt - W_2", "", gaps[2]),
        equation("(34): Y", "blocks of the links side by side", "", off(side_by_side(ours), Y)),
        equation(
            "(35): pi",
            "parameters of the links below each other",
            "",
            off(here.bodies.ravel(), robot.parameters.values),
        ),
    ]


def _reference(here: Links) -> list[StudyRow]:
    """(36) to (45)."""
    robot, q, qd, qrd, qrdd = here.robot, here.q, here.qd, here.qrd, here.qrdd
    B, C = mass_matrix(robot)(q), coriolis_matrix(robot)(q, qd)
    Bdot, d = mass_matrix_derivative(robot)(q, qd), mass_matrix(robot).jacobian("q")(q)
    Y_r = slotine_li_regressor(robot)(q, qd, qrd, qrdd) @ robot.parameters.values
    symbols = (d + d.transpose(0, 2, 1) - d.transpose(2, 0, 1)) / 2  # [h, j, k]
    passive = Bdot - 2 * C
    once = np.einsum("j,jkh->kh", qd, d)
    velocity = bias_torque(robot.with_gravity((0, 0, 0)))(q, qd)
    both = (d + d.transpose(0, 2, 1)) / 2
    x = np.einsum("hj,j->h", B, qrdd) + np.einsum("hjk,k,j->h", both, qd, qrd)
    w = np.einsum("jkh,k,j->h", d, qd, qrd) / 2
    by_formula = generalised_transpose(d, "231") @ qd @ qrd / 2
    by_sentence = d.transpose(1, 2, 0) @ qd @ qrd / 2
    swept = [np.einsum("hjk,k,j->h", symbols, qd, r) for r in (qd, qrd)]
    matrices = B @ qrdd + ((d + generalised_transpose(d, "132")) @ qd) @ qrd / 2
    X, W = here.X(qd, qrd, qrdd), here.W(qd, qrd)
    wanted, printed = Bdot - once.T / 2, (Bdot - once / 2) @ qd
    return [
        equation("(36): with a reference", "Y_r pi", "", off(B @ qrdd + C @ qrd + gravity_torque(robot)(q), Y_r)),
        equation("(37): s' (Bdot - 2 C) s", "0", "", off(passive, -passive.T)),
        equation(
            "(38): C by Christoffel's symbols", "sum of c_hjk qd_k", "", off(np.einsum("hjk,k->hj", symbols, qd), C)
        ),
        equation(
            "(39): C = Bdot - U / 2",
            "U = qd' dB/dq",
            "its transpose",
            off(printed, velocity),
            off(wanted @ qd, velocity),
            "rows and columns of the contraction are exchanged",
        ),
        equation(
            "(40): B qdd + C qd",
            "sums of components",
            "",
            off(B @ here.qdd + swept[0], B @ here.qdd + C @ qd),
        ),
        equation(
            "(41): B qrdd + C qrd",
            "sums of components",
            "",
            off(B @ qrdd + swept[1], B @ qrdd + C @ qrd),
        ),
        equation("(42): X and W", "X - W", "", off(x - w, B @ qrdd + C @ qrd)),
        equation(
            "(43): X and W by permutations, as (44) has them",
            "132 and 231",
            "",
            max(off(matrices, x), off(by_formula, w)),
        ),
        equation(
            "(44): what a permutation does",
            "level j of the result is n_j of A, says the sentence",
            "the formula",
            off(by_sentence, w),
            off(by_formula, w),
            "sentence and formula contradict each other; the formula works",
        ),
        equation("(45): X and W", "sums over the links", "", max(off(here.torque(X), x), off(here.torque(W), w))),
    ]


def _tensors(here: Links) -> list[StudyRow]:
    """(46) to (59)."""
    robot, q, qd, qrd, qrdd, n = here.robot, here.q, here.qd, here.qrd, here.qrdd, here.n
    single = [mass_matrix(here.alone(i))(q) for i in here.links()]
    steps = []
    for i, (m, *rest) in zip(here.links(), here.bodies, strict=True):
        J_P, J_O, R, h = here.J_P[i], here.J_O[i], here.R[i], np.array(rest[:3])
        own = m * J_P.T @ J_P + J_O.T @ R @ (E @ np.array(rest[3:])) @ R.T @ J_O
        steps.append(
            (
                own + J_O.T @ S(R @ h) @ J_P - J_P.T @ S(R @ h) @ J_O,
                own + J_O.T @ R @ S(h) @ R.T @ J_P - J_P.T @ R @ S(h) @ R.T @ J_O,
            )
        )
    linear = [
        B_0 * b[0] + B_1 @ b[1:4] + B_2 @ b[4:] for (B_0, B_1, B_2), b in zip(here.tensors, here.bodies, strict=True)
    ]
    X, W = here.X(qd, qrd, qrdd), here.W(qd, qrd)
    Y_r = slotine_li_regressor(robot)(q, qd, qrd, qrdd)
    ours = joined(joined(X, W, -1), here.Z, 1)
    columns = [slice(0, 1), slice(1, 4), slice(4, 10)]
    gaps = [
        max(off(row[kind], Y_r[:, 10 * b + part.start : 10 * b + part.stop]) for b, row in enumerate(ours) if b)
        for kind, part in enumerate(columns)
    ]
    d = mass_matrix(robot).jacobian("q")(q)
    x = mass_matrix(robot)(q) @ qrdd + np.einsum("hjk,k,j->h", (d + d.transpose(0, 2, 1)) / 2, qd, qrd)
    w = np.einsum("jkh,k,j->h", d, qd, qrd) / 2
    fourth = here.slopes[-1][2]
    sizes = [" x ".join(map(str, t.shape)) for t in (fourth, generalised_transpose(fourth, "1324"))]
    turns = [[0, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 0, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 0]]
    shapes = (here.slopes[-1][0].shape, fourth.shape)
    momentum_blocks = [np.einsum("jkc,k->jc", part, qd) for part in here.tensors[-1][1:]]
    return [
        equation("(46): B of a link", "of m, m p and I", "", off([s[0] for s in steps], single)),
        equation("(47): its second term", "S between R and R'", "", off([s[1] for s in steps], single)),
        equation("(48): Q", "three slices", "", off(np.moveaxis(Q, -1, 0), np.array(turns))),
        equation("(49): B of a link", "linear in m, m p and J", "", off(linear, single)),
        equation("(50): X of a link", "X_0r m + X_1r m p + X_2r J, with (51) mended", "", off(here.torque(X), x)),
        statement(
            "X_0r, X_1r, X_2r",
            "levels exchanged by 1324",
            f"{sizes[0]} and {sizes[1]}; with 1432: {max(gaps):.1e}",
            sizes[0] == sizes[1],
            "(51)",
            "the two tensors cannot be added; 1432 exchanges what is meant, in the storage of (53)",
            rule="tensors of one shape",
        ),
        equation(
            "(52): X_1, X_2",
            "n x n x 3, n x n x 6; times qd they are those of (19)",
            "",
            max(off(a, b) for a, b in zip(momentum_blocks, here.momenta(qd)[-1][1:], strict=True)),
        ),
        statement(
            "slopes",
            "n x n x n, n x n x 6 x n",
            "; ".join(" x ".join(map(str, s)) for s in shapes),
            shapes == ((n, n, n), (n, n, 6, n)),
            "(53)",
            rule="the same shapes",
        ),
        equation(f"(54): W of a link, {ROWS}", "W_0r m + W_1r m p + W_2r J", "", off(here.torque(W), w)),
        equation(
            "(55): Y_r of a link",
            "Y_0r, Y_1r, Y_2r side by side",
            "",
            off(np.concatenate(ours[-1], axis=1), Y_r[:, -10:]),
        ),
        equation("(56): Y_0r", "X_0r - W_0r + Z_0", "", gaps[0]),
        equation("(57): Y_1r", "X_1r - W_1r + Z_1", "", gaps[1]),
        equation("(58): Y_2r", "X_2r - W_2r", "", gaps[2]),
        equation("(59): Y_r", "blocks of the links side by side", "", off(side_by_side(ours), Y_r)),
    ]
