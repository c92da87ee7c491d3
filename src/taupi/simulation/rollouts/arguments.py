"""What people hand to `simulate`, checked and brought into shape."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taupi.errors import TaupiError, shown, unknown
from taupi.simulation.plants.plant import Payload


def initial_rows(initial: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return q and qd as (rows, n) from None, q, or a pair (q, qd)."""
    if initial is None:
        return None, None
    pair = isinstance(initial, tuple) and len(initial) == 2 and np.ndim(initial[0]) > 0
    try:
        q, qd = (
            np.atleast_2d(np.asarray(v, dtype=float))
            for v in (initial if pair else (initial, np.zeros_like(initial, dtype=float)))
        )
    except (TypeError, ValueError):
        raise TaupiError(f"initial is {shown(initial)}, expected q, or a pair (q, qd).") from None
    return q, qd


def setting_rows(ports: Sequence[Any], given: Mapping[str, Any], batch: int) -> dict[str, np.ndarray]:
    """Return the values of a program's other inputs, (1 or B, size) each."""
    names = [p.name for p in ports]
    for name in given:
        if name not in names:
            raise unknown("setting", name, names, "the controller")
    missing = [name for name in names if name not in given]
    if missing:
        raise TaupiError(f"The controller needs {', '.join(missing)}: give settings={{{missing[0]!r}: ...}}.")
    made = {}
    for port in ports:
        value = np.asarray(given[port.name], dtype=float)
        rows = value.shape[: value.ndim - len(port.shape)]
        if value.shape[len(rows) :] != port.shape or rows not in ((), (1,), (batch,)):
            raise TaupiError(f"{port.name} has shape {value.shape}, expected {port.shape} or {(batch, *port.shape)}.")
        made[port.name] = np.ascontiguousarray(value.reshape(-1, port.size))
    return made


def schedule(payload: Any) -> tuple[tuple[float, Payload | None], ...]:
    """Return when which payload is carried: one from the start, or as given."""
    return ((0.0, payload),) if payload is None or isinstance(payload, Payload) else tuple(payload)


def with_payloads(plant: Any, schedule: Any) -> Any:
    """Return the plant with other payloads."""
    return dataclasses.replace(plant, payloads=schedule)


def loadable(plant: Any, payloads: Sequence[Any]) -> Any:
    """Return the plant with loads on every link that one of the roll-outs loads."""
    links = {k for p in payloads for k in with_payloads(plant, schedule(p)).loads}
    return dataclasses.replace(plant, payloads=(), loads=tuple(sorted(links)))


def positive(value: Any, name: str) -> float:
    """Return a finite number above 0, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
        raise TaupiError(f"{name} is {shown(value)}, expected a finite number above 0.")
    return float(value)


def whole(value: Any, name: str) -> int:
    """Return a whole number of at least 1, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise TaupiError(f"{name} is {shown(value)}, expected a whole number of at least 1.")
    return int(value)
