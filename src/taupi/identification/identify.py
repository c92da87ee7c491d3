"""From logs to a fit: one function, and the problem that it solves."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from taupi.dynamics.drives import check_elastic
from taupi.dynamics.terms import Term, TermsLike
from taupi.errors import NotIdentifiedError, TaupiError, shown
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import conditioning_of_factor
from taupi.identifiability.motion_facts import joint_facts
from taupi.identification.estimators import resolve_estimator
from taupi.identification.fitted_terms import (
    basis_of,
    coupled_directions,
    given_widths,
    open_friction,
    resolved,
    shaped,
    with_directions,
)
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.problem import Problem, prior_of
from taupi.identification.results.fit import Fit
from taupi.identification.rows.equations import Equations
from taupi.identification.rows.factors import Compressor, JointFactor, merged, stacked
from taupi.identification.rows.recording import Extent, Preparation, Run, first_samples, open_run
from taupi.identification.rows.row_maker import RowMaker
from taupi.identification.rows.samples import ONE_WAY, one_way
from taupi.identification.rows.workers import Workers
from taupi.identification.tuning.elastic_cutoff import ENOUGH, telling_cutoff
from taupi.identification.tuning.friction_shape import best_shapes, plain_shapes
from taupi.identification.tuning.model_bandwidth import HALVINGS, MOST, agreements
from taupi.identification.tuning.timing import timed
from taupi.model.robot import Robot
from taupi.progress import counted
from taupi.signals.clean import clean_log
from taupi.signals.columns import positive
from taupi.signals.log import Log
from taupi.signals.prepare import is_prepared
from taupi.signals.read import ColumnsLike
from taupi.threads import small_algebra

# Rotors belong to it: without their columns the drives of a geared arm are missing from its inertia.
DEFAULT_TERMS = ("rotor", "viscous", "coulomb", "offset")
# Of an elastic robot, whose rotors and springs are always there.
ELASTIC_TERMS = ("coulomb", "viscous", "offset")
Reading = tuple[ColumnsLike, float | None, bool | None]  # columns, rate_hz, stream


@small_algebra
def identify(
    robot: Robot,
    logs: Any,
    estimator: Any = "consistent",
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
    `taupi.prepare`. Dry friction sets in at low speed by the shape that explains the runs best;
    with `slow`, in rad/s or m/s, it is F tanh(qd / slow), and 0 is F sgn(qd). Rows of joints slower than `threshold` are left
    out, or with `leave_out="sample"` the whole sample. `prior` (p,) is the description's own by default. Files of more than
    64 MB are streamed (`stream` decides otherwise), `workers` of them at once; the answer is the same.

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


@small_algebra
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
    if rate_hz is not None:
        positive(rate_hz, "rate_hz")
    equations = _equations(robot, elastic)
    asked = (ELASTIC_TERMS if equations.elastic else DEFAULT_TERMS) if terms is None else terms
    wanted = with_directions(resolved(asked, equations.elastic), coupled_directions(robot, columns))
    given, said = _several(logs), list[str]()
    files = [not isinstance(g, Log) for g in given]
    if equations.elastic and tune:
        given, preparation, said = _tuned(given, equations, wanted, preparation, base, (columns, rate_hz, stream))
    with Workers(len(given), workers) as pool:
        runs = pool.map(lambda g: open_run(g, equations, preparation, columns, rate_hz, stream), given)
        _refuse_twice([run for file, run in zip(files, runs, strict=True) if file])
        basis, runs = _settled(equations, wanted, runs, preparation, base)
        program, plan = basis.regressor(), friction_plan(basis)
        with _counting(runs) as count:

            def went(samples: int) -> None:
                pool.check()
                count(samples)

            gathered = pool.map(lambda k: _compressed(RowMaker(plan), runs[k], k, went), range(len(runs)))
    pieces = tuple(f for g, _, _ in gathered for f in g)
    samples = sum(n for _, n, _ in gathered)
    factors = tuple(merged(pieces))
    _refuse_few(samples, sum(f.rows for f in factors), len(basis.names))
    extremes = np.concatenate([e for _, _, e in gathered], axis=1)
    facts = joint_facts(robot.joint_names, *extremes[:, :, list(equations.motors)])
    found = conditioning_of_factor(program, samples, stacked(factors)[:, :-1], facts)
    notes = [*(found.sentences if not found.full_rank else found.sentences[:1])]
    notes += [f"{run.name}: {note}" for run in runs for note in run.notes]
    notes += [*said, *_elastic_notes(basis), *_friction_notes(basis, runs[0].slow)]
    return Problem(
        robot,
        basis.terms,
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
    equations: Equations,
    terms: tuple[Term, ...],
    settings: Preparation,
    base: BaseParameters | None,
    reading: Reading,
) -> tuple[list[Any], Preparation, list[str]]:
    """Return logs, the first read unless it is streamed, and settings as it asks for: cutoff, delay of encoders, held torque."""
    log, read = first_samples(given[0], equations, *reading)
    given = [log, *given[1:]] if read else given
    if is_prepared(log):
        return given, settings, []
    found = basis_of(equations.robot, terms, base, elastic=True)
    start = clean_log(log.rows(slice(ENOUGH)), short_gap=settings.short_gap, long_gaps=settings.long_gaps)
    notes = []
    if settings.cutoff_hz is None:

        def build(hz: float) -> Problem:
            chosen = dataclasses.replace(settings, cutoff_hz=hz)
            return build_problem(
                equations.robot, start, terms, preparation=chosen, elastic=True, base=found, tune=False
            )

        hz, note = telling_cutoff(start, equations, build)
        settings, notes = dataclasses.replace(settings, cutoff_hz=hz), [note]
    if settings.torque is None or settings.encoder_delay is None:
        settings, said = timed(start, equations, found, settings)
        notes += said
    return given, settings, notes


def _settled(
    equations: Equations,
    terms: tuple[Term, ...],
    runs: list[Run],
    settings: Preparation,
    base: BaseParameters | None,
) -> tuple[BaseParameters, list[Run]]:
    """Return the base parameters with dry friction's shapes, and the runs with their cutoffs, without slow rows of joints
    that never reverse."""
    robot, elastic = equations.robot, equations.elastic
    directions = open_friction(terms, equations)
    if not directions:
        basis = basis_of(robot, terms, base, elastic)
        return basis, _agreed(basis, runs, settings)
    extent = Extent.of([run.extent(np.array(list(directions.values()))) for run in runs])
    widths = None if settings.slow is None else given_widths(settings.slow, robot.n)
    stuck = one_way(extent.low, extent.high)
    joints = [list(directions).index(n) for n in robot.joint_names if n in directions]
    ways = {
        name: float(np.sign(v)) for name, v, s in zip(directions, extent.low + extent.high, stuck, strict=True) if s
    }
    least = np.where(stuck[joints], ONE_WAY * extent.speed[joints], 0.0) if joints else np.zeros(robot.n)
    slow = equations.on_motors(least)
    runs = [dataclasses.replace(run, slow=np.maximum(run.slow, slow), ways=ways) for run in runs]
    shapes = plain_shapes(list(directions), extent, widths if joints else None)
    basis = basis_of(robot, shaped(terms, equations, shapes), base, elastic)
    runs = _agreed(basis, runs, settings)
    if settings.slow is None:
        sizes = zip(extent.speed.tolist(), extent.range.tolist(), strict=True)
        sized = {name: s for name, s, one in zip(directions, sizes, stuck, strict=True) if not one}
        shapes |= best_shapes(basis, runs, sized)
        basis = basis_of(robot, shaped(terms, equations, shapes), basis, elastic)
    return basis, runs


def _agreed(basis: BaseParameters, runs: list[Run], settings: Preparation) -> list[Run]:
    """Return the runs with cutoffs up to which the model explains the torque, where none is given.

    A filter that lets too much noise pass spoils the model that is to judge it. So it begins with the cutoff that q suggests,
    halved as long as the model explains less than half of what passes.
    """
    if settings.cutoff_hz is not None or not any(run.cutoff for run in runs):
        return runs
    tried, found = list(runs), agreements(basis, runs)
    for _ in range(HALVINGS):
        poor = [_poor(run, hz) for run, hz in zip(tried, found, strict=True)]
        if not any(poor):
            break
        tried = [
            run.cut(run.through.cutoff_hz / 2) if p and run.through else run for run, p in zip(tried, poor, strict=True)
        ]
        found = agreements(basis, tried)
    return [_cut(run, None if _poor(t, hz) else hz) for run, t, hz in zip(runs, tried, found, strict=True)]


def _poor(run: Run, hz: float | None) -> bool:
    return run.cutoff is not None and run.through is not None and (hz is None or hz < run.through.cutoff_hz / 2)


def _cut(run: Run, hz: float | None) -> Run:
    """Return a run with a cutoff where the model ends to explain it, within what q allows."""
    if hz is None or run.cutoff is None:
        return run
    chosen = max(min(hz, MOST * run.cutoff.hz, run.cutoff.most_hz), run.cutoff.least_hz)
    said = run.cutoff.note.removeprefix("cutoff ")
    return run.cut(
        chosen, f"cutoff {chosen:.3g} Hz: the model explains the torque up to {hz:.3g} Hz; q alone says {said}"
    )


def _counting(runs: Sequence[Run]) -> AbstractContextManager[Callable[[int], None]]:
    """Give what shows the progress of samples, where some are streamed: the others are done at once."""
    if not any(run.streamed for run in runs):
        return nullcontext(lambda samples: None)
    known = [run.recorded for run in runs if run.recorded is not None]
    return counted("samples", sum(known) if len(known) == len(runs) else None)


def _compressed(
    maker: RowMaker, run: Run, file: int, went: Callable[[int], None]
) -> tuple[list[JointFactor], int, np.ndarray]:
    """Return a run's factors, its number of samples, and the extremes (2, 2, n) of qd and qdd over rows that count."""
    gather = Compressor(maker.used)
    low, high = np.full((2, maker.n), np.inf), np.full((2, maker.n), -np.inf)
    for rows in run.rows(maker):
        gather.add(rows.y, rows.tau, rows.use)
        went(len(rows) * run.thinned)
        for k, value in enumerate((rows.qd, rows.qdd)):
            low[k] = np.minimum(low[k], np.where(rows.use, value, np.inf).min(axis=0, initial=np.inf))
            high[k] = np.maximum(high[k], np.where(rows.use, value, -np.inf).max(axis=0, initial=-np.inf))
    extremes = np.stack([low, high], axis=1)
    return gather.result(file), gather.samples, np.where(np.isfinite(extremes), extremes, 0.0)


def _refuse_few(samples: int, rows: int, parameters: int) -> None:
    if rows < parameters:
        raise NotIdentifiedError(
            f"{samples} samples are left, {rows} equations for {parameters} parameters. Decimate less, or give longer logs."
        )


def _refuse_twice(runs: Sequence[Run]) -> None:
    """Refuse a file that is given twice: its noise would count as half."""
    seen: dict[str, str] = {}
    for run in runs:
        if run.sha256 and run.sha256 in seen:
            other = seen[run.sha256]
            told = f"{run.name} is given twice" if other == run.name else f"{other} and {run.name} hold the same bytes"
            raise TaupiError(f"{told}: give each log once.")
        seen[run.sha256] = run.name


def _several(logs: Any) -> list[Any]:
    given = [logs] if isinstance(logs, Log | str | os.PathLike) else logs
    if not isinstance(given, Sequence) or not len(given):
        raise TaupiError(f"logs is {shown(logs)}, expected a Log, a path, or a list of them.")
    return list(given)


def _elastic_notes(basis: BaseParameters) -> list[str]:
    """Return in words that springs were identified, and what of it has no single values."""
    if not basis.elastic:
        return []
    names = ", ".join(basis.robot.elastic_joints)
    told = f"elastic joints ({names}): rows of links and of motors together, a weight each; a link's torque is that of its spring"
    return [told, *([basis.sentence] if basis.sentence else [])]


def _friction_notes(basis: BaseParameters, slow: np.ndarray) -> list[str]:
    """Return in words how dry friction was taken at low speed."""
    plan, told = friction_plan(basis), []
    parts = list(zip(plan.owners, plan.widths, plan.distances, strict=True))
    smooth = [f"{owner} {v:.3g}" for owner, v, d in parts if v and not d]
    if smooth:
        told.append(f"dry friction is tanh(qd / v), v in rad/s or m/s: {', '.join(smooth)}")
    held = [f"{owner} {d:.3g}" for owner, _, d in parts if d]
    if held:
        told.append(
            f"dry friction builds up over d after a reversal and is held at standstill, d in rad or m: {', '.join(held)}"
        )
    pairs = [f"{n} {v:.3g}" for n, v in zip(Equations.of(basis).names, slow, strict=True) if v]
    if pairs:
        told.append(f"rows slower than this are left out (rad/s, m/s): {', '.join(pairs)}")
    return told


def frozen(slow: float | Sequence[float] | None) -> float | tuple[float, ...] | None:
    """Return a number, or several as a tuple, which settings can hold."""
    if slow is None or isinstance(slow, int | float):
        return slow
    return tuple(float(v) for v in slow)
