"""Links that no mass resists: with them the mass matrix is singular."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from taupi.errors import TaupiError, warn
from taupi.model.robot import Robot
from taupi.model.robot_parts import BASE


def massless_links(robot: Robot, loaded: Collection[int] = ()) -> tuple[str, ...]:
    """Return the links that have no mass or inertia and carry none: the mass matrix is singular along their joints.

    Links with a number in `loaded` carry something else.
    """
    heavy = [any(v != 0 for v in link.body) or i in loaded for i, link in enumerate(robot.links)]
    for i in reversed(range(len(robot.links))):
        parent = robot.joints[i].parent
        if heavy[i] and parent != BASE:
            heavy[parent] = True
    return tuple(link.name for link, h in zip(robot.links, heavy, strict=True) if not h)


def massless_sentence(robot: Robot, where: str, loaded: Collection[int] = ()) -> str | None:
    """Return a sentence on links without mass at the end of a chain, or None; `loaded` is as in `massless_links`."""
    names = massless_links(robot, loaded)
    if not names:
        return None
    if len(names) == len(robot.links):
        return f"{where}: no moving link has a mass, so that tau is zero and the mass matrix singular."
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return (
        f"{where}: link {names[0]!r}{more} has no mass or inertia and carries none, so that the mass matrix is singular: "
        "state its inertia, or hold its joint with lock."
    )


@lru_cache(maxsize=256)
def warn_of_no_masses(robot: Robot) -> None:
    """Warn, once per robot, that a robot of stated geometry has no masses or rotors; the readers of files warn themselves."""
    rotors = any(joint.transmission.rotor_inertia != 0 for joint in robot.joints)
    if robot.source.format in ("dh", "poe", "python") and not rotors and len(massless_links(robot)) == len(robot.links):
        warn(
            "{robot} has no masses, so that its mass matrix, gravity and energies are zero.",
            remedy="Give {links=...} with numbers, or with symbols such as dict(m='m1', com=('c1', 0, 0)).",
            robot=robot.name,
        )


def refuse_massless(robot: Robot, rotors: bool, loaded: Collection[int] = ()) -> None:
    """Refuse to accelerate a robot whose mass matrix is singular: links at an end have no mass, and no rotor turns with them.

    Refused too is a massless link whose own joint can move in more ways than the bodies that it carries resist, such as a
    floating root without mass that carries one joint. With `rotors`, the inertia of the joints' rotors counts, except behind
    the spring of an elastic joint. `loaded` is as in `massless_links`.
    """
    light = massless_links(robot, loaded)
    turned = [rotors and j.transmission.rotor_inertia != 0 and not j.transmission.elastic for j in robot.joints]
    for link, has_rotor in zip(robot.links, turned, strict=True):
        if link.name in light and not has_rotor:
            raise TaupiError("{massless_sentence}", massless_sentence=massless_sentence(robot, robot.name, loaded))
    if name := _loose_link(robot, turned, loaded):
        raise TaupiError(
            "{robot}: link {name!r} has no mass or inertia, and can move while the bodies that it carries "
            "stay where they are, so that the mass matrix is singular.",
            remedy="State its inertia, or leave out one of the joints.",
            robot=robot.name,
            name=name,
        )


def _loose_link(robot: Robot, turned: Sequence[bool], loaded: Collection[int]) -> str | None:
    """Return a link whose joint has more degrees of freedom than there are directions in which its bodies resist, or None.

    A body resists in 6 directions. Through a joint, one less is felt for each of the joint's degrees of freedom; those of a
    joint with a rotor, and of joints that move together, resist by themselves.
    """
    moved = [j for j in robot.joints if j.also or j in robot.following_joints]
    together = {k for j in moved for k in (j.coordinate, *(k for k, _ in j.also))}
    resisted = [6 if any(v != 0 for v in link.body) or i in loaded else 0 for i, link in enumerate(robot.links)]
    for i in reversed(range(len(robot.links))):
        joint = robot.joints[i]
        dof = 0 if turned[i] or joint.coordinate in together else joint.dof
        if 0 < resisted[i] < dof:
            return robot.links[i].name
        if joint.parent != BASE:
            resisted[joint.parent] = min(6, resisted[joint.parent] + max(resisted[i] - dof, 0))
    return None
