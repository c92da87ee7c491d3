"""A body fixed to a frame of a robot: a tool, or whatever a gripper holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taupi.errors import Argument, TaupiError
from taupi.model.body import Body, InertiaLike, add_bodies, body_from_com, move_body, why_not_physical
from taupi.model.robot_parts import BASE, Link
from taupi.model.scalars import ScalarLike, VectorLike

if TYPE_CHECKING:
    from taupi.model.robot import Robot


def carried_body(robot: Robot, mass: ScalarLike, com: VectorLike, inertia: InertiaLike, frame: str) -> tuple[int, Body]:
    """Return the link of a `robot` that carries a payload, and the payload's ten parameters about that link's origin.

    `mass`, `com` and `inertia`, about the centre of mass, are in the axes of a `frame`.
    """
    body = body_from_com(mass, com, inertia, "payload")
    if why := why_not_physical(body):
        raise TaupiError(f"payload: {why}.")
    place = robot.frame(frame)
    if place.link == BASE:
        raise TaupiError(Argument("frame"), f" {frame!r} is fixed to the base: a payload there moves nothing.")
    return place.link, move_body(body, place.placement)


def links_with_payload(
    robot: Robot, mass: ScalarLike, com: VectorLike, inertia: InertiaLike, frame: str
) -> tuple[Link, ...]:
    """Return the links of a `robot` that carries a payload, which is as in `carried_body`."""
    carrier, body = carried_body(robot, mass, com, inertia, frame)
    links = robot.links
    return tuple(Link(link.name, add_bodies(link.body, body)) if i == carrier else link for i, link in enumerate(links))
