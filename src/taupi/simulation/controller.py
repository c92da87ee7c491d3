"""A controller as a simulation sees it: a law, a program, a Python function, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np

from taupi.checks import real_array
from taupi.dynamics.types import ArrayLike, Vector
from taupi.errors import TaupiError
from taupi.model.parameters import Parameters
from taupi.model.robot import Robot
from taupi.program.program import Port, Program
from taupi.simulation.horizon import Horizon
from taupi.simulation.references import Motion

_WANTED = ("q_des", "qd_des", "qdd_des")
ControllerLike: TypeAlias = Any  # a law, a Program, a function (t, q, qd) -> tau, a Controller, or None
MOTORS = ("theta", "thetad")  # what laws of elastic robots see


class ControlState(Protocol):
    """What a law remembers."""

    @property
    def vector(self) -> np.ndarray:
        """Its estimate, then whatever else it integrates, (..., p + k)."""
        ...


@runtime_checkable
class ControlLaw(Protocol):
    """What a simulation needs of a control law."""

    wanted: ClassVar[tuple[str, str, str]]  # the inputs of its program that state the desired motion

    @property
    def parameters(self) -> Parameters:
        """The parameters of its estimate."""
        ...

    def program(self) -> Program:
        """Return tau and d pi_hat/dt of the motion, the desired motion and pi_hat."""
        ...

    def step_program(self) -> Program:
        """Return tau and the next pi_hat, which also depend on the period dt."""
        ...

    def init(self, parameters: ArrayLike | None = None) -> ControlState:
        """Return the state to start with, at an estimate `parameters` (..., p)."""
        ...

    def reference_warnings(self, motion: Motion, time: np.ndarray) -> list[str]:
        """Return sentences about a desired `motion` over `time` (s) that the law knows it cannot follow."""
        ...

    def gain_warnings(self, rate: float, robot: Robot, rotors: bool, q: np.ndarray) -> list[str]:
        """Return a sentence if a gain is too high for a loop at `rate` (Hz) around a `robot` at positions `q` (k, n)."""
        ...


@dataclass(frozen=True, eq=False)
class Controller:
    """A law, a program or a function in its parts: programs of the law, where its estimate starts, or the function to call.

    `rate` is tau and d pi_hat/dt, for continuous control; `step` is tau and the next estimate, for control at a rate. `start`
    is (p,), or (B, p) where every roll-out has its own.
    """

    name: str
    rate: Program | None = None
    step: Program | None = None
    function: Callable[..., object] | None = None
    start: np.ndarray | None = None
    labels: tuple[str, ...] = ()
    wanted: tuple[str, str, str] = _WANTED
    reference_warnings: Callable[..., list[str]] | None = None  # (motion, time) -> why a reference cannot be followed
    gain_warnings: Callable[..., list[str]] | None = None  # (rate, robot, rotors, q) -> gains that are too high

    @classmethod
    def of(cls, controller: ControllerLike, n: int, parameters: ArrayLike | None = None) -> Controller:
        """Return the controller of a law, a Program, a function (t, q, qd) -> tau, or None, for n joints.

        `parameters` is where the estimate starts.
        """
        if isinstance(controller, Controller):
            return controller
        if controller is None:
            return cls("none")
        if isinstance(controller, Program):
            return cls._of_program(controller, n, parameters)
        if isinstance(controller, ControlLaw):
            return cls._of_law(controller, n, parameters)
        if not callable(controller):
            raise TaupiError(
                "{controller} is {got!r}, expected a law, a Program, a function (t, q, qd) -> tau, torques "
                "(N, n), or None.",
                got=controller,
            )
        return cls(getattr(controller, "__name__", type(controller).__name__), function=controller)

    @classmethod
    def _of_program(cls, program: Program, n: int, parameters: ArrayLike | None) -> Controller:
        _check_torque(program, n)
        ports = {p.name: p for p in program.inputs}
        if "pi_hat" not in ports:
            return cls(program.name, rate=program, step=program)
        if parameters is None:
            raise TaupiError(
                "{program} has an estimate pi_hat: state where it starts with {parameters=...}.", program=program.name
            )
        start = _estimate(parameters, ports["pi_hat"])
        return cls(program.name, program, program, start=start, labels=ports["pi_hat"].labels)

    @classmethod
    def _of_law(cls, law: ControlLaw, n: int, parameters: ArrayLike | None) -> Controller:
        program = law.program()
        _check_torque(program, n)
        return cls(
            program.name,
            rate=program,
            step=law.step_program(),
            start=np.asarray(law.init(parameters).vector, dtype=float),
            labels=tuple(law.parameters.names),
            wanted=law.wanted,
            reference_warnings=law.reference_warnings,
            gain_warnings=law.gain_warnings,
        )

    def of_members(self, members: Sequence[int]) -> Controller:
        """Return the controller of some of the roll-outs: with their estimates, where each has its own."""
        start = self.start
        if start is None or start.ndim == 1 or len(start) == 1:
            return self
        return replace(self, start=start[list(members)])

    @property
    def size(self) -> int:
        """The number of entries of the estimate, including whatever else the law integrates."""
        return 0 if self.start is None else self.start.shape[-1]

    @property
    def estimated(self) -> int:
        """How many of them are parameters."""
        return len(self.labels) or self.size

    def program(self, continuous: bool) -> Program | None:
        """Return the program that a loop runs."""
        return self.rate if continuous else self.step

    def reference_size(self, n: int) -> int:
        """Return how many coordinates the reference has: one per joint, or the task's."""
        ports = {p.name: p for p in self.rate.inputs} if self.rate is not None else {}
        return ports[self.wanted[0]].size if self.wanted[0] in ports else n

    @property
    def of_joints(self) -> bool:
        """Whether the reference is a motion of the joints, not of a task."""
        return self.wanted == _WANTED

    def needs_reference(self) -> bool:
        """Return whether the law needs a reference."""
        return self.rate is not None and any(p.name in self.wanted for p in self.rate.inputs)

    @property
    def sees_motors(self) -> bool:
        """Whether the law needs motors."""
        return self.rate is not None and any(p.name in MOTORS for p in self.rate.inputs)

    def other_inputs(self, continuous: bool) -> tuple[Port, ...]:
        """Return the inputs of the program that the loop does not supply: gains and the like."""
        program = self.program(continuous)
        own = ("t", "dt", "q", "qd", *MOTORS, "pi_hat", *self.wanted)
        return () if program is None else tuple(p for p in program.inputs if p.name not in own)

    def trace(self, continuous: bool, inputs: Mapping[str, Vector]) -> dict[str, Vector]:
        """Return the outputs of the program over SX, by name."""
        program = self.program(continuous)
        assert program is not None
        values = program(**{p.name: inputs[p.name] for p in program.inputs})
        outputs = values if isinstance(values, tuple) else (values,)
        return {p.name: v for p, v in zip(program.outputs, outputs, strict=True)}

    def channels(self, continuous: bool) -> tuple[Port, ...]:
        """Return the outputs of the program besides torque and adaptation."""
        program = self.program(continuous)
        own = ("tau", "dpi", "pi_next")
        return () if program is None else tuple(p for p in program.outputs if p.name not in own)


def held_torque(controller: ControllerLike, n: int, horizon: Horizon, several: bool = True) -> ControllerLike:
    """Return samples of torque (N, n), or (B, N, n) of B roll-outs, as a function of time that holds each for one control period.

    Row i is held from i / rate of the `horizon` on; there must be a row per control period for `n` joints, of one roll-out
    unless `several` are allowed. Anything else is returned as it is.
    """
    listed = isinstance(controller, list | tuple) and controller and all(np.ndim(row) == 1 for row in controller)
    if not (isinstance(controller, np.ndarray) or listed):
        return controller
    try:
        samples = real_array("controller", controller)
    except TaupiError:
        return controller  # refused elsewhere, in an error that lists what a controller may be
    periods, rate = horizon.steps, horizon.rate
    if samples.ndim not in ((2, 3) if several else (2,)) or samples.shape[-1] != n or samples.shape[-2] < periods:
        batch = f" or (roll-outs, N, {n})" if several else ""
        raise TaupiError(
            "{controller} has shape {got}, expected (N, {n}){batch} with N of {periods} or more: one row "
            "of torques per control period.",
            remedy="Choose {duration} and {rate} so that there are at most N periods.",
            got=samples.shape,
            n=n,
            batch=batch,
            periods=periods,
        )
    if not np.isfinite(samples).all():
        raise TaupiError("{controller} has torques that are not finite.")
    if horizon.continuous:  # the last stage of a fixed step would see the next sample
        raise TaupiError(
            "{controller} is an array of torques, each held for one control period: {control='continuous'} holds none.",
            remedy="Use {control='sampled'}.",
        )

    def torque_samples(t: float, *state: np.ndarray) -> np.ndarray:
        # Times are sums of periods: a small shortfall from a whole number is rounding.
        return samples[..., min(int(t * rate + 1e-6), samples.shape[-2] - 1), :]

    return torque_samples


def _check_torque(program: Program, n: int) -> None:
    outputs = {p.name: p for p in program.outputs}
    if "tau" not in outputs or outputs["tau"].size != n:
        listed = ", ".join(f"{p.name} {p.shape}" for p in program.outputs)
        raise TaupiError(
            "{program} gives {got}, expected tau ({expected},): one torque per joint.",
            program=program.name,
            got=listed,
            expected=n,
        )
    if any(p.name == "pi_hat" for p in program.inputs) and not {"dpi", "pi_next"} & set(outputs):
        raise TaupiError("{program} has pi_hat but no dpi: state how the estimate changes.", program=program.name)


def _estimate(parameters: ArrayLike, port: Port) -> np.ndarray:
    try:
        start = np.asarray(parameters, dtype=float)
    except (TypeError, ValueError):
        start = np.zeros(0)
    if not start.ndim or start.shape[-1] != port.size:
        raise TaupiError(
            "{parameters} is {got!r}, expected {expected} numbers: where pi_hat starts.",
            got=parameters,
            expected=port.size,
        )
    return start
