"""Motors behind springs: which joints are elastic, how rotors act on links, and the terms of an elastic joint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from taupi.checks import truth
from taupi.dynamics.chain import Chain
from taupi.dynamics.terms import (
    TERMS,
    Rotor,
    TermsLike,
    follower_parameters,
    follower_torque,
    is_term,
    resolve_terms,
    term_class,
    term_parameters,
    term_torque,
)
from taupi.dynamics.terms.elastic import Damping, LinkSide, RotorInertia, Stiffness
from taupi.dynamics.terms.term import Modulated, Term
from taupi.dynamics.types import SX, Expression, Matrix, Vector
from taupi.errors import TaupiError, unknown
from taupi.model.parameters import Parameter, ParameterLayout, Parameters
from taupi.model.requirements import require_bolted
from taupi.model.robot import BASE, Robot
from taupi.model.robot_parts import Joint
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
    if not isinstance(terms, Iterable):
        raise TaupiError(
            "{terms} is {got!r}, expected names such as ('viscous', 'damping'), or () for none.", got=terms
        )
    motor: list[Term | str] = []
    spring: list[Term] = [Stiffness()]
    link: list[LinkSide] = []
    for item in (terms,) if isinstance(terms, str) else tuple(terms):
        term = _named(item) if isinstance(item, str) else item
        if isinstance(term, Damping):
            spring.append(Damping())
        elif isinstance(term, LinkSide):
            link.append(term)
        else:
            motor.append(term)
    for names in ([t.name for t in spring], [t.name for t in link]):
        if len(set(names)) < len(names):
            raise TaupiError("The term {name!r} is given twice.", name=max(names, key=names.count))
    resolved = resolve_terms(motor)
    for each in (*resolved, *(t.of for t in link)):
        if isinstance(each, Modulated):
            raise TaupiError(
                "{terms} has {term!r}, which is for rigid joints.",
                remedy="Leave it out of {terms}, or use {elastic=False}.",
                term=each.name,
            )
        if isinstance(each, Rotor | RotorInertia | Stiffness):
            raise TaupiError(
                "{terms} has {term!r}, but an elastic robot always has its rotors and springs.",
                remedy="Leave it out of {terms}.",
                term=each.name,
            )
    return Sides(resolved, tuple(spring), tuple(link))


def _named(name: str) -> Term | str:
    """Return the term that only elastic robots have under a `name`, or the name of one that its motors have."""
    plain = name.removeprefix(_LINK)
    if name == Damping.name:
        return Damping()
    if name != plain and is_term(plain):
        return LinkSide(term_class(plain)())
    if not is_term(name):
        raise unknown("term", name, (*TERMS, Damping.name, *(_LINK + each for each in TERMS)))
    return name


def stated_terms(robot: Robot) -> tuple[str, ...]:
    """Return the terms that a description states: Coulomb and viscous friction, and any other term that is not zero."""
    joints = robot.driving_joints
    friction = [name for name in ("offset", "stribeck") if any(getattr(j.friction, name) != 0 for j in joints)]
    names = (Damping.name, "link_coulomb", "link_viscous")
    transmission = [name for name in names if any(getattr(j.transmission, name) != 0 for j in joints)]
    return (*DOCUMENT, *friction, *transmission)


def motor_port(robot: Robot, name: str) -> Port:
    """Return an input called `name` with one value per elastic joint."""
    names = robot.elastic_joints
    return Port(name, (len(names),), names, "one value per elastic joint")


def elastic_parameters(robot: Robot, sides: Sides) -> Parameters:
    """Return pi of an elastic robot: ten per link, then one per joint of rotor inertia and of each motor, spring and link term.

    A rigid joint has a rotor and friction, but no spring. A joint that follows another has a rotor and friction if they are
    stated; its friction comes last.
    """
    joints = (*robot.driving_joints, *following_rotors(robot))
    places = [robot.joints.index(j) for j in joints]
    entries = tuple(Parameter(j.name, "rotor_inertia", "kg m^2", i) for j, i in zip(joints, places, strict=True))
    values = tuple(exact(j.transmission.rotor_inertia) for j in joints)
    rotors = Parameters(ParameterLayout(entries), values, robot.symbols)
    spring = term_parameters(robot, sides.spring, followers=False)
    sprung = [k for k, e in enumerate(spring.layout.entries) if robot.joints[e.index].name in robot.elastic_joints]
    motor, link = term_parameters(robot, sides.motor, followers=False), term_parameters(robot, sides.link)
    return robot.parameters + rotors + motor + spring.take(sprung) + link + follower_parameters(robot, sides.motor)


def following_rotors(robot: Robot) -> tuple[Joint, ...]:
    """Return the joints that follow others and have a rotor of their own."""
    return tuple(j for j in robot.following_joints if j.transmission.rotor_inertia != 0)


class FollowingRotor:
    """The rotor of a joint that follows others, over a chain: it turns by gear_ratio c^T q, c (n,) being the joint's ratios."""

    def __init__(self, chain: Chain, joint: Joint, axis: Vector, coupling: bool) -> None:
        drive = joint.transmission
        self.parent, self.axis = joint.parent, axis
        self.coupled = coupling and joint.parent != BASE
        self.ratio = chain.scalar(f"{joint.name}.gear_ratio", drive.gear_ratio)
        self.inertia = chain.scalar(f"{joint.name}.rotor_inertia", drive.rotor_inertia)
        self.c = SX(chain.n, 1)
        for k, ratio in chain.drives_of(joint):
            self.c[k] = ratio

    def spin_moment(self, w: Vector, qd: Vector, qdd: Vector) -> Vector:
        """Return the moment of the rotor on its link per unit of inertia, as `Drives.spin_moment` does."""
        z = self.axis
        return self.ratio * (cs.dot(self.c, qdd) * z + cs.dot(self.c, qd) * cs.cross(w, z))

    def own_torque(self, wd: Vector, qdd: Vector) -> Vector:
        """Return the torque (n,) per unit of inertia, at the angular acceleration `wd` of the link that carries it."""
        own = self.ratio**2 * cs.dot(self.c, qdd)
        return self.c * (own + self.ratio * cs.dot(self.axis, wd) if self.coupled else own)


class Drives:
    """The motors of a robot, one per coordinate, over a chain.

    Motor i turns by gear_ratio theta_i on the parent link of its joint, about `axis[i]` in that link's frame. A rigid joint has
    theta_i = q_i. Without `coupling`, a rotor neither feels the motion of the link that carries it nor acts back on it. Joints
    that follow others are rigid: their rotors, `following`, and their friction act on the links' coordinates.
    """

    def __init__(self, chain: Chain, coupling: bool = True) -> None:
        require_bolted(chain.robot, "A robot with elastic joints")
        self.chain, self.coupling = chain, truth("coupling", coupling)
        joints = chain.robot.driving_joints
        drives = [j.transmission for j in joints]
        self.elastic = list(chain.robot.elastic_coordinates)
        self.rigid = sorted(set(range(chain.n)) - set(self.elastic))
        self.parent = [j.parent for j in joints]
        self.ratio = [chain.scalar(f"{j.name}.gear_ratio", d.gear_ratio) for j, d in zip(joints, drives, strict=True)]
        self.rotor = [
            chain.scalar(f"{j.name}.rotor_inertia", d.rotor_inertia) for j, d in zip(joints, drives, strict=True)
        ]
        self.axis = [self._axis(joint) for joint in joints]
        self.following = [FollowingRotor(chain, j, self._axis(j), coupling) for j in following_rotors(chain.robot)]

    def _axis(self, joint: Joint) -> Vector:
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
        """Return the rows of links and elastic motors from the rows of all links and motors, added up for a rigid joint."""
        return self.selection.T @ cs.vertcat(link, motor)

    def spin_moment(self, i: int, w: Vector, thetad: Expression, thetadd: Expression) -> Vector:
        """Return k (thetadd z + thetad w x z), the moment of rotor i on its link per unit of inertia (equations.md, E3)."""
        z = self.axis[i]
        return self.ratio[i] * (thetadd * z + thetad * cs.cross(w, z))

    def forces(self, sides: Sides, q: Vector, qd: Vector, theta: Vector, thetad: Vector) -> tuple[Vector, Vector]:
        """Return the torque that terms take from links and from motors, (n,) each; theta and thetad have one value per motor."""
        rest = SX.zeros(self.chain.n)
        spring = term_torque(self.chain, sides.spring, theta - q, thetad - qd, rest, followers=False)
        link = term_torque(self.chain, sides.link, q, qd, rest) + follower_torque(self.chain, sides.motor, q, qd, rest)
        motor = term_torque(self.chain, sides.motor, theta, thetad, rest, followers=False)
        return link - spring, motor + spring


def refuse_massless_rotors(robot: Robot) -> None:
    """Refuse elastic joints whose rotor has no inertia: nothing would determine how the motor accelerates."""
    motors = (robot.driving_joints[k] for k in robot.elastic_coordinates)
    massless = [motor.name for motor in motors if motor.transmission.rotor_inertia == 0]
    if massless:
        raise TaupiError(
            "{robot}: rotor_inertia is 0 at {massless:,}, expected a positive one: the motor of an elastic "
            "joint has an acceleration of its own.",
            robot=robot.name,
            massless=massless,
        )


def chosen_sides(robot: Robot, terms: TermsLike | None) -> Sides:
    """Return the terms named by `terms`, or the description's if it is None."""
    return resolve_sides(stated_terms(robot) if terms is None else terms)
