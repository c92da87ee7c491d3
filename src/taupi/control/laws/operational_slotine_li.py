"""Slotine and Li's law in the coordinates of a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import casadi as cs
import numpy as np

from taupi.control.adaptive_law import AdaptiveLaw, Damped
from taupi.control.gains import BANDWIDTH, as_matrix, gain, largest_inertias, times
from taupi.control.law import Claim, Law, Signals, Truth
from taupi.deprecation import renamed
from taupi.dynamics.chain import Chain
from taupi.dynamics.kinematics import Task, jacobian, linear_rows, task_coordinates, task_jacobian, traced_coordinates
from taupi.dynamics.operational import checked_task, consistent_inverse, operational_mass
from taupi.dynamics.singularity_measure import measure
from taupi.dynamics.types import ArrayLike, Matrix, Vector
from taupi.model.placement import Placement
from taupi.model.robot import BASE, Robot
from taupi.model.scalars import to_float
from taupi.program.program import Constants, Port
from taupi.simulation.references import Motion

TASK_DAMPING = 20.0  # 1/s: a task has directions that are lighter than any joint


@dataclass(frozen=True)
class _TaskReference:
    """The task's part of one evaluation, as SX: J, qrd and qrdd, s of the task, s of the joints."""

    J: Matrix
    qrd: Vector
    qrdd: Vector
    s: Vector
    joints: Vector


@dataclass(frozen=True, eq=False)
class OfTask(Law):
    """A law in the coordinates of a task.

    Attributes:
        task: What is controlled: "position", "xy", "planar" and so on, as for `jacobian`.
        frame: The frame that moves, by default the tip.
    """

    task: Task = "position"
    frame: str = "tip"

    def task_coordinates(self, robot: Robot, q: np.ndarray) -> np.ndarray | None:
        """Return the task's coordinates; `robot` and `q` are as in `Law.task_coordinates`."""
        r: np.ndarray = task_coordinates(robot, task=self.task, frame=self.frame)(q)
        return r


@renamed(columns="adapt")
@dataclass(frozen=True, eq=False)
class OperationalSlotineLi(AdaptiveLaw, Damped, OfTask):
    """Apply tau = J^T (Y pi_hat - K s), d pi_hat/dt = -Gamma^-1 Y^T s with Y the `operational_regressor` and s = rd - v.

    It is Slotine and Li's law with the regressor of Aldana et al., eq. 2 (equations.md, O3). v = rd_des - Lambda (r - r_des)
    is the reference velocity of the task. In joints this is tau = Y_r pi_hat - J^T K s - D s_q, d pi_hat/dt = -Gamma^-1 Y_r^T s_q
    with qrd = B v, s_q = qd - qrd, B = J^-1. A redundant arm has the dynamically consistent inverse of its own model for B, and
    qrdd = d/dt(B v). dV/dt = -s^T K s - D |s_q|^2. A singular configuration is refused when `torque` is called.

    Attributes:
        Lambda: How fast the task follows once s is 0, 1/s: a number, or one per coordinate of the task (m,); by default 5.
        K: Damping of s, a number, or one per coordinate of the task (m,); by default 20/s times the median mass of each.
        damping: D of a redundant arm's motion within the task, N m s/rad; by default 5/s times the smallest of the largest M_ii.

    >>> import taupi as tp
    >>> arm = tp.load("planar3r").bind(l1=1, l2=1, l3=1)
    >>> law = tp.laws.OperationalSlotineLi(arm, task="planar", K=10.0)
    >>> q, rest = [0.3, 0.9, -0.4], [0.0, 0.0, 0.0]
    >>> r = tp.operational.task_coordinates(arm, task="planar")(q)
    >>> bool(abs(law.torque(q, rest, r, rest, rest) - tp.gravity_torque(arm)(q)).max() < 1e-10)
    True
    """

    damping: float | None = field(default=None, kw_only=True)
    name: ClassVar[str] = "operational_slotine_li"
    wanted: ClassVar[tuple[str, str, str]] = ("r_des", "rd_des", "rdd_des")
    coordinate: ClassVar[str] = "coordinate"

    def __post_init__(self) -> None:
        super().__post_init__()
        redundant = self.wanted_size() < self.robot.n
        default = BANDWIDTH * float(largest_inertias(self.robot).min()) if redundant else 0.0
        chosen = default if self.damping is None else self.damping
        object.__setattr__(self, "damping", float(gain("damping", chosen, 1, zero=not redundant)[0]))

    def wanted_size(self) -> int:
        """Return the number of the task's coordinates."""
        return self._rows

    @cached_property
    def _rows(self) -> int:
        return checked_task(self.robot, self.task, self.frame)

    def _default_damping(self) -> np.ndarray:
        """Return 20/s times the median mass of the task's coordinates, over random configurations."""
        q = np.random.default_rng(0).uniform(-1.5, 1.5, (64, self.robot.n))
        masses = operational_mass(self.robot, task=self.task, frame=self.frame).compile("numpy")(q)
        return TASK_DAMPING * np.median(np.diagonal(masses, axis1=-2, axis2=-1), axis=0)

    def wanted_ports(self) -> list[Port]:
        """Return the inputs that state the desired motion of the task."""
        return [Port(name, (self.wanted_size(),)) for name in self.wanted]

    def reference_warnings(self, motion: Motion, time: np.ndarray) -> list[str]:
        """Return a sentence if a `motion` of the task over `time` asks the frame to be further away than the arm can reach."""
        rows = list(linear_rows(self.task))
        if not rows or any(j.prismatic for j in self.robot.joints):
            return []
        base, length = self.robot.base.matrix[:3, 3], _length(self.robot, self.frame)
        axes = [r - rows[0] for r in rows]
        away = np.linalg.norm(np.asarray(motion.q)[:, rows] - base[axes], axis=1)
        worst = int(np.argmax(away))
        if away[worst] <= length * (1 + 1e-9):
            return []
        place = f"{away[worst]:.4g} m from the base at {time[worst]:.4g} s"
        return [f"the reference is out of reach: {place}, and the stretched arm reaches {length:.4g} m"]

    def torque(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        q_des: ArrayLike,
        qd_des: ArrayLike,
        qdd_des: ArrayLike,
        parameters: ArrayLike | None = None,
    ) -> np.ndarray:
        """Return tau (..., n) at `q`, `qd` (..., n) for an estimate `parameters` (..., p), by default the robot's own.

        `q_des`, `qd_des` and `qdd_des` are the task's r_des, rd_des, rdd_des (..., m).
        """
        tau = super().torque(q, qd, q_des, qd_des, qdd_des, parameters)
        self._guard(np.asarray(q, dtype=float))
        return tau

    def _guard(self, q: np.ndarray) -> None:
        measure(self.robot, self.task, self.frame).check(self._torque, q)

    def _reference(self, constants: Constants, signals: Signals) -> _TaskReference:
        chain = Chain(self.robot, constants)
        q, qd = signals.q, signals.qd
        j = task_jacobian(chain, q, self.task, self.frame)
        r, rd = traced_coordinates(chain, q, self.task, self.frame), j @ qd
        task = Signals(r, rd, signals.q_des, signals.qd_des, signals.qdd_des)
        v, vd, s = task.reference(self.Lambda)
        back = consistent_inverse(chain, q, j)
        qrd = back @ v
        if j.shape[0] == j.shape[1]:
            qrdd = back @ (vd - chain.time_derivative(j, q, qd) @ qrd)
        else:
            qrdd = back @ vd + chain.time_derivative(back, q, qd) @ v
        return _TaskReference(j, qrd, qrdd, s, qd - qrd)

    def control(self, constants: Constants, signals: Signals, x: Vector) -> tuple[Vector, Vector]:
        """Return tau and d pi_hat/dt over SX; `constants`, `signals` and `x` are as in `Law.control`."""
        m = self._reference(constants, signals)
        tau, gradient = self.modelled(constants, signals, (m.qrd, m.qrdd), x, self.learnt_from(m.joints))
        tau = tau - m.J.T @ times(self.K, m.s) - float(self.damping or 0) * m.joints
        return tau, self.adapted(gradient, x)

    def decay_rate(self, largest_inertia: Callable[[], float]) -> float:
        """Refuse: K damps the s of the task, and V_1 is of the joints', of which the task shows less near singularities.

        `largest_inertia` is as in `Law.decay_rate`.
        """
        return Law.decay_rate(self, largest_inertia)

    def damping_rates(self, inverse: np.ndarray, q: np.ndarray) -> dict[str, np.ndarray]:
        """Return M^-1 J^T K J and M^-1 D; `inverse` and `q` are as in `Law.damping_rates`."""
        J = self._jacobian(q)
        rates = {"K": inverse @ np.swapaxes(J, -1, -2) @ as_matrix(self.K) @ J}
        return rates | ({"damping": inverse * self.damping} if self.damping else {})

    def learning_rates(self, inverse: np.ndarray, q: np.ndarray) -> np.ndarray | None:
        """Return None: near a singular configuration, which the law refuses, nothing damps what is learnt there.

        `inverse` and `q` are as in `AdaptiveLaw.learning_rates`.
        """
        return None

    @cached_property
    def _jacobian(self) -> Callable[..., np.ndarray]:
        return jacobian(self.robot, task=self.task, frame=self.frame).compile("numpy")

    def claim(self, truth: Truth, signals: Signals, x: Vector) -> Claim:
        """Return V = s_q^T H s_q / 2 + parameters, dV/dt = -s^T K s - D |s_q|^2 less friction's own damping.

        `truth`, `signals` and `x` are as in `Law.claim`.
        """
        m = self._reference(truth.chain.constants, signals)
        kinetic = cs.dot(m.joints, truth.mass @ m.joints) / 2
        friction = cs.dot(m.joints, truth.friction(signals.q, signals.qd) - truth.friction(signals.q, m.qrd))
        rate = -cs.dot(m.s, times(self.K, m.s)) - float(self.damping or 0) * cs.dot(m.joints, m.joints) - friction
        return Claim(kinetic + self.weighed(truth, x), rate, kinetic)


def _norm(robot: Robot, placement: Placement) -> float:
    values = dict(robot.symbols)
    return float(np.linalg.norm([to_float(v, "a length", values) for v in placement.translation]))


def _length(robot: Robot, frame: str) -> float:
    """Return the length of an arm stretched out: no configuration has the frame further from the base."""
    placed = robot.frame(frame)
    total, link = _norm(robot, placed.placement), placed.link
    while link != BASE:
        joint = robot.joints[link]
        total += _norm(robot, joint.before) + _norm(robot, joint.after)
        link = joint.parent
    return total
