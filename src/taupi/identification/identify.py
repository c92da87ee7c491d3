"""From logs to a fit: one function, and the problem that it solves."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from taupi.dynamics.terms import Along, Coulomb, Term, TermsLike, resolve_terms
from taupi.errors import NotIdentifiedError, TaupiError, shown
from taupi.identifiability.base import BaseParameters
from taupi.identifiability.conditioning import judged
from taupi.identifiability.motion import joint_facts
from taupi.identification.estimators import resolve_estimator
from taupi.identification.factor import Compressor, JointFactor, merged, stacked
from taupi.identification.fit import Fit
from taupi.identification.friction import friction_plan
from taupi.identification.motion import ONE_WAY, one_way
from taupi.identification.problem import Problem, prior_of
from taupi.identification.runs import Preparation, Run, open_run
from taupi.identification.terms import basis_of, coupled_directions, smoothed, with_directions
from taupi.identification.workers import Workers
from taupi.model.robot import Robot
from taupi.program.program import Program
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
    estimator: Any = "wls",
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
    `taupi.prepare`. Dry friction is F tanh(qd / slow), `slow` in rad/s or m/s and by default 1 % of each joint's largest speed;
    0 is F sgn(qd). `prior` (p,) is the description's own by default. Files of more
    than 64 MB are streamed (`stream` decides otherwise), `workers` of them at once; the answer is the same.

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
        chosen, runs = _settled(robot, wanted, runs, preparation)
        basis = basis_of(robot, chosen, base)
        program, plan = basis.regressor(), friction_plan(basis)
        runs = [dataclasses.replace(run, friction=plan) for run in runs]
        with _counting(runs) as count:

            def went(samples: int) -> None:
                pool.check()
                count(samples)

            gathered = pool.map(lambda k: _compressed(program, runs[k], k, went), range(len(runs)))
    pieces = tuple(f for g, _, _ in gathered for f in g)
    samples = sum(n for _, n, _ in gathered)
    factors = tuple(merged(pieces))
    _refuse_few(samples, sum(f.rows for f in factors), len(basis.names))
    extremes = np.concatenate([e for _, _, e in gathered], axis=1)
    facts = joint_facts(robot.joint_names, extremes[0], extremes[1])
    found = judged(program, samples, stacked(factors)[:, :-1], facts)
    notes = [*(found.sentences if not found.full_rank else found.sentences[:1])]
    notes += [f"{run.name}: {note}" for run in runs for note in run.notes]
    notes += _friction_notes(robot, chosen, runs[0].slow)
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


def _settled(
    robot: Robot, terms: tuple[Term, ...], runs: list[Run], settings: Preparation
) -> tuple[tuple[Term, ...], list[Run]]:
    """Return the terms with the speed at which friction sets in, and the runs without slow rows of joints that never reverse."""
    if not any(isinstance(t, Coulomb) or (isinstance(t, Along) and isinstance(t.of, Coulomb)) for t in terms):
        return terms, runs
    more = [t.direction for t in terms if isinstance(t, Along) and isinstance(t.of, Coulomb)]
    directions = np.vstack([np.eye(robot.n), *(np.array([float(c) for c in d]) for d in more)])
    each = [run.speeds(directions) for run in runs]
    low, high = np.min([a for a, _ in each], axis=0), np.max([b for _, b in each], axis=0)
    stuck = one_way(low, high)[: robot.n]
    speed = np.maximum(np.abs(low), np.abs(high))[: robot.n]
    slow = np.where(stuck, ONE_WAY * speed, 0.0)
    chosen = smoothed(terms, low, high, robot.n, settings.slow)
    return chosen, [dataclasses.replace(run, slow=slow) for run in runs]


def _counting(runs: Sequence[Run]) -> AbstractContextManager[Callable[[int], None]]:
    """Give what shows the progress of samples, where some are streamed: the others are done at once."""
    if not any(run.streamed for run in runs):
        return nullcontext(lambda samples: None)
    known = [run.rows for run in runs if run.rows is not None]
    return counted("samples", sum(known) if len(known) == len(runs) else None)


def _compressed(
    program: Program, run: Run, file: int, went: Callable[[int], None]
) -> tuple[list[JointFactor], int, np.ndarray]:
    """Return a run's factors, its number of samples, and the extremes (2, 2, n) of qd and qdd over rows that count."""
    gather = Compressor(program, run.friction)
    n = gather.n
    low, high = np.full((2, n), np.inf), np.full((2, n), -np.inf)
    for samples in run.blocks():
        gather.add(samples)
        went(len(samples) * run.step)
        for k, value in enumerate((samples.qd, samples.qdd)):
            low[k] = np.minimum(low[k], np.where(samples.use, value, np.inf).min(axis=0, initial=np.inf))
            high[k] = np.maximum(high[k], np.where(samples.use, value, -np.inf).max(axis=0, initial=-np.inf))
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


def _friction_notes(robot: Robot, terms: Sequence[Term], slow: np.ndarray) -> list[str]:
    """Return in words how dry friction was taken at low speed."""
    told = []
    for t in terms:
        if isinstance(t, Coulomb) and isinstance(t.velocity, tuple) and any(t.velocity):
            pairs = [f"{n} {v:.3g}" for n, v in zip(robot.joint_names, t.velocity, strict=True) if v]
            told.append(f"dry friction is tanh(qd / v), v in rad/s or m/s: {', '.join(pairs)}")
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
