"""The verb `clearance`: capsules of a robot, the pairs that are watched and those that are left out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taupi.checks import finite, not_negative
from taupi.dynamics.chain import require_robot
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.excitation.geometry.arrangement import Arrangement, Row, Wall
from taupi.excitation.geometry.clearance import Clearance
from taupi.excitation.geometry.distances import distance_program
from taupi.excitation.geometry.pairs import LeftOut, Pair, Reason
from taupi.excitation.geometry.reach import Reach
from taupi.excitation.geometry.shapes.read import collision_capsules
from taupi.excitation.geometry.srdf import disabled_pairs
from taupi.excitation.geometry.survey import POSTURES, Ranges, never_nearer, random_postures, ranges_of
from taupi.files import path_of
from taupi.input_files import parse_toml, printable
from taupi.model.capsule import Capsule, capsule_from
from taupi.model.formats.text_file import read_text
from taupi.model.robot import BASE, Robot

PathLike = str | os.PathLike[str]
CapsulesLike = PathLike | Sequence[Capsule | Mapping[str, Any]]
# Links whose capsules overlap in a larger share of random postures are taken for built into each other.
OVERLAPPING = 0.5
_PARTS = 20  # of the random postures
# m: a height that changes by less than this counts as constant.
_UNMOVED = 1e-6


def clearance_of(
    robot: Robot,
    clearance: float = 0.02,
    capsules: CapsulesLike = "auto",
    ignore: Sequence[Sequence[str]] | PathLike = (),
    floor: float | None = None,
    box: Sequence[Sequence[float | None]] | None = None,
    packages: Sequence[PathLike] = (),
    ranges: Sequence[Sequence[float]] | None = None,
) -> Clearance:
    """Return the distances that a `robot` must keep, between links and to its surroundings, from capsules around links.

    `clearance` (m, 0.02 by default) is the least distance. `capsules` come from the description by default ("auto"): its own,
    or fitted around the collision geometry of a URDF or MJCF file; else they are a list of `Capsule`s, or mappings with link, a,
    b and r (m), or the path of a TOML file with [[capsule]] tables. `ignore` are pairs of link names that are left out, or the
    path of an SRDF file that lists them. `floor` is the height (m, in world axes) of a floor, none by default, and `box` two
    corners (m), the least and the largest x, y and z, that everything has to stay between; None in them is open. `packages`
    are folders in which the packages of meshes are looked for, besides those above the description. `ranges` are the least and
    the largest positions (n,) that are considered, by default the limits of the joints.

    Neighbours are left out, and so are pairs that a proof shows never to come near. Links whose capsules are nearer than the
    clearance in most postures are built close: these must only not overlap, or, if they overlap in most postures, are left out.
    `Clearance.left_out` has each of these with the reason.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r").bind(l1=0.5, l2=0.4, l3=0.3)
    >>> links = [dict(link=k, a=(-0.1, 0, 0), b=(-0.3, 0, 0), r=0.03) for k in arm.link_names]
    >>> keep = tp.clearance(arm, capsules=links)
    >>> [str(pair) for pair in keep.pairs], len(keep.left_out)
    (['link1 - link3'], 2)
    """
    require_robot(robot)
    margin = not_negative("clearance", clearance)
    enclosing = _capsules(robot, capsules, packages)
    space = Arrangement.of(robot, enclosing, _walls(floor, box))
    area = _ranges(robot, ranges)
    groups, left_out = _candidates(space, _ignored(robot, ignore))
    watched, close, more = _sorted_out(space, groups, area, margin)
    rows = [row for _, group in watched for row in group]
    margins = np.array([0.0 if row.pair in close else margin for row in rows])
    return Clearance(robot, enclosing, margin, (*left_out, *more), close, margins, tuple(rows), space)


Group = tuple[Pair, list[Row]]


def _candidates(space: Arrangement, ignored: Mapping[frozenset[int], str]) -> tuple[list[Group], list[LeftOut]]:
    """Return the pairs that move relative to each other, and the reasons for those that need not be watched."""
    links = sorted({body.link for body in space.bodies})
    groups: list[Group] = []
    left_out: list[LeftOut] = []
    reach = Reach(space)
    for k, first in enumerate(links):
        for second in links[k + 1 :]:
            rows = space.rows_between(first, second)
            pair = rows[0].pair
            why = ignored.get(frozenset((first, second)))
            if len(reach.between(rows[0])) <= 1:
                left_out.append(LeftOut(pair, Reason.NEIGHBOURS))
            elif why is not None:
                left_out.append(LeftOut(pair, Reason.DISABLED, why) if why else LeftOut(pair, Reason.IGNORED))
            else:
                groups.append((pair, rows))
    for link in links:
        for name in dict.fromkeys(wall.name for wall in space.walls):
            if link != BASE:
                rows = space.wall_rows(link, name)
                groups.append((rows[0].pair, rows))
    return groups, left_out


def _sorted_out(
    space: Arrangement, groups: Sequence[Group], ranges: Ranges, margin: float
) -> tuple[list[Group], tuple[Pair, ...], list[LeftOut]]:
    """Return the pairs to watch, those of them that are built close, and those left out, according to random postures."""
    rows = [row for _, group in groups for row in group]
    if not rows:
        return [], (), []
    # Evaluated once, so interpreted; in parts, which bounds memory.
    survey, postures = distance_program(space, rows).compile("numpy"), random_postures(ranges)
    distance = np.concatenate([survey(part) for part in np.array_split(postures, _PARTS)])
    watched: list[Group] = []
    close: list[Pair] = []
    left_out: list[LeftOut] = []
    start = 0
    for pair, group in groups:
        surveyed, own = distance[:, start : start + len(group)], group
        start += len(group)
        between_links = group[0].wall < 0
        if not between_links:
            own, surveyed = _movable(group, surveyed, margin)
        least = surveyed.min(axis=1, initial=np.inf)
        if not own:
            left_out.append(LeftOut(pair, Reason.FIXED))
        elif between_links and (least < 0).mean() > OVERLAPPING:
            share = f"{(least < 0).mean():.0%} of {POSTURES} random postures"
            left_out.append(LeftOut(pair, Reason.OVERLAPPING, share))
        elif least.min() >= margin and never_nearer(space, own, ranges, margin):
            left_out.append(LeftOut(pair, Reason.NEVER))
        else:
            watched.append((pair, own))
            close += [pair] if between_links and (least < margin).mean() > OVERLAPPING else []
    return watched, tuple(close), left_out


def _movable(group: list[Row], surveyed: np.ndarray, margin: float) -> tuple[list[Row], np.ndarray]:
    """Return the rows of a wall without those that are too near and that no motion changes, as of a turning base.

    A moving link that is beyond the wall in every posture cannot meet the requirement.
    """
    fixed = (np.ptp(surveyed, axis=0) < _UNMOVED) & (surveyed[0] < margin)
    keep = [k for k in range(len(group)) if not fixed[k]]
    if keep and (surveyed[:, keep].min(axis=1) < margin).all():
        pair = group[0].pair
        raise TaupiError(
            Argument(pair.second), f" cannot be kept clear: {pair.first} is beyond it in all of {POSTURES} postures."
        )
    return [group[k] for k in keep], surveyed[:, keep]


# What users state -----------------------------------------------------------------------------------------------------


def _capsules(robot: Robot, capsules: Any, packages: Sequence[PathLike]) -> tuple[Capsule, ...]:
    if isinstance(packages, str | os.PathLike):
        packages = [packages]
    if isinstance(capsules, str) and capsules == "auto":
        return collision_capsules(robot, [path_of(p, "the path of a folder", "packages") for p in packages])
    if isinstance(capsules, str | os.PathLike):
        capsules = _read(path_of(capsules, "the path of a TOML file", "capsules"))
    if not isinstance(capsules, Sequence) or not capsules:
        raise TaupiError(
            Argument("capsules"), f" is {shown(capsules)}, expected 'auto', a list of capsules, or a file of them."
        )
    stated = tuple(capsule_from(c, f"capsules[{k}]") for k, c in enumerate(capsules))
    for capsule in stated:
        robot.enclosed_frame(capsule)
    return stated


def _read(path: Path) -> list[Any]:
    rows = parse_toml(read_text(path), printable(path)).get("capsule")
    if not isinstance(rows, list) or not rows:
        raise TaupiError(f"{path} has no [[capsule]] tables.", remedy="Add some, with link, a, b and r.")
    return rows


def _walls(floor: float | None, box: Any) -> list[Wall]:
    walls = [] if floor is None else [Wall("floor", (0.0, 0.0, 1.0), finite("floor", floor))]
    if box is None:
        return walls
    try:
        low, high = (list(corner) for corner in box)
    except (TypeError, ValueError):
        low, high = [], []
    if len(low) != 3 or len(high) != 3:
        raise TaupiError(Argument("box"), f" is {shown(box)}, expected two corners of x, y and z each.")
    for k in range(3):
        unit = tuple(float(i == k) for i in range(3))
        ends = [None if v is None or not np.isfinite(v) else finite("box", float(v)) for v in (low[k], high[k])]
        if ends[0] is not None and ends[1] is not None and not ends[0] < ends[1]:
            raise TaupiError(Argument("box"), f" is {shown(box)}, expected the least corner first.")
        if ends[0] is not None:
            walls.append(Wall("box", unit, ends[0]))  # type: ignore[arg-type]
        if ends[1] is not None:
            walls.append(Wall("box", tuple(-v for v in unit), -ends[1]))  # type: ignore[arg-type]
    return walls


def _ranges(robot: Robot, ranges: Any) -> Ranges:
    if ranges is None:
        return ranges_of(robot)
    limits = np.asarray(ranges, dtype=float)
    if limits.shape != (2, robot.n) or not (limits[0] < limits[1]).all() or not np.isfinite(limits).all():
        raise TaupiError(
            Argument("ranges"), f" has shape {limits.shape}, expected (2, {robot.n}): least, then largest."
        )
    return Ranges(limits[0], limits[1])


def _ignored(robot: Robot, ignore: Any) -> dict[frozenset[int], str]:
    """Return the pairs of moving links that are left out, each with the file that says so, or none."""
    if isinstance(ignore, str | os.PathLike):
        path = path_of(ignore, "the path of an SRDF file, or pairs of link names", "ignore")
        known = (*robot.link_names, *(f.name for f in robot.frames))
        pairs = [(a, b) for a, b in disabled_pairs(path) if a in known and b in known]
        stated = path.name
    else:
        pairs, stated = [_names(pair) for pair in ignore], ""
    result = {frozenset(_link(robot, name) for name in pair): stated for pair in pairs}
    if robot.source.format == "mjcf" and not robot.capsules:
        from taupi.excitation.geometry.shapes.mjcf import excluded

        for pair in excluded(robot):
            result.setdefault(frozenset(_link(robot, name) for name in pair), Path(robot.source.path).name)
    return result


def _names(pair: Any) -> tuple[str, str]:
    if isinstance(pair, Pair):
        return pair.first, pair.second
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise TaupiError(Argument("ignore"), f" has {shown(pair)}, expected pairs of link names.")
    return str(pair[0]), str(pair[1])


def _link(robot: Robot, name: str) -> int:
    known = (*robot.link_names, *(f.name for f in robot.frames))
    if name == "base" and name not in known:
        return BASE
    if name not in known:
        raise unknown("link", name, ("base", *known), robot.name)
    return robot.frame(name).link
