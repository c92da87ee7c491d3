"""What the signals of a log show by themselves, before any model: named first, and mended for all that is tried afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from taupi.identification.folds.left_out import Score
from taupi.identification.results.verdict import Level, Reason, percent
from taupi.identification.rows.recording import Recording
from taupi.identification.verdict.study import LogChange, Study
from taupi.signals.checking import rules
from taupi.signals.checking.clean import in_order
from taupi.signals.log import Log
from taupi.signals.stretches import Stretches

# More time stamps than this share that repeat the one before, or step backwards, are no accident.
_REPEATED = 0.02
# Missing samples: a step of all joints together along their motion that is this many samples long, far beyond the scatter of
# steps, and of which the motion of the neighbours explains all but this share.
_STEPS, _SCATTER, _LEFT, _NEIGHBOURS = 4.0, 20.0, 0.2, 6
# ... at least so many of them: one or two may be a motion that starts.
_LEAST_GAPS = 3
# Spikes leave the range of the others by this much and come back within two samples; their neighbours move a quarter as much.
_LEAVES, _QUIET = 1.5, 0.25
# With less than this share of the power of a signal, they change a fit by less than friction does: they are worth knowing.
_MATTERS = 0.01
# A channel with a hundredth of the largest one's power, a tenth of its size, carries something.
_CARRIES = 0.01
# Below this share of samples, clipping changes nothing that a fit would show.
_CLIPPED = 0.01
# A torque that varies by less than this share of the largest one is constant; a position that varies by less than this, rad or m,
# is stuck if the torque of its joint varies by more than this share of the largest.
_CONSTANT, _STUCK, _ACTIVE = 1e-9, 1e-4, 0.02
# No drive, and no sensor behind one, has so little friction and noise at every joint: 2 % of the torque, of which friction
# columns explain less than half of the power.
_EXACT, _NO_FRICTION = 0.02, 0.5
# Noise of q below this share of its range is that of rounding.
_ROUNDED = 1e-9
# For white noise, the 8th differences are 3.7 times the 6th ones; for a motion that is smooth at this rate, they are smaller.
_WHITE = 2.0
_ORDER, _GAIN = 6, 924.0  # and the variance that 6th differences of unit white noise have

# Signals in which a spike is looked for.
_SIGNALS = ("q", "qd", "tau")


def mended(log: Log) -> Log:
    """Return a log in the order of time, without repeated stamps, jumps by a turn, and spikes."""
    log = in_order(log)
    q = log.q.copy()
    for j in range(log.n):
        if log.units[j] == "rad" and rules.turns(q[:, j]).any():
            q[:, j] = np.unwrap(q[:, j])
    changed = {"q": q}
    for name, value in log.signals.items():
        column = q if name == "q" else value
        for j in range(column.shape[1]):
            wrong = spikes(column[:, j]) | ~np.isfinite(column[:, j])
            if wrong.any() and not wrong.all():
                column = column.copy()
                column[wrong, j] = np.interp(log.time[wrong], log.time[~wrong], column[~wrong, j])
        changed[name] = column
    return log.with_(**changed)


# A log that is streamed is looked at in parts of so many samples: memory does not grow with it.
_PART = 200_000


@dataclass(eq=False)
class Extremes:
    """How many samples of a channel stay at its largest and at its smallest value, and in how many stretches.

    `alike` are those that have the most common value of their part.
    """

    values: list[float] = field(default_factory=lambda: [-np.inf, -np.inf])
    counts: list[int] = field(default_factory=lambda: [0, 0])
    stretches: list[int] = field(default_factory=lambda: [0, 0])
    samples: int = 0
    alike: float = 0.0

    def add(self, x: np.ndarray) -> None:
        """Add the next samples (N,) of the channel."""
        known = x[np.isfinite(x)]
        self.samples += len(known)
        self.alike += rules.most_common(known)[1] * len(known)
        for k, signed in enumerate((known, -known)):
            top = float(signed.max(initial=-np.inf))
            if top < self.values[k]:
                continue
            if top > self.values[k]:
                self.values[k], self.counts[k], self.stretches[k] = top, 0, 0
            held = Stretches.of(signed == top).at_least(rules.STUCK)
            self.counts[k] += held.count
            self.stretches[k] += len(held)

    @property
    def held(self) -> int:
        """The number of samples at an extreme that it reaches more than once; 0 if it hardly ever has another value."""
        if self.alike > rules.DEAD * self.samples:
            return 0
        return sum(count for count, stretches in zip(self.counts, self.stretches, strict=True) if stretches >= 2)


@dataclass(eq=False)
class Spikes:
    """The spikes of a channel: how many, the largest, and their squares beside those of all samples."""

    count: int = 0
    largest: float = 0.0
    squares: float = 0.0
    power: float = 0.0

    def add(self, x: np.ndarray) -> None:
        """Add the next samples (N,) of the channel."""
        wrong = spikes(x)
        self.power += float(np.nansum(x**2))
        self.count += int(wrong.sum())
        self.squares += float(np.nansum((x[wrong] - np.nanmedian(x)) ** 2)) if wrong.any() else 0.0
        self.largest = max([self.largest, *x[wrong].tolist()], key=abs)


class ShownSignals:
    """What the signals of a log show, gathered from its parts one after the other.

    Attributes:
        samples: The number of samples.
        repeated: How many of their stamps repeat the one before.
        backwards: How many of them are earlier than the one before.
        missing: Of each step at which samples are missing, how many they are.
        turns: How often the angle of each joint (n,) jumps by a turn.
        q: The smallest and the largest position (2, n) of each joint.
        tau: The same of its torque.
        moments: The number of samples of the torque, their mean, and their squares about it, (n,) each.
        first: The first torque (n,).
        spikes: By signal and joint.
        extremes: Of torques and currents, by signal and joint.
    """

    def __init__(self, n: int) -> None:
        self.samples = self.repeated = self.backwards = 0
        self.missing: list[float] = []
        self.turns = np.zeros(n, dtype=int)
        self.q = self.tau = np.array([np.full(n, np.inf), np.full(n, -np.inf)])
        self.moments = np.zeros((3, n))
        self.first = np.zeros(n)
        self.spikes: dict[tuple[str, int], Spikes] = {}
        self.extremes: dict[tuple[str, int], Extremes] = {}
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, recording: Recording, study: Study) -> ShownSignals:
        """Return what the signals of a recording show."""
        result = cls(study.n)
        for part in recording.source.parts(_PART):
            result.add(part, study.torque(part))
        return result

    def add(self, log: Log, tau: np.ndarray) -> None:
        """Add the next part of the log, and its torque (N, n)."""
        before = (log.time[:0], log.q[:0]) if self._last is None else self._last  # steps from part to part count, too
        time, q = np.append(before[0], log.time), np.vstack([before[1], log.q])
        if not self.samples:
            self.first = tau[0]
        self.samples += len(log)
        self._last = time[-1:], q[-1:]
        forward = np.append(True, np.diff(np.fmax.accumulate(time)) > 0)
        self.repeated += int((np.diff(time) == 0).sum())
        self.backwards += int((np.diff(time) < 0).sum())
        whole = forward & np.isfinite(q).all(axis=1)
        if whole.sum() > 4 * _NEIGHBOURS:
            self.missing += [length for _, length in missing_samples(time[whole], q[whole])]
        self.turns += [int(rules.turns(q[:, j]).sum()) if unit == "rad" else 0 for j, unit in enumerate(log.units)]
        self.q, self.tau = _extent(self.q, log.q), _extent(self.tau, tau)
        known = np.isfinite(tau)
        count = known.sum(axis=0)
        mean = np.where(known, tau, 0.0).sum(axis=0) / np.maximum(count, 1)
        own = np.array([count, mean, np.where(known, (tau - mean) ** 2, 0.0).sum(axis=0)])
        self.moments = _joined(self.moments, own)
        for name in dict.fromkeys((*_SIGNALS, *rules.EFFORTS)):
            for j, x in enumerate(log.signals.get(name, np.zeros((0, 0))).T):
                if name in _SIGNALS:
                    self.spikes.setdefault((name, j), Spikes()).add(x)
                if name in rules.EFFORTS:
                    self.extremes.setdefault((name, j), Extremes()).add(x)


def _extent(before: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the smallest and the largest (2, n) of those `before` and of `values` (N, n) that are finite."""
    values = np.where(np.isfinite(values), values, np.nan)
    return np.array([np.fmin(before[0], np.fmin.reduce(values)), np.fmax(before[1], np.fmax.reduce(values))])


def _joined(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the number, the mean and the squares about it, (3, n), of two sets of samples together (Chan et al. 1979)."""
    count = a[0] + b[0]
    share = b[0] / np.maximum(count, 1)
    return np.array([count, a[1] + share * (b[1] - a[1]), a[2] + b[2] + a[0] * share * (b[1] - a[1]) ** 2])


def shown(study: Study) -> Iterator[Reason]:
    """Yield what the signals show: the stamps, then q, then tau."""
    logs = [ShownSignals.of(recording, study) for recording in study.recordings]
    names = study.robot.joint_names
    yield from _stamps(logs)
    yield from _dropped(logs)
    yield from _wrapped(logs, names)
    yield from _stuck(logs, names)
    yield from _spiked(logs, names)
    yield from _constant(logs, names)
    yield from _clipped(logs, names)


def _stamps(logs: Sequence[ShownSignals]) -> Iterator[Reason]:
    repeated, backwards = (
        max(count / max(log.samples - 1, 1) for count, log in zip(counts, logs, strict=True))
        for counts in ([log.repeated for log in logs], [log.backwards for log in logs])
    )
    if max(repeated, backwards) > _REPEATED:
        share, fault = max((repeated, "repeat"), (backwards, "are earlier than"))
        yield Reason(
            "stamps",
            f"{percent(share)} of the time stamps {fault} the one before.",
            Level.DOUBTFUL,
            (),
            {"share": share},
            "Record the time of each sample, or give the rate in a mapping.",
        )


def missing_samples(time: np.ndarray, q: np.ndarray) -> list[tuple[int, float]]:
    """Return where q (N, n) steps along its motion though time goes on evenly, with the number of samples that each step takes.

    >>> import numpy as np
    >>> t = np.arange(0, 10, 0.01)
    >>> q = np.stack([np.sin(t), np.cos(1.3 * t)], axis=1)
    >>> some = np.delete(np.arange(1000), np.r_[200:208, 500:512])
    >>> [(k, round(n)) for k, n in missing_samples(t[: len(some)], q[some])]
    [(199, 9), (491, 13)]
    """
    step = float(np.median(np.diff(time)))
    # Stamps that jitter divide by next to nothing: where less time went by than usual, nothing is missing.
    steps = np.diff(q, axis=0) / np.maximum(np.diff(time) / step, 1.0)[:, None]
    w, count = _NEIGHBOURS, len(steps)
    sums = np.cumsum(np.vstack([np.zeros((1, q.shape[1])), steps]), axis=0)
    first, last = np.clip(np.arange(count) - w, 0, count), np.clip(np.arange(count) + w + 1, 0, count)
    usual = (sums[last] - sums[first] - steps) / (last - first - 1)[:, None]
    scatter = np.maximum(1.4826 * np.median(np.abs(steps - usual), axis=0), 1e-4 * np.ptp(q, axis=0) + 1e-12)
    size = np.sqrt((((steps - usual) / scatter) ** 2).mean(axis=1))
    found: list[tuple[int, float]] = []
    for k in np.flatnonzero(size > _SCATTER).tolist():
        if found and k - found[-1][0] < w:
            continue
        beside = np.vstack([steps[max(0, k - w - 1) : max(0, k - 1)], steps[k + 2 : k + w + 2]])
        if not len(beside):
            continue
        motion, jump = beside.mean(axis=0) / scatter, steps[k] / scatter
        length = float(motion @ jump / max(motion @ motion, 1e-12))
        left = float(((jump - length * motion) ** 2).sum() / max(((jump - motion) ** 2).sum(), 1e-300))
        if length > _STEPS and left < _LEFT:
            found.append((k, length))
    return found


def _dropped(logs: Sequence[ShownSignals]) -> Iterator[Reason]:
    found = [length for log in logs for length in log.missing]
    if len(found) >= _LEAST_GAPS:
        length = float(np.median(found))
        yield Reason(
            "dropped",
            f"Samples are missing {len(found)} times, some {length:.0f} at once, while the time stamps go on evenly.",
            Level.DOUBTFUL,
            (),
            {"count": len(found), "samples": length},
            "Record again without losses, or give each sample the time of its measurement.",
        )


def _wrapped(logs: Sequence[ShownSignals], names: Sequence[str]) -> Iterator[Reason]:
    jumps = np.sum([log.turns for log in logs], axis=0).tolist()
    joints = [j for j, count in enumerate(jumps) if count]
    if joints:
        count = sum(jumps)
        yield Reason(
            "wrapped",
            f"q of {', '.join(names[j] for j in joints)} jumps by a turn {count} time{'s' if count > 1 else ''}.",
            Level.DOUBTFUL,
            tuple(names[j] for j in joints),
            {"jumps": count},
            "State wraps = true for q in the mapping, or unwrap it: log.with_(q=np.unwrap(log.q, axis=0)).",
        )


def spikes(x: np.ndarray) -> np.ndarray:
    """Return which values (N,) leave the range of the others for at most two samples and come back at once.

    A transient of a drive leaves the range, too, but takes its time.

    >>> import numpy as np
    >>> np.flatnonzero(spikes(np.append(np.sin(np.arange(500) / 9), [90.0, 0.2, 0.3, 0.4, 0.5])))
    array([500])
    >>> np.flatnonzero(spikes(np.sin(np.arange(500) / 9) + 9 * np.exp(-0.1 * (np.arange(500.0) - 200) ** 2)))
    array([], dtype=int64)
    """
    result, known = np.zeros(len(x), dtype=bool), np.isfinite(x)
    if known.sum() < 10:
        return result
    low, high = np.quantile(x[known], (0.01, 0.99))
    extent = high - low + 1e-12
    with np.errstate(invalid="ignore"):
        far = np.flatnonzero(np.abs(x - np.median(x[known])) > _LEAVES * extent)
    for k in far.tolist():
        before, after = x[max(0, k - 3) : max(0, k - 1)], x[k + 2 : k + 4]
        if not (len(before) and len(after)):  # where a log begins or ends, nothing shows that it comes back
            continue
        sides = [before.mean(), after.mean()]
        middle = float(np.mean(sides))
        quiet = max(abs(sides[1] - sides[0]), *np.abs(before - sides[0]).tolist(), *np.abs(after - sides[1]).tolist())
        jump = abs(x[k] - middle)
        longer = np.abs(x[[k - 1, k + 1]] - middle).min() > jump / 2  # three samples or more, such as those of a decay
        result[k] = jump > extent and quiet < _QUIET * jump and not longer
    return result


def _spiked(logs: Sequence[ShownSignals], names: Sequence[str]) -> Iterator[Reason]:
    found = [(name, j, channel) for log in logs for (name, j), channel in log.spikes.items() if channel.count]
    count, joints = sum(channel.count for *_, channel in found), {j for _, j, _ in found}
    # What a channel that carries next to nothing holds changes a fit as little.
    floors = {
        name: _CARRIES * max(channel.power for log in logs for (n, _), channel in log.spikes.items() if n == name)
        for name, *_ in found
    }
    share = max((c.squares / max(c.power, floors[name], 1e-300) for name, _, c in found), default=0.0)
    worst = max(
        ((f"{name} of {names[j]}", c.largest) for name, j, c in found), key=lambda each: abs(each[1]), default=("", 0.0)
    )
    if count:
        more = f" (and {count - 1} more such values)" if count > 1 else ""
        yield Reason(
            "spikes",
            f"{worst[0]} has a spike of {worst[1]:.3g}{more}.",
            Level.DOUBTFUL if share > _MATTERS else Level.GOOD,
            tuple(names[j] for j in sorted(joints)),
            {"largest": worst[1], "count": count},
            "Take them out of the log, or mark them as missing (nan).",
        )


def _torques(logs: Sequence[ShownSignals]) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the range (n,) and the standard deviation (n,) of the torques over all logs, and the largest torque."""
    low, high = np.min([log.tau[0] for log in logs], axis=0), np.max([log.tau[1] for log in logs], axis=0)
    count, _, squares = reduce(_joined, [log.moments for log in logs])
    return high - low, np.sqrt(squares / np.maximum(count, 1)), float(np.fmax.reduce(np.abs([low, high]), axis=None))


def _travel(logs: Sequence[ShownSignals]) -> np.ndarray:
    """Return the range (n,) of the positions over all logs."""
    return np.asarray(np.max([log.q[1] for log in logs], axis=0) - np.min([log.q[0] for log in logs], axis=0))


def _stuck(logs: Sequence[ShownSignals], names: Sequence[str]) -> Iterator[Reason]:
    travel = _travel(logs)
    _, torque, largest = _torques(logs)
    stuck = [j for j in range(len(names)) if travel[j] < _STUCK and torque[j] > _ACTIVE * largest]
    if stuck:
        yield Reason(
            "stuck",
            f"q of {', '.join(names[j] for j in stuck)} stands still while its torque changes by {torque[stuck[0]]:.3g}.",
            Level.DOUBTFUL,
            tuple(names[j] for j in stuck),
            {"travel": float(travel[stuck[0]])},
            "If the joint was held, all is well; else its encoder is stuck, or its column is another one.",
        )


def _constant(logs: Sequence[ShownSignals], names: Sequence[str]) -> Iterator[Reason]:
    extent, _, largest = _torques(logs)
    still = [j for j in range(len(names)) if extent[j] <= _CONSTANT * largest]
    if still and largest:
        value = float(logs[0].first[still[0]])
        # A joint that takes no part, such as a gripper, is worth knowing; one that moves without torque, or all of them, a doubt.
        idle = len(still) < len(names) and bool((_travel(logs)[still] < _STUCK).all())
        yield Reason(
            "constant",
            f"tau of {', '.join(names[j] for j in still)} has one and the same value, {value:.3g}, all the time.",
            Level.GOOD if idle else Level.DOUBTFUL,
            tuple(names[j] for j in still),
            {"value": value},
            "It is no measurement: leave the joint out of the mapping and lock it, or log its torque.",
        )


def _clipped(logs: Sequence[ShownSignals], names: Sequence[str]) -> Iterator[Reason]:
    """Yield one reason for the joints whose torque, or current, stays at its extreme for more than 1 % of the samples."""
    total, shares = max(sum(log.samples for log in logs), 1), dict[str, float]()
    for j, joint in enumerate(names):
        counts = [max(each.held for (_, k), each in log.extremes.items() if k == j) for log in logs]
        shares[joint] = sum(counts) / total
    over = {joint: share for joint, share in shares.items() if share > _CLIPPED}
    if not over:
        return
    worst = max(over, key=lambda joint: over[joint])
    others = f" (also {', '.join(j for j in over if j != worst)})" if len(over) > 1 else ""
    yield Reason(
        "clipped",
        f"tau of {worst}{others} is clipped: {percent(over[worst])} of its samples share one largest or smallest value.",
        Level.DOUBTFUL,
        tuple(over),
        {"share": over[worst]},
        "Record again with a larger limit or a slower motion, or leave these samples out.",
    )


def _at_extremes(x: np.ndarray) -> int:
    """Return the number of samples at the extremes of a channel; 0 if it hardly ever has another value."""
    extremes = Extremes()
    extremes.add(x)
    return extremes.held


def limited(log: Log) -> np.ndarray:
    """Return which samples (N,) of a log have a torque, or current, at a limit, if this is more than 1 % of them."""
    result = np.zeros(len(log), dtype=bool)
    for name, value in log.signals.items():
        for x in value.T if name in rules.EFFORTS else ():
            if _at_extremes(x) > _CLIPPED * len(x):
                result |= rules.saturation(x).mask(len(x))
    return result


def computed(study: Study) -> Reason | None:
    """Return the reason if a model without friction explains tau of every joint, though q has the noise of a measurement.

    A simulation without noise is not such a log: its q is smooth.
    """
    links = Score.of(study.grams(LogChange()).select(np.arange(len(study.link_columns))), study.live)
    errors = np.sqrt(links.joints[study.live])
    if not len(errors) or not np.isfinite(errors).all() or errors.max() > _EXACT or not _measured(study):
        return None
    if (study.base_score.joints < _NO_FRICTION * links.joints)[
        study.live & (np.sqrt(links.joints) > _EXACT / 10)
    ].any():
        return None
    worst = float(errors.max())
    return Reason(
        "computed",
        f"tau looks computed by a model, not measured: links without any friction explain it to {percent(worst)} at every "
        "joint, but q has noise.",
        Level.DOUBTFUL,
        (),
        {"error": worst},
        "Log the torque of the sensors, or of the motor currents, not that of the controller's model.",
    )


def _measured(study: Study) -> bool:
    """Return whether q of most joints that move has noise of its own."""
    several = []
    for log in study.logs:
        q = log.q[:, study.live]
        if len(q) < 10 * _ORDER or not np.isfinite(q).all():
            continue
        sixth = np.diff(q, _ORDER, axis=0)
        level, next_level = sixth.std(axis=0), np.diff(sixth, 2, axis=0).std(axis=0)
        several.append((level > np.sqrt(_GAIN) * _ROUNDED * np.ptp(q, axis=0)) & (next_level > _WHITE * level))
    return bool(several) and float(np.mean(np.concatenate(several))) > 0.5
