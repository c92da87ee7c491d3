"""Read a mesh in the format of its suffix, and refuse one that encloses nothing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np

from taupi.budget import budget
from taupi.errors import TaupiError
from taupi.excitation.geometry.meshes import FORMATS, others
from taupi.input_files import read_bytes

# m: the extent of a mesh below which it is not part of a robot.
LEAST = 1e-6


def read_triangles(path: Path) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a mesh file, as they are stated."""
    module = FORMATS.get(path.suffix.lower())
    corners = import_module(module).triangles(_bytes(path), path.name) if module else others.read(path, _bytes(path))
    if not len(corners):
        raise TaupiError(f"{path.name} has no triangles.", remedy="Export the mesh again, or remove it.")
    if not np.isfinite(corners).all():
        raise TaupiError(f"{path.name} has coordinates that are not finite.", remedy="Export the mesh again.")
    return np.asarray(corners)


def _bytes(path: Path) -> bytes:
    return read_bytes(path, "a mesh", budget().data_bytes)
