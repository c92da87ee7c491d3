"""Torques and torque rates along a motion, of the description's parameters, as shares of their limits."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import casadi as cs
import numpy as np

from taupi.dynamics.inverse import inverse_dynamics
from taupi.dynamics.terms import Coulomb, Term, resolve_terms
from taupi.excitation.criteria.information import SMOOTH
from taupi.model.robot import Robot
from taupi.program.port import Port
from taupi.program.program import Program, trace

# What the description says about friction and drives, all of which need torque.
_TERMS = ("rotor", "viscous", "coulomb", "offset")
_INPUTS = ("q", "qd", "qdd", "qddd")


def described_terms(smooth: bool) -> tuple[Term, ...]:
    """Return the terms of a description; `smooth` gives dry friction a derivative."""
    return tuple(Coulomb(velocity=SMOOTH) if smooth and t.name == "coulomb" else t for t in resolve_terms(_TERMS))


@lru_cache(maxsize=16)
def torque_program(robot: Robot) -> Program:
    """Return tau(q, qd, qdd) of the description, dry friction smooth."""
    return inverse_dynamics(robot, terms=described_terms(smooth=True))


@lru_cache(maxsize=16)
def torque_rate_program(robot: Robot) -> Program:
    """Return d tau / dt along a motion (q, qd, qdd, qddd), without the jumps of dry friction at reversals."""
    terms = tuple(t for t in described_terms(smooth=True) if t.name != "coulomb")
    torque = inverse_dynamics(robot, terms=terms)

    def body(q: Any, qd: Any, qdd: Any, qddd: Any) -> Any:
        tau = torque(q, qd, qdd)
        return sum((cs.jtimes(tau, x, v) for x, v in ((q, qd), (qd, qdd), (qdd, qddd))), cs.SX.zeros(tau.shape[0]))

    port = torque.inputs[0]
    return trace(
        "torque_rate", body, [dataclasses.replace(port, name=name) for name in _INPUTS], [Port("rate", (robot.n,))]
    )


@lru_cache(maxsize=32)
def slope_program(program: Program) -> Program:
    """Return w^T d(output) / d(inputs), one output for each input, with w a further input."""

    def body(*arguments: Any) -> Any:
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
