"""What settings contain, so that work for equal ones is done once."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True)
class Keyed(Generic[T]):
    """A value that equals another with the same key: an argument of cached functions."""

    key: Hashable
    value: T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def content(value: object) -> Hashable:
    """Return what equal values agree in, exactly: numbers with their type and sign, the bytes of arrays, the fields of settings.

    What can be hashed stands for itself, and so does what cannot be compared by value; the key keeps it alive.

    >>> content((1.0, [2])) == content((1.0, [2])), content(1.0) == content(1), content(0.0) == content(-0.0)
    (True, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes() if value.dtype.kind != "O" else content(value.tolist())
    if isinstance(value, tuple | list):
        return type(value), *map(content, value)
    if isinstance(value, int | float):
        return type(value), repr(value)
    try:
        hash(value)
    except TypeError:
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return Alone(value)
        return type(value), *(content(getattr(value, field.name)) for field in dataclasses.fields(value))
    return type(value), value


class Alone:
    """A value that equals only itself."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alone) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
