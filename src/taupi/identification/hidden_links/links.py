"""The link side of an elastic robot that only its motors tell of: simulated behind its springs, which measured motors drive."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.forward import solve_positive
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.equations import Equations

# A step of the integration turns the fastest spring by at most this angle (rad): RK4 is then true to 1e-4 of a period.
_TURN = 0.5
# Largest number of steps from one sample to the next.
_MOST_STEPS = 64


@dataclass(frozen=True, eq=False)
class Answer:
    """Motor torques (N, n) of a simulation, their sensitivity (N, n, b + 2n) to base parameters and start, and links (N, n)."""

    torque: np.ndarray
    slope: np.ndarray
    q: np.ndarray


class HiddenLinks:
    """Links behind springs: M(q) qdd + ... = K (theta - q) + D (thetad - qd), integrated for measured theta by RK4.

    The torque that the motors then need is an output; base parameters x (b,) and the start (q, qd) of the links are unknown. All
    of it comes from the rows of the base regressor, which are linear in x: the links' rows are solved for qdd.
    """

    def __init__(self, base: BaseParameters) -> None:
        self.base, self.rows = base, Equations.of(base)
        self.n, self.b = base.robot.n, base.count
        self._rate, self._torque = _traced(base)

    def frequency(self, x: np.ndarray, q: np.ndarray) -> float:
        """Return the largest angular frequency of the links with motors held, at base parameters x and a posture q (n,)."""
        zero = np.zeros(self.n)
        state = np.concatenate([q, zero])
        slope = cs.Function("slope", *self._linear())(state, np.concatenate([q, zero, zero]), x)
        values = np.linalg.eigvals(np.array(slope))
        return float(np.abs(values).max()) if np.isfinite(values).all() else np.inf

    def _linear(self) -> tuple[list[Any], list[Any]]:
        s, m, x = cs.SX.sym("s", 2 * self.n), cs.SX.sym("m", 3 * self.n), cs.SX.sym("x", self.b)
        return [s, m, x], [cs.jacobian(self._rate(s, m, x), s)]

    def steps(self, x: np.ndarray, q: np.ndarray, rate_hz: float) -> int:
        """Return into how many steps a sample is cut."""
        return int(np.clip(np.ceil(self.frequency(x, q) / (_TURN * rate_hz)), 1, _MOST_STEPS))

    def run(self, x: np.ndarray, start: np.ndarray, motors: np.ndarray, h: float, steps: int) -> Answer:
        """Return the answer for base parameters x, a start (q, qd) (2n,) and motors (2 N steps + 1, 3n) every half step.

        Of `motors`, rows are theta, thetad, thetadd; h is the length of a step.
        """
        loop, ends = _loop(self, steps, len(motors) // (2 * steps))
        now = motors[:-1].reshape(-1, 2 * steps, 3 * self.n)
        after = motors[2 * steps :: 2 * steps]
        block = np.concatenate([now.reshape(len(now), -1), after], axis=1).T
        first = np.concatenate([start, np.column_stack([np.zeros((2 * self.n, self.b)), np.eye(2 * self.n)]).T.ravel()])
        states = np.array(loop(first, block, x, h)).T
        states = np.vstack([first, states[:-1]])
        told = np.array(ends.map(len(states))(states.T, now[:, 0].T, np.tile(x[:, None], (1, len(states))))).T
        torque = told[:, : self.n]
        slope = told[:, self.n :].reshape(len(told), self.b + 2 * self.n, self.n).transpose(0, 2, 1)
        return Answer(torque, slope, states[:, : self.n])


@lru_cache(maxsize=8)
def _traced(base: BaseParameters) -> tuple[Any, Any]:
    """Return d(q, qd)/dt and the motors' torque, over (q, qd), (theta, thetad, thetadd) and x."""
    rows, n = Equations.of(base), base.robot.n
    program = base.regressor()
    s, m, x, qdd = (cs.SX.sym(name, size) for name, size in (("s", 2 * n), ("m", 3 * n), ("x", base.count), ("qdd", n)))
    sprung = list(rows.sprung)
    link = (s[:n], s[n:], qdd)
    motor = tuple(m[k * n : (k + 1) * n][sprung] for k in range(3))
    force = program(*link, *motor) @ x
    inertia = cs.jacobian(force[:n], qdd)
    rest = cs.substitute(force, qdd, cs.SX.zeros(n))
    acceleration = solve_positive(cs.densify(inertia), -rest[:n])
    torque = cs.substitute(force, qdd, acceleration)[list(rows.motors)]
    rate = cs.vertcat(s[n:], acceleration)
    return cs.Function("rate", [s, m, x], [rate]), cs.Function("torque", [s, m, x], [torque])


@lru_cache(maxsize=16)
def _loop(links: HiddenLinks, steps: int, samples: int) -> tuple[Any, Any]:
    """Return the states with their sensitivities over samples, and the torque with its own at a state."""
    n, b = links.n, links.b
    wide = b + 2 * n
    s, x, h = cs.SX.sym("s", 2 * n), cs.SX.sym("x", b), cs.SX.sym("h")
    m = [cs.SX.sym(f"m{k}", 3 * n) for k in range(3)]
    k1 = links._rate(s, m[0], x)
    k2 = links._rate(s + h / 2 * k1, m[1], x)
    k3 = links._rate(s + h / 2 * k2, m[1], x)
    k4 = links._rate(s + h * k3, m[2], x)
    end = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    step = cs.Function("step", [s, *m, x, h], [end, cs.jacobian(end, s), cs.jacobian(end, x)])
    state, block = cs.MX.sym("state", 2 * n * (1 + wide)), cs.MX.sym("block", 3 * n * (2 * steps + 1))
    p, length = cs.MX.sym("x", b), cs.MX.sym("h")
    now, slope = state[: 2 * n], cs.reshape(state[2 * n :], 2 * n, wide)
    for k in range(steps):
        part = [block[3 * n * (2 * k + j) : 3 * n * (2 * k + j + 1)] for j in range(3)]
        now, by_state, by_x = step(now, *part, p, length)
        slope = by_state @ slope + cs.horzcat(by_x, cs.MX.zeros(2 * n, 2 * n))
    one = cs.Function("sample", [state, block, p, length], [cs.vertcat(now, cs.vec(slope))])
    motor = cs.SX.sym("motor", 3 * n)
    grown, dense = cs.SX.sym("grown", 2 * n * (1 + wide)), cs.SX.sym("dense", b)
    here, own = grown[: 2 * n], cs.reshape(grown[2 * n :], 2 * n, wide)
    u = links._torque(here, motor, dense)
    s2 = cs.SX.sym("s2", 2 * n)
    by = cs.Function("by", [s2, motor, dense], [cs.jacobian(links._torque(s2, motor, dense), s2)])
    direct = cs.Function("direct", [s2, motor, dense], [cs.jacobian(links._torque(s2, motor, dense), dense)])
    total = by(here, motor, dense) @ own + cs.horzcat(direct(here, motor, dense), cs.SX(n, 2 * n))
    ends = cs.Function("ends", [grown, motor, dense], [cs.vertcat(u, cs.vec(total))])
    loop = one.mapaccum("loop", samples, 1)
    return lambda first, blocks, x, h: loop(first, blocks, np.tile(x[:, None], (1, samples)), h), ends
