"""A log: what a robot's joints did over time, as frozen arrays with a record of where they come from."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.checks import whole_number
from taupi.errors import Argument, TaupiError, ordinal, shown, unknown
from taupi.signals.base_motion import BaseMotion, checked_base, checked_contacts, checked_wrenches
from taupi.signals.known_torque import check_known_torque
from taupi.signals.stretches import Stretches, gap_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from taupi.model.robot import Robot
    from taupi.signals.mapping.columns import ColumnsLike

DataFrame = Any  # pandas.DataFrame, which is not needed to import this module

# Joint side, then motor side; each is (N, n) or None. Units are those of a revolute joint.
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
}
_STEPS = (1e-12, 1e12)  # s: the shortest and longest mean step of a clock
# The constants of motors, in a mapping, with which the torque follows from what drives them.
_CONSTANTS = {"current": "torque_per_ampere", "voltage": "torque_per_volt"}


@dataclass(frozen=True, slots=True)
class LogSource:
    """Where a log was read from: the `path`, the `sha256` of its bytes, the name of the `format`."""

    path: str = ""
    sha256: str = ""
    format: str = "python"


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
        tau_known: Known torques or forces (N, n) that act on the joints in addition to those of the motors, N m or N: tau +
            tau_known moves the robot. Those that are formulas of q are in `known_torque`.
        names: The names of the joints; j1, j2, ... by default.
        units: "rad" or "m" for each joint; "rad" by default.
        source: The file the log was read from.
        notes: What was done to the log, in words.
        filtering: How the log was filtered and differentiated; None for a log as it was recorded.
        delays: Seconds by which signals are late, by name, one per joint; `taupi.prepare` and `taupi.identify` undo them.
        known_torque: Known torques as formulas of q, such as "elbow = 12*sin(q2)", to be added to those of `tau_known`.
        base: How the base of a floating robot moves, a `taupi.floating.BaseMotion`; None for a robot that is bolted down.
        wrench: Wrenches that the surroundings apply to frames of the robot, by name: moment and force (N, 6), or a force alone
            (N, 3), at the frame's origin and in its axes, N m and N.
        contact: When frames of the robot touch the ground, by name (N,).

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
        object.__setattr__(self, "known_torque", check_known_torque("known_torque", self.known_torque))
        object.__setattr__(self, "base", checked_base(self.base, len(time)))
        object.__setattr__(self, "wrench", checked_wrenches(self.wrench, len(time)))
        object.__setattr__(self, "contact", checked_contacts(self.contact, len(time)))
        for name in SIGNALS:
            value = getattr(self, name)
            if value is None:
                continue
            array = q if name == "q" else _array(value, name, 2)
            if array.shape != (len(time), n):
                raise TaupiError(Argument(name), f" has shape {array.shape}, expected {_expected(len(time), names)}")
            object.__setattr__(self, name, array)

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
    def duration(self) -> float:
        """Seconds from the first sample to the last."""
        return float(self.time[-1] - self.time[0]) if len(self) else 0.0

    @property
    def rate_hz(self) -> float:
        """Samples per second, from the mean step; NaN for fewer than two samples."""
        return (len(self) - 1) / self.duration if self.duration > 0 else float("nan")

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
                raise TaupiError(
                    f"{name} is missing{place}. The log has {', '.join(recorded)}; map the columns of {name}{motor}."
                )
        return tuple(recorded[name] for name in names)

    # Changed copies -----------------------------------------------------------------------------------------------

    def with_(self, **fields: Any) -> Log:
        """Return a copy with other values of the `fields` named; `notes`, one or several, are appended to the log's own."""
        known = [f.name for f in dataclasses.fields(self)]
        for name in fields:
            if name not in known:
                raise unknown("field", name, known, "Log")
        if "notes" in fields:
            extra = fields["notes"]
            fields["notes"] = (*self.notes, *((extra,) if isinstance(extra, str) else extra))
        return dataclasses.replace(self, **fields)

    def rows(self, index: slice | np.ndarray, note: str | None = None) -> Log:
        """Return the samples that `index` selects, a slice, a mask or row numbers; a `note` is appended to the notes."""
        signals: dict[str, Any] = {name: value[index] for name, value in self.signals.items()}
        if self.base is not None:
            signals["base"] = self.base.rows(index)
        signals["wrench"] = {name: value[index] for name, value in self.wrench.items()}
        signals["contact"] = {name: value[index] for name, value in self.contact.items()}
        return self.with_(time=self.time[index], **signals, **({"notes": note} if note else {}))

    def slice(self, start: float | None = None, stop: float | None = None) -> Log:
        """Return the samples with `start` <= time < `stop`, in seconds of the log's own time; by default from end to end.

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
            raise TaupiError(f"slice from {low:g} to {high:g} s holds no sample. The log has {span}.")
        return self.rows(keep, f"sliced to {low:g} <= time < {high:g} s: {int(keep.sum())} of {len(self)} samples")

    def drop_gaps(self) -> Log:
        """Return the log without the samples in which the time, or any recorded value, is missing."""
        keep = np.isfinite(self.time)
        base = (
            () if self.base is None else (self.base.w, self.base.a, *(() if self.base.wd is None else (self.base.wd,)))
        )
        for value in (*self.signals.values(), *base, *self.wrench.values()):
            keep &= np.isfinite(value).all(axis=1)
        gaps = Stretches.of(~keep)
        note = f"left out {gaps.count} samples with missing values: {gaps}" if gaps else "no sample has missing values"
        return self.rows(keep, note)

    def segments(self, gap: float | None = None) -> tuple[Log, ...]:
        """Return the pieces of the log between gaps: where time steps by more than `gap` seconds, or backwards.

        By default a gap is longer than 3.5 median steps.
        """
        cuts = gap_rows(self.time, gap) + 1
        edges = [0, *cuts.tolist(), len(self)]
        pairs = itertools.pairwise(edges)
        return tuple(self.rows(slice(a, b), f"rows {a} .. {b - 1} of {len(self)}") for a, b in pairs if b > a)

    def decimate(self, k: int) -> Log:
        """Return every `k`-th sample. Nothing is filtered; `taupi.prepare` filters first."""
        k = whole_number("k", k)
        return self.rows(slice(None, None, k), f"kept every {ordinal(k)} sample") if k > 1 else self

    def select(self, joints: Sequence[str | int]) -> Log:
        """Return the log of some `joints`, by name or number (from 0), in that order."""
        if isinstance(joints, str) or not isinstance(joints, Sequence | np.ndarray):
            raise TaupiError(Argument("joints"), f" is {shown(joints)}, expected a list of names or numbers.")
        index = [self._joint(j) for j in joints]
        if not index:
            raise TaupiError(Argument("joints"), f" is empty, expected some of {', '.join(self.names)}.")
        signals = {name: value[:, index] for name, value in self.signals.items()}
        names, units = tuple(self.names[i] for i in index), tuple(self.units[i] for i in index)
        note = f"joints {', '.join(names)} of {', '.join(self.names)}"
        delays = {name: tuple(d[i] for i in index) for name, d in self.delays.items()}
        if self.known_torque and index != list(range(self.n)):
            raise TaupiError(
                f"The log states known torques ({'; '.join(self.known_torque)}) by the numbers of its joints.",
                remedy="Select joints first, and state them afterwards: log.with_(known_torque=...).",
            )
        return self.with_(**signals, names=names, units=units, notes=note, delays=delays)

    def _joint(self, joint: str | int) -> int:
        if isinstance(joint, str):
            if joint not in self.names:
                raise unknown("joint", joint, self.names, self.source.path or "the log")
            return self.names.index(joint)
        if not isinstance(joint, int | np.integer) or not 0 <= joint < self.n:
            raise TaupiError(f"joint is {shown(joint)}, expected a name or a number from 0 to {self.n - 1}.")
        return int(joint)

    # Frames -------------------------------------------------------------------------------------------------------

    @classmethod
    def from_frame(cls, frame: DataFrame, robot: Robot | None = None, columns: ColumnsLike = None) -> Log:
        """Return the log in a pandas DataFrame, `frame`; `robot` and `columns` are as in `taupi.read_log`.

        An index whose name is that of a time, such as "t", is the time.

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
        from taupi.signals.log_text import log_text

        return log_text(self)

    def _repr_html_(self) -> str:
        from taupi.signals.log_text import log_html

        return log_html(self)


def _array(value: ArrayLike, name: str, dimensions: int) -> np.ndarray:
    try:
        if isinstance(value, np.ma.MaskedArray):  # masked values were not measured
            value = np.ma.filled(value.astype(float), np.nan)
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise TaupiError(Argument(name), f" is {shown(value)}, expected an array of numbers.") from None
    if array.ndim != dimensions:
        shape = "(N,)" if dimensions == 1 else "(N, n)"
        hint = " A single joint has shape (N, 1)." if dimensions == 2 and array.ndim == 1 else ""
        raise TaupiError(Argument(name), f" has shape {array.shape}, expected {shape}.{hint}")
    view = array.view()
    view.flags.writeable = False
    return view


def _check_step(time: np.ndarray) -> None:
    """Refuse times with a mean step that no clock has, by which nothing can be divided."""
    step = abs(float(time[-1]) - float(time[0])) / (len(time) - 1) if len(time) > 1 else 0.0
    if 0 < step < _STEPS[0] or step > _STEPS[1]:
        raise TaupiError(Argument("time"), f" steps by {step:.3g} s, expected seconds.")


def _check_names_and_units(names: tuple[str, ...], units: tuple[str, ...], n: int) -> None:
    if n == 0:
        raise TaupiError(Argument("q"), " has no columns, expected one per joint.")
    for argument, texts in (("names", names), ("units", units)):
        if len(texts) != n or not all(isinstance(text, str) for text in texts):
            raise TaupiError(Argument(argument), f" is {shown(texts)}, expected {n} texts: one per joint.")
    if len(set(names)) < n:
        duplicate = next(name for name in names if names.count(name) > 1)
        raise TaupiError(Argument("names"), f" holds {shown(duplicate)} twice. Give each joint its own name.")
    for unit in units:
        if unit not in ("rad", "m"):
            raise TaupiError(Argument("units"), f" holds {shown(unit)}, expected 'rad' or 'm' for each joint.")


def _expected(samples: int, names: tuple[str, ...]) -> str:
    joints = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"
    return f"({samples}, {len(names)}): one row per time stamp, one value per joint ({joints})."


def _seconds(name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TaupiError(Argument(name), f" is {shown(value)}, expected a number of seconds.") from None
