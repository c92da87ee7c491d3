"""The inputs of a fit, checked: a robot, logs, and settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from taupi.checks import truth, whole_number
from taupi.dynamics.terms import TermsLike
from taupi.errors import Argument, TaupiError, shown
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations
from taupi.identification.rows.preparation import Preparation
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.signals.formats.sources import expand_pattern
from taupi.signals.log import Log
from taupi.signals.read import LogLike
from taupi.signals.reading import Streaming

LogsLike = LogLike | Sequence[LogLike]
PriorLike = Robot | Parameters | ArrayLike | None

# Rotors are included: without their columns, the inertia of the drives of a geared arm is missing from the model. So are losses
# of gears, which grow with the torque that they transmit, and the bend of friction with speed: both are seen on nearly every arm.
DEFAULT_TERMS = ("rotor", "viscous", "coulomb", "offset", "load", "curve")
# For an elastic robot, whose rotors and springs always have columns.
ELASTIC_TERMS = ("coulomb", "viscous", "offset")


def log_list(logs: LogsLike, name: str = "logs") -> list[LogLike]:
    """Return one log, or several, as a list; patterns such as runs/*.csv are expanded, in the order of names.

    `name` is that of the argument.
    """
    if isinstance(logs, Log | str | os.PathLike):
        logs = [logs]
    if not isinstance(logs, Sequence) or len(logs) == 0:
        raise TaupiError(Argument(name), f" is {shown(logs)}, expected a Log, a path, or a list of them.")
    return [each for log in logs for each in (expand_pattern(log) if isinstance(log, str | os.PathLike) else [log])]


@dataclass(frozen=True, eq=False)
class FitInputs:
    """The arguments of `taupi.identify`, for estimators that start from logs."""

    robot: Robot
    logs: Sequence[LogLike]
    terms: TermsLike | None = None
    elastic: bool | None = None
    base: BaseParameters | None = None
    prior: PriorLike = None
    workers: int | None = None
    seed: int = 0
    reading: Streaming = field(default_factory=Streaming)
    preparation: Preparation = field(default_factory=Preparation)
    contact: str | None = None
    feet: str = "point"
    client: Any = None  # of a Dask cluster, or the address of its scheduler
    resume: str | os.PathLike[str] | None = None
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise TaupiError(Argument("robot"), f" is {shown(self.robot)}, expected a Robot: use taupi.load(...).")
        whole_number("seed", self.seed, least=0)
        if self.workers is not None:
            whole_number("workers", self.workers)
            if self.client is not None:
                raise TaupiError(
                    *(
                        Argument("client"),
                        " and ",
                        Argument("workers"),
                        " are both given: a cluster has its own workers.",
                    ),
                    remedy=("Leave ", Argument("workers"), " out."),
                )
        truth("skip_bad", self.skip_bad)
        if self.resume is not None and self.client is None:
            raise TaupiError(
                *(
                    Argument("resume"),
                    " is given without ",
                    Argument("client"),
                    ": only the pieces of a cluster are kept.",
                ),
                remedy=("Give ", Argument("client"), ", too."),
            )
        object.__setattr__(self, "logs", log_list(self.logs))

    @property
    def equations(self) -> Equations:
        """The equations to fit: of links and motors if the robot has elastic joints, unless `elastic` says otherwise."""
        if self.elastic is not None and not isinstance(self.elastic, bool):
            raise TaupiError(
                Argument("elastic"),
                f" is {shown(self.elastic)}, expected True, False, or None to let the robot decide.",
            )
        if self.elastic:
            from taupi.dynamics.drives import check_elastic

            check_elastic(self.robot)
        return Equations(self.robot, bool(self.robot.elastic_joints) if self.elastic is None else self.elastic)

    @property
    def chosen_terms(self) -> TermsLike:
        """The joint terms asked for, or the default ones."""
        if self.terms is not None:
            return self.terms
        return ELASTIC_TERMS if self.equations.elastic else DEFAULT_TERMS
