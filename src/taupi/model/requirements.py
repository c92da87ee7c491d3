"""What a function needs of a robot: a base that is bolted or moves, no loops, springs, joints of one degree of freedom.

Each requirement is checked here alone, and refused in one sentence; a function adds what it needs the robot for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from taupi.errors import Argument, InPython, TaupiError
from taupi.model.robot_parts import BALL

if TYPE_CHECKING:
    from taupi.model.robot import Robot


def require_floating(robot: Robot, so: str = "") -> None:
    """Refuse a robot whose base does not move; `so` continues the sentence."""
    if not robot.floating:
        raise TaupiError(
            "{robot} is bolted to the ground{so}.", robot=robot.name, so=so, remedy="Use robot.floating_base()."
        )


def require_fixed_base(robot: Robot, template: str, what: str = "") -> None:
    """Refuse a robot whose base moves freely; `template` says over `robot` and `what` why."""
    if robot.floating:
        raise TaupiError(
            template,
            robot=robot.name,
            what=what,
            remedy=InPython(
                "Use robot.fixed_base(), which is bolted to the ground.", "Bolt it to the ground: --no-floating."
            ),
        )


def require_bolted(robot: Robot, what: str) -> None:
    """Refuse a robot with a free or ball joint for a function that is defined for one motor per joint."""
    refuse_ball_joints(robot)
    require_fixed_base(
        robot, "{what} needs a motor for every velocity, and {robot} has none for some: its base moves freely.", what
    )


def refuse_ball_joints(robot: Robot) -> None:
    """Refuse a robot with ball joints, for all that needs a motor or a signal of every joint."""
    names = [j.name for j in robot.joints if j.kind == BALL]
    if names:
        raise TaupiError(
            "{robot} has ball joints ({names:,}), which no motor drives and logs have no signals for.",
            remedy="Lock them when the file is read: {lock}.",
            robot=robot.name,
            names=names,
            lock=Argument("lock", names),
        )


def require_tree(robot: Robot, so: str, remedy: str) -> None:
    """Refuse a robot with closed loops; `so` says what is not possible with them."""
    if robot.loops:
        raise TaupiError("{robot} has closed loops, {so}.", robot=robot.name, so=so, remedy=remedy)


def require_loops(robot: Robot) -> None:
    """Refuse a robot without loops."""
    if not robot.loops:
        raise TaupiError(
            "{robot} has no closed loop.",
            remedy="Read one from an MJCF file with <connect> or <weld>, or a TOML file.",
            robot=robot.name,
        )


def require_elastic(robot: Robot) -> None:
    """Refuse a robot without a single elastic joint."""
    if not robot.elastic_joints:
        raise TaupiError(
            "{robot} has no elastic joint.",
            remedy=(
                "Give joints a stiffness: robot.with_transmissions(stiffness=..., rotor_inertia=..., "
                "gear_ratio=...), or transmission = { stiffness = ... } in its TOML."
            ),
            robot=robot.name,
        )


def require_motors(robot: Robot, what: str) -> None:
    """Refuse a robot with free or ball joints, or with closed loops, for a function that takes each torque as its joint's own."""
    require_bolted(robot, what)
    require_tree(
        robot,
        f"whose forces act on all joints, and {what[0].lower()}{what[1:]} takes the torque of a joint as its own",
        "Describe parallelograms by joints that follow others; tp.loops.ClosedLoops has the rest.",
    )


def require_coordinates(robot: Robot, so: str, remedy: str) -> None:
    """Refuse a robot with free or ball joints, whose velocities are not derivatives of coordinates; `so` says what needs them."""
    if robot.multiple_joints:
        names = [joint.name for joint in robot.multiple_joints]
        raise TaupiError(
            "{robot} has a free or ball joint ({joints:,}), {so}.",
            robot=robot.name,
            joints=names,
            so=so,
            remedy=remedy,
        )
