"""Payloads and motors: bodies that are added to links."""

from __future__ import annotations

from collections.abc import Sequence

from taupi.errors import Argument, TaupiError
from taupi.model.body import Body, InertiaLike, add_bodies, body_from_com, move_body, why_not_physical
from taupi.model.robot import Robot
from taupi.model.robot_parts import BASE, Link
from taupi.model.scalars import ScalarLike, VectorLike, items_of


def carried_body(robot: Robot, mass: ScalarLike, com: VectorLike, inertia: InertiaLike, frame: str) -> tuple[int, Body]:
    """Return the link of a `robot` that carries a payload, and the payload's ten parameters about that link's origin.

    `mass`, `com` and `inertia`, about the centre of mass, are in the axes of a `frame`.
    """
    body = body_from_com(mass, com, inertia, "payload")
    if why := why_not_physical(body):
        raise TaupiError("payload: {why}.", why=why)
    place = robot.frame(frame)
    if place.link == BASE:
        raise TaupiError(
            "{frame} {other_frame!r} is fixed to the base: a payload there moves nothing.", other_frame=frame
        )
    return place.link, move_body(body, place.placement)


def links_with_payload(
    robot: Robot, mass: ScalarLike, com: VectorLike, inertia: InertiaLike, frame: str
) -> tuple[Link, ...]:
    """Return the links of a `robot` that carries a payload, which is as in `carried_body`."""
    carrier, body = carried_body(robot, mass, com, inertia, frame)
    links = robot.links
    return tuple(Link(link.name, add_bodies(link.body, body)) if i == carrier else link for i, link in enumerate(links))


def with_motors(
    robot: Robot,
    mass: Sequence[ScalarLike],
    position: Sequence[VectorLike],
    inertia: Sequence[InertiaLike] | None = None,
) -> Robot:
    """Return `robot` with its motors' bodies added to the links that carry them; its links must not include the motors yet.

    Body i becomes link i with the motors mounted on it: m = m_l + m_m, c = m_l p_l + m_m p_m, I = I_l + I_m + m_m S(p_m)^T S(p_m)
    (Zollo et al. 2014, eq. A.14). `mass` (kg) and `position` (m), that of the motor's centre of mass in the frame of the link
    that carries it, are one per joint; `inertia` (kg m^2), about the centre of mass and in that frame's axes, by default
    none, includes the rotor's axial inertia. A motor on the base, such as that of the first joint, changes nothing.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> heavy = tp.elastic.with_motors(arm, mass=[2.0, 1.5], position=[(0, 0, 0), (0.1, 0, 0)])
    >>> (heavy.parameters.values - arm.parameters.values)[:4].round(12).tolist()
    [1.5, 0.15, 0.0, 0.0]
    """
    joints = robot.driving_joints
    listed = {"mass": mass, "position": position} | ({} if inertia is None else {"inertia": inertia})
    for name, values in listed.items():
        items = items_of(values)
        if items is None or len(items) != len(joints):
            raise TaupiError(
                "{argument} has {got}, expected {expected}: one per joint of {robot}.",
                argument=Argument(name),
                got="one value" if items is None else len(items),
                expected=len(joints),
                robot=robot.name,
            )
    bodies = [link.body for link in robot.links]
    none = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
    for k, joint in enumerate(joints):
        if joint.parent == BASE:
            continue
        motor = body_from_com(mass[k], position[k], none if inertia is None else inertia[k], f"motor of {joint.name}")
        bodies[joint.parent] = add_bodies(bodies[joint.parent], motor)
    return robot.with_parameters([v for body in bodies for v in body])
