"""Log files: check that one can be read, hash it, see how it begins, and cut its rows into blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from taupi.budget import MIB, Clock, budget, over_budget
from taupi.errors import TaupiError
from taupi.input_files import parse_json, printable, regular_file
from taupi.signals.formats.sources import RemoteFile, Source, shown_address, size_of, source_of
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.tables import Layout, Table, log_from_table

_HASHED = 1 << 18  # bytes that are read and hashed at once: they stay in the processor's cache


def readable(path: str | os.PathLike[str], expected: str = "a log", folder: bool = False) -> Path:
    """Return the path of a regular file that is not empty and not larger than a log may be, or, with `folder`, of a folder."""
    file = regular_file(path, expected, folder)
    if not file.is_dir():
        _check_size(file.name, file.stat().st_size)
    return file


def readable_source(path: str | os.PathLike[str] | Source, expected: str = "a log", folder: bool = False) -> Source:
    """Return the source at a path, checked as in `readable`, or at an address, whose size is checked in the same way."""
    source = source_of(path)
    if not isinstance(source, RemoteFile):
        return readable(source, expected, folder)
    _check_size(source.name, size_of(source))
    return source


@contextmanager
def damage_refused(path: Source, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn what a reader raises on damaged bytes into one sentence: the file is not of this `kind`, such as "an MCAP file"."""
    try:
        yield
    except TaupiError:
        raise
    except errors:
        raise TaupiError(
            "{file} is not {kind}, or it is cut off or damaged.", file=printable(path.name), kind=kind
        ) from None


def _check_size(name: str, size: int) -> None:
    most = budget().log_bytes
    if size > most:
        raise over_budget(f"{printable(name)} has {size / MIB:.0f} MiB, expected {most / MIB:.0f}", "log_bytes")


def beginning(path: Source, count: int = 16) -> bytes:
    """Return the first bytes of a file, by which its format is recognised."""
    if not path.is_file():
        return b""
    with path.open("rb") as stream:
        return stream.read(count)


def sha256(path: Source) -> str:
    """Return a hash of a file's bytes, or of a folder's files in the order of their names.

    Of a remote file, a tag of its version stands for its bytes, if the server sends one; otherwise it is fetched. Videos and
    images in a folder, which no log is read from, do not count.
    """
    if isinstance(path, RemoteFile) and path.is_tagged:
        return path.identity
    files: list[Source] = [path]
    if not isinstance(path, RemoteFile) and path.is_dir():
        inside = (p for p in path.rglob("*") if p.relative_to(path).parts[0] not in ("videos", "images"))
        files = [*sorted(p for p in inside if p.is_file())]
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(_HASHED):
                digest.update(block)
    return digest.hexdigest()


def identity_of_file(path: str | os.PathLike[str]) -> str:
    """Return what distinguishes a log's file from all others, and from its own other versions: its place and its content."""
    source = readable_source(path, folder=True)
    try:
        place = shown_address(path) if isinstance(source, RemoteFile) else str(source.absolute())
        return f"{place}|{sha256(source)}"
    except OSError as error:
        raise TaupiError(
            "{source} cannot be read: {strerror}.", source=printable(place), strerror=error.strerror
        ) from None


def own_mapping(data: str | bytes, where: str) -> dict[str, object]:
    """Return the mapping that a file written by us carries, from its JSON text."""
    try:
        mapping = parse_json(data, where, "what taupi.write_log wrote")
    except TaupiError:
        mapping = None
    if not isinstance(mapping, dict) or mapping.get("taupi_log") != 1:
        raise TaupiError("{where} is damaged.", remedy="Give {columns} to read the file without it.", where=where)
    return mapping


def rebatch(parts: Iterable[dict[str, np.ndarray]], size: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield the same rows in blocks of `size` rows; the last may have fewer. Memory holds one block and one part."""
    pending: list[dict[str, np.ndarray]] = []
    count = 0
    for part in parts:
        pending.append(part)
        count += len(next(iter(part.values())))
        if count < size:
            continue
        rows = pending[0] if len(pending) == 1 else {k: np.concatenate([p[k] for p in pending]) for k in part}
        cut = count - count % size
        for a in range(0, cut, size):
            yield {k: v[a : a + size] for k, v in rows.items()}
        pending, count = [{k: v[cut:] for k, v in rows.items()}] if count > cut else [], count - cut
    if count:
        yield {k: np.concatenate([p[k] for p in pending]) for k in pending[0]}


Part = dict[str, np.ndarray]  # some rows of every column


def log_from_parts(path: Source, parts: Iterable[Part], layout: Layout, source: LogSource) -> Log:
    """Return the log of all parts."""
    pieces, used, size = [], 0, size_of(path)
    clock = Clock(path.name, size)
    for part in parts:
        pieces.append(part)
        used += sum(column.nbytes for column in part.values())
        budget().check_unpacked(used, size, path.name)
        clock.check()
    if not pieces:
        raise TaupiError("{file} has a header but no rows.", file=path.name)
    columns = {k: np.concatenate([p[k] for p in pieces]) for k in pieces[0]}
    return log_from_table(Table(columns, path), layout, source)


def blocks_from_parts(
    path: Source, parts: Iterable[Part], layout: Layout, source: LogSource, size: int
) -> Iterator[Log]:
    """Yield the log in blocks of `size` rows; memory holds one block and one part."""
    row, bytes_of_file = 0, size_of(path)
    before: dict[str, np.ndarray] = {}

    def checked() -> Iterator[Part]:
        for part in parts:
            rows = max(len(next(iter(part.values()))), 1)
            needed = sum(column.nbytes for column in part.values()) // rows * min(size, 8 * bytes_of_file)
            budget().check_unpacked(needed, bytes_of_file, f"{path.name}: a block")
            yield part

    for part in rebatch(checked(), size):
        yield log_from_table(Table(part, path, first_row=row), layout, source, before)
        row += len(next(iter(part.values())))
