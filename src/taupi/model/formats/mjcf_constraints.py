"""Equality constraints of an MJCF model: joints that follow others, joints that are held, and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from taupi.errors import warn
from taupi.model.formats.file_tree import Mimic, TreeFrame
from taupi.model.placement import Placement, rotation_from_quaternion
from taupi.model.robot_parts import POINT, WELD, Loop
from taupi.model.scalars import exact

if TYPE_CHECKING:
    import numpy as np
    from mujoco import MjModel

_CONNECT, _WELD, _JOINT = 0, 1, 2
_BODY = 1  # mjOBJ_BODY
_FREE = 0
_KINDS = {3: "tendon", 4: "flex", 5: "flex", 6: "flex", 7: "distance"}


@dataclass
class Constraints:
    """What the equalities of a model become: joints that follow, joints that are held, loops with their frames, notes."""

    mimics: dict[str, Mimic] = field(default_factory=dict)
    held: dict[str, Fraction] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    frames: list[TreeFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def constraints_of(model: MjModel, joints: Sequence[str], bodies: Sequence[str], where: str) -> Constraints:
    """Return what the active equality constraints of a model mean for its tree; `joints` and `bodies` are the names."""
    result = Constraints()
    other: list[str] = []
    curved: list[str] = []
    for k in range(model.neq):
        if not model.eq_active0[k]:
            continue
        kind = int(model.eq_type[k])
        if kind == _JOINT:
            _joint(model, k, joints, result, curved)
        elif kind in (_CONNECT, _WELD):
            _loop(model, k, joints, bodies, result)
        else:
            other.append(_KINDS.get(kind, "unknown"))
    if result.mimics or result.held:
        count = len(result.mimics) + len(result.held)
        result.notes.append(f"{count} equalities between joints are taken as rigid, though MuJoCo's are soft")
    if curved:
        names = ", ".join(curved[:6]) + (", ..." if len(curved) > 6 else "")
        warn(f"{where}: equalities that are not linear are ignored, so that these joints move independently: {names}.")
    if other:
        warn(f"{where}: {len(other)} equality constraints ignored ({', '.join(sorted(set(other)))}).")
    return result


def _joint(model: MjModel, k: int, joints: Sequence[str], result: Constraints, curved: list[str]) -> None:
    """Take q1 = q1_0 + a0 + a1 (q2 - q2_0), with q_0 of the reference configuration, as a joint that follows another.

    If joint 1 follows another joint p already, q1 = r p + o, that joint follows instead: p = (q1 - o) / r.
    """
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    name = joints[first]
    a0, a1, *higher = (exact(float(v)) for v in model.eq_data[k][:5])
    offset = exact(float(model.qpos0[model.jnt_qposadr[first]])) + a0
    if second >= 0 and any(higher):
        curved.append(name)
        return
    driver, ratio, shift = _driver(name, result)
    if driver is None or ratio == 0:
        result.notes.append(f"joint {name}: an equality is ignored, since the joint is held already")
        return
    if second < 0:
        result.held[driver] = (offset - shift) / ratio
        return
    master = joints[second]
    if _driver(master, result)[0] == driver:
        result.notes.append(f"joint {name}: an equality with {master}, which follows it already, is ignored")
        return
    offset -= a1 * exact(float(model.qpos0[model.jnt_qposadr[second]]))
    result.mimics[driver] = Mimic(master, a1 / ratio, (offset - shift) / ratio)


def _driver(joint: str, result: Constraints) -> tuple[str | None, Fraction, Fraction]:
    """Return the joint that a joint ultimately follows, None if it is held, with the ratio and offset between the two."""
    ratio, offset = Fraction(1), Fraction(0)
    while joint in result.mimics:
        mimic = result.mimics[joint]
        offset += ratio * mimic.offset
        ratio *= mimic.ratio
        joint = mimic.master
    return (None if joint in result.held else joint), ratio, offset


def _loop(model: MjModel, k: int, joints: Sequence[str], bodies: Sequence[str], result: Constraints) -> None:
    first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    kind = POINT if int(model.eq_type[k]) == _CONNECT else WELD
    name = model.equality(k).name or f"loop{k}"
    if int(model.eq_objtype[k]) == _BODY:
        data = [float(v) for v in model.eq_data[k]]
        places = [_at(data[:3]), _at(data[3:6])] if kind == POINT else [_at(data[3:6], data[6:10]), Placement()]
        links = [first, max(second, 0)]
    else:  # sites
        links = [int(model.site_bodyid[s]) for s in (first, second)]
        places = [_at(model.site_pos[s], model.site_quat[s]) for s in (first, second)]
    if any(int(model.body_mocapid[link]) >= 0 for link in links):
        result.notes.append(f"{name} is left out: it ties the robot to a body that is moved from outside (mocap)")
        return
    base = _bolted_base(model, links, joints)
    if kind == WELD and base is not None:
        result.held[base] = Fraction(0)
        result.notes.append(f"the robot is welded to the world: its free joint {base} is held")
        return
    names = (f"{name}.a", f"{name}.b")
    for frame, link, place in zip(names, links, places, strict=True):
        result.frames.append(TreeFrame(frame, bodies[link], place))
    result.loops.append(Loop(*names, kind))


def _bolted_base(model: MjModel, links: Sequence[int], joints: Sequence[str]) -> str | None:
    """Return the free joint of a body that is welded to one that never moves, or None."""
    for body, other in (links, reversed(links)):
        joint = int(model.body_jntadr[body])
        if joint >= 0 and int(model.jnt_type[joint]) == _FREE and int(model.body_weldid[other]) == 0:
            return joints[joint]
    return None


def _at(position: Sequence[float] | np.ndarray, quaternion: Sequence[float] | np.ndarray | None = None) -> Placement:
    translation = tuple(exact(float(v)) for v in position)
    if quaternion is None:
        return Placement(translation=translation)
    w, x, y, z = (float(v) for v in quaternion)
    return Placement(rotation_from_quaternion(w, x, y, z, snap=False)[0], translation)
