"""Progress bars for long work, shown on a terminal; as lines of JSON for a program that asks for them by TAUPI_PROGRESS=json."""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from taupi.tables import one_line

ENVIRONMENT = (
    "TAUPI_PROGRESS"  # "json": where standard error is no terminal, progress is written to it as lines of JSON
)
_OFTEN = 0.1  # s: lines about one piece of work are at least this far apart, but for its first and its last

# The bars shown now, if any: work that is part of other work adds a line below.
_shown: list[Any] = []
_canvases: list[Any] = []  # where bars are drawn, if that is not standard error


@contextmanager
def bars_drawn_on(stream: Any) -> Iterator[None]:
    """Draw bars on a `stream` that lets cursor movements pass; what is printed meanwhile goes to `print_above_bars`."""
    _canvases.append(stream)
    try:
        yield
    finally:
        _canvases.remove(stream)


def print_above_bars(text: str) -> None:
    """Print plain text above the bars that are shown."""
    from rich.text import Text

    _shown[-1].console.print(Text(text), end="", soft_wrap=True)


def bars_shown() -> bool:
    """Return whether a bar is on the terminal now."""
    return bool(_shown) and not isinstance(_shown[-1], Lines)


class Lines:
    """Progress as lines of JSON on standard error, each with the work's number, its title, and how much of it is done.

    `{"progress": {"task": 0, "title": "identify: run3.csv", "done": 1, "total": 3}}`; `total` is null where it is not known, and
    a line with `"over": true` is the last one of a task.
    """

    def __init__(self) -> None:
        self._lock, self._numbers = threading.Lock(), itertools.count()
        self._tasks: dict[int, dict[str, Any]] = {}
        self._written: dict[int, float] = {}

    def add_task(self, description: str, total: int | None) -> int:
        """Begin a piece of work, and return its number."""
        number = next(self._numbers)
        self._tasks[number] = {"task": number, "title": description, "done": 0, "total": total}
        self._write(number)
        return number

    def update(self, task: int, description: str | None = None, advance: int = 0) -> None:
        """Say what is being done now, and how much more has been done."""
        with self._lock:
            known = self._tasks[task]
            known["done"] += advance
            known["title"] = description or known["title"]
        if description or time.monotonic() - self._written[task] >= _OFTEN:
            self._write(task)

    def remove_task(self, task: int) -> None:
        """End a piece of work."""
        self._write(task, over=True)
        del self._tasks[task], self._written[task]

    def _write(self, task: int, **more: object) -> None:
        self._written[task] = time.monotonic()
        print(json.dumps({"progress": {**self._tasks[task], **more}}), file=sys.stderr, flush=True)


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function to call before each of `total` steps with the step's name; on a terminal, a bar shows them (stderr).

    >>> with progress("bounds", 2) as step:
    ...     step("mass matrix")
    ...     step("gravity")
    """
    with _line(title, total) as (bar, task):
        started = False

        def step(name: str) -> None:
            nonlocal started
            if bar is not None:
                bar.update(task, description=one_line(f"{title}: {name}"), advance=1 if started else 0)
            started = True

        yield step


@contextmanager
def counted(title: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with how many of `total` items were done since the last call; None if the total is unknown.

    Several threads may call it.

    >>> with counted("samples", 100) as count:
    ...     count(60)
    """
    with _line(title, total) as (bar, task):
        yield (lambda done: None) if bar is None else (lambda done: bar.update(task, advance=done))


@contextmanager
def _line(title: str, total: int | None) -> Iterator[tuple[Any, Any]]:
    """Yield a bar and one line of it, or None twice if there is no terminal to draw on."""
    if _shown:
        task = _shown[-1].add_task(one_line(title), total=total)
        try:
            yield _shown[-1], task
        finally:
            _shown[-1].remove_task(task)
        return
    if not sys.stderr.isatty():
        if os.environ.get(ENVIRONMENT) != "json":
            yield None, None
            return
        lines = Lines()
        task = lines.add_task(one_line(title), total)
        _shown.append(lines)
        try:
            yield lines, task
        finally:
            _shown.remove(lines)
            lines.remove_task(task)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    names = TextColumn("{task.description}", markup=False)  # a file called a[b].csv has no markup in its name
    columns = (names, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    redirect = not _canvases
    console = Console(stderr=True) if redirect else Console(file=_canvases[-1])
    with Progress(*columns, console=console, transient=True, redirect_stdout=redirect, redirect_stderr=redirect) as bar:
        _shown.append(bar)
        try:
            yield bar, bar.add_task(one_line(title), total=total)
        finally:
            _shown.remove(bar)
