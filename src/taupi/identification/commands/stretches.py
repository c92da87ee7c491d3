"""Logs of commands and encoders as stretches without gaps, each simulated from its own first state."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.dynamics.driven import STEP_DEFAULTS, StepValues
from taupi.dynamics.driven_rollout import Commands, DrivenRobot
from taupi.errors import Argument, TaupiError
from taupi.model.robot import Robot
from taupi.signals.drive import Drive
from taupi.signals.log import Log

# s: the window over which a velocity is worked out from positions, where none was recorded.
_WINDOW = 0.05
# s: after this time, a closed loop has forgotten its first state.
_FORGETS = 0.3
# Samples that a stretch needs at least.
_LEAST = 8


@dataclass(frozen=True, eq=False)
class Stretch:
    """Consecutive samples of a log: what was sent, what the encoders showed, and how the one became the other.

    Attributes:
        name: The name of the log.
        log: The number of the log among those of a fit.
        q: Positions of the encoders (N, n), rad or m.
        qd: Velocity at the first sample (n,), rad/s or m/s.
        commands: What was sent.
        drive: The law, with its numbers per joint.
        skip: How many samples at the beginning are simulated without being compared: the loop forgets a first state, whose
            velocity is known badly, within them.
    """

    name: str
    log: int
    q: np.ndarray
    qd: np.ndarray
    commands: Commands
    drive: Drive
    skip: int = 0

    @property
    def compared(self) -> slice:
        """The samples in which what is simulated is compared with what was measured."""
        return slice(self.skip, None)

    @property
    def tracking(self) -> np.ndarray:
        """Commanded minus measured positions where they are compared (N, n), rad or m."""
        return (self.commands.position - self.q)[self.compared]

    @property
    def time(self) -> np.ndarray:
        """The times of the samples (N,), s."""
        return self.commands.time

    def __len__(self) -> int:
        return len(self.time)

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the last."""
        return float(self.time[-1] - self.time[0])

    def driven(self, robot: Robot) -> DrivenRobot:
        """Return the robot with the law of this stretch."""
        drive = self.drive
        clipped = drive.law == "duty" or bool(np.isfinite(_torque_limits(drive, self.q.shape[1])).any())
        return DrivenRobot(robot, drive.law, clipped, drive.rate_hz)

    def part(self, start: int, stop: int) -> Stretch:
        """Return the samples `start` to `stop` - 1, with some before them that are only simulated."""
        begin = int(np.searchsorted(self.time, self.time[start] - _FORGETS))
        rows, skip = slice(begin, stop), max(start, self.skip) - begin
        given = self.commands
        names = ("time", "position", "velocity", "torque", "enabled", "volts")
        commands = dataclasses.replace(given, **{name: getattr(given, name)[rows] for name in names})
        velocity = self.qd if begin == 0 else slope_at(self.time, self.q, begin)
        return dataclasses.replace(self, q=self.q[rows], qd=velocity, commands=commands, skip=skip)

    def pieces(self, length: float) -> list[Stretch]:
        """Return the stretch cut into equal parts of about `length`, s, each of which begins at its own measured state."""
        count = max(1, round(self.duration / length))
        ends = np.searchsorted(self.time, self.time[0] + self.duration * np.arange(1, count) / count)
        edges = [0, *ends.tolist(), len(self)]
        return [self.part(a, b) for a, b in itertools.pairwise(edges) if b - a >= _LEAST]

    def thinned(self, longest: float) -> Stretch:
        """Return every k-th sample, at most `longest` apart, s, with the means of the commands between them."""
        k = int(longest / max(self.duration / max(len(self) - 1, 1), 1e-12) + 1e-3)
        if k < 2 or len(self) < _LEAST * k:
            return self
        rows, given = np.arange(0, len(self), k), self.commands
        edges = np.append(self.time[rows], self.time[-1]) if rows[-1] < len(self) - 1 else self.time[rows]
        mean = given.means(edges, 0.0)[0]
        mean = mean if len(mean) == len(rows) else np.vstack([mean, given.means(edges[-2:], 0.0)[0]])
        n = self.q.shape[1]
        sent = {"position": mean[:, :n], "velocity": mean[:, n : 2 * n], "torque": mean[:, 2 * n :]}
        kept = {name: getattr(given, name)[rows] for name in ("time", "enabled", "volts")}
        commands = dataclasses.replace(given, **sent, **kept, linear=False)
        return dataclasses.replace(self, q=self.q[rows], commands=commands, skip=-(-self.skip // k))

    def settled(self) -> Stretch:
        """Return the stretch with its beginning only simulated, unless it is short."""
        skip = int(np.searchsorted(self.time, self.time[0] + _FORGETS))
        return dataclasses.replace(self, skip=min(skip, len(self) // 4))

    @cached_property
    def law_torque(self) -> np.ndarray:
        """The torque (N, n) of a PD law at the measured positions, without delay, for scales and first guesses."""
        n, given = self.q.shape[1], self.commands
        kp, kd = self.drive.per_joint("kp", n), self.drive.per_joint("kd", n)
        if self.drive.law == "duty":
            duty = np.clip(kp * (given.position - self.q), -1, 1) * given.volts * given.enabled
            return duty * self.drive.per_joint("kt", n) / self.drive.per_joint("resistance", n)
        velocity = np.gradient(self.q, self.time, axis=0)
        torque = kp * (given.position - self.q) + kd * (given.velocity - velocity) + given.torque
        limit = _torque_limits(self.drive, n)
        return np.clip(torque, -limit, limit) * given.enabled


def law_values(drive: Drive, theta: np.ndarray, values: StepValues) -> np.ndarray:
    """Return the numbers of a step with those that a drive states; the others are kept."""
    theta, n = theta.copy(), values.robot.n
    for name in ("kp", "kd", "duty_limit"):
        theta[values.joints(name)] = drive.per_joint(name, n)
    theta[values.joints("limit")] = np.minimum(_torque_limits(drive, n), STEP_DEFAULTS["limit"])
    if drive.law == "duty":
        kt, resistance = drive.per_joint("kt", n), drive.per_joint("resistance", n)
        theta[values.joints("torque_per_volt")] = kt / resistance
        theta[values.joints("braking")] = kt**2 / resistance
    return theta


def _torque_limits(drive: Drive, n: int) -> np.ndarray:
    """Return the largest torque of each joint: its limit, or what its largest current gives."""
    limit = drive.per_joint("torque_limit", n)
    if drive.law == "duty" and drive.current_limit:
        limit = np.minimum(limit, drive.per_joint("kt", n) * drive.per_joint("current_limit", n))
    return limit


def slope_at(time: np.ndarray, q: np.ndarray, row: int) -> np.ndarray:
    """Return the slope (n,) of positions at a sample: of the parabola through the samples around it."""
    near = np.flatnonzero(np.abs(time - time[row]) <= _WINDOW / 2)
    if len(near) < 5:
        near = np.arange(max(0, row - 2), min(len(time), row + 3))
    degree = min(2, len(near) - 1)
    return (
        np.polynomial.polynomial.polyfit(time[near] - time[row], q[near], degree)[1] if degree else np.zeros(q.shape[1])
    )


def stretches_of(log: Log, robot: Robot, number: int = 0, name: str = "log") -> list[Stretch]:
    """Return the stretches of a log: its pieces between gaps and missing values.

    Raises:
        TaupiError: The log has no commands or no drive, or nothing long enough to simulate.
    """
    (position,) = log.need("qdes")
    if log.drive is None:
        raise TaupiError("The log has commands, but does not say how they became torques: state {drive}.")
    if log.base is not None:
        raise TaupiError(
            "The log says how the base of {robot} moves: only a robot on a stand can be simulated from commands.",
            robot=robot.name,
        )
    if log.n != robot.n:
        raise TaupiError(
            "The log has {got} joints, {names:,}, and {robot} has {expected}.",
            remedy="Lock the other joints of the description: {lock}.",
            got=log.n,
            names=log.names,
            robot=robot.name,
            expected=robot.n,
            lock=Argument("lock", [name for name in robot.joint_names if name not in log.names] or ...),
        )
    velocity = _wanted_velocity(log, log.drive)
    shape = log.q.shape
    filled = {
        "position": position,
        "velocity": velocity,
        "torque": np.zeros(shape) if log.tau_ff is None else log.tau_ff,
        "enabled": np.ones(shape) if log.enabled is None else (log.enabled > 0.5).astype(float),
        "volts": _volts(log, log.drive),
    }
    whole = np.isfinite(log.time) & np.isfinite(log.q).all(axis=1)
    for value in filled.values():
        whole &= np.isfinite(value).all(axis=1)
    step = np.diff(log.time)
    usual = float(np.median(step[step > 0])) if (step > 0).any() else 0.0
    breaks = (step <= 0) | (step > 3.5 * usual + 0.02) | ~whole[:-1] | ~whole[1:]
    result = []
    for rows in np.split(np.arange(len(log.time)), np.flatnonzero(breaks) + 1):
        if len(rows) < _LEAST or not whole[rows].all():
            continue
        first, last = int(rows[0]), int(rows[-1]) + 1
        part = slice(first, last)
        commands = Commands(
            log.time[part].copy(), **{k: v[part] for k, v in filled.items()}, linear=log.drive.hold == "linear"
        )
        recorded = None if log.qd is None else log.qd[first]
        known = recorded is not None and bool(np.isfinite(recorded).all())
        start = recorded if known else slope_at(commands.time, log.q[part], 0)
        found = Stretch(name, number, log.q[part].copy(), np.array(start), commands, log.drive)
        result.append(found if known else found.settled())
    if not result:
        raise TaupiError(
            "The log has no {least} samples in a row with positions and commands.",
            remedy="See taupi log.",
            least=_LEAST,
        )
    return result


def _wanted_velocity(log: Log, drive: Drive) -> np.ndarray:
    """Return the velocity that kd compares with: 0, the one recorded, or the slope of the commands."""
    assert log.qdes is not None
    if drive.kd_acts_on == "velocity":
        return np.zeros(log.q.shape)
    if log.qd_des is not None:
        return log.qd_des
    slope = np.zeros(log.q.shape)
    slope[1:] = np.diff(log.qdes, axis=0) / np.maximum(np.diff(log.time), 1e-9)[:, None]
    return slope


def supply(drive: Drive, n: int) -> np.ndarray:
    """Return the voltage (n,) that a `drive` states for its n joints, V; 0 where its law has no use for one."""
    return drive.per_joint("volts", n) if drive.law == "duty" else np.zeros(n)


def _volts(log: Log, drive: Drive) -> np.ndarray:
    if drive.law != "duty" or log.volts is None:
        return np.tile(supply(drive, log.n), (len(log), 1))
    return log.volts


@dataclass(frozen=True, eq=False)
class SplitStretches:
    """Stretches cut into blocks: two thirds are fitted and decide on terms, one third only tests."""

    fitted: tuple[Stretch, ...]
    testing: tuple[Stretch, ...]


# s: a block is not shorter, since it has to forget its first state; and into how many all logs are cut.
_SHORTEST = 1.0
_COUNT = 12


def blocks_of(stretches: Sequence[Stretch]) -> SplitStretches | None:
    """Return the stretches in alternate blocks: of three in a row, the middle one tests.

    Several logs are kept whole where there are enough of them. None if the logs are too short.
    """
    logs = sorted({stretch.log for stretch in stretches})
    if len(logs) >= _COUNT // 2:
        pieces = [[s for s in stretches if s.log == k] for k in logs]
    else:
        total = sum(stretch.duration for stretch in stretches)
        length = max(total / _COUNT, _SHORTEST)
        pieces = []
        for stretch in stretches:
            pieces += [[piece] for piece in stretch.pieces(length)]
    if len(pieces) < 3:
        return None
    groups = [[s for k, piece in enumerate(pieces) if (k % 3 == 1) is test for s in piece] for test in (False, True)]
    return SplitStretches(tuple(groups[0]), tuple(groups[1]))
