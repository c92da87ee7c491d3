"""How commands read a log that meets a fit: as the fit's own logs were read, unless options say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taupi.errors import Argument, TaupiWarning, warn
from taupi.signals.reading import Reading

if TYPE_CHECKING:
    from taupi.identification.results.fit import Fit

# Settings that belong to the machine which wrote the logs, and not to one log of it.
_SHARED = ("rate_hz", "topic", "encoder_offset")


def reading_record(reading: Reading) -> dict[str, Any]:
    """Return what a fit's record says of how its logs were read, for `like_the_fit`."""
    from taupi.signals.formats.files import sha256

    stated = {name: getattr(reading, name) for name in _SHARED if getattr(reading, name) is not None}
    record: dict[str, Any] = {"reading": stated} if stated else {}
    if isinstance(reading.columns, Path):
        record |= {"columns": str(reading.columns), "columns_sha256": sha256(reading.columns)}
    return record


def like_the_fit(fit: Fit, reading: Reading) -> Reading:
    """Return how logs are read: as `reading` says, and where it says nothing, like those of the fit.

    The fit's column mapping is used if its file is where it was and has not changed since; otherwise there is a warning.
    """
    record = fit.record
    kept = Reading.from_dict(record.get("reading", {}))
    missing = {name: getattr(kept, name) for name in _SHARED if getattr(reading, name) is None}
    if reading.columns is None and "columns" in record and _is_unchanged(Path(record["columns"]), record):
        missing["columns"] = Path(record["columns"])
    return replace(reading, **missing)


def _is_unchanged(columns: Path, record: Mapping[str, Any]) -> bool:
    from taupi.signals.formats.files import sha256

    if columns.is_file() and sha256(columns) == record.get("columns_sha256"):
        return True
    state = "has changed since" if columns.is_file() else "is not there any more"
    warn(
        TaupiWarning(
            f"The logs of the fit were read with {columns}, which {state}. Columns are guessed from the headers.",
            remedy=("Name the file of the mapping: ", Argument("columns", ...), "."),
        )
    )
    return False
