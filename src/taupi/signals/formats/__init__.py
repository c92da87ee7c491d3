"""Log formats, one file each. `FORMATS` is the table in which `taupi.read_log` looks up the reader of a file.

A format is a module with `sniff(path) -> bool`, `read(path, columns, robot, source) -> Log`, `head(path, columns, robot) ->
Table`, whose rows may be left out, and optionally
`write(log, stream, path)` and `blocks(path, columns, robot, source, size) -> Iterator[Log]`, in bounded memory.
"""

from typing import NamedTuple


class Format(NamedTuple):
    """A row of the table: the usual file endings, the module, and whether it can write and stream."""

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
