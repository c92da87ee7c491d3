"""Which parameters a law adapts: all, a choice of them, or the base parameters; the others are held at the robot's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain
from taupi.dynamics.spatial import SX
from taupi.dynamics.terms import Term, TermsLike, resolve_terms, term_columns, term_parameters
from taupi.errors import TaupiError, shown
from taupi.identifiability.base import base_parameters
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot

BASE = "base"
ColumnsLike = str | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class Choice:
    """The parameters of a law among all of a robot's: `places` in the whole vector; `project` gives them from the whole."""

    robot: Robot
    terms: tuple[Term, ...]
    parameters: Parameters
    places: tuple[int, ...]
    whole: Parameters
    projection: np.ndarray | None = None  # B of base parameters, where these were chosen

    def expand(self, chain: Chain, pi_hat: Any) -> Any:
        """Return the whole vector over SX: the estimate in its places, the robot's values elsewhere (none beside a base)."""
        if self.projection is not None:
            full = SX.zeros(len(self.whole))
        else:
            pairs = zip(self.whole.names, self.whole.exact, strict=True)
            chosen = set(self.places)
            full = cs.vertcat(*(SX(0) if k in chosen else chain.scalar(n, v) for k, (n, v) in enumerate(pairs)))
        for k, place in enumerate(self.places):
            full[place] = pi_hat[k]
        return full

    def take(self, full: Any) -> Any:
        """Return the entries of the law's parameters from one entry a whole parameter: of a gradient."""
        return full[list(self.places)]

    def project(self, pi: Any) -> Any:
        """Return the law's parameters of a whole vector over SX: its entries, or B pi."""
        return self.take(pi) if self.projection is None else cs.SX(cs.DM(self.projection)) @ pi

    def values_of(self, pi: np.ndarray) -> np.ndarray:
        """Return the law's parameters of whole vectors (..., P)."""
        return pi[..., list(self.places)] if self.projection is None else pi @ self.projection.T


def choose(robot: Robot, terms: TermsLike, columns: ColumnsLike) -> Choice:
    """Return the parameters that a law adapts: None for all, names or patterns, or "base"."""
    if not isinstance(robot, Robot):
        raise TaupiError(f"robot is {type(robot).__name__}, expected a Robot: use taupi.load(...) or Robot.from_...")
    chosen = resolve_terms(terms)
    whole = robot.parameters + term_parameters(robot, chosen)
    if columns is None:
        return Choice(robot, chosen, whole, tuple(range(len(whole))), whole)
    if columns == BASE:
        base = base_parameters(robot, terms=chosen)
        return Choice(robot, chosen, base.parameters, base.columns, whole, base.projection)
    if isinstance(columns, str):
        columns = (columns,)
    if not isinstance(columns, Sequence) or not all(isinstance(c, str) for c in columns):
        raise TaupiError(
            f"columns is {shown(columns)}, expected names such as ('link2.*', '*.m'), 'base', or None for all."
        )
    places = tuple(sorted(whole.layout.select(columns)))
    return Choice(robot, chosen, whole.take(places), places, whole)


class EstimatedChain(Chain):
    """A robot over SX whose bodies and terms have the parameters of an estimate instead of its own."""

    def __init__(self, robot: Robot, constants: Any, pi: Any) -> None:
        super().__init__(robot, constants)
        self._pi = pi

    def body(self, i: int) -> Any:
        """Return the ten parameters of link i in the estimate."""
        return self._pi[self.robot.parameters.layout.link(i)]

    def whole(self) -> Any:
        """Return all parameters of the estimate."""
        return self._pi

    def term_values(self) -> Any:
        """Return the estimate's parameters of the terms."""
        return self._pi[len(self.robot.parameters) :]

    def term_torque(self, terms: tuple[Term, ...], q: Any, qd: Any, qdd: Any) -> Any:
        """Return the torque of terms with the estimate's parameters."""
        return term_columns(self, terms, q, qd, qdd) @ self.term_values() if terms else SX.zeros(self.n)

    def term_inertia(self, terms: tuple[Term, ...]) -> Any:
        """Return the diagonal that terms add to M, with the estimate's parameters."""
        rest, unit = SX.zeros(self.n), SX.ones(self.n)
        return cs.diag(self.term_torque(terms, rest, rest, unit) - self.term_torque(terms, rest, rest, rest))
