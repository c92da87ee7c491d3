"""The compiled programs of a closed loop, shared by loops whose programs are the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from taupi.program.program import Program
from taupi.program.targets.cpu import Kernel

if TYPE_CHECKING:
    from taupi.simulation.rollouts.loop import Loop

FEW = 2  # up to this many roll-outs are quicker one after the other than side by side in the lanes of vectors


class Kernels:
    """The compiled programs of a loop."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def step(self, batch: int) -> Kernel:
        """The whole control period; for a split one, the decision."""
        return self._step.of(batch)

    def move(self, batch: int) -> Kernel:
        """A step of the plant within a split period."""
        return self._move.of(batch)

    @cached_property
    def step_program(self) -> Program:
        """What `step` is compiled from."""
        return self._loop.program()

    @cached_property
    def move_program(self) -> Program:
        """What `move` is compiled from."""
        return self._loop.move_program()

    @cached_property
    def _step(self) -> _Batched:
        return _Batched(self.step_program)

    @cached_property
    def _move(self) -> _Batched:
        return _Batched(self.move_program)

    @cached_property
    def seeing(self) -> Kernel:
        """Only the sensors."""
        return Kernel(self._loop.seeing(), lanes=1)

    @cached_property
    def rate(self) -> Kernel:
        """The derivative, for adaptive steps."""
        return Kernel(self._loop.rate_program(), lanes=1)


class _Batched:
    """A program compiled twice: for many roll-outs side by side in the lanes of vectors, and for few one after the other."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def of(self, batch: int) -> Kernel:
        """Return the kernel for this many roll-outs."""
        return self._many if batch > FEW else self._one

    @cached_property
    def _many(self) -> Kernel:
        return Kernel(self._program)

    @cached_property
    def _one(self) -> Kernel:
        return Kernel(self._program, lanes=1)


@dataclass(frozen=True)
class Keyed:
    """A loop that equals another with the same key."""

    key: tuple[Any, ...]
    loop: Loop

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=32)
def kernels(keyed: Keyed) -> Kernels:
    """Return the compiled programs of a loop, compiled when first needed and cached."""
    return Kernels(keyed.loop)
