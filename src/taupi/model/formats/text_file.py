"""Read the text of a file, refusing what cannot be a robot description."""

from __future__ import annotations

import os

from taupi.errors import TaupiError
from taupi.files import path_of
from taupi.input_files import printable, read_bytes

_EXPECTED = "a robot description (.urdf, .xml, .toml)"


def read_text(path: str | os.PathLike[str], limit: int | None = None) -> str:
    """Return the text of a UTF-8 file with its newlines as they are, refusing what cannot be a description."""
    file = path_of(path)
    return decode(read_bytes(file, _EXPECTED, limit), printable(file.name))


def decode(data: bytes, where: str) -> str:
    """Return the text of a file's bytes; an empty file, or one that is not UTF-8, is an error."""
    if not data.strip():
        raise TaupiError(f"{where} is empty, expected a robot description.")
    if b"\0" in data:
        raise TaupiError(f"{where} is a binary file, expected the text of a robot description.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TaupiError(f"{where} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from None
