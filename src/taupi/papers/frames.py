"""The frames of an arm's links at a configuration, and their Jacobians, in the symbols of Gabiccini et al. and of Zollo et al."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taupi.dynamics.kinematics import forward_kinematics, jacobian
from taupi.model.robot import Robot


@dataclass(frozen=True, eq=False)
class Frames:
    """An arm at a configuration: index 0 of R, p, J_P and J_O is the base, and A_P[i][k] is dJ_P[i]/dq_k."""

    robot: Robot
    q: np.ndarray

    @property
    def n(self) -> int:
        """How many joints there are."""
        return self.robot.n

    def links(self) -> list[int]:
        """Return 1 to n."""
        return list(range(1, self.n + 1))

    @cached_property
    def frames(self) -> list[np.ndarray]:
        """The placements (4, 4) of base and links."""
        names = self.robot.link_names
        return [np.eye(4), *(forward_kinematics(self.robot, frame=name)(self.q) for name in names)]

    @cached_property
    def R(self) -> list[np.ndarray]:
        """The rotations of base and links."""
        return [frame[:3, :3] for frame in self.frames]

    @cached_property
    def p(self) -> list[np.ndarray]:
        """The origins of base and links."""
        return [frame[:3, 3] for frame in self.frames]

    @cached_property
    def _jacobians(self) -> list[tuple[np.ndarray, np.ndarray]]:
        none = np.zeros((6, self.n)), np.zeros((6, self.n, self.n))
        programs = [jacobian(self.robot, frame=name) for name in self.robot.link_names]
        return [none, *((j(self.q), j.jacobian("q")(self.q)) for j in programs)]

    @cached_property
    def J_O(self) -> list[np.ndarray]:
        """The Jacobians of orientation."""
        return [j[:3] for j, _ in self._jacobians]

    @cached_property
    def J_P(self) -> list[np.ndarray]:
        """The Jacobians of position."""
        return [j[3:] for j, _ in self._jacobians]

    @cached_property
    def A_O(self) -> list[list[np.ndarray]]:
        """dJ_O/dq_k, by link and k."""
        return [[rate[:3, :, k] for k in range(self.n)] for _, rate in self._jacobians]

    @cached_property
    def A_P(self) -> list[list[np.ndarray]]:
        """dJ_P/dq_k, by link and k."""
        return [[rate[3:, :, k] for k in range(self.n)] for _, rate in self._jacobians]

    @cached_property
    def g0(self) -> np.ndarray:
        """The acceleration of gravity."""
        return np.array(self.robot.gravity, dtype=float)

    def slope(self, i: int, qd: np.ndarray) -> np.ndarray:
        """Return the rate (4, 4) of the placement of link i."""
        program = forward_kinematics(self.robot, frame=self.robot.link_names[i - 1])
        rate: np.ndarray = program.jacobian("q")(self.q) @ qd
        return rate

    def velocity(self, i: int, point: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the velocity of a point of link i, from the slope of its placement."""
        velocity: np.ndarray = (self.slope(i, qd) @ [*point, 1.0])[:3]
        return velocity
