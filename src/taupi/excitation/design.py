"""A design from its settings: the problem that is solved, the search, the proofs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from taupi.checks import affordable
from taupi.dynamics.terms import Term, TermsLike, resolve_terms
from taupi.errors import Argument, Message, NotIdentifiedError, TaupiError
from taupi.excitation.criteria.criteria import Chosen, Determinant, choose
from taupi.excitation.criteria.information import (
    Information,
    InformationProgram,
    earlier_information,
    information_program,
    noise_of,
    smoothed,
)
from taupi.excitation.excitation import Excitation, LowestPoint
from taupi.excitation.geometry.clearance import Clearance
from taupi.excitation.limits.certificates import motion_certificates, torque_certificate, torque_rate_certificate
from taupi.excitation.limits.motion_limits import LimitsLike, MotionLimits, linear_rows, motion_limits
from taupi.excitation.limits.sampled_rows import (
    ClearanceRows,
    SampledRows,
    TorqueRateRows,
    TorqueRows,
    kept_clear,
    torque_program,
)
from taupi.excitation.motions.approach import approached, start_posture
from taupi.excitation.motions.bounded import BoundedMotion
from taupi.excitation.motions.families import Family, choose_family, lowest_resonance
from taupi.excitation.search.ipopt import Stop, stopped_by_user
from taupi.excitation.search.problem import UNSEEN, DesignProblem
from taupi.excitation.search.starts import FoundMotion, Proofs, Proven, failures, improved, proven, rough
from taupi.excitation.settings import Course, Goal, Margins, Search
from taupi.model.requirements import require_motors
from taupi.model.robot import Robot
from taupi.program.targets.cpu import compile_ahead
from taupi.progress import progress
from taupi.version import __version__

# Torques are designed slightly below their limits: they may be higher between the samples at which they are checked.
_BETWEEN_SAMPLES = 0.98
# The search starts at the middle of all ranges if that is clear by this, m, and takes at most this share of the allowed torque to
# be held; else at the clearest posture of those that can be held, in this share of the ranges.
_CLEAR, _HELD, _ABOUT, _POSTURES = 0.05, 0.7, 0.6, 2000
_MOST_SAMPLES = 10**6  # of a motion: hours at 100 Hz
# Share of the time for the search that is spent on separating good starts from bad ones, and of a budget that is kept for proofs.
_FOR_STARTS, _FOR_PROOFS = 0.5, 0.25
# Share of a budget after which capsules are no longer made smaller, nor pairs proven never to come near.
_FOR_GEOMETRY = 0.4
# Hz, and the largest number of samples, at which surfaces are looked at where capsules do not keep links apart.
_LOOKS_HZ, _LOOKS = 10.0, 200
# Hz, and the largest number of samples, at which the lowest point of a motion is looked for.
_HEIGHTS_HZ, _HEIGHTS = 200.0, 20_000
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
    ends: tuple[np.ndarray, np.ndarray]
    family: Family
    program: InformationProgram
    chosen: Chosen
    sigma: np.ndarray
    prior: np.ndarray | None
    start: np.ndarray | None
    clearance: Clearance | None
    unchecked: Mapping[str, str]
    notes: tuple[str, ...]
    stop: Stop

    @property
    def noise(self) -> np.ndarray:
        """The noise of the samples of one period, which represent all periods."""
        return self.sigma / np.sqrt(self.course.periods)

    def posture(self) -> np.ndarray:
        """Return the posture (n,) about which motions are searched: the middle, or one that is clear and can be held."""
        centre = self.limits.centre()
        if self._room(centre[None])[0] > _CLEAR and self._load(centre[None])[0] <= _HELD:
            return centre
        lower, upper = self.ends
        rng = np.random.default_rng(self.search.seed)
        q = centre + _ABOUT * rng.uniform(-0.5, 0.5, (_POSTURES, self.robot.n)) * (upper - lower)
        load = self._load(q)
        held = load <= max(_HELD, load.min())
        return np.asarray(q[np.argmax(np.where(held, np.minimum(self._room(q), 1e3) - 1e-3 * load, -np.inf))])

    def _room(self, q: np.ndarray) -> np.ndarray:
        """Return how clear (N,) postures are, in m; infinite if nothing is watched."""
        if self.clearance is None or not self.clearance.pairs:
            return np.full(len(q), np.inf)
        return np.asarray(self.clearance.rows(q).min(axis=1))

    def _load(self, q: np.ndarray) -> np.ndarray:
        """Return the largest share (N,) of the allowed torques that holding a posture takes; 0 if torques are not limited."""
        if self.margins.effort is None:
            return np.zeros(len(q))
        allowed = self.margins.effort * self.limits.effort / (1 + self.margins.uncertainty)
        return np.asarray(np.abs(torque_program(self.robot)(q, 0 * q, 0 * q) / allowed).max(axis=1))

    def problem(self) -> DesignProblem:
        """Return the problem to solve."""
        count = max(2, round(self.course.duration * self.goal.rate))
        times = (np.arange(count) + 0.5) * (self.course.duration / count)
        return DesignProblem(
            self.family,
            self.robot.n,
            times,
            Information(
                self.program, self.noise if self.chosen.criterion.weighs_noise else np.ones(self.robot.n), self.prior
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
        proofs = motion_certificates(motion, self.limits)
        if self.margins.effort is not None:
            proofs.append(
                torque_certificate(
                    self.robot, motion, self.limits, self.margins.effort, self.margins.uncertainty, self.stop.late
                )
            )
            if np.isfinite(self.limits.torque_rate).any():
                proofs.append(torque_rate_certificate(self.robot, motion, self.limits, self.stop.late))
        result: Proofs = {proof.quantity: proof for proof in proofs}
        if self.clearance is not None:
            result["clearance"] = self.clearance.certificate(motion, motion.duration, self.stop.late)
        return result

    def touching(self, motion: BoundedMotion) -> dict[str, str]:
        """Return the pairs of links whose surfaces meet along a motion although nothing else keeps them apart, and when."""
        if self.clearance is None:
            return {}
        times = sampled_times(motion.duration, _LOOKS_HZ, _LOOKS)
        met = self.clearance.touching(motion(times).q, self.stop.late)
        return {str(pair): f"their surfaces meet in this motion, first at {times[k]:.4g} s" for pair, k in met.items()}


def sampled_times(duration: float, rate_hz: float, most: int) -> np.ndarray:
    """Return times from 0 to a duration (s) at a rate, at most so many."""
    return np.linspace(0.0, duration, min(most, max(2, int(duration * rate_hz) + 1)))


def prepared(
    robot: Robot,
    terms: TermsLike,
    sigma: object,
    given: object,
    start: object,
    limits: LimitsLike,
    course: Course,
    goal: Goal,
    margins: Margins,
    search: Search,
) -> Design:
    """Return a design with its arguments checked, which are as in `taupi.excite`. The time of its budget begins."""
    stop = Stop(search.budget, _FOR_PROOFS)
    require_motors(robot, "An exciting motion")
    affordable(course.duration * course.periods * goal.rate, _MOST_SAMPLES, "samples", "duration", "periods", "rate")
    chosen_terms = resolve_terms(terms)
    known = motion_limits(robot, limits, torque=margins.effort is not None)
    if margins.effort is not None:
        _require_masses(robot)
    centre = known.centre()
    posture = start_posture(robot, start, known)
    named = [robot.joints.index(j) for j in robot.driving_joints]  # the joints that give coordinates their names
    lower, upper = (np.where(np.isfinite(v[named]), v[named], centre) for v in (known.lower, known.upper))
    family, notes = choose_family(course, lowest_resonance(robot, lower, upper))
    program = information_program(robot, smoothed(chosen_terms))
    _require_time(robot, course, goal, program.base.count)
    _require_rate(family, course, goal)
    chosen = choose(goal, program.base)
    noise, about_noise = noise_of(robot, sigma, known.effort)
    prior = earlier_information(robot, chosen_terms, given, noise, goal.rate)
    unchecked = {} if margins.effort is not None else {"torque": "it was left out by effort = 0."}
    compile_ahead(program.nonzeros, program.adjoint)  # while geometry is looked at
    clearance, reason = kept_clear(robot, margins, lower, upper, late=lambda: stop.past(_FOR_GEOMETRY))
    if clearance is None:
        unchecked |= {"clearance": reason, "floor": "without the shape of links it is not known how low they reach."}
    else:
        if clearance.floor.height is None:
            unchecked["floor"] = f"{clearance.floor.how}."
        unchecked |= clearance.unchecked
    return Design(
        robot=robot,
        terms=chosen_terms,
        course=course,
        goal=goal,
        margins=margins,
        search=search,
        limits=known,
        ends=(lower, upper),
        family=family,
        program=program,
        chosen=chosen,
        sigma=noise,
        prior=prior,
        start=posture,
        clearance=clearance,
        unchecked=unchecked,
        notes=(about_noise, *known.notes, *chosen.notes, *notes),
        stop=stop,
    )


def _require_masses(robot: Robot) -> None:
    if not np.any(robot.parameters.values):
        raise TaupiError(
            "{robot} has no masses, so that no torque can be kept below its limit.",
            remedy="Use a description with masses, or leave torques unchecked by {effort=0}.",
            robot=robot.name,
        )


def _require_rate(family: Family, course: Course, goal: Goal) -> None:
    """Refuse content above what the samples of the design can show."""
    if family.content_hz > goal.rate / 2:
        named = next((name for name in ("bandwidth", "points", "harmonics") if getattr(course, name) is not None), None)
        raise TaupiError(
            "The motion has content up to {content_hz:.3g} Hz, more than half of {rate} ({rate_hz:g} Hz).",
            remedy="Use a {change} {argument}, or a higher rate.",
            content_hz=family.content_hz,
            rate_hz=goal.rate,
            change="longer" if named is None else "smaller",
            argument=Argument(named or "duration"),
        )


def _require_time(robot: Robot, course: Course, goal: Goal, count: int) -> None:
    rows = round(course.duration * goal.rate) * robot.n
    if rows < 2 * count:
        least = 2 * count / robot.n / goal.rate
        raise TaupiError(
            "{duration} is {course_duration:g} s, too short: {rows} torques at {rate:g} Hz for {count} parameters.",
            remedy="Use at least {other_duration}.",
            course_duration=course.duration,
            rows=rows,
            rate=goal.rate,
            count=count,
            other_duration=Argument("duration", float(f"{least * 1.05:.2g}")),
        )


# The search -----------------------------------------------------------------------------------------------------------


def searched(design: Design) -> Excitation:
    """Return the best motion of several starts that can be proven: all of them roughly, then the best one in full."""
    problem, stop, candidates = design.problem(), design.stop, []
    for_starts = time.monotonic() + _FOR_STARTS * stop.left
    compile_ahead(*(program for rows in problem.sampled for program in rows.programs))  # while starts are compared
    with progress("excite", design.search.starts + 1) as step, stopped_by_user(stop):
        for k in range(design.search.starts):
            step(f"start {k + 1} of {design.search.starts}")
            rng = np.random.default_rng([design.search.seed, k])
            candidates.append(rough(problem, problem.start(rng), stop))
            if stop() or time.monotonic() > for_starts:
                break
        step("limits and proof")
        best, touching = _best_proven(design, problem, candidates)
    return _result(design, problem, best, touching, candidates)


def _best_proven(
    design: Design, problem: DesignProblem, candidates: list[FoundMotion]
) -> tuple[Proven, dict[str, str]]:
    """Return the best candidate that can be proven, or else the next one, while there is time; and the pairs that meet.

    When the time is over before a proof succeeds, a motion that is not known to exceed any limit is returned with what is proven.
    """
    reasons: list[str] = []
    for candidate in sorted(candidates, key=lambda c: c.phi):
        result = proven(problem, improved(problem, candidate.x, design.stop), design.prove, design.stop)
        touching = {} if result.refuted else design.touching(design.motion(result.candidate.x))
        kept_apart = () if design.clearance is None else map(str, design.clearance.by_surfaces)
        met = [f"{pair}: {touching[pair]}." for pair in kept_apart if pair in touching]
        if result.will_do(design.stop) and not met and _determines_all(design, problem, result.candidate):
            return result, touching
        reasons = reasons or [*failures(result), *met] or ["none that keeps them determines every parameter."]
        if design.stop.late():
            break
    floor = design.clearance is not None and design.clearance.floor.default
    spent = design.stop()
    raise NotIdentifiedError(
        "No motion of {robot} that keeps its limits was found in {starts_tried} starts: {reasons}",
        remedy="Use {more}, more {starts}, {no_floor}or other {limits}.",
        robot=design.robot.name,
        starts_tried=len(candidates),
        reasons=" ".join(reasons),
        more=Message("a larger {budget}, which was spent, a longer {duration}" if spent else "a longer {duration}"),
        no_floor=Message("no floor ({none}), ", none=Argument("floor", "none")) if floor else "",
    )


def _determines_all(design: Design, problem: DesignProblem, candidate: FoundMotion) -> bool:
    """Return whether a motion, with what is already known, determines every parameter: one that hardly moves does not."""
    if candidate.phi >= UNSEEN / 2:
        return False
    return design.prior is not None or design.program.conditioning(*problem.states(candidate.x)).full_rank


def _result(
    design: Design, problem: DesignProblem, best: Proven, touching: Mapping[str, str], candidates: list[FoundMotion]
) -> Excitation:
    x, count = best.candidate.x, len(design.chosen.of)
    motion = design.motion(x)
    states = problem.states(x)
    # What will be fitted, with exact dry friction.
    fitted = information_program(design.robot, design.terms)
    information = Information(fitted, design.noise, design.prior, "numpy").matrix(*states)
    samples = len(problem.times) * design.course.periods
    factor, stopped = _std_factor(design, problem, x), len(candidates) < design.search.starts or design.stop()
    unproven = {
        name: "the budget was spent before it was proven; it is kept at every instant that was computed."
        for name, proof in best.proofs.items()
        if not proof.ok
    }
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
        phi=best.candidate.phi / count + (np.log(samples) if design.chosen.criterion.weighs_noise else 0.0),
        std_factor=factor,
        certificates=best.proofs,
        unchecked=unproven
        | {k: f"{why}; {touching[k]}" if k in touching else why for k, why in design.unchecked.items()},
        lowest=LowestPoint.along(
            design.robot, design.clearance, motion, sampled_times(motion.duration, _HEIGHTS_HZ, _HEIGHTS)
        ),
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
    criterion = design.chosen.criterion if design.chosen.criterion.is_volume else Determinant()
    count = len(design.chosen.of)
    rng = np.random.default_rng([design.search.seed, 2**31])
    random = [criterion(problem.matrix(problem.start(rng, share=1.0))) for _ in range(_RANDOM)]
    own = criterion(problem.matrix(x))
    values = [np.inf if value is None else value.phi for value in random]
    return float("nan") if own is None else float(np.exp((np.median(values) - own.phi) / (2 * count)))
