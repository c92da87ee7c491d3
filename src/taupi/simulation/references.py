"""Motions to follow: q, qd and qdd at any time, as arrays and as SX."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import casadi as cs
import numpy as np

from taupi.errors import TaupiError, shown, unknown
from taupi.signals.log import Log
from taupi.signals.read import read_log

# A traced piecewise motion is a chain of choices: longer ones are given as samples.
_TRACED_PIECES = 200


class Motion(NamedTuple):
    """Positions, velocities and accelerations, (..., n) each."""

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

    def __call__(self, t: Any) -> Motion:
        """Return q, qd, qdd of shape (..., n) at times (...) in seconds."""
        ...

    def trace(self, t: Any) -> Motion:
        """Return q, qd, qdd as SX columns of an SX time."""
        ...


@dataclass(frozen=True, eq=False)
class Sinusoids:
    """q_i = o_i + sum_j A_ij sin(w_ij t + phi_ij): offset (n,), amplitude, omega (rad/s) and phase (n, k).

    >>> import taupi as tp
    >>> motion = tp.Sinusoids(offset=[0.5], amplitude=[[0.2]], omega=[[3.0]])
    >>> [v.round(6).tolist() for v in motion(0.0)]
    [[0.5], [0.6], [0.0]]
    """

    offset: Any
    amplitude: Any
    omega: Any
    phase: Any = 0.0

    def __post_init__(self) -> None:
        offset = _numbers(self.offset, "offset", 1)
        amplitude = _numbers(self.amplitude, "amplitude", 2)
        if len(amplitude) != len(offset):
            raise TaupiError(
                f"amplitude has shape {amplitude.shape}, expected ({len(offset)}, k): one row per entry of offset."
            )
        object.__setattr__(self, "offset", offset)
        object.__setattr__(self, "amplitude", amplitude)
        for name in ("omega", "phase"):
            value = _numbers(getattr(self, name), name, None)
            try:
                object.__setattr__(self, name, np.broadcast_to(value, amplitude.shape))
            except ValueError:
                raise TaupiError(
                    f"{name} has shape {value.shape}, expected {amplitude.shape} like amplitude."
                ) from None

    @classmethod
    def document(cls, name: str) -> Sinusoids:
        """Return the motion of the spec's closed loops (adaptive-and-elastic.md, A7): "planar2" or "puma560"."""
        if name not in _DOCUMENT:
            raise unknown("motion", name, _DOCUMENT)
        return cls(*_DOCUMENT[name])

    @property
    def n(self) -> int:
        """The number of joints."""
        return len(self.offset)

    def __call__(self, t: Any) -> Motion:
        """Return q, qd, qdd at times (...)."""
        angle = self.omega * np.asarray(t, dtype=float)[..., None, None] + self.phase
        s, c = self.amplitude * np.sin(angle), self.amplitude * np.cos(angle)
        w = self.omega
        return Motion(self.offset + s.sum(-1), (w * c).sum(-1), (-(w**2) * s).sum(-1))

    def trace(self, t: Any) -> Motion:
        """Return q, qd, qdd over SX."""
        q, qd, qdd = [], [], []
        for o, row, omegas, phases in zip(self.offset, self.amplitude, self.omega, self.phase, strict=True):
            terms = [(a, w, w * t + p) for a, w, p in zip(row, omegas, phases, strict=True)]
            q.append(o + sum(a * cs.sin(x) for a, _, x in terms))
            qd.append(sum(a * w * cs.cos(x) for a, w, x in terms))
            qdd.append(sum(-a * w**2 * cs.sin(x) for a, w, x in terms))
        return Motion(cs.vertcat(*q), cs.vertcat(*qd), cs.vertcat(*qdd))


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Polynomials between breaks, (degree + 1, pieces, n), highest power first; at rest before the first and after the last."""

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

    def __call__(self, t: Any) -> Motion:
        """Return q, qd, qdd at times (...)."""
        from scipy.interpolate import PPoly

        times = np.asarray(t, dtype=float)
        inside = (times >= self.breaks[0]) & (times <= self.breaks[-1])
        held, p = np.clip(times, self.breaks[0], self.breaks[-1]), PPoly(self.coefficients, self.breaks)
        moves = inside[..., None]
        return Motion(p(held), np.where(moves, p(held, 1), 0.0), np.where(moves, p(held, 2), 0.0))

    def trace(self, t: Any) -> Motion:
        """Return q, qd, qdd over SX, by choosing the piece."""
        pieces = len(self.breaks) - 1
        if pieces > _TRACED_PIECES:
            raise TaupiError(
                f"The motion has {pieces} pieces, too many to trace (at most {_TRACED_PIECES}): sample it instead."
            )
        held = cs.fmin(cs.fmax(t, self.breaks[0]), self.breaks[-1])
        inside = cs.logic_and(t >= self.breaks[0], t <= self.breaks[-1])
        values = [self._piece(0, held)]
        result = values[0]
        for k in range(1, pieces):
            later, after = self._piece(k, held), held >= self.breaks[k]
            result = [cs.if_else(after, new, old) for new, old in zip(later, result, strict=True)]
        return Motion(result[0], result[1] * inside, result[2] * inside)

    def _piece(self, k: int, t: Any) -> list[Any]:
        s, degree = t - self.breaks[k], len(self.coefficients) - 1
        powers = [(self.coefficients[degree - i, k], i) for i in range(degree + 1)]
        q = sum((cs.SX(c) * s**i for c, i in powers), cs.SX.zeros(self.n))
        qd = sum((cs.SX(c * i) * s ** (i - 1) for c, i in powers[1:]), cs.SX.zeros(self.n))
        qdd = sum((cs.SX(c * i * (i - 1)) * s ** (i - 2) for c, i in powers[2:]), cs.SX.zeros(self.n))
        return [q, qd, qdd]


@dataclass(frozen=True, eq=False)
class BSpline(Piecewise):
    """A clamped B-spline of control points (m, n) over a duration in s (spec B7).

    `rest` repeats the first and the last point so that the motion begins and ends with qd = qdd = 0.

    >>> import taupi as tp
    >>> motion = tp.BSpline([[0.0], [1.0], [0.5]], duration=4.0)
    >>> [v.round(9).tolist() for v in motion(4.0)]
    [[0.5], [0.0], [0.0]]
    """

    points: Any
    duration: float
    degree: int = 5
    rest: bool = True

    def __post_init__(self) -> None:
        from scipy.interpolate import BSpline as Spline

        given, end, degree = _numbers(self.points, "points", 2), _positive(self.duration, "duration"), self.degree
        if isinstance(degree, bool) or not isinstance(degree, int) or not 2 <= degree <= 9:
            raise TaupiError(f"degree is {shown(degree)}, expected a whole number from 2 to 9.")
        control = np.vstack([given[:1], given[:1], given, given[-1:], given[-1:]]) if self.rest else given
        if len(control) <= degree:
            least = degree + 1 - 4 * bool(self.rest)
            raise TaupiError(f"points has {len(given)} rows, expected at least {least} for degree {degree}.")
        inner = np.linspace(0.0, end, len(control) - degree + 1)
        self._set_spline(Spline(np.concatenate([[0.0] * degree, inner, [end] * degree]), control, degree))

    @classmethod
    def random(cls, centre: Any, amplitude: Any, count: int = 24, duration: float = 8.9, seed: int = 0) -> BSpline:
        """Return the spline of `count` control points, uniform in centre +- amplitude (n,), the first and last three equal.

        The excitation of the PUMA study (spec B8).
        """
        middle, width = _numbers(centre, "centre", 1), _numbers(amplitude, "amplitude", 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 6 or len(width) != len(middle):
            raise TaupiError(
                f"count is {shown(count)} and amplitude has {len(width)} entries, expected at least 6 and {len(middle)}."
            )
        drawn = np.random.default_rng(seed).uniform(-1.0, 1.0, (count - 4, len(middle)))
        return cls(middle + width * drawn, duration)

    @classmethod
    def triangles(
        cls,
        centre: Any,
        peak: Any,
        duration: float = 8.9,
        seed: int = 0,
        spacing: float = 0.16,
        legs: tuple[float, float] = (1.1, 1.7),
        least: float = 0.55,
    ) -> BSpline:
        """Return the spline of control points every `spacing` s on random triangle waves about `centre` (n,).

        Each joint goes from peak to opposite peak in legs of random length, uniform in `legs` (s); a peak is `peak` (rad, one or
        one a joint) times a number uniform in (least, 1). The excitation of the two-joint study (spec B7).
        """
        middle, step, end = (
            _numbers(centre, "centre", 1),
            _positive(spacing, "spacing"),
            _positive(duration, "duration"),
        )
        height = np.broadcast_to(_numbers(peak, "peak", None), middle.shape)
        rng, times = np.random.default_rng(seed), np.linspace(0.0, end, round(end / step) + 1)
        low, high = (_positive(v, "legs") for v in legs)
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
    """Way-points (m, n) at times (m,), a stop at each: q = a + (b - a)(10 s^3 - 15 s^4 + 6 s^5) (Flash & Hogan 1985).

    >>> import taupi as tp
    >>> motion = tp.MinimumJerk([[0.0], [1.0]], times=[0.0, 2.0])
    >>> [v.tolist() for v in motion(1.0)]
    [[0.5], [0.9375], [0.0]]
    """

    points: Any
    times: Any

    def __post_init__(self) -> None:
        points, times = _numbers(self.points, "points", 2), _numbers(self.times, "times", 1)
        if len(points) != len(times) or len(points) < 2:
            raise TaupiError(f"times has {len(times)} entries for {len(points)} points, expected one each, at least 2.")
        span = np.diff(times)
        if not (span > 0).all():
            raise TaupiError("times do not increase, expected a later time for each point.")
        step = np.diff(points, axis=0)
        powers = [c * step / span[:, None] ** k for c, k in ((6, 5), (-15, 4), (10, 3))]
        self._set(times, np.stack([*powers, 0 * step, 0 * step, points[:-1]]))


@dataclass(frozen=True, eq=False)
class SampledMotion(Piecewise):
    """A motion from samples of q at times (N,), (N, n): the spline of degree 5 (or less, of few samples) through them.

    >>> import numpy as np, taupi as tp
    >>> t = np.linspace(0, 1, 101)
    >>> motion = tp.SampledMotion(t, np.sin(3 * t)[:, None])
    >>> bool(abs(motion(0.5).qdd + 9 * np.sin(1.5)).max() < 1e-6)
    True
    """

    time: Any
    samples: Any

    def __post_init__(self) -> None:
        from scipy.interpolate import make_interp_spline

        time, q = _numbers(self.time, "time", 1), _numbers(self.samples, "samples", 2)
        if len(time) != len(q) or len(time) < 4 or not (np.diff(time) > 0).all():
            raise TaupiError(
                f"samples has {len(q)} rows for {len(time)} times, expected at least 4, with times that increase."
            )
        self._set_spline(make_interp_spline(time, q, k=5 if len(time) > 5 else 3))

    @classmethod
    def from_log(cls, log: Log) -> SampledMotion:
        """Return the motion of a log, its time counted from its first sample."""
        return cls(log.time - log.time[0], log.q)

    @classmethod
    def read(cls, path: str | os.PathLike[str], robot: Any = None) -> SampledMotion:
        """Return the motion in a file that `taupi.read_log` reads: a CSV with time and positions, Parquet, ..."""
        return cls.from_log(read_log(path, robot))


def as_reference(reference: Any, n: int) -> Callable[[np.ndarray], Motion]:
    """Return a function from times (N,) to a Motion of (N, n) from a reference or any function t -> (q, qd, qdd)."""
    if isinstance(reference, Reference):
        if reference.n != n:
            raise TaupiError(f"reference has {reference.n} joints, the robot has {n}.")
        return reference
    if not callable(reference):
        raise TaupiError(f"reference is {shown(reference)}, expected a function t -> (q, qd, qdd), or a reference.")

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
                    f"reference({float(t):g}) gave {shown(answer)}, expected (q, qd, qdd) of {n} numbers each."
                )
            rows[k] = row
        return Motion(rows[:, 0], rows[:, 1], rows[:, 2])

    return sampled


def _numbers(value: Any, name: str, dimensions: int | None) -> np.ndarray:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(f"{name} is {shown(value)}, expected an array of numbers.") from None
    if dimensions is not None and array.ndim != dimensions:
        raise TaupiError(f"{name} has shape {array.shape}, expected {'(n,)' if dimensions == 1 else '(m, n)'}.")
    if not np.isfinite(array).all():
        raise TaupiError(f"{name} has entries that are not finite.")
    array.flags.writeable = False
    return array


def _positive(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise TaupiError(f"{name} is {shown(value)}, expected a finite number above 0.")
    return float(value)


_DOCUMENT: dict[str, tuple[Any, Any, Any]] = {
    "planar2": ((-0.8, 0.6), ((0.8, 0.5), (0.6, 0.7)), ((1.3, 3.1), (2.0, 4.3))),
    "puma560": (
        (0.0, 0.8, -0.6, 0.0, 0.7, 0.0),
        ((0.7, 0.3), (0.5, 0.25), (0.5, 0.3), (0.8, 0.4), (0.7, 0.3), (0.9, 0.5)),
        ((1.1, 2.7), (1.5, 3.2), (1.9, 3.7), (2.3, 4.1), (2.0, 4.6), (2.6, 5.0)),
    ),
}
