"""What is around a robot: a floor, by default the plane that its base is bolted to, and the walls of a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taupi.checks import finite
from taupi.errors import Argument, TaupiError
from taupi.excitation.geometry.arrangement import Arrangement, ExcludedPair, Exclusion, Pair, Row, Wall, numbers
from taupi.excitation.geometry.contacts import Surfaces
from taupi.excitation.settings import floor_setting
from taupi.model.robot import BASE, Robot

FLOOR, BOX = "floor", "box"
# m: a height that changes by less than this counts as constant.
_UNMOVED = 1e-6
# Cosine of the tilt of a base beyond which it is mounted to a wall or a ceiling.
_UPRIGHT = 0.7
# Share of gravity that may act along the mounting plane.
_LEVEL = 1e-3


@dataclass(frozen=True)
class Floor:
    """The floor of a robot: its `height` in m, in world axes, or None without one; `how` says where it comes from, or why not.

    `default` is whether nobody asked for it.
    """

    height: float | None
    how: str
    default: bool = False

    @property
    def sentence(self) -> str:
        """The floor in words."""
        return f"No floor: {self.how}." if self.height is None else f"Floor at z = {self.height:.4g} m: {self.how}."

    def to_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {"height": self.height, "how": self.how}


def floor_of(robot: Robot, floor: float | str | None, surfaces: Surfaces | None) -> Floor:
    """Return the floor that a setting means for a robot; "base" is the lowest point of everything that is fixed to its base."""
    height = floor_setting(FLOOR, floor)
    if height is None:
        return Floor(None, "none was asked for")
    if not isinstance(height, str):
        return Floor(height, "as stated")
    gravity = numbers(robot, robot.gravity)
    if not -gravity[2] > 0 or np.hypot(gravity[0], gravity[1]) > _LEVEL * -gravity[2]:
        return Floor(None, "gravity does not act along -z, so the plane of the base is no floor", default=True)
    if robot.base.matrix[2, 2] < _UPRIGHT:
        return Floor(None, "the base does not stand upright, so its plane is no floor", default=True)
    if surfaces is not None and BASE in surfaces.triangles:
        lowest = float(surfaces.lowest(BASE, np.zeros((1, robot.n)))[0])
        return Floor(lowest, "the plane that the base is bolted to, at its lowest point", default=True)
    origin = float(robot.base.matrix[2, 3])
    return Floor(origin, "the plane that the base is bolted to, at the origin of its frame", default=True)


def walls_of(height: float | None, box: Sequence[Sequence[float | None]] | None) -> list[Wall]:
    """Return the walls of a floor at a height (m) and of a box, two corners of which None or infinity leaves a side open."""
    walls = [] if height is None else [Wall(FLOOR, (0.0, 0.0, 1.0), height)]
    if box is None:
        return walls
    try:
        low, high = (list(corner) for corner in box)
    except (TypeError, ValueError):
        low, high = [], []
    if len(low) != 3 or len(high) != 3:
        raise TaupiError("{box} is {got!r}, expected two corners of x, y and z each.", got=box)
    for k in range(3):
        unit = tuple(float(i == k) for i in range(3))
        ends = [None if v is None or not np.isfinite(v) else finite(BOX, float(v)) for v in (low[k], high[k])]
        if ends[0] is not None and ends[1] is not None and not ends[0] < ends[1]:
            raise TaupiError("{box} is {got!r}, expected the least corner first.", got=box)
        if ends[0] is not None:
            walls.append(Wall(BOX, unit, ends[0]))  # type: ignore[arg-type]
        if ends[1] is not None:
            walls.append(Wall(BOX, tuple(-v for v in unit), -ends[1]))  # type: ignore[arg-type]
    return walls


@dataclass(frozen=True, eq=False)
class Approach:
    """How a link can keep clear of a floor or a box: the `rows` to watch and their heights (N, rows) in random postures.

    `left_out` are the ends that are mounted there. `missing` is by how much (m) the rows fall short of the clearance in the best
    posture, 0 if one keeps it.
    """

    pair: Pair
    rows: list[Row]
    heights: np.ndarray
    left_out: tuple[ExcludedPair, ...]
    missing: float


def approach(space: Arrangement, pair: Pair, rows: Sequence[Row], heights: np.ndarray, margin: float) -> Approach:
    """Return how a link can keep clear of a wall, from the distances (N, rows) of its ends in random postures.

    Ends that are mounted there by design are excepted: those that no motion moves, such as of a turning base, and those that are
    never farther away than the clearance although their middle stays inside the wall.
    """
    near = heights.max(axis=0) < margin
    fixed = near & (np.ptp(heights, axis=0) < _UNMOVED)
    radii = np.array([space.bodies[row.body].r for row in rows])
    mounted = near & ~fixed & ((heights + radii).min(axis=0) > 0)
    left_out = []
    if fixed.any():
        left_out.append(ExcludedPair(pair, Exclusion.FIXED))
    elif mounted.any():
        most, least = 1e3 * heights[:, mounted].max(), 1e3 * heights[:, mounted].min()
        left_out.append(ExcludedPair(pair, Exclusion.MOUNTED, f"{least:.0f} to {most:.0f} mm"))
    keep = np.flatnonzero(~fixed & ~mounted).tolist()
    kept = heights[:, keep]
    best = float(kept.min(axis=1).max()) if len(keep) else np.inf
    return Approach(pair, [rows[k] for k in keep], kept, tuple(left_out), max(margin - best, 0.0))


def shortfall(approaches: Sequence[Approach], margin: float) -> str:
    """Return by how much links fall short of a clearance, at best, in words."""
    each = ", ".join(f"{a.pair.first} is {1e3 * a.missing:.1f} mm" for a in approaches if a.missing)
    return f"in the best of all random postures, {each} short of the {1e3 * margin:g} mm asked for"


def refuse_beyond(approaches: Sequence[Approach], margin: float, wall: str, height: float | None) -> None:
    """Refuse a wall that links are beyond in every posture: by how much each, and what would do."""
    beyond = [a for a in approaches if a.missing]
    if not beyond:
        return
    first = Argument("ignore", [(beyond[0].pair.first, wall)])
    most = max(a.missing for a in beyond)
    lower = (
        None
        if height is None or wall != FLOOR
        else Argument(FLOOR, float(f"{np.floor(1e3 * (height - most)) / 1e3:.6g}"))
    )
    options = "Use {lower}, or" if lower else "Use a wider {wall}, or"
    less = "a smaller {clearance}, or" if most < margin else ""
    raise TaupiError(
        "{wall} cannot be kept clear: {shortfall}.",
        remedy=f"{options} {less} leave a link out by {{first}}.".replace("  ", " "),
        wall=Argument(wall),
        shortfall=shortfall(beyond, margin),
        missing={a.pair.first: a.missing for a in beyond},
        lower=lower,
        first=first,
    )
