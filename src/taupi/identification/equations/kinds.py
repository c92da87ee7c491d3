"""Which equations a fit has: the one place where the kind of robot and of log is asked for."""

from __future__ import annotations

from taupi.errors import TaupiError
from taupi.identification.equations.equations import Equations
from taupi.identification.equations.joints import ElasticJoints, MotorsOnly, RigidJoints
from taupi.identification.inputs import FitInputs
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.block_source import errors_naming
from taupi.model.requirements import refuse_ball_joints, require_elastic
from taupi.model.robot import Robot
from taupi.signals.checking.commands import is_driven_by_commands
from taupi.signals.log import Log
from taupi.signals.mapping.columns import Columns
from taupi.signals.read import PathLike, read_log, read_table, whole_logs


def equations_of_logs(inputs: FitInputs) -> Equations:
    """Return the equations of the inputs of a fit: those of its robot, or of commands where no log has a torque."""
    if _driven_by_commands(inputs):
        from taupi.identification.equations.commands import CommandDriven

        return CommandDriven(RowLayout(inputs.robot))
    return equations_of(inputs.robot, inputs.elastic)


def _driven_by_commands(inputs: FitInputs) -> bool:
    """Return whether the first log says how commands drove the robot, and has no torque that was measured."""
    first = inputs.logs[0]
    if not isinstance(first, Log):
        if not Columns.of(inputs.reading.columns).drives and not _carries_drive(first, inputs):
            return False
        with errors_naming(first):
            first = read_log(first, inputs.robot, reading=whole_logs(inputs.reading))
    return is_driven_by_commands(first)


def _carries_drive(path: PathLike, inputs: FitInputs) -> bool:
    """Return whether a file was written by us with its drive; nothing but its head is read."""
    try:
        return "drive" in (read_table(path, inputs.robot, inputs.reading).own or {})
    except TaupiError:  # what is wrong with the file is said when it is read
        return False


def equations_of(robot: Robot, elastic: bool | None = None, motors_only: bool = False) -> Equations:
    """Return the equations of a robot.

    Args:
        robot: The robot.
        elastic: Whether elastic joints have rows of links and of motors; None, the default, lets the description decide.
        motors_only: Whether only the motors of elastic joints are measured, so that links have to be simulated; False by default.

    Raises:
        TaupiError: If logs have no signals for a joint, or if `elastic` does not suit the robot.
    """
    refuse_ball_joints(robot)
    if robot.loops or robot.floating:
        from taupi.identification.equations.constrained import ClosedLoopRobot, FloatingBase

        return (ClosedLoopRobot if robot.loops else FloatingBase)(RowLayout(robot))
    if motors_only:
        return MotorsOnly(RowLayout(robot, elastic=True))
    if elastic is not None and not isinstance(elastic, bool):
        raise TaupiError("{elastic} is {got!r}, expected True, False, or None to let the robot decide.", got=elastic)
    if elastic:
        require_elastic(robot)
    if elastic or (elastic is None and robot.elastic_joints):
        return ElasticJoints(RowLayout(robot, elastic=True))
    return RigidJoints(RowLayout(robot))
