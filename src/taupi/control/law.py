"""The base of every control law: frozen settings, a program of its torque and adaptation, and a state with a step."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from taupi.content import Keyed, content
from taupi.control.estimate import EstimatedChain, ParameterChoice, choose
from taupi.control.gains import BANDWIDTH, Gain, gain, inverse_mass, largest_inertias, overshoot, times
from taupi.dynamics.chain import Chain, joint_port
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import SX, ArrayLike, Expression, Matrix, Vector
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.program.program import Constants, Port, Program, trace
from taupi.settings import described_fields
from taupi.tables import html_table, table

if TYPE_CHECKING:
    from taupi.simulation.references import Motion


_NOTHING = np.zeros(0)


def _nothing(value: object) -> bool:
    """Return whether a setting is not worth a line: None, or empty."""
    return (
        value is None or (isinstance(value, np.ndarray) and not value.size) or (isinstance(value, tuple) and not value)
    )


def _shown(value: object) -> str:
    """Return a setting in a few words."""
    if isinstance(value, np.ndarray) and value.size > 1:
        shape = " x ".join(map(str, value.shape))
        return f"{value.min():.4g} .. {value.max():.4g} ({shape})"
    return f"{np.asarray(value).item():.4g}" if isinstance(value, np.ndarray | float) else shown(value)


_LawT = TypeVar("_LawT", bound="Law")


@dataclass(frozen=True, eq=False)
class LawState:
    """Hold what a law remembers.

    Attributes:
        parameters: Its estimate (..., p).
        memory: Whatever else it integrates, (..., k); by default nothing.
    """

    parameters: np.ndarray
    memory: np.ndarray = field(default_factory=lambda: _NOTHING)

    @property
    def vector(self) -> np.ndarray:
        """Both in one array, as `law.program()` takes them."""
        return np.concatenate([self.parameters, self.memory], axis=-1) if self.memory.size else self.parameters


@dataclass(frozen=True)
class Signals:
    """What a law sees, as SX (n,): the motion, and the desired motion (of the joints, or of a task).

    Attributes:
        q: Positions of the joints, or of the motors.
        qd: Their velocities.
        q_des: The desired positions.
        qd_des: The desired velocities.
        qdd_des: The desired accelerations.
    """

    q: Vector
    qd: Vector
    q_des: Vector
    qd_des: Vector
    qdd_des: Vector

    def reference(self, gain: np.ndarray) -> tuple[Vector, Vector, Vector]:
        """Return qrd = qd_des - Lambda e, qrdd = qdd_des - Lambda de/dt and s = qd - qrd (Kubozono et al., eqs. 29, 30).

        `gain` is Lambda.
        """
        e, rate = self.q - self.q_des, self.qd - self.qd_des
        qrd = self.qd_des - times(gain, e)
        return qrd, self.qdd_des - times(gain, rate), self.qd - qrd


@dataclass(frozen=True)
class Claim:
    """What is claimed of a law, as SX.

    Attributes:
        value: The Lyapunov function V.
        rate: Its rate of change along the closed loop.
        kinetic: V_1, the part of V without parameters.
    """

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
    learns: ClassVar[bool] = False  # whether its estimate changes
    learns_by: ClassVar[str] = "Gamma_inv"  # the gain by which it learns faster or slower
    learns_by_weight: ClassVar[bool] = (
        False  # whether that gain is a weight: a law with a larger one learns more slowly
    )
    pulls_by: ClassVar[str] = "Kp"  # the gain by which it answers to positions, if it has `pull_rates`
    damps_by: ClassVar[str] = "Kd"  # and the one of velocities beside it
    measured: ClassVar[tuple[str, str]] = ("q", "qd")  # what the law sees: joints, or motors
    wanted: ClassVar[tuple[str, str, str]] = ("q_des", "qd_des", "qdd_des")

    def __str__(self) -> str:
        title, rows, notes = self._card()
        return "\n".join([title, *(table(rows) if rows else []), *notes])

    def _repr_html_(self) -> str:
        title, rows, notes = self._card()
        return html_table(title, rows or [("",)], notes)

    def _card(self) -> tuple[str, list[tuple[str, ...]], list[str]]:
        """Return what is worth knowing of it: what it does to which robot, its gains by joint, and its other settings."""
        count = len(self.choice().parameters) if self.learns else 0
        does = f"adapts {count} parameters" if self.learns else "adapts nothing"
        title = (
            f"{type(self).__name__} of {self.robot.name}: {does}{', with a Lyapunov function' if self.proven else ''}"
        )
        settings = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "robot"}
        joints = tuple(self.robot.joint_names[k] for k in self.robot.actuated)
        gains = {k: v for k, v in settings.items() if isinstance(v, np.ndarray) and v.shape == (len(joints),)}
        rows = [("joint", *gains), *zip(joints, *([f"{x:.4g}" for x in v] for v in gains.values()), strict=True)]
        notes = [
            f"{name}: {_shown(value)}" for name, value in settings.items() if name not in gains and not _nothing(value)
        ]
        return title, rows if gains else [], notes

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__doc__ = _with_shared_settings(cls)

    # What each law defines ----------------------------------------------------------------------------------------

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and dx/dt over SX.

        `constants` belong to the trace, `signals` are what the law sees, `x` is the estimate, then the memory.
        """
        raise NotImplementedError

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return the Lyapunov function and its claimed rate over SX, of the plant as it is in `truth`.

        `signals` are what the law sees, `x` is the estimate, then the memory. A law without a proof leaves it out.
        """
        raise TaupiError("{law} has no Lyapunov function of a rigid arm.", law=self.name)

    def advance(self, x: Vector, rate: Vector, dt: Expression) -> Vector:
        """Return `x`, which changes at `rate`, after a step of `dt` over SX: by Euler's rule, unless the law has a better one."""
        return x + dt * rate

    def choice(self) -> ParameterChoice:
        """Return which parameters the law has."""
        raise NotImplementedError

    def memory(self) -> np.ndarray:
        """Return the initial value of what the law integrates in addition to its estimate."""
        return _NOTHING

    def damping_rates(self, inverse: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return M^-1 D (k, n, n), 1/s, the part of each gain in it; D = -dtau/dqd at rest. Nothing if the law has no damping.

        Args:
            inverse: Inverse mass matrices (k, n, n).
            q: The positions (k, n) that they belong to.
        """
        return {}

    def learning_rates(self, inverse: np.ndarray, q: np.ndarray) -> np.ndarray | None:
        """Return M^-1 Y Gamma^-1 Y^T (k, n, n), 1/s^2, at rest: how the torque answers to velocities by what is learnt.

        None if nothing is. `inverse` and `q` are as in `damping_rates`.
        """
        return None

    def pull_rates(self, inverse: np.ndarray, q: np.ndarray) -> np.ndarray | None:
        """Return M^-1 P (k, n, n), 1/s^2; P = -dtau/dq is the gain `pulls_by` of positions.

        None if the law has no such gain. `inverse` and `q` are as in `damping_rates`.
        """
        return None

    def gain_warnings(self, rate: float, robot: Robot, rotors: bool, q: np.ndarray) -> list[str]:
        """Return a sentence if a gain is too high for a loop at `rate` (Hz) around a `robot` at positions `q` (k, n).

        `rotors` says whether the robot's rotors are part of the plant.
        """
        key = (type(self), self._content, rate, robot, rotors, content(q))
        return list(_gain_warnings(Keyed(key, (self, rate, robot, rotors, q))))

    def reference_warnings(self, motion: Motion, time: np.ndarray) -> list[str]:
        """Return sentences about a desired `motion` over `time` (s) that the law knows it cannot follow."""
        return []

    def start_warnings(self, kinetic: Callable[[], float]) -> list[str]:
        """Return sentences about a run whose V_1 at the start is `kinetic()`, J, that the law may not take well."""
        return []

    def decay_rate(self, largest_inertia: Callable[[], float]) -> float:
        """Return r, 1/s, with dV_1/dt <= -r V_1 for exact parameters; H has no eigenvalue above `largest_inertia()`."""
        raise TaupiError(
            "{kind} has no damping K of s: a rate is known for SlotineLi and related laws, and for Walker.",
            kind=type(self).__name__,
        )

    def adjustable(self) -> tuple[str, ...]:
        """Return the names of the gains that a step can take as inputs, see `step_program`; by default none."""
        return ()

    def exceptions(self) -> list[str]:
        """Return why dV/dt may differ from the claim by the law's own settings."""
        return []

    @property
    def proven(self) -> bool:
        """Whether the law states a Lyapunov function of rigid arms."""
        return type(self).claim is not Law.claim

    @property
    def gain_varies(self) -> bool:
        """Whether the gain of its adaptation is part of its memory, which a run does not keep."""
        return False

    def combined_error(self, error: np.ndarray, rate: np.ndarray) -> np.ndarray | None:
        """Return s = de/dt + Lambda e of the joints, (N, n); None if the law has none in joint coordinates.

        `error` is e = q - q_des, (N, n), and `rate` is de/dt.
        """
        return None

    def task_coordinates(self, robot: Robot, q: np.ndarray) -> np.ndarray | None:
        """Return the coordinates (N, m) that follow the reference on a `robot` at `q` (N, n); None if its joints do."""
        return None

    # What users call ----------------------------------------------------------------------------------------------

    @property
    def parameters(self) -> Parameters:
        """The parameters that the law adapts or uses, with the robot's values."""
        return self.choice().parameters

    @property
    def size(self) -> int:
        """The number of entries of the input pi_hat: parameters, then memory."""
        return len(self.parameters) + len(self.memory())

    def initial_estimate(self, share: float) -> np.ndarray:
        """Return an estimate to start from, (p,): a share of the robot's parameters.

        Args:
            share: How much of each parameter is known; 1 is the robot as it is.
        """
        return share * self.parameters.values

    def without_learning(self) -> Law | None:
        """Return the same law with its estimate held; None if it learns nothing, or if one gain does not stop it."""
        return None

    def program(self) -> Program:
        """Return tau (n,) and dpi (p,) of (q, qd, q_des, qd_des, qdd_des, pi_hat), traced once.

        A law with a memory has it after the estimate, in pi_hat and in dpi.
        """
        return self._both

    def step_program(self, arguments: Sequence[str] = ()) -> Program:
        """Return tau and the next pi_hat of (q, qd, q_des, qd_des, qdd_des, pi_hat, dt): what `step` and emitted C run.

        Args:
            arguments: Gains that are inputs after qdd_des instead of constants, such as "K"; by default none. Those of the law
                are in `law.adjustable()`.

        Returns:
            The program.

        >>> import taupi as tp
        >>> law = tp.PDGravity(tp.load("elbow2r"), Kp=100.0, Kd=20.0)
        >>> [port.name for port in law.step_program(["Kp"]).inputs]
        ['q', 'qd', 'q_des', 'qd_des', 'qdd_des', 'Kp', 'pi_hat', 'dt']
        """
        return self._step_of(self.gain_ports(arguments))

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

    def first_state(self) -> LawState:
        """Return the state that an emitted controller starts with: the robot's own parameters, as the law can use them."""
        return self.init()

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
        if type(dt) is float and 0 < dt < math.inf and isinstance(state, LawState):
            arguments = q, qd, q_des, qd_des, qdd_des, state.vector, dt
            if (results := self._step.of_finite(5)(*arguments)) is not None:
                return results[0], self._state(results[1])
        if not (type(dt) is float and 0 < dt < math.inf) and (np.ndim(dt) or not np.isfinite(dt) or dt <= 0):
            raise TaupiError("{dt} is {got!r}, expected a positive number of seconds.", got=dt)
        if not isinstance(state, LawState):
            raise TaupiError(
                "{state} is {got}, expected what law.init() or law.step() returned.", got=type(state).__name__
            )
        for k, value in enumerate((q, qd, q_des, qd_des, qdd_des)):
            if not np.isfinite(np.asarray(value, dtype=float)).all():
                raise TaupiError(
                    "{argument} has entries that are not finite: the loop diverged or a sensor failed.",
                    argument=Argument((*self.measured, *self.wanted)[k]),
                )
        tau, vector = self._step(q, qd, q_des, qd_des, qdd_des, state.vector, dt)
        return tau, self._state(vector)

    def _state(self, vector: np.ndarray) -> LawState:
        p = self._estimated
        return LawState(vector) if vector.shape[-1] == p else LawState(vector[..., :p], vector[..., p:])

    def _vector(self, parameters: ArrayLike | None) -> np.ndarray:
        """Return an estimate followed by the memory, as the programs take it."""
        if parameters is None:
            parameters = self.parameters.values
        vector = np.asarray(parameters, dtype=float)
        p, memory = len(self.parameters), self.memory()
        if vector.ndim < 1 or vector.shape[-1] not in (p, p + len(memory)):
            raise TaupiError(
                "{parameters} has shape {got}, expected (..., {p}): as in law.parameters.", got=vector.shape, p=p
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

    def signal_ports(self, arguments: Sequence[str] = ()) -> list[Port]:
        """Return the inputs of a step but for state and time: the motion, the wanted motion, and gains that are `arguments`."""
        return [*self.ports()[:-1], *self.gain_ports(arguments)]

    def gain_ports(self, names: Sequence[str]) -> list[Port]:
        """Return the inputs that gains of some `names` are."""
        known = self.adjustable()
        for k, name in enumerate(names):
            if name not in known:
                raise unknown("gain that can be an argument", name, known, self.name)
            if name in names[:k]:
                raise TaupiError("{arguments} has {name} twice.", name=name)
        return [Port(name, self.gain_named(name).shape, (), "a gain") for name in names]

    def gain_named(self, name: str) -> np.ndarray:
        """Return the gain called `name`: one number, its diagonal, or a matrix."""
        return np.asarray(vars(self)[name], dtype=float)

    def wanted_ports(self) -> list[Port]:
        """Return the inputs that state the desired motion."""
        return [joint_port(self.robot, name) for name in self.wanted]

    def _traced(
        self,
        suffix: str,
        outputs: Sequence[Port],
        choose: Callable[..., object],
        more: Sequence[Port] = (),
        gains: Sequence[Port] = (),
    ) -> Program:
        """Return a program of this law; laws with the same content share it, so that none is traced twice."""
        *signals, pi_hat = self.ports()

        def traced() -> Program:
            constants = Constants()

            def body(*inputs: Expression) -> object:
                motion, given, (x, *rest) = inputs[:5], inputs[5 : 5 + len(gains)], inputs[5 + len(gains) :]
                law = self.with_traced_gains({port.name: value for port, value in zip(gains, given, strict=True)})
                tau, rate = law.control(constants, Signals(*motion), x)
                return choose(tau, rate, x, *rest)

            return trace(f"{self.name}{suffix}", body, [*signals, *gains, pi_hat, *more], outputs, constants)

        return _program(Keyed((type(self), suffix, tuple(port.name for port in gains), self._content), traced))

    def with_traced_gains(self: _LawT, gains: Mapping[str, Expression]) -> _LawT:
        """Return the law with other `gains`, unchecked: numbers, or symbols of a trace."""
        if not gains:
            return self
        law = copy.copy(self)
        vars(law).update({**self._given, **gains})
        for name in vars(law).keys() - self._given.keys():
            del vars(law)[name]  # derived from the law's own gains
        return law

    @property
    def _content(self) -> Hashable:
        """All that was given to this law, and nothing that it only keeps."""
        return tuple((name, content(value)) for name, value in sorted(self._given.items()))

    @property
    def _given(self) -> dict[str, object]:
        kind = type(self)
        return {k: v for k, v in vars(self).items() if not isinstance(getattr(kind, k, None), cached_property)}

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
        return self._step_of(())

    def _step_of(self, gains: Sequence[Port]) -> Program:
        """Return the step, of which some `gains` are inputs."""
        outputs = [Port("tau", (self.robot.n,)), Port("pi_next", (self.size,))]

        def after(tau: Vector, rate: Vector, x: Vector, dt: Expression) -> tuple[Vector, Vector]:
            return tau, self.advance(x, rate, dt)

        return self._traced("_step", outputs, after, [Port("dt")], gains)

    def estimated(self, constants: Constants, pi_hat: Vector) -> EstimatedChain:
        """Return the robot over SX with the estimate `pi_hat` in place of its parameters; `constants` are the trace's."""
        return EstimatedChain(self.robot, constants, self.choice().expand(Chain(self.robot, constants), pi_hat))


@lru_cache(maxsize=64)
def _gain_warnings(asked: Keyed[tuple[Law, float, Robot, bool, np.ndarray]]) -> tuple[str, ...]:
    law, rate, robot, rotors, q = asked.value
    found = overshoot(law, rate, inverse_mass(robot, rotors, q), q)
    return () if found is None else (f"{found.text}. {found.remedy}".removesuffix("."),)


@lru_cache(maxsize=256)
def _program(request: Keyed[Callable[[], Program]]) -> Program:
    return request.value()


def _with_shared_settings(law: type[Law]) -> str:
    """Return a law's docstring with all of its settings under "Attributes:", those too that its bases describe."""
    text = inspect.cleandoc(law.__doc__ or "")
    fixed = {k for k, v in vars(law).items() if isinstance(v, dataclasses.Field) and not v.init}
    lines = [f"    {name}: {text}" for name, text in described_fields(law).items() if name not in fixed]
    body, mark, example = text.partition("\n>>> ")
    body = body.partition("\nAttributes:\n")[0].rstrip()
    return "\n".join([body, "", "Attributes:", *lines]) + (f"\n\n>>> {example}\n" if mark else "\n")


@dataclass(frozen=True, eq=False)
class FixedLaw(Law):
    """A law whose parameters never change: d pi/dt = 0.

    Attributes:
        Kp: Gain of the position error, positive: a number, one per joint (n,), or a matrix (n, n); by default 25/s^2 times the
            largest M_ii.
        Kd: Gain of the velocity error, likewise; by default 10/s times the largest M_ii, critical damping at 5 rad/s.
    """

    Kp: Gain = None
    Kd: Gain = None

    def __post_init__(self) -> None:
        self.choice()
        self.settle_gains(largest_inertias(self.robot) if self.Kp is None or self.Kd is None else 1.0)

    def settle_gains(self, scale: np.ndarray | float) -> None:
        """Check the gains; defaults make each joint critically damped at 5 rad/s, with an inertia of `scale`."""
        Kp, Kd = BANDWIDTH**2 * np.asarray(scale), 2 * BANDWIDTH * np.asarray(scale)
        for name, value, default in (("Kp", self.Kp, Kp), ("Kd", self.Kd, Kd)):
            object.__setattr__(self, name, gain(name, default if value is None else value, self.robot.n))

    def adjustable(self) -> tuple[str, ...]:
        """Return both gains."""
        return ("Kp", "Kd")

    def choice(self) -> ParameterChoice:
        """Return all parameters."""
        return self._choice

    @cached_property
    def _choice(self) -> ParameterChoice:
        return choose(self.robot, self.compensated_terms(), None)

    def compensated_terms(self) -> TermsLike:
        """Return the joint terms that the law's model has; none by default."""
        return ()

    def held(self) -> Vector:
        """Return the rate of what never changes."""
        return SX.zeros(self.size)
