"""What keeps an adaptation sane when the world is not ideal: projection, sigma-modification, dead zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np

from taupi.control.gains import positive
from taupi.dynamics.spatial import SX
from taupi.errors import TaupiError, shown
from taupi.model.parameters import Parameters


class Modification:
    """A change of an adaptation; each part does nothing unless a class says otherwise. Over SX."""

    breaks = ""  # why dV/dt is not what the plain law claims, where it is not

    def error(self, s: Any) -> Any:
        """Return the error that the estimate learns from."""
        return s

    def rate(self, rate: Any, pi_hat: Any, gamma_inv: np.ndarray, parameters: Parameters) -> Any:
        """Return the changed d pi_hat/dt."""
        return rate

    def settle(self, pi_hat: Any, parameters: Parameters) -> Any:
        """Return the estimate after a step of finite length."""
        return pi_hat


@dataclass(frozen=True)
class DeadZone(Modification):
    """Learn from s less its dead zone: s_i - width clip(s_i / width, -1, 1). Noise then does not make the estimate drift.

    `width` in the unit of a joint's velocity, the same for all (Peterson & Narendra 1982).
    """

    width: float
    breaks = "the dead zone learns from less than s"

    def __post_init__(self) -> None:
        positive("width", self.width)

    def error(self, s: Any) -> Any:
        """Return s without its dead zone."""
        return s - cs.fmax(cs.fmin(s, self.width), -self.width)


@dataclass(frozen=True)
class SigmaModification(Modification):
    """Let the estimate leak: d pi_hat/dt -= sigma Gamma^-1 (pi_hat - centre) (Ioannou & Kokotovic 1983).

    `centre` (p,) is what the estimate leaks to, by default the robot's own parameters.
    """

    sigma: float
    centre: Any = None
    breaks = "the sigma-modification pulls the estimate to its centre"

    def __post_init__(self) -> None:
        positive("sigma", self.sigma)

    def rate(self, rate: Any, pi_hat: Any, gamma_inv: np.ndarray, parameters: Parameters) -> Any:
        """Return the rate with the leak."""
        from taupi.control.gains import times

        centre = _entries("centre", self.centre, parameters, parameters.values)
        return rate - self.sigma * times(gamma_inv, pi_hat - SX(cs.DM(centre)))


@dataclass(frozen=True)
class Projection(Modification):
    """Keep the estimate in a box: an entry at its bound moves inwards only (Slotine & Li 1991, 8.7).

    `lower` and `upper` are numbers (p,), or by name and pattern, {"*.m": 0.1}; what is not named has no bound. V still falls
    at least as fast as without, where the box holds the true parameters.
    """

    lower: Any = None
    upper: Any = None

    def __hash__(self) -> int:
        return id(self)

    def rate(self, rate: Any, pi_hat: Any, gamma_inv: np.ndarray, parameters: Parameters) -> Any:
        """Return the rate without its outward part at a bound."""
        if gamma_inv.ndim == 2:
            raise TaupiError("Projection goes with a diagonal Gamma_inv, got a matrix: give one gain per parameter.")
        low, high = self._box(parameters)
        inner = cs.if_else(pi_hat <= SX(cs.DM(low)), cs.fmax(rate, 0), rate)
        return cs.if_else(pi_hat >= SX(cs.DM(high)), cs.fmin(inner, 0), inner)

    def settle(self, pi_hat: Any, parameters: Parameters) -> Any:
        """Return the nearest estimate in the box."""
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


def _entries(what: str, given: Any, parameters: Parameters, default: Any) -> np.ndarray:
    """Return one number per parameter from numbers, or from numbers by name and pattern."""
    result = np.broadcast_to(np.asarray(default, dtype=float), (len(parameters),)).copy()
    if given is None:
        return result
    if isinstance(given, Mapping):
        for name, value in given.items():
            result[list(parameters.layout.select(name))] = value
        return result
    try:
        return np.broadcast_to(np.asarray(given, dtype=float), result.shape).copy()
    except (TypeError, ValueError):
        raise TaupiError(
            f"{what} is {shown(given)}, expected {len(parameters)} numbers, or numbers by name such as {{'*.m': 0.1}}."
        ) from None
