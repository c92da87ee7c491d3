"""A named input or output of a program."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output of a program.

    `name` is the argument's or result's, `shape` its shape without batch axes (() by default, a number). For error messages
    and emitted comments, `labels` are the names of its entries and `per` says what they are: "one value per joint".
    """

    name: str
    shape: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    per: str = ""

    @property
    def size(self) -> int:
        """The number of scalars."""
        return math.prod(self.shape)
