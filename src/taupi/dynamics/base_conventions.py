"""How other libraries write the state of a floating base, by name, and programs from and to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from taupi.dynamics.chain import Chain, builder, joint_port, trace_robot
from taupi.dynamics.orientation import quaternion_rotation, watched
from taupi.dynamics.types import SX, Matrix, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


@dataclass(frozen=True)
class BaseConvention:
    """A library's order and axes for the state of a floating base.

    `quaternion` says where its scalar is, "last" or "first". `linear_first` says whether linear velocities and forces come
    before angular velocities and moments, `linear_axes` and `angular_axes` whether they are in "body" or "world" axes.
    Accelerations are the derivatives of the velocity's components in these axes.
    """

    quaternion: str
    linear_first: bool
    linear_axes: str
    angular_axes: str


BASES: dict[str, BaseConvention] = {
    "taupi": BaseConvention("last", linear_first=False, linear_axes="body", angular_axes="body"),
    "pinocchio": BaseConvention("last", linear_first=True, linear_axes="body", angular_axes="body"),
    "mujoco": BaseConvention("first", linear_first=True, linear_axes="world", angular_axes="body"),
    "idyntree": BaseConvention("last", linear_first=True, linear_axes="world", angular_axes="world"),
}


def bases() -> dict[str, BaseConvention]:
    """Return how libraries write a floating base, by name: what `from_base` and `to_base` take.

    >>> import taupi as tp
    >>> list(tp.floating.bases())
    ['taupi', 'pinocchio', 'mujoco', 'idyntree']
    """
    return dict(BASES)


_STATE = ("q", "qd", "qdd", "tau")


def _convention(robot: Robot, name: str) -> BaseConvention:
    if name not in BASES:
        raise unknown(Argument("convention"), name, BASES)
    if not robot.multiple_joints:
        raise TaupiError(
            "{robot} is bolted to the ground: there is no base to convert.",
            remedy="Use robot.floating_base().",
            robot=robot.name,
        )
    return BASES[name]


def _turns(convention: BaseConvention, rotation: Matrix) -> tuple[Matrix, Matrix]:
    """Return the rotations from the convention's axes of angular and of linear quantities to the body's."""
    angular, linear = convention.angular_axes, convention.linear_axes
    back, same = rotation.T, SX.eye(3)
    return same if angular == "body" else back, same if linear == "body" else back


def _ours(convention: BaseConvention, x: Vector) -> tuple[Vector, Vector]:
    """Return the angular and the linear part of what a convention writes."""
    return (x[3:6], x[:3]) if convention.linear_first else (x[:3], x[3:6])


def _theirs(convention: BaseConvention, angular: Vector, linear: Vector) -> Vector:
    return cs.vertcat(linear, angular) if convention.linear_first else cs.vertcat(angular, linear)


def _positions(chain: Chain, q: Vector, convention: BaseConvention, to_taupi: bool) -> Vector:
    """Return positions with the scalars of all quaternions, including those of ball joints, where they belong."""
    if convention.quaternion == "last":
        return q
    moved = cs.vertsplit(q)
    for joint in chain.robot.multiple_joints:
        end = chain.robot.position_index(joint.coordinate) + joint.size
        first, *rest = moved[end - 4 : end] if to_taupi else moved[end - 1 : end] + moved[end - 4 : end - 1]
        moved[end - 4 : end] = [*rest, first] if to_taupi else [first, *rest]
    return cs.vertcat(*moved)


@builder
def from_base(robot: Robot, convention: str) -> Program:
    """Return a program that takes (q, qd, qdd, tau) of a floating `robot` as another library writes them, and returns ours.

    Only the base and the quaternions of ball joints differ: joints keep their order. Accelerations are the derivatives of the
    velocities' components, so a linear one in world axes becomes vd_b = R^T vd_W - w x v_b.

    Args:
        robot: The robot, with a free or ball joint.
        convention: "pinocchio", "mujoco", "idyntree" (its mixed representation, with a quaternion x y z w for the pose) or
            "taupi".

    Returns:
        A program of (q, qd, qdd, tau) with the same outputs.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r").floating_base()
    >>> program = tp.floating.from_base(arm, "mujoco")
    >>> q, qd, qdd, tau = program([0, 0, 1, 1, 0, 0, 0, 0.1, 0.2], range(8), [0.0] * 8, range(8))
    >>> q.tolist(), qd.tolist()
    ([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.1, 0.2], [3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 6.0, 7.0])
    """
    other = _convention(robot, convention)

    def body(chain: Chain, q: Vector, qd: Vector, qdd: Vector, tau: Vector) -> tuple[Vector, ...]:
        ours = _positions(chain, q, other, to_taupi=True)
        h = ours[3:7]
        turn, slide = _turns(other, quaternion_rotation(h))
        (w, v), (wd, vd), (n, f) = (_ours(other, x) for x in (qd, qdd, tau))
        w_b, v_b = turn @ w, slide @ v
        vd_b = slide @ vd - (cs.cross(w_b, v_b) if other.linear_axes == "world" else SX.zeros(3))
        return (
            ours,
            cs.vertcat(w_b, v_b, qd[6:]),
            cs.vertcat(turn @ wd, vd_b, qdd[6:]),
            cs.vertcat(turn @ n, slide @ f, tau[6:]),
        )

    quaternions = partial(_positions, convention=other, to_taupi=True)
    return _conversion("from_base", robot, body, quaternions, lambda name: other.quaternion == "first" and name == "q")


@builder
def to_base(robot: Robot, convention: str) -> Program:
    """Return a program that takes our (q, qd, qdd, tau) of a floating `robot` and returns them as another library writes them.

    It is the inverse of `from_base`; `convention` is the same.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r").floating_base()
    >>> _, qd, _, tau = tp.floating.to_base(arm, "pinocchio")([0] * 6 + [1, 0, 0], range(8), [0.0] * 8, range(8))
    >>> qd.tolist()
    [3.0, 4.0, 5.0, 0.0, 1.0, 2.0, 6.0, 7.0]
    """
    other = _convention(robot, convention)

    def body(chain: Chain, q: Vector, qd: Vector, qdd: Vector, tau: Vector) -> tuple[Vector, ...]:
        theirs = _positions(chain, q, other, to_taupi=False)
        h = q[3:7]
        turn, slide = _turns(other, quaternion_rotation(h))
        w, v, wd, vd = qd[:3], qd[3:6], qdd[:3], qdd[3:6]
        moved = vd + (cs.cross(w, v) if other.linear_axes == "world" else SX.zeros(3))
        return (
            theirs,
            cs.vertcat(_theirs(other, turn.T @ w, slide.T @ v), qd[6:]),
            cs.vertcat(_theirs(other, turn.T @ wd, slide.T @ moved), qdd[6:]),
            cs.vertcat(_theirs(other, turn.T @ tau[:3], slide.T @ tau[3:6]), tau[6:]),
        )

    quaternions = partial(_positions, convention=other, to_taupi=False)
    return _conversion("to_base", robot, body, quaternions, lambda name: False)


def _conversion(
    name: str,
    robot: Robot,
    of_base: Callable[..., tuple[Vector, ...]],
    quaternions: Callable[[Chain, Vector], Vector],
    other: Callable[[str], bool],
) -> Program:
    """Return the program of a robot: by `of_base` if its base floats, else only the `quaternions` of ball joints change."""

    def of_ball_joints(chain: Chain, q: Vector, *rest: Vector) -> tuple[Vector, ...]:
        return quaternions(chain, q), *rest

    body = of_base if robot.floating else of_ball_joints
    ports = [Port(p.name, p.shape) if other(p.name) else p for p in (joint_port(robot, k) for k in _STATE)]
    outputs = [Port(f"{p.name}_out", p.shape) for p in ports]
    return watched(trace_robot(name, robot, body, ports, outputs), robot)
