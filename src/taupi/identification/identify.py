"""From logs to a fit: one function, and the problem that it solves."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from taupi.dynamics.drives import check_elastic
from taupi.dynamics.terms import Coulomb, Term, TermsLike
from taupi.errors import TaupiError, shown
from taupi.identifiability.base import BaseParameters
from taupi.identifiability.conditioning import judged
from taupi.identifiability.motion import joint_facts
from taupi.identification.cutoff import ENOUGH, telling_cutoff
from taupi.identification.equations import Equations
from taupi.identification.estimators import resolve_estimator
from taupi.identification.factor import Compressor, JointFactor, merged, stacked
from taupi.identification.fit import Fit
from taupi.identification.friction import dry_directions, friction_plan
from taupi.identification.motion import ONE_WAY, one_way
from taupi.identification.problem import Problem, prior_of
from taupi.identification.runs import Preparation, Run, first_samples, open_run
from taupi.identification.terms import basis_of, coupled_directions, dry, resolved, smoothed, with_directions
from taupi.identification.timing import timed
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.signals.clean import clean_log
from taupi.signals.log import Log
from taupi.signals.prepare import is_prepared
from taupi.signals.read import ColumnsLike

# Rotors belong to it: without their columns the drives of a geared arm are missing from its inertia.
DEFAULT_TERMS = ("rotor", "viscous", "coulomb", "offset")
# Of an elastic robot, whose rotors and springs are always there; springs of machines are damped.
ELASTIC_TERMS = ("coulomb", "viscous", "offset", "damping")
Reading = tuple[ColumnsLike, float | None, bool | None]  # columns, rate_hz, stream


def identify(
    robot: Robot,
    logs: Any,
    estimator: Any = "wls",
    terms: TermsLike | None = None,
    *,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    preparation: Preparation | None = None,
    cutoff_hz: float | None = None,
    decimate: int | None = None,
    velocity: str = "auto",
    derivatives: str = "central",
    trim: bool = True,
    slow: float | Sequence[float] | None = None,
    threshold: float | Sequence[float] | None = None,
    leave_out: str = "row",
    torque: str | None = None,
    encoder_delay: float | Sequence[float] | None = None,
    elastic: bool | None = None,
    base: BaseParameters | None = None,
    prior: Any = None,
    stream: bool | None = None,
    workers: int | None = None,
    seed: int = 0,
) -> Fit:
    """Return base parameters pi_b estimated from logs: tau = Y_b(q, qd, qdd) pi_b + noise.

    `logs` is a Log, a path, or several of both, fitted together, each joint of each with its own noise. `estimator` is a
    name (`"ols"`, `"wls"`, ...) or an object with `fit(problem)`; `terms` are columns of each joint besides its link, by default
    rotors, friction and an offset.
    `columns` and `rate_hz` read files (`taupi.read_log`); `cutoff_hz`, `decimate`, `velocity`, `derivatives` and `trim` go to
    `taupi.prepare`. Dry friction is F tanh(qd / slow), `slow` in rad/s or m/s and by default 1 % of each joint's largest speed;
    0 is F sgn(qd). Rows of joints slower than `threshold` are left out, or with `leave_out="sample"` the whole sample. `prior`
    (p,) is the description's own by default. Files of more than 64 MB are streamed (`stream` decides otherwise), `workers` of
    them at once; the answer is the same.

    A robot with elastic joints is identified from both sides of its springs: (0, u) = Y_b(q, qd, qdd, theta, thetad, thetadd)
    pi_b, from logs with q of the links, theta of the motors as seen behind the gears, and tau = u, conjugate to theta (Zollo et
    al. 2014). The cutoff is then the one at which the parameters are surest; an `encoder_delay` (s) of theta behind q, and a
    `torque` that is "held" from sample to sample instead of "sampled", are found from the log. `elastic=False` takes joints as
    rigid.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> t = np.arange(2000)[:, None] / 100
    >>> w = np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> fit = tp.identify(arm, log, terms=(), cutoff_hz=10)
    >>> bool(np.abs(fit.values - fit.basis.project(arm.parameters)).max() < 0.01)
    True
    """
    if preparation is None:
        preparation = Preparation(
            cutoff_hz, decimate, 4, derivatives, velocity, trim, slow=frozen(slow), threshold=frozen(threshold),
            leave_out=leave_out, torque=torque, encoder_delay=frozen(encoder_delay),
        )  # fmt: skip
    chosen = resolve_estimator(estimator)
    problem = build_problem(
        robot, logs, terms, columns=columns, rate_hz=rate_hz, preparation=preparation, elastic=elastic, base=base, prior=prior,
        stream=stream, workers=workers, seed=seed,
    )  # fmt: skip
    return chosen.fit(problem)


def build_problem(
    robot: Robot,
    logs: Any,
    terms: TermsLike | None = None,
    *,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    preparation: Preparation | None = None,
    elastic: bool | None = None,
    base: BaseParameters | None = None,
    prior: Any = None,
    stream: bool | None = None,
    workers: int | None = None,
    seed: int = 0,
    tune: bool = True,
) -> Problem:
    """Return what `taupi.identify` solves: logs prepared and compressed. A second estimator on it costs milliseconds.

    For elastic robots, what `preparation` leaves open is taken from the first log unless `tune` is False.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> log = tp.Log(t[:, 0], q, tau=tp.inverse_dynamics(arm)(q, qd, qdd))
    >>> problem = tp.build_problem(arm, log, terms=("viscous",))
    >>> problem.conditioning.rank, len(problem.factors)
    (8, 2)
    >>> fits = [e.fit(problem) for e in (tp.OrdinaryLeastSquares(), tp.WeightedLeastSquares())]
    """
    if not isinstance(robot, Robot):
        raise TaupiError(f"robot is {shown(robot)}, expected a Robot: use taupi.load(...).")
    preparation = preparation or Preparation()
    rows = _equations(robot, elastic)
    asked = (ELASTIC_TERMS if rows.elastic else DEFAULT_TERMS) if terms is None else terms
    wanted = with_directions(resolved(asked, rows.elastic), coupled_directions(robot, columns))
    given = _several(logs)
    said: list[str] = []
    if rows.elastic and tune:
        given, preparation, said = _tuned(given, rows, wanted, preparation, base, (columns, rate_hz, stream))
    with ThreadPoolExecutor(workers or min(len(given), os.cpu_count() or 1)) as pool:
        runs = list(pool.map(lambda g: open_run(g, rows, preparation, columns, rate_hz, stream), given))
        chosen, runs = _settled(rows, wanted, runs, preparation)
        basis = basis_of(robot, chosen, base, rows.elastic)
        program, plan = basis.regressor(), friction_plan(basis)
        runs = [dataclasses.replace(run, friction=plan) for run in runs]
        gathered = list(pool.map(lambda k: _compressed(program, runs[k], k), range(len(runs))))
    pieces = tuple(f for g, _, _ in gathered for f in g)
    samples = sum(n for _, n, _ in gathered)
    factors = tuple(merged(pieces))
    extremes = np.concatenate([e for _, _, e in gathered], axis=1)
    facts = joint_facts(robot.joint_names, *extremes[:, :, list(rows.motors)])
    found = judged(program, samples, stacked(factors)[:, :-1], facts)
    notes = [*(found.sentences if not found.full_rank else found.sentences[:1])]
    notes += [f"{run.name}: {note}" for run in runs for note in run.notes]
    notes += [*said, *_elastic_notes(rows, basis), *_friction_notes(rows, chosen, runs[0].slow)]
    return Problem(
        robot,
        chosen,
        basis,
        program,
        factors,
        pieces,
        found,
        prior_of(prior, basis),
        tuple(runs),
        preparation,
        tuple(notes),
        seed,
    )


def _equations(robot: Robot, elastic: bool | None) -> Equations:
    """Return the rows to fit: over links and motors where the robot has elastic joints, unless told otherwise."""
    if elastic is not None and not isinstance(elastic, bool):
        raise TaupiError(f"elastic is {shown(elastic)}, expected True, False, or None to see from the robot.")
    if elastic:
        check_elastic(robot)
    return Equations(robot, bool(robot.elastic_joints) if elastic is None else elastic)


def _tuned(
    given: list[Any],
    rows: Equations,
    terms: tuple[Term, ...],
    settings: Preparation,
    base: BaseParameters | None,
    reading: Reading,
) -> tuple[list[Any], Preparation, list[str]]:
    """Return logs, the first read unless it is streamed, and settings as it asks for: cutoff, delay of encoders, held torque."""
    log, read = first_samples(given[0], rows, *reading)
    given = [log, *given[1:]] if read else given
    if is_prepared(log):
        return given, settings, []
    found = basis_of(rows.robot, terms, base, elastic=True)
    start = clean_log(log.rows(slice(ENOUGH)), short_gap=settings.short_gap, long_gaps=settings.long_gaps)
    notes = []
    if settings.cutoff_hz is None:

        def build(hz: float) -> Problem:
            chosen = dataclasses.replace(settings, cutoff_hz=hz)
            return build_problem(rows.robot, start, terms, preparation=chosen, elastic=True, base=found, tune=False)

        hz, note = telling_cutoff(start, rows, build)
        settings, notes = dataclasses.replace(settings, cutoff_hz=hz), [note]
    if settings.torque is None or settings.encoder_delay is None:
        settings, said = timed(start, rows, found, settings)
        notes += said
    return given, settings, notes


def _settled(
    rows: Equations, terms: tuple[Term, ...], runs: list[Run], settings: Preparation
) -> tuple[tuple[Term, ...], list[Run]]:
    """Return the terms with the speed at which friction sets in, and the runs without slow rows of joints that never reverse."""
    rubbing = [t for t in terms if dry(t) is not None]
    if not rubbing:
        return terms, runs
    n = rows.robot.n
    directions = np.vstack([rows.on_motors(np.eye(n)), *(dry_directions(t, rows) for t in rubbing)])
    each = [run.speeds(directions) for run in runs]
    low, high = np.min([a for a, _ in each], axis=0), np.max([b for _, b in each], axis=0)
    speed = np.maximum(np.abs(low), np.abs(high))[:n]
    slow = rows.on_motors(np.where(one_way(low, high)[:n], ONE_WAY * speed, 0.0))
    chosen = smoothed(terms, low[n:], high[n:], n, settings.slow)
    return chosen, [dataclasses.replace(run, slow=np.maximum(run.slow, slow)) for run in runs]


def _compressed(program: Program, run: Run, file: int) -> tuple[list[JointFactor], int, np.ndarray]:
    """Return a run's factors, its number of samples, and the extremes (2, 2, n) of qd and qdd over rows that count."""
    gather = Compressor(program, run.friction)
    n = gather.n
    low, high = np.full((2, n), np.inf), np.full((2, n), -np.inf)
    for samples in run.blocks():
        gather.add(samples)
        for k, value in enumerate((samples.qd, samples.qdd)):
            low[k] = np.minimum(low[k], np.where(samples.use, value, np.inf).min(axis=0, initial=np.inf))
            high[k] = np.maximum(high[k], np.where(samples.use, value, -np.inf).max(axis=0, initial=-np.inf))
    extremes = np.stack([low, high], axis=1)
    return gather.result(file), gather.samples, np.where(np.isfinite(extremes), extremes, 0.0)


def _several(logs: Any) -> list[Any]:
    given = [logs] if isinstance(logs, Log | str | os.PathLike) else logs
    if not isinstance(given, Sequence) or not len(given):
        raise TaupiError(f"logs is {shown(logs)}, expected a Log, a path, or a list of them.")
    return list(given)


def _elastic_notes(rows: Equations, basis: BaseParameters) -> list[str]:
    """Return in words that springs were identified, and what of it has no single values."""
    if not rows.elastic:
        return []
    names = ", ".join(rows.robot.elastic_joints)
    told = f"elastic joints ({names}): rows of links and of motors together, a weight each; a link's torque is that of its spring"
    return [told, *([basis.sentence] if basis.sentence else [])]


def _friction_notes(rows: Equations, terms: Sequence[Term], slow: np.ndarray) -> list[str]:
    """Return in words how dry friction was taken at low speed."""
    told = []
    for t in terms:
        of = dry(t)
        if of is not None and isinstance(of.velocity, tuple) and any(of.velocity):
            pairs = [f"{n} {v:.3g}" for n, v in zip(rows.robot.joint_names, of.velocity, strict=True) if v]
            where = "" if isinstance(t, Coulomb) else f" ({t.name})"
            told.append(f"dry friction{where} is tanh(qd / v), v in rad/s or m/s: {', '.join(pairs)}")
    pairs = [f"{n} {v:.3g}" for n, v in zip(rows.names, slow, strict=True) if v]
    if pairs:
        told.append(f"rows slower than this are left out (rad/s, m/s): {', '.join(pairs)}")
    return told


def frozen(slow: float | Sequence[float] | None) -> float | tuple[float, ...] | None:
    """Return a number, or several as a tuple, which settings can hold."""
    if slow is None or isinstance(slow, int | float):
        return slow
    return tuple(float(v) for v in slow)
