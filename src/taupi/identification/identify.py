"""From logs to a fit: one function, and the problem that it solves."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from taupi.dynamics.terms import Term, TermsLike, resolve_terms
from taupi.errors import NotIdentifiedError, TaupiError, shown
from taupi.identifiability.base import BaseParameters
from taupi.identifiability.conditioning import judged
from taupi.identifiability.motion import joint_facts
from taupi.identification.bandwidth import HALVINGS, MOST, agreements
from taupi.identification.dry import best_shapes, plain_shapes
from taupi.identification.estimators import resolve_estimator
from taupi.identification.factor import Compressor, JointFactor, merged, stacked
from taupi.identification.fit import Fit
from taupi.identification.friction import friction_plan
from taupi.identification.motion import ONE_WAY, one_way
from taupi.identification.problem import Problem, prior_of
from taupi.identification.rows import RowMaker
from taupi.identification.runs import Extent, Preparation, Run, open_run
from taupi.identification.terms import (
    basis_of,
    coupled_directions,
    given_widths,
    open_friction,
    shaped,
    with_directions,
)
from taupi.identification.workers import Workers
from taupi.model.robot import Robot
from taupi.progress import counted
from taupi.signals.columns import positive
from taupi.signals.log import Log
from taupi.signals.read import ColumnsLike
from taupi.threads import small_algebra

# Rotors belong to it: without their columns the drives of a geared arm are missing from its inertia.
DEFAULT_TERMS = ("rotor", "viscous", "coulomb", "offset")


@small_algebra
def identify(
    robot: Robot,
    logs: Any,
    estimator: Any = "consistent",
    terms: TermsLike = DEFAULT_TERMS,
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
    base: BaseParameters | None = None,
    prior: Any = None,
    stream: bool | None = None,
    workers: int | None = None,
    seed: int = 0,
) -> Fit:
    """Return base parameters pi_b estimated from logs: tau = Y_b(q, qd, qdd) pi_b + noise.

    `logs` is a Log, a path, or several of both, fitted together, each joint of each with its own noise. `estimator` is a
    name (`"ols"`, `"wls"`, ...) or an object with `fit(problem)`; `terms` are columns of each joint besides its link.
    `columns` and `rate_hz` read files (`taupi.read_log`); `cutoff_hz`, `decimate`, `velocity`, `derivatives` and `trim` go to
    `taupi.prepare`. Dry friction sets in at low speed by the shape that explains the runs best (`taupi.identification.dry`);
    with `slow`, in rad/s or m/s, it is F tanh(qd / slow), and 0 is F sgn(qd). `prior` (p,) is the description's own by
    default. Files of more than 64 MB are streamed (`stream` decides otherwise), `workers` of them at once; the answer is the
    same.

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
        preparation = Preparation(cutoff_hz, decimate, 4, derivatives, velocity, trim, slow=_frozen(slow))
    chosen = resolve_estimator(estimator)
    problem = build_problem(
        robot, logs, terms, columns=columns, rate_hz=rate_hz, preparation=preparation, base=base, prior=prior, stream=stream,
        workers=workers, seed=seed,
    )  # fmt: skip
    return chosen.fit(problem)


@small_algebra
def build_problem(
    robot: Robot,
    logs: Any,
    terms: TermsLike = DEFAULT_TERMS,
    *,
    columns: ColumnsLike = None,
    rate_hz: float | None = None,
    preparation: Preparation | None = None,
    base: BaseParameters | None = None,
    prior: Any = None,
    stream: bool | None = None,
    workers: int | None = None,
    seed: int = 0,
) -> Problem:
    """Return what `taupi.identify` solves: logs prepared and compressed. A second estimator on it costs milliseconds.

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
    wanted = with_directions(resolve_terms(terms), coupled_directions(robot, columns))
    given = _several(logs)
    with Workers(len(given), workers) as pool:
        runs = pool.map(lambda g: open_run(g, robot, preparation, columns, rate_hz, stream), given)
        _refuse_twice([run for g, run in zip(given, runs, strict=True) if not isinstance(g, Log)])
        basis, runs = _settled(robot, wanted, runs, preparation, base)
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
    facts = joint_facts(robot.joint_names, extremes[0], extremes[1])
    found = judged(program, samples, stacked(factors)[:, :-1], facts)
    notes = [*(found.sentences if not found.full_rank else found.sentences[:1])]
    notes += [f"{run.name}: {note}" for run in runs for note in run.notes]
    notes += _friction_notes(robot, basis, runs[0].slow)
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


def _settled(
    robot: Robot, terms: tuple[Term, ...], runs: list[Run], settings: Preparation, base: BaseParameters | None
) -> tuple[BaseParameters, list[Run]]:
    """Return the base parameters with dry friction's shapes, and the runs with their cutoffs, without slow rows of joints
    that never reverse."""
    directions = open_friction(terms, robot.joint_names)
    if not directions:
        basis = basis_of(robot, terms, base)
        return basis, _agreed(basis, runs, settings)
    extent = Extent.of([run.extent(np.array(list(directions.values()))) for run in runs])
    widths = None if settings.slow is None else given_widths(settings.slow, robot.n)
    stuck = one_way(extent.low, extent.high)
    joints = [list(directions).index(n) for n in robot.joint_names if n in directions]
    ways = {
        name: float(np.sign(v)) for name, v, s in zip(directions, extent.low + extent.high, stuck, strict=True) if s
    }
    slow = np.where(stuck[joints], ONE_WAY * extent.speed[joints], 0.0) if joints else np.zeros(robot.n)
    runs = [dataclasses.replace(run, slow=slow, ways=ways) for run in runs]
    shapes = plain_shapes(list(directions), extent, widths if joints else None)
    basis = basis_of(robot, shaped(terms, robot.joint_names, shapes), base)
    runs = _agreed(basis, runs, settings)
    if settings.slow is None:
        sizes = zip(extent.speed.tolist(), extent.range.tolist(), strict=True)
        sized = {name: s for name, s, one in zip(directions, sizes, stuck, strict=True) if not one}
        shapes |= best_shapes(basis, runs, sized)
        basis = basis_of(robot, shaped(terms, robot.joint_names, shapes), basis)
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


def _friction_notes(robot: Robot, basis: BaseParameters, slow: np.ndarray) -> list[str]:
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
    pairs = [f"{n} {v:.3g}" for n, v in zip(robot.joint_names, slow, strict=True) if v]
    if pairs:
        told.append(
            f"rows slower than this are left out for joints that never reverse (rad/s, m/s): {', '.join(pairs)}"
        )
    return told


def _frozen(slow: float | Sequence[float] | None) -> float | tuple[float, ...] | None:
    if slow is None or isinstance(slow, int | float):
        return slow
    return tuple(float(v) for v in slow)
