"""The equations (1) to (45), A, B, (*) and (**) of Zollo et al. (2014), each once, at a random state of a spatial arm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.dynamics.basis_tensors import bow_tie, skew
from taupi.dynamics.elastic import (
    elastic_coriolis_matrix,
    elastic_coriolis_parts,
    elastic_gravity_parts,
    elastic_gravity_torque,
    elastic_inverse_dynamics,
    elastic_mass_matrix,
    elastic_mass_matrix_parts,
    elastic_stiffness_matrix,
)
from taupi.dynamics.energy import kinetic_energy, potential_energy
from taupi.dynamics.terms.stribeck_curve import StribeckCurve
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.model.load import load
from taupi.model.payload import with_motors
from taupi.model.robot import Robot
from taupi.papers.frames import Frames
from taupi.papers.kubozono.slips import generic_arm
from taupi.papers.study import EXACT, StudyRow, equation, off, statement
from taupi.regressors.elastic import elastic_rate_regressors, elastic_regressor, elastic_regressor_parts

S = skew
FRICTION = ("coulomb", "viscous")
STIFFNESS, ROTORS, RATIOS = (900.0, 700.0, 400.0), (0.02, 0.015, 0.01), (60.0, 50.0, 40.0)
COULOMB, VISCOUS = (1.1, 0.8, 0.5), (0.6, 0.4, 0.3)
SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
ZEROS = "with the zeros of (22) mended"


def tensor(six: np.ndarray) -> np.ndarray:
    """Return the inertia matrix of I_xx, I_yy, I_zz, I_xy, I_xz, I_yz."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def elastic_arm() -> Robot:
    """Return an arm of three elastic joints without any symmetry that would hide a slip; rotors turn about tilted axes."""
    tilted = [[0.0, 0.6, 0.8], [0.48, 0.6, 0.64], [0.8, 0.0, 0.6]]
    return generic_arm().with_transmissions(
        stiffness=STIFFNESS,
        rotor_inertia=ROTORS,
        gear_ratio=RATIOS,
        motor_axis=tilted,
        coulomb=COULOMB,
        viscous=VISCOUS,
    )


@dataclass(frozen=True, eq=False)
class LinksAndMotors(Frames):
    """An arm at a state, in the document's symbols."""

    qd: np.ndarray
    qdd: np.ndarray
    theta: np.ndarray
    thetad: np.ndarray
    thetadd: np.ndarray

    @classmethod
    def random(cls) -> LinksAndMotors:
        """Return the arm at a random state."""
        rng = np.random.default_rng(0)
        q, qd, qdd, thetad, thetadd = rng.uniform(-1.5, 1.5, (5, 3))
        return cls(elastic_arm(), q, qd, qdd, q + rng.uniform(-0.05, 0.05, 3), thetad, thetadd)

    @property
    def v(self) -> np.ndarray:
        """The rates of links and motors (2n,)."""
        return np.concatenate([self.qd, self.thetad])

    @property
    def a(self) -> np.ndarray:
        """The accelerations of links and motors (2n,)."""
        return np.concatenate([self.qdd, self.thetadd])

    @cached_property
    def state(self) -> tuple[np.ndarray, ...]:
        """q, theta and their derivatives, as the programs take them."""
        return self.q, self.qd, self.qdd, self.theta, self.thetad, self.thetadd

    @cached_property
    def Pi(self) -> np.ndarray:
        """The parameters (14n,) in the order of (14)."""
        parameters = elastic_regressor(self.robot).parameters
        assert parameters is not None
        return parameters.values

    @property
    def m(self) -> np.ndarray:
        """The masses."""
        return self.Pi[: self.n]

    @property
    def c(self) -> np.ndarray:
        """The first moments (n, 3)."""
        return self.Pi[self.n : 4 * self.n].reshape(self.n, 3)

    @property
    def inertias(self) -> np.ndarray:
        """The inertias (n, 3, 3) at the links' origins."""
        return np.array([tensor(six) for six in self.Pi[4 * self.n : 10 * self.n].reshape(self.n, 6)])

    @cached_property
    def Y_rotor(self) -> np.ndarray:
        """The rotors' inertias."""
        return np.array(ROTORS)

    @cached_property
    def k_m(self) -> np.ndarray:
        """The gear ratios."""
        return np.array(RATIOS)

    @cached_property
    def z_m(self) -> np.ndarray:
        """The rotors' axes (n, 3), in the frame of the link that carries them."""
        return np.array([[float(x) for x in joint.transmission.motor_axis or ()] for joint in self.robot.joints])

    def rotor_columns(self, k: int) -> np.ndarray:
        """Return r_a,i of (11) for joint k (n, n), side by side."""
        columns = [
            self.k_m[i]
            * (self.A_O[i][k].T @ self.R[i] + self.J_O[i].T @ S(self.J_O[i][:, k]) @ self.R[i])
            @ self.z_m[i]
            for i in range(self.n)
        ]
        return np.stack(columns, axis=1)

    @cached_property
    def B_parts(self) -> tuple[np.ndarray, ...]:
        """B_m, B_c, B_I, B_d (n, n) and B_Y of (8)."""
        B_m, B_c, B_I = np.zeros((3, self.n, self.n))
        for i in self.links():
            J_P, J_O, R = self.J_P[i], self.J_O[i], self.R[i]
            turned = S(R @ self.c[i - 1])
            B_m += self.m[i - 1] * J_P.T @ J_P
            B_c += J_O.T @ turned @ J_P - J_P.T @ turned @ J_O
            B_I += J_O.T @ R @ self.inertias[i - 1] @ R.T @ J_O
        axes = [self.J_O[i].T @ self.R[i] @ self.z_m[i] for i in range(self.n)]
        B_d = np.stack([y * k * axis for y, k, axis in zip(self.Y_rotor, self.k_m, axes, strict=True)], axis=1)
        return B_m, B_c, B_I, B_d, np.diag(self.Y_rotor * self.k_m**2)

    @cached_property
    def B(self) -> np.ndarray:
        """B of (7)."""
        B_m, B_c, B_I, B_d, B_Y = self.B_parts
        return np.block([[B_m + B_c + B_I, B_d], [B_d.T, B_Y]])

    def H_parts(self, k: int) -> tuple[np.ndarray, ...]:
        """Return H_m, H_c, H_I and H_d of (10) for joint k."""
        H_m, H_c, H_I = np.zeros((3, self.n, self.n))
        for i in self.links():
            J_P, J_O, A_P, A_O, R = self.J_P[i], self.J_O[i], self.A_P[i][k], self.A_O[i][k], self.R[i]
            c, inertia, turn = R @ self.c[i - 1], R @ self.inertias[i - 1] @ R.T, S(self.J_O[i][:, k])
            H_m += self.m[i - 1] * (A_P.T @ J_P + J_P.T @ A_P)
            H_c += A_O.T @ S(c) @ J_P + J_O.T @ S(turn @ c) @ J_P + J_O.T @ S(c) @ A_P
            H_c -= A_P.T @ S(c) @ J_O + J_P.T @ S(turn @ c) @ J_O + J_P.T @ S(c) @ A_O
            H_I += A_O.T @ inertia @ J_O + J_O.T @ turn @ inertia @ J_O
            H_I += -J_O.T @ inertia @ turn @ J_O + J_O.T @ inertia @ A_O
        return H_m, H_c, H_I, self.Y_rotor * self.rotor_columns(k)

    @cached_property
    def H(self) -> np.ndarray:
        """H of (9) for every joint (n, 2n, 2n)."""
        every = []
        for k in range(self.n):
            H_m, H_c, H_I, H_d = self.H_parts(k)
            every.append(np.block([[H_m + H_c + H_I, H_d], [H_d.T, np.zeros((self.n, self.n))]]))
        return np.array(every)

    def inertial_columns(self, acceleration: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return Y_B of masses, first moments and inertias, (16) to (18)."""
        mass, moment, inertia = [], [], []
        for i in self.links():
            J_P, J_O, R = self.J_P[i], self.J_O[i], self.R[i]
            mass.append((J_P.T @ J_P @ acceleration)[:, None])
            moment.append((J_P.T @ S(J_O @ acceleration) - J_O.T @ S(J_P @ acceleration)) @ R)
            inertia.append(J_O.T @ R @ bow_tie(R.T @ J_O @ acceleration))
        return tuple(np.concatenate(part, axis=1) for part in (mass, moment, inertia))

    def rate_columns(self, k: int, printed: bool = False) -> tuple[np.ndarray, ...]:
        """Return Y_H of masses, first moments and inertias for joint k, (24) to (26); (25) as printed, or as it holds."""
        mass, moment, inertia, qd = [], [], [], self.qd
        for i in self.links():
            J_P, J_O, A_P, A_O, R = self.J_P[i], self.J_O[i], self.A_P[i][k], self.A_O[i][k], self.R[i]
            turn = S(J_O[:, k])
            mass.append((A_P.T @ J_P @ qd + J_P.T @ A_P @ qd)[:, None])
            inner = A_P.T @ S(J_O @ qd) + J_P.T @ S(A_O @ qd) - A_O.T @ S(J_P @ qd) - J_O.T @ S(J_P @ qd) @ turn
            if printed:
                inner += J_P.T @ S(J_O @ qd) - 2 * J_O.T @ S(A_O @ qd)
            else:
                inner += J_P.T @ S(J_O @ qd) @ turn - J_O.T @ S(A_P @ qd)
            moment.append(inner @ R)
            first = (A_O.T + J_O.T @ turn) @ R @ bow_tie(R.T @ J_O @ qd)
            inertia.append(first + J_O.T @ R @ (bow_tie(R.T @ A_O @ qd) - bow_tie(R.T @ turn @ J_O @ qd)))
        return tuple(np.concatenate(part, axis=1) for part in (mass, moment, inertia))

    @cached_property
    def Y_H(self) -> np.ndarray:
        """Y_H of (23) for every joint (n, 2n, 14n)."""
        every = np.zeros((self.n, 2 * self.n, 14 * self.n))
        for k, Y in enumerate(every):
            Y[: self.n, : 10 * self.n] = np.concatenate(self.rate_columns(k), axis=1)
            rotors = self.rotor_columns(k)
            Y[: self.n, 10 * self.n : 11 * self.n] = rotors * self.thetad
            Y[self.n :, 10 * self.n : 11 * self.n] = np.diag(rotors.T @ self.qd)
        return every

    @cached_property
    def Y_C(self) -> np.ndarray:
        """Y_C of (22), with zeros of 14n columns."""
        rows = np.concatenate([np.einsum("i,kij->kj", self.v, self.Y_H), np.zeros((self.n, 14 * self.n))])
        Y: np.ndarray = np.einsum("k,kij->ij", self.qd, self.Y_H) - rows / 2
        return Y


def equation_rows() -> list[StudyRow]:
    """Return a row for each of (1) to (45), (A.1) to (A.21), (B.1) to (B.20), (*) and (**)."""
    here = LinksAndMotors.random()
    return [
        *_model(here),
        *_matrices(here),
        *_regressor(here),
        *_rates(here),
        *_others(here),
        *_least_squares(here),
        *_arm(here),
        *_bodies(here),
        *_energies(here),
        *_coriolis(here),
        *_operator(here),
    ]


def asym(M: np.ndarray) -> np.ndarray:
    """Return (M - M') / 2."""
    return (M - M.T) / 2


def _spring(here: LinksAndMotors) -> np.ndarray:
    K = np.diag(STIFFNESS)
    return np.block([[K, -K], [-K, K]])


def _friction(here: LinksAndMotors) -> np.ndarray:
    return np.concatenate([np.zeros(here.n), np.sign(here.thetad) * COULOMB + here.thetad * np.array(VISCOUS)])


def kinetic(here: LinksAndMotors) -> list[float]:
    """Return the five terms of T in (1) and (A.13): of masses, first moments, inertias, and twice of rotors."""
    terms = np.zeros(5)
    for i in here.links():
        v, w, R = here.J_P[i] @ here.qd, here.J_O[i] @ here.qd, here.R[i]
        carrier = here.J_O[i - 1] @ here.qd
        y, k, rate = here.Y_rotor[i - 1], here.k_m[i - 1], here.thetad[i - 1]
        terms += [
            here.m[i - 1] * v @ v / 2,
            v @ np.cross(w, R @ here.c[i - 1]),
            w @ R @ here.inertias[i - 1] @ R.T @ w / 2,
            y * k * rate * here.z_m[i - 1] @ here.R[i - 1].T @ carrier,
            y * k**2 * rate**2 / 2,
        ]
    return terms.tolist()


def _model(here: LinksAndMotors) -> list[StudyRow]:
    """(1) to (6)."""
    robot, n, v = here.robot, here.n, here.v
    T = float(kinetic_energy(robot)(here.q, here.qd, here.thetad))
    U = float(potential_energy(robot)(here.q, here.theta))
    U_g = -sum(here.g0 @ (here.m[i - 1] * here.p[i] + here.R[i] @ here.c[i - 1]) for i in here.links())
    spring = float(np.sum(STIFFNESS * (here.q - here.theta) ** 2))
    U_e = U - U_g
    C = elastic_coriolis_matrix(robot)(here.q, here.qd, here.thetad)
    tau = elastic_inverse_dynamics(robot, terms=FRICTION)(*here.state)
    gravity, deflected = elastic_gravity_torque(robot)(here.q), _spring(here) @ [*here.q, *here.theta]
    total = here.B @ here.a + C @ v + _friction(here) + gravity + deflected
    rows = np.concatenate([np.einsum("kij,i->kj", here.H, v), np.zeros((n, 2 * n))])
    summed = np.einsum("k,kij->ij", here.qd, here.H)
    frictionless = elastic_inverse_dynamics(robot, terms=())(*here.state)
    return [
        equation(
            "(1): T, U_g and U_e",
            "U_e = sum of K (q - theta)^2",
            "with a half",
            max(off(sum(kinetic(here)), T), off(spring, U_e)),
            max(off(sum(kinetic(here)), T), off(spring / 2, U_e)),
            "the force K (q - theta) of (6) takes half that energy",
        ),
        statement(
            "the model",
            "B of 2n x 2n times qdd of n",
            f"B is {2 * n} x {2 * n}, qdd has {n} entries; with (q, theta): off by {off(total, tau):.1e}",
            len(here.qdd) == 2 * n,
            "(2)",
            "bars are lost, here and in the arguments of (13) and (22): rates are those of links and motors",
            rule="the same shape",
        ),
        equation("(3): T", "v' B v / 2", "", off(v @ here.B @ v / 2, T)),
        equation(
            "(4): C v",
            "sum of qd_k H_k - asym",
            "half the sum",
            off((summed - asym(rows)) @ v, C @ v),
            off((summed / 2 - asym(rows)) @ v, C @ v),
            "(B.8) has the half, and C is the Christoffel matrix with it",
        ),
        equation("(5): friction", "f_s sgn + f_v, of motors", "", off(_friction(here), tau - frictionless)),
        equation("(6): springs", "K, -K; -K, K", "", off(_spring(here), elastic_stiffness_matrix(robot)())),
    ]


def _matrices(here: LinksAndMotors) -> list[StudyRow]:
    """(7) to (12)."""
    robot, n = here.robot, here.n
    program = elastic_mass_matrix_parts(robot)
    parts, rates = program(here.q), program.jacobian("q")(here.q)
    *links, B_d, B_Y = here.B_parts
    rotors = np.block([[np.zeros((n, n)), B_d], [B_d.T, B_Y]])
    gaps = [off(ours, part[:n, :n]) for ours, part in zip(links, parts[:3], strict=True)]
    slopes = np.moveaxis(elastic_mass_matrix(robot).jacobian("q")(here.q), -1, 0)
    wanted = [[np.moveaxis(rate, -1, 0)[k] for rate in rates] for k in range(n)]
    fits = []
    for k in range(n):
        H_m, H_c, H_I, H_d = here.H_parts(k)
        fits += [np.abs(h - w[:n, :n]).max() for h, w in zip((H_m, H_c, H_I), wanted[k][:3], strict=True)]
        fits.append(np.abs(H_d - wanted[k][3][:n, n:]).max())
    left = float(max(fits)) / float(np.abs(slopes).max())
    rotor_slopes = np.array([wanted[k][3][:n, n:] for k in range(n)])
    r_a = np.array([here.Y_rotor * here.rotor_columns(k) for k in range(n)])
    g_m, g_c = elastic_gravity_parts(robot)(here.q)
    ours_m = [-sum(here.m[i - 1] * here.g0 @ here.J_P[i][:, j] for i in here.links()) for j in range(n)]
    ours_c = [-sum(here.g0 @ S(here.J_O[i][:, j]) @ here.R[i] @ here.c[i - 1] for i in here.links()) for j in range(n)]
    indices = f"{n + 1} columns, r_a0 to r_a{n}, beside {n} of B_d; r_a1 to r_a{n}: {left:.1e}"
    return [
        equation("(7): B", "B_m + B_c + B_I, B_d; B_d', B_Y", "", off(here.B, elastic_mass_matrix(robot)(here.q))),
        equation("(8): B_m, B_c, B_I, B_d, B_Y", "by Jacobians", "", max(*gaps, off(rotors, parts[3]))),
        equation("(9): H_k = dB/dq_k", "H_m + H_c + H_I, H_d; H_d', 0", "", off(here.H, slopes)),
        statement(
            "H_m, H_c, H_I and H_d",
            "H_d = [Y_1 r_a0 ... Y_n r_an]",
            indices,
            len(range(n + 1)) == n,
            "(10)",
            "there is one column for each rotor",
            rule="as many columns as rotors",
        ),
        equation("(11): r_a,i", "by Jacobians and their slopes", "", off(r_a, rotor_slopes)),
        equation("(12): g_m and g_c", "-m g' J_P, -g' J_O x R c", "", max(off(ours_m, g_m[:n]), off(ours_c, g_c[:n]))),
    ]


def _regressor(here: LinksAndMotors) -> list[StudyRow]:
    """(13) to (21)."""
    robot, n = here.robot, here.n
    Y_B, Y_C, Y_oth = elastic_regressor_parts(robot)(*here.state)
    tau = elastic_inverse_dynamics(robot, terms=FRICTION)(*here.state)
    mass, moment, inertia = here.inertial_columns(here.qdd)
    axes = [here.k_m[i] * here.J_O[i].T @ here.R[i] @ here.z_m[i] for i in range(n)]
    first = np.stack([here.thetadd[i] * axes[i] for i in range(n)], axis=1)
    second = np.diag([axes[i] @ here.qdd + here.k_m[i] ** 2 * here.thetadd[i] for i in range(n)])
    ours = np.zeros_like(Y_B)
    ours[:n, : 11 * n] = np.concatenate([mass, moment, inertia, first], axis=1)
    ours[n:, 10 * n : 11 * n] = second
    return [
        equation("(13): tau", "(Y_B + Y_C + Y_oth) Pi", "", off((Y_B + Y_C + Y_oth) @ here.Pi, tau)),
        equation("(14): Pi", "m, c, I, Y, f_s, f_v, K", "", off(elastic_regressor(robot)(*here.state) @ here.Pi, tau)),
        equation("(15): B a", "Y_B Pi by blocks", "", off(ours @ here.Pi, here.B @ here.a)),
        equation("(16): Y_B of masses", "J_P' J_P qdd", "", off(mass, Y_B[:n, :n])),
        equation(
            "(17): Y_B of first moments",
            "(J_P' (J_O qdd) x - J_O' (J_P qdd) x) R",
            "",
            off(moment, Y_B[:n, n : 4 * n]),
        ),
        equation("(18): Y_B of inertias", "J_O' R (R' J_O qdd) bow tie", "", off(inertia, Y_B[:n, 4 * n : 10 * n])),
        equation("(19): Y_B of rotors, links", "thetadd k J_O' R z", "", off(first, Y_B[:n, 10 * n : 11 * n])),
        equation(
            "(20): Y_B of rotors, motors",
            "k z' R' J_O qdd + k^2 thetadd",
            "",
            off(second, Y_B[n:, 10 * n : 11 * n]),
        ),
        equation("(21): Y_B", "2n x 14n of these", "", off(ours, Y_B)),
    ]


def _rates(here: LinksAndMotors) -> list[StudyRow]:
    """(22) to (28)."""
    robot, n = here.robot, here.n
    Y_H = elastic_rate_regressors(robot)(here.q, here.qd, here.thetad)
    Y_C = elastic_regressor_parts(robot)(*here.state)[1]
    wrong, right = (np.array([here.rate_columns(k, printed)[1] for k in range(n)]) for printed in (True, False))
    mass = np.array([here.rate_columns(k)[0] for k in range(n)])
    inertia = np.array([here.rate_columns(k)[2] for k in range(n)])
    r_a = np.array([here.rotor_columns(k) for k in range(n)])
    second = np.array([np.diag(r.T @ here.qd) for r in r_a])
    blocks = {"Y_Hm": n, "Y_Hc": 3 * n, "Y_HI": 6 * n}
    width = sum(blocks.values()) + blocks["Y_HI"]
    rotor = slice(10 * n, 11 * n)
    return [
        statement(
            "C v = Y_C Pi",
            f"zeros(n, 2n) below rows of 14n: {2 * n} and {14 * n} columns",
            f"zeros(n, 14n): {off(here.Y_C, Y_C):.1e}",
            2 * n == 14 * n,
            "(22)",
            "zeros(n, 2n) are those of C, as in (4)",
            rule="rows of one length",
        ),
        statement(
            "H_k v = Y_H Pi",
            "Y_Hm, Y_Hc, Y_HI, Y_HI",
            f"{width} columns of {14 * n}; with Y_HY1 and zeros(n, 3n): {off(here.Y_H, Y_H):.1e}",
            width == 14 * n,
            "(23)",
            "the fourth block is that of the rotors, and zeros(n, 3n) are left out",
            rule="14n columns",
        ),
        statement(
            "Y_H of masses",
            "A_P(j)' J_P(j) qd + J_P(j)' A_P(i) qd",
            f"with i: {off(mass, Y_H[:, :n, :n]):.1e}",
            set("ji") <= set("i"),  # the indices that are printed, and the one that the column has
            "(24)",
            "j is not bound: all indices are i",
            rule="no index but that of the column",
        ),
        equation(
            "(25): Y_H of first moments",
            "third term J_P' (J_O qd) x, fifth J_O' (A_O qd) x, twice",
            "third with (J_O,k) x, fifth once, with A_P",
            off(wrong, Y_H[:, :n, n : 4 * n]),
            off(right, Y_H[:, :n, n : 4 * n]),
            "the slope of (17) has these terms",
        ),
        equation("(26): Y_H of inertias", "four terms", "", off(inertia, Y_H[:, :n, 4 * n : 10 * n])),
        equation("(27): Y_H of rotors, links", "thetad_i r_a,i", "", off(r_a * here.thetad, Y_H[:, :n, rotor])),
        equation("(28): Y_H of rotors, motors", "r_a,i' qd", "", off(second, Y_H[:, n:, rotor])),
    ]


def _others(here: LinksAndMotors) -> list[StudyRow]:
    """(29) to (34)."""
    robot, n = here.robot, here.n
    Y = elastic_regressor_parts(robot)(*here.state)[2]
    Y_gm = np.stack([-here.J_P[i].T @ here.g0 for i in here.links()], axis=1)
    Y_gc = np.concatenate(
        [-np.array([here.g0 @ S(here.J_O[i][:, j]) @ here.R[i] for j in range(n)]) for i in here.links()], axis=1
    )
    Y_K, Y_s, Y_v = (np.diag(x) for x in (here.q - here.theta, np.sign(here.thetad), here.thetad))
    blank = np.zeros((n, n))
    ours = np.block(
        [
            [Y_gm, Y_gc, np.zeros((n, 7 * n)), blank, blank, Y_K],
            [blank, np.zeros((n, 3 * n)), np.zeros((n, 7 * n)), Y_s, Y_v, -Y_K],
        ]
    )
    rest = elastic_gravity_torque(robot)(here.q) + _spring(here) @ [*here.q, *here.theta] + _friction(here)
    both = np.concatenate([Y_gm, Y_gc], axis=1)
    return [
        equation("(29): gravity, springs, friction", "Y_oth Pi", "", off(ours @ here.Pi, rest)),
        equation("(30): Y_oth", "2n x 14n", "", off(ours, Y)),
        equation("(31): Y_gm, Y_gc, upper triangular", "-g' J_P, -g' J_O x R", "", off(both, Y[:n, : 4 * n])),
        equation("(32): Y_fs", "diag sgn thetad", "", off(Y_s, Y[n:, 11 * n : 12 * n])),
        equation("(33): Y_fv", "diag thetad", "", off(Y_v, Y[n:, 12 * n : 13 * n])),
        equation("(34): Y_K", "diag (q - theta)", "", off(Y_K, Y[:n, 13 * n :])),
    ]


def stacked(here: LinksAndMotors, samples: int) -> np.ndarray:
    """Return W of random states (2n samples, 14n)."""
    rng = np.random.default_rng(7)
    states = rng.uniform(-2, 2, (6, samples, here.n))
    states[3] = states[0] + rng.uniform(-0.05, 0.05, states[0].shape)
    W: np.ndarray = elastic_regressor(here.robot)(*states).reshape(-1, 14 * here.n)
    return W


def least_samples(here: LinksAndMotors, base: BaseParameters) -> int:
    """Return how many samples at random determine all base parameters."""
    columns = _columns(here, base)
    for samples in range(1, 14 * here.n):
        L = stacked(here, samples)[:, columns]
        if np.linalg.matrix_rank(L / np.maximum(np.linalg.norm(L, axis=0), 1e-300)) == base.count:
            return samples
    raise AssertionError("no number of samples determines the base parameters")


def _columns(here: LinksAndMotors, base: BaseParameters) -> list[int]:
    parameters = elastic_regressor(here.robot).parameters
    assert parameters is not None
    names = [base.standard.names[k] for k in base.columns]
    return [parameters.names.index(name) for name in names]


def _least_squares(here: LinksAndMotors) -> list[StudyRow]:
    """(35) to (42)."""
    base = base_parameters(here.robot, terms=FRICTION, elastic=True)
    W, columns = stacked(here, 60), _columns(here, base)
    T = W @ here.Pi
    acting = [k for k in range(14 * here.n) if np.abs(W[:, k]).max() > EXACT]
    dependent = [k for k in acting if k not in columns]
    L, K = W[:, columns], W[:, dependent]
    scale = np.linalg.norm(L, axis=0)
    A = np.linalg.lstsq(L / scale, K, rcond=None)[0] / scale[:, None]
    kept = here.Pi[columns] + A @ here.Pi[dependent]
    solution = np.linalg.solve((L / scale).T @ (L / scale), (L / scale).T @ T) / scale
    least, counted = least_samples(here, base), f"{A.shape[1]} columns; 14n - m is {14 * here.n - base.count}"
    again = np.concatenate([elastic_regressor(here.robot)(*here.state) @ here.Pi])
    tau = elastic_inverse_dynamics(here.robot, terms=FRICTION)(*here.state)
    return [
        equation("(35): a sample", "T_k = W_k Pi", "", off(again, tau)),
        equation("(36): all samples", "T = W Pi", "", off(W[:, acting] @ here.Pi[acting], T)),
        statement(
            "sizes of W and T",
            "2nw x 14n, 2nw",
            f"{W.shape[0]} x {W.shape[1]}, {len(T)} of w = 60",
            W.shape == (2 * here.n * 60, 14 * here.n),
            "(37)",
            rule="the same shape",
        ),
        statement(
            "least number of samples for (38)",
            "w >= 7",
            f"{least} for the {base.count} parameters that can be found; W has never full rank",
            least == 7,
            "(38)",
            "links have n rows of a sample for up to 10n columns, and not all columns are independent",
            rule="the same number",
        ),
        equation("(39): dependent columns", "K_i = L A_i", "", off(L @ A, K)),
        equation(
            "(40): columns in two parts",
            "W Pi = L Pi_L + K Pi_K",
            "",
            off(L @ here.Pi[columns] + K @ here.Pi[dependent], T),
        ),
        statement(
            "W Pi = L Pi*",
            "A has 14n - m columns",
            f"{counted}; L Pi*: off by {off(L @ kept, T):.1e}",
            A.shape[1] == 14 * here.n - base.count,
            "(41)",
            "parameters without effect have no column in K",
            rule="the same number",
        ),
        equation("(42): least squares", "(L' L)^-1 L' T", "", off(solution, kept)),
    ]


def _arm(here: LinksAndMotors) -> list[StudyRow]:
    """(43) to (45): friction and bodies of the two-joint arm."""
    curve, planar = StribeckCurve.document(), load("zollo2r")
    speeds = np.linspace(0.01, 3.0, 50)[:, None] * np.ones(2)
    angles = np.full_like(speeds, 0.7)
    f = np.array([[0.1434, 0.3302, 0.2499, 0.0537, 0.2991, 16.624], [0.1391, 0.3576, 0.2451, 0.1073, 0.3389, 10.097]]).T

    def torque(exponent: np.ndarray) -> np.ndarray:
        rest: np.ndarray = f[1] - f[2] * np.exp(-exponent / f[3]) - f[4] * np.exp(-1 / (f[5] * speeds))
        return f[0] * speeds + rest

    ours = np.array(
        [getattr(curve, n) for n in ("viscous", "coulomb", "rise", "rise_velocity", "fall", "fall_slowness")]
    )
    bodies = np.zeros(20)
    bodies[[0, 1, 7, 9, 10, 11, 17, 19]] = 21, -5, 1.25, 13.8167, 10, -2.5, 0.625, 0.8583
    got = planar.parameters.values
    return [
        equation(
            "(43): friction",
            "third exponent -|theta| / f_4",
            "-|thetad| / f_4",
            off(torque(angles), curve.torque(speeds)),
            off(torque(speeds), curve.torque(speeds)),
            "a dot is lost: with it friction breaks away, dips and rises again",
        ),
        equation("(44): its numbers", "f_1 to f_6 of both joints", "", off(ours, f)),
        statement(
            "bodies of the arm",
            "m, c and I of two links",
            f"off by {np.abs(got - bodies)[[0, 1, 9, 10, 11, 19]].max():.1e}",
            bool(np.abs(got - bodies)[[0, 1, 9, 10, 11, 19]].max() < 5e-5),
            "(45)",
            rule="off by less than 5e-05: four digits are printed",
        ),
    ]


@dataclass(frozen=True)
class Mounted:
    """Links and motors as bodies of their own: masses, centres of mass and inertias (3, 3) in the frame of the link."""

    m_l: np.ndarray
    m_m: np.ndarray
    p_l: np.ndarray
    p_m: np.ndarray
    I_l: np.ndarray
    I_m: np.ndarray

    @classmethod
    def random(cls, here: LinksAndMotors) -> Mounted:
        """Return links, and motors whose rotors are symmetric about their axes as (A.9) says; the last link carries none."""
        rng, n = np.random.default_rng(8), here.n
        I_l = np.array([np.diag(rng.uniform(0.02, 0.03, 3)) for _ in range(n)])
        z = np.concatenate([here.z_m[1:], [[0.0, 0.0, 1.0]]])
        y, across = np.concatenate([here.Y_rotor[1:], [0.0]]), np.array([*[0.007] * (n - 1), 0.0])
        I_m = np.array([across[i] * (np.eye(3) - np.outer(z[i], z[i])) + y[i] * np.outer(z[i], z[i]) for i in range(n)])
        m_m = np.concatenate([rng.uniform(1, 2, n - 1), [0.0]])
        m_l, p_l, p_m = rng.uniform(3, 6, n), rng.uniform(-0.2, 0.2, (n, 3)), rng.uniform(-0.2, 0.2, (n, 3))
        return cls(m_l, m_m, p_l, p_m, I_l, I_m)

    def robot(self, here: LinksAndMotors) -> Robot:
        """Return the arm with these links, and the motors mounted on them by (A.14)."""
        pi = here.robot.parameters.values.copy().reshape(here.n, -1)
        bare = []
        for m, p, inertia in zip(self.m_l, self.p_l, self.I_l, strict=True):
            full = inertia + m * S(p).T @ S(p)
            bare.append([m, *(m * p), *full[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]])
        assert pi.shape == (here.n, 10)
        robot = here.robot.with_parameters(np.array(bare).ravel())
        first = [0.0, *self.m_m[:-1]]
        return with_motors(robot, first, [np.zeros(3), *self.p_m[:-1]], [np.zeros((3, 3)), *self.I_m[:-1]])

    def centre(self, i: int) -> np.ndarray:
        """Return the centre of mass of body i in its frame."""
        m_l, m_m = self.m_l[i - 1], self.m_m[i - 1]
        together: np.ndarray = (m_l * self.p_l[i - 1] + m_m * self.p_m[i - 1]) / (m_l + m_m)
        return together


def _parallel(inertia: np.ndarray, mass: float, lever: np.ndarray) -> np.ndarray:
    """Return an inertia moved by a lever, (A.2)."""
    moved: np.ndarray = inertia + mass * S(lever).T @ S(lever)
    return moved


def _bodies(here: LinksAndMotors) -> list[StudyRow]:
    """(A.1) to (A.14): links and rotors as bodies of their own."""
    parts = Mounted.random(here)
    there = LinksAndMotors(parts.robot(here), *here.state)
    total = float(kinetic_energy(there.robot)(here.q, here.qd, here.thetad))
    links, about, motors, expanded = [], [], [here.Y_rotor[0] * (here.k_m[0] * here.thetad[0]) ** 2 / 2], []
    velocity_gaps, spin_gaps, axis_gaps, symmetric = [], [], [], []
    for i in here.links():
        R, w = here.R[i], here.J_O[i] @ here.qd
        m_l, m_m, p_l, p_m = (x[i - 1] for x in (parts.m_l, parts.m_m, parts.p_l, parts.p_m))
        centre = parts.centre(i)
        v_l, v_m, v_c = (here.velocity(i, p, here.qd) for p in (p_l, p_m, centre))
        velocity_gaps.append(off(v_c + np.cross(w, R @ (p_l - centre)), v_l))
        I_l, I_m = R @ parts.I_l[i - 1] @ R.T, R @ parts.I_m[i - 1] @ R.T
        links.append(m_l * v_l @ v_l / 2 + w @ I_l @ w / 2)
        moved = _parallel(I_l, m_l, R @ (centre - p_l))
        about.append(m_l * v_c @ v_c / 2 + m_l * v_c @ np.cross(w, R @ (p_l - centre)) + w @ moved @ w / 2)
        if i == here.n:
            continue
        z, y = R @ here.z_m[i], here.Y_rotor[i]
        spin = here.k_m[i] * here.thetad[i]
        rotor = w + z * spin
        slope = here.slope(i, here.qd)
        spin_gaps.append(off(slope[:3, :3] @ R.T + spin * R @ S(here.z_m[i]) @ R.T, S(rotor)))
        axis_gaps.append(max(off(I_m @ z, y * z), off(z @ I_m, y * z)))
        across = np.linalg.svd(here.z_m[i][None])[2][1:]  # two axes perpendicular to the rotor's
        frame = np.array([*across, here.z_m[i]]).T
        symmetric.append(off(frame.T @ parts.I_m[i - 1] @ frame, np.diag([0.007, 0.007, y])))
        motors.append(m_m * v_m @ v_m / 2 + rotor @ I_m @ rotor / 2)
        moved = _parallel(I_m, m_m, R @ (centre - p_m))
        carried = m_m * v_c @ v_c / 2 + m_m * v_c @ np.cross(w, R @ (p_m - centre)) + w @ moved @ w / 2
        expanded.append(carried + y * spin * here.z_m[i] @ R.T @ w + y * spin**2 / 2)
    bare = parts.robot(here).with_transmissions(rotor_inertia=0.0)
    without = np.array(
        [
            [m, *(m * p), *_parallel(inertia, m, p)[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]]
            for m, p, inertia in zip(parts.m_l, parts.p_l, parts.I_l, strict=True)
        ]
    )
    alone = float(kinetic_energy(bare.with_parameters(without.ravel()))(here.q, here.qd, 0 * here.thetad))
    first, second, m = parts.p_l[0], parts.p_m[0], parts.m_l[0]
    any_point = [_parallel(parts.I_l[0], m, first - p) for p in (second, np.zeros(3))]
    steiner = off(_parallel(any_point[1], m, second), any_point[0])  # from the frame's origin, as if it were the centre
    own = _parallel(parts.I_l[0], m, second - first)
    R, p = here.R[1], here.p[1]
    world = [parts.m_l[0] * (R @ parts.p_l[0] + p), parts.m_m[0] * (R @ parts.p_m[0] + p)]
    local = parts.m_l[0] * parts.p_l[0] + parts.m_m[0] * parts.p_m[0]
    w = here.J_O[1] @ here.qd
    turned = w @ R @ parts.I_l[0] @ R.T @ w
    return [
        equation("(A.1): velocities of a body's points", "p_i' = p_j' + w x (p_i - p_j)", "", max(velocity_gaps)),
        equation(
            "(A.2): Steiner",
            "between any two points",
            "from the centre of mass",
            steiner,
            off(own, any_point[0]),
            "between two other points a term with the first moment comes in",
        ),
        equation("(A.3): a tensor in another frame", "R I R'", "", off(turned, (R.T @ w) @ parts.I_l[0] @ (R.T @ w))),
        equation("(A.4): T", "sum of links and rotors", "", off(sum(links) + sum(motors), total)),
        equation("(A.5): energy of links", "m v^2 / 2 + w' I w / 2", "", off(sum(links), alone)),
        equation("(A.6): the same at the body's centre", "three terms", "", off(about, links)),
        equation("(A.7): energy of rotors", "m v^2 / 2 + w_m' I w_m / 2", "", off(sum(motors), total - sum(links))),
        equation("(A.8): rotor's angular velocity", "w_i + k z thetad", "", max(spin_gaps)),
        equation("(A.9): rotor's inertia", "diag(I_rho, I_rho, Y)", "", max(symmetric)),
        equation("(A.10): I z", "Y R z", "", max(axis_gaps)),
        equation("(A.11): z' I", "Y z' R'", "", max(axis_gaps)),
        equation("(A.12): energy of rotors at the body's centre", "five terms", "", off(expanded, motors[1:])),
        equation("(A.13): T", "five terms of m, c, I, Y", "", off(sum(kinetic(there)), total)),
        equation(
            "(A.14): m, c, I of link and motor",
            "c = m_l p_l + m_m p_m, positions in the base frame",
            "relative to and in frame i",
            off(world[0] + world[1], there.c[0]),
            off(local, there.c[0]),
            "c is that of frame i: p is defined in the base frame, and the index i before it is lost",
        ),
    ]


def _energies(here: LinksAndMotors) -> list[StudyRow]:
    """(A.15) to (A.21)."""
    T_m, T_c, T_I, T_1, T_2 = kinetic(here)
    B_m, B_c, B_I, B_d, B_Y = here.B_parts
    qd, rates = here.qd, here.thetad
    T = float(kinetic_energy(here.robot)(here.q, qd, rates))
    mixed = (qd @ B_d @ rates + rates @ B_d @ qd) / 2, (qd @ B_d @ rates + rates @ B_d.T @ qd) / 2
    each = here.Y_rotor * here.k_m**2 * rates**2 / 2
    six = qd @ (B_m + B_c + B_I) @ qd / 2 + mixed[1] + rates @ B_Y @ rates / 2
    return [
        equation("(A.15): T_m", "qd' B_m qd / 2", "", off(qd @ B_m @ qd / 2, T_m)),
        equation("(A.16): T_c", "qd' B_c qd / 2", "", off(qd @ B_c @ qd / 2, T_c)),
        equation("(A.17): T_I", "qd' B_I qd / 2", "", off(qd @ B_I @ qd / 2, T_I)),
        equation(
            "(A.18): T_Y1",
            "thetad' B_d qd / 2 in its second half",
            "thetad' B_d' qd / 2",
            off(mixed[0], T_1),
            off(mixed[1], T_1),
            "the brace of B_d' has B_d above it: a transpose is lost",
        ),
        equation(
            "(A.19): T_Y2",
            "Y_i k_i^2 thetad_i^2 / 2, without a sum",
            "the sum",
            off(each[0], T_2),
            off(each.sum(), T_2),
            "i is not bound: a sum over the rotors is lost",
        ),
        equation("(A.20): T", "six terms, v' B v / 2", "", max(off(six, T), off(here.v @ here.B @ here.v / 2, T))),
        equation("(A.21): B", "blocks of (7)", "", off(here.B, elastic_mass_matrix(here.robot)(here.q))),
    ]


def _coriolis(here: LinksAndMotors) -> list[StudyRow]:
    """(B.1) to (B.20)."""
    n, v, qd = here.n, here.v, here.qd
    state = (here.q, qd, here.thetad)
    C, parts = elastic_coriolis_matrix(here.robot)(*state), elastic_coriolis_parts(here.robot)(*state)
    H = np.concatenate([here.H, np.zeros((n, 2 * n, 2 * n))])  # B does not depend on the motors
    symbols = (np.einsum("kij->ijk", H) - np.einsum("ijk->ijk", H) + np.einsum("jik->ijk", H)) / 2
    # Fast motors: what the sum over the links leaves out is what they do.
    fast = np.concatenate([qd, 200 * here.thetad])
    C_fast = elastic_coriolis_matrix(here.robot)(here.q, qd, fast[n:])
    short = np.einsum("ijk,k->ij", symbols[..., :n], fast[:n])
    first = np.einsum("kij,k->ij", H, v) / 2
    second = -np.einsum("ikj,k->ij", H, v) / 2
    third = np.einsum("jik,k->ij", H, v) / 2
    C_1, C_2, C_3 = parts
    stacked_rows = -np.concatenate([np.einsum("kij,i->kj", here.H, v), np.zeros((n, 2 * n))]) / 2
    columns = np.concatenate([np.einsum("kij,j->ik", here.H, v), np.zeros((2 * n, n))], axis=1) / 2
    half = np.einsum("k,kij->ij", qd, here.Y_H) / 2
    rows = -np.concatenate([np.einsum("i,kij->kj", v, here.Y_H), np.zeros((n, 14 * n))]) / 2
    products = np.concatenate([(here.Y_H @ here.Pi).T, np.zeros((2 * n, n))], axis=1) / 2
    element = np.array([sum(here.Y_H[j, i] * v[j] for j in range(n)) @ here.Pi / 2 for i in range(2 * n)])
    Y_C = elastic_regressor_parts(here.robot)(*here.state)[1]
    slopes = np.moveaxis(elastic_mass_matrix(here.robot).jacobian("q")(here.q), -1, 0)
    return [
        equation(
            "(B.1): C by Christoffel's symbols",
            "sum over k = 1 ... n",
            "1 ... 2n",
            off(short, C_fast),
            off(np.einsum("ijk,k->ij", symbols, fast), C_fast),
            "the motors' velocities count too",
        ),
        equation("(B.2): C", "C' + C'' + C'''", "", off(C_1 + C_2 + C_3, C)),
        equation("(B.3): C'", "half the sum of db_ij/dq_k q'_k", "", off(first, C_1)),
        equation("(B.4): C''", "minus half the sum of db_jk/dq_i q'_k", "", off(second, C_2)),
        equation("(B.5): C'''", "half the sum of db_ik/dq_j q'_k", "", off(third, C_3)),
        equation("(B.6): H_k", "dB/dq_k", "", off(here.H, slopes)),
        equation(
            "(B.7): C', entries", "half the sum of h_ij(k) qd_k", "", off(np.einsum("kij,k->ij", H[:n], qd) / 2, C_1)
        ),
        equation("(B.8): C'", "half the sum of qd_k H_k", "", off(np.einsum("k,kij->ij", qd, here.H) / 2, C_1)),
        equation(
            "(B.9): C'', entries", "minus half the sum of h_kj(i) q'_k", "", off(-np.einsum("ikj,k->ij", H, v) / 2, C_2)
        ),
        equation("(B.10): C''", "minus half the rows v' H_k", "", off(stacked_rows, C_2)),
        equation(
            "(B.11): C''', entries", "half the sum of h_ik(j) q'_k", "", off(np.einsum("jik,k->ij", H, v) / 2, C_3)
        ),
        equation(
            "(B.12): C'''", "half the columns H_k' v, which is -C'''", "", max(off(columns, C_3), off(-C_2.T, C_3))
        ),
        equation("(B.13): C", "C' + 2 asym(C'')", "", off(C_1 + 2 * asym(C_2), C)),
        equation("(B.14): C v", "Y_C Pi", "", off(Y_C @ here.Pi, C @ v)),
        equation("(B.15): C' v", "half the sum of qd_k Y_H Pi", "", off(half @ here.Pi, C_1 @ v)),
        equation(f"(B.16): C'' v, {ZEROS}", "minus half the rows v' Y_H", "", off(rows @ here.Pi, C_2 @ v)),
        equation("(B.17): C''' v", "half the columns Y_H Pi, times v", "", off(products @ v, C_3 @ v)),
        equation("(B.18): C''' v, entries", "half the sum of rows y_i(j) q'_j", "", off(element, C_3 @ v)),
        equation(
            "(B.19): C''' v",
            "half the sum of qd_j Y_H Pi, as C' v",
            "",
            max(off(half @ here.Pi, C_3 @ v), off(C_1 @ v, C_3 @ v)),
        ),
        equation(f"(B.20): Y_C, {ZEROS}", "sum of qd_k Y_H, minus half the rows", "", off(here.Y_C, Y_C)),
    ]


def _operator(here: LinksAndMotors) -> list[StudyRow]:
    """(*) and (**)."""
    a, b, c = here.qd
    printed = [[a, 0, 0, b, c, 0], [0, b, 0, a, 0, c], [0, 0, c, 0, a, b]]
    six = here.Pi[4 * here.n : 4 * here.n + 6]
    return [
        equation("(*): (a) bow tie", "3 x 6", "", off(printed, bow_tie(here.qd))),
        equation(
            "(**): S a",
            "(a) bow tie times s11, s22, s33, s12, s13, s23",
            "",
            off(np.array(printed) @ six, tensor(six) @ here.qd),
        ),
    ]
