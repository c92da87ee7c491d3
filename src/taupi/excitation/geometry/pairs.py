"""Which links must keep clear of each other and of their surroundings, and which pairs are left out and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, order=True)
class Pair:
    """Two things that keep clear of each other: links by their names, or a link and "floor" or "box"."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} - {self.second}"


class Reason(Enum):
    """Why a pair is left out."""

    NEIGHBOURS = "neighbours, joined by one joint"
    DISABLED = "disabled in"
    IGNORED = "ignored as asked"
    OVERLAPPING = "taken for built into each other: their capsules overlap in"
    FIXED = "nearer than the clearance in all postures, and no motion changes it"
    NEVER = "never nearer than the clearance: proven for all postures within the ranges"


@dataclass(frozen=True)
class LeftOut:
    """A pair that is not watched, the reason `why`, and a detail if the reason needs one: a file, or a share of postures."""

    pair: Pair
    why: Reason
    detail: str = ""

    @property
    def reason(self) -> str:
        """The reason in words."""
        return f"{self.why.value} {self.detail}".rstrip()

    def __iter__(self) -> Iterator[Pair | str]:
        return iter((self.pair, self.reason))

    def __str__(self) -> str:
        return f"{self.pair}: {self.reason}"
