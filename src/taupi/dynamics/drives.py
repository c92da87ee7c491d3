"""Motors behind springs, over SX: which joints are elastic, what rotors do to links, and the terms of an elastic joint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as cs

from taupi.dynamics.chain import Chain
from taupi.dynamics.spatial import SX
from taupi.dynamics.terms import TERMS, TermsLike, resolve_terms, term_parameters, term_torque
from taupi.dynamics.terms.elastic import Damping, LinkSide, Stiffness
from taupi.dynamics.terms.term import Term
from taupi.errors import TaupiError, unknown
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.model.robot import BASE, Robot
from taupi.model.scalars import exact
from taupi.program.program import Port

# The document's friction, on the motor's side.
DOCUMENT = ("coulomb", "viscous")
_LINK = "link_"


@dataclass(frozen=True)
class Sides:
    """The terms of an elastic robot by where they act: on motors, on springs (between motor and link), on links."""

    motor: tuple[Term, ...]
    spring: tuple[Term, ...]
    link: tuple[Term, ...]


def resolve_sides(terms: TermsLike) -> Sides:
    """Return the terms of an elastic robot from their names: "viscous" on the motor, "damping", "link_viscous" on the link."""
    if isinstance(terms, str):
        terms = (terms,)
    if not isinstance(terms, Iterable):
        raise TaupiError(f"terms is {terms!r}, expected names such as ('viscous', 'damping'), or () for none.")
    known = {name: kind for name, kind in TERMS.items() if name != "rotor"}
    motor: list[Any] = []
    spring: list[Term] = [Stiffness()]
    link: list[Term] = []
    for given in terms:
        if (isinstance(given, str) and given == Damping.name) or isinstance(given, Damping):
            spring.append(Damping())
        elif isinstance(given, LinkSide):
            link.append(given)
        elif isinstance(given, str) and given.startswith(_LINK) and given.removeprefix(_LINK) in known:
            link.append(LinkSide(known[given.removeprefix(_LINK)]()))
        elif isinstance(given, str) and given not in known:
            raise unknown("term", given, (*known, Damping.name, *(_LINK + name for name in known)))
        else:
            motor.append(given)
    for side in (spring, link):
        names = [t.name for t in side]
        if len(set(names)) < len(names):
            raise TaupiError(f"The term {max(names, key=names.count)!r} is given twice.")
    resolved = resolve_terms(tuple(motor))
    if any(t.name in ("rotor", "rotor_inertia", Stiffness.name) for t in resolved):
        raise TaupiError("terms names the rotor or the spring, which an elastic robot always has: leave it out.")
    return Sides(resolved, tuple(spring), tuple(link))


def stated_terms(robot: Robot) -> tuple[str, ...]:
    """Return the terms that a description states values for: the document's friction, and what else is not zero."""
    joints = robot.driving_joints
    found = list(DOCUMENT)
    found += [name for name in ("offset", "stribeck") if any(getattr(j.friction, name) != 0 for j in joints)]
    more = (Damping.name, "link_coulomb", "link_viscous")
    return (*found, *(name for name in more if any(getattr(j.transmission, name) != 0 for j in joints)))


def check_elastic(robot: Robot) -> None:
    """Refuse a robot without a single elastic joint."""
    if not robot.elastic_joints:
        raise TaupiError(
            f"{robot.name} has no elastic joint. Give joints a stiffness: robot.with_transmissions(stiffness=..., "
            "rotor_inertia=..., gear_ratio=...), or transmission = { stiffness = ... } in its TOML."
        )


def motor_port(robot: Robot, name: str) -> Port:
    """Return an input of one value per elastic joint."""
    names = robot.elastic_joints
    return Port(name, (len(names),), names, "one value per elastic joint")


def elastic_parameters(robot: Robot, sides: Sides) -> Parameters:
    """Return pi of an elastic robot: ten a link, the rotors' inertias, then motor, spring and link terms, one a joint.

    A rigid joint has a rotor and friction, and no spring.
    """
    joints = robot.driving_joints
    places = [robot.joints.index(j) for j in joints]
    entries = tuple(Parameter(j.name, "rotor_inertia", "kg m^2", i) for j, i in zip(joints, places, strict=True))
    values = tuple(exact(j.transmission.rotor_inertia) for j in joints)
    rotors = Parameters(ParameterLayout(entries), values, robot.symbols)
    spring = term_parameters(robot, sides.spring)
    sprung = [k for k, e in enumerate(spring.layout.entries) if robot.joints[e.index].transmission.elastic]
    motor, link = term_parameters(robot, sides.motor), term_parameters(robot, sides.link)
    return robot.parameters + rotors + motor + spring.take(sprung) + link


class Drives:
    """The motors of a robot, one a coordinate, over a chain.

    Motor i turns by gear_ratio theta_i on the parent link of its joint, about `axis[i]` in that link's frame. A rigid joint has
    theta_i = q_i. Without `coupling`, rotors feel and turn nothing but their own shafts.
    """

    def __init__(self, chain: Chain, coupling: bool = True) -> None:
        if not isinstance(coupling, bool):
            raise TaupiError(f"coupling is {coupling!r}, expected True or False.")
        self.chain, self.coupling = chain, coupling
        joints = chain.robot.driving_joints
        drives = [j.transmission for j in joints]
        self.elastic = [i for i, d in enumerate(drives) if d.elastic]
        self.rigid = [i for i, d in enumerate(drives) if not d.elastic]
        self.parent = [j.parent for j in joints]
        self.ratio = [chain.scalar(f"{j.name}.gear_ratio", d.gear_ratio) for j, d in zip(joints, drives, strict=True)]
        self.rotor = [
            chain.scalar(f"{j.name}.rotor_inertia", d.rotor_inertia) for j, d in zip(joints, drives, strict=True)
        ]
        self.axis = [self._axis(i) for i in range(chain.n)]

    def _axis(self, i: int) -> Any:
        joint = self.chain.robot.driving_joints[i]
        if joint.transmission.motor_axis is not None:
            return self.chain.vector(f"{joint.name}.motor_axis", joint.transmission.motor_axis)
        place = self.chain.robot.joints.index(joint)
        before, _, _ = self.chain.stages(place, SX(0))
        return before[0] @ self.chain.axis(place)

    @property
    def coupled(self) -> list[int]:
        """The motors that move with a link and turn it: those of the base do neither."""
        return [i for i, p in enumerate(self.parent) if p != BASE] if self.coupling else []

    @cached_property
    def selection(self) -> Any:
        """S, 2n x (n + elastic), with (all links, all motors) = S (links, motors of elastic joints)."""
        n = self.chain.n
        s = SX(2 * n, n + len(self.elastic))
        for i in range(n):
            s[i, i] = 1
        for i in self.rigid:
            s[n + i, i] = 1
        for k, i in enumerate(self.elastic):
            s[n + i, n + k] = 1
        return s

    def motors(self, link: Any, motor: Any) -> Any:
        """Return one value per motor from those of the links and of the elastic joints' motors."""
        return (self.selection @ cs.vertcat(link, motor))[self.chain.n :]

    def rows(self, link: Any, motor: Any) -> Any:
        """Return the rows of links and elastic motors from those of all links and all motors: a rigid joint has one row."""
        return self.selection.T @ cs.vertcat(link, motor)

    def spin_moment(self, i: int, w: Any, thetad: Any, thetadd: Any) -> Any:
        """Return k (thetadd z + thetad w x z), the moment on its link that rotor i takes per unit of inertia (spec B5)."""
        z = self.axis[i]
        return self.ratio[i] * (thetadd * z + thetad * cs.cross(w, z))

    def forces(self, sides: Sides, q: Any, qd: Any, theta: Any, thetad: Any) -> tuple[Any, Any]:
        """Return what terms take from links and motors, (n,) each, with the robot's own values; theta is one a motor."""
        rest = SX.zeros(self.chain.n)
        spring = term_torque(self.chain, sides.spring, theta - q, thetad - qd, rest)
        link = term_torque(self.chain, sides.link, q, qd, rest)
        motor = term_torque(self.chain, sides.motor, theta, thetad, rest)
        return link - spring, motor + spring


def refuse_massless(robot: Robot) -> None:
    """Refuse elastic joints whose rotor has no inertia: nothing then decides how the motor accelerates."""
    empty = [j.name for j in robot.driving_joints if j.transmission.elastic and j.transmission.rotor_inertia == 0]
    if empty:
        raise TaupiError(
            f"{robot.name}: rotor_inertia is 0 at {', '.join(empty)}, expected a positive one: the motor of an elastic joint "
            "has an acceleration of its own."
        )


def chosen_sides(robot: Robot, terms: TermsLike | None) -> Sides:
    """Return the terms that were asked for, or those that the description states."""
    return resolve_sides(stated_terms(robot) if terms is None else terms)
