"""What a term is."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@runtime_checkable
class Term(Protocol):
    """A torque at one joint that is linear in one parameter: tau_i = column(q_i, qd_i, qdd_i) times the parameter."""

    @property
    def name(self) -> str:
        """The kind of its parameter."""
        ...

    def unit(self, prismatic: bool) -> str:
        """Return the parameter's unit at a turning or sliding joint."""
        ...

    def value(self, joint: Joint) -> Scalar:
        """Return the parameter of a joint, as the robot's description states it."""
        ...

    def column(self, q: Any, qd: Any, qdd: Any) -> Any:
        """Return the column's entry over SX."""
        ...
