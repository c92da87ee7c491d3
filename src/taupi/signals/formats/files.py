"""Log files: check that one can be read, hash it, see how it begins, and cut its rows into blocks."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from taupi.errors import TaupiError
from taupi.files import path_of
from taupi.signals.formats.sources import RemoteFile, Source, remote_digest, source_of


def readable(path: str | os.PathLike[str], expected: str = "a log", folder: bool = False) -> Path:
    """Return the path of a regular file that is not empty, or, with `folder`, of a folder."""
    file = path_of(path, f"the path of {expected}")
    try:
        if file.is_dir():
            if folder:
                return file
            raise TaupiError(f"{file} is a directory, expected {expected}.")
        if not file.exists():
            raise TaupiError(f"No file {str(file)[:200]!r}. Check the path; the current folder is {Path.cwd().name!r}.")
        if not file.is_file():  # a pipe or a device would never end
            raise TaupiError(f"{file} is not a regular file, expected {expected}.")
        if file.stat().st_size == 0:
            raise TaupiError(f"{file.name} is empty, expected {expected}.")
        with file.open("rb"):
            return file
    except OSError as error:
        raise TaupiError(f"{str(file)[:200]} cannot be read: {error.strerror}.") from None


def read_toml(path: str | os.PathLike[str], expected: str) -> dict[str, Any]:
    """Return what the TOML file at a path holds; `expected` says what it should be."""
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    file = readable(path, expected)
    try:
        data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TaupiError(f"{file.name} is not TOML: {str(error)[:100]}.") from None
    return data


def readable_source(path: str | os.PathLike[str] | Source, expected: str = "a log", folder: bool = False) -> Source:
    """Return the source at a path, checked as by `readable`, or at an address, which is checked when it is opened."""
    source = source_of(path)
    return source if isinstance(source, RemoteFile) else readable(source, expected, folder)


def beginning(path: Source, count: int = 16) -> bytes:
    """Return the first bytes of a file, by which its format is recognised."""
    if not path.is_file():
        return b""
    with path.open("rb") as stream:
        return stream.read(count)


def sha256(path: Source) -> str:
    """Return the sha256 of a file's bytes, or of the bytes of a folder's files in the order of their names.

    That of a file elsewhere is the sha256 of its tag and size, so that its bytes need not be read for it.
    """
    if isinstance(path, RemoteFile):
        return remote_digest(path)
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        with file.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def rebatch(parts: Iterable[dict[str, np.ndarray]], size: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield the same rows in blocks of `size` rows; the last may have fewer. Memory holds one block and one part."""
    pending: list[dict[str, np.ndarray]] = []
    count = 0
    for part in parts:
        pending.append(part)
        count += len(next(iter(part.values())))
        if count < size:
            continue
        rows = {k: np.concatenate([p[k] for p in pending]) for k in part}
        cut = count - count % size
        for a in range(0, cut, size):
            yield {k: v[a : a + size] for k, v in rows.items()}
        pending, count = [{k: v[cut:] for k, v in rows.items()}], count - cut
    if count:
        yield {k: np.concatenate([p[k] for p in pending]) for k in pending[0]}
