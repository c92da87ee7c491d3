"""A fit: estimates with their uncertainty, how well they explain the logs, and the record of how they were made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.checks import finite, positive
from taupi.dynamics.terms import Term
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations.equations import Equations
from taupi.identification.equations.kinds import equations_of
from taupi.identification.results.status import Status
from taupi.identification.results.uncertainty import relative_error, student_intervals
from taupi.identification.results.verdict import Verdict
from taupi.identification.rows.preparation import ChosenCutoffs, PredictionOptions, Preparation, settle_prediction
from taupi.identification.rows.recording import LogRecord
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import exact
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading
from taupi.tables import html_table, table, with_error

if TYPE_CHECKING:
    import pinocchio
    from pydrake.systems.framework import Context
    from typing_extensions import Unpack

    from taupi.identification.online.recursive import RecursiveLeastSquares
    from taupi.identification.online.tracker import FrictionTracker
    from taupi.identification.physical.standard_parameters import Consistency
    from taupi.identification.results.online_model import Tracking
    from taupi.identification.results.validation import Validation
    from taupi.identification.springs.estimate import SpringRecord
    from taupi.signals.log import Log


@dataclass(frozen=True)
class JointStatistics:
    """How well a fit explains the torque of one joint over the rows that it was fitted to.

    Attributes:
        name: The joint, or "<joint>.link" and "<joint>.motor" of an elastic joint.
        rows: The number of rows.
        rms: Root mean square of tau - tau_hat, N m, or N for a prismatic joint.
        relative: ||tau - tau_hat|| / ||tau||.
        r2: 1 - ||tau - tau_hat||^2 / ||tau - mean||^2.
        noise: The standard deviation that the estimator assumed for the torque, N m or N.
    """

    name: str
    rows: int
    rms: float
    relative: float
    r2: float
    noise: float

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise TaupiError("rows of {name!r} is {got}, expected a count.", name=self.name, got=self.rows)
        for name in ("rms", "noise"):
            finite(f"{name} of {self.name}", getattr(self, name))


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Identified base parameters with their uncertainty, and the record of how they were made.

    Attributes:
        robot: The robot as it was described.
        terms: The joint terms, with the shapes of dry friction.
        basis: What the base parameters stand for: pi_b = B pi.
        values: The base parameters pi_b (b,).
        covariance: Their covariance (b, b).
        undetermined: Which of them the logs do not determine one by one (b,). They are as near to the prior as the logs allow,
            and their standard error is infinite.
        freedom: Degrees of freedom of the confidence intervals (b,).
        estimator: The name of the estimator.
        settings: The settings of the estimator, and under "preparation" those of the logs.
        status: How the estimator ended.
        conditioning: What the logs determine, as plain data.
        joints: How well the fit explains the torque of each joint.
        notes: What was done and found, in words.
        logs: The records of the fitted logs.
        record: The rest of the record: version, robot, seed, command.
        prior: The standard parameters (p,) used for what the logs do not determine.
        standard: Standard parameters (p,), if the estimator gives them itself.
        triangle: The weighted rows [Y_b tau], compressed (k, b + 1).
        springs: What the logs show about the springs of an elastic robot and their encoders: delay, offsets, lost motion.
        judged: The verdict of `taupi.identify`, which also examined the logs; None for a fit that was made in another way.
        cutoffs: The cutoffs chosen for all logs together, for the fit and for predictions; None if they were set.
        shifts: The largest change of each estimate (b,) if one of four parts of the logs is left out; None if it is not known.
    """

    robot: Robot
    terms: tuple[Term, ...]
    basis: BaseParameters
    values: np.ndarray
    covariance: np.ndarray
    undetermined: np.ndarray
    freedom: np.ndarray
    estimator: str
    settings: Mapping[str, Any]
    status: Status
    conditioning: Mapping[str, Any]
    joints: tuple[JointStatistics, ...]
    notes: tuple[str, ...]
    logs: tuple[LogRecord, ...]
    record: Mapping[str, Any]
    prior: np.ndarray
    standard: np.ndarray | None = None
    triangle: np.ndarray | None = field(default=None, compare=False)
    springs: tuple[SpringRecord, ...] = ()
    cutoffs: ChosenCutoffs | None = None
    shifts: np.ndarray | None = field(default=None, compare=False)
    judged: Verdict | None = None

    @cached_property
    def verdict(self) -> Verdict:
        """Whether to use the fit: `.level` is "good", "doubtful" or "wrong", `.reasons` say why, with the likely cause."""
        from taupi.identification.results.plausibility import reasons_of_fit

        return self.judged if self.judged is not None else Verdict.of(reasons_of_fit(self))

    # Estimates ----------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters."""
        return self.basis.names

    @cached_property
    def base(self) -> Parameters:
        """The base parameters with their estimates."""
        values = tuple(exact(float(v), n) for v, n in zip(self.values, self.names, strict=True))
        return Parameters(self.basis.parameters.layout, values)

    @property
    def relative_gains(self) -> np.ndarray:
        """By how much each recorded torque reads high beside those of other joints (n,), 0.09 for 9 %; 0 where not seen.

        Logs are divided by 1 + this before they are fitted, and predictions are multiplied by it. Only ratios are seen.
        """
        gains = self.preparation.relative_gains
        return np.zeros(self.robot.n) if gains is None else np.zeros(self.robot.n) + np.asarray(gains)

    @cached_property
    def consistency(self) -> Consistency:
        """The physically consistent standard parameters of this fit, and what they cost; see `standard_parameters`."""
        from taupi.identification.physical.standard_parameters import (
            Consistency,
            prior_share,
            rows_from_covariance,
            standard_parameters,
        )

        if self.standard is not None:
            return Consistency.of_estimator(self.standard)
        rows = rows_from_covariance(self.values, self.covariance) if self.triangle is None else self.triangle
        share = prior_share(len(self.values), sum(j.rows for j in self.joints))
        return standard_parameters(self.basis, self.values, rows, self.prior, share)

    @property
    def parameters(self) -> Parameters:
        """Standard parameters (p,) that real bodies can have: those of the estimator, or those nearest to the prior.

        B pi are the base parameters of the fit if real bodies can have them, else the nearest that they can have;
        `fit.consistency.sentence` says which.
        """
        layout = self.basis.standard.layout
        pairs = zip(self.consistency.values, layout.names, strict=True)
        return Parameters(layout, tuple(exact(float(v), n) for v, n in pairs))

    def robot_identified(self, anyway: bool = False) -> Robot:
        """Return the robot with the identified parameters, friction and rotors, for programs, C source and files.

        Args:
            anyway: Whether to return it even if the verdict is wrong; False by default.

        Raises:
            TaupiError: If the verdict is wrong, or the fit has terms that a description cannot hold, unless `anyway`.
        """
        from taupi.identification.results.export import identified_robot

        return identified_robot(self, anyway)

    def to_pinocchio(self, model: object, anyway: bool = False) -> pinocchio.Model:
        """Set what was identified in a Pinocchio model, and return the model; see `taupi.bridges.to_pinocchio`.

        Args:
            model: The `pinocchio.Model`.
            anyway: Whether to do it even if the verdict is wrong; False by default.
        """
        from taupi.bridges.pinocchio import to_pinocchio

        return to_pinocchio(self, model, anyway)

    def to_drake(self, plant: object, context: object = None, anyway: bool = False) -> Context:
        """Set what was identified in a context of a Drake plant, and return the context; see `taupi.bridges.to_drake`.

        Args:
            plant: The `MultibodyPlant`.
            context: The context of the plant; a new one by default.
            anyway: Whether to do it even if the verdict is wrong; False by default.
        """
        from taupi.bridges.drake import to_drake

        return to_drake(self, plant, context, anyway)

    # Uncertainty --------------------------------------------------------------------------------------------------

    @cached_property
    def stderr(self) -> np.ndarray:
        """The standard errors (b,), infinite for what the logs do not determine."""
        return np.where(self.undetermined, np.inf, np.sqrt(np.clip(np.diag(self.covariance), 0.0, None)))

    @property
    def relative_error(self) -> np.ndarray:
        """The standard errors relative to the estimates (b,)."""
        return relative_error(self.values, self.stderr)

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Return confidence intervals: estimate -+ t stderr, with Student's t for the degrees of freedom of each.

        Args:
            level: The share of intervals that contain the truth; 0.95 by default.

        Returns:
            Lower and upper ends (b, 2), infinite for what the logs do not determine.
        """
        return student_intervals(self.values, self.stderr, self.freedom, level)

    @property
    def significant(self) -> np.ndarray:
        """Whether the 95 % interval of each estimate excludes zero (b,)."""
        low, high = self.intervals().T
        return (low > 0) | (high < 0)

    # Use ----------------------------------------------------------------------------------------------------------

    def predict(self, log: Log) -> np.ndarray:
        """Return the torque that the fit predicts for a log.

        Args:
            log: A Log, either prepared or with q alone.

        Returns:
            tau_hat (N, n), N m or N.
        """
        from taupi.identification.results.validation import predict

        return predict(self, log)

    def validate(
        self,
        log: LogLike,
        *,
        reading: Reading | None = None,
        preparation: Preparation | None = None,
        **options: Unpack[PredictionOptions],
    ) -> Validation:
        """Return how well the fit predicts a log that was not fitted; see `taupi.validate`.

        Args:
            log: A Log, or the path of a file.
            reading: How the file is read, a `taupi.Reading`.
            preparation: What differs in how the log is prepared, a `taupi.Preparation`.
            options: The fields of `reading` and `preparation` as keywords.
        """
        from taupi.identification.results.validation import validate

        return validate(self, log, reading=reading, preparation=preparation, **options)

    def tracker(self, seconds: float = 60.0) -> FrictionTracker:
        """Return what follows drifting friction online: `init`, `step`, `program`, and C by `taupi.emit_component`.

        Three numbers per joint, the changes of viscous friction, dry friction and offset, are learnt from past samples.

        Args:
            seconds: The time in which friction may change by about 20 %, s; 60 by default.

        >>> import numpy as np, taupi as tp
        >>> arm, t, w = tp.load("elbow2r").with_friction(coulomb=1.0), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
        >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
        >>> tau = tp.inverse_dynamics(arm, terms="coulomb")(q, qd, qdd)
        >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), terms=("viscous", "coulomb"), cutoff_hz=10)
        >>> tracker = fit.tracker()
        >>> tau_hat, state = tracker.step(tracker.init(), q[100], qd[100], qdd[100], tau[100], dt=0.01)
        >>> state.theta.shape, bool(abs(tau_hat - tau[100]).max() < 0.1)
        ((2, 3), True)
        """
        from taupi.identification.online.tracker import FrictionFilter, FrictionTracker
        from taupi.identification.results.online_model import online_model

        model = online_model(self)
        return FrictionTracker(model, FrictionFilter.of(model, positive("seconds", seconds)))

    def recursive_estimator(self, seconds: float = 60.0) -> RecursiveLeastSquares:
        """Return recursive least squares for the base parameters, starting from this fit: `init`, `step`, and C.

        Args:
            seconds: For how long a sample counts, s; 60 by default.

        >>> import numpy as np, taupi as tp
        >>> arm, t, w = tp.load("elbow2r"), np.arange(2000)[:, None] / 100, np.array([1.0, 1.7])
        >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
        >>> tau = tp.inverse_dynamics(arm)(q, qd, qdd)
        >>> fit = tp.identify(arm, tp.Log(t[:, 0], q, tau=tau), terms=("viscous",), cutoff_hz=10)
        >>> estimator = fit.recursive_estimator()
        >>> values, state = estimator.step(estimator.init(), q[100], qd[100], qdd[100], tau[100], dt=0.01)
        >>> values.shape, bool(abs(values - fit.values).max() < 0.1)
        ((8,), True)
        """
        from taupi.identification.results.online_model import recursive_estimator

        return recursive_estimator(self, positive("seconds", seconds))

    def track(
        self,
        log: LogLike,
        *,
        reading: Reading | None = None,
        preparation: Preparation | None = None,
        **options: Unpack[PredictionOptions],
    ) -> Tracking:
        """Return the torque predicted for a log while friction follows it causally.

        The error is an online error, never to be quoted as that of held-out data: it has seen past torques of the same log.

        Args:
            log: A Log, or the path of a file.
            reading: How the file is read, a `taupi.Reading`.
            preparation: What differs in how the log is prepared, a `taupi.Preparation`.
            options: The fields of `reading` and `preparation` as keywords.
        """
        from taupi.identification.results.online_model import track

        settings, changes = settle_prediction(self.track, options, reading, preparation)
        return track(self, self.tracker(), log, settings, changes)

    @property
    def preparation(self) -> Preparation:
        """How the logs were prepared."""
        return Preparation.from_dict(self.settings["preparation"])

    @property
    def speeds(self) -> dict[str, float]:
        """The largest speed of each joint over the rows fitted, by name, rad/s or m/s; empty if it was not recorded."""
        recorded = [log.speeds for log in self.logs if log.speeds]
        names = (j.name for j in self.joints)
        return dict(zip(names, np.max(recorded, axis=0).tolist(), strict=True)) if recorded else {}

    @property
    def elastic(self) -> bool:
        """Whether joints have springs in it."""
        return self.basis.elastic

    @property
    def motors_only(self) -> bool:
        """Whether only the motors of an elastic robot were measured, so that its links have to be simulated."""
        return bool(self.settings.get("motors_only", False)) or self.estimator == "output_error"

    @cached_property
    def equations(self) -> Equations:
        """The equations that the fit solves: what its rows are, how they are compared and predicted."""
        return equations_of(self.robot, self.basis.elastic, self.motors_only)

    @property
    def fits_deflection(self) -> bool:
        """Whether deflections were fitted as measurements, with offsets of the encoders, instead of serving as columns."""
        return bool(self.settings.get("fits_deflection", False))

    def with_record(self, **facts: object) -> Fit:
        """Return the fit with more `facts` in its record, such as the command."""
        return replace(self, record={**self.record, **facts})

    @property
    def provenance(self) -> dict[str, object]:
        """How the fit was made, as plain data: its record, and under "logs" what `logs` has."""
        return {**self.record, "logs": [log.to_dict() for log in self.logs]}

    # To read ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """Return the fit as plain data, ready for JSON; infinite numbers are None."""
        from taupi.identification.results.fit_data import fit_to_dict

        return fit_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, object], robot: Robot) -> Fit:
        """Return the fit that `to_dict` returned as `data`, for the `robot` that it was made for."""
        from taupi.identification.results.fit_data import fit_from_dict

        return fit_from_dict(data, robot)

    @property
    def relative(self) -> float:
        """||tau - tau_hat|| / ||tau|| over all joints of the fitted logs."""
        left = [j.rms * math.sqrt(j.rows) for j in self.joints]
        power = math.hypot(*(e / j.relative for e, j in zip(left, self.joints, strict=True) if j.relative > 0))
        return math.hypot(*left) / power if power > 0 else 0.0  # squares could overflow: a file may contain any numbers

    @property
    def summary(self) -> str:
        """One line: how many parameters, from which estimator, and how well they explain the torque."""
        worst, total = max(self.joints, key=lambda j: j.relative), self.relative
        insignificant = int((~self.significant & ~self.undetermined).sum())
        return (
            f"{len(self.values)} base parameters of {self.robot.name} by {self.estimator}: relative error {total:.2%} over all "
            f"joints, {worst.relative:.2%} at worst ({worst.name}); {int(self.undetermined.sum())} not determined, "
            f"{insignificant} not significant"
        )

    def __repr__(self) -> str:
        return "\n".join([self.summary, *table(self._rows())])

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("parameter", "estimate", "+-", "unit", "")]
        units = self.basis.parameters.units
        marks = zip(self.undetermined, self.significant, strict=True)
        words = ["not determined" if u else "" if s else "not significant" for u, s in marks]
        cells = zip(self.names, self.values, self.stderr, units, words, strict=True)
        return rows + [(n, *with_error(v, e), unit, word) for n, v, e, unit, word in cells]

    def _repr_html_(self) -> str:
        return html_table(self.summary, self._rows())
