"""A file's links and joints as it states them, before anything is merged or numbered."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from taupi.model.body import Body
from taupi.model.placement import IDENTITY, Placement
from taupi.model.robot_parts import Friction, Limits, Loop, Transmission
from taupi.model.scalars import Scalar, Vector

NO_LIMITS, NO_FRICTION, DIRECT_DRIVE = Limits(), Friction(), Transmission()


@dataclass(frozen=True, slots=True)
class Mimic:
    """Follow another joint: q = ratio q_master + offset."""

    master: str
    ratio: Scalar
    offset: Scalar


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class TreeFrame:
    """A frame called `name` that is fixed to a link of the file, as sites of MJCF are."""

    name: str
    link: str
    placement: Placement


@dataclass(frozen=True)
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


@dataclass(frozen=True, slots=True)
class Drive:
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
