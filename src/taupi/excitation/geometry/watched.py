"""The verb `clearance`: capsules of a robot, the pairs that are watched and those that are left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from taupi.checks import not_negative, real_array
from taupi.dynamics.chain import require_robot
from taupi.errors import TaupiError, unknown
from taupi.excitation.geometry.arrangement import Arrangement, ExcludedPair, Exclusion, Pair, Row
from taupi.excitation.geometry.clearance import Clearance
from taupi.excitation.geometry.contacts import CONTACTS, Surfaces
from taupi.excitation.geometry.distances import Reach, distance_program
from taupi.excitation.geometry.shapes import capsules_of, collision_solids, excluded_pairs
from taupi.excitation.geometry.surroundings import (
    BOX,
    FLOOR,
    Approach,
    Floor,
    approach,
    floor_of,
    refuse_beyond,
    shortfall,
    walls_of,
)
from taupi.files import path_of
from taupi.input_files import parse_toml, printable
from taupi.model.capsule import Capsule, capsule_from
from taupi.model.coupling import coupling_of
from taupi.model.formats import xml_tree
from taupi.model.formats.description import read_text
from taupi.model.robot import BASE, Robot

POSTURES = 20_000
# Largest number of boxes of postures in a proof; pairs that need more are watched instead.
BOXES = 4096


class Ranges(NamedTuple):
    """The least and the largest value of each coordinate (n,), in rad or m."""

    lower: np.ndarray
    upper: np.ndarray


def ranges_of(robot: Robot) -> Ranges:
    """Return the ranges of a robot's coordinates; a revolute joint without one, or with more than a turn, has +-pi."""
    lower, upper = [], []
    for joint in robot.driving_joints:
        low, high = joint.limits.lower, joint.limits.upper
        if low is None or high is None or not low < high or (not joint.prismatic and high - low > 2 * np.pi):
            if joint.prismatic:
                raise TaupiError(
                    "Joint {joint!r} of {robot} slides and has no range, so distances have no bounds.",
                    remedy="State its limits, lower and upper, in the description.",
                    joint=joint.name,
                    robot=robot.name,
                )
            low, high = -np.pi, np.pi
        lower.append(low)
        upper.append(high)
    return Ranges(np.array(lower, dtype=float), np.array(upper, dtype=float))


def random_postures(ranges: Ranges, count: int = POSTURES, seed: int = 0) -> np.ndarray:
    """Return uniform postures (count, n) within ranges."""
    return np.random.default_rng(seed).uniform(ranges.lower, ranges.upper, (count, len(ranges.lower)))


def never_nearer(space: Arrangement, rows: Sequence[Row], ranges: Ranges, margin: float) -> bool:
    """Return whether all rows of a pair are proven to keep a margin, in every posture within the ranges.

    In a box of postures a distance is at least that of its middle minus the reach of each joint times half the box's width; boxes
    that do not show it are halved where that is largest.
    """
    spread = np.array(coupling_of(space.robot), dtype=float)
    centre, half = (ranges.lower + ranges.upper) / 2, (ranges.upper - ranges.lower) / 2
    travel = np.abs(spread) @ np.maximum(np.abs(ranges.lower), np.abs(ranges.upper))
    # By coordinate: a coordinate moves several joints if they are coupled.
    slope = (Reach(space).bounds(rows, travel) @ np.abs(spread)).max(axis=0)
    program = distance_program(space, rows).compile("numpy")
    centres, halves = centre[None], np.where(slope > 0, half, 0.0)[None]
    looked = 0
    while len(centres):
        looked += len(centres)
        if looked > BOXES:
            return False
        nearest = np.atleast_2d(program(centres)).min(axis=1)
        if nearest.min() < margin:
            return False
        left = nearest - halves @ slope < margin
        centres, halves = centres[left], halves[left]
        widest = np.argmax(halves * slope, axis=1)
        step = np.zeros(halves.shape)
        step[np.arange(len(step)), widest] = halves[np.arange(len(step)), widest] / 2
        halves = halves - step
        centres, halves = np.concatenate([centres - step, centres + step]), np.concatenate([halves, halves])
    return True


def disabled_pairs(path: Path) -> list[tuple[str, str]]:
    """Return the pairs of links that a file disables."""
    root = xml_tree.parse(read_text(path), path.name)
    if root.tag != "robot":
        raise TaupiError(
            "{file}: the root element is <{tag}>, expected <robot>: not an SRDF file.",
            file=path.name,
            tag=root.tag[:40],
        )
    pairs = []
    for node in root.all("disable_collisions"):
        first, second = (node.attributes.get(key, "") for key in ("link1", "link2"))
        if not first or not second:
            raise TaupiError(
                "{file}, line {line}: <disable_collisions> names no link1 and link2.", file=path.name, line=node.line
            )
        pairs.append((first, second))
    return pairs


PathLike = str | os.PathLike[str]
CapsulesLike = PathLike | Sequence[Capsule | Mapping[str, Any]]
# Links whose capsules overlap in a larger share of random postures are taken for built into each other.
OVERLAPPING = 0.5
# The random postures come in so many parts, of which these are looked at even when it is late.
_PARTS, _LEAST_PARTS = 20, 2
# The share of random postures in which the surfaces of links that are built into each other meet, and the least share in which
# capsules must be able to keep other links apart.
BUILT_IN, ROOM = 0.9, 0.05
# m: links stay apart by at least this much more than where their surfaces have been seen to meet.
_CLOSER = 1e-3


def clearance_of(
    robot: Robot,
    clearance: float = 0.02,
    capsules: CapsulesLike = "auto",
    ignore: Sequence[Sequence[str]] | PathLike = (),
    floor: float | str | None = None,
    box: Sequence[Sequence[float | None]] | None = None,
    packages: Sequence[PathLike] = (),
    ranges: Sequence[Sequence[float]] | None = None,
) -> Clearance:
    """Return the distances that a `robot` must keep, between links and to its surroundings, from capsules around links.

    The distance of two capsules is that of their segments less their radii. Capsules enclose what they are made from, so
    links are never nearer than their capsules.

    Args:
        robot: A robot; its symbols need values.
        clearance: The least distance in m that is asked for; 0.02 by default.
        capsules: "auto", the default, takes the description's, or fits them around the collision geometry of a URDF or
            MJCF file; else a list of `Capsule`s or of mappings with link, a, b and r (m), or the path of a TOML file with
            [[capsule]] tables.
        ignore: Pairs of link names that are left out, or the path of an SRDF file that lists them; none by default.
        floor: Height of a floor in m, in world axes; "base" is the plane that the base is bolted to; none by default.
        box: Two corners (3,) in m, in world axes, the lowest and the highest, that everything has to stay between; None in
            them is open. No box by default.
        packages: Folders in which the packages of meshes are looked for, besides those above the description.
        ranges: The least and the largest positions, each (n,) in rad or m, that are considered; the joints' limits by default.

    Returns:
        The distances that are watched, and the pairs that are not, each with the reason.

    Raises:
        TaupiError: There is no geometry, a file cannot be read, a link is unknown, or a floor or box cannot be kept clear.

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
    return surveyed(robot, clearance, capsules, ignore, floor, box, packages, ranges)


def surveyed(
    robot: Robot,
    clearance: float = 0.02,
    capsules: CapsulesLike = "auto",
    ignore: Sequence[Sequence[str]] | PathLike = (),
    floor: float | str | None = None,
    box: Sequence[Sequence[float | None]] | None = None,
    packages: Sequence[PathLike] = (),
    ranges: Sequence[Sequence[float]] | None = None,
    late: Callable[[], bool] = lambda: False,
) -> Clearance:
    """Return the `clearance_of` a robot; when it is `late`, capsules get coarser, and pairs are watched instead of proven."""
    require_robot(robot)
    margin = not_negative("clearance", clearance)
    enclosing, surfaces = _capsules(robot, capsules, packages, late)
    ground = floor_of(robot, floor, surfaces)
    space = Arrangement.of(robot, enclosing, walls_of(ground.height, box))
    survey = _Survey(space, surfaces, _ranges(robot, ranges), margin, ground, late)
    groups, neighbours = _candidates(space, _ignored(robot, ignore))
    survey.sort(groups)
    return Clearance(
        robot,
        enclosing,
        margin,
        (*neighbours, *survey.left_out),
        tuple(survey.close),
        np.array([survey.asked(row.pair) for row in survey.rows]),
        tuple(survey.rows),
        space,
        floor=survey.floor,
        by_surfaces=survey.depths,
        surfaces=surfaces,
    )


Group = tuple[Pair, list[Row]]


def _candidates(
    space: Arrangement, ignored: Mapping[frozenset[int | str], str]
) -> tuple[list[Group], list[ExcludedPair]]:
    """Return the pairs that move relative to each other, and the reasons for those that need not be watched."""
    links = sorted({body.link for body in space.bodies})
    groups: list[Group] = []
    left_out: list[ExcludedPair] = []
    reach = Reach(space)
    for k, first in enumerate(links):
        for second in links[k + 1 :]:
            rows = space.rows_between(first, second)
            pair = rows[0].pair
            why = ignored.get(frozenset((first, second)))
            if len(reach.between(rows[0])) <= 1:
                left_out.append(ExcludedPair(pair, Exclusion.NEIGHBOURS))
            elif why is not None:
                left_out.append(
                    ExcludedPair(pair, Exclusion.DISABLED, why) if why else ExcludedPair(pair, Exclusion.IGNORED)
                )
            else:
                groups.append((pair, rows))
    for link in links:
        for name in dict.fromkeys(wall.name for wall in space.walls):
            if link != BASE:
                rows = space.wall_rows(link, name)
                if frozenset((link, name)) in ignored:
                    left_out.append(ExcludedPair(rows[0].pair, Exclusion.IGNORED))
                else:
                    groups.append((rows[0].pair, rows))
    return groups, left_out


@dataclass(eq=False)
class _Survey:
    """The pairs of an arrangement, sorted by what random postures and surfaces show into rows to watch and pairs left out."""

    space: Arrangement
    surfaces: Surfaces | None
    ranges: Ranges
    margin: float
    floor: Floor
    late: Callable[[], bool]
    rows: list[Row] = field(default_factory=list)
    close: list[Pair] = field(default_factory=list)
    depths: dict[Pair, float] = field(default_factory=dict)
    left_out: list[ExcludedPair] = field(default_factory=list)

    def asked(self, pair: Pair) -> float:
        """Return the distance (m) that a pair has to keep: less than the clearance, and even below 0, for what is built close."""
        return self.depths.get(pair, 0.0 if pair in self.close else self.margin)

    def _never_nearer(self, rows: Sequence[Row]) -> bool:
        return not self.late() and never_nearer(self.space, rows, self.ranges, self.margin)

    def sort(self, groups: Sequence[Group]) -> None:
        """Sort pairs into those to watch and those to leave out."""
        rows = [row for _, group in groups for row in group]
        if not rows:
            return
        # Evaluated once, so interpreted; in parts, which bounds memory.
        survey, postures = distance_program(self.space, rows).compile("numpy"), random_postures(self.ranges)
        parts: list[np.ndarray] = []
        for part in np.array_split(postures, _PARTS):
            if len(parts) >= _LEAST_PARTS and self.late():
                break
            parts.append(survey(part))
        distance = np.concatenate(parts)
        walls: dict[str, list[Approach]] = {}
        start = 0
        for pair, group in groups:
            surveyed = distance[:, start : start + len(group)]
            start += len(group)
            if group[0].wall < 0:
                self._sort_links(pair, group, surveyed.min(axis=1), postures)
            else:
                approached = approach(self.space, pair, group, surveyed, self.margin)
                walls.setdefault(pair.second, []).append(approached)
        for name, approaches in walls.items():
            self._sort_wall(name, approaches)

    def _sort_links(self, pair: Pair, group: list[Row], least: np.ndarray, postures: np.ndarray) -> None:
        """Sort two links by their least distance (N,) in random postures: where capsules overlap in most, surfaces decide."""
        overlapping = float((least < 0).mean())
        if overlapping > OVERLAPPING:
            bodies = self.space.bodies
            one, two = bodies[group[0].body].link, bodies[group[0].other].link
            share = f"capsules overlap in {overlapping:.0%} of {len(least)} random postures"
            if self.surfaces is None or not {one, two} <= self.surfaces.triangles.keys():
                self.left_out.append(ExcludedPair(pair, Exclusion.OVERLAPPING, share))
                return
            meet = self.surfaces.meet(one, two, postures[:CONTACTS], self.late)
            if not len(meet):
                self.left_out.append(ExcludedPair(pair, Exclusion.LATE, share))
                return
            seen = f"surfaces meet in {meet.mean():.0%} of {len(meet)} random postures"
            if meet.mean() > BUILT_IN:
                self.left_out.append(ExcludedPair(pair, Exclusion.OVERLAPPING, seen))
                return
            # Where capsules do not overlap, what they hold cannot meet.
            depth = min(float(least[: len(meet)][meet].max(initial=-np.inf)) + _CLOSER, 0.0)
            if not meet.any() or (least >= depth).mean() < ROOM:
                self.left_out.append(ExcludedPair(pair, Exclusion.COARSE, f"{share}, their {seen}"))
                return
            if depth < 0:
                self.depths[pair] = depth
            else:
                self.close.append(pair)
        elif least.min() >= self.margin and self._never_nearer(group):
            self.left_out.append(ExcludedPair(pair, Exclusion.NEVER))
            return
        elif (least < self.margin).mean() > OVERLAPPING:
            self.close.append(pair)
        self.rows += group

    def _sort_wall(self, name: str, approaches: Sequence[Approach]) -> None:
        """Sort links by how they can keep clear of a wall; the plane of the base is no floor for a robot that hangs below it."""
        default = name == FLOOR and self.floor.default
        if default and any(a.missing for a in approaches):
            self.floor = Floor(
                None,
                f"{self.floor.how} (z = {self.floor.height:.4g} m), is none: {shortfall(approaches, self.margin)}",
                True,
            )
            return
        refuse_beyond(approaches, self.margin, name, self.floor.height)
        for each in approaches:
            self.left_out += each.left_out
            if not each.rows:
                continue
            if each.heights.min() >= self.margin and self._never_nearer(each.rows):
                self.left_out.append(ExcludedPair(each.pair, Exclusion.NEVER))
            else:
                self.rows += each.rows


# What users state -----------------------------------------------------------------------------------------------------


def _capsules(
    robot: Robot, capsules: CapsulesLike, packages: Sequence[PathLike], late: Callable[[], bool] = lambda: False
) -> tuple[tuple[Capsule, ...], Surfaces | None]:
    """Return the capsules around a robot's links, and the surfaces inside them if they come from these."""
    if isinstance(packages, str | os.PathLike):
        packages = [packages]
    if isinstance(capsules, str) and capsules == "auto":
        if robot.capsules:
            return robot.capsules, None
        solids = tuple(collision_solids(robot, [path_of(p, "the path of a folder", "packages") for p in packages]))
        return capsules_of(robot, solids, late), Surfaces(robot, solids)
    if isinstance(capsules, str | os.PathLike):
        capsules = _read(path_of(capsules, "the path of a TOML file", "capsules"))
    if not isinstance(capsules, Sequence) or not capsules:
        raise TaupiError("{capsules} is {got!r}, expected 'auto', a list of capsules, or a file of them.", got=capsules)
    stated = tuple(capsule_from(c, f"capsules[{k}]") for k, c in enumerate(capsules))
    for capsule in stated:
        robot.enclosed_frame(capsule)
    return stated, None


def _read(path: Path) -> list[Any]:
    rows = parse_toml(read_text(path), printable(path)).get("capsule")
    if not isinstance(rows, list) or not rows:
        raise TaupiError("{path} has no [[capsule]] tables.", remedy="Add some, with link, a, b and r.", path=path)
    return rows


def _ranges(robot: Robot, ranges: object) -> Ranges:
    if ranges is None:
        return ranges_of(robot)
    limits = real_array("ranges", ranges)
    if limits.shape != (2, robot.n):
        raise TaupiError(
            "{ranges} has shape {got}, expected (2, {n}): least, then largest.", got=limits.shape, n=robot.n
        )
    if not (limits[0] < limits[1]).all() or not np.isfinite(limits).all():
        raise TaupiError(
            "{ranges} is {got!r}, expected finite numbers: the least of each joint, then the largest.",
            got=limits.tolist(),
        )
    return Ranges(limits[0], limits[1])


def _ignored(robot: Robot, ignore: Any) -> dict[frozenset[int | str], str]:
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
        for pair in excluded_pairs(robot):
            result.setdefault(frozenset(_link(robot, name) for name in pair), Path(robot.source.path).name)
    return result


def _names(pair: object) -> tuple[str, str]:
    if isinstance(pair, Pair):
        return pair.first, pair.second
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise TaupiError("{ignore} has {got!r}, expected pairs of link names.", got=pair)
    return str(pair[0]), str(pair[1])


def _link(robot: Robot, name: str) -> int | str:
    """Return the moving link of a name, or the wall."""
    known = (*robot.link_names, *(f.name for f in robot.frames))
    if name in (FLOOR, BOX) and name not in known:
        return name
    if name == "base" and name not in known:
        return BASE
    if name not in known:
        raise unknown("link", name, ("base", *known), robot.name)
    return robot.frame(name).link
