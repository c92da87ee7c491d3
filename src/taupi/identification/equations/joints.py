"""Equations of a motor at every joint: rigid joints, joints with springs, and springs whose motors alone are measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from taupi.dynamics.terms import Term, TermsLike, linear_terms, modulated_terms
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identifiability.conditioning import Conditioning, joint_facts
from taupi.identification.equations.equations import Choices, ComparedTorques, Equations, FittedModel
from taupi.identification.friction.dry_friction import friction_notes, friction_plan
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
from taupi.identification.row_layout import COORDINATES, RowLayout, regressor_inputs, spring_torque
from taupi.identification.rows.block_source import BlockSource, errors_naming, open_source
from taupi.identification.rows.passes import LocalPasses, OpenedLogs, Passes
from taupi.identification.rows.pieces import Piece
from taupi.identification.rows.plan import Plan, most_stretches
from taupi.identification.rows.preparation import ChosenCutoffs, Preparation
from taupi.identification.rows.recording import Extent, Recording, encoder_delays
from taupi.identification.rows.row_maker import ONE_WAY, RowMaker, Rows, one_way
from taupi.identification.rows.workers import Workers
from taupi.identification.tuning.cutoffs import most_informative_cutoff, with_pooled_cutoffs
from taupi.identification.tuning.friction_shape import best_shapes, default_shapes, refined_widths
from taupi.model.requirements import require_elastic
from taupi.signals.checking.implausible import refuse_absurd
from taupi.signals.filtering.delay import without_delays
from taupi.signals.filtering.derivatives import central
from taupi.signals.filtering.filters import butterworth, choose_cutoff
from taupi.signals.log import Log
from taupi.signals.read import LogLike
from taupi.signals.reading import Streaming

# Samples of the first log from which the settings of an elastic robot are chosen.
_TUNING_SAMPLES = 50_000


@dataclass(frozen=True)
class RigidJoints(Equations):
    """tau = Y_b(q, qd, qdd) pi_b: one row per joint, with the torque of its motor."""

    kind = "rigid joints"
    # Without the columns of rotors, the inertia of the drives of a geared arm is missing from the model. Losses of gears, which
    # grow with the torque that they transmit, and the bend of friction with speed are seen on nearly every arm.
    default_terms: ClassVar[TermsLike] = ("rotor", "viscous", "coulomb", "offset", "load", "curve")

    def has_drive_gains(self, inputs: FitInputs) -> bool:
        """Return whether no joint shares its drive with others."""
        return not coupled_directions(self.robot, inputs.reading.columns)

    def opened(self, log: LogLike, inputs: FitInputs, check: Callable[[], None]) -> BlockSource:
        """Return a log as blocks of clean samples."""
        return open_source(log, self.layout, inputs.preparation, inputs.reading, check)

    def choose(self, inputs: FitInputs, logs: OpenedLogs, order: Sequence[int], pool: Workers) -> Choices:
        """Return cutoffs, base parameters and the shapes of dry friction."""
        asked = self.default_terms if inputs.terms is None else inputs.terms
        directions = coupled_directions(self.robot, inputs.reading.columns)
        terms = with_coupled_terms(resolve_fit_terms(asked, self.layout.elastic), directions)
        chosen = self.examined(logs, order)
        preparation = with_stated_torque(
            inputs.preparation, {source.first.known_torque for source in logs.sources.values()}
        )
        preparation, notes = self.tuned(inputs, linear_terms(terms), logs.sources[chosen[0]], preparation, pool)

        def recorded(k: int) -> Recording:
            with errors_naming(logs.sources[k].first.source.path):
                return Recording.of(logs.sources[k], self.layout, preparation)

        recordings = dict(zip(chosen, pool.map(recorded, chosen), strict=True))
        base = inputs.base.linear if isinstance(inputs.base, BaseParameters) else inputs.base
        choices = friction_and_cutoffs(inputs, self.layout, linear_terms(terms), recordings, preparation, base)
        return dataclasses.replace(choices, modulated=modulated_terms(terms), notes=tuple(notes))

    def examined(self, logs: OpenedLogs, order: Sequence[int]) -> list[int]:
        """Return the indices of the logs from which settings are chosen."""
        return logs.chosen(order)

    def tuned(
        self, inputs: FitInputs, terms: tuple[Term, ...], source: BlockSource, preparation: Preparation, pool: Workers
    ) -> tuple[Preparation, list[str]]:
        """Return the settings with those that the first log decides, and notes on them."""
        return preparation, []

    def passes(self, inputs: FitInputs, logs: OpenedLogs, choices: Choices, pool: Workers) -> Passes:
        """Return passes over recordings of all logs, of which some were made for the choices."""
        ready, plan = choices.recordings, choices.plan
        every = pool.map(lambda k: ready[k] if k in ready else plan.recording_of(logs.sources[k]), logs.sources)
        return LocalPasses(pool, every, logs)

    def facts(self, extremes: np.ndarray) -> tuple[str, ...]:
        """Return what each joint does not do in any log."""
        return joint_facts(self.robot.joint_names, *extremes[:, :, list(self.layout.motors)])

    def notes(self, base: BaseParameters, pieces: Sequence[Piece], conditioning: Conditioning) -> list[str]:
        """Return notes on each log, on friction at low speed, and on known torques."""
        return [
            *(f"{piece.record.name}: {note}" for piece in pieces for note in piece.record.notes),
            *self.spring_notes(base),
            *friction_notes(base, pieces[0].record.least_speeds),
            *_known_torque_notes(pieces),
            *_gain_notes(pieces),
        ]

    def spring_notes(self, base: BaseParameters) -> list[str]:
        """Return notes on the springs of joints."""
        return []

    # Prediction ---------------------------------------------------------------------------------------------------

    def compared(self, fit: FittedModel, log: Log, settings: Preparation) -> ComparedTorques:
        """Return the torques of a log through the filter of predictions."""
        log.need("tau")
        return self.compared_recording(fit, self.recording(fit, log, settings))

    def recording(self, fit: FittedModel, log: Log, settings: Preparation) -> Recording:
        """Return a log prepared for prediction by a fit: with the fit's cutoff unless `settings` have one."""
        # A log that was prepared before is prepared once more.
        source = open_source(log.with_(filtering=None), self.layout, settings, Streaming(stream=False))
        if settings.cutoff_hz is None:
            hz = prediction_cutoff_hz(fit, source.rate_hz, source.lowest_cutoff_hz)
            settings = dataclasses.replace(settings, cutoff_hz=hz)
        return Recording.of(source, self.layout, settings)

    def compared_recording(self, fit: FittedModel, recording: Recording) -> ComparedTorques:
        """Return the torques of a recording in memory, with the fit's cutoff for predictions; every row counts."""
        source = recording.source
        if fit.preparation.cutoff_hz is None and recording.preparation.cutoff_hz is None:
            hz = prediction_cutoff_hz(fit, source.rate_hz, source.lowest_cutoff_hz)
            recording = recording if hz is None else recording.with_cutoff(hz)
        blocks = predicted_rows(fit, recording)
        time, measured = np.concatenate([rows.time for rows in blocks]), np.concatenate([rows.tau for rows in blocks])
        predicted = measured - np.concatenate([rows.residual(fit.values) for rows in blocks])
        (log,) = source.blocks()
        recorded = self.synchronous(log, recording).rows(np.rint((time - log.time[0]) * source.rate_hz).astype(int))
        raw, smooth = self.layout.torque(recorded), recording.log
        at = np.searchsorted(smooth.time, time - 0.5 / smooth.rate_hz)
        known = self.layout.known_torque(smooth, recording.known_torque)
        has_known = bool(known.any())
        if has_known:  # rows hold the sum of both torques; what is compared is the measured one
            known = (known if recording.row_filter is None else recording.row_filter(known))[at]
            measured, predicted = measured - known, predicted - known
        measured, predicted = measured * recording.gains, predicted * recording.gains  # as they are recorded
        fastest = np.abs(np.concatenate([rows.qd for rows in blocks])).max(axis=0)
        names = self.layout.names
        compared = ComparedTorques(
            names,
            time,
            measured,
            predicted,
            raw,
            recording.notes,
            {names[k]: float(fastest[k]) for k in self.layout.motors},  # friction acts on motors
            () if has_known else tuple(blocks),
        )
        return self.with_springs(fit, compared, recording, recorded, at)

    def synchronous(self, log: Log, recording: Recording) -> Log:
        """Return a log as recorded, with its encoders brought to the same instants."""
        return log

    def with_springs(
        self, fit: FittedModel, compared: ComparedTorques, recording: Recording, recorded: Log, at: np.ndarray
    ) -> ComparedTorques:
        """Return compared torques with those of springs in the rows of links; `at` are the rows' smoothed samples."""
        return compared

    def predicted(self, fit: FittedModel, log: Log) -> np.ndarray:
        """Return tau_hat (N, count); derivatives that the log does not have are those of its filtered positions."""
        self.check(log)
        if not log.rate_hz > 0 and len(log) > 1:
            raise TaupiError("time of the log does not step forwards.", remedy="Sort it first: taupi.clean_log(log).")
        return self.row_torques(fit, self.with_motion(fit, log))

    def row_torques(self, fit: FittedModel, log: Log) -> np.ndarray:
        """Return tau_hat (N, count) for the samples of a log with all derivatives."""
        linear, plan = fit.basis.linear, friction_plan(fit.basis, fit.values)
        regressor = linear.regressor()
        motion = self.layout.motion(log)
        q, qd, _ = motion

        def torque(values: np.ndarray) -> np.ndarray:
            each = np.broadcast_to(values, (len(q), len(values)))
            return np.asarray(regressor.times("pi")(*regressor_inputs(regressor, *motion), each))

        known = self.layout.known_torque(log, log.known_torque or fit.preparation.known_torque)
        predicted = torque(fit.values[: linear.count])
        s = plan.along_motion(q, qd, 1 / log.rate_hz)[0]
        memory = s - plan.memoryless(qd)  # programs have friction without memory
        predicted = predicted + (memory * fit.values[list(plan.places)]) @ plan.directions
        if plan.modulation is not None:
            load = torque(plan.modulation.rigid) - known
            columns = plan.modulation.columns(s, qd, load) * fit.values[linear.count :]
            predicted += columns @ np.eye(self.layout.count)[list(plan.modulation.joints)]
        return (predicted - known) * self.layout.gains(fit.preparation.relative_gains)

    def with_motion(self, fit: FittedModel, log: Log) -> Log:
        """Return a log with all derivatives that its rows need."""
        return self._with_derivatives(log, *COORDINATES[0], fit)

    def _with_derivatives(self, log: Log, x: str, xd: str, xdd: str, fit: FittedModel) -> Log:
        """Return the log with the derivatives of a position, all filtered; the log itself if it has them."""
        (position,), signals, rate = log.need(x), log.signals, log.rate_hz
        if xd in signals and xdd in signals:
            return log
        cutoff = (
            fit.preparation.cutoff_hz
            or prediction_cutoff_hz(fit, rate)
            or choose_cutoff(self.layout.positions(log), rate).hz
        )
        smooth = butterworth(position, rate, cutoff)
        velocity, acceleration = central(smooth, rate)
        if xd in signals:
            velocity = butterworth(signals[xd], rate, cutoff)
            acceleration = central(velocity, rate)[0]
        return log.with_(**{x: smooth, xd: velocity, xdd: acceleration})


@dataclass(frozen=True)
class ElasticJoints(RigidJoints):
    """(0, u) = Y_b(q, qd, qdd, theta, thetad, thetadd) pi_b: the links, and the motor of each spring (Zollo et al. 2014)."""

    kind = "elastic joints"
    default_terms: ClassVar[TermsLike] = ("coulomb", "viscous", "offset")  # rotors and springs always have columns

    def has_drive_gains(self, inputs: FitInputs) -> bool:
        """Return False: behind a spring, the rows of links have no torque."""
        return False

    def checked(self, inputs: FitInputs) -> FitInputs:
        """Return the inputs of a fit; refuse terms of rigid joints, and a cluster: springs are found from all logs together."""
        if inputs.terms is not None:
            resolve_fit_terms(inputs.terms, elastic=True)  # before any log is read
        if inputs.client is not None:
            raise TaupiError(
                "{client} is given, but the springs of elastic joints are found from all logs on one machine.",
                remedy="Leave {client} out, or take the joints as rigid: {elastic=False}.",
            )
        return inputs

    def examined(self, logs: OpenedLogs, order: Sequence[int]) -> list[int]:
        """Return the indices of all logs: springs are found from all of them."""
        return sorted(logs.sources)

    def tuned(
        self, inputs: FitInputs, terms: tuple[Term, ...], source: BlockSource, preparation: Preparation, pool: Workers
    ) -> tuple[Preparation, list[str]]:
        """Return the settings with the cutoff, and with the kind of torque, that the first log decides."""
        from taupi.identification.tuning.springs import search_springs
        from taupi.identification.tuning.timing import with_torque_timing

        if source.first.is_prepared:
            return preparation, []
        head, notes = source.head(_TUNING_SAMPLES), list[str]()
        base = base_with_terms(self.robot, terms, inputs.base, elastic=True)
        if preparation.cutoff_hz is None:

            def problem(hz: float) -> Problem:
                settings = dataclasses.replace(preparation, cutoff_hz=hz, torque=preparation.torque or "sampled")
                draft = FitInputs(self.robot, [head], terms, elastic=True, base=base, preparation=settings)
                recording = Recording.of(self.opened(head, draft, lambda: None), self.layout, settings)
                choices = friction_and_cutoffs(draft, self.layout, terms, {0: recording}, settings, base)
                prior = prior_of(None, choices.plan.base)
                recordings = list(choices.recordings.values())
                search = search_springs(pool, choices.plan.base, recordings, prior, draft=True)
                return self.problem(draft, choices.plan, search.pieces())

            hz, note = most_informative_cutoff(head, self.layout, problem)
            preparation, notes = dataclasses.replace(preparation, cutoff_hz=hz), [note]
        preparation, timing_notes = with_torque_timing(head, base, preparation)
        return preparation, notes + timing_notes

    def passes(self, inputs: FitInputs, logs: OpenedLogs, choices: Choices, pool: Workers) -> Passes:
        """Return passes that also find the springs, unless logs come prepared."""
        from taupi.identification.tuning.springs import SpringPasses

        recordings = list(choices.recordings.values())
        if any(r.source.first.is_prepared for r in recordings):
            return super().passes(inputs, logs, choices, pool)
        return SpringPasses(pool, recordings, logs, prior_of(inputs.prior, choices.plan.base))

    def completed(self, problem: Problem, passes: Passes) -> Problem:
        """Return a problem with what the logs show about the springs."""
        from taupi.identification.springs.estimate import spring_notes
        from taupi.identification.tuning.springs import SpringPasses

        if not isinstance(passes, SpringPasses):
            return problem
        stated, springs = problem.preparation.encoder_delay, passes.analysis
        found = passes.recordings[0].preparation.encoder_delay
        removed = np.broadcast_to(found or 0.0, self.robot.n).tolist()
        words = spring_notes(springs, removed, estimated=stated is None)
        return dataclasses.replace(
            problem,
            preparation=dataclasses.replace(problem.preparation, encoder_delay=found),
            notes=(*problem.notes, *words),
            springs=springs,
        )

    def spring_notes(self, base: BaseParameters) -> list[str]:
        """Return notes on the springs of joints."""
        from taupi.identification.springs.estimate import elastic_notes

        return elastic_notes(base)

    def synchronous(self, log: Log, recording: Recording) -> Log:
        """Return a log as recorded, with its encoders brought to the same instants."""
        return without_delays(log, recording.encoder_delays)

    def with_springs(
        self, fit: FittedModel, compared: ComparedTorques, recording: Recording, recorded: Log, at: np.ndarray
    ) -> ComparedTorques:
        """Return compared torques in which that of a spring is held against what the motion of its link needs."""
        measured, predicted, raw = compared.measured, compared.predicted, compared.raw
        row_filter, (x, xd, _) = recording.row_filter, self.layout.motion(recording.log)
        if row_filter is not None:
            spring = row_filter(spring_torque(fit.basis, fit.values, x, xd))[at]
            if fit.fits_deflection:
                pretended = self._encoder_torque(fit, xd, -predicted, lambda value: row_filter(value)[at])
                predicted = self._with_drives(predicted)
                measured, raw = measured - pretended, raw - pretended
            measured, predicted = measured + spring, predicted + spring
            raw = raw + spring_torque(fit.basis, fit.values, self.layout.positions(recorded), xd[at])
        rows = self._compared_rows(fit)
        return dataclasses.replace(
            compared,
            names=[self.layout.names[j] for j in rows],
            measured=measured[:, rows],
            predicted=predicted[:, rows],
            raw=raw[:, rows],
            blocks=(),
        )

    def row_torques(self, fit: FittedModel, log: Log) -> np.ndarray:
        """Return tau_hat (N, count): of links, which should be 0, then of motors."""
        predicted = super().row_torques(fit, log)
        if not fit.fits_deflection:
            return predicted
        return self._with_drives(predicted) + self._encoder_torque(fit, self.layout.motion(log)[1], -predicted)

    def with_motion(self, fit: FittedModel, log: Log) -> Log:
        """Return a log with all derivatives that its rows need, those of motors too, and without delays of encoders."""
        if not log.is_prepared:
            log = without_delays(log, encoder_delays(fit.preparation, self.layout))
        for names in COORDINATES:
            log = self._with_derivatives(log, *names, fit)
        return log

    def _with_drives(self, rows: np.ndarray) -> np.ndarray:
        """Return rows Y_b pi_b (N, count) with those of motors replaced by those of drives, link + motor: springs cancel."""
        result = rows.copy()
        for link in self.layout.sprung:
            result[:, self.layout.motors[link]] += rows[:, link]
        return result

    def _encoder_torque(
        self,
        fit: FittedModel,
        xd: np.ndarray,
        surplus: np.ndarray,
        smooth: Callable[[np.ndarray], np.ndarray] = lambda x: x,
    ) -> np.ndarray:
        """Return the apparent torque (N, count) of encoder errors in the rows of links: K (lost motion + offset).

        `xd` (N', count) are the velocities, which `smooth` brings to the N rows. `surplus` (N, count) is the torque of the
        springs minus that of the links. Encoders have another offset in each log: the one for which the surplus is 0 on average.
        """
        result, names = np.zeros(surplus.shape), list(fit.basis.names)
        for link, record in zip(self.layout.sprung, fit.springs, strict=True):
            stiffness = fit.values[names.index(f"{record.joint}.stiffness")]
            speed = xd[:, self.layout.motors[link]]
            result[:, link] = stiffness * record.lost_motion * smooth(np.tanh(speed / record.width))
            result[:, link] += np.mean(surplus[:, link] - result[:, link])
        return result

    def _compared_rows(self, fit: FittedModel) -> list[int]:
        """Return the rows that are compared with a log: all but those of links whose springs are not determined."""
        if not fit.fits_deflection:
            return list(range(self.layout.count))
        springs = zip(self.layout.sprung, fit.springs, strict=True)
        left_out = {link for link, record in springs if not record.determined}
        return [j for j in range(self.layout.count) if j not in left_out]


@dataclass(frozen=True)
class MotorsOnly(ElasticJoints):
    """u = u_hat(theta; pi_b): links that are not measured are simulated, driven by their motors through the springs."""

    kind = "elastic joints of which only the motors are measured"
    default_terms: ClassVar[TermsLike] = (
        "coulomb",
        "viscous",
        "offset",
        "damping",
    )  # without damping, a link would never forget its start

    def __post_init__(self) -> None:
        require_elastic(self.robot)
        rigid = [name for name in self.robot.joint_names if name not in self.robot.elastic_joints]
        if rigid:
            raise TaupiError(
                "{robot} has rigid joints ({rigid:,}), expected a spring in every joint.",
                robot=self.robot.name,
                rigid=rigid,
            )

    def compared(self, fit: FittedModel, log: Log, settings: Preparation) -> ComparedTorques:
        """Return the motor torques of a log; the initial state of the links is found from it."""
        from taupi.identification.hidden_links.solver import motor_torques

        log.need("tau")
        refuse_absurd(log)
        motors = motor_torques(fit.basis, fit.values, log, settings)
        names = self.layout.names[self.robot.n :]
        return ComparedTorques(names, motors.time, motors.measured, motors.predicted, motors.raw, motors.notes)


def friction_and_cutoffs(
    inputs: FitInputs,
    layout: RowLayout,
    terms: tuple[Term, ...],
    recordings: dict[int, Recording],
    settings: Preparation,
    base: BaseParameters | None,
) -> Choices:
    """Return what recordings show about dry friction, and the cutoffs.

    Slow rows of joints that never reverse are left out of the recordings.
    """
    robot, elastic = layout.robot, layout.elastic
    every, keys = list(recordings.values()), list(recordings)
    least, signs = np.zeros(layout.count), dict[str, float]()

    def chosen(base: BaseParameters, cutoffs: ChosenCutoffs | None, spread: np.ndarray) -> Choices:
        plan = Plan(
            base, settings, inputs.reading, cutoffs, least, signs, most_stretches=most_stretches(len(inputs.logs))
        )
        return Choices(plan, dict(zip(keys, every, strict=True)), spread)

    directions = unshaped_friction(terms, layout)
    if not directions:
        base = base_with_terms(robot, terms, base, elastic)
        every, cutoffs = with_pooled_cutoffs(base, every, settings)
        return chosen(base, cutoffs, np.zeros((base.count, 0)))
    extent = Extent.of([r.extent(np.array(list(directions.values()))) for r in every])
    widths = None if settings.slow is None else friction_widths(settings.slow, robot.n)
    never_reverses = one_way(extent.low, extent.high)
    joints = [list(directions).index(n) for n in robot.joint_names if n in directions]
    velocities = zip(directions, extent.low + extent.high, never_reverses, strict=True)
    signs = {name: float(np.sign(v)) for name, v, one in velocities if one}
    slow = np.where(never_reverses[joints], ONE_WAY * extent.speed[joints], 0.0) if joints else np.zeros(robot.n)
    least = layout.on_motors(slow)
    every = [dataclasses.replace(r, least_speeds=np.maximum(r.least_speeds, least), one_way_signs=signs) for r in every]
    shapes = default_shapes(list(directions), extent, widths if joints else None)
    base = base_with_terms(robot, with_friction_shapes(terms, layout, shapes), base, elastic)
    every, cutoffs = with_pooled_cutoffs(base, every, settings)
    spread = np.zeros((base.count, 0))
    if settings.slow is None:
        sizes = zip(extent.speed.tolist(), extent.range.tolist(), strict=True)
        extents = {name: size for name, size, one in zip(directions, sizes, never_reverses, strict=True) if not one}
        shapes |= best_shapes(base, every, extents)
        base = base_with_terms(robot, with_friction_shapes(terms, layout, shapes), base, elastic)
        if not layout.sprung:
            better, spread = refined_widths(base, every, list(extents))
            base = base_with_terms(robot, with_friction_shapes(terms, layout, shapes | better), base, elastic)
    return chosen(base, cutoffs, spread)


def with_stated_torque(preparation: Preparation, stated: set[tuple[str, ...]]) -> Preparation:
    """Return the settings with the known torque on which all logs agree, if the settings state none: the fit keeps it."""
    if preparation.known_torque or len(stated) > 1:
        return preparation
    return dataclasses.replace(preparation, known_torque=next(iter(stated)))


def predicted_rows(fit: FittedModel, recording: Recording) -> list[Rows]:
    """Return the rows of a recording that a fit predicts, block by block; every row counts, slow ones too."""
    every = np.zeros(recording.layout.count)
    recording = dataclasses.replace(recording, least_speeds=every, one_way_signs={}, leave_out="row")
    blocks = list(recording.rows(RowMaker(friction_plan(fit.basis, fit.values))))
    if not blocks:
        raise TaupiError(
            "The log has no rows left to predict after filtering at {cutoff_hz:.3g} Hz.", cutoff_hz=recording.cutoff_hz
        )
    return blocks


def prediction_cutoff_hz(fit: FittedModel, rate_hz: float, lowest_hz: float = 0.0) -> float | None:
    """Return the cutoff of predictions, as far as a log's rate and length allow; None if all fitted logs came prepared.

    It is the one that was chosen for predictions, the median over the fitted logs, or else the largest of their own cutoffs.
    """
    chosen = [log.validation_hz for log in fit.logs if log.validation_hz]
    cutoffs = [log.cutoff_hz for log in fit.logs if log.cutoff_hz]
    if not cutoffs:
        return None
    return min(max(float(np.median(chosen)) if chosen else max(cutoffs), lowest_hz), 0.4 * rate_hz)


def _known_torque_notes(pieces: Iterable[Piece]) -> list[str]:
    """Return notes on known torques that were added to the measured ones."""
    pieces = list(pieces)
    formulas = {"; ".join(piece.known_torque) for piece in pieces if piece.known_torque}
    notes = [f"known torque added to the measured one: {text}" for text in sorted(formulas)]
    if any(piece.has_known for piece in pieces):
        notes.append("known torque added to the measured one: tau_known of the logs")
    return notes


def _gain_notes(pieces: Iterable[Piece]) -> list[str]:
    """Return a note if torques are based on stated gains."""
    names = [piece.record.name for piece in pieces if piece.rests_on_gains]
    if not names:
        return []
    listed = ", ".join(dict.fromkeys(names[:3])) + (", ..." if len(names) > 3 else "")
    return [
        f"torques of {listed} are motor currents or voltages times stated gains: masses scale with these; calibrate them with a "
        "known mass (taupi gains)"
    ]
