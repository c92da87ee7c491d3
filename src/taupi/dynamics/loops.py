"""Closed loops, cut at pairs of frames: how far they are open, and how fast they open."""

from __future__ import annotations

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.kinematics import frame_jacobian, frame_placement
from taupi.dynamics.spatial import unskew
from taupi.dynamics.types import Matrix, Vector
from taupi.model.requirements import require_loops
from taupi.model.robot import Robot
from taupi.model.robot_parts import WELD
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


def loop_rows(robot: Robot) -> int:
    """Return how many equations keep the loops closed."""
    return sum(loop.rows for loop in robot.loops)


def opening(chain: Chain, q: Vector) -> Vector:
    """Return by how much the loops are open: p_a - p_b in world axes, and for welds half of (R_a^T R_b)^v before it, negated."""
    parts = []
    for loop in chain.robot.loops:
        (ra, pa), (rb, pb) = (frame_placement(chain, q, name) for name in (loop.frame_a, loop.frame_b))
        if loop.kind == WELD:
            between = rb.T @ ra
            parts.append(rb @ unskew(between - between.T) / 2)
        parts.append(pa - pb)
    return cs.vertcat(*parts)


def opening_jacobian(chain: Chain, q: Vector) -> Matrix:
    """Return J_a - J_b of the loops, stacked: relative velocities of their frames in world axes, angular before linear."""
    parts = []
    for loop in chain.robot.loops:
        a, b = (frame_jacobian(chain, q, name, "geometric") for name in (loop.frame_a, loop.frame_b))
        parts.append((a - b)[6 - loop.rows :, :])
    return cs.vertcat(*parts)


@builder
def loop_error(robot: Robot) -> Program:
    """Return by how much the loops of `robot` are open at q: zero if all are closed, in m and rad.

    A loop of kind "point" has the difference of its frames' origins (3,), in world axes; a "weld" has, before it, the axis of the
    rotation between them times the sine of its angle.

    Args:
        robot: The robot, with loops.

    Returns:
        A program of q (n,) with the output opening (rows,).

    >>> import dataclasses, taupi as tp
    >>> arm = tp.load("planar3r")
    >>> loop = tp.loops.Loop("link1", "link3")
    >>> robot = dataclasses.replace(arm, loops=(loop,))
    >>> tp.loops.loop_error(robot)([0.1, 0.2, 0.3]).shape
    (3,)
    """
    require_loops(robot)
    return trace_robot("loop_error", robot, opening, ["q"], [Port("opening", (loop_rows(robot),))])


@builder
def loop_jacobian(robot: Robot) -> Program:
    """Return J(q) of the loops of `robot`: how fast they open is J qd, zero in every motion, and their forces act as J^T f.

    Args:
        robot: The robot, with loops.

    Returns:
        A program of q (n,) with the output J (rows, n).

    >>> import dataclasses, taupi as tp
    >>> arm = tp.load("planar3r")
    >>> loop = tp.loops.Loop("link1", "link3")
    >>> robot = dataclasses.replace(arm, loops=(loop,))
    >>> tp.loops.loop_jacobian(robot)([0.1, 0.2, 0.3]).shape
    (3, 3)
    """
    require_loops(robot)
    outputs = [Port("J", (loop_rows(robot), robot.n))]
    return trace_robot("loop_jacobian", robot, opening_jacobian, ["q"], outputs)


@builder
def loop_jacobian_derivative(robot: Robot) -> Program:
    """Return dJ/dt(q, qd) of the Jacobian of the loops of `robot`.

    Args:
        robot: The robot, with loops.

    Returns:
        A program of q and qd (n,) with the output Jd (rows, n).

    >>> import dataclasses, taupi as tp
    >>> arm = tp.load("planar3r")
    >>> loop = tp.loops.Loop("link1", "link3")
    >>> robot = dataclasses.replace(arm, loops=(loop,))
    >>> tp.loops.loop_jacobian_derivative(robot)([0.1, 0.2, 0.3], [1.0, 2.0, 3.0]).shape
    (3, 3)
    """
    require_loops(robot)

    def body(chain: Chain, q: Vector, qd: Vector) -> Matrix:
        return chain.time_derivative(opening_jacobian(chain, q), q, qd)

    outputs = [Port("Jd", (loop_rows(robot), robot.n))]
    return trace_robot("loop_jacobian_derivative", robot, body, ["q", "qd"], outputs)
