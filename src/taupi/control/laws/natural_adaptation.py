"""Adaptation in the geometry of real bodies: the estimate of every link stays one that a body can have."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import casadi as cs
import numpy as np

from taupi.control.adaptive_law import AdaptiveLaw
from taupi.control.gains import default_adaptation, gain, inverse, largest_inertias, times
from taupi.control.law import Claim, LawState, Signals, Truth
from taupi.control.laws.niemeyer_slotine import NiemeyerSlotine
from taupi.control.parameter_choice import ColumnsLike
from taupi.control.pseudo_inertia import dual, exponential_step, from_pseudo, log_divergence, pseudo
from taupi.dynamics.spatial import SX
from taupi.dynamics.terms import TermsLike
from taupi.errors import TaupiError
from taupi.model.body import pseudo_inertia, smallest_eigenvalue
from taupi.model.parameters import INERTIA, LINK_SIZE
from taupi.model.robot import Robot
from taupi.program.program import Constants

# Of a pseudo-inertia, relative to its largest entry: an estimate with a smaller eigenvalue has no room to move.
ROOM = 1e-9
SHARE = 0.3  # of the largest M_ii: the default gamma


@dataclass(frozen=True, eq=False)
class NaturalAdaptation(AdaptiveLaw):
    """Slotine and Li's torque with the adaptation dP_i/dt = -P_i L_i P_i / gamma_i (Lee, Kwon & Park 2018).

    P_i is the 4 x 4 pseudo-inertia of the estimate of link i, and tr(P(x) L_i) = x^T (Y_r^T s)_i. V = s^T H s / 2 + sum
    gamma_i D_i with the log-det divergence D_i = log(|P_hat| / |P|) + tr(P_hat^-1 P) - 4, and dV/dt = -s^T K s. P_i stays
    positive definite: mass, centre of mass and inertia are always those of a body; a step of `dt` follows the geodesic, which
    keeps it so.

    `gamma` (J) is a number or one a link, by default 0.3 of the largest M_ii. Less learns faster; but where it is much less than
    V_1 at the start, the estimate may grow by as much as exp(V_1 / gamma) on its way. `columns` chooses whole links
    ("forearm.*"); `terms` follow Gamma_inv.

    >>> import taupi as tp
    >>> from taupi.model.body import smallest_eigenvalue
    >>> arm = tp.load("zollo2r")
    >>> law = tp.NaturalAdaptation(arm, columns="link2.*")
    >>> state = law.init(law.real(law.parameters.values))
    >>> tau, state = law.step(state, [0.0, 0.1], [0.0, 0.0], [0.1, 0.0], [0.0, 0.0], [0.0, 0.0], dt=0.001)
    >>> smallest_eigenvalue(state.parameters) > 0
    True
    """

    robot: Robot
    Lambda: Any = None
    K: Any = None
    gamma: Any = None
    Gamma_inv: Any = None
    terms: TermsLike = ()
    columns: ColumnsLike = None
    modifications: Any = field(default=(), init=False)
    name: ClassVar[str] = "natural_adaptation"

    def __post_init__(self) -> None:
        links = self.links
        chosen = SHARE * float(largest_inertias(self.robot).max()) if self.gamma is None else self.gamma
        object.__setattr__(self, "gamma", gain("gamma", chosen, len(links), "link"))
        if self.gamma.ndim == 2:
            raise TaupiError(f"gamma is a matrix, expected a number or one per link ({len(links)}).")
        inner = self._inner
        object.__setattr__(self, "Lambda", inner.Lambda)
        object.__setattr__(self, "K", inner.K)
        p = len(self.parameters)
        rest = self.parameters.take(range(LINK_SIZE * len(links), p))
        given = default_adaptation(self.robot, rest) if self.Gamma_inv is None else self.Gamma_inv
        object.__setattr__(self, "Gamma_inv", gain("Gamma_inv", given, len(rest), "parameter of a term", zero=True))

    @cached_property
    def links(self) -> tuple[int, ...]:
        """The links that are adapted, whole."""
        if self.columns == "base":
            raise TaupiError("columns is 'base', expected whole links: base parameters belong to no single body.")
        entries = self.parameters.layout.entries
        bodies = [e for e in entries if e.kind in ("m", "mx", "my", "mz", *INERTIA)]
        links = tuple(dict.fromkeys(e.index for e in bodies))
        for i in links:
            if sum(e.index == i for e in bodies) != LINK_SIZE:
                name = self.robot.link_names[i]
                raise TaupiError(f"columns has a part of {name}, expected all ten parameters of a link: '{name}.*'.")
        if not links:
            raise TaupiError("columns has no link, expected at least one whole: NaturalAdaptation is about bodies.")
        return links

    @cached_property
    def _inner(self) -> NiemeyerSlotine:
        """The law whose torque and gradient these are."""
        return NiemeyerSlotine(self.robot, self.Lambda, self.K, 1.0, self.terms, self.columns)

    def _blocks(self) -> list[slice]:
        return [slice(LINK_SIZE * k, LINK_SIZE * (k + 1)) for k in range(len(self.links))]

    def control(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        """Return tau and d pi_hat/dt over SX."""
        tau, rate = self._inner.control(constants, signals, x)
        gradient = -rate
        moved = []
        for block, gamma in zip(self._blocks(), self.gamma, strict=True):
            p = pseudo(x[block])
            moved.append(from_pseudo(-p @ dual(gradient[block]) @ p / gamma))
        rest = gradient[LINK_SIZE * len(self.links) :]
        return tau, cs.vertcat(*moved, -times(self.Gamma_inv, rest) if rest.numel() else SX(0, 1))

    def advance(self, x: Any, rate: Any, dt: Any) -> Any:
        """Return the estimate after a step: along the geodesic P C exp(...) C^T for bodies, by Euler's rule for terms."""
        bodies = [exponential_step(x[block], rate[block], dt) for block in self._blocks()]
        rest = slice(LINK_SIZE * len(self.links), len(self.parameters))
        return cs.vertcat(*bodies, x[rest] + dt * rate[rest])

    def init(self, parameters: Any = None) -> LawState:
        """Return the state to start with; an estimate that no body has is refused."""
        state = super().init(parameters)
        for values in state.parameters.reshape(-1, len(self.parameters)):
            for i, block in zip(self.links, self._blocks(), strict=True):
                body = values[block]
                low, size = smallest_eigenvalue(body.tolist()), float(np.abs(pseudo_inertia(body.tolist())).max())
                if not low > ROOM * size:
                    raise TaupiError(
                        f"parameters: link {self.robot.link_names[i]!r} has a pseudo-inertia with eigenvalue {low:.2g}, "
                        "expected a positive one. Start from law.real(parameters)."
                    )
        return state

    def real(self, parameters: Any, margin: float = 1e-3) -> np.ndarray:
        """Return the estimate (..., p) with the eigenvalues of every pseudo-inertia raised to `margin` of its largest entry."""
        values = np.array(self._vector(parameters))
        for row in values.reshape(-1, len(self.parameters)):
            for block in self._blocks():
                p = pseudo_inertia(row[block].tolist())
                floor = margin * max(float(np.abs(p).max()), margin)
                lengths, axes = np.linalg.eigh(p)
                if lengths[0] < floor:
                    row[block] = _body(axes @ np.diag(np.maximum(lengths, floor)) @ axes.T)
        return values

    def claim(self, truth: Truth, signals: Signals, x: Any) -> Claim:
        """Return V with the divergence of every link, dV/dt = -s^T K s less friction's own damping."""
        qrd, _, s = signals.reference(self.Lambda)
        kinetic = cs.dot(s, truth.mass @ s) / 2
        friction = cs.dot(s, truth.friction(signals.q, signals.qd) - truth.friction(signals.q, qrd))
        true = self.choice().project(truth.whole)
        blocks = zip(self._blocks(), self.gamma, strict=True)
        distance = sum(float(gamma) * log_divergence(true[block], x[block]) for block, gamma in blocks)
        rest = slice(LINK_SIZE * len(self.links), len(self.parameters))
        error = x[rest] - true[rest]
        terms = cs.dot(error, times(np.asarray(inverse(self.Gamma_inv)), error)) / 2 if error.numel() else 0
        return Claim(kinetic + distance + terms, -cs.dot(s, times(self.K, s)) - friction, kinetic)


def _body(p: np.ndarray) -> np.ndarray:
    inertia = np.trace(p[:3, :3]) * np.eye(3) - p[:3, :3]
    return np.array([p[3, 3], *p[:3, 3], *inertia[np.triu_indices(3)]])
