"""A line on the terminal while a program of very many joints is traced, which may take longer than a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from taupi.program.port import Port
from taupi.progress import progress

Trace = TypeVar("Trace", bound=Callable[..., Any])
# With more input numbers than this, a program's trace gets a line: the states of 25 joints.
_MANY = 75


def watched_when_long(trace: Trace) -> Trace:
    """Return the function `trace(name, body, inputs, ...)`, shown as progress if there are many inputs."""

    @wraps(trace)
    def watched(name: str, body: Callable[..., Any], inputs: Sequence[Port], *more: Any, **keywords: Any) -> Any:
        if sum(port.size for port in inputs) < _MANY:
            return trace(name, body, inputs, *more, **keywords)
        with progress(f"tracing {name}", 1) as step:
            step("on symbols")
            return trace(name, body, inputs, *more, **keywords)

    return cast(Trace, watched)
