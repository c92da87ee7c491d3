"""Parquet: one column per joint, or columns of lists; times as numbers or as time stamps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.signals.columns import Columns
from taupi.signals.formats.files import beginning, readable_source
from taupi.signals.formats.parts import blocks_from_parts, log_from_parts
from taupi.signals.formats.sources import RemoteFile, Source
from taupi.signals.log import Log, LogSource
from taupi.signals.tables import Layout, Table, embedded_mapping, resolve_layout

_OWN = b"taupi_log"
_BATCH = 16384


def sniff(path: Source) -> bool:
    """Return whether a file begins as Parquet files do."""
    return beginning(path, 4) == b"PAR1"


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a Parquet file."""
    layout, epoch = _open(path, columns, robot)
    return log_from_parts(path, _parts(path, layout, epoch), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows, decoding one row group at a time."""
    layout, epoch = _open(path, columns, robot)
    yield from blocks_from_parts(path, _parts(path, layout, epoch), layout, source, size)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the columns of a Parquet file, without their rows."""
    return _table(path, {})


def write(log: Log, stream: BinaryIO, path: Path) -> None:
    """Write a log as Parquet that reads back exactly."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = {"time": pa.array(log.time)}
    for name, value in log.signals.items():
        flat |= {f"{name}_{joint}": pa.array(value[:, k]) for k, joint in enumerate(log.names)}
    table = pa.table(flat).replace_schema_metadata({_OWN: json.dumps(embedded_mapping(log, flat=True)).encode()})
    pq.write_table(table, stream, row_group_size=_BATCH, write_page_checksum=True)


def _open(path: Source, columns: Columns, robot: Robot | None) -> tuple[Layout, dict[str, int]]:
    epoch: dict[str, int] = {}
    return resolve_layout(_table(path, epoch), columns, robot), epoch


def _table(path: Source, epoch: dict[str, int]) -> Table:
    """Return the columns of a file without their rows; the first time stamp of each goes into `epoch`."""
    import pyarrow as pa

    file = _file(path)
    schema = file.schema_arrow
    try:
        own = json.loads(schema.metadata[_OWN]) if schema.metadata and _OWN in schema.metadata else None
        first = next(file.iter_batches(batch_size=1), None) if file.metadata.num_rows else None
    except (pa.ArrowException, OSError, ValueError):
        raise TaupiError(f"{path.name} is cut off or damaged.") from None
    heads: dict[str, np.ndarray] = {}
    for k, column in enumerate(schema):
        if first is not None and _holds_numbers(column.type):
            array = _numbers(first.column(k), f"{path.name}: {column.name}", epoch, column.name)
            heads[column.name] = array[:0]
    if not heads:
        raise TaupiError(f"{path.name} has no rows of numbers.")
    return Table(heads, path.name, own=own)


def _file(path: Source) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Reading ahead would load the whole file into memory.
        file = readable_source(path, "a Parquet file")
        stream = file.open() if isinstance(file, RemoteFile) else file
        return pq.ParquetFile(stream, page_checksum_verification=True, pre_buffer=False)
    except (pa.ArrowException, OSError):
        raise TaupiError(f"{path.name} is not a Parquet file, or it is cut off or damaged.") from None


def _parts(path: Source, layout: Layout, epoch: dict[str, int]) -> Iterator[dict[str, np.ndarray]]:
    import pyarrow as pa

    wanted = list(dict.fromkeys(name for picks in layout.picks.values() for name, _ in picks))
    try:
        for batch in _file(path).iter_batches(batch_size=_BATCH, columns=wanted):
            yield {name: _numbers(batch.column(name), f"{path.name}: {name}", epoch, name) for name in wanted}
    except (pa.ArrowException, OSError):
        raise TaupiError(f"{path.name} is cut off or damaged.") from None


def _holds_numbers(kind: Any) -> bool:
    import pyarrow.types as pt

    if pt.is_list(kind) or pt.is_fixed_size_list(kind) or pt.is_large_list(kind):
        return _holds_numbers(kind.value_type)
    return pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_timestamp(kind)


def _numbers(column: Any, where: str, epoch: dict[str, int], name: str) -> np.ndarray:
    """Return a column as (N,), or (N, k) if it holds lists; time stamps become seconds since the first, kept in `epoch`."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_timestamp(column.type):
        stamps = column.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy(zero_copy_only=False)
        start = epoch.setdefault(name, int(stamps[0]))
        return (stamps - start) * 1e-9
    if pt.is_list(column.type) or pt.is_fixed_size_list(column.type) or pt.is_large_list(column.type):
        flat = column.flatten().to_numpy(zero_copy_only=False).astype(float)
        if len(column) == 0 or column.null_count or len(flat) % len(column):
            raise TaupiError(f"{where} has lists of different lengths, expected one value per joint in each.")
        return flat.reshape(len(column), -1)
    return column.to_numpy(zero_copy_only=False).astype(float)
