"""Files, and directories of files, written completely or not at all."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from taupi.addresses import PROTOCOLS, protocol_of
from taupi.errors import Argument, TaupiError, shown

FORCE = Argument("force", True)


def path_of(path: str | os.PathLike[str], expected: str = "the path of a file", name: str = "path") -> Path:
    """Return a path that a user gave, as a Path; `name` is the argument's name, and `expected` says what it should be."""
    if not isinstance(path, str | os.PathLike) or not str(path) or "\0" in str(path):
        raise TaupiError(
            "{argument} is {got!r}, expected {expected}.", argument=Argument(name), got=path, expected=expected
        )
    if protocol_of(path) is not None:
        address = re.sub(":/+", "://", str(path), count=1)  # a Path has one slash there
        raise TaupiError(
            "{argument} is {got}, expected {expected}. Only addresses of {protocols:,} are read, and only logs.",
            argument=Argument(name),
            got=shown(address, 200),
            expected=expected,
            protocols=PROTOCOLS,
        )
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # a name that no file can have, or a folder without read permission
        raise TaupiError(
            "{argument} is {got!r}, expected {expected}: {strerror}.",
            argument=Argument(name),
            got=str(path),
            expected=expected,
            strerror=error.strerror or error,
        ) from None
    return Path(path)


def status_of(path: Path) -> os.stat_result | None:
    """Return the status of a path; None if nothing is there, or can be: a name from a file may be anything."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def refuse_to_overwrite(path: str | os.PathLike[str], force: bool = False) -> Path:
    """Return the path of a file that may be written; refuse a directory, and an existing file unless `force` is set."""
    file = path_of(path)
    if file.is_dir():
        raise TaupiError("{file} is a directory, expected the name of a file to write.", file=file)
    if file.exists() and not force and not of_this_notebook(file):
        raise TaupiError(
            "{file} exists already.", remedy="Use another name, or {force} to overwrite it.", file=file, force=FORCE
        )
    return file


# What this process wrote, and in which state it left it: a cell of a notebook that is run again may write it again.
_WRITTEN: dict[Path, tuple[int, int, int]] = {}


def _state(path: Path) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_mtime_ns, status.st_size


def _remember(file: Path) -> None:
    """Note down a file that was just written, in a notebook."""
    if _in_a_notebook():
        with suppress(OSError):
            _WRITTEN[file.resolve()] = _state(file)


def of_this_notebook(file: Path) -> bool:
    """Return whether a notebook that is running wrote a file, and nobody has changed it since."""
    if not _in_a_notebook():
        return False
    with suppress(OSError):
        return _WRITTEN.get(file.resolve()) == _state(file)
    return False


def _in_a_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    return hasattr(getattr(ipython, "get_ipython", lambda: None)(), "kernel")


def write_text(path: str | os.PathLike[str], text: str, force: bool = False) -> None:
    """Write a text file, completely or not at all."""
    write_file(path, lambda stream: stream.write(text.encode("utf-8", "replace")), force)


def write_file(path: str | os.PathLike[str], fill: Callable[[BinaryIO], object], force: bool = False) -> None:
    """Write a file, completely or not at all: `fill` writes to a temporary file beside it, which is then renamed."""
    file = refuse_to_overwrite(path, force)
    try:
        file = file.resolve()  # a link stays a link to what is written
        with _staged(file, folder=False) as temporary:
            with temporary.open("wb") as stream:
                fill(stream)
            os.chmod(temporary, _mode(file))
            os.replace(temporary, file)
        _remember(file)
    except OSError as error:
        raise TaupiError("{file} cannot be written: {strerror}.", file=file, strerror=error.strerror) from None


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several text files, replacing existing ones: all are written to temporary files before the first is renamed.

    Their folders are made if they do not exist, and removed if nothing is written.
    """
    try:
        with ExitStack() as stack:
            stack.enter_context(_made_folders({file.parent for file in texts}))
            real = {file.resolve(): text for file, text in texts.items()}
            staged = {file: stack.enter_context(_staged(file, folder=False)) for file in real}
            for file, temporary in staged.items():
                temporary.write_bytes(real[file].encode("utf-8", "replace"))
                os.chmod(temporary, _mode(file))
            for file, temporary in staged.items():
                os.replace(temporary, file)
                _remember(file)
    except OSError as error:
        raise TaupiError(
            "{parent} cannot be written: {strerror}.", parent=next(iter(texts)).parent, strerror=error.strerror
        ) from None


def write_private(file: Path, data: bytes) -> None:
    """Write a file, and its folder, that only this user may change, completely or not at all; OSError if that fails."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _staged(file, folder=False) as temporary:
        temporary.write_bytes(data)
        os.replace(temporary, file)


def refuse_to_replace(folder: str | os.PathLike[str], names: Iterable[str], force: bool = False) -> Path:
    """Return a directory that may be replaced; refuse one that holds files of these names unless `force` is set."""
    path = path_of(folder, "the path of a directory")
    real = path.resolve()
    if real.exists() and not real.is_dir():
        raise TaupiError("{path} is a file, expected the name of a directory to write in.", path=path)
    if Path.cwd().is_relative_to(real) or real.is_mount():
        raise TaupiError(
            "{path} cannot be replaced, because it is or contains the current directory, or is a mount point.",
            remedy="Name a directory of its own, such as out/.",
            path=path,
        )
    existing = [name for name in names if (real / name).exists() and not of_this_notebook(real / name)]
    if existing and not force:
        raise TaupiError(
            "{path} holds {existing:,} already.",
            remedy="Use another name, or {force} to overwrite.",
            path=path,
            existing=existing,
            force=FORCE,
        )
    return real


def write_folder(
    folder: str | os.PathLike[str], fill: Callable[[Path], object], force: bool = False, own: Iterable[str] = ()
) -> None:
    """Write the files of one result together: a reader finds all of the old ones or all of the new ones, never a mixture.

    `fill` writes them to an empty directory beside `folder`, and then the two directories are exchanged in one step. Files of the
    old result, those with a name in `own`, are removed; all other files in `folder` are kept. Without `force`, a folder that
    holds such files is refused.
    """
    real = refuse_to_replace(folder, (), force)
    try:
        with (
            _made_folders({real.parent}),
            _staged(real, folder=True) as staged,
        ):  # at the end it holds the old files, or unfinished new ones
            fill(staged)
            refuse_to_replace(folder, sorted({*own, *(p.name for p in staged.iterdir())}), force)
            os.chmod(staged, 0o777 & ~_mask() if not real.exists() else real.stat().st_mode & 0o777)
            names = [p.name for p in staged.iterdir()]
            if real.exists():
                _keep_others(real, staged, set(own))
                _exchange(staged, real)
            else:
                os.rename(staged, real)
            for name in names:
                _remember(real / name)
    except OSError as error:
        raise TaupiError("{folder} cannot be written: {strerror}.", folder=folder, strerror=error.strerror) from None


@contextmanager
def _made_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Make folders that do not exist, and those that they are in; if what follows fails, remove them again."""
    made: list[Path] = []
    try:
        for folder in folders:
            missing = [p for p in (folder, *folder.parents) if not p.exists()]
            for path in reversed(missing):
                path.mkdir(exist_ok=True)
                made.append(path)
        yield
    except BaseException:
        for path in reversed(made):
            with suppress(OSError):  # somebody has put something there
                path.rmdir()
        raise


# Staging: what is not complete has a name of its own, which only a process that is still alive holds locked ----------------


@contextmanager
def _staged(target: Path, folder: bool) -> Iterator[Path]:
    """Make an empty file or folder beside a target, to be filled and renamed; it is removed afterwards.

    A process that is killed leaves it behind. The next one that writes the same target finds it unlocked, and removes it.
    """
    import shutil  # these load half a dozen modules that a process that writes nothing does not need
    import tempfile

    _remove_abandoned(target)
    while True:
        name = _part_name(target)
        if folder:
            path, handle = Path(tempfile.mkdtemp(dir=target.parent, prefix=name, suffix=".part")), None
        else:
            opened, text = tempfile.mkstemp(dir=target.parent, prefix=name, suffix=".part")
            path, handle = Path(text), opened
        lock = _lock(path) if handle is None else _lock_handle(handle)
        if path.exists():  # else another process took it for abandoned before it was locked
            break
        if lock is not None:
            os.close(lock)
    try:
        yield path
    finally:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _part_name(target: Path) -> str:
    """Return how names of unfinished files begin; a long name is cut, so that the system accepts it."""
    return f".{os.fsdecode(os.fsencode(target.name)[:200])}."


def _remove_abandoned(target: Path) -> None:
    """Remove what was left by processes that were killed while they wrote the target."""
    import shutil

    pattern = re.compile(re.escape(_part_name(target)) + r"[a-z0-9_]{8}\.part")
    with suppress(OSError):
        for path in [p for p in target.parent.iterdir() if pattern.fullmatch(p.name)]:
            lock = _lock(path)
            if lock is None:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            os.close(lock)


def _lock(path: Path) -> int | None:
    """Return the handle of a file or folder that no other process has locked, or None."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    return _lock_handle(handle)


def _lock_handle(handle: int) -> int | None:
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # not POSIX, a file system without locks, or locked by another process
        os.close(handle)
        return None
    return handle


def _keep_others(old: Path, new: Path, own: set[str]) -> None:
    """Link the other files of the old directory into the new one: links, so that nothing is moved before all is done."""
    import shutil

    for path in old.iterdir():
        if path.name not in own and not (new / path.name).exists():
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, new / path.name, symlinks=True, copy_function=_link)
            else:
                _link(str(path), str(new / path.name))


def _link(source: str, target: str) -> str:
    import shutil

    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
    return target


def _exchange(a: Path, b: Path) -> None:
    """Exchange two directories, in one step if the system can do that."""
    import ctypes

    at_fdcwd, rename_exchange = -100, 2
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        if renameat2(at_fdcwd, os.fsencode(a), at_fdcwd, os.fsencode(b), rename_exchange) == 0:
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
    # mkstemp creates private files. Keep the mode of a file that is replaced; use open()'s for a new one.
    if file.exists():
        return file.stat().st_mode & 0o777
    return 0o666 & ~_mask()
