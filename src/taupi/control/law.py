"""What every control law is: frozen settings, a program of its torque and adaptation, and a state with a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from taupi.control.gains import times
from taupi.control.parameter_choice import Choice, EstimatedChain
from taupi.dynamics.chain import Chain, joint_port
from taupi.errors import TaupiError, shown
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace

_NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class LawState:
    """What a law remembers from step to step: its estimate (..., p), and whatever else it integrates (..., k)."""

    parameters: np.ndarray
    memory: np.ndarray = field(default_factory=lambda: _NOTHING)

    @property
    def vector(self) -> np.ndarray:
        """Both in one, as `law.program()` takes them."""
        return np.concatenate([self.parameters, self.memory], axis=-1) if self.memory.size else self.parameters


@dataclass(frozen=True)
class Signals:
    """What a law is told, as SX: the motion, and the motion that is wanted (of the joints, or of a task)."""

    q: Any
    qd: Any
    q_des: Any
    qd_des: Any
    qdd_des: Any

    def reference(self, gain: np.ndarray) -> tuple[Any, Any, Any]:
        """Return qrd = qd_des - Lambda e, qrdd = qdd_des - Lambda de/dt and s = qd - qrd (spec A5)."""
        e, rate = self.q - self.q_des, self.qd - self.qd_des
        qrd = self.qd_des - times(gain, e)
        return qrd, self.qdd_des - times(gain, rate), self.qd - qrd


@dataclass(frozen=True)
class Claim:
    """What is claimed of a law, as SX: a function V, its rate of change, and the part V_1 without parameters."""

    value: Any
    rate: Any
    kinetic: Any


@dataclass(frozen=True)
class Truth:
    """The plant as SX: a chain with its true bodies, its own terms, and all of its parameters as the law counts them."""

    chain: EstimatedChain
    mass: Any
    friction: Any  # (q, qd) -> torque
    whole: Any


class Law:
    """The part that laws share. `torque` and `adaptation` take arrays (..., n); leading axes are batch axes."""

    robot: Robot
    name: ClassVar[str] = "law"
    measured: ClassVar[tuple[str, str]] = ("q", "qd")  # what the law sees: joints, or motors
    wanted: ClassVar[tuple[str, str, str]] = ("q_des", "qd_des", "qdd_des")

    # What a law says of itself ------------------------------------------------------------------------------------

    def control(self, constants: Constants, signals: Signals, x: Any) -> tuple[Any, Any]:
        """Return tau and dx/dt over SX; x is the estimate, then the memory."""
        raise NotImplementedError

    def claim(self, truth: Truth, signals: Signals, x: Any) -> Claim:
        """Return the Lyapunov function and its claimed rate over SX."""
        raise NotImplementedError

    def advance(self, x: Any, rate: Any, dt: Any) -> Any:
        """Return the state after a step over SX: by Euler's rule, unless the law has a better one."""
        return x + dt * rate

    def choice(self) -> Choice:
        """Return which parameters the law has."""
        raise NotImplementedError

    def memory(self) -> np.ndarray:
        """Return what the law integrates beside its estimate, at the start."""
        return _NOTHING

    # What people use ----------------------------------------------------------------------------------------------

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

        A law with a memory has it behind the estimate, in pi_hat and in dpi.
        """
        return self._both

    def step_program(self) -> Program:
        """Return tau and the next pi_hat of (q, qd, q_des, qd_des, qdd_des, pi_hat, dt): what `step` and emitted C run."""
        return self._step

    def torque(self, q: Any, qd: Any, q_des: Any, qd_des: Any, qdd_des: Any, parameters: Any = None) -> np.ndarray:
        """Return tau (..., n), N m or N, for an estimate (..., p); by default the robot's own parameters."""
        result: np.ndarray = self._torque(q, qd, q_des, qd_des, qdd_des, self._vector(parameters))
        return result

    def adaptation(self, q: Any, qd: Any, q_des: Any, qd_des: Any, qdd_des: Any, parameters: Any = None) -> np.ndarray:
        """Return d pi_hat/dt (..., p) at an estimate (..., p)."""
        result: np.ndarray = self._rates(q, qd, q_des, qd_des, qdd_des, self._vector(parameters))
        return result[..., : len(self.parameters)]

    def init(self, parameters: Any = None) -> LawState:
        """Return the state to start with: an estimate (..., p), by default the robot's own parameters."""
        p = len(self.parameters)
        vector = self._vector(parameters)
        return LawState(vector[..., :p], vector[..., p:])

    def step(
        self, state: LawState, q: Any, qd: Any, q_des: Any, qd_des: Any, qdd_des: Any, dt: float
    ) -> tuple[np.ndarray, LawState]:
        """Return the torque to hold for the next dt seconds, and the state after them."""
        if not np.ndim(dt) == 0 or not np.isfinite(dt) or dt <= 0:
            raise TaupiError(f"dt is {shown(dt)}, expected a positive number of seconds.")
        if not isinstance(state, LawState):
            raise TaupiError(f"state is {type(state).__name__}, expected what law.init() or law.step() returned.")
        given = dict(zip((*self.measured, *self.wanted), (q, qd, q_des, qd_des, qdd_des), strict=True))
        for name, value in given.items():
            if not np.isfinite(np.asarray(value, dtype=float)).all():
                raise TaupiError(f"{name} has entries that are not finite: the loop diverged or a sensor failed.")
        tau, vector = self._step(*given.values(), state.vector, dt)
        p = len(self.parameters)
        return tau, LawState(vector[..., :p], vector[..., p:])

    def _vector(self, parameters: Any) -> np.ndarray:
        """Return an estimate with the memory behind it, as the programs take it."""
        if parameters is None:
            parameters = self.parameters.values
        vector = np.asarray(parameters, dtype=float)
        p, memory = len(self.parameters), self.memory()
        if vector.ndim < 1 or vector.shape[-1] not in (p, p + len(memory)):
            raise TaupiError(f"parameters has shape {vector.shape}, expected (..., {p}): as in law.parameters.")
        if memory.size and vector.shape[-1] == p:
            vector = np.concatenate([vector, np.broadcast_to(memory, (*vector.shape[:-1], len(memory)))], axis=-1)
        return vector

    # Tracing ------------------------------------------------------------------------------------------------------

    def ports(self) -> list[Port]:
        """Return the inputs of `program()`."""
        joints = [joint_port(self.robot, name) for name in self.measured]
        return [*joints, *self.wanted_ports(), Port("pi_hat", (self.size,), self.parameters.names, "one per parameter")]

    def wanted_ports(self) -> list[Port]:
        """Return the inputs that say which motion is wanted."""
        return [joint_port(self.robot, name) for name in self.wanted]

    def _traced(self, suffix: str, outputs: Sequence[Port], choose: Any, more: Sequence[Port] = ()) -> Program:
        constants = Constants()

        def body(q: Any, qd: Any, q_des: Any, qd_des: Any, qdd_des: Any, x: Any, *rest: Any) -> Any:
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

        def after(tau: Any, rate: Any, x: Any, dt: Any) -> tuple[Any, Any]:
            return tau, self.advance(x, rate, dt)

        return self._traced("_step", outputs, after, [Port("dt")])

    def estimated(self, constants: Constants, pi_hat: Any) -> EstimatedChain:
        """Return the robot over SX with the estimate in place of its parameters."""
        return EstimatedChain(self.robot, constants, self.choice().expand(Chain(self.robot, constants), pi_hat))
