"""Files that save the next process work: where they are, and how only complete ones that this user wrote are read."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from taupi.errors import TaupiError
from taupi.files import write_private
from taupi.input_files import open_regular

# To be changed whenever the format of the stored files changes.
_VERSION = 2
_DIGEST = 32
# Files that were written longer ago are removed: their source may have changed since, and otherwise they are soon made again.
_KEPT_DAYS = 90


def folder() -> Path | None:
    """Return where compiled code is cached, or None if the cache is switched off."""
    setting = os.environ.get("TAUPI_CACHE", "").strip()
    if setting.lower() in ("off", "0", "no", "false", "none"):
        return None
    if setting:
        return Path(setting).expanduser() / f"objects-{_VERSION}"
    stated = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home folder
        home = Path(stated) if stated else Path.home() / ".cache"
        # With HOME="" the home folder would be the root of the file system, and a relative path is not the user's home.
        if home.is_absolute() and (stated or os.environ.get("HOME", "unset").strip()):
            return home / "taupi" / f"objects-{_VERSION}"
    return None


def stored(file: Path | None) -> bytes | None:
    """Return what `store` wrote to a file, if only this user can write it and it is complete, by the hash that it begins with."""
    if file is None:
        return None
    try:
        with open_regular(file, "machine code") as stream:
            status = os.fstat(stream.fileno())
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
                return None
            data = stream.read()
    except (OSError, TaupiError):  # a pipe or a folder is not machine code
        return None
    digest, content = data[:_DIGEST], data[_DIGEST:]
    return content if _digest(file, content) == digest else None


def store(file: Path | None, content: bytes) -> None:
    """Write a file, completely or not at all; a folder that cannot be written to is not an error."""
    if file is None:
        return
    with suppress(OSError):
        write_private(file, _digest(file, content) + content)
        _remove_old(file.parent)


@cache
def _remove_old(place: Path) -> None:
    """Remove what was stored long ago; once per process is enough."""
    oldest = time.time() - _KEPT_DAYS * 24 * 3600
    for file in place.iterdir():
        with suppress(OSError):  # another process may remove it, too
            if file.suffix in (".o", ".program") and file.stat().st_mtime < oldest:
                file.unlink()


def _digest(file: Path, content: bytes) -> bytes:
    """Return a hash that ties the content to its source, whose hash is the file's name."""
    return hashlib.sha256(file.name.encode() + content).digest()
