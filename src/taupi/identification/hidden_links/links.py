"""The links of an elastic robot whose motors alone are measured: simulated, driven by the motors through the springs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.forward import solve_positive
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations

# Phase (rad) by which the fastest spring advances in one integration step, at most: RK4 is then accurate to 1e-4 of a period.
_PHASE = 0.5
# Largest number of steps from one sample to the next.
_MOST_STEPS = 64

Function = Any  # a cs.Function, or a Python function over its arguments


@dataclass(frozen=True, eq=False)
class Simulation:
    """Motor torques (N, n) of simulated links, their sensitivity (N, n, b + 2n) to base parameters and start, and q (N, n)."""

    torque: np.ndarray
    slope: np.ndarray
    q: np.ndarray


class HiddenLinks:
    """Links behind springs: M(q) qdd + ... = K (theta - q) + D (thetad - qd), integrated by RK4 for measured theta.

    The output is the torque that the motors then need; the base parameters x (b,) and the start (q, qd) of the links are unknown.
    Everything comes from the rows of the base regressor, which are linear in x: those of the links are solved for qdd.
    """

    def __init__(self, base: BaseParameters) -> None:
        self.base = base
        self.n, self.b = base.robot.n, base.count
        self._rate, self._torque = _functions(base)

    def frequency(self, x: np.ndarray, q: np.ndarray) -> float:
        """Return the largest angular frequency (rad/s) of the links, motors fixed, at base parameters x and posture q (n,)."""
        zero = np.zeros(self.n)
        state = np.concatenate([q, zero])
        slope = cs.Function("slope", *self._linear())(state, np.concatenate([q, zero, zero]), x)
        values = np.linalg.eigvals(np.array(slope))
        return float(np.abs(values).max()) if np.isfinite(values).all() else np.inf

    def _linear(self) -> tuple[list[Any], list[Any]]:
        s, m, x = cs.SX.sym("s", 2 * self.n), cs.SX.sym("m", 3 * self.n), cs.SX.sym("x", self.b)
        return [s, m, x], [cs.jacobian(self._rate(s, m, x), s)]

    def steps(self, x: np.ndarray, q: np.ndarray, rate_hz: float) -> int:
        """Return the number of integration steps per sample."""
        return int(np.clip(np.ceil(self.frequency(x, q) / (_PHASE * rate_hz)), 1, _MOST_STEPS))

    def run(self, x: np.ndarray, start: np.ndarray, motors: np.ndarray, h: float, steps: int) -> Simulation:
        """Simulate the links with base parameters x from `start`, (q, qd) (2n,).

        `motors` (2 N steps + 1, 3n) are (theta, thetad, thetadd) every half step; h is the length of a step, s.
        """
        loop, ends = _loop(self, steps, len(motors) // (2 * steps))
        now = motors[:-1].reshape(-1, 2 * steps, 3 * self.n)
        after = motors[2 * steps :: 2 * steps]
        block = np.concatenate([now.reshape(len(now), -1), after], axis=1).T
        first = np.concatenate([start, np.column_stack([np.zeros((2 * self.n, self.b)), np.eye(2 * self.n)]).T.ravel()])
        states = np.array(loop(first, block, x, h)).T
        states = np.vstack([first, states[:-1]])
        outputs = np.array(ends.map(len(states))(states.T, now[:, 0].T, np.tile(x[:, None], (1, len(states))))).T
        torque = outputs[:, : self.n]
        slope = outputs[:, self.n :].reshape(len(outputs), self.b + 2 * self.n, self.n).transpose(0, 2, 1)
        return Simulation(torque, slope, states[:, : self.n])


@lru_cache(maxsize=8)
def _functions(base: BaseParameters) -> tuple[Function, Function]:
    """Return d(q, qd)/dt and the motor torques as functions of (q, qd), (theta, thetad, thetadd) and x."""
    equations, n = Equations.of(base), base.robot.n
    program = base.regressor()
    s, m, x, qdd = (cs.SX.sym(name, size) for name, size in (("s", 2 * n), ("m", 3 * n), ("x", base.count), ("qdd", n)))
    sprung = list(equations.sprung)
    link = (s[:n], s[n:], qdd)
    motor = tuple(m[k * n : (k + 1) * n][sprung] for k in range(3))
    force = program(*link, *motor) @ x
    inertia = cs.jacobian(force[:n], qdd)
    rest = cs.substitute(force, qdd, cs.SX.zeros(n))
    acceleration = solve_positive(cs.densify(inertia), -rest[:n])
    torque = cs.substitute(force, qdd, acceleration)[list(equations.motors)]
    rate = cs.vertcat(s[n:], acceleration)
    return cs.Function("rate", [s, m, x], [rate]), cs.Function("torque", [s, m, x], [torque])


@lru_cache(maxsize=16)
def _loop(links: HiddenLinks, steps: int, samples: int) -> tuple[Function, Function]:
    """Return two functions: states with sensitivities over all samples, and the torque with its sensitivity at a state."""
    n, b = links.n, links.b
    width = b + 2 * n
    s, x, h = cs.SX.sym("s", 2 * n), cs.SX.sym("x", b), cs.SX.sym("h")
    m = [cs.SX.sym(f"m{k}", 3 * n) for k in range(3)]
    k1 = links._rate(s, m[0], x)
    k2 = links._rate(s + h / 2 * k1, m[1], x)
    k3 = links._rate(s + h / 2 * k2, m[1], x)
    k4 = links._rate(s + h * k3, m[2], x)
    end = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    step = cs.Function("step", [s, *m, x, h], [end, cs.jacobian(end, s), cs.jacobian(end, x)])
    state, block = cs.MX.sym("state", 2 * n * (1 + width)), cs.MX.sym("block", 3 * n * (2 * steps + 1))
    p, length = cs.MX.sym("x", b), cs.MX.sym("h")
    now, slope = state[: 2 * n], cs.reshape(state[2 * n :], 2 * n, width)
    for k in range(steps):
        part = [block[3 * n * (2 * k + j) : 3 * n * (2 * k + j + 1)] for j in range(3)]
        now, by_state, by_x = step(now, *part, p, length)
        slope = by_state @ slope + cs.horzcat(by_x, cs.MX.zeros(2 * n, 2 * n))
    one = cs.Function("sample", [state, block, p, length], [cs.vertcat(now, cs.vec(slope))])
    motor = cs.SX.sym("motor", 3 * n)
    # The torque at a state, with its total derivative: through the state, and directly.
    augmented, x = cs.SX.sym("augmented", 2 * n * (1 + width)), cs.SX.sym("x", b)
    here, sensitivity = augmented[: 2 * n], cs.reshape(augmented[2 * n :], 2 * n, width)
    u = links._torque(here, motor, x)
    s2 = cs.SX.sym("s2", 2 * n)
    u_state = cs.Function("u_state", [s2, motor, x], [cs.jacobian(links._torque(s2, motor, x), s2)])
    u_x = cs.Function("u_x", [s2, motor, x], [cs.jacobian(links._torque(s2, motor, x), x)])
    total = u_state(here, motor, x) @ sensitivity + cs.horzcat(u_x(here, motor, x), cs.SX(n, 2 * n))
    ends = cs.Function("ends", [augmented, motor, x], [cs.vertcat(u, cs.vec(total))])
    loop = one.mapaccum("loop", samples, 1)
    return lambda first, blocks, x, h: loop(first, blocks, np.tile(x[:, None], (1, samples)), h), ends
