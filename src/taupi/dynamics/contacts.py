"""Wrenches at the tip and at other frames, and the Jacobians of frames in contact."""

from __future__ import annotations

from collections.abc import Sequence

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.imu_form import full_position, is_imu, joint_ports, weightless
from taupi.dynamics.kinematics import JACOBIANS, frame_jacobian
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program

_WRENCH = ("nx", "ny", "nz", "fx", "fy", "fz")


def tip_ports(tip_wrench: str | None) -> list[Port]:
    """Return the input `f_tip` that a wrench at the tip adds to a program, or none without one; unknown axes are refused."""
    if tip_wrench is None:
        return []
    if tip_wrench not in JACOBIANS:
        raise unknown(Argument("tip_wrench"), tip_wrench, JACOBIANS)
    return [Port("f_tip", (6,), _WRENCH, "moment, then force")]


def tip_torque(chain: Chain, q: Vector, wrench: Vector, frame: str, kind: str) -> Vector:
    """Return J^T F, the torque by which `frame` applies the wrench F to its surroundings (equations.md, D1).

    `wrench` is F in the axes of the Jacobian of that `kind`.
    """
    return frame_jacobian(chain, q, frame, kind).T @ wrench


def checked_frames(robot: Robot, wrenches: Sequence[str], points: Sequence[str], axes: str) -> tuple[str, ...]:
    """Return the frames at which wrenches act, the `points` last; refuse frames that the robot does not have."""
    frames = (*wrenches, *points)
    for name in frames:
        robot.frame(name)
    if len(set(frames)) < len(frames):
        twice = next(name for name in frames if frames.count(name) > 1)
        raise TaupiError("{wrenches} and points name the frame {twice!r} twice: name it once.", twice=twice)
    if axes not in JACOBIANS:
        raise unknown(Argument("axes"), axes, JACOBIANS)
    return frames


def wrench_ports(wrenches: Sequence[str], points: Sequence[str]) -> list[Port]:
    """Return an input `f_<frame>` for each wrench, moment before force, and for each force at a point."""
    full = [Port(f"f_{name}", (6,), _WRENCH, "moment, then force") for name in wrenches]
    return [*full, *(Port(f"f_{name}", (3,), _WRENCH[3:], "force") for name in points)]


def wrench_torque(
    chain: Chain, q: Vector, values: Sequence[Vector], wrenches: Sequence[str], points: Sequence[str], axes: str
) -> Vector:
    """Return sum J^T F of wrenches that frames apply to their surroundings, in the `axes` of that Jacobian."""
    total = SX.zeros(chain.n)
    for name, value in zip((*wrenches, *points), values, strict=True):
        rows = frame_jacobian(chain, q, name, axes)
        total = total + (rows if value.numel() == 6 else rows[3:, :]).T @ value
    return total


@builder
def contact_jacobian(
    robot: Robot, frames: Sequence[str] | str, feet: str = "point", axes: str = "body", base: str = "pose"
) -> Program:
    """Return J(q) of `frames` of `robot`, stacked: velocities of their origins, and angular velocities if `feet` is "flat".

    Contact forces f act as J^T f.

    Args:
        robot: The robot, n velocities.
        frames: Names of frames, or one name.
        feet: "point" (the default), three rows per frame, or "flat", six, angular before linear.
        axes: The axes of the Jacobian: "body" (the default), "geometric" or "spatial".
        base: "pose" (the default), or "imu", for which q has only the joints.

    Returns:
        A program of q with the output J, (3 k, n) or (6 k, n) for k frames.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r", floating=True)
    >>> tp.floating.contact_jacobian(arm, ("forearm",))(tp.floating.neutral(arm)).shape
    (3, 8)
    """
    names = (frames,) if isinstance(frames, str) else tuple(frames)
    checked_frames(robot, names, (), axes)
    if not names:
        raise TaupiError("{frames} is empty, expected names of frames.")
    if feet not in ("point", "flat"):
        raise unknown(Argument("feet"), feet, ("point", "flat"))
    imu, rows = is_imu(robot, base), 3 if feet == "point" else 6

    def body(chain: Chain, q: Vector) -> Matrix:
        full = full_position(q) if imu else q
        return cs.vertcat(*(frame_jacobian(chain, full, name, axes)[6 - rows :, :] for name in names))

    if imu and axes != "body":
        raise TaupiError(
            "{axes} is {got!r}, world axes, which the IMU form does not know.", remedy="Use {axes='body'}.", got=axes
        )
    outputs = [Port("J", (rows * len(names), robot.n))]
    if imu:
        return trace_robot("contact_jacobian", weightless(robot), body, joint_ports(robot, "q"), outputs)
    return trace_robot("contact_jacobian", robot, body, ["q"], outputs)
