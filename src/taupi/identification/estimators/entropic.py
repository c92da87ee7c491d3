"""Weighted least squares with an entropic prior: for short logs of robots whose description is good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from taupi.checks import positive, whole_number
from taupi.dynamics.terms import Modulated, kind_of
from taupi.errors import Argument, NotIdentifiedError, TaupiError, warn
from taupi.identification.physical.entropy import EntropicPrior, EntropicSolution, entropic_least_squares
from taupi.identification.physical.region import inconsistencies
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.description_errors import UNEXPLAINED, description_errors
from taupi.identification.results.fit import Fit
from taupi.identification.results.uncertainty import Uncertainty, covariance_root
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.factors import residual_squares, stack_factors
from taupi.identification.solve import Solution, Weights
from taupi.identification.weighting import (
    first_weights,
    noise_weights,
    weighted_least_squares,
)
from taupi.model.parameters import Parameters
from taupi.model.scalars import exact
from taupi.threads import small_algebra

# The strengths whose evidence is reported.
_GRID = (0.1, 1.0, 10.0, 100.0, 1000.0)
# Offsets may deviate by this share of the deviation allowed for friction: every joint has friction.
_OFFSET = 0.1


class _Step(NamedTuple):
    """The state of the iteration: a prior, its solution, and the weights 1 / sigma of the rows with which it was found."""

    prior: EntropicPrior
    solution: EntropicSolution
    weights: Weights


@dataclass(frozen=True, slots=True)
class Entropic:
    """Minimise 1/2 sum |(Y_b B pi - tau) / sigma|^2 + strength sum_links D(P, P_0) + 1/2 sum_terms ((f - f_0) / s)^2.

    D = tr(P_0^-1 P) - log det(P_0^-1 P) - 4 is the entropic divergence of a link's pseudo-inertia P from the description's P_0
    (Lee, Wensing & Park 2020): links stay physically possible, and what the log leaves open stays as described. Friction and
    offsets have a weak prior: s is the root mean square, over the joints, of the deviation of that kind from the description,
    uncertainty included (at first that of `first_scales`).

    Use it if a log is short, or leaves parameters open, and the description is good. The intervals are those of the posterior:
    95 % of them contain the truth if descriptions are as wrong as the strength says. A note has the evidence of others, and
    a warning says where the description contradicts the log.

    Attributes:
        strength: About the number of independent samples that the description counts for; rows count as independent samples too,
            by the bandwidth of their filter. 10 by default.
        iterations: How often s and sigma, the noise of each joint and file, are updated from the result; 20 by default.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("ur10"), np.arange(100)[:, None] / 100, 1 + 0.3 * np.arange(6)
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm)(q, qd, qdd) + np.random.default_rng(0).normal(size=q.shape)
    >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), "entropic", terms=(), cutoff_hz=10)
    >>> bool(np.abs(fit.parameters.values[::10] / arm.parameters.values[::10] - 1).max() < 0.3)
    True
    """

    strength: float = 10.0
    iterations: int = 20
    name: ClassVar[str] = "entropic"

    def __post_init__(self) -> None:
        positive("strength", self.strength)
        whole_number("iterations", self.iterations, least=0)

    @small_algebra
    def fit(self, problem: Problem) -> Fit:
        """Return the fit of a `problem`."""
        if not problem.prior[: len(problem.base.robot.parameters)].any():
            raise TaupiError(
                "{estimator} needs a description to start from, and {robot} states no inertias.",
                remedy="Give a {prior}.",
                estimator=Argument("estimator", self.name),
                robot=problem.robot.name,
            )
        if RowLayout.of(problem.base).sprung:
            raise TaupiError(
                "{estimator} has no prior for springs.",
                remedy="Use {elastic=False}.",
                estimator=Argument("estimator", self.name),
            )
        _warn_of_contradiction(problem)
        scales = first_scales(problem)
        step = _solve(problem, scales, first_weights(problem), self.strength)
        for _ in range(self.iterations):
            step = _solve(problem, _scales(problem, step, scales), _noise(problem, step), self.strength)
        if not step.solution.ok:
            raise NotIdentifiedError(
                "{name}: Newton's method did not converge.", remedy="Change {strength}.", name=self.name
            )
        evidence = {s: _solution(problem, step.prior, step.weights, s).log_evidence for s in _GRID}
        pi, projection = step.prior.parameters(step.solution.z), problem.base.projection
        to_base = projection @ step.prior.basis
        covariance = to_base @ step.solution.covariance @ to_base.T
        covariance = 0.5 * (covariance + covariance.T)
        free, _ = weighted_least_squares(problem, 0)
        return assemble(
            problem,
            self.name,
            asdict(self) | {"log_evidence": {f"{s:g}": e for s, e in evidence.items()}},
            # Parameters that only the prior determines are not known from the logs.
            Solution(projection @ pi, _spread(problem, step), free.undetermined, free.condition),
            step.weights,
            uncertain=Uncertainty(covariance, np.full(len(covariance), _freedom(problem, step.weights, covariance))),
            standard=pi if _is_real(problem, pi) else None,
            notes=[_evidence_note(self.strength, evidence)],
        )


# What the log says, and what the description says ---------------------------------------------------------------------


def _solve(problem: Problem, scales: np.ndarray, weights: Weights, strength: float) -> _Step:
    prior = EntropicPrior.of(problem.base.robot, problem.base.standard, problem.prior, scales)
    return _Step(prior, _solution(problem, prior, weights, strength), weights)


def _solution(problem: Problem, prior: EntropicPrior, weights: Weights, strength: float) -> EntropicSolution:
    """Return the solution for weights 1 / sigma, rows counted as independent samples."""
    r = problem.stack(counted_weights(problem, weights))
    return entropic_least_squares(r[:, :-1] @ problem.base.projection, r[:, -1], prior, strength)


def counted_weights(problem: Problem, weights: Weights) -> Weights:
    """Return the weights with which rows count as independent samples."""
    return {(f.file, f.joint): weights.get((f.file, f.joint), 0.0) * float(np.sqrt(f.share)) for f in problem.factors}


def independent_share(problem: Problem) -> float:
    """Return how many independent samples a row is worth, on average over all logs."""
    return sum(f.independent for f in problem.factors) / max(sum(f.rows for f in problem.factors), 1)


def _noise(problem: Problem, step: _Step) -> Weights:
    """Return weights from the residual: each parameter that the log, not the prior, determines uses up one independent row."""
    x = problem.base.projection @ step.prior.parameters(step.solution.z)
    solution = Solution(x, _spread(problem, step), np.zeros(len(x), dtype=bool), 1.0)
    return noise_weights(problem, solution, step.weights)


def _spread(problem: Problem, step: _Step) -> np.ndarray:
    """Return A (b, p) with A A^T the covariance of the base parameters, were the rows of the factors independent."""
    root = problem.base.projection @ step.prior.basis @ covariance_root(step.solution.covariance)
    return np.asarray(np.sqrt(independent_share(problem)) * root)


def _freedom(problem: Problem, weights: Weights, covariance: np.ndarray) -> float:
    """Return how many independent rows are left after those that parameters use up, at least 1."""
    r = stack_factors(problem.factors, counted_weights(problem, weights))[:, :-1]
    return max(sum(f.independent for f in problem.factors) - float(np.sum((r @ covariance) * r)), 1.0)


def first_scales(problem: Problem) -> np.ndarray:
    """Return how far each parameter of a term may deviate from its prior (p,), before anything is fitted.

    For one joint it is the value with which the term would explain all of the joint's torque that the prior leaves, over all
    logs, and a tenth of it for offsets, since every joint has friction. The median over joints is taken: where the description
    errs in gravity, that says nothing about friction.
    """
    projection, entries = problem.base.projection, problem.base.standard.layout.entries
    count, left = RowLayout.of(problem.base).count, residual_squares(problem.factors, problem.prior_base)
    columns, torques = np.zeros((count, len(entries))), np.zeros(count)
    for f in problem.factors:
        columns[f.joint] += np.sum((f.r[:, :-1] @ projection) ** 2, axis=0)
        torques[f.joint] += left[f.file, f.joint]
    seen = (columns > 0) & (torques > 0)[:, None]
    values = np.sqrt(torques[:, None] / np.where(seen, columns, 1.0))
    least = np.where(seen, values, np.inf).min(axis=0, initial=np.inf)  # of several joints, the one that shows it best
    scales = np.where([kind_of(e.kind).constant for e in entries], _OFFSET, 1.0) * least
    medians = [
        np.median(scales[row & np.isfinite(scales)]) if (row & np.isfinite(scales)).any() else 1.0
        for row in _alike(problem)
    ]
    return np.array(medians)


def _alike(problem: Problem) -> np.ndarray:
    """Return which pairs of parameters have the same kind and unit (p, p)."""
    standard = problem.base.standard
    kinds = [f"{e.kind} {unit}" for e, unit in zip(standard.layout.entries, standard.units, strict=True)]
    return np.equal.outer(np.array(kinds), np.array(kinds))


def _scales(problem: Problem, step: _Step, first: np.ndarray) -> np.ndarray:
    """Return how far parameters of terms deviate from their prior (p,): root mean square over those of one kind and unit.

    Its uncertainty is part of a deviation, so that this is a step of expectation maximisation (Dempster, Laird & Rubin 1977):
    what a log does not show about one joint's friction comes from the other joints. The `first` scale counts as one more
    joint, since the deviations of a few may all be small by chance; friction's small parts may be.
    """
    basis, gaussian = step.prior.basis, step.prior.gaussian
    squares = (step.prior.parameters(step.solution.z) - problem.prior) ** 2
    squares += np.einsum("ij,jk,ik->i", basis, step.solution.covariance, basis)
    alike, entries = _alike(problem) & gaussian, problem.base.standard.layout.entries
    small = [issubclass(kind_of(e.kind), Modulated) for e in entries]
    more = np.where(small, 0.0, first**2)
    return np.where(gaussian, np.sqrt((alike @ squares + more) / (alike.sum(axis=1) + 1)), 1.0)


def _is_real(problem: Problem, pi: np.ndarray) -> bool:
    """Return whether real bodies and joints can have these parameters; friction may be negative here, if sensors measure that."""
    return not inconsistencies(Parameters(problem.base.standard.layout, tuple(exact(float(v)) for v in pi)))


# What to say ----------------------------------------------------------------------------------------------------------


def _warn_of_contradiction(problem: Problem) -> None:
    errors = description_errors(problem)
    names = [f"{name} {error:.0%}" for name, error in errors.items() if error > UNEXPLAINED]
    if names:
        warn(
            "The description contradicts the log: with links as described and friction fitted, these shares of "
            "the torque are left: {names:,}.",
            remedy="Use {estimator='consistent'}, or check signs, units and gravity compensation.",
            names=names,
        )


def _evidence_note(strength: float, evidence: Mapping[float, float]) -> str:
    best = max(evidence, key=lambda s: evidence[s])
    others = ", ".join(f"{s:g}: {e - evidence[best]:.1f}" for s, e in evidence.items())
    return (
        f"entropic: strength {strength:g}. Of the strengths tried, {best:g} has the highest evidence; logarithms relative to it: "
        f"{others}."
    )
