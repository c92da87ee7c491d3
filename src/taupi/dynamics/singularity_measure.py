"""Distance to a singular configuration, where a task loses a direction: its measure, and the guard of operational programs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from taupi.dynamics.chain import Chain, trace_robot
from taupi.dynamics.forward import solve_positive
from taupi.dynamics.kinematics import Task, linear_rows, task_jacobian, task_size
from taupi.dynamics.types import SX, ArrayLike, Expression, Matrix, Vector
from taupi.errors import TaupiError, TaupiWarning
from taupi.model.robot import BASE, Robot
from taupi.model.scalars import Scalar
from taupi.program.casadi_on_use import cs
from taupi.program.program import Port, Program

# Smallest singular value over the largest: below SINGULAR the inverse has no useful digit left, below NEAR it multiplies
# errors of the joint angles by more than a thousand.
SINGULAR, NEAR = 1e-10, 1e-3


@dataclass(frozen=True, eq=False)
class Singularity:
    """How near configurations are to a singular one: `values` and `direction`, both (..., m), for a task of m coordinates.

    `values` are the singular values of the scaled Jacobian, largest first, and `direction` is the direction that is lost first.
    """

    values: np.ndarray
    direction: np.ndarray

    @property
    def smallest(self) -> np.ndarray:
        """The smallest singular value (...): the lowest speed of the scaled task for joint speeds of norm one."""
        return self.values[..., -1]

    @property
    def ratio(self) -> np.ndarray:
        """The smallest singular value over the largest (...): 0 if q is singular or J is not finite, at most 1."""
        largest = self.values[..., 0]
        return np.divide(self.smallest, largest, out=np.zeros_like(largest), where=largest > 0)

    @property
    def condition(self) -> np.ndarray:
        """The condition number of J (...), one over the ratio: infinite at a singular configuration."""
        with np.errstate(divide="ignore"):
            return 1 / self.ratio

    def __repr__(self) -> str:
        if not self.ratio.size:
            return "Singularity(no configurations)"
        worst = np.unravel_index(np.argmin(self.ratio), self.ratio.shape)
        along = ", ".join(f"{x:.3g}" for x in self.direction[worst] + 0.0)
        return (
            f"Singularity(smallest {self.smallest[worst]:.3g}, condition {self.condition[worst]:.3g}, along ({along}))"
        )


@dataclass(frozen=True, eq=False)
class SingularityMeasure:
    """Measures how near configurations are to a singular one of a task; also the guard of the operational programs.

    `jacobian` is the program of J without units: rows in metres divided by the arm's reach, columns of sliding joints multiplied
    by it. `bound` is the program of tr(G) tr(G^-1) with G = J J^T, which is at least the square of the condition number and needs
    no singular values.
    """

    jacobian: Program
    bound: Program

    def __call__(self, q: ArrayLike) -> Singularity:
        """Return the singular values and the direction that is lost first at configurations `q` (..., n), in rad or m."""
        return _decomposed(self.jacobian.compile("numpy")(q))

    def check(self, program: Program, q: np.ndarray, *others: object) -> None:
        """Raise if a call of `program` is at a singular configuration, warn if it is near one; a `q` that is not finite passes.

        `others` are the further arguments of the call, which do not matter here.
        """
        with np.errstate(all="ignore"):
            suspects = ~(_like(self.bound, program)(q) < NEAR**-2) & np.isfinite(q).all(axis=-1)
            if not suspects.any():
                return
            states = np.asarray(q, dtype=float)[suspects]
            singularity = _decomposed(_like(self.jacobian, program).compile("numpy")(states))
        ratio, worst = singularity.ratio, int(np.argmin(singularity.ratio))
        if ratio[worst] < SINGULAR:
            raise _refusal(program, states[worst], np.argwhere(suspects)[worst], singularity, worst)
        near = int((ratio < NEAR).sum())
        if near:
            warnings.warn(
                TaupiWarning(
                    "{program}: {near} of {size} configurations are near a singular one of the task; at the nearest, "
                    "the smallest singular value is {ratio:.2e} of the largest. The result loses digits there.",
                    program=program.name,
                    near=near,
                    size=suspects.size,
                    ratio=ratio[worst],
                ),
                stacklevel=3,
            )


def _like(program: Program, other: Program) -> Program:
    """Return `program` with the values that `other` has for the symbols that both share."""
    known = {c.name: c.value for c in other.constants if c.named}
    changed = {c.name: known[c.name] for c in program.constants if c.named and known.get(c.name, c.value) != c.value}
    return _with_values(program, tuple(changed.items())) if changed else program


@lru_cache(maxsize=64)
def _with_values(program: Program, values: tuple[tuple[str, Scalar], ...]) -> Program:
    return program.bind(**dict(values))


def _decomposed(j: np.ndarray) -> Singularity:
    """Return the singular values of Jacobians (..., m, n); one that is not finite counts as zero, its direction as unknown."""
    finite = np.isfinite(j).all(axis=(-2, -1))[..., None]
    u, values, _ = np.linalg.svd(np.where(finite[..., None], j, 0.0), full_matrices=False)
    return Singularity(values, np.where(finite, _pointing(u[..., -1]), np.nan))


def _pointing(direction: np.ndarray) -> np.ndarray:
    """Return unit vectors, each with the sign that makes its largest entry positive."""
    largest = np.take_along_axis(direction, np.abs(direction).argmax(axis=-1)[..., None], axis=-1)
    return direction * np.where(largest < 0, -1.0, 1.0)


def _refusal(program: Program, q: np.ndarray, place: np.ndarray, singularity: Singularity, k: int) -> TaupiError:
    where = f" of sample {', '.join(map(str, place))}" if place.size else ""
    angles = ", ".join(f"{x:.6g}" for x in q)
    direction = singularity.direction[k] + 0.0
    lost = f"it cannot move along ({', '.join(f'{x:.3g}' for x in direction)})"
    reason = lost if np.isfinite(direction).all() else "its coordinates have no derivative there"
    return TaupiError(
        "{program}: the configuration{where}, q = ({angles}), is singular for the task: the smallest "
        "singular value of its Jacobian is {ratio:.1e} of the largest, and {reason}.",
        remedy=("Leave such configurations out, choose other coordinates, or use .compile(), which does not check."),
        program=program.name,
        where=where,
        angles=angles,
        ratio=singularity.ratio[k],
        reason=reason,
    )


def reach(chain: Chain, frame: str) -> Expression:
    """Return a length of the arm: the sum of the offsets from its first joint to a frame, or 1 m if there are none."""
    robot = chain.robot
    link, placement = chain.frame(frame)
    offsets = [placement[1]] if link != BASE else []
    for step, i in enumerate(robot.path(link) if link != BASE else ()):
        before, _, after = chain.stages(i, SX.zeros(robot.joints[i].size))
        offsets += [after[1]] if step == 0 else [before[1], after[1]]
    lengths = [cs.sqrt(cs.dot(p, p)) for p in offsets if p.nnz() and not SX(p).is_zero()]
    if not lengths:
        return SX(1)
    total = lengths[0]
    for more in lengths[1:]:
        total = total + more
    return cs.if_else(total > 0, total, 1)


def _scaled_jacobian(chain: Chain, q: Vector, task: Task, frame: str) -> Matrix:
    """Return J without units; a user's task keeps its units, which are not known."""
    j = task_jacobian(chain, q, task, frame)
    if callable(task):
        return j
    length = reach(chain, frame)
    rows = [1 / length if k in linear_rows(task) else SX(1) for k in range(j.shape[0])]
    columns = [length if slides else SX(1) for slides in chain.robot.slides]
    return cs.diag(cs.vertcat(*rows)) @ j @ cs.diag(cs.vertcat(*columns))


@lru_cache(maxsize=256)
def measure(robot: Robot, task: Task, frame: str) -> SingularityMeasure:
    """Return the measure of a task on a robot, traced once."""
    rows = task_size(robot, task)

    def bound(chain: Chain, q: Vector) -> Expression:
        j = _scaled_jacobian(chain, q, task, frame)
        gram = j @ j.T
        back = solve_positive(gram, SX.eye(rows))
        # With rounding, a singular G has an inverse with huge entries of any sign, which must not cancel.
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
