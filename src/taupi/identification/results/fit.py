"""A fit: estimates with their uncertainty, how well they explain the logs, and the record of how they were made."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.checks import finite, is_number, positive
from taupi.dynamics.terms import Term
from taupi.errors import Argument, TaupiError, shown
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.results.status import Status
from taupi.identification.results.verdict import Verdict
from taupi.identification.rows.chosen_cutoffs import ChosenCutoffs
from taupi.identification.rows.preparation import PREDICTION_CHANGES, Preparation
from taupi.identification.rows.recording import LogRecord
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import exact
from taupi.public_names import handed_on
from taupi.settings import takes
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading
from taupi.tables import table

if TYPE_CHECKING:
    from taupi.identification.online.recursive import RecursiveLeastSquares
    from taupi.identification.online.tracker import FrictionTracker
    from taupi.identification.physical.standard_parameters import Consistency
    from taupi.identification.results.tracking import Tracking
    from taupi.identification.results.validation import Validation
    from taupi.identification.springs.records import SpringRecord
    from taupi.signals.log import Log
    from taupi.signatures import validate as validate_fit


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
            raise TaupiError(f"rows of {shown(self.name)} is {self.rows}, expected a count.")
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

        A fit whose verdict is wrong, or that has terms that a description cannot hold, is refused with the reason, unless
        `anyway`.
        """
        from taupi.identification.results.export import identified_robot

        return identified_robot(self, anyway)

    def to_pinocchio(self, model: Any, anyway: bool = False) -> Any:
        """Set what was identified in a Pinocchio `model`, and return the model; see `taupi.bridges.to_pinocchio`.

        A fit whose verdict is wrong is refused, unless `anyway`.
        """
        return handed_on("bridges", "to_pinocchio")(self, model, anyway)

    def to_drake(self, plant: Any, context: Any = None, anyway: bool = False) -> Any:
        """Set what was identified in a `context` of a Drake `plant`, by default a new one, and return the context.

        See `taupi.bridges.to_drake`. A fit whose verdict is wrong is refused, unless `anyway`.
        """
        return handed_on("bridges", "to_drake")(self, plant, context, anyway)

    # Uncertainty --------------------------------------------------------------------------------------------------

    @cached_property
    def stderr(self) -> np.ndarray:
        """The standard errors (b,), infinite for what the logs do not determine."""
        return np.where(self.undetermined, np.inf, np.sqrt(np.clip(np.diag(self.covariance), 0.0, None)))

    @property
    def relative_error(self) -> np.ndarray:
        """The standard errors relative to the estimates (b,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.stderr / np.abs(self.values)
        return np.where(np.isnan(ratio), np.inf, ratio)

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Return confidence intervals (b, 2): estimate -+ t stderr, with Student's t for the degrees of freedom of each.

        `level` is the share of intervals that contain the truth, 0.95 by default.
        """
        from scipy.stats import t

        if not is_number(level) or not 0 < level < 1:
            raise TaupiError(Argument("level"), f" is {shown(level)}, expected a share between 0 and 1, such as 0.95.")
        half = np.where(self.undetermined, np.inf, t.ppf(0.5 + level / 2, np.maximum(self.freedom, 1.0)) * self.stderr)
        return np.stack([self.values - half, self.values + half], axis=1)

    @property
    def significant(self) -> np.ndarray:
        """Whether the 95 % interval of each estimate excludes zero (b,)."""
        low, high = self.intervals().T
        return (low > 0) | (high < 0)

    # Use ----------------------------------------------------------------------------------------------------------

    def predict(self, log: Log) -> np.ndarray:
        """Return the torque (N, n) that the fit predicts for a `log`, either prepared or with q alone."""
        from taupi.identification.results.validation import predict

        return predict(self, log)

    if TYPE_CHECKING:
        validate = validate_fit  # with every keyword: that of `taupi.validate`, whose first argument is the fit
    else:

        @takes(reading=Reading, preparation=PREDICTION_CHANGES)
        def validate(self, log: LogLike, *, reading: Reading, preparation: Mapping[str, Any]) -> Validation:
            """Return how well the fit predicts a `log`, or the log in a file, that was not fitted; see `taupi.validate`."""
            from taupi.identification.results.validation import validate_log

            return validate_log(self, log, reading, preparation)

    def tracker(self, seconds: float = 60.0) -> FrictionTracker:
        """Return what follows drifting friction online: `init`, `step`, `program`, and C by `taupi.emit_component`.

        Three numbers per joint, the changes of viscous friction, dry friction and offset, are learnt from past samples.
        Friction may change by about 20 % within `seconds`, 60 by default.

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
        from taupi.identification.online.friction_filter import FrictionFilter
        from taupi.identification.online.tracker import FrictionTracker
        from taupi.identification.results.online_model import online_model

        model = online_model(self)
        return FrictionTracker(model, FrictionFilter.of(model, positive("seconds", seconds)))

    def recursive_estimator(self, seconds: float = 60.0) -> RecursiveLeastSquares:
        """Return recursive least squares for the base parameters, starting from this fit: `init`, `step`, and C.

        A sample counts for about `seconds`, 60 by default.

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

    if TYPE_CHECKING:

        def track(self, log: LogLike, **settings: Any) -> Tracking:
            """Return an online error; see below."""
            ...
    else:

        @takes(reading=Reading, preparation=PREDICTION_CHANGES)
        def track(self, log: LogLike, *, reading: Reading, preparation: Mapping[str, Any]) -> Tracking:
            """Return the torque predicted for a `log`, or the log in a file, while friction follows it causally.

            Settings are those of `validate`. Its error is an online error, never to be quoted as that of held-out data: it has
            seen past torques of the same log.
            """
            from taupi.identification.results.tracking import track

            return track(self, self.tracker(), log, reading, preparation)

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
    def motors_only(self) -> bool:
        """Whether only the motors of an elastic robot were measured, so that its links have to be simulated."""
        return bool(self.settings.get("motors_only", False)) or self.estimator == "output_error"

    @property
    def fits_deflection(self) -> bool:
        """Whether deflections were fitted as measurements, with offsets of the encoders, instead of serving as columns."""
        return bool(self.settings.get("fits_deflection", False))

    def with_record(self, **facts: Any) -> Fit:
        """Return the fit with more `facts` in its record, such as the command."""
        return replace(self, record={**self.record, **facts})

    @property
    def provenance(self) -> dict[str, Any]:
        """How the fit was made, as plain data: its record, and under "logs" what `logs` has."""
        return {**self.record, "logs": [log.to_dict() for log in self.logs]}

    # To read ------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as plain data, ready for JSON; infinite numbers are None."""
        from taupi.identification.results.fit_data import fit_to_dict

        return fit_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], robot: Robot) -> Fit:
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
        return rows + [(n, f"{v:.5g}", f"{e:.2g}", unit, word) for n, v, e, unit, word in cells]

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        cells = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        top = "".join(f"<th>{html.escape(c)}</th>" for c in head)
        return f"<table><caption>{html.escape(self.summary)}</caption><thead><tr>{top}</tr></thead><tbody>{cells}</tbody></table>"
