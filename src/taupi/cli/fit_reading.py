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


def reading_record(reading: Reading) -> dict[str, Any]:
    """Return what a fit's record says of how its logs were read, for `like_the_fit`."""
    from taupi.signals.formats.files import sha256

    record: dict[str, Any] = {}
    if reading.encoder_offset is not None:
        record["encoder_offset"] = reading.encoder_offset
    if isinstance(reading.columns, Path):
        record |= {"columns": str(reading.columns), "columns_sha256": sha256(reading.columns)}
    return record


def like_the_fit(fit: Fit, reading: Reading) -> Reading:
    """Return how logs are read: as `reading` says, and with the column mapping and encoder offsets of the fit if it says none.

    The mapping is used if its file is where it was and has not changed since; otherwise there is a warning.
    """
    record, kept = fit.record, dict[str, Any]()
    if reading.encoder_offset is None and "encoder_offset" in record:
        offset = record["encoder_offset"]
        kept["encoder_offset"] = tuple(offset) if isinstance(offset, list) else offset
    if reading.columns is None and "columns" in record and _is_unchanged(Path(record["columns"]), record):
        kept["columns"] = Path(record["columns"])
    return replace(reading, **kept)


def _is_unchanged(columns: Path, record: Mapping[str, Any]) -> bool:
    from taupi.signals.formats.files import sha256

    if columns.is_file() and sha256(columns) == record.get("columns_sha256"):
        return True
    state = "has changed since" if columns.is_file() else "is not found from here"
    warn(
        TaupiWarning(
            f"The logs of the fit were read with {columns}, which {state}. Columns are guessed from the headers.",
            remedy=("Name the file of the mapping: ", Argument("columns", ...), "."),
        )
    )
    return False
