"""A robot as SX: the joints' placements, screws and bodies, and the two walks over the tree that every algorithm makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, TypeVar

import casadi as cs
import numpy as np

from taupi.dynamics.spatial import SX, adjoint, axis_rotation, compose, inverse, spatial_inertia
from taupi.errors import TaupiError
from taupi.model.placement import Placement
from taupi.model.robot import BASE, Joint, Robot
from taupi.model.scalars import Scalar, is_symbolic
from taupi.program.program import Constants, Port, Program, trace

T = TypeVar("T")


class Chain:
    """A robot lifted to SX. Geometry stays exact: each non-trivial number is a named constant of the trace."""

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

    def scalar(self, name: str, x: Scalar) -> Any:
        """Return the SX of an exact scalar; its name is what it is called in the trace."""
        return _from_sympy(x, self) if is_symbolic(x) else self.constants(name, x)

    def vector(self, name: str, x: Sequence[Scalar]) -> Any:
        """Return the SX column of exact scalars."""
        return cs.vertcat(*(self.scalar(f"{name}[{k}]", v) for k, v in enumerate(x)))

    def _placement(self, name: str, placement: Placement) -> tuple[Any, Any]:
        rows = [
            cs.horzcat(*(self.scalar(f"{name}.R[{i},{j}]", v) for j, v in enumerate(r)))
            for i, r in enumerate(placement.rotation)
        ]
        return cs.vertcat(*rows), self.vector(f"{name}.p", placement.translation)

    # Joints and bodies --------------------------------------------------------------------------------------------

    def stages(self, i: int, q: Any) -> tuple[tuple[Any, Any], tuple[Any, Any], tuple[Any, Any]]:
        """Return the three placements whose product is link i in its parent: before, motion, after."""
        axis = self._axis[i]
        slides = self.robot.joints[i].prismatic
        motion = (SX.eye(3), axis * q) if slides else (axis_rotation(axis, q), SX.zeros(3))
        return self._before[i], motion, self._after[i]

    def placement(self, i: int, q: Any) -> tuple[Any, Any]:
        """Return (R, p) of link frame i in its parent's."""
        before, motion, after = self.stages(i, q)
        return compose(compose(before, motion), after)

    def axis(self, i: int) -> Any:
        """Return the joint's unit axis, in the frame between `before` and `after`."""
        return self._axis[i]

    def screw(self, i: int) -> Any:
        """Return A_i, the joint's screw in link frame i, which is constant (spec 2.4)."""
        zero = SX.zeros(3)
        axis = self._axis[i]
        own = cs.vertcat(zero, axis) if self.robot.joints[i].prismatic else cs.vertcat(axis, zero)
        return adjoint(*inverse(*self._after[i])) @ own

    def body(self, i: int) -> Any:
        """Return the ten parameters of link i."""
        names = self.robot.parameters.layout.names[self.robot.parameters.layout.link(i)]
        return cs.vertcat(*(self.scalar(n, v) for n, v in zip(names, self.robot.links[i].body, strict=True)))

    def inertia(self, i: int) -> Any:
        """Return the spatial inertia G_i in link frame i."""
        return spatial_inertia(self.body(i))

    def frame(self, name: str) -> tuple[int, tuple[Any, Any]]:
        """Return the link of a named frame and its constant placement there."""
        frame = self.robot.frame(name)
        return frame.link, self._placement(f"frame {frame.name}", frame.placement)

    # Coordinates --------------------------------------------------------------------------------------------------

    def spread(self, x: Any) -> list[Any]:
        """Return one value per joint from one per coordinate: each moves by its ratios times the coordinates that drive it."""
        return [
            sum((r * x[k] for k, r in self._drives(j)[1:]), self._drives(j)[0][1] * x[j.coordinate])
            for j in self.robot.joints
        ]

    def gather(self, rows: Sequence[Any]) -> Any:
        """Return the rows of the coordinates from those of the joints, the transpose of `spread`: forces and Jacobian columns."""
        result: list[Any] = [0] * self.n
        for joint, row in zip(self.robot.joints, rows, strict=True):
            for k, ratio in self._drives(joint):
                result[k] = result[k] + ratio * row
        return cs.vertcat(*result)

    def _drives(self, joint: Joint) -> list[tuple[int, Any]]:
        """Return the coordinates that move a joint, its own first, with their ratios."""
        own = (joint.coordinate, self.scalar(f"{joint.name}.ratio", joint.ratio))
        return [own, *((k, self.scalar(f"{joint.name}.ratio[{k}]", r)) for k, r in joint.also)]

    # The two walks ------------------------------------------------------------------------------------------------

    def outward(self, step: Callable[[int, T], T], base: T) -> list[T]:
        """Walk from the base to the tips: value of link i = step(i, value of its parent)."""
        values: list[T] = []
        for i, joint in enumerate(self.robot.joints):
            values.append(step(i, base if joint.parent == BASE else values[joint.parent]))
        return values

    def inward(self, own: Callable[[int], T], carry: Callable[[int, T], T]) -> list[T]:
        """Walk from the tips to the base: value of link i = own(i) + the sum of carry(c, value of c) over its children c."""
        values: list[Any] = [own(i) for i in range(self.links)]
        for i in reversed(range(self.links)):
            parent = self.robot.joints[i].parent
            if parent != BASE:
                values[parent] = values[parent] + carry(i, values[i])
        return values

    def children(self, i: int) -> list[int]:
        """Return the links that hang on link i."""
        return [c for c, joint in enumerate(self.robot.joints) if joint.parent == i]


def configurations(robot: Robot, q: Any = None) -> np.ndarray:
    """Return configurations as (k, n) for what is drawn or tabulated: one (n,) or several (k, n), by default zero."""
    if isinstance(q, str) or hasattr(q, "__fspath__"):
        raise TaupiError(f"q is {str(q)!r}, expected joint positions. Name a file by path=.")
    try:
        states = np.atleast_2d(np.zeros(robot.n) if q is None else np.asarray(q, dtype=float))
    except (TypeError, ValueError):
        raise TaupiError(f"q is not an array of numbers, expected shape ({robot.n},) or (k, {robot.n}).") from None
    if states.ndim != 2 or states.shape[1] != robot.n or not len(states):
        raise TaupiError(f"q has shape {np.shape(q)}, expected ({robot.n},) or (k, {robot.n}): one value per joint.")
    if not np.isfinite(states).all():
        raise TaupiError("q has entries that are not finite.")
    return states


def joint_port(robot: Robot, name: str) -> Port:
    """Return an input of one value per coordinate."""
    return Port(name, (robot.n,), robot.joint_names, "one value per joint")


def trace_robot(
    name: str,
    robot: Robot,
    body: Callable[..., Any],
    inputs: Sequence[str | Port],
    outputs: Sequence[Port],
    parameters: Any = None,
) -> Program:
    """Trace an algorithm `body(chain, *inputs)` on a robot; inputs named by a string have one value per joint."""
    constants = Constants()
    chain = Chain(robot, constants)
    ports = [joint_port(robot, p) if isinstance(p, str) else p for p in inputs]
    return trace(name, lambda *x: body(chain, *x), ports, outputs, constants, parameters)


Builder = TypeVar("Builder", bound=Callable[..., Any])


def builder(function: Builder) -> Builder:
    """Remember what a builder made, so that `tp.mass_matrix(robot)(q)` traces and compiles once a robot."""
    cached = lru_cache(maxsize=256)(function)

    @wraps(function)
    def build(robot: Robot, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(robot, Robot):
            raise TaupiError(
                f"robot is {type(robot).__name__}, expected a Robot: use taupi.load(...) or Robot.from_..."
            )
        if any(isinstance(v, set | frozenset) for v in (*args, *kwargs.values())):
            raise TaupiError(f"{function.__name__} got a set, which has no order: give a tuple.")
        frozen = {k: tuple(v) if isinstance(v, list) else v for k, v in kwargs.items()}
        try:
            return cached(robot, *(tuple(a) if isinstance(a, list) else a for a in args), **frozen)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise
            raise TaupiError(
                f"{function.__name__} got settings that cannot be remembered ({error}): freeze their class."
            ) from None

    return build  # type: ignore[return-value]


def _from_sympy(x: Any, chain: Chain) -> Any:
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
    raise TaupiError(f"The expression {x} is not made of + - * / ** sin cos sqrt.")


def _power(x: Any, base: Any) -> Any:
    import sympy

    exponent = x.exp
    if exponent == sympy.Rational(1, 2):
        return cs.sqrt(base)
    if not exponent.is_Integer:
        raise TaupiError(f"The expression {x} has the power {exponent}, expected a whole number or 1/2.")
    result = base
    for _ in range(abs(int(exponent)) - 1):
        result = result * base
    return result if exponent > 0 else 1 / result
