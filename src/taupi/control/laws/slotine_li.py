"""Slotine and Li's adaptive law in closed form, through the regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as cs

from taupi.control.adaptive_law import AdaptiveLaw
from taupi.control.gains import times
from taupi.control.law import Claim, Signals, Truth
from taupi.control.parameter_choice import ColumnsLike
from taupi.dynamics.chain import Chain
from taupi.dynamics.terms import TermsLike, term_columns
from taupi.model.robot import Robot
from taupi.program.program import Constants
from taupi.regressors.recursive import link_regressor


def torque_and_gradient(law: AdaptiveLaw, K: Any, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
    """Return Y_r pi_hat - K s and the whole Y_r^T s over SX, with s as the law learns from it."""
    qrd, qrdd, s = signals.reference(law.Lambda)
    chain = Chain(law.robot, constants)
    terms = term_columns(chain, law.choice().terms, signals.q, qrd, qrdd)
    y = cs.horzcat(link_regressor(chain, signals.q, signals.qd, qrd, qrdd), terms)
    return y @ law.choice().expand(chain, x) - times(K, s), y.T @ law.learnt_from(s)


@dataclass(frozen=True, eq=False)
class SlotineLi(AdaptiveLaw):
    """tau = Y_r pi_hat - K s, d pi_hat/dt = -Gamma^-1 Y_r^T s (Slotine & Li 1987; spec A5.1).

    Y_r = Y_r(q, qd, qrd, qrdd), qrd = qd_des - Lambda (q - q_des), s = qd - qrd. Gains are a number, one a joint (a parameter),
    or a matrix; K and Gamma_inv default to what the robot's inertias suggest. `terms` are adapted too, `columns` chooses what is:
    names or patterns, or "base" for the base parameters; the rest is held at the robot's values.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> law = tp.SlotineLi(arm, Lambda=5.0, K=[20.0, 10.0], columns="base")
    >>> rest = [0.0, 0.0]
    >>> tau = law.torque(rest, rest, rest, rest, rest)
    >>> bool(abs(tau - tp.gravity_torque(arm)(rest)).max() < 1e-12), len(law.parameters)
    (True, 6)
    """

    robot: Robot
    Lambda: Any = None
    K: Any = None
    Gamma_inv: Any = None
    terms: TermsLike = ()
    columns: ColumnsLike = None
    modifications: Any = ()
    name: ClassVar[str] = "slotine_li"

    def __post_init__(self) -> None:
        self.settle_gains()
        self.settle_damping()

    def control(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        """Return tau and d pi_hat/dt over SX."""
        tau, gradient = torque_and_gradient(self, self.K, constants, signals, x)
        return tau, self.adapted(gradient, x)

    def claim(self, truth: Truth, signals: Signals, x: Any) -> Claim:
        """Return V with dV/dt = -s^T K s, less friction's own damping."""
        return self.composite_claim(truth, signals, x, lambda s: cs.dot(s, times(self.K, s)))
