"""LeRobot data sets, versions 2 and 3: a folder with meta/info.json, whose Parquet files hold episodes.

What the columns mean is in info.json: the names of motors, and the rate. Their units are not: they follow from the kind of robot,
or have to be stated. Each episode is a run of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import numpy as np

from taupi.budget import Clock, budget
from taupi.errors import Argument, TaupiError
from taupi.input_files import parse_json, printable, read_text
from taupi.model.robot import Robot
from taupi.signals.formats.files import blocks_from_parts, log_from_parts
from taupi.signals.formats.parquet import ParquetColumns
from taupi.signals.formats.sources import RemoteFile, Source
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.guess import parse_header
from taupi.signals.mapping.tables import Layout, Table, resolve_layout

_INFO = "meta/info.json"
_Info: TypeAlias = Mapping[str, Any]  # what it states, or some of it
_ABOVE = 4  # folders above a file in which the data set's own is looked for
_PLACE = re.compile(r"\{[^{}]*\}")
# Coordinates of a hand, which are not joints.
_POSES = frozenset(("x", "y", "z", "roll", "pitch", "yaw", "rx", "ry", "rz", "qx", "qy", "qz", "qw"))
_STATE = re.compile(r"(observations?\.state|action)(\.|$)")
# Robots of which lerobot writes degrees, and the ends of the names of whose grippers it writes per cent.
_IN_DEGREES = re.compile(r"so_?10[01]|so_follower|koch|omx|openarm|lekiwi", re.IGNORECASE)
# Of these, also velocities.
_DEGREES_PER_SECOND = re.compile("openarm", re.IGNORECASE)
_GRIPPER = re.compile(r"gripper", re.IGNORECASE)
# Robots whose drivers report the current of each motor as its effort.
_CURRENT_AS_EFFORT = re.compile("aloha", re.IGNORECASE)
# Of these, older recordings hold -100 .. 100 of the calibrated range of each motor.
_PERHAPS_SHARES = re.compile(r"so_?10[01]|so_follower|koch|omx|lekiwi", re.IGNORECASE)
_LARGEST_SHARE = 100.0
_DEGREES = "positions are taken as degrees from the middle of each calibrated range, as lerobot writes them"
_UNITS_OPEN = (
    'state calibration = "<robot>.json" if positions are shares of the calibrated ranges, or calibration = "degrees".'
)
_STATED_DEGREES = "degrees"  # what a mapping may state in place of a calibration
_CHANGES = 20  # of positions, fewer of which could keep to an encoder's steps by chance
_STEPS_PER_TURN = 4095  # as lerobot counts them: 360 degrees are the largest number of an encoder with 4096 steps


def sniff(path: Source) -> bool:
    """Return whether a path is the folder of a data set, or a Parquet file in one."""
    return not isinstance(path, RemoteFile) and _root(path) is not None


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the episodes of a data set: positions of its motors, and commands, from `observation.*` and `action`."""
    data = _DataSet.of(path, columns)
    layout = data.layout(robot)
    return log_from_parts(path, data.parts(layout.file_columns, whole=True), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows, decoding one row group of one file at a time."""
    data = _DataSet.of(path, columns)
    layout = data.layout(robot)
    yield from blocks_from_parts(path, data.parts(layout.file_columns), layout, source, size)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the columns of a data set without their rows: one per motor of each vector, time by the rate, and the episode."""
    return _DataSet.of(path, columns).head()


@dataclass(frozen=True)
class _DataSet:
    """A data set, or one file of it: what info.json says, and how its columns are to be read."""

    path: Path
    root: Path
    info: _Info
    columns: Columns

    @classmethod
    def of(cls, path: Source, columns: Columns) -> _DataSet:
        """Return the data set that a path belongs to."""
        root = None if isinstance(path, RemoteFile) else _root(path)
        if root is None or isinstance(path, RemoteFile):
            raise TaupiError(
                "{file} is not the folder of a LeRobot data set: it has no meta/info.json.", file=path.name
            )
        return cls(path, root, _info(root), columns)

    @property
    def features(self) -> dict[str, object]:
        """What info.json says of each column of the files."""
        return {str(k): v for k, v in self.info["features"].items() if isinstance(v, Mapping)}

    def head(self) -> Table:
        """Return its columns without their rows."""
        table, units_known = self._survey()
        return table if units_known else replace(table, units={}, doubts=(_UNITS_OPEN,))

    def layout(self, robot: Robot | None) -> Layout:
        """Return which column is which signal; refused if the units of positions are neither stated nor seen."""
        table, units_known = self._survey()
        if not units_known and not set(self.columns.channels) - {"time"}:
            raise TaupiError(
                "{folder}: its positions may be degrees, or -100 .. 100 of each motor's calibrated range, as older recordings "
                "hold them, and its numbers do not tell which.",
                remedy="State {shares} if they are shares of the range, or {degrees}.",
                folder=printable(self.root.name),
                shares=Argument("columns", {"calibration": "<robot>.json"}),
                degrees=Argument("columns", {"calibration": _STATED_DEGREES}),
            )
        return resolve_layout(table, self.columns, robot)

    def _survey(self) -> tuple[Table, bool]:
        """Return the columns without their rows, and whether the units of positions are known, for which all rows are looked at.

        They are degrees if they exceed 100, or if they keep to the steps of an encoder, (ticks - middle) 360 / 4095.
        """
        first, most, changes, on_steps = None, 0.0, 0, True
        for part in self._arrays():
            table = _table(part, self.info, self.features, self.columns, self.path)
            first = table if first is None else first
            for name in table.units:
                values = table.columns[name]
                most = max(most, np.abs(values).max(initial=0.0))
                if name.startswith("obs"):
                    halves = values * (2 * _STEPS_PER_TURN / 360)  # the middle of a range may be between two steps
                    on_steps &= bool((np.abs(halves - np.round(halves)) < 1e-3).all())
                    changes += np.count_nonzero(np.diff(values))
        if first is None:
            raise TaupiError("{folder}: its files have no rows.", folder=printable(self.root.name))
        perhaps_shares = self.columns.calibration is None and _PERHAPS_SHARES.search(str(self.info.get("robot_type")))
        seen = most > _LARGEST_SHARE or (on_steps and changes >= _CHANGES)
        known = not (first.units and perhaps_shares) or seen
        if not perhaps_shares:
            why = ""
        elif seen:
            why = "; they " + ("exceed 100" if most > _LARGEST_SHARE else "keep to the steps of an encoder")
        else:
            why = "; older recordings hold -100 .. 100 of each range: then state calibration = '<robot>.json'"
        notes = tuple(note + why if note == _DEGREES else note for note in first.notes)
        return replace(first, columns={name: values[:0] for name, values in first.columns.items()}, notes=notes), known

    def parts(self, wanted: list[str], whole: bool = False) -> Iterator[dict[str, np.ndarray]]:
        """Yield some columns part by part; `whole` says that all parts are to be kept, so that they have to fit."""
        for part in self._arrays(whole):
            columns = _table(part, self.info, self.features, self.columns, self.path).columns
            yield {name: columns[name] for name in wanted}

    def _arrays(self, whole: bool = False) -> Iterator[dict[str, np.ndarray]]:
        """Yield part by part the columns of all files that are features of numbers, one or a vector per frame."""
        files = _files(self.root, self.path, self.info)
        used, size = 0, sum(file.stat().st_size for file in files)
        clock, features, shapes = Clock(self.root.name, size), self.features, dict[str, tuple[int, ...]]()
        for file in files:
            clock.check()
            opened = ParquetColumns(file)
            names = [name for name in opened.head().columns if name in features or name in _COUNTERS]
            if shapes and set(names) != set(shapes):
                raise TaupiError(
                    "{file} has the columns {got:,}, but the first file of the data set {expected:,}.",
                    file=printable(file.name),
                    got=sorted(names),
                    expected=sorted(shapes),
                )
            if "episode_index" not in names:
                raise TaupiError("{folder}: its files have no column episode_index.", folder=printable(self.root.name))
            for part in opened.parts(names):
                clock.check()
                used += sum(column.nbytes for column in part.values()) if whole else 0
                budget().check_unpacked(used, size, self.root.name)
                own = {name: column.shape[1:] for name, column in part.items()}
                shapes = shapes or own
                if own != shapes:
                    raise TaupiError(
                        "{folder}: vectors differ in length from file to file.", folder=printable(self.root.name)
                    )
                yield part


def _root(path: Path) -> Path | None:
    """Return the folder of the data set that a path belongs to; None if it belongs to none."""
    if path.is_dir():
        return path if (path / _INFO).is_file() and not any(path.glob("*.mcap")) else None
    if path.suffix != ".parquet":
        return None
    above = list(path.absolute().parents)[:_ABOVE]
    return next((folder for folder in above if (folder / _INFO).is_file()), None)


def _info(root: Path) -> _Info:
    where = f"{printable(root.name)}/{_INFO}"
    info = parse_json(read_text(root / _INFO, "a LeRobot data set"), where, "what LeRobot wrote")
    if not isinstance(info, dict) or not isinstance(info.get("features"), dict):
        raise TaupiError("{where} states no features, expected the features of a LeRobot data set.", where=where)
    version, fps = info.get("codebase_version"), info.get("fps")
    if not isinstance(version, str) or not re.fullmatch(r"v?[23](\.\d+)?", version):
        raise TaupiError(
            "{where}: codebase_version is {got!r}, expected v2.0, v2.1 or v3.0. Convert it with lerobot.",
            where=where,
            got=version,
        )
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not 0 < fps < 1e6:
        raise TaupiError("{where}: fps is {got!r}, expected the frames per second.", where=where, got=fps)
    return info


def _files(root: Path, path: Path, info: Mapping[str, object]) -> list[Path]:
    """Return the Parquet files that the template in info.json names, whatever the version, or the one that is asked for."""
    if path.is_file():
        return [path]
    template = info.get("data_path", "data/*/*.parquet")
    pattern = _PLACE.sub("*", template) if isinstance(template, str) else ""
    parts = PurePosixPath(pattern).parts
    if not pattern or ".." in parts or PurePosixPath(pattern).is_absolute() or "**" in pattern:
        raise TaupiError(
            "{info}: data_path is {got!r}, expected a template below the folder.", info=_INFO, got=template
        )
    try:
        files = sorted(root.glob(pattern), key=lambda file: [int(n) for n in re.findall(r"\d+", str(file))])
    except (OSError, ValueError):  # no file can have such a name
        files = []
    if not files:
        raise TaupiError(
            "{folder} has no file {pattern}: its data was not downloaded.", folder=printable(root.name), pattern=pattern
        )
    return files


_COUNTERS = ("timestamp", "frame_index", "episode_index", "index", "task_index")


def _table(arrays: dict[str, np.ndarray], info: _Info, features: _Info, columns: Columns, path: Source) -> Table:
    fps = float(info["fps"])
    frames = arrays.get("frame_index")
    time = frames / fps if frames is not None else arrays.get("timestamp")
    if time is None:
        raise TaupiError("{file}: its files have neither frame_index nor timestamp.", file=path.name)
    flat: dict[str, np.ndarray] = {"timestamp": time, "episode_index": arrays["episode_index"]}
    asked = {name for channel in columns.channels.values() for name in channel.names}
    asked |= {name.partition("[")[0] for name in asked}
    flat |= {name: arrays[name] for name in asked if name in arrays}
    numbers = _numbers(arrays, features)
    robot_type = str(info.get("robot_type") or "")
    stated = columns.calibration == _STATED_DEGREES
    degrees = stated or (_IN_DEGREES.search(robot_type) is not None and columns.calibration is None)
    poses = [column for column, name, _ in numbers if name.lower() in _POSES]
    grippers = [column for column, name, _ in numbers if _GRIPPER.search(name)] if degrees else []
    efforts = [column for column, *_ in numbers if _CURRENT_AS_EFFORT.search(robot_type) and _signal(column) == "tau"]
    flat |= {column: values for column, _, values in numbers if column not in (*poses, *grippers, *efforts)}
    by_signal = {"q": "deg", **({"qd": "deg/s"} if _DEGREES_PER_SECOND.search(robot_type) else {})}
    units = {name: by_signal[_signal(name)] for name in flat if degrees and _signal(name) in by_signal}
    notes = [f"LeRobot {info['codebase_version']}, {robot_type or 'robot not named'}: time is frame / fps, {fps:g} Hz"]
    if poses:
        notes.append(f"left out, as they are coordinates of the hand: {', '.join(poses[:6])}")
    if grippers:
        names = ", ".join(grippers)
        notes.append(f"left out, as a gripper is written in per cent of its range: {names}; lock its joint")
    if efforts:
        feature = next(name for name in arrays if efforts[0].startswith(f"{name}."))
        notes.append(
            f"left out, the current of each motor as its driver reports it, not a torque: if it is mA, state "
            f"current = {{columns = '{feature}', unit = 'mA'}}: {efforts[0]} ... {efforts[-1]}"
        )
    if degrees:
        notes.append(_DEGREES)
    if columns.calibration is not None and not stated:
        notes += _in_radians(flat, columns.calibration)
    swapped = [
        c for c in flat if _STATE.match(c) and c.startswith("act") and (h := parse_header(c)) is not None and h.measured
    ]
    if swapped:
        notes.append(f"action holds what was measured, by the names in it: {', '.join(swapped[:6])}")
    if not any(_signal(name) in ("tau", "current") for name in flat):
        notes.append(
            "positions and commands only: without a torque, a fit needs a [drive] table that says how commands drive"
        )
    if fps < 200:
        notes.append(f"at {fps:g} Hz, nothing above about {fps / 6:.2g} Hz is seen")
    return Table(flat, path, notes=tuple(notes), units=units)


def _numbers(arrays: Mapping[str, np.ndarray], features: _Info) -> list[tuple[str, str, np.ndarray]]:
    """Return each number of the vectors: what its column is called, its own name, and its values.

    Where joint positions have a vector of their own, the state, or the action, repeats them and is left out.
    """
    own = {name.partition(".")[0][:3] for name in features if "joint_pos" in name}
    vectors = {name: values for name, values in arrays.items() if name not in _COUNTERS and values.ndim == 2}
    return [
        (_column(feature, name), name, values[:, k])
        for feature, values in vectors.items()
        if not (_STATE.fullmatch(feature) and feature[:3] in own)
        for k, name in enumerate(_names(features[feature].get("names"), values.shape[1]))
    ]


def _names(names: object, width: int) -> list[str]:
    """Return the names of the numbers in a vector: from a list, a nested list or a table of lists; numbered if there are none.

    >>> _names({"motors": ["a", "b"]}, 2), _names([["a", "b"]], 2), _names(None, 2)
    (['a', 'b'], ['a', 'b'], ['0', '1'])
    """

    def leaves(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            for inner in value.values():
                yield from leaves(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from leaves(inner)

    found = list(leaves(names))
    return found if len(found) == width and len(set(found)) == width else [str(k) for k in range(width)]


def _column(feature: str, name: str) -> str:
    """Return the name of a column for a number in a vector; a state that names no signal is a position.

    >>> _column("observation.state", "elbow"), _column("observation.velocity", "elbow"), _column("action", "elbow.pos")
    ('observation.state.elbow.pos', 'observation.velocity.elbow', 'action.elbow.pos')
    """
    column = f"{feature}.{name}"
    return column if parse_header(column) is not None or not _STATE.match(feature) else f"{column}.pos"


def _signal(column: str) -> str:
    header = parse_header(column)
    return "" if header is None else header.signal


def _in_radians(flat: dict[str, np.ndarray], calibration: str) -> list[str]:
    """Turn -100 .. 100 of the calibrated range into radians from its middle, and a gripper's 0 .. 100 from its start."""
    where = printable(Path(calibration).name)
    motors = parse_json(read_text(calibration, "a calibration of LeRobot (.json)"), where, "a calibration of LeRobot")
    if not isinstance(motors, dict):
        raise TaupiError("{where} is not a calibration of LeRobot, expected a table of motors.", where=where)
    for name, values in flat.items():
        header = parse_header(name)
        if header is None or header.signal != "q":
            continue
        facts = motors.get(header.label)
        try:
            assert isinstance(facts, dict)
            low, high, flipped = float(facts["range_min"]), float(facts["range_max"]), bool(facts["drive_mode"])
        except (AssertionError, TypeError, KeyError, ValueError, OverflowError):
            raise TaupiError(
                "{where} has no range_min, range_max and drive_mode of {motor!r}. It has: {motors:,}.",
                where=where,
                motor=header.label,
                motors=list(motors)[:12],
            ) from None
        if not (math.isfinite(low) and math.isfinite(high) and high > low):
            raise TaupiError("{where}: the range of {motor!r} is empty.", where=where, motor=header.label)
        gripper = _GRIPPER.search(header.label) is not None
        share = values / 100 if gripper else values / 200
        if flipped:
            share = 1 - share if gripper else -share
        flat[name] = share * (high - low) * 2 * math.pi / _STEPS_PER_TURN
    return [
        f"positions are shares of the calibrated ranges in {where}, from their middles; state offset for another zero"
    ]
