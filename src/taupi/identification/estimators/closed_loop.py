"""Robots of which no torque was measured: parameters for which positions, simulated from commands alone, match the encoders."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from taupi.checks import positive, whole_number
from taupi.dynamics.terms import resolve_terms, term_parameters
from taupi.errors import Argument, TaupiError
from taupi.identification.commands.linear_start import LinearStart, linear_start
from taupi.identification.commands.model import (
    DIRECTIONAL,
    FIRST,
    FIRST_OF_SERVO,
    KINDS,
    MASSES,
    TRIED,
    TRIED_OF_SERVO,
    DrivenModel,
    Scales,
    as_wrong_as,
    resolve_kinds,
    with_group,
)
from taupi.identification.commands.solver import LeastSquares, Noise, SearchResult
from taupi.identification.commands.stretches import SplitStretches, Stretch, blocks_of, stretches_of
from taupi.identification.equations.commands import CommandDriven
from taupi.identification.inputs import FitInputs, PriorLike
from taupi.identification.problem import prior_values
from taupi.identification.results.assemble import fit_record
from taupi.identification.results.command_fit import (
    DESCRIBED,
    Alias,
    CommandFit,
    CommandValidation,
    HeldOut,
    JointPositions,
    milli,
    position_units,
)
from taupi.identification.results.command_uncertainty import Spread, spread_of
from taupi.identification.results.status import Outcome, Status
from taupi.identification.results.verdict import Level, Reason, Verdict
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.block_source import errors_naming
from taupi.identification.rows.recording import LogRecord
from taupi.model.robot import Robot
from taupi.signals.checking.commands import is_still, refuse_useless_commands
from taupi.signals.checking.implausible import refuse_absurd, refuse_slow
from taupi.signals.drive import Drive
from taupi.signals.log import Log
from taupi.signals.read import whole_log

# s: steps of the simulation while terms are chosen. Predictions change by hundredths of a milliradian, estimates by their errors.
_COARSE = 5e-3
# From this correlation on, two estimates are named as hardly told apart.
_TOLD_APART = 0.95
# If more than this share of the residuals' power does not change from sample to sample, the model is what is wrong.
_COLOURED = 0.5
# A term that lowers the error by a smaller share is not worth its parameters.
_WORTH = 1e-3
# A joint that is at its limit for a larger share of the time is named.
_AT_LIMIT = 0.2
# Shares of the deviation from the commands that are left where nothing was fitted: large, and useless.
_LARGE, _USELESS = 0.25, 0.6
# rad or m: residuals of a servo count linearly from ten times this on. Where it sticks is off by more, and hardly repeats.
_SERVO_NOISE = 1e-3
# Searches for a servo: rounds, values that are simulated about each of two places in a round, and searches from the best of them.
_ROUNDS, _SCATTERED, _STARTS = 3, 32, 4
# Largest torques of a servo that are tried, in units of the mean that its law asks for.
_LIMITS = np.geomspace(0.7, 3.0, 12)
# s: pieces over which the first search for a servo is. Costs within a share of the best count as the same.
_PIECE, _SAME = 1.0, 1.02
# A unit is wrong if the torques of the law are more than this many times those of the links: the geometric mean of 1 and of 57
# (degrees), the smallest mistake of this kind. Links have to explain a tenth of what is unlike friction: those of a Z1 and a Go1
# explain a fifth.
_ANOTHER_UNIT, _SEEN = np.sqrt(180 / np.pi), 0.1
# Steps of the encoder within which a joint that never moves stays.
_STILL = 3.0


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Minimise sum |q_sim(x) - q|^2 / sigma_j^2 over closed-loop simulations that are driven by commands alone.

    Levenberg-Marquardt with exact sensitivities of each step, from the linear least squares of the law's torque. Terms beyond
    inertia, viscous and dry friction of the drives and the delay are kept only if blocks that were not fitted show that they
    help. Standard errors are robust to residuals that are related over a second.

    Attributes:
        step: The longest step of the simulation, s; 1 ms by default. Delay, damping and inertia belong to the step they were
            found with.
        iterations: The largest number of steps of the search; 25 by default.
        robust: Whether large residuals count linearly, for joints that stick; False by default.
    """

    step: float = 1e-3
    iterations: int = 25
    robust: bool = False
    name: ClassVar[str] = "closed_loop"

    def __post_init__(self) -> None:
        positive("step", self.step)
        whole_number("iterations", self.iterations)

    def fit_logs(self, inputs: FitInputs, validated: bool = False) -> tuple[CommandFit, tuple[CommandValidation, ...]]:
        """Return the fit of the logs of `inputs`, and, if `validated`, what it simulates for each of them."""
        equations = CommandDriven(RowLayout(inputs.robot))
        inputs = equations.checked(inputs)
        logs, skipped = _logs(inputs)
        refuse_useless_commands(logs)
        fit = search_of(self, inputs, logs).fit()
        if skipped:
            fit = fit.with_record(skipped=skipped)
        return fit, tuple(fit.validate(log) for log in logs) if validated else ()


def _logs(inputs: FitInputs) -> tuple[list[Log], list[dict[str, str]]]:
    """Return the logs, read and checked, and those that were left out."""
    logs, skipped = list[Log](), list[dict[str, str]]()
    for each in inputs.logs:
        path = each if isinstance(each, str | os.PathLike) else None
        try:
            with errors_naming(path):
                log = whole_log(each, inputs.robot, inputs.reading, "logs")
                refuse_absurd(log)
                refuse_slow(log)
                stretches_of(log, inputs.robot)
        except TaupiError as error:
            if not inputs.skip_bad:
                raise
            skipped.append({"name": str(path or "log"), "reason": str(error)})
            continue
        logs.append(log)
    if not logs:
        raise TaupiError("No log is left: {reason}", reason=skipped[0]["reason"] if skipped else "there is none.")
    return logs, skipped


def _cut(stretches: Sequence[Stretch]) -> list[Stretch]:
    return [piece for stretch in stretches for piece in stretch.pieces(_PIECE)]


class ClosedLoopSearch:
    """One search: from stretches of logs to a fit."""

    of_servo: ClassVar[bool] = False
    tried_kinds: ClassVar[tuple[str, ...]] = TRIED
    coarse_step: ClassVar[float] = _COARSE

    def __init__(self, settings: ClosedLoop, inputs: FitInputs, logs: Sequence[Log]) -> None:
        self.settings, self.inputs, self.logs, self.robot = settings, inputs, logs, inputs.robot
        self.stretches = [
            stretch
            for k, log in enumerate(logs)
            for stretch in stretches_of(log, self.robot, k, os.path.basename(log.source.path) or "log")
        ]
        drive = logs[0].drive
        assert drive is not None
        self.drive: Drive = drive
        self.notes: list[str] = []
        self.scales = Scales.of(self.stretches)
        self.weighed = any(stretch.drive.payload for stretch in self.stretches)
        bodies, fixed = _bodies(self.robot, inputs.prior), self._begins()
        kinds = first = self._first_kinds()
        if inputs.terms is not None:
            kinds = (*resolve_kinds(inputs.terms), *(k for k in first if k not in FIRST))
            self._check_kinds(kinds)
        self.model = DrivenModel(self.robot, tuple(dict.fromkeys(kinds)), self.scales, bodies, fixed, self.of_servo)
        period = 1 / self.drive.rate_hz if self.drive.rate_hz else np.inf
        self.coarse = max(min(self.coarse_step, period), settings.step)
        self.thin = [stretch.thinned(self.coarse) for stretch in self.stretches]
        self.tried: dict[str, tuple[float, bool]] = {}

    @property
    def in_units_of_kp(self) -> bool:
        """Whether no gain is known, so that torques and inertias are known only as multiples of it."""
        return "kp" in self.drive.unknown and not self.weighed

    def _begins(self) -> dict[str, np.ndarray]:
        """Return the values (n,) of kinds at which the search begins, where it does not begin at zero."""
        return {"kp": self.drive.per_joint("kp", self.robot.n)} if "kp" in self.drive.unknown else {}

    def _first_kinds(self) -> tuple[str, ...]:
        """Return the kinds of parameters that are always free."""
        if "kp" not in self.drive.unknown:
            return FIRST
        # A known mass sets the scale, and the description's masses only begin there.
        return (*FIRST, "kp", MASSES) if self.weighed else (*FIRST, "kp")

    def _check_kinds(self, kinds: Sequence[str]) -> None:
        """Refuse kinds of parameters that this drive does not have."""
        if set(kinds) & set(DIRECTIONAL):
            raise TaupiError(
                "{terms} has {names:,}: only the gear of a servo is loaded from both sides.",
                remedy="State {law} = 'duty', or use load and stribeck.",
                names=sorted(set(kinds) & set(DIRECTIONAL)),
                law=Argument("drive.law"),
            )

    def fit(self) -> CommandFit:
        """Return the fit: terms chosen on blocks, an error on blocks that nothing has seen, and then all logs together."""
        blocks, held_out = blocks_of(self.thin), None
        model = self.model
        x, noise = self._begin(model, self.thin if blocks is None else blocks.fitted)
        if blocks is not None:
            if self.inputs.terms is None:
                model, x = self._chosen(model, x, noise, blocks.fitted)
            x = self._best_start(model, blocks.fitted, x)
            before = self._solve(model, blocks.fitted, noise, x, self.coarse)
            held_out = self._held_out(model, before.x, blocks)
            x = before.x
        elif self.inputs.terms is None:
            self.notes.append(
                "The logs are too short to be cut into blocks: no term was chosen, and nothing was held out."
            )
        x = self._best_start(model, self.thin, x)
        self.notes += self._search_notes()
        if self.settings.step < self.coarse:
            x = self._solve(model, self.thin, self._noise(model, x, self.thin), x, self.coarse).x
        noise = self._noise(model, x, self.stretches)
        solution = self._solve(model, self.stretches, noise, x, self.settings.step)
        problem = self._problem(model, self.stretches, noise, self.settings.step)
        return self._result(problem, solution, spread_of(problem, solution.x), held_out)

    # Steps --------------------------------------------------------------------------------------------------------

    def _begin(self, model: DrivenModel, stretches: Sequence[Stretch]) -> tuple[np.ndarray, Noise]:
        """Return the first solution, from linear least squares, and the noise that its residuals show."""
        n = self.robot.n
        self.start = linear_start(model, stretches)
        x = self.start.values(model)
        even = Noise(np.full(n, max(float(np.sqrt(self.cost_of(model, x, stretches) / n)), 1e-9)))
        x = self._problem(model, stretches, even, self.coarse).solve(x, 6).x
        return x, self._noise(model, x, stretches)

    def _noise(self, model: DrivenModel, x: np.ndarray, stretches: Sequence[Stretch]) -> Noise:
        """Return the noise that residuals show."""
        return Noise.of([model.residual(x, s, self.coarse) for s in stretches], stretches)

    def _best_start(self, model: DrivenModel, stretches: Sequence[Stretch], x: np.ndarray) -> np.ndarray:
        """Return values (p,) near x from which one search finds the minimum."""
        return x

    def _search_notes(self) -> list[str]:
        """Return notes on how the minimum was searched for."""
        return []

    def _to_choose_on(self, blocks: Sequence[Stretch]) -> Sequence[Stretch]:
        """Return the stretches on which terms are chosen."""
        return blocks

    def cost_of(self, model: DrivenModel, x: np.ndarray, stretches: Sequence[Stretch]) -> float:
        """Return the mean square of the residuals, summed over joints."""
        residuals = np.vstack([model.residual(x, s, self.coarse) for s in stretches])
        return float((residuals**2).mean(axis=0).sum())

    def _solve(
        self, model: DrivenModel, stretches: Sequence[Stretch], noise: Noise, x: np.ndarray, step: float
    ) -> SearchResult:
        return self._problem(model, stretches, noise, step).solve(x, self.settings.iterations)

    def _problem(self, model: DrivenModel, stretches: Sequence[Stretch], noise: Noise, step: float) -> LeastSquares:
        return LeastSquares(model, stretches, noise, step, self.settings.robust or self.of_servo)

    def _chosen(
        self, model: DrivenModel, x: np.ndarray, noise: Noise, blocks: Sequence[Stretch]
    ) -> tuple[DrivenModel, np.ndarray]:
        """Return the model with the terms of which blocks show, each left out of the fit in turn, that they help."""
        blocks = self._to_choose_on(blocks)
        x = self._solve(model, blocks, noise, x, self.coarse).x
        error = self._problem(model, blocks, noise, self.coarse).left_out(x)
        open_, waiting = [name for name in self.tried_kinds if name not in model.kinds], list[str]()
        while open_:
            name = open_.pop(0)
            if name == MASSES and self.in_units_of_kp:
                continue  # a common scale of gains and masses is free: the description's masses set it
            larger = model.with_kinds(with_group(model.kinds, name))
            begin = larger.start_from(model, x)
            if name == "offset":
                own = [p.kind == "offset" for p in larger.parameters]
                begin[own] = self.start.values(larger)[own]
            found = self._solve(larger, blocks, noise, begin, self.coarse).x
            new = self._problem(larger, blocks, noise, self.coarse).left_out(found)
            gain = error - new
            spread = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else np.inf
            ratio = float(gain.mean() / max(spread, 1e-12))
            # A prior keeps a term small that says nothing; one without has to be clearly better.
            added = [p for p in larger.parameters if p.kind not in model.kinds]
            clearly = 0.0 if all(np.isfinite(p.spread) for p in added) else 1.0
            kept = ratio > clearly and float(gain.mean()) > _WORTH
            self.tried[name] = (float(np.clip(ratio, -999.0, 999.0)), kept)
            if kept:
                # What did not help may do so now that this term no longer hides it.
                model, x, error, open_, waiting = larger, found, new, [*open_, *waiting], []
            else:
                waiting.append(name)
        return model, x

    def _held_out(self, model: DrivenModel, x: np.ndarray, blocks: SplitStretches) -> HeldOut:
        """Return the error on blocks that neither the parameters nor the choice of terms have seen."""
        test, step = blocks.testing, self.coarse

        def errors(of: DrivenModel, values: np.ndarray) -> np.ndarray:
            return np.vstack([of.residual(values, s, step) for s in test])

        linear = model.with_kinds(tuple(dict.fromkeys((*FIRST, "offset", *(k for k in model.kinds if k == "kp")))))
        stated = dataclasses.replace(model, kinds=("delay",), fixed={**model.fixed, **_described(self.robot)})
        own = errors(model, x)
        tracking = np.vstack([s.tracking for s in test])
        return HeldOut(
            mae=np.abs(own).mean(axis=0),
            rms=np.sqrt((own**2).mean(axis=0)),
            description=np.abs(errors(stated, np.zeros(1))).mean(axis=0),
            linear=np.abs(errors(linear, self.start.values(linear))).mean(axis=0),
            tracking=np.sqrt((tracking**2).mean(axis=0)),
            resolution=_resolution(self.stretches),
            band=_band(test),
            fitted_band=_band(blocks.fitted),
            seconds=float(sum(s.time[-1] - s.time[s.skip] for s in test)),
        )

    # The result ---------------------------------------------------------------------------------------------------

    def _result(
        self, problem: LeastSquares, solution: SearchResult, spread: Spread, held_out: HeldOut | None
    ) -> CommandFit:
        model, x = problem.model, solution.x
        joints = self._joints(model, x)
        still = [k for k, joint in enumerate(joints) if not joint.moves]
        spread = spread.without(np.array([p.joint in still for p in model.parameters]))
        noise, power = float(sum(j.noise**2 for j in joints)), float(sum(j.rms**2 for j in joints))
        fit = CommandFit(
            robot=self.robot,
            model=model,
            raw=x,
            raw_covariance=spread.covariance,
            raw_freedom=spread.freedom,
            raw_white=spread.white,
            raw_undetermined=spread.undetermined,
            free=spread.free,
            drive=dataclasses.replace(self.drive, payload=0.0, payload_com=(), payload_frame="tip"),
            in_units_of_kp=self.in_units_of_kp,
            step=self.settings.step,
            status=Status(Outcome.SOLVED if solution.converged else Outcome.NOT_CONVERGED, ""),
            joints=joints,
            held_out=held_out,
            aliases=self._aliases(model, spread),
            model_error=power - noise > _COLOURED * power,
            tried=tuple((name, *outcome) for name, outcome in self.tried.items()),
            notes=(),
            logs=tuple(_record(log) for log in self.logs),
            record=fit_record(self.robot, self.inputs.seed),
            verdict=Verdict.of([*self._of_gains(), *_reasons(joints, held_out, solution, position_units(self.robot))]),
            settings=dataclasses.asdict(self.settings),
        )
        return dataclasses.replace(fit, notes=(*self.notes, *self._notes(fit, spread)))

    def _of_gains(self) -> list[Reason]:
        """Return what speaks against gains as stated: their torques are many times those that hold and move the links."""
        factor = self.start.gain
        if "kp" in self.drive.unknown or factor < _ANOTHER_UNIT or self.start.seen < _SEEN:
            return []
        text = (
            f"The law asks for {factor:.3g} times the torque that holds and moves the masses of the description: kp and kd, or "
            "the masses, are in another unit."
        )
        remedy = "State kp in N m/rad and kd in N m s/rad; if kp is only a guess, unknown = ['kp']."
        return [Reason("gains", text, Level.WRONG, numbers={"factor": factor, "seen": self.start.seen}, remedy=remedy)]

    def _joints(self, model: DrivenModel, x: np.ndarray) -> tuple[JointPositions, ...]:
        n = self.robot.n
        residuals, torques, limits = [], [], []
        for s in self.stretches:
            driven = s.driven(self.robot)
            theta = model.theta(x, s.drive)
            motion = driven.roll(theta, s.commands, s.q[0], s.qd, self.settings.step)
            rows = s.compared
            residuals.append(as_wrong_as(motion.q - s.q)[rows])
            torques.append(motion.tau[rows])
            limits.append(np.abs(motion.tau[rows]) >= 0.999 * theta[model.values.joints("limit")])
        left, at_limit = np.vstack(residuals), np.vstack(limits).mean(axis=0)
        q = np.vstack([s.q[s.compared] for s in self.stretches])
        speed = np.vstack([np.gradient(s.q, s.time, axis=0)[s.compared] for s in self.stretches])
        tracking = np.vstack([s.tracking for s in self.stretches])
        noise = np.sqrt(np.mean([_white(r) for r in residuals], axis=0))
        still = _STILL * _resolution(self.stretches)
        noisy = [all(is_still(log, j) for log in self.logs) for j in range(n)]
        result = []
        for j in range(n):
            axes = {"position": q[:, j], "speed": speed[:, j], "torque": np.vstack(torques)[:, j]}
            shares = {name: _explained(left[:, j], along) for name, along in axes.items()}
            best = max(shares, key=lambda name: shares[name])
            result.append(
                JointPositions(
                    self.robot.joint_names[j],
                    len(left),
                    float(np.abs(left[:, j]).mean()),
                    float(np.sqrt((left[:, j] ** 2).mean())),
                    min(float(noise[j]), float(np.sqrt((left[:, j] ** 2).mean()))),
                    float(np.sqrt((tracking[:, j] ** 2).mean())),
                    bool(np.ptp(q[:, j]) > still[j]) and not noisy[j],
                    float(at_limit[j]),
                    best if shares[best] > 0.1 else "",
                )
            )
        return tuple(result)

    def _aliases(self, model: DrivenModel, spread: Spread) -> tuple[Alias, ...]:
        """Return what is told apart badly: what the law makes equal, combinations that are free, and correlated estimates."""
        result = [self._alias_of_damping()]
        if "encoder" in model.kinds and "offset" in model.kinds:
            text = "An encoder's zero acts through the gradient of gravity alone: beside a constant torque it is hardly seen."
            result.append(Alias(("encoder", "offset"), text))
        if self.in_units_of_kp:
            text = "No gain is known: torques, inertias and gains could all be larger by one factor. Units are those of kp."
            result.append(Alias(("kp", "everything"), text))
        for parts, count in _together(spread.free):
            names = [model.names[k] for k in parts]
            if len(names) == 1:
                text = f"{names[0]} is not seen in these logs: it stays where it began, and has no standard error."
            else:
                combinations = "only some combinations are" if count == 1 else f"{count} combinations are not"
                text = f"Of {', '.join(names)}, {combinations} known; what is open stays where it began, without standard error."
            result.append(Alias(tuple(names), text))
        deviation = np.sqrt(np.clip(np.diag(spread.covariance), 1e-300, None))
        correlation = spread.covariance / deviation[:, None] / deviation
        for a in range(len(deviation)):
            for b in range(a):
                rho = float(correlation[a, b])
                if abs(rho) > _TOLD_APART and not (spread.undetermined[a] or spread.undetermined[b]):
                    pair = (model.names[b], model.names[a])
                    text = f"{pair[0]} and {pair[1]} are hardly told apart: their estimates have a correlation of {rho:.3f}."
                    result.append(Alias(pair, text, rho))
        return tuple(result)

    def _alias_of_damping(self) -> Alias:
        """Return what the damping of the law and that of the joint have in common."""
        if "kd" in self.drive.unknown:
            text = "kd and viscous friction act alike: only their sum is known. kd is taken as stated, viscous is the rest."
        else:
            text = "kd and viscous friction act alike: viscous is right only as far as kd is."
        return Alias(("kd", "viscous"), text)

    def _notes(self, fit: CommandFit, spread: Spread) -> list[str]:
        notes = [
            f"Positions were simulated by trapezoidal steps of at most {1e3 * fit.step:g} ms. Delay, damping and inertia belong "
            "to this rule: for a simulator with another one, identify again with its step instead of copying numbers.",
        ]
        h = fit.held_out
        if h is not None:
            notes.append(
                f"Held out: {h.seconds:.3g} s of blocks with motion from {h.band[0]:.2g} to {h.band[1]:.2g} Hz; the fitted ones "
                f"have {h.fitted_band[0]:.2g} to {h.fitted_band[1]:.2g} Hz. What is faster was not tested."
            )
        if fit.model_error:
            deviation = np.sqrt(np.clip(np.diag(spread.covariance), 0, None))
            known = ~spread.undetermined & (spread.white > 0)
            factor = float(np.median(deviation[known] / spread.white[known])) if known.any() else 1.0
            notes.append(
                "Model error dominates: residuals are related over time, so that something that the model does not have limits "
                f"what is known, and not noise. Intervals allow for the relation (a factor of {factor:.2g}), but not for a wrong "
                "model."
            )
        bounds = [name for name, at in zip(fit.names, fit.at_bounds, strict=True) if at]
        if bounds:
            notes.append(f"At a bound, which is no estimate: {', '.join(bounds)}.")
        missing = [name for name, u in zip(fit.names, fit.undetermined, strict=True) if u]
        if missing:
            notes.append(f"Not determined, and without standard error: {', '.join(missing)}.")
        still = [j.name for j in fit.joints if not j.moves]
        if still:
            notes.append(f"Never left stiction: {', '.join(still)}. Its dry friction is at least what held it.")
        dependent = [f"{j.name} on {j.explains}" for j in fit.joints if j.explains]
        if dependent:
            notes.append(f"The residual still depends on something: {', '.join(dependent)}.")
        beyond = [k for k in fit.model.kinds if k not in DESCRIBED and k not in (MASSES, "kp")]
        notes.append(f"A description has no place for {', '.join(KINDS[k].label for k in beyond)}: see the parameters.")
        if not self.in_units_of_kp:
            rest = (
                "the known mass that was carried"
                if "kp" in self.drive.unknown
                else "the gains of the drive that were stated"
            )
            notes.append(f"Torques and inertias rest on {rest}.")
        return notes


class ServoSearch(ClosedLoopSearch):
    """A search for servos: their gears are loaded from both sides, and where a joint sticks makes many minima."""

    of_servo: ClassVar[bool] = True
    tried_kinds: ClassVar[tuple[str, ...]] = TRIED_OF_SERVO
    coarse_step: ClassVar[float] = _COARSE / 2

    @property
    def in_units_of_kp(self) -> bool:
        """A supply voltage sets the scale of torques."""
        return False

    def _begins(self) -> dict[str, np.ndarray]:
        """Return where the search begins: the motor as stated, friction as a share of what it moves."""
        n = len(self.scales.torque)
        kt, resistance = self.drive.per_joint("kt", n), self.drive.per_joint("resistance", n)
        return {
            "torque_per_volt": kt / resistance,
            "braking": kt**2 / resistance,
            "limit": 3 * self.scales.torque,
            "coulomb": 0.1 * self.scales.torque,
            "viscous": 0.1 * self.scales.torque / self.scales.speed,
            "rotor": 0.1 * self.scales.torque / self.scales.acceleration,
        }

    def _first_kinds(self) -> tuple[str, ...]:
        return FIRST_OF_SERVO

    def _check_kinds(self, kinds: Sequence[str]) -> None:
        """Take all kinds."""

    def _noise(self, model: DrivenModel, x: np.ndarray, stretches: Sequence[Stretch]) -> Noise:
        """Return what residuals, some of which are far off, are measured against."""
        return Noise(np.full(self.robot.n, _SERVO_NOISE))

    def _to_choose_on(self, blocks: Sequence[Stretch]) -> Sequence[Stretch]:
        """Return pieces of a second: over whole runs, which minimum a search finds would decide."""
        return _cut(blocks)

    def _begin(self, model: DrivenModel, stretches: Sequence[Stretch]) -> tuple[np.ndarray, Noise]:
        """Return where searches begin, there being no linear start: the minimum over pieces of a second; and the noise.

        Each piece begins where the encoder was, so that a joint that sticks at another place is wrong for a second only, and the
        sum of squares is smooth enough for one search.
        """
        zero, noise = np.zeros(self.robot.n), self._noise(model, model.column("start"), stretches)
        self.start = LinearStart(zero, zero, zero, zero, 0.0)
        short = self._problem(model, _cut(stretches), noise, self.coarse)
        x = short.solve(model.column("start"), self.settings.iterations).x
        return self._with_limits(short, x), noise

    def _with_limits(self, problem: LeastSquares, x: np.ndarray) -> np.ndarray:
        """Return the best values (p,) from the torque limits that cost least: one out of reach has no slope to follow."""
        lowest, cost = x, problem.cost(x)
        for k, parameter in enumerate(problem.model.parameters):
            if parameter.kind != "limit" or parameter.joint is None:
                continue
            for ratio in _LIMITS:
                tried = lowest.copy()
                tried[k] = ratio * self.scales.torque[parameter.joint]
                new = problem.cost(tried)
                if new < cost:
                    lowest, cost = tried, new
        return x if lowest is x else problem.solve(lowest, self.settings.iterations).x

    def _best_start(self, model: DrivenModel, stretches: Sequence[Stretch], x: np.ndarray) -> np.ndarray:
        """Return the best of several searches, from values (p,) nearby.

        Where a joint sticks decides where it is for the rest of a run, so that whole runs have many minima. Values scattered
        about that over pieces, and about the best one so far, are simulated; searches begin from the best of them.
        """
        noise, rng = self._noise(model, x, stretches), np.random.default_rng(self.inputs.seed)
        short = self._problem(model, _cut(stretches), noise, self.coarse)
        whole = self._problem(model, stretches, noise, self.coarse)
        centre = short.solve(x, self.settings.iterations).x
        found = [whole.solve(x, self.settings.iterations), whole.solve(centre, self.settings.iterations)]
        for _ in range(_ROUNDS):
            best = min(found, key=lambda solution: solution.cost)
            found.append(whole.solve(self._with_limits(whole, best.x), self.settings.iterations))
            best = min(found, key=lambda solution: solution.cost)
            tried = short.scattered(centre, _SCATTERED, rng) + whole.scattered(best.x, _SCATTERED, rng)
            chosen = np.argsort([whole.cost(values) for values in tried])[:_STARTS]
            found += [whole.solve(tried[k], self.settings.iterations) for k in chosen]
        best = min(found, key=lambda solution: solution.cost)
        self.searches = [solution.cost / best.cost for solution in found]
        return best.x

    def _search_notes(self) -> list[str]:
        return [
            f"{len(self.searches)} searches began from different friction and strength of the motor; their costs are "
            f"{min(self.searches):.3g} to {max(self.searches):.3g} times the best, "
            f"{sum(cost < _SAME for cost in self.searches)} of them within {_SAME - 1:.0%} of it."
        ]

    def _alias_of_damping(self) -> Alias:
        text = "What the back-EMF brakes and viscous friction are told apart only while torque is off."
        return Alias(("braking", "viscous"), text)


def search_of(settings: ClosedLoop, inputs: FitInputs, logs: Sequence[Log]) -> ClosedLoopSearch:
    """Return the search for the drive of the first log."""
    drive = logs[0].drive
    assert drive is not None
    return (ServoSearch if drive.law == "duty" else ClosedLoopSearch)(settings, inputs, logs)


def _together(free: np.ndarray) -> list[tuple[list[int], int]]:
    """Return the parameters that take part in combinations (k, p) that are free, and how many these are, group by group.

    Combinations that share parameters are one group: which of their sums are listed would be arbitrary.
    """
    groups: list[tuple[set[int], int]] = []
    for direction in free:
        own, count = set(np.flatnonzero(np.abs(direction) > 0.1).tolist()), 1
        for group in [g for g in groups if g[0] & own]:
            groups.remove(group)
            own, count = own | group[0], count + group[1]
        groups.append((own, count))
    return [(sorted(own), count) for own, count in groups]


def _reasons(
    joints: Sequence[JointPositions], held_out: HeldOut | None, solution: SearchResult, units: Sequence[str]
) -> list[Reason]:
    """Return what speaks against a fit."""
    result = []
    if held_out is None:
        text = "The logs are too short to hold anything out, so that nothing shows how the fit predicts."
        result.append(Reason("short", text, Level.DOUBTFUL, remedy="Record longer logs, or give several."))
    else:
        left, stated = held_out.relative, float(held_out.description.mean())
        numbers = {"relative": left, "error": float(held_out.mae.mean()), "description": stated}
        worse = float(held_out.mae.mean()) > stated
        if worse or left > _USELESS:
            beside = (
                f"the description alone {milli(held_out.description, units)}"
                if worse
                else "what a robot that follows exactly would"
            )
            text = (
                f"Simulated positions are off by {milli(held_out.mae, units)} where nothing was fitted, {beside}: "
                f"{left:.0%} of the deviation from the commands is left."
            )
            remedy = "Check kp and kd and their units, which command belongs to which joint, and the description."
            result.append(Reason("commands", text, Level.WRONG, numbers=numbers, remedy=remedy))
        elif left > _LARGE:
            text = f"{left:.0%} of the deviation from the commands is left where nothing was fitted."
            result.append(Reason("commands", text, Level.DOUBTFUL, numbers=numbers))
    clipped = [j for j in joints if j.at_limit > _AT_LIMIT]
    if clipped:
        named = ", ".join(f"{j.name} ({j.at_limit:.0%})" for j in clipped)
        text = f"Torques are at their limit for much of the time: {named}. A joint held there says nothing of its friction."
        remedy = "Record a slower or smaller motion."
        shares = {j.name: j.at_limit for j in clipped}
        result.append(Reason("limits", text, Level.DOUBTFUL, tuple(j.name for j in clipped), shares, remedy))
    still = tuple(j.name for j in joints if not j.moves)
    if still:
        text = f"{', '.join(still)} never moved: nothing is known of it but that it sticks."
        result.append(Reason("still", text, Level.DOUBTFUL, still, remedy="Record a motion of it."))
    if not solution.converged:
        text = f"The search was still improving after {solution.iterations} steps."
        result.append(Reason("search", text, Level.DOUBTFUL, remedy="Raise iterations."))
    return result


def _bodies(robot: Robot, prior: PriorLike) -> np.ndarray:
    """Return the parameters of the links: those of the description, of another robot, or numbers."""
    if prior is None:
        return np.array(robot.parameters.values, dtype=float)
    array = prior_values(prior)
    if array.ndim != 1 or len(array) < len(robot.parameters) or not np.isfinite(array).all():
        raise TaupiError(
            "{prior} has shape {got}, expected ({expected},) finite numbers.",
            got=array.shape,
            expected=len(robot.parameters),
        )
    return array[: len(robot.parameters)]


def _described(robot: Robot) -> dict[str, np.ndarray]:
    """Return inertia and friction of the drives as a description states them, by kind (n,)."""
    stated = term_parameters(robot, resolve_terms(DESCRIBED))
    table = dict(zip(stated.names, np.asarray(stated.values, dtype=float).tolist(), strict=True))
    return {kind: np.array([table.get(f"{j}.{kind}", 0.0) for j in robot.joint_names]) for kind in DESCRIBED}


def _resolution(stretches: Sequence[Stretch]) -> np.ndarray:
    """Return the smallest steps that the encoders show (n,), rad or m; 0 where numbers are as fine as computers have them."""
    q = np.vstack([s.q for s in stretches])
    result = np.zeros(q.shape[1])
    for j, column in enumerate(q.T):
        gaps = np.diff(np.unique(column))
        gaps = gaps[gaps > 1e-9]
        if len(gaps):
            result[j] = float(np.quantile(gaps, 0.1))
    return result


def _band(stretches: Sequence[Stretch]) -> tuple[float, float]:
    """Return between which frequencies, Hz, 90 % of the power of the motion lies."""
    frequencies, powers = [], []
    for s in stretches:
        count = len(s)
        uniform = np.linspace(s.time[0], s.time[-1], count)
        q = np.column_stack([np.interp(uniform, s.time, x) for x in s.q.T])
        trend = np.linspace(0, 1, count)[:, None]
        window = np.hanning(count)[:, None]
        power = (np.abs(np.fft.rfft((q - q[0] - trend * (q[-1] - q[0])) * window, axis=0)) ** 2).sum(axis=1)
        frequencies.append(np.fft.rfftfreq(count, s.duration / (count - 1)))
        powers.append(power)
    frequency, power = np.concatenate(frequencies), np.concatenate(powers)
    order = np.argsort(frequency)
    share = np.cumsum(power[order]) / max(float(power.sum()), 1e-300)
    low, high = (min(int(np.searchsorted(share, p)), len(order) - 1) for p in (0.05, 0.95))
    return float(frequency[order][low]), float(frequency[order][high])


def _white(residual: np.ndarray) -> np.ndarray:
    """Return the variance (n,) of what changes from sample to sample, by second differences."""
    return np.asarray((np.diff(residual, n=2, axis=0) ** 2).mean(axis=0) / 6)


def _explained(residual: np.ndarray, along: np.ndarray) -> float:
    """Return which share of a residual's power its mean over bins of another signal explains."""
    edges = np.quantile(along, np.linspace(0, 1, 13)[1:-1])
    bins = np.searchsorted(edges, along)
    count = np.bincount(bins, minlength=12)
    mean = np.bincount(bins, weights=residual, minlength=12) / np.maximum(count, 1)
    total = float((residual**2).sum())
    return float((count * mean**2).sum()) / total if total > 0 else 0.0


def _record(log: Log) -> LogRecord:
    speeds = np.abs(np.gradient(log.q, log.time, axis=0))
    fastest = tuple(np.nan_to_num(np.nanmax(speeds, axis=0)).tolist())
    name = os.path.basename(log.source.path) or "log"
    return LogRecord(name, log.source.path, log.source.sha256, log.rate_hz, notes=log.notes, speeds=fastest)
