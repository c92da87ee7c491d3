"""What adaptive laws share: their gains, the gradient -Gamma^-1 Y^T s, its modifications, and the Lyapunov function with it.

The gains are declared here once, in one small base each. The parameters of a law's constructor are in the order in which its
bases are read from the right: `class SlotineLi(AdaptiveLaw, Damped)` takes robot, Lambda (of both bases' base), K, Gamma_inv,
terms, adapt, modifications, and then its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeAlias

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.content import Keyed, content
from taupi.control.estimate import AdaptLike, ParameterChoice, choose
from taupi.control.gains import (
    BANDWIDTH,
    PACE,
    Gain,
    as_matrix,
    couples,
    default_adaptation,
    default_damping,
    gain,
    inverse,
    times,
    typical,
)
from taupi.control.law import Claim, Law, Signals, Truth
from taupi.dynamics.chain import Chain
from taupi.dynamics.terms import TermsLike, term_columns
from taupi.dynamics.types import SX, ArrayLike, Expression, Vector
from taupi.errors import Argument, TaupiError
from taupi.model.parameters import Parameters
from taupi.model.requirements import require_motors
from taupi.model.robot import Robot
from taupi.program.program import Constants, trace
from taupi.regressors.classical import slotine_li_regressor
from taupi.regressors.recursive import link_regressor

Modifications: TypeAlias = Any  # a Modification or several; kept as a tuple


@dataclass(frozen=True, eq=False)
class TrackingLaw(Law):
    """A law that follows a reference velocity qrd = qd_des - Lambda (q - q_des); s = qd - qrd.

    Attributes:
        Lambda: How fast q follows once s is 0, 1/s: a number, one per joint (n,), or a matrix (n, n); by default 5.
    """

    Lambda: Gain = None
    coordinate: ClassVar[str] = "joint"  # the name of one controlled coordinate in messages

    def __post_init__(self) -> None:
        require_motors(self.robot, "A control law")
        chosen = BANDWIDTH if self.Lambda is None else self.Lambda
        Lambda = gain("Lambda", chosen, self.wanted_size(), self.coordinate, symmetric=False)
        object.__setattr__(self, "Lambda", Lambda)

    def wanted_size(self) -> int:
        """Return how many coordinates are controlled."""
        return self.robot.n

    def adjustable(self) -> tuple[str, ...]:
        """Return the gains that a step can take as inputs."""
        return (*super().adjustable(), "Lambda")

    def combined_error(self, error: np.ndarray, rate: np.ndarray) -> np.ndarray | None:
        """Return s; `error` and `rate` are as in `Law.combined_error`."""
        if self.wanted_size() != self.robot.n:
            return None
        s: np.ndarray = rate + error @ as_matrix(self.Lambda).T
        return s


@dataclass(frozen=True, eq=False)
class Damped(TrackingLaw):
    """A law with the damping -K s.

    Attributes:
        K: Damping of s, N m s/rad or N s/m, positive: a number, one per joint (n,), or a symmetric matrix (n, n); by default
            derived from the robot's inertias: s decays at 60/s, or slower if a light direction of the arm would otherwise be too
            fast for a loop at 1 kHz.
    """

    K: Gain = None

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = self._default_damping() if self.K is None else self.K
        object.__setattr__(self, "K", gain("K", chosen, self.wanted_size(), self.coordinate))

    def _default_damping(self) -> np.ndarray:
        return default_damping(self.robot)

    def adjustable(self) -> tuple[str, ...]:
        """Return the gains that a step can take as inputs."""
        return (*super().adjustable(), "K")

    def damping_rates(self, inverse: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return M^-1 K and Lambda; `inverse` and `q` are as in `Law.damping_rates`."""
        return {"K": inverse @ as_matrix(self.K), "Lambda": np.broadcast_to(as_matrix(self.Lambda), inverse.shape)}

    def decay_rate(self, largest_inertia: Callable[[], float]) -> float:
        """Return 2 k / h, k the smallest eigenvalue of K and h the `largest_inertia()`."""
        return float(2 * np.linalg.eigvalsh(as_matrix(self.K))[0] / largest_inertia())

    def damping_power(self, s: Vector) -> Expression:
        """Return s^T K s for an `s` over SX."""
        return cs.dot(s, times(self.K, s))


@dataclass(frozen=True, eq=False)
class AdaptiveLaw(TrackingLaw):
    """A law whose estimate follows d pi_hat/dt = -Gamma^-1 Y^T s, changed by its modifications.

    Attributes:
        Gamma_inv: Gain of the adaptation, 0 or more: a number, one per parameter (p,), or a matrix (p, p); by default in
            proportion to the squares of the parameters' sizes within a group (mass, first moments, inertias, a term) of a link,
            such that no group lags behind, and as fast as a loop at 1 kHz can follow.
        terms: Joint terms that are estimated in addition to the links, such as "viscous"; by default none.
        adapt: Which parameters are adapted: names or patterns such as ("forearm.m", "*.viscous"), or "base" for the base
            parameters; the rest is held at the robot's values. By default all are.
        modifications: One or several of `DeadZone`, `SigmaModification`, `Projection`; by default none.
    """

    Gamma_inv: Gain = None
    terms: TermsLike = ()
    adapt: AdaptLike = None
    modifications: Modifications = ()
    learns: ClassVar[bool] = True
    pace: ClassVar[float] = PACE  # rad/s, of the default Gamma_inv

    def __post_init__(self) -> None:
        modifications = _as_modifications(self.modifications)
        parameters = self.parameters
        super().__post_init__()
        chosen = self._default_adaptation() if self.Gamma_inv is None else self.Gamma_inv
        object.__setattr__(self, "Gamma_inv", gain("Gamma_inv", chosen, len(parameters), "parameter", zero=True))
        object.__setattr__(self, "modifications", modifications)
        for m in modifications:  # a box or a centre of the wrong size is refused here, not in the loop
            m.rate(SX.zeros(len(parameters)), SX.zeros(len(parameters)), self.Gamma_inv, parameters)

    def _default_adaptation(self) -> np.ndarray:
        choice = self.choice()
        key = content((choice.robot, choice.terms, choice.places, choice.projection, self.pace))
        return _default_adaptation(Keyed(key, (choice, self.pace)))

    def adjustable(self) -> tuple[str, ...]:
        """Return the gains that a step can take as inputs."""
        return (*super().adjustable(), "Gamma_inv")

    def choice(self) -> ParameterChoice:
        """Return which parameters the law adapts."""
        return self._choice

    @cached_property
    def _choice(self) -> ParameterChoice:
        return choose(self.robot, self.terms, self.adapt)

    def learning_gain(self) -> np.ndarray:
        """Return Gamma^-1 (p, p), by which the estimate answers to small errors when it is the robot's own."""
        return as_matrix(self.Gamma_inv)

    def learning_rates(self, inverse: np.ndarray, q: np.ndarray) -> np.ndarray | None:
        """Return M^-1 Y Gamma^-1 Y^T at rest; `inverse` and `q` are as in `Law.learning_rates`.

        None if a modification changes how small errors are learnt from, as all but a projection do.
        """
        if not all(isinstance(m, Projection) for m in self.modifications):
            return None
        choice = self.choice()
        y = _columns_at_rest(choice.robot, choice.terms)(q)[..., list(choice.places)]
        return inverse @ y @ self.learning_gain() @ np.swapaxes(y, -1, -2)

    def exceptions(self) -> list[str]:
        """Return what its modifications change in the claim."""
        return [m.breaks for m in self.modifications if m.breaks]

    def learnt_from(self, s: Vector) -> Vector:
        """Return the error that the estimate learns from: `s`, or s without its dead zone."""
        for m in self.modifications:
            s = m.error(s)
        return s

    def modelled(
        self, constants: Constants, signals: Signals, motion: tuple[Vector, Vector], x: Vector, error: Vector
    ) -> tuple[Vector, Vector]:
        """Return Y pi_hat and the full Y^T error over SX, Y the regressor of links and terms at (q, qd, qrd, qrdd).

        `motion` is (qrd, qrdd), and `error` what the law learns from; `constants`, `signals` and `x` are as in `Law.control`.
        """
        chain = Chain(self.robot, constants)
        terms = term_columns(chain, self.choice().terms, signals.q, *motion)
        y = cs.horzcat(link_regressor(chain, signals.q, signals.qd, *motion), terms)
        return y @ self.choice().expand(chain, x), y.T @ error

    def adapted(self, gradient: Vector, pi_hat: Vector) -> Vector:
        """Return d pi_hat/dt at `pi_hat` from the full `gradient` Y^T s."""
        rate = -times(self.Gamma_inv, self.choice().take(gradient))
        return self.modified(rate, pi_hat)

    def modified(self, rate: Vector, pi_hat: Vector) -> Vector:
        """Return a `rate` at `pi_hat` changed by the modifications, a projection last."""
        for m in sorted(self.modifications, key=lambda m: isinstance(m, Projection)):
            rate = m.rate(rate, pi_hat, self.Gamma_inv, self.parameters)
        return rate

    def settled(self, pi_hat: Vector) -> Vector:
        """Return the estimate `pi_hat` after a step, as changed by the modifications."""
        for m in self.modifications:
            pi_hat = m.settle(pi_hat, self.parameters)
        return pi_hat

    def advance(self, x: Vector, rate: Vector, dt: Expression) -> Vector:
        """Return the state `x`, which changes at `rate`, after a step of `dt` by Euler's rule, its estimate then projected."""
        p = len(self.parameters)
        return cs.vertcat(self.settled(x[:p] + dt * rate[:p]), x[p:] + dt * rate[p:])

    def without_learning(self) -> Law | None:
        """Return the same law with its estimate held; None if it learns through other gains as well."""
        return dataclasses.replace(self, Gamma_inv=0.0)

    # Lyapunov -----------------------------------------------------------------------------------------------------

    def parameter_error(self, truth: Truth, pi_hat: Vector) -> Vector:
        """Return `pi_hat` - pi of the law's parameters, pi from `truth`."""
        return pi_hat - self.choice().project(truth.parameters)

    def weighed(self, truth: Truth, pi_hat: Vector) -> Expression:
        """Return (`pi_hat` - pi)^T Gamma (pi_hat - pi) / 2, pi that of `truth`."""
        error = self.parameter_error(truth, pi_hat)
        return cs.dot(error, times(np.asarray(inverse(self.Gamma_inv)), error)) / 2

    def tracking_claim(
        self, truth: Truth, signals: Signals, damping: Callable[[Vector], Expression], distance: Expression
    ) -> Claim:
        """Return V = s^T H s / 2 + distance with dV/dt = -damping(s) - s^T (eta(qd) - eta(qrd)) (Kubozono et al., eqs. 36, 37).

        `truth` is the plant, `signals` are what the law sees; `damping` is a function of s, `distance` that of the estimate from
        the truth; eta is the plant's friction, which adds its own damping.
        """
        qrd, _, s = signals.reference(self.Lambda)
        kinetic = cs.dot(s, truth.mass @ s) / 2
        friction = cs.dot(s, truth.friction(signals.q, signals.qd) - truth.friction(signals.q, qrd))
        return Claim(kinetic + distance, -damping(s) - friction, kinetic)


def _as_modifications(modifications: Modification | Sequence[Modification]) -> tuple[Modification, ...]:
    several = (modifications,) if isinstance(modifications, Modification | str) else tuple(modifications)
    for m in several:
        if not isinstance(m, Modification):
            raise TaupiError("A modification is {got!r}, expected DeadZone, SigmaModification or Projection.", got=m)
    return several


Entries = ArrayLike | Mapping[str, float] | None  # a number, one per parameter, or numbers by name or pattern


class Modification:
    """A change of an adaptation; each part does nothing unless a class says otherwise. Over SX."""

    breaks = ""  # why dV/dt may differ from what the plain law claims

    def error(self, s: Vector) -> Vector:
        """Return the error that the estimate learns from, instead of `s`."""
        return s

    def rate(self, rate: Vector, pi_hat: Vector, gamma_inv: np.ndarray | SX, parameters: Parameters) -> Vector:
        """Return the changed `rate`, d pi_hat/dt, of an estimate `pi_hat` of `parameters` with the gain `gamma_inv`."""
        return rate

    def settle(self, pi_hat: Vector, parameters: Parameters) -> Vector:
        """Return `pi_hat`, the estimate of `parameters` after a step of finite length, as it is kept."""
        return pi_hat


@dataclass(frozen=True)
class DeadZone(Modification):
    """Learn from s less its dead zone: s_i - width clip(s_i / width, -1, 1). Noise then does not make the estimate drift.

    Attributes:
        width: Half the width of the zone, in the unit of a joint's velocity, the same for all (Peterson & Narendra 1982).
    """

    width: float
    breaks = "the dead zone learns from less than s"

    def __post_init__(self) -> None:
        positive("width", self.width)

    def error(self, s: Vector) -> Vector:
        """Return `s` without its dead zone."""
        return s - cs.fmax(cs.fmin(s, self.width), -self.width)


@dataclass(frozen=True)
class SigmaModification(Modification):
    """Let the estimate leak: d pi_hat/dt -= sigma Gamma^-1 (pi_hat - centre) (Ioannou & Kokotovic 1983).

    Attributes:
        sigma: Rate of the leak, in 1 over the unit of Gamma.
        centre: What the estimate leaks to: a number, one per parameter (p,), or numbers by name or pattern; by default the
            robot's own parameters.
    """

    sigma: float
    centre: Entries = None
    breaks = "the sigma-modification pulls the estimate to its centre"

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)

    def rate(self, rate: Vector, pi_hat: Vector, gamma_inv: np.ndarray | SX, parameters: Parameters) -> Vector:
        """Return the `rate` with the leak of `pi_hat`, scaled by `gamma_inv`, to the centre of `parameters`."""
        centre = _entries("centre", self.centre, parameters, parameters.values)
        return rate - self.sigma * times(gamma_inv, pi_hat - SX(cs.DM(centre)))


@dataclass(frozen=True)
class Projection(Modification):
    """Keep the estimate in a box: an entry at its bound moves inwards only (Slotine & Li 1991, 8.7).

    V still falls at least as fast as without it, if the box contains the true parameters.

    Attributes:
        lower: A number, one per parameter (p,), or numbers by name or pattern, {"*.m": 0.1}; what is not named has no bound, and
            by default nothing has.
        upper: Likewise.
    """

    lower: Entries = None
    upper: Entries = None

    def __hash__(self) -> int:
        return id(self)

    def rate(self, rate: Vector, pi_hat: Vector, gamma_inv: np.ndarray | SX, parameters: Parameters) -> Vector:
        """Return the `rate` without its outward part where `pi_hat` is at a bound of `parameters`; `gamma_inv` is diagonal."""
        if couples(gamma_inv):
            raise TaupiError("Projection goes with a diagonal {Gamma_inv}, got a matrix: give one gain per parameter.")
        low, high = self._box(parameters)
        inner = cs.if_else(pi_hat <= SX(cs.DM(low)), cs.fmax(rate, 0), rate)
        return cs.if_else(pi_hat >= SX(cs.DM(high)), cs.fmin(inner, 0), inner)

    def settle(self, pi_hat: Vector, parameters: Parameters) -> Vector:
        """Return the nearest estimate to `pi_hat` in the box of `parameters`."""
        low, high = self._box(parameters)
        return cs.fmin(cs.fmax(pi_hat, SX(cs.DM(low))), SX(cs.DM(high)))

    def _box(self, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
        low = _entries("lower", self.lower, parameters, -np.inf)
        high = _entries("upper", self.upper, parameters, np.inf)
        if (low > high).any():
            place = int(np.argmax(low > high))
            raise TaupiError(
                "Projection: lower is above upper for {name}, {low} > {high}.",
                name=parameters.names[place],
                low=low[place],
                high=high[place],
            )
        return low, high


def _entries(name: str, entries: Entries, parameters: Parameters, default: ArrayLike) -> np.ndarray:
    """Return one number per parameter from numbers, or from numbers by name or pattern; `default` if there is none."""
    result = np.broadcast_to(np.asarray(default, dtype=float), (len(parameters),)).copy()
    if entries is None:
        return result
    if isinstance(entries, Mapping):
        for pattern, value in entries.items():
            result[list(parameters.layout.select(pattern))] = value
        return result
    try:
        return np.broadcast_to(np.asarray(entries, dtype=float), result.shape).copy()
    except (TypeError, ValueError):
        raise TaupiError(
            "{argument} is {got!r}, expected {expected} numbers, or numbers by name such as {'*.m': 0.1}.",
            argument=Argument(name),
            got=entries,
            expected=len(parameters),
        ) from None


@lru_cache(maxsize=64)
def _columns_at_rest(robot: Robot, terms: TermsLike) -> Callable[..., Any]:
    """Return the columns of Slotine and Li's regressor as a function of q, all velocities and accelerations being zero."""
    full = slotine_li_regressor(robot, terms=terms)
    still = SX.zeros(robot.n)
    at_rest = trace("at_rest", lambda q: full(q, still, still, still), full.inputs[:1], full.outputs)
    return at_rest.compile("numpy")


@lru_cache(maxsize=64)
def _default_adaptation(law: Keyed[tuple[ParameterChoice, float]]) -> np.ndarray:
    """Return the default Gamma^-1 of laws that adapt the same parameters at the same pace: it takes milliseconds."""
    choice, pace = law.value
    q, qd, qdd = typical(choice.robot).motion
    y = slotine_li_regressor(choice.robot, terms=choice.terms).compile("numpy")(q, qd, qd, qdd)
    diagonal = default_adaptation(choice.robot, choice.parameters, y[..., list(choice.places)], pace)
    diagonal.flags.writeable = False
    return diagonal
