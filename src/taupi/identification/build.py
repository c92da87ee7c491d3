"""From logs to the problem that estimators solve: opened, tuned, and compressed to triangles."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from taupi.dynamics.terms import Term
from taupi.errors import NotIdentifiedError, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import conditioning_of_factor
from taupi.identifiability.motion_facts import joint_facts
from taupi.identification.equations import Equations
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.friction.fitted_terms import (
    basis_of,
    coupled_directions,
    given_widths,
    open_friction,
    resolved,
    shaped,
    with_directions,
)
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem, prior_of
from taupi.identification.rows.block_source import BlockSource, naming, open_source
from taupi.identification.rows.factors import Compressor, JointFactor, merged, stacked
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Extent, Recording
from taupi.identification.rows.row_maker import RowMaker
from taupi.identification.rows.samples import ONE_WAY, one_way
from taupi.identification.rows.workers import Workers
from taupi.identification.tuning.elastic_cutoff import telling_cutoff
from taupi.identification.tuning.friction_shape import best_shapes, plain_shapes
from taupi.identification.tuning.model_bandwidth import with_explained_cutoffs
from taupi.identification.tuning.timing import timed
from taupi.progress import counted
from taupi.signals.log import Log
from taupi.threads import small_algebra

# Samples of a long log by which the settings of an elastic robot are chosen.
_ENOUGH = 50_000


@small_algebra
def build(inputs: FitInputs) -> Problem:
    """Return the problem of a fit: logs opened, what is left open chosen from them, rows compressed."""
    equations, reading = inputs.equations, inputs.reading
    terms = with_directions(
        resolved(inputs.asked_terms, equations.elastic), coupled_directions(inputs.robot, reading.columns)
    )
    with Workers(len(inputs.logs), inputs.workers) as pool:
        sources = pool.map(
            lambda log: open_source(log, equations, inputs.preparation, reading, pool.check), inputs.logs
        )
        _refuse_twice([s for log, s in zip(inputs.logs, sources, strict=True) if not isinstance(log, Log)])
        preparation, notes = _tuned(inputs, equations, terms, sources[0])
        recordings = pool.map(lambda source: _recording(source, equations, preparation), sources)
        base, recordings = _settled(equations, terms, recordings, preparation, inputs.base)
        with _counting(recordings) as count:
            plan = friction_plan(base)
            gathered = pool.map(lambda k: _compressed(RowMaker(plan), recordings[k], k, count), range(len(recordings)))
    pieces = tuple(factor for factors, _, _ in gathered for factor in factors)
    samples = sum(count for _, count, _ in gathered)
    factors, program = tuple(merged(pieces)), base.regressor()
    _refuse_few(samples, sum(f.rows for f in factors), len(base.names))
    extremes = np.concatenate([e for _, _, e in gathered], axis=1)
    facts = joint_facts(inputs.robot.joint_names, *extremes[:, :, list(equations.motors)])
    conditioning = conditioning_of_factor(program, samples, stacked(factors)[:, :-1], facts)
    told = conditioning.sentences if not conditioning.full_rank else conditioning.sentences[:1]
    return Problem(
        robot=inputs.robot,
        terms=base.terms,
        base=base,
        regressor=program,
        factors=factors,
        pieces=pieces,
        conditioning=conditioning,
        prior=prior_of(inputs.prior, base),
        recordings=tuple(recordings),
        preparation=preparation,
        notes=(*told, *_recording_notes(recordings), *notes, *_elastic_notes(base), *_friction_notes(base, recordings)),
        seed=inputs.seed,
    )


def _recording(source: BlockSource, equations: Equations, preparation: Preparation) -> Recording:
    with naming(source.first.source.path):
        return Recording.of(source, equations, preparation)


def _tuned(
    inputs: FitInputs, equations: Equations, terms: tuple[Term, ...], source: BlockSource
) -> tuple[Preparation, list[str]]:
    """Return the settings, and why: of an elastic robot, cutoff, delay of encoders and held torque as the first log shows."""
    settings, notes = inputs.preparation, list[str]()
    if not equations.elastic or source.first.is_prepared:
        return settings, notes
    head = source.head(_ENOUGH)
    base = basis_of(equations.robot, terms, inputs.base, elastic=True)
    if settings.cutoff_hz is None:

        def problem(hz: float) -> Problem:
            # With every choice made: building it does not tune again.
            known = dataclasses.replace(
                settings, cutoff_hz=hz, torque=settings.torque or "sampled", encoder_delay=settings.encoder_delay or 0.0
            )
            return build(FitInputs(inputs.robot, [head], terms, elastic=True, base=base, preparation=known))

        hz, note = telling_cutoff(head, equations, problem)
        settings, notes = dataclasses.replace(settings, cutoff_hz=hz), [note]
    if settings.torque is None or settings.encoder_delay is None:
        settings, said = timed(head, base, settings)
        notes += said
    return settings, notes


def _settled(
    equations: Equations,
    terms: tuple[Term, ...],
    recordings: list[Recording],
    settings: Preparation,
    base: BaseParameters | None,
) -> tuple[BaseParameters, list[Recording]]:
    """Return the base parameters with dry friction's shapes, and the recordings with their cutoffs, without slow rows of
    joints that never reverse."""
    robot, elastic = equations.robot, equations.elastic
    directions = open_friction(terms, equations)
    if not directions:
        basis = basis_of(robot, terms, base, elastic)
        return basis, with_explained_cutoffs(basis, recordings, settings)
    extent = Extent.of([r.extent(np.array(list(directions.values()))) for r in recordings])
    widths = None if settings.slow is None else given_widths(settings.slow, robot.n)
    stuck = one_way(extent.low, extent.high)
    joints = [list(directions).index(n) for n in robot.joint_names if n in directions]
    ways = {
        name: float(np.sign(v)) for name, v, s in zip(directions, extent.low + extent.high, stuck, strict=True) if s
    }
    least = np.where(stuck[joints], ONE_WAY * extent.speed[joints], 0.0) if joints else np.zeros(robot.n)
    slow = equations.on_motors(least)
    recordings = [dataclasses.replace(r, slow=np.maximum(r.slow, slow), ways=ways) for r in recordings]
    shapes = plain_shapes(list(directions), extent, widths if joints else None)
    basis = basis_of(robot, shaped(terms, equations, shapes), base, elastic)
    recordings = with_explained_cutoffs(basis, recordings, settings)
    if settings.slow is None:
        sizes = zip(extent.speed.tolist(), extent.range.tolist(), strict=True)
        sized = {name: s for name, s, one in zip(directions, sizes, stuck, strict=True) if not one}
        shapes |= best_shapes(basis, recordings, sized)
        basis = basis_of(robot, shaped(terms, equations, shapes), basis, elastic)
    return basis, recordings


def _counting(recordings: Sequence[Recording]) -> AbstractContextManager[Callable[[int], None]]:
    """Give what shows the progress of samples, where some are streamed: the others are done at once."""
    if not any(r.source.streamed for r in recordings):
        return nullcontext(lambda samples: None)
    return counted("samples", sum(r.source.samples for r in recordings))


def _compressed(
    maker: RowMaker, recording: Recording, file: int, went: Callable[[int], None]
) -> tuple[list[JointFactor], int, np.ndarray]:
    """Return the factors of a recording, its number of samples, and the extremes (2, 2, n) of qd and qdd over rows that
    count."""
    gather = Compressor(maker.used)
    low, high = np.full((2, maker.n), np.inf), np.full((2, maker.n), -np.inf)
    for rows in recording.rows(maker):
        gather.add(rows.y, rows.tau, rows.use)
        went(len(rows) * recording.thinned)
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


def _refuse_twice(sources: Sequence[BlockSource]) -> None:
    """Refuse a file that is given twice: its noise would count as half."""
    seen: dict[str, str] = {}
    for source in sources:
        sha256, name = source.first.source.sha256, source.name
        if sha256 and sha256 in seen:
            same = seen[sha256] == name
            message = f"{name} is given twice" if same else f"{seen[sha256]} and {name} hold the same bytes"
            raise TaupiError(f"{message}: give each log once.")
        seen[sha256] = name


def _recording_notes(recordings: Sequence[Recording]) -> list[str]:
    return [f"{r.source.name}: {note}" for r in recordings for note in r.notes]


def _elastic_notes(base: BaseParameters) -> list[str]:
    """Return in words that springs were identified, and what of it has no single values."""
    if not base.elastic:
        return []
    names = ", ".join(base.robot.elastic_joints)
    note = f"elastic joints ({names}): rows of links and of motors together, a weight each; a link's torque is that of its spring"
    return [note, *([base.sentence] if base.sentence else [])]


def _friction_notes(base: BaseParameters, recordings: Sequence[Recording]) -> list[str]:
    """Return in words how dry friction was taken at low speed."""
    plan, notes = friction_plan(base), []
    parts = list(zip(plan.owners, plan.widths, plan.distances, strict=True))
    smooth = [f"{owner} {v:.3g}" for owner, v, d in parts if v and not d]
    if smooth:
        notes.append(f"dry friction is tanh(qd / v), v in rad/s or m/s: {', '.join(smooth)}")
    held = [f"{owner} {d:.3g}" for owner, _, d in parts if d]
    if held:
        notes.append(
            f"dry friction builds up over d after a reversal and is held at standstill, d in rad or m: {', '.join(held)}"
        )
    pairs = [f"{n} {v:.3g}" for n, v in zip(Equations.of(base).names, recordings[0].slow, strict=True) if v]
    if pairs:
        notes.append(f"rows slower than this are left out (rad/s, m/s): {', '.join(pairs)}")
    return notes
