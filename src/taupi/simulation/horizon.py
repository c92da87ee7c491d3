"""How long a simulation runs, and in which steps: settings that one roll-out, a batch and the command line share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, TypedDict

from taupi.checks import affordable, one_of, positive, whole_number
from taupi.errors import TaupiError
from taupi.settings import Settings

FIXED_STEP = ("euler", "semi_implicit", "midpoint", "rk4", "rosenbrock")
ADAPTIVE_STEP = ("rk45", "dop853", "lsoda", "radau", "bdf")
CONTROLS = ("sampled", "continuous")
MOST_STEPS = 10**8  # control periods: a day at 1 kHz
MOST_SUBSTEPS = 100_000
PERIOD = 4.0  # s, of the motion that a robot follows if none is stated


@dataclass(frozen=True)
class Horizon(Settings):
    """How long a simulation runs, how often its controller acts, and how the plant is integrated.

    >>> import taupi as tp
    >>> horizon = tp.Horizon(duration=2.0, rate=500, integrator="midpoint")
    >>> horizon.steps, horizon.dt
    (1000, 0.002)

    Attributes:
        duration: Length of the simulation, s.
        rate: Control periods per second, Hz.
        integrator: Of fixed steps: "euler", "semi_implicit" (velocities first), "midpoint", "rk4", or "rosenbrock", linearly
            implicit, for stiff springs. Of SciPy, with adaptive steps: "rk45", "dop853", "lsoda", "radau", "bdf".
        substeps: Fixed steps per control period.
        control: "sampled" holds the torque for each control period; "continuous" evaluates the law inside the integrator, and
            integrates its estimate with the state.
        tolerance: Relative error that adaptive steps allow.
        every: Keep one out of this many control periods in the run.
    """

    duration: float = 10.0
    rate: float = 1000.0
    integrator: str = "rk4"
    substeps: int = 1
    control: str = "sampled"
    tolerance: float = field(default=1e-9, kw_only=True)
    every: int = field(default=1, kw_only=True)

    checks: ClassVar = {
        "duration": positive,
        "rate": positive,
        "integrator": one_of((*FIXED_STEP, *ADAPTIVE_STEP)),
        "substeps": partial(whole_number, most=MOST_SUBSTEPS),
        "control": one_of(CONTROLS),
        "tolerance": positive,
        "every": whole_number,
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        affordable(self.duration * self.rate, MOST_STEPS, "control periods", "duration", "rate")
        if self.steps < 1:
            raise TaupiError(
                "{duration} is {self_duration:g} s, less than one control period of {dt:g} s.",
                self_duration=self.duration,
                dt=self.dt,
            )

    @property
    def dt(self) -> float:
        """The control period, s."""
        return 1 / self.rate

    @property
    def steps(self) -> int:
        """The number of control periods."""
        return round(self.duration * self.rate)

    @property
    def rows(self) -> int:
        """The number of rows that a run keeps: the beginning of every kept period, and the end."""
        return self.steps // self.every + 1

    @property
    def continuous(self) -> bool:
        """Whether the law is inside the integrator."""
        return self.control == "continuous"

    @property
    def adaptive_steps(self) -> bool:
        """Whether the integrator chooses its own steps."""
        return self.integrator in ADAPTIVE_STEP


class HorizonOptions(TypedDict, total=False):
    """Fields of `Horizon` as keywords, except those that functions also take by position."""

    tolerance: float
    every: int
