"""How files of logs are read: the settings that every verb which takes a log shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from taupi.checks import or_none, positive, truth, whole_number
from taupi.settings import Settings


@dataclass(frozen=True)
class Reading(Settings):
    """How files of logs are read.

    Attributes:
        columns: Which column is which signal, in which unit, and what the gears are: a mapping, or the path of a TOML file; by
            default guessed from the headers.
        rate_hz: Samples per second, for files without a time column.
        topic: The topic of a bag, where it has several that could be meant.
        format: The file's format; by default seen from its name and its first bytes.
        stream: Whether a file is read block by block, in bounded memory; by default where it is larger than 64 MB and can be.
        block: Samples per block of a file that is streamed.
    """

    columns: Any = None
    rate_hz: float | None = None
    topic: str | None = None
    format: str | None = None
    stream: bool | None = None
    block: int = 50_000

    checks: ClassVar = {"rate_hz": or_none(positive), "stream": or_none(truth), "block": whole_number}
