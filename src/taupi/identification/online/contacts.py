"""Contacts: when the torque from outside is above its threshold, which joints feel it, and what force would explain it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.dynamics.chain import Chain
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.errors import TaupiError
from taupi.identification.online.component import Component
from taupi.identification.online.contact_force import ContactForce, contact_force
from taupi.identification.online.observer import MomentumObserver, ObserverState
from taupi.identification.online.thresholds import Thresholds
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace
from taupi.signals.log import Log

# Friction is learnt below this share of the threshold.
_QUIET = 0.5
# Thresholds are about this many standard deviations of the residual.
_DEVIATIONS = 2.0
# Alarms that are nearer to each other are one contact, s.
_APART = 0.25


@dataclass(frozen=True)
class Contact:
    """A time in which the torque from outside is above its threshold.

    Attributes:
        start: The time of the first alarm, s.
        end: The time of the last, s.
        peak: The time of the largest torque, relative to thresholds, s.
        joint: The outermost joint that feels it: the contact is on its link, or beyond, where joints feel too little of it.
        tau_ext: The torque from outside (n,) at the peak, N m or N.
        level: The largest torque relative to its threshold.
        force: The smallest force that explains the torque at the peak, and the link and point where it would act.
        unit: That of the torque of the joint that feels it most: "N m", or "N" for a prismatic one.
        torque: The largest of all torques from outside at the peak that have this unit.
    """

    start: float
    end: float
    peak: float
    joint: str
    tau_ext: np.ndarray
    level: float
    force: ContactForce
    unit: str
    torque: float

    @property
    def link(self) -> str:
        """The link on which the force would act."""
        return self.force.link

    def to_dict(self) -> dict[str, Any]:
        """Return the contact as plain data."""
        plain = {k: getattr(self, k) for k in ("start", "end", "peak", "joint", "link", "level", "torque", "unit")}
        return {**plain, "tau_ext": self.tau_ext.tolist(), "force": self.force.to_dict()}

    def __str__(self) -> str:
        felt = f"felt up to {self.joint}, {self.torque:.3g} {self.unit} at most ({self.level:.1f} times the threshold)"
        return (
            f"{self.start:.3f} to {self.end:.3f} s: {felt}; about {self.force.size:.0f} N on {self.link} would do that"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ContactDetector(Component):
    """An observer with thresholds: level = |tau_ext| / threshold of each joint; a level above 1 is a contact.

    |tau_ext| is the smaller of this sample's and the last one's, and 0 if their signs differ: a contact is felt in two
    successive samples, whereas jerks of the motion itself show in only one.

    Attributes:
        observer: What observes the torque from outside.
        thresholds: The torque above which it is a contact, per joint and speed.
    """

    observer: MomentumObserver
    thresholds: Thresholds
    name: ClassVar[str] = "detector"
    title: ClassVar[str] = "contact detector"
    meaning: ClassVar[str] = (
        "tau_ext: the torque (N m) or force (N) that the surroundings exert on each joint; level: above 1 where it is a contact."
    )
    results: ClassVar[tuple[str, ...]] = ("tau_ext", "level")

    def __post_init__(self) -> None:
        """Refuse thresholds of another observer: their rate of false alarms would not hold for this one."""
        own = (self.observer.bandwidth_hz, self.observer.tracker is not None)
        if own != (self.thresholds.bandwidth_hz, self.thresholds.tracked):
            raise TaupiError(
                f"The thresholds are for an observer {_observer_words(self.thresholds.bandwidth_hz, self.thresholds.tracked)}, "
                f"this one is {_observer_words(*own)}.",
                remedy="Take the same settings, or find thresholds for these: observer.calibrated(logs).",
            )

    @property
    def robot(self) -> Robot:
        """The robot that is observed, with its parameters."""
        return self.observer.robot

    def init(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> ObserverState:
        """Return the state to start with; `q` and `qd` (..., n) are as in `MomentumObserver.init`."""
        own = self.observer.init(q, qd).vector
        return ObserverState(np.concatenate([own, np.zeros((*own.shape[:-1], self.robot.n))], axis=-1))

    def step(
        self, state: ObserverState, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, dt: float
    ) -> tuple[np.ndarray, ObserverState]:
        """Return the level (..., n) of each joint at a sample, above 1 for a contact, and the state after it, with `tau_ext`.

        `state`, `q`, `qd`, `tau` and `dt` are as in `MomentumObserver.step`.
        """
        tau_ext, level, vector = self.advanced(state, dt, q, qd, tau)
        return level, ObserverState(vector, tau_ext)

    def levels(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        """Return the torque from outside and the level (N, n) at each sample of a `log`, causally."""
        results = self.over(*self.observer.log_signals(log))
        return results["tau_ext"], results["level"]

    def contacts(self, log: Log, apart: float = _APART) -> list[Contact]:
        """Return the contacts in a `log`, in order of time; alarms less than `apart` (0.25 s) from each other are one contact."""
        positive("apart", apart)
        tau_ext, level = self.levels(log)
        alarms = np.flatnonzero(level.max(axis=1) > 1)
        if not len(alarms):
            return []
        groups = np.split(alarms, np.flatnonzero(np.diff(log.time[alarms]) > apart) + 1)
        return [self._contact(log, tau_ext, level, group) for group in groups]

    def _contact(self, log: Log, tau_ext: np.ndarray, level: np.ndarray, rows: np.ndarray) -> Contact:
        peak = int(rows[np.argmax(level[rows].max(axis=1))])
        outermost = int(np.flatnonzero(level[rows].max(axis=0) > 1)[-1])
        robot = self.robot
        link = robot.joints.index(robot.driving_joints[outermost])
        spread = self._at_threshold(log, peak) / _DEVIATIONS
        time, slides = log.time, np.array(robot.slides)
        alike = slides == slides[np.argmax(level[peak])]
        return Contact(
            float(time[rows[0]]), float(time[rows[-1]]), float(time[peak]), robot.joint_names[outermost],
            tau_ext[peak], float(level[peak].max()), contact_force(robot, link, log.q[peak], tau_ext[peak], spread),
            "N" if slides[np.argmax(level[peak])] else "N m", float(np.abs(tau_ext[peak][alike]).max()),
        )  # fmt: skip

    def _at_threshold(self, log: Log, row: int) -> np.ndarray:
        """Return the thresholds (n,) at a row of a log, N m or N."""
        _, (q, qd, tau) = self.observer.log_signals(log)
        return np.asarray(self._thresholds(q[row], qd[row], tau[row]))

    # The program --------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Return tau_ext (n,), level (n,) and state_next of (q, qd, tau, state, dt): what `step` and emitted C run."""
        return self._program

    @cached_property
    def _program(self) -> Program:
        constants, n, observer = Constants(), self.robot.n, self.observer
        chain = Chain(self.robot, constants)

        def body(q: Vector, qd: Vector, tau: Vector, state: Vector, dt: Expression) -> tuple[Vector, Vector, Vector]:
            threshold = self.thresholds.at(qd, observer.model.dry_friction(chain, q, tau))

            def quiet(residual: Vector) -> Vector:
                return cs.if_else(cs.mmax(cs.fabs(residual) / threshold) < _QUIET, 1.0, 0.0) * SX.ones(n)

            own, last = state[: observer.size], state[observer.size :]
            tau_ext, after = observer.advance(chain, (q, qd, tau), own, dt, quiet)
            felt = cs.if_else(tau_ext * last > 0, cs.fmin(cs.fabs(tau_ext), cs.fabs(last)), 0.0)
            return tau_ext, self.thresholds.levels(felt, threshold), cs.vertcat(after, tau_ext)

        outputs = [Port("tau_ext", (n,)), Port("level", (n,)), Port("state_next", (self.size,))]
        ports = [*observer.ports()[:-2], Port("state", (self.size,)), Port("dt")]
        return trace("contact_detector", body, ports, outputs, constants)

    @cached_property
    def _thresholds(self) -> Program:
        constants = Constants()
        chain = Chain(self.robot, constants)

        def body(q: Vector, qd: Vector, tau: Vector) -> Vector:
            return self.thresholds.at(qd, self.observer.model.dry_friction(chain, q, tau))

        return trace("thresholds", body, self.observer.ports()[:3], [Port("threshold", (self.robot.n,))], constants)

    def start(self) -> np.ndarray:
        """Return the state (size,) that the detector starts with."""
        return np.concatenate([self.observer.start(), np.zeros(self.robot.n)])

    @property
    def described_state(self) -> tuple[str, ...]:
        """What each entry of the state is, in words."""
        return (
            *self.observer.described_state,
            *(f"torque from outside at the last sample, {j}" for j in self.robot.joint_names),
        )

    def __repr__(self) -> str:
        return f"{self.observer!r}\n{self.thresholds!r}"


def _observer_words(bandwidth_hz: float, tracked: bool) -> str:
    """Return the settings of an observer in words."""
    return f"of {bandwidth_hz:g} Hz {'with' if tracked else 'without'} a tracker of friction"
