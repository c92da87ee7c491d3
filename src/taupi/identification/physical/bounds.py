"""Bounds of links that a user states: masses, centres of mass, and bodies, in Python or in a TOML file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.identification.physical.link_shapes import Box, Ellipsoid, Hull, Shape
from taupi.input_files import parse_toml, printable, read_text

_KEYS = ("mass", "centre", "box", "ellipsoid", "hull")
_SHAPES = _KEYS[2:]
# What each pair is, as messages describe it.
_PAIRS = {
    "mass": "[lower, upper], kg",
    "total_mass": "[lower, upper], kg",
    "centre": "[[lower corner], [upper corner]], m",
    "box": "[[lower corner], [upper corner]], m",
    "ellipsoid": "[[centre], [radii]], m",
}


@dataclass(frozen=True)
class Bounds:
    """What is known about links, in the form in which `taupi.estimators.Feasible` takes it.

    Attributes:
        mass_bounds: (lower, upper) mass of links by name, kg; "*" stands for every link.
        total_mass: (lower, upper) mass of all links together, kg; None if it is not known.
        boxes: (lower corner, upper corner) of boxes that contain centres of mass, by link, m, in the frame of the link.
        shapes: Bodies that contain links, by link, in the frame of the link.
    """

    mass_bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    total_mass: tuple[float, float] | None = None
    boxes: Mapping[str, Any] = field(default_factory=dict)
    shapes: Mapping[str, Shape] = field(default_factory=dict)

    @classmethod
    def of(cls, value: BoundsLike) -> Bounds | None:
        """Return bounds from `value`: bounds, a mapping, or the path of a TOML file; None for None.

        >>> Bounds.of({"forearm": {"mass": (3, 5)}, "total_mass": (20, 30)}).mass_bounds
        {'forearm': (3, 5)}
        """
        if value is None or isinstance(value, Bounds):
            return value
        if isinstance(value, str | os.PathLike):
            name = printable(Path(value).name)
            return cls._from_mapping(parse_toml(read_text(value, "bounds of links (.toml)"), name), f"{name}: ")
        if not isinstance(value, Mapping):
            raise TaupiError(Argument("bounds"), f" is {shown(value)}, expected a mapping or the path of a .toml file.")
        return cls._from_mapping(value, "bounds: ")

    @classmethod
    def _from_mapping(cls, data: Mapping[str, Any], where: str) -> Bounds:
        masses: dict[str, Any] = {}
        boxes: dict[str, Any] = {}
        shapes: dict[str, Shape] = {}
        for link, entry in data.items():
            if link == "total_mass":
                _refuse_other_than_pair(link, entry, f"{where}{link}")
                continue
            if not isinstance(entry, Mapping):
                raise TaupiError(f"{where}{link} is {shown(entry)}, expected a table with some of {', '.join(_KEYS)}.")
            for key, bound in entry.items():
                if key not in _KEYS:
                    raise unknown("key", key, _KEYS, f"{where}{link}")
                if key in _SHAPES and link in shapes:
                    raise TaupiError(f"{where}{link} has several shapes, expected one of {', '.join(_SHAPES)}.")
                if key != "hull":
                    _refuse_other_than_pair(key, bound, f"{where}{link}.{key}")
                target: dict[str, Any] = {"mass": masses, "centre": boxes}.get(key, shapes)
                target[link] = _shape(key, bound) if key in _SHAPES else bound
        return cls(masses, data.get("total_mass"), boxes, shapes)


BoundsLike = Bounds | Mapping[str, Any] | str | os.PathLike[str] | None


def _refuse_other_than_pair(key: str, value: Any, where: str) -> None:
    """Refuse a bound that is not a pair: of numbers for masses, else of points."""
    scalar = key in ("mass", "total_mass")
    pair = not isinstance(value, str | Mapping) and hasattr(value, "__len__") and len(value) == 2
    if not pair or not (scalar or all(hasattr(end, "__len__") for end in value)):
        raise TaupiError(f"{where} is {shown(value)}, expected {_PAIRS[key]}.")


def _shape(kind: str, value: Any) -> Shape:
    """Return the shape that a table states: the corners of a box, centre and radii of an ellipsoid, the points of a hull."""
    if kind == "hull":
        return Hull(value)
    return (Box if kind == "box" else Ellipsoid)(value[0], value[1])
