"""From a solution to a fit: statistics of the joints, covariance, notes and record, the same for every estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from taupi.errors import NotIdentifiedError
from taupi.identification.equations import Equations
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit, JointStatistics
from taupi.identification.results.sensitivity import sensitivity_note, shifts
from taupi.identification.results.status import Status
from taupi.identification.results.uncertainty import Uncertainty, uncertainty
from taupi.identification.rows.factors import JointFactor, residual_squares, stack_factors
from taupi.identification.solve import WEAK, Solution, Weights
from taupi.identification.weighting import torque_squares
from taupi.model.robot import Robot
from taupi.threads import small_algebra
from taupi.version import __version__

# Logs that are named one by one in a note on their shares.
_LISTED = 6


@small_algebra
def assemble(
    problem: Problem,
    estimator: str,
    settings: Mapping[str, Any],
    solution: Solution,
    weights: Weights | None = None,
    *,
    pieces: Sequence[JointFactor] | None = None,
    uncertain: Uncertainty | None = None,
    standard: np.ndarray | None = None,
    status: Status | None = None,
    notes: Sequence[str] = (),
) -> Fit:
    """Return the fit of a `solution` by the `estimator` of this name with its `settings`.

    `weights` are those of each (file, joint), 1 by default. `pieces` are the factors that the solution minimises, weights
    included, if they are not those of the problem. `uncertain` replaces the uncertainty computed here, `standard` are standard
    parameters that the estimator gives itself. A `status` that is not good raises.
    """
    status = status or Status()
    if not status.ok:
        raise NotIdentifiedError(f"{estimator}: {status.message}.", remedy=status.outcome.remedy)
    weights = weights or {}
    fitted = (problem.pieces, weights) if pieces is None else (pieces, {})
    uncertain = uncertain or uncertainty(*fitted, solution.x, solution.spread)
    covariance = uncertain.covariance + _shape_covariance(problem)
    undetermined = solution.undetermined | uncertain.unknown
    moved = shifts(*fitted, solution.x, solution.spread)
    sensitive = sensitivity_note(problem.names, solution.x, covariance, moved, undetermined)
    return Fit(
        robot=problem.robot,
        terms=problem.terms,
        basis=problem.base,
        values=solution.x,
        covariance=covariance,
        undetermined=undetermined,
        freedom=uncertain.freedom,
        estimator=estimator,
        settings=dict(settings) | {"preparation": problem.preparation.to_dict()} | _row_settings(problem),
        status=status,
        conditioning=problem.conditioning.to_dict(),
        joints=statistics(problem, solution.x, weights),
        notes=(
            *problem.notes,
            *_undetermined_notes(problem, solution),
            *_few_rows_notes(problem, uncertain),
            *([sensitive] if sensitive else []),
            *(_share_notes(problem, solution, weights) if pieces is None else []),
            *notes,
        ),
        logs=problem.records,
        record=fit_record(problem.robot, problem.seed) | _reading_record(problem),
        prior=problem.prior,
        cutoffs=problem.cutoffs,
        shifts=moved,
        standard=standard,
        triangle=problem.stack(weights) if pieces is None else problem.shrunk(stack_factors(pieces), weights),
        springs=() if problem.springs is None else problem.springs.records,
    )


def _row_settings(problem: Problem) -> dict[str, Any]:
    """Return the setting that says whether deflections are measurements or columns in the rows."""
    if problem.contact is not None:
        return dict(problem.contact)
    return {"fits_deflection": True} if problem.springs is not None and problem.springs.rows is not None else {}


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


def _reading_record(problem: Problem) -> dict[str, Any]:
    """Return the record of logs that were left out, and of the kinds of machines of a cluster, if there are any."""
    record: dict[str, Any] = {"skipped": [asdict(each) for each in problem.skipped]} if problem.skipped else {}
    return record | ({"machines": list(problem.machines)} if problem.machines else {})


def _shape_covariance(problem: Problem) -> np.ndarray:
    """Return the covariance (b, b) that the uncertain shapes of dry friction add."""
    spread = np.zeros((len(problem.names), problem.shape_spread.shape[1]))
    spread[: len(problem.shape_spread)] = problem.shape_spread
    return np.asarray(spread @ spread.T)


def _undetermined_notes(problem: Problem, solution: Solution) -> list[str]:
    names = [n for n, u in zip(problem.names, solution.undetermined, strict=True) if u]
    if not names:
        return []
    listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return [
        f"Not determined one by one (below {WEAK:g} of the best determined): {listed}. They are as near to the prior as the logs "
        "allow, and have no standard error."
    ]


def information_shares(problem: Problem, solution: Solution, weights: Weights) -> np.ndarray:
    """Return the share of each log (k,) in what determines the parameters: sum_j |w_ij Y_ij (Y' W Y)^-1/2|^2, normalised."""
    result = np.zeros(len(problem.records))
    for f in problem.factors:
        weight = weights.get((f.file, f.joint), 1.0)
        result[f.file] += float(np.sum((weight * f.r[:, :-1] @ solution.spread) ** 2))
    return result / max(float(result.sum()), 1e-300)


def _share_notes(problem: Problem, solution: Solution, weights: Weights) -> list[str]:
    """Return a note on which of several logs decide."""
    if len(problem.records) < 2:
        return []
    shares = information_shares(problem, solution, weights)
    first = np.argsort(-shares, kind="stable")[:_LISTED]
    listed = ", ".join(f"{problem.records[k].name} {100 * shares[k]:.0f} %" for k in first)
    rest = len(shares) - len(first)
    more = f", the other {rest} {100 * (1 - shares[first].sum()):.0f} %" if rest else ""
    return [f"What determines the parameters comes from {listed}{more}."]


def _few_rows_notes(problem: Problem, uncertain: Uncertainty) -> list[str]:
    """Return a note if fewer independent rows are left than parameters need."""
    if not uncertain.unknown.any():
        return []
    independent, count = sum(f.independent for f in problem.factors), int(uncertain.unknown.sum())
    return [
        f"The rows are worth {independent:.0f} independent samples (2 / rate each, times the filter's noise bandwidth), for "
        f"{len(problem.names)} parameters: nothing is left from which to estimate the errors of {count} of them, and their "
        "standard errors are infinite. Give longer logs."
    ]
