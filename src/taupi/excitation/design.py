"""A design from its settings: the problem that is solved, the search, the proofs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.checks import affordable
from taupi.dynamics.imu_form import require_motors
from taupi.dynamics.terms import Term, TermsLike, resolve_terms
from taupi.errors import Argument, NotIdentifiedError, TaupiError
from taupi.excitation.criteria.criteria import Chosen, Determinant, choose
from taupi.excitation.criteria.information import Information, InformationProgram, information_program, smoothed
from taupi.excitation.criteria.noise import earlier_information, noise_of
from taupi.excitation.excitation import Excitation
from taupi.excitation.limits.certificates import motion_certificates, torque_certificate, torque_rate_certificate
from taupi.excitation.limits.clearance_rows import ClearanceRows, kept_clear
from taupi.excitation.limits.linear_rows import linear_rows
from taupi.excitation.limits.motion_limits import LimitsLike, MotionLimits, motion_limits
from taupi.excitation.limits.sampled_rows import SampledRows
from taupi.excitation.limits.torque_rows import TorqueRateRows, TorqueRows
from taupi.excitation.motions.approach import approached, start_posture
from taupi.excitation.motions.bounded import BoundedMotion
from taupi.excitation.motions.choice import choose_family, lowest_resonance
from taupi.excitation.motions.family import Family
from taupi.excitation.search.certified import Proofs, Proven, failures, proven
from taupi.excitation.search.interrupt import stopped_by_user
from taupi.excitation.search.ipopt import Stop
from taupi.excitation.search.problem import UNSEEN, DesignProblem
from taupi.excitation.search.starts import Candidate, improved, rough
from taupi.excitation.settings import Course, Goal, Margins, Search
from taupi.model.robot import Robot
from taupi.program.targets.cpu import compile_ahead
from taupi.progress import progress
from taupi.version import __version__

# Torques are designed slightly below their limits: they may be higher between the samples at which they are checked.
_BETWEEN_SAMPLES = 0.98
# The search starts at the middle of all ranges if that is clear by this, m; else at the clearest posture in this share of them.
_CLEAR, _ABOUT, _POSTURES = 0.05, 0.6, 2000
_MOST_SAMPLES = 10**6  # of a motion: hours at 100 Hz
# Share of a budget that is spent on separating good starts from bad ones.
_FOR_STARTS = 0.5
# Number of random motions that a design is compared with.
_RANDOM = 30


@dataclass(frozen=True, eq=False)
class Design:
    """Everything that a design starts from, checked."""

    robot: Robot
    terms: tuple[Term, ...]
    course: Course
    goal: Goal
    margins: Margins
    search: Search
    limits: MotionLimits
    family: Family
    program: InformationProgram
    chosen: Chosen
    sigma: np.ndarray
    prior: np.ndarray | None
    start: np.ndarray | None
    clearance: Any
    unchecked: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def noise(self) -> np.ndarray:
        """The noise of the samples of one period, which represent all periods."""
        return self.sigma / np.sqrt(self.course.periods)

    def posture(self) -> np.ndarray:
        """Return the posture (n,) around which motions are searched: the middle of all ranges, or one that is clear."""
        centre = self.limits.centre()
        if self.clearance is None or not self.clearance.pairs or self.clearance.rows(centre[None]).min() > _CLEAR:
            return centre
        ends = [_of_coordinates(self.robot, v, centre) for v in (self.limits.lower, self.limits.upper)]
        rng = np.random.default_rng(self.search.seed)
        q = centre + _ABOUT * rng.uniform(-0.5, 0.5, (_POSTURES, self.robot.n)) * (ends[1] - ends[0])
        return np.asarray(q[np.argmax(self.clearance.rows(q).min(axis=1))])

    def problem(self) -> DesignProblem:
        """Return the problem to solve."""
        count = max(2, round(self.course.duration * self.goal.rate))
        times = (np.arange(count) + 0.5) * (self.course.duration / count)
        return DesignProblem(
            self.family,
            self.robot.n,
            times,
            # Papers state the condition of W without weighting by noise.
            Information(
                self.program, np.ones(self.robot.n) if self.goal.criterion == "cond" else self.noise, self.prior
            ),
            self.chosen.criterion,
            linear_rows(self.family, self.limits.shrunk(self.margins.margin), self.posture()),
            tuple(self._rows()),
        )

    def _rows(self) -> list[SampledRows]:
        rows: list[SampledRows] = []
        ones = np.full(self.robot.n, _BETWEEN_SAMPLES)
        if self.margins.effort is not None:
            # If parameters may be off by a share, the torque is at most about that share higher.
            room = ones / (1 + self.margins.uncertainty)
            rows.append(TorqueRows(self.robot, self.margins.effort * self.limits.effort, -room, room))
            if np.isfinite(self.limits.torque_rate).any():
                rows.append(TorqueRateRows(self.robot, self.limits.torque_rate, -ones, ones))
        if self.clearance is not None and self.clearance.pairs:
            rows.append(ClearanceRows.of(self.clearance))
        return rows

    def motion(self, x: np.ndarray) -> BoundedMotion:
        """Return the motion of coefficients x, repeated, with the approach to its beginning."""
        motion = self.family.motion(x.reshape(self.family.count, self.robot.n))
        return approached(motion, self.start, self.limits, self.course.periods)

    def prove(self, x: np.ndarray) -> Proofs:
        """Return the certificates of a motion, by quantity."""
        # A repeated period reaches nothing new.
        one = self.family.motion(x.reshape(self.family.count, self.robot.n))
        motion = approached(one, self.start, self.limits)
        proofs: list[Any] = motion_certificates(motion, self.limits)
        if self.margins.effort is not None:
            proofs.append(
                torque_certificate(self.robot, motion, self.limits, self.margins.effort, self.margins.uncertainty)
            )
            if np.isfinite(self.limits.torque_rate).any():
                proofs.append(torque_rate_certificate(self.robot, motion, self.limits))
        result = {proof.quantity: proof for proof in proofs}
        if self.clearance is not None:
            result["clearance"] = self.clearance.certificate(motion, motion.duration)
        return result


def prepared(
    robot: Robot,
    terms: TermsLike,
    sigma: Any,
    given: Any,
    start: Any,
    limits: LimitsLike,
    course: Course,
    goal: Goal,
    margins: Margins,
    search: Search,
) -> Design:
    """Return a design, its arguments checked; those of `taupi.excite`."""
    require_motors(robot, "An exciting motion")
    affordable(course.duration * course.periods * goal.rate, _MOST_SAMPLES, "samples", "duration", "periods", "rate")
    chosen_terms = resolve_terms(terms)
    known = motion_limits(robot, limits, torque=margins.effort is not None)
    if margins.effort is not None:
        _require_masses(robot)
    centre = known.centre()
    posture = start_posture(robot, start, known)
    ends = (_of_coordinates(robot, known.lower, centre), _of_coordinates(robot, known.upper, centre))
    family, notes = choose_family(course, lowest_resonance(robot, *ends))
    program = information_program(robot, smoothed(chosen_terms))
    _require_time(robot, course, goal, program.base.count)
    _require_rate(family, course, goal)
    chosen = choose(goal, program.base)
    noise, about_noise = noise_of(robot, sigma, known.effort)
    prior = earlier_information(robot, chosen_terms, given, noise, goal.rate)
    unchecked = {} if margins.effort is not None else {"torque": "it was left out by effort = 0."}
    compile_ahead(program.nonzeros, program.adjoint)  # while geometry is looked at
    clearance, reason = kept_clear(robot, margins, *ends)
    if clearance is None:
        unchecked["clearance"] = reason
    return Design(
        *(robot, chosen_terms, course, goal, margins, search, known, family, program, chosen, noise, prior, posture),
        clearance,
        unchecked,
        (about_noise, *known.notes, *chosen.notes, *notes),
    )


def _of_coordinates(robot: Robot, values: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return finite limits (n,) of the joints that give coordinates their names."""
    chosen = np.array([values[robot.joints.index(j)] for j in robot.driving_joints])
    return np.where(np.isfinite(chosen), chosen, otherwise)


def _require_masses(robot: Robot) -> None:
    if not np.any(robot.parameters.values):
        raise TaupiError(
            f"{robot.name} has no masses, so that no torque can be kept below its limit.",
            remedy=("Use a description with masses, or leave torques unchecked by ", Argument("effort", 0), "."),
        )


def _require_rate(family: Family, course: Course, goal: Goal) -> None:
    """Refuse content above what the samples of the design can show."""
    if family.content_hz > goal.rate / 2:
        named = next((name for name in ("bandwidth", "points", "harmonics") if getattr(course, name) is not None), None)
        change = ("Use a longer ", Argument("duration")) if named is None else ("Use a smaller ", Argument(named))
        raise TaupiError(
            f"The motion has content up to {family.content_hz:.3g} Hz, more than half of ",
            Argument("rate"),
            f" ({goal.rate:g} Hz).",
            remedy=(*change, ", or a higher rate."),
        )


def _require_time(robot: Robot, course: Course, goal: Goal, count: int) -> None:
    rows = round(course.duration * goal.rate) * robot.n
    if rows < 2 * count:
        least = 2 * count / robot.n / goal.rate
        raise TaupiError(
            Argument("duration"),
            f" is {course.duration:g} s, too short: {rows} torques at {goal.rate:g} Hz for {count} parameters.",
            remedy=("Use at least ", Argument("duration", float(f"{least * 1.05:.2g}")), "."),
        )


# The search -----------------------------------------------------------------------------------------------------------


def searched(design: Design) -> Excitation:
    """Return the best motion of several starts that can be proven: all of them roughly, then the best one in full."""
    problem, stop = design.problem(), Stop(design.search.budget)
    begin, candidates = time.monotonic(), []
    compile_ahead(*(program for rows in problem.sampled for program in rows.programs))  # while starts are compared
    with progress("excite", design.search.starts + 1) as step, stopped_by_user(stop):
        for k in range(design.search.starts):
            step(f"start {k + 1} of {design.search.starts}")
            rng = np.random.default_rng([design.search.seed, k])
            candidates.append(rough(problem, problem.start(rng), stop))
            if stop() or _late(design, begin):
                break
        step("limits and proof")
        best = _best_proven(design, problem, candidates, stop)
    return _result(design, problem, best, candidates, stop)


def _late(design: Design, begin: float) -> bool:
    """Return whether the remaining time is needed for limits and proofs."""
    budget = design.search.budget
    return budget is not None and time.monotonic() - begin > _FOR_STARTS * budget


def _best_proven(design: Design, problem: DesignProblem, candidates: list[Candidate], stop: Stop) -> Proven:
    """Return the best candidate that can be proven, or else the next one."""
    tried = []
    for candidate in sorted(candidates, key=lambda c: c.phi):
        result = proven(problem, improved(problem, candidate.x, stop), design.prove, stop)
        if result.ok and _tells(design, problem, result.candidate):
            return result
        tried.append(result)
    reasons = failures(tried) or ["none that keeps them tells all parameters apart."]
    raise NotIdentifiedError(
        f"No motion of {design.robot.name} that keeps its limits was found in {len(candidates)} starts: {' '.join(reasons)}",
        remedy=(
            "Use a longer ",
            Argument("duration"),
            ", more ",
            Argument("starts"),
            ", or other ",
            Argument("limits"),
            ".",
        ),
    )


def _tells(design: Design, problem: DesignProblem, candidate: Candidate) -> bool:
    """Return whether a motion, with what is already known, determines every parameter: one that hardly moves does not."""
    if candidate.phi >= UNSEEN / 2:
        return False
    return design.prior is not None or design.program.conditioning(*problem.states(candidate.x)).full_rank


def _result(
    design: Design, problem: DesignProblem, best: Proven, candidates: list[Candidate], stop: Stop
) -> Excitation:
    x, count = best.candidate.x, len(design.chosen.of)
    motion = design.motion(x)
    states = problem.states(x)
    # What will be fitted, with exact dry friction.
    fitted = information_program(design.robot, design.terms)
    information = Information(fitted, design.noise, design.prior, "numpy").matrix(*states)
    samples = len(problem.times) * design.course.periods
    factor, stopped = _std_factor(design, problem, x), stop.asked or len(candidates) < design.search.starts
    poor = (
        ("It was stopped before it was better than random motions: let it run longer.",)
        if stopped and factor < 1
        else ()
    )
    return Excitation(
        robot=design.robot,
        terms=design.terms,
        base=fitted.base,
        motion=motion,
        course=design.course,
        goal=design.goal,
        margins=design.margins,
        search=design.search,
        limits=design.limits,
        sigma=design.sigma,
        information=information,
        phi=best.candidate.phi / count + (np.log(samples) if design.goal.criterion != "cond" else 0.0),
        std_factor=factor,
        certificates=best.proofs,
        unchecked=design.unchecked,
        notes=(*poor, *design.notes),
        starts=tuple(
            {
                "phi": c.phi / count,
                "feasible": c.feasible,
                "iterations": c.iterations,
                "rounds": c.rounds,
                "rows": c.rows,
            }
            for c in candidates
        ),
        clearance=design.clearance,
        stopped=stopped,
        record={"version": __version__, "robot": design.robot.name, "fingerprint": design.robot.fingerprint},
    )


def _std_factor(design: Design, problem: DesignProblem, x: np.ndarray) -> float:
    """Return exp(d log det G / 2 b) against the median of random motions, each joint scaled to its first limit."""
    subset = design.goal.criterion == "ds"
    criterion = design.chosen.criterion if subset else Determinant()
    count = len(design.chosen.of)
    rng = np.random.default_rng([design.search.seed, 2**31])
    random = [criterion(problem.matrix(problem.start(rng, share=1.0))) for _ in range(_RANDOM)]
    own = criterion(problem.matrix(x))
    values = [np.inf if value is None else value.phi for value in random]
    return float("nan") if own is None else float(np.exp((np.median(values) - own.phi) / (2 * count)))
