"""Motions to follow: q, qd and qdd at any time, as arrays and as SX."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import casadi as cs
import numpy as np

from taupi.checks import positive
from taupi.dynamics.kinematics import Task, jacobian, jacobian_derivative, task_coordinates, task_size
from taupi.dynamics.types import ArrayLike, Expression, Vector
from taupi.errors import Argument, TaupiError, unknown
from taupi.model.robot import Robot
from taupi.signals.log import Log
from taupi.signals.read import read_log

# A traced piecewise motion is a chain of choices: longer ones are given as samples.
_TRACED_PIECES = 200


class Motion(NamedTuple):
    """Positions `q` (rad or m), velocities `qd` and accelerations `qdd`, (..., n) each: arrays, or columns of SX."""

    q: Any
    qd: Any
    qdd: Any


@runtime_checkable
class Reference(Protocol):
    """A motion over time."""

    @property
    def n(self) -> int:
        """The number of joints."""
        ...

    def __call__(self, t: ArrayLike) -> Motion:
        """Return q, qd, qdd of shape (..., n) at times `t` (...) in s."""
        ...

    def trace(self, t: Expression) -> Motion:
        """Return q, qd, qdd as SX columns of an SX time `t`."""
        ...


ReferenceLike = Reference | Callable[[float], Any]  # the latter t -> (q, qd, qdd)
Numbers: TypeAlias = Any  # what NumPy turns into an array of numbers; kept as that array


@dataclass(frozen=True, eq=False)
class Sinusoids:
    """Move by sums of sines: q_i = o_i + sum_j A_ij sin(w_ij t + phi_ij).

    Attributes:
        offset: o (n,), rad or m.
        amplitude: A (n, k), rad or m.
        omega: w, rad/s: (k,) for all joints, or (n, k).
        phase: phi, rad: one for all, or (n, k); by default 0.

    >>> import taupi as tp
    >>> motion = tp.Sinusoids(offset=[0.5], amplitude=[[0.2]], omega=[[3.0]])
    >>> [v.round(6).tolist() for v in motion(0.0)]
    [[0.5], [0.6], [0.0]]
    """

    offset: Numbers
    amplitude: Numbers
    omega: Numbers
    phase: Numbers = 0.0

    def __post_init__(self) -> None:
        offset = _numbers(self.offset, "offset", 1)
        amplitude = _numbers(self.amplitude, "amplitude", 2)
        if len(amplitude) != len(offset):
            raise TaupiError(
                "{amplitude} has shape {got}, expected ({expected}, k): one row per entry of offset.",
                got=amplitude.shape,
                expected=len(offset),
            )
        object.__setattr__(self, "offset", offset)
        object.__setattr__(self, "amplitude", amplitude)
        for name in ("omega", "phase"):
            value = _numbers(getattr(self, name), name, None)
            try:
                object.__setattr__(self, name, np.broadcast_to(value, amplitude.shape))
            except ValueError:
                raise TaupiError(
                    "{argument} has shape {got}, expected {expected} like amplitude.",
                    argument=Argument(name),
                    got=value.shape,
                    expected=amplitude.shape,
                ) from None

    @classmethod
    def document(cls, name: str) -> Sinusoids:
        """Return a motion on which the adaptive laws are compared: `name` is "planar2" or "puma560".

        Kubozono et al. print none; these two are the ones in `taupi.papers.reproduce("kubozono")`.
        """
        if name not in _DOCUMENT:
            raise unknown("motion", name, _DOCUMENT)
        return cls(*_DOCUMENT[name])

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.offset)

    def __call__(self, t: ArrayLike) -> Motion:
        """Return q, qd, qdd of shape (..., n) at times `t` (...) in s."""
        times = np.asarray(t, dtype=float)[..., None]
        q = np.broadcast_to(self.offset, (*times.shape[:-1], self.n)).copy()
        qd, qdd = np.zeros(q.shape), np.zeros(q.shape)
        for a, w, phase in zip(self.amplitude.T, self.omega.T, self.phase.T, strict=True):
            angle = w * times + phase
            s, c = np.sin(angle), np.cos(angle)
            q += a * s
            qd += (a * w) * c
            qdd -= (a * w**2) * s
        return Motion(q, qd, qdd)

    def trace(self, t: Expression) -> Motion:
        """Return q, qd, qdd over SX, at an SX time `t`."""
        q, qd, qdd = [], [], []
        for o, row, omegas, phases in zip(self.offset, self.amplitude, self.omega, self.phase, strict=True):
            terms = [(a, w, w * t + p) for a, w, p in zip(row, omegas, phases, strict=True)]
            q.append(o + sum(a * cs.sin(x) for a, _, x in terms))
            qd.append(sum(a * w * cs.cos(x) for a, w, x in terms))
            qdd.append(sum(-a * w**2 * cs.sin(x) for a, w, x in terms))
        return Motion(cs.vertcat(*q), cs.vertcat(*qd), cs.vertcat(*qdd))


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Polynomials between `breaks` (s), at rest before the first and after the last.

    `coefficients` are (degree + 1, pieces, n), highest power first.
    """

    breaks: np.ndarray = field(init=False, repr=False)
    coefficients: np.ndarray = field(init=False, repr=False)

    def _set(self, breaks: np.ndarray, coefficients: np.ndarray) -> None:
        object.__setattr__(self, "breaks", np.asarray(breaks, dtype=float))
        object.__setattr__(self, "coefficients", np.asarray(coefficients, dtype=float))

    def _set_spline(self, spline: Any) -> None:
        breaks = np.unique(spline.t[spline.k : len(spline.t) - spline.k])
        taylor = [spline(breaks[:-1], nu=i) / math.factorial(i) for i in reversed(range(spline.k + 1))]
        self._set(breaks, np.stack(taylor))

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.coefficients.shape[2]

    def __call__(self, t: ArrayLike) -> Motion:
        """Return q, qd, qdd of shape (..., n) at times `t` (...) in s."""
        from scipy.interpolate import PPoly

        times = np.asarray(t, dtype=float)
        inside = (times >= self.breaks[0]) & (times <= self.breaks[-1])
        held, p = np.clip(times, self.breaks[0], self.breaks[-1]), PPoly(self.coefficients, self.breaks)
        moves = inside[..., None]
        return Motion(p(held), np.where(moves, p(held, 1), 0.0), np.where(moves, p(held, 2), 0.0))

    def trace(self, t: Expression) -> Motion:
        """Return q, qd, qdd over SX, at an SX time `t`, by choosing the piece."""
        pieces = len(self.breaks) - 1
        if pieces > _TRACED_PIECES:
            raise TaupiError(
                "The motion has {pieces} pieces, too many to trace (at most {traced_pieces}): sample it instead.",
                pieces=pieces,
                traced_pieces=_TRACED_PIECES,
            )
        held = cs.fmin(cs.fmax(t, self.breaks[0]), self.breaks[-1])
        inside = cs.logic_and(t >= self.breaks[0], t <= self.breaks[-1])
        values = [self._piece(0, held)]
        result = values[0]
        for k in range(1, pieces):
            later, after = self._piece(k, held), held >= self.breaks[k]
            result = [cs.if_else(after, new, old) for new, old in zip(later, result, strict=True)]
        return Motion(result[0], result[1] * inside, result[2] * inside)

    def _piece(self, k: int, t: Expression) -> list[Vector]:
        s, degree = t - self.breaks[k], len(self.coefficients) - 1
        powers = [(self.coefficients[degree - i, k], i) for i in range(degree + 1)]
        q = sum((cs.SX(c) * s**i for c, i in powers), cs.SX.zeros(self.n))
        qd = sum((cs.SX(c * i) * s ** (i - 1) for c, i in powers[1:]), cs.SX.zeros(self.n))
        qdd = sum((cs.SX(c * i * (i - 1)) * s ** (i - 2) for c, i in powers[2:]), cs.SX.zeros(self.n))
        return [q, qd, qdd]


@dataclass(frozen=True, eq=False)
class BSpline(Piecewise):
    """Move along a clamped B-spline of control points, such as the excitation of Zollo et al. (2014, section 6).

    Attributes:
        points: Control points (m, n), rad or m, spread evenly over the duration.
        duration: Length of the motion, s.
        degree: Degree of the polynomials, 2 to 9.
        rest: Whether the first and the last point are repeated, so that the motion begins and ends with qd = qdd = 0.

    >>> import taupi as tp
    >>> motion = tp.BSpline([[0.0], [1.0], [0.5]], duration=4.0)
    >>> [v.round(9).tolist() for v in motion(4.0)]
    [[0.5], [0.0], [0.0]]
    """

    points: ArrayLike
    duration: float
    degree: int = 5
    rest: bool = True

    def __post_init__(self) -> None:
        from scipy.interpolate import BSpline as Spline

        points, end, degree = _numbers(self.points, "points", 2), positive("duration", self.duration), self.degree
        if isinstance(degree, bool) or not isinstance(degree, int) or not 2 <= degree <= 9:
            raise TaupiError("{degree} is {got!r}, expected a whole number from 2 to 9.", got=degree)
        control = np.vstack([points[:1], points[:1], points, points[-1:], points[-1:]]) if self.rest else points
        if len(control) <= degree:
            least = degree + 1 - 4 * bool(self.rest)
            raise TaupiError(
                "{points} has {got} rows, expected at least {least} for degree {degree}.",
                got=len(points),
                least=least,
                degree=degree,
            )
        inner = np.linspace(0.0, end, len(control) - degree + 1)
        self._set_spline(Spline(np.concatenate([[0.0] * degree, inner, [end] * degree]), control, degree))

    @classmethod
    def random(
        cls, centre: ArrayLike, amplitude: ArrayLike, count: int = 24, duration: float = 8.9, seed: int = 0
    ) -> BSpline:
        """Return the spline of `count` random control points over `duration` (s), of which the first and last three are equal.

        They are uniform in `centre` +- `amplitude` (n,), drawn with `seed`. The study "zollo2014" excites the PUMA in this way.
        """
        middle, width = _numbers(centre, "centre", 1), _numbers(amplitude, "amplitude", 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 6 or len(width) != len(middle):
            raise TaupiError(
                "{count} is {got!r} and amplitude has {width_count} entries, expected at least 6 and {expected}.",
                got=count,
                width_count=len(width),
                expected=len(middle),
            )
        draws = np.random.default_rng(seed).uniform(-1.0, 1.0, (count - 4, len(middle)))
        return cls(middle + width * draws, duration)

    @classmethod
    def triangles(
        cls,
        centre: ArrayLike,
        peak: ArrayLike,
        duration: float = 8.9,
        seed: int = 0,
        spacing: float = 0.16,
        legs: tuple[float, float] = (1.1, 1.7),
        least: float = 0.55,
    ) -> BSpline:
        """Return the spline of control points every `spacing` s on random triangle waves about `centre` (n,).

        Each joint goes from peak to opposite peak in legs of random length, uniform in `legs` (s), for `duration` (s); a peak is
        `peak` (rad, one or one per joint) times a number uniform in (`least`, 1). `seed` is that of the random numbers.
        `taupi.papers.reproduce("zollo2014")` excites the two-joint arm in this way.
        """
        middle = _numbers(centre, "centre", 1)
        step, end = positive("spacing", spacing), positive("duration", duration)
        height = np.broadcast_to(_numbers(peak, "peak", None), middle.shape)
        rng, times = np.random.default_rng(seed), np.linspace(0.0, end, round(end / step) + 1)
        low, high = (positive("legs", v) for v in legs)
        count = int(end / low) + 3
        waves = []
        for o, size in zip(middle, height, strict=True):
            lengths = rng.uniform(low, high, count)
            turns = np.concatenate([[0.0], np.cumsum(lengths) - lengths[0] / 2])  # it starts half a leg before a peak
            peaks = rng.choice([-1.0, 1.0]) * size * rng.uniform(least, 1.0, count) * (-1.0) ** np.arange(count)
            waves.append(np.interp(times, turns, np.concatenate([[0.0], peaks])) + o)
        return cls(np.stack(waves, axis=1), end)


@dataclass(frozen=True, eq=False)
class MinimumJerk(Piecewise):
    """Move from way-point to way-point, with a stop at each: q = a + (b - a)(10 s^3 - 15 s^4 + 6 s^5) (Flash & Hogan 1985).

    s goes from 0 to 1 between two way-points.

    Attributes:
        points: The way-points (m, n), rad or m.
        times: When they are reached (m,), s.

    >>> import taupi as tp
    >>> motion = tp.MinimumJerk([[0.0], [1.0]], times=[0.0, 2.0])
    >>> [v.tolist() for v in motion(1.0)]
    [[0.5], [0.9375], [0.0]]
    """

    points: ArrayLike
    times: ArrayLike

    def __post_init__(self) -> None:
        points, times = _numbers(self.points, "points", 2), _numbers(self.times, "times", 1)
        if len(points) != len(times) or len(points) < 2:
            raise TaupiError(
                "{times} has {got} entries for {count} points, expected one each, at least 2.",
                got=len(times),
                count=len(points),
            )
        span = np.diff(times)
        if not (span > 0).all():
            raise TaupiError("{times} do not increase, expected a later time for each point.")
        step = np.diff(points, axis=0)
        powers = [c * step / span[:, None] ** k for c, k in ((6, 5), (-15, 4), (10, 3))]
        self._set(times, np.stack([*powers, 0 * step, 0 * step, points[:-1]]))


@dataclass(frozen=True, eq=False)
class SampledMotion(Piecewise):
    """Move along samples of q: the spline of degree 5 through them, or of degree 3 if there are few.

    Attributes:
        time: Times of the samples (N,), s.
        samples: Positions (N, n) at these times, rad or m.

    >>> import numpy as np, taupi as tp
    >>> t = np.linspace(0, 1, 101)
    >>> motion = tp.SampledMotion(t, np.sin(3 * t)[:, None])
    >>> bool(abs(motion(0.5).qdd + 9 * np.sin(1.5)).max() < 1e-6)
    True
    """

    time: ArrayLike
    samples: ArrayLike

    def __post_init__(self) -> None:
        from scipy.interpolate import make_interp_spline

        time, q = _numbers(self.time, "time", 1), _numbers(self.samples, "samples", 2)
        if len(time) != len(q) or len(time) < 4 or not (np.diff(time) > 0).all():
            raise TaupiError(
                "{samples} has {got} rows for {count} times, expected at least 4, with times that increase.",
                got=len(q),
                count=len(time),
            )
        self._set_spline(make_interp_spline(time, q, k=5 if len(time) > 5 else 3))

    @classmethod
    def from_log(cls, log: Log) -> SampledMotion:
        """Return the motion of a `log`, its time counted from its first sample."""
        return cls(log.time - log.time[0], log.q)

    @classmethod
    def read(cls, path: str | os.PathLike[str], robot: Robot | None = None) -> SampledMotion:
        """Return the motion in the file at `path`: a CSV with time and positions, Parquet, or whatever `taupi.read_log` reads.

        `robot` says which joints are meant, if the file names them.
        """
        log = read_log(path, robot)
        try:
            return cls.from_log(log)
        except TaupiError as error:
            raise error.about(log.source.path) from None


def as_reference(reference: ReferenceLike, n: int) -> Callable[[np.ndarray], Motion]:
    """Return a function from times (N,) to a Motion of (N, n) from a reference or any function t -> (q, qd, qdd)."""
    if isinstance(reference, Reference):
        if reference.n != n:
            raise TaupiError("{reference} has {n} joints, the robot has {other_n}.", n=reference.n, other_n=n)
        return reference
    if not callable(reference):
        raise TaupiError(
            "{reference} is {got!r}, expected a function t -> (q, qd, qdd), or a reference.", got=reference
        )

    def sampled(times: np.ndarray) -> Motion:
        rows = np.empty((len(times), 3, n))
        for k, t in enumerate(times):
            answer = reference(float(t))
            try:
                row = np.asarray(answer, dtype=float)
            except (TypeError, ValueError):
                row = np.zeros(0)
            if row.shape != (3, n):
                raise TaupiError(
                    "reference({t:g}) gave {got!r}, expected (q, qd, qdd) of {n} numbers each.",
                    t=float(t),
                    got=answer,
                    n=n,
                )
            rows[k] = row
        return Motion(rows[:, 0], rows[:, 1], rows[:, 2])

    return sampled


def _numbers(value: ArrayLike, name: str, dimensions: int | None) -> np.ndarray:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(
            "{argument} is {got!r}, expected an array of numbers.", argument=Argument(name), got=value
        ) from None
    if dimensions is not None and array.ndim != dimensions:
        expected = "(n,)" if dimensions == 1 else "(m, n)"
        raise TaupiError(
            "{argument} has shape {got}, expected {expected}.",
            argument=Argument(name),
            got=array.shape,
            expected=expected,
        )
    if not np.isfinite(array).all():
        raise TaupiError("{argument} has entries that are not finite.", argument=Argument(name))
    array.flags.writeable = False
    return array


_DOCUMENT: dict[str, tuple[Any, Any, Any]] = {
    "planar2": ((-0.8, 0.6), ((0.8, 0.5), (0.6, 0.7)), ((1.3, 3.1), (2.0, 4.3))),
    "puma560": (
        (0.0, 0.8, -0.6, 0.0, 0.7, 0.0),
        ((0.7, 0.3), (0.5, 0.25), (0.5, 0.3), (0.8, 0.4), (0.7, 0.3), (0.9, 0.5)),
        ((1.1, 2.7), (1.5, 3.2), (1.9, 3.7), (2.3, 4.1), (2.0, 4.6), (2.6, 5.0)),
    ),
}


_SINGULAR = 1e-3  # smallest ratio of a Jacobian's singular values along a motion that a law of the task can follow
_SAMPLES = 500  # of a motion, at which its Jacobian is looked at


@dataclass(frozen=True, eq=False)
class TaskMotion:
    """Move a task of a robot as its joints move: r(q), J qd, J qdd + dJ/dt qd.

    A law in the coordinates of a task follows it, and the motion of the joints determines where the arm starts.

    Attributes:
        motion: The motion of the joints.
        robot: The robot whose joints they are.
        task: As in `jacobian`, by default "position".
        frame: The frame that moves, by default "tip".

    >>> import taupi as tp
    >>> arm = tp.load("planar3r")
    >>> joints = tp.Sinusoids(offset=[0.3, 0.9, -0.4], amplitude=[[0.1]] * 3, omega=[[2.0]] * 3)
    >>> motion = tp.operational.TaskMotion(joints, arm, task="planar")
    >>> [x.shape for x in motion([0.0, 0.5])]
    [(2, 3), (2, 3), (2, 3)]
    """

    motion: Reference
    robot: Robot
    task: Task = "position"
    frame: str = "tip"

    @property
    def n(self) -> int:
        """The number of the task's coordinates."""
        return task_size(self.robot, self.task)

    def __call__(self, t: ArrayLike) -> Motion:
        """Return r, rd, rdd of shape (..., m) at times `t` (...) in s."""
        q, qd, qdd = (np.asarray(x, dtype=float) for x in self.motion(t))
        choice: dict[str, Any] = {"frame": self.frame, "task": self.task}
        J, rate = jacobian(self.robot, **choice)(q), jacobian_derivative(self.robot, **choice)(q, qd)
        r = task_coordinates(self.robot, **choice)(q)

        def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
            product: np.ndarray = np.einsum("...ij,...j->...i", matrix, vector)
            return product

        return Motion(r, times(J, qd), times(J, qdd) + times(rate, qd))

    def trace(self, t: Expression) -> Motion:
        """Return r, rd, rdd as SX columns of an SX time `t`."""
        q, qd, qdd = self.motion.trace(t)
        choice: dict[str, Any] = {"frame": self.frame, "task": self.task}
        J, rate = jacobian(self.robot, **choice)(q), jacobian_derivative(self.robot, **choice)(q, qd)
        return Motion(task_coordinates(self.robot, **choice)(q), J @ qd, J @ qdd + rate @ qd)

    def require_regular(self, duration: float) -> None:
        """Refuse a motion of the joints along which the task Jacobian is nearly singular: no law of the task can follow it.

        Args:
            duration: How long the motion is followed, s.

        Raises:
            TaupiError: The least of J's singular values falls below a thousandth of the largest one.
        """
        q = np.asarray(self.motion(np.linspace(0.0, duration, _SAMPLES)).q)
        sizes = np.linalg.svd(jacobian(self.robot, self.frame, task=self.task)(q), compute_uv=False)
        worst = int((sizes[:, -1] / sizes[:, 0]).argmin())
        if sizes[worst, -1] < _SINGULAR * sizes[worst, 0]:
            place = ", ".join(f"{x:.3g}" for x in q[worst])
            raise TaupiError(
                "{reference} passes q = ({place}), where the task {task!r} is singular: no force of the "
                "task moves it there.",
                remedy="Give way-points with bent joints, such as [[0.3, 0.9, ...], [0.6, 1.2, ...]].",
                place=place,
                task=self.task,
            )
