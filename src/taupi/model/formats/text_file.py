"""Read the text of a file, refusing what cannot be a robot description."""

from __future__ import annotations

import os
from pathlib import Path

from taupi.errors import TaupiError
from taupi.files import path_of

# The largest URDFs in public use have 1 MB; a file larger than this is not a robot description.
LIMIT = 32 * 2**20


def read_text(path: str | os.PathLike[str], limit: int = LIMIT) -> str:
    """Return the text of a UTF-8 file with its newlines as they are, refusing what cannot be a description."""
    file = path_of(path)
    try:
        if file.is_dir():
            raise TaupiError(f"{file} is a directory, expected a robot description (.urdf, .xml, .toml) in it.")
        if not file.exists():
            raise TaupiError(f"No file {str(file)!r}. Check the path; the current folder is {Path.cwd().name!r}.")
        if not file.is_file():  # a pipe or a device would never end
            raise TaupiError(f"{file} is not a regular file, expected a robot description.")
        with file.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise TaupiError(f"{file} cannot be read: {error.strerror}.") from None
    return decode(data, file.name, limit)


def decode(data: bytes, where: str, limit: int = LIMIT) -> str:
    """Return the text of a file's bytes; an empty file, too large a one, or one that is not UTF-8 is an error."""
    if len(data) > limit:
        raise TaupiError(f"{where} is larger than {limit / 2**20:.0f} MiB, too large for a robot description.")
    if not data.strip():
        raise TaupiError(f"{where} is empty, expected a robot description.")
    if b"\0" in data:
        raise TaupiError(f"{where} is a binary file, expected the text of a robot description.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TaupiError(f"{where} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from None
