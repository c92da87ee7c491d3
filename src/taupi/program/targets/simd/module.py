"""The text of a kernel and the memory that it needs."""

from __future__ import annotations

from dataclasses import dataclass

# What is set in the flags of a call: the output is so large that it bypasses the cache; it is not zero before the call.
STREAM, STALE = 1, 2


@dataclass(frozen=True)
class Module:
    """The text of a module, how many scalars of scratch memory its kernel needs, and the samples per block.

    `level` is how much LLVM should optimise it.
    """

    text: str
    kept: int
    rows: int
    block: int
    level: int
