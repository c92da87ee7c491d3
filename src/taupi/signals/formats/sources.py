"""Where a log is: a local path, or an address such as s3://bucket/run.parquet, behind one interface.

A source is a `Path`, or a `RemoteFile` that can do what readers do with paths: `name`, `suffix`, `is_file`, `open("rb")`.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from taupi.addresses import PROTOCOLS, WEB, address_without_secrets, protocol_of, without_secrets
from taupi.budget import MIB, budget, over_budget
from taupi.errors import TaupiError
from taupi.files import path_of

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")

# s: a server that sends nothing for this long has failed, whatever the library's own limits are: they add up over its retries.
DEADLINE_S = 60.0
_SECRET = re.compile(r"\?\S*")
_REMOTE_EXTRA = "pip install 'taupi[remote]'"


def watched(function: Callable[..., T], *args: object, **keywords: object) -> T:
    """Return what a function returns, called in a thread of its own; TimeoutError if that takes longer than the deadline."""
    outcome: list[tuple[T, None] | tuple[None, BaseException]] = []

    def call() -> None:
        try:
            outcome.append((function(*args, **keywords), None))
        except BaseException as error:  # raised again by the caller
            outcome.append((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    if not outcome:
        raise TimeoutError(f"no answer for {DEADLINE_S:g} s")
    value, failure = outcome[0]
    if failure is not None:
        raise failure
    return cast("T", value)


@contextmanager
def reading_error(name: str) -> Iterator[None]:
    """Turn whatever a library raises about a remote file into one sentence, without the queries of addresses."""
    try:
        yield
    except (TaupiError, KeyboardInterrupt):
        raise
    except FileNotFoundError as error:
        if "Connect" in type(error.__cause__).__name__:  # for the web, fsspec only says that there is no file
            raise TaupiError("{name} cannot be read: no server answers there.", name=name) from None
        raise TaupiError("There is nothing at {name}. Check the address.", name=name) from None
    except PermissionError:
        raise TaupiError(
            "{name} may not be read with the credentials of the environment.",
            remedy="Check them, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3.",
            name=name,
        ) from None
    except TimeoutError as error:
        raise TaupiError("{name} cannot be read: {error}.", name=name, error=str(error) or "no answer") from None
    except ImportError as error:
        raise TaupiError(
            "{name} cannot be read: {error}.",
            remedy="{remote_extra}.",
            name=name,
            error=error,
            remote_extra=_REMOTE_EXTRA,
        ) from None
    except Exception as error:  # botocore, aiohttp, gcsfs and adlfs have their own errors
        if type(error).__name__ == "NoCredentialsError":
            raise TaupiError(
                "There are no credentials for {name}.",
                remedy=("Set them in the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3."),
                name=name,
            ) from None
        if type(error).__name__ == "FileExpired":
            raise TaupiError("{name} was replaced while it was read. Start again.", name=name) from None
        reason = _SECRET.sub("", (str(error).splitlines() or [""])[0])[:200] or type(error).__name__
        raise TaupiError("{name} cannot be read: {reason}.", name=name, reason=reason.rstrip(".")) from None


# What servers say of a file's content, and what they say of its time only: a version with another content can have the same.
_STRONG = ("etag", "versionid", "generation", "md5hash", "contentmd5", "digest")
_WEAK = ("lastmodified", "mtime")
# Bytes that are fetched at once: one request for each column chunk would cost ten times as much.
_AHEAD = 4 << 20
_MAGIC = re.compile(r"[*?\[]")


def address_of(path: str | os.PathLike[str] | object) -> str | None:
    """Return an address with its protocol, even if it was turned into a Path; None for a local path.

    >>> address_of("s3://bucket/run.csv"), address_of(Path("s3://bucket/run.csv")), address_of("run.csv")
    ('s3://bucket/run.csv', 's3://bucket/run.csv', None)
    """
    if isinstance(path, RemoteFile):
        return path.address
    if not isinstance(path, str | os.PathLike):
        return None
    protocol = protocol_of(path)
    return f"{protocol}://{str(path).partition(':')[2].lstrip('/')}" if protocol in PROTOCOLS else None


def shown_address(path: str | os.PathLike[str]) -> str:
    """Return a path as it is, and an address without what may be secret in it: user, password, query.

    >>> shown_address("https://me:secret@host/run.csv?signature=abc")
    'https://host/run.csv'
    >>> shown_address("runs/a?b.csv")
    'runs/a?b.csv'
    """
    address = address_of(path)
    return without_secrets(str(path)) if address is None else address_without_secrets(address)


class HiddenAddress(str):
    """An address that is shown without what may be secret in it: workers print the arguments of a task that fails.

    >>> HiddenAddress("https://host/run.csv?signature=abc")
    'https://host/run.csv'
    """

    def __repr__(self) -> str:
        return repr(shown_address(str(self)))


def file_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file, without its folder and whatever follows it in an address."""
    return Path(shown_address(path)).name


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address; credentials come from the environment, such as AWS_ACCESS_KEY_ID."""

    address: str

    def __str__(self) -> str:
        return shown_address(self.address)

    def __repr__(self) -> str:  # the address may hold a signature
        return f"RemoteFile({str(self)!r})"

    @property
    def name(self) -> str:
        """Its name, without folder and query."""
        return file_name(self.address)

    @property
    def suffix(self) -> str:
        """The ending of its name."""
        return Path(self.name).suffix

    @cached_property
    def _place(self) -> tuple[AbstractFileSystem, str]:
        """The file system of its protocol, and the path in it."""
        return file_system(self.address)

    @cached_property
    def _info(self) -> dict[str, Any]:
        system, path = self._place
        with reading_error(str(self)):
            info: dict[str, object] = watched(system.info, path)
        if info.get("type") == "directory":
            raise TaupiError("{other_self} is a folder, expected the address of a file.", other_self=self)
        return info

    @cached_property
    def _bytes(self) -> bytes:
        system, path = self._place
        if self.size is not None:
            content: bytes = watched(system.cat_file, path)
            return content
        # A server that does not state the size may send forever.
        parts, count, most = list[bytes](), 0, budget().unpacked_bytes
        stream = watched(system.open, path, "rb", block_size=0)
        try:
            while part := watched(stream.read, _AHEAD):
                parts.append(part)
                count += len(part)
                if count > most:
                    raise over_budget(f"{self} has more than {most // MIB} MiB", "unpacked_bytes")
        finally:
            stream.close()
        return b"".join(parts)

    @property
    def size(self) -> int | None:
        """Its size in bytes; None if the server does not state it."""
        size = self._info.get("size")
        return None if size is None else int(size)

    @property
    def _validators(self) -> dict[str, str]:
        """What the server says to tell this version of the file from others, by name in lower case: `ETag` is `etag`."""
        facts = {re.sub(r"[^a-z0-9]", "", str(name).lower()): value for name, value in self._info.items()}
        return {name: str(facts[name]) for name in (*_STRONG, *_WEAK) if facts.get(name)}

    @property
    def is_tagged(self) -> bool:
        """Whether the server distinguishes versions by more than their size and time, which another version can share."""
        known = self._validators
        return any(name in known and not known[name].startswith("W/") for name in _STRONG)

    @property
    def identity(self) -> str:
        """A hash of its address with the query but without user and password, of its size, and of what the server says of it."""
        protocol, _, rest = self.address.partition("://")
        host, slash, path = rest.partition("/")
        place = f"{protocol}://{host.rpartition('@')[2]}{slash}{path}"
        facts = [place, str(self.size), *(f"{name}={value}" for name, value in self._validators.items())]
        return hashlib.sha256("|".join(facts).encode()).hexdigest()

    def is_file(self) -> bool:
        """Return True, since it is not a folder; a missing file is an error when it is opened."""
        return True

    def is_dir(self) -> bool:
        """Return False: it is not a folder."""
        return False

    def open(self, mode: str = "rb") -> BinaryIO:
        """Return its bytes as a seekable stream."""
        assert mode == "rb"
        system, path = self._place
        size = self.size
        if size == 0:
            raise TaupiError("{other_self} is empty, expected a log.", other_self=self)
        with reading_error(str(self)):
            # One request for a small file, or for a file of which the server sends no parts.
            if size is None or size <= _AHEAD or self._info.get("partial") is False:
                return io.BytesIO(self._bytes)
            stream = watched(system.open, path, "rb", block_size=_AHEAD, cache_type="readahead")
        return cast(BinaryIO, io.BufferedReader(_Watched(stream, str(self)), 1 << 20))

    @contextmanager
    def downloaded(self) -> Iterator[Path]:
        """Yield the path of a temporary copy, for readers that need a file."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, self.name)
            with self.open() as stream, copy.open("wb") as out:
                shutil.copyfileobj(stream, out, _AHEAD)
            yield copy


Source = Path | RemoteFile


class _Watched(io.RawIOBase):
    """A stream from another machine; a read that takes too long, or fails, raises an error of one sentence."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name

    def readinto(self, buffer: Any) -> int:
        with reading_error(self._name):
            data = watched(self._stream.read, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._stream.seek(offset, whence))

    def tell(self) -> int:
        return int(self._stream.tell())

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def source_of(path: str | os.PathLike[str] | RemoteFile) -> Source:
    """Return the source at a path or an address."""
    if isinstance(path, RemoteFile):
        return path
    address = address_of(path)
    return path_of(path, "the path or address of a log") if address is None else RemoteFile(address)


def size_of(source: Source) -> int:
    """Return the size of a file in bytes; 0 if it is not a file, or if the size is unknown."""
    if isinstance(source, RemoteFile):
        return source.size or 0
    return source.stat().st_size if source.is_file() else 0


@contextmanager
def local_path(source: Source) -> Iterator[Path]:
    """Yield a local path of a source: for a remote one, that of a temporary copy."""
    if isinstance(source, RemoteFile):
        with source.downloaded() as path:
            yield path
    else:
        yield source


def file_system(address: str) -> tuple[AbstractFileSystem, str]:
    """Return the file system of an address's protocol, and the path in it."""
    protocol = address.partition(":")[0]
    try:
        import fsspec
        from fsspec.core import url_to_fs

        fsspec.get_filesystem_class(protocol)
    except ImportError:
        raise TaupiError(
            "{path}: reading {protocol} addresses needs the package {other_protocol}, which is not installed.",
            remedy="Install it with {remote_extra}.",
            path=shown_address(address),
            protocol=protocol,
            other_protocol=PROTOCOLS[protocol],
            remote_extra=_REMOTE_EXTRA,
        ) from None
    with reading_error(shown_address(address)):
        options = {"config_kwargs": {"connect_timeout": 10, "read_timeout": 30}} if protocol == "s3" else {}
        system, path = url_to_fs(address, **options)
    return system, path


def expand_pattern(path: str | os.PathLike[str]) -> Sequence[str | os.PathLike[str]]:
    """Return the files that a pattern with *, ? or [...] matches, sorted; a path without one, or of a file, as it is."""
    text, address = str(path), address_of(path)
    if not _MAGIC.search(text) or (address or "").startswith(WEB):
        return [path]
    if address is None:
        if path_of(text, "the path or address of logs").exists():
            return [path]
        matches = sorted(glob.glob(text, recursive=True))
    else:
        system, pattern = file_system(address)
        with reading_error(shown_address(address)):
            names = sorted(watched(system.glob, pattern))
        matches = [system.unstrip_protocol(each) for each in names]
    if not matches:
        raise TaupiError("No file matches '{path}'. Check the pattern.", path=shown_address(text))
    return matches
