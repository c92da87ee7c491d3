"""What a view can show around a robot: torques at its joints, weights of its links, the mass felt at its tip, its capsules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from taupi.dynamics.kinematics import jacobian
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.errors import TaupiError
from taupi.excitation.geometry.clearance import Clearance
from taupi.excitation.geometry.distances import segment_program
from taupi.excitation.geometry.watched import clearance_of
from taupi.model.robot import Robot
from taupi.reporting.viewer.scene import Pose, Scene

LONG = 0.25  # of the reach: the longest arrow, and the longest half axis of the tip's ellipsoid
HEAVIEST = 10.0  # times the least mass felt at the tip: larger ones, as near a singularity, are drawn no longer


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
    def _felt(self) -> tuple[Any, Any]:
        return jacobian(self.robot, frame="tip").compile("numpy"), mass_matrix(self.robot).compile("numpy")

    def tip_masses(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the masses (3,) in kg that a force at the tip feels, and their directions as columns (3, 3).

        They are the inverse eigenvalues of J M^-1 J^T, with J of the tip's linear velocity; infinite where the tip cannot move.
        """
        J, M = (program(q) for program in self._felt)
        linear = J[-3:]
        mobility, directions = np.linalg.eigh(linear @ np.linalg.solve(M, linear.T))
        if np.linalg.det(directions) < 0:
            directions[:, 0] *= -1
        with np.errstate(divide="ignore"):
            return np.where(mobility > 1e-9 * mobility.max(initial=1e-300), 1 / mobility, np.inf), directions

    def tip_lengths(self, masses: np.ndarray) -> np.ndarray:
        """Return the half axes (3,) of the ellipsoid of masses as it is drawn, in m."""
        least = float(masses.min())
        return (
            LONG * self.scene.reach * np.minimum(masses / (HEAVIEST * least), 1.0) if np.isfinite(least) else 0 * masses
        )

    @cached_property
    def clearance(self) -> Clearance | None:
        """The robot's capsules and the distances between them, None if its description has no geometry."""
        try:
            return clearance_of(self.robot)
        except TaupiError:
            return None

    @cached_property
    def _segments(self) -> Any:
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
