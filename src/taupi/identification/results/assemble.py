"""From a solution to a fit: statistics of the joints, covariance, notes and provenance, the same for every estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taupi.errors import NotIdentifiedError
from taupi.identification.equations import Equations
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit, JointStatistics, Status
from taupi.identification.results.uncertainty import sandwich
from taupi.identification.rows.factors import JointFactor, residual_squares, stacked
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
    """Return the fit of a solution. `pieces` are those that it minimises, where they are not the problem's own."""
    status = status or Status()
    if not status.ok:
        raise NotIdentifiedError(f"{estimator}: {status.message}. {status.remedy}")
    weights = weights or {}
    own = pieces is None
    found, freedom = sandwich(
        problem.pieces if pieces is None else pieces, weights if own else {}, solution.x, solution.spread
    )
    return Fit(
        robot=problem.robot,
        terms=problem.terms,
        basis=problem.base,
        values=solution.x,
        covariance=found if covariance is None else covariance,
        undetermined=solution.undetermined,
        freedom=freedom,
        estimator=estimator,
        settings=dict(settings) | {"preparation": problem.preparation.to_dict()},
        status=status,
        conditioning=problem.conditioning.to_dict(),
        joints=statistics(problem, solution.x, weights),
        notes=(*problem.notes, *_weak(problem, solution), *notes),
        logs=tuple(r.record for r in problem.recordings),
        record=fit_record(problem.robot, problem.seed),
        prior=problem.prior,
        standard=standard,
        triangle=stacked(problem.factors, weights) if pieces is None else stacked(pieces),
    )


def statistics(problem: Problem, x: np.ndarray, weights: Weights) -> tuple[JointStatistics, ...]:
    """Return each row's statistics over the samples fitted; a link's torque is that of its spring."""
    squares = residual_squares(problem.factors, x)
    result = []
    for j, name in enumerate(Equations.of(problem.base).names):
        mine = [f for f in problem.factors if f.joint == j]
        rows = sum(f.rows for f in mine)
        left = sum(squares[f.file, j] for f in mine)
        power = sum(torque_squares(problem, f, x) for f in mine)
        spread = power - sum(f.total for f in mine) ** 2 / max(rows, 1)
        noise = [1 / weights[f.file, j] for f in mine if weights.get((f.file, j))]
        rms = float(np.sqrt(left / max(rows, 1)))
        result.append(
            JointStatistics(
                name,
                rows,
                rms,
                float(np.sqrt(left / power)) if power > 0 else 0.0,
                1 - left / spread if spread > 0 else 0.0,
                float(np.sqrt(np.mean(np.square(noise)))) if noise else rms,
            )
        )
    return tuple(result)


def fit_record(robot: Robot, seed: int) -> dict[str, Any]:
    """Return what a fit was made from beside its logs: version, robot, seed."""
    return {"version": __version__, "robot": robot.name, "fingerprint": robot.fingerprint, "seed": seed}


def _weak(problem: Problem, solution: Solution) -> list[str]:
    names = [n for n, u in zip(problem.names, solution.undetermined, strict=True) if u]
    if not names:
        return []
    told = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return [
        f"Not determined one by one (below {WEAK:g} of the best determined): {told}. They are as near to the prior as the runs "
        "allow, and have no standard error."
    ]
