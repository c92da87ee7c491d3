"""From a file's tree of links and joints to a Robot: hold locked joints, merge what does not move, number the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from taupi.budget import budget
from taupi.checks import or_none, truth
from taupi.errors import Argument, TaupiError, shown, unknown
from taupi.model.body import Body, add_bodies, move_body
from taupi.model.floating import with_free_root
from taupi.model.formats.file_tree import (
    Following,
    Tree,
    TreeJoint,
    children_of,
    kept_loops,
    one_tree,
    released,
    split_planar,
)
from taupi.model.placement import IDENTITY3, Placement, rotation_about_vector, rotation_from_matrix
from taupi.model.robot import Robot
from taupi.model.robot_parts import (
    BALL,
    BASE,
    FREE,
    KINDS,
    MULTIPLE,
    Frame,
    Joint,
    Link,
    Source,
)
from taupi.model.scalars import Scalar, ScalarLike, Vector, VectorLike, exact, exact_vector, is_symbolic, note_snapped
from taupi.tables import some_of

__all__ = ["checked_root", "lock_values", "motion", "robot_from_tree", "shortened"]

MAX_MIMIC = 100
# Exact numbers grow by about a hundred bits per joint along a chain of fixed joints; beyond this size they become doubles.
MAX_BITS = 1000

Merged = tuple[tuple[str, tuple[str, ...]], ...]  # a moving link, and the file's links whose inertia was merged into it


def robot_from_tree(
    tree: Tree,
    lock: Sequence[str] | Mapping[str, ScalarLike],
    tip: str | None,
    gravity: VectorLike,
    snap: bool,
    source: Source,
    floating: bool | None = None,
    branch: str | None = None,
) -> Robot:
    """Return the robot of a tree: joints in `lock` held, joints off the path to `tip` frozen, fixed links merged.

    Each link that is fixed to a moving link has its inertia added to that link's and stays as a frame of its own name; a link
    that is fixed to the root only stays as a frame. `floating` lets the root float (True), holds free joints (False) or leaves
    the file's own free joint (None). Where one of several trees moves freely, the largest is the robot, or the one whose root
    link is `branch`.
    """
    or_none(truth)("floating", floating)
    root = checked_root(tree)
    held = dict(tree.held) | lock_values(lock, tree)
    tree = split_planar(tree, held)
    drives = drives_of(tree, held)
    notes = list(tree.notes)
    if floating is False:
        drives = released(drives, [j.name for j in tree.joints if j.kind == FREE])
    tree, drives = one_tree(tree, root, drives, branch, notes)
    if tip is not None:
        drives, dropped = _only_path(tree, root, tip, drives)
        if dropped:
            notes.append(f"off the path to {tip}, frozen at zero and merged: {some_of(dropped, 8)}")
    _refuse_unsupported(tree, drives)
    moving, frames, merged, bolted = _merge(tree, root, drives, snap, notes)
    adds_root = floating is True and not any(m.joint.kind == FREE for m in moving)
    if not moving and not adds_root:
        raise _nothing_moves(tree, bolted, bool(held) or tip is not None)
    joints, links = _numbered(moving, drives)
    if adds_root:
        joints, links, frames = with_free_root(joints, links, frames, Link(root, bolted))
    loops = kept_loops(tree.loops, frames, notes)
    return Robot(
        name=tree.name,
        joints=joints,
        links=links,
        gravity=exact_vector(gravity, Argument("gravity")),
        frames=frames,
        tip=tip if tip is not None else _default_tip(tree, joints, links, frames),
        notes=tuple(notes),
        loops=loops,
        source=dataclasses.replace(
            source,
            merged=tuple(m for m in merged if m[0] in {link.name for link in links}),
            lock=tuple(held.items()),
            tip=tip,
            snap=snap,
            root=None if joints[0].kind == FREE else Link(root, bolted),
            floating=floating,
        ),
    )


def _nothing_moves(tree: Tree, bolted: Body, restricted: bool) -> TaupiError:
    if restricted:
        return TaupiError(
            "{where} has no moving joint left.", remedy="Lock fewer joints, or name another tip.", where=tree.where
        )
    if any(bolted):
        return TaupiError(
            "{where} has no moving joint.",
            remedy="It needs at least one, unless its base moves: {floating=True}.",
            where=tree.where,
        )
    return TaupiError("{where} has no moving joint.", remedy="It needs at least one.", where=tree.where)


# Checks ---------------------------------------------------------------------------------------------------------------


def checked_root(tree: Tree) -> str:
    """Return the root link, after checking that this is a tree: unique names, one parent per link, one root, no cycle."""
    names = [name for name, _ in tree.links]
    if not names:
        raise TaupiError("{where} has no links, expected at least two and a joint between them.", where=tree.where)
    budget().check_joints(max(len(names), len(tree.joints)), tree.where)
    _refuse_twice("link", names, tree.where)
    _refuse_twice("joint", [j.name for j in tree.joints], tree.where)
    known = set(names)
    parent_of: dict[str, TreeJoint] = {}
    for joint in tree.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                raise unknown("link", link, names, f"{tree.where}, the {role} of joint {shown(joint.name)}")
        if joint.child in parent_of:
            other = parent_of[joint.child].name
            raise TaupiError(
                "{where}: link {child!r} has two parents, by joints {other!r} and {joint!r}. Cut the loop: "
                "keep one of the two joints.",
                where=tree.where,
                child=joint.child,
                other=other,
                joint=joint.name,
            )
        parent_of[joint.child] = joint
    roots = [name for name in names if name not in parent_of]
    if len(roots) > 1:
        raise TaupiError(
            "{where} has {got} root links ({roots:,}), expected one. Connect them by joints.",
            where=tree.where,
            got=len(roots),
            roots=roots[:6],
        )
    reached = _reached(tree, roots[0]) if roots else set()
    if len(reached) < len(names):
        lost = next(name for name in names if name not in reached)
        raise TaupiError(
            "{where}: the joints form a cycle through link {lost!r}, expected a tree. Cut the loop.",
            where=tree.where,
            lost=lost,
        )
    return roots[0]


def _refuse_twice(what: str, names: Sequence[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TaupiError(
                "{where}: {what} name {name!r} is used twice. Give each {what} its own name.",
                where=where,
                what=what,
                name=name,
            )
        seen.add(name)


def _reached(tree: Tree, root: str) -> set[str]:
    children = children_of(tree)
    reached, stack = {root}, [root]
    while stack:
        for joint in children.get(stack.pop(), ()):
            if joint.child not in reached:
                reached.add(joint.child)
                stack.append(joint.child)
    return reached


def _refuse_unsupported(tree: Tree, drives: Mapping[str, Following]) -> None:
    for joint in tree.joints:
        if joint.kind in (*KINDS, *MULTIPLE, "fixed"):
            continue
        drive = drives[joint.name]
        if drive.driver is None and drive.offset == 0:
            continue
        raise TaupiError(
            "{where}: joint {joint!r} is {got}, expected a revolute, continuous, prismatic or fixed joint.",
            remedy=("Hold it at its origin with {lock}, or split it into joints with one degree of freedom each."),
            where=tree.where,
            joint=joint.name,
            got=joint.kind,
            lock=Argument("lock", [joint.name]),
        )


# Which joints move ----------------------------------------------------------------------------------------------------


def lock_values(lock: Sequence[str] | Mapping[str, ScalarLike], tree: Tree) -> dict[str, Fraction]:
    """Return where joints are held (rad or m), from names (held at 0) or a mapping from names to values."""
    if isinstance(lock, str) or not isinstance(lock, Mapping | Iterable):
        raise TaupiError("{lock} is {got!r}, expected a list of joint names or a mapping from name to value.", got=lock)
    pairs = list(lock.items()) if isinstance(lock, Mapping) else [(name, 0) for name in lock]
    known = [j.name for j in tree.joints if j.kind != "fixed"]
    result = {}
    for name, value in pairs:
        if not isinstance(name, str) or name not in known:
            raise unknown("moving joint", name, known, tree.where)
        number = exact(value, f"lock[{name!r}]")
        if is_symbolic(number):
            raise TaupiError("lock[{name!r}] is {got!r}, expected a number in rad or m.", name=name, got=value)
        result[name] = number
    return result


def drives_of(tree: Tree, held: Mapping[str, Fraction]) -> dict[str, Following]:
    """Return how each joint of a tree moves, with some joints `held`."""
    by_name = {j.name: j for j in tree.joints}
    return {j.name: _drive(j, by_name, held, tree.where) for j in tree.joints}


def _drive(joint: TreeJoint, by_name: Mapping[str, TreeJoint], held: Mapping[str, Fraction], where: str) -> Following:
    """Return how a joint moves, following chains of joints that mimic each other."""
    ratio, offset = Fraction(1), Fraction(0)
    current = joint
    for _ in range(MAX_MIMIC):
        if current.name in held:
            return Following(None, Fraction(0), ratio * held[current.name] + offset)
        if current.kind == "fixed" or ratio == 0:
            return Following(None, Fraction(0), offset)
        if current.mimic is None:
            return Following(current.name, ratio, offset)
        if current.mimic.master not in by_name:
            raise unknown("joint", current.mimic.master, by_name, f"{where}, mimicked by joint {current.name!r}")
        offset += ratio * current.mimic.offset
        ratio *= current.mimic.ratio
        current = by_name[current.mimic.master]
    raise TaupiError(
        "{where}: joint {joint!r} mimics itself, or more than {max_mimic} joints follow one another to it.",
        remedy="Let it follow a joint that moves freely.",
        where=where,
        joint=joint.name,
        max_mimic=MAX_MIMIC,
    )


def _only_path(
    tree: Tree, root: str, tip: str, drives: Mapping[str, Following]
) -> tuple[dict[str, Following], list[str]]:
    """Return the drives with all joints off the path from root to tip held, and the names of those that were moving."""
    parent_of = {j.child: j for j in tree.joints}
    fixed = {f.name: f.link for f in tree.frames}
    tip = fixed.get(tip, tip) if isinstance(tip, str) else tip
    if not isinstance(tip, str) or (tip != root and tip not in parent_of):
        raise unknown("link", tip, [*(name for name, _ in tree.links), *fixed], tree.where)
    path: set[str] = set()
    while tip != root:
        path.add(parent_of[tip].name)
        tip = parent_of[tip].parent
    result = {
        name: drive if name in path and drive.driver in path else Following(None, Fraction(0), drive.offset)
        for name, drive in drives.items()
    }
    return result, [name for name, drive in drives.items() if drive.driver is not None and result[name].driver is None]


# Merging --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Moving:
    joint: TreeJoint
    parent: int
    before: Placement
    body: Body


def _merge(
    tree: Tree, root: str, drives: Mapping[str, Following], snap: bool, notes: list[str]
) -> tuple[list[_Moving], tuple[Frame, ...], Merged, Body]:
    """Return the moving joints depth first, the frames of merged links, which were merged into which, and the root's body."""
    own, children = dict(tree.links), children_of(tree)
    moving: list[_Moving] = []
    bolted = own[root]
    bodies: list[Body] = []
    frames = [Frame(root, BASE)]
    stack = [(joint, BASE, Placement()) for joint in reversed(children.get(root, ()))]
    while stack:
        joint, index, at = stack.pop()
        drive = drives[joint.name]
        moved, snapped = motion(joint.kind, joint.axis, drive.offset, snap)
        how = "held at" if drive.driver is None else "offset"
        note_snapped(notes, f"joint {joint.name}: {how} {float(drive.offset):.6g}", snapped)
        here = shortened(at @ joint.before @ moved)
        if drive.driver is None:
            here = here @ joint.home @ joint.after
            frames.append(Frame(joint.child, index, here))
            if any(own[joint.child]):
                body = move_body(own[joint.child], here)
                if index == BASE:
                    bolted = _shortened_body(add_bodies(bolted, body))
                else:
                    bodies[index] = _shortened_body(add_bodies(bodies[index], body))
        else:
            moving.append(_Moving(joint, index, here, own[joint.child]))
            bodies.append(own[joint.child])
            index, here = len(bodies) - 1, Placement()
        stack += [(child, index, here) for child in reversed(children.get(joint.child, ()))]
    links = [(BASE, root), *((i, m.joint.child) for i, m in enumerate(moving))]
    places = {f.name: (f.link, f.placement) for f in frames}
    places |= {m.joint.child: (i, Placement()) for i, m in enumerate(moving)}
    merged = tuple(
        (link, names)
        for i, link in links
        if (names := tuple(f.name for f in frames if f.link == i and any(own[f.name]) and f.name != root))
    )
    for extra in tree.frames:
        link, at = places[extra.link]
        frames.append(Frame(extra.name, link, shortened(at @ extra.placement)))
    with_bodies = [_Moving(m.joint, m.parent, m.before, body) for m, body in zip(moving, bodies, strict=True)]
    return with_bodies, tuple(frames), merged, bolted


def motion(kind: str, axis: Vector, value: Scalar, snap: bool = True) -> tuple[Placement, float]:
    """Return a joint's motion by a fixed value, about its axis (rad) or along it (m), and by what angle it was snapped."""
    if value == 0:
        return Placement(), 0.0
    if kind == "prismatic":
        return Placement(IDENTITY3, tuple(value * v for v in axis)), 0.0
    rotation, snapped = rotation_about_vector(axis, value, snap)
    return Placement(rotation), snapped


def _numbered(moving: Sequence[_Moving], drives: Mapping[str, Following]) -> tuple[tuple[Joint, ...], tuple[Link, ...]]:
    """Return the joints with their coordinates numbered, and the links that they move."""
    coordinate: dict[str, int] = {}
    n = 0
    for m in moving:
        if drives[m.joint.name].driver == m.joint.name:
            coordinate[m.joint.name] = n
            n += {FREE: 6, BALL: 3}.get(m.joint.kind, 1)
    joints = []
    for m in moving:
        j, drive = m.joint, drives[m.joint.name]
        assert drive.driver is not None
        joints.append(
            Joint(
                name=j.name,
                kind=j.kind,  # type: ignore[arg-type]
                parent=m.parent,
                coordinate=coordinate[drive.driver],
                before=m.before,
                axis=j.axis,
                after=j.after,
                ratio=drive.ratio,
                limits=j.limits.without_offset(drive.offset),
                friction=j.friction.with_spring_at(j.spring, drive.offset),
                transmission=j.transmission,
                mimic=drive.driver != j.name,
                spring=j.spring,
            )
        )
    return tuple(joints), tuple(Link(m.joint.child, m.body) for m in moving)


def _default_tip(tree: Tree, joints: Sequence[Joint], links: Sequence[Link], frames: Sequence[Frame]) -> str:
    """Return a serial chain's tip: the only fixed leaf beyond the last moving link, or that link itself.

    A branched tree has none; `Robot.frame` says what "tip" means then.
    """
    if any(j.parent != i - 1 for i, j in enumerate(joints)):
        return ""
    parents = {j.parent for j in tree.joints} | {name for k in tree.loops for name in (k.frame_a, k.frame_b)}
    last = len(links) - 1
    leaves = [f.name for f in frames if f.link == last and f.name not in parents]
    return leaves[0] if len(leaves) == 1 else links[last].name


# Fractions that have grown long ---------------------------------------------------------------------------------------


def _long(values: Iterable[Scalar]) -> bool:
    return any(isinstance(v, Fraction) and v.denominator.bit_length() > MAX_BITS for v in values)


def shortened(placement: Placement) -> Placement:
    """Return a placement whose fractions have grown long with doubles instead."""
    if not _long((*(v for row in placement.rotation for v in row), *placement.translation)):
        return placement
    matrix = placement.matrix
    rotation, _ = rotation_from_matrix(matrix[:3, :3].tolist(), snap=False)
    return Placement(rotation, tuple(Fraction(float(v)) for v in matrix[:3, 3]))  # type: ignore[arg-type]


def _shortened_body(body: Body) -> Body:
    return tuple(Fraction(float(v)) for v in body) if _long(body) else body
