"""Niemeyer and Slotine's recursive adaptive law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as cs

from taupi.control.adaptive_law import AdaptiveLaw, Damped
from taupi.control.gains import times
from taupi.control.law import Claim, Signals, Truth
from taupi.control.link_recursions import adjoints, niemeyer_columns, torque, twists, with_terms
from taupi.deprecation import renamed
from taupi.dynamics.types import Vector
from taupi.program.program import Constants
from taupi.regressors.recursive import reference_motions


@renamed(columns="adapt")
@dataclass(frozen=True, eq=False)
class NiemeyerSlotine(AdaptiveLaw, Damped):
    """Apply Slotine and Li's torque by recursion, and adapt link by link, in O(n) (Niemeyer & Slotine 1991).

    f_i = sum f_c + I_i (vd_ri - g) + (v_i x I_i v_ri + v_ri x I_i v_i + I_i (v_ri x v_i)) / 2,  tau = s' f - K s,
    d a_ij/dt = -(v_i - v_ri)' y_ij / Gamma_ij: Kubozono et al., eqs. 39-42, with gravity. Torque and adaptation equal
    `SlotineLi`'s; no regressor is formed.

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> state = [[0.1 * (k + j) for j in range(6)] for k in range(5)]
    >>> closed = tp.SlotineLi(arm, K=10.0, Gamma_inv=0.1)
    >>> law = tp.NiemeyerSlotine(arm, K=10.0, Gamma_inv=0.1)
    >>> bool(abs(law.torque(*state) - closed.torque(*state)).max() < 1e-11)
    True
    >>> law.program().operations.total < closed.program().operations.total
    True
    """

    name: ClassVar[str] = "niemeyer_slotine"

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and d pi_hat/dt over SX; `constants`, `signals` and `x` are as in `Law.control`."""
        chain = self.estimated(constants, x)
        qrd, qrdd, s = signals.reference(self.Lambda)
        carry = adjoints(chain, signals.q)
        columns = [niemeyer_columns(m) for m in reference_motions(chain, signals.q, signals.qd, qrd, qrdd)]
        error = self.learnt_from(s)
        errors = twists(chain, carry, error)
        tau = torque(chain, carry, lambda i: columns[i] @ chain.body(i))
        more, gradient = with_terms(chain, self.choice().terms, signals, (qrd, qrdd), error)
        local = [y.T @ e for y, e in zip(columns, errors, strict=True)]
        return tau + more - times(self.K, s), self.adapted(cs.vertcat(*local, gradient), x)

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V with dV/dt = -s^T K s, less friction's own damping. `truth`, `signals` and `x` are as in `Law.claim`."""
        return self.tracking_claim(truth, signals, self.damping_power, self.weighed(truth, x))
