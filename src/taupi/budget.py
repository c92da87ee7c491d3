"""Limits on reading one file, stated once for every reader.

A file from a stranger may be small and unpack to terabytes, or hold a million joints. Each reader checks these limits before it
takes memory or time. A user can allow more, with `reading_budget` or the environment variable TAUPI_BUDGET; a file cannot.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from taupi.checks import positive, whole_number
from taupi.errors import TaupiError, unknown
from taupi.settings import Settings, settle

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from typing_extensions import Unpack

VARIABLE = "TAUPI_BUDGET"
MIB = 1 << 20


@dataclass(frozen=True)
class Budget(Settings):
    """Limits on the memory and time that reading one file may take.

    Attributes:
        text_bytes: Largest robot description, column mapping, or file of limits or capsules.
        data_bytes: Largest saved fit or mesh.
        log_bytes: Largest log; long ones are read block by block.
        unpacked_bytes: Most memory that the numbers of a file may take as doubles, and most bytes that a compressed file may
            unpack to.
        unpacked_ratio: A file may unpack to more than `unpacked_bytes` if that is at most this many times its own size.
        nodes: Elements of an XML file, or keys and values of a TOML file, counting includes and copies.
        columns: Columns, or arrays, of a log.
        joints: Joints of a robot, or links.
        seconds: Time to read one file, plus one second for every MiB of its size.
    """

    text_bytes: int = 32 * MIB
    data_bytes: int = 64 * MIB
    log_bytes: int = MIB * MIB
    unpacked_bytes: int = 128 * MIB
    unpacked_ratio: int = 64
    nodes: int = 200_000
    columns: int = 10_000
    joints: int = 1_000
    seconds: float = 60.0

    checks: ClassVar = {
        **dict.fromkeys(("text_bytes", "data_bytes", "log_bytes", "unpacked_bytes", "unpacked_ratio"), whole_number),
        **dict.fromkeys(("nodes", "columns", "joints"), whole_number),
        "seconds": positive,
    }

    def unpacked(self, size: int) -> int:
        """Return how many bytes a file of `size` bytes may unpack to."""
        return max(self.unpacked_bytes, self.unpacked_ratio * size)

    def check_columns(self, count: int, where: str) -> None:
        """Refuse a table with `count` columns, if that is too many; `where` names the file."""
        if count > self.columns:
            raise over_budget(f"{where} has {count} columns", "columns", f"{self.columns} at most")

    def check_joints(self, count: int, where: str) -> None:
        """Refuse a robot with `count` joints or links, if that is too many; `where` names the file."""
        if count > self.joints:
            raise over_budget(f"{where} has {count} joints or links", "joints", f"{self.joints} at most")

    def check_unpacked(self, needed: int, size: int, where: str) -> None:
        """Refuse a file of `size` bytes whose content needs too much memory, `needed` bytes; `where` names the file."""
        if needed > self.unpacked(size):
            needs, allowed = needed / MIB, self.unpacked(size) / MIB
            raise over_budget(f"{where} unpacks to {needs:.0f} MiB", "unpacked_bytes", f"{allowed:.0f} MiB at most")


class BudgetOptions(TypedDict, total=False):
    """The fields of `Budget` as keywords."""

    text_bytes: int
    data_bytes: int
    log_bytes: int
    unpacked_bytes: int
    unpacked_ratio: int
    nodes: int
    columns: int
    joints: int
    seconds: float


class Clock:
    """The time that one file has taken so far; `check` refuses one that takes too long."""

    def __init__(self, where: str, size: int = 0) -> None:
        self.where = where
        self.allowed = budget().seconds + size / MIB
        self._end = time.monotonic() + self.allowed

    @property
    def left(self) -> float:
        """Seconds that are left, at least a millisecond."""
        return max(self._end - time.monotonic(), 1e-3)

    def check(self) -> None:
        """Raise an error when the time is up."""
        if time.monotonic() > self._end:
            raise over_budget(f"{self.where} takes longer than {self.allowed:.0f} s to read", "seconds")


def over_budget(what: str, name: str, allowed: str = "") -> TaupiError:
    """Return the error for a file that needs more than the budget allows: what it needs, and how to allow it."""
    expected = f", expected {allowed}." if allowed else "."
    return TaupiError(
        "{what}{expected}",
        remedy=(
            "If you trust the file, allow more: taupi.signals.reading_budget({name}=...), or "
            "{variable}={name}=... in the environment."
        ),
        what=what,
        expected=expected,
        name=name,
        variable=VARIABLE,
    )


_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


def budget() -> Budget:
    """Return the limits in force: from `reading_budget`, else from the environment, else the defaults."""
    return _CURRENT.get() or _from_environment(os.environ.get(VARIABLE, ""))


def reading_budget(*, budget: Budget | None = None, **options: Unpack[BudgetOptions]) -> AbstractContextManager[Budget]:
    """Let files that are read inside a `with` statement take more, or less, than by default.

    Limits are given whole as a `budget` (`taupi.signals.Budget`), or by its fields as `options`. Those that are not given keep
    their defaults. For commands, and for processes that are started later, set the same limits in
    the environment: TAUPI_BUDGET="unpacked_bytes=4294967296,seconds=600".

    >>> import taupi as tp
    >>> with tp.signals.reading_budget(joints=1):
    ...     tp.load("elbow2r")
    Traceback (most recent call last):
    taupi.errors.TaupiError: elbow2r.toml has 2 joints or links, expected 1 at most. If you trust the file, allow more: \
taupi.signals.reading_budget(joints=...), or TAUPI_BUDGET=joints=... in the environment.
    """
    (limits,) = settle(reading_budget, options, (Budget, budget))
    return _in_force(limits)


@contextmanager
def _in_force(limits: Budget) -> Iterator[Budget]:
    token = _CURRENT.set(limits)
    try:
        yield limits
    finally:
        _CURRENT.reset(token)


@lru_cache(maxsize=8)
def _from_environment(text: str) -> Budget:
    values: dict[str, Any] = {}
    names = Budget.names()
    for entry in (part.strip() for part in text.split(",")):
        if not entry:
            continue
        name, _, number = (part.strip() for part in entry.partition("="))
        if name not in names:
            raise unknown("limit", name, names, VARIABLE)
        try:
            values[name] = float(number) if name == "seconds" else int(number)
        except ValueError:
            raise TaupiError(
                "{variable}: {name} is {got!r}, expected a {kind}.",
                variable=VARIABLE,
                name=name,
                got=number,
                kind="number" if name == "seconds" else "whole number",
            ) from None
    return Budget(**values)
