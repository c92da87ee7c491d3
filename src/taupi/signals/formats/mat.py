"""MATLAB files up to version 7: variables, and fields of structs such as `data.q`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import BinaryIO

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError
from taupi.input_files import read_bytes
from taupi.model.robot import Robot
from taupi.signals.formats.files import beginning, own_mapping, readable_source
from taupi.signals.formats.mat_elements import Value, variables
from taupi.signals.formats.sources import RemoteFile, Source
from taupi.signals.log import Log, LogSource
from taupi.signals.mapping.columns import Columns
from taupi.signals.mapping.floating_columns import written_columns
from taupi.signals.mapping.tables import Table, embedded_mapping, log_from_table, resolve_layout

_OWN = "taupi_log"


def sniff(path: Source) -> bool:
    """Return whether a file begins as MATLAB files do, or is named like one."""
    return beginning(path, 6) == b"MATLAB" or path.suffix.lower() == ".mat"


def read(path: Source, columns: Columns, robot: Robot | None, source: LogSource) -> Log:
    """Return the log in a MATLAB file. Arrays with time along their second axis are transposed, and a note says so."""
    table = head(path, columns, robot)
    return log_from_table(table, resolve_layout(table, columns, robot), source)


def head(path: Source, columns: Columns, robot: Robot | None) -> Table:
    """Return the arrays of a MATLAB file, time along their first axis."""
    arrays: dict[str, np.ndarray] = {}
    own: dict[str, object] | None = None
    for name, value in _load(path).items():
        if name == _OWN:
            own = own_mapping(value if isinstance(value, str) else "", f"{path.name}: its mapping, {_OWN},")
        else:
            _flatten(name, value, arrays)
    if not arrays:
        raise TaupiError(f"{path.name} holds no arrays of numbers.")
    budget().check_columns(len(arrays), path.name)
    arrays, notes = _samples_first(arrays) if own is None else (_columns_flat(arrays), ())
    return Table(arrays, path, own=own, notes=notes)


def write(log: Log, stream: BinaryIO, path: Path) -> None:
    """Write a log as a MATLAB file: time (N, 1), each signal (N, n)."""
    from scipy.io import savemat

    beside = {k: v if v.ndim == 2 else v[:, None] for k, v in written_columns(log, flat=False)[0].items()}
    data = {"time": log.time[:, None], **log.signals, **beside, _OWN: json.dumps(embedded_mapping(log, flat=False))}
    savemat(stream, data, do_compression=True)


def _load(path: Source) -> dict[str, Value]:
    readable_source(path, "a MATLAB file")
    if beginning(path, 128)[:10] == b"MATLAB 7.3" or beginning(path, 8) == b"\x89HDF\r\n\x1a\n":
        raise TaupiError(f"{path.name} is of version 7.3 (HDF5). Save it with save(..., '-v7').")
    if isinstance(path, RemoteFile):
        with path.open() as stream:
            return variables(stream.read(), path.name)
    return variables(read_bytes(path, "a MATLAB file", budget().log_bytes), path.name)


def _flatten(name: str, value: Value, arrays: dict[str, np.ndarray]) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
    elif isinstance(value, dict):
        for field, inner in value.items():
            _flatten(f"{name}.{field}", inner, arrays)


def _columns_flat(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: a[:, 0] if a.shape[1] == 1 else a for name, a in arrays.items()}


def _samples_first(arrays: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Return the arrays with time along their first axis, and a note on those that were transposed."""
    rows = max(max(a.shape) for a in arrays.values())  # there are more samples than joints
    transposed = [n for n, a in arrays.items() if a.shape[1] == rows and a.shape[0] != rows and a.shape[0] > 1]
    turned = {n: a.T if a.shape[1] == rows and a.shape[0] != rows else a for n, a in arrays.items()}
    return _columns_flat(turned), (
        (f"transposed, as time runs along their rows: {', '.join(transposed)}",) if transposed else ()
    )
