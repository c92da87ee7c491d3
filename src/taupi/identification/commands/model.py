"""What is free when a robot is identified from commands: parameters, where they act in a step, their bounds and priors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from taupi.dynamics.driven import STEP_DEFAULTS, StepValues
from taupi.errors import TaupiError, unknown
from taupi.identification.commands.stretches import Stretch, law_values
from taupi.model.robot import Robot
from taupi.signals.drive import Drive


@dataclass(frozen=True)
class Kind:
    """A kind of parameter: one per joint, or one for all.

    Attributes:
        name: Its name, the second half of a parameter's: `elbow.viscous`.
        label: What it is, in words.
        units: At a turning and at a sliding joint, "torque" standing for N m or N.
        places: The numbers of a step that it sets.
        lower: Its least value.
        upper: Its largest value.
        shared: Whether all joints have the same.
        scale: What the torque of a joint is divided by for the size of the parameter, by acceleration, speed or position.
        tau_power: How often a torque is in its unit: what is known only in units of kp.
        spread: The standard deviation of its prior, about 0, in units of its scale; infinite for none.
    """

    name: str
    label: str
    units: tuple[str, str]
    places: tuple[str, ...]
    lower: float = -np.inf
    upper: float = np.inf
    shared: bool = False
    scale: str | float = 1.0
    tau_power: int = 1
    spread: float = np.inf


# What changes with the position of a joint over its range is some tenth of its torque.
_BEND = 0.1
# Commands of most robots come within some 10 ms, the unit here: slow motions tell a delay from damping and inertia
# so badly that without this, what the model lacks would choose it.
_LATE = 1.0
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("rotor", "inertia of the drive", ("kg m^2", "kg"), ("rotor",), 0.0, scale="acceleration"),
        Kind("viscous", "viscous friction", ("N m s/rad", "N s/m"), ("viscous",), 0.0, scale="speed"),
        Kind("coulomb", "dry friction", ("N m", "N"), ("coulomb",), 0.0, scale="torque"),
        Kind(
            "delay",
            "delay of the commands",
            ("s", "s"),
            ("delay",),
            -0.2,
            0.5,
            shared=True,
            scale=0.01,
            tau_power=0,
            spread=_LATE,
        ),
        Kind("offset", "constant torque", ("N m", "N"), ("offset",), scale="torque"),
        Kind("spring", "spring about the middle", ("N m/rad", "N/m"), ("spring",), scale="position", spread=_BEND),
        Kind(
            "coulomb_slope",
            "change of dry friction with position",
            ("N m/rad", "N/m"),
            ("coulomb_slope",),
            scale="position",
            spread=_BEND,
        ),
        Kind("load", "share of the torque lost to friction", ("1", "1"), ("load",), 0.0, 0.95, tau_power=0),
        Kind("stribeck", "dry friction that vanishes with speed", ("N m", "N"), ("stribeck",), 0.0, scale="torque"),
        Kind(
            "stribeck_velocity",
            "speed at which it does",
            ("rad/s", "m/s"),
            ("stribeck_velocity",),
            0.005,
            10.0,
            shared=True,
            tau_power=0,
        ),
        Kind(
            "stribeck_shape",
            "power of the speed at which it does",
            ("1", "1"),
            ("stribeck_shape",),
            0.5,
            10.0,
            shared=True,
            tau_power=0,
        ),
        Kind(
            "load_motor", "share of the motor's torque lost to friction", ("1", "1"), ("load",), 0.0, 0.95, tau_power=0
        ),
        Kind(
            "load_external",
            "share of the load lost to friction",
            ("1", "1"),
            ("load_external",),
            0.0,
            0.95,
            tau_power=0,
        ),
        Kind(
            "stribeck_load",
            "share of the torque lost to friction that vanishes with speed",
            ("1", "1"),
            ("stribeck_load", "stribeck_load_external"),
            0.0,
            0.95,
            tau_power=0,
        ),
        Kind(
            "stribeck_load_motor",
            "share of the motor's torque lost to friction that vanishes with speed",
            ("1", "1"),
            ("stribeck_load",),
            0.0,
            0.95,
            tau_power=0,
        ),
        Kind(
            "stribeck_load_external",
            "share of the load lost to friction that vanishes with speed",
            ("1", "1"),
            ("stribeck_load_external",),
            0.0,
            0.95,
            tau_power=0,
        ),
        Kind(
            "quadratic_motor",
            "friction by the square of a motor's torque that the load outweighs",
            ("1/(N m)", "1/N"),
            ("quadratic_motor",),
            0.0,
            tau_power=-1,
        ),
        Kind(
            "quadratic_external",
            "friction by the square of a load that the motor outweighs",
            ("1/(N m)", "1/N"),
            ("quadratic_external",),
            0.0,
            tau_power=-1,
        ),
        Kind("encoder", "zero of the encoder", ("rad", "m"), ("encoder",), -1.0, 1.0, tau_power=0),
        Kind(
            "torque_per_volt",
            "torque per volt at standstill",
            ("N m/V", "N/V"),
            ("torque_per_volt",),
            1e-9,
            scale="start",
        ),
        Kind("braking", "braking by back-EMF", ("N m s/rad", "N s/m"), ("braking",), 0.0, scale="start"),
        Kind("limit", "largest torque of the motor", ("N m", "N"), ("limit",), 1e-9, scale="start"),
        Kind("kp", "gain on the position error", ("N m/rad", "N/m"), ("kp",), 1e-6, scale="position"),
    )
}
MASSES = "masses"
# What a name in `terms` stands for, where it is more than the kind of this name.
_PLAIN = ("rotor", "viscous", "coulomb")
_STRIBECK = ("stribeck", "stribeck_velocity", "stribeck_shape")
_BOTH_SIDES = ("load_motor", "load_external", "stribeck_load_motor", "stribeck_load_external")
# Where the search for the share that a servo's gear loses begins.
_LOST = 0.05
# What only the gear of a servo has, which is loaded from both sides.
DIRECTIONAL = (*_BOTH_SIDES, "stribeck_load", "quadratic_motor", "quadratic_external", "stribeck_shape")
_GROUPS = {
    "stribeck": ("stribeck", "stribeck_velocity"),
    "position": ("spring", "coulomb_slope"),
    # The models of "Better actuator models" (Duclusaud, Passault, Padois & Ly 2025), by their names there.
    "m1": _PLAIN,
    "m2": (*_PLAIN, *_STRIBECK),
    "m3": (*_PLAIN, "load"),
    "m4": (*_PLAIN, *_STRIBECK, "load", "stribeck_load"),
    "m5": (*_PLAIN, *_STRIBECK, *_BOTH_SIDES),
    "m6": (*_PLAIN, *_STRIBECK, *_BOTH_SIDES, "quadratic_motor", "quadratic_external"),
}
# Always free; then what is tried in this order, each kept if blocks that were not fitted show that it helps.
FIRST = ("rotor", "viscous", "coulomb", "delay")
# Of a servo: its zero stands in for a constant torque, its largest torque is that of its largest current.
FIRST_OF_SERVO = ("rotor", "viscous", "coulomb", "delay", "encoder", "torque_per_volt", "braking", "limit")
TRIED_OF_SERVO = ("load", "stribeck")
TRIED = ("offset", "position", "load", "stribeck", MASSES)
# One unit of the prior: the share of a link's mass, and m, by which its first moments change with it.
_MASS_SHARE, _LEVER = 0.3, 0.03


@dataclass(frozen=True)
class FreeNumber:
    """One free number: what it is called, where it acts, how large it may be.

    Attributes:
        name: Its name.
        kind: The name of its kind.
        unit: Its unit.
        joint: The joint it belongs to, by number; None if it belongs to all, or to a link.
        places: Where it is in the numbers of a step.
        start: Where the search begins, and the centre of its prior.
        scale: Its size if it accounted for all torque of the joint.
        lower: Its least value.
        upper: Its largest value.
        spread: The standard deviation of its prior; infinite if it has none.
    """

    name: str
    kind: str
    unit: str
    joint: int | None
    places: tuple[int, ...]
    start: float
    scale: float
    lower: float
    upper: float
    spread: float = np.inf


def resolve_kinds(terms: object) -> tuple[str, ...]:
    """Return the kinds of parameters that names, or terms, stand for; delay, inertia and friction of joints come first.

    Args:
        terms: Names such as ("rotor", "viscous", "coulomb", "offset"), or objects with such names.
    """
    items = (terms,) if isinstance(terms, str) or not isinstance(terms, Iterable) else tuple(terms)
    names = [getattr(item, "name", item) for item in items]
    if not all(isinstance(name, str) for name in names):
        raise TaupiError("{terms} is {got!r}, expected names such as ('rotor', 'viscous', 'coulomb').", got=terms)
    known = [*KINDS, MASSES]
    for name in names:
        if name not in known and name not in _GROUPS:
            raise unknown("term of a robot that is driven by commands", name, [*known, *_GROUPS])
    chosen = {kind for name in names for kind in _GROUPS.get(name, (name,))} | {"delay"}
    return tuple(kind for kind in known if kind in chosen)


def with_group(kinds: Sequence[str], name: str) -> tuple[str, ...]:
    """Return kinds with one more of those that are tried."""
    return (*kinds, *_GROUPS.get(name, (name,)))


@dataclass(frozen=True, eq=False)
class Scales:
    """How large torques, positions, speeds and accelerations of each joint were in the logs (n,), and the middle of its range."""

    torque: np.ndarray
    position: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    centre: np.ndarray

    @classmethod
    def of(cls, stretches: Sequence[Stretch]) -> Scales:
        """Return the scales of stretches."""
        q = np.vstack([s.q for s in stretches])
        speed = [np.gradient(s.q, s.time, axis=0) for s in stretches]
        bend = [np.gradient(_averaged(v), s.time, axis=0) for v, s in zip(speed, stretches, strict=True)]
        torque = np.vstack([s.law_torque for s in stretches])
        centre = (q.min(axis=0) + q.max(axis=0)) / 2

        def rms(x: np.ndarray, least: float) -> np.ndarray:
            return np.maximum(np.sqrt((x**2).mean(axis=0)), least)

        # A joint that stands has no scales of its own: slow ones, so that its parameters stay numbers that can be written.
        return cls(
            rms(torque, 1e-9), rms(q - centre, 1e-3), rms(np.vstack(speed), 1e-3), rms(np.vstack(bend), 1e-2), centre
        )


def _averaged(x: np.ndarray) -> np.ndarray:
    """Return signals averaged over five samples, so that differences of quantised positions say something of accelerations."""
    window = np.ones(5) / 5
    return np.column_stack([np.convolve(np.pad(c, 2, mode="edge"), window, mode="valid") for c in x.T])


@dataclass(frozen=True, eq=False)
class DrivenModel:
    """A robot with the parameters that are free, and the numbers of a step for any values of them.

    Attributes:
        robot: The robot.
        kinds: The kinds of parameters that are free.
        scales: How large things were in the logs.
        bodies: The parameters of the links, which masses and first moments have as their prior.
        fixed: Kinds that are not free, with their values (n,), such as those of a description, or where a search begins.
        of_servo: Whether the drive is a servo, whose gear is loaded from both sides.
    """

    robot: Robot
    kinds: tuple[str, ...]
    scales: Scales
    bodies: np.ndarray
    fixed: dict[str, np.ndarray] = field(default_factory=dict)
    of_servo: bool = False

    @cached_property
    def values(self) -> StepValues:
        """Where the numbers of a step are."""
        return StepValues(self.robot)

    @cached_property
    def base(self) -> np.ndarray:
        """The numbers of a step without what is free and without those of the drive."""
        theta, values = np.zeros(self.values.size), self.values
        for name, value in STEP_DEFAULTS.items():
            theta[values.joints(name)] = value
        theta[values.joints("centre")] = self.scales.centre
        theta[values.bodies] = self.bodies
        for name, numbers in self.fixed.items():
            theta[slice(values.delay, None) if name == "delay" else values.joints(name)] = numbers
        return theta

    @cached_property
    def parameters(self) -> tuple[FreeNumber, ...]:
        """The parameters that are free."""
        result: list[FreeNumber] = []
        for name in self.kinds:
            result += self._masses() if name == MASSES else self._of_kind(KINDS[name])
        return tuple(result)

    def _of_kind(self, kind: Kind) -> list[FreeNumber]:
        robot, s = self.robot, self.scales
        size = np.array([max(abs(float(self.base[self._places(kind, j)[0]])), 1e-9) for j in range(robot.n)])
        sizes = {
            "start": size,
            "torque": s.torque,
            "position": s.torque / s.position,
            "speed": s.torque / s.speed,
            "acceleration": s.torque / s.acceleration,
        }
        scale = sizes[kind.scale] if isinstance(kind.scale, str) else np.full(robot.n, kind.scale)
        slides = {joint.name: joint.prismatic for joint in robot.joints}
        units = [kind.units[slides[name]] for name in robot.joint_names]
        places = [self._places(kind, j) for j in range(robot.n)]
        start = [float(self.base[p[0]]) for p in places]
        if self.of_servo and "load" in kind.name:
            start = [_LOST] * robot.n

        def free(name: str, joint: int | None, at: tuple[int, ...], j: int) -> FreeNumber:
            size = float(scale[j])
            limits = (kind.lower, kind.upper, kind.spread * size)
            return FreeNumber(name, kind.name, units[j], joint, at, start[j], size, *limits)

        if kind.shared:
            return [free(kind.name, None, tuple(dict.fromkeys(k for p in places for k in p)), 0)]
        return [free(f"{joint}.{kind.name}", j, places[j], j) for j, joint in enumerate(robot.joint_names)]

    def _places(self, kind: Kind, joint: int) -> tuple[int, ...]:
        if kind.name == "delay":
            return (self.values.delay,)
        # A gear of a servo loses a share of the difference of both torques that act on it, the motor's and the load's.
        names = (*kind.places, "load_external") if self.of_servo and kind.name == "load" else kind.places
        return tuple(self.values.joints(name).start + joint for name in names)

    def _masses(self) -> list[FreeNumber]:
        """Return masses and first moments of links that have a mass, with the description as their prior."""
        layout, start = self.robot.parameters.layout, self.values.bodies.start
        result = []
        for i in range(len(self.robot.links)):
            own = range(layout.link(i).start, layout.link(i).stop)
            mass = float(self.bodies[own[0]])
            if mass <= 0:
                continue
            for k, entry in enumerate(own[:4]):
                spread = _MASS_SHARE * mass if k == 0 else _LEVER * mass
                value, lower = float(self.bodies[entry]), 0.0 if k == 0 else -np.inf
                name, unit = layout.names[entry], "kg" if k == 0 else "kg m"
                result.append(
                    FreeNumber(name, MASSES, unit, None, (start + entry,), value, spread, lower, np.inf, spread)
                )
        return result

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(p.name for p in self.parameters)

    @cached_property
    def directions(self) -> np.ndarray:
        """What one unit of each parameter does to the numbers of a step (p, size)."""
        result = np.zeros((len(self.parameters), self.values.size))
        for row, parameter in zip(result, self.parameters, strict=True):
            row[list(parameter.places)] = 1.0
        return result

    def column(self, what: Literal["start", "scale", "lower", "upper", "spread"]) -> np.ndarray:
        """Return one number of each parameter (p,)."""
        return np.array([getattr(p, what) for p in self.parameters], dtype=float)

    def theta(self, x: np.ndarray, drive: Drive) -> np.ndarray:
        """Return the numbers of a step with a drive for values (p,) of the parameters."""
        theta = law_values(drive, self.base, self.values)
        for parameter, value in zip(self.parameters, x, strict=True):
            theta[list(parameter.places)] = value
        if drive.payload:
            theta[self.values.bodies] += _carried(self.robot, drive.payload, drive.payload_com, drive.payload_frame)
        return theta

    def start_from(self, other: DrivenModel, x: np.ndarray) -> np.ndarray:
        """Return values (p,) where another model that has some of the same parameters left off."""
        known = dict(zip(other.names, x, strict=True))
        return np.array([known.get(p.name, p.start) for p in self.parameters])

    def with_kinds(self, kinds: Sequence[str]) -> DrivenModel:
        """Return the model with other kinds of parameters free."""
        if not kinds:
            raise TaupiError("{terms} is empty: nothing is left to be identified.")
        return replace(self, kinds=tuple(kinds))

    def simulate(self, x: np.ndarray, stretch: Stretch, longest: float) -> np.ndarray:
        """Return the positions (N, n) of a stretch, driven by its commands from its first state."""
        motion = stretch.driven(self.robot).roll(
            self.theta(x, stretch.drive), stretch.commands, stretch.q[0], stretch.qd, longest
        )
        return motion.q

    def residual(self, x: np.ndarray, stretch: Stretch, longest: float) -> np.ndarray:
        """Return simulated minus measured positions where they are compared (N, n); what runs away is as wrong as 100 rad."""
        return as_wrong_as((self.simulate(x, stretch, longest) - stretch.q)[stretch.compared])


# rad or m: what a simulation that runs away is taken to be wrong by.
_RUNS_AWAY = 100.0


def as_wrong_as(residual: np.ndarray) -> np.ndarray:
    """Return residuals of which those of a simulation that runs away are 100 rad or m."""
    return np.clip(np.where(np.isnan(residual), _RUNS_AWAY, residual), -_RUNS_AWAY, _RUNS_AWAY)


@lru_cache(maxsize=32)
def _carried(robot: Robot, mass: float, com: tuple[float, ...], frame: str) -> np.ndarray:
    """Return what a payload adds to the parameters of the links."""
    loaded = robot.with_payload(mass, com or (0, 0, 0), frame=frame)
    return np.asarray(loaded.parameters.values, dtype=float) - np.asarray(robot.parameters.values, dtype=float)
