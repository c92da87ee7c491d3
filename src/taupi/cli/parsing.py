"""Values as they are written on the command line: numbers one per joint, times, names separated by commas, JSON lists."""

from __future__ import annotations

import json

from taupi.errors import Argument, TaupiError


def number(name: str, text: str, value: str) -> float:
    """Return a number that is part of an option's value; `name` and `text`, the whole value, are for the error."""
    try:
        return float(value)
    except ValueError:
        raise TaupiError("{argument} is {got!r}, expected a number.", argument=Argument(name), got=text[:40]) from None


def one_or_each(name: str, text: str) -> float | tuple[float, ...]:
    """Return a number, or several separated by commas.

    >>> one_or_each("slow", "0.1"), one_or_each("slow", "0.1,0.2")
    (0.1, (0.1, 0.2))
    """
    values = tuple(number(name, text, part) for part in text.strip("[]() ").split(","))
    return values if len(values) > 1 else values[0]


def per_joint(name: str, text: str | None, n: int) -> tuple[float, ...] | None:
    """Return n numbers from one, or from n separated by commas; None if there is no text.

    >>> per_joint("rate_limit", "5", 2)
    (5.0, 5.0)
    """
    if text is None:
        return None
    values = one_or_each(name, text)
    if isinstance(values, float):
        return (values,) * n
    if len(values) != n:
        raise TaupiError(
            "{argument} has {got} numbers, expected one, or {n} separated by commas: one per joint.",
            argument=Argument(name),
            got=len(values),
            n=n,
        )
    return values


def seconds(name: str, text: str) -> float:
    """Return a time from 0.002, 2ms or 0.002s.

    >>> seconds("delay", "2ms"), seconds("delay", "0.5s")
    (0.002, 0.5)
    """
    value = text.strip()
    if value.endswith("ms"):
        return number(name, text, value.removesuffix("ms")) / 1000
    return number(name, text, value.removesuffix("s"))


def names(text: str) -> tuple[str, ...]:
    """Return names that are separated by commas.

    >>> names("viscous, coulomb")
    ('viscous', 'coulomb')
    """
    return tuple(name.strip() for name in text.split(",") if name.strip())


def term_names(text: str) -> tuple[str, ...]:
    """Return the names of terms that are separated by commas, none for "none".

    >>> term_names("viscous,coulomb"), term_names("none")
    (('viscous', 'coulomb'), ())
    """
    return () if text.strip() == "none" else names(text)


def json_value(text: str) -> object:
    """Return the content of a JSON text, None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # not JSON, or a number with thousands of digits
        return None
