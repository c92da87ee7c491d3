"""Log formats, one file each, and the table in which `taupi.read_log` looks them up.

A format is a module, or any object, that keeps the protocol `LogFormat`; it may also keep `WritingFormat` and `StreamingFormat`.
The project's own formats are rows of `FORMATS`. A package registers its own by an entry point of the group `taupi.log_formats`:

    [project.entry-points."taupi.log_formats"]
    jsonlines = "my_package.jsonlines"
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol, cast

from taupi.errors import TaupiError
from taupi.extensions import Extensions

if TYPE_CHECKING:
    from pathlib import Path

    from taupi.model.robot import Robot
    from taupi.signals.formats.sources import Source
    from taupi.signals.log import Log, LogSource
    from taupi.signals.mapping.columns import Columns
    from taupi.signals.mapping.tables import Table


class LogFormat(Protocol):
    """A log format: how a file is recognised, and its columns as arrays.

    One from another package also has `endings`, a tuple such as (".jsonl",). Which column is which signal, in which unit, is not
    a format's work: `head` returns the columns as the file names them.
    """

    def sniff(self, path: Source) -> bool:
        """Return whether a file is of this format, by its first bytes or its name."""

    def head(self, path: Source, columns: Columns, robot: Robot | None) -> Table:
        """Return the columns of a file as they are named in it, with or without their rows."""

    def read(self, path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
        """Return the log in a file; `taupi.signals.formats.read_table` does it for a format whose `head` has all rows."""


class WritingFormat(LogFormat, Protocol):
    """A format that can be written."""

    def write(self, log: Log, stream: BinaryIO, path: Path) -> None:
        """Write a log to the open file that will be at `path`."""


class OwnFormat(WritingFormat, Protocol):
    """A format of another package; it can be written, or read in blocks, if it has these methods."""

    endings: tuple[str, ...]


class StreamingFormat(LogFormat, Protocol):
    """A format that can be read in blocks, in bounded memory."""

    def blocks(
        self, path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int
    ) -> Iterator[Log]:
        """Yield the log in a file in blocks of `size` rows."""


# The formats of installed packages.
ADDED: Extensions[OwnFormat] = Extensions("log format", "taupi.log_formats", ("endings", "sniff", "head", "read"))


class Format(NamedTuple):
    """A row of the table: the usual file endings, the module, and whether it can write and stream, and often holds several runs.

    `runs` is None where a column of the file says so. The module is imported only when a file of its format is read: the whole
    table is known without it. `part` is the format itself if another package has it.
    """

    endings: tuple[str, ...]
    module: str
    writes: bool = True
    streams: bool = False
    part: WritingFormat | None = None
    runs: bool | None = None

    def load(self) -> StreamingFormat:
        """Return the format itself; it has `blocks` only if it `streams`."""
        return cast("StreamingFormat", self.part or importlib.import_module(self.module))

    def load_writer(self) -> WritingFormat:
        """Return the format itself, which `writes`."""
        return cast("WritingFormat", self.load())


FORMATS: dict[str, Format] = {
    "csv": Format(
        (".csv", ".csv.gz", ".txt", ".txt.gz", ".tsv", ".tsv.gz", ".dat"), "taupi.signals.formats.csv", streams=True
    ),
    "parquet": Format((".parquet", ".pq"), "taupi.signals.formats.parquet", streams=True),
    "npz": Format((".npz",), "taupi.signals.formats.npz", streams=True),
    "mat": Format((".mat",), "taupi.signals.formats.mat"),
    "rosbag": Format((".bag", ".mcap", ".db3"), "taupi.signals.formats.rosbag", writes=False),
    "mcap": Format((), "taupi.signals.formats.mcap", writes=False, streams=True, runs=False),
    "ulog": Format((".ulg",), "taupi.signals.formats.ulog", writes=False, streams=True, runs=False),
    "hdf5": Format((".h5", ".hdf5"), "taupi.signals.formats.hdf5", writes=False, streams=True, runs=True),
    "lerobot": Format((), "taupi.signals.formats.lerobot", writes=False, streams=True, runs=True),
}
# Before their ending: a file of a data set is known by the folder around it, and ROS writes MCAP files of its own.
_BY_PLACE = ("lerobot", "mcap")
# By their bytes: text, which may begin with anything, comes last.
_BY_BYTES = ("rosbag", "parquet", "npz", "mat", "hdf5", "ulog", "csv")
# What is not read, known by its first bytes, and the way out.
_ZIP, _SHEETS = b"PK\x03\x04", (".xlsx", ".xlsm", ".ods")
_OF_OTHERS = (
    (
        b"RRF",
        "a recording of Rerun, which only its own library reads",
        "Export it to Parquet from its viewer or its query interface, and map the columns.",
    ),
    (_ZIP, "a spreadsheet", "Save it as CSV UTF-8."),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a document of Microsoft Office", "Save it as CSV UTF-8."),
    (
        b"\x93NUMPY",
        "one array without names",
        "Save each signal by its name: np.savez('log.npz', time=..., q=..., tau=...).",
    ),
    (
        b"\x80",
        "a pickle, which could run any program, and is never loaded",
        "Save arrays: np.savez('log.npz', time=..., q=...).",
    ),
    (b"TDSm", "a TDMS file of LabVIEW", "Export it to CSV or Parquet, as npTDMS does."),
    (b"MDF     ", "an MDF file of a measurement system", "Export it to CSV or Parquet, as asammdf does."),
)


def format_names() -> list[str]:
    """Return the names of all formats, those that other packages have registered last."""
    return [*FORMATS, *_registered()]


def format_of(name: str) -> Format:
    """Return the row of the format called `name`."""
    return FORMATS[name] if name in FORMATS else _registered()[name]


def format_by_ending(file: str) -> str | None:
    """Return the name of the format that the ending of a file's name stands for, or None."""
    low = file.lower()
    own = (name for name, row in FORMATS.items() if low.endswith(row.endings))
    return next(own, None) or next((name for name, row in _registered().items() if low.endswith(row.endings)), None)


def sniffed(file: Source) -> str:
    """Return the name of a file's format, by its place, its ending and its first bytes."""
    if (around := next((name for name in _BY_PLACE if FORMATS[name].load().sniff(file)), None)) is not None:
        return around
    from taupi.signals.formats.files import beginning  # which imports from here

    first = beginning(file, 16)
    for begins, what, way in _OF_OTHERS:
        if first.startswith(begins) and (begins != _ZIP or file.suffix.lower() in _SHEETS):
            raise TaupiError("{file} is {what}.", remedy=way, file=file.name, what=what)
    ending = format_by_ending(file.name)
    if ending and format_of(ending).load().sniff(file):
        return ending
    found = next((name for name in _BY_BYTES if name != ending and FORMATS[name].load().sniff(file)), None)
    if found in (None, "csv"):  # nearly any text could be one
        found = next((name for name, row in _registered().items() if row.load().sniff(file)), found)
    if found == "csv" and first.startswith((b"{", b"[{", b"[[")):
        raise TaupiError("{file} is JSON.", remedy="Save a table: CSV, Parquet, or np.savez.", file=file.name)
    if found or ending:  # where it has only the ending of a format, the reader says what is wrong
        return found or str(ending)
    raise TaupiError(
        "{file} is of no known format. Known: {format_names}.", file=file.name, format_names=", ".join(format_names())
    )


def read_table(table: Table, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a table that has all rows of a file: what the `read` of a format returns, if its `head` has them.

    Args:
        table: The columns as the file names them.
        columns: Which column holds which signal, as `read` was given it.
        robot: The robot whose joints the columns belong to, if it is known, as `read` was given it.
        source: Where the log comes from, as `read` was given it.

    >>> import numpy as np
    >>> import taupi as tp
    >>> from taupi.signals.log import LogSource
    >>> from taupi.signals.mapping.columns import Columns
    >>> table = tp.signals.Table({"t": np.arange(3) / 100, "q1": np.zeros(3)}, None)
    >>> tp.signals.read_table(table, Columns(), None, LogSource()).n
    1
    """
    from taupi.signals.mapping.tables import log_from_table, resolve_layout

    return log_from_table(table, resolve_layout(table, columns, robot), source)


@cache
def _registered() -> dict[str, Format]:
    """Return the formats of other packages; those called like one of ours are left out."""
    return {
        name: Format(tuple(part.endings), "", hasattr(part, "write"), hasattr(part, "blocks"), part)
        for name, part in ADDED.parts()
        if name not in FORMATS
    }
