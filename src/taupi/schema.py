"""Plain data from a file, checked against the types that it must have: one check that every reader of JSON uses.

The types are Python's own annotations: str, int, float, bool, None, list[X], tuple[X, ...], dict[str, X], X | Y, Any, TypedDict
and dataclasses.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from taupi.errors import TaupiError, shown

# JSON has no other way to write them.
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_WORDS = {float: "a number", int: "a whole number", str: "a text", bool: "true or false", type(None): "nothing"}


def conformed(value: Any, hint: Any, where: str) -> Any:
    """Return plain data converted to a type, or refuse it: a whole number may stand for a float, and "inf" for infinity.

    `where` names the place in error messages.

    >>> conformed({"q": [1, "inf"]}, dict[str, list[float]], "fit.json")
    {'q': [1.0, inf]}
    >>> conformed({"q": [1, "x"]}, dict[str, list[float]], "fit.json")
    Traceback (most recent call last):
    taupi.errors.TaupiError: fit.json: q: 1: 'x' is not a number.
    """
    if hint is Any:
        return value
    if hint in _SCALARS:
        return _SCALARS[hint](value, where)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _one_of(value, arguments, where)
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            raise _wrong(value, "a list", where)
        return [conformed(item, arguments[0], f"{where}: {k}") for k, item in enumerate(value)]
    if origin is dict or origin is Mapping:
        _require_table(value, where)
        return {key: conformed(item, arguments[1], f"{where}: {shown(key)[1:-1]}") for key, item in value.items()}
    if is_typeddict(hint) or dataclasses.is_dataclass(hint):
        return _record(value, hint, where)
    raise AssertionError(f"a schema cannot hold {hint}")


def _number(value: Any, where: str) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TaupiError(f"{where}: {shown(value)} is not a number.")
    try:
        return float(value)
    except OverflowError:
        raise TaupiError(f"{where}: {shown(value)} is too large.") from None


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 63:
        raise _wrong(value, "a whole number", where)
    return value


def _exactly(kind: type) -> Callable[[Any, str], Any]:
    def check(value: Any, where: str) -> Any:
        if not isinstance(value, kind):
            raise _wrong(value, _WORDS[kind], where)
        return value

    return check


_SCALARS: dict[Any, Callable[[Any, str], Any]] = {
    float: _number,
    int: _whole,
    **{kind: _exactly(kind) for kind in (str, bool, type(None))},
}


def _one_of(value: Any, kinds: tuple[Any, ...], where: str) -> Any:
    for kind in kinds:
        try:
            return conformed(value, kind, where)
        except TaupiError as error:
            last = error
    raise last


def _record(value: Any, hint: Any, where: str) -> dict[str, Any]:
    """Return a table with the keys of a record; further keys are kept, for versions that know them."""
    table = _require_table(value, where)
    hints, required = _fields(hint)
    for key in required:
        if key not in table:
            raise TaupiError(f"{where}: {key} is missing.")
    return {
        key: conformed(item, hints[key], f"{where}: {key}") if key in hints else item for key, item in table.items()
    }


@lru_cache(maxsize=64)
def _fields(hint: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    hints = get_type_hints(hint)
    if is_typeddict(hint):
        return hints, tuple(sorted(hint.__required_keys__))
    needed = [f for f in dataclasses.fields(hint) if f.default is f.default_factory is dataclasses.MISSING]
    return hints, tuple(f.name for f in needed)


def _require_table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _wrong(value, "a table", where)
    return value


def _wrong(value: Any, expected: str, where: str) -> TaupiError:
    return TaupiError(f"{where} is {shown(value)}, expected {expected}.")
