"""Springs from extended rows: first the drives, then the deflections, then both together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.identification.rows.factors import JointFactor, merge_stretches, residual_squares, stack_factors
from taupi.identification.solve import solve
from taupi.identification.springs.deflection import Deflection, nuisance_projection, regress_deflection
from taupi.identification.springs.records import SpringRecord
from taupi.identification.springs.spring_rows import DELAY, LOST_MOTION, SpringLayout, SpringModel, SpringRows

# If the torque of the link leaves less than this share of the deflection's sum of squares, the deflection serves as a column:
# K then becomes too small by this share.
_AS_COLUMN = 0.01
# It also does if its error, as a torque, is less than this many times that of the drive: then the deflection is not the problem.
FAR_LESS = 3.0
# Rounds of weighted least squares, and of the linearisation; it ends when no stiffness moves by more than the first share. One
# that still moves by more than the second is not determined.
_ROUNDS, _STEPS, _SETTLED, _NEARLY = 3, 20, 1e-6, 0.01
_MOVING = "its stiffness does not settle"
# Noise below this share of the torque is not believed: rows of little noise would outweigh all others.
_LEAST_NOISE = 1e-3
# A stiffness moves by at most this factor in one step.
_FACTOR = 2.0


@dataclass(frozen=True, eq=False)
class SpringAnalysis:
    """What the logs show about the springs, and the change of rows with which they are fitted.

    `rows` is None if the deflection is measured so well that it can be a column, as in Zollo et al. (2014).
    """

    layout: SpringLayout
    records: tuple[SpringRecord, ...]
    rows: SpringRows | None


@dataclass(frozen=True, eq=False)
class SpringProblem:
    """Extended rows of all logs, stretch by stretch, with the prior (p,) of the base parameters and its metric (p,).

    `delay_known` says whether the delay of the encoders was stated, so that none is fitted.
    """

    layout: SpringLayout
    pieces: tuple[JointFactor, ...]
    prior: np.ndarray
    metric: np.ndarray
    delay_known: bool = False

    @property
    def free(self) -> tuple[bool, ...]:
        """Which nuisance columns are fitted."""
        delay, *others = self.layout.is_nuisance
        return delay and not self.delay_known, *others


def analyse_springs(problem: SpringProblem) -> SpringAnalysis:
    """Return what the logs show about the springs, and the rows with which they are fitted."""
    layout, springs = problem.layout, range(len(problem.layout.sprung))
    factors = tuple(merge_stretches(problem.pieces))
    values = _solve_drives(problem, factors)

    def deflections(values: np.ndarray) -> list[Deflection]:
        return [regress_deflection(layout, problem.pieces, k, values, problem.free) for k in springs]

    first = deflections(values)
    doubts = [d.doubt for d in first]
    if not any(_errs(layout, factors, k, values, d) for k, d in enumerate(first)):
        return SpringAnalysis(layout, _records(layout, first, doubts), None)
    for k in (k for k in springs if not doubts[k]):
        values[layout.stiffness(k)] = 1 / first[k].compliance
    projections = [nuisance_projection(layout, factors, k, problem.free) for k in springs]
    values, moving = _settle(problem, factors, values, doubts, projections)
    final = deflections(values)
    doubts = [doubt or (_MOVING if k in moving else final[k].doubt) for k, doubt in enumerate(doubts)]
    return SpringAnalysis(layout, _records(layout, final, doubts), _rows(layout, values, doubts, projections))


def _settle(
    problem: SpringProblem,
    factors: tuple[JointFactor, ...],
    values: np.ndarray,
    doubts: Sequence[str],
    projections: Sequence[np.ndarray],
) -> tuple[np.ndarray, set[int]]:
    """Return base parameters (p,) by repeated linearisation, from `values`, and the springs that still move at the end."""
    layout, moving = problem.layout, set[int]()
    for _ in range(_STEPS):
        rows = _rows(layout, values, doubts, projections)
        before, values = values, _solve_rows(problem, rows.factors(factors))
        ratios = {}
        for k in (k for k, doubt in enumerate(doubts) if not doubt):
            at = layout.stiffness(k)
            ratios[k] = float(np.clip(values[at] / before[at], 1 / _FACTOR, _FACTOR))
            values[at] = ratios[k] * before[at]
        moving = {k for k, ratio in ratios.items() if abs(ratio - 1) > _NEARLY}
        if all(abs(ratio - 1) < _SETTLED for ratio in ratios.values()):
            break
    return values, moving


def _errs(
    layout: SpringLayout, factors: Sequence[JointFactor], k: int, values: np.ndarray, deflection: Deflection
) -> bool:
    """Return whether the deflection of elastic joint number `k` has too large an error to be a column.

    `values` (p,) are base parameters from drives. The error of a deflection is that of its torque, c^-1 times as large.
    """
    if deflection.misfit < _AS_COLUMN:
        return False
    drive, link = layout.drive(k), layout.sprung[k]
    residuals = [f.r[:, layout.measured] @ np.append(values, -1.0) for f in factors if f.joint == drive]
    bent = [f.r[:, layout.stiffness(k)] for f in factors if f.joint == link]
    squares = deflection.misfit * sum(float(v @ v) for v in bent)
    return bool(squares > (FAR_LESS * deflection.compliance) ** 2 * sum(float(v @ v) for v in residuals))


def _rows(
    layout: SpringLayout, values: np.ndarray, doubts: Sequence[str], projections: Sequence[np.ndarray]
) -> SpringRows:
    pairs = zip(doubts, projections, strict=True)
    return SpringRows(layout, tuple(None if doubt else SpringModel(values, p) for doubt, p in pairs))


def _solve_drives(problem: SpringProblem, factors: Sequence[JointFactor]) -> np.ndarray:
    """Return base parameters from the rows of drives and of rigid joints alone; stiffness is the prior's."""
    layout = problem.layout
    undetermined = SpringRows(layout, (None,) * len(layout.sprung))
    return _solve_rows(problem, undetermined.factors(tuple(factors)))


def _solve_rows(problem: SpringProblem, factors: Sequence[JointFactor]) -> np.ndarray:
    """Return base parameters by weighted least squares, the weights from the residuals."""
    used, layout = [f for f in factors if f.rows], problem.layout
    stiffness = {link: layout.stiffness(k) for k, link in enumerate(layout.sprung)}
    weights: dict[tuple[int, int], float] = {}
    x, squares = problem.prior, dict[tuple[int, int], float]()
    for _ in range(1 + _ROUNDS):
        for f in used:
            torque, place = f.r[:, -1], stiffness.get(f.joint)
            if place is not None:
                torque = torque - f.r[:, place] * x[place]
            power = float(torque @ torque)
            noise = max(squares.get((f.file, f.joint), power), _LEAST_NOISE**2 * power)
            weights[f.file, f.joint] = float(np.sqrt(f.rows / noise)) if noise > 0 else 0.0
        x = solve(stack_factors(used, weights), problem.prior, problem.metric).x
        squares = residual_squares(used, x)
    return x


def _records(
    layout: SpringLayout, deflections: Sequence[Deflection], doubts: Sequence[str]
) -> tuple[SpringRecord, ...]:
    """Return the records of the springs, from their deflections and the reasons why some are not determined."""
    robot, records = layout.base.robot, []
    for k, link in enumerate(layout.sprung):
        joint = robot.driving_joints[link]
        described = dict(zip(layout.base.standard.names, layout.base.standard.values, strict=True))
        d, doubt = deflections[k], doubts[k]
        records.append(
            SpringRecord(
                joint=robot.joint_names[link],
                unit="N/m" if joint.prismatic else "N m/rad",
                described=float(described[f"{robot.joint_names[link]}.stiffness"]),
                determined=not doubt,
                reason=doubt,
                compliance=d.compliance,
                compliance_error=d.compliance_error,
                run_compliances=tuple(d.runs.tolist()),
                delay=-float(d.coefficients[DELAY]),
                delay_error=float(d.coefficient_errors[DELAY]),
                lost_motion=float(d.coefficients[LOST_MOTION]),
                lost_motion_error=float(d.coefficient_errors[LOST_MOTION]),
                offsets=tuple(d.offsets.tolist()),
                offset_errors=tuple(d.offset_errors.tolist()),
                width=float(layout.widths[k]),
            )
        )
    return tuple(records)
