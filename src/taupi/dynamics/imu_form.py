"""The dynamics of a floating robot as an inertial measurement unit sees them: without pose and linear velocity.

Both enter the equations of motion only through a = vd + w x v - R^T g, which is what an accelerometer at the root frame's origin
reads. So the programs of the IMU form are the programs of the pose form without weight, at v = 0 and vd = a.
"""

from __future__ import annotations

from taupi.dynamics.types import SX, Vector
from taupi.errors import Argument, unknown
from taupi.model.requirements import require_floating
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port

POSE, IMU = "pose", "imu"
FORMS = (POSE, IMU)
_AXES = ("x", "y", "z")


def is_imu(robot: Robot, base: str) -> bool:
    """Return whether the IMU form is asked for; refuse unknown forms, and the IMU form of a robot whose base does not move."""
    if base not in FORMS:
        raise unknown(Argument("base"), base, FORMS)
    if base == IMU:
        require_floating(robot, ", and the form 'imu' is of a base that moves")
    return base == IMU


def weightless(robot: Robot) -> Robot:
    """Return the robot without gravity, which the accelerometer's reading already includes."""
    return robot.with_gravity((0, 0, 0))


def base_ports(robot: Robot, *names: str) -> list[Port]:
    """Return inputs of the base: w, wd, a and the like, three values each in the root link's axes.

    If the robot has symbols that formulas would confuse with them (a1, ...), they are called w_base, wd_base, a_base.
    """
    symbols = {symbol for symbol, _ in robot.symbols}
    taken = any(name in symbols or symbols & {f"{name}{k}" for k in (1, 2, 3)} for name in names)
    called = [f"{name}_base" if taken else name for name in names]
    return [Port(name, (3,), tuple(f"{name}{axis}" for axis in _AXES), "in the root link's axes") for name in called]


def joint_ports(robot: Robot, *names: str) -> list[Port]:
    """Return inputs with one value per joint, without the base: as `joint_port` has them after the free joint's."""
    free = robot.joints[0]
    ports = []
    for name in names:
        skip, labels = (free.size, robot.position_names) if name == "q" else (free.dof, robot.joint_names)
        ports.append(Port(name, (len(labels) - skip,), labels[skip:], "one value per joint"))
    return ports


def full_position(q: Vector) -> Vector:
    """Return the positions of a robot whose joints are at `q` and whose base is at the origin, without rotation."""
    return cs.vertcat(SX.zeros(6), 1, q)


def full_velocity(w: Vector, qd: Vector) -> Vector:
    """Return the velocities of a robot whose base turns with w and has no linear velocity."""
    return cs.vertcat(w, SX.zeros(3), qd)


def full_acceleration(wd: Vector, a: Vector, qdd: Vector) -> Vector:
    """Return the accelerations of a robot without weight whose base has the angular acceleration wd and reads a."""
    return cs.vertcat(wd, a, qdd)
