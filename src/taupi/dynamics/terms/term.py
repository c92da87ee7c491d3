"""What a term of a joint has to offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from taupi.dynamics.types import Expression
from taupi.model.robot import Joint
from taupi.model.scalars import Scalar


@runtime_checkable
class Term(Protocol):
    """A torque at one joint that is linear in one parameter: tau_i = column(q_i, qd_i, qdd_i) times the parameter."""

    @property
    def name(self) -> str:
        """The kind of its parameter, which is the second half of the parameter's name: `elbow.viscous`."""
        ...

    def unit(self, prismatic: bool) -> str:
        """Return the parameter's unit at a sliding joint (`prismatic`) or at a turning one."""
        ...

    def value(self, joint: Joint) -> Scalar:
        """Return the parameter of `joint` as the robot's description states it."""
        ...

    def column(self, q: Expression, qd: Expression, qdd: Expression) -> Expression:
        """Return the regressor's entry, over SX, for a joint at `q` with velocity `qd` and acceleration `qdd`."""
        ...
