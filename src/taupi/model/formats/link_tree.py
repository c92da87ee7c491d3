"""From a file's tree of links and joints to a Robot: hold joints, merge what does not move, number the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from taupi.errors import TaupiError, shown, unknown
from taupi.model.body import Body, add_bodies, move_body
from taupi.model.placement import IDENTITY, IDENTITY3, Placement, rotation_about_vector, rotation_from_matrix
from taupi.model.robot_parts import BASE, KINDS, Frame, Friction, Joint, Limits, Link, Source, Transmission
from taupi.model.robot import Robot
from taupi.model.scalars import Scalar, Vector, exact, exact_vector, is_symbolic, note_snapped

MAX_LINKS = 2000
MAX_MIMIC = 100
# Exact numbers of a long chain of fixed joints grow by some hundred bits a joint; beyond this they become doubles.
MAX_BITS = 1000

NO_LIMITS, NO_FRICTION, DIRECT_DRIVE = Limits(), Friction(), Transmission()


@dataclass(frozen=True, slots=True)
class Mimic:
    """Follow another joint: q = ratio q_master + offset."""

    master: str
    ratio: Scalar
    offset: Scalar


@dataclass(frozen=True, slots=True)
class TreeJoint:
    """A joint as the file has it: child frame = parent frame . before . motion(q) . after; the kind may be "fixed"."""

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


@dataclass(frozen=True)
class Tree:
    """All links of a file with their own bodies, and its joints in the order in which a link's children are visited."""

    name: str
    where: str
    links: tuple[tuple[str, Body], ...]
    joints: tuple[TreeJoint, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Law:
    """How a joint moves: with a driving joint, q = ratio q_driver + offset, or held at the offset (driver None)."""

    driver: str | None
    ratio: Scalar
    offset: Scalar


def robot_from_tree(
    tree: Tree,
    lock: Sequence[str] | Mapping[str, Any],
    tip: str | None,
    gravity: Sequence[Any],
    snap: bool,
    source: Source,
) -> Robot:
    """Return the robot of a tree: joints held by `lock`, those off the path to `tip` frozen, fixed links merged.

    Each link that does not move against the moving link before it gives that one its inertia and stays as a frame of
    its name; what is fixed to the root only stays as a frame.
    """
    root = checked_root(tree)
    held = lock_values(lock, tree)
    laws = _laws(tree, held)
    notes = list(tree.notes)
    if tip is not None:
        laws, dropped = _only_path(tree, root, tip, laws)
        if dropped:
            listed = ", ".join(dropped[:8]) + (", ..." if len(dropped) > 8 else "")
            notes.append(f"off the path to {tip}, frozen at zero and merged: {listed}")
    _refuse_unsupported(tree, laws)
    moving, frames, merged = _merge(tree, root, laws, snap, notes)
    if not moving:
        hint = "Lock fewer joints, or name another tip" if held or tip is not None else "It needs at least one"
        raise TaupiError(f"{tree.where} has no moving joint{' left' if held or tip is not None else ''}. {hint}.")
    joints, links = _numbered(moving, laws)
    return Robot(
        name=tree.name,
        joints=joints,
        links=links,
        gravity=exact_vector(gravity, "gravity"),
        frames=frames,
        tip=tip if tip is not None else _default_tip(tree, joints, links, frames),
        notes=tuple(notes),
        source=_source(source, held, tip, snap, merged),
    )


def _source(source: Source, held: Mapping[str, Fraction], tip: str | None, snap: bool, merged: Any) -> Source:
    return Source(source.format, source.path, source.text, merged, tuple(held.items()), tip, snap)


# Checks ---------------------------------------------------------------------------------------------------------------


def checked_root(tree: Tree) -> str:
    """Return the root link of a tree that is one: unique names, one parent a link, one root, no cycle."""
    names = [name for name, _ in tree.links]
    if not names:
        raise TaupiError(f"{tree.where} has no links, expected at least two and a joint between them.")
    if len(names) > MAX_LINKS:
        raise TaupiError(f"{tree.where} has {len(names)} links, expected at most {MAX_LINKS}.")
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
                f"{tree.where}: link {joint.child!r} has two parents, by joints {other!r} and {joint.name!r}. "
                "Cut the loop: keep one of the two joints."
            )
        parent_of[joint.child] = joint
    roots = [name for name in names if name not in parent_of]
    if len(roots) > 1:
        listed = ", ".join(roots[:6])
        raise TaupiError(f"{tree.where} has {len(roots)} root links ({listed}), expected one. Connect them by joints.")
    if not roots or len(_reached(tree, roots[0])) < len(names):
        lost = next(n for n in names if not roots or n not in _reached(tree, roots[0]))
        raise TaupiError(f"{tree.where}: the joints form a cycle through link {lost!r}, expected a tree. Cut the loop.")
    return roots[0]


def _refuse_twice(what: str, names: Sequence[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TaupiError(f"{where}: {what} name {shown(name)} is used twice. Give each {what} its own name.")
        seen.add(name)


def _children(tree: Tree) -> dict[str, list[TreeJoint]]:
    result: dict[str, list[TreeJoint]] = {}
    for joint in tree.joints:
        result.setdefault(joint.parent, []).append(joint)
    return result


def _reached(tree: Tree, root: str) -> set[str]:
    children = _children(tree)
    reached, stack = {root}, [root]
    while stack:
        for joint in children.get(stack.pop(), ()):
            if joint.child not in reached:
                reached.add(joint.child)
                stack.append(joint.child)
    return reached


def _refuse_unsupported(tree: Tree, laws: Mapping[str, _Law]) -> None:
    for joint in tree.joints:
        if joint.kind in KINDS or joint.kind == "fixed":
            continue
        law = laws[joint.name]
        if law.driver is None and law.offset == 0:
            continue
        raise TaupiError(
            f"{tree.where}: joint {joint.name!r} is {joint.kind}; revolute, continuous, prismatic and fixed joints are "
            f"handled. Hold it at its origin with lock=[{joint.name!r}], or split it into one-dof joints."
        )


# Which joints move ----------------------------------------------------------------------------------------------------


def lock_values(lock: Sequence[str] | Mapping[str, Any], tree: Tree) -> dict[str, Fraction]:
    """Return where joints are held (rad or m), from names (held at 0) or a mapping from name to value."""
    if isinstance(lock, str) or not isinstance(lock, Mapping | Iterable):
        raise TaupiError(f"lock is {shown(lock)}, expected a list of joint names or a mapping from name to value.")
    given = list(lock.items()) if isinstance(lock, Mapping) else [(name, 0) for name in lock]
    known = [j.name for j in tree.joints if j.kind != "fixed"]
    result = {}
    for name, value in given:
        if not isinstance(name, str) or name not in known:
            raise unknown("moving joint", name, known, tree.where)
        number = exact(value, f"lock[{name!r}]")
        if is_symbolic(number):
            raise TaupiError(f"lock[{name!r}] is {shown(value)}, expected a number in rad or m.")
        result[name] = number
    return result


def _laws(tree: Tree, held: Mapping[str, Fraction]) -> dict[str, _Law]:
    by_name = {j.name: j for j in tree.joints}
    return {j.name: _law(j, by_name, held, tree.where) for j in tree.joints}


def _law(joint: TreeJoint, by_name: Mapping[str, TreeJoint], held: Mapping[str, Fraction], where: str) -> _Law:
    ratio, offset = Fraction(1), Fraction(0)
    current = joint
    for _ in range(MAX_MIMIC):
        if current.name in held:
            return _Law(None, Fraction(0), ratio * held[current.name] + offset)
        if current.kind == "fixed" or ratio == 0:
            return _Law(None, Fraction(0), offset)
        if current.mimic is None:
            return _Law(current.name, ratio, offset)
        if current.mimic.master not in by_name:
            raise unknown("joint", current.mimic.master, by_name, f"{where}, mimicked by joint {current.name!r}")
        offset += ratio * current.mimic.offset
        ratio *= current.mimic.ratio
        current = by_name[current.mimic.master]
    raise TaupiError(f"{where}: joint {joint.name!r} mimics itself. Let it follow a joint that moves freely.")


def _only_path(tree: Tree, root: str, tip: str, laws: Mapping[str, _Law]) -> tuple[dict[str, _Law], list[str]]:
    parent_of = {j.child: j for j in tree.joints}
    if not isinstance(tip, str) or (tip != root and tip not in parent_of):
        raise unknown("link", tip, [name for name, _ in tree.links], tree.where)
    path: set[str] = set()
    while tip != root:
        path.add(parent_of[tip].name)
        tip = parent_of[tip].parent
    result = {
        name: law if name in path and law.driver in path else _Law(None, Fraction(0), law.offset)
        for name, law in laws.items()
    }
    return result, [name for name, law in laws.items() if law.driver is not None and result[name].driver is None]


# Merging --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Moving:
    joint: TreeJoint
    parent: int
    before: Placement
    body: Body


def _merge(
    tree: Tree, root: str, laws: Mapping[str, _Law], snap: bool, notes: list[str]
) -> tuple[list[_Moving], tuple[Frame, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """Return the moving joints depth first, the frames of merged links, and which links went into which."""
    own, children = dict(tree.links), _children(tree)
    moving: list[_Moving] = []
    bodies: list[Body] = []
    frames = [Frame(root, BASE)]
    stack = [(joint, BASE, Placement()) for joint in reversed(children.get(root, ()))]
    while stack:
        joint, index, at = stack.pop()
        law = laws[joint.name]
        moved, snapped = motion(joint.kind, joint.axis, law.offset, snap)
        how = "held at" if law.driver is None else "offset"
        note_snapped(notes, f"joint {joint.name}: {how} {float(law.offset):.6g}", snapped)
        here = _settled(at @ joint.before @ moved)
        if law.driver is None:
            here = here @ joint.after
            frames.append(Frame(joint.child, index, here))
            if index != BASE and any(own[joint.child]):
                bodies[index] = _settled_body(add_bodies(bodies[index], move_body(own[joint.child], here)))
        else:
            moving.append(_Moving(joint, index, here, own[joint.child]))
            bodies.append(own[joint.child])
            index, here = len(bodies) - 1, Placement()
        stack += [(child, index, here) for child in reversed(children.get(joint.child, ()))]
    merged = tuple(
        (m.joint.child, names)
        for i, m in enumerate(moving)
        if (names := tuple(f.name for f in frames if f.link == i and any(own[f.name])))
    )
    whole = [_Moving(m.joint, m.parent, m.before, body) for m, body in zip(moving, bodies, strict=True)]
    return whole, tuple(frames), merged


def motion(kind: str, axis: Vector, value: Scalar, snap: bool = True) -> tuple[Placement, float]:
    """Return a joint's motion by a fixed value, about its axis (rad) or along it (m), and by how much it was snapped."""
    if value == 0:
        return Placement(), 0.0
    if kind == "prismatic":
        return Placement(IDENTITY3, tuple(value * v for v in axis)), 0.0
    rotation, snapped = rotation_about_vector(axis, value, snap)
    return Placement(rotation), snapped


def _numbered(moving: Sequence[_Moving], laws: Mapping[str, _Law]) -> tuple[tuple[Joint, ...], tuple[Link, ...]]:
    drivers = [m.joint.name for m in moving if laws[m.joint.name].driver == m.joint.name]
    coordinate = {name: k for k, name in enumerate(drivers)}
    joints = []
    for m in moving:
        j, law = m.joint, laws[m.joint.name]
        assert law.driver is not None
        joints.append(
            Joint(
                name=j.name,
                kind=j.kind,  # type: ignore[arg-type]
                parent=m.parent,
                coordinate=coordinate[law.driver],
                before=m.before,
                axis=j.axis,
                after=j.after,
                ratio=law.ratio,
                limits=j.limits,
                friction=j.friction,
                transmission=j.transmission,
                mimic=law.driver != j.name,
            )
        )
    return tuple(joints), tuple(Link(m.joint.child, m.body) for m in moving)


def _default_tip(tree: Tree, joints: Sequence[Joint], links: Sequence[Link], frames: Sequence[Frame]) -> str:
    """Return a serial chain's tip: the one fixed leaf beyond the last moving link, else that link.

    A tree names none: its "tip" is then what `Robot.frame` says.
    """
    if any(j.parent != i - 1 for i, j in enumerate(joints)):
        return ""
    parents = {j.parent for j in tree.joints}
    last = len(links) - 1
    leaves = [f.name for f in frames if f.link == last and f.name not in parents]
    return leaves[0] if len(leaves) == 1 else links[last].name


# Numbers that grew ----------------------------------------------------------------------------------------------------


def _large(values: Iterable[Scalar]) -> bool:
    return any(isinstance(v, Fraction) and v.denominator.bit_length() > MAX_BITS for v in values)


def _settled(placement: Placement) -> Placement:
    if not _large((*(v for row in placement.rotation for v in row), *placement.translation)):
        return placement
    matrix = placement.matrix
    rotation, _ = rotation_from_matrix(matrix[:3, :3].tolist(), snap=False)
    return Placement(rotation, tuple(Fraction(float(v)) for v in matrix[:3, 3]))  # type: ignore[arg-type]


def _settled_body(body: Body) -> Body:
    return tuple(Fraction(float(v)) for v in body) if _large(body) else body
