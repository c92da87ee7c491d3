"""Text tables: CSV and its relatives, also gzipped. Commas, semicolons, tabs or blanks; comments; with or without a header."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from csv import Error as TableError
from csv import reader as table_reader
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError, shown
from taupi.model.robot import Robot
from taupi.signals.formats.files import beginning, own_mapping, readable_source
from taupi.signals.formats.parts import blocks_from_parts, log_from_parts
from taupi.signals.formats.sources import Source, size_of
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.floating_columns import written_columns
from taupi.signals.mapping.tables import Layout, Table, embedded_mapping, resolve_layout

_CHUNK = 1 << 21  # bytes of text that are parsed at once: about 5000 rows of 40 numbers
_LOOK = 200  # rows from which the decimal mark, point or comma, is recognised
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LONGEST_QUOTED = 1 << 17  # the standard library's limit for one cell
_COMMENT = (b"#", b"%", b"//")
_OWN = b"# taupi-log "
_MISSING = ("", "nan", "NaN", "NAN", "NA", "N/A", "null", "None", "-nan", "-NaN")


@dataclass(frozen=True, slots=True)
class _Dialect:
    delimiter: str  # " " stands for any blanks
    decimal: str
    names: tuple[str, ...]
    skip: int  # lines above the first row of numbers
    own: dict[str, object] | None


def sniff(path: Source) -> bool:
    """Return whether a file is text, also UTF-16 with its mark, or gzipped."""
    head = beginning(path, 4096)
    return bool(head) and (head[:2] in (_GZIP, *_UTF16) or b"\0" not in head)


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a text table."""
    dialect, layout = _open(path, columns, robot)
    return log_from_parts(path, _parts(path, dialect, layout), layout, source)


def blocks(path: Source, columns: Columns, robot: Robot | None, source: LogSource, size: int) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows, with a few megabytes of text in memory at a time."""
    dialect, layout = _open(path, columns, robot)
    yield from blocks_from_parts(path, _parts(path, dialect, layout), layout, source, size)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the columns of a text table, without their rows."""
    dialect = _dialect(readable_source(path, "a text table"))
    return Table({name: np.empty(0) for name in dialect.names}, path, own=dialect.own)


def write(log: Log, stream: BinaryIO, path: Path) -> None:
    """Write a log as comma-separated text that reads back exactly: shortest exact decimals, and the mapping in a comment."""
    import pyarrow as pa
    import pyarrow.csv as pc

    flat, labels = {"time": log.time}, _labels(log.names)
    for name, value in log.signals.items():
        flat |= {f"{name}_{label}": value[:, k] for k, label in enumerate(labels)}
    flat |= written_columns(log, flat=True)[0]
    table = pa.table({k: _column(v) for k, v in flat.items()})
    head = _OWN + json.dumps(embedded_mapping(log, flat=True, labels=labels)).encode() + b"\n"
    zipped = path.suffix.lower() == ".gz"
    out: Any = gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) if zipped else stream
    out.write(head)
    pc.write_csv(table, out)
    if zipped:
        out.close()


def _column(values: np.ndarray) -> Any:
    """Return numbers as a column of Arrow. `pyarrow.array` would do the same, but imports pandas to check for a series."""
    import pyarrow as pa

    plain = np.ascontiguousarray(values, dtype=float)
    return pa.Array.from_buffers(pa.float64(), len(plain), [None, pa.py_buffer(plain)])


def _labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return names for columns, one per joint: the joint's, if every program reads it as one cell, or else its number."""
    labels: list[str] = []
    for k, name in enumerate(names):
        label = name if re.fullmatch(r"[^\s\"',;#%/\\\0-\x1f]+", name) and len(name) <= 200 else f"joint{k + 1}"
        while label in labels or (label != name and label in names):
            label += "_"
        labels.append(label)
    return tuple(labels)


# The header -------------------------------------------------------------------------------------------------------


def _open(path: Source, columns: Columns, robot: Robot | None) -> tuple[_Dialect, Layout]:
    dialect = _dialect(readable_source(path, "a text table"))
    empty = {name: np.empty(0) for name in dialect.names}
    return dialect, resolve_layout(Table(empty, path, own=dialect.own), columns, robot)


def _lines(path: Source) -> Iterator[bytes]:
    """Yield the lines of a file."""
    for text in _texts(path):
        yield from io.BytesIO(text)


def _texts(path: Source) -> Iterator[bytes]:
    """Yield the text of a file, many complete lines at a time; a file that cannot be read is refused in one sentence."""
    zipped, size, unpacked = beginning(path, 2) == _GZIP, size_of(path), 0
    rest = b""
    try:
        with path.open("rb") as raw, gzip.open(raw) if zipped else raw as stream:
            for part in _as_utf8(stream):
                unpacked += len(part)
                if zipped:
                    budget().check_unpacked(unpacked, size, path.name)
                if b"\0" in part:
                    raise TaupiError(f"{path.name} is a binary file, expected a text table.")
                end = part.rfind(b"\n") + 1
                first = part.find(b"\n") if end else len(part)
                if len(rest) + first >= _CHUNK:  # a line may begin in one part and end in the next
                    raise TaupiError(f"{path.name} has a line of more than {_CHUNK >> 20} MiB, expected a text table.")
                if end:
                    yield rest + part[:end]
                    rest = b""
                rest += part[end:]
            if rest:
                yield rest
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise TaupiError(f"{path.name} ends before its gzip data does: the file is cut off or damaged.") from None
    except UnicodeDecodeError:
        raise TaupiError(f"{path.name} begins as UTF-16 text does, but is not. Save it as UTF-8.") from None
    except OSError as error:
        raise TaupiError(f"{path.name} cannot be read: {error.strerror}.") from None


def _as_utf8(stream: Any) -> Iterator[bytes]:
    """Yield the bytes of a stream; a text in UTF-16 begins with a mark that says so, and becomes UTF-8."""
    first = stream.read(2)
    if first not in _UTF16:
        while part := first + stream.read(_CHUNK - len(first)):
            yield part
            first = b""
        return
    text = io.TextIOWrapper(stream, encoding="utf-16-le" if first == _UTF16[0] else "utf-16-be", newline="")
    try:
        while characters := text.read(_CHUNK):
            yield characters.encode("utf-8")
    finally:
        text.detach()  # the caller, who opened the stream, closes it


def _dialect(path: Source) -> _Dialect:
    own: dict[str, object] | None = None
    comment, rows = b"", []
    for number, line in enumerate(_lines(path)):
        text = line.strip()
        if text.startswith(_OWN):
            own = own_mapping(text[len(_OWN) :], f"{path.name}: the line '# taupi-log'")
        if text.startswith(_COMMENT):
            comment = text
        elif text:
            rows.append((number, _decode(line, path.name)))
        if len(rows) == _LOOK or number > 100_000:
            break
    if not rows:
        raise TaupiError(f"{path.name} has no rows, expected a text table.")
    first, header = _from_heading(rows)
    delimiter = _delimiter(header)
    cells = _cells(header, delimiter)
    budget().check_columns(len(cells), path.name)
    decimal = "," if delimiter == ";" and any(re.search(r"\d,\d", line) for _, line in rows) else "."
    if not all(_is_number(c, decimal) for c in cells):
        return _Dialect(delimiter, decimal, _unique(cells, path.name), first + 1, own)
    titles = _cells(_decode(comment, path.name).lstrip("#%/ \t"), delimiter) if comment else []
    if len(titles) != len(cells):
        titles = _cells(_decode(comment, path.name).lstrip("#%/ \t"), " ") if comment else []
    if len(titles) == len(cells) and not any(_is_number(c, decimal) for c in titles):
        return _Dialect(delimiter, decimal, _unique(titles, path.name), first, own)
    return _Dialect(delimiter, decimal, tuple(f"column{k + 1}" for k in range(len(cells))), first, own)


def _from_heading(rows: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """Return the number and the text of the heading: the first line with as many cells as the first row of numbers has.

    Lines that some programs write above it, such as a title or a date, have a different number of cells.
    """
    for k, (_, line) in enumerate(rows):
        delimiter = _delimiter(line)
        cells = _cells(line, delimiter)
        decimal = "," if delimiter == ";" and "," in line else "."
        if len(cells) > 1 and all(_is_number(c, decimal) for c in cells):
            above = [j for j in range(k) if all(len(_cells(t, delimiter)) == len(cells) for _, t in rows[j:k])]
            return rows[above[0]] if above else rows[0]
    return rows[0]


def _decode(line: bytes, where: str) -> str:
    try:
        return line.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        raise TaupiError(f"{where} is not UTF-8 text. Save it as UTF-8.") from None


def _delimiter(line: str) -> str:
    bare = re.sub(r'"[^"]*"', "", line)  # what is quoted may hold any of them
    return next((d for d in (";", "\t", ",") if d in bare), " ")


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        parts = line.split()
    elif '"' in line and len(line) < _LONGEST_QUOTED:
        with suppress(TableError):
            return [cell.strip() for cell in next(table_reader([line], delimiter=delimiter, skipinitialspace=True), [])]
        parts = line.split(delimiter)
    else:
        parts = line.split(delimiter)
    return [p.strip().strip('"').strip("'").strip() for p in parts]


def _is_number(text: str, decimal: str) -> bool:
    if text in _MISSING:
        return True
    try:
        float(text.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in text  # Python reads 1_000 as a number, but in a table it is not one


def _unique(names: Sequence[str], where: str) -> tuple[str, ...]:
    titles = tuple(name or f"column{k + 1}" for k, name in enumerate(names))
    if len(set(titles)) < len(titles):
        duplicate = next(n for n, count in Counter(titles).items() if count > 1)
        raise TaupiError(f"{where} has two columns named {shown(duplicate)}. Give each its own name.")
    return titles


# The numbers ------------------------------------------------------------------------------------------------------


def _parts(path: Source, dialect: _Dialect, layout: Layout) -> Iterator[dict[str, np.ndarray]]:
    wanted = list(dict.fromkeys(name for picks in layout.picks.values() for name, _ in picks))
    for first, chunk in _chunks(path, dialect.skip):
        text = _without_comments(chunk, dialect.delimiter)
        if text.strip():
            yield _parse(text, chunk, first, dialect, wanted, path.name)


def _chunks(path: Source, skip: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, text of many complete lines), the first `skip` lines of the file left out."""
    number = 0
    for text in _texts(path):
        count = text.count(b"\n") + (not text.endswith(b"\n"))
        if number >= skip:
            yield number, text
        elif number + count > skip:
            yield skip, text.split(b"\n", skip - number)[-1]
        number += count


def _without_comments(chunk: bytes, delimiter: str) -> bytes:
    """Return the text without comments, and without repeated blanks if these are the delimiter."""
    if any(mark in chunk for mark in _COMMENT):
        chunk = re.sub(rb"(?m)^[ \t]*(#|%|//).*$\n?", b"", chunk)
    if delimiter == " ":
        chunk = re.sub(rb"[ \t]+", b" ", chunk)
        chunk = re.sub(rb"(?m)^ | (?=\r?$)", b"", chunk)
    return chunk


def _parse(
    text: bytes, raw: bytes, first: int, dialect: _Dialect, wanted: list[str], where: str
) -> dict[str, np.ndarray]:
    import pyarrow as pa
    import pyarrow.csv as pc

    try:
        table = pc.read_csv(
            pa.BufferReader(text),
            pc.ReadOptions(column_names=list(dialect.names), use_threads=False, block_size=len(text) + 1),
            pc.ParseOptions(delimiter=dialect.delimiter),
            pc.ConvertOptions(
                include_columns=wanted,
                column_types={name: pa.float64() for name in wanted},
                null_values=list(_MISSING),
                decimal_point=dialect.decimal,
            ),
        )
    except pa.ArrowException:
        raise _parse_error(raw, first, dialect, wanted, where) from None
    return {name: table.column(name).to_numpy() for name in wanted}


def _parse_error(raw: bytes, first: int, dialect: _Dialect, wanted: list[str], where: str) -> TaupiError:
    """Return the error for text that could not be parsed: the first line with the wrong number of cells, or without a number."""
    places = [dialect.names.index(name) for name in wanted]
    for k, line in enumerate(raw.split(b"\n")):
        text = line.strip()
        if not text or text.startswith(_COMMENT):
            continue
        at = f"{where}, line {first + k + 1}"
        try:
            cells = _cells(text.decode("utf-8"), dialect.delimiter)
        except UnicodeDecodeError:
            return TaupiError(f"{at} is not UTF-8 text. Save the file as UTF-8.")
        if len(cells) != len(dialect.names):
            return TaupiError(
                f"{at} has {len(cells)} values, expected {len(dialect.names)}. Correct or delete the line."
            )
        for place in places:
            if not _is_number(cells[place], dialect.decimal):
                cell = shown(cells[place], 40)
                return TaupiError(
                    f"{at}: {dialect.names[place]} is {cell}, expected a number. Correct or delete the line."
                )
    return TaupiError(f"{where} cannot be parsed as a text table from line {first + 1} on.")
