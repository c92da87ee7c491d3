"""Where commands write: on a terminal, lines and tables that fit its width, and a timer for work that takes more than a second.

To files and pipes, text goes as it is, apart from what would steer a terminal that shows it one day. Where it cannot be
written, a command does its work all the same.
"""

from __future__ import annotations

import errno
import io
import itertools
import os
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from taupi.cli.exit_codes import ExitCode
from taupi.progress import bars_drawn_on, bars_shown, print_above_bars
from taupi.tables import one_line

NARROWEST = 12  # characters of a column that is folded
PATIENCE, REFRESH = 1.0, 0.5  # s: when work counts as long, and how often its time is shown
_RULE = re.compile(r"-+(?:  -+)+")


# Lines that fit --------------------------------------------------------------------------------------------------------


def fitted(text: str, width: int) -> str:
    """Return text whose lines are no longer than `width`, where they can be folded: sentences at words, tables by column.

    >>> print(fitted("a sentence that is too long", 16))
    a sentence that
      is too long
    """
    lines, result, k = text.split("\n"), [], 0
    while k < len(lines):
        if k + 1 < len(lines) and _RULE.fullmatch(lines[k + 1]):
            end = k + 2
            spans = [m.span() for m in re.finditer("-+", lines[k + 1])]
            while end < len(lines) and lines[end].strip() and _is_row(lines[end], spans):
                end += 1
            result += _fitted_table(lines[k:end], spans, width)
            k = end
        else:
            result += _folded(lines[k], width)
            k += 1
    return "\n".join(result)


def _folded(line: str, width: int) -> list[str]:
    """Return a sentence on several lines; what is aligned by spaces is left as it is."""
    if len(line) <= width or "  " in line.strip():
        return [line]
    start = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line, width, subsequent_indent=f"{start}  ", break_long_words=False, break_on_hyphens=False
    ) or [line]


def _is_row(line: str, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a line is blank between the columns of a table."""
    return all(not line[a:b].strip() for (_, a), (b, _) in itertools.pairwise(spans))


def _fitted_table(lines: Sequence[str], spans: Sequence[tuple[int, int]], width: int) -> list[str]:
    """Return a table (its heading, its rule, its rows) with headings, then cells of words, folded until it fits."""
    if max(map(len, lines)) <= width:
        return list(lines)
    ends = [b for _, b in spans[:-1]] + [max(map(len, lines))]
    cells = [[line[a:b].strip() for (a, _), b in zip(spans, ends, strict=True)] for line in (lines[0], *lines[2:])]
    columns = range(len(spans))
    words = [max((len(w) for row in cells for w in row[k].split()), default=1) for k in columns]
    widths = [max([words[k], *(len(row[k]) for row in cells[1:])]) for k in columns]
    while sum(widths) + 2 * len(widths) - 2 > width:
        can = [k for k in columns if widths[k] > max(NARROWEST, words[k])]
        if not can:
            break
        widest = max(can, key=lambda k: widths[k])
        widths[widest] -= 1
    rule = "  ".join("-" * w for w in widths)
    folded = [_row(row, widths) for row in cells]
    return [*folded[0], rule, *(line for row in folded[1:] for line in row)]


def _row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    parts = [textwrap.wrap(cell, w, break_long_words=False) or [""] for cell, w in zip(row, widths, strict=True)]
    high = max(map(len, parts))
    columns = [[*part, *[""] * (high - len(part))] for part in parts]
    return [
        "  ".join(column[i].ljust(w) for column, w in zip(columns, widths, strict=True)).rstrip() for i in range(high)
    ]


def plain(text: str) -> str:
    """Return text that steers no terminal, on the lines that it has."""
    return one_line(text, kept="\n\t")


# The terminal ----------------------------------------------------------------------------------------------------------


class Terminal:
    """A stream to a terminal: what is written fits its width, and replaces the timer."""

    def __init__(self, stream: Output, waiting: Waiting) -> None:
        self._stream, self._waiting = stream, waiting

    def write(self, text: str) -> int:
        """Write text."""
        self._waiting.silence()
        shown = fitted(plain(text), shutil.get_terminal_size().columns)
        if bars_shown():
            print_above_bars(shown)
        else:
            self._stream.write(shown)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Canvas:
    """The stream that bars are drawn on: what moves the cursor passes unchanged."""

    def __init__(self, stream: Output, waiting: Waiting) -> None:
        self._stream, self._waiting = stream, waiting

    def write(self, text: str) -> int:
        """Draw."""
        self._waiting.silence()
        self._stream.draw(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Waiting:
    """Shows on a terminal how long work has been running, after a second and while nothing else shows it."""

    def __init__(self, stream: Output, title: str | None) -> None:
        self._stream, self._title, self._over = stream, title, threading.Event()
        self._lock, self._visible = threading.Lock(), False
        self._thread = threading.Thread(target=self._tell, daemon=True)
        if title is None:
            self._over.set()
        self._thread.start()

    def _tell(self) -> None:
        start = time.monotonic()
        if self._over.wait(PATIENCE):
            return
        while not self._over.wait(REFRESH):
            with self._lock:
                if not bars_shown() and not self._over.is_set():
                    self._stream.draw(f"\r\x1b[K{self._title}: {time.monotonic() - start:.0f} s")
                    self._stream.flush()
                    self._visible = True

    def silence(self) -> None:
        """Remove the timer because something is written; it comes back if work continues."""
        with self._lock:
            if self._visible:
                self._stream.draw("\r\x1b[K")
                self._stream.flush()
                self._visible = False

    def end(self) -> None:
        """Stop showing the timer."""
        self._over.set()
        self.silence()
        self._thread.join()


@contextmanager
def on_a_terminal(title: str | None) -> Iterator[None]:
    """While a command runs, fit its output to the terminal, and show how long it takes if it has a `title`."""
    stdout, stderr = sys.stdout, sys.stderr
    output, messages = (s if isinstance(s, Output) else Output(s) for s in (stdout, stderr))
    waiting = Waiting(messages, title if messages.isatty() else None)
    sys.stdout = Terminal(output, waiting) if output.isatty() else output
    sys.stderr = Terminal(messages, waiting) if messages.isatty() else messages
    try:
        with bars_drawn_on(Canvas(messages, waiting)):
            yield
    finally:
        waiting.end()
        sys.stdout, sys.stderr = stdout, stderr


# Streams that may be closed or full ------------------------------------------------------------------------------------


class Output:
    """A stream for text, never for terminal control codes: those that names contain are shown instead.

    When it cannot be written, `error` says why, and the rest of the text is dropped.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = _closed() if stream is None else stream
        self.error: OSError | None = None
        if isinstance(self._stream, io.TextIOWrapper):  # an ASCII terminal, or a name that is not UTF-8, is no failure
            self._stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write text."""
        self.draw(plain(text))
        return len(text)

    def draw(self, text: str) -> None:
        """Write what steers the terminal: bars and timers, never text with names."""
        with self._noting_errors():
            self._stream.write(text)

    def flush(self) -> None:
        """Write what is buffered."""
        with self._noting_errors():
            self._stream.flush()

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = error
            self._stream = open(os.devnull, "w")  # noqa: SIM115 - open until the process ends

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _closed() -> Any:
    """Return a stream that cannot be written; it takes the place of a closed one, so that no other file does.

    It keeps nothing to be written when it goes, which Python 3.13 would report.
    """
    return io.TextIOWrapper(os.fdopen(os.open(os.devnull, os.O_RDONLY), "wb", buffering=0), write_through=True)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Let the command line run, whatever its standard streams are, up to the `SystemExit` with its status.

    Without standard input, there is nothing to read. Without standard error, messages are lost. If standard output cannot be
    written, the status is that of bad input, unless the command has failed anyway; a reader that closes a pipe is no failure.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - open until the process ends
    output, messages = Output(sys.stdout), Output(sys.stderr)
    sys.stdout, sys.stderr = output, messages
    try:
        yield
    except SystemExit as end:
        output.flush()
        if output.error is None or output.error.errno == errno.EPIPE:
            raise
        print(f"taupi: standard output cannot be written: {output.error.strerror}.", file=messages)
        raise SystemExit(end.code or ExitCode.BAD_INPUT) from None
    finally:
        sys.stdin = before[0]
        if output.error is None:  # Python flushes sys.stdout and sys.stderr at its end, which would fail again
            sys.stdout = before[1]
        if messages.error is None:
            sys.stderr = before[2]
