"""Parquet: one column per joint, or columns of lists; times as numbers or as time stamps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError, shown
from taupi.input_files import printable
from taupi.model.robot import Robot
from taupi.signals.formats.files import beginning, own_mapping, readable_source
from taupi.signals.formats.parquet_footer import row_groups
from taupi.signals.formats.parts import blocks_from_parts, log_from_parts
from taupi.signals.formats.sources import RemoteFile, Source
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.floating_columns import written_columns
from taupi.signals.mapping.tables import Layout, Table, embedded_mapping, resolve_layout

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
    file = _File(path)
    layout = resolve_layout(file.head(), columns, robot)
    return log_from_parts(path, file.parts(layout), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows, decoding one row group at a time."""
    file = _File(path)
    layout = resolve_layout(file.head(), columns, robot)
    yield from blocks_from_parts(path, file.parts(layout, size), layout, source, size)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the columns of a Parquet file, without their rows."""
    return _File(path).head()


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
class _File:
    """A Parquet file, with facts from its first row: the first time stamp of each column, and the lengths of lists."""

    path: Source
    epoch: dict[str, int] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    footer: Any = None  # once it has been read

    def opened(self) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        file = readable_source(self.path, "a Parquet file")
        if self.footer is None:
            self.check_lists()
        try:
            # Reading ahead would load the whole file into memory.
            stream = file.open() if isinstance(file, RemoteFile) else file
            opened = pq.ParquetFile(stream, metadata=self.footer, page_checksum_verification=True, pre_buffer=False)
            self.footer = opened.metadata
            return opened
        except TaupiError:
            raise
        except (pa.ArrowException, OSError, ValueError):
            where = printable(self.path.name)
            raise TaupiError(f"{where} is not a Parquet file, or it is cut off or damaged.") from None

    def head(self) -> Table:
        """Return the columns of the file without their rows."""
        with _damage_refused(self.path):
            file = self.opened()
            schema = file.schema_arrow
            budget().check_columns(len(schema), self.path.name)
            counts = Counter(schema.names)
            if len(counts) < len(schema):
                twice = next(name for name, count in counts.items() if count > 1)
                raise TaupiError(f"{self.path.name} has two columns named {shown(twice)}. Give each its own name.")
            text = (schema.metadata or {}).get(_OWN)
            own = None if text is None else own_mapping(text, f"{self.path.name}: its mapping, taupi_log,")
            wanted = [column.name for column in schema if _holds_numbers(column.type)]
            batches = file.iter_batches(batch_size=1, columns=wanted) if file.metadata.num_rows and wanted else iter(())
            first = next(batches, None)
            if first is None or not len(first):
                raise TaupiError(f"{self.path.name} has no rows of numbers.")
            heads = {name: self.numbers(first.column(k), name)[:0] for k, name in enumerate(first.schema.names)}
        return Table(heads, self.path, own=own)

    def parts(self, layout: Layout, at_once: int = 0) -> Iterator[dict[str, np.ndarray]]:
        """Yield the columns of a layout part by part: `at_once` rows, if these are many, but not too many."""
        wanted = list(dict.fromkeys(name for picks in layout.picks.values() for name, _ in picks))
        with _damage_refused(self.path):
            file = self.opened()
            width = sum(self.widths.get(name, 1) for name in wanted)
            rows = max(1, min(max(_BATCH, at_once), _NUMBERS // width))
            # Threads would share one file's columns; they are better used for several files.
            for batch in file.iter_batches(batch_size=rows, columns=wanted, use_threads=False):
                yield {name: self.numbers(batch.column(name), name) for name in wanted}

    def check_lists(self) -> None:
        """Refuse lists that unpack to more than the budget: repeated values take next to no space in the file."""
        for group in row_groups(self.path):
            longest = max(group.values, default=0) / max(group.rows, 1)
            budget().check_columns(int(longest), f"{self.path.name}: a list")

    def numbers(self, column: Any, name: str) -> np.ndarray:
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
            raise TaupiError(f"{where} has lists of different lengths, expected one value per joint in each.")
        return column.flatten().to_numpy(zero_copy_only=False).astype(float).reshape(len(column), width)

    def _seconds(self, stamps: Any, scale: float, name: str, where: str) -> np.ndarray:
        if stamps.null_count:
            raise TaupiError(f"{where} has rows without a time stamp.", remedy="Remove these rows.")
        counts = stamps.to_numpy()
        start = self.epoch.setdefault(name, int(counts[0]))
        if max(abs(int(counts.max())), abs(int(counts.min())), abs(start)) > _LATEST:
            raise TaupiError(f"{where} has time stamps that are not times.", remedy="Remove these rows.")
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
        raise TaupiError(f"{printable(path.name)} is cut off or damaged.") from None


def _is_list(kind: Any) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_list(kind) or pt.is_fixed_size_list(kind) or pt.is_large_list(kind))


def _holds_numbers(kind: Any) -> bool:
    import pyarrow.types as pt

    if _is_list(kind):
        inner = kind.value_type
        return bool(pt.is_integer(inner) or pt.is_floating(inner) or pt.is_boolean(inner))
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_timestamp(kind))
