"""Composite adaptation: learning from the tracking error and from a filtered prediction of the torque."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.control.adaptive_law import AdaptiveLaw, Damped
from taupi.control.gains import times
from taupi.control.law import Claim, Signals, Truth
from taupi.deprecation import renamed
from taupi.dynamics.chain import Chain
from taupi.dynamics.forward import solve_positive
from taupi.dynamics.terms import term_columns
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import TaupiError
from taupi.program.program import Constants
from taupi.regressors.recursive import link_regressor


@dataclass(frozen=True)
class _Parts:
    """The pieces of one evaluation, as SX."""

    tau: Vector
    gradient: Vector  # Y_r^T s of the law's parameters
    W: Matrix
    error: Vector
    weight: Expression
    rates: Vector  # of the filters


@renamed(columns="adapt")
@dataclass(frozen=True, eq=False)
class CompositeAdaptation(AdaptiveLaw, Damped):
    """Apply tau = Y_r pi_hat - K s, d pi_hat/dt = -P (Y_r^T s + rho W^T e), e = W pi_hat - y (Slotine & Li 1989).

    W and y are regressor and torque after the filter a/(p + a), made without accelerations: tau = d/dt(M qd) - C^T qd + g +
    friction. rho = weight / (1 + weight tr(W P W^T) / a) keeps learning no faster than the filter.

    V = s^T H s / 2 + error^T P^-1 error / 2 falls as -s^T K s - rho |e|^2 / 2 - lambda error^T P^-1 error / 2; with a
    constant P as -s^T K s - rho |e|^2. The filters start at rest; for an arm that starts in motion this causes an error that
    decays as exp(-a t). The memory after the estimate holds the filters and P.

    Attributes:
        filter_rad: a, the cutoff of the filter, rad/s; by default 20.
        weight: Weight of the prediction error, rad/(N m s); by default 1.
        forgetting: None (the default) for P = Gamma^-1, or the rate, 1/s, of a gain that remembers which directions were excited:
            dP/dt = lambda P - rho P W^T W P, lambda = forgetting (1 - tr(P Gamma) / (p gain_limit)).
        gain_limit: With forgetting, tr(P Gamma) stays below p times this; by default 10.

    >>> import taupi as tp
    >>> law = tp.laws.CompositeAdaptation(tp.load("elbow2r"), adapt="base", forgetting=1.0)
    >>> state = law.init()
    >>> tau, state = law.step(state, [0.0, 0.1], [0.0, 0.0], [0.1, 0.0], [0.0, 0.0], [0.0, 0.0], dt=0.001)
    >>> state.parameters.shape, state.memory.shape
    ((6,), (35,))
    """

    filter_rad: float = 20.0
    weight: float = 1.0
    forgetting: float | None = None
    gain_limit: float = 10.0
    name: ClassVar[str] = "composite_adaptation"
    pace: ClassVar[float] = (
        50.0  # slower than others: the filters' error for an arm that starts in motion is also learnt
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = {"filter_rad": self.filter_rad, "weight": self.weight, "gain_limit": self.gain_limit}
        for name, value in chosen.items():
            object.__setattr__(self, name, positive(name, value))
        if self.forgetting is not None:
            object.__setattr__(self, "forgetting", positive("forgetting", self.forgetting))
            if self.Gamma_inv.ndim == 2 or not (self.Gamma_inv > 0).all():
                raise TaupiError(
                    "{Gamma_inv} with forgetting is the diagonal that P starts from: one positive gain per parameter."
                )
            if self.gain_limit <= 1:
                raise TaupiError(
                    "{gain_limit} is {got}, expected more than 1: how far the mean gain may grow.", got=self.gain_limit
                )

    @property
    def gain_varies(self) -> bool:
        """Whether the gain P changes, and is part of the memory."""
        return self.forgetting is not None

    # The memory: the filter of the regressor (n p), that of the torque (n), and P scaled, its upper triangle ---------

    def memory(self) -> np.ndarray:
        """Return filters at rest, and the scaled P = 1."""
        n, p = self.robot.n, len(self.parameters)
        scaled = np.eye(p)[np.triu_indices(p)] if self.forgetting is not None else np.zeros(0)
        return np.concatenate([np.zeros(n * p + n), scaled])

    def _unpacked(self, x: Vector) -> tuple[Vector, Matrix, Vector, Matrix | None]:
        n, p = self.robot.n, len(self.parameters)
        pi_hat, filters, torque = x[:p], cs.reshape(x[p : p + n * p], p, n).T, x[p + n * p : p + n * p + n]
        return pi_hat, filters, torque, self._scaled(x[p + n * p + n :]) if self.forgetting is not None else None

    def _scaled(self, triangle: Vector) -> Matrix:
        p = len(self.parameters)
        matrix = SX.zeros(p, p)
        for k, (i, j) in enumerate(zip(*np.triu_indices(p), strict=True)):
            matrix[int(i), int(j)] = matrix[int(j), int(i)] = triangle[k]
        return matrix

    def _times_gain(self, scaled: Matrix | None, x: Vector) -> Vector:
        """Return P x."""
        if scaled is None:
            return times(self.Gamma_inv, x)
        root = SX(cs.DM(np.sqrt(self.Gamma_inv)))
        return root * (scaled @ (root * x))

    def _models(self, constants: Constants, signals: Signals) -> tuple[Matrix, Matrix]:
        """Return the full Y_p and Y_h with tau = d/dt(Y_p pi) + Y_h pi: momentum M qd, and -C^T qd + g + friction."""
        q, qd, rest = signals.q, signals.qd, SX.zeros(self.robot.n)
        chain = Chain(self.robot, constants)
        still = Chain(self.robot.with_gravity((0, 0, 0)), constants)
        terms = self.choice().terms
        momentum = link_regressor(still, q, rest, rest, qd)
        change = cs.reshape(cs.jtimes(cs.vec(momentum), q, qd), *momentum.shape)  # dM/dt qd
        rotors = term_columns(chain, terms, rest, rest, qd) - term_columns(chain, terms, rest, rest, rest)
        friction = term_columns(chain, terms, q, qd, rest)
        other = link_regressor(chain, q, qd, qd, rest) - change
        return cs.horzcat(momentum, rotors), cs.horzcat(other, friction)

    def _parts(self, constants: Constants, signals: Signals, x: Vector) -> _Parts:
        a, choice = self.filter_rad, self.choice()
        pi_hat, filters, torque, scaled = self._unpacked(x)
        qrd, qrdd, s = signals.reference(self.Lambda)
        tau, gradient = self.modelled(constants, signals, (qrd, qrdd), pi_hat, self.learnt_from(s))
        tau -= times(self.K, s)
        momentum, other = self._models(constants, signals)
        places = list(choice.places)
        held = choice.expand(Chain(self.robot, constants), SX.zeros(len(places)))
        Y_p, Y_h = momentum[:, places], other[:, places]
        h_p, h_h = momentum @ held, other @ held
        W = a * Y_p + filters
        error = W @ pi_hat - (torque - a * h_p)
        gained = sum(cs.dot(W[i, :].T, self._times_gain(scaled, W[i, :].T)) for i in range(self.robot.n))
        weight = self.weight / (1 + self.weight * gained / a)
        rates = cs.vertcat(cs.vec((a * (Y_h - a * Y_p - filters)).T), a * (tau - h_h + a * h_p - torque))
        return _Parts(tau, choice.take(gradient), W, error, weight, rates)

    def _forgetting(self, scaled: Matrix) -> Expression:
        p = len(self.parameters)
        return (self.forgetting or 0.0) * (1 - cs.trace(scaled) / (p * self.gain_limit))

    def adjustable(self) -> tuple[str, ...]:
        """Return Lambda and K; the first gain of the adaptation is part of the memory's start."""
        return tuple(name for name in super().adjustable() if name != "Gamma_inv")

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and the rates of estimate, filters and gain over SX.

        `constants`, `signals` and `x` are as in `Law.control`.
        """
        parts = self._parts(constants, signals, x)
        pi_hat, _, _, scaled = self._unpacked(x)
        rate = -self._times_gain(scaled, parts.gradient + parts.weight * parts.W.T @ parts.error)
        rates = [self.modified(rate, pi_hat), parts.rates]
        if scaled is not None:
            seen = parts.W @ cs.diag(SX(cs.DM(np.sqrt(self.Gamma_inv)))) @ scaled
            moved = self._forgetting(scaled) * scaled - parts.weight * seen.T @ seen
            rates += [moved[int(i), int(j)] for i, j in zip(*np.triu_indices(len(self.parameters)), strict=True)]
        return parts.tau, cs.vertcat(*rates)

    def without_learning(self) -> None:
        """Return None: the law learns through its weight, whatever Gamma_inv is."""

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V and its rate with the prediction error e that the filters hold.

        `truth`, `signals` and `x` are as in `Law.claim`.
        """
        estimate = x[: len(self.parameters)]
        plain = self.tracking_claim(truth, signals, self.damping_power, self.weighed(truth, estimate))
        parts = self._parts(truth.chain.constants, signals, x)
        pi_hat, _, _, scaled = self._unpacked(x)
        off = self.parameter_error(truth, pi_hat)
        missed = parts.W @ off
        rate = plain.rate - parts.weight * cs.dot(missed, parts.error)
        if scaled is None:
            return Claim(plain.value, rate, plain.kinetic)
        shrunk = off / SX(cs.DM(np.sqrt(self.Gamma_inv)))
        distance = cs.dot(shrunk, solve_positive(scaled, shrunk)) / 2
        rate += parts.weight * cs.dot(missed, missed) / 2 - self._forgetting(scaled) * distance
        return Claim(plain.kinetic + distance, rate, plain.kinetic)
