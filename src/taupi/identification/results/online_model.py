"""A fit as a robot with numbers, for programs that run beside it, and its friction followed along a log."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupi.checks import truth
from taupi.dynamics.terms import Along, Coulomb, Term, TermsLike
from taupi.dynamics.terms.term import value_at
from taupi.errors import TaupiError
from taupi.identification.equations.joints import predicted_rows
from taupi.identification.online.model import OnlineModel
from taupi.identification.online.observer import MomentumObserver, observer_bandwidth
from taupi.identification.online.recursive import RecursiveLeastSquares, upper_factor
from taupi.identification.online.tracker import KINDS, FrictionFilter, FrictionTracker, filter_program
from taupi.identification.results.export import is_placed, robot_with
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import errors_of, recording_of
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.row_maker import Rows
from taupi.model.requirements import require_motors
from taupi.model.robot import Robot
from taupi.program.step_loop import roll
from taupi.program.targets.cpu import Kernel
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading
from taupi.tables import table
from taupi.threads import small_algebra

# Below this share of the largest speed, the sign of a measured velocity is noise: dry friction builds up over at least this.
_NOISE = 0.01


def online_model(fit: Fit) -> OnlineModel:
    """Return the robot whose torque is that of the fit for every motion: tau = Y_b pi_b.

    Its standard parameters are the base parameters at their representatives, and 0 elsewhere, so that B pi = pi_b: they act
    alike in every motion, whether or not real bodies could have them.
    """
    fit.equations.layout.require_rigid("What runs beside a robot")
    pi = np.zeros(len(fit.basis.standard))
    pi[list(fit.basis.columns)] = fit.values
    layout = fit.basis.standard.layout
    apart = tuple(t for t in fit.terms if isinstance(t, Along) or not is_placed(t.name))
    owners = {
        t: (t.name,) if isinstance(t, Along) else tuple(f"{j}.{t.name}" for j in fit.robot.joint_names) for t in apart
    }
    cutoffs = [log.cutoff_hz for log in fit.logs if log.cutoff_hz]
    speeds = tuple(fit.speeds[name] for name in fit.robot.joint_names) if fit.speeds else ()
    return OnlineModel(
        robot_with(fit.robot, layout, pi),
        tuple(_for_measured_speeds(t, speeds) for t in fit.terms if t not in apart),
        apart,
        tuple(float(pi[layout.index(name)]) for names in owners.values() for name in names),
        float(np.median(cutoffs)) if cutoffs else None,
        speeds,
        tuple(j.rms for j in fit.joints),
        fit.preparation.known_torque,
        tuple((1 + fit.relative_gains).tolist()) if fit.relative_gains.any() else (),
    )


def recursive_estimator(fit: Fit, seconds: float) -> RecursiveLeastSquares:
    """Return recursive least squares that starts at a fit; a sample counts for about this many `seconds`.

    Standard deviations may grow to ten times those of the fit and 30 % of the estimate: a motion that excites a parameter shows
    it more precisely within seconds, and a motion that does not leaves it there.
    """
    model, linear = online_model(fit), fit.basis.linear
    b = linear.count
    terms = tuple(_for_measured_speeds(t, model.speeds) for t in linear.terms)
    values, covariance = fit.values[:b], fit.covariance[:b, :b]
    bounds = 10 * np.sqrt(np.clip(np.diag(covariance), 0.0, None)) + 0.3 * np.abs(values)
    return RecursiveLeastSquares(
        dataclasses.replace(linear, terms=terms),
        model,
        values,
        upper_factor(covariance),
        np.maximum(bounds, 1e-9),
        seconds,
    )


def _for_measured_speeds(term: Term, speeds: tuple[float, ...]) -> Term:
    """Return dry friction that builds up over at least 1 % of the largest speed of each joint; other terms as they are."""
    if not isinstance(term, Coulomb) or not speeds:
        return term
    own = [float(value_at("velocity", term.velocity, i)) for i in range(len(speeds))]
    return Coulomb(tuple(max(width, _NOISE * v) for width, v in zip(own, speeds, strict=True)), term.distance)


@dataclass(frozen=True, eq=False, repr=False)
class Tracking:
    """The torque that a fit predicts for a log while its friction follows what was measured before.

    Its errors are online errors: past torques of this very log were used. They are not those of held-out data.

    Attributes:
        name: The name of the log's file, or "log".
        joints: The names of the joints.
        time: (N,), s.
        measured: The torque (N, n), filtered as the motion was.
        predicted: The torque (N, n) with friction that follows.
        plain: The torque (N, n) that the fit predicts alone.
        theta: The changes of (F_v, F_c, o) of each joint (N, n, 3) that were known at each row.
    """

    name: str
    joints: tuple[str, ...]
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    plain: np.ndarray
    theta: np.ndarray

    @property
    def relative(self) -> float:
        """||tau - tau_hat|| / ||tau|| over all joints: the online error."""
        return errors_of(self.measured.ravel(), self.predicted.ravel())[1]

    @property
    def plain_relative(self) -> float:
        """The same without the tracker."""
        return errors_of(self.measured.ravel(), self.plain.ravel())[1]

    @property
    def summary(self) -> str:
        """One line: both errors over all joints."""
        return f"{self.name}: online error {self.relative:.2%} with friction tracked, {self.plain_relative:.2%} without"

    def to_dict(self) -> dict[str, object]:
        """Return the errors and the last changes of friction as plain data, without the samples."""
        last = {j: dict(zip(KINDS, t, strict=True)) for j, t in zip(self.joints, self.theta[-1].tolist(), strict=True)}
        return {
            "log": self.name,
            "online_relative": self.relative,
            "plain_relative": self.plain_relative,
            "changes": last,
        }

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("joint", "online error", "without", *(f"{k}, last" for k in KINDS))]
        for j, name in enumerate(self.joints):
            errors = (errors_of(self.measured[:, j], p[:, j])[1] for p in (self.predicted, self.plain))
            rows.append((name, *(f"{e:.2%}" for e in errors), *(f"{t:+.3g}" for t in self.theta[-1, j])))
        return "\n".join([self.summary, *table(rows)])


@small_algebra
def track(fit: Fit, tracker: FrictionTracker, log: LogLike, reading: Reading, changes: Mapping[str, Any]) -> Tracking:
    """Return how the friction of a `fit` follows a `log`, prepared as the fitted logs were, except for some `changes`.

    Rows pass a filter that looks ahead by about a period of its cutoff, so a row is predicted from rows that are older than that.
    """
    settings = dataclasses.replace(fit.preparation, **changes)
    with errors_naming(log if isinstance(log, str | os.PathLike) else None):
        recording = recording_of(fit, log, settings, reading)
        blocks = predicted_rows(fit, recording)
    if recording.cutoff_hz is None:
        raise TaupiError(
            "The log came prepared, and its filter is not known.", remedy="Give the log as it was recorded."
        )
    time, measured = np.concatenate([b.time for b in blocks]), np.concatenate([b.tau for b in blocks])
    residual = np.concatenate([b.residual(fit.values) for b in blocks])
    x = np.concatenate([friction_columns(fit, tracker, b) for b in blocks])
    filtering = dataclasses.replace(tracker.filter, cutoff_hz=recording.cutoff_hz)
    theta = _learnt(filtering, x, residual, 1 / recording.rate_hz)
    delay = max(1, int(np.ceil(recording.rate_hz / recording.cutoff_hz)))
    known = np.concatenate([np.zeros((delay, *theta.shape[1:])), theta])[: len(theta)]
    plain, gains = measured - residual, recording.gains
    tracked = plain + np.sum(x * known, axis=2)
    return Tracking(
        recording.source.name, fit.robot.joint_names, time, gains * measured, gains * tracked, gains * plain, known
    )


def friction_columns(fit: Fit, tracker: FrictionTracker, rows: Rows) -> np.ndarray:
    """Return x = (qd, s, 1) of each joint (N, n, 3), filtered like the rows; parts without a column are not filtered."""
    x = np.ones((len(rows), fit.robot.n, 3))
    widths = tracker.model.widths
    for j, joint in enumerate(fit.robot.joint_names):
        for k, kind in enumerate(KINDS[:2]):
            if (name := f"{joint}.{kind}") in fit.names:
                x[:, j, k] = rows.y[fit.names.index(name), j]
            else:
                x[:, j, k] = rows.qd[:, j] if kind == "viscous" else np.tanh(rows.qd[:, j] / widths[j])
    return x


def _learnt(filtering: FrictionFilter, x: np.ndarray, residual: np.ndarray, seconds: float) -> np.ndarray:
    """Return theta (N, n, 3) after each row."""
    n, steps = filtering.n, len(x)
    state = np.zeros((steps + 1, 1, 9 * n))
    state[0, 0] = filtering.start()
    inputs = {"x": np.ascontiguousarray(x.reshape(steps, 1, 3 * n)), "e": np.ascontiguousarray(residual[:, None])}
    inputs["dt"] = np.full((1, 1, 1), seconds)
    roll(Kernel(filter_program(filtering), lanes=1), {"state": state}, inputs, {"correction": np.zeros((steps, 1, n))})
    return state[1:, 0, : 3 * n].reshape(steps, n, 3)


def momentum_observer(
    source: Robot | Fit, bandwidth_hz: float = 20.0, terms: TermsLike | None = None, tracker: bool = False
) -> MomentumObserver:
    """Return an observer of the torque from outside: dr/dt = K (tau_ext - r), with K = 2 pi bandwidth (De Luca & Mattone 2003).

    The observer is used sample by sample (`init`, `step`), over a log (`external_torque`), as a program (`program`), as C
    (`taupi.emit_component`), and with thresholds from logs without contacts to find contacts (`calibrated`).

    Args:
        source: A fit, whose parameters and terms are taken, or a robot with its own parameters; elastic joints of a robot are
            taken as rigid, `tau` as the torque of the joints.
        bandwidth_hz: How fast it follows, Hz: 63 % of a sudden contact after 1 / K, 8 ms for the default of 20 Hz. Noise grows
            with it.
        terms: The joint terms of a robot, none by default; a fit has its own.
        tracker: Whether friction follows the robot, learnt while there is no contact; False by default.

    Returns:
        The observer.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> observer, q, rest = tp.momentum_observer(arm), [0.3, 0.5], [0.0, 0.0]
    >>> held = tp.gravity_torque(arm)(q) - [2.0, 0.0]  # someone carries 2 N m of the first joint
    >>> state = observer.init()
    >>> for _ in range(100):
    ...     tau_ext, state = observer.step(state, q, rest, held, dt=0.001)
    >>> tau_ext.round(3).tolist()
    [2.0, 0.0]
    """
    bandwidth_hz, tracker = observer_bandwidth("bandwidth_hz", bandwidth_hz), truth("tracker", tracker)
    if isinstance(source, Fit | Robot):
        require_motors(source.robot if isinstance(source, Fit) else source, "A momentum observer")
    if isinstance(source, Fit):
        if terms is not None:
            raise TaupiError("{terms} are those of the fit: leave them out.")
        model = online_model(source)
    elif isinstance(source, Robot):
        model = OnlineModel.of_robot(source, () if terms is None else terms)
    else:
        raise TaupiError("{source} is {got!r}, expected a robot or a fit.", got=source)
    return MomentumObserver(model, bandwidth_hz, FrictionFilter.of(model, careful=True) if tracker else None)
