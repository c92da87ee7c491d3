"""How near a configuration is to one where the task loses a direction: measured, warned near, refused at."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.forward import solve_positive
from taupi.dynamics.kinematics import Task, linear_rows, task_jacobian, task_size
from taupi.dynamics.spatial import SX
from taupi.errors import TaupiError, TaupiWarning
from taupi.model.robot import BASE, Robot
from taupi.program.program import Port, Program

# Smallest singular value over the largest: below the first the inverse has no digit left to speak of, below the second
# an error of the joint angles comes back a thousand times larger.
SINGULAR, NEAR = 1e-10, 1e-3


@dataclass(frozen=True, eq=False)
class Singularity:
    """Singular values of a task's scaled Jacobian, largest first (..., m), and the direction that is lost first (..., m)."""

    values: np.ndarray
    direction: np.ndarray

    @property
    def smallest(self) -> np.ndarray:
        """The smallest singular value (...): the least speed of the scaled task for joint speeds of norm one."""
        return self.values[..., -1]

    @property
    def ratio(self) -> np.ndarray:
        """The smallest singular value over the largest (...), between 0, singular, and 1; 0 where J is not finite."""
        largest = self.values[..., 0]
        return np.divide(self.smallest, largest, out=np.zeros_like(largest), where=largest > 0)

    @property
    def condition(self) -> np.ndarray:
        """The condition of J (...), one over the ratio: infinite at a singular configuration."""
        with np.errstate(divide="ignore"):
            return 1 / self.ratio

    def __repr__(self) -> str:
        if not self.ratio.size:
            return "Singularity of no configuration"
        worst = np.unravel_index(np.argmin(self.ratio), self.ratio.shape)
        along = ", ".join(f"{x:.3g}" for x in self.direction[worst] + 0.0)
        return (
            f"Singularity(smallest {self.smallest[worst]:.3g}, condition {self.condition[worst]:.3g}, along ({along}))"
        )


@dataclass(frozen=True, eq=False)
class SingularityMeasure:
    """Measures a task's Jacobian at configurations q (..., n); also the guard of the operational programs.

    `jacobian` is J without units: rows in metres over the arm's reach, columns of sliding joints times it. `bound` is
    tr(G) tr(G^-1) with G = J J^T, which is at least the square of the condition and needs no singular values.
    """

    jacobian: Program
    bound: Program

    def __call__(self, q: Any) -> Singularity:
        """Return the singular values and the direction lost first at q (..., n)."""
        return _decomposed(self.jacobian.compile("numpy")(q))

    def check(self, program: Program, q: Any, *others: Any) -> None:
        """Raise at a singular configuration of a program's call, warn near one. Angles that are not finite are let through."""
        with np.errstate(all="ignore"):
            suspects = ~(_like(self.bound, program)(q) < NEAR**-2) & np.isfinite(q).all(axis=-1)
            if not suspects.any():
                return
            chosen = np.asarray(q, dtype=float)[suspects]
            measured = _decomposed(_like(self.jacobian, program).compile("numpy")(chosen))
        ratio, worst = measured.ratio, int(np.argmin(measured.ratio))
        if ratio[worst] < SINGULAR:
            raise TaupiError(_refusal(program, chosen[worst], np.argwhere(suspects)[worst], measured, worst))
        near = int((ratio < NEAR).sum())
        if near:
            warnings.warn(
                f"{program.name}: {near} of {suspects.size} configurations are near a singular one of the task, the nearest with "
                f"a smallest singular value of {ratio[worst]:.2e} of the largest: digits are lost there.",
                TaupiWarning,
                stacklevel=3,
            )


def _like(program: Program, other: Program) -> Program:
    """Return a program with the values that another has for the symbols they share."""
    known = {c.name: c.value for c in other.constants if c.named}
    changed = {c.name: known[c.name] for c in program.constants if c.named and known.get(c.name, c.value) != c.value}
    return _with_values(program, tuple(changed.items())) if changed else program


@lru_cache(maxsize=64)
def _with_values(program: Program, values: tuple[tuple[str, Any], ...]) -> Program:
    return program.bind(**dict(values))


def _decomposed(j: np.ndarray) -> Singularity:
    """Return the measure of Jacobians (..., m, n); one that is not finite counts as zero, and its direction is not known."""
    finite = np.isfinite(j).all(axis=(-2, -1))[..., None]
    u, values, _ = np.linalg.svd(np.where(finite[..., None], j, 0.0), full_matrices=False)
    return Singularity(values, np.where(finite, _pointing(u[..., -1]), np.nan))


def _pointing(direction: np.ndarray) -> np.ndarray:
    """Return unit vectors with the sign that makes their largest entry positive."""
    largest = np.take_along_axis(direction, np.abs(direction).argmax(axis=-1)[..., None], axis=-1)
    return direction * np.where(largest < 0, -1.0, 1.0)


def _refusal(program: Program, q: np.ndarray, place: np.ndarray, measured: Singularity, k: int) -> str:
    where = f" of sample {', '.join(map(str, place))}" if place.size else ""
    angles = ", ".join(f"{x:.6g}" for x in q)
    direction = measured.direction[k] + 0.0
    lost = f"it cannot move along ({', '.join(f'{x:.3g}' for x in direction)})"
    reason = lost if np.isfinite(direction).all() else "its coordinates have no derivative there"
    return (
        f"{program.name}: the configuration{where}, q = ({angles}), is singular for the task: the smallest singular value of its "
        f"Jacobian is {measured.ratio[k]:.1e} of the largest, and {reason}. Leave such configurations out, choose other "
        "coordinates, or use .compile(), which does not check."
    )


def reach(chain: Chain, frame: str) -> Any:
    """Return a length of the arm, the sum of the offsets from its first joint to a frame; 1 m where there are none."""
    robot = chain.robot
    link, placement = chain.frame(frame)
    offsets = [placement[1]] if link != BASE else []
    for step, i in enumerate(robot.path(link) if link != BASE else ()):
        before, _, after = chain.stages(i, SX(0))
        offsets += [after[1]] if step == 0 else [before[1], after[1]]
    lengths = [cs.sqrt(cs.dot(p, p)) for p in offsets if p.nnz() and not SX(p).is_zero()]
    if not lengths:
        return SX(1)
    total = lengths[0]
    for more in lengths[1:]:
        total = total + more
    return cs.if_else(total > 0, total, 1)


def _scaled_jacobian(chain: Chain, q: Any, task: Task, frame: str) -> Any:
    """Return J without units; a user's task has units that are not known, and keeps them."""
    j = task_jacobian(chain, q, task, frame)
    if callable(task):
        return j
    length = reach(chain, frame)
    rows = [1 / length if k in linear_rows(task) else SX(1) for k in range(j.shape[0])]
    columns = [length if joint.prismatic else SX(1) for joint in chain.robot.driving_joints]
    return cs.diag(cs.vertcat(*rows)) @ j @ cs.diag(cs.vertcat(*columns))


@lru_cache(maxsize=256)
def measure(robot: Robot, task: Task, frame: str) -> SingularityMeasure:
    """Return the measure of a task on a robot, made once."""
    rows = task_size(robot, task)

    def bound(chain: Chain, q: Any) -> Any:
        j = _scaled_jacobian(chain, q, task, frame)
        gram = j @ j.T
        back = solve_positive(gram, SX.eye(rows))
        # Rounding makes a singular G^-1 huge and of any sign: its entries must not cancel.
        return cs.trace(gram) * cs.sum1(cs.fabs(cs.diag(back)))

    return SingularityMeasure(
        trace_robot(
            "scaled_jacobian",
            robot,
            lambda chain, q: _scaled_jacobian(chain, q, task, frame),
            ["q"],
            [Port("J", (rows, robot.n))],
        ),
        trace_robot("condition_bound", robot, bound, ["q"], [Port("k")]),
    )
