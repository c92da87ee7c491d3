"""From a log of a floating robot, or one with loops, to rows of its regressor: derivatives, contacts, a filter for both sides.

Contact forces are taken out first, and only then are rows filtered, within one phase of contact: F(J^T f) is not J^T F(f), and a
filter across a change of contact mixes forces of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.floating.contact_rows import (
    BASE_ROWS,
    PROJECTED,
    ContactPlan,
    estimated_offsets,
    offset_columns,
    projected,
    without_offsets,
    wrench_forces,
)
from taupi.identification.floating.roots import root_of
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import filter_plan
from taupi.identification.rows.row_maker import Filter
from taupi.model.robot import Robot
from taupi.regressors.closed_loops import ClosedLoops
from taupi.signals.filtering.filters import choose_cutoff, noise_bandwidth_hz
from taupi.signals.floating_logs import phases, rate_within
from taupi.signals.log import Log

_CHUNK = 2048
# Positions are smoothed up to this many times the cutoff of the rows before they are differentiated.
_SMOOTHER = 3.0


@dataclass(frozen=True, eq=False)
class FloatingMotion:
    """The inputs of the regressor, (N, 3) or (N, joints) each, and the torque of the rows (N, n), without contact forces.

    They are those of the IMU form, w, wd, a, q, qd, qdd; of a robot on the ground, q, qd, qdd.
    """

    inputs: tuple[np.ndarray, ...]
    tau: np.ndarray

    @property
    def q(self) -> np.ndarray:
        """The positions of the joints (N, joints)."""
        return self.inputs[-3]

    @property
    def speeds(self) -> np.ndarray:
        """The velocities (N, n) of the rows that are measured; 0 for the linear ones of the base."""
        w, joints = self.inputs[:-3][:1], self.inputs[-2]
        return np.concatenate([*w, *(np.zeros_like(x) for x in w), joints], axis=1)


@dataclass(frozen=True, eq=False)
class FloatingRows:
    """Rows y (m, n, b) and tau (m, n) of a log at `time` (m,), and which of them are used (m, n); `share` is as in a factor."""

    y: np.ndarray
    tau: np.ndarray
    use: np.ndarray
    time: np.ndarray
    qd: np.ndarray
    share: float
    plan: ContactPlan
    notes: tuple[str, ...]
    cutoff_hz: float | None = None


def floating_motion(robot: Robot, log: Log, smooth_hz: float | None = None) -> FloatingMotion:
    """Return the motion of a log; derivatives that it does not have are central differences within a phase of contact.

    For a robot on the ground with loops, positions are smoothed up to `smooth_hz` before differentiation, and a log of its
    motors alone is completed by closing the loops.
    """
    root = root_of(robot)
    root.check(log)
    steps = np.diff(log.time)
    if len(log) < 3 or not np.allclose(steps, steps.mean(), rtol=0.05):
        raise TaupiError("{time} of the log is not evenly spaced: resample it first.")
    rate = rate_within(log.time, log.contact)
    q = root.positions(log, smooth_hz)
    qd = rate(q) if log.qd is None else log.qd
    joints: tuple[np.ndarray, ...] = (q, qd, rate(qd) if log.qdd is None else log.qdd)
    base = root.motion(log, rate)
    tau = np.zeros((len(log), robot.n))
    if log.tau is not None:
        tau[:, [robot.joint_names.index(name) for name in log.names]] = log.tau
    signals = (("base", np.concatenate(base or (q[:, :0],), axis=1)), ("q", log.q), ("tau", tau))
    for name, value in signals:
        if not np.isfinite(value).all():
            raise TaupiError("{name} of the log is not finite. Leave such samples out: log.drop_gaps().", name=name)
    if log.n < len(robot.actuated):
        joints = ClosedLoops(robot, log.names).motion(*joints)
    return FloatingMotion((*base, *joints), tau)


def row_scales(base: BaseParameters, motion: FloatingMotion, prior: np.ndarray) -> np.ndarray:
    """Return the size (n,) of each row's torque with prior parameters, by which rows are made comparable."""
    step = max(1, len(motion.q) // 1000)
    inputs = [x[::step] for x in motion.inputs]
    torque = root_of(base.robot).regressor(base)(*inputs) @ base.project(prior)
    size = np.sqrt(np.mean(torque**2, axis=0))
    return np.maximum(size, 1e-3 * max(float(size.max()), 1e-9))


@dataclass(frozen=True)
class ContactSettings:
    """How contact forces should be treated: `contact` and `feet` of `taupi.identify`, and whether force sensors have offsets."""

    contact: str | None = None
    feet: str = "point"
    wrench_offset: bool = False


def floating_rows(
    base: BaseParameters, log: Log, preparation: Preparation, settings: ContactSettings, prior: np.ndarray
) -> FloatingRows:
    """Return the rows of a log, contact forces measured or projected out, then filtered within phases of contact.

    A log with recorded accelerations of joints and base is not filtered unless a cutoff is given.
    """
    robot = base.robot
    plan = root_of(robot).contact_plan(log, settings.contact, settings.feet)
    row_filter, notes = _row_filter(log, preparation)
    smooth_hz = None if row_filter is None else _SMOOTHER * row_filter.cutoff_hz
    motion = floating_motion(robot, log, smooth_hz)
    if plan.way != BASE_ROWS and log.tau is None:
        raise TaupiError(
            "tau is missing in the log.", remedy="Give it, or use {contact}.", contact=Argument("contact", BASE_ROWS)
        )
    tau = motion.tau
    if plan.way != PROJECTED:
        tau = tau + wrench_forces(robot, motion.q, log.wrench)
    sensors = log.wrench if settings.wrench_offset and plan.way != PROJECTED else {}
    offsets = offset_columns(robot, motion.q, sensors)
    both = np.concatenate([_regressor(base, motion), tau[:, :, None], offsets], axis=2)
    scales = row_scales(base, motion, prior)
    if plan.way == PROJECTED or plan.loops_note:
        contacts = log.contact if plan.way == PROJECTED else {}
        both = projected(robot, plan, motion.q, contacts, both, scales)
    cuts = phases(log.contact, len(log)) if plan.way == PROJECTED else [slice(0, len(log))]
    kept, at = _filtered(both, cuts, row_filter)
    use = np.ones((len(at), robot.n), dtype=bool)
    if plan.way == BASE_ROWS:
        use[:, 6:] = False
    columns, kept = kept[:, :, base.count + 1 :], kept[:, :, : base.count + 1]
    if sensors:
        frames = [(name, value.shape[1]) for name, value in sensors.items()]
        notes = (*notes, *estimated_offsets(kept, columns, use, scales, frames))
        kept = without_offsets(kept, columns, use, scales)
    share = 1.0
    if row_filter is not None:
        rate = row_filter.rate_hz / row_filter.step
        share = min(1.0, 2 * noise_bandwidth_hz(row_filter.cutoff_hz, row_filter.order) / rate)
    return FloatingRows(
        kept[:, :, :-1],
        kept[:, :, -1],
        use,
        log.time[at],
        motion.speeds[at],
        share,
        plan,
        (plan.note, *notes),
        None if row_filter is None else row_filter.cutoff_hz,
    )


def _regressor(base: BaseParameters, motion: FloatingMotion) -> np.ndarray:
    program = root_of(base.robot).regressor(base)
    count = len(motion.q)
    parts = [program(*(x[k : k + _CHUNK] for x in motion.inputs)) for k in range(0, count, _CHUNK)]
    return np.concatenate(parts)


def _row_filter(log: Log, preparation: Preparation) -> tuple[Filter | None, tuple[str, ...]]:
    """Return the filter of the rows, and a note on it; None if accelerations were recorded and no cutoff is given."""
    recorded = log.qdd is not None and (log.base is None or log.base.wd is not None)
    if preparation.cutoff_hz is None and recorded:
        return None, ("accelerations are those of the log; rows are not filtered",)
    hz = preparation.cutoff_hz or choose_cutoff(log.q, log.rate_hz).hz
    if not 0 < hz < log.rate_hz / 2:
        raise TaupiError(
            "{cutoff_hz} is {got:g}, expected between 0 and half of the rate, {rate_hz:g}.",
            got=hz,
            rate_hz=log.rate_hz / 2,
        )
    _, first, row_filter = filter_plan(preparation, log.rate_hz, hz)
    record_filter = Filter(log.rate_hz, hz, preparation.order, first * row_filter.step)
    return record_filter, (f"rows pass a zero-phase Butterworth of {hz:.3g} Hz within each phase of contact",)


def _filtered(rows: np.ndarray, cuts: list[slice], row_filter: Filter | None) -> tuple[np.ndarray, np.ndarray]:
    """Return filtered rows without the ends of phases, and which samples they belong to."""
    if row_filter is None:
        return rows, np.arange(len(rows))
    kept, places = [], []
    for cut in cuts:
        length = cut.stop - cut.start
        inner = np.arange(row_filter.edge, length - row_filter.edge, row_filter.step)
        if not len(inner):
            continue
        kept.append(row_filter(rows[cut])[inner])
        places.append(cut.start + inner)
    if not kept:
        raise TaupiError(
            "No phase of contact is longer than twice the filter's reach of {edge} samples.",
            remedy="Give a higher {cutoff_hz}, or accelerations in the log, which then is not filtered.",
            edge=row_filter.edge,
        )
    return np.concatenate(kept), np.concatenate(places)


def floating_prediction(base: BaseParameters, values: np.ndarray, log: Log) -> np.ndarray:
    """Return what the motors have to provide (N, n) for the samples of a log: Y pi less measured contact wrenches.

    The first six are those of the base, which has no motors: what is left there is not explained.
    """
    motion = floating_motion(base.robot, log)
    if any(flags.any() for name, flags in log.contact.items() if name not in log.wrench):
        raise TaupiError(
            "The log has contacts without wrenches, so that its torques cannot be predicted.",
            remedy="Use fit.validate(log).",
        )
    return np.asarray(_regressor(base, motion) @ values - wrench_forces(base.robot, log.q, log.wrench))
