"""From logs to the problem that estimators solve: open the logs, choose what is left open, and compress their rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.dynamics.terms import Term, linear_terms, modulated_terms
from taupi.errors import Argument, NotIdentifiedError, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import conditioning_of_factor
from taupi.identifiability.motion_facts import joint_facts
from taupi.identification.equations import Equations
from taupi.identification.friction.dry_friction import friction_notes
from taupi.identification.friction.fitted_terms import (
    base_with_terms,
    coupled_directions,
    friction_widths,
    resolve_fit_terms,
    unshaped_friction,
    with_coupled_terms,
    with_friction_shapes,
)
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem, prior_of
from taupi.identification.rows.block_source import BlockSource, errors_naming, open_source
from taupi.identification.rows.chosen_cutoffs import ChosenCutoffs
from taupi.identification.rows.compression import compress, with_speeds
from taupi.identification.rows.factors import merge_stretches, stack_factors
from taupi.identification.rows.passes import LocalPasses, OpenedLogs, Passes, choice_order, log_names, open_logs
from taupi.identification.rows.pieces import Piece, piece_of
from taupi.identification.rows.plan import Plan, most_stretches
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Extent, LogRecord, Recording
from taupi.identification.rows.samples import ONE_WAY, one_way
from taupi.identification.rows.workers import Workers
from taupi.identification.tuning.friction_shape import best_shapes, default_shapes
from taupi.identification.tuning.friction_width import refined_widths
from taupi.identification.tuning.pooled_cutoff import with_pooled_cutoffs
from taupi.signals.log import Log

if TYPE_CHECKING:
    from taupi.identification.modulated_friction import ModulatedFriction
    from taupi.identification.tuning.springs import SpringSearch

# Samples of the first log from which the settings of an elastic robot are chosen.
_TUNING_SAMPLES = 50_000
# Base parameters of a fit of a problem.
FirstFit = Callable[[Problem], np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Choices:
    """What was chosen from some of the logs and holds for all of them.

    Attributes:
        base: The base parameters, with the shapes of dry friction.
        recordings: The logs that the choice was made from, with their cutoffs.
        cutoffs: How the cutoffs were chosen; None if there was no choice.
        spread: What one standard error of each chosen shape does to the base parameters (b, k).
        least_speeds: The speeds (n,) below which rows of joints that never reverse are not used.
        one_way_signs: The signs of their velocities, by owner.
    """

    base: BaseParameters
    recordings: list[Recording]
    cutoffs: ChosenCutoffs | None
    spread: np.ndarray
    least_speeds: np.ndarray
    one_way_signs: dict[str, float]


def build(inputs: FitInputs, first_fit: FirstFit, draft: bool = False) -> Problem:
    """Return the problem of a fit: open the logs, choose from them the settings that are left open, and compress their rows.

    `first_fit` gives the load, if there is friction that depends on it. A `draft` is only for choosing settings: a delay between
    encoders stays in it, merely separated from the springs.
    """
    if inputs.robot.loops:
        raise TaupiError(
            f"{inputs.robot.name} has closed loops, whose forces are in the torques of every joint of the tree.",
            remedy="taupi.identify takes them out; this function does not.",
        )
    equations, reading = inputs.equations, inputs.reading
    all_terms = with_coupled_terms(
        resolve_fit_terms(inputs.chosen_terms, equations.elastic), coupled_directions(inputs.robot, reading.columns)
    )
    terms, modulated = linear_terms(all_terms), modulated_terms(all_terms)
    with Workers(len(inputs.logs), inputs.workers) as pool, _client(inputs, equations) as client:
        order = choice_order(len(inputs.logs), inputs.seed)
        logs = open_logs(
            inputs.logs,
            order,
            lambda log: open_source(log, equations, inputs.preparation, reading, pool.check),
            pool,
            all_of_them=client is None,
            skip_bad=inputs.skip_bad,
        )
        stated = {source.first.known_torque for source in logs.sources.values()}
        asked, inputs = inputs, dataclasses.replace(inputs, preparation=_with_stated_torque(inputs.preparation, stated))
        chosen = sorted(logs.sources) if equations.sprung else logs.chosen(order)
        preparation, notes = _tune_elastic(inputs, equations, terms, logs.sources[chosen[0]], first_fit)
        recordings = pool.map(lambda k: _recording(logs.sources[k], equations, preparation), chosen)
        own_base = inputs.base.linear if isinstance(inputs.base, BaseParameters) else inputs.base
        choices = _choose_friction_and_cutoffs(equations, terms, recordings, preparation, own_base)
        if equations.sprung and not any(r.source.first.is_prepared for r in recordings):
            _refuse_duplicates([r.record for r in recordings])
            prior = prior_of(inputs.prior, choices.base)
            from taupi.identification.tuning.springs import search_springs

            search = search_springs(pool, choices.base, choices.recordings, prior, draft)
            return _problem_of_springs(inputs, search, preparation, notes)
        plan = Plan(
            *(choices.base, preparation, reading, choices.cutoffs, choices.least_speeds, choices.one_way_signs),
            most_stretches=most_stretches(len(inputs.logs)),
        )
        passes: Passes
        if client is None:
            ready = dict(zip(chosen, choices.recordings, strict=True))
            every = pool.map(lambda k: ready[k] if k in ready else plan.recording_of(logs.sources[k]), logs.sources)
            passes = LocalPasses(pool, every, logs)
        else:
            passes = _cluster_passes(client, logs, inputs)
        adopted = () if asked.preparation.known_torque else preparation.known_torque
        return _problem_of_pieces(inputs, choices, plan, passes, modulated, notes, first_fit, adopted)


def _problem_of_pieces(
    inputs: FitInputs,
    choices: Choices,
    plan: Plan,
    passes: Passes,
    modulated: Sequence[Term],
    notes: Sequence[str],
    first_fit: FirstFit,
    adopted: tuple[str, ...],
) -> Problem:
    """Return the problem of all logs, from one pass over them.

    If there is friction that depends on load, a first fit to the beginnings of some of them gives the load. `adopted` is the
    known torque that the settings took over from logs.
    """
    friction = _modulated_friction(inputs, choices, plan, modulated, first_fit) if modulated else None
    full = plan if friction is None else dataclasses.replace(plan, base=friction.base, first=friction.first)
    pieces = passes.pieces(full)
    pieces = [piece.named(name) for piece, name in zip(pieces, log_names(passes.logs), strict=True)]
    _refuse_duplicates([p.record for p, log in zip(pieces, passes.logs, strict=True) if not isinstance(log, Log)])
    _refuse_differences(pieces, adopted)
    pass_notes = [f"{each.name} is left out: {each.reason}" for each in passes.skipped]
    if len(passes.machines) > 1:
        kinds = "; ".join(passes.machines)
        pass_notes.append(
            f"machines of {len(passes.machines)} kinds read the logs, so that last bits may differ: {kinds}"
        )
    problem = pooled_problem(
        inputs, plan.base, pieces, friction, choices.cutoffs, plan.preparation, [*notes, *pass_notes], modulated
    )
    return dataclasses.replace(
        problem,
        shape_spread=choices.spread,
        recordings=passes.recordings,
        logs=tuple(passes.logs),
        skipped=passes.skipped,
        machines=passes.machines,
    )


def pooled_problem(
    inputs: FitInputs,
    base: BaseParameters,
    pieces: Sequence[Piece],
    friction: ModulatedFriction | None,
    cutoffs: ChosenCutoffs | None,
    preparation: Preparation | None = None,
    notes: Sequence[str] = (),
    modulated: Sequence[Term] = (),
) -> Problem:
    """Return the problem of the `pieces` of logs, whose columns are those of `base`, and of `friction` that is modulated."""
    linear = pieces if friction is None else [piece.with_columns(base.count) for piece in pieces]
    if cutoffs is not None:
        notes = [cutoffs.note, *notes]
    problem = _problem(inputs, base, modulated, linear, preparation or inputs.preparation, notes)
    problem = dataclasses.replace(problem, cutoffs=cutoffs)
    if friction is None:
        return problem
    return friction.problem(problem, inputs.prior, [factor for piece in pieces for factor in piece.factors])


def _modulated_friction(
    inputs: FitInputs, choices: Choices, plan: Plan, terms: Sequence[Term], first_fit: FirstFit
) -> ModulatedFriction:
    """Return friction that depends on load or bends with speed, from a first fit of the logs that choices were made from."""
    from taupi.identification.modulated_friction import ModulatedFriction

    heads = [
        piece_of(r, compress(plan.friction, r, k, plan.most_stretches, head=True))
        for k, r in enumerate(choices.recordings)
    ]
    draft = dataclasses.replace(
        _problem(inputs, plan.base, terms, heads, plan.preparation, ()), recordings=choices.recordings
    )
    speeds = np.abs(np.concatenate([head.compressed.extremes for head in heads], axis=1)[0]).max(axis=0)
    return ModulatedFriction.of(plan.base, terms, first_fit(draft), speeds)


def _client(inputs: FitInputs, equations: Equations) -> AbstractContextManager[Any]:
    """Return a context that gives the client of a cluster, or None if there is no cluster."""
    if inputs.client is None:
        return nullcontext()
    if equations.sprung:
        raise TaupiError(
            *(
                Argument("client"),
                " is given, but the springs of elastic joints are found from all logs on one machine.",
            ),
            remedy=(
                "Leave ",
                Argument("client"),
                " out, or take the joints as rigid: ",
                Argument("elastic", False),
                ".",
            ),
        )
    from taupi.identification.cluster.client import connected

    return connected(inputs.client)


def _cluster_passes(client: Any, logs: OpenedLogs, inputs: FitInputs) -> Passes:
    """Return passes over the logs by the workers of a cluster, which continue from the stored pieces."""
    from taupi.identification.cluster.passes import ClusterPasses
    from taupi.identification.cluster.piece_store import PieceStore

    store = None if inputs.resume is None else PieceStore(inputs.resume)
    return ClusterPasses(client, logs, store, inputs.skip_bad)


def _problem_of_springs(
    inputs: FitInputs, search: SpringSearch, preparation: Preparation, notes: Sequence[str]
) -> Problem:
    """Return the problem of recordings of an elastic robot, with what they show about its springs."""
    from taupi.identification.springs.notes import spring_notes

    recordings, springs = with_speeds(search.recordings, search.compressed), search.analysis
    pieces = [piece_of(r, part) for r, part in zip(recordings, search.compressed, strict=True)]
    preparation = dataclasses.replace(preparation, encoder_delay=recordings[0].preparation.encoder_delay)
    removed = np.broadcast_to(preparation.encoder_delay or 0.0, inputs.robot.n)
    words = spring_notes(springs, removed.tolist(), estimated=inputs.preparation.encoder_delay is None)
    base = springs.layout.base
    problem = _problem(inputs, base, (), pieces, preparation, notes)
    return dataclasses.replace(problem, recordings=recordings, notes=(*problem.notes, *words), springs=springs)


def _problem(
    inputs: FitInputs,
    base: BaseParameters,
    modulated: Sequence[Term],
    logs: Sequence[Piece],
    preparation: Preparation,
    notes: Sequence[str],
) -> Problem:
    """Return the problem of the pieces of logs, still without recordings and without the columns of `modulated` terms."""
    equations = Equations.of(base)
    pieces = tuple(factor for log in logs for factor in log.factors)
    samples = sum(log.compressed.samples for log in logs)
    factors, program = tuple(merge_stretches(pieces)), base.regressor()
    _refuse_few(samples, sum(f.rows for f in factors), len(base.names))
    extremes = np.concatenate([log.compressed.extremes for log in logs], axis=1)
    facts = joint_facts(inputs.robot.joint_names, *extremes[:, :, list(equations.motors)])
    conditioning = conditioning_of_factor(program, samples, stack_factors(factors)[:, :-1], facts)
    rank_notes = conditioning.sentences if not conditioning.full_rank else conditioning.sentences[:1]
    return Problem(
        robot=inputs.robot,
        terms=base.terms,
        base=base,
        regressor=program,
        factors=factors,
        pieces=pieces,
        conditioning=conditioning,
        prior=prior_of(inputs.prior, base.with_modulated(modulated))[: len(base.standard)],
        recordings=(),
        records=tuple(log.record for log in logs),
        preparation=preparation,
        notes=(
            *rank_notes,
            *notes,
            *(f"{log.record.name}: {note}" for log in logs for note in log.record.notes),
            *_elastic_notes(base),
            *friction_notes(base, logs[0].record.least_speeds),
            *_known_torque_notes(logs),
            *_gain_notes(logs),
        ),
        seed=inputs.seed,
    )


def _with_stated_torque(preparation: Preparation, stated: set[tuple[str, ...]]) -> Preparation:
    """Return the settings with the known torque on which all logs agree, if the settings state none: the fit keeps it."""
    if preparation.known_torque or len(stated) > 1:
        return preparation
    return dataclasses.replace(preparation, known_torque=next(iter(stated)))


def _refuse_differences(pieces: Sequence[Piece], adopted: tuple[str, ...]) -> None:
    """Refuse logs that state no known torque if one was `adopted` from the logs that were examined first."""
    silent = [piece.record.name for piece in pieces if not piece.stated_torque]
    if adopted and silent:
        raise TaupiError(
            f"{silent[0]} states no known torque, but other logs state {'; '.join(adopted)}.",
            remedy=("Say what acts in all of them: ", Argument("known_torque"), "."),
        )


def _recording(source: BlockSource, equations: Equations, preparation: Preparation) -> Recording:
    with errors_naming(source.first.source.path):
        return Recording.of(source, equations, preparation)


def _tune_elastic(
    inputs: FitInputs, equations: Equations, terms: tuple[Term, ...], source: BlockSource, first_fit: FirstFit
) -> tuple[Preparation, list[str]]:
    """Return the settings, and notes on them; for an elastic robot, the first log decides on cutoff and torque."""
    settings, notes = inputs.preparation, list[str]()
    if not equations.elastic or source.first.is_prepared:
        return settings, notes
    from taupi.identification.tuning.elastic_cutoff import most_informative_cutoff
    from taupi.identification.tuning.timing import with_torque_timing

    head = source.head(_TUNING_SAMPLES)
    base = base_with_terms(equations.robot, terms, inputs.base, elastic=True)
    if settings.cutoff_hz is None:

        def problem(hz: float) -> Problem:
            # Neither cutoff nor torque is left open, so that building this problem does not tune again.
            complete = dataclasses.replace(settings, cutoff_hz=hz, torque=settings.torque or "sampled")
            draft = FitInputs(inputs.robot, [head], terms, elastic=True, base=base, preparation=complete)
            return build(draft, first_fit, draft=True)

        hz, note = most_informative_cutoff(head, equations, problem)
        settings, notes = dataclasses.replace(settings, cutoff_hz=hz), [note]
    settings, timing_notes = with_torque_timing(head, base, settings)
    notes += timing_notes
    return settings, notes


def _choose_friction_and_cutoffs(
    equations: Equations,
    terms: tuple[Term, ...],
    recordings: list[Recording],
    settings: Preparation,
    base: BaseParameters | None,
) -> Choices:
    """Return what recordings show about dry friction, and the cutoffs.

    Slow rows of joints that never reverse are left out of the recordings.
    """
    robot, elastic = equations.robot, equations.elastic
    directions = unshaped_friction(terms, equations)
    if not directions:
        base = base_with_terms(robot, terms, base, elastic)
        recordings, cutoffs = with_pooled_cutoffs(base, recordings, settings)
        return Choices(base, recordings, cutoffs, np.zeros((base.count, 0)), np.zeros(equations.count), {})
    extent = Extent.of([r.extent(np.array(list(directions.values()))) for r in recordings])
    widths = None if settings.slow is None else friction_widths(settings.slow, robot.n)
    never_reverses = one_way(extent.low, extent.high)
    joints = [list(directions).index(n) for n in robot.joint_names if n in directions]
    velocities = zip(directions, extent.low + extent.high, never_reverses, strict=True)
    signs = {name: float(np.sign(v)) for name, v, one in velocities if one}
    least = np.where(never_reverses[joints], ONE_WAY * extent.speed[joints], 0.0) if joints else np.zeros(robot.n)
    least = equations.on_motors(least)
    recordings = [
        dataclasses.replace(r, least_speeds=np.maximum(r.least_speeds, least), one_way_signs=signs) for r in recordings
    ]
    shapes = default_shapes(list(directions), extent, widths if joints else None)
    base = base_with_terms(robot, with_friction_shapes(terms, equations, shapes), base, elastic)
    recordings, cutoffs = with_pooled_cutoffs(base, recordings, settings)
    spread = np.zeros((base.count, 0))
    if settings.slow is None:
        sizes = zip(extent.speed.tolist(), extent.range.tolist(), strict=True)
        extents = {name: size for name, size, one in zip(directions, sizes, never_reverses, strict=True) if not one}
        shapes |= best_shapes(base, recordings, extents)
        base = base_with_terms(robot, with_friction_shapes(terms, equations, shapes), base, elastic)
        if not elastic:
            better, spread = refined_widths(base, recordings, list(extents))
            base = base_with_terms(robot, with_friction_shapes(terms, equations, shapes | better), base, elastic)
    return Choices(base, recordings, cutoffs, spread, least, signs)


def _refuse_few(samples: int, rows: int, parameters: int) -> None:
    if rows < parameters:
        raise NotIdentifiedError(
            f"{samples} samples are left, {rows} equations for {parameters} parameters.",
            remedy=("Give longer logs, or a smaller ", Argument("decimate"), "."),
        )


def _refuse_duplicates(records: Sequence[LogRecord]) -> None:
    """Refuse a file that is given twice: its noise would be underestimated."""
    names: dict[str, str] = {}  # by hash
    for record in records:
        sha256, name = record.sha256, record.name
        if sha256 and sha256 in names:
            same = names[sha256] == name
            message = f"{name} is given twice" if same else f"{names[sha256]} and {name} hold the same bytes"
            raise TaupiError(f"{message}: give each log once.")
        names[sha256] = name


def _known_torque_notes(logs: Sequence[Piece]) -> list[str]:
    """Return notes on known torques that were added to the measured ones."""
    formulas = {"; ".join(log.known_torque) for log in logs if log.known_torque}
    notes = [f"known torque added to the measured one: {text}" for text in sorted(formulas)]
    if any(log.has_known for log in logs):
        notes.append("known torque added to the measured one: tau_known of the logs")
    return notes


def _gain_notes(logs: Sequence[Piece]) -> list[str]:
    """Return a note if torques are based on stated gains."""
    names = [log.record.name for log in logs if log.rests_on_gains]
    if not names:
        return []
    listed = ", ".join(dict.fromkeys(names[:3])) + (", ..." if len(names) > 3 else "")
    return [
        f"torques of {listed} are motor currents or voltages times stated gains: masses scale with these; calibrate them with a "
        "known mass (taupi gains)"
    ]


def _elastic_notes(base: BaseParameters) -> list[str]:
    if not base.elastic:
        return []
    from taupi.identification.springs.notes import elastic_notes

    return elastic_notes(base)
