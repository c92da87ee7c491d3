"""Where the links are and how they move: forward kinematics, Jacobians and their time derivatives, task coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from taupi.dynamics.chain import Chain, builder, trace_robot
from taupi.dynamics.orientation import euler_zyz, roll_pitch_yaw, rotation_vector
from taupi.dynamics.spatial import adjoint, compose, inverse
from taupi.dynamics.types import SX, Matrix, Pose, Vector
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.model.robot import BASE, Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program

JACOBIANS = ("geometric", "body", "spatial")
Task = str | Callable[[Vector], Vector]  # a name in TASKS, or a user's r(q) over SX


def link_placements(chain: Chain, q: Vector) -> list[Pose]:
    """Return (R_i, p_i) of every link frame in world axes: T_i = T_parent T(parent, i), from `robot.base` on."""
    joints = chain.places(q)
    return chain.outward(lambda i, parent: compose(parent, chain.placement(i, joints[i])), (SX.eye(3), SX.zeros(3)))


def frame_placement(chain: Chain, q: Vector, frame: str) -> Pose:
    """Return (R, p) of a named frame in world axes, the axes in which `robot.base` is placed."""
    link, fixed = chain.frame(frame)
    return compose(link_placements(chain, q)[link] if link != BASE else chain.base, fixed)


def link_screws(chain: Chain, q: Vector) -> list[dict[int, Vector]]:
    """Return, for each link i, the screws of the joints j between base and link, seen from link frame i: Ad(T_ij) A_j.

    They are the columns of the link's body Jacobian (equations.md, K4).
    """
    joints = chain.places(q)

    def step(i: int, parent: dict[int, Vector]) -> dict[int, Vector]:
        x = adjoint(*inverse(*chain.placement(i, joints[i])))
        return {j: x @ s for j, s in parent.items()} | {i: chain.screw(i)}

    return chain.outward(step, {})


def gathered_columns(chain: Chain, columns: dict[int, Vector]) -> Matrix:
    """Return the 6 x n matrix of the coordinates from columns by joint; joints without a column contribute nothing."""
    joints = enumerate(chain.robot.joints)
    return chain.gather([columns.get(j, SX.zeros(6, joint.dof)).T for j, joint in joints]).T


def frame_jacobian(chain: Chain, q: Vector, frame: str, kind: str) -> Matrix:
    """Return the 6 x n Jacobian of a frame, of a kind in `JACOBIANS`, with twists ordered (angular, linear)."""
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
    select: Callable[[Matrix, Vector], Vector], rows: tuple[int, ...]
) -> tuple[Callable[..., Vector], Callable[..., Matrix]]:
    def coordinates(chain: Chain, q: Vector, frame: str) -> Vector:
        return select(*frame_placement(chain, q, frame))

    def derivative(chain: Chain, q: Vector, frame: str) -> Matrix:
        return frame_jacobian(chain, q, frame, "geometric")[list(rows), :]

    return coordinates, derivative


def _pose(orientation: Callable[[Matrix], Vector]) -> Callable[..., Vector]:
    def coordinates(chain: Chain, q: Vector, frame: str) -> Vector:
        r, p = frame_placement(chain, q, frame)
        return cs.vertcat(orientation(r), p)

    return coordinates


class TaskKind(NamedTuple):
    """A kind of task: its coordinates r(q), its Jacobian dr/dq, which of its rows are in metres, and how many rows it has."""

    coordinates: Callable[..., Vector] | None  # None: the task has a velocity only
    derivative: Callable[..., Matrix] | None  # None: by differentiation
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


def user_coordinates(task: Callable[[Vector], object], q: Vector) -> Vector:
    """Return r(q) of a user's function as a column, or raise an error that says what is wrong with what it returned."""
    name = getattr(task, "__name__", type(task).__name__)
    try:
        value = task(q)
    except TaupiError:
        raise
    except Exception as error:
        raise TaupiError(
            "The task function {name} failed on q, a CasADi SX column of {numel}: {kind}: {error}.",
            remedy="Write it with casadi.sin, casadi.vertcat, q[0] and the like.",
            name=name,
            numel=q.numel(),
            kind=type(error).__name__,
            error=error,
        ) from error
    try:
        column = cs.vertcat(*value) if isinstance(value, list | tuple) else SX(value)
    except (NotImplementedError, TypeError, RuntimeError):
        raise TaupiError(
            "The task function {name} returned {value!r}, expected an SX column r(q).", name=name, value=value
        ) from None
    if not isinstance(column, cs.SX | cs.DM) or column.numel() == 0 or min(column.shape) != 1:
        got = f"shape {column.shape}" if hasattr(column, "shape") else shown(value)
        raise TaupiError(
            "The task function {name} returned {got}, expected a column r(q) with one entry per coordinate.",
            name=name,
            got=got,
        )
    entries = {s.element_hash() for s in cs.symvar(q)}
    foreign = ", ".join(sorted(s.name() for s in cs.symvar(SX(column)) if s.element_hash() not in entries))
    if foreign:
        raise TaupiError(
            "The task function {name} uses symbols that are not entries of q: {foreign}.",
            remedy="Give them numbers.",
            name=name,
            foreign=foreign,
        )
    return cs.densify(cs.vec(SX(column)))


def task_size(robot: Robot, task: Task) -> int:
    """Return the number of task coordinates."""
    if callable(task):
        return int(user_coordinates(task, SX.sym("q", robot.nq)).numel())
    if not isinstance(task, str) or task not in TASKS:
        raise unknown(Argument("task"), task, TASKS)
    return TASKS[task].size


def linear_rows(task: Task) -> tuple[int, ...]:
    """Return which coordinates of a task are in metres: none for a user's function, whose units are not known."""
    return () if callable(task) else TASKS[task].linear


def traced_coordinates(chain: Chain, q: Vector, task: Task, frame: str) -> Vector:
    """Return the coordinates r(q) of a task; a twist has none and is refused."""
    if callable(task):
        return user_coordinates(task, q)
    coordinates = TASKS[task].coordinates
    if coordinates is None:
        known = ", ".join(name for name, kind in TASKS.items() if kind.coordinates is not None)
        raise TaupiError(
            "The task {task!r} has velocities but no coordinates.", remedy="Use {known}.", task=task, known=known
        )
    return coordinates(chain, q, frame)


def task_jacobian(chain: Chain, q: Vector, task: Task, frame: str) -> Matrix:
    """Return the Jacobian dr/dq of a task."""
    derivative = None if callable(task) else TASKS[task].derivative
    if derivative is not None:
        return derivative(chain, q, frame)
    return chain.derivative(traced_coordinates(chain, q, task, frame), q)


# Programs -------------------------------------------------------------------------------------------------------------


@builder
def forward_kinematics(robot: Robot, frame: str = "tip") -> Program:
    """Return T(q), the 4 x 4 homogeneous matrix of a frame of `robot` in world axes: T_i = A_1(q_1) ... A_i(q_i).

    The equation is K1 of equations.md.

    Args:
        robot: The robot.
        frame: The name of a link or of a frame fixed to one; by default the end of the arm, "tip".

    Returns:
        A program of q (n,) with the output T (4, 4), lengths in m.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1)
    >>> tp.forward_kinematics(arm)([0.0, 0.0])[:3, 3].tolist()
    [2.0, 0.0, 0.0]
    """
    robot.frame(frame)

    def body(chain: Chain, q: Vector) -> Matrix:
        r, p = frame_placement(chain, q, frame)
        return cs.blockcat([[r, p], [SX.zeros(1, 3), SX.ones(1, 1)]])

    return trace_robot("forward_kinematics", robot, body, ["q"], [Port("T", (4, 4))])


@builder
def task_coordinates(robot: Robot, task: Task = "position", frame: str = "tip") -> Program:
    """Return r(q), the coordinates of a task of `robot` in world axes, in m and rad (equations.md, K5).

    Args:
        robot: The robot.
        task: "position" (the default): x, y, z. "xy": x, y. "planar": x, y, phi. A pose, three numbers for the orientation before
            the position: "pose" has roll, pitch, yaw with R = Rz(yaw) Ry(pitch) Rx(roll), "pose_zyz" Euler angles with
            R = Rz Ry Rz, and "pose_vector" the rotation vector w with R = exp(S(w)), the only one that is smooth at R = 1. Or a
            function r(q) written over CasADi SX, which may call `taupi.forward_kinematics(robot)(q)` and other programs of the
            robot.
        frame: The frame whose position and orientation count, by default "tip".

    Returns:
        A program of q (n,) with the output r (m,), m and rad.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r").bind(l1=1, l2=1, l3=1)
    >>> tp.operational.task_coordinates(arm, task="planar")([0.0, 0.0, 0.0]).tolist()
    [3.0, 0.0, 0.0]
    """
    robot.frame(frame)
    port = Port("r", (task_size(robot, task),))
    return trace_robot("task_coordinates", robot, lambda c, q: traced_coordinates(c, q, task, frame), ["q"], [port])


def _jacobian_of(
    robot: Robot, frame: str, kind: str, task: Task | None
) -> tuple[int, Callable[[Chain, Vector], Matrix]]:
    """Return the number of rows and the function of the Jacobian of a frame or, if one is named, of a task."""
    robot.frame(frame)
    if kind not in JACOBIANS:
        raise unknown(Argument("kind"), kind, JACOBIANS)
    if task is None:
        return 6, lambda chain, q: frame_jacobian(chain, q, frame, kind)
    return task_size(robot, task), lambda chain, q: task_jacobian(chain, q, task, frame)


@builder
def jacobian(robot: Robot, frame: str = "tip", kind: str = "geometric", task: Task | None = None) -> Program:
    """Return J(q) of `robot`, 6 x n, with the twist V = J qd of a frame, ordered (angular, linear) (equations.md, K4).

    Args:
        robot: The robot, n velocities.
        frame: The frame's name, by default "tip".
        kind: Where and in which axes the twist is taken: "geometric" (the default), at the frame's origin in world axes; "body",
            there in the frame's own axes, [V] = T^-1 dT/dt; "spatial", at the world's origin, [V] = dT/dt T^-1. The world is
            where `robot.base` is placed, by default the base itself.
        task: A task of `task_coordinates`, whose analytic Jacobian dr/dq is returned instead; None by default.

    Returns:
        A program of q (n,) with the output J, (6, n) or (m, n) for a task of m coordinates.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1)
    >>> (tp.jacobian(arm, task="xy")([0.0, 0.0]) + 0.0).tolist()
    [[0.0, 0.0], [2.0, 1.0]]
    """
    rows, columns = _jacobian_of(robot, frame, kind, task)
    return trace_robot("jacobian", robot, columns, ["q"], [Port("J", (rows, robot.n))])


@builder
def jacobian_derivative(robot: Robot, frame: str = "tip", kind: str = "geometric", task: Task | None = None) -> Program:
    """Return dJ/dt(q, qd) of the Jacobian of `robot`, so that the acceleration is J qdd + dJ/dt qd (equations.md, K4).

    Args:
        robot: The robot, n velocities.
        frame: As in `jacobian`, "tip" by default.
        kind: As in `jacobian`, "geometric" by default.
        task: As in `jacobian`, None by default.

    Returns:
        A program of q and qd (n,) with the output Jd, (6, n) or (m, n) for a task of m coordinates.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1)
    >>> (tp.jacobian_derivative(arm, task="xy")([0.0, 0.0], [1.0, 0.0]) + 0.0).tolist()
    [[-2.0, -1.0], [0.0, 0.0]]
    """
    rows, columns = _jacobian_of(robot, frame, kind, task)

    def body(chain: Chain, q: Vector, qd: Vector) -> Matrix:
        return chain.time_derivative(columns(chain, q), q, qd)

    return trace_robot("jacobian_derivative", robot, body, ["q", "qd"], [Port("Jd", (rows, robot.n))])
