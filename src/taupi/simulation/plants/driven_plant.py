"""A robot that follows commands through its drives: the plant that is identified from commands and encoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from taupi.checks import positive
from taupi.dynamics.driven import JOINT_VALUES, STEP_DEFAULTS, StepValues
from taupi.dynamics.driven_rollout import DrivenRobot
from taupi.dynamics.types import ArrayLike, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.identification.commands.stretches import law_values, stretches_of
from taupi.identification.results.command_fit import CommandFit
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Program, trace
from taupi.signals.drive import Drive
from taupi.signals.log import Log
from taupi.simulation.horizon import Horizon
from taupi.simulation.references import Motion, ReferenceLike, as_reference
from taupi.simulation.rollouts.batch import Initial, initial_rows
from taupi.simulation.run import Run
from taupi.version import __version__


@dataclass(frozen=True, eq=False)
class DrivenPlant:
    """Moves a fixed, rigid robot by commands alone: its drives make torques of them, and its joints stick and slip exactly.

    (M + rotor) qdd + C qd + g + viscous qd + spring (q - centre) + offset + F sign(qd) = tau(qdes(t - delay), q, qd),

    by the trapezoidal step that identification from commands uses, so that what was identified is simulated to the last digit.

    Attributes:
        robot: The robot.
        drive: The law that turns commands into torques.
        values: Further numbers by kind, one or one per joint, such as "rotor", "viscous", "coulomb", "offset", "load",
            "stribeck" and "encoder", in SI units, and "delay" in s; what is not stated is 0. A kind that the drive states, too,
            replaces what it states.
        bodies: Parameters of the links, (10 links,); the robot's own by default.
        step: No step of the simulation is longer, s; 1 ms by default.

    >>> import taupi as tp
    >>> plant = tp.laws.DrivenPlant(tp.load("elbow2r"), tp.Drive(kp=900, kd=40), {"coulomb": 1.5, "delay": 0.008})
    >>> motion = tp.Sinusoids([0, 0], [[0.5], [0.4]], [[2.0], [3.0]])
    >>> run = tp.simulate(plant, reference=motion, duration=2.0, rate=200)
    >>> run.q.shape, bool(abs(run.error[200:]).max() < 0.1)
    ((401, 2), True)
    """

    robot: Robot
    drive: Drive
    values: Mapping[str, ArrayLike] = field(default_factory=dict)
    bodies: ArrayLike | None = None
    step: float = 1e-3

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise TaupiError("{robot} is {got!r}, expected a Robot: use taupi.load(...).", got=self.robot)
        if not isinstance(self.drive, Drive):
            raise TaupiError("{drive} is {got!r}, expected a taupi.Drive(...).", got=self.drive)
        positive("step", self.step)
        for name in self.values:
            if name not in (*JOINT_VALUES, "delay"):
                raise unknown("value of a driven joint", name, (*JOINT_VALUES, "delay"))
        theta = self.theta
        if not np.isfinite(theta).all():
            raise TaupiError("{values} or {bodies} have entries that are not finite.")

    @classmethod
    def of(cls, fit: CommandFit, drive: Drive | None = None) -> DrivenPlant:
        """Return the plant that a fit from commands describes, with all that it found and under the step that it was found with.

        Args:
            fit: The fit.
            drive: How it is driven; as in the logs of the fit by default.
        """
        if not isinstance(fit, CommandFit):
            raise TaupiError("{fit} is {got}, expected what commands were fitted to.", got=type(fit).__name__)
        law = fit.drive if drive is None else drive
        theta, places = fit.model.theta(fit.raw, law), StepValues(fit.robot)
        values: dict[str, ArrayLike] = {kind: theta[places.joints(kind)] for kind in JOINT_VALUES}
        return cls(fit.robot, law, {**values, "delay": theta[places.delay]}, theta[places.bodies], fit.step)

    @property
    def theta(self) -> np.ndarray:
        """The numbers of a step, in the order of `taupi.dynamics.driven.StepValues`."""
        places, n = StepValues(self.robot), self.robot.n
        theta = np.zeros(places.size)
        for name, value in STEP_DEFAULTS.items():
            theta[places.joints(name)] = value
        theta = law_values(self.drive, theta, places)
        bodies = self.robot.parameters.values if self.bodies is None else self.bodies
        single: dict[str, slice | int] = {"bodies": places.bodies, "delay": places.delay}
        for name, stated in {"bodies": bodies, **self.values}.items():
            where = single[name] if name in single else places.joints(name)
            try:
                theta[where] = np.asarray(stated, dtype=float)
            except (TypeError, ValueError):
                raise TaupiError(
                    "{argument} is {got!r}, expected a number, or one per joint ({n}) or parameter of a link.",
                    argument=Argument(name),
                    got=stated,
                    n=n,
                ) from None
        return theta

    @property
    def delay(self) -> float:
        """How much later a command arrives than it is sent, s."""
        return float(self.theta[StepValues(self.robot).delay])

    @property
    def rolled(self) -> DrivenRobot:
        """The roll-outs of its steps."""
        limits = self.theta[StepValues(self.robot).joints("limit")]
        limited = self.drive.law == "duty" or bool((limits < STEP_DEFAULTS["limit"]).any())
        return DrivenRobot(self.robot, self.drive.law, limited, self.drive.rate_hz)

    def step_program(self) -> Program:
        """Return one step x_next(x, command, enabled, volts, tick, h) with its numbers, to be emitted: `.c()`, `.python()`.

        x is (q, qd), and for a law on the host also those that it saw last. `command` (3 n) holds the means of the commanded
        position, velocity and torque over the step of h seconds, as they arrive: whoever calls it keeps the commands of the last
        `delay` seconds. `enabled` (n) and `tick` are 1 or 0. With the same steps it is `run`, to the last digits.

        >>> import taupi as tp
        >>> plant = tp.laws.DrivenPlant(tp.load("elbow2r"), tp.Drive(kp=900, kd=40), {"coulomb": 1.5})
        >>> [port.name for port in plant.step_program().inputs]
        ['x', 'command', 'enabled', 'volts', 'tick', 'h']
        >>> "double" in plant.step_program().c()
        True
        """
        step = self.rolled.program()
        inputs = [port for port in step.inputs if port.name != "theta"]
        theta = cs.SX(self.theta)

        def body(*columns: Vector) -> tuple[Vector, ...]:
            given = dict(zip((port.name for port in inputs), columns, strict=True))
            found: tuple[Vector, ...] = step(**given, theta=theta)
            return found

        return trace("driven_plant_step", body, inputs, step.outputs)

    def run(self, commands: ReferenceLike | Log | None, horizon: Horizon, initial: Initial = None) -> Run:
        """Return the motion that commands cause.

        Args:
            commands: A motion, sampled at the horizon's rate; or a log with `qdes`, of which all that was sent is taken, at its
                own times.
            horizon: How long, and at which rate commands are sent; of no meaning for a log.
            initial: Where it starts, q at rest or (q, qd); by default where the motion, or the log, does.
        """
        if commands is None:
            raise TaupiError("{reference} is missing: the motion, or the log, whose positions are commanded.")
        if isinstance(commands, Log):
            log = commands.with_(drive=self.drive)
            (wanted,) = log.need("qdes")
            reference = Motion(wanted, log.qd_des, None)
        else:
            time = np.arange(horizon.steps + 1) / horizon.rate
            reference = Motion(*(np.asarray(v, float) for v in as_reference(commands, self.robot.n)(time)))
            q, qd, _ = reference
            log = Log(time, q, qd=qd, qdes=q, qd_des=qd, names=self.robot.joint_names, drive=self.drive)
        found = stretches_of(log, self.robot)
        if len(found) > 1 or len(found[0]) < len(log):
            raise TaupiError(
                "The log has gaps or missing values: simulate its parts, {log}.", log="log.slice(start, stop)"
            )
        start, velocity = found[0].q[0], found[0].qd
        given = initial_rows(initial)
        for name, value in zip(("q", "qd"), given, strict=True):
            if value is not None and (value.shape != (1, self.robot.n) or not np.isfinite(value).all()):
                raise TaupiError(
                    "{initial} {name} is {got!r}, expected {n} finite numbers.",
                    name=name,
                    got=value.tolist(),
                    n=self.robot.n,
                )
        if given[0] is not None:
            start, velocity = given[0][0], np.zeros(self.robot.n) if given[1] is None else given[1][0]
        motion = self.rolled.roll(self.theta, found[0].commands, start, velocity, self.step)
        whole = np.isfinite(motion.q).all(axis=1) & np.isfinite(motion.qd).all(axis=1)
        rows = int(np.append(whole, False).argmin())
        bend = np.diff(motion.qd[:rows], axis=0) / np.diff(log.time[:rows])[:, None]
        notes: tuple[str, ...] = (
            () if rows == len(log) else (f"diverged: not finite after {log.time[max(rows - 1, 0)]:g} s",)
        )
        if motion.unsolved:
            notes += (f"stiction or limits were not resolved exactly in {motion.unsolved:.2g} of the steps",)
        return Run(
            log.time[:rows].copy(),
            motion.q[:rows],
            motion.qd[:rows],
            np.vstack([bend, bend[-1:]]) if len(bend) else np.zeros((rows, self.robot.n)),
            motion.tau[:rows],
            motion.tau[:rows].copy(),
            Motion(*(None if v is None else v[:rows].copy() for v in reference)),
            names=self.robot.joint_names,
            units=tuple("m" if slides else "rad" for slides in self.robot.slides),
            complete=rows == len(log),
            notes=notes,
            provenance={
                "version": __version__,
                "robot": self.robot.name,
                "fingerprint": self.robot.fingerprint,
                "plant": type(self).__name__,
                "controller": str(self.drive),
                "drive": self.drive.table(),
                "step": self.step,
                "coordinates": "joints",
            },
        )
