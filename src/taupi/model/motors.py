"""Motors as bodies on the links that carry them: mass, position and inertia."""

from __future__ import annotations

from collections.abc import Sequence

from taupi.errors import Argument, TaupiError
from taupi.model.body import Body, InertiaLike, body_from_com
from taupi.model.robot import BASE, Robot
from taupi.model.scalars import ScalarLike, VectorLike, exact


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
        if isinstance(values, str) or not hasattr(values, "__len__") or len(values) != len(joints):
            count = len(values) if hasattr(values, "__len__") else "one value"
            raise TaupiError(Argument(name), f" has {count}, expected {len(joints)}: one per joint of {robot.name}.")
    bodies: dict[int, Body] = {i: link.body for i, link in enumerate(robot.links)}
    none = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
    for k, joint in enumerate(joints):
        if joint.parent == BASE:
            continue
        motor = body_from_com(mass[k], position[k], none if inertia is None else inertia[k], f"motor of {joint.name}")
        bodies[joint.parent] = tuple(exact(a + b) for a, b in zip(bodies[joint.parent], motor, strict=True))
    return robot.with_parameters([v for i in range(len(robot.links)) for v in bodies[i]])
