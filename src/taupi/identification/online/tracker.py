"""Friction that follows the robot: a model's torque, corrected by what a Kalman filter learns of friction from past samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, joint_port
from taupi.dynamics.terms import Coulomb, Offset, Viscous
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.errors import TaupiError
from taupi.identification.online.component import Component, OnlineState
from taupi.identification.online.model import OnlineModel
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace

_TERMS = (Viscous, Coulomb, Offset)
KINDS = tuple(term.name for term in _TERMS)
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
# How far they may change as shares of a joint's friction, the first over its speed.
_SHARES = tuple(term.drift for term in _TERMS)
# An observer does not learn from standstill, below this |s|: what friction holds there is only bounded, and shows no drift.
_MOVES = 0.9
# There, surprises beyond this many standard deviations count as this many: breaking away, or a touch, is not drift (Huber 1964).
_CLIP = 3.0
# There, only the part of a change beyond this many standard errors counts.
_SURE = 2.0


@dataclass(frozen=True, eq=False)
class FrictionFilter:
    """theta = changes of (F_v, F_c, o) of each joint, a random walk seen through e = x^T theta + noise, with x = (qd, s, 1).

    Attributes:
        spreads: Standard deviations (n, 3) of the changes at the start, and of what is added to them every `seconds`.
        noise: Standard deviation (n,) of the torque that the model does not explain, N m or N.
        cutoff_hz: The bandwidth of that noise, Hz: samples faster than 2 `cutoff_hz` are not independent.
        seconds: The time in which friction may change by `spreads`, s.
        least_s: Nothing is learnt where |s| is below this; negative for no limit.
        clip: Surprises beyond this many standard deviations count as this many; None for no limit.
    """

    spreads: np.ndarray
    noise: np.ndarray
    cutoff_hz: float
    seconds: float = 60.0
    least_s: float = -1.0
    clip: float | None = None

    @classmethod
    def of(cls, model: OnlineModel, seconds: float = 60.0, careful: bool = False) -> FrictionFilter:
        """Return the filter for the friction of a `model` that knows its noise, speeds and cutoff.

        Friction may change by its `spreads` in so many `seconds`. A `careful` filter, for an observer, learns from sliding
        joints only, and little from surprises.
        """
        if not model.noise or not model.speeds or model.cutoff_hz is None:
            raise TaupiError(
                "Friction is followed from what a fit says of its logs: noise, speeds and cutoff.",
                remedy="Make the fit with taupi.identify(robot, log), and use fit.tracker() or taupi.momentum_observer(fit).",
            )
        noise, speeds = np.array(model.noise), np.array(model.speeds)
        size = np.maximum(model.friction_sizes(), noise)
        viscous, dry, offset = _SHARES
        spreads = np.stack([viscous * size / np.maximum(speeds, 1e-9), dry * size, offset * size], axis=1)
        careful_settings = (_MOVES, _CLIP) if careful else ()
        return cls(spreads, np.maximum(noise, 1e-9), float(model.cutoff_hz), seconds, *careful_settings)

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.noise)

    def start(self) -> np.ndarray:
        """Return the state (9n,) to start with: theta, three per joint, then the upper half of each covariance, six per joint."""
        covariance = np.zeros((self.n, 6))
        for place, (i, j) in enumerate(_PAIRS):
            covariance[:, place] = self.spreads[:, i] ** 2 if i == j else 0.0
        return np.concatenate([np.zeros(3 * self.n), covariance.ravel()])

    def described(self, joints: tuple[str, ...]) -> tuple[str, ...]:
        """Return what each entry of the state is, in words, for the names of the `joints`."""
        theta = [f"change of {joint}.{kind}" for joint in joints for kind in KINDS]
        pairs = [f"covariance of {KINDS[i]} and {KINDS[j]}, {joint}" for joint in joints for i, j in _PAIRS]
        return (*theta, *pairs)

    # Over SX ------------------------------------------------------------------------------------------------------

    def correction(self, x: list[Vector], state: Vector) -> Vector:
        """Return x^T theta (n,), the torque of the changes in `state`, for `x` (3,) of each joint."""
        return cs.vertcat(*(cs.dot(x[j], state[3 * j : 3 * j + 3]) for j in range(self.n)))

    def sure_correction(self, x: list[Vector], state: Vector) -> Vector:
        """Return the certain part of `correction` (n,): two standard errors, (x^T P x)^(1/2) each, closer to zero.

        While a joint moves one way, dry friction and offset cannot be separated. What was learnt then says little about the other
        direction, and the covariance P shows that.
        """
        sure = []
        for j in range(self.n):
            change = cs.dot(x[j], state[3 * j : 3 * j + 3])
            place = 3 * self.n + 6 * j
            variance = cs.dot(x[j], _full(state[place : place + 6]) @ x[j])
            doubt = _SURE * cs.sqrt(cs.fmax(variance, 0.0))
            sure.append(cs.fmax(change - doubt, 0.0) + cs.fmin(change + doubt, 0.0))
        return cs.vertcat(*sure)

    def update(self, x: list[Vector], e: Vector, state: Vector, dt: Expression, learns: list[Expression]) -> Vector:
        """Return the state `dt` after `state` (9n,), given the torque `e` (n,) that the changes should explain.

        `x` (3,) and whether a joint `learns`, 1 or 0, are those of each joint. The variance of a sample is noise^2 / (2 cutoff
        dt): 2 cutoff samples per second are independent, whatever the rate is.
        """
        theta, covariance = [], []
        for j in range(self.n):
            place = 3 * self.n + 6 * j
            own, c = state[3 * j : 3 * j + 3], _full(state[place : place + 6])
            grown = c + cs.diag(cs.DM(self.spreads[j] ** 2 / self.seconds)) * (dt * learns[j])
            variance = float(self.noise[j]) ** 2 / cs.fmin(2 * self.cutoff_hz * dt, 1.0)
            seen = grown @ x[j]
            gain = learns[j] * seen / (variance + cs.dot(x[j], seen))
            surprise = e[j] - cs.dot(x[j], own)
            if self.clip is not None:
                limit = self.clip * cs.sqrt(float(self.noise[j]) ** 2 + cs.dot(x[j], seen))
                surprise = cs.fmax(cs.fmin(surprise, limit), -limit)
            theta.append(own + gain * surprise)
            after = grown - gain @ seen.T
            covariance += [after[i, k] for i, k in _PAIRS]
        return cs.vertcat(*theta, *covariance)

    def moves(self, s: Expression) -> Expression:
        """Return 1 if the state `s` of dry friction shows that a joint moves enough to learn from it, else 0."""
        return SX(1.0) if self.least_s < 0 else cs.if_else(cs.fabs(s) > self.least_s, 1.0, 0.0)

    # In an observer -----------------------------------------------------------------------------------------------

    def filtered_start(self) -> np.ndarray:
        """Return the state (11n,) to start with in an observer: qd and s behind its lag, then those of `start`."""
        return np.concatenate([np.zeros(2 * self.n), self.start()])

    def described_filtered(self, joints: tuple[str, ...]) -> tuple[str, ...]:
        """Return what each entry of the state in an observer is, in words, for the names of the `joints`."""
        return (*(f"qd filtered, {j}" for j in joints), *(f"s filtered, {j}" for j in joints), *self.described(joints))

    def follow(
        self,
        r: Vector,
        s: Vector,
        qd: Vector,
        state: Vector,
        dt: Expression,
        bandwidth: float,
        gate: Callable[[Vector], Vector] | None = None,
    ) -> tuple[Vector, Vector]:
        """Return an observer's residual `r` (n,) minus what changed friction explains, and the next state, over SX.

        r sees friction through the observer's lag, so `s` and `qd` (n,) pass the same: x' = K (input - x), with K = `bandwidth`
        (rad/s), over `dt`. The filter should learn friction, not contacts: joints learn where `gate` of the result (n,) is 1,
        everywhere by default.
        """
        n = self.n
        share = bandwidth * dt / (1 + bandwidth * dt)
        speeds = state[:n] + share * (qd - state[:n])
        states = state[n : 2 * n] + share * (s - state[n : 2 * n])
        x = [cs.vertcat(speeds[j], states[j], 1.0) for j in range(n)]
        own = state[2 * n :]
        result = r + self.sure_correction(x, own)
        open_to = SX.ones(n) if gate is None else gate(result)
        learns = [self.moves(states[j]) * open_to[j] * cs.if_else(dt > 0, 1.0, 0.0) for j in range(n)]
        return result, cs.vertcat(speeds, states, self.update(x, -r, own, cs.fmax(dt, 1e-9), learns))


def _full(upper: Vector) -> SX:
    """Return a symmetric 3 x 3 matrix from its upper half, row by row."""
    a, b, c, d, e, f = (upper[k] for k in range(6))
    return cs.blockcat([[a, b, c], [b, d, e], [c, e, f]])


@dataclass(frozen=True, eq=False)
class TrackerState(OnlineState):
    """What a tracker remembers.

    Attributes:
        vector: All of it (..., 9n), as the step program takes it.
        innovation: Measured minus predicted torque (..., n) of the last sample, N m or N; None before the first.
    """

    innovation: np.ndarray | None = None

    @property
    def theta(self) -> np.ndarray:
        """The changes of (F_v, F_c, o) of each joint, (..., n, 3)."""
        n = self.vector.shape[-1] // 9
        return self.vector[..., : 3 * n].reshape(*self.vector.shape[:-1], n, 3)

    @property
    def stderr(self) -> np.ndarray:
        """The standard errors of `theta`, (..., n, 3)."""
        n = self.vector.shape[-1] // 9
        upper = self.vector[..., 3 * n :].reshape(*self.vector.shape[:-1], n, 6)
        return np.sqrt(np.maximum(upper[..., [0, 3, 5]], 0.0))


@dataclass(frozen=True, eq=False, repr=False)
class FrictionTracker(Component):
    """tau_hat = (torque of the model) + x^T theta, with x = (qd, s, 1) and theta the changes of (F_v, F_c, o) of a joint.

    theta is a random walk, three numbers per joint, that a Kalman filter follows from tau - tau_hat of past samples
    (`FrictionFilter`). A sample is predicted before anything is learnt from it. The error of such a
    prediction is an online error: the tracker has seen earlier torques, so it must not be quoted as an error on held-out data.

    Attributes:
        model: The robot with numbers.
        filter: How fast friction may change, and how noisy torques are.
    """

    model: OnlineModel
    filter: FrictionFilter
    name: ClassVar[str] = "tracker"
    title: ClassVar[str] = "friction tracker"
    meaning: ClassVar[str] = (
        "tau_hat: the torque (N m) or force (N) predicted for this sample; innovation: measured minus predicted."
    )
    signals: ClassVar[tuple[str, ...]] = ("q", "qd", "qdd", "tau")
    results: ClassVar[tuple[str, ...]] = ("tau_hat", "innovation")

    @property
    def robot(self) -> Robot:
        """The robot that is followed, with its parameters."""
        return self.model.robot

    def init(self) -> TrackerState:
        """Return the state to start with: friction is that of the model."""
        return TrackerState(self.start())

    def step(
        self, state: TrackerState, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, dt: float
    ) -> tuple[np.ndarray, TrackerState]:
        """Return the torque that is predicted for a sample, and the state that has learnt from it.

        Args:
            state: What `init` or the last `step` returned.
            q: Positions (..., n), rad or m.
            qd: Velocities (..., n), rad/s or m/s.
            qdd: Accelerations (..., n), rad/s^2 or m/s^2.
            tau: The measured torque (..., n), N m or N.
            dt: The time since the last sample, s.

        Returns:
            The predicted torque (..., n), N m or N, and the next state.
        """
        tau_hat, innovation, vector = self.advanced(state, dt, q, qd, qdd, tau)
        return tau_hat, TrackerState(vector, innovation)

    def program(self) -> Program:
        """Return tau_hat (n,), innovation (n,) and state_next of (q, qd, qdd, tau, state, dt): what `step` and emitted C run."""
        return self._program

    @cached_property
    def _program(self) -> Program:
        constants, n = Constants(), self.robot.n
        chain = Chain(self.robot, constants)

        def body(
            q: Vector, qd: Vector, qdd: Vector, tau: Vector, state: Vector, dt: Expression
        ) -> tuple[Vector, Vector, Vector]:
            s, plain = self.model.dry_state(qd), self.model.torque(chain, q, qd, qdd)
            x = [cs.vertcat(qd[j], s[j], 1.0) for j in range(n)]
            tau_hat = plain + self.filter.correction(x, state)
            learns = [self.filter.moves(s[j]) for j in range(n)]
            factors = self.model.factors
            update = self.filter.update(x, tau / factors - plain, state, dt, learns)
            return factors * tau_hat, tau - factors * tau_hat, update

        ports = [*(joint_port(self.robot, name) for name in self.signals), Port("state", (9 * n,)), Port("dt")]
        outputs = [Port("tau_hat", (n,)), Port("innovation", (n,)), Port("state_next", (9 * n,))]
        return trace("friction_tracker", body, ports, outputs, constants)

    def start(self) -> np.ndarray:
        """Return the state (9n,) that the tracker starts with."""
        return self.filter.start()

    @property
    def described_state(self) -> tuple[str, ...]:
        """What each entry of the state is, in words."""
        return self.filter.described(self.robot.joint_names)

    def __repr__(self) -> str:
        operations = self.program().operations.total
        return f"FrictionTracker of {self.robot.name}: {3 * self.robot.n} states, {operations} operations per step"


def filter_program(filtering: FrictionFilter) -> Program:
    """Return the correction (n,) and state_next of (x, e, state, dt): the filter alone, for rows that were predicted before."""
    n = filtering.n

    def body(x: Vector, e: Vector, state: Vector, dt: Expression) -> tuple[Vector, Vector]:
        each = [x[j, :].T for j in range(n)]
        learns = [filtering.moves(x[j, 1]) for j in range(n)]
        return filtering.correction(each, state), filtering.update(each, e, state, dt, learns)

    ports = [Port("x", (n, 3)), Port("e", (n,)), Port("state", (9 * n,)), Port("dt")]
    return trace("friction_filter", body, ports, [Port("correction", (n,)), Port("state_next", (9 * n,))])
