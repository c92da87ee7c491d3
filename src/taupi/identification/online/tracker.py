"""Friction that follows the robot: the torque that a model predicts, corrected by what past samples show of its friction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, joint_port
from taupi.dynamics.types import ArrayLike, Expression, Vector
from taupi.identification.online.component import Component, OnlineState
from taupi.identification.online.friction_filter import FrictionFilter
from taupi.identification.online.model import OnlineModel
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace


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
        """Return the torque (..., n) that is predicted for a sample, N m or N, and the state that has learnt from it.

        `state` is what `init` or the last `step` returned; `q`, `qd`, `qdd` (rad, rad/s, rad/s^2) and the measured torque `tau`
        (N m) are (..., n), and `dt` is the time since the last sample, s.
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
            return tau_hat, tau - tau_hat, self.filter.update(x, tau - plain, state, dt, learns)

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
