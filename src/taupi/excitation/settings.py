"""The settings of an excitation, declared once for Python, the command line and the record."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypedDict

from taupi.checks import finite, is_number, not_negative, one_of, one_or_each, or_none, positive, truth, whole_number
from taupi.errors import Argument, TaupiError
from taupi.excitation.criteria import CRITERIA
from taupi.settings import Settings

if TYPE_CHECKING:
    import numpy as np

MOTIONS = ("bspline", "fourier")
# What `floor` may be besides a height: the plane that the base is bolted to, or nothing.
MOUNTING, NONE = "base", "none"


def _share(name: str, value: object) -> float:
    if not is_number(value) or not 0 <= value < 1:
        raise TaupiError(
            "{argument} is {got!r}, expected a share from 0 to less than 1.", argument=Argument(name), got=value
        )
    return float(value)


def _power(name: str, value: object) -> float:
    if not is_number(value) or not 1 <= value <= 20:
        raise TaupiError("{argument} is {got!r}, expected a number from 1 to 20.", argument=Argument(name), got=value)
    return float(value)


def _effort(name: str, value: object) -> float | None:
    if value is None or value == 0:
        return None
    if not is_number(value) or not 0 < value <= 1:
        raise TaupiError(
            "{argument} is {got!r}, expected a share up to 1, or 0 to leave torques unchecked.",
            argument=Argument(name),
            got=value,
        )
    return float(value)


def _names(name: str, value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    if names is None:
        return ()
    if not isinstance(names, list | tuple) or not all(isinstance(v, str) for v in names):
        raise TaupiError("{argument} is {got!r}, expected names.", argument=Argument(name), got=value)
    return tuple(names)


def _pairs(name: str, value: object) -> tuple[str, ...]:
    """Return pairs of links as texts "a,b"; in Python they may be tuples."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise TaupiError(
            "{argument} is {got!r}, expected pairs of links such as 'link5,link7'.", argument=Argument(name), got=value
        )
    texts = [",".join(v) if isinstance(v, list | tuple) and all(isinstance(x, str) for x in v) else v for v in items]
    return _names(name, texts)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise TaupiError(
            "{argument} is {got!r}, expected 'auto', 'none', or the path of a TOML file.",
            argument=Argument(name),
            got=value,
        )
    return str(value)


def floor_setting(name: str, value: object) -> float | str | None:
    """Return a floor as it is kept: a height in m, "base", or None for none, which may also be written "none" or False."""
    if value is None or value is False or value == NONE:
        return None
    if value == MOUNTING:
        return MOUNTING
    if isinstance(value, str):
        raise TaupiError(
            "{name} is {got!r}, expected a height in m, 'base' (the plane that the base is bolted to), or 'none'.",
            name=Argument(name),
            got=value,
        )
    return finite(name, value)


def _box(name: str, value: object) -> tuple[float, ...]:
    """Return two corners as six numbers, infinite where there is no wall; in Python they may be pairs, and None is no wall."""
    items = list(value) if isinstance(value, list | tuple) else []
    if len(items) == 2 and all(isinstance(corner, list | tuple) for corner in items):
        items = [*items[0], *items[1]]
    ends = [-math.inf] * 3 + [math.inf] * 3
    numbers = [end if v is None or v == end else v for v, end in zip(items, ends, strict=False)]
    good = len(items) == 6 and all(is_number(v) or v == end for v, end in zip(numbers, ends, strict=True))
    if not good or not all(a < b for a, b in zip(numbers[:3], numbers[3:], strict=True)):
        raise TaupiError(
            "{argument} is {got!r}, expected x, y, z of the lowest corner, then of the highest, in m.",
            argument=Argument(name),
            got=value,
        )
    return tuple(float(v) for v in numbers)


@dataclass(frozen=True)
class Course(Settings):
    """What kind of motion is designed.

    Attributes:
        duration: Seconds of one period of the motion.
        motion: "bspline", of degree 5 and at rest at both ends, or "fourier", one period of a Fourier series.
        points: Control points of each joint of a B-spline; by default 5 + 2.5 per second.
        harmonics: Harmonics of a Fourier series; by default 5.
        bandwidth: Highest frequency of the motion in Hz, instead of points or harmonics. Keep it well below the cutoff of the
            identification, and below the first resonance.
        closed: Whether a B-spline ends where it begins, so that it can be repeated; a Fourier series always does.
        periods: How often the motion is repeated.
    """

    duration: float = 10.0
    motion: str = "bspline"
    points: int | None = None
    harmonics: int | None = None
    bandwidth: float | None = None
    closed: bool = True
    periods: int = 1

    checks: ClassVar = {
        "duration": positive,
        "motion": one_of(MOTIONS),
        "points": or_none(lambda name, value: whole_number(name, value, 12)),
        "harmonics": or_none(lambda name, value: whole_number(name, value, 2)),
        "bandwidth": or_none(positive),
        "closed": truth,
        "periods": whole_number,
    }


class CourseOptions(TypedDict, total=False):
    """The fields of `Course` as keywords, except the duration."""

    motion: str
    points: int | None
    harmonics: int | None
    bandwidth: float | None
    closed: bool
    periods: int


@dataclass(frozen=True)
class Goal(Settings):
    """What the motion is designed for.

    Attributes:
        rate: Rate in Hz of the samples that the identification will use, after decimation.
        criterion: "d", the volume of the confidence ellipsoid; "ds", that of the parameters named by only; "a", the mean
            variance; "e", nearly the largest; "p", their mean of a power; "cond", the condition, for comparison with papers.
        only: Names of the base parameters that "ds" is about, such as link6.*.
        power: Power of "p": 1 is the mean variance, larger values give more weight to the largest variances.
        scale: Sizes relative to which "a", "e", "p" and "cond" count errors: one number per base parameter, or one for all.
            By default the description's values, and 1 for "cond".
    """

    rate: float = 100.0
    criterion: str = "d"
    only: tuple[str, ...] = ()
    power: float | None = None
    scale: float | tuple[float, ...] | None = None

    checks: ClassVar = {
        "rate": positive,
        "criterion": one_of(CRITERIA),
        "only": _names,
        "power": or_none(_power),
        "scale": or_none(one_or_each(positive)),
    }


class GoalOptions(TypedDict, total=False):
    """The fields of `Goal` as keywords."""

    rate: float
    criterion: str
    only: str | Sequence[str]
    power: float | None
    scale: float | Sequence[float] | np.ndarray | None


@dataclass(frozen=True)
class Margins(Settings):
    """How far a motion stays away from its limits, from itself and from its surroundings.

    Attributes:
        margin: Share of every limit of position, speed, acceleration and jerk that is left unused.
        effort: Share of the effort limits that torques of the description's parameters may take; 0 leaves torques unchecked.
        uncertainty: Share by which each of those parameters may be off.
        clearance: Distance in m that links keep from each other, from the floor and from the walls of the box.
        floor: Height in m of the floor; "base", the default, is the plane that the base is bolted to, and "none" leaves it out,
            for robots that hang or reach below their base.
        box: Corners x, y, z, x, y, z in m of a box that the arm stays in, inf or -inf where it has no wall; by default there is
            none.
        ignore: Pairs of links, such as link5,link7, whose distance does not matter, or an SRDF file that lists them.
        capsules: "auto" takes the collision geometry of the description if it has any; "none" leaves collisions unchecked;
            else a TOML file with a capsule table for each.
        packages: Folders in which the packages of meshes are looked for, besides those above the description.
    """

    margin: float = 0.05
    effort: float | None = 0.9
    uncertainty: float = 0.0
    clearance: float = 0.02
    floor: float | str | None = "base"
    box: tuple[float, ...] | None = None
    ignore: tuple[str, ...] = ()
    capsules: str = "auto"
    packages: tuple[str, ...] = ()

    checks: ClassVar = {
        "margin": _share,
        "effort": _effort,
        "uncertainty": _share,
        "clearance": not_negative,
        "floor": floor_setting,
        "box": or_none(_box),
        "ignore": _pairs,
        "capsules": _text,
        "packages": _names,
    }


class MarginsOptions(TypedDict, total=False):
    """The fields of `Margins` as keywords."""

    margin: float
    effort: float | None
    uncertainty: float
    clearance: float
    floor: float | str | None
    box: Sequence[float] | Sequence[Sequence[float | None]] | None
    ignore: str | Sequence[str | Sequence[str]]
    capsules: str | os.PathLike[str]
    packages: str | Sequence[str]


@dataclass(frozen=True)
class Search(Settings):
    """How the best motion is searched for.

    Attributes:
        starts: Number of random motions to improve, of which the best is kept.
        seed: The seed of everything random.
        budget: Seconds, by the clock, after which the best motion so far is taken; unlimited by default. That of the command
            includes its start and its files.
    """

    starts: int = 4
    seed: int = 0
    budget: float | None = None

    checks: ClassVar = {
        "starts": whole_number,
        "seed": lambda name, value: whole_number(name, value, 0),
        "budget": or_none(positive),
    }


class SearchOptions(TypedDict, total=False):
    """The fields of `Search` as keywords."""

    starts: int
    seed: int
    budget: float | None


class ExciteOptions(CourseOptions, GoalOptions, MarginsOptions, SearchOptions, total=False):
    """The fields of `Course`, `Goal`, `Margins` and `Search` as keywords, except the duration."""
