"""What other tools can represent of a robot or a fit: bodies of links, and five numbers per joint; and what is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

import numpy as np

from taupi.dynamics.terms import TERMS, described_terms, kind_of
from taupi.dynamics.terms.spring import Spring
from taupi.errors import TaupiError, warn
from taupi.identification.commands.model import DIRECTIONAL
from taupi.identification.physical.standard_parameters import rows_from_covariance
from taupi.identification.results.command_fit import CommandFit
from taupi.identification.results.export import robot_of_fit
from taupi.identification.results.fit import Fit
from taupi.model.body import why_not_physical
from taupi.model.joint_data import FRICTION
from taupi.model.robot import Robot
from taupi.model.robot_parts import Joint
from taupi.model.scalars import exact, to_float

Symbols = Mapping[str, Fraction | None]

# By the field of `JointValues`, the joint term that it stands for.
PLACES = {kind.tool: name for name, kind in described_terms().items() if kind.tool}
# What is identified of a robot driven by commands that other tools have no place for.
BEYOND_TOOLS = ("coulomb_slope", "load", "stribeck", "encoder", *(k for k in DIRECTIONAL if k != "stribeck_shape"))
# Terms that replace friction that a tool has no place for: all of these depend on speed only.
STOOD_IN = "viscous and dry friction stand in for what depends on load or bends with speed"
_STAND_INS = tuple(name for name, kind in described_terms().items() if kind.tool and kind.heading)


@dataclass(frozen=True)
class JointValues:
    """What tools have for a joint: tau = armature qdd + damping qd + dry_friction sgn(qd) + stiffness q + offset.

    Attributes:
        armature: Inertia of the rotor behind the gear, kg m^2 or kg.
        damping: Viscous friction, N m s/rad or N s/m.
        dry_friction: Coulomb friction, N m or N.
        stiffness: Stiffness of a spring at the link, N m/rad or N/m.
        offset: A constant torque, N m, or force, N.
    """

    armature: float = 0.0
    damping: float = 0.0
    dry_friction: float = 0.0
    stiffness: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class Identified:
    """A robot as other tools can represent it.

    Attributes:
        robot: The robot with its parameters.
        bodies: The ten parameters (links, 10) of each link, in its own frame.
        joints: The values of each joint with one degree of freedom, by name.
        lost: The names of the parameters that have no place in `joints`.
        base: The base parameters (b,) of a fit without those that are lost; None for a robot.
        standard: The standard parameters (p,) of a fit, likewise.
    """

    robot: Robot
    bodies: np.ndarray
    joints: dict[str, JointValues]
    lost: tuple[str, ...] = ()
    base: np.ndarray | None = None
    standard: np.ndarray | None = None

    @property
    def stood_in(self) -> bool:
        """Whether viscous and dry friction were changed to replace friction that is lost."""
        return bool(self.lost) and self.base is not None

    def unplaced(self, fields: Sequence[str]) -> list[str]:
        """Return the names of parameters that have no place in a tool with only these `fields` of `JointValues`."""
        missing = [f for f in PLACES if f not in fields]
        names = [f"{name}.{PLACES[f]}" for name, j in self.joints.items() for f in missing if getattr(j, f)]
        return [*names, *self.lost]

    def negative(self, field: str) -> list[str]:
        """Return the names of parameters in a `field` of `JointValues` that are below zero, which some tools do not accept."""
        return [f"{name}.{PLACES[field]}" for name, j in self.joints.items() if getattr(j, field) < 0]

    def warn_of_unplaced(self, fields: Sequence[str], tool: str, others: Sequence[str] = ()) -> None:
        """Warn about parameters that have no place in a tool with these `fields`, and about `others` by name."""
        names = [*self.unplaced(fields), *others]
        if names:
            stood_in = f"; {STOOD_IN}" if self.stood_in else ""
            warn(
                "{count} parameters have no place in {tool}: {names}{stood_in}.",
                count=len(names),
                tool=tool,
                names=listed(names),
                stood_in=stood_in,
            )

    def refuse_unreal(self, tool: str) -> None:
        """Refuse links that are no real bodies; a `tool` accepts links without any mass or inertia."""
        for link, body in zip(self.robot.links, self.bodies, strict=True):
            if body.any() and (why := unreal(body)):
                raise TaupiError(
                    "{tool} takes real bodies only, and {link} is not one: {why}.",
                    remedy="Identify it with {estimator='feasible'}, or describe it with bodies that exist.",
                    tool=tool,
                    link=link.name,
                    why=why,
                )


def unreal(body: np.ndarray) -> str:
    """Return why no real body has these ten parameters; nothing if one has.

    >>> unreal(np.array([2.0, 0, 0, 0, 1, 0, 0, 1, 0, 1])), unreal(np.zeros(10))
    ('', 'it has no mass')
    """
    return why_not_physical(tuple(exact(float(v)) for v in body)) or ("" if body[0] > 0 else "it has no mass")


def listed(names: Iterable[str], most: int = 6) -> str:
    """Return names separated by commas, the first few of many."""
    texts = list(names)
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")


@singledispatch
def identified(source: object, anyway: bool = False) -> Identified:
    """Return the `source`, a robot or a fit, as other tools can represent it.

    A fit whose verdict is wrong is refused unless `anyway`. What a fit has not identified is 0, since it predicts torques without
    it; friction that depends on load or bends with speed is replaced by the viscous and dry friction that come nearest to it on
    the fitted logs.
    """
    raise TaupiError(
        "{source} is {got!r}, expected a robot or a fit: taupi.load(...), taupi.identify(...).", got=source
    )


@identified.register
def _(source: Robot, anyway: bool = False) -> Identified:
    _refuse_drives(source)
    values: Symbols = dict(source.symbols)
    joints = {j.name: _values_of(j, values, source.name) for j in source.single_joints}
    lost = [
        f"{j.name}.{kind}"
        for j in source.single_joints
        for kind in FRICTION
        if not kind_of(kind).tool and getattr(j.friction, kind)
    ]
    bodies = np.array([[to_float(v, link.name, values) for v in link.body] for link in source.links])
    return Identified(source, bodies, joints, tuple(lost))


@identified.register
def _(source: Fit, anyway: bool = False) -> Identified:
    _refuse_drives(source.robot, source.basis.elastic)
    robot = robot_of_fit(source, anyway)
    layout, links = source.basis.standard.layout, len(robot.parameters)
    names = {j.name for j in robot.single_joints}
    foreign = [e for e in layout.entries[links:] if e.owner not in names]
    if foreign:
        raise TaupiError(
            "{owner} is a drive that several joints share, with friction of its own ({foreign}): other "
            "tools have friction of joints only.",
            remedy="Export the fit as TOML, or as C.",
            owner=foreign[0].owner,
            foreign=foreign[0].name,
        )
    pi = source.parameters.values.copy()
    kinds = set(PLACES.values())
    plain_springs = not any(isinstance(term, Spring) and term.lever for term in source.terms)
    kept = [e.kind in kinds and (e.kind != "spring" or plain_springs) for e in layout.entries[links:]]
    gone = links + np.flatnonzero(~np.array(kept, dtype=bool))
    lost = [layout.names[k] for k in gone if pi[k]]
    pi = _with_stand_ins(source, pi, gone)
    fields = {kind: field for field, kind in PLACES.items()}
    table: dict[str, dict[str, float]] = {name: {} for name in (j.name for j in robot.single_joints)}
    for k, e in enumerate(layout.entries[links:], start=links):
        if k not in gone:
            table[e.owner][fields[e.kind]] = float(pi[k])
    joints = {name: JointValues(**values) for name, values in table.items()}
    return Identified(robot, pi[:links].reshape(-1, 10), joints, tuple(lost), source.basis.project(pi), pi)


@identified.register
def _(source: CommandFit, anyway: bool = False) -> Identified:
    plain = identified(source.robot_identified(anyway))
    joints, lost = dict(plain.joints), list(plain.lost)
    springs, centres = source.of_kind("spring"), source.model.scales.centre
    for name, spring, centre in zip(source.robot.joint_names, springs.tolist(), centres.tolist(), strict=True):
        if spring < 0:  # it pushes away from the middle: no tool has a place for that
            lost.append(f"{name}.spring")
        elif spring:
            values = joints[name]
            joints[name] = dataclasses.replace(
                values, stiffness=values.stiffness + spring, offset=values.offset - spring * centre
            )
    own = zip(source.model.parameters, source.raw.tolist(), strict=True)
    lost += [p.name for p, value in own if p.kind in BEYOND_TOOLS and p.joint is not None and value]
    return dataclasses.replace(plain, joints=joints, lost=tuple(lost))


def _with_stand_ins(fit: Fit, pi: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Return standard parameters without those in `gone`, and with viscous and dry friction and offset changed to replace them.

    With W the weighted rows of the fit, the change d of the latter minimises ||W_f d - W_l x_l||, x_l the parameters that go.
    """
    result = pi.copy()
    result[gone] = 0.0
    columns = {c: k for k, c in enumerate(fit.basis.columns)}
    lost = [columns[c] for c in gone if c in columns]
    entries = fit.basis.standard.layout.entries
    free = [c for c in columns if entries[c].kind in _STAND_INS and c >= len(fit.robot.parameters)]
    if not lost or not free:
        return result
    rows = rows_from_covariance(fit.values, fit.covariance) if fit.triangle is None else fit.triangle
    target = rows[:, lost] @ fit.values[lost]
    change = np.linalg.lstsq(rows[:, [columns[c] for c in free]], target, rcond=1e-10)[0]
    result[free] += change
    # Negative dry friction is not friction, and a tool may refuse it.
    for c in free:
        if entries[c].kind != "offset":
            result[c] = max(result[c], min(pi[c], 0.0))
    return result


def _refuse_drives(robot: Robot, elastic: bool | None = None) -> None:
    """Refuse what other tools have no joints for: springs between motors and links, drives that move several joints."""
    if robot.elastic_joints and elastic is not False:
        raise TaupiError(
            "{robot} has elastic joints ({elastic_joints:,}): other tools have no motor behind a spring.",
            remedy=(
                "Identify it with {elastic=False}, or take robot.with_transmissions(stiffness=None), "
                "both of which take the joints as rigid."
            ),
            robot=robot.name,
            elastic_joints=robot.elastic_joints,
        )
    coupled = [j.name for j in robot.joints if j.also or (not j.mimic and j.ratio != 1)]
    if coupled:
        raise TaupiError(
            "{robot} is in the coordinates of motors, several of which move {coupled:,}: other tools have "
            "one coordinate per joint.",
            remedy="Identify it in the coordinates of its joints, or export it as TOML or C.",
            robot=robot.name,
            coupled=coupled,
        )


def _values_of(joint: Joint, values: Symbols, place: str) -> JointValues:
    return JointValues(
        **{f: to_float(TERMS[kind]().value(joint), f"{place}: {joint.name}", values) for f, kind in PLACES.items()}
    )
