"""Robots with closed loops at given states: loops closed by Newton's method, motions, and torques of only the motors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taupi.dynamics.inverse import bias_torque
from taupi.dynamics.loops import loop_error, loop_jacobian, loop_jacobian_derivative
from taupi.dynamics.mass_matrix import mass_matrix
from taupi.dynamics.terms import TermsLike
from taupi.dynamics.types import ArrayLike
from taupi.errors import TaupiError, unknown
from taupi.model.requirements import require_bolted, require_loops
from taupi.model.robot import Robot
from taupi.regressors.classical import regressor

# A loop is closed when it is open by less than this, m and rad.
CLOSED = 1e-11
# Directions along which a loop opens by less than this share of the largest are not a constraint: planar loops have them.
_FREE = 1e-9
_STEPS = 60


@dataclass(frozen=True)
class ClosedLoops:
    """A `robot` with closed loops, moved by the joints named in `independent`; the others follow.

    Its states are of the independent joints (N, k), in their order. Ranks are numerical here: singular values below 1e-9
    of the largest count as zero.

    >>> import taupi as tp
    >>> arm = tp.load("elbow2r")
    >>> tp.loops.ClosedLoops(arm, ("shoulder",))
    Traceback (most recent call last):
    taupi.errors.TaupiError: elbow2r has no closed loop. Read one from an MJCF file with <connect> or <weld>, or a TOML file.
    """

    robot: Robot
    independent: tuple[str, ...]

    def __post_init__(self) -> None:
        require_loops(self.robot)
        require_bolted(self.robot, "Closing loops")
        names = (self.independent,) if isinstance(self.independent, str) else tuple(self.independent)
        for name in names:
            if name not in self.robot.joint_names:
                raise unknown("joint", name, self.robot.joint_names, self.robot.name)
        if len(set(names)) < len(names) or not 0 < len(names) < self.robot.n:
            raise TaupiError(
                "{independent} is {got}, expected some of {expected:,}, once each.",
                got=", ".join(names) or "empty",
                expected=self.robot.joint_names,
            )
        object.__setattr__(self, "independent", names)

    @property
    def _given(self) -> list[int]:
        return [self.robot.joint_names.index(name) for name in self.independent]

    @property
    def _following(self) -> list[int]:
        return [k for k in range(self.robot.n) if k not in self._given]

    def close(self, q: ArrayLike, guess: ArrayLike | None = None) -> np.ndarray:
        """Return the positions (N, n) of all joints at which the loops are closed, by Newton's method.

        `q` (N, k) are of the independent joints; `guess` (n,) or (N, n) is where the others start, by default at zero, and
        after the first sample at the solution of the previous one.
        """
        wanted = np.atleast_2d(np.asarray(q, dtype=float))
        if wanted.shape[1] != len(self.independent):
            raise TaupiError(
                "{q} has shape {got}, expected (N, {count}): {independent:,}.",
                got=np.shape(q),
                count=len(self.independent),
                independent=self.independent,
            )
        starts = None if guess is None else np.broadcast_to(np.asarray(guess, dtype=float), (len(wanted), self.robot.n))
        result = np.zeros((len(wanted), self.robot.n))
        last = np.zeros(self.robot.n) if starts is None else starts[0]
        for row, value in enumerate(wanted):
            start = np.array(last if starts is None or row else starts[row])
            start[self._given] = value
            last = result[row] = self._closed(start)
        return result

    def _closed(self, q: np.ndarray) -> np.ndarray:
        following, error = self._following, loop_error(self.robot)
        for _ in range(_STEPS):
            gap = error(q)
            if np.abs(gap).max() < CLOSED:
                return q
            q = q.copy()
            step = np.linalg.lstsq(loop_jacobian(self.robot)(q)[:, following], -gap, rcond=_FREE)[0]
            largest = np.abs(step).max()
            q[following] += step * min(1.0, 0.5 / largest if largest > 0 else 1.0)
        left = float(np.abs(error(q)).max())
        places = ", ".join(f"{name} = {q[k]:.4g}" for name, k in zip(self.independent, self._given, strict=True))
        raise TaupiError(
            "The loops of {robot} cannot be closed with {places}: {left:.2g} m or rad are left open.",
            remedy="Give another {guess}, or positions that the loops can reach.",
            robot=self.robot.name,
            places=places,
            left=left,
        )

    def map(self, q: ArrayLike) -> np.ndarray:
        """Return G (N, n, k) at closed positions `q` (N, n): qd = G times the velocities of the independent joints."""
        positions = np.atleast_2d(np.asarray(q, dtype=float))
        jacobian = loop_jacobian(self.robot)(positions)
        result = np.zeros((len(positions), self.robot.n, len(self.independent)))
        result[:, self._given] = np.eye(len(self.independent))
        for row, j in enumerate(jacobian):
            own, others = j[:, self._following], j[:, self._given]
            solution, _, rank, _ = np.linalg.lstsq(own, -others, rcond=_FREE)
            if rank < len(self._following) or np.abs(own @ solution + others).max() > 1e-6 * max(np.abs(j).max(), 1.0):
                raise TaupiError(
                    "Sample {row}: the loops of {robot} leave {count} joints to follow "
                    "{self_independent:,}, and determine {rank}.",
                    remedy="Name other joints, or more or fewer of them, in {independent}.",
                    row=row,
                    robot=self.robot.name,
                    count=len(self._following),
                    self_independent=self.independent,
                    rank=rank,
                )
            result[row, self._following] = solution
        return result

    def motion(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, guess: ArrayLike | None = None
    ) -> tuple[np.ndarray, ...]:
        """Return q, qd and qdd (N, n) of all joints from the independent ones' (N, k); `guess` is as in `close`."""
        positions = self.close(q, guess)
        g = self.map(positions)
        velocities = np.einsum("nik,nk->ni", g, np.atleast_2d(np.asarray(qd, dtype=float)))
        accelerations = np.einsum("nik,nk->ni", g, np.atleast_2d(np.asarray(qdd, dtype=float)))
        jacobian = loop_jacobian(self.robot)(positions)
        drift = np.einsum("nij,nj->ni", loop_jacobian_derivative(self.robot)(positions, velocities), velocities)
        for row, (j, d) in enumerate(zip(jacobian, drift, strict=True)):
            accelerations[row, self._following] += np.linalg.lstsq(j[:, self._following], -d, rcond=_FREE)[0]
        return positions, velocities, accelerations

    def motor_regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, terms: TermsLike = (), guess: ArrayLike | None = None
    ) -> np.ndarray:
        """Return G^T Y (N, k, p), with which the independent joints' torques are G^T Y pi when no motor moves the others.

        `q`, `qd`, `qdd` (N, k) are of the independent joints, `terms` as in `taupi.regressor`, by default none, and
        `guess` is as in `close`. Loop forces do no work, so they are not in it.
        """
        state = self.motion(q, qd, qdd, guess)
        return np.einsum("nik,nip->nkp", self.map(state[0]), regressor(self.robot, terms=terms)(*state))

    def forward_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return qdd (N, n) and the loops' forces (N, rows) of M qdd + b = tau + J^T f, J qdd + dJ/dt qd = 0.

        `q`, `qd` and `tau` (N, n) are of all joints, with the loops closed. If constraints are redundant, the forces are
        the smallest possible.
        """
        x, v, u = (np.atleast_2d(np.asarray(value, dtype=float)) for value in (q, qd, tau))
        mass, bias = mass_matrix(self.robot)(x), bias_torque(self.robot)(x, v)
        jacobian, rate = loop_jacobian(self.robot)(x), loop_jacobian_derivative(self.robot)(x, v)
        free = np.linalg.solve(mass, (u - bias)[:, :, None])
        pulled = np.linalg.solve(mass, np.swapaxes(jacobian, -1, -2))
        drift = np.einsum("nij,nj->ni", rate, v)
        forces = np.zeros(drift.shape)
        for row in range(len(x)):
            gap = -drift[row] - jacobian[row] @ free[row, :, 0]
            forces[row] = np.linalg.lstsq(jacobian[row] @ pulled[row], gap, rcond=_FREE)[0]
        return free[:, :, 0] + np.einsum("nij,nj->ni", pulled, forces), forces


def numerical_rank(rows: np.ndarray, tolerance: float = 1e-8) -> int:
    """Return the number of singular values of rows (N, p), with columns of unit length, above `tolerance` of the largest.

    Ranks of loops are numerical: a value below the tolerance may be rounding, or a combination that has hardly any effect.

    >>> import numpy as np
    >>> numerical_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    norms = np.linalg.norm(rows, axis=0)
    acting = rows[:, norms > tolerance * max(float(norms.max(initial=0.0)), 1e-300)]
    if not acting.size:
        return 0
    singular = np.linalg.svd(acting / np.linalg.norm(acting, axis=0), compute_uv=False)
    return int((singular > tolerance * singular[0]).sum())
