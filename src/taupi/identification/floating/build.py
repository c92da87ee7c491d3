"""From logs of a floating robot to the problem that estimators solve."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from taupi.dynamics.terms import TermsLike, linear_terms, modulated_terms, resolve_terms
from taupi.dynamics.terms.coulomb import Coulomb
from taupi.errors import Argument, NotIdentifiedError, TaupiError, shown
from taupi.identifiability.base_parameters import BaseParameters, base_parameters
from taupi.identifiability.conditioning import Conditioning, conditioning_of_factor
from taupi.identification.floating.contact_rows import BASE_ROWS, PROJECTED
from taupi.identification.floating.floating_rows import (
    ContactSettings,
    FloatingRows,
    check_floating_log,
    floating_rows,
    regressor_of,
)
from taupi.identification.floating.sensor_offsets import WRENCH_OFFSET
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem, prior_of
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.factors import Compressor, JointFactor, merge_stretches, stack_factors
from taupi.identification.rows.recording import LogRecord
from taupi.identification.solve import WEAK
from taupi.model.robot import Robot
from taupi.signals.formats.sources import file_name
from taupi.signals.log import Log
from taupi.signals.log_part import asked_part
from taupi.signals.read import read_log

# Friction whose shape has to be chosen is left out by default: on legs, impacts hide it.
FLOATING_TERMS = ("rotor", "viscous", "coulomb", "offset")
# The speed over which dry friction sets in by default, rad/s or m/s.
_SLOW = 0.05


def build_floating(inputs: FitInputs) -> Problem:
    """Return the problem of a floating robot: rows of the base and of the joints, contact forces measured or taken out."""
    logs = _logs(inputs)
    for log in logs:
        with errors_naming(log.source.path):
            check_floating_log(inputs.robot, log)
    base = _base(inputs, logs)
    prior = prior_of(inputs.prior, base)
    settings = ContactSettings(inputs.contact, inputs.feet, _has_offsets(inputs.terms))
    rows = [floating_rows(base, log, inputs.preparation, settings, prior) for log in logs]
    pieces = tuple(f for k, part in enumerate(rows) for f in _compressed(base, part, k))
    samples, factors = sum(len(part.time) for part in rows), tuple(merge_stretches(pieces))
    equations = sum(f.rows for f in factors)
    if equations < base.count:
        raise NotIdentifiedError(
            f"{samples} samples are left, {equations} equations for {base.count} parameters.",
            remedy="Give longer logs.",
        )
    program = regressor_of(base)
    conditioning = conditioning_of_factor(program, samples, stack_factors(factors)[:, :-1])
    rank_notes = conditioning.sentences if not conditioning.full_rank else conditioning.sentences[:1]
    notes = dict.fromkeys(note for part in rows for note in part.notes)
    return Problem(
        robot=inputs.robot,
        terms=base.terms,
        base=base,
        regressor=program,
        factors=factors,
        pieces=pieces,
        conditioning=conditioning,
        prior=prior,
        recordings=(),
        records=tuple(_record(log, part) for log, part in zip(logs, rows, strict=True)),
        logs=tuple(inputs.logs),
        preparation=inputs.preparation,
        notes=(*rank_notes, *notes, *_standing_notes(logs, rows), *_loop_notes(inputs.robot, conditioning)),
        seed=inputs.seed,
        contact=asdict(settings),
    )


def _logs(inputs: FitInputs) -> list[Log]:
    """Return the logs, those of files read as a whole: phases of contact are filtered one by one."""
    if inputs.reading.stream:
        raise TaupiError(
            Argument("stream", True),
            f" is not for {inputs.robot.name}, whose logs are filtered as a whole.",
            remedy="Leave it out.",
        )
    if inputs.client is not None:
        message = " is not for robots that float or have closed loops."
        raise TaupiError(Argument("client"), message, remedy="Leave it out.")
    logs = []
    for log in inputs.logs:
        if isinstance(log, Log):
            logs.append(asked_part(log, inputs.reading))
        elif isinstance(log, str | os.PathLike):
            with errors_naming(log):
                logs.append(read_log(log, inputs.robot, reading=inputs.reading))
        else:
            raise TaupiError(Argument("logs"), f" holds {shown(log)}, expected a Log or the path of a file.")
    return logs


def _record(log: Log, rows: FloatingRows) -> LogRecord:
    speeds = tuple(np.abs(rows.qd).max(axis=0).tolist())
    path = log.source.path
    name = file_name(path) if path else "log"
    return LogRecord(
        name, path, log.source.sha256, log.rate_hz, rows.cutoff_hz, notes=(*log.notes, *rows.notes), speeds=speeds
    )


def _base(inputs: FitInputs, logs: Sequence[Log]) -> BaseParameters:
    """Return the base parameters: without friction where only the rows of the base are used, which hold none."""
    if isinstance(inputs.base, BaseParameters):
        return inputs.base
    asked = inputs.terms
    if asked is None:
        alone = inputs.contact == BASE_ROWS or all(log.tau is None for log in logs)
        asked = () if alone else FLOATING_TERMS
    elif _has_offsets(asked):
        asked = tuple(term for term in asked if term != WRENCH_OFFSET)
    terms = resolve_terms(asked)
    if modulated := modulated_terms(terms):
        raise TaupiError(
            Argument("terms"),
            f" names {modulated[0].name!r}, which depends on load or speed: leave it out for floating robots.",
        )
    slow = _SLOW if inputs.preparation.slow is None else inputs.preparation.slow
    shaped = tuple(Coulomb(velocity=slow) if t == Coulomb() else t for t in linear_terms(terms))
    return base_parameters(inputs.robot, terms=shaped)


def _has_offsets(terms: TermsLike | None) -> bool:
    """Return whether offsets of force sensors are asked for among the terms."""
    return terms is not None and not isinstance(terms, str) and WRENCH_OFFSET in tuple(terms)


def _compressed(base: BaseParameters, rows: FloatingRows, file: int) -> list[JointFactor]:
    compressor = Compressor(np.ones((base.robot.n, base.count), dtype=bool), rows.share)
    compressor.add(np.ascontiguousarray(np.moveaxis(rows.y, 0, 2).transpose(1, 0, 2)), rows.tau, rows.use)
    return [f for f in compressor.result(file) if f.rows]


def _loop_notes(robot: Robot, conditioning: Conditioning) -> list[str]:
    """Note that the number of parameters that loops determine depends on a cut-off and is not exact."""
    if not robot.loops:
        return []
    values = np.asarray(conditioning.singular_values)
    seen = int((values > WEAK * values.max(initial=0.0)).sum())
    return [
        f"Of {len(values)} base parameters of the tree, {seen} combinations show with the loops closed: by singular values above "
        f"{WEAK:g} of the largest, not exactly."
    ]


def _standing_notes(logs: Sequence[Log], rows: Sequence[FloatingRows]) -> list[str]:
    """Note what remains hidden while a robot only stands: with unknown forces at all feet, some combinations never show."""
    if not logs or any(part.plan.way != PROJECTED for part in rows):
        return []
    flags = [log.contact for log in logs]
    if not all(flag and all(on.all() for on in flag.values()) for flag in flags):
        return []
    return [
        "No foot ever leaves the ground: its forces are unknown at all times, and hide combinations of parameters that would "
        "show in a motion in which feet are lifted by turns."
    ]
