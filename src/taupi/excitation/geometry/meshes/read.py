"""Read a mesh by its ending, and refuse one that encloses nothing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from taupi.errors import TaupiError
from taupi.excitation.geometry.meshes import FORMATS, others

LIMIT = 256 * 2**20  # bytes
# m: the extent of a mesh below which it is no part of a robot.
LEAST = 1e-6


def read_triangles(path: Path) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a mesh file, as they are stated."""
    module = FORMATS.get(path.suffix.lower())
    corners = import_module(module).triangles(_bytes(path), path.name) if module else others.read(path)
    if not len(corners):
        raise TaupiError(f"{path.name} has no triangles.", remedy="Export the mesh again, or remove it.")
    if not np.isfinite(corners).all():
        raise TaupiError(f"{path.name} has coordinates that are not finite.", remedy="Export the mesh again.")
    return np.asarray(corners)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(LIMIT + 1)
    except OSError as error:
        raise TaupiError(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > LIMIT:
        raise TaupiError(
            f"{path.name} is larger than {LIMIT / 2**20:.0f} MiB.", remedy="Use a coarser mesh for collisions."
        )
    return data
