"""Trials: the error that a fit would have if a log were mended in some way, from a cheap fit of a bounded part of the logs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from taupi.dynamics.terms import linear_terms
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations, regressor_inputs
from taupi.identification.friction.dry_friction import FrictionPlan, friction_plan
from taupi.identification.friction.fitted_terms import base_with_terms, dry_friction_parts, without_shapes
from taupi.identification.rows.block_source import open_source
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import RowMaker, compiled_rows
from taupi.identification.tuning.friction_shape import VELOCITIES
from taupi.identification.verdict.sample import Head, motion_cutoff
from taupi.identification.verdict.trial_rows import Errors, GravityRows, TrialRows
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.regressors.classical import regressor
from taupi.signals.checking import rules
from taupi.signals.filtering.derivatives import central
from taupi.signals.filtering.filters import Cutoff
from taupi.signals.log import Log
from taupi.signals.reading import Streaming

if TYPE_CHECKING:
    from taupi.identification.problem import Problem

# Step of the differences that differentiate the torque with respect to q, rad or m.
_STEP = 1e-4
# Number of positions of each log over which inertias are averaged.
_POSITIONS = 24

# Position limits count as exceeded beyond this share of them: encoder zeros are slightly off.
_MARGIN = 0.1
# A joint that moves by less than this, rad or m, stands still.
_STILL = 1e-3

MOTION = ("q", "qd", "qdd")
Gravity = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Mending:
    """A change that would undo a mistake.

    Attributes:
        log: The change of a log as it was recorded.
        torque: Torques tau -> torque tau (n, n).
        gravity: The gravity (3,) in world axes.
        motion: Motions q -> motion q (n, n), a permutation with signs: it needs no second preparation of the log.
        shift: What is added to q (n,), which needs no second preparation either.
    """

    log: Callable[[Log], Log] | None = None
    torque: np.ndarray | None = None
    gravity: Gravity | None = None
    motion: np.ndarray | None = None
    shift: np.ndarray | None = None

    @property
    def of_torque_only(self) -> bool:
        """Whether it needs no rows of its own."""
        return all(change is None for change in (self.log, self.gravity, self.motion, self.shift))

    def of_smoothed(self, log: Log) -> Log:
        """Return a smoothed log with the changes that need no second preparation."""
        motion, shift = self.motion, self.shift
        turned = log if motion is None else changed_signals(log, MOTION, lambda value: value @ motion.T)
        return turned if shift is None else changed_signals(turned, ("q",), lambda value: value + shift)


class Trials:
    """Cheap fits of one problem: relative least squares on the beginnings of its logs.

    Joints with small torques count as much as those with large ones, and errors of different trials can be compared. Dry friction
    is tanh(qd / v), with v from the speeds of the trial itself.
    """

    def __init__(self, problem: Problem, heads: list[Head]) -> None:
        self.problem, self.heads = problem, heads
        self.robot: Robot = problem.robot
        self.equations = Equations.of(problem.base)
        self.n = self.robot.n

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters of trials: without friction that depends on load, for which a first fit is needed."""
        terms = linear_terms(self.problem.base.terms)
        return base_with_terms(self.robot, terms, elastic=self.equations.elastic, coupling=self.problem.base.coupling)

    @cached_property
    def dead(self) -> np.ndarray:
        """Which joints (n,) say nothing: their torque hardly ever changes its value, or they stand still."""
        logs = [head.log for head in self.heads]
        moves = np.any([np.ptp(log.q, axis=0) > _STILL for log in logs], axis=0)
        efforts = [[v for name, v in log.signals.items() if name in rules.EFFORTS] for log in logs]
        silent = [all(all(_constant(v[:, j]) for v in values) for values in efforts) for j in range(self.n)]
        return np.array(silent) | ~moves

    def outside_limits(self, motion: np.ndarray | None) -> np.ndarray:
        """Return which joints (n,) are outside of their limits, by more than a tenth of these, once q -> motion q (n, n)."""
        if any(joint.mimic or joint.also for joint in self.robot.joints):  # q is that of motors, limits those of joints
            return np.zeros(self.n, dtype=bool)
        change = np.eye(self.n) if motion is None else motion
        low, high = self._reach
        least, most = np.sort(np.stack([change @ low, change @ high]), axis=0)
        limits = [joint.limits for joint in self.robot.driving_joints]
        lower = np.array([-np.inf if lim.lower is None else lim.lower for lim in limits], dtype=float)
        upper = np.array([np.inf if lim.upper is None else lim.upper for lim in limits], dtype=float)
        stated = upper > lower
        margin = np.where(stated & np.isfinite(upper - lower), _MARGIN * (upper - lower), 0.0)
        return stated & ((least < lower - margin) | (most > upper + margin))

    @cached_property
    def _reach(self) -> tuple[np.ndarray, np.ndarray]:
        """The range (2, n) of q over all logs, without one value in a hundred at each end."""
        reached = [np.nanquantile(head.recorded.q, (0.01, 0.99), axis=0) for head in self.heads]
        return np.min(reached, axis=0)[0], np.max(reached, axis=0)[1]

    @cached_property
    def own_recordings(self) -> list[Recording]:
        """The recordings of the logs as they are."""
        return [self.recording(head, Mending()) for head in self.heads]

    @cached_property
    def own_rows(self) -> TrialRows:
        """The rows of the logs as they are."""
        return self._rows(Mending(), friction_plan(self.base))

    @cached_property
    def baseline(self) -> Errors:
        """The errors of the logs as they are."""
        return self.own_rows.solved()[1]

    @cached_property
    def gravity_rows(self) -> GravityRows:
        """The rows of the logs under any gravity, over all standard parameters."""
        axes = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        still, *others = (self._rows(Mending(), self._standard_plan(axis)) for axis in axes)
        return GravityRows(still, tuple(rows.y - still.y for rows in others))

    def errors(self, mending: Mending) -> Errors:
        """Return the errors of the logs with a mending; infinite ones if the mended logs cannot be fitted."""
        try:
            return self.rows(mending).solved(mending.torque)[1]
        except (TaupiError, np.linalg.LinAlgError):
            return Errors.none(self.n)

    def rows(self, mending: Mending) -> TrialRows:
        """Return the rows of the logs with a mending of motion or gravity."""
        if mending.of_torque_only:
            return self.own_rows
        if mending.gravity is not None:
            return self.gravity_rows.under(np.array(mending.gravity))
        return self._rows(mending, friction_plan(self.base))

    @cached_property
    def own_derivatives(self) -> TrialRows:
        """The rows of the logs as they are, with the derivatives of their torque."""
        return self.differentiated(Mending(), self.own_rows.solved()[0].x)

    def differentiated(self, mending: Mending, x: np.ndarray) -> TrialRows:
        """Return the rows of the logs with a mending, and the derivatives of their torque at parameters x (p,)."""
        return self._rows(mending, friction_plan(self.base), x)

    def recording(self, head: Head, mending: Mending) -> Recording:
        """Return the recording of one of the logs with a mending."""
        log = head.log if mending.log is None else mending.log(head.log)
        settings = _open_settings(self.problem.preparation)
        source = open_source(log, self.equations, settings, Streaming())
        if source.first.is_prepared:
            return Recording.of(source, self.equations, settings)
        hz = self.problem.preparation.cutoff_hz
        # A change of the unit of time changes all frequencies.
        scaled = None if hz is None else min(hz * source.rate_hz / head.rate_hz, 0.4 * source.rate_hz)
        chosen = motion_cutoff(source.first) if scaled is None else scaled
        return Recording.of(source, self.equations, settings, Cutoff(chosen, np.zeros(self.n), ""))

    def _rows(self, mending: Mending, plan: FrictionPlan, x: np.ndarray | None = None) -> TrialRows:
        recordings = self.own_recordings
        if mending.log is not None:
            recordings = [self.recording(head, mending) for head in self.heads]
        parts = [self._rows_of(recording, mending, plan, x, k) for k, recording in enumerate(recordings)]
        y, tau, offsets, rates, files, q = (np.concatenate(each) for each in zip(*parts, strict=True))
        inertia, links = self._inertia(plan.program, q), self._links(plan.program)
        return TrialRows(y, tau, inertia, offsets, rates, files, links, self.dead)

    def _inertia(self, program: Program, q: np.ndarray) -> np.ndarray:
        """Return the rows (n, p) of M_jj = Y_j(q, 0, e_j) - Y_j(q, 0, 0), on average over positions q (K, n)."""
        pushed = np.concatenate([np.zeros((1, self.n)), np.eye(self.n)])
        states, pushes = np.repeat(q, len(pushed), axis=0), np.tile(pushed, (len(q), 1))
        inputs = regressor_inputs(program, states, np.zeros(states.shape), pushes)
        y = np.asarray(compiled_rows(program)(*inputs)).reshape(-1, self.n, len(q), len(pushed)).mean(axis=2)
        return np.stack([y[:, j, 1 + j] - y[:, j, 0] for j in range(self.n)])

    def _links(self, program: Program) -> np.ndarray:
        """Return the parameters (p,) of the links as described, NaN for those of terms."""
        base, links = self.base, len(self.robot.parameters)
        own = len(program.parameters) == len(base.names)
        values = base.project(np.append(self.problem.prior[:links], np.zeros(len(base.standard) - links)))
        columns = np.array(base.columns) if own else np.arange(len(program.parameters))
        return np.where(columns < links, values if own else self.problem.prior[: len(columns)], np.nan)

    def _rows_of(
        self, recording: Recording, mending: Mending, plan: FrictionPlan, x: np.ndarray | None, file: int
    ) -> tuple[np.ndarray, ...]:
        log = mending.of_smoothed(recording.log)
        q, qd, qdd = self.equations.motion(log)
        speed = np.abs(qd @ plan.directions.T).max(axis=0, initial=0.0)
        shaped = dataclasses.replace(plan, widths=VELOCITIES[0] * speed, distances=np.zeros(len(plan.places)))
        blocks = list(recording.rows(RowMaker(shaped), of=log))
        if not blocks:
            raise TaupiError(f"{recording.source.name}: no row is left of the part that is tried.")
        y = np.concatenate([rows.y.transpose(2, 1, 0) for rows in blocks])
        tau = np.concatenate([rows.tau for rows in blocks])
        offsets, rates = np.zeros((len(tau), self.n, 0)), np.zeros((len(tau), 0))
        if x is not None:
            offsets = _through(recording, self._offset_columns(plan.program, (q, qd, qdd), x))
            rates = _through(recording, central(self.equations.torque(log), log.rate_hz)[0])
        some = q[:: max(1, len(q) // _POSITIONS)]
        return y, tau, offsets, rates, np.full(len(tau), file), some

    def _offset_columns(self, program: Program, motion: tuple[np.ndarray, ...], x: np.ndarray) -> np.ndarray:
        """Return the derivative (N, n, n) of the torque Y x with respect to each q, by central differences."""
        (q, qd, qdd), rows = motion, compiled_rows(program)

        def at(position: np.ndarray) -> np.ndarray:
            y = np.asarray(rows(*regressor_inputs(program, position, qd, qdd)))
            return np.tensordot(y, x, axes=(0, 0)).T

        steps = _STEP * np.eye(self.n)
        return np.stack([(at(q + s) - at(q - s)) / (2 * _STEP) for s in steps], axis=2)

    def _standard_plan(self, gravity: Gravity) -> FrictionPlan:
        """Return the plan of rows under another gravity: the columns of all standard parameters, whatever they determine."""
        program = regressor(self.robot.with_gravity(gravity), terms=without_shapes(self.base.terms))
        names = program.parameters.names
        parts = [p for p in dry_friction_parts(self.base.terms, self.equations) if p.parameter in names]
        directions = np.array([part.direction for part in parts]).reshape(len(parts), self.equations.count)
        zeros, places = np.zeros(len(parts)), tuple(names.index(part.parameter) for part in parts)
        return FrictionPlan(program, tuple(part.owner for part in parts), places, directions, zeros, zeros)


def _open_settings(preparation: Preparation) -> Preparation:
    """Return the settings of trials: the beginnings are cut already, and every row counts."""
    return dataclasses.replace(preparation, cutoff_hz=None, trim=False, slow=None, threshold=None)


def _through(recording: Recording, columns: np.ndarray) -> np.ndarray:
    """Return columns (N, ...) at the samples of a recording, filtered and decimated as its rows are."""
    row_filter = recording.row_filter
    if row_filter is None:
        return columns
    rows = slice(row_filter.edge, len(columns) - row_filter.edge, row_filter.step)
    return row_filter(columns.reshape(len(columns), -1), rows).reshape(-1, *columns.shape[1:])


def _constant(x: np.ndarray) -> bool:
    """Return whether a channel hardly ever has another value."""
    return rules.most_common(x[np.isfinite(x)])[1] > rules.DEAD


def changed_signals(log: Log, signals: tuple[str, ...], change: Callable[[np.ndarray], np.ndarray]) -> Log:
    """Return a log in which those of the `signals` that it has are changed."""
    return log.with_(**{name: change(value) for name, value in log.signals.items() if name in signals})
