"""Walker's adaptive law, by recursion and in closed form, with the adaptation that is consistent with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.control import spatial_algebra as spatial
from taupi.control.adaptive_law import AdaptiveLaw, TrackingLaw
from taupi.control.estimate import EstimatedChain
from taupi.control.gains import as_matrix
from taupi.control.law import Claim, Signals, Truth
from taupi.control.link_recursions import (
    adjoints,
    link_twists,
    torque,
    twists,
    walker_gradient,
    walker_wrench,
    with_terms,
)
from taupi.deprecation import renamed
from taupi.dynamics.types import SX, Vector
from taupi.errors import unknown
from taupi.program.program import Constants

FORMS = ("recursive", "closed")


@dataclass(frozen=True, eq=False)
class DampedByEstimate(TrackingLaw):
    """A law with the damping -gamma H s, H the mass matrix of the estimate.

    Attributes:
        gamma: Damping of s, 1/s, by default 20: s^T H s decays at twice this with exact parameters.
    """

    gamma: float = 20.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gamma", positive("gamma", self.gamma))

    def adjustable(self) -> tuple[str, ...]:
        """Return the gains that a step can take as inputs."""
        return (*super().adjustable(), "gamma")

    def decay_rate(self, largest_inertia: Callable[[], float]) -> float:
        """Return 2 gamma, whatever `largest_inertia` is."""
        return 2 * self.gamma

    def damping_rates(self, inverse: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return gamma and Lambda; `inverse` and `q` are as in `Law.damping_rates`."""
        shape = inverse.shape
        rates = {"gamma": self.gamma * np.eye(shape[-1]), "Lambda": as_matrix(self.Lambda)}
        return {name: np.broadcast_to(rate, shape) for name, rate in rates.items()}


@renamed(columns="adapt")
@dataclass(frozen=True, eq=False)
class Walker(AdaptiveLaw, DampedByEstimate):
    """Apply tau = H (qrdd - gamma s) + C_w qrd + G of the estimate, d pi_hat/dt = -Gamma^-1 Y_w^T s, Y_w pi_hat = tau.

    This is Kubozono et al., eqs. 43-46, with the adaptation that they leave out. Damping is gamma times the estimated mass
    matrix, so that dV/dt = -gamma s^T H s with the true H, whatever the estimate; with exact parameters s^T H s decays at
    exactly 2 gamma.

    Attributes:
        form: "recursive" (the default), in O(n), f_i = sum f_c + I_i (vd_ri - gamma vt_i - g) + v_ri x I_i v_ri; or "closed",
            with the document's C_w, which takes V_s at qd and C_1 to C_3 at qrd (46).

    >>> import taupi as tp
    >>> arm = tp.load("puma560")
    >>> state = [[0.1 * (k + j) for j in range(6)] for k in range(5)]
    >>> one, other = tp.Walker(arm, gamma=4.0), tp.Walker(arm, gamma=4.0, form="closed")
    >>> bool(abs(one.torque(*state) - other.torque(*state)).max() < 1e-11)
    True
    """

    form: str = "recursive"
    name: ClassVar[str] = "walker"
    # Slower than others: s enters Y_w a second time, as gamma s, so that noise of s does not average out but adds to the masses,
    # in proportion to gamma pace^2. With 20 and 30 this is the same as with 5 and 60, and s is damped instead of ringing.
    pace: ClassVar[float] = 30.0

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise unknown("form of Walker's law", self.form, FORMS)
        super().__post_init__()

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and d pi_hat/dt over SX; `constants`, `signals` and `x` are as in `Law.control`."""
        return self._closed(constants, signals, x) if self.form == "closed" else self._recursive(constants, signals, x)

    def _recursive(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        chain = self.estimated(constants, x)
        qrd, qrdd, s = signals.reference(self.Lambda)
        carry = adjoints(chain, signals.q)
        motions = link_twists(chain, carry, signals.qd, qrd, qrdd)
        error = self.learnt_from(s)
        errors = twists(chain, carry, error)
        pulled = [m.vd_r - self.gamma * (m.v - m.v_r) for m in motions]
        tau = torque(chain, carry, lambda i: walker_wrench(chain.inertia(i), motions[i], pulled[i]))
        motion = (qrd, qrdd - self.gamma * s)
        more, gradient = with_terms(chain, self.choice().terms, signals, motion, error)
        local = [walker_gradient(m, p, e) for m, p, e in zip(motions, pulled, errors, strict=True)]
        return tau + more, self.adapted(cs.vertcat(*local, gradient), x)

    def _closed(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return the same with the document's matrices: tau is linear in all parameters, and Y_w is its derivative."""
        qrd, qrdd, s = signals.reference(self.Lambda)
        choice, q = self.choice(), signals.q
        pi = SX.sym("pi", len(choice.full))
        chain = EstimatedChain(self.robot, constants, pi)
        tau = spatial.mass(chain, q) @ (qrdd - self.gamma * s)
        tau += spatial.coriolis(chain, q, signals.qd, qrd) @ qrd + spatial.gravity(chain, q)
        tau += chain.term_torque(choice.terms, q, qrd, qrdd - self.gamma * s)
        y = cs.jacobian(tau, pi)
        return y @ self.estimated(constants, x).pi, self.adapted(y.T @ self.learnt_from(s), x)

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V with dV/dt = -gamma s^T H s, H the true one, less friction's own damping.

        `truth`, `signals` and `x` are as in `Law.claim`.
        """
        distance = self.weighed(truth, x)
        return self.tracking_claim(truth, signals, lambda s: self.gamma * cs.dot(s, truth.mass @ s), distance)
