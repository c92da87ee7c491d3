"""What a view draws of a robot, as numbers: its body, what is laid over it, and the motions that it plays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.control.law_trial import Trial
from taupi.dynamics.kinematics import jacobian
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.errors import TaupiError
from taupi.excitation.excitation import Excitation
from taupi.excitation.geometry.clearance import Clearance
from taupi.excitation.geometry.distances import segment_program
from taupi.excitation.geometry.watched import clearance_of
from taupi.excitation.limits.sampled_rows import torque_program
from taupi.model.robot import Robot
from taupi.reporting.ellipsoids import LinkEllipsoid, body_of
from taupi.reporting.link_meshes import LinkMeshes, link_meshes
from taupi.reporting.skeleton import skeleton
from taupi.signals.log import Log
from taupi.simulation.run import Run

TUBE = 0.025  # of the arm's reach: the radius of a tube
SIDES = 20  # of a tube
SHORT = 1e-6  # of the reach: anything shorter is not drawn as a tube


@dataclass(frozen=True, eq=False)
class Pose:
    """Where the parts are: `tubes` as pairs of ends (k, 2, 3), `links` as placements R | p (links, 3, 4), the `tip` (3, 4).

    `surfaces` (k, 3, 4) are the placements of what the description draws, `joints` and `axes` (links, 3) those of the joints.
    """

    tubes: np.ndarray
    links: np.ndarray
    tip: np.ndarray
    surfaces: np.ndarray
    joints: np.ndarray
    axes: np.ndarray


@dataclass(frozen=True, eq=False)
class Scene:
    """A `robot` to draw."""

    robot: Robot

    @cached_property
    def drawn(self) -> LinkMeshes:
        """The surfaces in the description; without any, links are tubes."""
        return link_meshes(self.robot)

    @cached_property
    def reach(self) -> float:
        """The length of the arm, the sum of its tubes with all joints at zero, m."""
        ends = self.pose(np.zeros(self.robot.n)).tubes
        return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum()) or 1.0

    def pose(self, q: np.ndarray) -> Pose:
        """Return where the parts are at a configuration `q` (n,)."""
        names = (*self.robot.link_names, "tip", *(mesh.frame for mesh in self.drawn.meshes))
        arm, count = skeleton(self.robot, np.asarray(q, dtype=float)[None], names), len(self.robot.links)
        corners = arm.links[0]  # (links, 4, 3)
        pieces = np.stack([corners[:, :-1], corners[:, 1:]], axis=2).reshape(-1, 2, 3)
        placed = arm.frames[0]
        last = np.stack([arm.carriers[0, count], placed[count, :, 3]])
        tubes = np.concatenate([pieces, last[None]])
        return Pose(tubes, placed[:count], placed[count], placed[count + 1 :], arm.joints[0], arm.axes[0])

    def bodies(self) -> list[LinkEllipsoid | None]:
        """Return the body of each link in its own frame; None for a link without mass."""
        numbers = self.robot.parameters.values
        return [body_of(numbers[self.robot.parameters.layout.link(k)]) for k in range(len(self.robot.links))]


# Shapes ---------------------------------------------------------------------------------------------------------------


def unit_tube() -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of a tube of radius 1 from the origin to z = 1."""
    angles = np.linspace(0, 2 * np.pi, SIDES, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(SIDES)], axis=1)
    vertices = np.concatenate([ring, ring + np.array([0.0, 0.0, 1.0])])
    k, after = np.arange(SIDES), (np.arange(SIDES) + 1) % SIDES
    faces = np.concatenate(
        [np.stack([k, after, k + SIDES], axis=1), np.stack([after, after + SIDES, k + SIDES], axis=1)]
    )
    return vertices, faces


def along(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the quaternion (w, x, y, z) that turns z into the direction from `start` to `stop`, and the distance."""
    length = float(np.linalg.norm(stop - start))
    if length == 0:
        return np.array([1.0, 0.0, 0.0, 0.0]), 0.0
    x, y, z = (stop - start) / length
    if z < -1 + 1e-9:  # half a turn about x
        return np.array([0.0, 1.0, 0.0, 0.0]), length
    wxyz = np.array([1 + z, -y, x, 0.0])
    return wxyz / np.linalg.norm(wxyz), length


LONG = 0.25  # of the reach: the longest arrow, and the longest half axis of the tip's ellipsoid
HEAVIEST = 10.0  # times the least mass felt at the tip: larger ones, as near a singularity, are drawn no longer
MASSLESS = 1e-12  # of the largest inertia of a joint: less is the rounding of none


@dataclass(frozen=True, eq=False)
class Overlays:
    """What can be shown around the robot of a `scene`, as numbers."""

    scene: Scene

    @property
    def robot(self) -> Robot:
        """The robot of the scene."""
        return self.scene.robot

    def torque_arrows(self, pose: Pose, tau: np.ndarray, most: np.ndarray) -> np.ndarray:
        """Return an arrow (2, 3) per coordinate, from its joint along its axis, with length proportional to tau / `most` (n,)."""
        joints = [self.robot.joints.index(j) for j in self.robot.driving_joints]
        share = np.divide(tau, most, out=np.zeros_like(tau), where=most > 0)
        start = pose.joints[joints]
        return np.stack([start, start + LONG * self.scene.reach * share[:, None] * pose.axes[joints]], axis=1)

    def weight_arrows(self, pose: Pose) -> np.ndarray:
        """Return an arrow (2, 3) per link with mass, from its centre of mass: its weight relative to the heaviest link."""
        bodies = [(b, p) for b, p in zip(self.scene.bodies(), pose.links, strict=True) if b is not None]
        if not bodies:
            return np.zeros((0, 2, 3))
        gravity = np.array([float(v) for v in self.robot.gravity])
        size = float(np.linalg.norm(gravity)) or 1.0
        heaviest = max(b.mass for b, _ in bodies)
        starts = np.array([p[:, :3] @ b.com + p[:, 3] for b, p in bodies])
        lengths = np.array([LONG * self.scene.reach * b.mass / heaviest for b, _ in bodies])
        return np.stack([starts, starts + lengths[:, None] * gravity / size], axis=1)

    @cached_property
    def _felt(self) -> tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]:
        return jacobian(self.robot, frame="tip").compile("numpy"), mass_matrix(self.robot).compile("numpy")

    def tip_masses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the masses (3,) in kg that a force at the tip feels, and their directions as columns (3, 3).

        They are the inverse eigenvalues of J M^-1 J^T, with J of the tip's linear velocity; infinite where the tip cannot move.
        A joint that moves nothing with mass yields to any force, so that the mass along it is zero.
        """
        J, M = (program(q) for program in self._felt)
        if not (np.isfinite(M).all() and np.isfinite(J).all() and M.any()):
            return np.zeros(3), np.eye(3)
        inertia, modes = np.linalg.eigh(M)
        linear = J[-3:] @ modes
        mobility, directions = np.linalg.eigh(linear / np.maximum(inertia, MASSLESS * inertia.max()) @ linear.T)
        if np.linalg.det(directions) < 0:
            directions[:, 0] *= -1
        with np.errstate(divide="ignore"):
            return np.where(mobility > 1e-9 * mobility.max(initial=1e-300), 1 / mobility, np.inf), directions

    def tip_lengths(self, masses: np.ndarray) -> np.ndarray:
        """Return the half axes (3,) of the ellipsoid of masses as it is drawn, in m."""
        least = float(masses.min())
        if not 0 < least < np.inf:
            return np.zeros(3)
        return LONG * self.scene.reach * np.minimum(masses / (HEAVIEST * least), 1.0)

    @cached_property
    def clearance(self) -> Clearance | None:
        """The robot's capsules and the distances between them, None if its description has no geometry."""
        try:
            return clearance_of(self.robot)
        except TaupiError:
            return None

    @cached_property
    def _segments(self) -> Callable[..., np.ndarray]:
        assert self.clearance is not None
        return segment_program(self.clearance.space).compile("numpy")

    def capsule_ends(self, q: np.ndarray) -> np.ndarray:
        """Return the ends (capsules, 2, 3) of all capsules in world axes."""
        return np.asarray(self._segments(q))

    def nearest(self, q: np.ndarray) -> str:
        """Return in words which watched capsules are nearest to each other."""
        keep = self.clearance
        if keep is None or not keep.rows_watched:
            return "no pair of links is watched"
        distances = keep.distances(q)
        k = int(np.argmin(distances))
        return f"nearest: {keep.pairs[k]}, {1000 * distances[k]:.0f} mm"


RATE = 100  # Hz, at which an exciting motion is sampled


@dataclass(frozen=True, eq=False)
class Track:
    """Positions `q` (N, n) at times (N,) in s, counted from the first, and torques `tau` (N, n), None if unknown."""

    time: np.ndarray
    q: np.ndarray
    tau: np.ndarray | None = None

    def at(self, t: float) -> np.ndarray:
        """Return q (n,) at time `t`, interpolated linearly between samples; before and after, the robot stands still."""
        return np.array([np.interp(t, self.time, column) for column in self.q.T])

    def torque(self, t: float) -> np.ndarray | None:
        """Return tau (n,) at time `t`, None if it is not known."""
        return None if self.tau is None else np.array([np.interp(t, self.time, column) for column in self.tau.T])


def track_of(motion: object, robot: Robot) -> Track:
    """Return the track of a Log, Run, Trial or Excitation of a robot."""
    if isinstance(motion, Trial):
        motion = motion.run
    if isinstance(motion, Excitation):
        time = np.linspace(0.0, motion.duration, max(2, round(RATE * motion.duration) + 1))
        q, qd, qdd = (np.asarray(x) for x in motion.motion(time))
        tau = torque_program(motion.robot)(q, qd, qdd)
    elif isinstance(motion, Log | Run):
        time, q, tau = motion.time, motion.q, motion.tau
    else:
        raise TaupiError("{motion} is {got!r}, expected a Log, a Run, a Trial or an Excitation.", got=motion)
    if q.shape[1] != robot.n:
        raise TaupiError("{motion} has {shape} joints, {robot} has {n}.", shape=q.shape[1], robot=robot.name, n=robot.n)
    tau = None if tau is None or tau.shape != q.shape or not np.isfinite(tau).any() else np.nan_to_num(tau)
    usable = np.isfinite(q).all(axis=1)
    if usable.sum() < 2:
        raise TaupiError("{motion} has {got} finite samples, expected at least 2.", got=int(usable.sum()))
    return Track(time[usable] - time[usable][0], q[usable], None if tau is None else tau[usable])
