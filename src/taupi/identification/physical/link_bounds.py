"""What is known of bodies before any log: their extents from meshes or capsules, and bounds on their parameters."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from taupi.errors import Argument, TaupiError, unknown
from taupi.input_files import parse_toml, printable, read_text

# The number of products of two faces grows with the square of the number of faces; beyond this, a hull constrains the centre of
# mass only.
_MOST_FACES = 24


@runtime_checkable
class Shape(Protocol):
    """A region of space, fixed in the frame of a link."""

    def quadrics(self) -> list[np.ndarray]:
        """Return symmetric Q (4, 4) with (x, 1)^T Q (x, 1) >= 0 inside, so that tr(P Q) >= 0 (Wensing et al. 2018)."""
        ...


@dataclass(frozen=True, slots=True)
class Box:
    """The points x with lower <= x <= upper.

    Attributes:
        lower: A corner (x, y, z) in the frame of the link, m.
        upper: The opposite corner, m.
    """

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    def __post_init__(self) -> None:
        low, high = vector(self.lower, "lower"), vector(self.upper, "upper")
        if not (low < high).all():
            raise TaupiError(
                "A box reaches from {low} to {high}, expected {lower} < {upper} on each axis.",
                low=low.tolist(),
                high=high.tolist(),
            )

    def faces(self) -> list[np.ndarray]:
        """Return f (4,) of each face: f . (x, 1) >= 0 inside."""
        low, high, axes = vector(self.lower, "lower"), vector(self.upper, "upper"), np.eye(3)
        return [np.append(sign * axes[k], -sign * end[k]) for k in range(3) for sign, end in ((1.0, low), (-1.0, high))]

    def quadrics(self) -> list[np.ndarray]:
        """Return the faces and their products in pairs."""
        return _of_faces(self.faces())


@dataclass(frozen=True, slots=True)
class Ellipsoid:
    """The points x with |(x - centre) / radii| <= 1; its one quadric is also sufficient.

    Attributes:
        centre: (x, y, z) in the frame of the link, m.
        radii: The half axes along x, y and z, m.
    """

    centre: tuple[float, float, float]
    radii: tuple[float, float, float]

    def __post_init__(self) -> None:
        vector(self.centre, "centre")
        if not (vector(self.radii, "radii") > 0).all():
            raise TaupiError("{radii} is {got!r}, expected three positive numbers (m).", got=self.radii)

    def quadrics(self) -> list[np.ndarray]:
        """Return Q of 1 - (x - c)^T D (x - c), D = diag(1 / radii^2)."""
        c, d = vector(self.centre, "centre"), vector(self.radii, "radii") ** -2
        q = np.zeros((4, 4))
        q[:3, :3] = -np.diag(d)
        q[:3, 3] = q[3, :3] = d * c
        q[3, 3] = 1.0 - c @ (d * c)
        return [q]


@dataclass(frozen=True, slots=True)
class Hull:
    """The convex hull of points, such as the vertices of a mesh.

    Attributes:
        points: (k, 3) in the frame of the link, m.
    """

    points: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        self.faces()

    def faces(self) -> list[np.ndarray]:
        """Return f (4,) of each face: f . (x, 1) >= 0 inside."""
        from scipy.spatial import ConvexHull, QhullError

        try:
            points = np.asarray(self.points, dtype=float)
        except (TypeError, ValueError, OverflowError):
            points = np.empty(0)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise TaupiError("{points} has shape {got}, expected (k, 3) finite numbers (m).", got=points.shape)
        try:
            equations = ConvexHull(points).equations
        except QhullError:
            raise TaupiError(
                "{points} span no volume, expected corners of a body: at least four, not in a plane."
            ) from None
        return list(-np.unique(equations.round(12), axis=0))

    def quadrics(self) -> list[np.ndarray]:
        """Return the faces and, unless there are too many, their products in pairs."""
        faces = self.faces()
        return _of_faces(faces) if len(faces) <= _MOST_FACES else [linear(f) for f in faces]


def linear(face: np.ndarray) -> np.ndarray:
    """Return Q (4, 4) of a face f . (x, 1) >= 0, for which tr(P Q) = m f . (c, 1), with c the centre of mass."""
    last = np.array([0.0, 0.0, 0.0, 1.0])
    return 0.5 * (np.outer(face, last) + np.outer(last, face))


def _of_faces(faces: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return Q of every face, for the centre of mass, and of every product of two faces, for the second moments."""
    pairs = itertools.combinations(faces, 2)
    return [*map(linear, faces), *(0.5 * (np.outer(f, g) + np.outer(g, f)) for f, g in pairs)]


def vector(values: ArrayLike, name: str) -> np.ndarray:
    """Return three finite numbers as an array; `name` is the argument that errors name."""
    try:
        result = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        result = np.empty(0)
    if result.shape != (3,) or not np.isfinite(result).all():
        raise TaupiError(
            "{argument} is {got!r}, expected three finite numbers: x, y, z.", argument=Argument(name), got=values
        )
    return result


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
class LinkBounds:
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
    def of(cls, value: BoundsLike) -> LinkBounds | None:
        """Return bounds from `value`: bounds, a mapping, or the path of a TOML file; None for None.

        >>> LinkBounds.of({"forearm": {"mass": (3, 5)}, "total_mass": (20, 30)}).mass_bounds
        {'forearm': (3, 5)}
        """
        if value is None or isinstance(value, LinkBounds):
            return value
        if isinstance(value, str | os.PathLike):
            name = printable(Path(value).name)
            return cls._from_mapping(parse_toml(read_text(value, "bounds of links (.toml)"), name), f"{name}: ")
        if not isinstance(value, Mapping):
            raise TaupiError("{bounds} is {got!r}, expected a mapping or the path of a .toml file.", got=value)
        return cls._from_mapping(value, "bounds: ")

    @classmethod
    def _from_mapping(cls, data: Mapping[str, Any], where: str) -> LinkBounds:
        masses: dict[str, Any] = {}
        boxes: dict[str, Any] = {}
        shapes: dict[str, Shape] = {}
        for link, entry in data.items():
            if link == "total_mass":
                _refuse_other_than_pair(link, entry, f"{where}{link}")
                continue
            if not isinstance(entry, Mapping):
                raise TaupiError(
                    "{where}{link} is {got!r}, expected a table with some of {keys:,}.",
                    where=where,
                    link=link,
                    got=entry,
                    keys=_KEYS,
                )
            for key, bound in entry.items():
                if key not in _KEYS:
                    raise unknown("key", key, _KEYS, f"{where}{link}")
                if key in _SHAPES and link in shapes:
                    raise TaupiError(
                        "{where}{link} has several shapes, expected one of {shapes:,}.",
                        where=where,
                        link=link,
                        shapes=_SHAPES,
                    )
                if key != "hull":
                    _refuse_other_than_pair(key, bound, f"{where}{link}.{key}")
                target: dict[str, Any] = {"mass": masses, "centre": boxes}.get(key, shapes)
                target[link] = _shape(key, bound) if key in _SHAPES else bound
        return cls(masses, data.get("total_mass"), boxes, shapes)


BoundsLike = LinkBounds | Mapping[str, Any] | str | os.PathLike[str] | None


def _refuse_other_than_pair(key: str, value: Any, where: str) -> None:
    """Refuse a bound that is not a pair: of numbers for masses, else of points."""
    scalar = key in ("mass", "total_mass")
    pair = not isinstance(value, str | Mapping) and hasattr(value, "__len__") and len(value) == 2
    if not pair or not (scalar or all(hasattr(end, "__len__") for end in value)):
        raise TaupiError("{where} is {got!r}, expected {expected}.", where=where, got=value, expected=_PAIRS[key])


def _shape(kind: str, value: Any) -> Shape:
    """Return the shape that a table states: the corners of a box, centre and radii of an ellipsoid, the points of a hull."""
    if kind == "hull":
        return Hull(value)
    return (Box if kind == "box" else Ellipsoid)(value[0], value[1])
