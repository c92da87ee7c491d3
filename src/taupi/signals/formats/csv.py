"""Text tables: CSV and its relatives, also gzipped. Commas, semicolons, tabs or blanks; comments; with or without a header."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from csv import Error as TableError
from csv import reader as table_reader
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError, shown
from taupi.model.robot import Robot
from taupi.signals.floating_logs import written_columns
from taupi.signals.formats.files import beginning, blocks_from_parts, log_from_parts, own_mapping, readable_source
from taupi.signals.formats.sources import Source, size_of
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.guess import parse_header
from taupi.signals.mapping.tables import Layout, Table, embedded_mapping, resolve_layout
from taupi.signals.mapping.words import are_units, numbers_segments, with_unit

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK = 1 << 21  # bytes of text that are parsed at once: about 5000 rows of 40 numbers
_LOOK = 200  # rows from which the decimal mark, point or comma, is recognised
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8 = "utf-8-sig"
_MARK = b"\xef\xbb\xbf"  # of UTF-8, with which a text may begin
# What spreadsheets and data loggers write on Windows in western Europe, Japan and China. In none is a delimiter or the end of a
# line part of another character.
_OLD_ENCODINGS = {"cp1252": "Windows-1252", "cp932": "Shift JIS", "gb18030": "GB 18030"}
_LONGEST_QUOTED = 1 << 17  # the standard library's limit for one cell
_COMMENT = (b"#", b"%", b"//")
_OWN = b"# taupi-log "
_WITH_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_MISSING = ("", "nan", "NaN", "NAN", "NA", "N/A", "null", "None", "-nan", "-NaN")


# What columns hold that are no numbers: yes or no, which Arrow reads, date and time as in ISO 8601, time of day.
_DATE, _CLOCK = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?", r"\d\d:\d\d:\d\d(\.\d{1,9})?"
_KINDS = {
    "truth": re.compile("true|false", re.IGNORECASE),
    "date": re.compile(_DATE),
    "zoned date": re.compile(_DATE + r"(Z|[+-]\d\d:?\d\d)"),
    "clock": re.compile(_CLOCK),
}
_STAMPS = ("date", "zoned date", "clock")


@dataclass(frozen=True, slots=True)
class _Dialect:
    delimiter: str  # " " stands for any blanks
    decimal: str
    names: tuple[str, ...]
    skip: int  # lines above the first row of numbers
    own: dict[str, object] | None
    kinds: Mapping[str, str] = field(default_factory=dict)  # of columns that are no numbers: a key of _KINDS, or "text"
    encoding: str = _UTF8
    notes: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()  # columns that hold once more what another holds

    def table(self, path: Source) -> Table:
        """Return the columns without their rows."""
        text = tuple(name for name, kind in self.kinds.items() if kind == "text")
        stamps = [name for name, kind in self.kinds.items() if kind in _STAMPS]
        notes = [f"date and time of day, read as seconds from the first row: {', '.join(stamps)}"] if stamps else []
        if self.encoding != _UTF8:
            notes.append(f"the text is not UTF-8, and is read as {_OLD_ENCODINGS[self.encoding]}")
        columns = {name: np.empty(0) for name in self.names if name not in self.repeated}
        return Table(columns, path, own=self.own, text=text, notes=(*self.notes, *notes))


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
    return _dialect(readable_source(path, "a text table")).table(path)


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
    out: BinaryIO | gzip.GzipFile = gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) if zipped else stream
    out.write(head)
    pc.write_csv(table, out)
    if zipped:
        out.close()


def _column(values: np.ndarray) -> pa.Array:
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
    return dialect, resolve_layout(dialect.table(path), columns, robot)


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
                    raise TaupiError("{file} is a binary file, expected a text table.", file=path.name)
                end = part.rfind(b"\n") + 1
                first = part.find(b"\n") if end else len(part)
                if len(rest) + first >= _CHUNK:  # a line may begin in one part and end in the next
                    raise TaupiError(
                        "{file} has a line of more than {chunk} MiB, expected a text table.",
                        file=path.name,
                        chunk=_CHUNK >> 20,
                    )
                if end:
                    yield rest + part[:end]
                    rest = b""
                rest += part[end:]
            if rest:
                yield rest
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise TaupiError(
            "{file} ends before its gzip data does: the file is cut off or damaged.", file=path.name
        ) from None
    except UnicodeDecodeError:
        raise TaupiError("{file} begins as UTF-16 text does, but is not. Save it as UTF-8.", file=path.name) from None
    except OSError as error:
        raise TaupiError("{file} cannot be read: {strerror}.", file=path.name, strerror=error.strerror) from None


def _as_utf8(stream: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
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
    comments: list[bytes] = []
    lines = []
    for number, line in enumerate(_lines(path)):
        text = line.removeprefix(_MARK).strip()
        if text.startswith(_OWN):
            own = own_mapping(text[len(_OWN) :], f"{path.name}: the line '# taupi-log'")
        if text.startswith(_COMMENT):
            comments = [*comments[-1:], text]  # names, and perhaps units
        elif text:
            lines.append((number, line))
        if len(lines) == _LOOK or number > 100_000:
            break
    if not lines:
        raise TaupiError("{file} has no rows, expected a text table.", file=path.name)
    encoding = _encoding([*comments, *(line for _, line in lines)], path.name)
    rows = [(number, line.decode(encoding).strip("\r\n")) for number, line in lines]
    if (scope := _scope(rows, path.name)) is not None:
        return replace(scope, encoding=encoding)
    first, header = _from_heading(rows)
    delimiter = _delimiter(header)
    table = [(number, _cells(line, delimiter)) for number, line in rows if number >= first]
    width = len(table[0][1])
    budget().check_columns(width, path.name)
    decimal = _decimal(cells for _, cells in table)
    titles = [_titles(comment.decode(encoding).lstrip("#%/ \t"), delimiter, width) for comment in comments]
    names, above = _heading([cells for _, cells in table], titles, decimal)
    below = [cells for _, cells in table[above:]]
    if below and not any(cell for cells in below for cell in cells[width:]) and {len(c) for c in below} == {width + 1}:
        names = [*names, ""]  # each row ends with a delimiter, unlike the heading
    elif below and not names[-1] and {len(cells) for cells in below} == {width - 1}:
        names = names[:-1]
    unique = _unique(names, path.name)
    skip = table[above][0] if below else table[-1][0] + 1
    return _Dialect(delimiter, decimal, unique, skip, own, _kinds(unique, below, decimal), encoding)


def _titles(comment: str, delimiter: str, width: int) -> list[str]:
    """Return the cells of a comment, separated as rows are or by blanks; none if they are not one per column."""
    return next((cells for d in (delimiter, " ") if len(cells := _cells(comment, d)) == width), [])


def _heading(lines: Sequence[list[str]], comments: Sequence[list[str]], decimal: str) -> tuple[list[str], int]:
    """Return the names of the columns, and how many of the lines they take up.

    Names may stand in a comment. A line may name groups of columns above their own names, and another state units.
    """

    def is_text(cells: Sequence[str]) -> bool:
        return any(cells) and not any(cell and _is_number(cell, decimal) for cell in cells)

    titles = [cells for cells in comments if is_text(cells)]
    heading: list[list[str]] = []
    if is_text(lines[0]) or not (
        all(_is_number(c, decimal) for c in lines[0]) or [t for t in titles if not are_units(t)]
    ):
        heading.append(lines[0])
    for line in lines[1:] if heading else ():
        groups = len(set(heading[-1])) < len(heading[-1])
        if len(line) != len(lines[0]) or not is_text(line) or not (groups or are_units(line) or are_units(heading[-1])):
            break
        heading.append(line)
    units = next((cells for cells in (*heading, *titles) if are_units(cells)), [])
    named = [cells for cells in heading if cells is not units] or [t for t in titles if t is not units][-1:]
    if not named:
        named, units = [units or [f"column{k + 1}" for k in range(len(lines[0]))]], []
    for cells in named[:-1]:  # the name of a group stands above the first of its columns, or above each
        for k in range(1, len(cells)):
            cells[k] = cells[k] or cells[k - 1]
    names = [" ".join(filter(None, parts)) for parts in zip(*named, strict=True)]
    return [with_unit(name, unit) for name, unit in zip(names, units or [""] * len(names), strict=True)], len(heading)


def _kinds(names: Sequence[str], rows: Sequence[Sequence[str]], decimal: str) -> dict[str, str]:
    """Return what the columns hold of which no row holds a number, so far as rows have been looked at."""
    kinds = {}
    for k, name in enumerate(names):
        cells = [row[k] for row in rows if len(row) == len(names) and row[k] not in _MISSING]
        if not cells or any(_is_number(cell, decimal) for cell in cells):
            continue
        kind = next((kind for kind, form in _KINDS.items() if all(form.fullmatch(cell) for cell in cells)), "text")
        kinds[name] = "label" if kind == "text" and numbers_segments(name) else kind
    return kinds


def _scope(rows: Sequence[tuple[int, str]], where: str) -> _Dialect | None:
    """Return how a TwinCAT scope writes: a block of facts, then for each channel a column of time and one of values.

    None for any other file. All channels have to be sampled alike, so that the first column of time holds for all.
    """
    for k, (_, line) in enumerate(rows):
        delimiter = _delimiter(line)
        names = _cells(line, delimiter)
        if names[0] != "Name" or names.count("Name") < 2:
            continue
        split = [(number, _cells(text, delimiter)) for number, text in rows[k + 1 :]]
        decimal = _decimal(cells for _, cells in split)
        begin = next((n for n, c in split if len(c) > 1 and all(_is_number(cell, decimal) for cell in c)), None)
        if begin is None:
            return None
        facts = {c[0]: c for number, c in split if number < begin}
        places = [i for i, name in enumerate(names[:-1]) if name == "Name"]
        units, steps = (
            [dict(enumerate(facts.get(fact, ()))).get(i + 1, "") for i in places] for fact in ("Unit", "SampleTime[ms]")
        )
        if len(stated := {step for step in steps if step}) > 1:
            raise TaupiError(
                "{where}: its channels were sampled every {steps:,} ms.",
                remedy="Export the signals of one sample time.",
                where=where,
                steps=sorted(stated),
            )
        titles = [f"column{i + 1}" for i in range(len(names))]
        for i, unit in zip(places, units, strict=True):
            titles[i + 1] = f"{names[i + 1]} [{unit}]" if unit else names[i + 1]
        titles[places[0]] = "time [ms]"
        budget().check_columns(len(titles), where)
        unique = _unique(titles, where)
        notes: tuple[str, ...] = ()
        bare = [titles[i + 1] for i, unit in zip(places, units, strict=True) if not unit]
        if torques := [name for name in bare if (header := parse_header(name)) is not None and header.signal == "tau"]:
            notes = (
                f"torques without a unit, taken as N m; drives state theirs in 0.1 % of a rated torque: then state tau = "
                f"{{columns = ..., gain = [N m per 0.1 %, ...]}}: {torques[0]} ... {torques[-1]}",
            )
        return _Dialect(
            *(delimiter, decimal, unique, begin, None), notes=notes, repeated=tuple(unique[i] for i in places[1:])
        )
    return None


def _from_heading(rows: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """Return the number and the text of the heading: the first line with as many cells as the first row of numbers has.

    Lines that some programs write above it, such as a title or a date, have a different number of cells.
    """
    for k, (_, line) in enumerate(rows):
        delimiter = _delimiter(line)
        cells = _cells(line, delimiter)
        decimal = _decimal([cells])
        if len(cells) > 1 and all(_is_number(c, decimal) for c in cells):
            above = [j for j in range(k) if all(len(_cells(t, delimiter)) == len(cells) for _, t in rows[j:k])]
            return rows[above[0]] if above else rows[0]
    return rows[0]


def _encoding(lines: Sequence[bytes], where: str) -> str:
    """Return the encoding of a table's first lines: UTF-8, or else the one in which headers have most words that are known.

    A unit in ASCII, as in "位置1 [rad]", is known in all of them. If no words are, it is the first that has a character for all
    bytes: Windows-1252. A text in which most words are known if it is UTF-8, but for some bytes, is damaged, and refused.
    """
    with suppress(UnicodeDecodeError):
        b"\n".join(lines).decode(_UTF8)
        return _UTF8
    known: dict[str, int] = {}
    for encoding in _OLD_ENCODINGS:
        with suppress(UnicodeDecodeError):
            known[encoding] = _words_known(line.decode(encoding) for line in lines)
    best = max(known, key=lambda encoding: known[encoding], default="")
    damaged = _words_known(line.decode(_UTF8, errors="ignore") for line in lines)
    if not best or not (known[best] or best == "cp1252") or damaged > known[best]:
        raise TaupiError("{where} is not UTF-8 text. Save it as UTF-8.", where=where)
    return best


def _words_known(lines: Iterable[str]) -> int:
    """Return how many words of headers are known, of all cells that are not ASCII."""
    cells = {cell for line in lines for cell in _cells(line, _delimiter(line)) if not cell.isascii()}
    return sum(len(header.stem.split()) for cell in cells if (header := parse_header(cell)) is not None)


def _delimiter(line: str) -> str:
    bare = re.sub(r'"[^"]*"', "", line)  # what is quoted may hold any of them
    return next((d for d in (";", "\t", ",") if d in bare), " ")


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter != " " and '"' in line and len(line) < _LONGEST_QUOTED:
        with suppress(TableError):
            return [cell.strip() for cell in next(table_reader([line], delimiter=delimiter, skipinitialspace=True), [])]
    parts = line.split() if delimiter == " " else line.split(delimiter)
    return [p.strip().strip('"').strip("'").strip() for p in parts]


def _decimal(lines: Iterable[Sequence[str]]) -> str:
    """Return the decimal mark of the numbers in cells: a comma if one of them has it."""
    return "," if any(_WITH_COMMA.fullmatch(cell) for cells in lines for cell in cells) else "."


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
        raise TaupiError(
            "{where} has two columns named {duplicate!r}. Give each its own name.", where=where, duplicate=duplicate
        )
    return titles


# The numbers ------------------------------------------------------------------------------------------------------


def _parts(path: Source, dialect: _Dialect, layout: Layout) -> Iterator[dict[str, np.ndarray]]:
    wanted, numbers = layout.file_columns, _Numbers(dialect.kinds)
    for first, chunk in _chunks(path, dialect.skip):
        text = _without_comments(chunk, dialect.delimiter)
        if text.strip():
            yield _parse(text, chunk, first, dialect, wanted, numbers, path.name)


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
    text: bytes, raw: bytes, first: int, dialect: _Dialect, wanted: list[str], numbers: _Numbers, where: str
) -> dict[str, np.ndarray]:
    import pyarrow as pa
    import pyarrow.csv as pc

    try:
        table = pc.read_csv(
            pa.BufferReader(text),
            pc.ReadOptions(
                column_names=list(dialect.names),
                use_threads=False,
                block_size=len(text) + 1,
                encoding="utf8" if dialect.encoding == _UTF8 else dialect.encoding,
            ),
            pc.ParseOptions(delimiter=dialect.delimiter),
            pc.ConvertOptions(
                include_columns=wanted,
                column_types={name: numbers.arrow_type(name) for name in wanted},
                null_values=list(_MISSING),
                decimal_point=dialect.decimal,
            ),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        raise _parse_error(raw, first, dialect, wanted, where) from None
    return {name: numbers.of(name, table.column(name)) for name in wanted}


@dataclass
class _Numbers:
    """Columns as numbers: stamps as seconds from the first row, labels by the order in which they come."""

    kinds: Mapping[str, str]
    first: dict[str, int] = field(default_factory=dict)
    labels: dict[str, dict[Any, int]] = field(default_factory=dict)

    def arrow_type(self, name: str) -> pa.DataType:
        """Return the type as which Arrow parses a column."""
        import pyarrow as pa

        types = {"truth": pa.bool_(), "date": pa.timestamp("ns"), "zoned date": pa.timestamp("ns", "UTC")}
        types |= {"clock": pa.time64("ns"), "label": pa.string()}
        return types.get(self.kinds.get(name, ""), pa.float64())

    def of(self, name: str, column: pa.ChunkedArray) -> np.ndarray:
        """Return a parsed column as numbers."""
        import pyarrow as pa

        kind = self.kinds.get(name)
        if kind in _STAMPS:
            stamps = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
            missing = np.isnan(stamps) if column.null_count else np.zeros(len(stamps), dtype=bool)
            if not missing.all():
                self.first.setdefault(name, int(stamps[~missing][0]))
            return np.where(missing, np.nan, (stamps - self.first.get(name, 0)) * 1e-9)
        if kind == "label":
            known = self.labels.setdefault(name, {})
            return np.array([known.setdefault(label, len(known)) for label in column.to_pylist()], dtype=float)
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)


def _parse_error(raw: bytes, first: int, dialect: _Dialect, wanted: list[str], where: str) -> TaupiError:
    """Return the error for text that could not be parsed: the first line with the wrong number of cells, or without a number."""
    places = [dialect.names.index(name) for name in wanted]
    for k, line in enumerate(raw.split(b"\n")):
        text = line.strip()
        if not text or text.startswith(_COMMENT):
            continue
        at = f"{where}, line {first + k + 1}"
        try:
            cells = _cells(text.decode(dialect.encoding), dialect.delimiter)
        except UnicodeDecodeError:
            return TaupiError("{at} is not UTF-8 text. Save the file as UTF-8.", at=at)
        if len(cells) != len(dialect.names):
            return TaupiError(
                "{at} has {got} values, expected {expected}. Correct or delete the line.",
                at=at,
                got=len(cells),
                expected=len(dialect.names),
            )
        for place in places:
            kind = _KINDS.get(dialect.kinds.get(dialect.names[place], ""))
            if not (kind.fullmatch(cells[place]) if kind else _is_number(cells[place], dialect.decimal)):
                cell = shown(cells[place], 40)
                return TaupiError(
                    "{at}: {name} is {got}, expected {expected}. Correct or delete the line.",
                    at=at,
                    name=dialect.names[place],
                    got=cell,
                    expected="a number"
                    if kind is None
                    else f"what the rows above hold ({dialect.kinds[dialect.names[place]]})",
                )
    return TaupiError("{where} cannot be parsed as a text table from line {first} on.", where=where, first=first + 1)
