"""MATLAB files up to version 7: variables, and fields of structs such as `data.q`."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError
from taupi.input_files import read_bytes
from taupi.model.robot import Robot
from taupi.signals.floating_logs import written_columns
from taupi.signals.formats import hdf5, read_table
from taupi.signals.formats.files import beginning, own_mapping, readable_source
from taupi.signals.formats.sources import RemoteFile, Source
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.tables import Table, embedded_mapping

_OWN = "taupi_log"


def sniff(path: Source) -> bool:
    """Return whether a file begins as MATLAB files do, or is named like one; files of version 7.3 are HDF5."""
    return not hdf5.sniff(path) and (beginning(path, 6) == b"MATLAB" or path.suffix.lower() == ".mat")


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a MATLAB file. Arrays with time along their second axis are transposed, and a note says so."""
    if _of_version_7_3(path):
        return hdf5.read(path, columns, robot, source)
    return read_table(head(path, columns, robot), columns, robot, source)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the arrays of a MATLAB file, time along their first axis."""
    if _of_version_7_3(path):
        return hdf5.head(path, columns, robot)
    arrays: dict[str, np.ndarray] = {}
    own: dict[str, object] | None = None
    for name, value in _load(path).items():
        if name == _OWN:
            own = own_mapping(value if isinstance(value, str) else "", f"{path.name}: its mapping, {_OWN},")
        else:
            _flatten(name, value, arrays)
    if not arrays:
        raise TaupiError("{file} holds no arrays of numbers.", file=path.name)
    budget().check_columns(len(arrays), path.name)
    arrays, notes = _samples_first(arrays) if own is None else (_columns_flat(arrays), ())
    return Table(arrays, path, own=own, notes=notes)


def _of_version_7_3(path: Source) -> bool:
    return hdf5.sniff(path) or beginning(path, 10) == b"MATLAB 7.3"


def write(log: Log, stream: BinaryIO, path: Path) -> None:
    """Write a log as a MATLAB file: time (N, 1), each signal (N, n)."""
    from scipy.io import savemat

    beside = {k: v if v.ndim == 2 else v[:, None] for k, v in written_columns(log, flat=False)[0].items()}
    data = {"time": log.time[:, None], **log.signals, **beside, _OWN: json.dumps(embedded_mapping(log, flat=False))}
    savemat(stream, data, do_compression=True)


def _load(path: Source) -> dict[str, Value]:
    readable_source(path, "a MATLAB file")
    if isinstance(path, RemoteFile):
        with path.open() as stream:
            return variables(stream.read(), path.name)
    return variables(read_bytes(path, "a MATLAB file", budget().log_bytes), path.name)


def _flatten(name: str, value: Value, arrays: dict[str, np.ndarray]) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
    elif isinstance(value, dict):
        for field, inner in value.items():
            _flatten(f"{name}.{field}", inner, arrays)


def _columns_flat(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: a[:, 0] if a.shape[1] == 1 else a for name, a in arrays.items()}


def _samples_first(arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Return the arrays with time along their first axis, and a note on those that were transposed."""
    rows = max(max(a.shape) for a in arrays.values())  # there are more samples than joints
    transposed = [n for n, a in arrays.items() if a.shape[1] == rows and a.shape[0] != rows and a.shape[0] > 1]
    turned = {n: a.T if a.shape[1] == rows and a.shape[0] != rows else a for n, a in arrays.items()}
    return _columns_flat(turned), (
        (f"transposed, as time runs along their rows: {', '.join(transposed)}",) if transposed else ()
    )


Value = np.ndarray | str | dict[str, "Value"]  # numbers (rows, columns), text, or the fields of a struct

_HEADER = 128  # bytes of text, version and byte order at the start of versions 5 to 7
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _CHAR, _OBJECT = 1, 2, 4, 17
_NUMERIC = range(6, 16)  # double, single, and whole numbers of 8 to 64 bits
_COMPLEX = 0x0800
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TYPES_4 = ("f8", "f4", "i4", "i2", "u2", "u1")
_NOTHING = (0, memoryview(b""))
_DEEPEST = 8  # structs and cells inside each other


def variables(data: bytes, where: str) -> dict[str, Value]:
    """Return the variables in the bytes of a MATLAB file that a log can use; `where` names the file in errors."""
    if len(data) >= 20 and 0 in data[:4]:
        return _variables_4(data, where)
    if len(data) < _HEADER + 8 or data[126:128] not in (b"IM", b"MI"):
        _refuse(where)
    order = "<" if data[126:128] == b"IM" else ">"
    reader = _ElementReader(order, where, len(data))
    result: dict[str, Value] = {}
    for element in reader.elements(data[_HEADER:]):
        packed = element[0] == _COMPRESSED
        kind, content = next(reader.elements(reader.unpacked(element[1])), _NOTHING) if packed else element
        if kind == _MATRIX:
            name, value = reader.matrix(content)
            if value is not None and name:  # a variable without a name is MATLAB's own
                result[name] = value
    return result


def _refuse(where: str) -> NoReturn:
    raise TaupiError("{where} is not a MATLAB file, or it is cut off or damaged.", where=where)


def _name(content: memoryview) -> str:
    return bytes(content).rstrip(b"\0").decode("latin-1")


@dataclass
class _ElementReader:
    """The elements of a file in one byte order, and how many bytes were unpacked from it so far."""

    order: str
    where: str
    size: int
    used: int = 0

    def elements(self, data: bytes | memoryview) -> Iterator[tuple[int, memoryview]]:
        """Yield the type and the content of the elements that follow each other in some bytes."""
        view, at = memoryview(data), 0
        while at + 8 <= len(view):
            kind, count = struct.unpack_from(self.order + "II", view, at)
            if kind >> 16:  # a small element: length and type share four bytes, the content has the next four
                kind, count, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
                if count > 4:
                    _refuse(self.where)
            else:
                start = at + 8
                end = start + count if kind == _COMPRESSED else start + (count + 7) // 8 * 8
            if start + count > len(view):
                _refuse(self.where)
            yield kind, view[start : start + count]
            at = end

    def unpacked(self, data: memoryview) -> bytes:
        """Return what a compressed element holds."""
        allowed = budget().unpacked(self.size) - self.used
        unpacker = zlib.decompressobj()
        try:
            result = unpacker.decompress(data, max(allowed, 0) + 1)
        except zlib.error:
            _refuse(self.where)
        self._take(len(result))
        if not unpacker.eof:
            _refuse(self.where)
        return result

    def _take(self, count: int) -> None:
        self.used += count
        budget().check_unpacked(self.used, self.size, self.where)

    def matrix(self, data: memoryview, depth: int = 0) -> tuple[str, Value | None]:
        """Return the name and the value of an array, None for what a log cannot use."""
        elements = self.elements(data)
        parts = [content for _, content in zip(range(3), (e[1] for e in elements), strict=False)]
        if not len(data):  # an empty place in a cell or struct
            return "", None
        if len(parts) < 3 or len(parts[0]) < 4:
            _refuse(self.where)
        (flags,) = struct.unpack_from(self.order + "I", parts[0])
        if flags & 0xFF == _OBJECT:  # it has no shape; a string array of MATLAB is one
            return _name(parts[1]), None
        if len(parts[1]) % 4 or len(parts[1]) < 8:
            _refuse(self.where)
        shape = struct.unpack(f"{self.order}{len(parts[1]) // 4}i", parts[1])
        if min(shape) < 0:
            _refuse(self.where)
        name, kind = _name(parts[2]), flags & 0xFF
        if depth > _DEEPEST or flags & _COMPLEX:
            return name, None
        if kind in _NUMERIC:
            return name, self._numbers(next(elements, None), shape)
        if kind == _CHAR:
            return name, self._text(next(elements, None))
        if kind == _CELL and math.prod(shape) == 1:
            inner = next(elements, None)
            return name, None if inner is None or inner[0] != _MATRIX else self.matrix(inner[1], depth + 1)[1]
        if kind == _STRUCT and math.prod(shape) == 1:
            return name, self._struct(elements, depth)
        return name, None

    def _numbers(self, element: tuple[int, memoryview] | None, shape: tuple[int, ...]) -> np.ndarray | None:
        if len(shape) != 2 or not math.prod(shape):
            return None
        if element is None or element[0] not in _TYPES:
            _refuse(self.where)
        dtype = np.dtype(self.order + _TYPES[element[0]])
        if len(element[1]) != math.prod(shape) * dtype.itemsize:
            _refuse(self.where)
        self._take(8 * math.prod(shape))
        return np.frombuffer(element[1], dtype).astype(float).reshape(shape, order="F")

    def _text(self, element: tuple[int, memoryview] | None) -> str | None:
        """Return a text; a character may be a byte, or stored as UTF-8, UTF-16 or UTF-32."""
        if element is None:
            return None
        ends = "le" if self.order == "<" else "be"
        codec = {
            1: "latin-1",
            2: "latin-1",
            4: f"utf-16-{ends}",
            16: "utf-8",
            17: f"utf-16-{ends}",
            18: f"utf-32-{ends}",
        }
        kind, content = element
        return bytes(content).decode(codec[kind], "replace") if kind in codec else None

    def _struct(self, elements: Iterator[tuple[int, memoryview]], depth: int) -> dict[str, Value]:
        """Return the fields of a struct: the length of their names, the names, and an array each."""
        length, names = next(elements, (0, b""))[1], next(elements, (0, b""))[1]
        if len(length) < 4:
            _refuse(self.where)
        (width,) = struct.unpack_from(self.order + "i", length)
        if width < 1 or len(names) % width:
            _refuse(self.where)
        budget().check_columns(len(names) // width, self.where)
        fields = [bytes(names[k : k + width]).split(b"\0")[0].decode("latin-1") for k in range(0, len(names), width)]
        result: dict[str, Value] = {}
        for field in fields:
            kind, content = next(elements, _NOTHING)
            if kind != _MATRIX:
                _refuse(self.where)
            value = self.matrix(content, depth + 1)[1]
            if value is not None:
                result[field] = value
        return result


def _variables_4(data: bytes, where: str) -> dict[str, Value]:
    """Return the real, full arrays of numbers in a file of version 4."""
    result: dict[str, Value] = {}
    at = used = 0
    while at + 20 <= len(data):
        order = "<" if struct.unpack_from("<i", data, at)[0] in range(5000) else ">"
        form, rows, columns, imaginary, length = struct.unpack_from(order + "5i", data, at)
        machine, zero, precision, kind = form // 1000, form // 100 % 10, form // 10 % 10, form % 10
        if machine not in (0, 1) or zero or precision >= len(_TYPES_4) or kind > 2 or min(rows, columns, length) < 0:
            _refuse(where)
        dtype = np.dtype(order + _TYPES_4[precision])
        start = at + 20 + length
        count = rows * columns
        end = start + count * dtype.itemsize * (2 if imaginary else 1)
        if end > len(data):
            _refuse(where)
        if kind == 0 and not imaginary and count:
            used += 8 * count
            budget().check_unpacked(used, len(data), where)
            name = data[at + 20 : start].rstrip(b"\0").decode("latin-1")
            numbers = np.frombuffer(data, dtype, count, start).astype(float)
            result[name] = numbers.reshape((rows, columns), order="F")
        at = end
    return result
