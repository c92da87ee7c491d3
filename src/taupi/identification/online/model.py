"""A robot with numbers, as online programs need it: momentum, its rate, friction from the measured torque."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, require_robot
from taupi.dynamics.energy import potential
from taupi.dynamics.joint_frames import newton_euler
from taupi.dynamics.mass_matrix import composite_bodies
from taupi.dynamics.terms import (
    Coulomb,
    Term,
    TermsLike,
    resisting_torque,
    resolve_terms,
    term_columns,
    term_inertia,
    term_torque,
    transmitted_torque,
)
from taupi.dynamics.terms.term import value_at
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import TaupiError
from taupi.model.robot import Robot

# A joint slower than this stands still, if its friction states no width, rad/s or m/s.
_SLOW = 0.01
_NUDGE = 1e-9  # a speed above zero, rad/s or m/s


@dataclass(frozen=True, eq=False)
class OnlineModel:
    """A robot whose parameters have values, and its terms, as functions over SX.

    Dry friction has no memory, as in programs. Some terms, such as those along a direction, have no place in a robot: their
    values are kept apart.

    Attributes:
        robot: The robot with its inertias, friction and rotors.
        terms: Its joint terms, with the shapes of dry friction.
        apart: Terms whose parameters have no place in the robot.
        apart_values: Those parameters, term after term.
        cutoff_hz: The cutoff up to which the parameters explain the torque, Hz.
        speeds: The largest speed of each joint (n,) for which they were determined, rad/s or m/s.
        noise: The root mean square (n,) of the torque that they do not explain, N m or N.
        known_torque: Torques beside the motors', as formulas of q, as in `Preparation`.
        gains: The factors (n,) by which recorded torques read high; empty for one each.
    """

    robot: Robot
    terms: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    apart_values: tuple[float, ...] = ()
    cutoff_hz: float | None = None
    speeds: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()
    known_torque: tuple[str, ...] = ()
    gains: tuple[float, ...] = ()

    @classmethod
    def of_robot(cls, robot: Robot, terms: TermsLike = ()) -> OnlineModel:
        """Return the model of a `robot` with its own parameters and `terms`."""
        require_robot(robot)
        if missing := [name for name, value in robot.symbols if value is None]:
            raise TaupiError(
                "{robot} has symbols without a value: {missing:,}.",
                remedy="Use robot.bind({first}=...) first.",
                robot=robot.name,
                missing=missing,
                first=missing[0],
            )
        return cls(robot, resolve_terms(terms))

    # Over SX ------------------------------------------------------------------------------------------------------

    @property
    def factors(self) -> np.ndarray:
        """The factors (n,) by which recorded torques read high."""
        return np.array(self.gains or (1.0,) * self.robot.n)

    def momentum(self, chain: Chain, q: Vector, qd: Vector) -> tuple[Vector, Vector]:
        """Return p = M qd, rotors included, and C^T qd - g = dL/dq, with L = qd^T M qd / 2 - P.

        dp/dt = dL/dq + tau - friction + tau_ext are the equations of motion (Lagrange). `chain` is the robot's, `q` and `qd` are
        (n,).
        """
        mass = composite_bodies(chain, q)
        rate = cs.gradient(cs.dot(qd, mass @ qd) / 2 - potential(chain, q), q)
        return (mass + self._inertia(chain)) @ qd, rate

    def friction(self, chain: Chain, q: Vector, qd: Vector, tau: Vector) -> Vector:
        """Return the torque (n,) that friction, offsets and springs take from the motors' torque `tau`, which gives the load."""
        rest = SX.zeros(chain.n)
        carried, other = (self._apart(chain, q, qd, rest, transmitted) for transmitted in (True, False))
        return resisting_torque(chain, self.terms, q, qd, tau - other) + carried + other

    def torque(self, chain: Chain, q: Vector, qd: Vector, qdd: Vector) -> Vector:
        """Return tau = M qdd + C qd + g + friction (n,) at a motion `q`, `qd`, `qdd`; `chain` is the robot's."""
        carried, other = (self._apart(chain, q, qd, qdd, transmitted) for transmitted in (True, False))
        tau = newton_euler(chain, q, qd, qdd) + carried
        load = transmitted_torque(chain, self.terms, tau, q, qd, qdd)
        return tau + term_torque(chain, self.terms, q, qd, qdd, load) + other

    def dry_friction(self, chain: Chain, q: Vector, tau: Vector) -> Vector:
        """Return the dry friction (n,) that each joint can hold at rest under the motors' torque `tau`: between -F and F."""
        sharp = tuple(Coulomb() if isinstance(t, Coulomb) else t for t in self.terms)
        nudge = SX(cs.DM.ones(chain.n)) * _NUDGE
        forwards, backwards = (resisting_torque(chain, sharp, q, v, tau) for v in (nudge, -nudge))
        return cs.fabs(forwards - backwards) / 2

    def dry_state(self, qd: Vector) -> Vector:
        """Return s (n,), which dry friction multiplies: sgn(`qd`), or tanh(qd / width)."""
        return cs.vertcat(*(self._coulomb.at(i).column(qd[i], qd[i], qd[i]) for i in range(self.robot.n)))

    # Numbers ------------------------------------------------------------------------------------------------------

    @property
    def widths(self) -> np.ndarray:
        """The speed (n,) over which the dry friction of each joint builds up, rad/s or m/s."""
        stated = [float(value_at("velocity", self._coulomb.velocity, i)) for i in range(self.robot.n)]
        return np.array([width or _SLOW for width in stated])

    def friction_sizes(self) -> np.ndarray:
        """Return L = |F_c| + |F_v| v (n,), the friction of each joint at the largest speed v of `speeds`, N m or N."""
        speeds = self.speeds or (1.0,) * self.robot.n
        joints = self.robot.driving_joints
        return np.array(
            [
                abs(float(j.friction.coulomb)) + abs(float(j.friction.viscous)) * v
                for j, v in zip(joints, speeds, strict=True)
            ]
        )

    @property
    def _coulomb(self) -> Coulomb:
        return next((t for t in self.terms if isinstance(t, Coulomb)), Coulomb(_SLOW))

    def _inertia(self, chain: Chain) -> Matrix:
        rest, unit = SX.zeros(chain.n), SX.eye(chain.n)

        def torque(qdd: Vector) -> Vector:
            return sum(self._apart(chain, rest, rest, qdd, transmitted) for transmitted in (True, False))

        apart = [torque(unit[:, k]) - torque(rest) for k in range(chain.n)]
        return term_inertia(chain, self.terms) + cs.horzcat(*apart)

    def _apart(self, chain: Chain, q: Vector, qd: Vector, qdd: Vector, transmitted: bool) -> Vector:
        """Return the torque of the terms that are apart: of those whose torque passes the gear, or of the others."""
        total, place = SX.zeros(chain.n), 0
        for term in self.apart:
            columns = term_columns(chain, (term,), q, qd, qdd)
            values = self.apart_values[place : place + columns.shape[1]]
            place += columns.shape[1]
            if term.transmitted == transmitted:
                total = total + columns @ cs.DM(np.array(values))
        return total


def interpolated(x: Expression, knots: Sequence[float], values: Sequence[float]) -> Expression:
    """Return over SX the straight lines between `values` at increasing `knots`, constant beyond both ends, at `x`."""
    y = SX(float(values[0]))
    for a, b, low, high in zip(knots[:-1], knots[1:], values[:-1], values[1:], strict=True):
        y = y + float((high - low) / (b - a)) * cs.fmin(cs.fmax(x - float(a), 0.0), float(b - a))
    return y
