"""Limits that are kept at samples during the design of a motion, and proven for all times afterwards."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Protocol

import casadi as cs
import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.dynamics.terms import TERMS, Coulomb, Curve, Term, resolve_terms
from taupi.dynamics.types import Expression
from taupi.excitation.criteria.information import SMOOTH
from taupi.excitation.geometry.clearance import Clearance
from taupi.excitation.geometry.shapes import NoGeometryError
from taupi.excitation.geometry.watched import surveyed
from taupi.excitation.settings import Margins
from taupi.model.robot import Robot
from taupi.program.ports import Port
from taupi.program.program import Program, trace


class SampledRows(Protocol):
    """Quantities along a motion, p at each sample, scaled so that lower (p,) <= value <= upper (p,) is required."""

    @property
    def name(self) -> str:
        """What is limited."""
        ...

    @property
    def rate_hz(self) -> float:
        """How often it is checked."""
        ...

    @property
    def orders(self) -> tuple[int, ...]:
        """The derivatives of the motion that it depends on."""
        ...

    @property
    def lower(self) -> np.ndarray:
        """The least values (p,)."""
        ...

    @property
    def upper(self) -> np.ndarray:
        """The largest values (p,)."""
        ...

    @property
    def groups(self) -> np.ndarray:
        """Integers (p,), the same for neighbouring quantities of which only the largest at a time needs to be considered."""
        ...

    @property
    def band(self) -> float:
        """How near to a limit a row has to come to be watched."""
        ...

    @property
    def tolerance(self) -> float:
        """How far beyond its limit a row may be and still count as kept; the proof comes later."""
        ...

    @property
    def programs(self) -> tuple[Program, ...]:
        """What computes values and slopes."""
        ...

    def values(self, *states: np.ndarray) -> np.ndarray:
        """Return the quantities (N, p) at states (N, n), one for each of `orders`."""
        ...

    def slopes(self, which: np.ndarray, *states: np.ndarray) -> np.ndarray:
        """Return the derivatives (len(orders), N, n) of the quantity `which` (N,) of each sample."""
        ...


# What every robot may have of friction and drives; further terms are taken if the description states them.
_TERMS = ("rotor", "viscous", "coulomb", "offset")
_INPUTS = ("q", "qd", "qdd", "qddd")


def described_terms(robot: Robot, smooth: bool) -> tuple[Term, ...]:
    """Return the terms that a description states, all of which need torque; `smooth` gives dry friction a derivative.

    The curve of friction is not among them: how wide it is depends on a speed that descriptions do not state.
    """
    stated = [
        name
        for name, kind in TERMS.items()
        if name not in (*_TERMS, Curve.name) and any(kind().value(joint) for joint in robot.single_joints)
    ]
    terms = resolve_terms((*_TERMS, *stated))
    if not smooth:
        return terms
    return tuple(Coulomb(velocity=SMOOTH) if t.name == Coulomb.name else t.smooth(SMOOTH) for t in terms)


@lru_cache(maxsize=16)
def torque_program(robot: Robot) -> Program:
    """Return tau(q, qd, qdd) of the description, dry friction smooth."""
    return inverse_dynamics(robot, terms=described_terms(robot, smooth=True))


@lru_cache(maxsize=16)
def torque_rate_program(robot: Robot) -> Program:
    """Return d tau / dt along a motion (q, qd, qdd, qddd), without the jumps of dry friction at reversals.

    Between them sgn(qd) is constant, and its derivative is zero; friction that grows with load changes with the load.
    """
    torque = inverse_dynamics(robot, terms=described_terms(robot, smooth=False))

    def body(q: object, qd: object, qdd: object, qddd: object) -> Expression:
        tau = torque(q, qd, qdd)
        return sum((cs.jtimes(tau, x, v) for x, v in ((q, qd), (qd, qdd), (qdd, qddd))), cs.SX.zeros(tau.shape[0]))

    port = torque.inputs[0]
    return trace(
        "torque_rate", body, [dataclasses.replace(port, name=name) for name in _INPUTS], [Port("rate", (robot.n,))]
    )


@lru_cache(maxsize=32)
def slope_program(program: Program) -> Program:
    """Return w^T d(output) / d(inputs), one output for each input, with w a further input."""

    def body(*arguments: object) -> Expression:
        *states, w = arguments
        weighted = cs.dot(w, program(*states))
        return tuple(cs.densify(cs.gradient(weighted, x)) for x in states)

    w = Port("w", program.outputs[0].shape)
    return trace(
        f"{program.name}_slopes", body, [*program.inputs, w], [Port(f"d{p.name}", p.shape) for p in program.inputs]
    )


@dataclass(frozen=True, eq=False)
class TorqueRows:
    """tau_j / limit_j at samples; `lower` and `upper` are -1 and 1, or closer to zero where they had to be tightened."""

    robot: Robot
    limit: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rate_hz: float = 50.0
    name: str = "torque"
    orders: tuple[int, ...] = (0, 1, 2)
    band: ClassVar[float] = 0.25
    tolerance: ClassVar[float] = 1e-5

    @property
    def program(self) -> Program:
        """What is limited."""
        return torque_program(self.robot)

    @property
    def programs(self) -> tuple[Program, ...]:
        """What computes values and slopes."""
        return self.program, slope_program(self.program)

    @property
    def groups(self) -> np.ndarray:
        """Each joint is considered."""
        return np.arange(len(self.limit))

    def values(self, *states: np.ndarray) -> np.ndarray:
        """Return the torques (N, n) as shares of their limits."""
        return np.asarray(self.program(*states) / self.limit)

    def slopes(self, which: np.ndarray, *states: np.ndarray) -> np.ndarray:
        """Return the derivatives (orders, N, n) of the torque of joint `which` (N,) at each sample."""
        weights = np.zeros((len(which), len(self.limit)))
        weights[np.arange(len(which)), which] = 1 / self.limit[which]
        return np.stack(slope_program(self.program)(*states, weights))


@dataclass(frozen=True, eq=False)
class TorqueRateRows(TorqueRows):
    """d tau_j / dt as a share of its limit at samples; jumps of dry friction at reversals are left out."""

    name: str = "torque rate"
    orders: tuple[int, ...] = field(default=(0, 1, 2, 3))

    @property
    def program(self) -> Program:
        """What is limited."""
        return torque_rate_program(self.robot)


# m: the unit of distances, so that rows are about as large as for torques.
UNIT = 0.1


@dataclass(frozen=True, eq=False)
class ClearanceRows:
    """Signed distances minus the margin, in units of 10 cm, at least 0, or more where they had to be tightened."""

    clearance: Clearance
    lower: np.ndarray
    upper: np.ndarray
    rate_hz: float = 50.0
    name: str = "clearance"
    orders: tuple[int, ...] = (0,)
    # 3 cm: pairs that are farther apart do not matter yet.
    band: ClassVar[float] = 0.3
    # 1 mm, half of the reserve in rows.
    tolerance: ClassVar[float] = 0.01

    @classmethod
    def of(cls, clearance: Clearance) -> ClearanceRows:
        """Return the rows of all pairs."""
        count = len(clearance.pairs)
        return cls(clearance, np.zeros(count), np.full(count, np.inf))

    @property
    def programs(self) -> tuple[Program, ...]:
        """What computes values and slopes."""
        return self.clearance.programs

    @property
    def groups(self) -> np.ndarray:
        """For a pair of links with several capsules, the nearest two are considered."""
        pairs = list(dict.fromkeys(self.clearance.pairs))
        return np.array([pairs.index(pair) for pair in self.clearance.pairs])

    def values(self, *states: np.ndarray) -> np.ndarray:
        """Return the distances (N, p)."""
        return np.asarray(self.clearance.rows(states[0]) / UNIT)

    def slopes(self, which: np.ndarray, *states: np.ndarray) -> np.ndarray:
        """Return the derivatives (1, N, n) of the distance of pair `which` (N,) at each sample."""
        weights = np.zeros((len(which), len(self.lower)))
        weights[np.arange(len(which)), which] = 1 / UNIT
        return np.asarray(self.clearance.pulled(states[0], weights))[None]


def kept_clear(
    robot: Robot, margins: Margins, lower: np.ndarray, upper: np.ndarray, late: Callable[[], bool] = lambda: False
) -> tuple[Clearance | None, str]:
    """Return the clearance of a robot within its limits (n,), or None with the reason why it is not checked.

    Only a robot without a described shape is not checked, and then only if the user did not ask for it. Geometry
    that cannot be read, such as a mesh that is missing, is an error.
    """
    if margins.capsules == "none":
        return None, "it was left out by capsules = none."
    file = len(margins.ignore) == 1 and margins.ignore[0].endswith(".srdf")
    asked = (
        isinstance(margins.floor, float)
        or margins.box is not None
        or margins.capsules != "auto"
        or bool(margins.ignore)
    )
    try:
        clearance = surveyed(
            robot,
            margins.clearance,
            margins.capsules,
            margins.ignore[0] if file else [tuple(pair.split(",")) for pair in margins.ignore],
            margins.floor,
            None if margins.box is None else (margins.box[:3], margins.box[3:]),
            margins.packages,
            (lower.tolist(), upper.tolist()),
            late,
        )
    except NoGeometryError:
        if asked:
            raise
        # In the words of Python, the command line and the record alike.
        return (
            None,
            f"{robot.name} has no collision geometry. Capsules in a TOML file, with [[capsule]] tables, would do.",
        )
    return clearance, ""
