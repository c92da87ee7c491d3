"""Where the link frames of one description of an arm lie in another's: the same joints, other frames and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from taupi.errors import TaupiError, warn
from taupi.model.placement import Placement
from taupi.model.robot import Robot
from taupi.model.robot_parts import MULTIPLE
from taupi.model.scalars import Vector, to_float

# Descriptions of the same arm differ by rounding of their digits; a larger difference is another arm.
FARTHEST, WIDEST = 3e-3, 3e-3  # m, rad
_SAME = 1e-9
# Gravity that differs by more than this share changes torques by as much.
_GRAVITY = 1e-3


@dataclass(frozen=True, eq=False)
class ArmAtZero:
    """An arm at q = 0, in world axes.

    Attributes:
        links: The pose (links, 4, 4) of each link.
        axes: The axis (links, 3) of each joint.
        points: A point (links, 3) of each joint.
        slides: Whether each joint (links,) slides along its axis.
    """

    links: np.ndarray
    axes: np.ndarray
    points: np.ndarray
    slides: np.ndarray

    @classmethod
    def of(cls, robot: Robot) -> ArmAtZero:
        """Return the arrangement of a robot's joints; axes of free and ball joints, which have none, are zero."""
        values = dict(robot.symbols)
        base = matrix_of(robot.base, values)
        links: list[np.ndarray] = []
        axes, points = [], []
        for joint in robot.joints:
            parent = links[joint.parent] if joint.parent >= 0 else base
            at = parent @ matrix_of(joint.before, values)
            axis = vector_of(joint.axis, robot)
            axes.append(at[:3, :3] @ axis if joint.kind not in MULTIPLE else np.zeros(3))
            points.append(at[:3, 3])
            links.append(at @ matrix_of(joint.after, values))
        slides = np.array([joint.prismatic for joint in robot.joints], dtype=bool)
        return cls(np.array(links), np.array(axes), np.array(points), slides)

    @property
    def turning(self) -> list[int]:
        """The numbers of the joints that turn about an axis."""
        return [k for k, slides in enumerate(self.slides) if not slides and self.axes[k].any()]

    def moved(self, by: np.ndarray) -> ArmAtZero:
        """Return the arrangement seen from a world in which its own is at the pose `by`."""
        turned = self.axes @ by[:3, :3].T
        return ArmAtZero(by @ self.links, turned, self.points @ by[:3, :3].T + by[:3, 3], self.slides)

    def chosen(self, joints: Sequence[int]) -> ArmAtZero:
        """Return some of the joints, by number."""
        at = list(joints)
        return ArmAtZero(self.links[at], self.axes[at], self.points[at], self.slides[at])


def matrix_of(placement: Placement, values: Mapping[str, Fraction | None] | None = None) -> np.ndarray:
    """Return a placement as a 4 x 4 matrix of doubles, with `values` for its symbols."""
    result = np.eye(4)
    known = values or {}
    result[:3, :3] = [[to_float(v, "a rotation", known) for v in row] for row in placement.rotation]
    result[:3, 3] = [to_float(v, "a position", known) for v in placement.translation]
    return result


def vector_of(vector: Vector, robot: Robot) -> np.ndarray:
    """Return a vector of a robot as doubles, with the values of its symbols."""
    values = dict(robot.symbols)
    return np.array([to_float(v, robot.name, values) for v in vector])


def matched_joints(ours: Sequence[str], theirs: Sequence[str], where: str, robot: str) -> dict[str, str]:
    """Return the names of our joints in another model, by our name.

    They are the same names; or, if none match, names that differ by a prefix; or joints in the same order.

    >>> matched_joints(["panda_joint1", "panda_joint2"], ["joint2", "joint1", "finger_joint1"], "panda.xml", "panda")
    {'panda_joint1': 'joint1', 'panda_joint2': 'joint2'}
    """
    missing = [name for name in ours if name not in theirs]
    if not missing:
        return {name: name for name in ours}
    if len(missing) == len(ours):
        prefixed = _by_ending(ours, theirs)
        if prefixed is not None:
            return prefixed
        if len(ours) == len(theirs):
            return dict(zip(ours, theirs, strict=True))
    raise TaupiError(
        "{where} has no joint {missing!r:,} of {robot}; it has {theirs:,}.",
        remedy="Give the joints the same names in both.",
        where=where,
        missing=missing[:4],
        robot=robot,
        theirs=theirs[:12],
    )


def _by_ending(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str] | None:
    """Return pairs of names that differ by one common prefix, such as "panda_"; nothing if there is none."""
    for long, short, turned in ((ours, theirs, False), (theirs, ours, True)):
        for prefix in {a[: -len(b)] for a in long for b in short if len(a) > len(b) > 0 and a.endswith(b)}:
            pairs = {a: a[len(prefix) :] for a in long if a.startswith(prefix) and a[len(prefix) :] in short}
            matches = {b: a for a, b in pairs.items()} if turned else pairs
            if set(matches) == set(ours):
                return {name: matches[name] for name in ours}
    return None


def link_frames(ours: Robot, theirs: ArmAtZero, gravity: np.ndarray, where: str) -> dict[str, np.ndarray]:
    """Return the pose (4, 4) of their link frame in ours, by the name of our joint that moves the link.

    `theirs` has the joints of another model in our order, and `gravity` (3,) is that of its world. This world may be rotated and
    shifted relative to ours, for example if a base is mounted differently; the motion D then carries all of their
    joint axes onto ours. If no such motion aligns the joint axes, they belong to another arm, which is refused; gravity that
    differs is a warning.
    """
    a, b = ArmAtZero.of(ours), theirs
    _refuse_other_kinds(ours, a, b, where)
    motion = np.eye(4)
    # How much joint axes differ: directions (rad), and distances (m) of lines, which are zero for prismatic joints.
    if max(_turns(a, b).max(initial=0.0), _distances(a, b).max(initial=0.0)) > _SAME:
        motion = _world_motion(a, b)
        _refuse_other_arm(ours, a, b.moved(motion), where)
    g, h = vector_of(ours.gravity, ours), motion[:3, :3] @ gravity
    if not ours.floating and float(np.linalg.norm(h - g)) > _GRAVITY * max(float(np.linalg.norm(g)), 1e-9):
        seen, stated = (", ".join(f"{v:.4g}" for v in np.round(x, 6) + 0.0) for x in (h, g))
        warn(
            "{where}: gravity is ({seen}) m/s^2 in the world of {ours}, which has ({stated}): torques differ by it.",
            where=where,
            seen=seen,
            ours=ours.name,
            stated=stated,
        )
    frames = np.linalg.inv(a.links) @ b.moved(motion).links
    return {joint.name: frame for joint, frame in zip(ours.joints, frames, strict=True)}


def moved_body(body: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return the ten parameters of a body, given in a frame a, in the frame whose `pose` (4, 4) in a is given.

    With the pseudo-inertia J = [[S, h], [h^T, m]], S = tr(I)/2 1 - I, it is J' = T^-1 J T^-T.

    >>> import numpy as np
    >>> pose = np.eye(4); pose[0, 3] = 0.5  # the other frame is half a metre ahead
    >>> moved_body(np.array([2.0, 1, 0, 0, 0, 0, 0, 0.5, 0, 0.5]), pose).tolist()  # a point mass there
    [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if np.array_equal(pose, np.eye(4)):
        return body
    m, h, inertia = body[0], body[1:4], tensor(body[4:])
    pseudo = np.zeros((4, 4))
    pseudo[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
    pseudo[:3, 3] = pseudo[3, :3] = h
    pseudo[3, 3] = m
    back = np.linalg.inv(pose)
    other = back @ pseudo @ back.T
    moved = np.trace(other[:3, :3]) * np.eye(3) - other[:3, :3]
    return np.array([m, *other[:3, 3], *moved[np.triu_indices(3)]])


def tensor(six: np.ndarray) -> np.ndarray:
    """Return the 3 x 3 inertia of its entries xx, xy, xz, yy, yz, zz."""
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def central(body: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, centre of mass (3,) and the inertia (3, 3) about it, in the axes of the body's frame."""
    m = float(body[0])
    if not m:
        return 0.0, np.zeros(3), tensor(body[4:])
    c = body[1:4] / m
    return m, c, tensor(body[4:]) - m * (c @ c * np.eye(3) - np.outer(c, c))


def _turns(a: ArmAtZero, b: ArmAtZero) -> np.ndarray:
    return np.linalg.norm(a.axes - b.axes, axis=1)


def _distances(a: ArmAtZero, b: ArmAtZero) -> np.ndarray:
    apart = b.points - a.points
    across = apart - np.sum(apart * a.axes, axis=1, keepdims=True) * a.axes
    fixed = np.linalg.norm(a.axes, axis=1) > 0
    return np.where(a.slides | ~fixed, 0.0, np.linalg.norm(across, axis=1))


def _world_motion(a: ArmAtZero, b: ArmAtZero) -> np.ndarray:
    """Return the pose D of b's world in a's for which the joint axes of b, carried by D, are nearest to a's."""
    u, v = _directions(a), _directions(b)
    left, sizes, right = np.linalg.svd(u.T @ v)
    turn = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    if sizes[1] < 1e-9 * sizes[0]:  # a single direction does not determine how a world is rotated
        turn = np.eye(3)
    turns = a.turning
    across = [np.eye(3) - np.outer(a.axes[k], a.axes[k]) for k in turns]
    wanted = [p @ (a.points[k] - turn @ b.points[k]) for p, k in zip(across, turns, strict=True)]
    result = np.eye(4)
    result[:3, :3] = turn
    if turns:
        result[:3, 3] = np.linalg.lstsq(np.concatenate(across), np.concatenate(wanted), rcond=1e-9)[0]
    return result


def _directions(arm: ArmAtZero) -> np.ndarray:
    """Return vectors (k, 3) that belong to the joint axes themselves: their directions, and the offsets between them."""
    vectors = list(arm.axes)
    for i, k in pairwise(arm.turning):
        way = arm.points[k] - arm.points[i]
        normal = np.cross(arm.axes[i], arm.axes[k])
        if np.linalg.norm(normal) > 1e-6:  # along the common perpendicular
            normal /= np.linalg.norm(normal)
            vectors.append((way @ normal) * normal)
        else:
            vectors.append(way - (way @ arm.axes[i]) * arm.axes[i])
    return np.array(vectors)


def _refuse_other_kinds(ours: Robot, a: ArmAtZero, b: ArmAtZero, where: str) -> None:
    """Refuse joints that are prismatic in one description and revolute in the other."""
    for joint, here, there in zip(ours.joints, a.slides, b.slides, strict=True):
        if here != there:
            words = ("turns", "slides")
            raise TaupiError(
                "{where} is another arm than {ours}: {joint} {word} there, and {other_word} in {ours}.",
                remedy="Give the model of the same arm.",
                where=where,
                ours=ours.name,
                joint=joint.name,
                word=words[int(there)],
                other_word=words[int(here)],
            )


def _refuse_other_arm(ours: Robot, a: ArmAtZero, b: ArmAtZero, where: str) -> None:
    turns, distances = _turns(a, b), _distances(a, b)
    if turns.max() <= WIDEST and distances.max() <= FARTHEST:
        return
    k = int(np.argmax(turns / WIDEST + distances / FARTHEST))
    raise TaupiError(
        "{where} is another arm than {ours}: at q = 0 the axis of {joint} is rotated by {turn:.3g} rad and "
        "{distance:.3g} m away, more than rounding in a description explains ({widest:g} rad, {farthest:g} m).",
        remedy="Give the model of the same arm, with joints that are zero in the same pose.",
        where=where,
        ours=ours.name,
        joint=ours.joints[k].name,
        turn=turns[k],
        distance=distances[k],
        widest=WIDEST,
        farthest=FARTHEST,
    )
