"""Log formats, a file each. `FORMATS` is the table in which `taupi.read_log` looks for who can read a file.

A format is a module with `sniff(path) -> bool`, `read(path, columns, robot, source) -> Log`, and where it makes sense
`write(log, stream, path)`, `blocks(path, columns, robot, source, size) -> Iterator[Log]` (memory bounded) and
`rows(path) -> int`, where that is known before reading.
"""

from typing import NamedTuple


class Format(NamedTuple):
    """A row of the table: the endings that people use, the module, and whether it writes and streams."""

    endings: tuple[str, ...]
    module: str
    writes: bool = True
    streams: bool = False


FORMATS: dict[str, Format] = {
    "csv": Format(
        (".csv", ".csv.gz", ".txt", ".txt.gz", ".tsv", ".tsv.gz", ".dat"), "taupi.signals.formats.csv", streams=True
    ),
    "parquet": Format((".parquet", ".pq"), "taupi.signals.formats.parquet", streams=True),
    "npz": Format((".npz",), "taupi.signals.formats.npz", streams=True),
    "mat": Format((".mat",), "taupi.signals.formats.mat"),
    "rosbag": Format((".bag", ".mcap", ".db3"), "taupi.signals.formats.rosbag", writes=False),
}
