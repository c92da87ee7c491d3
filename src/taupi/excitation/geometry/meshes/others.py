"""Formats that are left to the package trimesh: COLLADA (.dae), PLY, OFF, glTF and more."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taupi.errors import TaupiError
from taupi.model.formats import xml_tree
from taupi.model.formats.text_file import decode

_XML = (".dae", ".x3d", ".xaml")
REMEDY = "Install it with: pip install taupi[meshes], or convert the mesh to STL or OBJ."


def read(path: Path, data: bytes) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a file whose bytes are `data`, in m."""
    if path.suffix.lower() in _XML:  # refuses unbounded input: entities, and more elements than the budget allows
        xml_tree.parse(decode(data, path.name), path.name)
    try:
        import trimesh
    except ImportError:
        raise TaupiError(f"{path.name} is neither STL nor OBJ: it needs the package trimesh.", remedy=REMEDY) from None
    try:
        scene = trimesh.load_scene(path)
        scale = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
        return np.asarray(scene.to_mesh().triangles, dtype=float) * scale
    except Exception as error:  # its readers raise many kinds of errors
        reason = str(error).split("\n", 1)[0][:120].rstrip(".")
        raise TaupiError(
            f"{path.name} cannot be read: {type(error).__name__}: {reason}.", remedy="Convert it to STL or OBJ."
        ) from None
