"""How log files are read: the settings shared by all functions and commands that take a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from taupi.checks import finite, one_or_each, or_none, positive, truth, whole_number
from taupi.errors import Argument, TaupiError
from taupi.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from taupi.signals.mapping.columns import ColumnsLike

RowsLike = tuple[int | None, int | None] | slice | str | None


def _row_range(name: str, value: object) -> tuple[int | None, int | None]:
    """Return (first, stop) from a pair, a slice, or a text such as "100:5000", "100:" or ":5000".

    >>> _row_range("rows", "100:"), _row_range("rows", slice(2, 5))
    ((100, None), (2, 5))
    """
    ends: Any = value
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(":")]
        ends = [int(part) if part.isdecimal() and len(part) < 19 else part or None for part in parts]
    elif isinstance(value, slice):
        ends = (value.start, value.stop) if value.step in (None, 1) else ()
    wrong = TaupiError(
        "{argument} is {got!r}, expected first:stop, such as 100:5000, 100: or :5000.",
        argument=Argument(name),
        got=value,
    )
    if isinstance(ends, str) or not hasattr(ends, "__len__") or len(ends) != 2:
        raise wrong
    for end in ends:
        if end is not None and (isinstance(end, bool) or not isinstance(end, int) or end < 0):
            raise wrong
    first, stop = ends
    if stop is not None and (first or 0) >= stop:
        raise wrong
    return first, stop


@dataclass(frozen=True)
class Reading(Settings):
    """How a log file is read.

    Attributes:
        columns: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path
            of a TOML file; guessed from the headers by default.
        rate_hz: Samples per second, Hz, for a file without a time column.
        topic: Topic of a ROS bag, needed if the bag has several topics of joint states.
        format: Format of the file: csv, parquet, npz, mat, hdf5, lerobot, rosbag, mcap or ulog; found by its bytes by default.
        begin: Samples before this time (s after the log's first sample) are left out; none by default.
        end: Samples from this time on (s after the log's first sample) are left out; none by default.
        rows: Which rows are read, first:stop, counted from 0 and excluding stop; either may be left out. All by default.
        encoder_offset: Added to the recorded joint positions q, rad or m, one or one per joint; 0 by default.
    """

    parameter: ClassVar[str] = "reading"

    columns: ColumnsLike = None
    rate_hz: float | None = None
    topic: str | None = None
    format: str | None = None
    begin: float | None = field(default=None, kw_only=True)
    end: float | None = field(default=None, kw_only=True)
    rows: RowsLike = field(default=None, kw_only=True)
    encoder_offset: float | tuple[float, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.begin is not None and self.end is not None and self.begin >= self.end:
            raise TaupiError(
                "{begin} is {self_begin:g} and {end} is {self_end:g}: nothing lies between.",
                self_begin=self.begin,
                self_end=self.end,
            )

    @property
    def row_range(self) -> tuple[int, int | None]:
        """The first row that is read, and the row before which reading stops; None for the end."""
        first, stop = (None, None) if self.rows is None else _row_range("rows", self.rows)
        return first or 0, stop

    checks: ClassVar = {
        "rate_hz": or_none(positive),
        "begin": or_none(finite),
        "end": or_none(finite),
        "rows": or_none(_row_range),
        "encoder_offset": or_none(one_or_each(finite)),
    }


class ReadingDetails(TypedDict, total=False):
    """The fields of `Reading` as keywords, except the columns."""

    rate_hz: float | None
    topic: str | None
    format: str | None
    begin: float | None
    end: float | None
    rows: RowsLike
    encoder_offset: float | Sequence[float] | np.ndarray | None


class ReadingOptions(ReadingDetails, total=False):
    """The fields of `Reading` as keywords."""

    columns: ColumnsLike


@dataclass(frozen=True)
class Streaming(Reading):
    """How log files are read, at once or block by block: everything in `Reading`, and the following.

    Attributes:
        stream: Whether a file is read block by block, in bounded memory; by default, if it is larger than 64 MB and both its
            format and the derivatives allow it.
        block: Samples per block of a streamed file.
    """

    stream: bool | None = None
    block: int = 50_000

    checks: ClassVar = {**Reading.checks, "stream": or_none(truth), "block": partial(whole_number, least=16)}


class StreamingOptions(ReadingOptions, total=False):
    """The fields of `Streaming` as keywords."""

    stream: bool | None
    block: int
