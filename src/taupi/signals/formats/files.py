"""Log files: check that one can be read, hash it, see how it begins, and cut its rows into blocks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from taupi.budget import MIB, budget, over_budget
from taupi.errors import Argument, TaupiError
from taupi.input_files import parse_json, printable, regular_file
from taupi.signals.formats.sources import RemoteFile, Source, remote_digest, size_of, source_of

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
    """Return the sha256 of a file's bytes, or of a folder's files in the order of their names; of a remote file's tag."""
    if isinstance(path, RemoteFile):
        return remote_digest(path)
    digest, buffer = hashlib.sha256(), memoryview(bytearray(_HASHED))
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        with file.open("rb") as stream:
            while count := stream.readinto(buffer):
                digest.update(buffer[:count])
    return digest.hexdigest()


def own_mapping(data: str | bytes, where: str) -> dict[str, object]:
    """Return the mapping that a file written by us carries, from its JSON text."""
    try:
        mapping = parse_json(data, where, "what taupi.write_log wrote")
    except TaupiError:
        mapping = None
    if not isinstance(mapping, dict) or mapping.get("taupi_log") != 1:
        raise TaupiError(f"{where} is damaged.", remedy=("Give ", Argument("columns"), " to read the file without it."))
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
