"""What adaptive laws share: their gains, the gradient -Gamma^-1 Y^T s, its modifications, and the Lyapunov function with it.

The gains are declared here once, in one small base each. The parameters of a law's constructor are in the order in which its
bases are read from the right: `class SlotineLi(AdaptiveLaw, Damped)` takes robot, Lambda (of both bases' base), K, Gamma_inv,
terms, adapt, modifications, and then its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import casadi as cs
import numpy as np

from taupi.control.gains import (
    BANDWIDTH,
    PACE,
    Gain,
    default_adaptation,
    default_damping,
    gain,
    inverse,
    times,
    typical,
)
from taupi.control.law import Claim, Law, Signals, Truth
from taupi.control.modifications import Modification, Projection
from taupi.control.parameter_choice import AdaptLike, ParameterChoice, choose
from taupi.dynamics.imu_form import require_motors
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import SX, Expression, Vector
from taupi.errors import TaupiError, shown
from taupi.regressors.classical import slotine_li_regressor

Modifications: TypeAlias = Any  # a Modification or several; kept as a tuple


@dataclass(frozen=True, eq=False)
class Tracking(Law):
    """A law that follows a reference velocity qrd = qd_des - Lambda (q - q_des); s = qd - qrd.

    Attributes:
        Lambda: How fast q follows once s is 0, 1/s: a number, one per joint (n,), or a matrix (n, n); by default 5.
    """

    Lambda: Gain = None
    coordinate: ClassVar[str] = "joint"  # the name of one controlled coordinate in messages

    def __post_init__(self) -> None:
        require_motors(self.robot, "A control law")
        chosen = BANDWIDTH if self.Lambda is None else self.Lambda
        Lambda = gain("Lambda", chosen, self.wanted_size(), self.coordinate, symmetric=False)
        object.__setattr__(self, "Lambda", Lambda)

    def wanted_size(self) -> int:
        """Return how many coordinates are controlled."""
        return self.robot.n


@dataclass(frozen=True, eq=False)
class Damped(Tracking):
    """A law with the damping -K s.

    Attributes:
        K: Damping of s, N m s/rad or N s/m, positive: a number, one per joint (n,), or a symmetric matrix (n, n); by default
            derived from the robot's inertias: s decays at 60/s, or slower if a light direction of the arm would otherwise be too
            fast for a loop at 1 kHz.
    """

    K: Gain = None

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = self._default_damping() if self.K is None else self.K
        object.__setattr__(self, "K", gain("K", chosen, self.wanted_size(), self.coordinate))

    def _default_damping(self) -> np.ndarray:
        return default_damping(self.robot)

    def damping_power(self, s: Vector) -> Expression:
        """Return s^T K s for an `s` over SX."""
        return cs.dot(s, times(self.K, s))


@dataclass(frozen=True, eq=False)
class AdaptiveLaw(Tracking):
    """A law whose estimate follows d pi_hat/dt = -Gamma^-1 Y^T s, changed by its modifications.

    Attributes:
        Gamma_inv: Gain of the adaptation, 0 or more: a number, one per parameter (p,), or a matrix (p, p); by default in
            proportion to the squares of the parameters' sizes within a group (mass, first moments, inertias, a term) of a link,
            such that no group lags behind, and as fast as a loop at 1 kHz can follow.
        terms: Joint terms that are estimated in addition to the links, such as "viscous"; by default none.
        adapt: Which parameters are adapted: names or patterns such as ("forearm.m", "*.viscous"), or "base" for the base
            parameters; the rest is held at the robot's values. By default all are.
        modifications: One or several of `DeadZone`, `SigmaModification`, `Projection`; by default none.
    """

    Gamma_inv: Gain = None
    terms: TermsLike = ()
    adapt: AdaptLike = None
    modifications: Modifications = ()
    pace: ClassVar[float] = PACE  # rad/s, of the default Gamma_inv

    def __post_init__(self) -> None:
        modifications = _as_modifications(self.modifications)
        parameters = self.parameters
        super().__post_init__()
        chosen = self._default_adaptation() if self.Gamma_inv is None else self.Gamma_inv
        object.__setattr__(self, "Gamma_inv", gain("Gamma_inv", chosen, len(parameters), "parameter", zero=True))
        object.__setattr__(self, "modifications", modifications)
        for m in modifications:  # a box or a centre of the wrong size is refused here, not in the loop
            m.rate(SX.zeros(len(parameters)), SX.zeros(len(parameters)), self.Gamma_inv, parameters)

    def _default_adaptation(self) -> np.ndarray:
        q, qd, qdd = typical(self.robot).motion
        y = slotine_li_regressor(self.robot, terms=self.choice().terms).compile("numpy")(q, qd, qd, qdd)
        return default_adaptation(self.robot, self.parameters, y[..., list(self.choice().places)], self.pace)

    def choice(self) -> ParameterChoice:
        """Return which parameters the law adapts."""
        return self._choice

    @cached_property
    def _choice(self) -> ParameterChoice:
        return choose(self.robot, self.terms, self.adapt)

    def learnt_from(self, s: Vector) -> Vector:
        """Return the error that the estimate learns from: `s`, or s without its dead zone."""
        for m in self.modifications:
            s = m.error(s)
        return s

    def adapted(self, gradient: Vector, pi_hat: Vector) -> Vector:
        """Return d pi_hat/dt at `pi_hat` from the full `gradient` Y^T s."""
        rate = -times(self.Gamma_inv, self.choice().take(gradient))
        return self.modified(rate, pi_hat)

    def modified(self, rate: Vector, pi_hat: Vector) -> Vector:
        """Return a `rate` at `pi_hat` changed by the modifications, a projection last."""
        for m in sorted(self.modifications, key=lambda m: isinstance(m, Projection)):
            rate = m.rate(rate, pi_hat, self.Gamma_inv, self.parameters)
        return rate

    def settled(self, pi_hat: Vector) -> Vector:
        """Return the estimate `pi_hat` after a step, as changed by the modifications."""
        for m in self.modifications:
            pi_hat = m.settle(pi_hat, self.parameters)
        return pi_hat

    def advance(self, x: Vector, rate: Vector, dt: Expression) -> Vector:
        """Return the state `x`, which changes at `rate`, after a step of `dt` by Euler's rule, its estimate then projected."""
        p = len(self.parameters)
        return cs.vertcat(self.settled(x[:p] + dt * rate[:p]), x[p:] + dt * rate[p:])

    # Lyapunov -----------------------------------------------------------------------------------------------------

    def parameter_error(self, truth: Truth, pi_hat: Vector) -> Vector:
        """Return `pi_hat` - pi of the law's parameters, pi those of `truth`."""
        return pi_hat - self.choice().project(truth.parameters)

    def weighed(self, truth: Truth, pi_hat: Vector) -> Expression:
        """Return (`pi_hat` - pi)^T Gamma (pi_hat - pi) / 2, pi that of `truth`."""
        error = self.parameter_error(truth, pi_hat)
        return cs.dot(error, times(np.asarray(inverse(self.Gamma_inv)), error)) / 2

    def tracking_claim(
        self, truth: Truth, signals: Signals, damping: Callable[[Vector], Expression], distance: Expression
    ) -> Claim:
        """Return V = s^T H s / 2 + distance with dV/dt = -damping(s) - s^T (eta(qd) - eta(qrd)) (Kubozono et al., eqs. 36, 37).

        `truth` is the plant, `signals` are what the law sees; `damping` is a function of s, `distance` that of the estimate from
        the truth; eta is the plant's friction, which adds its own damping.
        """
        qrd, _, s = signals.reference(self.Lambda)
        kinetic = cs.dot(s, truth.mass @ s) / 2
        friction = cs.dot(s, truth.friction(signals.q, signals.qd) - truth.friction(signals.q, qrd))
        return Claim(kinetic + distance, -damping(s) - friction, kinetic)


def _as_modifications(modifications: Modification | Sequence[Modification]) -> tuple[Modification, ...]:
    several = (modifications,) if isinstance(modifications, Modification | str) else tuple(modifications)
    for m in several:
        if not isinstance(m, Modification):
            raise TaupiError(f"A modification is {shown(m)}, expected DeadZone, SigmaModification or Projection.")
    return several
