"""From a solution to a fit: statistics of the joints, covariance, notes and record, the same for every estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from taupi.dynamics.terms import kind_of
from taupi.errors import NotIdentifiedError
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit, JointStatistics
from taupi.identification.results.status import Status
from taupi.identification.results.uncertainty import (
    RunEffects,
    Uncertainty,
    run_effects,
    sensitivity_note,
    shifts,
    uncertainty,
)
from taupi.identification.row_layout import RowLayout
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
    settings: Mapping[str, object],
    solution: Solution,
    weights: Weights | None = None,
    *,
    pieces: Sequence[JointFactor] | None = None,
    uncertain: Uncertainty | None = None,
    standard: np.ndarray | None = None,
    status: Status | None = None,
    notes: Sequence[str] = (),
    between_runs: bool = True,
) -> Fit:
    """Return the fit that a solution is: what all estimators have in common, standard errors above all.

    Args:
        problem: What was solved.
        estimator: The name of the estimator.
        settings: Its settings, as a saved fit states them.
        solution: The solution, as `problem.solve()` returns it.
        weights: Of the rows of each (file, joint), as they were solved; by default 1.
        pieces: The factors that the solution minimises, weights included; by default those of the problem.
        uncertain: Uncertainty to take instead of the one computed here.
        standard: Standard parameters that the estimator gives itself; by default the prior completes the solution.
        status: Whether it worked; one that is not good raises. By default it did.
        notes: What was done and noticed, in words.
        between_runs: Whether standard errors include what runs disagree about beyond noise; by default they do.

    Returns:
        The fit.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(0, 10, 0.01)[:, None], np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> problem = tp.estimators.build_problem(arm, log, cutoff_hz=10.0, terms=())
    >>> tp.estimators.assemble(problem, "mine", {}, problem.solve()).estimator
    'mine'
    """
    status = status or Status()
    if not status.ok:
        raise NotIdentifiedError(
            "{estimator}: {status}.", remedy=status.outcome.remedy, estimator=estimator, status=status.message
        )
    weights = weights or {}
    fitted = (problem.pieces, weights) if pieces is None else (pieces, {})
    uncertain = uncertain or uncertainty(*fitted, solution.x, solution.spread)
    effects = run_effects(*fitted, solution.x, solution.spread, uncertain, _kinds(problem)) if between_runs else None
    uncertain = uncertain if effects is None else effects.added(uncertain)
    covariance = uncertain.covariance + _shape_covariance(problem)
    undetermined = solution.undetermined | uncertain.unknown
    moved = shifts(*fitted, solution.x, solution.spread)
    record = fit_record(problem.robot, problem.seed)
    record |= {"skipped": [asdict(each) for each in problem.skipped]} if problem.skipped else {}
    record |= {"machines": list(problem.machines)} if problem.machines else {}  # of a cluster
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
            *([] if effects is None else _run_notes(effects)),
            *(_share_notes(problem, solution, weights) if pieces is None else []),
            *notes,
        ),
        logs=problem.records,
        record=record,
        prior=problem.prior,
        cutoffs=problem.cutoffs,
        shifts=moved,
        standard=standard,
        triangle=problem.stack(weights) if pieces is None else problem.shrunk(stack_factors(pieces), weights),
        springs=() if problem.springs is None else problem.springs.records,
    )


def _row_settings(problem: Problem) -> dict[str, object]:
    """Return the setting that says whether deflections are measurements or columns in the rows."""
    if problem.contact is not None:
        return dict(problem.contact)
    return {"fits_deflection": True} if problem.springs is not None and problem.springs.rows is not None else {}


def statistics(problem: Problem, x: np.ndarray, weights: Weights) -> tuple[JointStatistics, ...]:
    """Return the statistics of each row over the samples fitted; a link's torque is that of its spring."""
    squares = residual_squares(problem.factors, x)
    result = []
    for j, name in enumerate(RowLayout.of(problem.base).names):
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


def fit_record(robot: Robot, seed: int) -> dict[str, object]:
    """Return the record of a fit besides its logs: version, robot, seed."""
    return {"version": __version__, "robot": robot.name, "fingerprint": robot.fingerprint, "seed": seed}


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


def _kinds(problem: Problem) -> list[str]:
    """Return the kind of each parameter: its term, or that it is one of links."""
    kinds = [e.kind.removesuffix("R") for e in problem.base.parameters.layout.entries]
    return [kind if kind_of(kind).label else "links" for kind in kinds]


def _run_notes(effects: RunEffects) -> list[str]:
    """Return a note if runs disagree by more than noise."""
    labels = {kind: kind_of(kind).label or "the parameters of links" for kind in effects.disagreement}
    listed = ", ".join(f"{labels[kind]} {factor:.1f}" for kind, factor in effects.disagreement.items())
    if not listed:
        return []
    return [
        f"Runs disagree by more than noise, and standard errors include that. They are larger by these factors: {listed}."
    ]


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
