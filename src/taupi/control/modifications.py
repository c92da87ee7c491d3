"""Changes of an adaptation that keep it well-behaved under noise and disturbances: projection, sigma-modification, dead zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.control.gains import times
from taupi.dynamics.types import SX, ArrayLike, Vector
from taupi.errors import Argument, TaupiError, shown
from taupi.model.parameters import Parameters

Entries = ArrayLike | Mapping[str, float] | None  # a number, one per parameter, or numbers by name or pattern


class Modification:
    """A change of an adaptation; each part does nothing unless a class says otherwise. Over SX."""

    breaks = ""  # why dV/dt may differ from what the plain law claims

    def error(self, s: Vector) -> Vector:
        """Return the error that the estimate learns from, instead of `s`."""
        return s

    def rate(self, rate: Vector, pi_hat: Vector, gamma_inv: np.ndarray, parameters: Parameters) -> Vector:
        """Return the changed `rate`, d pi_hat/dt, of an estimate `pi_hat` of `parameters` with the gain `gamma_inv`."""
        return rate

    def settle(self, pi_hat: Vector, parameters: Parameters) -> Vector:
        """Return `pi_hat`, the estimate of `parameters` after a step of finite length, as it is kept."""
        return pi_hat


@dataclass(frozen=True)
class DeadZone(Modification):
    """Learn from s less its dead zone: s_i - width clip(s_i / width, -1, 1). Noise then does not make the estimate drift.

    `width` is in the unit of a joint's velocity, the same for all (Peterson & Narendra 1982).
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

    `sigma` is the rate of the leak, in 1 over the unit of Gamma. `centre` is what the estimate leaks to: a number, one per
    parameter (p,), or numbers by name or pattern; by default the robot's own parameters.
    """

    sigma: float
    centre: Entries = None
    breaks = "the sigma-modification pulls the estimate to its centre"

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)

    def rate(self, rate: Vector, pi_hat: Vector, gamma_inv: np.ndarray, parameters: Parameters) -> Vector:
        """Return the `rate` with the leak of `pi_hat`, scaled by `gamma_inv`, to the centre of `parameters`."""
        centre = _entries("centre", self.centre, parameters, parameters.values)
        return rate - self.sigma * times(gamma_inv, pi_hat - SX(cs.DM(centre)))


@dataclass(frozen=True)
class Projection(Modification):
    """Keep the estimate in a box: an entry at its bound moves inwards only (Slotine & Li 1991, 8.7).

    `lower` and `upper` are a number, one per parameter (p,), or numbers by name or pattern, {"*.m": 0.1}; what is not named
    has no bound. V still falls at least as fast as without it, if the box contains the true parameters.
    """

    lower: Entries = None
    upper: Entries = None

    def __hash__(self) -> int:
        return id(self)

    def rate(self, rate: Vector, pi_hat: Vector, gamma_inv: np.ndarray, parameters: Parameters) -> Vector:
        """Return the `rate` without its outward part where `pi_hat` is at a bound of `parameters`; `gamma_inv` is diagonal."""
        if gamma_inv.ndim == 2:
            raise TaupiError(
                "Projection goes with a diagonal ",
                Argument("Gamma_inv"),
                ", got a matrix: give one gain per parameter.",
            )
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
                f"Projection: lower is above upper for {parameters.names[place]}, {low[place]} > {high[place]}."
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
            Argument(name),
            f" is {shown(entries)}, expected {len(parameters)} numbers, or numbers by name such as {{'*.m': 0.1}}.",
        ) from None
