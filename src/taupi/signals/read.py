"""Read logs from files of any known format, at once or in blocks, and write them."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from taupi.checks import whole_number
from taupi.errors import Argument, InPython, TaupiError, shown, unknown
from taupi.files import path_of, write_file
from taupi.input_files import printable
from taupi.model.robot import Robot
from taupi.settings import takes
from taupi.signals.formats import FORMATS
from taupi.signals.formats.files import readable_source, sha256
from taupi.signals.formats.sources import Source, shown_address
from taupi.signals.log import Log, LogSource
from taupi.signals.log_part import asked_blocks, asked_part
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.tables import Table
from taupi.signals.reading import Reading

PathLike = str | os.PathLike[str]
LogLike = Log | PathLike


@takes(reading=Reading)
def read_log(path: PathLike, robot: Robot | None = None, *, reading: Reading) -> Log:
    """Return the log in the file at a `path`: CSV (also .gz), Parquet, NPZ, MAT, ROS 1 and ROS 2 bags, MCAP.

    An address works as well: s3://, gs://, az:// or https:// (extra `remote`), with credentials from the environment.
    If `columns` names no signal, the signals are guessed from the headers; the guess is in `log.notes`, and headers that could
    mean two things are refused. With a `robot`, joints are matched by name and put in its order; by default they keep that of the
    file. The result is in SI units.

    >>> import pathlib, tempfile, taupi as tp
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.csv")
    >>> _ = path.write_text("t_ms,q1_deg,tau1\\n0,0,1\\n10,90,2\\n20,180,1\\n")
    >>> log = tp.read_log(path)
    >>> log.time.tolist(), log.q[1, 0].round(4).item()
    ([0.0, 0.01, 0.02], 1.5708)
    >>> log.notes[0]
    'columns guessed from their headers: time = t_ms (ms); q = q1_deg (deg); tau = tau1 (SI)'
    """
    file, name, columns = _open(path, reading)
    source = LogSource(printable(shown_address(path), 4096), sha256(file), name)
    log: Log = _module(name).read(file, columns, _check_robot(robot), source)
    return asked_part(log, reading)


@takes(reading=Reading)
def read_table(path: PathLike, robot: Robot | None = None, *, reading: Reading) -> Table:
    """Return the columns of the file at a `path` as they are named in it, perhaps without their rows."""
    file, name, columns = _open(path, reading)
    table: Table = _module(name).head(file, columns, _check_robot(robot))
    return table


@takes(reading=Reading)
def log_blocks(path: PathLike, size: int = 100_000, robot: Robot | None = None, *, reading: Reading) -> Iterator[Log]:
    """Yield a long log in blocks of `size` samples, 100 000 by default, in bounded memory: CSV, Parquet and NPZ.

    `path`, `robot` and everything else are as in `read_log`.

    >>> import os, tempfile, numpy as np, taupi as tp
    >>> path = os.path.join(tempfile.mkdtemp(), "run.npz")
    >>> tp.write_log(tp.Log(np.arange(10) / 10, np.ones((10, 2))), path)
    >>> [len(block) for block in tp.signals.log_blocks(path, size=4)]
    [4, 4, 2]
    """
    return block_reader(path, size, robot, reading)()


def block_reader(path: PathLike, size: int, robot: Robot | None, reading: Reading) -> Callable[[], Iterator[Log]]:
    """Return a function that yields the blocks of a log, from the start at each call; the file is hashed once, here."""
    whole_number("size", size)
    file, name, columns = _open(path, reading)
    if not FORMATS[name].streams:
        streaming = [k for k, f in FORMATS.items() if f.streams]
        raise TaupiError(
            f"{file.name} is a {name} file, which cannot be read in blocks. Convert it to one of {', '.join(streaming)}."
        )
    motor = columns.motor
    if motor is not None and motor.volts_per_speed and "thetad" not in columns.channels:
        raise TaupiError(
            f"{file.name}: motor.volts_per_speed needs the motors' speed, and theta cannot be differentiated across blocks.",
            remedy=(
                *("Map a recorded thetad, or read the file whole: ", InPython("read_log, ")),
                *(Argument("stream", False), "."),
            ),
        )
    source = LogSource(printable(shown_address(path), 4096), sha256(file), name)
    checked = _check_robot(robot)

    def blocks() -> Iterator[Log]:
        logs: Iterator[Log] = _module(name).blocks(file, columns, checked, source, int(size))
        return asked_blocks(logs, reading, int(size))

    return blocks


def write_log(log: Log, path: PathLike, force: bool = False) -> None:
    """Write a `log` to the file at a `path`, in the format of its ending: .csv, .csv.gz, .parquet, .npz, .mat.

    It reads back as it was, notes included. A file that exists is overwritten only with `force`.

    >>> import os, tempfile, taupi as tp
    >>> path = os.path.join(tempfile.mkdtemp(), "run.parquet")
    >>> tp.write_log(tp.Log([0.0, 0.1], [[1.0], [2.0]], names=("elbow",)), path)
    >>> tp.read_log(path).names
    ('elbow',)
    """
    if not isinstance(log, Log):
        raise TaupiError(Argument("log"), f" is {shown(log)}, expected a Log.")
    file = path_of(path)
    name = _by_ending(file)
    if name is None or not FORMATS[name].writes:
        endings = [f.endings[0] for f in FORMATS.values() if f.writes]
        raise TaupiError(
            Argument("path"), f" is {str(file)!r}, expected an ending that can be written: {', '.join(endings)}."
        )
    write_file(file, lambda stream: _module(name).write(log, stream, file), force)


def _open(path: PathLike, reading: Reading) -> tuple[Source, str, Columns]:
    """Return the file, its format and its column mapping, completed by the settings."""
    file = readable_source(path, folder=True)
    columns = Columns.of(reading.columns)
    if reading.rate_hz is not None:
        columns = dataclasses.replace(columns, rate_hz=reading.rate_hz)
    if reading.topic is not None:
        columns = dataclasses.replace(columns, topic=reading.topic)
    if reading.format is not None and reading.format not in FORMATS:
        raise unknown(Argument("format"), reading.format, FORMATS)
    return file, reading.format or _sniff(file), columns


def _sniff(file: Source) -> str:
    ending = _by_ending(file)
    order = ([ending] if ending else []) + ["rosbag", "parquet", "npz", "mat", "csv"]
    for name in dict.fromkeys(order):
        if _module(name).sniff(file):
            return name
    if ending:  # it has the ending of a format but not its content: the reader says what is wrong
        return ending
    raise TaupiError(f"{file.name} is of no known format. Known: {', '.join(FORMATS)}.")


def _by_ending(file: Source) -> str | None:
    low = file.name.lower()
    return next((name for name, f in FORMATS.items() if low.endswith(f.endings)), None)


def _module(name: str) -> Any:
    return importlib.import_module(FORMATS[name].module)


def _check_robot(robot: Robot | None) -> Robot | None:
    if robot is not None and not isinstance(robot, Robot):
        raise TaupiError(Argument("robot"), f" is {shown(robot)}, expected a Robot: taupi.load(...).")
    return robot
