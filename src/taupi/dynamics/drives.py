"""Motors behind springs: which joints are elastic, how rotors act on links, and the terms of an elastic joint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from taupi.checks import truth
from taupi.dynamics.chain import Chain
from taupi.dynamics.imu_form import require_bolted
from taupi.dynamics.terms import TERMS, TermsLike, resolve_terms, term_parameters, term_torque
from taupi.dynamics.terms.elastic import Damping, LinkSide, Stiffness
from taupi.dynamics.terms.term import Modulated, Term
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.model.robot import BASE, Robot
from taupi.model.scalars import exact
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port

# The friction of Zollo et al. (2014), on the motor's side.
DOCUMENT = ("coulomb", "viscous")
_LINK = "link_"


@dataclass(frozen=True)
class Sides:
    """The terms of an elastic robot by where they act: on motors, on springs (between motor and link), on links."""

    motor: tuple[Term, ...]
    spring: tuple[Term, ...]
    link: tuple[Term, ...]


def resolve_sides(terms: TermsLike) -> Sides:
    """Return the terms of an elastic robot by side: "viscous" for motors, "damping" for springs, "link_viscous" for links."""
    if isinstance(terms, str):
        terms = (terms,)
    if not isinstance(terms, Iterable):
        message = f" is {terms!r}, expected names such as ('viscous', 'damping'), or () for none."
        raise TaupiError(Argument("terms"), message)
    known = {name: kind for name, kind in TERMS.items() if name != "rotor"}
    motor: list[Term | str] = []
    spring: list[Term] = [Stiffness()]
    link: list[Term] = []
    for term in terms:
        if (isinstance(term, str) and term == Damping.name) or isinstance(term, Damping):
            spring.append(Damping())
        elif isinstance(term, LinkSide):
            link.append(term)
        elif isinstance(term, str) and term.startswith(_LINK) and term.removeprefix(_LINK) in known:
            link.append(LinkSide(known[term.removeprefix(_LINK)]()))
        elif isinstance(term, str) and term not in known:
            raise unknown("term", term, (*known, Damping.name, *(_LINK + name for name in known)))
        else:
            motor.append(term)
    for side in (spring, link):
        names = [t.name for t in side]
        if len(set(names)) < len(names):
            raise TaupiError(f"The term {max(names, key=names.count)!r} is given twice.")
    resolved = resolve_terms(tuple(motor))
    if any(isinstance(t, Modulated) for t in (*resolved, *(t.of for t in link if isinstance(t, LinkSide)))):
        message = " names 'load' or 'curve', which are for rigid joints."
        raise TaupiError(
            Argument("terms"), message, remedy=("Leave them out, or use ", Argument("elastic", False), ".")
        )
    if any(t.name in ("rotor", "rotor_inertia", Stiffness.name) for t in resolved):
        message = " names the rotor or the spring, which an elastic robot always has: leave it out."
        raise TaupiError(Argument("terms"), message)
    return Sides(resolved, tuple(spring), tuple(link))


def stated_terms(robot: Robot) -> tuple[str, ...]:
    """Return the terms that a description states: Coulomb and viscous friction, and any other term that is not zero."""
    joints = robot.driving_joints
    friction = [name for name in ("offset", "stribeck") if any(getattr(j.friction, name) != 0 for j in joints)]
    names = (Damping.name, "link_coulomb", "link_viscous")
    transmission = [name for name in names if any(getattr(j.transmission, name) != 0 for j in joints)]
    return (*DOCUMENT, *friction, *transmission)


def check_elastic(robot: Robot) -> None:
    """Refuse a robot without a single elastic joint."""
    if not robot.elastic_joints:
        raise TaupiError(
            f"{robot.name} has no elastic joint.",
            remedy="Give joints a stiffness: robot.with_transmissions(stiffness=..., rotor_inertia=..., gear_ratio=...), or "
            "transmission = { stiffness = ... } in its TOML.",
        )


def motor_port(robot: Robot, name: str) -> Port:
    """Return an input called `name` with one value per elastic joint."""
    names = robot.elastic_joints
    return Port(name, (len(names),), names, "one value per elastic joint")


def elastic_parameters(robot: Robot, sides: Sides) -> Parameters:
    """Return pi of an elastic robot: ten per link, then one per joint of rotor inertia and of each motor, spring and link term.

    A rigid joint has a rotor and friction, but no spring.
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
    """The motors of a robot, one per coordinate, over a chain.

    Motor i turns by gear_ratio theta_i on the parent link of its joint, about `axis[i]` in that link's frame. A rigid joint has
    theta_i = q_i. Without `coupling`, a rotor neither feels the motion of the link that carries it nor acts back on it.
    """

    def __init__(self, chain: Chain, coupling: bool = True) -> None:
        require_bolted(chain.robot, "A robot with elastic joints")
        self.chain, self.coupling = chain, truth("coupling", coupling)
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

    def _axis(self, i: int) -> Vector:
        joint = self.chain.robot.driving_joints[i]
        if joint.transmission.motor_axis is not None:
            return self.chain.vector(f"{joint.name}.motor_axis", joint.transmission.motor_axis)
        place = self.chain.robot.joints.index(joint)
        before, _, _ = self.chain.stages(place, SX(0))
        return before[0] @ self.chain.axis(place)

    @property
    def coupled(self) -> list[int]:
        """The motors that are carried by a moving link and act on it; those on the base are not."""
        return [i for i, p in enumerate(self.parent) if p != BASE] if self.coupling else []

    @cached_property
    def selection(self) -> Matrix:
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

    def motors(self, link: Vector, motor: Vector) -> Vector:
        """Return one value per motor: from `motor`, one per elastic joint, or from `link` if the joint is rigid."""
        return (self.selection @ cs.vertcat(link, motor))[self.chain.n :]

    def rows(self, link: Matrix, motor: Matrix) -> Matrix:
        """Return the rows of links and elastic motors from those of all links and all motors, added up for a rigid joint."""
        return self.selection.T @ cs.vertcat(link, motor)

    def spin_moment(self, i: int, w: Vector, thetad: Expression, thetadd: Expression) -> Vector:
        """Return k (thetadd z + thetad w x z), the moment of rotor i on its link per unit of inertia (equations.md, E3)."""
        z = self.axis[i]
        return self.ratio[i] * (thetadd * z + thetad * cs.cross(w, z))

    def forces(self, sides: Sides, q: Vector, qd: Vector, theta: Vector, thetad: Vector) -> tuple[Vector, Vector]:
        """Return the torque that terms take from links and from motors, (n,) each; theta and thetad have one value per motor."""
        rest = SX.zeros(self.chain.n)
        spring = term_torque(self.chain, sides.spring, theta - q, thetad - qd, rest)
        link = term_torque(self.chain, sides.link, q, qd, rest)
        motor = term_torque(self.chain, sides.motor, theta, thetad, rest)
        return link - spring, motor + spring


def refuse_massless(robot: Robot) -> None:
    """Refuse elastic joints whose rotor has no inertia: nothing would determine how the motor accelerates."""
    massless = [j.name for j in robot.driving_joints if j.transmission.elastic and j.transmission.rotor_inertia == 0]
    if massless:
        raise TaupiError(
            f"{robot.name}: rotor_inertia is 0 at {', '.join(massless)}, expected a positive one: the motor of an elastic joint "
            "has an acceleration of its own."
        )


def chosen_sides(robot: Robot, terms: TermsLike | None) -> Sides:
    """Return the terms named by `terms`, or those of the description if it is None."""
    return resolve_sides(stated_terms(robot) if terms is None else terms)
