"""Whose equations of motion a fit has: a row a joint, or a row a link and, behind springs, one more a motor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import Argument, TaupiError
from taupi.identifiability.base import BaseParameters
from taupi.model.robot import Robot
from taupi.program.program import Program

if TYPE_CHECKING:
    from taupi.signals.log import Log

# What the spring of an elastic joint passes on, by kind of parameter: in a link's row it stands for the measured torque.
SPRING = ("stiffness", "damping")
# Positions of a log with their derivatives, as signals: an elastic robot has those of its motors too.
COORDINATES = _LINKS, _MOTORS = ("q", "qd", "qdd"), ("theta", "thetad", "thetadd")


@dataclass(frozen=True)
class Equations:
    """The rows of a robot's regressor, and the coordinates x that they are about: q, or (q, theta) where joints are elastic.

    Of an elastic robot the first n rows are the links', with torque 0 behind a spring and the motor's own torque where a joint is
    rigid; then comes a row for the motor of each elastic joint, with its torque u.

    >>> import taupi as tp
    >>> Equations(tp.load("zollo2r"), elastic=True).names
    ('joint1.link', 'joint2.link', 'joint1.motor', 'joint2.motor')
    """

    robot: Robot
    elastic: bool = False

    @classmethod
    def of(cls, base: BaseParameters) -> Equations:
        """Return those that base parameters are for."""
        return cls(base.robot, base.elastic)

    @property
    def sprung(self) -> tuple[int, ...]:
        """The coordinates whose joints are elastic."""
        joints = self.robot.driving_joints
        return tuple(i for i, j in enumerate(joints) if j.transmission.elastic) if self.elastic else ()

    @property
    def count(self) -> int:
        """How many rows there are, and coordinates."""
        return self.robot.n + len(self.sprung)

    @property
    def names(self) -> tuple[str, ...]:
        """The rows' names."""
        joints = self.robot.joint_names
        links = (f"{name}.link" if i in self.sprung else name for i, name in enumerate(joints))
        return (*links, *(f"{joints[i]}.motor" for i in self.sprung))

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the rows' torques."""
        each = ["N" if j.prismatic else "N m" for j in self.robot.driving_joints]
        return (*each, *(each[i] for i in self.sprung))

    @property
    def motors(self) -> tuple[int, ...]:
        """The row in which each joint's motor, and its friction, acts (n,)."""
        place = {i: self.robot.n + k for k, i in enumerate(self.sprung)}
        return tuple(place.get(i, i) for i in range(self.robot.n))

    @property
    def free(self) -> tuple[int, ...]:
        """The rows without a measured torque: those of links behind springs."""
        return self.sprung

    def on_motors(self, values: np.ndarray) -> np.ndarray:
        """Return values (..., n), one a joint, as values (..., count) of the rows in which the motors act; 0 in the others."""
        result = np.zeros((*np.shape(values)[:-1], self.count))
        result[..., list(self.motors)] = values
        return result

    def on_links(self, values: np.ndarray) -> np.ndarray:
        """Return values (..., n), one a joint, as values (..., count) of the links' rows; 0 in the others."""
        result = np.zeros((*np.shape(values)[:-1], self.count))
        result[..., : self.robot.n] = values
        return result

    def motion(self, log: Log) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, its velocity and its acceleration (N, count) of a prepared log."""
        q, qd, qdd = log.need(*_LINKS)
        if self.sprung:
            pairs = zip((q, qd, qdd), log.need(*_MOTORS), strict=True)
            q, qd, qdd = (np.concatenate([a, b[:, list(self.sprung)]], axis=1) for a, b in pairs)
        return q, qd, qdd

    def positions(self, log: Log) -> np.ndarray:
        """Return x (N, count) of a log."""
        return (
            np.concatenate([log.q, *(t[:, list(self.sprung)] for t in log.need("theta"))], axis=1)
            if self.sprung
            else log.q
        )

    def torque(self, log: Log) -> np.ndarray:
        """Return the rows' torque (N, count): that of the motors, and 0 for links behind springs."""
        (tau,) = log.need("tau")
        return self.on_motors(tau) if self.sprung else tau

    def refuse(self, log: Log) -> None:
        """Refuse a log that is not of these equations: of another number of joints, or without the motors of elastic joints."""
        robot = self.robot
        if log.n != robot.n:
            raise TaupiError(
                f"The log has {log.n} joints ({', '.join(log.names)}), {robot.name} has {robot.n} "
                f"({', '.join(robot.joint_names)}). Choose columns by a mapping, or joints by log.select(...)."
            )
        if self.sprung and log.theta is None:
            names = ", ".join(robot.elastic_joints)
            raise TaupiError(
                f"theta is missing: {robot.name} has elastic joints ({names}), and the log has one position a joint. Map the "
                f"motors' positions to theta, as seen behind the gears. Where only motors are measured, use ",
                *(
                    Argument("estimator", "output_error"),
                    "; to take the joints as rigid, ",
                    Argument("elastic", False),
                    ".",
                ),
            )


def arguments(program: Program, *motion: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return x, xd, xdd (N, count) as the inputs of a regressor: those of the links, then of the motors."""
    n = program.inputs[0].shape[0]
    if len(program.inputs) == len(motion):
        return motion
    return (*(x[:, :n] for x in motion), *(x[:, n:] for x in motion))


def spring_columns(base: BaseParameters, row: int) -> list[int]:
    """Return the base parameters of the spring that a link's row hangs on; none for other rows."""
    rows = Equations.of(base)
    if row not in rows.free:
        return []
    joint = base.robot.joint_names[row]
    return [k for k, name in enumerate(base.names) if name in {f"{joint}.{kind}" for kind in SPRING}]


def spring_torque(base: BaseParameters, values: np.ndarray, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
    """Return what springs pass on to links with base parameters `values`, K (theta - q) + D (thetad - qd), (N, count).

    It stands in the rows of links behind springs; the others are 0.
    """
    rows, known = Equations.of(base), dict(zip(base.names, values.tolist(), strict=True))
    result = np.zeros(x.shape)
    for i in rows.sprung:
        k, d = (known.get(f"{base.robot.joint_names[i]}.{kind}", 0.0) for kind in SPRING)
        motor = rows.motors[i]
        result[:, i] = k * (x[:, motor] - x[:, i]) + d * (xd[:, motor] - xd[:, i])
    return result
