"""Friction whose shape is unknown too: linear parameters eliminated, shapes found by nonlinear least squares over the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.dynamics.terms import LinkSide, Stribeck, Term, TermsLike
from taupi.errors import Argument, NotIdentifiedError, TaupiError, shown
from taupi.identification.build import build
from taupi.identification.equations import Equations
from taupi.identification.estimators import Estimator, resolve_estimator
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.inputs import FitInputs
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation, validate_recording
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import MIXED, RowMaker
from taupi.identification.weighting import weighted
from taupi.model.robot import Robot
from taupi.settings import takes
from taupi.signals.reading import Streaming

ShapesLike = Callable[[np.ndarray], Sequence[Term]]


def stribeck_shape(s: np.ndarray) -> tuple[Term, ...]:
    """Return Stribeck friction whose velocity is s[0], the same for all joints."""
    return (Stribeck(velocity=float(s[0])),)


@dataclass(frozen=True, slots=True)
class FrictionShapes:
    """Minimise over shapes s the least over pi_b of sum |S^-1/2 (tau - Y_b(s) pi_b)|^2: friction whose shape is unknown too.

    `shapes(s)` gives terms whose columns depend on positive numbers s (k,), by default Stribeck friction with one velocity for
    all joints; columns are of speeds alone. `start` (k,) is where to begin, and s stays within a `factor` of it. For each s the
    linear parameters are eliminated by a factorisation made once (variable projection, Golub & Pereyra 1973); then `estimator`
    fits them with the shapes that were found, which it takes as known. Rows of all logs are held in memory.
    """

    shapes: ShapesLike = stribeck_shape
    start: Sequence[float] | np.ndarray = (0.1,)
    estimator: str | Estimator = "wls"
    factor: float = 30.0
    name: ClassVar[str] = "friction_shapes"

    def __post_init__(self) -> None:
        start = np.asarray(self.start, dtype=float)
        if start.ndim != 1 or not len(start) or not (np.isfinite(start) & (start > 0)).all():
            raise TaupiError(
                Argument("start"), f" is {shown(self.start)}, expected positive numbers, one for each shape."
            )
        positive("factor", self.factor)

    def fit_logs(self, inputs: FitInputs, validated: bool = False) -> tuple[Fit, tuple[Validation, ...]]:
        """Return the fit with the best shapes; they are in `fit.terms`, with their standard errors in `fit.settings`."""
        found = self.search(inputs)
        fit = found.fit
        if not validated:
            return fit, ()
        return fit, tuple(validate_recording(fit, r) for r in found.recordings if not r.source.streamed)

    def search(self, inputs: FitInputs) -> ShapedFit:
        """Return the shapes, and the fit with them."""
        chosen = resolve_estimator(self.estimator)
        if not isinstance(chosen, Estimator):
            raise TaupiError(Argument("estimator"), f" is {shown(self.estimator)}, expected one that solves rows.")
        problem = build(inputs)
        linear, first = _Linear(problem, self.shapes), np.asarray(self.start, dtype=float)
        shapes, errors = _descended(linear, first, self.factor)
        before, after = (float(np.linalg.norm(linear.residual(s)) / np.linalg.norm(linear.z)) for s in (first, shapes))
        terms = (*problem.terms, *self.shapes(shapes))
        known = dataclasses.replace(
            inputs, terms=terms, base=None, elastic=problem.base.elastic, preparation=problem.preparation
        )
        shaped = build(known)
        fit = chosen.fit(shaped)
        pairs = ", ".join(f"{s:.5g} +- {e:.2g}" for s, e in zip(shapes, errors, strict=True))
        settings = {**fit.settings, "shapes": shapes.tolist(), "shapes_stderr": errors.tolist()}
        note = f"shapes of friction {pairs}: weighted residual {before:.4%} before, {after:.4%} after"
        fit = dataclasses.replace(fit, settings=settings, notes=(*fit.notes, note))
        return ShapedFit(fit, shapes, errors, before, after, shaped.recordings)


@dataclass(frozen=True, eq=False)
class ShapedFit:
    """A fit whose terms have the `shapes` (k,) that explain the logs best, with standard errors; the fit takes them as known."""

    fit: Fit
    shapes: np.ndarray
    stderr: np.ndarray
    before: float  # relative weighted residual at the start
    after: float
    recordings: tuple[Recording, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        pairs = ", ".join(f"{s:.5g} +- {e:.2g}" for s, e in zip(self.shapes, self.stderr, strict=True))
        return f"shapes {pairs}: weighted residual {self.before:.4%} before, {self.after:.4%} after\n{self.fit!r}"


@takes(reading=Streaming, preparation=Preparation)
def identify_shapes(
    robot: Robot,
    logs: Any,
    shapes: ShapesLike,
    start: Sequence[float] | np.ndarray,
    terms: TermsLike | None = None,
    *,
    estimator: str | Estimator = "wls",
    elastic: bool | None = None,
    factor: float = 30.0,
    reading: Streaming,
    preparation: Preparation,
) -> ShapedFit:
    """Return base parameters and shapes of friction: `taupi.identify` with `FrictionShapes(shapes, start, estimator, factor)`.

    `robot`, `logs` and `elastic` are as there, `shapes`, `start`, `estimator` and `factor` as of `FrictionShapes`; `terms` are
    the linear ones beside them.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r").with_friction(stribeck=[3.0, 2.0])
    >>> t, w = np.arange(4000)[:, None] / 200, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm, terms=(tp.Stribeck(velocity=0.4),))(q, qd, qdd)
    >>> log, own = tp.Log(t[:, 0], q, tau=tau), lambda s: (tp.Stribeck(velocity=float(s[0])),)
    >>> found = tp.identify_shapes(arm, log, own, [0.1], ("coulomb",), cutoff_hz=40)
    >>> bool(abs(found.shapes[0] - 0.4) < 0.02)
    True
    """
    inputs = FitInputs(robot, logs, terms, elastic, reading=reading, preparation=preparation)
    return FrictionShapes(shapes, start, estimator, factor).search(inputs)


@dataclass(frozen=True, eq=False)
class _Part:
    """A run that is not filtered yet: speeds (N, n), how its columns pass, and the weights (m, n) of the rows that are left."""

    qd: np.ndarray
    recording: Recording
    weight: np.ndarray

    def passed(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, ...) through the run's filter, in the rows that are kept."""
        through = self.recording.through
        if through is None:
            return x
        return through(x)[through.edge : len(x) - through.edge : through.step]


class _Linear:
    """The linear part of a problem, factorised: what is left of the torque, and of columns for shapes."""

    def __init__(self, problem: Problem, shapes: ShapesLike) -> None:
        self.equations, self.shapes = Equations.of(problem.base), shapes
        _, weights = weighted(problem, 5)
        self.parts, wide, tau = [], [], []
        for file, recording in enumerate(problem.recordings):
            y, u, part = self._part(
                problem, recording, [weights.get((file, j), 0.0) for j in range(self.equations.count)]
            )
            self.parts.append(part)
            wide.append((y * part.weight[:, :, None]).reshape(-1, y.shape[2]))
            tau.append((u * part.weight).ravel())
        self.q = np.linalg.qr(np.concatenate(wide))[0]
        self.z = self._without(np.concatenate(tau))
        self.used = sum(np.count_nonzero(p.weight) for p in self.parts)
        self.independent = max(1.0, self.used / self.equations.count / _independent(problem))

    def _part(
        self, problem: Problem, recording: Recording, weights: list[float]
    ) -> tuple[np.ndarray, np.ndarray, _Part]:
        """Return the rows (m, n, p) and torque (m, n) of a recording, and the part that they are of."""
        rows = list(recording.unfiltered().rows(RowMaker(friction_plan(problem.base))))
        time, qd = np.concatenate([r.time for r in rows]), np.concatenate([r.qd for r in rows])
        inside = (time >= recording.span[0]) & (time <= recording.span[1])
        fast = np.abs(qd) >= recording.slow
        entire = recording.leave_out == "sample"
        use = (np.broadcast_to(fast.all(axis=1)[:, None], fast.shape) if entire else fast) & inside[:, None]
        bare = _Part(qd, recording, np.zeros((0, 0)))
        y = bare.passed(np.concatenate([r.y for r in rows], axis=2).transpose(2, 1, 0))
        counts = bare.passed(use.astype(float)) > 1 - MIXED
        return y, bare.passed(np.concatenate([r.tau for r in rows])), _Part(qd, recording, counts * np.array(weights))

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
    for k, recording in enumerate(problem.recordings):
        most = max((f.rows for f in problem.factors if f.file == k), default=0)
        cutoff_hz = recording.cutoff_hz or recording.rate_hz / 2
        total += most * min(1.0, 2 * cutoff_hz / recording.rate_hz)
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
