"""What all components share: one traced step with a vector as its state, called sample by sample or over a log."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from taupi.dynamics.types import ArrayLike
from taupi.errors import Argument, TaupiError, shown
from taupi.model.robot import Robot
from taupi.program.emitters.c_package import Package
from taupi.program.emitters.dialect import page_text
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
        program = self.program()
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
            programs=self.emitted_programs(name),
            costs=f"The step costs {program.operations!r}.",
            sizes={},
            body=self.emitted_body(),
            helpers=self.emitted_helpers(name),
        )

    def emitted_outputs(self) -> Sequence[Port]:
        """Return the ports of the results in emitted source."""
        return self.program().outputs[: len(self.results)]

    def emitted_programs(self, name: str) -> dict[str, tuple[Program, str]]:
        """Return the programs that emitted source calls, by their names there, and what they are; the first is called `name`."""
        return {name: (self.program(), "one step as a pure function of its arguments; no state")}

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
        self.check(state, dt, signals)
        results: tuple[np.ndarray, ...] = self.program()(*signals, state.vector, dt)
        return results

    def check(self, state: OnlineState, dt: float, signals: Sequence[ArrayLike]) -> None:
        """Refuse a `state` of another component, `signals` that are not finite, and a `dt` that is not positive."""
        if not isinstance(state, OnlineState) or state.vector.shape[-1:] != (self.size,):
            raise TaupiError(
                Argument("state"), f" is {shown(state)}, expected what {self.name}.init() or .step() returned."
            )
        if not (type(dt) is float and 0 < dt < math.inf) and (np.ndim(dt) or not np.isfinite(dt) or dt <= 0):
            raise TaupiError(Argument("dt"), f" is {shown(dt)}, expected a positive number of seconds.")
        for name, value in zip(self.signals, signals, strict=True):
            if not _surely_finite(value) and not np.isfinite(np.asarray(value, dtype=float)).all():
                raise TaupiError(Argument(name), " has entries that are not finite.")

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


def _surely_finite(value: object) -> bool:
    """Return quickly whether one sample is finite: its sum of squares is. If that overflows, the sample is checked again."""
    return type(value) is np.ndarray and value.ndim == 1 and value.dtype == float and math.isfinite(value.dot(value))


def sample_steps(time: np.ndarray) -> np.ndarray:
    """Return the seconds before each sample (N,); those before the first are those of a typical step."""
    steps = np.diff(time)
    if len(steps) and not (steps > 0).all():
        raise TaupiError("time of the log does not step forwards.", remedy="Sort it first: taupi.clean_log(log).")
    return np.concatenate([[np.median(steps) if len(steps) else 1.0], steps])
