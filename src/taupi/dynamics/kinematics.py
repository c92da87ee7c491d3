"""Where the links are and how they move: forward kinematics, Jacobians and their time derivatives, tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.spatial import SX, adjoint, compose, inverse
from taupi.errors import TaupiError, unknown
from taupi.model.robot import BASE, Robot
from taupi.program.program import Port, Program

JACOBIANS = ("geometric", "body", "spatial")
Task = str | Callable[[Any], Any]


def link_placements(chain: Chain, q: Any) -> list[tuple[Any, Any]]:
    """Return (R_i, p_i) of every link frame in world axes: T_i = T_parent T(parent, i), from `robot.base` on."""
    joints = chain.spread(q)
    return chain.outward(lambda i, parent: compose(parent, chain.placement(i, joints[i])), (SX.eye(3), SX.zeros(3)))


def frame_placement(chain: Chain, q: Any, frame: str) -> tuple[Any, Any]:
    """Return (R, p) of a named frame in world axes, those that `robot.base` is placed in."""
    link, fixed = chain.frame(frame)
    return compose(link_placements(chain, q)[link] if link != BASE else chain.base, fixed)


def link_screws(chain: Chain, q: Any) -> list[dict[int, Any]]:
    """Return, per link i, the screw of each joint j before it, seen from link frame i: Ad(T_ij) A_j.

    Its columns are the body Jacobian of the link (spec 2.2).
    """
    joints = chain.spread(q)

    def step(i: int, parent: dict[int, Any]) -> dict[int, Any]:
        x = adjoint(*inverse(*chain.placement(i, joints[i])))
        return {j: x @ s for j, s in parent.items()} | {i: chain.screw(i)}

    return chain.outward(step, {})


def gathered_columns(chain: Chain, columns: dict[int, Any], rows: int = 6) -> Any:
    """Return the rows x n matrix of columns given per joint, zero for the joints left out."""
    return chain.gather([columns.get(j, SX.zeros(rows)).T for j in range(chain.links)]).T


def frame_jacobian(chain: Chain, q: Any, frame: str, kind: str) -> Any:
    """Return the 6 x n Jacobian of a frame, twists ordered (angular, linear)."""
    link, fixed = chain.frame(frame)
    columns = link_screws(chain, q)[link] if link != BASE else {}
    to_frame = adjoint(*inverse(*fixed))
    body = gathered_columns(chain, {j: to_frame @ s for j, s in columns.items()})
    if kind == "body":
        return body
    r, p = frame_placement(chain, q, frame)
    return adjoint(r, p if kind == "spatial" else SX.zeros(3)) @ body


# Tasks ----------------------------------------------------------------------------------------------------------------


def _tip_task(
    select: Callable[[Any, Any], Any], rows: tuple[int, ...]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def coordinates(chain: Chain, q: Any, frame: str) -> Any:
        return select(*frame_placement(chain, q, frame))

    def derivative(chain: Chain, q: Any, frame: str) -> Any:
        return frame_jacobian(chain, q, frame, "geometric")[list(rows), :]

    return coordinates, derivative


def _roll_pitch_yaw(r: Any) -> Any:
    return cs.vertcat(
        cs.atan2(r[2, 1], r[2, 2]), cs.atan2(-r[2, 0], cs.sqrt(r[0, 0] ** 2 + r[1, 0] ** 2)), cs.atan2(r[1, 0], r[0, 0])
    )


def _pose(chain: Chain, q: Any, frame: str) -> Any:
    r, p = frame_placement(chain, q, frame)
    return cs.vertcat(_roll_pitch_yaw(r), p)


# Each task: its coordinates r(q) and its Jacobian dr/dq (None: by differentiation). Linear rows are 3..5.
TASKS: dict[str, tuple[Callable[..., Any] | None, Callable[..., Any] | None]] = {
    "position": _tip_task(lambda r, p: p, (3, 4, 5)),
    "xy": _tip_task(lambda r, p: p[:2], (3, 4)),
    "planar": _tip_task(lambda r, p: cs.vertcat(p[0], p[1], cs.atan2(r[1, 0], r[0, 0])), (3, 4, 2)),
    "pose": (_pose, None),
    "twist": (None, lambda chain, q, frame: frame_jacobian(chain, q, frame, "geometric")),
}
_SIZES = {"position": 3, "xy": 2, "planar": 3, "pose": 6, "twist": 6}


def task_size(robot: Robot, task: Task) -> int:
    """Return the number of task coordinates."""
    if callable(task):
        return int(cs.SX(task(SX.sym("q", robot.n))).numel())
    if task not in TASKS:
        raise unknown("task", task, TASKS)
    return _SIZES[task]


def task_coordinates(chain: Chain, q: Any, task: Task, frame: str) -> Any:
    """Return r(q); a twist has none."""
    if callable(task):
        return cs.vec(SX(task(q)))
    coordinates = TASKS[task][0]
    if coordinates is None:
        raise TaupiError(
            "The task 'twist' has velocities but no coordinates. Use 'pose', 'position', 'planar' or 'xy'."
        )
    return coordinates(chain, q, frame)


def task_jacobian(chain: Chain, q: Any, task: Task, frame: str) -> Any:
    """Return dr/dq of a task."""
    derivative = None if callable(task) else TASKS[task][1]
    if derivative is not None:
        return derivative(chain, q, frame)
    return cs.jacobian(task_coordinates(chain, q, task, frame), q)


# Programs -------------------------------------------------------------------------------------------------------------


@builder
def forward_kinematics(robot: Robot, frame: str = "tip") -> Program:
    """Return T(q), the 4 x 4 homogeneous matrix of a frame in world axes: T_i = A_1(q_1) ... A_i(q_i) (spec 1.1).

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1)
    >>> tp.forward_kinematics(arm)([0.0, 0.0])[:3, 3].tolist()
    [2.0, 0.0, 0.0]
    """
    robot.frame(frame)

    def body(chain: Chain, q: Any) -> Any:
        r, p = frame_placement(chain, q, frame)
        return cs.blockcat([[r, p], [SX.zeros(1, 3), SX.ones(1, 1)]])

    return trace_robot("forward_kinematics", robot, body, ["q"], [Port("T", (4, 4))])


def _checked_kind(robot: Robot, frame: str, kind: str) -> None:
    robot.frame(frame)
    if kind not in JACOBIANS:
        raise unknown("kind of Jacobian", kind, JACOBIANS)


@builder
def jacobian(robot: Robot, frame: str = "tip", kind: str = "geometric", task: Task | None = None) -> Program:
    """Return J(q), 6 x n, with twist V = J qd, ordered (angular, linear) (spec 1.3, 2.2).

    `kind`: "geometric", the frame's origin in world axes; "body", in the frame's own axes, [V] = T^-1 dT/dt; "spatial", the
    point at the world's origin, [V] = dT/dt T^-1. The world is what `robot.base` is placed in, by default the base itself.
    With `task` it is the analytic dr/dq instead: "position", "xy", "planar" (x, y, phi), "pose" (roll,
    pitch, yaw, position), or a function r(q) written over CasADi SX.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1)
    >>> (tp.jacobian(arm, task="xy")([0.0, 0.0]) + 0.0).tolist()
    [[0.0, 0.0], [2.0, 1.0]]
    """
    _checked_kind(robot, frame, kind)
    if task is not None:
        rows = task_size(robot, task)
        return trace_robot(
            "jacobian", robot, lambda c, q: task_jacobian(c, q, task, frame), ["q"], [Port("J", (rows, robot.n))]
        )
    return trace_robot(
        "jacobian", robot, lambda c, q: frame_jacobian(c, q, frame, kind), ["q"], [Port("J", (6, robot.n))]
    )


@builder
def jacobian_derivative(robot: Robot, frame: str = "tip", kind: str = "geometric", task: Task | None = None) -> Program:
    """Return dJ/dt(q, qd) of the same Jacobian as `jacobian`, so that the acceleration is J qdd + dJ/dt qd.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1)
    >>> (tp.jacobian_derivative(arm, task="xy")([0.0, 0.0], [1.0, 0.0]) + 0.0).tolist()
    [[-2.0, -1.0], [0.0, 0.0]]
    """
    _checked_kind(robot, frame, kind)
    rows = 6 if task is None else task_size(robot, task)

    def body(chain: Chain, q: Any, qd: Any) -> Any:
        j = frame_jacobian(chain, q, frame, kind) if task is None else task_jacobian(chain, q, task, frame)
        return time_derivative(j, q, qd)

    return trace_robot("jacobian_derivative", robot, body, ["q", "qd"], [Port("Jd", (rows, robot.n))])


def time_derivative(expression: Any, q: Any, qd: Any) -> Any:
    """Return d/dt of a matrix of q along qd."""
    return cs.reshape(cs.jtimes(cs.densify(cs.vec(expression)), q, qd), *expression.shape)
