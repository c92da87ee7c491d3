"""What all components share: one traced step with a vector as its state, called sample by sample or over a log."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np

from taupi.checks import is_number, real_array
from taupi.dynamics.possible_samples import possible_signals
from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError
from taupi.model.robot import Robot
from taupi.program.emit import emit, write_sources
from taupi.program.emitters.c_package import STEP_SECONDS, STEPS, Package
from taupi.program.emitters.dialect import page_text
from taupi.program.guard import Guard, guarded
from taupi.program.program import Port, Program
from taupi.program.step_loop import roll
from taupi.program.targets.cpu import Kernel


@dataclass(frozen=True, eq=False)
class OnlineState:
    """What a component remembers from one sample to the next.

    Attributes:
        vector: All of it (..., size), as the step program takes it.
    """

    vector: np.ndarray


S = TypeVar("S", bound=OnlineState)
LONGEST_GAP = 0.5  # s, between two samples; after a longer one, what is filtered has nothing to do with what was


class Component(ABC):
    """A step that runs beside a robot: `program` has the inputs `signals`, `state` and `dt`, and `state_next` as last output."""

    name: ClassVar[str] = "component"
    title: ClassVar[str] = ""  # what it is, for emitted source
    meaning: ClassVar[str] = ""  # what its results are, for emitted source
    signals: ClassVar[tuple[str, ...]] = ("q", "qd", "tau")
    results: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def robot(self) -> Robot:
        """The robot beside which it runs, with its parameters."""

    @abstractmethod
    def program(self) -> Program:
        """Return the step as a program: results and `state_next` of the signals, `state` and `dt`."""

    @abstractmethod
    def start(self) -> np.ndarray:
        """Return the state (size,) that it starts with."""

    @cached_property
    def size(self) -> int:
        """The number of entries of the state."""
        return len(self.start())

    @property
    @abstractmethod
    def described_state(self) -> tuple[str, ...]:
        """What each entry of the state is, in words; the emitted source says it."""

    def package(self, name: str) -> Package:
        """Return what is emitted as C, with functions and files called `name`."""
        programs, guard = self.emitted_programs(name), self.guard()
        program = programs[name][0]
        return Package(
            name=name,
            kind=self.name,
            title=f"{self.title} of {self.robot.name}",
            sentence=f"The {self.title} of `{page_text(self.robot.name)}` as C99, written by taupi. {self.meaning}",
            joints=self.robot.n,
            inputs=program.inputs[: len(self.signals)],
            outputs=self.emitted_outputs(),
            results=self.meaning,
            state_words="c.state, in this order:",
            described=self.described_state,
            start=self.start(),
            begins="it starts with the next sample; or write c.state yourself",
            programs=programs,
            costs=f"The step costs {program.operations!r}.",
            sizes={},
            body=self.emitted_body(),
            helpers=self.emitted_helpers(name),
            policy=guard.words(),
        )

    def guard(self) -> Guard:
        """Return the limits that emitted code keeps: what cannot be a sample of the robot is refused."""
        free = np.full(self.size, np.inf)
        ports = self.program().inputs[: len(self.signals)]
        return Guard(possible_signals(self.robot, ports), LONGEST_GAP, -free, free, np.zeros(0))

    def emitted_step(self) -> Program:
        """Return the step as emitted source has it: `program` within the limits of `guard`."""
        return guarded(self.program(), self.guard(), self.signals, "state")

    def emitted_outputs(self) -> Sequence[Port]:
        """Return the ports of the results in emitted source."""
        return self.program().outputs[: len(self.results)]

    def emitted_programs(self, name: str) -> dict[str, tuple[Program, str]]:
        """Return the programs that emitted source calls, by their names there, and what they are; the first is called `name`."""
        return {name: (self.emitted_step(), "one step as a pure function of its arguments; no state")}

    def emitted_body(self) -> str | None:
        """Return the text of the step in C, if it does more than call its only program."""
        return None

    def emitted_helpers(self, name: str) -> str:
        """Return what stands before the step in C, for functions called `name`: nothing, unless its text needs it."""
        return ""

    # Sample by sample ---------------------------------------------------------------------------------------------

    def advanced(self, state: OnlineState, dt: float, *signals: ArrayLike) -> tuple[np.ndarray, ...]:
        """Return the outputs of the step program after `dt` seconds, for the `signals` in their order, as arrays (..., k).

        What cannot be a sample, or a `state` of another component, is refused.
        """
        results: tuple[np.ndarray, ...] | None = None
        if type(dt) is float and 0 < dt < math.inf and isinstance(state, OnlineState):
            results = self.program().of_finite(len(self.signals))(*signals, state.vector, dt)
        if results is None:
            self.check(state, dt, signals)
            results = self.program()(*signals, state.vector, dt)
        return results

    def check(self, state: OnlineState, dt: float, signals: Sequence[ArrayLike]) -> None:
        """Refuse a `state` of another component, `signals` that are not finite, and a `dt` that is not positive."""
        if not isinstance(state, OnlineState) or state.vector.shape[-1:] != (self.size,):
            raise TaupiError(
                "{state} is {got!r}, expected what {expected}.init() or .step() returned.",
                got=state,
                expected=self.name,
            )
        if not (type(dt) is float and 0 < dt < math.inf):
            seconds = dt.item() if isinstance(dt, np.ndarray) and dt.ndim == 0 else dt
            if not is_number(seconds) or seconds <= 0:
                raise TaupiError("{dt} is {got!r}, expected a positive number of seconds.", got=dt)
        for name, value in zip(self.signals, signals, strict=True):
            if not np.isfinite(real_array(name, value)).all():
                raise TaupiError("{argument} has entries that are not finite.", argument=Argument(name))

    # Over a log ---------------------------------------------------------------------------------------------------

    @cached_property
    def _kernel(self) -> Kernel:
        return Kernel(self.program(), lanes=1)

    def over(self, seconds: np.ndarray, signals: Sequence[np.ndarray]) -> Mapping[str, np.ndarray]:
        """Return the results of all steps, by name, and under "state" the state after each step, (N, k) each.

        `signals` are (N, k), and `seconds` (N,) is the time before each sample; the loop runs in machine code.
        """
        program, steps = self.program(), len(seconds)
        state = np.zeros((steps + 1, 1, self.size))
        state[0, 0] = self.start()
        inputs = {
            name: np.ascontiguousarray(x, dtype=float)[:, None] for name, x in zip(self.signals, signals, strict=True)
        }
        inputs["dt"] = np.ascontiguousarray(seconds, dtype=float)[:, None, None]
        results = {p.name: np.zeros((steps, 1, p.size)) for p in program.outputs[:-1]}
        roll(self._kernel, {"state": state}, inputs, results)
        return {**{name: value[:, 0] for name, value in results.items()}, "state": state[1:, 0]}


def sample_steps(time: np.ndarray) -> np.ndarray:
    """Return the seconds before each sample (N,); those before the first are those of a typical step."""
    steps = np.diff(time)
    if len(steps) and not (steps > 0).all():
        raise TaupiError("time of the log does not step forwards.", remedy="Sort it first: taupi.clean_log(log).")
    return np.concatenate([[np.median(steps) if len(steps) else 1.0], steps])


def emit_component(
    component: Component,
    directory: str | os.PathLike[str],
    language: str = "c",
    name: str | None = None,
    force: bool = False,
) -> list[Path]:
    """Write an observer, a detector, a tracker or a recursive estimator as source, and return the paths.

    In C it is a struct with its state, `<name>_init` and `<name>_update(c, signals..., dt, results...)`, the pure step behind it,
    a README.md and a harness that compares 20 steps with Python's. Other languages of `emit` get that step alone.

    Args:
        component: What `taupi.momentum_observer(...)`, its `calibrated(...)`, `fit.tracker()` or `fit.recursive_estimator()`
            returned.
        directory: The folder to write into.
        language: "c", the default, or another language of `taupi.emit`.
        name: The name of functions and files; by default what it is: "observer", "tracker", ...
        force: Whether existing files are overwritten; False by default.

    >>> import tempfile, taupi as tp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [p.name for p in tp.emit_component(tp.momentum_observer(tp.load("elbow2r")), folder, name="arm")]
    ['arm.c', 'arm.h', 'arm_observer.h', 'arm_observer.c', 'test_arm.c', 'README.md']
    """
    if not isinstance(component, Component):
        raise TaupiError(
            "{component} is {got!r}, expected what taupi.momentum_observer(...) or fit.tracker() returned.",
            got=component,
        )
    chosen = component.name if name is None else name
    if language != "c":
        return emit(component.emitted_step(), language, directory, chosen, force=force)
    return write_sources(component_files(component, chosen), directory, force)


def component_files(component: Component, name: str) -> dict[str, str]:
    """Return the texts of a component in C by their file names."""
    return component.package(name).files(*_harness(component), STEP_SECONDS)


def _harness(component: Component) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of the harness, and results and state after each of its steps: a smooth motion, and a torque."""
    n, names = component.robot.n, component.signals
    rng = np.random.default_rng(0)
    phase, size = rng.uniform(0, 6, n), rng.uniform(0.3, 1.0, n)
    k = np.arange(STEPS)[:, None]
    motion = {
        "q": 0.5 + 0.2 * size * np.sin(0.3 * k + phase),
        "qd": size * np.cos(0.3 * k + phase),
        "qdd": -2.0 * size * np.sin(0.3 * k + phase),
        "tau": 5.0 * size * np.cos(0.1 * k + phase) + rng.uniform(-1, 1, (STEPS, n)),
    }
    samples = [np.round(motion[name], 6) for name in names]
    results = component.over(np.full(STEPS, STEP_SECONDS), samples)
    outputs = [results[name] for name in component.results]
    return np.concatenate(samples, axis=1), np.concatenate([*outputs, results["state"]], axis=1)
