"""Friction whose shape is unknown too: linear parameters eliminated, shapes found by nonlinear least squares over the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.terms import LinkSide, Term, TermsLike
from taupi.errors import NotIdentifiedError, TaupiError, shown
from taupi.identification.estimators.wls import weighted
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.identify import build_problem, identify
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.rows.equations import Equations
from taupi.identification.rows.recording import Preparation, Run
from taupi.identification.rows.row_maker import MIXED, RowMaker
from taupi.model.robot import Robot

ShapesLike = Callable[[np.ndarray], Sequence[Term]]


@dataclass(frozen=True, eq=False)
class ShapedFit:
    """A fit whose terms have the `shapes` (k,) that explain the runs best, with standard errors; the fit takes them as known."""

    fit: Fit
    shapes: np.ndarray
    stderr: np.ndarray
    before: float  # relative weighted residual at the start
    after: float

    def __repr__(self) -> str:
        pairs = ", ".join(f"{s:.5g} +- {e:.2g}" for s, e in zip(self.shapes, self.stderr, strict=True))
        return f"shapes {pairs}: weighted residual {self.before:.4%} before, {self.after:.4%} after\n{self.fit!r}"


def identify_shapes(
    robot: Robot,
    logs: Any,
    shapes: ShapesLike,
    start: Sequence[float] | np.ndarray,
    terms: TermsLike | None = None,
    *,
    estimator: Any = "wls",
    preparation: Preparation | None = None,
    columns: Any = None,
    elastic: bool | None = None,
    factor: float = 30.0,
) -> ShapedFit:
    """Return base parameters pi_b and shapes s: min over s of min over pi_b of sum |S^-1/2 (tau - Y_b(s) pi_b)|^2.

    `shapes(s)` gives terms whose columns depend on positive numbers s (k,), such as `lambda s: (tp.Stribeck(velocity=s[0]),)`;
    `start` is where to begin, and s stays within a `factor` of it; columns are of speeds alone. `terms` are the linear ones
    beside them, with the defaults of `taupi.identify`. Variable projection: for each s the linear parameters are eliminated
    by a factorisation made once (Golub & Pereyra 1973). Rows of all logs are held in memory.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r").with_friction(stribeck=[3.0, 2.0])
    >>> t, w = np.arange(4000)[:, None] / 200, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm, terms=(tp.Stribeck(velocity=0.4),))(q, qd, qdd)
    >>> log, own = tp.Log(t[:, 0], q, tau=tau), lambda s: (tp.Stribeck(velocity=float(s[0])),)
    >>> found = tp.identify_shapes(arm, log, own, [0.1], ("coulomb",), preparation=tp.Preparation(cutoff_hz=40))
    >>> bool(abs(found.shapes[0] - 0.4) < 0.02)
    True
    """
    first = np.asarray(start, dtype=float)
    if first.ndim != 1 or not len(first) or not (np.isfinite(first) & (first > 0)).all():
        raise TaupiError(f"start is {shown(start)}, expected positive numbers, one for each shape.")
    problem = build_problem(robot, logs, terms, preparation=preparation, columns=columns, elastic=elastic)
    linear = _Linear(problem, shapes)
    found, error = _descended(linear, first, factor)
    chosen = (*problem.terms, *shapes(found))
    fit = identify(
        robot, logs, estimator, chosen, preparation=problem.preparation, columns=columns, elastic=problem.base.elastic
    )
    sizes = [float(np.linalg.norm(linear.residual(s)) / np.linalg.norm(linear.z)) for s in (first, found)]
    return ShapedFit(fit, found, error, *sizes)


@dataclass(frozen=True, eq=False)
class _Part:
    """A run that is not filtered yet: speeds (N, n), how its columns pass, and the weights (m, n) of the rows that are left."""

    qd: np.ndarray
    run: Run
    weight: np.ndarray

    def passed(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, ...) through the run's filter, in the rows that are kept."""
        through = self.run.through
        if through is None:
            return x
        return through(x)[through.edge : len(x) - through.edge : through.step]


class _Linear:
    """The linear part of a problem, factorised: what is left of the torque, and of columns for shapes."""

    def __init__(self, problem: Problem, shapes: ShapesLike) -> None:
        self.equations, self.shapes = Equations.of(problem.base), shapes
        _, weights = weighted(problem, 5)
        self.parts, wide, tau = [], [], []
        for file, run in enumerate(problem.runs):
            y, u, part = self._part(problem, run, [weights.get((file, j), 0.0) for j in range(self.equations.count)])
            self.parts.append(part)
            wide.append((y * part.weight[:, :, None]).reshape(-1, y.shape[2]))
            tau.append((u * part.weight).ravel())
        self.q = np.linalg.qr(np.concatenate(wide))[0]
        self.z = self._without(np.concatenate(tau))
        self.used = sum(np.count_nonzero(p.weight) for p in self.parts)
        self.independent = max(1.0, self.used / self.equations.count / _independent(problem))

    def _part(self, problem: Problem, run: Run, weights: list[float]) -> tuple[np.ndarray, np.ndarray, _Part]:
        """Return a run's rows (m, n, p) and torque (m, n), and the part that they are of."""
        every = dataclasses.replace(
            run, through=None, slow=np.zeros(len(run.slow)), span=(-np.inf, np.inf), whole=False
        )
        rows = list(every.rows(RowMaker(friction_plan(problem.base))))
        time, qd = np.concatenate([r.time for r in rows]), np.concatenate([r.qd for r in rows])
        inside = (time >= run.span[0]) & (time <= run.span[1])
        fast = np.abs(qd) >= run.slow
        use = (np.broadcast_to(fast.all(axis=1)[:, None], fast.shape) if run.whole else fast) & inside[:, None]
        bare = _Part(qd, run, np.zeros((0, 0)))
        y = bare.passed(np.concatenate([r.y for r in rows], axis=2).transpose(2, 1, 0))
        counts = bare.passed(use.astype(float)) > 1 - MIXED
        return y, bare.passed(np.concatenate([r.tau for r in rows])), _Part(qd, run, counts * np.array(weights))

    def _without(self, v: np.ndarray) -> np.ndarray:
        """Return what the linear columns leave of v."""
        return np.asarray(v - self.q @ (self.q.T @ v))

    def columns(self, s: np.ndarray) -> np.ndarray:
        """Return the weighted columns of the shapes' terms, each joint's its own, less what linear columns explain."""
        n, found = self.equations.robot.n, []
        for term in self.shapes(s):
            places = range(n) if isinstance(term, LinkSide) else self.equations.motors
            for i, row in enumerate(places):
                one = term.at(i) if hasattr(term, "at") else term
                found.append(self._without(np.concatenate([_column(one, row, p) for p in self.parts])))
        return np.stack(found, axis=1)

    def residual(self, s: np.ndarray) -> np.ndarray:
        """Return what is left of the weighted torque, all linear parameters being at their best."""
        own = self.columns(s)
        size = np.linalg.norm(own, axis=0)
        unit = own / np.where(size > 0, size, 1.0)
        return np.asarray(self.z - unit @ np.linalg.lstsq(unit, self.z, rcond=1e-9)[0])


def _column(term: Term, row: int, part: _Part) -> np.ndarray:
    """Return a term's column at the speeds of one row, filtered and weighed, over all rows of a run."""
    none = cs.DM.zeros(len(part.qd))
    value = np.array(term.column(none, cs.DM(part.qd[:, row]), none)).ravel()
    whole = np.zeros(part.weight.shape)
    whole[:, row] = part.passed(value) * part.weight[:, row]
    return whole.ravel()


def _independent(problem: Problem) -> float:
    """Return how many independent values each row's noise has: twice the cutoff, times the time."""
    total = 0.0
    for k, run in enumerate(problem.runs):
        most = max((f.rows for f in problem.factors if f.file == k), default=0)
        cutoff = run.rate_hz / 2 if run.through is None else run.through.cutoff_hz
        total += most * min(1.0, 2 * cutoff / run.rate_hz)
    return max(total, 1.0)


def _descended(linear: _Linear, start: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the best shapes and their standard errors; over their logarithms, so that they stay positive."""
    from scipy.optimize import least_squares

    reach = np.log(factor)
    first = np.log(start)
    found = least_squares(
        lambda v: linear.residual(np.exp(v)),
        first,
        bounds=(first - reach, first + reach),
        x_scale="jac",
        diff_step=1e-4,
    )
    if not found.success:
        raise NotIdentifiedError(f"shapes: {found.message}. Begin nearer to them, or with fewer of them.")
    at = np.exp(found.x)
    noise = 2 * found.cost / max(linear.used - linear.q.shape[1] - len(at), 1)
    inverse = np.linalg.pinv(found.jac.T @ found.jac)
    return at, at * np.sqrt(np.clip(np.diag(inverse), 0, None) * noise * linear.independent)
