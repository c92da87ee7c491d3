"""Capsules: all points within a radius of a segment, the shape by which links keep clear of each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from taupi.checks import is_number
from taupi.errors import TaupiError, unknown

_ENTRIES = ("link", "a", "b", "r")
Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Capsule:
    """All points within a radius of a segment; a sphere where both ends are the same.

    Attributes:
        link: The name of a link, or of a frame fixed to one; "base" is the base.
        a: One end (3,) of the segment in m, in the frame of the link.
        b: The other end (3,) in m.
        r: The radius in m, above 0.
    """

    link: str
    a: Point
    b: Point
    r: float

    @property
    def length(self) -> float:
        """The length of the segment, in m."""
        return math.dist(self.a, self.b)

    @property
    def volume(self) -> float:
        """The volume in m^3: a cylinder and two half spheres."""
        return math.pi * self.r**2 * (self.length + 4 / 3 * self.r)


def capsule_from(value: object, place: str) -> Capsule:
    """Return a capsule from one, or from a mapping with link, a, b and r, as a `[[capsule]]` table states it.

    >>> capsule_from({"link": "arm", "a": [0, 0, 0], "b": [0, 0, 0.3], "r": 0.05}, "capsule 1").length
    0.3
    >>> capsule_from({"link": "arm", "a": [0, 0, 0], "r": 0}, "capsule 1")
    Traceback (most recent call last):
    taupi.errors.TaupiError: capsule 1: r is 0, expected a radius in m, above 0.
    """
    if isinstance(value, Capsule):
        return value
    if not isinstance(value, Mapping):
        raise TaupiError("{place} is {got!r}, expected link, a, b and r.", place=place, got=value)
    for key in value:
        if key not in _ENTRIES:
            raise unknown("entry", key, _ENTRIES, place)
    link, a = value.get("link"), value.get("a", (0, 0, 0))
    if not isinstance(link, str) or not link:
        raise TaupiError("{place}: link is {got!r}, expected the name of a link.", place=place, got=link)
    r = _number(value.get("r"))
    if r is None or not r > 0:
        raise TaupiError("{place}: r is {got!r}, expected a radius in m, above 0.", place=place, got=value.get("r"))
    return Capsule(link, _point(a, f"{place}: a"), _point(value.get("b", a), f"{place}: b"), r)


def _point(value: object, what: str) -> Point:
    entries = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(entries, list | tuple) and len(entries) == 3:
        x, y, z = map(_number, entries)
        if x is not None and y is not None and z is not None:
            return (x, y, z)
    raise TaupiError("{what} is {got!r}, expected a point of three numbers in m.", what=what, got=value)


def _number(value: object) -> float | None:
    """Return a number; the TOML reader keeps decimals as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if is_number(value) else None
