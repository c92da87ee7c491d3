"""From currents with and without a known mass to the gains of the drives: `taupi.identify_gains`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.checks import positive
from taupi.dynamics.terms import TermsLike
from taupi.errors import Argument, NotIdentifiedError, TaupiError
from taupi.identification.build import chosen_logs
from taupi.identification.folds.relative_gains import relative_gains
from taupi.identification.gains.gain_estimate import GainEstimate
from taupi.identification.gains.projection import (
    CurrentRows,
    LikeliestGains,
    Model,
    gains_as_columns,
    merged,
    most_likely_gains,
)
from taupi.identification.inputs import FitInputs, LogsLike, log_list
from taupi.identification.payloads.difference import (
    STRETCHES,
    difference,
    drift_sizes,
    enlarged_by_jackknife,
    later_recordings,
    rows_of_logs,
)
from taupi.identification.payloads.identify_body import body_scale, body_size, carrying_frame, payload_columns
from taupi.identification.problem import Problem
from taupi.identification.results.uncertainty import covariance_root, uncertainty
from taupi.identification.rows.preparation import CurrentOptions, Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.weighting import weighted_least_squares
from taupi.model.robot import Robot
from taupi.model.robot_parts import Frame
from taupi.settings import settle
from taupi.signals.log import Log
from taupi.signals.mapping.columns import Columns
from taupi.signals.read import LogLike, whole_log
from taupi.signals.reading import Reading
from taupi.threads import small_algebra

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Passes over the logs in which friction that depends on load sees the gains and the load found so far.
_PASSES = 3
# A gain is not determined if its standard error is a larger share of it than this.
_DETERMINED = 0.5
_LOADS = 1e-6, 1e6  # kg
# Stated gains that differ from a first guess by more than this factor are not used as the start.
_FAR = 3.0
# The smallest number of standard errors by which currents with the load must differ from those without.
_SEEN = 3.0


@small_algebra
def identify_gains(
    robot: Robot,
    unloaded: LogsLike,
    loaded: LogsLike,
    *,
    mass: float,
    at: str | None = None,
    terms: TermsLike | None = None,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[CurrentOptions],
) -> GainEstimate:
    """Return the torque per ampere of each drive of a robot, from currents with and without a load of known mass.

    i_j = a_j Y_j (pi_b + B_P pi_P) + noise, with pi_P = 0 in unloaded logs, and a_j = 1 / gain. The mass sets the scale; its
    centre and inertia are found as well. The likelihood of the currents is maximised over log a, everything else projected out
    (Golub & Pereyra 1973): gains as columns of a regressor would come out too small, since noise is in the currents. Torques that
    logs state, as currents times gains, are where the search begins, with what the unloaded logs show of these gains relative to
    each other; a current with the opposite sign of its joint needs a negative gain. Errors are
    those of the model, or from leaving out stretches of time, whichever are larger.

    Args:
        robot: The robot.
        unloaded: Logs with `current`, paths, or a list of them, without the load.
        loaded: Logs with `current`, paths, or a list of them, with the load.
        mass: The mass of the load, kg.
        at: The frame that the load is fixed to; the tip by default.
        terms: The joint terms, as in `taupi.identify`.
        reading: How files are read, a `taupi.Reading`.
        preparation: How logs become rows, a `taupi.Preparation`.
        options: The fields of `reading` and `preparation` as keywords.

    Returns:
        The gains, N m/A or N/A, on the joint's side of the gear: `result.motor_table(ratio)` has those of the motors.

    Raises:
        NotIdentifiedError: If the currents with the load hardly differ from those without, or a gain is not determined.

    >>> import numpy as np, taupi as tp
    >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> def log(robot):
    ...     return tp.Log(t[:, 0], q, current=tp.inverse_dynamics(robot)(q, qd, qdd) / [9.0, 4.0])
    >>> gains = tp.identify_gains(arm, log(arm), log(arm.with_payload(1.0)), mass=1.0, terms=(), cutoff_hz=10)
    >>> gains.values.round(1).tolist()
    [9.0, 4.0]
    """
    if not isinstance(robot, Robot):
        raise TaupiError("{robot} is {got!r}, expected a Robot: use taupi.load(...).", got=robot)
    settings, prepared = settle(identify_gains, options, (Reading, reading), (Preparation, preparation))
    known, frame = _weighed(mass), carrying_frame(robot, at)
    _refuse_coupling(settings)
    logs = [[_current_log(log, robot, settings, name) for log in log_list(several, name)] for several, name in
            ((unloaded, "unloaded"), (loaded, "loaded"))]  # fmt: skip
    stated = _stated_gains([log for several in logs for log in several])
    begin = np.where(np.isfinite(stated), stated, 1.0)
    calibration = _Calibration.of(robot, logs, begin, known, frame, terms, prepared)
    guess = calibration.first_guess()
    if not np.isfinite(stated).all() or np.abs(guess).max() > np.log(_FAR):
        # The cutoff and the shapes of friction are chosen from torques, which need gains that are about right.
        calibration = _Calibration.of(robot, logs, begin * np.exp(-guess), known, frame, terms, prepared)
    return calibration.result(stated)


def _weighed(mass: object) -> float:
    """Return the mass of a load, kg."""
    known = positive("mass", mass)
    least, most = _LOADS
    if not least <= known <= most:
        raise TaupiError(
            "{mass} is {got:g} kg, expected that of a load, {least:g} to {most:g} kg.",
            got=known,
            least=least,
            most=most,
        )
    return known


def _refuse_coupling(reading: Reading) -> None:
    motor = Columns.of(reading.columns).motor
    if motor is not None and motor.coupling:
        raise TaupiError(
            "motor.coupling of the mapping mixes the currents of motors, so that no joint has a gain of its own.",
            remedy="State it with the robot instead: robot.with_coupling(...).",
        )


def _current_log(log: LogLike, robot: Robot, reading: Reading, name: str) -> Log:
    """Return a log with currents, its torque unchanged."""
    log = whole_log(log, robot, reading, name)
    if log.current is None:
        raise TaupiError(
            "{argument}: current is missing in {path}, which has {signals:,}.",
            remedy="Map the columns of the motors' currents: {columns}.",
            argument=Argument(name),
            path=log.source.path or "the log",
            signals=log.signals,
            columns=Argument("columns", {"current": ...}),
        )
    return log


def _stated_gains(logs: Sequence[Log]) -> np.ndarray:
    """Return torque per ampere (n,) as the logs state it, the ratio of tau to current, negative for currents of opposite
    sign; NaN without torques.
    """
    ratios = []
    for log in logs:
        if log.tau is None or log.current is None:
            return np.full(log.n, np.nan)
        power = np.nansum(log.current**2, axis=0)
        ratios.append(np.nansum(log.tau * log.current, axis=0) / np.where(power > 0, power, np.nan))
    ratio = np.median(ratios, axis=0)
    return np.where(ratio != 0, ratio, np.nan)


@dataclass(frozen=True, eq=False)
class _Calibration:
    """Currents with and without a load, as rows of a regressor, in units of the initial gains."""

    robot: Robot
    problem: Problem
    loaded: tuple[Recording, ...]
    begin: np.ndarray
    mass: float
    frame: Frame
    columns: np.ndarray
    start: np.ndarray  # log alpha (n,): what the unloaded logs show of the gains beside each other

    @classmethod
    def of(
        cls,
        robot: Robot,
        logs: Sequence[Sequence[Log]],
        begin: np.ndarray,
        mass: float,
        frame: Frame,
        terms: TermsLike | None,
        preparation: Preparation,
    ) -> _Calibration:
        """Return the calibration of logs, with initial gains `begin` (n,)."""
        without, with_load = ([log.with_(tau=log.current * begin) for log in several] for several in logs)
        inputs = FitInputs(robot, without, terms, elastic=False, preparation=preparation)
        with chosen_logs(inputs) as chosen:
            # Restricting to possible bodies does not help while gains are wrong.
            first = None if chosen.draft is None else weighted_least_squares(chosen.draft, 2)[0].x
            folds = chosen.folds(first) if preparation.relative_gains is None else None
            problem = chosen.problem(first)
        gains = None if folds is None else relative_gains(folds)
        start = np.zeros(robot.n) if gains is None or not gains.supported else np.log1p(gains.values)
        records = [r.record for r in problem.recordings]
        loaded = later_recordings(problem.base, problem.preparation, records, with_load, Reading())
        return cls(robot, problem, loaded, begin, mass, frame, payload_columns(problem.base, frame), start)

    def first_guess(self) -> np.ndarray:
        """Return log alpha (n,) by least squares with gains as columns."""
        x = weighted_least_squares(self.problem, 2)[0].x
        parts = self._pieces(x, self.columns[:, 0] * self.mass)
        blocks = merged([block for part in parts for block in part])
        return gains_as_columns(blocks, self._model(blocks, x), _sizes(blocks, self.robot.n))

    def result(self, stated: np.ndarray) -> GainEstimate:
        """Return the gains, or refuse them with the reason."""
        x = self._seen_load()
        added, v = self.columns[:, 0] * self.mass, self.start
        for _ in range(_PASSES):
            parts = self._pieces(x, added)
            blocks = merged([block for part in parts for block in part])
            model = self._model(blocks, x)
            solution = most_likely_gains(blocks, model, v, _sizes(blocks, self.robot.n))
            x, v, added = solution.x, solution.log_alpha, model.columns @ solution.theta
            if not self.problem.first.size:  # no friction depends on the load
                break
        covariance = self._covariance(parts, model, solution)
        self._refuse_undetermined(np.sqrt(np.diag(covariance)))
        gains = self.begin * np.exp(-v)
        body = np.append(self.mass, solution.theta[-10:-1])
        names = [r.source.name for r in (*self.problem.recordings, *self.loaded)]
        power = np.maximum(_sizes(blocks, self.robot.n), 1e-300)
        left = np.sqrt(np.sum(solution.noise**2, axis=1) / np.sum(power**2, axis=1))
        return GainEstimate(
            robot=self.robot,
            values=gains,
            covariance=covariance * np.outer(gains, gains),
            stated=stated,
            mass=self.mass,
            payload=body,
            frame=self.frame.name,
            relative=solution.noise / power,
            logs=tuple(names),
            notes=(
                f"currents are explained up to {left[0]:.2%} without the load and {left[1]:.2%} with it",
                "friction of the loaded logs may differ from that of the others; errors are by the model, or by leaving out one "
                f"of {STRETCHES} stretches of time, whichever are larger",
            ),
        )

    def _seen_load(self) -> np.ndarray:
        """Return the base parameters (b,) by weighted least squares; refuse loaded logs that show no load."""
        problem = self.problem
        solution, weights = weighted_least_squares(problem, 2)
        covariance = uncertainty(problem.pieces, weights, solution.x, solution.spread).covariance
        spread = np.hstack([covariance_root(covariance), np.diag(self._drift(solution.x))])
        expected = body_scale(self.mass, body_size(self.robot, self.frame))
        prior = np.where(np.arange(10) == 0, np.inf, expected)
        noise = np.sqrt(
            [np.mean([1 / w**2 for (_, j), w in weights.items() if j == k and w] or [0.0]) for k in range(self.robot.n)]
        )
        pieces = rows_of_logs(problem.base, self.loaded, solution.x + self.mass * self.columns[:, 0])
        load = difference(pieces, solution.x, self.columns, spread, prior, noise)
        error = float(np.sqrt(load.covariance[0, 0]))
        if load.values[0] < -_SEEN * error:
            raise NotIdentifiedError(
                "The robot is lighter in {sources:,} than in {other_sources:,}.",
                remedy=(
                    "Give logs with the load as {loaded}, and others as {unloaded}; a current that "
                    "counts against its joint needs a negative torque_per_ampere in the mapping."
                ),
                sources=[r.source.name for r in self.loaded],
                other_sources=[r.source.name for r in problem.recordings],
            )
        if load.values[0] < _SEEN * error:
            raise NotIdentifiedError(
                "No load is seen in {sources:,}: {load:.3g} kg with a standard error of {error:.2g} kg, "
                "where {mass:g} kg more than in the other logs were expected.",
                remedy="Give logs with the load as {loaded}, and others as {unloaded}.",
                sources=[r.source.name for r in self.loaded],
                load=load.values[0],
                error=error,
                mass=self.mass,
            )
        return solution.x

    def _drift(self, x: np.ndarray) -> np.ndarray:
        """Return by how much friction changes from run to run (b,), one standard deviation, for base parameters x."""
        speeds = np.max([r.speeds for r in self.problem.recordings], axis=0)
        return drift_sizes(self.problem.base, x, dict(zip(self.robot.joint_names, speeds.tolist(), strict=True)))

    def _pieces(self, x: np.ndarray, added: np.ndarray) -> list[list[CurrentRows]]:
        """Return the rows of six stretches of time of all logs, for base parameters x without the load and x + added with it."""
        base = self.problem.base
        groups = (
            (False, rows_of_logs(base, self.problem.recordings, x)),
            (True, rows_of_logs(base, self.loaded, x + added)),
        )
        result: list[list[CurrentRows]] = [[] for _ in range(STRETCHES)]
        for loaded, factors in groups:
            last = {file: 1 + max(f.stretch for f in factors if f.file == file) for file in {f.file for f in factors}}
            for k in range(STRETCHES):
                own = [f for f in factors if f.stretch * STRETCHES // last[f.file] == k and f.rows]
                result[k] += merged([CurrentRows(f.joint, loaded, f.r, f.rows, f.share) for f in own])
        return result

    def _model(self, blocks: Sequence[CurrentRows], x: np.ndarray) -> Model:
        """Return what else explains the currents: drift of friction in the loaded logs, and the load."""
        base = self.problem.base
        drift = self._drift(x)
        drifting = np.flatnonzero(drift > 0)
        expected = body_scale(self.mass, body_size(self.robot, self.frame))
        nine_and_mass = np.roll(self.columns, -1, axis=1)
        columns = np.hstack([np.eye(base.count)[:, drifting], nine_and_mass])
        share = {b.joint: b.share for b in blocks if not b.loaded}
        pulls = [(f.joint, np.sqrt(share.get(f.joint, 1.0)) * row) for f in self.problem.shrinkage for row in f.r]
        return Model(
            columns,
            np.concatenate([drift[drifting], expected[1:]]),
            self.mass,
            np.array([row for _, row in pulls]).reshape(len(pulls), base.count + 1),
            np.array([joint for joint, _ in pulls], dtype=int),
        )

    def _covariance(self, parts: list[list[CurrentRows]], model: Model, solution: LikeliestGains) -> np.ndarray:
        """Return the covariance (n, n) of log alpha: that of the model, enlarged if leaving out a stretch changes it more."""
        others = []
        for k in range(STRETCHES):
            blocks = merged([block for i, part in enumerate(parts) if i != k for block in part])
            others.append(most_likely_gains(blocks, model, solution.log_alpha, solution.noise).log_alpha)
        return enlarged_by_jackknife(solution.covariance, others)

    def _refuse_undetermined(self, errors: np.ndarray) -> None:
        names = [n for n, e in zip(self.robot.joint_names, errors, strict=True) if not e < _DETERMINED]
        if names:
            raise NotIdentifiedError(
                "The logs do not determine the gain of {names:,}: no link or load couples them strongly "
                "enough to the mass that is known.",
                remedy=(
                    "Record motions in which the load makes these joints work, and check that the "
                    "loaded log has the load."
                ),
                names=names,
            )


def _sizes(blocks: Sequence[CurrentRows], n: int) -> np.ndarray:
    """Return the root mean squares (2, n) of the measured values, without and with the load."""
    result = np.zeros((2, n))
    for block in blocks:
        result[int(block.loaded), block.joint] = np.sqrt(np.sum(block.r[:, -1] ** 2) / max(block.rows, 1))
    return result
