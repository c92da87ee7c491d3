"""Checks of arguments, each written once: they take an argument's name and value, and return the value to keep.

They import nothing heavy, so that settings can be declared, and their help shown, before NumPy is loaded.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeGuard

from taupi.errors import Argument, TaupiError

if TYPE_CHECKING:
    import numpy as np

Check = Callable[[str, Any], Any]


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite real number; True and False are not."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number larger than any double
        return False


def positive(name: str, value: object) -> float:
    """Return a finite number above 0.

    >>> positive("cutoff_hz", 5)
    5.0
    >>> positive("cutoff_hz", -1)
    Traceback (most recent call last):
    taupi.errors.TaupiError: cutoff_hz is -1, expected a finite number above 0.
    """
    if not is_number(value) or not value > 0:
        raise TaupiError("{argument} is {got!r}, expected a finite number above 0.", argument=Argument(name), got=value)
    return float(value)


def finite(name: str, value: object) -> float:
    """Return a finite number."""
    if not is_number(value):
        raise TaupiError("{argument} is {got!r}, expected a finite number.", argument=Argument(name), got=value)
    return float(value)


def not_negative(name: str, value: object) -> float:
    """Return a finite number of at least 0."""
    if not is_number(value) or not value >= 0:
        raise TaupiError(
            "{argument} is {got!r}, expected a finite number of at least 0.", argument=Argument(name), got=value
        )
    return float(value)


def whole_number(name: str, value: object, least: int = 1, most: float = math.inf) -> int:
    """Return a whole number of at least `least` and at most `most`.

    >>> whole_number("decimate", 2.5)
    Traceback (most recent call last):
    taupi.errors.TaupiError: decimate is 2.5, expected a whole number of at least 1.
    >>> whole_number("order", 200, most=16)
    Traceback (most recent call last):
    taupi.errors.TaupiError: order is 200, expected a whole number from 1 to 16.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not least <= int(value) <= most:
        expected = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
        raise TaupiError(
            "{argument} is {got!r}, expected a whole number {expected}.",
            argument=Argument(name),
            got=value,
            expected=expected,
        )
    return int(value)


def affordable(count: float, most: int, what: str, *lower: str) -> None:
    """Refuse to compute more than `most` of something that is sampled; `lower` are the arguments that make it so many.

    >>> affordable(1e12, 10**8, "control periods", "duration", "rate")
    Traceback (most recent call last):
    taupi.errors.TaupiError: This would take 1e+12 control periods, expected at most 1e+08. Lower duration or rate.
    """
    if not count <= most:
        raise TaupiError(
            "This would take {got:.3g} {what}, expected at most {most:.3g}.",
            remedy="Lower {lower:or}.",
            got=count,
            what=what,
            most=most,
            lower=[Argument(name) for name in lower],
        )


def truth(name: str, value: object) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise TaupiError("{argument} is {got!r}, expected True or False.", argument=Argument(name), got=value)
    return value


def one_of(known: Iterable[str]) -> Check:
    """Return a check that a value is one of several names.

    >>> one_of(("row", "sample"))("leave_out", "rwo")
    Traceback (most recent call last):
    taupi.errors.TaupiError: leave_out is 'rwo', expected one of row, sample. Did you mean 'row'?
    """
    names = tuple(known)

    def check(name: str, value: object) -> str:
        if value not in names:
            import difflib  # imported only when a name is misspelt

            close = difflib.get_close_matches(str(value), names, n=1)
            raise TaupiError(
                "{argument} is {got!r}, expected one of {names:,}.",
                remedy="Did you mean {close!r}?" if close else "",
                argument=Argument(name),
                got=value,
                names=names,
                close=next(iter(close), None),
            )
        return str(value)

    return check


def or_none(check: Check) -> Check:
    """Return a check that lets None through."""
    return lambda name, value: None if value is None else check(name, value)


def one_or_each(check: Check) -> Check:
    """Return a check of one number, or of a sequence with one number per joint, which is kept as a tuple.

    >>> one_or_each(not_negative)("threshold", [0.1, 0])
    (0.1, 0.0)
    """

    def every(name: str, value: object) -> Any:
        if hasattr(value, "tolist"):
            value = value.tolist()
        if value in ([], ()):
            raise TaupiError(
                "{argument} is {got!r}, expected a number, or one per joint.", argument=Argument(name), got=value
            )
        return tuple(check(name, item) for item in value) if isinstance(value, list | tuple) else check(name, value)

    return every


def real_array(name: str, value: object) -> np.ndarray:
    """Return an array of real numbers as float64; NaN and infinity are allowed.

    >>> real_array("mass", ["heavy"])
    Traceback (most recent call last):
    taupi.errors.TaupiError: mass is ['heavy'], expected an array of real numbers.
    """
    import numpy as np

    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise TaupiError(
            "{argument} is {got!r}, expected an array of real numbers.", argument=Argument(name), got=value
        ) from None
