"""Friction that depends on load and bends with speed: columns beside those of the regressor, from the load of a first fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.terms import Load, Term, modulated_terms
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.fitted_terms import with_curve_speeds
from taupi.identification.inputs import PriorLike
from taupi.identification.problem import Problem, prior_of
from taupi.identification.rows.factors import JointFactor, merge_stretches, residual_squares

# Typical size of their parameters: the share of the load, and the curve in units of the joint's other friction.
_SHARE, _CURVE = 0.1, 0.1
# A torque below this share of a joint's torque does not count as friction.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class ModulatedFriction:
    """Columns of `terms` after those of a regressor: the base parameters with them, and what is needed to compute them.

    The load is that of a fit without these columns, whose base parameters are `first` (b,); that of the result differs so little
    from it that another fit with the new load would not change visibly. `speeds` (n,) are the largest speeds that it has
    seen, which scale the bend with speed.
    """

    base: BaseParameters
    terms: tuple[Term, ...]
    first: np.ndarray
    speeds: tuple[float, ...]

    @classmethod
    def of(
        cls, base: BaseParameters, terms: Sequence[Term], first: np.ndarray, speeds: np.ndarray
    ) -> ModulatedFriction:
        """Return the columns of `terms` for base parameters without them; `speeds` are rounded to three digits."""
        rounded = tuple(float(f"{v:.3g}") or 1.0 for v in speeds)
        scaled = tuple(with_curve_speeds(terms, rounded))
        return cls(base.with_modulated(scaled), scaled, first, rounded)

    def problem(self, problem: Problem, prior: PriorLike, pieces: Iterable[JointFactor]) -> Problem:
        """Return a `problem` extended by these columns; `pieces` are the factors of all logs, in stretches of time.

        mu ~ N(0, 0.1^2) and c ~ N(0, (0.1 L)^2), with L = |F_c| + |F_v| v the friction of the joint at its largest speed, keep
        the parameters small if a log says nothing about them, and above the speeds that it has seen. Rows are correlated by
        their filter, so they count as fewer independent samples (`JointFactor.independent`), with the noise of the first fit.
        `prior` is that of `taupi.identify`.
        """
        pieces = tuple(pieces)
        return dataclasses.replace(
            problem,
            terms=self.base.terms,
            base=self.base,
            factors=tuple(merge_stretches(pieces)),
            pieces=pieces,
            prior=prior_of(prior, self.base),
            first=self.first,
            shrinkage=_shrinkage(problem, self.base, self.first, self.speeds),
            notes=(*problem.notes, _note(self.terms, problem.robot.joint_names, self.speeds)),
        )


def _shrinkage(
    problem: Problem, base: BaseParameters, first: np.ndarray, speeds: Sequence[float]
) -> tuple[JointFactor, ...]:
    """Return the rows sigma / (sd sqrt(independent share)) of each parameter that `base` has besides those of the problem."""
    values, squares = dict(zip(problem.names, first.tolist(), strict=True)), residual_squares(problem.factors, first)
    result = []
    for j, joint in enumerate(problem.robot.joint_names):
        own = [f for f in problem.factors if f.joint == j]
        rows = max(sum(f.rows for f in own), 1)
        torque = float(np.sqrt(sum(float(f.r[:, -1] @ f.r[:, -1]) for f in own) / rows))
        noise = float(np.sqrt(sum(squares[f.file, j] for f in own) / rows))
        independent = sum(f.independent for f in own) / rows
        friction = abs(values.get(f"{joint}.coulomb", 0.0)) + abs(values.get(f"{joint}.viscous", 0.0)) * speeds[j]
        pulls = []
        for term in modulated_terms(base.terms):
            size = _SHARE if isinstance(term, Load) else _CURVE * max(friction, _LEAST * torque, 1e-300)
            pull = np.zeros(base.count + 1)
            pull[base.names.index(f"{joint}.{term.name}")] = noise / (size * np.sqrt(independent or 1.0))
            pulls.append(pull)
        result.append(JointFactor(-1, j, np.array(pulls), 0))
    return tuple(result)


def _note(terms: Sequence[Term], joints: Sequence[str], speeds: Sequence[float]) -> str:
    pairs = ", ".join(f"{name} {v:g}" for name, v in zip(joints, speeds, strict=True))
    kinds = " and ".join(
        "grows with the torque that the gear transmits" if isinstance(t, Load) else "bends with speed" for t in terms
    )
    return f"dry friction {kinds}, with the load of a first fit; its largest speeds are, in rad/s or m/s: {pairs}"
