"""One way in and one way out: logs from files of any known format, whole or in blocks."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from taupi.checks import whole_number
from taupi.errors import Argument, InPython, TaupiError, shown, unknown
from taupi.files import path_of, write_file
from taupi.model.robot import Robot
from taupi.settings import takes
from taupi.signals.columns import Columns
from taupi.signals.formats import FORMATS
from taupi.signals.formats.files import readable, sha256
from taupi.signals.log import Log, LogSource
from taupi.signals.reading import Reading

ColumnsLike = Columns | Mapping[str, Any] | str | os.PathLike[str] | None


@takes(reading=Reading)
def read_log(path: str | os.PathLike[str], robot: Robot | None = None, *, reading: Reading) -> Log:
    """Return the log in the file at a `path`: CSV (also .gz), Parquet, NPZ, MAT, ROS 1 and ROS 2 bags, MCAP.

    Signals that `columns` does not name are guessed from the headers if it names none; the guess is in `log.notes`, and headers
    with two readings are refused. With a `robot`, joints are found by name and brought into its order. The result is in SI
    units.

    >>> import pathlib, tempfile, taupi as tp
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.csv")
    >>> _ = path.write_text("t_ms,q1_deg,tau1\\n0,0,1\\n10,90,2\\n20,180,1\\n")
    >>> log = tp.read_log(path)
    >>> log.time.tolist(), log.q[1, 0].round(4).item()
    ([0.0, 0.01, 0.02], 1.5708)
    >>> log.notes[0]
    'columns guessed from their headers: time = t_ms (ms); q = q1_deg (deg); tau = tau1 (SI)'
    """
    file, name, columns = _opened(path, reading)
    source = LogSource(str(path), sha256(file), name)
    log: Log = _module(name).read(file, columns, _checked(robot), source)
    return log


@takes(reading=Reading)
def log_blocks(
    path: str | os.PathLike[str], size: int = 100_000, robot: Robot | None = None, *, reading: Reading
) -> Iterator[Log]:
    """Yield a long log in pieces of `size` samples, in bounded memory: CSV, Parquet and NPZ.

    `path`, `robot` and everything else as in `read_log`.

    >>> import os, tempfile, numpy as np, taupi as tp
    >>> path = os.path.join(tempfile.mkdtemp(), "run.npz")
    >>> tp.write_log(tp.Log(np.arange(10) / 10, np.ones((10, 2))), path)
    >>> [len(block) for block in tp.log_blocks(path, size=4)]
    [4, 4, 2]
    """
    return block_reader(path, size, robot, reading)()


def block_reader(
    path: str | os.PathLike[str], size: int, robot: Robot | None, reading: Reading
) -> Callable[[], Iterator[Log]]:
    """Return a function that yields the blocks of a log, from the start at each call; the file is hashed once, here."""
    whole_number("size", size)
    file, name, columns = _opened(path, reading)
    if not FORMATS[name].streams:
        streaming = [k for k, f in FORMATS.items() if f.streams]
        raise TaupiError(
            f"{file.name} is a {name} file, which has no blocks. Convert it to one of {', '.join(streaming)}."
        )
    motor = columns.motor
    if motor is not None and motor.volts_per_speed and "thetad" not in columns.channels:
        raise TaupiError(
            f"{file.name}: motor.volts_per_speed takes the speed from theta, which has no neighbours where blocks end.",
            remedy=("Map a recorded thetad, or read the file whole: read_log, ", Argument("stream", False), "."),
        )
    source = LogSource(str(path), sha256(file), name)
    known = _checked(robot)

    def blocks() -> Iterator[Log]:
        found: Iterator[Log] = _module(name).blocks(file, columns, known, source, int(size))
        return found

    return blocks


def row_count(path: str | os.PathLike[str]) -> int | None:
    """Return how many rows a file says it has, or None where its format would have to be read to know."""
    file = readable(path, folder=True)
    count = getattr(_module(_sniffed(file)), "rows", None)
    return None if count is None else int(count(file))


def write_log(log: Log, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a log to a file, by its ending: .csv, .csv.gz, .parquet, .npz, .mat. It reads back as it was, notes and all.

    >>> import os, tempfile, taupi as tp
    >>> path = os.path.join(tempfile.mkdtemp(), "run.parquet")
    >>> tp.write_log(tp.Log([0.0, 0.1], [[1.0], [2.0]], names=("elbow",)), path)
    >>> tp.read_log(path).names
    ('elbow',)
    """
    if not isinstance(log, Log):
        raise TaupiError(f"log is {shown(log)}, expected a Log.")
    file = path_of(path)
    name = _by_ending(file)
    if name is None or not FORMATS[name].writes:
        endings = [f.endings[0] for f in FORMATS.values() if f.writes]
        raise TaupiError(f"path is {str(file)!r}, expected an ending that can be written: {', '.join(endings)}.")
    write_file(file, lambda stream: _module(name).write(log, stream, file), force)


def _opened(path: str | os.PathLike[str], reading: Reading) -> tuple[Path, str, Columns]:
    """Return the file, its format and its column mapping, which the settings complete."""
    file = readable(path, folder=True)
    columns = Columns.of(reading.columns)
    if reading.rate_hz is not None:
        columns = dataclasses.replace(columns, rate_hz=reading.rate_hz)
    if reading.topic is not None:
        columns = dataclasses.replace(columns, topic=reading.topic)
    if reading.format is not None and reading.format not in FORMATS:
        raise unknown(Argument("format"), reading.format, FORMATS)
    return file, reading.format or _sniffed(file), columns


def _sniffed(file: Path) -> str:
    ending = _by_ending(file)
    order = ([ending] if ending else []) + ["rosbag", "parquet", "npz", "mat", "csv"]
    for name in dict.fromkeys(order):
        if _module(name).sniff(file):
            return name
    if ending:  # named like one but no such bytes: its reader says what is wrong
        return ending
    raise TaupiError(f"{file.name} is of no known format. Known: {', '.join(FORMATS)}.")


def _by_ending(file: Path) -> str | None:
    low = file.name.lower()
    return next((name for name, f in FORMATS.items() if low.endswith(f.endings)), None)


def _module(name: str) -> Any:
    return importlib.import_module(FORMATS[name].module)


def _checked(robot: Robot | None) -> Robot | None:
    if robot is not None and not isinstance(robot, Robot):
        raise TaupiError(f"robot is {shown(robot)}, expected a Robot: taupi.load(...).")
    return robot
