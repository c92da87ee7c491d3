"""What a law knows of its robot: which parameters it adapts, and the robot with an estimate in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain
from taupi.dynamics.terms import Term, TermsLike, modulated_terms, resolve_terms, term_columns, term_parameters
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import base_parameters
from taupi.model.parameters import Parameters
from taupi.model.requirements import require_motors
from taupi.model.robot import Robot
from taupi.program.program import Constants

BASE = "base"
AdaptLike = str | Sequence[str] | None  # names or patterns, "base", or None for all


@dataclass(frozen=True, eq=False)
class ParameterChoice:
    """The `parameters` of a law among `full`, all of a robot's and its terms': their `places` there, or a `projection`."""

    robot: Robot
    terms: tuple[Term, ...]
    parameters: Parameters
    places: tuple[int, ...]
    full: Parameters
    projection: np.ndarray | None = None  # B of the base parameters, if these were chosen

    def expand(self, chain: Chain, pi_hat: Vector) -> Vector:
        """Return the full vector over SX: the estimate in its places, the robot's values elsewhere (0 for base parameters)."""
        if self.projection is not None:
            pi = SX.zeros(len(self.full))
        else:
            pairs = zip(self.full.names, self.full.exact, strict=True)
            chosen = set(self.places)
            pi = cs.vertcat(*(SX(0) if k in chosen else chain.scalar(n, v) for k, (n, v) in enumerate(pairs)))
        for k, place in enumerate(self.places):
            pi[place] = pi_hat[k]
        return pi

    def take(self, gradient: Vector) -> Vector:
        """Return the entries of the law's parameters from a gradient with one entry per parameter of the full vector."""
        return gradient[list(self.places)]

    def project(self, pi: Vector) -> Vector:
        """Return the law's parameters of a full vector over SX: its entries, or B pi."""
        return self.take(pi) if self.projection is None else SX(cs.DM(self.projection)) @ pi

    def values_of(self, pi: np.ndarray) -> np.ndarray:
        """Return the law's parameters of full vectors (..., P)."""
        return pi[..., list(self.places)] if self.projection is None else pi @ self.projection.T


def choose(robot: Robot, terms: TermsLike, adapt: AdaptLike) -> ParameterChoice:
    """Return the parameters that a law adapts: None for all, names or patterns, or "base"."""
    if not isinstance(robot, Robot):
        raise TaupiError(
            "{robot} is {got}, expected a Robot: use taupi.load(...) or Robot.from_...", got=type(robot).__name__
        )
    require_motors(robot, "A control law")
    chosen = resolve_terms(terms)
    if modulated := [t.name for t in modulated_terms(chosen)]:
        raise TaupiError(
            "Laws have no term {modulated!r}: they adapt parameters in which the torque is linear, joint by joint.",
            remedy="Leave it out of {terms}; its torque then acts as a disturbance.",
            modulated=modulated[0],
        )
    full = robot.parameters + term_parameters(robot, chosen)
    if adapt is None:
        return ParameterChoice(robot, chosen, full, tuple(range(len(full))), full)
    if adapt == BASE:
        base = base_parameters(robot, terms=chosen)
        return ParameterChoice(robot, chosen, base.parameters, base.columns, full, base.projection)
    names = (adapt,) if isinstance(adapt, str) else adapt
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TaupiError(
            "{adapt} is {got!r}, expected names such as ('link2.*', '*.m'), 'base', or None for all.", got=adapt
        )
    places = tuple(sorted(full.layout.select(names)))
    return ParameterChoice(robot, chosen, full.take(places), places, full)


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
        """Return what terms add to M, with the estimate's parameters."""
        q, rest, qdd = SX.zeros(self.robot.nq), SX.zeros(self.n), SX.sym("qdd", self.n)
        return cs.jacobian(self.term_torque(terms, q, rest, qdd), qdd)
