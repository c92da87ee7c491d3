"""Options of commands whose logs the workers of a cluster may read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taupi.settings import Settings


@dataclass(frozen=True)
class ClusterOptions(Settings):
    """Who reads the logs, and what is done about those that cannot be used.

    Attributes:
        scheduler: Dask scheduler whose workers read the logs, such as tcp://head:8786.
        scheduler_file: The same scheduler, named by the file that it wrote.
        resume: Where a cluster keeps finished logs, so that an interrupted run can continue.
        skip_bad: Leave out logs that cannot be used; exit with 3 if these are more than 5 % of all logs.
    """

    scheduler: str | None = None
    scheduler_file: Path | None = None
    resume: str | None = None
    skip_bad: bool = False

    @property
    def keywords(self) -> dict[str, Any]:
        """What `taupi.identify` and `taupi.identify_fleet` are called with."""
        client = self.scheduler or self.scheduler_file
        return {"client": client, "resume": self.resume, "skip_bad": self.skip_bad}
