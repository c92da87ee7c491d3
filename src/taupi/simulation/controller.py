"""A controller as a simulation sees it: a law, a program, a Python function, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from taupi.checks import real_array
from taupi.dynamics.types import ArrayLike, Vector
from taupi.errors import Argument, TaupiError, shown
from taupi.program.program import Port, Program
from taupi.simulation.horizon import Horizon

_WANTED = ("q_des", "qd_des", "qdd_des")
ControllerLike: TypeAlias = Any  # a law, a Program, a function (t, q, qd) -> tau, a Controller, or None
MOTORS = ("theta", "thetad")  # what laws of elastic robots see


@dataclass(frozen=True, eq=False)
class Controller:
    """A law, a program or a function in its parts: programs of the law, where its estimate starts, or the function to call.

    `rate` is tau and d pi_hat/dt, for continuous control; `step` is tau and the next estimate, for control at a rate. `start`
    is (p,), or (B, p) where every roll-out has its own.
    """

    name: str
    rate: Program | None = None
    step: Program | None = None
    function: Callable[..., Any] | None = None
    start: np.ndarray | None = None
    labels: tuple[str, ...] = ()
    wanted: tuple[str, str, str] = _WANTED
    reference_warnings: Callable[..., Any] | None = None  # (motion, time) -> why a reference cannot be followed

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
        if hasattr(controller, "program") and hasattr(controller, "init"):
            return cls._of_law(controller, n, parameters)
        if not callable(controller):
            raise TaupiError(
                Argument("controller"),
                f" is {shown(controller)}, expected a law, a Program, a function (t, q, qd) -> tau, torques (N, n), or None.",
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
                f"{program.name} has an estimate pi_hat: state where it starts with ", Argument("parameters", ...), "."
            )
        start = _estimate(parameters, ports["pi_hat"])
        return cls(program.name, program, program, start=start, labels=ports["pi_hat"].labels)

    @classmethod
    def _of_law(cls, law: Any, n: int, parameters: ArrayLike | None) -> Controller:
        program = law.program()
        _check_torque(program, n)
        step = law.step_program() if hasattr(law, "step_program") else program
        state = law.init(parameters)
        start = np.asarray(getattr(state, "vector", state.parameters), dtype=float)
        labels = tuple(law.parameters.names)
        wanted = getattr(law, "wanted", _WANTED)
        warnings = getattr(law, "reference_warnings", None)
        return cls(program.name, program, step, start=start, labels=labels, wanted=wanted, reference_warnings=warnings)

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
        """Return how many coordinates the reference has: the joints, or those of a task."""
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
        shape = f"(N, {n}){batch} with N of {periods} or more"
        message = f" has shape {samples.shape}, expected {shape}: one row of torques per control period."
        remedy = ("Choose ", Argument("duration"), " and ", Argument("rate"), " so that there are at most N periods.")
        raise TaupiError(Argument("controller"), message, remedy=remedy)
    if not np.isfinite(samples).all():
        raise TaupiError(Argument("controller"), " has torques that are not finite.")
    if horizon.continuous:  # the last stage of a fixed step would see the next sample
        message = " is an array of torques, each held for one control period: "
        control = (Argument("control", "continuous"), " holds none.")
        raise TaupiError(
            Argument("controller"), message, *control, remedy=("Use ", Argument("control", "sampled"), ".")
        )

    def torque_samples(t: float, *state: np.ndarray) -> np.ndarray:
        # Times are sums of periods: a small shortfall from a whole number is rounding.
        return samples[..., min(int(t * rate + 1e-6), samples.shape[-2] - 1), :]

    return torque_samples


def _check_torque(program: Program, n: int) -> None:
    outputs = {p.name: p for p in program.outputs}
    if "tau" not in outputs or outputs["tau"].size != n:
        listed = ", ".join(f"{p.name} {p.shape}" for p in program.outputs)
        raise TaupiError(f"{program.name} gives {listed}, expected tau ({n},): one torque per joint.")
    if any(p.name == "pi_hat" for p in program.inputs) and not {"dpi", "pi_next"} & set(outputs):
        raise TaupiError(f"{program.name} has pi_hat but no dpi: state how the estimate changes.")


def _estimate(parameters: ArrayLike, port: Port) -> np.ndarray:
    try:
        start = np.asarray(parameters, dtype=float)
    except (TypeError, ValueError):
        start = np.zeros(0)
    if not start.ndim or start.shape[-1] != port.size:
        raise TaupiError(
            Argument("parameters"), f" is {shown(parameters)}, expected {port.size} numbers: where pi_hat starts."
        )
    return start
