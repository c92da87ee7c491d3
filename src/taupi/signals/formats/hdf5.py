"""HDF5 (extra `hdf5`): data sets of robot learning, MATLAB 7.3, and any file with arrays of the same length."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from taupi.budget import Clock, budget
from taupi.errors import TaupiError
from taupi.input_files import printable
from taupi.model.robot import Robot
from taupi.signals.formats.files import beginning, blocks_from_parts, damage_refused, log_from_parts, readable_source
from taupi.signals.formats.sources import Source, local_path, size_of
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.tables import Table, resolve_layout

if TYPE_CHECKING:
    import h5py

MAGIC = b"\x89HDF\r\n\x1a\n"
_OFFSETS = (0, 512, 1024, 2048)  # a user block, such as MATLAB's 512 bytes of text, may come first
_DEMO = re.compile(r"(.*/)?(?:demo|episode|traj|run)_?(\d{1,9})/(.+)")
_BATCH = 16384  # rows that are read at once
_NUMBERS = 1 << 22  # and numbers, if rows are long
_OPAQUE = (b"table", b"timetable", b"cell", b"function_handle")  # MATLAB's objects, which no library reads


def sniff(path: Source) -> bool:
    """Return whether a file begins as HDF5 files do, perhaps after a header of its own."""
    start = beginning(path, _OFFSETS[-1] + len(MAGIC))
    return any(start[at : at + len(MAGIC)] == MAGIC for at in _OFFSETS)


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in the arrays of an HDF5 file; demonstrations in groups such as data/demo_0 are runs of their own."""
    layout = resolve_layout(head(path, columns, robot), columns, robot)
    return log_from_parts(path, _parts(path, layout.file_columns, whole=True), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows, of which no more is read at a time."""
    layout = resolve_layout(head(path, columns, robot), columns, robot)
    yield from blocks_from_parts(path, _parts(path, layout.file_columns), layout, source, size)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the arrays of an HDF5 file that have as many rows as most, by their paths in it, without their rows."""
    with _opened(path) as arrays:
        return arrays.head(path)


def _parts(path: Source, wanted: list[str], whole: bool = False) -> Iterator[dict[str, np.ndarray]]:
    """Yield some columns part by part; `whole` says that all parts are to be kept, so that they have to fit."""
    with _opened(path) as arrays:
        yield from arrays.parts(wanted, whole)


@contextmanager
def _opened(path: Source) -> Iterator[_Arrays]:
    """Open a file, and find its arrays."""
    file = readable_source(path, "an HDF5 file")
    try:
        import h5py
    except ModuleNotFoundError:
        raise TaupiError(
            "{file} is an HDF5 file, and reading it needs h5py.",
            remedy="pip install 'taupi[hdf5]'; from MATLAB, save(..., '-v7') writes a file that needs nothing.",
            file=printable(path.name),
        ) from None
    raised = (OSError, RuntimeError, ValueError, TypeError, KeyError, MemoryError, OverflowError, AttributeError)
    refused = damage_refused(path, "an HDF5 file", *raised)
    with local_path(file) as local, refused, h5py.File(local, "r", locking=False) as opened:
        arrays = _Arrays(printable(path.name), size_of(file))
        arrays.collect(opened)
        yield arrays


@dataclass(frozen=True)
class _Array:
    """An array of an open file: its rows, its columns (None for a single axis), and whether the file has rows as columns."""

    data: h5py.Dataset
    rows: int
    width: int | None
    turned: bool = False

    def read(self, first: int, stop: int) -> np.ndarray:
        """Return the rows from `first` on, before `stop`."""
        part = self.data[:, first:stop].T if self.turned else self.data[first:stop]
        numbers = np.ascontiguousarray(part, dtype=float)
        return numbers if self.width is not None else numbers.reshape(len(numbers))


@dataclass
class _Arrays:
    """The arrays of numbers in an open file, with one or two axes; none of their rows are read before they are asked for."""

    where: str
    size: int
    arrays: dict[str, _Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    matlab: bool = False

    def collect(self, file: h5py.File) -> None:
        """Find the arrays of a file. Links are not followed: they may lead out of it, or around in it."""
        import h5py

        clock, count = Clock(self.where, self.size), 0
        opaque: list[str] = []

        def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
            nonlocal count
            count += 1
            budget().check_columns(count, self.where)
            clock.check()
            kind = item.attrs.get("MATLAB_class")
            self.matlab |= kind is not None
            if name.startswith("#"):  # MATLAB's own
                return
            if kind in _OPAQUE:
                opaque.append(f"{name} ({kind.decode()})")
            elif isinstance(item, h5py.Dataset) and kind not in (b"char", b"struct"):
                self._take(name, item)

        file.visititems(visit)
        if opaque:
            names = ", ".join(opaque[:6])
            self.notes.append(
                f"left out, as only MATLAB reads them: {names}; save a struct with arrays, or writetimetable to a CSV"
            )

    def _take(self, name: str, item: h5py.Group | h5py.Dataset) -> None:
        shape = item.shape
        if shape is None or len(shape) not in (1, 2) or item.dtype.kind not in "fiub" or not math.prod(shape):
            return
        if item.is_virtual or item.external:
            self.notes.append(f"left out, as it is in other files: {printable(name)}")
            return
        self.arrays[name] = _Array(item, shape[0], shape[1] if len(shape) == 2 else None)

    def head(self, path: Source) -> Table:
        """Return the columns without their rows."""
        runs = self.runs()
        columns = next(iter(runs.values()))
        budget().check_columns(sum(a.width or 1 for a in columns.values()), self.where)
        heads = {name: np.empty((0,) if a.width is None else (0, a.width)) for name, a in columns.items()}
        return Table({**({} if None in runs else {"demo": np.empty(0)}), **heads}, path, notes=tuple(self.notes))

    def parts(self, wanted: list[str], whole: bool) -> Iterator[dict[str, np.ndarray]]:
        """Yield some of the columns part by part; `whole` says that all parts have to fit into memory together."""
        runs = self.runs()
        width = sum(next(iter(runs.values()))[name].width or 1 for name in wanted if name != "demo") + 1
        if whole:
            rows = sum(next(iter(arrays.values())).rows for arrays in runs.values())
            budget().check_unpacked(8 * width * rows, self.size, self.where)
        at_once = max(1, min(_BATCH, _NUMBERS // width))
        for number, arrays in runs.items():
            rows = next(iter(arrays.values())).rows
            for first in range(0, rows, at_once):
                stop = min(first + at_once, rows)
                yield {
                    name: np.full(stop - first, number)
                    if name == "demo" and number is not None
                    else arrays[name].read(first, stop)
                    for name in wanted
                }

    def runs(self) -> dict[float | None, dict[str, _Array]]:
        """Return the arrays of each demonstration by its number; without any, the arrays of the most common length."""
        if self.matlab:  # which counts rows and columns the other way round
            self.arrays = self._turned()
        if not self.arrays:
            raise TaupiError(
                "{where} holds no arrays of numbers with one or two axes{opaque}.",
                where=self.where,
                opaque=f": {self.notes[0]}" if self.notes else "",
            )
        return self._demos() or {None: self._of_most_rows(self.arrays)}

    def _turned(self) -> dict[str, _Array]:
        """Return the arrays with time along the first axis: there are more samples than joints."""
        most = max((max(a.rows, a.width or 0) for a in self.arrays.values()), default=0)
        result = {}
        for name, a in self.arrays.items():
            if a.width is not None:
                upright = a.rows == most != a.width
                rows, width = (a.rows, a.width) if upright else (a.width, a.rows)
                result[name] = _Array(a.data, rows, None if width == 1 else width, not upright)
            else:
                result[name] = a
        return result

    def _of_most_rows(self, arrays: dict[str, _Array]) -> dict[str, _Array]:
        lengths = Counter(a.rows for a in arrays.values())
        rows = max(lengths, key=lambda length: (lengths[length], length))
        if others := [name for name, a in arrays.items() if a.rows != rows]:
            self.notes.append(f"left out, as they do not have {rows} rows: {', '.join(others[:6])}")
        return {name: a for name, a in arrays.items() if a.rows == rows}

    def _demos(self) -> dict[float | None, dict[str, _Array]]:
        """Return the arrays that all demonstrations have, by the number of each; empty if a file has none."""
        by_demo: dict[int, dict[str, _Array]] = {}
        for name, a in self.arrays.items():
            if (match := _DEMO.fullmatch(name)) is not None:
                by_demo.setdefault(int(match[2]), {})[match[3]] = a
        if not by_demo:
            return {}
        demos = {number: self._of_most_rows(arrays) for number, arrays in sorted(by_demo.items())}
        common = [n for n in next(iter(demos.values())) if all(n in arrays for arrays in demos.values())]
        widths = {n: {arrays[n].width for arrays in demos.values()} for n in common}
        common = [name for name in common if len(widths[name]) == 1]
        if not common:
            raise TaupiError("{where}: its demonstrations have no array in common.", where=self.where)
        self.notes.append(f"{len(demos)} demonstrations, each a run of its own")
        return {float(number): {name: arrays[name] for name in common} for number, arrays in demos.items()}
