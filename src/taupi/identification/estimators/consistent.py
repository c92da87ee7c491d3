"""Weighted least squares among robots that can exist: what `taupi.identify` does unless told otherwise."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from taupi.errors import NotIdentifiedError, TaupiError, TaupiWarning
from taupi.identification.estimators.feasible import Feasible
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit, Outcome
from taupi.identification.rows.factors import stacked
from taupi.identification.weighting import weighted

_ROUNDS = 5
# Constraints that make the weighted residual this many times larger do not belong to this robot, or to this log. They are worth
# a warning where the difference is more than rounding, this share of the torque.
_FARTHEST, _SUSPECT = 2.0, 0.02
_FRICTION = ("viscous", "coulomb")


@dataclass(frozen=True, slots=True)
class Consistent:
    """Minimise sum |S^-1/2 (Y_b B pi - tau)|^2 over links and rotors that real bodies can have, and friction that dissipates.

    Where real bodies have the parameters of weighted least squares, it is `"wls"`. Elsewhere it predicts other motions better,
    for what noise and a poor motion leave open is not filled with bodies that cannot be. Friction that insists on being negative
    stays so: where its sign makes the joint's sum of squares grow by more than the share `clearly`. A torque sensor beyond the
    gear and a drive that compensates its friction show it. Where no robot that can exist comes near to the runs, it is `"wls"`,
    with a warning. `"feasible"` has no such exceptions, and takes bounds.
    """

    clearly: float = 0.1
    name: ClassVar[str] = "consistent"

    def __post_init__(self) -> None:
        if isinstance(self.clearly, bool) or not isinstance(self.clearly, int | float) or not self.clearly > 0:
            raise TaupiError(f"clearly is {self.clearly!r}, expected a share above 0, such as 0.1.")

    def fit(self, problem: Problem) -> Fit:
        """Return the fit."""
        entries = problem.base.parameters.layout.entries
        every = [n for n, e in zip(problem.names, entries, strict=True) if e.kind in _FRICTION]
        try:
            strict = Feasible().fitted(problem, self.name, asdict(self))
            if strict.status.outcome is Outcome.UNCONSTRAINED:
                return strict
            loose = Feasible().fitted(problem, self.name, asdict(self), every)
            negative = self._insisting(problem, strict, loose)
            if not negative:
                return self._or_free(problem, strict)
            told = (
                f"Friction insists on being negative, and is left so: {', '.join(negative)}. What measures the torque?"
            )
            return self._or_free(problem, Feasible().fitted(problem, self.name, asdict(self), negative, [told]))
        except NotIdentifiedError as error:
            solution, weights = weighted(problem, _ROUNDS)
            notes = [f"Not among real bodies, for the solver failed ({error}); this is weighted least squares."]
            return assemble(problem, self.name, asdict(self), solution, weights, notes=notes)

    def _or_free(self, problem: Problem, fit: Fit) -> Fit:
        """Return the fit, or that without constraints where they more than double the weighted residual."""
        solution, weights = weighted(problem, _ROUNDS)
        r = stacked(problem.factors, weights)
        least, now = (float(np.linalg.norm(r @ np.append(x, -1.0))) for x in (solution.x, fit.values))
        if now <= _FARTHEST * least:
            return fit
        size = max(float(np.linalg.norm(r[:, -1])), 1e-300)
        told = (
            f"No robot that can exist explains the runs: the relative error would rise from {least / size:.2%} to "
            f"{now / size:.2%}. Check signs, units, gears and the order of joints. This is weighted least squares."
        )
        if now - least > _SUSPECT * size:
            warnings.warn(told, TaupiWarning, stacklevel=4)
        return assemble(problem, self.name, asdict(self), solution, weights, notes=[told])

    def _insisting(self, problem: Problem, strict: Fit, loose: Fit) -> list[str]:
        """Return friction that is negative in one fit, at joints that the other explains clearly worse, and has part in that."""
        pairs = zip(strict.joints, loose.joints, strict=True)
        worse = {j for j, (a, b) in enumerate(pairs) if a.rms**2 > (1 + self.clearly) * b.rms**2}
        result = []
        for k, e in enumerate(problem.base.parameters.layout.entries):
            if e.kind not in _FRICTION or loose.values[k] >= 0:
                continue
            for j in worse:
                squares = sum(
                    float(np.sum((f.r[:, k] * loose.values[k]) ** 2)) for f in problem.factors if f.joint == j
                )
                if squares > self.clearly * loose.joints[j].rms ** 2 * loose.joints[j].rows:
                    result.append(problem.names[k])
        return list(dict.fromkeys(result))
