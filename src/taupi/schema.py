"""Plain data from a file, checked against the types that it must have: one check that every reader of JSON uses.

The types are Python's own annotations: str, int, float, bool, None, list[X], tuple[X, ...], dict[str, X], X | Y, Any, arrays of
NumPy, enumerations, TypedDict and dataclasses. A dataclass that derives from `Record` is written and read by its fields alone.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from taupi.errors import TaupiError, shown

R = TypeVar("R", bound="Record")


class Record:
    """A dataclass that is its own schema: plain data with its fields in their order, and back.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Span(Record):
    ...     name: str
    ...     ends: tuple[float, float] = (0.0, 1.0)
    >>> Span("all").to_dict()
    {'name': 'all', 'ends': [0.0, 1.0]}
    >>> Span.from_dict({"name": "half", "ends": [0.5, 1.0], "newer": True})
    Span(name='half', ends=(0.5, 1.0))
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, object]:
        """Return the record as plain data."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls: type[R], data: Mapping[str, object]) -> R:
        """Return the record that `to_dict` returned as `data`; keys that it does not have are passed over."""
        hints, _ = _fields(cls)  # type: ignore[arg-type]  # a class, whatever its instances are
        return cls(**{name: _built(value, hints[name]) for name, value in data.items() if name in hints})


def _plain(value: Any) -> object:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if _is_array(type(value)) else value


def _built(value: Any, hint: Any) -> object:
    """Return a value as the field of a record with this type holds it; its items are all of one type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return None if value is None else _built(value, arguments[0])
    if origin in (list, tuple):
        return origin(_built(item, arguments[0]) for item in value)
    if origin in (dict, Mapping):
        return {key: _built(item, arguments[1]) for key, item in value.items()}
    if _is_array(hint):
        import numpy as np

        return np.asarray(value, float)
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint.from_dict(value)
    return hint(value) if isinstance(hint, type) and issubclass(hint, Enum) else value


def finite_or_none(value: float) -> float | None:
    """Return a number as JSON can hold it: None if it is infinite or no number."""
    return float(value) if math.isfinite(value) else None


def _is_array(kind: Any) -> bool:
    return getattr(kind, "__module__", "") == "numpy" and kind.__name__ == "ndarray"


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
    if _is_array(hint):
        return _numbers(value, where)
    if isinstance(hint, type) and issubclass(hint, Enum):
        if value not in [each.value for each in hint]:
            raise _wrong(value, " or ".join(str(each.value) for each in hint), where)
        return value
    raise AssertionError(f"a schema cannot hold {hint}")


def _number(value: object, where: str) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TaupiError("{where}: {value!r} is not a number.", where=where, value=value)
    try:
        return float(value)
    except OverflowError:
        raise TaupiError("{where}: {value!r} is too large.", where=where, value=value) from None


def _numbers(value: object, where: str) -> object:
    if isinstance(value, list):
        return [_numbers(item, f"{where}: {k}") for k, item in enumerate(value)]
    return _number(value, where)


def _whole(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 1 << 63:
        raise _wrong(value, "a whole number", where)
    return value


def _exactly(kind: type) -> Callable[[object, str], object]:
    def check(value: object, where: str) -> object:
        if not isinstance(value, kind):
            raise _wrong(value, _WORDS[kind], where)
        return value

    return check


_SCALARS: dict[Any, Callable[[Any, str], Any]] = {
    float: _number,
    int: _whole,
    **{kind: _exactly(kind) for kind in (str, bool, type(None))},
}


def _one_of(value: object, kinds: tuple[object, ...], where: str) -> object:
    for kind in kinds:
        try:
            return conformed(value, kind, where)
        except TaupiError as error:
            last = error
    raise last


def _record(value: object, hint: object, where: str) -> dict[str, object]:
    """Return a table with the keys of a record; further keys are kept, for versions that know them."""
    table = _require_table(value, where)
    hints, required = _fields(hint)
    for key in required:
        if key not in table:
            raise TaupiError("{where}: {key} is missing.", where=where, key=key)
    return {
        key: conformed(item, hints[key], f"{where}: {key}") if key in hints else item for key, item in table.items()
    }


@lru_cache(maxsize=64)
def _fields(hint: Any) -> tuple[dict[str, object], tuple[str, ...]]:
    hints = get_type_hints(hint)
    if is_typeddict(hint):
        return hints, tuple(sorted(hint.__required_keys__))
    needed = [f for f in dataclasses.fields(hint) if f.default is f.default_factory is dataclasses.MISSING]
    return hints, tuple(f.name for f in needed)


def _require_table(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _wrong(value, "a table", where)
    return value


def _wrong(value: object, expected: str, where: str) -> TaupiError:
    return TaupiError("{where} is {got!r}, expected {expected}.", where=where, got=value, expected=expected)
