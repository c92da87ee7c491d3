"""A function that a target built, in a form that pickles: a copy in another process is built there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from taupi.program.program import Program


class BuiltFunction:
    """What `run` does, with the `program`, the name of the `target` and the `options` that it was built from."""

    def __init__(self, run: Callable[..., Any], program: Program, target: str, options: dict[str, Any]) -> None:
        self._run, self._origin = run, (program, target, options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, as the program is called, by position (`args`) or by name (`kwargs`)."""
        return self._run(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _build, self._origin


def _build(program: Program, target: str, options: dict[str, Any]) -> Callable[..., Any]:
    return program.compile(target, **options)
