"""How long a simulation runs, and in which steps."""

from __future__ import annotations

from dataclasses import dataclass

from taupi.settings import Settings


@dataclass(frozen=True)
class Horizon(Settings):
    """How long a simulation runs, how often its controller acts, and how the plant is integrated.

    Attributes:
        duration: Length of the simulation, s.
        rate: Control periods per second, Hz.
        integrator: euler, semi_implicit, midpoint, rk4, rosenbrock, rk45, dop853, lsoda, radau or bdf.
    """

    duration: float = 10.0
    rate: float = 1000.0
    integrator: str = "rk4"
