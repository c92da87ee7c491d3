"""The compiled programs of loops, shared by those whose programs are the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from taupi.program.targets.cpu import Kernel


class Kernels:
    """The compiled programs of a loop."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop

    @cached_property
    def step(self) -> Kernel:
        """The whole period."""
        return Kernel(self._loop.program())

    @cached_property
    def move(self) -> Kernel:
        """A step of the plant within a split period."""
        return Kernel(self._loop.move_program())

    @cached_property
    def seeing(self) -> Kernel:
        """The sensors alone."""
        return Kernel(self._loop.seeing())

    @cached_property
    def rate(self) -> Kernel:
        """The derivative, for adaptive methods."""
        return Kernel(self._loop.rate_program())


@dataclass(frozen=True)
class Keyed:
    """A loop that equals another with the same key."""

    key: tuple[Any, ...]
    loop: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=32)
def kernels(keyed: Keyed) -> Kernels:
    """Return the compiled programs of a loop, made when first needed and remembered."""
    return Kernels(keyed.loop)
