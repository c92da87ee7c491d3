"""A robot over SX: placements, screws and bodies, the two walks over the tree that all algorithms share, and how to trace one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial, wraps
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from taupi.dynamics.orientation import quaternion_rate, quaternion_rotation, watched
from taupi.dynamics.spatial import adjoint, axis_rotation, compose, inverse, spatial_inertia
from taupi.dynamics.types import SX, ArrayLike, Expression, Formula, Matrix, Pose, Vector
from taupi.errors import TaupiError
from taupi.model.massless import warn_of_no_masses
from taupi.model.parameters import Parameters
from taupi.model.placement import Placement
from taupi.model.robot import BASE, Joint, Robot
from taupi.model.robot_parts import FREE, MULTIPLE
from taupi.model.scalars import Scalar, is_symbolic
from taupi.program.casadi_on_use import cs
from taupi.program.program import Constants, Port, Program, trace
from taupi.program.requested_program import requested

T = TypeVar("T")


class Chain:
    """A robot over SX, which an algorithm asks for its joints, links and frames.

    `robot` is what it describes, `constants` collects its numbers: each one that is not trivial becomes a named constant of
    the trace, so that geometry stays exact.
    """

    def __init__(self, robot: Robot, constants: Constants) -> None:
        self.robot, self.constants = robot, constants
        self.n, self.links = robot.n, len(robot.links)
        self.values = dict(robot.symbols)
        self.gravity = self.vector("gravity", robot.gravity)
        self.base = base = self._placement("base", robot.base)
        self._before = []
        for joint in robot.joints:
            before = self._placement(f"{joint.name}.before", joint.before)
            self._before.append(compose(base, before) if joint.parent == BASE else before)
        self._after = [self._placement(f"{j.name}.after", j.after) for j in robot.joints]
        self._axis = [self.vector(f"{j.name}.axis", j.axis) for j in robot.joints]

    # Exact numbers to SX ------------------------------------------------------------------------------------------

    def scalar(self, name: str, x: Scalar) -> Expression:
        """Return the SX of an exact scalar `x`, which the trace calls `name`."""
        return _from_sympy(x, self) if is_symbolic(x) else self.constants(name, x)

    def vector(self, name: str, x: Sequence[Scalar]) -> Vector:
        """Return the SX column of exact scalars `x`, which the trace calls `name[0]`, `name[1]` and so on."""
        return cs.vertcat(*(self.scalar(f"{name}[{k}]", v) for k, v in enumerate(x)))

    def _placement(self, name: str, placement: Placement) -> Pose:
        rows = [
            cs.horzcat(*(self.scalar(f"{name}.R[{i},{j}]", v) for j, v in enumerate(r)))
            for i, r in enumerate(placement.rotation)
        ]
        return cs.vertcat(*rows), self.vector(f"{name}.p", placement.translation)

    # Joints and bodies --------------------------------------------------------------------------------------------

    def stages(self, i: int, q: Expression) -> tuple[Pose, Pose, Pose]:
        """Return the three poses whose product places link `i` in its parent at the joint position `q`: before, motion, after."""
        axis, joint = self._axis[i], self.robot.joints[i]
        if joint.kind in MULTIPLE:
            place = q[:3] if joint.kind == FREE else SX.zeros(3)
            return self._before[i], (quaternion_rotation(q[-4:]), place), self._after[i]
        slides = joint.prismatic
        motion = (SX.eye(3), axis * q) if slides else (axis_rotation(axis, q), SX.zeros(3))
        return self._before[i], motion, self._after[i]

    def placement(self, i: int, q: Expression) -> Pose:
        """Return (R, p) of link frame `i` in its parent's frame at the joint position `q`."""
        before, motion, after = self.stages(i, q)
        return compose(compose(before, motion), after)

    def axis(self, i: int) -> Vector:
        """Return the unit axis of joint `i`, in the frame between `before` and `after`."""
        return self._axis[i]

    def screw(self, i: int) -> Vector:
        """Return A_i, the screw of joint `i` in link frame `i`, constant (equations.md, D11); one column per velocity."""
        zero = SX.zeros(3)
        axis, joint = self._axis[i], self.robot.joints[i]
        if joint.kind in MULTIPLE:
            return adjoint(*inverse(*self._after[i])) @ SX.eye(6)[:, : joint.dof]
        own = cs.vertcat(zero, axis) if joint.prismatic else cs.vertcat(axis, zero)
        return adjoint(*inverse(*self._after[i])) @ own

    def body(self, i: int) -> Vector:
        """Return the ten parameters of link `i`."""
        names = self.robot.parameters.layout.names[self.robot.parameters.layout.link(i)]
        return cs.vertcat(*(self.scalar(n, v) for n, v in zip(names, self.robot.links[i].body, strict=True)))

    def inertia(self, i: int) -> Matrix:
        """Return the spatial inertia G_i in link frame `i`."""
        return spatial_inertia(self.body(i))

    def frame(self, name: str) -> tuple[int, Pose]:
        """Return the link that the frame `name` is fixed to, and its constant pose there."""
        frame = self.robot.frame(name)
        return frame.link, self._placement(f"frame {frame.name}", frame.placement)

    # Coordinates --------------------------------------------------------------------------------------------------

    def spread(self, x: Vector) -> list[Expression]:
        """Return one rate per joint from `x`, one per coordinate: its ratios times the coordinates that drive it.

        That of a free or ball joint is a vector, its six or three velocities.
        """
        return [self._of_joint(j, x, j.coordinate, j.dof, lambda k: k) for j in self.robot.joints]

    def places(self, q: Vector) -> list[Expression]:
        """Return one position per joint from `q`, as `spread` does for rates; seven for a free joint, four for a ball joint."""
        at = self.robot.position_index
        return [self._of_joint(j, q, at(j.coordinate), j.size, at) for j in self.robot.joints]

    def _of_joint(self, joint: Joint, x: Vector, start: int, size: int, at: Callable[[int], int]) -> Expression:
        if joint.kind in MULTIPLE:
            return x[start : start + size]
        (_, ratio), *more = self.drives_of(joint)
        return sum((r * x[at(k)] for k, r in more), ratio * x[start])

    def gather(self, rows: Sequence[Matrix]) -> Matrix:
        """Return one row per coordinate from `rows`, one per joint: the transpose of `spread`, for forces and Jacobians.

        A free or ball joint has its own six or three rows.
        """
        result: list[Matrix] = [0] * self.n
        for joint, row in zip(self.robot.joints, rows, strict=True):
            if joint.kind in MULTIPLE:
                result[joint.coordinate : joint.coordinate + joint.dof] = cs.vertsplit(row)
                continue
            for k, ratio in self.drives_of(joint):
                result[k] = result[k] + ratio * row
        return cs.vertcat(*result)

    def split(self, matrix: Matrix) -> list[Matrix]:
        """Return the rows of each joint from a matrix over the velocities of all joints."""
        ends = [0]
        for joint in self.robot.joints:
            ends.append(ends[-1] + joint.dof)
        return [matrix[a:b, :] for a, b in pairwise(ends)]

    def own_positions(self, q: Vector) -> list[Expression]:
        """Return the position of each coordinate that a motor drives, in the order of `robot.actuated`."""
        return [q[self.robot.position_index(k)] for k in self.robot.actuated]

    def at_motors(self, values: Vector) -> Matrix:
        """Return the matrix, n x motors, with one of `values` (motors,) in the row of each motor's coordinate."""
        motors = self.robot.actuated
        if len(motors) == self.n:
            return cs.diag(values)
        result = SX(self.n, len(motors))
        for column, row in enumerate(motors):
            result[row, column] = values[column]
        return result

    def rate(self, q: Vector, qd: Vector) -> Vector:
        """Return dq/dt: qd, but (R v, h o w / 2) for a free joint and h o w / 2 for a ball joint, with the quaternion h."""
        multiple = self.robot.multiple_joints
        if not multiple:
            return qd
        rates = cs.vertsplit(qd)
        for joint in reversed(multiple):
            at, k = self.robot.position_index(joint.coordinate), joint.coordinate
            h, w = q[at + joint.size - 4 : at + joint.size], qd[k : k + 3]
            moved = [quaternion_rate(h, w)]
            if joint.kind == FREE:
                moved.insert(0, quaternion_rotation(h) @ qd[k + 3 : k + 6])
            rates[k : k + joint.dof] = moved
        return cs.vertcat(*rates)

    def derivative(self, expression: Matrix, q: Vector) -> Matrix:
        """Return the derivative of a column that depends on q along every velocity: df/dq, times dq/dt per velocity."""
        v = SX.sym("v", self.n)
        return cs.jacobian(expression, q) @ cs.jacobian(self.rate(q, v), v)

    def gradient(self, value: Expression, q: Vector) -> Vector:
        """Return the derivatives of a number that depends on q along every velocity, as a column."""
        return self.derivative(value, q).T

    def time_derivative(self, expression: Matrix, q: Vector, qd: Vector) -> Matrix:
        """Return the time derivative of a matrix that depends on q, along qd."""
        column = cs.densify(cs.vec(expression))
        return cs.reshape(cs.jtimes(column, q, self.rate(q, qd)), *expression.shape)

    def drives_of(self, joint: Joint) -> list[tuple[int, Expression]]:
        """Return the coordinates that move a `joint` of one degree of freedom, its own first, with their ratios."""
        own = (joint.coordinate, self.scalar(f"{joint.name}.ratio", joint.ratio))
        return [own, *((k, self.scalar(f"{joint.name}.ratio[{k}]", r)) for k, r in joint.also)]

    # The two walks ------------------------------------------------------------------------------------------------

    def outward(self, step: Callable[[int, T], T], base: T) -> list[T]:
        """Walk from the base to the tips: the value of link i is step(i, value of its parent), and `base` that of the base."""
        values: list[T] = []
        for i, joint in enumerate(self.robot.joints):
            values.append(step(i, base if joint.parent == BASE else values[joint.parent]))
        return values

    def inward(self, own: Callable[[int], T], carry: Callable[[int, T], T]) -> list[T]:
        """Walk from the tips to the base: the value of link i is own(i) + the sum of carry(c, value of c) over its children c."""
        values: list[Any] = [own(i) for i in range(self.links)]
        for i in reversed(range(self.links)):
            parent = self.robot.joints[i].parent
            if parent != BASE:
                values[parent] = values[parent] + carry(i, values[i])
        return values

    def children(self, i: int) -> list[int]:
        """Return the links whose parent is link `i`."""
        return [c for c, joint in enumerate(self.robot.joints) if joint.parent == i]


def require_robot(robot: object) -> None:
    """Refuse anything that is not a robot."""
    if not isinstance(robot, Robot):
        raise TaupiError(
            "{robot} is {got}, expected a Robot: use taupi.load(...) or Robot.from_...", got=type(robot).__name__
        )


def configurations(robot: Robot, q: ArrayLike | None = None) -> np.ndarray:
    """Return configurations to draw or tabulate as (k, n), from one `q` (n,) or several (k, n); zero by default."""
    if isinstance(q, str | os.PathLike):
        raise TaupiError("{q} is {got!r}, expected joint positions.", remedy="Name a file by {path=...}.", got=str(q))
    try:
        states = np.atleast_2d(neutral(robot) if q is None else np.asarray(q, dtype=float))
    except (TypeError, ValueError):
        raise TaupiError("{q} is not an array of numbers, expected shape ({nq},) or (k, {nq}).", nq=robot.nq) from None
    if states.ndim != 2 or states.shape[1] != robot.nq or not len(states):
        per = "one value per joint" if robot.nq == robot.n else f"{', '.join(robot.position_names[:8])}, ..."
        raise TaupiError(
            "{q} has shape {got}, expected ({nq},) or (k, {nq}): {per}.", got=np.asarray(q).shape, nq=robot.nq, per=per
        )
    if not np.isfinite(states).all():
        raise TaupiError("{q} has entries that are not finite.")
    return states


def neutral(robot: Robot) -> np.ndarray:
    """Return the positions (nq,) of `robot` with every joint at zero and every quaternion the identity.

    Args:
        robot: The robot, nq positions.

    Returns:
        The positions (nq,), rad or m.

    >>> import taupi as tp
    >>> tp.floating.neutral(tp.load("elbow2r", floating=True)).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    """
    return np.array([1.0 if name.endswith(".hw") and k >= 3 else 0.0 for k, name in enumerate(robot.position_names)])


def random_positions(robot: Robot, count: int) -> np.ndarray:
    """Return positions (count, nq) from (-1.5, 1.5), in rad or m, the same in each call; quaternions have length one."""
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (count, robot.nq))
    for joint in robot.multiple_joints:
        end = robot.position_index(joint.coordinate) + joint.size
        q[:, end - 4 : end] /= np.linalg.norm(q[:, end - 4 : end], axis=1, keepdims=True)
    return q


def joint_port(robot: Robot, name: str) -> Port:
    """Return an input called `name` with one value per coordinate of the robot; positions, "q", have one more per quaternion."""
    if name == "q" and robot.nq > robot.n:  # there are quaternions
        return Port(
            name, (robot.nq,), robot.position_names, "positions, with a quaternion x y z w per free or ball joint"
        )
    return Port(name, (robot.n,), robot.joint_names, "one value per joint")


def trace_robot(
    name: str,
    robot: Robot,
    body: Callable[..., object],
    inputs: Sequence[str | Port],
    outputs: Sequence[Port],
    parameters: Parameters | None = None,
) -> Program:
    """Trace an algorithm on a robot and return the program, called `name`.

    `body(chain, *inputs)` is the algorithm over SX. `inputs` are ports; a string stands for one value per joint. `outputs`
    are the ports of what it returns, and `parameters` what the columns of the first output stand for.
    """
    constants = Constants()
    chain = Chain(robot, constants)
    ports = [joint_port(robot, p) if isinstance(p, str) else p for p in inputs]
    program = trace(name, partial(body, chain), ports, outputs, constants, parameters)
    return watched(program, robot) if "q" in inputs else program


Builder = TypeVar("Builder", bound=Callable[..., object])
# All functions that make programs of a robot, by name, once their modules are imported.
BUILDERS: dict[str, Callable[..., object]] = {}


def builder(function: Builder) -> Builder:
    """Cache the programs that a function builds, so that `tp.mass_matrix(robot)(q)` traces and compiles once per robot.

    Another process that needs the same program finds its machine code on disk.
    """
    cached = lru_cache(maxsize=256)(partial(requested, function))

    @wraps(function)
    def build(robot: Robot, *args: object, **kwargs: object) -> object:
        require_robot(robot)
        if any(isinstance(v, set | frozenset) for v in (*args, *kwargs.values())):
            raise TaupiError("{function} got a set, which has no order: use a tuple.", function=function.__name__)
        frozen = {k: tuple(v) if isinstance(v, list) else v for k, v in kwargs.items()}
        try:
            return cached(robot, *(tuple(a) if isinstance(a, list) else a for a in args), **frozen)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise
            raise TaupiError(
                "{function} got an argument that is not hashable ({error}): freeze its class.",
                function=function.__name__,
                error=error,
            ) from None

    BUILDERS[function.__name__] = build
    return build  # type: ignore[return-value]


def mass_builder(function: Builder) -> Builder:
    """Do what `builder` does for programs that are zero without masses: say so, once per robot, if no link has one."""
    program_of = builder(function)

    @wraps(function)
    def build(robot: Robot, *args: object, **kwargs: object) -> object:
        require_robot(robot)
        warn_of_no_masses(robot)
        return program_of(robot, *args, **kwargs)

    BUILDERS[function.__name__] = build
    return build  # type: ignore[return-value]


def _from_sympy(x: Formula, chain: Chain) -> Expression:
    """Return the SX of a SymPy expression: sums, products, powers, sin, cos and the robot's symbols."""
    import sympy

    if isinstance(x, sympy.Symbol):
        return chain.constants(x.name, chain.values.get(x.name), named=True)
    if isinstance(x, sympy.Rational):
        return chain.constants(f"number {x}", Fraction(int(x.p), int(x.q)))
    if x is sympy.pi:
        return SX(float(sympy.pi))
    arguments = [_from_sympy(a, chain) for a in x.args]
    if isinstance(x, sympy.Pow):
        return _power(x, arguments[0])
    if isinstance(x, sympy.sin | sympy.cos):
        return (cs.sin if isinstance(x, sympy.sin) else cs.cos)(arguments[0])
    if isinstance(x, sympy.Add | sympy.Mul):
        result = arguments[0]
        for a in arguments[1:]:
            result = result + a if isinstance(x, sympy.Add) else result * a
        return result
    raise TaupiError("The expression {x} has parts other than + - * / ** sin cos sqrt.", x=x)


def _power(x: Formula, base: Expression) -> Expression:
    import sympy

    exponent = x.exp
    if exponent == sympy.Rational(1, 2):
        return cs.sqrt(base)
    if not exponent.is_Integer:
        raise TaupiError(
            "The expression {x} has the power {exponent}, expected a whole number or 1/2.", x=x, exponent=exponent
        )
    result = base
    for _ in range(abs(int(exponent)) - 1):
        result = result * base
    return result if exponent > 0 else 1 / result
