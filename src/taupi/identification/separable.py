"""Friction whose shape is unknown too: linear parameters eliminated, shapes found by nonlinear least squares over the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as cs
import numpy as np

from taupi.dynamics.terms import LinkSide, Term, TermsLike
from taupi.errors import NotIdentifiedError, TaupiError, shown
from taupi.identification.equations import Equations
from taupi.identification.estimators.wls import weighted
from taupi.identification.fit import Fit
from taupi.identification.friction import RowMaker, friction_plan
from taupi.identification.identify import build_problem, identify
from taupi.identification.problem import Problem
from taupi.identification.runs import Preparation
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
    `start` is where to begin, and s stays within a `factor` of it. `terms` are the linear ones beside them, with the defaults of
    `taupi.identify`. Variable projection: for each s the linear parameters are eliminated by a factorisation made once (Golub &
    Pereyra 1973). Rows of all logs are held in memory.

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


class _Linear:
    """The linear part of a problem, factorised: what is left of the torque, and of columns for shapes."""

    def __init__(self, problem: Problem, shapes: ShapesLike) -> None:
        self.rows, self.shapes = Equations.of(problem.base), shapes
        _, weights = weighted(problem, 5)
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        maker = RowMaker(problem.regressor, friction_plan(problem.base))
        for file in range(len(problem.runs)):
            w = np.array([weights.get((file, j), 0.0) for j in range(self.rows.count)])
            parts += [(maker(b), b.tau, b.use * w, b.q, b.qd) for b in problem.blocks(file)]
        y = np.concatenate([p[0] for p in parts], axis=2)
        tau, self.weight, self.x, self.xd = (np.concatenate([p[k] for p in parts]) for k in range(1, 5))
        wide = (y * self.weight.T).transpose(2, 1, 0).reshape(-1, y.shape[0])
        self.q = np.linalg.qr(wide)[0]
        self.z = self._without((tau * self.weight).ravel())
        self.independent = max(1.0, len(tau) / _independent(problem))

    def _without(self, v: np.ndarray) -> np.ndarray:
        """Return what the linear columns leave of v."""
        return np.asarray(v - self.q @ (self.q.T @ v))

    def columns(self, s: np.ndarray) -> np.ndarray:
        """Return the weighted columns of the shapes' terms, each joint's its own, less what linear columns explain."""
        n, found = self.rows.robot.n, []
        for term in self.shapes(s):
            places = range(n) if isinstance(term, LinkSide) else self.rows.motors
            for i, row in enumerate(places):
                one = term.at(i) if hasattr(term, "at") else term
                value = one.column(cs.DM(self.x[:, row]), cs.DM(self.xd[:, row]), cs.DM(np.zeros(len(self.x))))
                whole = np.zeros(self.weight.shape)
                whole[:, row] = np.array(value).ravel() * self.weight[:, row]
                found.append(self._without(whole.ravel()))
        return np.stack(found, axis=1)

    def residual(self, s: np.ndarray) -> np.ndarray:
        """Return what is left of the weighted torque, all linear parameters being at their best."""
        own = self.columns(s)
        size = np.linalg.norm(own, axis=0)
        unit = own / np.where(size > 0, size, 1.0)
        return np.asarray(self.z - unit @ np.linalg.lstsq(unit, self.z, rcond=1e-9)[0])


def _independent(problem: Problem) -> float:
    """Return how many independent values each row's noise has: twice the cutoff, times the time."""
    runs = zip(
        problem.runs,
        (sum(f.rows for f in problem.factors if f.file == k) for k in range(len(problem.runs))),
        strict=True,
    )
    rows = len({f.joint for f in problem.factors})
    return sum(count / rows * min(1.0, 2 * (r.cutoff_hz or r.rate_hz / 2) / r.rate_hz) for r, count in runs)


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
    noise = 2 * found.cost / max(np.count_nonzero(linear.weight) - linear.q.shape[1] - len(at), 1)
    inverse = np.linalg.pinv(found.jac.T @ found.jac)
    return at, at * np.sqrt(np.clip(np.diag(inverse), 0, None) * noise * linear.independent)
