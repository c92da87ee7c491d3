"""Files, and directories of files, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from taupi.errors import Argument, TaupiError, shown

# What to do about files that are there already.
OVERWRITE = ("Use another name, or ", Argument("force", True), " to overwrite.")


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
        raise TaupiError(f"{file} exists already.", remedy=OVERWRITE)
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


def refuse_to_replace(folder: str | os.PathLike[str], names: Iterable[str], force: bool = False) -> Path:
    """Return a directory that results may be written to as a whole; refuse one that holds such files unless forced."""
    given = path_of(folder, "the path of a directory")
    real = given.resolve()
    if real.exists() and not real.is_dir():
        raise TaupiError(f"{given} is a file, expected the name of a directory to write in.")
    if Path.cwd().is_relative_to(real) or real.is_mount():
        raise TaupiError(
            f"{given} cannot be replaced as a whole, being the current directory or above it. Name one of its own, such as out/."
        )
    there = [name for name in names if (real / name).exists()]
    if there and not force:
        raise TaupiError(f"{given} holds {', '.join(there)} already.", remedy=OVERWRITE)
    return real


def write_folder(
    folder: str | os.PathLike[str], fill: Callable[[Path], object], force: bool = False, own: Iterable[str] = ()
) -> None:
    """Write the files of one result together: whoever looks finds all the old ones, or all the new ones.

    `fill` writes them to an empty directory beside, which then changes places with `folder` in one step. Files that a result
    may have, `own`, go with the old one; whatever else lies in `folder` stays there.
    """
    real = refuse_to_replace(folder, (), force)
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(dir=real.parent, prefix=f".{real.name}.", suffix=".part"))
    except OSError as error:
        raise TaupiError(f"{folder} cannot be written: {error.strerror}.") from None
    try:
        fill(staged)
        refuse_to_replace(folder, sorted({*own, *(p.name for p in staged.iterdir())}), force)
        os.chmod(staged, 0o777 & ~_mask() if not real.exists() else real.stat().st_mode & 0o777)
        if not real.exists():
            os.rename(staged, real)
            return
        _keep_others(real, staged, set(own))
        _exchange(staged, real)
    except OSError as error:
        raise TaupiError(f"{folder} cannot be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)  # what was there before, or what was not finished


def _keep_others(old: Path, new: Path, own: set[str]) -> None:
    """Give the new directory whatever the old one holds besides: hard links, so that nothing is moved before all is done."""
    for path in old.iterdir():
        if path.name not in own and not (new / path.name).exists():
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, new / path.name, symlinks=True, copy_function=_link)
            else:
                _link(str(path), str(new / path.name))


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
    return target


def _exchange(a: Path, b: Path) -> None:
    """Let two directories change places, in one step where the system can."""
    import ctypes

    at_here, exchange = -100, 2
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
        if swap(at_here, os.fsencode(a), at_here, os.fsencode(b), exchange) == 0:
            return
    except (AttributeError, OSError):  # no such function: not Linux
        pass
    aside = a.with_name(a.name + ".old")
    os.rename(b, aside)
    os.rename(a, b)
    os.rename(aside, a)


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _mode(file: Path) -> int:
    # mkstemp makes files private; keep the mode of the file that is replaced, else what open() would give.
    if file.exists():
        return file.stat().st_mode & 0o777
    return 0o666 & ~_mask()
