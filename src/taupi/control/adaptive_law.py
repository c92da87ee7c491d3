"""What adaptive laws share: the gradient -Gamma^-1 Y^T s, its modifications, and the Lyapunov function that goes with it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import casadi as cs
import numpy as np

from taupi.control.gains import BANDWIDTH, PACE, default_adaptation, default_damping, gain, inverse, times, typical
from taupi.control.law import Claim, Law, Signals, Truth
from taupi.control.modifications import Modification, Projection
from taupi.control.parameter_choice import Choice, ColumnsLike, choose
from taupi.dynamics.spatial import SX
from taupi.dynamics.terms import TermsLike
from taupi.errors import TaupiError, shown
from taupi.regressors.classical import slotine_li_regressor


class AdaptiveLaw(Law):
    """A law whose estimate follows d pi_hat/dt = -Gamma^-1 Y^T s, changed by its modifications."""

    Lambda: Any
    Gamma_inv: Any
    terms: TermsLike
    columns: ColumnsLike
    modifications: Any
    pace: ClassVar[float] = PACE  # rad/s, of the default Gamma_inv

    def settle_gains(self) -> None:
        """Check the gains and keep them as arrays; take those not given from the robot."""
        given = (
            (self.modifications,) if isinstance(self.modifications, Modification | str) else tuple(self.modifications)
        )
        for m in given:
            if not isinstance(m, Modification):
                raise TaupiError(f"A modification is {shown(m)}, expected DeadZone, SigmaModification or Projection.")
        parameters = self.parameters
        Lambda = gain("Lambda", BANDWIDTH if self.Lambda is None else self.Lambda, self.wanted_size(), symmetric=False)
        chosen = self._default_adaptation() if self.Gamma_inv is None else self.Gamma_inv
        Gamma_inv = gain("Gamma_inv", chosen, len(parameters), "parameter", zero=True)
        for name, value in (("Lambda", Lambda), ("Gamma_inv", Gamma_inv), ("modifications", given)):
            object.__setattr__(self, name, value)
        for m in given:  # a box or a centre of the wrong size is refused now, not in the loop
            m.rate(SX.zeros(len(parameters)), SX.zeros(len(parameters)), Gamma_inv, parameters)

    def _default_adaptation(self) -> np.ndarray:
        q, qd, qdd = typical(self.robot).motion
        y = slotine_li_regressor(self.robot, terms=self.choice().terms).compile("numpy")(q, qd, qd, qdd)
        return default_adaptation(self.robot, self.parameters, y[..., list(self.choice().places)], self.pace)

    def settle_damping(self) -> None:
        """Check K, or take it from the robot."""
        chosen = default_damping(self.robot) if self.K is None else self.K  # type: ignore[attr-defined]
        object.__setattr__(self, "K", gain("K", chosen, self.wanted_size()))

    def wanted_size(self) -> int:
        """Return how many coordinates are controlled."""
        return self.robot.n

    def choice(self) -> Choice:
        """Return which parameters the law adapts."""
        return self._choice

    @cached_property
    def _choice(self) -> Choice:
        return choose(self.robot, self.terms, self.columns)

    def learnt_from(self, s: Any) -> Any:
        """Return the error that the estimate learns from: s, or s without its dead zone."""
        for m in self.modifications:
            s = m.error(s)
        return s

    def adapted(self, gradient: Any, pi_hat: Any) -> Any:
        """Return d pi_hat/dt from the whole gradient Y^T s."""
        rate = -times(self.Gamma_inv, self.choice().take(gradient))
        return self.modified(rate, pi_hat)

    def modified(self, rate: Any, pi_hat: Any) -> Any:
        """Return a rate changed by the modifications, a projection last."""
        for m in sorted(self.modifications, key=lambda m: isinstance(m, Projection)):
            rate = m.rate(rate, pi_hat, self.Gamma_inv, self.parameters)
        return rate

    def settled(self, pi_hat: Any) -> Any:
        """Return an estimate after a step, as the modifications want it."""
        for m in self.modifications:
            pi_hat = m.settle(pi_hat, self.parameters)
        return pi_hat

    def advance(self, x: Any, rate: Any, dt: Any) -> Any:
        """Return the estimate after a step by Euler's rule, then projected."""
        p = len(self.parameters)
        return cs.vertcat(self.settled(x[:p] + dt * rate[:p]), x[p:] + dt * rate[p:])

    # Lyapunov -----------------------------------------------------------------------------------------------------

    def parameter_error(self, truth: Truth, pi_hat: Any) -> Any:
        """Return pi_hat - pi of the law's parameters."""
        return pi_hat - self.choice().project(truth.whole)

    def weighed(self, truth: Truth, pi_hat: Any) -> Any:
        """Return (pi_hat - pi)^T Gamma (pi_hat - pi) / 2."""
        error = self.parameter_error(truth, pi_hat)
        return cs.dot(error, times(np.asarray(inverse(self.Gamma_inv)), error)) / 2

    def composite_claim(self, truth: Truth, signals: Signals, pi_hat: Any, damping: Any) -> Claim:
        """Return V = s^T H s / 2 + error^T Gamma error / 2 with dV/dt = -damping(s) - s^T (eta(qd) - eta(qrd)) (spec A6)."""
        qrd, _, s = signals.reference(self.Lambda)
        kinetic = cs.dot(s, truth.mass @ s) / 2
        friction = cs.dot(s, truth.friction(signals.q, signals.qd) - truth.friction(signals.q, qrd))
        return Claim(kinetic + self.weighed(truth, pi_hat), -damping(s) - friction, kinetic)
