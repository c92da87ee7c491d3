"""External torque without accelerations: the rate of the generalised momentum compared with that of model and motors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.dynamics.chain import Chain, joint_port
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.errors import Argument, TaupiError, warn
from taupi.identification.online.component import Component, OnlineState, sample_steps
from taupi.identification.online.model import OnlineModel
from taupi.identification.online.tracker import FrictionFilter
from taupi.identification.row_layout import RowLayout
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace
from taupi.signals.checking.clean import refuse_several_runs
from taupi.signals.log import Log

if TYPE_CHECKING:
    from collections.abc import Callable

    from taupi.identification.online.contacts import ContactDetector

# Robots are sampled more slowly than this, Hz, and an observer follows at most each sample.
_FASTEST_HZ = 1e6
# Share of a log's rate above which a bandwidth has no effect: a half, and a little for rounding of times.
_NYQUIST = 0.5 * (1 + 1e-6)


def observer_bandwidth(name: str, value: Any) -> float:
    """Return the bandwidth of an observer, Hz, or refuse one that no samples allow; `name` is the argument's."""
    if positive(name, value) > _FASTEST_HZ:
        raise TaupiError(
            "{argument} is {got!r}, expected at most {fastest_hz:g} Hz.",
            argument=Argument(name),
            got=value,
            fastest_hz=_FASTEST_HZ,
        )
    return float(value)


@dataclass(frozen=True, eq=False)
class ObserverState(OnlineState):
    """What an observer remembers.

    Attributes:
        vector: All of it (..., size), as the step program takes it.
        tau_ext: The torque from outside (..., n) at the last sample, N m or N; None before the first.
    """

    tau_ext: np.ndarray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class MomentumObserver(Component):
    """r = K (p - integral of (tau + C^T qd - g - tau_f + r) dt), which follows the torque from outside: dr/dt = K (tau_ext - r).

    p = M qd is the generalised momentum and tau_f friction with offsets and springs (De Luca & Mattone 2003, eqs. 8 to 10). It
    needs neither accelerations nor a contact model. tau_ext is the torque that the surroundings exert on the joints: M qdd +
    C qd + g + tau_f = tau + tau_ext, so that a tip which applies F_tip to its surroundings has tau_ext = -J^T F_tip. The integral
    uses the trapezoidal rule and r is taken at the end of a step, which is stable at any rate.

    With a `tracker` the friction of the model follows the robot: its change is learnt from r while |r| is small, see
    `FrictionFilter`.

    Attributes:
        model: The robot with numbers.
        bandwidth_hz: K / (2 pi), Hz: the observer sees 63 % of a step of torque after 1 / K.
        tracker: How friction follows the robot, or None.
    """

    model: OnlineModel
    bandwidth_hz: float = 20.0
    tracker: FrictionFilter | None = None
    name: ClassVar[str] = "observer"
    title: ClassVar[str] = "momentum observer"
    meaning: ClassVar[str] = "tau_ext: the torque (N m) or force (N) that the surroundings exert on each joint."
    results: ClassVar[tuple[str, ...]] = ("tau_ext",)

    @property
    def robot(self) -> Robot:
        """The robot that is observed, with its parameters."""
        return self.model.robot

    # Sample by sample ---------------------------------------------------------------------------------------------

    def init(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> ObserverState:
        """Return the state to start with; the first step sets the momentum of the model to that of its sample.

        With a position and a velocity it is that of a robot in this state, so that the first step already gives a result.

        Args:
            q: Positions (..., n), rad or m; none by default.
            qd: Velocities (..., n), rad/s or m/s; none by default.
        """
        vector = self.start()
        if q is None and qd is None:
            return ObserverState(vector)
        if q is None or qd is None:
            name, other = ("q", "qd") if q is None else ("qd", "q")
            raise TaupiError(
                "{argument} is missing, {other} is there: the momentum needs both, or neither.",
                argument=Argument(name),
                other=other,
            )
        p = np.asarray(self._momentum(q, qd))
        vector = np.broadcast_to(vector, (*p.shape[:-1], len(vector))).copy()
        n = self.robot.n
        vector[..., 1 : 1 + n] = p
        vector[..., 0] = 0.5
        return ObserverState(vector)

    def step(
        self, state: ObserverState, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, dt: float
    ) -> tuple[np.ndarray, ObserverState]:
        """Return the torque from outside at a sample, and the state after it.

        Args:
            state: What `init` or the last `step` returned.
            q: Positions (..., n), rad or m.
            qd: Velocities (..., n), rad/s or m/s.
            tau: The motors' torque (..., n), N m or N.
            dt: The time since the last sample, s.

        Returns:
            The torque from outside (..., n), N m or N, and the next state.
        """
        tau_ext, vector = self.advanced(state, dt, q, qd, tau)
        return tau_ext, ObserverState(vector, tau_ext)

    # Over a log ---------------------------------------------------------------------------------------------------

    def external_torque(self, log: Log) -> np.ndarray:
        """Return the torque from outside (N, n) at each sample of a `log`, causally: from samples up to that one of its run."""
        return np.concatenate([self.over(*self.log_signals(run))["tau_ext"] for run in runs_of(log)])

    def log_signals(self, log: Log) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return the seconds before each sample of a `log` (N,), and q, qd and tau (N, n); known torques are added to tau.

        Of several runs in a log, such as episodes, each has to be given alone.

        A velocity that was not recorded is the backward difference of q. The first sample then has none, and stands for the
        second, no time before it: the observer starts there. A guessed velocity would look like a push.
        """
        if len(runs_of(log)) > 1:
            refuse_several_runs(log)
        layout = RowLayout(self.robot)
        layout.check(log)
        q, tau = log.need("q", "tau")
        seconds = sample_steps(log.time)
        if self.bandwidth_hz > _NYQUIST * log.rate_hz:
            warn(
                "{bandwidth_hz} is {self_bandwidth_hz:g} Hz, more than half the log's {rate_hz:.4g} Hz: the "
                "observer follows each sample, with its noise, and no faster.",
                self_bandwidth_hz=self.bandwidth_hz,
                rate_hz=log.rate_hz,
            )
        tau = tau + self.model.factors * layout.known_torque(log, log.known_torque or self.model.known_torque)
        qd = np.zeros_like(q) if log.qd is None else log.qd
        if log.qd is None and len(q) > 1:
            steps = np.diff(q, axis=0) / seconds[1:, None]
            q, qd, tau = (np.concatenate([x[:1], x]) for x in (q[1:], steps, tau[1:]))
            seconds[1] = 0.0
        for name, value in (("q", q), ("qd", qd), ("tau", tau)):
            if not np.isfinite(value).all():
                raise TaupiError(
                    "{name} of the log has missing values.", remedy="Fill them: taupi.clean_log(log).", name=name
                )
        return seconds, (q, qd, tau)

    def calibrated(
        self, logs: Log | Sequence[Log], false_alarms_per_hour: float = 1.0, breakaway: float = 1.5
    ) -> ContactDetector:
        """Return a detector of contacts whose thresholds, per joint and speed, come from logs without contacts.

        Args:
            logs: A Log, or a list of them, without contacts.
            false_alarms_per_hour: How many alarms without a contact are accepted, over all joints; 1 by default.
            breakaway: A joint at rest may hold this many times its sliding dry friction, 1.5 by default: below that, a push looks
                like friction.

        >>> import numpy as np, taupi as tp
        >>> arm, t = tp.load("elbow2r"), np.arange(4000)[:, None] / 1000
        >>> q, qd, qdd = np.sin(t + [0, 1]), np.cos(t + [0, 1]), -np.sin(t + [0, 1])
        >>> noise = 0.05 * np.random.default_rng(0).normal(size=q.shape)
        >>> log = tp.Log(t[:, 0], q, qd=qd, tau=tp.inverse_dynamics(arm)(q, qd, qdd) + noise)
        >>> detector = tp.momentum_observer(arm).calibrated(log)
        >>> len(detector.contacts(log))
        0
        """
        from taupi.identification.online.thresholds import Calibration, calibrated

        calibration = Calibration(false_alarms_per_hour, breakaway)
        several = [logs] if isinstance(logs, Log) else logs
        if not isinstance(several, Sequence) or not all(isinstance(log, Log) for log in several):
            raise TaupiError("{logs} is {got!r}, expected a Log or a list of them: taupi.read_log(...).", got=logs)
        return calibrated(self, [run for log in several for run in log.runs()], calibration)

    # The program --------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Return tau_ext (n,) and state_next of (q, qd, tau, state, dt): what `step` and emitted C run."""
        return self._program

    @cached_property
    def _program(self) -> Program:
        constants, n = Constants(), self.robot.n
        chain = Chain(self.robot, constants)

        def body(q: Vector, qd: Vector, tau: Vector, state: Vector, dt: Expression) -> tuple[Vector, Vector]:
            return self.advance(chain, (q, qd, tau), state, dt)

        outputs = [Port("tau_ext", (n,)), Port("state_next", (self.size,))]
        return trace("momentum_observer", body, self.ports(), outputs, constants)

    def ports(self) -> list[Port]:
        """Return the inputs of the step program."""
        return [*(joint_port(self.robot, name) for name in self.signals), Port("state", (self.size,)), Port("dt")]

    @cached_property
    def _momentum(self) -> Program:
        constants = Constants()
        chain = Chain(self.robot, constants)

        def body(q: Vector, qd: Vector) -> Vector:
            return self.model.momentum(chain, q, qd)[0]

        return trace(
            "momentum", body, [joint_port(self.robot, k) for k in ("q", "qd")], [Port("p", (self.robot.n,))], constants
        )

    def advance(
        self, chain: Chain, signals: tuple[Vector, Vector, Vector], state: Vector, dt: Expression,
        gate: Callable[[Vector], Vector] | None = None,
    ) -> tuple[Vector, Vector]:  # fmt: skip
        """Return tau_ext and the next state over SX, at (q, qd, tau) in `signals`, `dt` after the `state`.

        `chain` is the robot's. Friction is followed where `gate`, a function of tau_ext (n,), is 1; by default everywhere.
        """
        q, qd, tau = signals
        tau = tau / self.model.factors
        n, k = chain.n, 2 * np.pi * self.bandwidth_hz
        running, h, last = state[0], state[1 : 1 + n], state[1 + n : 1 + 2 * n]
        p, rate = self.model.momentum(chain, q, qd)
        drive = tau + rate - self.model.friction(chain, q, qd, tau)
        h, last = cs.if_else(running > 0, h, p), cs.if_else(running > 0.5, last, drive)
        mean = (drive + last) / 2
        dt = cs.if_else(running > 0, dt, 0.0)
        r = (p - h - dt * mean) / (1 / k + dt)  # r = K (p - h) with h after the step
        after = [SX(1.0), h + dt * (mean + r), drive]
        if self.tracker is None:
            return r, cs.vertcat(*after)
        followed, rest = self.tracker.follow(r, self.model.dry_state(qd), qd, state[1 + 2 * n :], dt, k, gate)
        return followed, cs.vertcat(*after, rest)

    def start(self) -> np.ndarray:
        """Return the state (size,) that the observer starts with."""
        n = self.robot.n
        more = np.zeros(0) if self.tracker is None else self.tracker.filtered_start()
        return np.concatenate([np.zeros(1 + 2 * n), more])

    @property
    def described_state(self) -> tuple[str, ...]:
        """What each entry of the state is, in words."""
        joints = self.robot.joint_names
        started = "0 before the first step, 0.5 if the momentum is known, then 1"
        own = (started, *(f"momentum of the model, {j}" for j in joints), *(f"its rate, {j}" for j in joints))
        return own + (() if self.tracker is None else self.tracker.described_filtered(joints))

    def __repr__(self) -> str:
        tracked = ", friction tracked" if self.tracker is not None else ""
        operations = self.program().operations.total
        return f"MomentumObserver of {self.robot.name}: {self.bandwidth_hz:g} Hz{tracked}, {operations} operations per step"


def runs_of(log: Log) -> tuple[Log, ...]:
    """Return the runs of a log, such as episodes; what is no log is refused."""
    if not isinstance(log, Log):
        raise TaupiError("{log} is {got!r}, expected a Log: taupi.read_log(...).", got=log)
    return log.runs()
