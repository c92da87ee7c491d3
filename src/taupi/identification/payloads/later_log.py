"""Logs that were recorded after a fit was made, as rows of the fit's own regressor."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from taupi.dynamics.imu_form import require_motors
from taupi.errors import Argument, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.inputs import LogsLike, log_list
from taupi.identification.rows.block_source import errors_naming, open_source
from taupi.identification.rows.compression import compress_recordings
from taupi.identification.rows.factors import JointFactor
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import LogRecord, Recording
from taupi.identification.rows.workers import Workers
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading, Streaming


def later_recordings(
    base: BaseParameters,
    preparation: Preparation,
    records: Sequence[LogRecord],
    logs: LogsLike,
    reading: Reading,
    name: str = "log",
) -> tuple[Recording, ...]:
    """Return recordings of `logs`, prepared like those of a fit of `base`, of which there are `records`, with their cutoff.

    Rows of joints that are slower than those of the fit are left out. `name` is that of the argument with the logs.
    """
    require_motors(base.robot, "What changed since a fit")
    if base.elastic:
        raise TaupiError(
            f"{base.robot.name} was identified with elastic joints, whose changes are not worked out.",
            remedy=("Identify it as rigid: ", Argument("elastic", False), "."),
        )
    return tuple(_recording(base, preparation, records, log, reading) for log in log_list(logs, name))


def _recording(
    base: BaseParameters, settings: Preparation, records: Sequence[LogRecord], log: LogLike, reading: Reading
) -> Recording:
    equations = Equations.of(base)
    streaming = Streaming(**{name: getattr(reading, name) for name in Reading.names()}, stream=False)
    source = open_source(log, equations, settings, streaming)
    with errors_naming(source.first.source.path):
        if settings.cutoff_hz is None and not source.first.is_prepared:
            cutoffs = [record.cutoff_hz for record in records if record.cutoff_hz]
            if cutoffs:
                hz = min(max(float(np.median(cutoffs)), source.lowest_cutoff_hz), 0.4 * source.rate_hz)
                settings = dataclasses.replace(settings, cutoff_hz=hz)
        recording = Recording.of(source, equations, settings)
        least = recording.least_speeds
        for record in records:
            if len(record.least_speeds) == equations.count:
                least = np.maximum(least, record.least_speeds)
        return dataclasses.replace(recording, least_speeds=least)


def rows_of_logs(base: BaseParameters, recordings: Sequence[Recording], values: np.ndarray) -> tuple[JointFactor, ...]:
    """Return the rows [Y_b tau] of recordings as one triangle for each log, joint and stretch of time.

    `values` (b,) give the load in the columns of friction that depends on it: those of the robot as it was in the logs.
    """
    with Workers(len(recordings)) as pool:
        compressed = compress_recordings(pool, friction_plan(base, values), recordings)
    factors = tuple(f for part in compressed for f in part.factors)
    if not any(f.rows for f in factors):
        raise TaupiError(f"No row is left of {', '.join(r.source.name for r in recordings)} after filtering.")
    return factors
