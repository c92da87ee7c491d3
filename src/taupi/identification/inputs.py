"""What a fit is made from: a robot, logs, and settings, checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from taupi.checks import whole_number
from taupi.dynamics.drives import check_elastic
from taupi.dynamics.terms import TermsLike
from taupi.errors import Argument, TaupiError, shown
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations
from taupi.identification.rows.preparation import Preparation
from taupi.model.robot import Robot
from taupi.signals.log import Log
from taupi.signals.reading import Streaming

LogLike = Log | str | os.PathLike[str]

# Rotors belong to it: without their columns the drives of a geared arm are missing from its inertia.
DEFAULT_TERMS = ("rotor", "viscous", "coulomb", "offset")
# Of an elastic robot, whose rotors and springs are always there.
ELASTIC_TERMS = ("coulomb", "viscous", "offset")


@dataclass(frozen=True, eq=False)
class FitInputs:
    """The arguments of `taupi.identify`, as estimators that start from logs get them; `logs` is a list."""

    robot: Robot
    logs: Sequence[LogLike]
    terms: TermsLike | None = None
    elastic: bool | None = None
    base: BaseParameters | None = None
    prior: Any = None
    workers: int | None = None
    seed: int = 0
    reading: Streaming = field(default_factory=Streaming)
    preparation: Preparation = field(default_factory=Preparation)

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise TaupiError(Argument("robot"), f" is {shown(self.robot)}, expected a Robot: use taupi.load(...).")
        if self.workers is not None:
            whole_number("workers", self.workers)
        logs = [self.logs] if isinstance(self.logs, Log | str | os.PathLike) else self.logs
        if not isinstance(logs, Sequence) or not len(logs):
            raise TaupiError(Argument("logs"), f" is {shown(self.logs)}, expected a Log, a path, or a list of them.")
        object.__setattr__(self, "logs", list(logs))

    @property
    def equations(self) -> Equations:
        """The rows to fit: over links and motors where the robot has elastic joints, unless `elastic` says otherwise."""
        if self.elastic is not None and not isinstance(self.elastic, bool):
            raise TaupiError(
                Argument("elastic"), f" is {shown(self.elastic)}, expected True, False, or None to see from the robot."
            )
        if self.elastic:
            check_elastic(self.robot)
        return Equations(self.robot, bool(self.robot.elastic_joints) if self.elastic is None else self.elastic)

    @property
    def asked_terms(self) -> TermsLike:
        """The joint terms asked for, or those that are usual."""
        if self.terms is not None:
            return self.terms
        return ELASTIC_TERMS if self.equations.elastic else DEFAULT_TERMS
