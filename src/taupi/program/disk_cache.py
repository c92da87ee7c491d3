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
from taupi.files import status_of, write_private
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
        try:
            return Path(setting).expanduser() / f"objects-{_VERSION}"
        except RuntimeError:  # ~ of somebody without a home folder
            raise TaupiError(
                "TAUPI_CACHE is {got!r}, expected a folder that exists or can be made.", got=setting
            ) from None
    stated = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home folder
        home = Path(stated) if stated else Path.home() / ".cache"
        # With HOME="" the home folder would be the root of the file system, and a relative path is not the user's home.
        if home.is_absolute() and (stated or os.environ.get("HOME", "unset").strip()):
            return home / "taupi" / f"objects-{_VERSION}"
    return None


def stored(file: Path | None) -> bytes | None:
    """Return what `store` wrote to a file, if only this user can write it and it is complete, by the hash that it begins with."""
    if file is None or not _is_private(status_of(file.parent)):
        return None
    try:
        with open_regular(file, "machine code") as stream:
            if not _is_private(os.fstat(stream.fileno())):
                return None
            data = stream.read()
    except (OSError, TaupiError):  # a pipe or a folder is not machine code
        return None
    digest, content = data[:_DIGEST], data[_DIGEST:]
    return content if _digest(file, content) == digest else None


def _is_private(status: os.stat_result | None) -> bool:
    """Return whether a file or folder belongs to this user, and nobody else may write to it."""
    if status is None:
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)


def store(file: Path | None, content: bytes) -> None:
    """Write a file, completely or not at all; a folder that cannot be written to, or not by this user alone, is not an error."""
    if file is None or (file.parent.exists() and not _is_private(status_of(file.parent))):
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
