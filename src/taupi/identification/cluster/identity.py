"""The identity of a log, without reading it: for tasks and stored pieces."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np

from taupi.signals.formats.sources import HiddenAddress, address_of, identity_of_source, source_of
from taupi.signals.log import Log
from taupi.signals.read import LogLike


def identity_of(log: LogLike) -> str:
    """Return a hash of a log's numbers, or of what identifies a file: address, size, time or tag of the last change."""
    digest = hashlib.sha256()
    if isinstance(log, Log):
        facts = (log.names, log.notes, log.source, log.filtering, log.known_torque)
        digest.update(repr(facts).encode())
        for name, values in {"time": log.time, **log.signals}.items():
            digest.update(name.encode() + np.ascontiguousarray(values, dtype=float).tobytes())
    else:
        digest.update(identity_of_source(source_of(log)).encode())
    return digest.hexdigest()[:32]


def on_workers(log: LogLike) -> LogLike:
    """Return a log as other machines find it: the absolute path of a local file, or an address whose secrets are not shown."""
    if isinstance(log, Log):
        return log
    address = address_of(log)
    if address is not None:
        return HiddenAddress(address)
    return str(Path(os.fspath(log)).absolute())
