"""Links that no mass resists: with them the mass matrix is singular."""

from __future__ import annotations

from taupi.model.robot import Robot
from taupi.model.robot_parts import BASE


def massless_links(robot: Robot) -> tuple[str, ...]:
    """Return the links that have no mass or inertia and carry none: the mass matrix is singular along their joints."""
    heavy = [any(v != 0 for v in link.body) for link in robot.links]
    for i in reversed(range(len(robot.links))):
        parent = robot.joints[i].parent
        if heavy[i] and parent != BASE:
            heavy[parent] = True
    return tuple(link.name for link, h in zip(robot.links, heavy, strict=True) if not h)


def massless_sentence(robot: Robot, where: str) -> str | None:
    """Return a sentence on links without mass at the end of a chain, or None."""
    names = massless_links(robot)
    if not names:
        return None
    if len(names) == len(robot.links):
        return f"{where}: no moving link has a mass, so that tau is zero and the mass matrix singular."
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return (
        f"{where}: link {names[0]!r}{more} has no mass or inertia and carries none, so that the mass matrix is singular: "
        "state its inertia, or hold its joint with lock."
    )
