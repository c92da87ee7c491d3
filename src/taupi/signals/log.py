"""A log: what a robot's joints did over time, as frozen arrays with a record of where they come from."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.checks import real_array, whole_number
from taupi.errors import Argument, TaupiError, ordinal, unknown
from taupi.signals.base_motion import BaseMotion, checked_base, checked_contacts, checked_wrenches
from taupi.signals.drive import Drive
from taupi.signals.known_torque import check_known_torque
from taupi.signals.stretches import Stretches, gap_rows
from taupi.tables import html_lines, html_table, span_of, table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from taupi.model.robot import Robot
    from taupi.signals.mapping.columns import ColumnsLike


DataFrame = Any  # pandas.DataFrame, which is not needed to import this module

# Joint side, then motor side; each is (N, n) or None. Units are for a revolute joint.
SIGNALS: dict[str, str] = {
    "q": "rad",
    "qd": "rad/s",
    "qdd": "rad/s^2",
    "tau": "N m",
    "current": "A",
    "voltage": "V",
    "theta": "rad",
    "thetad": "rad/s",
    "thetadd": "rad/s^2",
    "tau_m": "N m",
    "tau_known": "N m",
    "qdes": "rad",
    "qd_des": "rad/s",
    "tau_ff": "N m",
    "volts": "V",
    "temperature": "C",
    "enabled": "1",
}
# What was sent to the joints, which holds from one sample to the next; nothing of it is measured, so nothing of it is smoothed.
COMMANDS = ("qdes", "qd_des", "tau_ff", "enabled")
# What a robot may have once for all joints: one column stands for each of them.
SHARED = ("volts", "temperature", "enabled")
_STEPS = (1e-12, 1e12)  # s: the shortest and longest mean step of a clock
# The constants of motors, in a mapping, with which the torque follows from what drives them.
_CONSTANTS = {"current": "torque_per_ampere", "voltage": "torque_per_volt"}


@dataclass(frozen=True, slots=True)
class LogSource:
    """Where a log was read from: the `path`, the `sha256` of its bytes, the name of the `format`, and the time it begins at.

    `origin` is the time of its first sample, s of its own clock, from which `begin` and `end` count; None if all of it was kept.
    """

    path: str = ""
    sha256: str = ""
    format: str = "python"
    origin: float | None = None


@dataclass(frozen=True, slots=True)
class Filtering:
    """How a log was filtered and differentiated.

    Attributes:
        kind: "zero-phase", "causal" or "none".
        cutoff_hz: The cutoff of the Butterworth filter, Hz; None if it was not filtered.
        order: The order of the filter.
        derivatives: How the positions were differentiated, as in `taupi.prepare`.
    """

    kind: str
    cutoff_hz: float | None
    order: int
    derivatives: str

    @property
    def note(self) -> str:
        """What was done, in words."""
        if self.kind == "none":
            return "not filtered"
        return f"filtered by a {self.kind} Butterworth of order {self.order}, cutoff {self.cutoff_hz:.4g} Hz"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Log:
    """N samples of n joints, in SI units. Only `time` and `q` are required; a signal that was not recorded is None.

    The arrays are read-only.

    Attributes:
        time: (N,), s.
        q: Joint positions (N, n), rad or m.
        qd: Joint velocities (N, n), rad/s or m/s.
        qdd: Joint accelerations (N, n), rad/s^2 or m/s^2.
        tau: Joint torques or forces (N, n), N m or N.
        current: Motor currents (N, n), A.
        voltage: Motor voltages (N, n), V.
        theta: Motor positions (N, n), rad or m.
        thetad: Motor velocities (N, n), rad/s or m/s.
        thetadd: Motor accelerations (N, n), rad/s^2 or m/s^2.
        tau_m: Motor torques or forces (N, n), N m or N.
        tau_known: Known torques or forces (N, n) that act on the joints in addition to the motors, N m or N: tau +
            tau_known moves the robot. Those that are formulas of q are in `known_torque`.
        qdes: Commanded positions as they were sent (N, n), rad or m.
        qd_des: Commanded velocities (N, n), rad/s or m/s.
        tau_ff: Commanded torques or forces beside the law of the drive (N, n), N m or N.
        volts: Supply voltage (N, n), or (N, 1) for all joints, V.
        temperature: Temperature of the motors (N, n), or (N, 1) for all joints, degrees Celsius.
        enabled: 1 where a motor is on, 0 where it is off (N, n), or (N, 1) for all joints; on by default.
        names: The names of the joints; j1, j2, ... by default.
        units: "rad" or "m" for each joint; "rad" by default.
        source: The file the log was read from.
        notes: What was done to the log, in words.
        filtering: How the log was filtered and differentiated; None for a log as it was recorded.
        delays: Seconds by which signals are late, by name, one per joint; `taupi.prepare` and `taupi.identify` undo them.
        known_torque: Known torques as formulas of q, such as "elbow = 12*sin(q2)", to be added to `tau_known`.
        base: How the base of a floating robot moves, a `taupi.floating.BaseMotion`; None for a robot that is bolted down.
        wrench: Wrenches that the surroundings apply to frames of the robot, by name: moment and force (N, 6), or a force alone
            (N, 3), at the frame's origin and in its axes, N m and N.
        contact: When frames of the robot touch the ground, by name (N,).
        drive: How commands became torques, a `taupi.Drive`, its numbers one per joint; None if that is not stated.
        segment: The number of the run (N,) that a sample belongs to, such as an episode: nothing is filtered or differentiated
            from one run to the next, and `segments` returns each. None, the default, for a single run.

    >>> import taupi as tp
    >>> log = tp.Log([0.0, 0.5, 1.0], q=[[0.0], [0.1], [0.3]], tau=[[1.0], [2.0], [1.0]])
    >>> log.n, len(log), log.rate_hz
    (1, 3, 2.0)
    >>> log
    Log: 3 samples of 1 joint, 1 s at 2 Hz: q tau
    joint  unit  q         tau
    -----  ----  --------  ------
    j1     rad   0 .. 0.3  1 .. 2
    """

    time: np.ndarray
    q: np.ndarray
    qd: np.ndarray | None = None
    qdd: np.ndarray | None = None
    tau: np.ndarray | None = None
    current: np.ndarray | None = None
    voltage: np.ndarray | None = None
    theta: np.ndarray | None = None
    thetad: np.ndarray | None = None
    thetadd: np.ndarray | None = None
    tau_m: np.ndarray | None = None
    tau_known: np.ndarray | None = None
    qdes: np.ndarray | None = None
    qd_des: np.ndarray | None = None
    tau_ff: np.ndarray | None = None
    volts: np.ndarray | None = None
    temperature: np.ndarray | None = None
    enabled: np.ndarray | None = None
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    source: LogSource = LogSource()
    notes: tuple[str, ...] = ()
    filtering: Filtering | None = None
    delays: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    known_torque: tuple[str, ...] = ()
    base: BaseMotion | None = None
    wrench: Mapping[str, np.ndarray] = field(default_factory=dict)
    contact: Mapping[str, np.ndarray] = field(default_factory=dict)
    drive: Drive | None = None
    segment: np.ndarray | None = None

    def __post_init__(self) -> None:
        time = _array(self.time, "time", 1)
        object.__setattr__(self, "time", time)
        _check_step(time)
        q = _array(self.q, "q", 2)
        n = q.shape[1]
        names = tuple(self.names) or tuple(f"j{i + 1}" for i in range(n))
        units = tuple(self.units) or ("rad",) * n
        _check_names_and_units(names, units, n)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "delays", _checked_delays(self.delays, n))
        object.__setattr__(self, "known_torque", check_known_torque("known_torque", self.known_torque))
        object.__setattr__(self, "base", checked_base(self.base, len(time)))
        object.__setattr__(self, "wrench", checked_wrenches(self.wrench, len(time)))
        object.__setattr__(self, "contact", checked_contacts(self.contact, len(time)))
        for name in SIGNALS:
            value = getattr(self, name)
            if value is None:
                continue
            array = q if name == "q" else _array(value, name, 2)
            if name in SHARED and array.shape == (len(time), 1):
                array = np.broadcast_to(array, (len(time), n))
            if array.shape != (len(time), n):
                raise TaupiError(
                    "{argument} has shape {got}, expected {expected}: one row per time stamp, one value per joint ({joints}).",
                    argument=Argument(name),
                    got=array.shape,
                    expected=(len(time), n),
                    joints=span_of(names),
                )
            object.__setattr__(self, name, array)
        if self.segment is not None:
            segment = _array(self.segment, "segment", 1)
            if segment.shape != time.shape:
                raise TaupiError(
                    "{argument} has shape {got}, expected {expected}: one number per sample.",
                    argument=Argument("segment"),
                    got=segment.shape,
                    expected=time.shape,
                )
            object.__setattr__(self, "segment", segment)
        if self.drive is not None:
            object.__setattr__(self, "drive", Drive.of(self.drive).of_joints(range(n), n))

    # Contents -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.time)

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.q.shape[1]

    @property
    def signals(self) -> dict[str, np.ndarray]:
        """The signals that were recorded, by name."""
        return {name: getattr(self, name) for name in SIGNALS if getattr(self, name) is not None}

    @property
    def origin(self) -> float:
        """The time of the first sample, s, of the whole log if this is a part of it: `begin` and `end` count from it.

        NaN for a log without samples.
        """
        return float(np.fmin.reduce(self.time, initial=np.nan)) if self.source.origin is None else self.source.origin

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the last, of all runs together."""
        edges = [0, *self.seams.tolist(), len(self)]
        return float(sum(self.time[b - 1] - self.time[a] for a, b in itertools.pairwise(edges) if b > a))

    @property
    def rate_hz(self) -> float:
        """Samples per second, from the mean step; NaN for fewer than two samples."""
        return (len(self) - 1 - len(self.seams)) / self.duration if self.duration > 0 else float("nan")

    @property
    def is_prepared(self) -> bool:
        """Whether the log is ready for a regressor: filtered, or left unfiltered on purpose, with accelerations."""
        return self.filtering is not None and self.qdd is not None

    def need(self, *names: str) -> tuple[np.ndarray, ...]:
        """Return the signals called `names`; if one was not recorded, the error lists those that were."""
        recorded = self.signals
        for name in names:
            if name not in SIGNALS:
                raise unknown("signal", name, SIGNALS)
            if name not in recorded:
                place = f" in {self.source.path}" if self.source.path else ""
                constant = next((c for effort, c in _CONSTANTS.items() if name == "tau" and effort in recorded), "")
                motor = f", or state motor.{constant} in the mapping" if constant else ""
                if not motor and name == "tau" and "qdes" in recorded and self.drive is None:
                    motor = (
                        ", or, if none was measured, state how commands drove the robot under [drive] in the mapping"
                    )
                raise TaupiError(
                    "{name} is missing{place}. The log has {recorded:,}; map the columns of {name}{motor}.",
                    name=name,
                    place=place,
                    recorded=recorded,
                    motor=motor,
                )
        return tuple(recorded[name] for name in names)

    # Changed copies -----------------------------------------------------------------------------------------------

    def with_(self, **fields: Any) -> Log:
        """Return a copy with other values of some fields.

        Args:
            **fields: Fields by name; `notes`, one or several, are appended to the log's own.
        """
        known = [f.name for f in dataclasses.fields(self)]
        for name in fields:
            if name not in known:
                raise unknown("field", name, known, "Log")
        if "notes" in fields:
            extra = fields["notes"]
            fields["notes"] = (*self.notes, *((extra,) if isinstance(extra, str) else extra))
        return dataclasses.replace(self, **fields)

    def rows(self, index: slice | np.ndarray, note: str | None = None) -> Log:
        """Return some of the samples.

        Args:
            index: A slice, a mask (N,) or row numbers.
            note: Appended to the notes; nothing by default.
        """
        signals: dict[str, object] = {name: value[index] for name, value in self.signals.items()}
        if self.base is not None:
            signals["base"] = self.base.rows(index)
        if self.segment is not None:
            signals["segment"] = self.segment[index]
        signals["wrench"] = {name: value[index] for name, value in self.wrench.items()}
        signals["contact"] = {name: value[index] for name, value in self.contact.items()}
        return self.with_(time=self.time[index], **signals, **({"notes": note} if note else {}))

    def slice(self, start: float | None = None, stop: float | None = None) -> Log:
        """Return the samples with `start` <= time < `stop`.

        Args:
            start: The first time, s, in the log's own time; by default from the beginning.
            stop: The time before which it ends, s; by default to the end.

        >>> import numpy as np, taupi as tp
        >>> log = tp.Log(np.arange(10) / 10, np.zeros((10, 2)))
        >>> len(log.slice(0.2, 0.5))
        3
        """
        low = -np.inf if start is None else _seconds("start", start)
        high = np.inf if stop is None else _seconds("stop", stop)
        keep = (self.time >= low) & (self.time < high)
        if not keep.any():
            span = f"{self.time[0]:g} .. {self.time[-1]:g} s" if len(self) else "no samples"
            raise TaupiError(
                "slice from {low:g} to {high:g} s holds no sample. The log has {span}.", low=low, high=high, span=span
            )
        return self.rows(keep, f"sliced to {low:g} <= time < {high:g} s: {int(keep.sum())} of {len(self)} samples")

    def drop_gaps(self) -> Log:
        """Return the log without the samples in which the time, or any recorded value, is missing."""
        keep = np.isfinite(self.time)
        base = () if self.base is None else self.base.signals.values()
        for value in (*self.signals.values(), *base, *self.wrench.values()):
            keep &= np.isfinite(value).all(axis=1)
        gaps = Stretches.of(~keep)
        note = f"left out {gaps.count} samples with missing values: {gaps}" if gaps else "no sample has missing values"
        return self.rows(keep, note)

    @property
    def seams(self) -> np.ndarray:
        """The rows at which another run begins, such as another episode, by `segment`; empty for a single run."""
        if self.segment is None:
            return np.zeros(0, dtype=int)
        return np.flatnonzero(differ(self.segment[:-1], self.segment[1:])) + 1

    def segments(self, gap: float | None = None) -> tuple[Log, ...]:
        """Return the pieces of the log: its runs, cut at gaps, and where time steps backwards.

        Args:
            gap: A longer time step is a gap, s; 3.5 median steps by default.
        """
        cuts = np.union1d(gap_rows(self.time, gap) + 1, self.seams)
        edges = [0, *cuts.tolist(), len(self)]
        pairs = [(a, b) for a, b in itertools.pairwise(edges) if b > a]
        return tuple(
            self.rows(slice(a, b), f"rows {a} .. {b - 1} of {len(self)}").with_(segment=None) for a, b in pairs
        )

    def runs(self) -> tuple[Log, ...]:
        """Return the runs that `segment` numbers, each a log of its own; the log itself if it is a single one."""
        if not len(self.seams):
            return (self,)
        edges, count = [0, *self.seams.tolist(), len(self)], len(self.seams) + 1
        return tuple(
            self.rows(slice(a, b), f"run {k + 1} of {count}").with_(segment=None)
            for k, (a, b) in enumerate(itertools.pairwise(edges))
        )

    def decimate(self, k: int) -> Log:
        """Return every `k`-th sample. Nothing is filtered; `taupi.prepare` filters first."""
        k = whole_number("k", k)
        return self.rows(slice(None, None, k), f"kept every {ordinal(k)} sample") if k > 1 else self

    def select(self, joints: Sequence[str | int]) -> Log:
        """Return the log of some joints.

        Args:
            joints: Their names or numbers (from 0), in the order wanted.
        """
        if isinstance(joints, str) or not isinstance(joints, Sequence | np.ndarray):
            raise TaupiError("{joints} is {got!r}, expected a list of names or numbers.", got=joints)
        index = [self._joint(j) for j in joints]
        if not index:
            raise TaupiError("{joints} is empty, expected some of {names:,}.", names=self.names)
        signals = {name: value[:, index] for name, value in self.signals.items()}
        names, units = tuple(self.names[i] for i in index), tuple(self.units[i] for i in index)
        note = f"joints {', '.join(names)} of {', '.join(self.names)}"
        delays = {name: tuple(d[i] for i in index) for name, d in self.delays.items()}
        if self.known_torque and index != list(range(self.n)):
            raise TaupiError(
                "The log states known torques ({known_torque}) by the numbers of its joints.",
                remedy="Select joints first, and state them afterwards: log.with_(known_torque=...).",
                known_torque="; ".join(self.known_torque),
            )
        drive = None if self.drive is None else self.drive.of_joints(index, self.n)
        return self.with_(**signals, names=names, units=units, notes=note, delays=delays, drive=drive)

    def _joint(self, joint: str | int) -> int:
        if isinstance(joint, str):
            if joint not in self.names:
                raise unknown("joint", joint, self.names, self.source.path or "the log")
            return self.names.index(joint)
        if not isinstance(joint, int | np.integer) or not 0 <= joint < self.n:
            raise TaupiError("joint is {got!r}, expected a name or a number from 0 to {n}.", got=joint, n=self.n - 1)
        return int(joint)

    # Frames -------------------------------------------------------------------------------------------------------

    @classmethod
    def from_frame(cls, frame: DataFrame, robot: Robot | None = None, columns: ColumnsLike = None) -> Log:
        """Return the log in a pandas DataFrame.

        Args:
            frame: The DataFrame; an index whose name is that of a time, such as "t", is the time.
            robot: As in `taupi.read_log`.
            columns: As in `taupi.read_log`.

        >>> import taupi as tp
        >>> class Frame(dict):  # a DataFrame behaves like this
        ...     columns = ["t", "q1", "q2"]
        >>> tp.Log.from_frame(Frame(t=[0.0, 0.1], q1=[1.0, 2.0], q2=[3.0, 4.0])).q
        array([[1., 3.],
               [2., 4.]])
        """
        from taupi.signals.frames import from_frame

        return from_frame(frame, robot, columns)

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame: time, then one column per signal and joint, `q_j1` and so on."""
        from taupi.signals.frames import to_frame

        return to_frame(self)

    def __repr__(self) -> str:
        return "\n".join([summary(self), *table(_rows(self))])

    def _repr_html_(self) -> str:
        kept = slice(None, None, len(self) // _DRAWN + 1)
        time = self.time[kept].tolist()
        pictures = [html_lines(name, time, value[kept].T.tolist()) for name, value in self.signals.items()]
        return html_table(summary(self), _rows(self)) + "".join(pictures)


def differ(before: ArrayLike, after: ArrayLike) -> np.ndarray:
    """Return whether rows with these numbers belong to different runs; rows without a number that follow each other do not.

    >>> differ([0.0, 0.0, np.nan], [0.0, np.nan, np.nan]).tolist()
    [False, True, False]
    """
    a, b = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))


def _array(value: ArrayLike, name: str, dimensions: int) -> np.ndarray:
    try:
        if isinstance(value, np.ma.MaskedArray):  # masked values were not measured
            value = np.ma.filled(value.astype(float), np.nan)
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(
            "{argument} is {got!r}, expected an array of numbers.", argument=Argument(name), got=value
        ) from None
    if array.ndim != dimensions:
        shape = "(N,)" if dimensions == 1 else "(N, n)"
        hint = " A single joint has shape (N, 1)." if dimensions == 2 and array.ndim == 1 else ""
        raise TaupiError(
            "{argument} has shape {got}, expected {shape}.{hint}",
            argument=Argument(name),
            got=array.shape,
            shape=shape,
            hint=hint,
        )
    view = array.view()
    view.flags.writeable = False
    return view


def _check_step(time: np.ndarray) -> None:
    """Refuse times with a mean step that no clock has, by which nothing can be divided."""
    step = abs(float(time[-1]) - float(time[0])) / (len(time) - 1) if len(time) > 1 else 0.0
    if 0 < step < _STEPS[0] or step > _STEPS[1]:
        raise TaupiError("{time} steps by {step:.3g} s, expected seconds.", step=step)


def _check_names_and_units(names: tuple[str, ...], units: tuple[str, ...], n: int) -> None:
    if n == 0:
        raise TaupiError("{q} has no columns, expected one per joint.")
    for argument, texts in (("names", names), ("units", units)):
        if len(texts) != n or not all(isinstance(text, str) for text in texts):
            raise TaupiError(
                "{argument} is {got!r}, expected {expected} texts: one per joint.",
                argument=Argument(argument),
                got=texts,
                expected=n,
            )
    if len(set(names)) < n:
        duplicate = next(name for name in names if names.count(name) > 1)
        raise TaupiError("{names} holds {got!r} twice. Give each joint its own name.", got=duplicate)
    for unit in units:
        if unit not in ("rad", "m"):
            raise TaupiError("{units} holds {got!r}, expected 'rad' or 'm' for each joint.", got=unit)


def _checked_delays(delays: Mapping[str, float | Sequence[float]], n: int) -> dict[str, tuple[float, ...]]:
    """Return the delays of signals, by name, one per joint: a single number is that of each."""
    result = {}
    for name, seconds in delays.items() if isinstance(delays, Mapping) else [("", delays)]:
        each = real_array("delays", seconds)
        if name not in SIGNALS or each.shape not in ((), (n,)) or not np.isfinite(each).all():
            raise TaupiError(
                "{delays} is {got!r}, expected seconds by signal, one number or one for each of {n} joints.",
                got=delays,
                n=n,
            )
        result[name] = tuple(np.broadcast_to(each, (n,)).tolist())
    return result


def _seconds(name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TaupiError(
            "{argument} is {got!r}, expected a number of seconds.", argument=Argument(name), got=value
        ) from None


_DRAWN = 20_000  # samples from which a picture is drawn, evenly spread


def summary(log: Log) -> str:
    """Return a log in one line."""
    joints = f"{log.n} joint" + ("s" if log.n > 1 else "")
    joints += f" in {len(log.seams) + 1} runs" if len(log.seams) else ""
    rate = f" at {log.rate_hz:.5g} Hz" if np.isfinite(log.rate_hz) else ""
    name = log.source.path.replace("\\", "/").rsplit("/", 1)[-1]
    head = f"Log {name}" if name else "Log"
    return f"{head}: {len(log)} samples of {joints}, {abs(log.duration):.5g} s{rate}: {' '.join(log.signals)}{_surroundings(log)}"


def _surroundings(log: Log) -> str:
    """Return what a log holds in addition to its joints: a base that moves, contacts and wrenches of frames."""
    parts = ["its base"] if log.base is not None else []
    parts += [
        f"{what} of {', '.join(frames)}"
        for what, frames in (("contact", log.contact), ("wrench", log.wrench))
        if frames
    ]
    return f"; {'; '.join(parts)}" if parts else ""


def _rows(log: Log) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("joint", "unit", *log.signals)]
    spans = {name: _spans(value) for name, value in log.signals.items()}
    return rows + [(log.names[j], log.units[j], *(spans[s][j] for s in spans)) for j in range(log.n)]


def _spans(value: np.ndarray) -> list[str]:
    if not len(value):
        return ["-"] * value.shape[1]
    low, high = np.fmin.reduce(value, axis=0), np.fmax.reduce(value, axis=0)
    return ["-" if np.isnan(a) else f"{a:.4g} .. {b:.4g}" for a, b in zip(low, high, strict=True)]
