"""Kinetic and potential energy, from differentiated positions: they share no code with the recursions. Rotors and springs too."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from taupi.dynamics.chain import Chain, mass_builder, trace_robot
from taupi.dynamics.drives import Drives, Sides, motor_port
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.spatial import inertia_tensor, unskew
from taupi.dynamics.terms.elastic import Stiffness
from taupi.dynamics.types import Expression, Matrix, Vector
from taupi.model.robot import Robot
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program


def link_motions(chain: Chain, q: Vector, qd: Vector) -> list[tuple[Matrix, Vector, Vector, Vector]]:
    """Return, for each link, R, p, its angular velocity w in link axes, S(w) = R^T dR/dt, and its origin's velocity dp/dt."""
    result = []
    for r, p in link_placements(chain, q):
        turning = r.T @ chain.time_derivative(r, q, qd)
        result.append((r, p, unskew(turning), chain.time_derivative(p, q, qd)))
    return result


def kinetic_of_links(chain: Chain, q: Vector, qd: Vector) -> list[Expression]:
    """Return m |pd|^2 / 2 + pd . (w x R h) + w^T R J R^T w / 2 of every link (Gabiccini et al. 2009, eq. 9-12)."""
    energies = []
    for i, (r, _, w, pd) in enumerate(link_motions(chain, q, qd)):
        body = chain.body(i)
        m, h = body[0], body[1:4]
        moving = m * cs.dot(pd, pd) / 2 + cs.dot(r.T @ pd, cs.cross(w, h))
        energies.append(moving + cs.dot(w, inertia_tensor(body) @ w) / 2)
    return energies


def potential_of_links(chain: Chain, q: Vector) -> list[Expression]:
    """Return -g . (m p + R h) of every link (Gabiccini et al. 2009, eq. 25)."""
    bodies = [chain.body(i) for i in range(len(chain.robot.links))]
    placed = zip(bodies, link_placements(chain, q), strict=True)
    return [-cs.dot(chain.gravity, body[0] * p + r @ body[1:4]) for body, (r, p) in placed]


def kinetic(chain: Chain, q: Vector, qd: Vector) -> Expression:
    """Return the kinetic energy of all links."""
    return sum(kinetic_of_links(chain, q, qd))


def potential(chain: Chain, q: Vector) -> Expression:
    """Return the potential energy of all links in the field of gravity."""
    return sum(potential_of_links(chain, q))


@mass_builder
def link_energies(robot: Robot) -> Program:
    """Return T (links,) and U (links,) of (q, qd) for a `robot`, in J: the kinetic and the potential energy of each link.

    T_i = m |pd|^2 / 2 + pd . (w x R h) + w^T R J R^T w / 2 and U_i = -g . (m p + R h), with p the origin of link frame i
    (Gabiccini et al. 2009, eq. 9, 25). Rotors and springs have energies of their own.

    >>> import taupi as tp
    >>> arm, q, qd = tp.load("puma560"), [0.1] * 6, [0.2] * 6
    >>> T, U = tp.closed_form.link_energies(arm)(q, qd)
    >>> T.shape, bool(abs(T.sum() - tp.kinetic_energy(arm)(q, qd)) < 1e-12)
    ((6,), True)
    """

    def body(chain: Chain, q: Vector, qd: Vector) -> tuple[Vector, Vector]:
        return cs.vertcat(*kinetic_of_links(chain, q, qd)), cs.vertcat(*potential_of_links(chain, q))

    ports = [Port(name, (len(robot.links),)) for name in ("T", "U")]
    return trace_robot("link_energies", robot, body, ["q", "qd"], ports)


def rotor_energy(chain: Chain, drives: Drives, q: Vector, qd: Vector, thetad: Vector) -> Expression:
    """Return sum_i J (k^2 thetad_i^2 / 2 + k thetad_i z . w) of the rotors, with thetad (n,) of all motors (equations.md, E1).

    w is the angular velocity of the link that carries the rotor, whose body includes it.
    """
    total, motions = 0, link_motions(chain, q, qd)
    for i in range(chain.n):
        total += drives.rotor[i] * drives.ratio[i] ** 2 * thetad[i] ** 2 / 2
    for i in drives.coupled:
        total += drives.rotor[i] * drives.ratio[i] * thetad[i] * cs.dot(drives.axis[i], motions[drives.parent[i]][2])
    for rotor in drives.following:
        rate = cs.dot(rotor.c, qd)
        own = rotor.ratio**2 * rate**2 / 2
        if rotor.coupled:
            own += rotor.ratio * rate * cs.dot(rotor.axis, motions[rotor.parent][2])
        total += rotor.inertia * own
    return total


def spring_energy(_: Chain, drives: Drives, q: Vector, theta: Vector) -> Expression:
    """Return sum_i K_i (theta_i - q_i)^2 / 2 of the springs, theta (n,) being that of all motors (Zollo et al. 2014, eq. 6)."""
    springs = Sides((), (Stiffness(),), ())
    return cs.dot(theta - q, drives.forces(springs, q, q, theta, theta)[1]) / 2


@mass_builder
def kinetic_energy(robot: Robot) -> Program:
    """Return K(q, qd) = qd^T M(q) qd / 2, the kinetic energy of `robot` in J (equations.md, D3).

    Args:
        robot: The robot. With elastic joints the program has one more input, `thetad`, the velocities of the motors of those
            joints: K(q, qd, thetad) = v^T B v / 2 with v = (qd, thetad) includes all rotors (Zollo et al. 2014, eq. 1). Left
            out of a call, `thetad` is that of the links.

    Returns:
        A program with the output K, J.

    >>> import taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1)
    >>> round(float(tp.kinetic_energy(arm)([0.0, 0.0], [1.0, 0.0])), 12)
    2.5
    """
    return _with_motors(robot, "kinetic_energy", "K", kinetic, rotor_energy, ("q", "qd"), "thetad")


def _with_motors(
    robot: Robot,
    name: str,
    symbol: str,
    links: Callable[..., Expression],
    drives: Callable[..., Expression],
    state: tuple[str, ...],
    motors: str,
) -> Program:
    """Return the program of an energy of the `links`, over their `state`, and of the `drives` of elastic joints.

    Where there are any, it has an input called `motors` like the last of the state, which it is if it is left out.
    """
    if not robot.elastic_joints:
        return trace_robot(name, robot, links, [*state], [Port(symbol)])

    def body(chain: Chain, *inputs: Vector) -> Expression:
        *own, theirs = inputs
        springs = Drives(chain)
        return links(chain, *own) + drives(chain, springs, *own, springs.motors(own[-1], theirs))

    places = tuple(robot.joint_names.index(joint) for joint in robot.elastic_joints)
    port = dataclasses.replace(motor_port(robot, motors), default=(state[-1], places))
    return trace_robot(name, robot, body, [*state, port], [Port(symbol)])


@mass_builder
def potential_energy(robot: Robot) -> Program:
    """Return P(q), the potential energy of `robot` in J, with g(q) = dP/dq (equations.md, D3).

    It is zero when all centres of mass are at the height of the world's origin.

    Args:
        robot: The robot. With elastic joints the program has one more input, `theta`, the positions of the motors of those
            joints: P(q, theta) includes (q, theta)^T K_e (q, theta) / 2 of the springs (Zollo et al. 2014, eq. 1). Left out of
            a call, `theta` is that of the links, and the springs are relaxed.

    Returns:
        A program with the output P, J.

    >>> import math, taupi as tp
    >>> arm = tp.load("lecture2r").bind(L1=1, L2=1, m1=1, m2=1, g=10)
    >>> round(float(tp.potential_energy(arm)([math.pi / 2, 0.0])), 12)
    30.0
    """
    return _with_motors(robot, "potential_energy", "P", potential, spring_energy, ("q",), "theta")
