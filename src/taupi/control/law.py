"""The base of every control law: frozen settings, a program of its torque and adaptation, and a state with a step."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from taupi.control.estimated_chain import EstimatedChain
from taupi.control.gains import times
from taupi.control.parameter_choice import ParameterChoice
from taupi.dynamics.chain import Chain, joint_port
from taupi.dynamics.types import ArrayLike, Expression, Matrix, Vector
from taupi.errors import Argument, TaupiError, shown
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace
from taupi.settings import described_fields

_NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class LawState:
    """What a law remembers: its estimate `parameters` (..., p), and the `memory` (..., k) of whatever else it integrates."""

    parameters: np.ndarray
    memory: np.ndarray = field(default_factory=lambda: _NOTHING)

    @property
    def vector(self) -> np.ndarray:
        """Both in one array, as `law.program()` takes them."""
        return np.concatenate([self.parameters, self.memory], axis=-1) if self.memory.size else self.parameters


@dataclass(frozen=True)
class Signals:
    """What a law sees, as SX: the motion, and the desired motion (of the joints, or of a task)."""

    q: Vector
    qd: Vector
    q_des: Vector
    qd_des: Vector
    qdd_des: Vector

    def reference(self, gain: np.ndarray) -> tuple[Vector, Vector, Vector]:
        """Return qrd = qd_des - Lambda e, qrdd = qdd_des - Lambda de/dt and s = qd - qrd (Kubozono et al., eqs. 29, 30)."""
        e, rate = self.q - self.q_des, self.qd - self.qd_des
        qrd = self.qd_des - times(gain, e)
        return qrd, self.qdd_des - times(gain, rate), self.qd - qrd


@dataclass(frozen=True)
class Claim:
    """What is claimed of a law, as SX: a function V, its rate of change, and the part V_1 without parameters."""

    value: Expression
    rate: Expression
    kinetic: Expression


@dataclass(frozen=True)
class Truth:
    """The plant as SX: a chain with its true bodies, its mass matrix, its friction, and all parameters that the law counts."""

    chain: EstimatedChain
    mass: Matrix
    friction: Callable[[Vector, Vector], Vector]  # (q, qd) -> torque
    parameters: Vector


@dataclass(frozen=True, eq=False)
class Law:
    """What all laws share. `torque` and `adaptation` take arrays (..., n); leading axes are batch axes.

    Attributes:
        robot: The robot to control, as the law knows it.
    """

    robot: Robot
    name: ClassVar[str] = "law"
    measured: ClassVar[tuple[str, str]] = ("q", "qd")  # what the law sees: joints, or motors
    wanted: ClassVar[tuple[str, str, str]] = ("q_des", "qd_des", "qdd_des")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__doc__ = _with_shared_settings(cls)

    # What each law defines ----------------------------------------------------------------------------------------

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and dx/dt over SX.

        `constants` are those of the trace, `signals` what the law sees, `x` is the estimate, then the memory.
        """
        raise NotImplementedError

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return the Lyapunov function and its claimed rate over SX, of the plant as it is in `truth`.

        `signals` are what the law sees, `x` is the estimate, then the memory.
        """
        raise NotImplementedError

    def advance(self, x: Vector, rate: Vector, dt: Expression) -> Vector:
        """Return `x`, which changes at `rate`, after a step of `dt` over SX: by Euler's rule, unless the law has a better one."""
        return x + dt * rate

    def choice(self) -> ParameterChoice:
        """Return which parameters the law has."""
        raise NotImplementedError

    def memory(self) -> np.ndarray:
        """Return the initial value of what the law integrates in addition to its estimate."""
        return _NOTHING

    # What users call ----------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> Parameters:
        """The parameters that the law adapts or uses, with the robot's values."""
        return self.choice().parameters

    @property
    def size(self) -> int:
        """The number of entries of the input pi_hat: parameters, then memory."""
        return len(self.parameters) + len(self.memory())

    def program(self) -> Program:
        """Return tau (n,) and dpi (p,) of (q, qd, q_des, qd_des, qdd_des, pi_hat), traced once.

        A law with a memory has it after the estimate, in pi_hat and in dpi.
        """
        return self._both

    def step_program(self) -> Program:
        """Return tau and the next pi_hat of (q, qd, q_des, qd_des, qdd_des, pi_hat, dt): what `step` and emitted C run."""
        return self._step

    def torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        q_des: ArrayLike,
        qd_des: ArrayLike,
        qdd_des: ArrayLike,
        parameters: ArrayLike | None = None,
    ) -> np.ndarray:
        """Return tau (..., n), N m or N.

        `q`, `qd` are the motion, `q_des`, `qd_des`, `qdd_des` the desired motion, (..., n) in rad or m and seconds;
        `parameters` is the estimate (..., p), by default the robot's own.
        """
        result: np.ndarray = self._torque(q, qd, q_des, qd_des, qdd_des, self._vector(parameters))
        return result

    def adaptation(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        q_des: ArrayLike,
        qd_des: ArrayLike,
        qdd_des: ArrayLike,
        parameters: ArrayLike | None = None,
    ) -> np.ndarray:
        """Return d pi_hat/dt (..., p) at an estimate `parameters` (..., p), by default the robot's own.

        `q`, `qd`, `q_des`, `qd_des` and `qdd_des` are as in `torque`.
        """
        result: np.ndarray = self._rates(q, qd, q_des, qd_des, qdd_des, self._vector(parameters))
        return result[..., : len(self.parameters)]

    def init(self, parameters: ArrayLike | None = None) -> LawState:
        """Return the state to start with: an estimate `parameters` (..., p), by default the robot's own."""
        p = len(self.parameters)
        vector = self._vector(parameters)
        return LawState(vector[..., :p], vector[..., p:])

    def step(
        self,
        state: LawState,
        q: ArrayLike,
        qd: ArrayLike,
        q_des: ArrayLike,
        qd_des: ArrayLike,
        qdd_des: ArrayLike,
        dt: float,
    ) -> tuple[np.ndarray, LawState]:
        """Return the torque to hold for the next `dt` seconds, and the state after them.

        `state` is what `init` or the last `step` returned; `q`, `qd`, `q_des`, `qd_des` and `qdd_des` are as in `torque`.
        """
        if not (type(dt) is float and 0 < dt < math.inf) and (np.ndim(dt) or not np.isfinite(dt) or dt <= 0):
            raise TaupiError(Argument("dt"), f" is {shown(dt)}, expected a positive number of seconds.")
        if not isinstance(state, LawState):
            raise TaupiError(
                Argument("state"), f" is {type(state).__name__}, expected what law.init() or law.step() returned."
            )
        for k, value in enumerate((q, qd, q_des, qd_des, qdd_des)):
            if not _surely_finite(value) and not np.isfinite(np.asarray(value, dtype=float)).all():
                raise TaupiError(
                    Argument((*self.measured, *self.wanted)[k]),
                    " has entries that are not finite: the loop diverged or a sensor failed.",
                )
        tau, vector = self._step(q, qd, q_des, qd_des, qdd_des, state.vector, dt)
        p = self._estimated
        return tau, LawState(vector[..., :p], vector[..., p:])

    def _vector(self, parameters: ArrayLike | None) -> np.ndarray:
        """Return an estimate followed by the memory, as the programs take it."""
        if parameters is None:
            parameters = self.parameters.values
        vector = np.asarray(parameters, dtype=float)
        p, memory = len(self.parameters), self.memory()
        if vector.ndim < 1 or vector.shape[-1] not in (p, p + len(memory)):
            raise TaupiError(
                Argument("parameters"), f" has shape {vector.shape}, expected (..., {p}): as in law.parameters."
            )
        if memory.size and vector.shape[-1] == p:
            vector = np.concatenate([vector, np.broadcast_to(memory, (*vector.shape[:-1], len(memory)))], axis=-1)
        return vector

    @cached_property
    def _estimated(self) -> int:
        """How many of the entries of pi_hat are parameters."""
        return len(self.parameters)

    # Tracing ------------------------------------------------------------------------------------------------------

    def ports(self) -> list[Port]:
        """Return the inputs of `program()`."""
        joints = [joint_port(self.robot, name) for name in self.measured]
        return [*joints, *self.wanted_ports(), Port("pi_hat", (self.size,), self.parameters.names, "one per parameter")]

    def wanted_ports(self) -> list[Port]:
        """Return the inputs that state the desired motion."""
        return [joint_port(self.robot, name) for name in self.wanted]

    def _traced(
        self, suffix: str, outputs: Sequence[Port], choose: Callable[..., Any], more: Sequence[Port] = ()
    ) -> Program:
        constants = Constants()

        def body(
            q: Vector, qd: Vector, q_des: Vector, qd_des: Vector, qdd_des: Vector, x: Vector, *rest: Expression
        ) -> Any:
            tau, rate = self.control(constants, Signals(q, qd, q_des, qd_des, qdd_des), x)
            return choose(tau, rate, x, *rest)

        return trace(f"{self.name}{suffix}", body, [*self.ports(), *more], outputs, constants)

    @cached_property
    def _both(self) -> Program:
        outputs = [Port("tau", (self.robot.n,)), Port("dpi", (self.size,))]
        return self._traced("", outputs, lambda tau, rate, x: (tau, rate))

    @cached_property
    def _torque(self) -> Program:
        return self._traced("_torque", [Port("tau", (self.robot.n,))], lambda tau, rate, x: tau)

    @cached_property
    def _rates(self) -> Program:
        return self._traced("_adaptation", [Port("dpi", (self.size,))], lambda tau, rate, x: rate)

    @cached_property
    def _step(self) -> Program:
        outputs = [Port("tau", (self.robot.n,)), Port("pi_next", (self.size,))]

        def after(tau: Vector, rate: Vector, x: Vector, dt: Expression) -> tuple[Vector, Vector]:
            return tau, self.advance(x, rate, dt)

        return self._traced("_step", outputs, after, [Port("dt")])

    def estimated(self, constants: Constants, pi_hat: Vector) -> EstimatedChain:
        """Return the robot over SX with the estimate `pi_hat` in place of its parameters; `constants` are the trace's."""
        return EstimatedChain(self.robot, constants, self.choice().expand(Chain(self.robot, constants), pi_hat))


def _surely_finite(value: ArrayLike) -> bool:
    """Return whether a vector is finite, by the sum of its entries: a tenth of the time that NumPy takes to check each.

    False is not conclusive: the sum of large numbers overflows, and what is not a vector of doubles is not examined.
    """
    return type(value) is np.ndarray and value.ndim == 1 and value.dtype == float and math.isfinite(sum(value.tolist()))


def _with_shared_settings(law: type[Law]) -> str:
    """Return a law's docstring with the settings that it shares with others, which are described in its bases."""
    text = inspect.cleandoc(law.__doc__ or "")
    if "Attributes:" in text:
        return text
    fixed = {k for k, v in vars(law).items() if isinstance(v, dataclasses.Field) and not v.init}
    lines = [f"- `{name}`: {text}" for name, text in described_fields(law).items() if name not in fixed]
    body, mark, example = text.partition("\n>>> ")
    return "\n".join([body.rstrip(), "", "Settings:", "", *lines]) + (f"\n\n>>> {example}\n" if mark else "\n")
