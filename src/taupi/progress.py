"""Progress bars for long work, shown on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# The bars shown now, if any: work that is part of other work adds a line below.
_shown: list[Any] = []


def bars_shown() -> bool:
    """Return whether a bar is on the terminal now."""
    return bool(_shown)


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
                bar.update(task, description=f"{title}: {name}", advance=1 if started else 0)
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
        task = _shown[-1].add_task(title, total=total)
        try:
            yield _shown[-1], task
        finally:
            _shown[-1].remove_task(task)
        return
    if not sys.stderr.isatty():
        yield None, None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        _shown.append(bar)
        try:
            yield bar, bar.add_task(title, total=total)
        finally:
            _shown.remove(bar)
