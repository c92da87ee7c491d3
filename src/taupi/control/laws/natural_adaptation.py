"""Adaptation in the geometry of real bodies: the estimate of every link always belongs to a possible body."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.control.adaptive_law import AdaptiveLaw, Damped, Modifications
from taupi.control.gains import Gain, default_adaptation, gain, inverse, largest_inertias, times
from taupi.control.law import Claim, LawState, Signals, Truth
from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
from taupi.control.parameter_choice import BASE
from taupi.control.pseudo_inertia import dual, exponential_step, from_pseudo, log_divergence, pseudo
from taupi.deprecation import renamed
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.errors import Argument, TaupiError
from taupi.model.body import pseudo_inertia, smallest_eigenvalue
from taupi.model.parameters import INERTIA, LINK_SIZE
from taupi.program.program import Constants

# Least eigenvalue of a pseudo-inertia relative to its largest entry: an estimate with a smaller one has no room to move.
ROOM = 1e-9
SHARE = 0.3  # of the largest M_ii: the default gamma


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
    """Slotine and Li's torque with the adaptation dP_i/dt = -P_i L_i P_i / gamma_i (Lee, Kwon & Park 2018).

    P_i is the 4 x 4 pseudo-inertia of the estimate of link i, and tr(P(x) L_i) = x^T (Y_r^T s)_i. V = s^T H s / 2 + sum
    gamma_i D_i with the log-det divergence D_i = log(|P_hat| / |P|) + tr(P_hat^-1 P) - 4, and dV/dt = -s^T K s. P_i stays
    positive definite: mass, centre of mass and inertia are always those of a body; a step of `dt` follows the geodesic, which
    preserves this.

    `adapt` chooses whole links ("forearm.*"); `Gamma_inv` is the gain of only the `terms`.

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

    def __post_init__(self) -> None:
        links = self.links
        chosen = SHARE * float(largest_inertias(self.robot).max()) if self.gamma is None else self.gamma
        object.__setattr__(self, "gamma", gain("gamma", chosen, len(links), "link"))
        if self.gamma.ndim == 2:
            raise TaupiError(Argument("gamma"), f" is a matrix, expected a number or one per link ({len(links)}).")
        Damped.__post_init__(self)
        of_terms = self.parameters.take(range(LINK_SIZE * len(links), len(self.parameters)))
        chosen = default_adaptation(self.robot, of_terms) if self.Gamma_inv is None else self.Gamma_inv
        Gamma_inv = gain("Gamma_inv", chosen, len(of_terms), "parameter of a term", zero=True)
        object.__setattr__(self, "Gamma_inv", Gamma_inv)

    @cached_property
    def links(self) -> tuple[int, ...]:
        """The links that are adapted, each with all of its parameters."""
        if self.adapt == BASE:
            raise TaupiError(
                Argument("adapt"), " is 'base', expected whole links: base parameters belong to no single body."
            )
        entries = self.parameters.layout.entries
        bodies = [e for e in entries if e.kind in ("m", "mx", "my", "mz", *INERTIA)]
        links = tuple(dict.fromkeys(e.index for e in bodies))
        for i in links:
            if sum(e.index == i for e in bodies) != LINK_SIZE:
                name = self.robot.link_names[i]
                raise TaupiError(
                    Argument("adapt"), f" has a part of {name}, expected all ten parameters of a link: '{name}.*'."
                )
        if not links:
            raise TaupiError(
                Argument("adapt"), " has no link, expected at least one whole link: NaturalAdaptation is about bodies."
            )
        return links

    @cached_property
    def _inner(self) -> NiemeyerSlotine:
        """The law whose torque and gradient are used."""
        return NiemeyerSlotine(self.robot, self.Lambda, self.K, 1.0, self.terms, self.adapt)

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
                        Argument("parameters"),
                        f": link {self.robot.link_names[i]!r} has a pseudo-inertia with eigenvalue {low:.2g}, "
                        "expected a positive one.",
                        remedy="Start from law.real(parameters).",
                    )
        return state

    def real(self, parameters: ArrayLike | None, margin: float = 1e-3) -> np.ndarray:
        """Return `parameters` (..., p) with the eigenvalues of every pseudo-inertia raised to `margin` of its largest entry."""
        values = np.array(self._vector(parameters))
        for row in values.reshape(-1, len(self.parameters)):
            for block in self._blocks():
                p = pseudo_inertia(row[block].tolist())
                floor = margin * max(float(np.abs(p).max()), margin)
                lengths, axes = np.linalg.eigh(p)
                if lengths[0] < floor:
                    row[block] = _body(axes @ np.diag(np.maximum(lengths, floor)) @ axes.T)
        return values

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


def _body(p: np.ndarray) -> np.ndarray:
    inertia = np.trace(p[:3, :3]) * np.eye(3) - p[:3, :3]
    return np.array([p[3, 3], *p[:3, 3], *inertia[np.triu_indices(3)]])
