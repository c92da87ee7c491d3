"""Which parameters a law adapts: all, some of them, or the base parameters; the others are held at the robot's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain
from taupi.dynamics.imu_form import require_motors
from taupi.dynamics.terms import Term, TermsLike, modulated_terms, resolve_terms, term_parameters
from taupi.dynamics.types import SX, Vector
from taupi.errors import Argument, TaupiError, shown
from taupi.identifiability.base_parameters import base_parameters
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot

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
            Argument("robot"), f" is {type(robot).__name__}, expected a Robot: use taupi.load(...) or Robot.from_..."
        )
    require_motors(robot, "A control law")
    chosen = resolve_terms(terms)
    if modulated := [t.name for t in modulated_terms(chosen)]:
        raise TaupiError(
            f"Laws have no term {modulated[0]!r}: they adapt parameters in which the torque is linear, joint by joint.",
            remedy=("Leave it out of ", Argument("terms"), "; its torque then acts as a disturbance."),
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
            Argument("adapt"),
            f" is {shown(adapt)}, expected names such as ('link2.*', '*.m'), 'base', or None for all.",
        )
    places = tuple(sorted(full.layout.select(names)))
    return ParameterChoice(robot, chosen, full.take(places), places, full)
