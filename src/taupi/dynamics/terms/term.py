"""What a term of a joint has to offer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from taupi.dynamics.types import Expression
from taupi.model.robot_parts import Joint
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


@runtime_checkable
class Modulated(Term, Protocol):
    """Dry friction that speed or load makes larger or smaller: tau_i = factor(qd_i, l_i) s_i times the parameter.

    s_i is the column of the Coulomb term of the same joint, and l_i the torque that the joint's gear transmits.
    """

    def factor(self, qd: Expression, load: Expression | None) -> Expression:
        """Return the factor of s, over SX, at a velocity `qd` and a `load` l, which is None if it is unknown."""
        ...
