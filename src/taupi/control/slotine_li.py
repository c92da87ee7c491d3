"""Slotine and Li's adaptive law in closed form, through the regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as cs

from taupi.control.adaptive import AdaptiveLaw
from taupi.control.columns import ColumnsLike
from taupi.control.gains import times
from taupi.control.law import Claim, Signals, Truth
from taupi.dynamics.chain import Chain
from taupi.dynamics.terms import TermsLike, term_columns
from taupi.model.robot import Robot
from taupi.program.program import Constants
from taupi.regressors.recursive import link_regressor


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

    def regressor(self, constants: Constants, signals: Signals) -> Any:
        """Return the whole Y_r over SX, n x (10 links + terms)."""
        qrd, qrdd, _ = signals.reference(self.Lambda)
        chain = Chain(self.robot, constants)
        terms = term_columns(chain, self.choice().terms, signals.q, qrd, qrdd)
        return cs.horzcat(link_regressor(chain, signals.q, signals.qd, qrd, qrdd), terms)

    def control(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        """Return tau and d pi_hat/dt over SX."""
        y = self.regressor(constants, signals)
        _, _, s = signals.reference(self.Lambda)
        tau = y @ self.choice().expand(Chain(self.robot, constants), x) - times(self.K, s)
        return tau, self.adapted(y.T @ self.learnt_from(s), x)

    def claim(self, truth: Truth, signals: Signals, x: Any) -> Claim:
        """Return V with dV/dt = -s^T K s, less friction's own damping."""
        return self.composite_claim(truth, signals, x, lambda s: cs.dot(s, times(self.K, s)))
