"""Keywords that were renamed: the old names still work, with a warning, as docs/deprecation.md promises."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from taupi.errors import Argument, TaupiError, warn

F = TypeVar("F", bound=Callable[..., object])


def renamed(**keywords: str) -> Callable[[F], F]:
    """Let a function, or the constructor of a class, take keywords by their former names: `renamed(old="new")`.

    >>> import warnings
    >>> @renamed(settings="inputs")
    ... def simulate(inputs=None):
    ...     return inputs
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     simulate(settings={"w": 1.0})
    {'w': 1.0}
    >>> print(caught[0].message)
    settings is now called inputs.
    """

    def decorate(target: F) -> F:
        if isinstance(target, type):
            target.__init__ = _renaming(target.__init__, keywords)  # type: ignore[misc]
            return target
        return _renaming(target, keywords)

    return decorate


def _renaming(function: F, keywords: dict[str, str]) -> F:
    @functools.wraps(function)
    def call(*args: object, **named: object) -> Any:
        for old, new in keywords.items():
            if old in named:
                if new in named:
                    raise TaupiError(
                        "{argument} and {other_argument} are the same: give one.",
                        argument=Argument(old),
                        other_argument=Argument(new),
                    )
                warn("{old} is now called {new}.", category=DeprecationWarning, old=old, new=new)
                named[new] = named.pop(old)
        return function(*args, **named)

    return call  # type: ignore[return-value]
