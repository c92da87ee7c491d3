"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from taupi.errors import TaupiError, shown


def path_of(path: str | os.PathLike[str], expected: str = "the path of a file") -> Path:
    """Return the argument as a Path."""
    if not isinstance(path, str | os.PathLike) or not str(path) or "\0" in str(path):
        raise TaupiError(f"path is {shown(path)}, expected {expected}.")
    return Path(path)


def refuse_to_overwrite(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Return the path of a file that may be written; refuse a directory, and a file that is there unless forced."""
    file = path_of(path)
    if file.is_dir():
        raise TaupiError(f"{file} is a directory, expected the name of a file to write.")
    if file.exists() and not force:
        raise TaupiError(f"{file} exists already. Use another name, or force=True to overwrite it.")
    return file


def write_text(path: str | os.PathLike[str], text: str, force: bool = False) -> None:
    """Write a file of text whole or not at all."""
    write_file(path, lambda stream: stream.write(text.encode("utf-8")), force)


def write_file(path: str | os.PathLike[str], fill: Callable[[BinaryIO], object], force: bool = False) -> None:
    """Write a file whole or not at all: `fill` writes to a temporary one beside it, which then takes its name."""
    file = refuse_to_overwrite(path, force)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as stream:
            fill(stream)
        os.chmod(temporary, _mode(file))
        os.replace(temporary, file)
    except BaseException as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise TaupiError(f"{file} cannot be written: {error.strerror}.") from None
        raise


def _mode(file: Path) -> int:
    # mkstemp makes files private; keep the mode of the file that is replaced, else what open() would give.
    if file.exists():
        return file.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
