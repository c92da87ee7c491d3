"""Parquet: one column per joint, or columns of lists; times as numbers or as time stamps."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from taupi.budget import budget, over_budget
from taupi.errors import TaupiError
from taupi.input_files import printable
from taupi.model.robot import Robot
from taupi.signals.floating_logs import written_columns
from taupi.signals.formats.files import (
    beginning,
    blocks_from_parts,
    damage_refused,
    log_from_parts,
    own_mapping,
    readable_source,
)
from taupi.signals.formats.sources import RemoteFile, Source
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.tables import Table, embedded_mapping, resolve_layout

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_OWN = b"taupi_log"
_BATCH = 16384  # rows that are decoded at once
_NUMBERS = 1 << 22  # and numbers, if rows are long
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_LATEST = 1 << 62  # differences of larger stamps do not fit into 64 bits


def sniff(path: Source) -> bool:
    """Return whether a file begins as Parquet files do."""
    return beginning(path, 4) == b"PAR1"


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a Parquet file."""
    file = ParquetColumns(path)
    layout = resolve_layout(file.head(), columns, robot)
    return log_from_parts(path, file.parts(layout.file_columns), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows, decoding one row group at a time."""
    file = ParquetColumns(path)
    layout = resolve_layout(file.head(), columns, robot)
    yield from blocks_from_parts(path, file.parts(layout.file_columns, size), layout, source, size)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the columns of a Parquet file, without their rows."""
    return ParquetColumns(path).head()


def write(log: Log, stream: BinaryIO, path: Path) -> None:
    """Write a log as Parquet that reads back exactly."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = {"time": pa.array(log.time)}
    for name, value in log.signals.items():
        flat |= {f"{name}_{joint}": pa.array(value[:, k]) for k, joint in enumerate(log.names)}
    flat |= {name: pa.array(value) for name, value in written_columns(log, flat=True)[0].items()}
    table = pa.table(flat).replace_schema_metadata({_OWN: json.dumps(embedded_mapping(log, flat=True)).encode()})
    pq.write_table(table, stream, row_group_size=_BATCH, write_page_checksum=True)


@dataclass
class ParquetColumns:
    """A Parquet file, with facts from its first row: the first time stamp of each column, and the lengths of lists."""

    path: Source
    epoch: dict[str, int] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    footer: pq.FileMetaData = None  # once it has been read

    def opened(self) -> pq.ParquetFile:
        """Return the file, open; what is no Parquet file is refused."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        file = readable_source(self.path, "a Parquet file")
        # Lists may unpack to more than the budget: repeated values take next to no space in the file.
        for group in row_groups(self.path) if self.footer is None else ():
            longest = max(group.values, default=0) / max(group.rows, 1)
            budget().check_columns(int(longest), f"{self.path.name}: a list")
        with damage_refused(self.path, "a Parquet file", pa.ArrowException, OSError, ValueError):
            # Reading ahead would load the whole file into memory.
            stream = file.open() if isinstance(file, RemoteFile) else file
            opened = pq.ParquetFile(stream, metadata=self.footer, page_checksum_verification=True, pre_buffer=False)
        self.footer = opened.metadata
        return opened

    def head(self) -> Table:
        """Return the columns of the file without their rows."""
        with _damage_refused(self.path):
            file = self.opened()
            schema = file.schema_arrow
            budget().check_columns(len(schema), self.path.name)
            counts = Counter(schema.names)
            if len(counts) < len(schema):
                twice = next(name for name, count in counts.items() if count > 1)
                raise TaupiError(
                    "{file} has two columns named {twice!r}. Give each its own name.", file=self.path.name, twice=twice
                )
            text = (schema.metadata or {}).get(_OWN)
            own = None if text is None else own_mapping(text, f"{self.path.name}: its mapping, taupi_log,")
            wanted = [column.name for column in schema if _holds_numbers(column.type)]
            batches = file.iter_batches(batch_size=1, columns=wanted) if file.metadata.num_rows and wanted else iter(())
            first = next(batches, None)
            if first is None or not len(first):
                raise TaupiError("{file} has no rows of numbers.", file=self.path.name)
            heads = {name: self.numbers(first.column(k), name)[:0] for k, name in enumerate(first.schema.names)}
        text = tuple(column.name for column in schema if _holds_text(column.type))
        return Table(heads, self.path, own=own, text=text)

    def parts(self, wanted: list[str], at_once: int = 0) -> Iterator[dict[str, np.ndarray]]:
        """Yield some columns part by part: `at_once` rows, if these are many, but not too many."""
        with _damage_refused(self.path):
            file = self.opened()
            width = sum(self.widths.get(name, 1) for name in wanted)
            rows = max(1, min(max(_BATCH, at_once), _NUMBERS // width))
            # Threads would share one file's columns; they are better used for several files.
            for batch in file.iter_batches(batch_size=rows, columns=wanted, use_threads=False):
                yield {name: self.numbers(batch.column(name), name) for name in wanted}

    def numbers(self, column: pa.ChunkedArray, name: str) -> np.ndarray:
        """Return a column as (N,), or (N, k) if it holds lists; time stamps become seconds since the first."""
        import pyarrow as pa
        import pyarrow.types as pt

        where = f"{self.path.name}: {name}"
        if pt.is_timestamp(column.type):
            return self._seconds(column.cast(pa.int64()), _UNITS[column.type.unit], name, where)
        if not _is_list(column.type):
            if pt.is_float64(column.type) and not column.null_count:  # `to_numpy` imports pandas, which is slow
                return np.frombuffer(column.buffers()[1], dtype=float)[column.offset : column.offset + len(column)]
            return np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)
        lengths = {None} if column.null_count else set(column.value_lengths().to_pylist())
        width = self.widths.setdefault(name, next(iter(lengths)) or 0)
        if lengths != {width} or not width:
            raise TaupiError(
                "{where} has lists of different lengths, expected one value per joint in each.", where=where
            )
        return column.flatten().to_numpy(zero_copy_only=False).astype(float).reshape(len(column), width)

    def _seconds(self, stamps: pa.ChunkedArray, scale: float, name: str, where: str) -> np.ndarray:
        if stamps.null_count:
            raise TaupiError("{where} has rows without a time stamp.", remedy="Remove these rows.", where=where)
        counts = stamps.to_numpy()
        start = self.epoch.setdefault(name, int(counts[0]))
        if max(abs(int(counts.max())), abs(int(counts.min())), abs(start)) > _LATEST:
            raise TaupiError("{where} has time stamps that are not times.", remedy="Remove these rows.", where=where)
        seconds: np.ndarray = (counts - start) * scale
        return seconds


@contextmanager
def _damage_refused(path: Source) -> Iterator[None]:
    """Turn what Arrow raises on damaged bytes into one sentence: its own errors, and Python's for names that are not UTF-8."""
    import pyarrow as pa

    try:
        yield
    except TaupiError:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, KeyError, IndexError, TypeError):
        raise TaupiError("{file} is cut off or damaged.", file=printable(path.name)) from None


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_list(kind) or pt.is_fixed_size_list(kind) or pt.is_large_list(kind))


def _holds_numbers(kind: pa.DataType) -> bool:
    import pyarrow.types as pt

    if _is_list(kind):
        inner = kind.value_type
        return bool(pt.is_integer(inner) or pt.is_floating(inner) or pt.is_boolean(inner))
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_timestamp(kind))


def _holds_text(kind: pa.DataType) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_dictionary(kind))


_DEEPEST = 32
# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData (parquet.thrift).
_ROW_GROUPS, _COLUMNS, _ROWS, _META, _VALUES = 4, 1, 3, 3, 5


@dataclass(frozen=True)
class RowGroup:
    """A group of rows: how many it has, and how many values each of its columns claims."""

    rows: int
    values: tuple[int, ...]


def row_groups(path: Source) -> list[RowGroup]:
    """Return the groups of rows that the footer of a file describes."""
    with path.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(max(size - 8, 0))
        tail = stream.read(8)
        length = struct.unpack("<I", tail[:4])[0] if len(tail) == 8 else 0
        if tail[4:] != b"PAR1" or length > size - 8:
            raise _damaged(path)
        if length > budget().text_bytes:
            raise over_budget(f"{path.name} has a footer of {length >> 20} MiB", "text_bytes")
        stream.seek(size - 8 - length)
        footer = stream.read(length)
    groups = _decoded(footer, budget().nodes)
    if groups is None:
        raise _damaged(path)
    return list(groups)


@lru_cache(maxsize=4)  # a fit reads its file several times, and a long footer takes as long to parse as the columns
def _decoded(footer: bytes, nodes: int) -> tuple[RowGroup, ...] | None:
    """Return the groups of rows in the bytes of a footer; None if they are damaged, or have more values than the limit."""
    try:
        groups = _Decoder(footer, nodes).struct(0)[_ROW_GROUPS]
        counts = [(group[_ROWS], *(c[_META][_VALUES] for c in group[_COLUMNS])) for group in groups]
    except (IndexError, KeyError, TypeError, struct.error):
        return None
    if not all(type(number) is int and number >= 0 for group in counts for number in group):
        return None
    return tuple(RowGroup(rows, tuple(values)) for rows, *values in counts)


def _damaged(path: Source) -> TaupiError:
    return TaupiError("{file} is not a Parquet file, or it is cut off or damaged.", file=path.name)


class _Decoder:
    """Reads values of Thrift's compact protocol from bytes: structs as {field: value}, lists, whole numbers, bytes."""

    def __init__(self, data: bytes, nodes: int) -> None:
        self.data, self.at, self.left = data, 0, nodes * 10

    def varint(self) -> int:
        result = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 63:
                return result

    def whole(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, object] = {}
        data, last = self.data, 0
        while True:
            head = data[self.at]
            self.at += 1
            if head == 0:
                return fields
            last = last + (head >> 4) if head >> 4 else self.whole()
            kind, byte = head & 0x0F, data[self.at]
            if kind in (4, 5, 6) and byte < 0x80:  # a small number, as most are
                self.at, self.left = self.at + 1, self.left - 1
                fields[last] = (byte >> 1) ^ -(byte & 1)
            else:
                fields[last] = self.value(kind, depth + 1)

    def value(self, kind: int, depth: int) -> Any:
        self.left -= 1
        if depth > _DEEPEST or self.left < 0:
            raise KeyError
        if kind in (1, 2):  # true and false have no content
            return kind == 1
        if kind in (4, 5, 6):
            return self.whole()
        if kind in (3, 7, 8):  # a byte, a double, a text
            count = {3: 1, 7: 8}.get(kind) or self.varint()
            if self.at + count > len(self.data):
                raise KeyError
            self.at += count
            return None
        if kind in (9, 10):
            return self.items(depth)
        if kind == 12:
            return self.struct(depth)
        raise KeyError

    def items(self, depth: int) -> list[Any]:
        head = self.data[self.at]
        self.at += 1
        count = head >> 4 if head >> 4 < 15 else self.varint()
        if count > len(self.data):
            raise KeyError
        kind = head & 0x0F
        if kind in (1, 2):  # in a list, each has a byte
            self.at += count
            return []
        return [self.value(kind, depth + 1) for _ in range(count)]
