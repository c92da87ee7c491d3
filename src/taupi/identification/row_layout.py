"""Where the rows of a regressor are: one row per joint, or one per link and one per motor of an elastic joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taupi.errors import InPython, TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.model.requirements import require_motors
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.signals.known_torque import known_torque

if TYPE_CHECKING:
    from taupi.signals.log import Log

# The parameters of an elastic joint's spring, whose torque takes the place of a measured torque in the row of the link.
SPRING = ("stiffness", "damping")
# The positions in a log with their derivatives, by signal: of the links, and for elastic joints of the motors too.
COORDINATES = _LINKS, _MOTORS = ("q", "qd", "qdd"), ("theta", "thetad", "thetadd")


@dataclass(frozen=True)
class RowLayout:
    """The rows of a robot's regressor, and their coordinates x: q, or (q, theta) if joints are elastic.

    For an elastic robot the first n rows are those of the links, with torque 0 behind a spring and the motor's torque where a
    joint is rigid; then follows one row for the motor of each elastic joint, with its torque u.

    >>> import taupi as tp
    >>> RowLayout(tp.load("zollo2r"), elastic=True).names
    ('joint1.link', 'joint2.link', 'joint1.motor', 'joint2.motor')
    """

    robot: Robot
    elastic: bool = False

    @classmethod
    def of(cls, base: BaseParameters) -> RowLayout:
        """Return the rows that base parameters belong to."""
        return cls(base.robot, base.elastic)

    @property
    def base_rows(self) -> int:
        """The number of rows of a base that moves freely, which come first and have no motor."""
        return self.robot.base_dof

    @property
    def beyond_rigid(self) -> str:
        """What the robot has, in words, beyond a motor of its own for every rigid joint; empty if nothing."""
        robot = self.robot
        facts = {
            "a free base": robot.floating,
            "ball joints": robot.multiple_joints,
            "closed loops": robot.loops,
            "elastic joints": self.elastic,
        }
        return next((name for name, has in facts.items() if has), "")

    def require_rigid(self, what: str) -> None:
        """Refuse a robot for what takes the torque of each motor as that of its own, rigid joint."""
        require_motors(self.robot, what)
        self.refuse_springs(what)

    def refuse_springs(self, what: str) -> None:
        """Refuse a robot that was fitted with elastic joints."""
        if self.elastic:
            raise TaupiError(
                "{what} takes joints as rigid, and {robot} was fitted with elastic joints.",
                what=what,
                robot=self.robot.name,
                remedy="Fit it as rigid: {elastic=False}.",
            )

    @property
    def sprung(self) -> tuple[int, ...]:
        """The coordinates whose joints are elastic."""
        return self.robot.elastic_coordinates if self.elastic else ()

    @property
    def count(self) -> int:
        """The number of rows, which is also that of coordinates."""
        return self.robot.n + len(self.sprung)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rows."""
        joints = self.robot.joint_names
        links = (f"{name}.link" if i in self.sprung else name for i, name in enumerate(joints))
        return (*links, *(f"{joints[i]}.motor" for i in self.sprung))

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the torques of the rows."""
        joints = ["N" if slides else "N m" for slides in self.robot.slides]
        return (*joints, *(joints[i] for i in self.sprung))

    @property
    def motors(self) -> tuple[int, ...]:
        """The row in which the motor of each joint, with its friction, acts (n,)."""
        place = {i: self.robot.n + k for k, i in enumerate(self.sprung)}
        return tuple(place.get(i, i) for i in range(self.robot.n))

    @property
    def unmeasured(self) -> tuple[int, ...]:
        """The rows without a measured torque: those of links behind springs."""
        return self.sprung

    def on_motors(self, values: np.ndarray) -> np.ndarray:
        """Return values (..., n), one per joint, placed in the rows (..., count) in which the motors act; 0 in the others."""
        result = np.zeros((*np.shape(values)[:-1], self.count))
        result[..., list(self.motors)] = values
        return result

    def on_links(self, values: np.ndarray) -> np.ndarray:
        """Return values (..., n), one per joint, placed in the rows (..., count) of the links; 0 in the others."""
        result = np.zeros((*np.shape(values)[:-1], self.count))
        result[..., : self.robot.n] = values
        return result

    def motion(self, log: Log) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, its velocity and its acceleration (N, count), from a prepared log."""
        q, qd, qdd = log.need(*_LINKS)
        if self.sprung:
            pairs = zip((q, qd, qdd), log.need(*_MOTORS), strict=True)
            q, qd, qdd = (np.concatenate([a, b[:, list(self.sprung)]], axis=1) for a, b in pairs)
        return q, qd, qdd

    def positions(self, log: Log) -> np.ndarray:
        """Return x (N, count), from a log."""
        if not self.sprung:
            return log.q
        (theta,) = log.need("theta")
        return np.concatenate([log.q, theta[:, list(self.sprung)]], axis=1)

    def torque(self, log: Log) -> np.ndarray:
        """Return the torques of the rows (N, count): those of the motors, and 0 for links behind springs."""
        (tau,) = log.need("tau")
        return self.on_motors(tau) if self.sprung else tau

    def known_torque(self, log: Log, formulas: Sequence[str] = ()) -> np.ndarray:
        """Return the known torques on the rows (N, count), which act on links: those of the log, and those of `formulas` of q."""
        known = np.zeros(log.q.shape) if log.tau_known is None else log.tau_known
        if formulas:
            known = known + known_torque(formulas, self.robot.joint_names, log.q)
        return self.on_links(known)

    def gains(self, relative: float | Sequence[float] | None) -> np.ndarray:
        """Return the factors (count,) of the recorded torques, 1 + `relative`; 1 for links behind springs."""
        each = np.asarray(relative or 0.0, dtype=float)
        if each.shape not in ((), (self.robot.n,)):
            raise TaupiError(
                "{relative_gains} is {got!r}, expected a number, or one for each of {n} joints.",
                got=relative,
                n=self.robot.n,
            )
        return 1 + self.on_motors(np.broadcast_to(each, (self.robot.n,)))

    def check(self, log: Log) -> None:
        """Refuse a log that does not fit these equations: another number of joints, or no motor positions of elastic joints."""
        robot = self.robot
        if log.n != robot.n:
            raise TaupiError(
                "The log has {n} joints ({names:,}), {robot} has {robot_n} ({joint_names:,}).",
                remedy="Choose columns by a mapping{select}.",
                n=log.n,
                names=log.names,
                robot=robot.name,
                robot_n=robot.n,
                joint_names=robot.joint_names,
                select=InPython(", or joints by log.select(...)"),
            )
        if log.names != robot.joint_names and set(log.names) == set(robot.joint_names):
            raise TaupiError(
                "The log's joints are {names:,}, those of {robot} {joint_names:,}.",
                remedy="Put them in that order: log.select(robot.joint_names).",
                names=log.names,
                robot=robot.name,
                joint_names=robot.joint_names,
            )
        if self.sprung and log.theta is None:
            names = ", ".join(robot.elastic_joints)
            raise TaupiError(
                "theta is missing: {robot} has elastic joints ({names}), and the log has one position per joint.",
                remedy=(
                    "Map the motors' positions to theta, on the joint side of the gears. If only the "
                    "motors were measured, use {estimator='output_error'}; to take the joints as "
                    "rigid, {elastic=False}."
                ),
                robot=robot.name,
                names=names,
            )


def regressor_inputs(program: Program, *motion: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return x, xd, xdd (N, count) as a regressor takes them: those of the links, then those of the motors."""
    n = program.inputs[0].shape[0]
    if len(program.inputs) == len(motion):
        return motion
    return (*(x[:, :n] for x in motion), *(x[:, n:] for x in motion))


def spring_columns(base: BaseParameters, row: int) -> list[int]:
    """Return the base parameters of the spring that acts in a link's row; none for other rows."""
    if row not in RowLayout.of(base).unmeasured:
        return []
    joint = base.robot.joint_names[row]
    return [k for k, name in enumerate(base.names) if name in {f"{joint}.{kind}" for kind in SPRING}]


def spring_torque(base: BaseParameters, values: np.ndarray, x: np.ndarray, xd: np.ndarray) -> np.ndarray:
    """Return the torques of the springs on the links, K (theta - q) + D (thetad - qd), for base parameters `values`.

    They are (N, count), in the rows of links behind springs, and 0 in the others.
    """
    layout, parameters = RowLayout.of(base), dict(zip(base.names, values.tolist(), strict=True))
    result = np.zeros(x.shape)
    for i in layout.sprung:
        k, d = (parameters.get(f"{base.robot.joint_names[i]}.{kind}", 0.0) for kind in SPRING)
        motor = layout.motors[i]
        result[:, i] = k * (x[:, motor] - x[:, i]) + d * (xd[:, motor] - xd[:, i])
    return result
