"""Read logs from files of any known format, at once or in blocks, and the requested part of them; write them."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from taupi.checks import whole_number
from taupi.errors import Argument, InPython, TaupiError, unknown
from taupi.files import path_of, write_file
from taupi.input_files import printable
from taupi.model.robot import Robot
from taupi.settings import settle, without_none
from taupi.signals.base_motion import joined_bases
from taupi.signals.formats import FORMATS, format_by_ending, format_names, format_of, sniffed
from taupi.signals.formats.files import readable_source, sha256
from taupi.signals.formats.sources import Source, shown_address
from taupi.signals.log import Log, LogSource, differ
from taupi.signals.mapping.columns import Columns, ColumnsLike
from taupi.signals.mapping.tables import Table
from taupi.signals.mapping.words import numbers_segments
from taupi.signals.reading import Reading, ReadingDetails, ReadingOptions, Streaming

if TYPE_CHECKING:
    from typing_extensions import Unpack

PathLike = str | os.PathLike[str]
LogLike = Log | PathLike

_DEFAULTS = Reading()


def read_log(
    path: PathLike,
    robot: Robot | None = None,
    columns: ColumnsLike = None,
    *,
    reading: Reading | None = None,
    **options: Unpack[ReadingDetails],
) -> Log:
    """Return the log in the file at a `path`: CSV (also .gz), Parquet, NPZ, MAT, HDF5, LeRobot, ROS 1 and ROS 2 bags, MCAP, ULog.

    Args:
        path: The file, or an address: s3://, gs://, az:// or https:// (extra `remote`), with credentials from the environment.
        robot: The robot by whose names joints are matched and in whose order they are put; by default the file's order is kept.
        columns: Which column holds which signal, in which unit: a mapping, or the path of a TOML file. If it names no signal, as
            by default, signals are guessed from the headers; headers that could mean two things are refused.
        reading: How the file is read, whole; the defaults of `taupi.Reading` otherwise.
        **options: Fields of `taupi.Reading` instead: `rate_hz`, `topic`, `format`, `begin`, `end`, `rows`, `encoder_offset`.

    Returns:
        The log, in SI units; its `notes` state the guess.

    >>> import pathlib, tempfile, taupi as tp
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.csv")
    >>> _ = path.write_text("t_ms,q1_deg,tau1\\n0,0,1\\n10,90,2\\n20,180,1\\n")
    >>> log = tp.read_log(path)
    >>> log.time.tolist(), log.q[1, 0].round(4).item()
    ([0.0, 0.01, 0.02], 1.5708)
    >>> log.notes[0]
    'columns guessed from their headers: time = t_ms (ms); q = q1_deg (deg); tau = tau1 (SI)'
    """
    (settings,) = settle(read_log, {**options, **without_none(columns=columns)}, (Reading, reading))
    file, name, mapping = _open(path, settings)
    source = LogSource(printable(shown_address(path), 4096), sha256(file), name)
    log = format_of(name).load().read(file, mapping, _check_robot(robot), source)
    part = asked_part(log, settings)
    return next(path.blocks([part], len(part))) if isinstance(path, RunOfFile) else part


def read_table(path: PathLike, robot: Robot | None = None, reading: Reading = _DEFAULTS) -> Table:
    """Return the columns of the file at a `path` as they are named in it, perhaps without their rows."""
    file, name, columns = _open(path, reading)
    return format_of(name).load().head(file, columns, _check_robot(robot))


def holds_runs(path: PathLike, reading: Reading = _DEFAULTS) -> bool:
    """Return whether the file at a path may hold several runs, such as episodes: its format does, or a column numbers them.

    One whose columns are not known before all of it is read is taken to hold one.
    """
    try:
        file, name, columns = _open(path, reading)
        row = format_of(name)
        if row.runs or columns.segment:
            return True
        return (
            row.runs is None
            and row.streams
            and any(numbers_segments(column) for column in row.load().head(file, columns, None).columns)
        )
    except TaupiError:
        return False


class RunOfFile(str):
    """The path of a file of which a single run is read: `rows`, first:stop, of those that a reading selects, with a `note`.

    Whatever takes it for a plain path reads all runs, and is told that there are several.
    """

    rows: tuple[int, int]
    note: str

    @classmethod
    def of(cls, path: PathLike, rows: tuple[int, int], note: str) -> RunOfFile:
        """Return a run of the file at a path."""
        run = cls(os.fspath(path))
        run.rows, run.note = rows, note
        return run

    def __repr__(self) -> str:
        return f"{shown_address(str(self))!r} ({self.note})"

    def blocks(self, blocks: Iterable[Log], size: int) -> Iterator[Log]:
        """Yield the part of a file's blocks that is this run."""
        parts = asked_blocks(blocks, Reading(rows=self.rows), size)
        return (part.with_(segment=None, notes=self.note) for part in parts)


def runs_of_file(path: PathLike, robot: Robot | None, reading: Streaming) -> list[RunOfFile]:
    """Return the runs of a file that is streamed, which is read once to see where each begins."""
    edges, row, last = [0], 0, None
    for block in block_reader(path, reading.block, robot, reading)():
        if block.segment is not None:
            edges += [row] if last is not None and differ(last, block.segment[0]) else []
            edges += (row + block.seams).tolist()
            last = block.segment[-1]
        row += len(block)
    pairs = list(itertools.pairwise([*edges, row]))
    return [RunOfFile.of(path, rows, f"run {k + 1} of {len(pairs)}") for k, rows in enumerate(pairs)]


def log_blocks(
    path: PathLike,
    size: int = 100_000,
    robot: Robot | None = None,
    *,
    reading: Reading | None = None,
    **options: Unpack[ReadingOptions],
) -> Iterator[Log]:
    """Yield a long log block by block, in bounded memory: CSV, Parquet, NPZ, HDF5, LeRobot, MCAP not of ROS, ULog.

    Args:
        path: The file or address, as in `read_log`.
        size: The number of samples per block; 100 000 by default.
        robot: As in `read_log`.
        reading: As in `read_log`.
        **options: Fields of `taupi.Reading` instead, `columns` included.

    Yields:
        Logs of `size` samples, the last one perhaps shorter.

    >>> import os, tempfile, numpy as np, taupi as tp
    >>> path = os.path.join(tempfile.mkdtemp(), "run.npz")
    >>> tp.write_log(tp.Log(np.arange(10) / 10, np.ones((10, 2))), path)
    >>> [len(block) for block in tp.signals.log_blocks(path, size=4)]
    [4, 4, 2]
    """
    (settings,) = settle(log_blocks, options, (Reading, reading))
    return block_reader(path, size, robot, settings)()


def block_reader(path: PathLike, size: int, robot: Robot | None, reading: Reading) -> Callable[[], Iterator[Log]]:
    """Return a function that yields the blocks of a log, from the start at each call; the file is hashed once, here."""
    whole_number("size", size)
    file, name, columns = _open(path, reading)
    if not format_of(name).streams:
        streaming = [k for k in format_names() if format_of(k).streams]
        raise TaupiError(
            "{file} is a {name} file, which cannot be read in blocks. Convert it to one of {streaming:,}.",
            file=file.name,
            name=name,
            streaming=streaming,
        )
    motor = columns.motor
    if motor is not None and motor.volts_per_speed and "thetad" not in columns.channels:
        raise TaupiError(
            "{file}: motor.volts_per_speed needs the motors' speed, and theta cannot be differentiated across blocks.",
            remedy="Map a recorded thetad, or read the file whole: {way}{stream=False}.",
            file=file.name,
            way=InPython("read_log, "),
        )
    source = LogSource(printable(shown_address(path), 4096), sha256(file), name)
    checked = _check_robot(robot)

    def blocks() -> Iterator[Log]:
        logs = format_of(name).load().blocks(file, columns, checked, source, int(size))
        asked = asked_blocks(logs, reading, int(size))
        return path.blocks(asked, int(size)) if isinstance(path, RunOfFile) else asked

    return blocks


def write_log(log: Log, path: PathLike, force: bool = False) -> None:
    """Write a `log` to the file at a `path`, in the format of its ending: .csv, .csv.gz, .parquet, .npz, .mat.

    It reads back as it was, notes included.

    Args:
        log: The log.
        path: The file.
        force: Whether a file that exists is overwritten; refused by default.

    >>> import os, tempfile, taupi as tp
    >>> path = os.path.join(tempfile.mkdtemp(), "run.parquet")
    >>> tp.write_log(tp.Log([0.0, 0.1], [[1.0], [2.0]], names=("elbow",)), path)
    >>> tp.read_log(path).names
    ('elbow',)
    """
    if not isinstance(log, Log):
        raise TaupiError("{log} is {got!r}, expected a Log.", got=log)
    file = path_of(path)
    name = format_by_ending(file.name)
    if name is None or not format_of(name).writes:
        endings = [format_of(k).endings[0] for k in format_names() if format_of(k).writes]
        raise TaupiError(
            "{path} is {got!r}, expected an ending that can be written: {endings:,}.", got=str(file), endings=endings
        )
    write_file(file, lambda stream: format_of(name).load_writer().write(log, stream, file), force)


def _open(path: PathLike, reading: Reading) -> tuple[Source, str, Columns]:
    """Return the file, its format and its column mapping, completed by the settings."""
    file = readable_source(path, folder=True)
    columns = Columns.of(reading.columns)
    if reading.rate_hz is not None:
        columns = dataclasses.replace(columns, rate_hz=reading.rate_hz)
    if reading.topic is not None:
        columns = dataclasses.replace(columns, topic=reading.topic)
    if reading.format is not None and reading.format not in FORMATS and reading.format not in format_names():
        raise unknown(Argument("format"), reading.format, format_names())
    return file, reading.format or sniffed(file), columns


def _check_robot(robot: Robot | None) -> Robot | None:
    if robot is not None and not isinstance(robot, Robot):
        raise TaupiError("{robot} is {got!r}, expected a Robot: taupi.load(...).", got=robot)
    return robot


R = TypeVar("R", bound=Reading)


def asked_part(log: Log, reading: Reading) -> Log:
    """Return the rows of a log that `reading` selects, encoder offsets added; the log itself if it selects nothing."""
    (part,) = asked_blocks([log], reading, len(log))
    notes = [f"{len(part)} of {len(log)} samples are read"] if len(part) < len(log) else []
    if reading.encoder_offset is not None:
        notes.append(f"encoder offset {reading.encoder_offset} added to q")
    return part.with_(notes="; ".join(notes)) if notes else part


def whole_log(log: object, robot: Robot, reading: Reading, among: str = "") -> Log:
    """Return the part of a log, or of the log in the file at a path, that `reading` selects, or refuse what is neither.

    `among` is the argument that holds the log beside others; without it, the argument is the log itself.
    """
    if isinstance(log, Log):
        return asked_part(log, reading)
    if isinstance(log, str | os.PathLike):
        return read_log(log, robot, reading=reading)
    if among:
        raise TaupiError(
            "{argument} holds {got!r}, expected a Log or the path of a file.", argument=Argument(among), got=log
        )
    raise TaupiError("{log} is {got!r}, expected a Log or the path of a file.", got=log)


def asked_blocks(blocks: Iterable[Log], reading: Reading, size: int) -> Iterator[Log]:
    """Yield the part of a log's blocks that `reading` selects, in blocks of at least `size` rows, except for the last."""
    if (reading.begin, reading.end, reading.rows) == (None, None, None):
        yield from (_with_offset(block, reading) for block in blocks)
        return
    pending: list[Log] = []
    rows, yielded, origin, last = 0, False, np.nan, np.nan
    first, stop = reading.row_range
    for block in blocks:
        if stop is not None and rows >= stop:
            break
        if not len(block):
            continue
        earliest, latest = np.fmin.reduce(block.time), np.fmax.reduce(block.time)
        origin, last = earliest if np.isnan(origin) else origin, np.fmax(last, latest)
        number, seconds = rows + np.arange(len(block)), block.time - origin + _slack(origin)
        keep = (number >= first) & (number < (np.inf if stop is None else stop))
        keep &= seconds >= (-np.inf if reading.begin is None else reading.begin)
        keep &= seconds < (np.inf if reading.end is None else reading.end)
        rows += len(block)
        if keep.any():
            part = block.rows(keep)
            part = part.with_(source=dataclasses.replace(part.source, origin=float(origin)))
            pending.append(_with_offset(part, reading))
        if sum(map(len, pending)) >= size:
            yield concatenate_logs(pending)
            pending, yielded = [], True
    if pending:
        yield concatenate_logs(pending)
    elif not rows:
        raise TaupiError("The log has no rows, and so none within {bounds:and}.", bounds=_bounds(reading))
    elif not yielded:
        raise TaupiError(
            "No sample lies within {bounds:and}: the log has {rows} rows, {duration:.6g} s counted from its first sample "
            "(at {origin:g} s of its own time).",
            bounds=_bounds(reading),
            rows=rows,
            duration=last - origin,
            origin=origin,
        )


def _slack(origin: float) -> float:
    """Return the seconds by which rounding may put a time stamp before the time that it stands for."""
    return 1e-9 + 4 * np.finfo(float).eps * abs(origin)


def whole_logs(reading: R) -> R:
    """Return the settings that read every row of a log."""
    return dataclasses.replace(reading, begin=None, end=None, rows=None)


def concatenate_logs(parts: list[Log]) -> Log:
    """Return the log of consecutive blocks."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    fields: dict[str, object] = {name: np.concatenate([p.signals[name] for p in parts]) for name in first.signals}
    fields["wrench"] = {name: np.concatenate([p.wrench[name] for p in parts]) for name in first.wrench}
    fields["contact"] = {name: np.concatenate([p.contact[name] for p in parts]) for name in first.contact}
    if first.segment is not None:
        fields["segment"] = np.concatenate([p.segment for p in parts if p.segment is not None])
    if first.base is not None:
        fields["base"] = joined_bases([p.base for p in parts if p.base is not None])
    return first.with_(time=np.concatenate([p.time for p in parts]), **fields)


def _with_offset(log: Log, reading: Reading) -> Log:
    """Return the log with the offsets of the encoders added to q."""
    if reading.encoder_offset is None:
        return log
    offset = np.asarray(reading.encoder_offset, dtype=float)
    if offset.shape not in ((), (log.n,)):
        raise TaupiError(
            "{encoder_offset} is {got!r}, expected one number, or one for each of {n} joints.",
            got=reading.encoder_offset,
            n=log.n,
        )
    return log.with_(q=log.q + offset)


def _bounds(reading: Reading) -> list[Argument]:
    """Return the settings that bound the part."""
    values = {name: getattr(reading, name) for name in ("begin", "end", "rows") if getattr(reading, name) is not None}
    if "rows" in values:
        values["rows"] = ":".join("" if end is None else str(end) for end in values["rows"])
    return [Argument(name, value) for name, value in values.items()]
