"""Roll-outs of a robot that is driven by commands: the step of `driven` repeated by machine code, with its sensitivities."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from taupi.dynamics.driven import JOINT_VALUES, StepValues, driven_step, state_size
from taupi.model.branches import Branch, branches
from taupi.model.robot import Robot
from taupi.program.program import Program
from taupi.program.step_loop import roll
from taupi.program.targets.cpu import Kernel

# Bytes of the states, with their sensitivities, that are in memory at once: they still fit a processor's cache.
_AT_ONCE = 4e6


@dataclass(frozen=True, eq=False)
class Commands:
    """What was sent to the joints, at the times of a log: each value holds until the next, or goes straight to it.

    Attributes:
        time: (N,), s, increasing.
        position: (N, n), rad or m.
        velocity: (N, n), rad/s or m/s.
        torque: Fed forward (N, n), N m or N.
        enabled: Whether motors are on (N, n), 1 or 0.
        volts: Supply (N, n), V.
        linear: Whether commands go straight from one to the next; by default they are held.
    """

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    torque: np.ndarray
    enabled: np.ndarray
    volts: np.ndarray
    linear: bool = False

    def of_joints(self, index: Sequence[int]) -> Commands:
        """Return what was sent to some of the joints, by their numbers."""
        names = ("position", "velocity", "torque", "enabled", "volts")
        return dataclasses.replace(self, **{name: getattr(self, name)[:, list(index)] for name in names})

    @cached_property
    def _values(self) -> np.ndarray:
        return np.ascontiguousarray(np.hstack([self.position, self.velocity, self.torque]))

    @cached_property
    def _integral(self) -> np.ndarray:
        """The integral of the commands from the first sample on (N, 3 n)."""
        values, dt = self._values, np.diff(self.time)[:, None]
        pieces = (values[:-1] + values[1:]) / 2 if self.linear else values[:-1]
        return np.vstack([np.zeros(values.shape[1]), np.cumsum(pieces * dt, axis=0)])

    def means(self, edges: np.ndarray, delay: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the delayed commands between the times `edges` (K + 1), and its derivative by the delay (K, 3 n).

        Both are continuous in the delay, which may be negative: before the first sample the first command holds, after the last
        one the last.
        """
        time, values = self.time, self._values
        late = edges - delay
        row = np.clip(np.searchsorted(time, late, side="right") - 1, 0, len(time) - 1)
        since = (late - time[row])[:, None]
        held = values[row]
        area = self._integral[row] + held * since
        if self.linear:
            inside = (late >= time[0]) & (row < len(time) - 1)
            following = np.minimum(row + 1, len(time) - 1)
            step = np.where(following > row, time[following] - time[row], 1.0)
            slope = np.where(inside[:, None], (values[following] - held) / step[:, None], 0.0)
            area += slope * since**2 / 2
            held = held + slope * since
        h = np.diff(edges)[:, None]
        return np.diff(area, axis=0) / h, -np.diff(held, axis=0) / h


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a roll-out: `count[k]` equal ones between the samples k and k + 1, none longer than asked for.

    Attributes:
        edges: Their ends (K + 1,), s.
        at: After how many steps each sample comes (N,).
        tick: Whether a law on the host is computed at the beginning of each (K,), 1 or 0.
    """

    edges: np.ndarray
    at: np.ndarray
    tick: np.ndarray

    @classmethod
    def of(cls, time: np.ndarray, longest: float, rate_hz: float | None = None) -> Steps:
        """Return the steps between the samples of a log at `time` (N,), s; a host computes its law at `rate_hz`."""
        dt = np.diff(time)
        count = np.maximum(np.ceil(dt / longest - 1e-6), 1).astype(int)
        at = np.concatenate([[0], np.cumsum(count)])
        start, number = np.repeat(at[:-1], count), np.arange(at[-1])
        inner = (number - start) / np.repeat(count, count)
        begins = np.repeat(time[:-1], count) + inner * np.repeat(dt, count)
        edges = np.append(begins, time[-1])
        tick = np.ones(len(begins))
        if rate_hz is not None:
            period = np.floor((begins - time[0]) * rate_hz + 1e-6)
            tick[1:] = np.diff(period) > 0
        return cls(edges, at, tick)


@dataclass(frozen=True, eq=False)
class DrivenMotion:
    """A roll-out at the times of its commands.

    Attributes:
        q: Positions (N, n), rad or m.
        qd: Velocities (N, n), rad/s or m/s.
        tau: Mean torque of each drive from one sample to the next (N, n), N m or N; the last row repeats the one before.
        unsolved: The share of steps in which stiction or limits were not resolved exactly.
    """

    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    unsolved: float


@dataclass(frozen=True, eq=False)
class _DrivenBranch:
    """One of several branches of a robot, rolled out by itself: its robot, its joints, and its numbers of a step."""

    driven: DrivenRobot
    joints: list[int]
    numbers: np.ndarray

    @classmethod
    def of(cls, whole: DrivenRobot, branch: Branch) -> _DrivenBranch:
        """Return a branch of a robot."""
        values, layout = whole.values, whole.robot.parameters.layout
        numbers = [values.joints(kind).start + k for kind in JOINT_VALUES for k in branch.coordinates]
        bodies = [np.arange(layout.link(i).start, layout.link(i).stop) for i in branch.links]
        index = np.concatenate([numbers, *(values.bodies.start + body for body in bodies), [values.delay]]).astype(int)
        return cls(dataclasses.replace(whole, robot=branch.robot), list(branch.coordinates), index)


@lru_cache(maxsize=64)
def _parts(driven: DrivenRobot) -> tuple[_DrivenBranch, ...]:
    """Return the branches of a robot that has several; none if it has one."""
    found = branches(driven.robot)
    return tuple(_DrivenBranch.of(driven, branch) for branch in found) if len(found) > 1 else ()


@lru_cache(maxsize=64)
def _kernel(driven: DrivenRobot, tangent: bool) -> Kernel:
    """Return the compiled step: for one motion at a time, or for as many directions at once as a vector has lanes."""
    return Kernel(driven.program(tangent), lanes=None if tangent else 1)


@dataclass(frozen=True)
class DrivenRobot:
    """A robot with the law that drives it: `roll` simulates it, `sensitivities` also differentiates what it simulates.

    Branches that only the ground connects, such as the legs of a robot on a stand, are simulated one by one.

    Attributes:
        robot: The robot.
        law: "pd", "pd_host" or "duty".
        limited: Whether torques are clipped.
        rate_hz: How often "pd_host" is computed, Hz.
    """

    robot: Robot
    law: str = "pd"
    limited: bool = False
    rate_hz: float | None = None

    @property
    def values(self) -> StepValues:
        """Where the numbers of a step are."""
        return StepValues(self.robot)

    def program(self, tangent: bool = False) -> Program:
        """Return the program of one step."""
        return driven_step(self.robot, law=self.law, limited=self.limited, tangent=tangent)

    def _inputs(
        self, theta: np.ndarray, commands: Commands, steps: Steps
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return what is the same in all steps, and what changes from step to step (K, 1, size)."""
        mean, slope = commands.means(steps.edges, float(theta[self.values.delay]))
        times = np.diff(steps.at)
        each = {
            "command": mean,
            "command_slope": slope,
            "enabled": np.repeat(commands.enabled[:-1], times, axis=0),
            "volts": np.repeat(commands.volts[:-1], times, axis=0),
            "tick": steps.tick[:, None],
            "h": np.diff(steps.edges)[:, None],
        }
        fixed = {"theta": np.ascontiguousarray(theta, dtype=float).reshape(1, 1, -1)}
        return fixed, {name: np.ascontiguousarray(value)[:, None] for name, value in each.items()}

    def _start(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        start = np.concatenate([q, qd])
        return np.concatenate([start, start]) if self.law == "pd_host" else start

    def roll(
        self, theta: np.ndarray, commands: Commands, q: np.ndarray, qd: np.ndarray, longest: float = 1e-3
    ) -> DrivenMotion:
        """Return the motion from a state, driven by commands alone.

        Args:
            theta: The numbers of a step, in the order of `values`.
            commands: What is sent.
            q: Positions (n,) at the first sample, rad or m.
            qd: Velocities (n,) there, rad/s or m/s.
            longest: No step is longer, s; 1 ms by default.
        """
        if parts := _parts(self):
            return self._side_by_side(parts, theta, commands, q, qd, longest)
        steps = Steps.of(commands.time, longest, self.rate_hz)
        fixed, each = self._inputs(theta, commands, steps)
        count, n, size = int(steps.at[-1]), self.robot.n, state_size(self.robot, self.law)
        x = np.zeros((count + 1, 1, size))
        x[0, 0] = self._start(q, qd)
        results = {"tau": np.zeros((count, 1, n)), "solved": np.zeros((count, 1, 1))}
        with np.errstate(all="ignore"):
            roll(_kernel(self, False), {"x": x}, {**fixed, **each}, results)
        seen = x[steps.at, 0]
        h = np.diff(steps.edges)[:, None]
        work = np.add.reduceat(results["tau"][:, 0] * h, steps.at[:-1], axis=0) / np.diff(commands.time)[:, None]
        solved = results["solved"][:, 0, 0]
        return DrivenMotion(
            seen[:, :n], seen[:, n : 2 * n], np.vstack([work, work[-1:]]), float(1 - solved.mean()) if count else 0.0
        )

    def _side_by_side(
        self,
        parts: Sequence[_DrivenBranch],
        theta: np.ndarray,
        commands: Commands,
        q: np.ndarray,
        qd: np.ndarray,
        longest: float,
    ) -> DrivenMotion:
        shape = (len(commands.time), self.robot.n)
        found, unsolved = {name: np.zeros(shape) for name in ("q", "qd", "tau")}, 0.0
        for part in parts:
            j = part.joints
            motion = part.driven.roll(theta[part.numbers], commands.of_joints(j), q[j], qd[j], longest)
            for name, value in found.items():
                value[:, j] = getattr(motion, name)
            unsolved = max(unsolved, motion.unsolved)
        return DrivenMotion(**found, unsolved=unsolved)

    def sensitivities(
        self,
        theta: np.ndarray,
        directions: np.ndarray,
        commands: Commands,
        q: np.ndarray,
        qd: np.ndarray,
        longest: float = 1e-3,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions (N, n) from a state, and their derivatives (N, n, p) along directions of theta.

        Args:
            theta: The numbers of a step.
            directions: (p, size of theta).
            commands: What is sent.
            q: Positions (n,) at the first sample.
            qd: Velocities (n,) there.
            longest: No step is longer, s; 1 ms by default.
        """
        if parts := _parts(self):
            positions = np.zeros((len(commands.time), self.robot.n))
            slopes = np.zeros((*positions.shape, len(directions)))
            for part in parts:
                j, along = part.joints, directions[:, part.numbers]
                felt = np.flatnonzero(along.any(axis=1))
                sent = commands.of_joints(j)
                if len(felt):
                    positions[:, j], slope = part.driven.sensitivities(
                        theta[part.numbers], along[felt], sent, q[j], qd[j], longest
                    )
                    slopes[:, np.array(j)[:, None], felt] = slope
                else:
                    positions[:, j] = part.driven.roll(theta[part.numbers], sent, q[j], qd[j], longest).q
            return positions, slopes
        steps = Steps.of(commands.time, longest, self.rate_hz)
        fixed, each = self._inputs(theta, commands, steps)
        fixed["dtheta"] = np.ascontiguousarray(directions, dtype=float)[None]
        lanes, n, size = len(directions), self.robot.n, state_size(self.robot, self.law)
        count = int(steps.at[-1])
        at_once = min(max(int(_AT_ONCE / (16 * lanes * size)), 64), max(count, 1))
        x, dx = np.zeros((2, at_once + 1, lanes, size))
        x[0] = self._start(q, qd)
        positions, slopes = np.empty((len(steps.at), n)), np.empty((len(steps.at), n, lanes))
        kernel, sample = _kernel(self, True), 0
        with np.errstate(all="ignore"):
            for first in range(0, max(count, 1), at_once):
                last = min(first + at_once, count)
                inputs = {**fixed, **{name: value[first:last] for name, value in each.items()}}
                length = last - first
                roll(kernel, {"x": x[: length + 1], "dx": dx[: length + 1]}, inputs, {})
                until = int(np.searchsorted(steps.at, last, side="right" if last == count else "left"))
                rows = steps.at[sample:until] - first
                positions[sample:until] = x[rows, 0, :n]
                slopes[sample:until] = dx[rows, :, :n].transpose(0, 2, 1)
                sample = until
                x[0], dx[0] = x[length], dx[length]
        return positions, slopes
