"""The arguments of a program's call: checked, put in order and broadcast to one batch shape."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taupi.errors import Argument, TaupiError, unknown
from taupi.program.port import Port


def batch(
    name: str, ports: Sequence[Port], args: Sequence[Any], kwargs: Mapping[str, Any], dtype: Any = np.float64
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
        raise TaupiError(f"{name}: the batch axes do not fit each other: {shapes}.") from None
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


def in_order(name: str, ports: Sequence[Port], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """Return arguments given by position and by name in the order of the ports."""
    names = [p.name for p in ports]
    if len(args) > len(names):
        raise TaupiError(f"{name} takes {len(names)} arguments ({', '.join(names)}), got {len(args)}.")
    values = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key not in names:
            raise unknown("argument", key, names, name)
        if key in values:
            raise TaupiError(f"{name} got {key} twice.")
        values[key] = value
    missing = [n for n in names if n not in values]
    if missing:
        raise TaupiError(f"{name} needs {', '.join(missing)}: call it as {name}({', '.join(names)}).")
    return [values[n] for n in names]


def _checked(port: Port, value: Any, dtype: Any) -> np.ndarray:
    try:
        if isinstance(value, np.ma.MaskedArray):  # NaN passes through a program, but a mask would be lost
            value = np.ma.filled(value.astype(float), np.nan)
        array = np.asarray(value)
    except ValueError:
        raise TaupiError(Argument(port.name), f" is ragged, expected an array of shape {_expected(port)}.") from None
    if array.dtype.kind not in "fiub":
        raise TaupiError(Argument(port.name), f" holds {array.dtype}, expected real numbers.")
    rank = len(port.shape)
    if array.ndim < rank or array.shape[array.ndim - rank :] != port.shape:
        raise shape_error(port, array.shape)
    return array.astype(dtype, copy=False)


def shape_error(port: Port, shape: tuple[int, ...]) -> TaupiError:
    """Return the error for an argument of the wrong shape, which says what its entries are."""
    return TaupiError(Argument(port.name), f" has shape {shape}, expected {_expected(port)}{_meaning(port)}.")


def _expected(port: Port) -> str:
    return "(" + ", ".join(["...", *map(str, port.shape)]) + ")"


def _meaning(port: Port) -> str:
    if not port.labels:
        return ""
    shown = port.labels if len(port.labels) < 4 else (port.labels[0], "...", port.labels[-1])
    return f": {port.per} ({' '.join(shown) if len(port.labels) >= 4 else ', '.join(shown)})"
