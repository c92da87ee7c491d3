"""The spatial vectors and stacked matrices of Kubozono, Yamakita & Furuta at some states of an arm, as NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as cs
import numpy as np

from taupi.control import spatial_algebra as spatial
from taupi.control.spatial_algebra import spatial_parameter_matrices
from taupi.dynamics.basis_tensors import spatial_cross
from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.types import Expression
from taupi.model.robot import Robot
from taupi.program.program import Port, Program


def stacks_program(robot: Robot) -> Program:
    """Return J, V_s, J_t, dJ_t/dt, I_1 to I_n and v_1 to v_n of (q, qd)."""
    n = robot.n

    def body(chain: Chain, q: object, qd: object) -> tuple[Expression, ...]:
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


def times(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the products of matrices (..., r, c) with vectors (..., c)."""
    products: np.ndarray = (matrices @ vectors[..., None])[..., 0]
    return products


@dataclass(frozen=True)
class Stacks:
    """The stacked matrices at `states` states of n links: J and V_s (states, 6n, n), J_t and its rate (states, n, 6n).

    `inertias` (states, n, 6, 6) and `velocities` (states, n, 6) are I_i and v_i; `placed` (states, n, 10, 6, 6) are the R_ij
    with I_i = sum_j R_ij a_ij, `parameters` (10n,) the a_ij, and g is the acceleration of gravity, downwards.
    """

    J: np.ndarray
    V_s: np.ndarray
    J_t: np.ndarray
    J_t_rate: np.ndarray
    inertias: np.ndarray
    velocities: np.ndarray
    placed: np.ndarray
    parameters: np.ndarray
    g: np.ndarray

    @classmethod
    def of(cls, robot: Robot, q: np.ndarray, qd: np.ndarray) -> Stacks:
        """Return the stacks of a robot at states q, qd (states, n)."""
        J, V_s, J_t, J_t_rate, inertias, v = stacks_program(robot)(q, qd)
        shape = (len(q), robot.n, 6)
        g = np.array([0, 0, 0, *(float(x) for x in robot.gravity)])
        placed = spatial_parameter_matrices(robot)(q)
        values = robot.parameters.values
        return cls(J, V_s, J_t, J_t_rate, inertias.reshape(*shape, 6), v.reshape(shape), placed, values, g)

    @property
    def axes(self) -> np.ndarray:
        """s_i (states, n, 6): the last block row of J."""
        return np.swapaxes(self.J[:, -6:], 1, 2)

    def diagonal(self, blocks: np.ndarray) -> np.ndarray:
        """Return diag(blocks) (states, 6n, 6n) of blocks (states, n, 6, 6)."""
        states, n = blocks.shape[:2]
        result = np.zeros((states, n, 6, n, 6))
        for i in range(n):
            result[:, i, :, i] = blocks[:, i]
        return result.reshape(states, 6 * n, 6 * n)

    def links(self, stacked: np.ndarray) -> np.ndarray:
        """Return stacked vectors (states, 6n) link by link (states, n, 6)."""
        return stacked.reshape(self.velocities.shape)

    def steps(self, rates: np.ndarray) -> np.ndarray:
        """Return s_i x_i (states, n, 6) of rates x (states, n)."""
        return self.axes * rates[..., None]

    def halves(self, velocities: np.ndarray) -> np.ndarray:
        """Return the blocks of C_1 - C_2 - C_3, v_i x I_i - (I_i v_i) x - I_i v_i x (states, n, 6, 6)."""
        turn, i = spatial_cross(velocities), self.inertias
        blocks: np.ndarray = turn @ i - spatial_cross(times(i, velocities)) - i @ turn
        return blocks

    @property
    def mass(self) -> np.ndarray:
        """H = J_t I J (11)."""
        return self.J_t @ self.diagonal(self.inertias) @ self.J

    def coriolis(self, velocities: np.ndarray | None = None) -> np.ndarray:
        """C = J_t [I V_s + (C_1 - C_2 - C_3) J / 2] (12), with C_1 to C_3 of `velocities`, the arm's own by default."""
        halves = self.diagonal(self.halves(self.velocities if velocities is None else velocities))
        return self.J_t @ (self.diagonal(self.inertias) @ self.V_s + halves @ self.J / 2)

    @property
    def gravity(self) -> np.ndarray:
        """G = -J_t I g, (13) with the sign of a g that points down."""
        return -times(self.J_t, times(self.inertias, self.g).reshape(len(self.J), -1))

    def torque(self, forces: np.ndarray) -> np.ndarray:
        """Return s_i' f_i (states, n), (6), with f_i the sum of the links' `forces` (states, n, 6) from link i on."""
        carried = np.cumsum(forces[:, ::-1], axis=1)[:, ::-1]
        torques: np.ndarray = np.sum(np.roll(self.axes, 3, axis=-1) * carried, axis=-1)
        return torques
