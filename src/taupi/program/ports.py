"""The inputs, outputs and constants of a program, and the arguments of a call: checked, put in order, broadcast to one batch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from taupi.errors import Argument, TaupiError, unknown

if TYPE_CHECKING:
    from casadi import SX


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output of a program.

    Attributes:
        name: The name of the argument or result.
        shape: Its shape without batch axes; (), a number, by default.
        labels: The names of its entries, for error messages and emitted comments.
        per: What they are, such as "one value per joint".
        default: The name of another input and the places of entries in it: left out of a call, the input is these entries.
    """

    name: str
    shape: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    per: str = ""
    default: tuple[str, tuple[int, ...]] | None = None

    @property
    def size(self) -> int:
        """The number of scalars."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that stays a symbol in the trace.

    Attributes:
        name: The name of the symbol.
        value: Its exact value, or None if it has none yet.
        named: Whether the user named it, so that explicit forms keep the name.
    """

    name: str
    value: Fraction | None
    named: bool = False


class Constants:
    """The exact numbers of a function, collected while it is traced: `trace` takes them as `constants`.

    >>> from fractions import Fraction
    >>> from taupi.program import Constants, Port, trace
    >>> constants = Constants()
    >>> body = lambda x: constants("length", Fraction(1, 3)) * x
    >>> third = trace("third", body, [Port("x")], [Port("y")], constants)
    >>> third.exact(Fraction(2)).item()
    2/3
    """

    def __init__(self) -> None:
        self.table: dict[str, Constant] = {}
        self.symbols: dict[str, SX] = {}

    def __call__(self, name: str, value: Fraction | None, named: bool = False) -> SX:
        """Return an exact number as SX: itself for 0, +-1, +-2 and +-1/2, otherwise a symbol.

        Args:
            name: The name of the symbol, always the same for the same number.
            value: The number, or None for a symbol that gets its number later (`Program.bind`).
            named: Whether the user named it: it is then always a symbol, and explicit forms keep its name.
        """
        import casadi as cs

        if value is not None and not named and value in (0, 1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2)):
            return cs.SX(float(value))
        if name not in self.symbols:
            self.symbols[name] = cs.SX.sym(f"_{name}")  # CasADi takes a name that begins with "[" for a list of names
            self.table[name] = Constant(name, value, named)
        return self.symbols[name]


def batch(
    name: str, ports: Sequence[Port], args: Sequence[object], kwargs: Mapping[str, object], dtype: object = np.float64
) -> tuple[list[np.ndarray], tuple[int, ...]]:
    """Return each input as an array of shape (N, size), or (1, size) if all samples share it, and the batch shape.

    Batch axes lead and broadcast. NaN and infinity are allowed; anything other than real numbers is an error.
    """
    arrays = [
        _checked(port, value, dtype) for port, value in zip(ports, in_order(name, ports, args, kwargs), strict=True)
    ]
    leading = [a.shape[: a.ndim - len(p.shape)] for a, p in zip(arrays, ports, strict=True)]
    if all(s == leading[0] for s in leading):
        shape = leading[0] if leading else ()
        n = math.prod(shape)
        return [_plain(a.reshape(n, p.size)) for a, p in zip(arrays, ports, strict=True)], shape
    try:
        shape = np.broadcast_shapes(*leading)
    except ValueError:
        shapes = ", ".join(f"{p.name} {a.shape}" for p, a in zip(ports, arrays, strict=True))
        raise TaupiError("{name}: the batch axes do not fit each other: {shapes}.", name=name, shapes=shapes) from None
    flat = []
    for array, port, lead in zip(arrays, ports, leading, strict=True):
        shared = math.prod(lead) == 1 and math.prod(shape) != 0
        full = array if shared else np.broadcast_to(array, shape + port.shape)
        flat.append(_plain(full.reshape(1 if shared else math.prod(shape), port.size)))
    return flat, shape


def _plain(array: np.ndarray) -> np.ndarray:
    """Return an array that is contiguous and aligned: the same one if it is, a copy otherwise."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C")


def in_order(name: str, ports: Sequence[Port], args: Sequence[object], kwargs: Mapping[str, object]) -> list[Any]:
    """Return arguments given by position and by name in the order of the ports."""
    names = [p.name for p in ports]
    if len(args) > len(names):
        raise TaupiError(
            "{name} takes {count} arguments ({names:,}), got {args_count}.",
            name=name,
            count=len(names),
            names=names,
            args_count=len(args),
        )
    values = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key not in names:
            raise unknown("argument", key, names, name)
        if key in values:
            raise TaupiError("{name} got {key} twice.", name=name, key=key)
        values[key] = value
    for port in ports:
        if port.name not in values and port.default is not None and port.default[0] in values:
            source, places = port.default
            values[port.name] = _entries(values[source], places)
    missing = [n for n in names if n not in values]
    if missing:
        raise TaupiError(
            "{name} needs {missing:,}: call it as {name}({names:,}).", name=name, missing=missing, names=names
        )
    return [values[n] for n in names]


def _entries(value: Any, places: tuple[int, ...]) -> Any:
    """Return some of the entries of an array (..., n), or of an SX column."""
    return value[list(places)] if type(value).__name__ == "SX" else np.asarray(value)[..., list(places)]


def _checked(port: Port, value: Any, dtype: Any) -> np.ndarray:
    try:
        if isinstance(value, np.ma.MaskedArray):  # NaN passes through a program, but a mask would be lost
            value = np.ma.filled(value.astype(float), np.nan)
        array = np.asarray(value)
    except ValueError:
        raise TaupiError(
            "{argument} is ragged, expected an array of shape {expected}.",
            argument=Argument(port.name),
            expected=_expected(port),
        ) from None
    if array.dtype.kind not in "fiub":
        raise TaupiError(
            "{argument} holds {got}, expected real numbers.", argument=Argument(port.name), got=array.dtype
        )
    rank = len(port.shape)
    if array.ndim < rank or array.shape[array.ndim - rank :] != port.shape:
        raise shape_error(port, array.shape)
    return array.astype(dtype, copy=False)


def shape_error(port: Port, shape: tuple[int, ...]) -> TaupiError:
    """Return the error for an argument of the wrong shape, which says what its entries are."""
    return TaupiError(
        "{argument} has shape {got}, expected {expected}{meaning}.",
        argument=Argument(port.name),
        got=shape,
        expected=_expected(port),
        meaning=_meaning(port),
    )


def _expected(port: Port) -> str:
    return "(" + ", ".join(["...", *map(str, port.shape)]) + ")"


def _meaning(port: Port) -> str:
    if not port.labels:
        return ""
    shown = port.labels if len(port.labels) < 4 else (port.labels[0], "...", port.labels[-1])
    return f": {port.per} ({' '.join(shown) if len(port.labels) >= 4 else ', '.join(shown)})"
