"""From the logs of many arms of one kind to a fleet: `taupi.identify_fleet`."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from taupi.checks import real_array
from taupi.dynamics.terms import TermsLike, drifting_terms, modulated_terms, resolve_terms
from taupi.errors import Argument, TaupiError, unknown
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.estimators.consistent import problem_of_logs
from taupi.identification.fleet.arm_rows import (
    ArrowSolution,
    FleetRows,
    WeightedArms,
    inflation,
    solve_arrow,
    weighted,
    weighted_apart,
)
from taupi.identification.fleet.fleet_fit import TOO_FEW, ArmEstimate, ArmFits, Fleet
from taupi.identification.fleet.population import LEAST_ARMS, ParameterSpread, compare_arms, odd_arms, spread_of
from taupi.identification.inputs import FitInputs, LogsLike, PriorLike, SingleRuns, each_run, log_list
from taupi.identification.problem import Problem
from taupi.identification.results.assemble import assemble
from taupi.identification.results.fit import Fit
from taupi.identification.results.uncertainty import Uncertainty, covariance_root
from taupi.identification.rows.preparation import FitOptions, Preparation
from taupi.identification.solve import Solution, solve
from taupi.model.robot import Robot
from taupi.settings import settle
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading, Streaming
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from typing_extensions import Unpack

OWN = tuple(drifting_terms())
TERMS = ("rotor", "viscous", "coulomb", "offset")
# Parameters that lie farther out than this are faults: they are not pulled to the fleet.
_FAULT = 4.0
# The spread between arms is at least this share of the centre: no two arms are equal.
_LEAST_SPREAD = 0.01


@small_algebra
def identify_fleet(
    robot: Robot,
    logs: Mapping[str, LogsLike],
    own: Sequence[str] = OWN,
    terms: TermsLike = TERMS,
    *,
    when: Mapping[str, Sequence[float]] | None = None,
    base: BaseParameters | None = None,
    prior: PriorLike = None,
    workers: int | None = None,
    seed: int = 0,
    client: object = None,
    resume: str | os.PathLike[str] | None = None,
    skip_bad: bool = False,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[FitOptions],
) -> Fleet:
    """Return what arms of one kind share, and what is separate for each of them: tau_k = Y_s x_s + Y_o x_k + noise.

    Own parameters are pulled to the fleet, x_k ~ N(centre, deviation^2), inside the least squares, with centre and deviation from
    the fleet itself; faults are not. Arms whose logs contradict the links of the others are found first, and fitted alone.
    Short logs gain most: the logs of all arms determine the links of each.

    Args:
        robot: The description of all arms.
        logs: The logs of each arm by its name, in the order in which they were recorded.
        own: The terms that are separate for each arm, by name; viscous and dry friction and offset by default. Everything else
            is shared.
        terms: The joint terms, as in `taupi.identify`, but without those that depend on load or bend with speed; rotor inertia,
            viscous and dry friction and offset by default.
        when: When the logs of each arm were recorded, as numbers, such as days; by default 0, 1, 2, ...
        base: The base parameters for these terms; computed by default.
        prior: Standard parameters (p,), or a robot, for what the logs leave open; those of the description by default.
        workers: How many files are processed at once; by default the number of cores.
        seed: For everything random; 0 by default.
        client: A Dask client whose workers read the logs, as in `taupi.identify`; none by default.
        resume: A folder that keeps the pieces of finished logs, with a `client`; none by default.
        skip_bad: Whether logs that cannot be used are left out; False by default.
        reading: How files are read, a `taupi.Streaming`.
        preparation: How logs become rows, a `taupi.Preparation`.
        options: The fields of `reading` and `preparation` as keywords.

    Returns:
        The fleet: shared and own parameters, their spread, outliers, and drift.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(1000)[:, None] / 100, np.array([1.0, 1.7])
    >>> logs = {}
    >>> for k in range(6):
    ...     one = arm.with_friction(viscous=[0.5 + 0.02 * k, 0.3 if k != 4 else 0.9])
    ...     q, qd, qdd = np.sin(w * t + k), w * np.cos(w * t + k), -w * w * np.sin(w * t + k)
    ...     tau = tp.inverse_dynamics(one, terms=("viscous",))(q, qd, qdd)
    ...     logs[f"arm-{k}"] = tp.Log(t[:, 0], q, tau=tau + 0.02 * np.random.default_rng(k).normal(size=q.shape))
    >>> fleet = tp.identify_fleet(arm, logs, own=("viscous",), terms=("viscous",), cutoff_hz=10)
    >>> [(o.arm, o.parameter) for o in fleet.outliers()]
    [('arm-4', 'elbow.viscous')]
    """
    settings, prepared = settle(identify_fleet, options, (Streaming, reading), (Preparation, preparation))
    if not isinstance(logs, Mapping) or len(logs) < 2 or not all(isinstance(arm, str) and arm for arm in logs):
        raise TaupiError(
            '{logs} is {got!r}, expected a mapping from arms to their logs, {"arm-17": [...], ...}, at least two.',
            got=logs,
        )
    files = {arm: log_list(each) for arm, each in logs.items()}
    recorded = _times(files, when)
    runs = {arm: [each_run([log], robot, settings) for log in each] for arm, each in files.items()}
    lists = {arm: SingleRuns(chain.from_iterable(each)) for arm, each in runs.items()}
    times = {arm: [t for each, t in zip(runs[arm], recorded[arm], strict=True) for _ in each] for arm in runs}
    if prepared.relative_gains is None:  # the drives of different arms do not read alike
        prepared = replace(prepared, relative_gains=0.0)
    _check_terms(own, terms)
    every = SingleRuns(chain.from_iterable(lists.values()))
    inputs = FitInputs(
        robot,
        every,
        terms,
        elastic=False,
        base=base,
        prior=prior,
        workers=workers,
        seed=seed,
        reading=settings,
        preparation=prepared,
        client=client,
        resume=resume,
        skip_bad=skip_bad,
    )
    problem = problem_of_logs(inputs)
    rows, names, moments = _fleet_rows(problem, lists, times, own)
    triangles, noise = weighted_apart(rows)
    freedom = [max(sum(f.independent for f in rows.factors_of(k)) - problem.base.count, 1.0) for k in range(len(names))]
    odd = odd_arms(triangles, freedom)
    pooled = [k not in odd for k in range(len(names))]
    fitted = weighted(rows, pooled, noise)
    return _fleet(rows, fitted, pooled, names, moments, {names[k]: ratio for k, ratio in odd.items()})


def _check_terms(own: Sequence[str], terms: TermsLike) -> None:
    """Refuse terms that a fleet cannot have, and own ones that are not among them."""
    resolved = resolve_terms(terms)
    if modulated_terms(resolved):
        raise TaupiError(
            "{terms} has friction that depends on load or bends with speed, expected terms that are linear."
        )
    if isinstance(own, str) or not isinstance(own, Collection) or not len(own):
        raise TaupiError("{own} is {got!r}, expected the names of terms, such as {other_own}.", got=own, other_own=OWN)
    known = [term.name for term in resolved]
    for name in own:
        if name not in known:
            raise unknown(Argument("own"), name, known)


def _times(
    lists: Mapping[str, Sequence[LogLike]], when: Mapping[str, Sequence[float]] | None
) -> dict[str, tuple[float, ...]]:
    """Return when each log was recorded."""
    if when is None:
        return {arm: tuple(float(k) for k in range(len(each))) for arm, each in lists.items()}
    stated, result = when if isinstance(when, Mapping) else {}, dict[str, tuple[float, ...]]()
    for arm, each in lists.items():
        moments = real_array("when", stated.get(arm, ()))
        if moments.shape != (len(each),) or not np.isfinite(moments).all():
            raise TaupiError(
                "{when} has {got} for {arm}, expected {expected} numbers, one for each log.",
                got=moments.tolist() if arm in stated else "nothing",
                arm=arm,
                expected=len(each),
            )
        result[arm] = tuple(moments.tolist())
    return result


def _fleet_rows(
    problem: Problem,
    lists: Mapping[str, Sequence[LogLike]],
    times: Mapping[str, Sequence[float]],
    own: Sequence[str],
) -> tuple[FleetRows, list[str], list[tuple[float, ...]]]:
    """Return the rows of the arms that have logs, their names, and when their logs were recorded; bad logs were left out."""
    every = [(arm, log, t) for arm, each in lists.items() for log, t in zip(each, times[arm], strict=True)]
    kept, place = [], 0
    for log in problem.logs:
        while every[place][1] is not log:
            place += 1
        kept.append(every[place])
        place += 1
    by_arm: dict[str, list[int]] = {}
    for k, (arm, _, _) in enumerate(kept):
        by_arm.setdefault(arm, []).append(k)
    names, arms = list(by_arm), tuple(tuple(logs) for logs in by_arm.values())
    moments = [tuple(kept[k][2] for k in logs) for logs in arms]
    kinds = [entry.kind.removesuffix("R") for entry in problem.base.parameters.layout.entries]
    own_places = tuple(k for k, kind in enumerate(kinds) if kind in own)
    shared = tuple(k for k in range(len(kinds)) if k not in own_places)
    if not own_places or not shared:
        raise TaupiError("{own} is {got!r}, expected some of the parameters, not all or none of them.", got=tuple(own))
    return FleetRows(problem, arms, own_places, shared), names, moments


def _fleet(
    rows: FleetRows,
    fitted: WeightedArms,
    pooled: Sequence[bool],
    names: Sequence[str],
    moments: Sequence[tuple[float, ...]],
    odd: dict[str, float],
) -> Fleet:
    """Return the fleet: the spread of own parameters, own parameters pulled to it, and a fit of each arm, made when needed."""
    problem, base = rows.problem, rows.problem.base
    wider, shared_wider = inflation(rows, fitted, pooled)
    free = fitted.solution
    variances = np.where(free.undetermined, np.inf, free.apart(pooled) * wider)
    priors = rows.priors
    alone = {k: solve_arrow([fitted.triangles[k]], [True], *priors) for k in range(len(names)) if not pooled[k]}
    by_log = [_by_log(rows, k, fitted, alone.get(k, free).shared.x, wider) for k in range(len(names))]
    own = np.array([_mean_of_logs(*each, free.own[k]) for k, each in enumerate(by_log)])
    used = np.array(pooled)
    own_names = [base.names[i] for i in rows.own]
    spread = {
        name: spread_of(name, own[used, i], variances[used, i], ratios=not name.endswith(".offset"))
        for i, name in enumerate(own_names)
    }
    centres = np.array([each.centre for each in spread.values()])
    pulls = _pulls(spread, own, variances, pooled)
    drawn = [arm.with_centres(each * np.sqrt(wider)) for arm, each in zip(fitted.triangles, pulls, strict=True)]
    final = solve_arrow(drawn, pooled, np.concatenate([priors[0], centres]), priors[1])
    doubts = np.array([each.doubt(own[:, i], variances[:, i]) for i, each in enumerate(spread.values())]).T * (
        pulls > 0
    )

    def fit_of(k: int) -> Fit:
        source, at = (alone[k], 0) if k in alone else (final, k)
        return _arm_fit(rows, k, source, at, (wider, shared_wider), np.nan_to_num(doubts[k]), fitted)

    estimates = {}
    for k, name in enumerate(names):
        log_names = tuple(problem.records[i].name for i in rows.arms[k])
        estimates[name] = ArmEstimate(own[k], variances[k], log_names, moments[k], *by_log[k])
    links = len(rows.shared)  # the centres of own parameters follow
    shared_variance = np.sum(final.shared.spread[:links] ** 2, axis=1) * shared_wider
    values, undetermined = final.shared.x[:links], final.shared.undetermined[:links]
    shared = {
        base.names[i]: (float(v), float(np.sqrt(e)) if not u else np.inf)
        for i, v, e, u in zip(rows.shared, values, shared_variance, undetermined, strict=True)
    }
    notes = [f"errors are wider by {np.sqrt(wider).max():.2g} at most than white noise makes them: noise is correlated"]
    notes += [f"{name} does not share the links of the others and is fitted alone" for name in odd]
    if sum(pooled) < LEAST_ARMS:
        notes.append(TOO_FEW.format(count=sum(pooled)))
    fits = ArmFits(names, fit_of)
    return Fleet(fits, shared, spread, odd, estimates, (*notes, *problem.notes), dict(fits[names[0]].record))


def _pulls(
    spread: Mapping[str, ParameterSpread], own: np.ndarray, variances: np.ndarray, pooled: Sequence[bool]
) -> np.ndarray:
    """Return how strongly own parameters (k, o) are pulled to the fleet, 1 / deviation; faults and odd arms are not."""
    used = np.array(pooled)
    sound = np.zeros(own.shape, dtype=bool)
    sound[used] = np.abs(compare_arms(own[used], variances[used], list(spread.values())).z) <= _FAULT
    deviation = np.array([max(each.largest, _LEAST_SPREAD * abs(each.centre), 1e-12) for each in spread.values()])
    return np.where(sound, 1 / deviation, 0.0)


def _arm_fit(
    rows: FleetRows,
    k: int,
    source: ArrowSolution,
    at: int,
    wider: tuple[np.ndarray, np.ndarray],
    doubts: np.ndarray,
    fitted: WeightedArms,
) -> Fit:
    """Return the fit of an arm, with the covariance of own and shared parameters together.

    `wider` are the factors by which noise widens variances of own and shared ones, `doubts` (o,) is added to those of own ones.
    """
    problem, logs = rows.problem, rows.arms[k]
    number = {log: i for i, log in enumerate(logs)}
    factors, pieces = (tuple(f.at(number[f.file]) for f in rows.factors_of(k, which)) for which in (False, True))
    part = replace(
        problem,
        factors=factors,
        pieces=pieces,
        records=tuple(problem.records[i] for i in logs),
        recordings=(),
        logs=tuple(problem.logs[i] for i in logs),
    )
    weights = {(number[f], j): w for (f, j), w in fitted.weights.items() if f in number}
    order = [*rows.own, *rows.shared]
    size = np.sqrt(np.concatenate(wider))
    links = len(rows.shared)  # the centres of own parameters follow
    shared = (source.shared.spread @ source.shared.spread.T)[:links, :links]
    cross = source.cross[at][:, :links]
    blocks = np.block([[source.covariances[at], cross], [cross.T, shared]])
    covariance = np.zeros((len(order), len(order)))
    covariance[np.ix_(order, order)] = size[:, None] * blocks * size
    covariance[rows.own, rows.own] += doubts
    undetermined = np.zeros(len(order), dtype=bool)
    undetermined[order] = np.concatenate([source.undetermined[at], source.shared.undetermined[:links]])
    x = rows.values(source.own[at], source.shared.x[:links])
    freedom = np.full(len(order), max(sum(f.independent for f in factors) - len(rows.own), 1.0))
    solution = Solution(x, covariance_root(covariance), undetermined, source.shared.condition)
    names = {"own": [problem.base.names[i] for i in rows.own]}
    return assemble(part, "fleet", names, solution, weights, uncertain=Uncertainty(covariance, freedom))


def _by_log(
    rows: FleetRows, k: int, fitted: WeightedArms, shared: np.ndarray, wider: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return own parameters (logs, o) from each log of an arm alone, with these `shared` ones (s,), and their variances."""
    values, variances = [], []
    for log in rows.arms[k]:
        triangle = fitted.triangles[k]
        if len(rows.arms[k]) > 1:
            triangle = rows.triangle([f for f in rows.factors_of(k) if f.file == log], fitted.weights)
        own_rows = triangle.own_rows(shared)
        solution = solve(own_rows, np.zeros(len(rows.own)))
        values.append(np.where(solution.undetermined, np.nan, solution.x))
        variances.append(np.where(solution.undetermined, np.nan, np.sum(solution.spread**2, axis=1) * wider))
    return np.array(values), np.array(variances)


def _mean_of_logs(values: np.ndarray, variances: np.ndarray, together: np.ndarray) -> np.ndarray:
    """Return the mean (o,) of the estimates of the logs, weighted by precision; the joint one, `together`, if no log has its own.

    If friction changes between two logs, one value for both would bend the other parameters of the joint.
    """
    precision = np.where(np.isfinite(variances) & (variances > 0), 1 / np.where(variances > 0, variances, 1.0), 0.0)
    total = precision.sum(axis=0)
    mean = np.sum(precision * np.nan_to_num(values), axis=0) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mean, together)
