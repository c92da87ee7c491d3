"""Families of identification problems whose truth is known, for the contract that every estimator keeps.

A family has a robot, in any units, a description of it that is wrong (the prior), and logs with noise of any size. Motions
are exact, or the simulation's own, so that whatever an estimate misses is noise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import sprung
from excite import fourier, motion, simulated

import taupi as tp

FRICTION = ("viscous", "coulomb", "offset")
# How wrong the description is: all masses by a fifth. A prior that is the truth would hide an estimator that only returns it.
WRONG = 1.2


@dataclass(frozen=True)
class Units:
    """How many units of length and of mass a metre and a kilogram are; numbers of other kinds follow."""

    length: float = 1.0
    mass: float = 1.0

    def of(self, unit: str) -> float:
        """Return by what a number in an SI unit is multiplied: "kg m^2", "N m s/rad"; seconds and radians stay."""
        words = unit.replace("/rad", "").replace("/s", "").split()
        known = {"kg": self.mass, "m": self.length, "m^2": self.length**2, "N": self.mass * self.length, "s": 1.0}
        return float(np.prod([known[w] for w in words]))

    @property
    def torque(self) -> float:
        """The factor of torques."""
        return self.of("N m")


SI = Units()


@dataclass(frozen=True)
class Family:
    """Problems of one kind, of a `robot` that is described by `guess`.

    `log(noise, seed, units)` needs no preparation, or little; at a `noise` of 1 it is as large as robots have it. `raw` is a
    description and a log as a robot records it, to be filtered with `raw_settings`.
    `units` are others in which the same robot is described. `poor` is a log that tells nothing about some base parameters, and
    their names. `seeds` is how many logs the intervals are counted over.
    """

    name: str
    robot: Callable[[Units], tp.Robot]
    guess: Callable[[Units], tp.Robot]
    log: Callable[..., tp.Log]
    raw: Callable[[], tuple[tp.Robot, tp.Log]]
    terms: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    raw_settings: Mapping[str, Any] = field(default_factory=dict)
    elastic: bool = False
    units: tuple[Units, ...] = ()
    poor: tuple[Callable[[], tp.Log], tuple[str, ...]] | None = None
    seeds: int = 0

    def truth(self, fit: tp.Fit, units: Units = SI) -> np.ndarray:
        """Return the base parameters (b,) of the robot itself."""
        regressor = tp.elastic_regressor if self.elastic else tp.regressor
        return fit.basis.project(regressor(self.robot(units), terms=fit.terms).parameters)

    def identify(self, estimator: Any, log: Any, units: Units = SI, **changes: Any) -> tp.Fit:
        """Return the estimator's fit, from the wrong description."""
        return tp.identify(self.guess(units), log, estimator, self.terms, **{**self.settings, **changes})


# Rigid: two joints across each other, friction, and exact motions ------------------------------------------------------


@cache
def crossed(units: Units = SI, scale: float = 1.0) -> tp.Robot:
    """An arm of two joints across each other, with bodies well inside what is possible; masses are `scale` of its own."""
    length, mass, torque = units.length, units.mass, units.torque
    bodies = ((3.0, (-0.1, 0.05, 0.02), (0.06, 0.08, 0.07)), (2.0, (-0.2, 0.01, 0.03), (0.02, 0.05, 0.04)))
    links = [
        {
            "m": m * mass * scale,
            "com": tuple(v * length for v in com),
            "inertia": (np.diag(moments) * mass * length**2 * scale).tolist(),
        }
        for m, com, moments in bodies
    ]
    frames = [
        {"a": 0.3 * length, "alpha": np.pi / 2, "d": 0.2 * length, "theta": 0, "joint": "revolute"},
        {"a": 0.4 * length, "alpha": 0, "d": 0, "theta": 0, "joint": "revolute"},
    ]
    friction = {"viscous": (2.0, 1.0), "coulomb": (1.5, 0.8), "offset": (0.3, -0.2)}
    arm = tp.Robot.from_dh(frames, links=links, gravity=(0, 0, -9.81 * length))
    return arm.with_friction(**{k: [scale * v * torque for v in each] for k, each in friction.items()})


# Noise of the two joints, N m: unlike each other, so that weights matter.
SIGMA = np.array([0.3, 0.6])


def rigid_log(
    noise: float = 1.0, seed: int = 0, units: Units = SI, samples: int = 1000, motion_seed: int = 4
) -> tp.Log:
    """Return a log of the crossed arm that needs no preparation, with white noise of `noise` times SIGMA."""
    sigma = noise * SIGMA * units.torque
    return simulated(crossed(units), FRICTION, motion_seed, sigma, samples, noise_seed=seed)


HELD = ("link2.my", "link2.Ixy", "joint2.viscous", "joint2.coulomb", "joint2.offset")


def rigid_held() -> tp.Log:
    """Return a log in which the second joint does not move: its friction, and most of its body, leave no trace."""
    log = rigid_log()
    still = {k: getattr(log, k) * [1, 0] + [0, at] for k, at in (("q", 0.3), ("qd", 0.0), ("qdd", 0.0))}
    tau = tp.inverse_dynamics(crossed(), terms=FRICTION)(still["q"], still["qd"], still["qdd"])
    return log.with_(**still, tau=tau + SIGMA * np.random.default_rng(1).normal(size=tau.shape))


def rigid_raw() -> tuple[tp.Robot, tp.Log]:
    """Return the arm and a log as a robot records it."""
    return crossed(), fourier(crossed(), FRICTION, 4, 9000, 500.0, noise=0.3)


RIGID = Family(
    name="rigid",
    robot=crossed,
    guess=lambda units: crossed(units, WRONG),
    log=rigid_log,
    raw=rigid_raw,
    terms=FRICTION,
    settings={"slow": 0},
    raw_settings={"cutoff_hz": 20.0, "slow": 0.05, "velocity": "position", "trim": False},
    units=(Units(mass=1000.0), Units(length=1000.0, mass=1e-3)),  # g for kg; mm and t for m and kg
    poor=(rigid_held, HELD),
    seeds=100,
)


# Shapes: friction that falls with speed before it rises, by a law of which one number is unknown ------------------------

STRIBECK = (2.0, 1.2)  # N m
STRIBECK_VELOCITY = 0.4  # rad/s


@cache
def sticky(units: Units = SI, scale: float = 1.0) -> tp.Robot:
    """The crossed arm with Stribeck friction."""
    return crossed(units, scale).with_friction(stribeck=[scale * f * units.torque for f in STRIBECK])


def shaped_log(noise: float = 1.0, seed: int = 0, units: Units = SI, samples: int = 1000) -> tp.Log:
    """Return a log of it that needs no preparation."""
    terms = (*FRICTION, tp.terms.Stribeck(velocity=STRIBECK_VELOCITY))
    return simulated(sticky(units), terms, 4, noise * SIGMA * units.torque, samples, noise_seed=seed)


def shaped_raw() -> tuple[tp.Robot, tp.Log]:
    """Return the arm and a log as a robot records it."""
    terms = (*FRICTION, tp.terms.Stribeck(velocity=STRIBECK_VELOCITY))
    return sticky(), fourier(sticky(), terms, 4, 4000, 200.0, noise=0.3)


SHAPES = Family(
    name="shapes",
    robot=sticky,
    guess=lambda units: sticky(units, WRONG),
    log=shaped_log,
    raw=shaped_raw,
    terms=FRICTION,
    settings={"slow": 0},
    raw_settings={"cutoff_hz": 20.0, "slow": 0.05, "velocity": "position", "trim": False},
    units=(Units(mass=1000.0), Units(length=1000.0, mass=1e-3)),
)


# Elastic: both sides of the springs are measured -----------------------------------------------------------------------

ELASTIC_TERMS = ("coulomb", "viscous")
# Noise of positions is in the regressor, too, and biases least squares by its square: it has to be small for errors to be
# in proportion, and so has that of the torque, beside which it must not vanish.
QUIET = 0.05


@cache
def sprung_arm(units: Units = SI, scale: float = 1.0) -> tp.Robot:
    """The crossed arm with springs, its friction on the motors' side."""
    torque = units.torque * scale
    return crossed(units, scale).with_transmissions(
        stiffness=[900.0 * torque, 500.0 * torque],
        rotor_inertia=[2e-5 * torque, 1e-5 * torque],
        gear_ratio=[80, 100],
        viscous=[2.0 * torque, 1.0 * torque],
        coulomb=[1.5 * torque, 0.8 * torque],
    )


def elastic_log(
    noise: float = 1.0, seed: int = 0, units: Units = SI, samples: int = 1000, moves: tuple[int, int] = (1, 1)
) -> tp.Log:
    """Return samples of both sides of the springs, exact but for noise on the motors' torque and on what springs pass on.

    Any motion of links and any speeds of motors have positions of motors with which the links' equations hold. A joint that
    `moves` by 0 stands still, on both sides.
    """
    arm, noisy = sprung_arm(units), noise * QUIET * SIGMA * units.torque
    q, qd, qdd = (x * moves for x in motion(2, 4, samples, 100.0)[1:])
    speed, acceleration = (x * moves for x in motion(2, 5, samples, 100.0)[2:])
    rng = np.random.default_rng(7000 + seed)
    stiffness = np.array([float(j.transmission.stiffness) for j in arm.joints])
    inverse = tp.elastic.inverse_dynamics(arm, terms=ELASTIC_TERMS)
    passed = inverse(q, qd, qdd, q, speed, acceleration)[:, :2]
    theta = q + (passed + 0.1 * noisy * rng.normal(size=q.shape)) / stiffness
    u = inverse(q, qd, qdd, theta, speed, acceleration)[:, 2:] + noisy * rng.normal(size=q.shape)
    both = {"theta": theta, "thetad": speed, "thetadd": acceleration}
    return rigid_log(samples=samples).with_(q=q, qd=qd, qdd=qdd, tau=u, **both)


def elastic_raw() -> tuple[tp.Robot, tp.Log]:
    """Return a robot and the log of its simulation, both sides of its springs recorded."""
    arm = tp.load("zollo2r")
    return arm, sprung.log_of(arm, torque_noise=0.1, position_noise=1e-5)


ELASTIC = Family(
    name="elastic",
    robot=sprung_arm,
    guess=lambda units: sprung_arm(units, WRONG),
    log=elastic_log,
    raw=elastic_raw,
    terms=ELASTIC_TERMS,
    settings={"slow": 0},
    raw_settings={"cutoff_hz": 20.0, "slow": 0.05, "velocity": "position", "trim": False},
    elastic=True,
    units=(Units(mass=1000.0), Units(length=1000.0, mass=1e-3)),
    poor=(lambda: elastic_log(moves=(1, 0)), ("joint2.viscous", "joint2.coulomb", "joint2.rotor_inertia")),
    seeds=40,
)


# Motors alone: the links behind the springs are not measured -----------------------------------------------------------

HIDDEN_TERMS = ("viscous", "damping")


@cache
def pendulum(units: Units = SI, scale: float = 1.0) -> tp.Robot:
    """A link on a spring, with weight."""
    length, mass, torque = units.length, units.mass * scale, units.torque * scale
    frame = {"a": 0.4 * length, "alpha": 0, "d": 0, "theta": 0, "joint": "revolute"}
    inertia = np.diag([0.01, 0.03, 0.03]) * mass * length**2
    link = {"m": 2.0 * mass, "com": (-0.15 * length, 0, 0), "inertia": inertia.tolist()}
    drive = {"stiffness": 120.0, "rotor_inertia": 2e-5, "damping": 0.1, "viscous": 0.4}
    arm = tp.Robot.from_dh([frame], links=[link], gravity=(0, -9.81 * length, 0))
    return arm.with_transmissions(gear_ratio=60, **{k: v * torque for k, v in drive.items()})


def hidden_log(noise: float = 1.0, seed: int = 0, units: Units = SI) -> tp.Log:
    """Return motors' positions and torques of a simulated pendulum; q are the motors'."""
    log = sprung.log_of(
        pendulum(), terms=HIDDEN_TERMS, duration=4.0, rate=250.0, size=0.5, torque_noise=0.3 * noise, noise_seed=seed
    )
    return dataclasses.replace(log, q=log.theta, theta=None, tau=log.tau * units.torque)


HIDDEN = Family(
    name="hidden",
    robot=pendulum,
    guess=lambda units: pendulum(units, WRONG),
    log=hidden_log,
    raw=lambda: (pendulum(), hidden_log()),
    terms=HIDDEN_TERMS,
    settings={"cutoff_hz": 30.0},
    raw_settings={"cutoff_hz": 30.0},
    elastic=True,
    units=(Units(mass=1000.0), Units(length=1000.0, mass=1e-3)),
    seeds=25,
)
