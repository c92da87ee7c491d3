"""A file's links and joints as it states them; which of its trees is the robot; and how planar joints are split."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from fractions import Fraction

from taupi.errors import Argument, TaupiError, unknown
from taupi.model.body import NO_BODY, Body
from taupi.model.placement import IDENTITY, Placement
from taupi.model.robot_parts import FREE, Frame, Friction, Limits, Loop, Transmission
from taupi.model.scalars import Scalar, Vector
from taupi.tables import some_of

NO_LIMITS, NO_FRICTION, DIRECT_DRIVE = Limits(), Friction(), Transmission()


@dataclasses.dataclass(frozen=True, slots=True)
class Mimic:
    """Follow another joint: q = ratio q_master + offset."""

    master: str
    ratio: Scalar
    offset: Scalar


@dataclasses.dataclass(frozen=True, slots=True)
class TreeJoint:
    """A joint as the file states it: child frame = parent frame . before . motion(q) . after; its kind may be "fixed".

    `spring` is the stiffness of a spring at its link. A free joint that is held is held at `home`.
    """

    name: str
    kind: str
    parent: str
    child: str
    before: Placement = IDENTITY
    axis: Vector = (Fraction(0), Fraction(0), Fraction(1))
    after: Placement = IDENTITY
    mimic: Mimic | None = None
    limits: Limits = NO_LIMITS
    friction: Friction = NO_FRICTION
    transmission: Transmission = DIRECT_DRIVE
    spring: Scalar = Fraction(0)
    home: Placement = IDENTITY


@dataclasses.dataclass(frozen=True, slots=True)
class TreeFrame:
    """A frame called `name` that is fixed to a link of the file, as sites of MJCF are."""

    name: str
    link: str
    placement: Placement


@dataclasses.dataclass(frozen=True)
class Tree:
    """All links of a file with their own bodies, and its joints in the order in which they are visited.

    `frames` are further frames fixed to links, `held` joints that the file itself holds, `loops` pairs of frames that it keeps
    together. `large_snaps` are angles that were snapped by more than 1e-4 rad, and by how much.
    """

    name: str
    where: str
    links: tuple[tuple[str, Body], ...]
    joints: tuple[TreeJoint, ...]
    notes: tuple[str, ...] = ()
    frames: tuple[TreeFrame, ...] = ()
    held: tuple[tuple[str, Fraction], ...] = ()
    loops: tuple[Loop, ...] = ()
    large_snaps: tuple[tuple[str, float], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Following:
    """How a joint moves: with a driving joint, q = ratio q_driver + offset, or held at the offset (driver None)."""

    driver: str | None
    ratio: Scalar
    offset: Scalar


def children_of(tree: Tree) -> dict[str, list[TreeJoint]]:
    """Return the joints that hang on each link, in the tree's order."""
    result: dict[str, list[TreeJoint]] = {}
    for joint in tree.joints:
        result.setdefault(joint.parent, []).append(joint)
    return result


# Which tree is the robot ----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Branch:
    """What hangs on the root by one moving joint: that joint, the moving joints beyond it and the links, by name."""

    head: TreeJoint
    moving: tuple[str, ...]
    links: tuple[str, ...]

    @property
    def free(self) -> bool:
        return self.head.kind == FREE

    @property
    def size(self) -> int:
        """How many joints move, the free one of a base not counted."""
        return len(self.moving) - self.free


def one_tree(
    tree: Tree, root: str, drives: Mapping[str, Following], branch: str | None, notes: list[str]
) -> tuple[Tree, dict[str, Following]]:
    """Return the drives with every tree other than the robot held, and the file's tree without loops to those.

    Trees that are bolted to the root all belong to the robot. Where one moves freely, the robot is the tree with the most
    joints, or the one whose root link is `branch`; a note says which were left out.
    """
    branches = _branches(tree, root, drives)
    if branch is not None:
        heads = {b.head.child: b for b in branches}
        if branch not in heads:
            raise unknown("root link of a tree", branch, heads, tree.where)
        kept = [heads[branch]]
    elif not any(b.free for b in branches):
        kept = branches
    else:
        bolted = [b for b in branches if not b.free]
        largest = max((b for b in branches if b.free), key=lambda b: b.size)
        kept = bolted if sum(b.size for b in bolted) > largest.size else [largest]
    _refuse_deep(tree, branches, drives)
    out = [b for b in branches if b not in kept]
    if out:
        names = some_of([b.head.child for b in out])
        notes.append(
            f"left out, since they are not part of {kept[0].head.child}'s tree: {names}; root= picks another tree"
        )
        tree = _without_loops_to(tree, {link for b in out for link in b.links}, notes)
    return tree, released(drives, [name for b in out for name in b.moving])


def _without_loops_to(tree: Tree, links: set[str], notes: list[str]) -> Tree:
    """Return the tree without loops that have an end on one of some links."""
    there = {f.name for f in tree.frames if f.link in links} | links
    kept = tuple(loop for loop in tree.loops if loop.frame_a not in there and loop.frame_b not in there)
    if len(kept) < len(tree.loops):
        notes.append(f"{len(tree.loops) - len(kept)} loops are left out with them")
    return dataclasses.replace(tree, loops=kept)


def released(drives: Mapping[str, Following], names: Iterable[str]) -> dict[str, Following]:
    """Return the drives with some joints held where they are at zero, and those that follow them too."""
    still = set(names)
    return {
        name: Following(None, Fraction(0), drive.offset) if name in still or drive.driver in still else drive
        for name, drive in drives.items()
    }


def _branches(tree: Tree, root: str, drives: Mapping[str, Following]) -> list[_Branch]:
    children = children_of(tree)
    branches: list[_Branch] = []
    stack = list(reversed(children.get(root, ())))
    while stack:
        joint = stack.pop()
        if drives[joint.name].driver is None:
            stack += reversed(children.get(joint.child, ()))
        else:
            beyond = list(_beyond(joint, children))
            moving = tuple(j.name for j in beyond if drives[j.name].driver is not None)
            branches.append(_Branch(joint, moving, tuple(j.child for j in beyond)))
    return branches


def _beyond(head: TreeJoint, children: Mapping[str, list[TreeJoint]]) -> Iterable[TreeJoint]:
    """Yield a joint and all beyond it."""
    stack = [head]
    while stack:
        joint = stack.pop()
        yield joint
        stack += children.get(joint.child, ())


def _refuse_deep(tree: Tree, branches: list[_Branch], drives: Mapping[str, Following]) -> None:
    """Refuse a free joint on a link that moves."""
    heads = {b.head.name for b in branches}
    for joint in tree.joints:
        if joint.kind == FREE and drives[joint.name].driver is not None and joint.name not in heads:
            raise TaupiError(
                "{where}: joint {joint!r} lets link {child!r} move freely on a moving link, expected a "
                "free joint at the root alone.",
                remedy="Hold it with {lock}.",
                where=tree.where,
                joint=joint.name,
                child=joint.child,
                lock=Argument("lock", [joint.name]),
            )


def kept_loops(loops: Iterable[Loop], frames: Iterable[Frame], notes: list[str]) -> tuple[Loop, ...]:
    """Return the loops between links that move relative to each other; a note counts those that are left out."""
    link = {f.name: f.link for f in frames}
    kept = tuple(loop for loop in loops if link[loop.frame_a] != link[loop.frame_b])
    if gone := len(tuple(loops)) - len(kept):
        notes.append(f"{gone} loops are left out: they join links that do not move relative to each other")
    return kept


# Planar joints --------------------------------------------------------------------------------------------------------


def split_planar(tree: Tree, held: Mapping[str, Fraction]) -> Tree:
    """Return the tree with each planar joint as two slides and a hinge, with massless links between them.

    The slides are along the two coordinate axes of the plane, in the order in which they make a right-handed frame with its
    normal, the joint's axis. A joint that is held stays as it is.
    """
    if not any(j.kind == "planar" and j.name not in held for j in tree.joints):
        return tree
    joints: list[TreeJoint] = []
    links = list(tree.links)
    for joint in tree.joints:
        if joint.kind != "planar" or joint.name in held:
            joints.append(joint)
            continue
        along, across = _plane(tree, joint)
        between = [f"{joint.child}/{joint.name}.{k}" for k in "xy"]
        links += [(name, NO_BODY) for name in between]
        steps = zip(("x", "y", "turn"), (along, across, joint.axis), (*between, joint.child), strict=True)
        parent, before = joint.parent, joint.before
        for suffix, axis, child in steps:
            kind = "continuous" if suffix == "turn" else "prismatic"
            joints.append(TreeJoint(f"{joint.name}.{suffix}", kind, parent, child, before, axis))
            parent, before = child, IDENTITY
    notes = (*tree.notes, "planar joints are read as two slides and a hinge")
    return dataclasses.replace(tree, links=tuple(links), joints=tuple(joints), notes=notes)


def _plane(tree: Tree, joint: TreeJoint) -> tuple[Vector, Vector]:
    places = [k for k in range(3) if joint.axis[k]]
    if len(places) != 1:
        axis = " ".join(f"{float(v):g}" for v in joint.axis)
        raise TaupiError(
            "{where}: planar joint {joint!r} has the normal {axis}, expected a coordinate axis.",
            remedy="Hold it with {lock}, or split it into two slides and a hinge.",
            where=tree.where,
            joint=joint.name,
            axis=axis,
            lock=Argument("lock", [joint.name]),
        )
    k, sign = places[0], joint.axis[places[0]]
    zero, one = Fraction(0), Fraction(1)

    def unit(i: int, value: object) -> Vector:
        return tuple(value if m == i % 3 else zero for m in range(3))  # type: ignore[return-value]

    return unit(k + 1, one), unit(k + 2, sign)
