"""Friction of unknown shape: linear parameters are eliminated, and shapes found by nonlinear least squares."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import casadi as cs
import numpy as np

from taupi.checks import positive, real_array
from taupi.dynamics.terms import Stribeck, Term, TermsLike
from taupi.dynamics.terms.elastic import LinkSide
from taupi.errors import NotIdentifiedError, TaupiError
from taupi.identification.estimators import Estimator, resolve_estimator
from taupi.identification.estimators.consistent import problem_of_logs
from taupi.identification.inputs import FitInputs, LogsLike, log_list
from taupi.identification.problem import Problem
from taupi.identification.results.fit import Fit
from taupi.identification.results.validation import Validation, validate_recordings
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.preparation import FitOptions, Preparation
from taupi.identification.rows.recording import Recording
from taupi.identification.rows.row_maker import MIXED
from taupi.identification.weighting import weighted_least_squares
from taupi.model.robot import Robot
from taupi.settings import settle
from taupi.signals.reading import Reading, Streaming

if TYPE_CHECKING:
    from typing_extensions import Unpack

ShapesLike = Callable[[np.ndarray], Sequence[Term]]


def stribeck_shape(s: np.ndarray) -> tuple[Term, ...]:
    """Return Stribeck friction with the velocity s[0] (rad/s or m/s), the same for all joints."""
    return (Stribeck(velocity=float(s[0])),)


@dataclass(frozen=True, slots=True)
class FrictionShapes:
    """Minimise sum |S^-1/2 (tau - Y_b(s) pi_b)|^2 over shapes s and base parameters pi_b: friction of unknown shape.

    For each s the linear parameters are eliminated, by a factorisation computed once (variable projection, Golub & Pereyra 1973).
    The rows of all logs are held in memory.

    Attributes:
        shapes: A function of positive numbers s (k,) that returns terms, whose columns may depend on speed only; by default
            Stribeck friction with one velocity for all joints.
        start: Where the search begins (k,); 0.1 by default.
        estimator: What then fits the linear parameters, with the best shapes taken as known; "wls" by default.
        factor: The search stays within this factor of the start; 30 by default.
    """

    shapes: ShapesLike = stribeck_shape
    start: Sequence[float] | np.ndarray = (0.1,)
    estimator: str | Estimator = "wls"
    factor: float = 30.0
    name: ClassVar[str] = "friction_shapes"

    def __post_init__(self) -> None:
        if not callable(self.shapes):
            raise TaupiError(
                "{shapes} is {got!r}, expected a function of positive numbers that returns terms.", got=self.shapes
            )
        start = real_array("start", self.start)
        if start.ndim != 1 or not len(start) or not (np.isfinite(start) & (start > 0)).all():
            raise TaupiError("{start} is {got!r}, expected positive numbers, one for each shape.", got=self.start)
        positive("factor", self.factor)

    def fit_logs(self, inputs: FitInputs, validated: bool = False) -> tuple[Fit, tuple[Validation, ...]]:
        """Return the fit with the best shapes, and, if `validated`, the comparison of its torque with that of its logs.

        The shapes are in `fit.terms`, and with their standard errors in `fit.settings`. `inputs` are those of `taupi.identify`.
        """
        result = self.search(inputs)
        fit = result.fit
        if not validated:
            return fit, ()
        return fit, tuple(validate_recordings(fit, [r]) for r in result.in_memory)

    def search(self, inputs: FitInputs) -> ShapedFit:
        """Return the best shapes, and the fit with them; `inputs` are those of `taupi.identify`."""
        estimator = resolve_estimator(self.estimator)
        if not isinstance(estimator, Estimator):
            raise TaupiError(
                "{estimator} is {got!r}, expected one that is linear in the parameters.", got=self.estimator
            )
        problem = problem_of_logs(inputs)
        linear, start = _Linear(problem, self.shapes), np.asarray(self.start, dtype=float)
        shapes, errors = _minimise(linear, start, self.factor)
        before, after = (float(np.linalg.norm(linear.residual(s)) / np.linalg.norm(linear.z)) for s in (start, shapes))
        terms = (*problem.terms, *self.shapes(shapes))
        complete = dataclasses.replace(
            inputs, terms=terms, base=None, elastic=problem.base.elastic, preparation=problem.preparation
        )
        problem = problem_of_logs(complete)
        fit = estimator.fit(problem)
        pairs = ", ".join(f"{s:.5g} +- {e:.2g}" for s, e in zip(shapes, errors, strict=True))
        record = {"shapes": shapes.tolist(), "shapes_stderr": errors.tolist(), "estimator": fit.estimator}
        note = f"shapes of friction {pairs}: weighted residual {before:.4%} before, {after:.4%} after"
        fit = dataclasses.replace(
            fit, estimator=self.name, settings={**fit.settings, **record}, notes=(*fit.notes, note)
        )
        return ShapedFit(fit, shapes, errors, before, after, tuple(problem.in_memory))


@dataclass(frozen=True, eq=False)
class ShapedFit:
    """A fit together with the shapes of friction that explain the logs best.

    Attributes:
        fit: The fit, which takes the shapes as known.
        shapes: The shapes (k,).
        stderr: Their standard errors (k,).
        before: The relative weighted residual at the start of the search.
        after: The relative weighted residual with the best shapes.
        in_memory: The fitted logs that are in memory.
    """

    fit: Fit
    shapes: np.ndarray
    stderr: np.ndarray
    before: float
    after: float
    in_memory: tuple[Recording, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        pairs = ", ".join(f"{s:.5g} +- {e:.2g}" for s, e in zip(self.shapes, self.stderr, strict=True))
        return f"shapes {pairs}: weighted residual {self.before:.4%} before, {self.after:.4%} after\n{self.fit!r}"


def identify_shapes(
    robot: Robot,
    logs: LogsLike,
    shapes: ShapesLike,
    start: Sequence[float] | np.ndarray,
    terms: TermsLike | None = None,
    *,
    estimator: str | Estimator = "wls",
    elastic: bool | None = None,
    factor: float = 30.0,
    reading: Reading | None = None,
    preparation: Preparation | None = None,
    **options: Unpack[FitOptions],
) -> ShapedFit:
    """Return base parameters and shapes of friction: `taupi.identify` with `FrictionShapes(shapes, start, estimator, factor)`.

    Args:
        robot: The robot.
        logs: A Log, a path, or a list of both.
        shapes: A function of positive numbers s (k,) that returns terms.
        start: Where the search begins (k,).
        terms: The linear terms besides these; by default those of `taupi.identify`.
        estimator: What fits the parameters once the shapes are known; "wls" by default.
        elastic: Whether joints have springs; None, the default, lets the description decide.
        factor: The search stays within this factor of `start`; 30 by default.
        reading: How files are read, a `taupi.Streaming`.
        preparation: How logs become rows, a `taupi.Preparation`.
        options: The fields of `reading` and `preparation` as keywords.

    Returns:
        The fit, and the shapes with their standard errors.

    >>> import numpy as np, taupi as tp
    >>> arm = tp.load("elbow2r").with_friction(stribeck=[3.0, 2.0])
    >>> t, w = np.arange(4000)[:, None] / 200, np.array([1.0, 1.7])
    >>> q, qd, qdd = np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)
    >>> tau = tp.inverse_dynamics(arm, terms=(tp.terms.Stribeck(velocity=0.4),))(q, qd, qdd)
    >>> log, stribeck = tp.Log(t[:, 0], q, tau=tau), lambda s: (tp.terms.Stribeck(velocity=float(s[0])),)
    >>> result = tp.estimators.identify_shapes(arm, log, stribeck, [0.1], ("coulomb",), cutoff_hz=40)
    >>> bool(abs(result.shapes[0] - 0.4) < 0.02)
    True
    """
    settings, prepared = settle(identify_shapes, options, (Streaming, reading), (Preparation, preparation))
    inputs = FitInputs(robot, log_list(logs), terms, elastic, reading=settings, preparation=prepared)
    return FrictionShapes(shapes, start, estimator, factor).search(inputs)


@dataclass(frozen=True, eq=False)
class _Part:
    """A log before filtering: its speeds (N, n), and the weights (m, n) of the rows kept after filtering; 0 if not used."""

    qd: np.ndarray
    recording: Recording
    weight: np.ndarray

    def filter(self, x: np.ndarray) -> np.ndarray:
        """Return x (N, ...) through the filter of the log's rows, in the rows that are kept (m, ...)."""
        row_filter = self.recording.row_filter
        if row_filter is None:
            return x
        return row_filter(x)[row_filter.edge : len(x) - row_filter.edge : row_filter.step]


class _Linear:
    """The linear part of a problem, factorised, so that it can be projected out of the torque and of columns of shapes."""

    def __init__(self, problem: Problem, shapes: ShapesLike) -> None:
        self.layout, self.shapes = RowLayout.of(problem.base), shapes
        _, weights = weighted_least_squares(problem, 5)
        self.parts, columns, torques = [], [], []
        for file in range(len(problem.recordings)):
            y, tau, part = self._part(problem, file, [weights.get((file, j), 0.0) for j in range(self.layout.count)])
            self.parts.append(part)
            columns.append((y * part.weight[:, :, None]).reshape(-1, y.shape[2]))
            torques.append((tau * part.weight).ravel())
        self.q = np.linalg.qr(np.concatenate(columns))[0]
        self.z = self._project_out(np.concatenate(torques))
        self.used = sum(np.count_nonzero(p.weight) for p in self.parts)
        self.independent = max(1.0, self.used / self.layout.count / _independent(problem))

    def _part(self, problem: Problem, file: int, weights: list[float]) -> tuple[np.ndarray, np.ndarray, _Part]:
        """Return the rows (m, n, p) and torque (m, n) of a log, and its part with these weights of the joints."""
        recording = problem.recordings[file]
        rows = list(problem.rows_of(file, recording.unfiltered()))
        time, qd = np.concatenate([r.time for r in rows]), np.concatenate([r.qd for r in rows])
        inside = (time >= recording.span[0]) & (time <= recording.span[1])
        fast = np.abs(qd) >= recording.least_speeds
        if recording.leave_out == "sample":
            fast = np.broadcast_to(fast.all(axis=1)[:, None], fast.shape)
        use = fast & inside[:, None]
        unweighted = _Part(qd, recording, np.zeros((0, 0)))
        y = unweighted.filter(np.concatenate([r.y for r in rows], axis=2).transpose(2, 1, 0))
        tau = unweighted.filter(np.concatenate([r.tau for r in rows]))
        used = unweighted.filter(use.astype(float)) > 1 - MIXED
        return y, tau, _Part(qd, recording, used * np.array(weights))

    def _project_out(self, v: np.ndarray) -> np.ndarray:
        """Return v minus the part that the linear columns explain."""
        return np.asarray(v - self.q @ (self.q.T @ v))

    def columns(self, s: np.ndarray) -> np.ndarray:
        """Return the weighted columns of the shapes' terms, one per term and joint, minus what the linear columns explain."""
        n, columns = self.layout.robot.n, []
        for term in self.shapes(s):
            places = range(n) if isinstance(term, LinkSide) else self.layout.motors
            for i, row in enumerate(places):
                joint_term = term.at(i)
                columns.append(self._project_out(np.concatenate([_column(joint_term, row, p) for p in self.parts])))
        return np.stack(columns, axis=1)

    def residual(self, s: np.ndarray) -> np.ndarray:
        """Return the weighted residual with the best linear parameters for the shapes s."""
        columns = self.columns(s)
        size = np.linalg.norm(columns, axis=0)
        unit = columns / np.where(size > 0, size, 1.0)
        return np.asarray(self.z - unit @ np.linalg.lstsq(unit, self.z, rcond=1e-9)[0])


def _column(term: Term, row: int, part: _Part) -> np.ndarray:
    """Return the column of a joint's term, filtered and weighted, over all rows of a log; only `row` is not 0."""
    zero = cs.DM.zeros(len(part.qd))
    value = np.array(term.column(zero, cs.DM(part.qd[:, row]), zero)).ravel()
    column = np.zeros(part.weight.shape)
    column[:, row] = part.filter(value) * part.weight[:, row]
    return column.ravel()


def _independent(problem: Problem) -> float:
    """Return the number of independent values in the noise of a row: twice the cutoff times the duration."""
    total = 0.0
    for k, recording in enumerate(problem.recordings):
        most = max((f.rows for f in problem.factors if f.file == k), default=0)
        cutoff_hz = recording.cutoff_hz or recording.rate_hz / 2
        total += most * min(1.0, 2 * cutoff_hz / recording.rate_hz)
    return max(total, 1.0)


def _minimise(linear: _Linear, start: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the best shapes and their standard errors, by a search over their logarithms, so that they stay positive."""
    from scipy.optimize import least_squares

    reach = np.log(factor)
    first = np.log(start)
    optimum = least_squares(
        lambda v: linear.residual(np.exp(v)),
        first,
        bounds=(first - reach, first + reach),
        x_scale="jac",
        diff_step=1e-4,
    )
    if not optimum.success:
        raise NotIdentifiedError(
            "shapes: {optimum}.", remedy="Choose a {start} nearer to them, or fewer shapes.", optimum=optimum.message
        )
    shapes = np.exp(optimum.x)
    noise = 2 * optimum.cost / max(linear.used - linear.q.shape[1] - len(shapes), 1)
    inverse = np.linalg.pinv(optimum.jac.T @ optimum.jac)
    return shapes, shapes * np.sqrt(np.clip(np.diag(inverse), 0, None) * noise * linear.independent)
