"""How much of the logs the description explains, and the suggestion to rely on it if the logs say little."""

from __future__ import annotations

import numpy as np

from taupi.dynamics.terms import Modulated, kind_of
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.factors import WEAKEST, residual_squares, stack_factors
from taupi.identification.weighting import first_weights, weighted_least_squares

# The name of the suggested estimator.
ENTROPIC = "entropic"
# A log with less motion than this is short, s.
SHORT_S = 10.0
# Links as described, with friction and rotors fitted, contradict a log if they leave more than this share of a joint's torque.
# Offsets are not fitted for this: they would hide a drive that compensates gravity.
UNEXPLAINED = 0.5


def description_errors(problem: Problem) -> dict[str, float]:
    """Return the share of each joint's torque that the description leaves, beyond the noise that least squares leaves.

    It is sqrt(|tau - tau_1|^2 - |tau - tau_0|^2) / |tau|, tau_1 with the links as described and all terms but offsets fitted, and
    tau_0 with everything fitted.
    """
    base = problem.base
    links = np.arange(len(base.standard)) < len(base.robot.parameters)
    kinds = [kind_of(e.kind) for e in base.standard.layout.entries]
    fitted = ~links & np.array([not (kind.constant or issubclass(kind, Modulated)) for kind in kinds])
    r = stack_factors(problem.factors, first_weights(problem))
    x, columns = base.projection @ np.where(links, problem.prior, 0.0), base.projection[:, fitted]
    if columns.shape[1]:
        terms = np.linalg.lstsq(r[:, :-1] @ columns, r[:, -1] - r[:, :-1] @ x, rcond=WEAKEST)[0]
        x = x + columns @ terms
    least = residual_squares(problem.factors, weighted_least_squares(problem, 0)[0].x)
    squares, result = residual_squares(problem.factors, x), {}
    for j, name in enumerate(RowLayout.of(base).names):
        files = [f.file for f in problem.factors if f.joint == j]
        power = sum(float(f.r[:, -1] @ f.r[:, -1]) for f in problem.factors if f.joint == j)
        beyond = max(0.0, sum(squares[file, j] - least[file, j] for file in files))
        result[name] = float(np.sqrt(beyond / power)) if power > 0 else 0.0
    return result


def entropic_offer(problem: Problem, fit: Fit) -> str | None:
    """Return a note that suggests the entropic estimator if logs are short or leave parameters open, and the description fits."""
    longest = [max((f.rows for f in problem.factors if f.file == k), default=0) for k in range(len(problem.records))]
    seconds = sum(rows / r.rate_hz for rows, r in zip(longest, problem.records, strict=True))
    unknown, described = int(fit.undetermined.sum()), problem.prior[: len(problem.base.robot.parameters)].any()
    needed = seconds < SHORT_S or unknown > 0
    if fit.estimator == ENTROPIC or not needed or not described or RowLayout.of(problem.base).beyond_rigid:
        return None
    worst = max(description_errors(problem).values(), default=1.0)
    if worst > UNEXPLAINED:
        return None
    why = (
        f"The logs have {seconds:.1f} s of motion" if seconds < SHORT_S else f"The logs leave {unknown} parameters open"
    )
    return (
        f"{why}, and the description with friction fitted explains the torque of every joint to {worst:.0%}: the estimator "
        f'"{ENTROPIC}" keeps what the logs leave open near the description, and may predict other motions better.'
    )
