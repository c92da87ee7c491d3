"""A fit of a robot from commands and encoders: positions simulated in closed loop instead of torques predicted."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from taupi.dynamics.terms import Term, resolve_terms, term_parameters
from taupi.errors import TaupiError
from taupi.identification.commands.model import KINDS, MASSES, DrivenModel, Scales
from taupi.identification.commands.stretches import stretches_of
from taupi.identification.results.status import Status
from taupi.identification.results.uncertainty import relative_error, student_intervals
from taupi.identification.results.verdict import Verdict
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.recording import LogRecord
from taupi.model.body import with_real_inertia
from taupi.model.parameters import LINK_SIZE, Parameters
from taupi.model.robot import Robot
from taupi.model.scalars import exact
from taupi.schema import Record
from taupi.settings import settle
from taupi.signals.drive import Drive
from taupi.signals.log import Log
from taupi.signals.read import LogLike, whole_log
from taupi.signals.reading import Reading
from taupi.tables import html_table, table, with_error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from taupi.signals.reading import ReadingOptions

# Terms with a place in a description; what else is identified is listed beside an export.
DESCRIBED = ("rotor", "viscous", "coulomb", "offset")
_UNITS_OF_KP = {
    "kg m^2": "s^2",
    "kg": "s^2",
    "N m s/rad": "s",
    "N s/m": "s",
    "N m": "rad",
    "N": "m",
    "N m/rad": "1",
    "N/m": "1",
}


@dataclass(frozen=True, eq=False)
class HeldOut(Record):
    """How well a fit to some blocks of the logs predicts others, beside what else predicts them; each is (n,), rad or m.

    Attributes:
        mae: Mean |q_sim - q| of the fit.
        rms: Root mean square of q_sim - q.
        description: Mean error of the description alone, with what friction it states and without delay.
        linear: Mean error of the linear least squares that the search began from.
        tracking: Root mean square of qdes - q: what a robot that follows its commands exactly would be wrong by.
        resolution: The smallest step that the encoder shows.
        band: Between which frequencies, Hz, 90 % of the motion of the blocks that test lies.
        fitted_band: Between which frequencies, Hz, 90 % of the motion of the fitted blocks lies.
        seconds: How long the blocks that test are, together.
    """

    mae: np.ndarray
    rms: np.ndarray
    description: np.ndarray
    linear: np.ndarray
    tracking: np.ndarray
    resolution: np.ndarray
    band: tuple[float, float]
    fitted_band: tuple[float, float]
    seconds: float

    @property
    def relative(self) -> float:
        """||q_sim - q|| / ||qdes - q|| over all joints: the share of the deviation from the commands that is not explained."""
        return float(np.linalg.norm(self.rms) / max(float(np.linalg.norm(self.tracking)), 1e-30))


@dataclass(frozen=True)
class JointPositions(Record):
    """How a fit explains the positions of one joint in the logs that it was fitted to.

    Attributes:
        name: The joint.
        samples: The number of samples.
        mae: Mean |q_sim - q|, rad or m.
        rms: Root mean square of q_sim - q, rad or m.
        noise: The part of it that changes from sample to sample, rad or m: what no model can explain.
        tracking: Root mean square of qdes - q, rad or m.
        moves: Whether it moves beyond what its encoder resolves.
        at_limit: The share of the time for which its torque is at the limit: it then says nothing of its friction.
        explains: What the residual still depends on: "position", "speed" or "torque"; empty if nothing stands out.
    """

    name: str
    samples: int
    mae: float
    rms: float
    noise: float
    tracking: float
    moves: bool
    at_limit: float
    explains: str = ""


@dataclass(frozen=True)
class Alias(Record):
    """Parameters that the logs tell apart badly, or not at all.

    Attributes:
        names: The parameters, or what they stand for.
        sentence: What follows from it.
        correlation: Between the estimates; 1 if only their sum, or product, is known.
    """

    names: tuple[str, ...]
    sentence: str
    correlation: float = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class CommandValidation:
    """A log that a fit simulates from its commands alone, beside what its encoders showed.

    Attributes:
        name: The name of the log's file, or "log".
        joints: The names of the joints.
        units: The units of their positions.
        time: (N,), s.
        measured: Positions of the encoders (N, n), rad or m.
        predicted: Simulated positions (N, n), from the first measured state of each stretch without gaps.
        commanded: Commanded positions (N, n).
        origin: The time of the log's first sample, s, from which `begin` and `end` count.
    """

    name: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    time: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    commanded: np.ndarray
    origin: float = 0.0

    @property
    def elapsed(self) -> np.ndarray:
        """The time since the log's first sample (N,), s, as `begin` and `end` count it."""
        return self.time - self.origin

    @property
    def residual(self) -> np.ndarray:
        """predicted - measured (N, n), rad or m."""
        return self.predicted - self.measured

    @cached_property
    def position_error(self) -> np.ndarray:
        """Mean |q_sim - q| of each joint (n,), rad or m."""
        return np.asarray(np.abs(self.residual).mean(axis=0))

    @cached_property
    def rms(self) -> np.ndarray:
        """Root mean square of q_sim - q of each joint (n,), rad or m."""
        return np.asarray(np.sqrt((self.residual**2).mean(axis=0)))

    @property
    def relative(self) -> float:
        """||q_sim - q|| / ||qdes - q|| over all joints."""
        deviation = float(np.linalg.norm(self.commanded - self.measured))
        return float(np.linalg.norm(self.residual)) / max(deviation, 1e-30)

    @property
    def summary(self) -> str:
        """One line: the error over all joints, and the worst joint."""
        order = np.argsort(-self.position_error)
        worst = [next(j for j in order if self.units[j] == unit) for unit in dict.fromkeys(self.units)]
        each = " and ".join(f"{milli(self.position_error[j], self.units[j])} ({self.joints[j]})" for j in worst)
        return (
            f"{self.name}: positions simulated from commands are off by {milli(self.position_error, self.units)} on average, "
            f"{each} at worst; {self.relative:.1%} of the deviation from the commands is left"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the errors as plain data, without the samples."""
        return {
            "log": self.name,
            "relative": self.relative,
            "position_error": self.position_error.tolist(),
            "rms": self.rms.tolist(),
            "joints": list(self.joints),
        }

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("joint", "mean |q_sim - q|", "rms")]
        numbers = zip(self.joints, self.units, self.position_error, self.rms, strict=True)
        return rows + [(name, milli(mean, unit), milli(rms, unit)) for name, unit, mean, rms in numbers]

    def __repr__(self) -> str:
        return "\n".join([self.summary, *table(self._rows())])

    def _repr_html_(self) -> str:
        return html_table(self.summary, self._rows())


@dataclass(frozen=True, eq=False, repr=False)
class CommandFit:
    """What was identified of a robot from commands and encoders, with its uncertainty and the record of how.

    Attributes:
        robot: The robot as it was described.
        model: What was free, and the numbers of a step for any values.
        raw: The parameters (p,) of the model.
        raw_covariance: Their covariance (p, p), robust to residuals that are related over a second.
        raw_freedom: The degrees of freedom of their intervals (p,).
        raw_white: Their standard errors (p,) if residuals were unrelated.
        raw_undetermined: Which of them the logs do not determine (p,).
        free: Combinations of the model's parameters (k, p), in units of their scales, that the logs do not determine.
        drive: The law of the first log.
        in_units_of_kp: Whether no gain is known, so that torques and inertias are known only as multiples of it.
        step: The longest step of the simulation, s, which the estimates of delay, damping and inertia belong to.
        status: How the search ended.
        joints: How well positions of the fitted logs are explained.
        held_out: How well positions of blocks that were not fitted are predicted; None if the logs were too short.
        aliases: Parameters that the logs tell apart badly.
        model_error: Whether residuals show that the model, and not noise, limits what is known: intervals are then too small.
        tried: The terms that were tried, in order, each with the gain in units of its standard error and whether it was kept.
        notes: What was done and found, in words.
        logs: The records of the logs.
        record: The rest of the record: version, robot, seed, command.
        verdict: Whether to use the fit, and why not.
        settings: The settings of the search.
    """

    robot: Robot
    model: DrivenModel
    raw: np.ndarray
    raw_covariance: np.ndarray
    raw_freedom: np.ndarray
    raw_white: np.ndarray
    raw_undetermined: np.ndarray
    free: np.ndarray
    drive: Drive
    in_units_of_kp: bool
    step: float
    status: Status
    joints: tuple[JointPositions, ...]
    held_out: HeldOut | None
    aliases: tuple[Alias, ...]
    model_error: bool
    tried: tuple[tuple[str, float, bool], ...]
    notes: tuple[str, ...]
    logs: tuple[LogRecord, ...]
    record: Mapping[str, Any]
    verdict: Verdict
    settings: Mapping[str, Any] = field(default_factory=dict)

    estimator: ClassVar[str] = "closed_loop"
    elastic: ClassVar[bool] = False

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms of the joints that have a place in a description."""
        return tuple(term for term in resolve_terms(DESCRIBED) if term.name in self.model.kinds)

    # Estimates ----------------------------------------------------------------------------------------------------

    @cached_property
    def _shown(self) -> list[int]:
        """The model's parameters that are reported: all but gains that serve as the unit."""
        return [k for k, p in enumerate(self.model.parameters) if not (self.in_units_of_kp and p.kind == "kp")]

    @cached_property
    def _slope(self) -> np.ndarray:
        """The derivative of what is reported by the model's parameters (b, p)."""
        slope = np.zeros((len(self._shown), len(self.raw)))
        for row, k in enumerate(self._shown):
            gain = self._gain_of(k)
            slope[row, k] = 1.0
            if gain is not None:
                kp = self.raw[gain]
                slope[row, k], slope[row, gain] = 1 / kp, -self.raw[k] / kp**2
        return slope

    def _gain_of(self, k: int) -> int | None:
        """Return the number of the gain that a parameter is divided by, if any."""
        parameter = self.model.parameters[k]
        if not self.in_units_of_kp or parameter.kind == MASSES or KINDS[parameter.kind].tau_power == 0:
            return None
        gains = (i for i, p in enumerate(self.model.parameters) if p.kind == "kp" and p.joint == parameter.joint)
        return next(gains, None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.model.parameters[k].name for k in self._shown)

    @property
    def units(self) -> tuple[str, ...]:
        """Their units; where no gain is known, those of a torque divided by kp."""
        own = [(self.model.parameters[k].unit, self._gain_of(k)) for k in self._shown]
        return tuple(unit if gain is None else f"kp {_UNITS_OF_KP[unit]}".replace("kp 1", "kp") for unit, gain in own)

    @property
    def position_units(self) -> tuple[str, ...]:
        """The unit of each joint's position."""
        return position_units(self.robot)

    @cached_property
    def values(self) -> np.ndarray:
        """The parameters (b,)."""
        divided = [(self.raw[k], self._gain_of(k)) for k in self._shown]
        return np.array([v if gain is None else v / self.raw[gain] for v, gain in divided])

    @cached_property
    def covariance(self) -> np.ndarray:
        """The covariance (b, b)."""
        return np.asarray(self._slope @ self.raw_covariance @ self._slope.T)

    @property
    def undetermined(self) -> np.ndarray:
        """Which parameters the logs do not determine (b,): they have no standard error, and stay where they began."""
        taking_part = (np.abs(self._slope) > 0) @ self.raw_undetermined.astype(float)
        return np.asarray(taking_part > 0)

    @property
    def at_bounds(self) -> np.ndarray:
        """Which parameters ended at a bound (b,)."""
        lower, upper, scale = (self.model.column(name) for name in ("lower", "upper", "scale"))
        near = (self.raw <= lower + 1e-9 * scale) | (self.raw >= upper - 1e-9 * scale)
        return np.asarray(near[self._shown])

    @cached_property
    def stderr(self) -> np.ndarray:
        """The standard errors (b,), infinite for what the logs do not determine."""
        return np.where(self.undetermined, np.inf, np.sqrt(np.clip(np.diag(self.covariance), 0.0, None)))

    @property
    def white_stderr(self) -> np.ndarray:
        """The standard errors (b,) if residuals were unrelated from sample to sample, for comparison."""
        return np.where(self.undetermined, np.inf, np.sqrt((self._slope**2) @ self.raw_white**2))

    @property
    def relative_error(self) -> np.ndarray:
        """The standard errors relative to the estimates (b,)."""
        return relative_error(self.values, self.stderr)

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Return confidence intervals: estimate -+ t stderr, with Student's t for the degrees of freedom.

        Args:
            level: The share of intervals that contain the truth; 0.95 by default.

        Returns:
            Lower and upper ends (b, 2), infinite for what the logs do not determine.
        """
        freedom = np.where(self._slope != 0, self.raw_freedom, np.inf).min(axis=1)
        return student_intervals(self.values, self.stderr, freedom, level)

    @property
    def significant(self) -> np.ndarray:
        """Whether the 95 % interval of each estimate excludes zero (b,)."""
        low, high = self.intervals().T
        return np.asarray((low > 0) | (high < 0))

    def of_kind(self, kind: str) -> np.ndarray:
        """Return the estimates of one kind, one per joint (n,), or one for all; zeros if it was not free.

        Args:
            kind: "rotor", "viscous", "coulomb", "offset", "spring", "coulomb_slope", "load", "stribeck", "encoder" or "delay".
        """
        values = [v for k, v in zip(self._shown, self.values, strict=True) if self.model.parameters[k].kind == kind]
        return np.array(values) if values else np.zeros(1 if kind in KINDS and KINDS[kind].shared else self.robot.n)

    @property
    def delay(self) -> float:
        """By how much commands act late, s; negative if the log pairs them with later readings of the encoder."""
        return float(self.of_kind("delay")[0])

    @property
    def base(self) -> Parameters:
        """The free parameters with their estimates."""
        full, values = self.parameters, dict(zip(self.names, self.values, strict=True))
        kept = [k for k, name in enumerate(full.names) if name in values]
        return full.take(kept)

    @cached_property
    def parameters(self) -> Parameters:
        """Standard parameters (p,) of links and joints as far as a description has a place for them.

        Raises:
            TaupiError: No gain is known, so that no torque and no inertia is.
        """
        if self.in_units_of_kp:
            raise TaupiError(
                "No gain of the drive is known, so that inertias and torques of {robot} are known only as multiples of kp.",
                remedy="State kp in the [drive] table if it is known.",
                robot=self.robot.name,
            )
        standard = self.robot.parameters + term_parameters(self.robot, resolve_terms(DESCRIBED))
        found = dict(zip(self.names, self.values.tolist(), strict=True))
        values = np.array(standard.values, dtype=float)
        links = len(self.robot.parameters)
        values[:links] = self.model.bodies
        values[links:] = 0.0
        for k, name in enumerate(standard.names):
            values[k] = found.get(name, values[k])
        pairs = zip(values.tolist(), standard.names, strict=True)
        return Parameters(standard.layout, tuple(exact(v, name) for v, name in pairs))

    def robot_identified(self, anyway: bool = False) -> Robot:
        """Return the robot with the identified inertia, damping and dry friction of its drives.

        What a description has no place for, such as the delay, is in `notes`. Inertias are those of the description, but where no
        real body with the identified mass and centre has them: there, they are the nearest that one has.

        Args:
            anyway: Whether to return it even if the verdict is wrong; False by default.
        """
        from taupi.identification.results.export import robot_with
        from taupi.identification.results.verdict import Level

        if self.verdict.level is Level.WRONG and not anyway:
            raise TaupiError(
                "{reasons} It is not exported;",
                remedy="{anyway=True} exports it all the same.",
                reasons=" ".join(self.verdict.reasons),
            )
        parameters = self.parameters
        values = parameters.values.copy()
        bodies = values[: len(self.robot.parameters)].reshape(-1, LINK_SIZE)
        bodies[:] = [with_real_inertia(body) for body in bodies]
        return robot_with(self.robot, parameters.layout, values)

    # Use ----------------------------------------------------------------------------------------------------------

    def predict(self, log: Log) -> np.ndarray:
        """Return the positions (N, n) that the robot would have, driven by a log's commands from its first state.

        Args:
            log: The log, with q, qdes and drive; each stretch between gaps starts from its own first state. Samples between
                stretches are NaN.
        """
        if not isinstance(log, Log):
            raise TaupiError("{log} is {got!r}, expected a Log: taupi.read_log(...).", got=log)
        result = np.full(log.q.shape, np.nan)
        for stretch in stretches_of(log, self.robot):
            first = int(np.searchsorted(log.time, stretch.time[0]))
            result[first : first + len(stretch)] = self.model.simulate(self.raw, stretch, self.step)
        return result

    def validate(
        self, log: LogLike, *, reading: Reading | None = None, **options: Unpack[ReadingOptions]
    ) -> CommandValidation:
        """Return how well positions of a log are simulated, driven by its commands alone.

        Args:
            log: A Log, or the path of a file; it states its own drive.
            reading: How the file is read, a `taupi.Reading`.
            options: The fields of `reading` as keywords.
        """
        (settings,) = settle(self.validate, options, (Reading, reading))
        with errors_naming(log if isinstance(log, str | os.PathLike) else None):
            whole = whole_log(log, self.robot, settings)
            predicted = self.predict(whole)
        kept = np.isfinite(predicted).all(axis=1)
        assert whole.qdes is not None
        name = os.path.basename(whole.source.path) or "log"
        parts = (whole.time[kept], whole.q[kept], predicted[kept], whole.qdes[kept])
        return CommandValidation(name, self.robot.joint_names, self.position_units, *parts, origin=whole.origin)

    # To read ------------------------------------------------------------------------------------------------------

    def with_record(self, **facts: object) -> CommandFit:
        """Return the fit with more `facts` in its record, such as the command."""
        return replace(self, record={**self.record, **facts})

    @property
    def provenance(self) -> dict[str, object]:
        """How the fit was made, as plain data: its record, and under "logs" what `logs` has."""
        return {**self.record, "logs": [log.to_dict() for log in self.logs]}

    @property
    def relative(self) -> float:
        """||q_sim - q|| / ||qdes - q|| over all joints of the fitted logs."""
        left = np.linalg.norm([j.rms for j in self.joints])
        return float(left / max(float(np.linalg.norm([j.tracking for j in self.joints])), 1e-30))

    @property
    def summary(self) -> str:
        """One line: how far simulated positions are off where nothing was fitted, and beside what."""
        counted = f"{len(self.values)} parameters of {self.robot.name} from commands and encoders"
        missing = f"{int(self.undetermined.sum())} not determined"
        if self.held_out is None:
            own = milli(np.array([j.mae for j in self.joints]), self.position_units)
            return f"{counted}: positions are off by {own} on the fitted logs, none was held out; {missing}"
        h = self.held_out
        found, description, linear, steps = (
            milli(x, self.position_units) for x in (h.mae, h.description, h.linear, h.resolution)
        )
        return (
            f"{counted}: held-out positions are off by {found} (description {description}, linear start {linear}, encoder steps "
            f"{steps}); {missing}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the fit as plain data, ready for JSON; infinite numbers are None."""
        from taupi.identification.results.command_data import command_fit_to_dict

        return command_fit_to_dict(self)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of the parameters, its heading first."""
        rows: list[tuple[str, ...]] = [("parameter", "estimate", "+-", "unit", "")]
        marks = zip(self.undetermined, self.at_bounds, self.significant, strict=True)
        words = [
            "not determined" if u else "at its bound" if b else "" if s else "not significant" for u, b, s in marks
        ]
        cells = zip(self.names, self.values, self.stderr, self.units, words, strict=True)
        return rows + [
            (n, with_error(v, e)[0], "-" if np.isinf(e) else with_error(v, e)[1], unit, word)
            for n, v, e, unit, word in cells
        ]

    def __repr__(self) -> str:
        return "\n".join([self.summary, *table(self.rows())])

    def _repr_html_(self) -> str:
        return html_table(self.summary, self.rows(), self.notes)


def position_units(robot: Robot) -> tuple[str, ...]:
    """Return the unit of each joint's position."""
    return tuple("m" if slides else "rad" for slides in robot.slides)


def milli(errors: float | np.ndarray, units: str | Sequence[str]) -> str:
    """Return an angle or length in thousandths; of several, the mean of angles and that of lengths.

    Args:
        errors: One, or one per joint (n,), rad or m.
        units: "rad" or "m", of each.

    >>> milli(np.array([0.0026, 0.0007, 0.0014]), ("rad", "m", "rad"))
    '2 mrad and 0.7 mm'
    """
    each, own = np.atleast_1d(errors), np.atleast_1d(units)
    return " and ".join(f"{1e3 * float(each[own == unit].mean()):.3g} m{unit}" for unit in dict.fromkeys(own.tolist()))


def model_of(data: Mapping[str, Any], robot: Robot, drive: Drive) -> DrivenModel:
    """Return the model in plain data: its kinds, scales, bodies and fixed numbers; the drive says whether it is a servo."""
    scales = Scales(**{name: np.asarray(values, float) for name, values in data["scales"].items()})
    fixed = {name: np.asarray(values, float) for name, values in data["fixed"].items()}
    bodies, of_servo = np.asarray(data["bodies"], float), drive.law == "duty"
    return DrivenModel(robot, tuple(data["kinds"]), scales, bodies, fixed, of_servo)
