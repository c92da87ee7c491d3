"""From a solution to a fit: statistics of the joints, covariance, notes and record, the same for every estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taupi.errors import NotIdentifiedError
from taupi.identification.equations import Equations
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit, JointStatistics, Status
from taupi.identification.results.uncertainty import sandwich
from taupi.identification.rows.factors import JointFactor, residual_squares, stack_factors
from taupi.identification.solve import WEAK, Solution
from taupi.identification.weighting import Weights, torque_squares
from taupi.model.robot import Robot
from taupi.threads import small_algebra
from taupi.version import __version__


@small_algebra
def assemble(
    problem: Problem,
    estimator: str,
    settings: Mapping[str, Any],
    solution: Solution,
    weights: Weights | None = None,
    *,
    pieces: Sequence[JointFactor] | None = None,
    covariance: np.ndarray | None = None,
    standard: np.ndarray | None = None,
    status: Status | None = None,
    notes: Sequence[str] = (),
) -> Fit:
    """Return the fit of a `solution` by the `estimator` of this name with its `settings`.

    `weights` are those of each (file, joint), 1 by default. `pieces` are the factors that the solution minimises, weights
    included, if they are not those of the problem. `covariance` replaces the one computed here, `standard` are standard
    parameters that the estimator gives itself. A `status` that is not good raises.
    """
    status = status or Status()
    if not status.ok:
        raise NotIdentifiedError(f"{estimator}: {status.message}.", remedy=status.outcome.remedy)
    weights = weights or {}
    if pieces is None:
        computed, freedom = sandwich(problem.pieces, weights, solution.x, solution.spread)
    else:
        computed, freedom = sandwich(pieces, {}, solution.x, solution.spread)
    return Fit(
        robot=problem.robot,
        terms=problem.terms,
        basis=problem.base,
        values=solution.x,
        covariance=computed if covariance is None else covariance,
        undetermined=solution.undetermined,
        freedom=freedom,
        estimator=estimator,
        settings=dict(settings) | {"preparation": problem.preparation.to_dict()},
        status=status,
        conditioning=problem.conditioning.to_dict(),
        joints=statistics(problem, solution.x, weights),
        notes=(*problem.notes, *_undetermined_notes(problem, solution), *notes),
        logs=tuple(r.record for r in problem.recordings),
        record=fit_record(problem.robot, problem.seed),
        prior=problem.prior,
        standard=standard,
        triangle=problem.stack(weights) if pieces is None else problem.shrunk(stack_factors(pieces), weights),
    )


def statistics(problem: Problem, x: np.ndarray, weights: Weights) -> tuple[JointStatistics, ...]:
    """Return the statistics of each row over the samples fitted; a link's torque is that of its spring."""
    squares = residual_squares(problem.factors, x)
    result = []
    for j, name in enumerate(Equations.of(problem.base).names):
        factors = [f for f in problem.factors if f.joint == j]
        rows = sum(f.rows for f in factors)
        residual = sum(squares[f.file, j] for f in factors)
        power = sum(torque_squares(problem, f, x) for f in factors)
        variation = power - sum(f.total for f in factors) ** 2 / max(rows, 1)
        noise = [1 / weights[f.file, j] for f in factors if weights.get((f.file, j))]
        rms = float(np.sqrt(residual / max(rows, 1)))
        result.append(
            JointStatistics(
                name,
                rows,
                rms,
                float(np.sqrt(residual / power)) if power > 0 else 0.0,
                1 - residual / variation if variation > 0 else 0.0,
                float(np.sqrt(np.mean(np.square(noise)))) if noise else rms,
            )
        )
    return tuple(result)


def fit_record(robot: Robot, seed: int) -> dict[str, Any]:
    """Return the record of a fit besides its logs: version, robot, seed."""
    return {"version": __version__, "robot": robot.name, "fingerprint": robot.fingerprint, "seed": seed}


def _undetermined_notes(problem: Problem, solution: Solution) -> list[str]:
    names = [n for n, u in zip(problem.names, solution.undetermined, strict=True) if u]
    if not names:
        return []
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return [
        f"Not determined one by one (below {WEAK:g} of the best determined): {listed}. They are as near to the prior as the logs "
        "allow, and have no standard error."
    ]
