"""How every file is read: only regular files of bounded size, and JSON and TOML in bounded time."""

from __future__ import annotations

import importlib
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from taupi.addresses import without_secrets
from taupi.budget import MIB, budget, over_budget
from taupi.errors import TaupiError
from taupi.files import path_of

Paths = str | os.PathLike[str]
# No description needs deeper keys, and the parser's time and memory grow with the square of the depth.
_DEEPEST_KEY = 32
_DEEPEST_JSON = 200
# Every alternative ends at the end of the text at the latest: one that failed there would be tried again from each place. What
# is repeated is a class of characters, never a group: the engine remembers every repetition of a group, about 270 bytes each.
_TOKEN = re.compile(
    r"(?P<space>[ \t]+)|(?P<dot>\.)|(?P<bare>[A-Za-z0-9_-]+)|(?P<line>\r?\n)|#[^\n]*|"
    r'(?P<long>"""[\s\S]*?(?:"{3,5}|\Z)|\'\'\'[\s\S]*?(?:\'{3,5}|\Z))|'
    r'(?P<quoted>"[^"\n]*"?|\'[^\'\n]*\'?)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<other>[\s\S])',
)
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def regular_file(path: Paths, expected: str, folder: bool = False, missing: str = "") -> Path:
    """Return the path of a regular file that is not empty, or, with `folder`, of a folder.

    `expected` says what it should be, and `missing` what to do if there is none.
    """
    file = path_of(path, f"the path of {expected}")
    try:
        if folder and file.is_dir():
            return file
        with open_regular(file, expected, missing) as stream:
            if os.fstat(stream.fileno()).st_size == 0:
                raise TaupiError("{file} is empty, expected {expected}.", file=printable(file.name), expected=expected)
            return file
    except OSError as error:
        raise TaupiError("{file} cannot be read: {strerror}.", file=printable(file), strerror=error.strerror) from None


def read_bytes(path: Paths, expected: str, limit: int | None = None, missing: str = "") -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes, by default the budget's limit for texts."""
    file = path_of(path, f"the path of {expected}")
    most = budget().text_bytes if limit is None else limit
    try:
        with open_regular(file, expected, missing) as stream:
            data = stream.read(min(most, os.fstat(stream.fileno()).st_size) + 1)
    except OSError as error:
        raise TaupiError("{file} cannot be read: {strerror}.", file=printable(file), strerror=error.strerror) from None
    if len(data) > most:
        name = "data_bytes" if most == budget().data_bytes else "text_bytes"
        raise over_budget(f"{printable(file.name)} is larger than {most / MIB:.0f} MiB, too large for {expected}", name)
    return data


def read_text(path: Paths, expected: str) -> str:
    """Return the text of a regular UTF-8 file, no longer than the budget allows for texts."""
    data = read_bytes(path, expected)
    where = printable(Path(path).name)
    if not data.strip():
        raise TaupiError("{where} is empty, expected {expected}.", where=where, expected=expected)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaupiError(
            "{where} is not UTF-8 text (byte {start}). Save it as UTF-8.", where=where, start=error.start
        ) from None


def open_regular(file: Path, expected: str, missing: str = "") -> BinaryIO:
    """Return a regular file, opened without waiting: opening a pipe would wait for a writer, reading a device never ends."""
    if file.is_dir():
        raise TaupiError("{file} is a directory, expected {expected}.", file=printable(file), expected=expected)
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        hint = missing or f"Check the path; the current folder is {Path.cwd().name!r}."
        raise TaupiError("No file '{file}'. {hint}", file=printable(file), hint=hint) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise TaupiError("{file} is not a regular file, expected {expected}.", file=printable(file), expected=expected)
    return os.fdopen(handle, "rb")


def printable(path: Paths, limit: int = 200) -> str:
    """Return a path as text that any file can hold: no secrets of an address, and U+FFFD for bytes that are not UTF-8.

    >>> printable(b"run\\xff.csv".decode("utf-8", "surrogateescape"))
    'run\\ufffd.csv'
    """
    text = without_secrets(os.fsencode(path).decode("utf-8", "replace"))
    return text if len(text) <= limit else text[:limit] + "..."


# JSON and TOML --------------------------------------------------------------------------------------------------------


def parse_json(data: str | bytes, where: str, expected: str) -> Any:
    """Return what a JSON text holds; numbers of thousands of digits, deep nesting and broken characters are refused."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        value = json.loads(text)
        if text.count("[") + text.count("{") > _DEEPEST_JSON and _deeper(value, _DEEPEST_JSON):
            raise RecursionError  # newer interpreters parse nesting that is too deep for their own functions
        if _LONE_SURROGATE.search(text):
            for string in _strings(value):
                string.encode("utf-8")
    except json.JSONDecodeError as error:
        raise TaupiError(
            "{where} is not JSON, line {lineno}: expected {expected}.",
            where=where,
            lineno=error.lineno,
            expected=expected,
        ) from None
    except UnicodeError:
        raise TaupiError("{where} is not UTF-8 text: expected {expected}.", where=where, expected=expected) from None
    except RecursionError:
        raise TaupiError("{where} is nested too deeply: expected {expected}.", where=where, expected=expected) from None
    except ValueError:  # more digits than Python turns into a number
        raise TaupiError(
            "{where} is not JSON, it holds a number of thousands of digits: expected {expected}.",
            where=where,
            expected=expected,
        ) from None
    return value


def _deeper(value: object, most: int) -> bool:
    """Return whether lists and tables are nested more than `most` levels deep."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most + 1):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def _strings(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item


def parse_toml(text: str, where: str, parse_float: Callable[[str], Any] = float) -> dict[str, object]:
    """Return what a TOML text holds; keys with many dots, deep nesting and too many values are refused before parsing."""
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    _check_toml(text, where)
    try:
        data: dict[str, object] = tomllib.loads(text.removeprefix("\ufeff"), parse_float=parse_float)
    except RecursionError:
        raise TaupiError("{where} nests too deeply for a description.", where=where) from None
    # The parser's own errors, integers of thousands of digits, and dotted numbers.
    except (ValueError, AttributeError) as error:
        raise TaupiError(
            "{where} is not valid TOML: {error}.", where=where, error=str(error)[:200].rstrip(".")
        ) from None
    return data


def _check_toml(text: str, where: str) -> None:
    """Refuse texts on which a parser of TOML takes memory or time that grows faster than the text."""
    dots = depth = values = 0
    most = budget().nodes
    without_escapes = text.replace("\\\\", "__").replace('\\"', "__")
    for token in _TOKEN.finditer(without_escapes):
        kind = token.lastgroup
        if kind == "dot":
            dots += 1
            if dots > _DEEPEST_KEY:
                raise TaupiError(
                    "{where} has a key with more than {deepest_key} dots: no description has that.",
                    where=where,
                    deepest_key=_DEEPEST_KEY,
                )
        elif kind in ("other", "line", "open", "close", "long"):
            dots = 0
            depth += (kind == "open") - (kind == "close")
            if depth > 4 * _DEEPEST_KEY:
                raise TaupiError("{where} nests too deeply for a description.", where=where)
        elif kind in ("bare", "quoted"):
            values += 1
            if values > most:
                raise over_budget(f"{where} has more than {most} keys and values", "nodes")
