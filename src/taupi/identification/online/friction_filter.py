"""Friction that drifts: a Kalman filter per joint for the change of viscous friction, dry friction and offset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as cs
import numpy as np

from taupi.dynamics.types import SX, Expression, Vector
from taupi.errors import TaupiError
from taupi.identification.online.model import OnlineModel

KINDS = ("viscous", "coulomb", "offset")
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
# How far a joint's friction L may change: viscous friction by 0.2 L / v, dry friction by 0.2 L, the offset by 0.1 L.
_SHARES = (0.2, 0.2, 0.1)
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
        (rad/s), over `dt`. The filter should learn friction, not contacts: joints learn where `gate` of
        the result (n,) is 1, everywhere by default.
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
