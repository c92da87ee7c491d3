"""Springs from extended rows: first the drives, then the deflections, then both together; and what a fit keeps of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.rows.factors import JointFactor, merge_stretches, residual_squares, stack_factors
from taupi.identification.solve import solve
from taupi.identification.springs.spring_rows import (
    DELAY,
    LOST_MOTION,
    Deflection,
    SpringLayout,
    SpringModel,
    SpringRows,
    nuisance_projection,
    regress_deflection,
)


@dataclass(frozen=True)
class SpringRecord:
    """The deflection theta - q of a joint over all logs: c tau_link - delay thetad + lost_motion sgn(thetad) + offset of the log.

    tau_link is the torque that the motion of the links needs. Deflections are in rad (m for a prismatic joint), torques in N m
    (N), errors are standard errors.

    Attributes:
        joint: The joint.
        unit: The unit of its stiffness.
        described: The stiffness in the description.
        determined: Whether the logs determine the stiffness. If not, the fit keeps that of the description, its standard error is
            infinite, and the row of the link is not used.
        reason: Why they do not; empty if they do.
        compliance: c, 1 over the stiffness.
        compliance_error: Its standard error.
        run_compliances: c from each log alone.
        delay: The delay of the motor's encoder behind that of the link, s; negative if the link's encoder is late.
        delay_error: Its standard error.
        lost_motion: Half the distance between the deflections in the two directions of motion, without load.
        lost_motion_error: Its standard error.
        offsets: The difference between the encoders, theta - q without load, in each log.
        offset_errors: Their standard errors.
        width: The speed v over which the lost motion sets in, tanh(thetad / v), rad/s or m/s.
    """

    joint: str
    unit: str
    described: float
    determined: bool
    reason: str
    compliance: float
    compliance_error: float
    run_compliances: tuple[float, ...]
    delay: float
    delay_error: float
    lost_motion: float
    lost_motion_error: float
    offsets: tuple[float, ...]
    offset_errors: tuple[float, ...]
    width: float

    @property
    def angle_unit(self) -> str:
        """The unit of deflections: rad, or m for a prismatic joint."""
        return "m" if self.unit == "N/m" else "rad"

    def to_dict(self) -> dict[str, object]:
        """Return the record as plain data; infinite numbers are None."""
        return {k: [_plain(x) for x in v] if isinstance(v, tuple) else _plain(v) for k, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> SpringRecord:
        """Return the record that `to_dict` returned as `data`."""
        values: dict[str, Any] = {}
        for name, value in data.items():
            values[name] = tuple(_number(v) for v in value) if isinstance(value, list | tuple) else _number(value)
        return cls(**values)


def _plain(value: object) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: object) -> object:
    return math.inf if value is None else value


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
        values[layout.stiffness[k]] = 1 / first[k].compliance
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
            at = layout.stiffness[k]
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
    bent = [f.r[:, layout.stiffness[k]] for f in factors if f.joint == link]
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
    stiffness = dict(zip(layout.sprung, layout.stiffness, strict=True))
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
    described = dict(zip(layout.base.standard.names, layout.base.standard.values, strict=True))
    for k, link in enumerate(layout.sprung):
        joint = robot.driving_joints[link]
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


# A note calls encoders offset or late if they are so by this many standard errors.
_CLEAR = 4.0


def elastic_notes(base: BaseParameters) -> list[str]:
    """Return notes on what was identified about the springs, and which parameters appear only in sums."""
    names = ", ".join(base.robot.elastic_joints)
    note = (
        f"elastic joints ({names}): rows of links and of motors are fitted together, each with its own weight; "
        "the torque of a link is that of its spring"
    )
    return [note, *([base.sentence] if base.sentence else [])]


def spring_notes(analysis: SpringAnalysis, removed: Sequence[float], estimated: bool) -> list[str]:
    """Return notes on the springs and on their encoders.

    `removed` are the delays (n,) that were removed, and `estimated` says whether they come from the logs.
    """
    names = analysis.layout.base.robot.joint_names
    notes = []
    for late, other, sign in (("theta", "q", 1.0), ("q", "theta", -1.0)) if estimated else ():
        pairs = [f"{name} {1e3 * abs(d):.3g}" for name, d in zip(names, removed, strict=True) if sign * d > 0]
        if pairs:
            notes.append(f"{late} lags behind {other} and was shifted earlier, by (ms): {', '.join(pairs)}")
    if analysis.rows is not None:
        notes.append(
            "springs bend little beyond what their encoders resolve: the deflection is fitted as a measurement, with an offset "
            "per log, and the rows of motors are those of whole drives, in which the spring cancels"
        )
        clearly = [
            r
            for r in analysis.records
            if (np.abs(r.offsets) > _CLEAR * np.array(r.offset_errors)).any()  # in some log
        ]
        offsets = [f"{r.joint} {', '.join(f'{o:.3g}' for o in r.offsets)} {r.angle_unit}" for r in clearly]
        if offsets:
            notes.append(f"encoders disagree by an offset, theta - q without load: {'; '.join(offsets)}")
    notes += [
        f"the spring of {r.joint} is not determined: {r.reason}. Its stiffness is that of the description, with no standard error"
        for r in analysis.records
        if not r.determined and analysis.rows is not None
    ]
    return notes
