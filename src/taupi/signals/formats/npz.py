"""NumPy archives: one array per signal, (N, n), or one per column."""

from __future__ import annotations

import io
import json
import math
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError
from taupi.model.robot import Robot
from taupi.signals.floating_logs import written_columns
from taupi.signals.formats.files import beginning, own_mapping, readable_source
from taupi.signals.formats.sources import Source, size_of
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.tables import Table, embedded_mapping, log_from_table, resolve_layout

_OWN = "taupi_log"
# Damaged archives fail in the unpackers of the standard library and in NumPy's reader, in more ways than can be listed.
_BROKEN = Exception


def sniff(path: Source) -> bool:
    """Return whether a file is a zip archive of .npy arrays."""
    if beginning(path, 4) != b"PK\x03\x04":
        return False
    try:
        with path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except _BROKEN:
        return path.suffix == ".npz"


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a NumPy archive."""
    contents = _contents(path)
    layout = resolve_layout(contents.table(path), columns, robot)
    names = {name for picks in layout.picks.values() for name, _ in picks}
    budget().check_unpacked(8 * sum(math.prod(contents.shapes[name]) for name in names), size_of(path), path.name)
    with _opened(path) as archive:
        arrays = {name: np.asarray(_array(archive, f"{name}.npy"), dtype=float) for name in names}
    arrays |= {name: arrays[name].T for name in names.intersection(contents.turned)}
    return log_from_table(Table(arrays, path), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows, read from the arrays of the archive in parallel."""
    contents = _contents(path)
    layout = resolve_layout(contents.table(path), columns, robot)
    names = sorted({name for picks in layout.picks.values() for name, _ in picks})
    if turned := set(names) & set(contents.turned):
        raise _by_columns(f"{path.name}: {min(turned)}", ".T")
    with _opened(path) as archive:
        streams = {name: archive.open(f"{name}.npy") for name in names}
        shapes = {name: _shape(streams[name], f"{path.name}: {name}") for name in names}
        rows = min(shape[0] for shape, _ in shapes.values())
        if any(shape[0] != rows for shape, _ in shapes.values()):
            raise TaupiError("{file} has arrays of different lengths, expected one row per time stamp.", file=path.name)
        width = sum(math.prod(shape[1:]) for shape, _ in shapes.values())
        budget().check_unpacked(8 * width * min(size, rows), size_of(path), f"{path.name}: a block")
        before: dict[str, np.ndarray] = {}
        for a in range(0, rows, size):
            count = min(size, rows - a)
            part = {name: _rows(streams[name], count, *shapes[name]) for name in names}
            yield log_from_table(Table(part, path, first_row=a), layout, source, before)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the arrays of a NumPy archive, without their rows."""
    return _contents(path).table(path)


def write(log: Log, stream: BinaryIO, path: Path) -> None:
    """Write a log as a compressed NumPy archive that reads back exactly."""
    arrays: dict[str, Any] = {
        "time": log.time,
        **{name: np.ascontiguousarray(value) for name, value in log.signals.items()},  # blocks are read row by row
        **written_columns(log, flat=False)[0],
        _OWN: np.array(json.dumps(embedded_mapping(log, flat=False))),
    }
    np.savez_compressed(stream, **arrays)


@contextmanager
def _opened(path: Source) -> Iterator[zipfile.ZipFile]:
    """Open an archive; damaged bytes, and objects in place of numbers, are refused in one sentence."""
    try:
        with path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
            yield archive
    except TaupiError:
        raise
    except _BROKEN as error:
        if "pickle" in str(error) or "Object arrays" in str(error):
            raise TaupiError(
                "{file} holds Python objects, which are never loaded. Save arrays of numbers.", file=path.name
            ) from None
        raise TaupiError("{file} is not a NumPy archive (.npz), or it is cut off or damaged.", file=path.name) from None


@dataclass(frozen=True)
class _NpzContents:
    """The shapes of an archive's arrays, and the mapping that it carries, if we have written it."""

    shapes: Mapping[str, tuple[int, ...]]
    own: dict[str, object] | None

    @property
    def turned(self) -> tuple[str, ...]:
        """Arrays with time along their rows: as long as those with one axis, or as the longest, are."""
        flat = [shape for shape in self.shapes.values() if len(shape) == 1]
        rows = max(max(shape) for shape in flat or self.shapes.values())
        turned = (n for n, shape in self.shapes.items() if len(shape) == 2 and shape[1] == rows != shape[0])
        return () if self.own is not None else tuple(turned)

    def table(self, path: Source) -> Table:
        """Return the arrays without their rows."""
        turned = self.turned
        heads = {
            name: np.empty((0, shape[0] if name in turned else shape[-1])[: len(shape)])
            for name, shape in self.shapes.items()
        }
        notes = (f"transposed, as time runs along their rows: {', '.join(turned)}",) if turned else ()
        return Table(heads, path, own=self.own, notes=notes)


def _contents(path: Source) -> _NpzContents:
    readable_source(path, "a NumPy archive")
    shapes: dict[str, tuple[int, ...]] = {}
    own = None
    with _opened(path) as archive:
        budget().check_columns(len(archive.namelist()), path.name)
        for entry in archive.namelist():
            if not entry.endswith(".npy"):
                continue
            name = entry.removesuffix(".npy")
            with archive.open(entry) as stream:
                shape, _, dtype = _header(stream)
            if name == _OWN:
                small = not shape and dtype.kind == "U" and dtype.itemsize <= budget().text_bytes
                text = text_in(_array(archive, entry)) if small else None
                own = own_mapping(text or "", f"{path.name}: its mapping, {_OWN},")
            elif dtype.kind in "fiub" and len(shape) in (1, 2):
                shapes[name] = shape
    if not shapes:
        raise TaupiError("{file} holds no array of numbers with one or two axes.", file=path.name)
    contents = _NpzContents(shapes, own)
    for name, width in contents.table(path).widths.items():
        budget().check_columns(width, f"{path.name}: {name}")
    return contents


def arrays_in(data: bytes, where: str) -> dict[str, np.ndarray]:
    """Return all arrays of an archive that is in memory, if they need no more than the budget; `where` names it in errors."""
    result: dict[str, np.ndarray] = {}
    needed = 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            budget().check_columns(len(archive.namelist()), where)
            for entry in archive.namelist():
                with archive.open(entry) as stream:
                    shape, _, dtype = _header(stream)
                needed += math.prod(shape) * dtype.itemsize
                budget().check_unpacked(needed, len(data), where)
                result[entry.removesuffix(".npy")] = _array(archive, entry)
    except TaupiError:
        raise
    except _BROKEN:
        raise TaupiError("{where} is not a NumPy archive, or it is cut off or damaged.", where=where) from None
    return result


def text_in(array: np.ndarray) -> str | None:
    """Return the one text that an array holds; None for any other array, and for codes that are no text in Python."""
    if array.shape or array.dtype.kind != "U":
        return None
    text = array.astype("=U").reshape(1)
    return str(text[0]) if (text.view(np.uint32) <= sys.maxunicode).all() else None  # NumPy accepts any codes


def _array(archive: zipfile.ZipFile, entry: str) -> np.ndarray:
    """Return the array of an entry, by its full name: NumPy's own reader prefers an entry q to q.npy if there are both."""
    with archive.open(entry) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = reader(stream)
    if any(isinstance(k, bool) or not 0 <= k <= sys.maxsize for k in shape):
        raise ValueError(f"an array of shape {shape}")
    return shape, fortran, dtype


def _shape(stream: object, where: str) -> tuple[tuple[int, ...], np.dtype]:
    shape, fortran, dtype = _header(stream)
    if fortran and len(shape) == 2 and min(shape) > 1:
        raise _by_columns(where, "")
    return shape, dtype


def _by_columns(where: str, turn: str) -> TaupiError:
    return TaupiError(
        "{where} is stored column by column and cannot be read in blocks. Save np.ascontiguousarray of it{turn}.",
        where=where,
        turn=turn,
    )


def _rows(stream: IO[bytes], count: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    width = math.prod(shape[1:])
    data = stream.read(count * width * dtype.itemsize)
    return np.frombuffer(data, dtype=dtype).astype(float).reshape(count, *shape[1:])
