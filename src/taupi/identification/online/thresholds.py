"""The torque above which a residual is a contact: quantiles of the residual without contacts, per joint and speed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import casadi as cs
import numpy as np

from taupi.checks import not_negative, positive, truth, whole_number
from taupi.dynamics.types import Expression, Vector
from taupi.errors import TaupiError
from taupi.files import path_of, write_text
from taupi.identification.folds.left_out import Blocks
from taupi.identification.online.model import interpolated
from taupi.identification.online.observer import MomentumObserver, observer_bandwidth
from taupi.input_files import parse_json, printable, read_bytes
from taupi.model.robot import Robot
from taupi.schema import conformed
from taupi.settings import Settings
from taupi.signals.log import Log
from taupi.tables import table
from taupi.version import __version__

if TYPE_CHECKING:
    from taupi.identification.online.contacts import ContactDetector


# Residuals are correlated: of each stretch of this many seconds only the largest counts.
_STRETCH = 0.5
# Shorter logs, s, have no tail at all: one stretch has no quantile.
_SHORTEST = 2 * _STRETCH
# Above this quantile of the stretches' largest residuals, excesses are taken as those of a generalised Pareto distribution.
_TAIL = 0.8
# Its shape: 0 is an exponential tail; below 0 the tail ends, as with friction that holds a standing joint.
_SHAPES = (-0.75, 0.0)
# Speeds above standstill are divided into this many ranges, with equally many samples in each.
_RANGES = 3
# A range of speeds with fewer stretches says too little about its tail, and takes that of the whole joint.
_FEWEST = 50
# Share of the accepted false alarms that single joints may raise; all joints together may raise the rest.
_ALONE = 0.5
# A joint counts as standing still below this many widths of its dry friction, tanh(qd / width).
_STANDS = 2.0
# Regions of positions that are left out one after the other; more alarms there than promised are chance with this probability.
_REGIONS, _BY_CHANCE = 6, 0.05
# A rate that logs can prove to be this many times the one asked for, or more, is worth a word on what would lower it.
_FEW = 10.0
_LITTLE = 1e-9  # a share of a threshold
# N m or N: beyond these no joint feels anything, or always; forces are found from squares of torques in units of a threshold.
_TORQUES = (1e-12, 1e12)


@dataclass(frozen=True)
class Calibration(Settings):
    """How thresholds are found.

    Attributes:
        false_alarms_per_hour: How many alarms per hour without a contact are accepted, over all joints; fewer need higher
            thresholds.
        breakaway: Factor by which a standing joint may hold more than its sliding dry friction: below that, a push on a
            standing joint looks like friction.
    """

    false_alarms_per_hour: float = 1.0
    breakaway: float = 1.5

    checks: ClassVar = {"false_alarms_per_hour": positive, "breakaway": not_negative}


@dataclass(frozen=True, eq=False, repr=False)
class Thresholds:
    """The torque above which each joint's residual is a contact, by speed, and the evidence for it.

    Attributes:
        joints: The names of the joints.
        speeds: Knots (n, k) of the speed |qd| of each joint, rad/s or m/s; the first two are standstill.
        torques: The thresholds (n, k) there, N m or N, with straight lines between them.
        standing: The speed (n,) below which a joint counts as standing, rad/s or m/s.
        calibration: The settings.
        hours: The duration of the logs from which they were found, h.
        together: The norm of the shares r / threshold above which all joints together feel a contact that none feels alone; at
            least 1, infinite (never) by default.
        alarms: How many alarms there were in these logs, with these thresholds.
        bandwidth_hz: The bandwidth of the observer whose residual they are for, Hz; 20 by default.
        tracked: Whether friction follows the robot in that observer; False by default.
        left_out: How many alarms there would be in regions of positions that are left out, with thresholds from all others.
        raised: The factor by which thresholds are raised for such regions to keep the rate; 1 by default.
    """

    joints: tuple[str, ...]
    speeds: np.ndarray
    torques: np.ndarray
    standing: np.ndarray
    calibration: Calibration
    hours: float
    together: float = np.inf
    alarms: int = 0
    bandwidth_hz: float = 20.0
    tracked: bool = False
    left_out: int = 0
    raised: float = 1.0

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be thresholds: with them a detector would miss contacts, or always feel one."""
        n, knots = len(self.joints), self.speeds.shape[-1] if self.speeds.ndim == 2 else 0
        if knots < 2 or not self.speeds.shape == self.torques.shape == (n, knots) or self.standing.shape != (n,):
            raise TaupiError("each joint needs as many speeds as torques, two at least, and one standing.")
        for joint, speeds, torques, standing in zip(self.joints, self.speeds, self.torques, self.standing, strict=True):
            for torque in torques.tolist():
                if not _TORQUES[0] <= positive(f"a torque of {joint}", torque) <= _TORQUES[1]:
                    raise TaupiError(
                        "a torque of {joint} is {got!r}, expected {low:g} to {high:g} N m or N.",
                        joint=joint,
                        got=torque,
                        low=_TORQUES[0],
                        high=_TORQUES[1],
                    )
            if not (np.isfinite(speeds).all() and speeds[0] >= 0 and (np.diff(speeds) > 0).all()):
                raise TaupiError(
                    "speeds of {joint} are {got}, expected finite ones in rising order.",
                    joint=joint,
                    got=speeds.round(3).tolist(),
                )
            positive(f"standing of {joint}", float(standing))
        positive("hours", self.hours)
        whole_number("alarms", self.alarms, 0)
        observer_bandwidth("bandwidth_hz", self.bandwidth_hz)
        truth("tracked", self.tracked)
        whole_number("left_out", self.left_out, 0)
        positive("raised", self.raised)
        if not self.together >= 1:
            raise TaupiError("{together} is {got!r}, expected at least 1.", got=self.together)

    def at(self, qd: Vector, dry: Vector) -> Vector:
        """Return the thresholds (n,) over SX, at velocities `qd` (n,) of joints that can hold `dry` (n,) of friction at rest."""
        return cs.vertcat(*(self._of_joint(j, cs.fabs(qd[j]), dry[j]) for j in range(len(self.joints))))

    def _of_joint(self, j: int, speed: Expression, dry: Expression) -> Expression:
        stands = cs.fmax(1 - speed / float(self.standing[j]), 0.0)
        return cs.fmax(interpolated(speed, self.speeds[j], self.torques[j]), self.calibration.breakaway * dry * stands)

    def levels(self, felt: Vector, threshold: Vector) -> Vector:
        """Return levels (n,) over SX, above 1 for a contact, of torques that are `felt` (n,) beside their `threshold` (n,).

        Those of single joints are shares felt / threshold. If their norm is further above `together` than the largest share is
        above 1, all are raised by the difference.
        """
        shares = felt / threshold
        most = cs.fmax(cs.mmax(shares), _LITTLE)
        return shares if np.isinf(self.together) else shares * cs.fmax(cs.norm_2(shares) / self.together / most, 1.0)

    def norm(self, residuals: Residuals) -> np.ndarray:
        """Return the norm (N,) of the shares felt / threshold of all joints, along the log of `residuals`."""
        return np.asarray(np.linalg.norm(self._shares(residuals), axis=0))

    def level(self, residuals: Residuals) -> np.ndarray:
        """Return the level (N,) along the log of `residuals`: above 1, some joint feels a contact, or all of them together."""
        shares = self._shares(residuals)
        return np.maximum(shares.max(axis=0, initial=0.0), np.linalg.norm(shares, axis=0) / self.together)

    def _shares(self, residuals: Residuals) -> np.ndarray:
        joints = zip(residuals.torque.T, residuals.speed.T, self.speeds, self.torques, strict=True)
        return np.array([felt / np.interp(speed, v, t) for felt, speed, v, t in joints])

    @property
    def alarms_per_hour(self) -> tuple[float, float]:
        """What the logs alone show: alarms per hour, and the upper 95 % confidence limit of that rate."""
        from scipy.stats import chi2

        return self.alarms / self.hours, float(chi2.ppf(0.95, 2 * (self.alarms + 1)) / 2 / self.hours)

    @property
    def sentence(self) -> str:
        """What is known about false alarms: the rate asked for, and what the logs can show."""
        alarms, (seen, most) = self.calibration.false_alarms_per_hour, self.alarms_per_hour
        parts = f"regions of positions that were left out had {self.left_out}"
        if self.raised > 1:
            parts += f", so that all are raised by a factor of {self.raised:.3g}"
        more = "longer logs of motions like those to come" + ("" if self.tracked else ", or a tracker of friction,")
        helps = "" if most <= _FEW * alarms else f"; {more} would show or make it lower"
        return (
            f"thresholds for {alarms:g} false alarm{'s' * (alarms != 1)} per hour, extrapolated from "
            f"{self.hours * 60:.3g} min without contacts, in which there were {self.alarms} ({seen:.3g} per hour); {parts}; so "
            f"short a time proves no less than {most:.3g} per hour (95 %){helps}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the thresholds as plain data."""
        joints = {
            name: {
                "speeds": self.speeds[j].tolist(),
                "torques": self.torques[j].tolist(),
                "standing": float(self.standing[j]),
            }
            for j, name in enumerate(self.joints)
        }
        observer = {"bandwidth_hz": self.bandwidth_hz, "tracked": self.tracked}
        together = {} if np.isinf(self.together) else {"together": self.together}
        evidence = {"hours": self.hours, "alarms": self.alarms, "left_out": self.left_out, "raised": self.raised}
        return {**self.calibration.to_dict(), **observer, **evidence, **together, "joints": joints}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Thresholds:
        """Return the thresholds that `to_dict` returned as `data`."""
        each = data["joints"].values()
        if len({len(j[key]) for j in each for key in ("speeds", "torques")}) > 1:
            raise TaupiError("the joints do not all have the same number of speeds and torques.")
        return cls(
            joints=tuple(data["joints"]),
            speeds=np.array([j["speeds"] for j in each]),
            torques=np.array([j["torques"] for j in each]),
            standing=np.array([j["standing"] for j in each]),
            calibration=Calibration(data["false_alarms_per_hour"], data["breakaway"]),
            hours=data["hours"],
            together=data.get("together", np.inf),
            alarms=data["alarms"],
            bandwidth_hz=data["bandwidth_hz"],
            tracked=data["tracked"],
            left_out=data.get("left_out", 0),
            raised=data.get("raised", 1.0),
        )

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("joint", "standing", *(f"range {k + 1}" for k in range(self.speeds.shape[1] - 2)))
        ]
        for name, speeds, torques in zip(self.joints, self.speeds, self.torques, strict=True):
            moving = (f"{t:.3g} at {v:.2g}" for v, t in zip(speeds[2:], torques[2:], strict=True))
            rows.append((name, f"{torques[0]:.3g}", *moving))
        joined = f"all joints together: from {self.together:.3g} on, the norm of their shares of these thresholds"
        return "\n".join([self.sentence, *table(rows), *([] if np.isinf(self.together) else [joined])])


def calibrated(observer: MomentumObserver, logs: Sequence[Log], calibration: Calibration) -> ContactDetector:
    """Return a detector: an `observer` with thresholds from `logs` without contacts, by a `calibration`."""
    from taupi.identification.online.contacts import ContactDetector

    if not logs:
        raise TaupiError("{logs} is empty, expected logs of motions without contacts.")
    untracked = replace(observer, tracker=None)
    seen = [Residuals.of(untracked, observer, log) for log in logs]
    thresholds = _of_joints(observer, seen, calibration)
    if observer.tracker is not None:
        # A tracker starts without knowledge, and learns only below a share of the thresholds. Thresholds of the residual after it
        # has learnt would be exceeded before, and would keep it from learning: so they are at least those without a tracker.
        plain = replace(thresholds, tracked=True)
        detector = ContactDetector(observer, plain)
        seen = [Residuals.of(detector, observer, log) for log in logs]
        torques = _of_joints(observer, seen, calibration).torques
        thresholds = replace(plain, torques=np.maximum(plain.torques, torques))
    thresholds = raised_by_left_out(with_together(thresholds, seen), seen, calibration)
    detector = ContactDetector(observer, thresholds)
    alarms = sum(len(detector.contacts(log)) for log in logs)
    return replace(detector, thresholds=replace(thresholds, alarms=alarms))


def _of_joints(observer: MomentumObserver, residuals: Sequence[Residuals], calibration: Calibration) -> Thresholds:
    """Return thresholds of the joints of an `observer`, each alone."""
    result = find_thresholds(observer.robot.joint_names, _STANDS * observer.model.widths, residuals, calibration)
    return replace(result, bandwidth_hz=observer.bandwidth_hz)


def with_together(thresholds: Thresholds, residuals: Sequence[Residuals]) -> Thresholds:
    """Return the `thresholds` with that of all joints together, from `residuals` without contacts.

    Without a contact, a residual of the same size is rarer in many joints at once than in a single joint.
    """
    tail = Tail.of([_peaks_of(thresholds.norm(r), r.stretch) for r in residuals])
    rate = (1 - _ALONE) * thresholds.calibration.false_alarms_per_hour
    return replace(thresholds, together=max(tail.exceeded(rate, thresholds.hours, _shape_in_motion([tail])), 1.0))


def raised_by_left_out(thresholds: Thresholds, residuals: Sequence[Residuals], calibration: Calibration) -> Thresholds:
    """Return `thresholds` raised until regions of positions that they were not found from keep the rate, too.

    Thresholds from all other regions are held against one region after the other: what a model leaves where it moves elsewhere is
    more than where it has been looked at. If there are more alarms than chance allows at the rate of the `calibration`, the
    factor is the level r / threshold that these regions exceed at this rate.
    """
    from scipy.stats import poisson

    stretches = [_means(r.q, r.stretch) for r in residuals]
    regions = Blocks.regions(np.concatenate([means for means, _ in stretches]), _REGIONS)
    ends = np.cumsum([0, *(len(means) for means, _ in stretches)])
    labels = [regions.of_row[a:b][places] for (_, places), a, b in zip(stretches, ends[:-1], ends[1:], strict=True)]
    peaks, alarms = [], 0
    for k in range(regions.count):
        rest = [r.part(own != k) for r, own in zip(residuals, labels, strict=True)]
        if not sum(r.seconds for r in rest) >= _SHORTEST:
            return thresholds
        others = with_together(find_thresholds(thresholds.joints, thresholds.standing, rest, calibration), rest)
        for r, own in zip(residuals, labels, strict=True):
            part = r.part(own == k)
            peaks.append(_peaks_of(others.level(part), part.stretch))
            alarms += int((peaks[-1] > 1).sum())
    rate, raised = calibration.false_alarms_per_hour, 1.0
    if poisson.sf(alarms - 1, rate * thresholds.hours) < _BY_CHANCE:
        tail = Tail.of(peaks)
        level = tail.exceeded(rate, thresholds.hours, _shape_in_motion([tail]))
        raised = max(min(level, float(np.concatenate(peaks).max())), 1.0)
    return replace(thresholds, torques=raised * thresholds.torques, left_out=alarms, raised=raised)


def _means(values: np.ndarray, stretches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means (k, n) of `values` (N, n) over stretches, by their numbers (N,), and which one (N,) each belongs to."""
    _, places = np.unique(stretches, return_inverse=True)
    sums = np.zeros((places.max() + 1, values.shape[1]))
    np.add.at(sums, places, values)
    return sums / np.bincount(places)[:, None], places


@dataclass(frozen=True, eq=False)
class Residuals:
    """The felt residual, the speed |qd| and q, (N, n) each along a log, and the number (N,) of each sample's stretch."""

    torque: np.ndarray
    speed: np.ndarray
    q: np.ndarray
    stretch: np.ndarray
    seconds: float

    def part(self, samples: np.ndarray) -> Residuals:
        """Return the residuals of the `samples` (N,) that are True."""
        share = float(samples.mean())
        parts = self.torque[samples], self.speed[samples], self.q[samples], self.stretch[samples]
        return Residuals(*parts, self.seconds * share)

    @classmethod
    def of(cls, component: MomentumObserver | ContactDetector, observer: MomentumObserver, log: Log) -> Residuals:
        """Return what a `component`, the `observer` or its detector, sees in a `log`."""
        seconds, signals = observer.log_signals(log)
        residual = component.over(seconds, signals)["tau_ext"]
        return cls.along(log, residual, signals[1])

    @classmethod
    def along(cls, log: Log, residual: np.ndarray, qd: np.ndarray) -> Residuals:
        """Return the residuals for a given `residual` (N, n) along a `log` with velocities `qd` (N, n)."""
        time = log.time - log.time[0]
        return cls(felt_torque(residual), np.abs(qd), log.q, (time // _STRETCH).astype(int), log.duration)


def felt_torque(residual: np.ndarray) -> np.ndarray:
    """Return the value that a detector compares, at each sample (N, n): the smaller of |r| now and before, 0 if signs differ.

    Thresholds are tails of this, not of |r|: noise of single samples then does not raise them.
    """
    last = np.concatenate([np.zeros_like(residual[:1]), residual[:-1]])
    return np.where(residual * last > 0, np.minimum(np.abs(residual), np.abs(last)), 0.0)


def find_thresholds(
    joints: tuple[str, ...], standing: np.ndarray, residuals: Sequence[Residuals], calibration: Calibration
) -> Thresholds:
    """Return the thresholds of `joints` alone that stand below the speeds `standing` (n,), from `residuals` without contacts."""
    hours = sum(r.seconds for r in residuals) / 3600
    if not 3600 * hours >= _SHORTEST:
        raise TaupiError(
            "The logs last {hours:.3g} s, expected at least {shortest:g} s: less says nothing of rare residuals.",
            remedy="Give logs of motions without contacts, of a minute or more.",
            hours=3600 * hours,
            shortest=_SHORTEST,
        )
    n, rate = len(joints), _ALONE * calibration.false_alarms_per_hour / len(joints) / (_RANGES + 1)
    edges = [_edges(np.concatenate([r.speed[:, j] for r in residuals]), standing[j]) for j in range(n)]
    tails = []
    for j, own in enumerate(edges):
        moving = zip(own[:-1].tolist(), [*own[1:-1].tolist(), np.inf], strict=True)
        ranges = [(0.0, standing[j]), *moving]
        tails.append([Tail.of([_peaks(r, j, *ends) for r in residuals]) for ends in ranges])
    in_motion = _shape_in_motion([t for row in tails for t in row[1:]])
    shapes = [_shape_at_rest([row[0] for row in tails]), *[in_motion] * _RANGES]
    torques = []
    for j, row in enumerate(tails):
        joint = Tail.of([_peaks(r, j, 0.0, np.inf) for r in residuals])
        above = [
            (t if t.count >= _FEWEST else joint).exceeded(rate, hours, c) for t, c in zip(row, shapes, strict=True)
        ]
        torques.append([above[0], *above])
    speeds = [_increasing([0.0, standing[j], *((e[:-1] + e[1:]) / 2)]) for j, e in enumerate(edges)]
    return Thresholds(joints, np.array(speeds), np.array(torques), standing, calibration, hours)


def _edges(speeds: np.ndarray, standing: float) -> np.ndarray:
    """Return the ends of the ranges of a joint's speeds above standstill, with equally many samples in each."""
    moving = speeds[speeds >= standing]
    return np.quantile(moving, np.linspace(0, 1, _RANGES + 1)) if len(moving) else np.full(_RANGES + 1, standing)


def _peaks(r: Residuals, joint: int, low: float, high: float) -> np.ndarray:
    """Return the largest residual of each stretch among the samples of a joint between two speeds."""
    use = (r.speed[:, joint] >= low) & (r.speed[:, joint] < high)
    return _peaks_of(r.torque[use, joint], r.stretch[use])


def _peaks_of(values: np.ndarray, stretches: np.ndarray) -> np.ndarray:
    """Return the largest of `values` (N,) in each of the stretches whose numbers are `stretches` (N,)."""
    numbers, places = np.unique(stretches, return_inverse=True)
    peaks = np.zeros(len(numbers))
    np.maximum.at(peaks, places, values)
    return peaks


@dataclass(frozen=True)
class Tail:
    """The largest residuals of `count` stretches: a quantile `level` of them, and the excesses over it."""

    count: int
    level: float
    excesses: np.ndarray

    @classmethod
    def of(cls, peaks: Sequence[np.ndarray]) -> Tail:
        """Return the tail of the `peaks` of several logs."""
        values = np.concatenate(peaks)
        level = float(np.quantile(values, _TAIL)) if len(values) else 0.0
        return cls(len(values), level, values[values > level] - level)

    def exceeded(self, rate: float, hours: float, shape: float) -> float:
        """Return the residual that is exceeded `rate` times per hour, if the peaks came in so many `hours`.

        Excesses have the distribution 1 - (1 + c x / b)^(-1/c), or 1 - exp(-x / b) for a `shape` c of 0 (Pickands 1975); b is
        that of their median, which single outliers, such as brakes that open, do not move. It is made larger by 1 / sqrt(count),
        about its standard error, so that short logs have higher thresholds.
        """
        if not len(self.excesses):
            return max(self.level, 1e-12)
        count = len(self.excesses)
        median, ratio = float(np.median(self.excesses)) * (1 + 1 / np.sqrt(count)), max(count / hours / rate, 1.0)
        if abs(shape) < 1e-6:
            return self.level + median * float(np.log2(ratio))
        return self.level + median * float((ratio**shape - 1) / (2**shape - 1))


def _shape_in_motion(tails: Sequence[Tail]) -> float:
    """Return the shape c of the tails of several joints that move, from their excesses in units of their medians.

    By probability-weighted moments (Hosking & Wallis 1987, with c = -k), and one standard error more, so that short logs have
    heavier tails. Never heavier than exponential: a single outlier, such as a brake that opens, is not a tail.
    """
    x = np.sort(_in_medians(tails))
    count = len(x)
    if not count:
        return 0.0
    mean, weighted = x.mean(), np.mean((1 - (np.arange(count) + 0.65) / count) * x)
    k = max(float(mean / (mean - 2 * weighted)) - 2, 0.0)
    variance = (1 + k) * (2 + k) ** 2 * (1 + k + 2 * k * k) / ((1 + 2 * k) * (3 + 2 * k)) / count
    return float(np.clip(np.sqrt(variance) - k, *_SHAPES))


def _shape_at_rest(tails: Sequence[Tail]) -> float:
    """Return the shape c of the tails of several standing joints: such a tail ends at what friction can hold.

    Quartiles of the excesses show it even if some joints break away: x_75 / x_50 = 2^c + 1 (Pickands 1975). One standard
    error more, by the delta method about 3.5 / sqrt(count), makes the tails of short logs heavier.
    """
    x = _in_medians(tails)
    if not len(x):
        return 0.0
    shape = np.log2(max(float(np.quantile(x, 0.75)) - 1, 1e-6))
    return float(np.clip(shape + 3.5 / np.sqrt(len(x)), *_SHAPES))


def _in_medians(tails: Sequence[Tail]) -> np.ndarray:
    """Return the excesses of several tails together, each in units of its own median."""
    own = [t.excesses / np.median(t.excesses) for t in tails if len(t.excesses) >= 3]
    return np.concatenate(own) if own else np.zeros(0)


def _increasing(knots: Sequence[float]) -> np.ndarray:
    """Return increasing knots: one that does not increase is moved slightly past the one before."""
    result = [float(knots[0])]
    for knot in knots[1:]:
        result.append(max(float(knot), result[-1] * (1 + 1e-6) + 1e-9))
    return np.array(result)


_SCHEMA = 2
_REMEDY = "Write thresholds with taupi contacts ... -o thresholds.json."


class JointData(TypedDict):
    """The thresholds of a joint."""

    speeds: list[float]
    torques: list[float]
    standing: float


class ThresholdsData(TypedDict):
    """What a file of thresholds must hold."""

    joints: dict[str, JointData]
    false_alarms_per_hour: float
    breakaway: float
    hours: float
    alarms: int
    bandwidth_hz: float
    tracked: bool


class OptionalData(ThresholdsData, total=False):
    """Optional entries."""

    together: float
    left_out: int
    raised: float


def write_thresholds(thresholds: Thresholds, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write `thresholds` as JSON to `path`; a file that exists is overwritten only with `force`."""
    data = {"schema": _SCHEMA, "taupi": __version__, **thresholds.to_dict()}
    write_text(path, json.dumps(data, indent=2) + "\n", force)


def read_thresholds(path: str | os.PathLike[str], robot: Robot) -> Thresholds:
    """Return the thresholds in the file at `path`, which are for the joints of a `robot`."""
    file, expected = path_of(path, "the path of a file"), "thresholds of contacts"
    where = printable(file)
    data = parse_json(read_bytes(file, expected), where, expected)
    if not isinstance(data, dict) or not {"schema", "joints"} <= set(data):
        raise TaupiError("{where} holds no thresholds.", remedy=_REMEDY, where=where)
    if data["schema"] != _SCHEMA:
        raise TaupiError(
            "{where} has schema {schema!r}, this version reads {other_schema}.",
            remedy=_REMEDY,
            where=where,
            schema=data["schema"],
            other_schema=_SCHEMA,
        )
    try:
        data = conformed(data, OptionalData, "it")
        thresholds = Thresholds.from_dict(data)
    except TaupiError as error:
        raise TaupiError(
            "{where} is damaged: {error}", remedy=_REMEDY, where=where, error=str(error).removeprefix("it: ")
        ) from None
    if thresholds.joints != robot.joint_names:
        own, known = (", ".join(names) for names in (thresholds.joints, robot.joint_names))
        raise TaupiError("{where} has thresholds of {own}, expected {known}.", where=where, own=own, known=known)
    return thresholds
