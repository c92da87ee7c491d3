"""A robot over SX whose parameters are an estimate: it lets a law use a recursion of the dynamics unchanged."""

from __future__ import annotations

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.terms import Term, term_columns
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.model.robot import Robot
from taupi.program.program import Constants


class EstimatedChain(Chain):
    """A robot over SX whose bodies and terms have the parameters of an estimate instead of its own."""

    def __init__(self, robot: Robot, constants: Constants, pi: Vector) -> None:
        super().__init__(robot, constants)
        self.pi = pi  # all parameters of the estimate

    def body(self, i: int) -> Vector:
        """Return the ten parameters of link i in the estimate."""
        return self.pi[self.robot.parameters.layout.link(i)]

    def term_values(self) -> Vector:
        """Return the estimate's parameters of the terms."""
        return self.pi[len(self.robot.parameters) :]

    def term_torque(self, terms: tuple[Term, ...], q: Vector, qd: Vector, qdd: Vector) -> Vector:
        """Return the torque of terms with the estimate's parameters."""
        return term_columns(self, terms, q, qd, qdd) @ self.term_values() if terms else SX.zeros(self.n)

    def term_inertia(self, terms: tuple[Term, ...]) -> Matrix:
        """Return the diagonal that terms add to M, with the estimate's parameters."""
        rest, unit = SX.zeros(self.n), SX.ones(self.n)
        return cs.diag(self.term_torque(terms, rest, rest, unit) - self.term_torque(terms, rest, rest, rest))
