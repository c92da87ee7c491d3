"""Adaptation in the geometry of real bodies: the estimate of every link always belongs to a possible body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.control.adaptive_law import AdaptiveLaw, Damped, Modifications
from taupi.control.estimate import BASE
from taupi.control.gains import Gain, default_adaptation, gain, inverse, largest_inertias, times
from taupi.control.law import Claim, LawState, Signals, Truth
from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
from taupi.deprecation import renamed
from taupi.dynamics.spatial import inertia_tensor
from taupi.dynamics.types import SX, ArrayLike, Expression, Matrix, Vector
from taupi.errors import TaupiError
from taupi.model.body import bodies_of, pseudo_inertia, smallest_eigenvalue
from taupi.model.parameters import INERTIA, LINK_SIZE
from taupi.program.program import Constants

# Least eigenvalue of a pseudo-inertia relative to its largest entry: an estimate with a smaller one has no room to move.
ROOM = 1e-9
SHARE = 0.3  # of the largest M_ii: the default gamma
FAR = 5.0  # times gamma: a V_1 at the start that may lead an estimate of bodies astray


@dataclass(frozen=True, eq=False)
class WeighedBodies(Damped):
    """A law that weighs the distance of each body from the truth.

    Attributes:
        gamma: Weight of the distance, J: a number or one per link; by default 0.3 of the largest M_ii. A smaller weight learns
            faster; but if it is much smaller than V_1 at the start, the estimate may meanwhile grow by as much as exp(V_1 /
            gamma).
    """

    gamma: Gain = None


@renamed(columns="adapt")
@dataclass(frozen=True, eq=False)
class NaturalAdaptation(AdaptiveLaw, WeighedBodies):
    """Apply Slotine and Li's torque with the adaptation dP_i/dt = -P_i L_i P_i / gamma_i (Lee, Kwon & Park 2018).

    P_i is the 4 x 4 pseudo-inertia of the estimate of link i, and tr(P(x) L_i) = x^T (Y_r^T s)_i. V = s^T H s / 2 + sum
    gamma_i D_i with the log-det divergence D_i = log(|P_hat| / |P|) + tr(P_hat^-1 P) - 4, and dV/dt = -s^T K s. P_i stays
    positive definite: mass, centre of mass and inertia always belong to a real body; a step of `dt` follows the geodesic, which
    preserves this.

    Attributes:
        Gamma_inv: Gain of the adaptation of the terms alone: a number, or one per parameter of a term.
        adapt: Which links are adapted, each whole: names or patterns such as "forearm.*"; by default all.

    >>> import taupi as tp
    >>> from taupi.model.body import smallest_eigenvalue
    >>> arm = tp.load("zollo2r")
    >>> law = tp.laws.NaturalAdaptation(arm, adapt="link2.*")
    >>> state = law.init(law.real(law.parameters.values))
    >>> tau, state = law.step(state, [0.0, 0.1], [0.0, 0.0], [0.1, 0.0], [0.0, 0.0], [0.0, 0.0], dt=0.001)
    >>> smallest_eigenvalue(state.parameters) > 0
    True
    """

    modifications: Modifications = field(default=(), init=False)
    name: ClassVar[str] = "natural_adaptation"
    learns_by: ClassVar[str] = "gamma"
    learns_by_weight: ClassVar[bool] = True

    def __post_init__(self) -> None:
        links = self.links
        chosen = SHARE * float(largest_inertias(self.robot).max()) if self.gamma is None else self.gamma
        object.__setattr__(self, "gamma", gain("gamma", chosen, len(links), "link"))
        if self.gamma.ndim == 2:
            raise TaupiError("{gamma} is a matrix, expected a number or one per link ({count}).", count=len(links))
        Damped.__post_init__(self)
        of_terms = self.parameters.take(range(LINK_SIZE * len(links), len(self.parameters)))
        chosen = default_adaptation(self.robot, of_terms) if self.Gamma_inv is None else self.Gamma_inv
        Gamma_inv = gain("Gamma_inv", chosen, len(of_terms), "parameter of a term", zero=True)
        object.__setattr__(self, "Gamma_inv", Gamma_inv)

    @cached_property
    def links(self) -> tuple[int, ...]:
        """The links that are adapted, each with all of its parameters."""
        if self.adapt == BASE:
            raise TaupiError("{adapt} is 'base', expected whole links: base parameters belong to no single body.")
        entries = self.parameters.layout.entries
        bodies = [e for e in entries if e.kind in ("m", "mx", "my", "mz", *INERTIA)]
        links = tuple(dict.fromkeys(e.index for e in bodies))
        for i in links:
            if sum(e.index == i for e in bodies) != LINK_SIZE:
                name = self.robot.link_names[i]
                raise TaupiError(
                    "{adapt} has a part of {name}, expected all ten parameters of a link: '{name}.*'.", name=name
                )
        if not links:
            raise TaupiError(
                "{adapt} has no link, expected at least one whole link: NaturalAdaptation is about bodies."
            )
        return links

    @cached_property
    def _inner(self) -> NiemeyerSlotine:
        """The law whose torque and gradient are used."""
        return NiemeyerSlotine(self.robot, 1.0, 1.0, 1.0, self.terms, self.adapt).with_traced_gains(
            {"Lambda": self.Lambda, "K": self.K}
        )

    def learning_gain(self) -> np.ndarray:
        """Return the linear map (p, p) from Y^T s to -d pi_hat/dt at the robot's own parameters."""
        pi = self.parameters.values
        count = LINK_SIZE * len(self.links)
        result = np.zeros((len(pi), len(pi)))
        result[range(count, len(pi)), range(count, len(pi))] = self.Gamma_inv
        for block, gamma in zip(self._blocks(), self.gamma, strict=True):
            p = np.array(cs.DM(pseudo(cs.DM(pi[block]))))
            duals = [np.array(cs.DM(dual(cs.DM(unit)))) for unit in np.eye(LINK_SIZE)]
            result[block, block] = np.stack(
                [np.array(cs.DM(from_pseudo(cs.DM(p @ d @ p)))).ravel() / gamma for d in duals], axis=1
            )
        return result

    def adjustable(self) -> tuple[str, ...]:
        """Return Lambda and K, and the gain of terms if any is adapted; gamma shapes the metric of the bodies."""
        return tuple(name for name in super().adjustable() if name != "Gamma_inv" or len(self.Gamma_inv))

    def _blocks(self) -> list[slice]:
        return [slice(LINK_SIZE * k, LINK_SIZE * (k + 1)) for k in range(len(self.links))]

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and d pi_hat/dt over SX; `constants`, `signals` and `x` are as in `Law.control`."""
        tau, rate = self._inner.control(constants, signals, x)
        gradient = -rate
        moved = []
        for block, gamma in zip(self._blocks(), self.gamma, strict=True):
            p = pseudo(x[block])
            moved.append(from_pseudo(-p @ dual(gradient[block]) @ p / gamma))
        rest = gradient[LINK_SIZE * len(self.links) :]
        return tau, cs.vertcat(*moved, -times(self.Gamma_inv, rest) if rest.numel() else SX(0, 1))

    def advance(self, x: Vector, rate: Vector, dt: Expression) -> Vector:
        """Return `x`, which changes at `rate`, after a step of `dt`: along a geodesic for bodies, by Euler's rule for terms."""
        bodies = [exponential_step(x[block], rate[block], dt) for block in self._blocks()]
        rest = slice(LINK_SIZE * len(self.links), len(self.parameters))
        return cs.vertcat(*bodies, x[rest] + dt * rate[rest])

    def init(self, parameters: ArrayLike | None = None) -> LawState:
        """Return the state to start with, by default the robot's own `parameters`; an estimate that no body has is refused."""
        state = super().init(parameters)
        for values in state.parameters.reshape(-1, len(self.parameters)):
            for i, block in zip(self.links, self._blocks(), strict=True):
                body = values[block]
                low, size = smallest_eigenvalue(body.tolist()), float(np.abs(pseudo_inertia(body.tolist())).max())
                if not low > ROOM * size:
                    raise TaupiError(
                        "{parameters}: link {link_name!r} has a pseudo-inertia with eigenvalue {low:.2g}, "
                        "expected a positive one.",
                        remedy="Start from law.real(parameters).",
                        link_name=self.robot.link_names[i],
                        low=low,
                    )
        return state

    def first_state(self) -> LawState:
        """Return the state to start with: the robot's own parameters, made possible for real bodies."""
        return self.init(self.real(None))

    def real(self, parameters: ArrayLike | None, margin: float = 1e-3) -> np.ndarray:
        """Return `parameters` (..., p) with the eigenvalues of every pseudo-inertia raised to `margin` of its largest entry."""
        values = np.array(self._vector(parameters))
        for row in values.reshape(-1, len(self.parameters)):
            for block in self._blocks():
                p = pseudo_inertia(row[block].tolist())
                floor = margin * max(float(np.abs(p).max()), margin)
                lengths, axes = np.linalg.eigh(p)
                if lengths[0] < floor:
                    row[block] = bodies_of(axes @ np.diag(np.maximum(lengths, floor)) @ axes.T)
        return values

    def initial_estimate(self, share: float) -> np.ndarray:
        """Return an estimate to start from: a `share` of the robot's parameters, made that of real bodies."""
        return self.real(super().initial_estimate(share))

    def start_warnings(self, kinetic: Callable[[], float]) -> list[str]:
        """Return a sentence if the geometry of bodies would stretch an estimate: gamma far below V_1 at the start, `kinetic`."""
        size, gamma = kinetic(), float(np.min(self.gamma))
        if size < FAR * gamma:
            return []
        return [
            f"gamma is {gamma:.2g} J, far below V_1 = {size:.2g} J at the start: the estimate may grow by as much as "
            f"exp({size / gamma:.0f}). Start nearer to the reference, or give gamma={size:.2g}."
        ]

    def without_learning(self) -> None:
        """Return None: links learn through gamma, whatever Gamma_inv is."""

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V with the divergence of every link, dV/dt = -s^T K s less friction's own damping.

        `truth`, `signals` and `x` are as in `Law.claim`.
        """
        true = self.choice().project(truth.parameters)
        blocks = zip(self._blocks(), self.gamma, strict=True)
        bodies = sum(float(gamma) * log_divergence(true[block], x[block]) for block, gamma in blocks)
        rest = slice(LINK_SIZE * len(self.links), len(self.parameters))
        error = x[rest] - true[rest]
        terms = cs.dot(error, times(np.asarray(inverse(self.Gamma_inv)), error)) / 2 if error.numel() else 0
        return self.tracking_claim(truth, signals, self.damping_power, bodies + terms)


HALVINGS = 4  # exp(A) by squaring exp(A / 2^4)
LONGEST = 1.0  # of a step, in the geometry of bodies: no eigenvalue changes by more than a factor e
ORDER = 8  # an even order: the truncated series is positive for every real number, so that definiteness cannot be lost


def pseudo(body: Vector) -> Matrix:
    """Return P = [[tr(I)/2 1 - I, h], [h^T, m]] of ten parameters (Wensing, Kim & Slotine 2017)."""
    i = inertia_tensor(body)
    h = body[1:4]
    return cs.blockcat([[cs.trace(i) / 2 * SX.eye(3) - i, h], [h.T, body[0]]])


def from_pseudo(p: Matrix) -> Vector:
    """Return ten parameters from P: I = tr(S) 1 - S, S its upper block."""
    s = p[:3, :3]
    i = cs.trace(s) * SX.eye(3) - s
    return cs.vertcat(p[3, 3], p[:3, 3], i[0, 0], i[0, 1], i[0, 2], i[1, 1], i[1, 2], i[2, 2])


def dual(b: Vector) -> Matrix:
    """Return the symmetric L with tr(P(x) L) = x^T b for all ten parameters x."""
    xx, xy, xz, yy, yz, zz = (b[k] for k in range(4, 10))
    upper = [[yy + zz, -xy / 2, -xz / 2], [-xy / 2, xx + zz, -yz / 2], [-xz / 2, -yz / 2, xx + yy]]
    h = b[1:4] / 2
    return cs.blockcat([[cs.vertcat(*(cs.horzcat(*row) for row in upper)), h], [h.T, b[0]]])


def cholesky(p: Matrix) -> Matrix:
    """Return the lower triangular C with P = C C^T."""
    n = p.shape[0]
    c = SX.zeros(n, n)
    for j in range(n):
        c[j, j] = cs.sqrt(p[j, j] - sum(c[j, k] ** 2 for k in range(j)))
        for i in range(j + 1, n):
            c[i, j] = (p[i, j] - sum(c[i, k] * c[j, k] for k in range(j))) / c[j, j]
    return c


def lower_solve(c: Matrix, b: Matrix) -> Matrix:
    """Return C^-1 B for a lower triangular C."""
    x = SX(b)
    for i in range(c.shape[0]):
        for k in range(i):
            x[i, :] -= c[i, k] * x[k, :]
        x[i, :] /= c[i, i]
    return x


def log_divergence(true: Vector, estimate: Vector) -> Expression:
    """Return D = log(|P_hat| / |P|) + tr(P_hat^-1 P) - 4, zero if both are the same body and positive otherwise."""
    c, c_hat = cholesky(pseudo(true)), cholesky(pseudo(estimate))
    logs = sum(cs.log(c_hat[k, k]) - cs.log(c[k, k]) for k in range(4))
    root = lower_solve(c_hat, c)
    return 2 * logs + cs.sum1(cs.sum2(root * root)) - 4


def exponential_step(body: Vector, rate: Vector, dt: Expression) -> Vector:
    """Return the body after dt along the geodesic P(dt) = C exp(dt C^-1 dP/dt C^-T) C^T, P = C C^T, no further than LONGEST.

    It is positive definite for every dt, and does not overflow if an adaptation is much faster than dt.
    """
    c = cholesky(pseudo(body))
    half = lower_solve(c, pseudo(rate))
    a = dt * lower_solve(c, half.T)
    length = cs.sqrt(cs.sum1(cs.sum2(a * a)))
    small = a / (cs.fmax(1.0, length / LONGEST) * 2.0**HALVINGS)
    root, power = SX.eye(4), SX.eye(4)
    for k in range(1, ORDER + 1):
        power = power @ small / k
        root = root + power
    for _ in range(HALVINGS - 1):
        root = root @ root
    factor = c @ root
    return from_pseudo(factor @ factor.T)
