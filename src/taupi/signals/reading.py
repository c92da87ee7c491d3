"""How log files are read: the settings shared by all functions and commands that take a log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from taupi.checks import or_none, positive, truth, whole_number
from taupi.settings import Settings

if TYPE_CHECKING:
    from taupi.signals.columns import ColumnsLike


@dataclass(frozen=True)
class Reading(Settings):
    """How a log file is read.

    Attributes:
        columns: Which column holds which signal, in which unit, and the gears between motors and joints: a mapping, or the path
            of a TOML file; guessed from the headers by default.
        rate_hz: Samples per second, Hz, for a file without a time column.
        topic: Topic of a ROS bag, needed if it has several of joint states.
        format: Format of the file: csv, parquet, npz, mat or rosbag; recognised by its name and first bytes by default.
    """

    columns: ColumnsLike = None
    rate_hz: float | None = None
    topic: str | None = None
    format: str | None = None

    checks: ClassVar = {"rate_hz": or_none(positive)}


@dataclass(frozen=True)
class Streaming(Reading):
    """How log files are read, at once or block by block: everything in `Reading`, and the following.

    Attributes:
        stream: Whether a file is read block by block, in bounded memory; by default if it is larger than 64 MB and both its
            format and the derivatives allow it.
        block: Samples per block of a streamed file.
    """

    stream: bool | None = None
    block: int = 50_000

    checks: ClassVar = {**Reading.checks, "stream": or_none(truth), "block": partial(whole_number, least=16)}
