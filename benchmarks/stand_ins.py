"""Stand-ins for parts of the package that a benchmark times or replaces: one that no longer fits is refused before it is used."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any
from unittest.mock import patch


def in_place_of(owner: Any, name: str, replacement: Callable[..., Any]) -> AbstractContextManager[Any]:
    """Return a context in which `replacement` stands for `owner.name`; it has to take the same arguments, by the same names."""
    expected, found = (list(inspect.signature(f).parameters.values()) for f in (getattr(owner, name), replacement))
    # The first of a method is itself, whatever that is called.
    facts = [[(p.kind, p.name) for p in each[inspect.isclass(owner) :]] for each in (expected, found)]
    if facts[0] != facts[1] or len(expected) != len(found):
        raise TypeError(f"the stand-in for {name} takes {[p.name for p in found]}, not {[p.name for p in expected]}")
    return patch.object(owner, name, replacement)


def timing(owner: Any, name: str, keep: Callable[[float, float], None]) -> AbstractContextManager[Any]:
    """Return a context in which calls of `owner.name` tell `keep` their wall and processor time, s."""
    original = getattr(owner, name)

    @wraps(original)
    def timed(*args: Any, **options: Any) -> Any:
        start, used = time.perf_counter(), time.process_time()
        result = original(*args, **options)
        keep(time.perf_counter() - start, time.process_time() - used)
        return result

    return patch.object(owner, name, timed)
