"""A line of progress for long work: on a terminal only, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """Give a function to call before each of `total` steps with the step's name; it draws a bar on stderr if that is a terminal.

    >>> with progress("bounds", 2) as step:
    ...     step("mass matrix")
    ...     step("gravity")
    """
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        started = False

        def step(name: str) -> None:
            nonlocal started
            bar.update(task, description=f"{title}: {name}", advance=1 if started else 0)
            started = True

        yield step
