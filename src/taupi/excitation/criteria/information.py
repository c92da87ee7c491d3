"""The information of a motion, G = G0 + sum_k Y_k^T S^-1 Y_k, and the gradient of its criterion by one reverse sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import casadi as cs
import numpy as np

from taupi.dynamics.terms import Coulomb, Term
from taupi.excitation.criteria.criteria import Criterion
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.identifiability.conditioning import Conditioning, conditioning_of_factor
from taupi.identifiability.motion_facts import joint_facts
from taupi.model.robot import Robot
from taupi.program.port import Port
from taupi.program.program import Program, trace

# rad/s (m/s): sgn has no derivative, so dry friction is designed with tanh(qd / this).
SMOOTH = 0.1


class Gradient(NamedTuple):
    """A criterion and its derivatives with respect to q, qd, qdd (N, n)."""

    phi: float
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def smoothed(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """Return terms with dry friction that has a derivative."""
    return tuple(Coulomb(velocity=SMOOTH) if isinstance(t, Coulomb) and not t.velocity else t for t in terms)


@dataclass(frozen=True, eq=False)
class InformationProgram:
    """The base regressor of a robot by its structural nonzeros, row by row, and the reverse sweep through it."""

    base: BaseParameters

    @cached_property
    def columns(self) -> tuple[np.ndarray, ...]:
        """For each row, the columns that are not zero at every state."""
        return tuple(np.flatnonzero(row) for row in self.base.regressor().sparsity())

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where each row begins among the nonzeros, and where the last ends."""
        return np.concatenate([[0], np.cumsum([len(c) for c in self.columns])])

    @cached_property
    def nonzeros(self) -> Program:
        """The nonzeros y, row by row."""
        y = Port("y", (int(self.offsets[-1]),))
        return trace("regressor_nonzeros", self._entries, self.base.regressor().inputs, [y])

    @cached_property
    def adjoint(self) -> Program:
        """The gradient of sum a_i y_i with respect to q, qd and qdd, with a as a further input that is held constant."""
        inputs = self.base.regressor().inputs

        def swept(q: Any, qd: Any, qdd: Any, a: Any) -> Any:
            weighted = cs.dot(a, self._entries(q, qd, qdd))
            return tuple(cs.densify(g) for g in cs.horzsplit(cs.gradient(weighted, cs.horzcat(q, qd, qdd))))

        a = Port("a", (int(self.offsets[-1]),))
        return trace("regressor_adjoint", swept, [*inputs, a], [Port(f"d{p.name}", p.shape) for p in inputs])

    def _entries(self, q: Any, qd: Any, qdd: Any) -> Any:
        matrix = cs.densify(self.base.regressor()(q, qd, qdd))
        return cs.vertcat(*(matrix[row, columns.tolist()].T for row, columns in enumerate(self.columns)))

    def conditioning(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Conditioning:
        """Return what a log of a motion (N, n) determines, see `taupi.conditioning`."""
        entries = self.nonzeros.compile("numpy")(q, qd, qdd)
        stacked = np.zeros((len(self.columns), len(q), self.base.count))
        for k, columns in enumerate(self.columns):
            stacked[k][:, columns] = entries[:, self.offsets[k] : self.offsets[k + 1]]
        factor = np.asarray(np.linalg.qr(stacked.reshape(-1, self.base.count), mode="r"))
        facts = joint_facts(self.base.robot.joint_names, qd, qdd)
        return conditioning_of_factor(self.base.regressor(), len(q), factor, facts)


@lru_cache(maxsize=16)
def information_program(robot: Robot, terms: tuple[Term, ...]) -> InformationProgram:
    """Return the programs of a robot and its terms."""
    return InformationProgram(base_parameters(robot, terms=terms))


class Information:
    """The information about base parameters in motions, with noise of standard deviation `sigma` (n,) and `prior` G0 (b, b).

    `target` is what its programs are compiled for: "numpy" is cheapest for a single evaluation.
    """

    def __init__(
        self, program: InformationProgram, sigma: np.ndarray, prior: np.ndarray | None = None, target: str = "cpu"
    ) -> None:
        self.program, self.prior, self._target = program, prior, target
        self.weights = 1 / np.asarray(sigma, dtype=float) ** 2
        self._entries = program.nonzeros.compile(target)
        offsets = program.offsets
        self._rows = [
            (slice(a, b), columns, np.ix_(columns, columns), w)
            for a, b, columns, w in zip(offsets[:-1], offsets[1:], program.columns, self.weights, strict=True)
        ]

    @cached_property
    def _adjoint(self) -> Callable[..., Any]:
        return self.program.adjoint.compile(self._target)

    def matrix(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return G (b, b) of a motion (N, n)."""
        return self._gathered(self._entries(q, qd, qdd))

    def _gathered(self, entries: np.ndarray) -> np.ndarray:
        b = self.program.base.count
        result = np.zeros((b, b)) if self.prior is None else self.prior.copy()
        for part, _, block, weight in self._rows:
            y = entries[:, part]
            result[block] += weight * (y.T @ y)
        return result

    def gradient(self, criterion: Criterion, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Gradient | None:
        """Return a criterion and its derivatives along a motion, or None if G is singular.

        d phi = tr(Phi dG) = sum_k <A_k, dY_k> with A_k = 2 S^-1 Y_k Phi held constant: the gradient of one scalar.
        """
        entries = self._entries(q, qd, qdd)
        value = criterion(self._gathered(entries))
        if value is None:
            return None
        a = np.empty_like(entries)
        for part, _, block, weight in self._rows:
            np.matmul(entries[:, part], (2 * weight) * value.slope[block], out=a[:, part])
        return Gradient(value.phi, *self._adjoint(q, qd, qdd, a))
