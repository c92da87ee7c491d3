"""Walker's adaptive law, by recursion and in closed form, with the adaptation that is consistent with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as cs

from taupi.control import spatial_algebra as spatial
from taupi.control.adaptive_law import AdaptiveLaw
from taupi.control.gains import positive
from taupi.control.law import Claim, Signals, Truth
from taupi.control.link_recursions import (
    adjoints,
    link_motions,
    torque,
    twists,
    walker_gradient,
    walker_wrench,
    with_terms,
)
from taupi.control.parameter_choice import ColumnsLike
from taupi.dynamics.terms import TermsLike
from taupi.errors import unknown
from taupi.model.robot import Robot
from taupi.program.program import Constants

FORMS = ("recursive", "closed")


@dataclass(frozen=True, eq=False)
class Walker(AdaptiveLaw):
    """tau = H (qrdd - gamma s) + C_w qrd + G with the estimate, d pi_hat/dt = -Gamma^-1 Y_w^T s, Y_w pi_hat = tau (spec A5.3).

    Damping is gamma times the estimated mass matrix, so that dV/dt = -gamma s^T H s with the true H, whatever the estimate; with
    exact parameters s^T H s decays at exactly 2 gamma. `form`: "recursive", in O(n),
    f_i = sum f_c + I_i (vd_ri - gamma vt_i - g) + v_ri x I_i v_ri; "closed", with the document's C_w, which keeps V_s of
    qd and has qrd in C_1 to C_3 (46).

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> state = [[0.1 * (k + j) for j in range(6)] for k in range(5)]
    >>> one, other = tp.Walker(arm, gamma=4.0), tp.Walker(arm, gamma=4.0, form="closed")
    >>> bool(abs(one.torque(*state) - other.torque(*state)).max() < 1e-11)
    True
    """

    robot: Robot
    Lambda: Any = None
    gamma: float = 5.0
    Gamma_inv: Any = None
    terms: TermsLike = ()
    columns: ColumnsLike = None
    modifications: Any = ()
    form: str = "recursive"
    name: ClassVar[str] = "walker"

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise unknown("form of Walker's law", self.form, FORMS)
        self.settle_gains()
        object.__setattr__(self, "gamma", positive("gamma", self.gamma))

    def control(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        """Return tau and d pi_hat/dt over SX."""
        return self._closed(constants, signals, x) if self.form == "closed" else self._recursive(constants, signals, x)

    def _recursive(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        chain = self.estimated(constants, x)
        qrd, qrdd, s = signals.reference(self.Lambda)
        carry = adjoints(chain, signals.q)
        motions = link_motions(chain, carry, signals.qd, qrd, qrdd)
        error = self.learnt_from(s)
        errors = twists(chain, carry, error)
        pulled = [m.vd_r - self.gamma * (m.v - m.v_r) for m in motions]
        tau = torque(chain, carry, lambda i: walker_wrench(chain.inertia(i), motions[i], pulled[i]))
        motion = (qrd, qrdd - self.gamma * s)
        more, gradient = with_terms(chain, self.choice().terms, signals, motion, error)
        local = [walker_gradient(m, p, e) for m, p, e in zip(motions, pulled, errors, strict=True)]
        return tau + more, self.adapted(cs.vertcat(*local, gradient), x)

    def _closed(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        """The torque is linear in the whole vector of parameters; its derivative there is Y_w."""
        qrd, qrdd, s = signals.reference(self.Lambda)
        choice = self.choice()
        whole = cs.SX.sym("pi", len(choice.whole))
        chain = self.estimated(constants, x)
        unknown_chain = type(chain)(self.robot, constants, whole)
        tau = spatial.mass(unknown_chain, signals.q) @ (qrdd - self.gamma * s)
        tau += spatial.coriolis(unknown_chain, signals.q, signals.qd, qrd) @ qrd + spatial.gravity(
            unknown_chain, signals.q
        )
        tau += unknown_chain.term_torque(choice.terms, signals.q, qrd, qrdd - self.gamma * s)
        y = cs.jacobian(tau, whole)
        return y @ chain.whole(), self.adapted(y.T @ self.learnt_from(s), x)

    def claim(self, truth: Truth, signals: Signals, x: Any) -> Claim:
        """Return V with dV/dt = -gamma s^T H s, H the true one, less friction's own damping."""
        return self.composite_claim(truth, signals, x, lambda s: self.gamma * cs.dot(s, truth.mass @ s))
