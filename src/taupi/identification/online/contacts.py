"""Contacts from external torque: when they begin and end, and where on the robot and how hard it was touched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.kinematics import link_placements
from taupi.dynamics.spatial import compose
from taupi.dynamics.types import SX, ArrayLike, Expression, Matrix, Vector
from taupi.errors import TaupiError
from taupi.identification.online.component import Component
from taupi.identification.online.observer import MomentumObserver, ObserverState, runs_of
from taupi.identification.online.thresholds import Thresholds
from taupi.model.robot import BASE, Robot
from taupi.program.program import Constants, Port, Program, trace
from taupi.signals.log import Log

# Number of points that are tried along a link.
_POINTS = 21
# A touch has a force of about this size, N: a weak preference for small forces if several explain a torque.
_LARGE = 10.0


@dataclass(frozen=True)
class ContactForce:
    """A force on a link.

    Attributes:
        link: The name of the link.
        force: (3,), in world axes, N: what the surroundings exert on the robot.
        point: (3,), in world axes, m.
        share: Where the point is between the link's own joint, 0, and the next joint or the tip, 1.
        unexplained: The share of the felt torque, by its norm, that no force along the link explains.
    """

    link: str
    force: np.ndarray
    point: np.ndarray
    share: float
    unexplained: float

    @property
    def size(self) -> float:
        """The norm of the force, N."""
        return float(np.linalg.norm(self.force))

    def to_dict(self) -> dict[str, object]:
        """Return the force as plain data."""
        return {
            "link": self.link,
            "size": self.size,
            "force": self.force.tolist(),
            "point": self.point.tolist(),
            "share": self.share,
            "unexplained": self.unexplained,
        }


def contact_force(robot: Robot, link: int, q: np.ndarray, tau_ext: np.ndarray, spread: np.ndarray) -> ContactForce:
    """Return the force F at a point x with J(x)^T F nearest to `tau_ext` (n,), at the position `q`, on a `link` or beyond it.

    Points are tried along the lines from each joint to each one that follows it, or to the tip. Torques count in units of their
    noise, `spread` (n,). A force has three components, and the point is a fourth unknown: where fewer joints than that feel it,
    several forces explain the same, and the smallest is returned.
    """
    options = []
    for k in range(link, len(robot.links)):
        if link in robot.path(k):
            near, *ends = np.asarray(_ends(robot, k)(q))
            points = [(share, near + share * (far - near)) for far in ends for share in np.linspace(0, 1, _POINTS)]
            options += [_force_at(robot, k, q, tau_ext, spread, share, x) for share, x in points]
    return min(options, key=lambda option: option[0])[1]


def _force_at(
    robot: Robot, link: int, q: np.ndarray, tau_ext: np.ndarray, spread: np.ndarray, share: float, x: np.ndarray
) -> tuple[float, ContactForce]:
    """Return how badly the best force at a point `x` of a link explains the torque, and this force."""
    lever = np.asarray(_point_jacobian(robot, link)(q, x)).T
    rows = np.concatenate([lever / spread[:, None], np.eye(3) / _LARGE])
    wanted = np.concatenate([tau_ext / spread, np.zeros(3)])
    force = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    missing = float(np.linalg.norm(tau_ext - lever @ force) / max(np.linalg.norm(tau_ext), 1e-300))
    cost = float(np.sum((rows @ force - wanted) ** 2))
    return cost, ContactForce(robot.link_names[link], force, x, float(share), missing)


@lru_cache(maxsize=64)
def _point_jacobian(robot: Robot, link: int) -> Program:
    """Return J (3, n) of (q, x): the velocity of the point x (3,), in world axes, that is fixed to a link."""

    def body(chain: Chain, q: Vector, x: Vector) -> Matrix:
        axes = _axes(chain, q)
        rows: list[Matrix] = [SX.zeros(1, 3)] * chain.links
        for j in chain.robot.path(link):
            axis, point = axes[j]
            slides = chain.robot.joints[j].prismatic
            rows[j] = (axis if slides else cs.cross(axis, x - point)).T
        return chain.gather(rows).T

    return trace_robot("point_jacobian", robot, body, ["q", Port("x", (3,))], [Port("J", (3, robot.n))])


@lru_cache(maxsize=64)
def _ends(robot: Robot, link: int) -> Program:
    """Return the ends (1 + k, 3) of a link, in world axes: its own joint, then the k joints on it, or the tip of a last link."""
    following = [i for i, joint in enumerate(robot.joints) if joint.parent == link]

    def body(chain: Chain, q: Vector) -> Matrix:
        axes = _axes(chain, q)
        ends = [axes[i][1] for i in following]
        if not ends:
            owner, pose = chain.frame("tip")
            ends = [compose(link_placements(chain, q)[owner], pose)[1] if owner == link else axes[link][1]]
        return cs.vertcat(axes[link][1].T, *(end.T for end in ends))

    return trace_robot("link_ends", robot, body, ["q"], [Port("ends", (1 + max(len(following), 1), 3))])


def _axes(chain: Chain, q: Vector) -> list[tuple[Vector, Vector]]:
    """Return the axis and the origin of each joint, in world axes."""
    placed, position = link_placements(chain, q), chain.spread(q)
    result = []
    for i, joint in enumerate(chain.robot.joints):
        before = chain.stages(i, position[i])[0]
        r, p = before if joint.parent == BASE else compose(placed[joint.parent], before)
        result.append((r @ chain.axis(i), p))
    return result


# Friction is learnt below this share of the threshold.
_QUIET = 0.5
# Thresholds are about this many standard deviations of the residual.
_DEVIATIONS = 2.0
# Alarms that are nearer to each other are one contact, s.
_APART = 0.25


@dataclass(frozen=True)
class Contact:
    """A time in which the torque from outside is above its threshold.

    Attributes:
        start: The time of the first alarm, s.
        end: The time of the last, s.
        peak: The time of the largest torque, relative to thresholds, s.
        joint: The outermost joint that feels it: the contact is on its link, or beyond, where joints feel too little of it.
        tau_ext: The torque from outside (n,) at the peak, N m or N.
        level: The largest torque relative to its threshold.
        force: The smallest force that explains the torque at the peak, and the link and point where it would act.
        unit: That of the torque of the joint that feels it most: "N m", or "N" for a prismatic one.
        torque: The largest of all torques from outside at the peak that have this unit.
    """

    start: float
    end: float
    peak: float
    joint: str
    tau_ext: np.ndarray
    level: float
    force: ContactForce
    unit: str
    torque: float

    @property
    def link(self) -> str:
        """The link on which the force would act."""
        return self.force.link

    def to_dict(self) -> dict[str, object]:
        """Return the contact as plain data."""
        plain = {k: getattr(self, k) for k in ("start", "end", "peak", "joint", "link", "level", "torque", "unit")}
        return {**plain, "tau_ext": self.tau_ext.tolist(), "force": self.force.to_dict()}

    def __str__(self) -> str:
        felt = f"felt up to {self.joint}, {self.torque:.3g} {self.unit} at most ({self.level:.1f} times the threshold)"
        return (
            f"{self.start:.3f} to {self.end:.3f} s: {felt}; about {self.force.size:.0f} N on {self.link} would do that"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ContactDetector(Component):
    """An observer with thresholds: level = |tau_ext| / threshold of each joint; a level above 1 is a contact.

    |tau_ext| is the smaller of this sample's and the last one's, and 0 if their signs differ: a contact is felt in two
    successive samples, whereas jerks of the motion itself show in only one.

    Attributes:
        observer: What observes the torque from outside.
        thresholds: The torque above which it is a contact, per joint and speed.
    """

    observer: MomentumObserver
    thresholds: Thresholds
    name: ClassVar[str] = "detector"
    title: ClassVar[str] = "contact detector"
    meaning: ClassVar[str] = (
        "tau_ext: the torque (N m) or force (N) that the surroundings exert on each joint; level: above 1 where it is a contact."
    )
    results: ClassVar[tuple[str, ...]] = ("tau_ext", "level")

    def __post_init__(self) -> None:
        """Refuse thresholds of another observer: their rate of false alarms would not hold for this one."""
        own = (self.observer.bandwidth_hz, self.observer.tracker is not None)
        if own != (self.thresholds.bandwidth_hz, self.thresholds.tracked):
            raise TaupiError(
                "The thresholds are for an observer {observer_words}, this one is {other_observer_words}.",
                remedy="Take the same settings, or find thresholds for these: observer.calibrated(logs).",
                observer_words=_observer_words(self.thresholds.bandwidth_hz, self.thresholds.tracked),
                other_observer_words=_observer_words(*own),
            )

    @property
    def robot(self) -> Robot:
        """The robot that is observed, with its parameters."""
        return self.observer.robot

    def init(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> ObserverState:
        """Return the state to start with; `q` and `qd` (..., n) are as in `MomentumObserver.init`."""
        own = self.observer.init(q, qd).vector
        return ObserverState(np.concatenate([own, np.zeros((*own.shape[:-1], self.robot.n))], axis=-1))

    def step(
        self, state: ObserverState, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, dt: float
    ) -> tuple[np.ndarray, ObserverState]:
        """Return the level of each joint at a sample, and the state after it, with `tau_ext`.

        Args:
            state: What `init` or the last `step` returned.
            q: Positions (..., n), rad or m.
            qd: Velocities (..., n), rad/s or m/s.
            tau: The motors' torque (..., n), N m or N.
            dt: The time since the last sample, s.

        Returns:
            The level (..., n), above 1 for a contact, and the next state.
        """
        tau_ext, level, vector = self.advanced(state, dt, q, qd, tau)
        return level, ObserverState(vector, tau_ext)

    def levels(self, log: Log) -> tuple[np.ndarray, np.ndarray]:
        """Return the torque from outside and the level (N, n) at each sample of a `log`, causally."""
        results = [self.over(*self.observer.log_signals(run)) for run in runs_of(log)]
        return np.concatenate([r["tau_ext"] for r in results]), np.concatenate([r["level"] for r in results])

    def contacts(self, log: Log, apart: float = _APART) -> list[Contact]:
        """Return the contacts in a `log`, in order of time; alarms less than `apart` (0.25 s) from each other are one contact."""
        positive("apart", apart)
        return [contact for run in runs_of(log) for contact in self._contacts(run, apart)]

    def _contacts(self, log: Log, apart: float) -> list[Contact]:
        """Return the contacts in a single run."""
        tau_ext, level = self.levels(log)
        alarms = np.flatnonzero(level.max(axis=1) > 1)
        if not len(alarms):
            return []
        groups = np.split(alarms, np.flatnonzero(np.diff(log.time[alarms]) > apart) + 1)
        return [self._contact(log, tau_ext, level, group) for group in groups]

    def _contact(self, log: Log, tau_ext: np.ndarray, level: np.ndarray, rows: np.ndarray) -> Contact:
        """Return the contact in some `rows` of a run."""
        peak = int(rows[np.argmax(level[rows].max(axis=1))])
        outermost = int(np.flatnonzero(level[rows].max(axis=0) > 1)[-1])
        robot = self.robot
        link = robot.joints.index(robot.driving_joints[outermost])
        spread = self._at_threshold(log, peak) / _DEVIATIONS
        slides = np.array(robot.slides)
        most = slides[np.argmax(level[peak])]
        return Contact(
            start=float(log.time[rows[0]]),
            end=float(log.time[rows[-1]]),
            peak=float(log.time[peak]),
            joint=robot.joint_names[outermost],
            tau_ext=tau_ext[peak],
            level=float(level[peak].max()),
            force=contact_force(robot, link, log.q[peak], tau_ext[peak], spread),
            unit="N" if most else "N m",
            torque=float(np.abs(tau_ext[peak][slides == most]).max()),
        )

    def _at_threshold(self, log: Log, row: int) -> np.ndarray:
        """Return the thresholds (n,) at a row of a log, N m or N."""
        _, (q, qd, tau) = self.observer.log_signals(log)
        return np.asarray(self._thresholds(q[row], qd[row], tau[row]))

    # The program --------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Return tau_ext (n,), level (n,) and state_next of (q, qd, tau, state, dt): what `step` and emitted C run."""
        return self._program

    @cached_property
    def _program(self) -> Program:
        constants, n, observer = Constants(), self.robot.n, self.observer
        chain = Chain(self.robot, constants)

        def body(q: Vector, qd: Vector, tau: Vector, state: Vector, dt: Expression) -> tuple[Vector, Vector, Vector]:
            threshold = self.thresholds.at(qd, observer.model.dry_friction(chain, q, tau))

            def quiet(residual: Vector) -> Vector:
                return cs.if_else(cs.mmax(cs.fabs(residual) / threshold) < _QUIET, 1.0, 0.0) * SX.ones(n)

            own, last = state[: observer.size], state[observer.size :]
            tau_ext, after = observer.advance(chain, (q, qd, tau), own, dt, quiet)
            felt = cs.if_else(tau_ext * last > 0, cs.fmin(cs.fabs(tau_ext), cs.fabs(last)), 0.0)
            return tau_ext, self.thresholds.levels(felt, threshold), cs.vertcat(after, tau_ext)

        outputs = [Port("tau_ext", (n,)), Port("level", (n,)), Port("state_next", (self.size,))]
        ports = [*observer.ports()[:-2], Port("state", (self.size,)), Port("dt")]
        return trace("contact_detector", body, ports, outputs, constants)

    @cached_property
    def _thresholds(self) -> Program:
        constants = Constants()
        chain = Chain(self.robot, constants)

        def body(q: Vector, qd: Vector, tau: Vector) -> Vector:
            return self.thresholds.at(qd, self.observer.model.dry_friction(chain, q, tau))

        return trace("thresholds", body, self.observer.ports()[:3], [Port("threshold", (self.robot.n,))], constants)

    def start(self) -> np.ndarray:
        """Return the state (size,) that the detector starts with."""
        return np.concatenate([self.observer.start(), np.zeros(self.robot.n)])

    @property
    def described_state(self) -> tuple[str, ...]:
        """What each entry of the state is, in words."""
        return (
            *self.observer.described_state,
            *(f"torque from outside at the last sample, {j}" for j in self.robot.joint_names),
        )

    def __repr__(self) -> str:
        return f"{self.observer!r}\n{self.thresholds!r}"


def _observer_words(bandwidth_hz: float, tracked: bool) -> str:
    """Return the settings of an observer in words."""
    return f"of {bandwidth_hz:g} Hz {'with' if tracked else 'without'} a tracker of friction"
