"""What a simulation returns: frozen arrays over time, an energy audit, their provenance; and how they become files and logs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, overload

import numpy as np

from taupi.budget import budget
from taupi.checks import is_number
from taupi.errors import TaupiError
from taupi.files import path_of, write_file
from taupi.input_files import parse_json
from taupi.schema import conformed
from taupi.signals.formats.files import readable
from taupi.signals.formats.parquet import row_groups
from taupi.signals.log import Log
from taupi.signals.mapping.tables import embedded_mapping
from taupi.simulation.references import Motion
from taupi.tables import html_lines, html_table, table

if TYPE_CHECKING:
    import pyarrow as pa

_OWN = b"taupi_run"
_SCHEMA = 1
_JOINT_FIELDS = ("q", "qd", "qdd", "tau", "tau_command")
_MOTOR_FIELDS = ("theta", "thetad", "thetadd")
_About: TypeAlias = Mapping[str, Any]  # what is saved of a run in addition to its arrays, as read
_MOTIONS = ("reference", "measured", "measured_motors")


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Hold a simulated motion, as `taupi.simulate` returns it: arrays over time, with their provenance.

    Attributes:
        time: (N,), s.
        q: Positions (N, n), rad or m; of a floating robot with one more column per quaternion.
        qd: Velocities (N, n), rad/s or m/s.
        qdd: Accelerations (N, n), rad/s^2 or m/s^2.
        tau: Torques (N, n), N m or N, each held from its row on; of elastic joints the motors' torque u.
        tau_command: The torque before limits and delay, (N, n).
        energy: K + P, (N,) in J.
        work: What torques and external forces have put in since the start, (N,) in J.
        heat: What was lost to friction, (N,) in J.
        residual: energy - energy[0] - work + heat, less what payloads added: the error of the integration, (N,) in J.
        reference: The motion (q, qd, qdd) to follow, or None.
        measured: What the sensors saw (q, qd, qdd), or None.
        parameters: The estimate of an adaptive law, (N, p), in the order of `parameter_names`.
        parameter_names: Names of the estimate's entries.
        channels: Other outputs of the law, by name.
        names: Names of the joints.
        units: Units of the joints' positions.
        complete: False if the loop diverged: the run ends there.
        notes: Sentences about the run.
        provenance: What made it.
        theta: Positions of the motors of elastic joints, (N, n); `thetad` and `thetadd` are their rates.
        measured_motors: What the motors' encoders saw, or None.
        position_names: Names of the columns of q of a floating robot; empty otherwise.
    """

    time: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    tau_command: np.ndarray
    reference: Motion | None = None
    measured: Motion | None = None
    parameters: np.ndarray | None = None
    energy: np.ndarray | None = None
    work: np.ndarray | None = None
    heat: np.ndarray | None = None
    residual: np.ndarray | None = None
    channels: Mapping[str, np.ndarray] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    parameter_names: tuple[str, ...] = ()
    complete: bool = True
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    theta: np.ndarray | None = None
    thetad: np.ndarray | None = None
    thetadd: np.ndarray | None = None
    measured_motors: Motion | None = None
    position_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in self._arrays():
            array.flags.writeable = False

    def _arrays(self) -> Iterator[np.ndarray]:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                yield value
            elif isinstance(value, Motion):
                yield from (v for v in value if v is not None)
        yield from self.channels.values()

    def __len__(self) -> int:
        return len(self.time)

    @property
    def n(self) -> int:
        """The number of velocities: that of the joints, and six more if the base moves freely."""
        return self.qd.shape[1]

    @property
    def tracks(self) -> bool:
        """Whether the reference is a motion of the joints; one of a task is in other coordinates."""
        joints = self.provenance.get("coordinates", "joints") == "joints"
        return joints and self.reference is not None and self.reference.q.shape == self.q.shape

    @property
    def error(self) -> np.ndarray:
        """The tracking error q - q_des, (N, n)."""
        if self.reference is None or not self.tracks:
            raise TaupiError("The run has no reference of its joints, so there is no tracking error.")
        error: np.ndarray = self.q - self.reference.q
        return error

    def to_log(self, measured: bool = False) -> Log:
        """Return the run as a log to identify from: q, qd, qdd, tau; with `measured`, q and qd as the sensors saw them, and tau.

        A run of elastic joints also has the motors' theta, thetad, thetadd; their torque u, seen through the gears, is both tau
        and tau_m. For encoders and noise that no controller saw, see `taupi.record`.
        """
        signals: dict[str, Any] = {"q": self.q, "qd": self.qd, "qdd": self.qdd}
        motors: dict[str, Any] = {name: getattr(self, name) for name in _MOTOR_FIELDS}
        if measured:
            if self.measured is None:
                raise TaupiError("The run has no sensors: simulate with {sensors=...}, or take to_log().")
            signals = {"q": self.measured.q, "qd": self.measured.qd}
            seen = self.measured_motors
            motors = {} if seen is None else {"theta": seen.q, "thetad": seen.qd}
        torque: dict[str, Any] = {"tau": self.tau} | ({} if self.theta is None else {"tau_m": self.tau, **motors})
        note = f"simulated by taupi {self.provenance.get('version', '')}: {self.provenance.get('integrator', '')}"
        return Log(
            self.time, **signals, **torque, names=self.names, units=self.units, notes=(note.strip(), *self.notes)
        )

    # Files ----------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Write the run as Parquet to `path`, exactly; `Run.load` reads it back, and `taupi.read_log` reads its log.

        `force` overwrites an existing file.
        """
        if path_of(path).suffix.lower() != ".parquet":
            raise TaupiError("{path} is {got!r}, expected a name ending in .parquet.", got=str(path))
        write_file(path, lambda stream: _write(self, stream), force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """Return the run that was saved to `path`."""
        return _read(cls, path)

    def __repr__(self) -> str:
        return "\n".join([self._summary, *table(self._rows())])

    def _repr_html_(self) -> str:
        signals = {"q": self.q, "error q - q_des": self.error if self.tracks else self.q[:, :0], "tau": self.tau}
        pictures = (html_lines(k, self.time.tolist(), v.T.tolist()) for k, v in signals.items() if v.size)
        return html_table(self._summary, self._rows()) + "".join(pictures)

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("joint", "q", "qd", "tau", "largest error")]
        worst = np.abs(self.error).max(axis=0) if self.tracks and len(self) else None
        for j, name in enumerate(self.names):
            positions = self.position_names or self.names
            q = _span(self.q[:, positions.index(name)]) if name in positions else "-"
            spans = (q, _span(self.qd[:, j]), _span(self.tau[:, j]))
            rows.append((name, *spans, "-" if worst is None else f"{worst[j]:.3g}"))
        return rows

    @property
    def _summary(self) -> str:
        ended = "" if self.complete else f"; diverged after {self.time[-1] if len(self) else 0:.4g} s"
        audit = ""
        if self.residual is not None and len(self) and self.complete:
            audit = f"; energy audit within {np.abs(self.residual).max():.2g} J"
        robot, controller = self.provenance.get("robot", "a robot"), self.provenance.get("controller", "a controller")
        span = self.time[-1] if len(self) else 0.0
        return f"Run of {robot} under {controller}: {len(self)} samples, {span:.5g} s{audit}{ended}"


def _span(a: np.ndarray) -> str:
    return f"{a.min():.4g} .. {a.max():.4g}" if len(a) else "-"


class Runs(Sequence[Run]):
    """Runs over the same times, at least one. Subclasses say how many there are, and return one of them."""

    def one(self, b: int) -> Run:
        """Return run `b`, counted from 0."""
        raise NotImplementedError

    @overload
    def __getitem__(self, b: int) -> Run: ...

    @overload
    def __getitem__(self, b: slice) -> tuple[Run, ...]: ...

    def __getitem__(self, b: int | slice) -> Run | tuple[Run, ...]:
        chosen = range(len(self))[b]
        return tuple(self.one(k) for k in chosen) if isinstance(chosen, range) else self.one(chosen)

    @property
    def complete(self) -> np.ndarray:
        """Which runs reached their end, (B,)."""
        return np.array([r.complete for r in self])

    @property
    def time(self) -> np.ndarray:
        """The times of the longest run, (N,) in s."""
        return max((r.time for r in self), key=len)

    def stack(self, name: str) -> np.ndarray:
        """Return the field `name` of all runs, (B, N, ...); rows beyond the end of a run that diverged are NaN."""
        rows = len(self.time)
        values = [getattr(r, name) for r in self]
        if any(not isinstance(v, np.ndarray) for v in values):
            raise TaupiError("The runs have no {name!r} to stack.", name=name)
        filled = [np.concatenate([v, np.full((rows - len(v), *v.shape[1:]), np.nan)]) for v in values]
        return np.stack(filled)


class ListedRuns(Runs):
    """Runs that are there already."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = tuple(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def one(self, b: int) -> Run:
        """Return run `b`, counted from 0."""
        return self._runs[b]


@dataclass(frozen=True, eq=False, repr=False)
class RunBatch:
    """Hold many runs over the same times: `batch[i]` is a Run; q, qd, tau, ... have shape (B, N, n), parameters (B, N, p).

    Attributes:
        runs: The runs, one per roll-out; `simulate_many` puts each together when it is asked for.
    """

    runs: Runs

    def __post_init__(self) -> None:
        if not isinstance(self.runs, Runs):
            object.__setattr__(self, "runs", ListedRuns(self.runs))

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, i: int) -> Run:
        return self.runs[i]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    @property
    def complete(self) -> np.ndarray:
        """Which runs reached their end, (B,)."""
        return self.runs.complete

    @property
    def time(self) -> np.ndarray:
        """The times of the longest run, (N,) in s."""
        return self.runs.time

    def stack(self, name: str) -> np.ndarray:
        """Return the field `name` of all runs, (B, N, ...); rows beyond the end of a run that diverged are NaN."""
        return self.runs.stack(name)

    @property
    def q(self) -> np.ndarray:
        """Positions, (B, N, n)."""
        return self.stack("q")

    @property
    def qd(self) -> np.ndarray:
        """Velocities, (B, N, n)."""
        return self.stack("qd")

    @property
    def tau(self) -> np.ndarray:
        """Torques, (B, N, n)."""
        return self.stack("tau")

    @property
    def parameters(self) -> np.ndarray:
        """Estimates, (B, N, p)."""
        return self.stack("parameters")

    def __repr__(self) -> str:
        complete = int(self.complete.sum())
        return f"RunBatch: {len(self)} runs of {len(self.time)} samples, {self.time[-1]:.5g} s; {complete} complete"


# Parquet --------------------------------------------------------------------------------------------------------------


class RunFacts(TypedDict):
    """What is saved of a run in addition to its arrays."""

    schema: int
    names: list[str]
    units: list[str]
    parameter_names: list[str]
    complete: bool
    notes: list[str]
    provenance: dict[str, Any]
    channels: dict[str, list[int]]


def _columns(run: Run) -> tuple[dict[str, np.ndarray], dict[str, list[int]]]:
    """Return flat columns, and the shapes of the channels."""
    flat: dict[str, np.ndarray] = {"time": run.time}
    for name in (*_JOINT_FIELDS, *(() if run.theta is None else _MOTOR_FIELDS)):
        names = run.position_names or run.names if name == "q" else run.names
        flat |= {f"{name}_{joint}": getattr(run, name)[:, k] for k, joint in enumerate(names)}
    for name in _MOTIONS:
        motion = getattr(run, name)
        for part in ("q", "qd", "qdd") if motion is not None else ():
            value = getattr(motion, part)
            if value is not None:
                flat |= {f"{name}.{part}[{k}]": value[:, k] for k in range(value.shape[1])}
    if run.parameters is not None:
        flat |= {f"parameters[{k}]": run.parameters[:, k] for k in range(run.parameters.shape[1])}
    for name in ("energy", "work", "heat", "residual"):
        value = getattr(run, name)
        flat |= {name: value} if value is not None else {}
    shapes = {}
    for name, value in run.channels.items():
        shapes[name] = list(value.shape[1:])
        rows = value.reshape(len(run), -1)
        flat |= {f"channels.{name}[{k}]": rows[:, k] for k in range(rows.shape[1])}
    return flat, shapes


def _write(run: Run, stream: object) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat, shapes = _columns(run)
    about = {
        "schema": _SCHEMA,
        "names": run.names,
        "units": run.units,
        "parameter_names": run.parameter_names,
        "complete": run.complete,
        "notes": run.notes,
        "provenance": dict(run.provenance),
        "channels": shapes,
        "position_names": run.position_names,
    }
    log = {} if run.position_names else embedded_mapping(run.to_log(), flat=True)
    log |= {"tau_m": [f"tau_{joint}" for joint in run.names]} if run.theta is not None else {}
    own = {_OWN: json.dumps(about).encode()} | ({b"taupi_log": json.dumps(log).encode()} if log else {})
    table_ = pa.table({k: pa.array(np.ascontiguousarray(v)) for k, v in flat.items()}).replace_schema_metadata(own)
    pq.write_table(table_, stream, write_page_checksum=True)


def _read(cls: type[Run], path: str | os.PathLike[str]) -> Run:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = readable(path, "a saved run (.parquet)")
    try:
        values = [group.values for group in row_groups(file)]
        budget().check_columns(max(map(len, values), default=0), file.name)
        budget().check_unpacked(8 * sum(map(sum, values)), file.stat().st_size, file.name)
        schema = pq.read_schema(file)
        metadata = schema.metadata or {}
        numbers = all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in schema.types)
        # Texts of a kilobyte may unpack to gigabytes, and a run has none.
        columns = pq.read_table(file, page_checksum_verification=True) if _OWN in metadata and numbers else None
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError):
        raise TaupiError("{file} is not a Parquet file, or it is cut off or damaged.", file=file.name) from None
    if columns is None:
        raise TaupiError("{file} is not a saved run. Read logs with taupi.read_log.", file=file.name)
    about = conformed(parse_json(metadata[_OWN], file.name, "a saved run"), RunFacts, f"{file.name}: its record")
    if about["schema"] != _SCHEMA:
        raise TaupiError(
            "{file} has the schema {schema}, expected {other_schema}: use the taupi that wrote it.",
            file=file.name,
            schema=about["schema"],
            other_schema=_SCHEMA,
        )
    try:
        return _from_columns(cls, columns, about)
    except (pa.ArrowException, KeyError, IndexError, ValueError, TypeError) as error:
        raise TaupiError(
            "{file} is damaged: {kind} {error!r}.", file=file.name, kind=type(error).__name__, error=str(error)
        ) from None


def _from_columns(cls: type[Run], columns: pa.Table, about: _About) -> Run:
    flat = {name: columns.column(name).to_numpy() for name in columns.column_names}
    fields: dict[str, Any] = {
        name: np.stack([flat[f"{name}_{j}"] for j in _names_of(about, name)], axis=1)
        for name in (*_JOINT_FIELDS, *_MOTOR_FIELDS)
        if name in _JOINT_FIELDS or f"{name}_{about['names'][0]}" in flat
    }
    fields |= {name: _motion(flat, name) for name in _MOTIONS}
    fields |= {k: flat[k].copy() if k in flat else None for k in ("energy", "work", "heat", "residual")}
    channels = {name: _stacked(flat, f"channels.{name}", shape) for name, shape in about["channels"].items()}
    fields |= {k: tuple(about[k]) for k in ("names", "units", "parameter_names", "notes")}
    fields["position_names"] = tuple(about.get("position_names", ()))
    parameters = _stacked(flat, "parameters")
    if parameters is not None and parameters.shape[1] < len(fields["parameter_names"]):
        raise ValueError(f"it has {parameters.shape[1]} parameters with {len(fields['parameter_names'])} names")
    if not is_number(about["provenance"].get("rate", 1.0)):
        raise ValueError("its rate is no number")
    with np.errstate(all="ignore"):
        time = flat["time"].astype(float)
        if len(time) and not (np.isfinite([*time, time[-1] - time[0]]).all() and (np.diff(time) > 0).all()):
            raise ValueError("its times do not rise, or are not finite")
    return cls(
        flat["time"].copy(),
        **fields,
        parameters=parameters,
        channels=channels,
        complete=about["complete"],
        provenance=about["provenance"],
    )


def _names_of(about: _About, field_name: str) -> list[str]:
    """Return the names of the columns of a field: the positions' for q of a floating robot."""
    names: list[str] = about.get("position_names") or about["names"] if field_name == "q" else about["names"]
    return names


def _stacked(flat: Mapping[str, np.ndarray], name: str, shape: list[int] | None = None) -> Any:
    count = sum(1 for key in flat if key.startswith(f"{name}["))
    if not count:
        return None
    rows = np.stack([flat[f"{name}[{k}]"] for k in range(count)], axis=1)
    return rows if shape is None else rows.reshape(len(rows), *shape)


def _motion(flat: Mapping[str, np.ndarray], name: str) -> Motion | None:
    parts = [_stacked(flat, f"{name}.{part}") for part in ("q", "qd", "qdd")]
    return None if parts[0] is None else Motion(*parts)
