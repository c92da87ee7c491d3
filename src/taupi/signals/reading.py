"""How files of logs are read: the settings that every verb which takes a log shares."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from taupi.checks import or_none, positive, truth, whole_number
from taupi.settings import Settings

if TYPE_CHECKING:
    from taupi.signals.columns import Columns

    ColumnsLike = Columns | Mapping[str, Any] | str | os.PathLike[str] | None


@dataclass(frozen=True)
class Reading(Settings):
    """How a file of a log is read.

    Attributes:
        columns: Which column is which signal, in which unit, and what the gears are: a mapping, or the path of a TOML file; by
            default guessed from the headers.
        rate_hz: Samples per second, for files without a time column.
        topic: The topic of a bag, where several could be meant.
        format: The format of the file; by default seen from its name and its first bytes.
    """

    columns: ColumnsLike = None
    rate_hz: float | None = None
    topic: str | None = None
    format: str | None = None

    checks: ClassVar = {"rate_hz": or_none(positive)}


@dataclass(frozen=True)
class Streaming(Reading):
    """How files of logs are read, at once or block by block: everything in `Reading`, and what follows.

    Attributes:
        stream: Whether a file is read block by block, in bounded memory; by default where it is larger than 64 MB and can be.
        block: Samples per block of a file that is streamed.
    """

    stream: bool | None = None
    block: int = 50_000

    checks: ClassVar = {**Reading.checks, "stream": or_none(truth), "block": whole_number}
