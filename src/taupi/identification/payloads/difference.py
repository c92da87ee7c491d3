"""What has changed since a fit: parameters of a later log relative to those of the fit, which are themselves uncertain."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taupi.dynamics.terms import column_at_speed, drifting_terms, kind_of
from taupi.errors import TaupiError
from taupi.identifiability.base_parameters import BaseParameters
from taupi.identification.friction.dry_friction import friction_plan
from taupi.identification.inputs import LogsLike, each_run, log_list
from taupi.identification.physical.standard_parameters import rows_from_covariance
from taupi.identification.results.fit import Fit
from taupi.identification.results.uncertainty import covariance_root
from taupi.identification.row_layout import RowLayout
from taupi.identification.rows.block_source import errors_naming, open_source
from taupi.identification.rows.factors import JointFactor, triangle
from taupi.identification.rows.pieces import compress_recordings
from taupi.identification.rows.preparation import Preparation
from taupi.identification.rows.recording import LogRecord, Recording
from taupi.identification.rows.workers import Workers
from taupi.identification.solve import WEAK
from taupi.signals.read import LogLike
from taupi.signals.reading import Reading, Streaming

# Rounds in which the noise of each joint is estimated again from the residual.
_ROUNDS = 3
# Stretches of time that are left out one after the other to see how much the result depends on each.
STRETCHES = 6
# Noise below this share of a joint's torque is rounding error, which says nothing about weights.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Difference:
    """theta in tau = Y_b (x + d + columns theta) + noise, x being the parameters of a fit and d their errors.

    Attributes:
        values: theta (k,).
        noise: The covariance (k, k) that the noise of the logs causes.
        inherited: The covariance (k, k) that the uncertain fit causes.
        guessed: The covariance (k, k) that comes from the prior of theta, where the logs say less than the prior.
        by_joint: The approximate effect on theta (n, k) of changing the torque of one joint by 100 %: they add up to theta.
        errors: The remaining torque error of each joint (n,), root mean square, N m or N.
        relative: ||tau - tau_hat|| / ||tau|| over all joints, with theta.
        before: The relative error without theta, with the parameters of the fit.
    """

    values: np.ndarray
    noise: np.ndarray
    inherited: np.ndarray
    guessed: np.ndarray
    by_joint: np.ndarray
    errors: np.ndarray
    relative: float
    before: float

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of theta (k, k)."""
        return self.noise + self.inherited + self.guessed


def difference(
    pieces: Sequence[JointFactor],
    x: np.ndarray,
    columns: np.ndarray,
    spread: np.ndarray,
    prior: np.ndarray,
    noise: np.ndarray,
) -> Difference:
    """Return theta from the `pieces` of later logs, by generalised least squares.

    The errors d of x (b,) have the covariance `spread` spread^T (b, q), so that, with rows weighted to noise of size one,

        tau - Y x = Y columns theta + e,    cov(e) = S = 1 + Y spread spread^T Y^T.

    `columns` are (b, k), `prior` (k,) the standard deviations of theta about zero, infinite where nothing is known. `noise` (n,)
    is the initial noise of the joints; it is estimated again from the residual three times. Rows count as the independent samples
    that they are worth.

    The covariance due to noise is that of the model, enlarged if leaving out one of six stretches of time moves theta more than
    noise would (the jackknife): errors of a model last longer than a filter does.
    """
    joints = len(noise)
    for _ in range(_ROUNDS):
        system = _DifferenceSystem(pieces, joints, x, columns, spread, prior, noise)
        noise = system.noise(noise)
    system = _DifferenceSystem(pieces, joints, x, columns, spread, prior, noise)
    noisy = system.gain @ system.gain.T
    last = 1 + max(f.stretch for f in pieces)
    group = {(f.file, f.stretch): f.stretch * STRETCHES // last for f in pieces}
    parts = []
    for k in range(STRETCHES):
        rest = [f for f in pieces if group[f.file, f.stretch] != k]
        if 0 < len(rest) < len(pieces):
            parts.append(_DifferenceSystem(rest, joints, x, columns, spread, prior, noise).theta)
    if len(parts) > 2:
        noisy = enlarged_by_jackknife(noisy, parts)
    inherited = system.gain @ system.rows @ spread
    pulled = system.covariance @ np.diag(1 / prior)
    return Difference(
        system.theta,
        noisy,
        inherited @ inherited.T,
        pulled @ pulled.T,
        system.by_joint(),
        system.errors(),
        *system.relative_errors(),
    )


def enlarged_by_jackknife(covariance: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the covariance (k, k) of an estimate, larger where the jackknife says so.

    `parts` are the estimates (k,) that are left if one of as many stretches of time is left out.
    """
    moved = np.array(parts) - np.mean(parts, axis=0)
    variance = (len(parts) - 1) / len(parts) * np.sum(moved**2, axis=0)
    larger = np.sqrt(np.maximum(variance / np.maximum(np.diag(covariance), np.finfo(float).tiny), 1.0))
    return np.asarray(covariance * np.outer(larger, larger))


class _DifferenceSystem:
    """The equations of one estimate: the rows of all joints, each weighted by the noise of its joint."""

    def __init__(
        self,
        pieces: Sequence[JointFactor],
        joints: int,
        x: np.ndarray,
        columns: np.ndarray,
        spread: np.ndarray,
        prior: np.ndarray,
        noise: np.ndarray,
    ) -> None:
        from scipy.linalg import cho_factor, cho_solve

        self.by = [[f for f in pieces if f.joint == j] for j in range(joints)]
        self.counts = np.array([sum(f.rows for f in own) for own in self.by], dtype=float)
        worth = np.array([sum(f.independent for f in own) for own in self.by]) / np.maximum(self.counts, 1.0)
        self.weights = np.where(noise > 0, np.sqrt(worth) / np.where(noise > 0, noise, 1.0), 0.0)
        blocks = [triangle(np.vstack([np.zeros((0, len(x) + 1)), *(f.r for f in own)])) for own in self.by]
        self.owner = np.concatenate([np.full(len(r), j) for j, r in enumerate(blocks)]).astype(int)
        stacked = np.vstack(blocks) * self.weights[self.owner, None]
        self.rows, self.torque = stacked[:, :-1], stacked[:, -1]
        self.start, self.columns, self.spread = x, columns, spread
        self.y, a = self.torque - self.rows @ x, self.rows @ columns
        g = self.rows @ spread
        self._covariance = cho_factor(np.eye(len(self.y)) + g @ g.T)
        white = cho_solve(self._covariance, a)
        self.covariance = inverse(a.T @ white + np.diag(1 / prior**2))
        self.gain = self.covariance @ white.T
        self.theta = self.gain @ self.y

    @property
    def residual(self) -> np.ndarray:
        """What neither theta nor the most likely errors of x explain, in units of the noise."""
        from scipy.linalg import cho_solve

        left = self.y - self.rows @ (self.columns @ self.theta)
        errors = self.spread @ (self.spread.T @ (self.rows.T @ cho_solve(self._covariance, left)))
        return np.asarray(left - self.rows @ errors)

    def noise(self, before: np.ndarray) -> np.ndarray:
        """Return the noise (n,) of the joints: the root mean square of their residuals."""
        torque = self._sizes(self.torque)
        return np.where(self.weights > 0, np.maximum(self._sizes(self.residual), _ROUNDING * torque), before)

    def errors(self) -> np.ndarray:
        """Return the root mean square (n,) of the torque that theta leaves unexplained, the fit's own parameters unchanged."""
        return self._sizes(self.y - self.rows @ (self.columns @ self.theta))

    def relative_errors(self) -> tuple[float, float]:
        """Return the error of the torque over all joints relative to the torque, with theta and without."""
        total = self._size_of_all(self.torque)
        after = self._size_of_all(self.y - self.rows @ (self.columns @ self.theta))
        return (after / total, self._size_of_all(self.y) / total) if total > 0 else (0.0, 0.0)

    def by_joint(self) -> np.ndarray:
        """Return the effect on theta (n, k) of a change by 100 % in the torque of each joint, as far as it is due to theta."""
        due = self.rows @ (self.columns @ self.theta)
        return np.array([self.gain @ np.where(self.owner == j, due, 0.0) for j in range(len(self.weights))])

    def _sizes(self, weighted: np.ndarray) -> np.ndarray:
        """Return the root mean square (n,) of weighted rows, in N m or N."""
        squares = np.bincount(self.owner, weighted**2, len(self.weights))
        root = np.sqrt(squares / np.maximum(self.counts, 1.0))
        return np.where(self.weights > 0, root / np.where(self.weights > 0, self.weights, 1.0), 0.0)

    def _size_of_all(self, weighted: np.ndarray) -> float:
        return float(np.sqrt(np.sum(self.counts * self._sizes(weighted) ** 2)))


def inverse(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a covariance or a precision (k, k); directions in which it is zero get a huge, but finite, number."""
    scale = np.sqrt(np.diag(matrix))
    scale = np.where(scale > 0, scale, 1.0)
    eigenvalues, v = np.linalg.eigh(matrix / np.outer(scale, scale))
    result = (v / np.maximum(eigenvalues, 1e-12 * max(float(eigenvalues[-1]), 1e-300))) @ v.T
    return np.asarray(result / np.outer(scale, scale))


def fit_errors(fit: Fit) -> np.ndarray:
    """Return F (b, q) so that F F^T is the covariance of the robot's parameters in a later log about those of a fit.

    It is the sum of that of the fit; that of friction, which drifts from run to run; and, along what the fit's logs left open,
    one that allows for a torque as large as the whole torque.
    """
    own = covariance_root(fit.covariance)
    return np.hstack([own, np.diag(drift_sizes(fit.basis, fit.values, fit.speeds)), open_directions(fit)])


def drift_sizes(base: BaseParameters, values: np.ndarray, speeds: Mapping[str, float]) -> np.ndarray:
    """Return the standard deviations (b,) by which friction changes from run to run, 0 for what does not change.

    As gears warm up, each term changes by about its share `drift` of the joint's friction at its largest speed.

    `values` are base parameters (b,), `speeds` the largest of the joints by name.
    """
    entries, drift = base.parameters.layout.entries, drifting_terms()
    friction = [kind for kind in drift if not kind_of(kind).constant]
    sizes = {(e.owner, e.kind): abs(float(v)) for e, v in zip(entries, values, strict=True)}
    result = np.zeros(len(entries))
    fastest = max(speeds.values(), default=1.0) or 1.0
    for k, entry in enumerate(entries):
        if entry.kind in drift:
            speed = speeds.get(entry.owner, fastest) or fastest
            size = sum(sizes.get((entry.owner, kind), 0.0) * column_at_speed(kind, speed) for kind in friction)
            result[k] = drift[entry.kind] * size / column_at_speed(entry.kind, speed)
    return result


def open_directions(fit: Fit) -> np.ndarray:
    """Return the combinations of parameters that the fit's logs did not determine (b, d), as large as the torque allows."""
    rows = rows_from_covariance(fit.values, fit.covariance) if fit.triangle is None else fit.triangle
    y, torque = rows[:, :-1], float(np.linalg.norm(rows[:, -1]))
    length = np.linalg.norm(y, axis=0)
    scale = np.where(length > 1e-12 * max(float(length.max(initial=0.0)), 1e-300), length, 1.0)
    unit = np.where(scale == length, y / scale, 0.0)
    _, s, vt = np.linalg.svd(unit, full_matrices=True)
    rank = int((s > WEAK * max(float(s.max(initial=0.0)), 1e-300)).sum())
    return np.asarray(torque * vt[rank:].T / scale[:, None])


def later_recordings(
    base: BaseParameters,
    preparation: Preparation,
    records: Sequence[LogRecord],
    logs: LogsLike,
    reading: Reading,
    name: str = "log",
) -> tuple[Recording, ...]:
    """Return recordings of `logs`, prepared like those of a fit of `base`, of which there are `records`, with their cutoff.

    Rows of joints that are slower than those of the fit are left out. `name` is that of the argument with the logs.
    """
    layout = RowLayout.of(base)
    layout.require_rigid("What changed since a fit")
    streaming = Streaming(**{name: getattr(reading, name) for name in Reading.names()}, stream=False)
    runs = each_run(log_list(logs, name), layout.robot, streaming)
    return tuple(_recording(base, preparation, records, log, streaming) for log in runs)


def _recording(
    base: BaseParameters, settings: Preparation, records: Sequence[LogRecord], log: LogLike, streaming: Streaming
) -> Recording:
    layout = RowLayout.of(base)
    source = open_source(log, layout, settings, streaming)
    with errors_naming(source.first.source.path):
        if settings.cutoff_hz is None and not source.first.is_prepared:
            cutoffs = [record.cutoff_hz for record in records if record.cutoff_hz]
            if cutoffs:
                hz = min(max(float(np.median(cutoffs)), source.lowest_cutoff_hz), 0.4 * source.rate_hz)
                settings = dataclasses.replace(settings, cutoff_hz=hz)
        recording = Recording.of(source, layout, settings)
        least = recording.least_speeds
        for record in records:
            if len(record.least_speeds) == layout.count:
                least = np.maximum(least, record.least_speeds)
        return dataclasses.replace(recording, least_speeds=least)


def rows_of_logs(base: BaseParameters, recordings: Sequence[Recording], values: np.ndarray) -> tuple[JointFactor, ...]:
    """Return the rows [Y_b tau] of recordings as one triangle for each log, joint and stretch of time.

    `values` (b,) give the load in the columns of friction that depends on it: those of the robot as it was in the logs.
    """
    with Workers(len(recordings)) as pool:
        compressed = compress_recordings(pool, friction_plan(base, values), recordings)
    factors = tuple(f for part in compressed for f in part.factors)
    if not any(f.rows for f in factors):
        raise TaupiError("No row is left of {sources:,} after filtering.", sources=[r.source.name for r in recordings])
    return factors
