"""Where the links are and how they move: forward kinematics, Jacobians and their time derivatives, tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as cs

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.orientation import euler_zyz, roll_pitch_yaw, rotation_vector
from taupi.dynamics.spatial import SX, adjoint, compose, inverse
from taupi.errors import TaupiError, shown, unknown
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


def _pose(orientation: Callable[[Any], Any]) -> Callable[..., Any]:
    def coordinates(chain: Chain, q: Any, frame: str) -> Any:
        r, p = frame_placement(chain, q, frame)
        return cs.vertcat(orientation(r), p)

    return coordinates


class TaskKind(NamedTuple):
    """A task by name: its coordinates r(q), its Jacobian dr/dq (None: by differentiation), its rows in metres, its size."""

    coordinates: Callable[..., Any] | None
    derivative: Callable[..., Any] | None
    linear: tuple[int, ...]
    size: int


TASKS: dict[str, TaskKind] = {
    "position": TaskKind(*_tip_task(lambda r, p: p, (3, 4, 5)), linear=(0, 1, 2), size=3),
    "xy": TaskKind(*_tip_task(lambda r, p: p[:2], (3, 4)), linear=(0, 1), size=2),
    "planar": TaskKind(
        *_tip_task(lambda r, p: cs.vertcat(p[0], p[1], cs.atan2(r[1, 0], r[0, 0])), (3, 4, 2)), linear=(0, 1), size=3
    ),
    "pose": TaskKind(_pose(roll_pitch_yaw), None, linear=(3, 4, 5), size=6),
    "pose_zyz": TaskKind(_pose(euler_zyz), None, linear=(3, 4, 5), size=6),
    "pose_vector": TaskKind(_pose(rotation_vector), None, linear=(3, 4, 5), size=6),
    "twist": TaskKind(None, lambda chain, q, frame: frame_jacobian(chain, q, frame, "geometric"), (3, 4, 5), size=6),
}


def user_coordinates(task: Callable[[Any], Any], q: Any) -> Any:
    """Return r(q) of a user's function as a column, or say what is wrong with what it returned."""
    name = getattr(task, "__name__", type(task).__name__)
    try:
        value = task(q)
    except TaupiError:
        raise
    except Exception as error:
        raise TaupiError(
            f"The task function {name} failed on q, a CasADi SX column of {q.numel()}: {type(error).__name__}: {error}. "
            "Write it with casadi.sin, casadi.vertcat, q[0] and the like."
        ) from error
    try:
        column = cs.vertcat(*value) if isinstance(value, list | tuple) else SX(value)
    except (NotImplementedError, TypeError, RuntimeError):
        raise TaupiError(f"The task function {name} returned {shown(value)}, expected an SX column r(q).") from None
    if not isinstance(column, SX | cs.DM) or column.numel() == 0 or min(column.shape) != 1:
        got = f"shape {column.shape}" if hasattr(column, "shape") else shown(value)
        raise TaupiError(f"The task function {name} returned {got}, expected a column r(q) with an entry a coordinate.")
    own = {s.element_hash() for s in cs.symvar(q)}
    strange = [s.name() for s in cs.symvar(SX(column)) if s.element_hash() not in own]
    if strange:
        told = ", ".join(sorted(strange))
        raise TaupiError(f"The task function {name} uses symbols that are not entries of q: {told}. Give them numbers.")
    return cs.densify(cs.vec(SX(column)))


def task_size(robot: Robot, task: Task) -> int:
    """Return the number of task coordinates."""
    if callable(task):
        return int(user_coordinates(task, SX.sym("q", robot.n)).numel())
    if not isinstance(task, str) or task not in TASKS:
        raise unknown("task", task, TASKS)
    return TASKS[task].size


def linear_rows(task: Task) -> tuple[int, ...]:
    """Return which coordinates of a task are in metres; of a user's function none, since their units are not known."""
    return () if callable(task) else TASKS[task].linear


def traced_coordinates(chain: Chain, q: Any, task: Task, frame: str) -> Any:
    """Return r(q); a twist has none."""
    if callable(task):
        return user_coordinates(task, q)
    coordinates = TASKS[task].coordinates
    if coordinates is None:
        known = ", ".join(name for name, kind in TASKS.items() if kind.coordinates is not None)
        raise TaupiError(f"The task {task!r} has velocities but no coordinates. Use {known}.")
    return coordinates(chain, q, frame)


def task_jacobian(chain: Chain, q: Any, task: Task, frame: str) -> Any:
    """Return dr/dq of a task."""
    derivative = None if callable(task) else TASKS[task].derivative
    if derivative is not None:
        return derivative(chain, q, frame)
    return cs.jacobian(traced_coordinates(chain, q, task, frame), q)


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


@builder
def task_coordinates(robot: Robot, task: Task = "position", frame: str = "tip") -> Program:
    """Return r(q), the coordinates of a task in world axes (spec 3.1).

    `task`: "position" (x, y, z), "xy", "planar" (x, y, phi), or a pose, three numbers of orientation and then the position:
    "pose" has roll, pitch, yaw with R = Rz(yaw) Ry(pitch) Rx(roll), "pose_zyz" Euler's angles with R = Rz Ry Rz, "pose_vector"
    the rotation vector w with R = exp(S(w)), the one that is smooth at R = 1. Or a function r(q) written over CasADi SX, in
    which `taupi.forward_kinematics(robot)(q)` and other programs of the robot may be called.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r").bind(l1=1, l2=1, l3=1)
    >>> tp.task_coordinates(arm, task="planar")([0.0, 0.0, 0.0]).tolist()
    [3.0, 0.0, 0.0]
    """
    robot.frame(frame)
    port = Port("r", (task_size(robot, task),))
    return trace_robot("task_coordinates", robot, lambda c, q: traced_coordinates(c, q, task, frame), ["q"], [port])


def _checked_kind(robot: Robot, frame: str, kind: str) -> None:
    robot.frame(frame)
    if kind not in JACOBIANS:
        raise unknown("kind of Jacobian", kind, JACOBIANS)


@builder
def jacobian(robot: Robot, frame: str = "tip", kind: str = "geometric", task: Task | None = None) -> Program:
    """Return J(q), 6 x n, with twist V = J qd, ordered (angular, linear) (spec 1.3, 2.2).

    `kind`: "geometric", the frame's origin in world axes; "body", in the frame's own axes, [V] = T^-1 dT/dt; "spatial", the
    point at the world's origin, [V] = dT/dt T^-1. The world is what `robot.base` is placed in, by default the base itself.
    With `task` it is the analytic dr/dq instead, of any task of `task_coordinates`.

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
