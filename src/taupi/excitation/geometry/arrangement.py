"""Capsules on the moving links of a robot, the walls around it, and the rows of distances between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np

from taupi.model.capsule import Capsule
from taupi.model.placement import Placement
from taupi.model.robot import BASE, Robot
from taupi.model.scalars import to_float


@dataclass(frozen=True, order=True)
class Pair:
    """Two things that keep clear of each other: links by their names, or a link and "floor" or "box"."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} - {self.second}"


class Exclusion(Enum):
    """Why a pair is left out."""

    NEIGHBOURS = "neighbours, joined by one joint"
    DISABLED = "disabled in"
    IGNORED = "ignored as asked"
    OVERLAPPING = "taken for built into each other: their"
    LATE = "not looked at before the budget was spent: their"
    COARSE = "too close together for capsules to keep apart: their"
    MOUNTED = "mounted there: one end is nearer than the clearance in all postures, so only the other is watched; it is clear by"
    FIXED = "nearer than the clearance in all postures, and no motion changes it"
    NEVER = "never nearer than the clearance: proven for all postures within the ranges"


@dataclass(frozen=True)
class ExcludedPair:
    """A pair that is not watched, the reason `why`, and a detail if the reason needs one: a file, or a share of postures."""

    pair: Pair
    why: Exclusion
    detail: str = ""

    @property
    def reason(self) -> str:
        """The reason in words."""
        return f"{self.why.value} {self.detail}".rstrip()

    @property
    def unchecked(self) -> bool:
        """Whether nothing shows that the pair stays apart: neither a proof nor the joint between neighbours."""
        return self.why not in (Exclusion.NEIGHBOURS, Exclusion.NEVER)

    def __iter__(self) -> Iterator[Pair | str]:
        return iter((self.pair, self.reason))

    def __str__(self) -> str:
        return f"{self.pair}: {self.reason}"


class LinkCapsule(NamedTuple):
    """A capsule in the frame of moving link number `link` (-1 for the base)."""

    link: int
    a: np.ndarray
    b: np.ndarray
    r: float

    @property
    def square(self) -> float:
        """The square of the length of the segment."""
        return float((self.b - self.a) @ (self.b - self.a))


class Wall(NamedTuple):
    """Everything has to stay where normal . x >= offset, in world axes; `name` is "floor" or "box"."""

    name: str
    normal: tuple[float, float, float]
    offset: float


@dataclass(frozen=True)
class Row:
    """A distance: between two bodies, or of one end (0 or 1) of a body from a wall."""

    pair: Pair
    body: int
    other: int = -1
    wall: int = -1
    end: int = 0


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A robot, its bodies and walls."""

    robot: Robot
    bodies: tuple[LinkCapsule, ...]
    walls: tuple[Wall, ...] = field(default=())

    @classmethod
    def of(cls, robot: Robot, capsules: Sequence[Capsule], walls: Sequence[Wall] = ()) -> Arrangement:
        """Return the capsules in the frames of the moving links that carry them."""
        bodies = []
        for capsule in capsules:
            frame = robot.enclosed_frame(capsule)
            rotation, shift = placed(robot, frame.placement)
            a, b = (rotation @ np.array(end) + shift for end in (capsule.a, capsule.b))
            bodies.append(LinkCapsule(frame.link, a, b, capsule.r))
        return cls(robot, tuple(bodies), tuple(walls))

    def link_name(self, link: int) -> str:
        """Return the name of a moving link; the base has the name of its own frame, if it has one."""
        if link != BASE:
            return self.robot.links[link].name
        return next((f.name for f in self.robot.frames if f.link == BASE), "base")

    def bodies_of(self, link: int) -> list[int]:
        """Return the bodies of a moving link."""
        return [k for k, body in enumerate(self.bodies) if body.link == link]

    def rows_between(self, first: int, second: int) -> list[Row]:
        """Return the rows between two moving links: of each body of one with each of the other."""
        pair = Pair(self.link_name(first), self.link_name(second))
        return [Row(pair, i, j) for i in self.bodies_of(first) for j in self.bodies_of(second)]

    def wall_rows(self, link: int, name: str) -> list[Row]:
        """Return the rows of a moving link with the walls called `name`: a row for each end of each body."""
        pair = Pair(self.link_name(link), name)
        return [
            Row(pair, i, wall=w, end=end)
            for i in self.bodies_of(link)
            for w, wall in enumerate(self.walls)
            for end in ((0, 1) if self.bodies[i].square else (0,))
            if wall.name == name
        ]


def numbers(robot: Robot, values: Sequence[object]) -> np.ndarray:
    """Return exact scalars of a robot, nested or not, as doubles; its symbols need values."""
    table = dict(robot.symbols)

    def number(v: object) -> object:
        return [number(x) for x in v] if isinstance(v, tuple | list) else to_float(v, "geometry", table)

    return np.array([number(v) for v in values], dtype=float)


def placed(robot: Robot, placement: Placement) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotation (3, 3) and the translation (3,) of a placement in a robot as doubles."""
    return numbers(robot, placement.rotation), numbers(robot, placement.translation)
