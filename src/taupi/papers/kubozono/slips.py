"""What Kubozono, Yamakita & Furuta print, equation by equation, at random states of an arm: the error, and the correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np

from taupi.control import spatial_algebra as spatial
from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.coriolis import coriolis_matrix
from taupi.dynamics.inverse import gravity_torque, inverse_dynamics
from taupi.dynamics.mass_matrix import mass_matrix, mass_matrix_derivative
from taupi.dynamics.spatial import skew
from taupi.model.body import body_from_com
from taupi.model.robot import Robot
from taupi.papers.kubozono.laws import equation, law_rows
from taupi.papers.study import EXACT, Row, off, statement
from taupi.program.program import Port, Program
from taupi.regressors.classical import regressor

STATES = 20


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


def slip_rows() -> list[Row]:
    """Return a row for each equation that was checked, in the document's order."""
    robot = generic_arm()
    state = np.random.default_rng(0).uniform(-1.5, 1.5, (3, STATES, robot.n))
    wanted = np.random.default_rng(1).uniform(-1.0, 1.0, (3, STATES, robot.n))
    return [
        *_dynamics(robot, *state),
        *_parameters(robot, *state),
        *law_rows(robot, (*state[:2], *wanted)),
        *_appendix(),
    ]


# The document's matrices -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Stacks:
    """J, V_s, J_t, dJ_t/dt, I_i and v_i at one state, as NumPy arrays."""

    J: np.ndarray
    V_s: np.ndarray
    J_t: np.ndarray
    J_t_rate: np.ndarray
    inertias: np.ndarray
    velocities: np.ndarray

    @property
    def axes(self) -> np.ndarray:
        """s_i, one per joint: the last block row of J."""
        return self.J[-6:].T

    def blocks(self, make: Any) -> np.ndarray:
        """Return diag(make(I_i, v_i))."""
        parts = [make(i, v) for i, v in zip(self.inertias, self.velocities, strict=True)]
        return np.array(cs.diagcat(*(cs.DM(m) for m in parts)))


def _stacks(robot: Robot) -> Program:
    n = robot.n

    def body(chain: Chain, q: Any, qd: Any) -> tuple[Any, ...]:
        here = spatial.stacked(chain, q, qd)
        moved = cs.vertcat(*here.inertias), cs.vertcat(*here.velocities)
        return here.J, here.J_rate, here.J_t, here.J_t_rate, *moved

    shapes = {
        "J": (6 * n, n),
        "V_s": (6 * n, n),
        "J_t": (n, 6 * n),
        "J_t_rate": (n, 6 * n),
        "I": (6 * n, 6),
        "v": (6 * n,),
    }
    return trace_robot("stacks", robot, body, ["q", "qd"], [Port(name, shape) for name, shape in shapes.items()])


def _cross(b: np.ndarray) -> np.ndarray:
    return np.array(cs.evalf(spatial.cross(cs.SX(cs.DM(b)))))


def _primed(a: np.ndarray) -> np.ndarray:
    return np.concatenate([a[3:], a[:3]])


def _at(program: Program, n: int, q: np.ndarray, qd: np.ndarray) -> _Stacks:
    J, V_s, J_t, J_t_rate, inertias, v = program(q, qd)
    return _Stacks(J, V_s, J_t, J_t_rate, inertias.reshape(n, 6, 6), v.reshape(n, 6))


# Section 2: the arm ---------------------------------------------------------------------------------------------------


def _recursive_torque(
    here: _Stacks, q: Any, qd: Any, qdd: Any, g: np.ndarray, turning: Any, weight: float
) -> np.ndarray:
    """Return tau of (3)-(6); `turning` stands beside v_i x s_i in (4), `weight` before I_i g in (5)."""
    v, a, forces = np.zeros(6), np.zeros(6), []
    for s, inertia, rate, speed, push in zip(here.axes, here.inertias, turning, qd, qdd, strict=True):
        v = v + s * speed
        a = a + _cross(v) @ s * rate + s * push
        forces.append(inertia @ a + _cross(v) @ inertia @ v + weight * inertia @ g)
    carried = np.cumsum(forces[::-1], axis=0)[::-1]
    return np.array([_primed(s) @ f for s, f in zip(here.axes, carried, strict=True)])


def _dynamics(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[Row]:
    program = _stacks(robot)
    places = [_at(program, robot.n, *x) for x in zip(q, qd, strict=True)]
    g = np.array([0, 0, 0, *(float(x) for x in robot.gravity)])
    derivative = np.einsum("kijl,kl->kij", program.jacobian("q")(q, qd)[0], qd)
    rate = equation("(9): V_s = dJ/dt", "V_s", "", off(np.array([h.V_s for h in places]), derivative))
    return [*_recursion_rows(robot, places, g, q, qd, qdd), rate, *_closed_rows(robot, places, g, q, qd)]


def _recursion_rows(robot: Robot, places: list[_Stacks], g: np.ndarray, q: Any, qd: Any, qdd: Any) -> list[Row]:
    """(4), (5), (7), (10)."""
    tau = inverse_dynamics(robot)(q, qd, qdd)

    def gap(turning: Any, weight: float) -> float:
        samples = zip(places, q, qd, qdd, turning, strict=True)
        return off(np.array([_recursive_torque(h, x, xd, xdd, g, t, weight) for h, x, xd, xdd, t in samples]), tau)

    a, b = places[0].velocities[-2:]
    sum_of_both = np.abs(_cross(a) @ b + _cross(b) @ a).max()
    sizes = f"C_1 is {6 * robot.n} x {6 * robot.n}, qd has {robot.n} entries; J_t is {' x '.join(map(str, places[0].J_t.shape))}"
    right = gap(qd, -1.0)
    return [
        equation(
            "(4): acceleration",
            "v_i x s_i q_i",
            "v_i x s_i qd_i",
            gap(q, -1.0),
            right,
            "a dot is missing; the index i + 1 has nothing to start from either",
        ),
        equation("(5): force", "+ I_i g, g downwards", "- I_i g", gap(qd, 1.0), right, "plus needs a g that points up"),
        statement(
            "why two terms do not cancel",
            "the cross is not a vector product",
            f"a x b + b x a = {sum_of_both:.0e}",
            sum_of_both > EXACT,
            "(7)",
            "it is antisymmetric, and the terms add for that reason",
            rule=f"the sum is above {EXACT:.0e}",
        ),
        statement(
            "sizes",
            "C_1 to C_3 times qd; J_t is 6n x 6n",
            sizes,
            places[0].J_t.shape == (6 * robot.n, 6 * robot.n),
            "(10)",
            "J is missing between the two, as (12) has it",
            rule="the same shape",
        ),
    ]


def _closed_rows(robot: Robot, places: list[_Stacks], g: np.ndarray, q: Any, qd: Any) -> list[Row]:
    """(11) to (15)."""
    C, G = coriolis_matrix(robot)(q, qd), gravity_torque(robot)(q)
    skewed = mass_matrix_derivative(robot)(q, qd) - 2 * C
    inertia = [h.blocks(lambda i, v: i) for h in places]
    mass = np.array([h.J_t @ i @ h.J for h, i in zip(places, inertia, strict=True)])
    c2 = np.array([h.J_t @ h.blocks(lambda i, v: _cross(i @ v)) @ h.J for h in places])
    mixed = np.array([h.J_t_rate @ i @ h.J - h.J_t @ i @ h.V_s for h, i in zip(places, inertia, strict=True)])
    weight = np.array([h.J_t @ np.concatenate([i @ g for i in h.inertias]) for h in places])
    return [
        equation("(11): H", "J_t I J", "", off(mass, mass_matrix(robot)(q))),
        equation(
            "(12): C, and it is the Christoffel matrix",
            "J_t [I V_s + (C_1 - C_2 - C_3) J / 2]",
            "",
            off(np.array([_coriolis(h) for h in places]), C),
        ),
        equation("(13): G", "J_t I g", "-J_t I g", off(weight, G), off(-weight, G), "plus needs a g that points up"),
        equation(
            "(14), (15): dH/dt - 2C",
            "J_t C_2 J",
            "with dJ_t/dt I J - J_t I dJ/dt",
            off(c2, skewed),
            off(c2 + mixed, skewed),
            "two terms are missing; they are skew together, so that the conclusion stands",
        ),
    ]


def _coriolis(here: _Stacks) -> np.ndarray:
    """Return (12)."""
    inertia = here.blocks(lambda i, v: i)
    half = here.blocks(lambda i, v: _cross(v) @ i - _cross(i @ v) - i @ _cross(v)) / 2
    return here.J_t @ (inertia @ here.V_s + half @ here.J)


def _parameters(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> list[Row]:
    """(18), (23): the parameters in which the torque is linear."""

    def torque(com: tuple[float, float, float]) -> np.ndarray:
        body = body_from_com(2.5, com, np.diag([0.008, 0.030, 0.028]))
        pi = robot.parameters.values.copy()
        pi[20:30] = [float(x) for x in body]
        tau: np.ndarray = inverse_dynamics(robot.with_parameters(pi))(q, qd, qdd)
        return tau

    near, middle, far = (torque((x, -0.03, 0.05)) for x in (-0.2, 0.0, 0.2))
    Y = regressor(robot)(q, qd, qdd)
    product = off(Y @ robot.parameters.values, inverse_dynamics(robot)(q, qd, qdd))
    size = f"Y is {Y.shape[1]} x {Y.shape[2]}; its last parameter is a_{robot.n},10"
    return [
        equation(
            "(18): linear in what",
            "centre of mass",
            "first moment, inertia at the frame",
            off((near + far) / 2, middle),
            product,
            "the torque is quadratic in the centre of mass",
        ),
        statement(
            "sizes",
            "Y_1 is 10 x 6n; the last entry a_n1",
            size,
            6 * robot.n == 10,  # the columns of J_t, the rows of Y_1 as printed
            "(23)",
            "6n x 10n, block-diagonal, is what J_t can be multiplied with",
            rule="J_t has as many columns as Y_1 has rows",
        ),
    ]


def _appendix() -> list[Row]:
    a = np.random.default_rng(2).uniform(-1, 1, 6)
    E = np.diag([2.0, 2.0, 2.0, 0.5, 0.5, 0.5])
    swap = np.roll(np.eye(6), 3, axis=0)
    R = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    p = np.array(cs.evalf(skew(cs.DM([0.3, -0.2, 0.5]))))
    rigid = np.block([[R, np.zeros((3, 3))], [p @ R, R]])

    def gap(x: np.ndarray) -> float:
        primed = swap @ x.T @ swap
        assert np.abs(primed @ x - np.eye(6)).max() < EXACT
        return off(x @ _cross(a) @ primed, _cross(x @ a))

    return [
        equation(
            "appendix: (E a) x = E (a x) E'",
            "for every E with E'E = 1",
            "for rigid displacements",
            gap(E),
            gap(rigid),
            "diag(2, 2, 2, 1/2, 1/2, 1/2) is such an E, and is not a displacement",
        )
    ]
